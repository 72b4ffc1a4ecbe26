/* Rows whose effect no single lane's (or warp's) reference can say: memory that others see, barriers, control.  Each combination
 * of such a row is a kernel of its own around the instruction, whose result every thread knows beforehand; or another test's file
 * is named that has it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a body $I is the combination, $A an address in its space that may be touched, $L a label's beginning, $G makes
 * %d1 the address of shared memory that it wants: generic if it names no space.  %x is the thread in its block,
 * %sh and %lo its 16 bytes of shared and local memory, %gl 16 bytes of global memory whose first word is 3 * %x + 1.  %r0 is the
 * result. */
struct special_body {
    const char *rows, *name, *body;
    uint32_t (*want)(const struct oracle_combo *combo, unsigned x);
    const char *functions; /* before the kernel */
    const char *only;      /* combinations with these modifiers, NULL: all */
    bool fails;            /* the launch is to end with an error */
};

/* ---- What threads are to find */
static uint32_t itself(const struct oracle_combo *c, unsigned x)
{
    return x;
}
static uint32_t copied(const struct oracle_combo *c, unsigned x)
{
    return 3 * x + 1;
}
static uint32_t other_warp(const struct oracle_combo *c, unsigned x)
{
    return (x + 32) % ORACLE_BLOCK;
}
static uint32_t first_two_warps(const struct oracle_combo *c, unsigned x)
{
    return x < 64 ? x ^ 32 : x;
}
static uint32_t from_first_warp(const struct oracle_combo *c, unsigned x)
{
    return x >= 32 && x < 64 ? x - 32 : x;
}
static uint32_t neighbour(const struct oracle_combo *c, unsigned x)
{
    return x ^ 1;
}
static uint32_t popc_all(const struct oracle_combo *c, unsigned x)
{
    return ORACLE_BLOCK / 4;
}
static uint32_t popc_two(const struct oracle_combo *c, unsigned x)
{
    return x < 64 ? 16 : x;
}
/* Everyone's predicate is x < 100, then x > 200, then x < 200: bits 0, 1, 2 of the result. */
static uint32_t reductions(const struct oracle_combo *c, unsigned x)
{
    return oracle_combo_has(c, "and") ? 4 : 5;
}
static uint32_t reductions_two(const struct oracle_combo *c, unsigned x)
{
    return x >= 64 ? 0 : 5; /* all of the first 64 are below 100 */
}
/* Bits: a global, a shared, a local address. */
static uint32_t spaces(const struct oracle_combo *c, unsigned x)
{
    return c->space == PTX_SPACE_GLOBAL ? 1 : c->space == PTX_SPACE_SHARED ? 2 : c->space == PTX_SPACE_LOCAL ? 4 : 0;
}
/* A small number is no address of shared or local memory, of a constant or a parameter. */
static uint32_t small_address(const struct oracle_combo *c, unsigned x)
{
    return c->space == PTX_SPACE_GLOBAL;
}
static uint32_t loops(const struct oracle_combo *c, unsigned x)
{
    return x % 5 + 1;
}
static uint32_t tables(const struct oracle_combo *c, unsigned x)
{
    return 10 + x % 3;
}
static uint32_t calls(const struct oracle_combo *c, unsigned x)
{
    return 7 * x + 5;
}
static uint32_t returns(const struct oracle_combo *c, unsigned x)
{
    return x % 2 ? 1 : 2;
}
static uint32_t zero(const struct oracle_combo *c, unsigned x)
{
    return 0;
}

#define PASS_ON(instruction) \
    "st.shared.b32 [%sh], %x;\n" instruction "add.u32 %r1, %x, 32;\nrem.u32 %r1, %r1, 112;\nmul.wide.u32 %d1, %r1, 16;\n" \
    "mov.u64 %d2, sdata;\nadd.u64 %d1, %d1, %d2;\nld.shared.b32 %r0, [%d1];\n"
#define REDUCE(count)                                                                                  \
    "setp.lt.u32 %p0, %x, 100;\nsetp.gt.u32 %p1, %x, 200;\nsetp.lt.u32 %p2, %x, 200;\n$I %p3, 1" count \
    ", %p0;\nselp.b32 %r1, 1, 0, %p3;\n"                                                               \
    "$I %p3, 2" count ", %p1;\nselp.b32 %r2, 2, 0, %p3;\nor.b32 %r1, %r1, %r2;\n$I %p3, 3" count       \
    ", %p2;\nselp.b32 %r2, 4, 0, %p3;\n"                                                               \
    "or.b32 %r0, %r1, %r2;\n"
#define COPY(rest) "$I [%sh], [%gl], 16" rest ";\ncp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.b32 %r0, [%sh];\n"

static const struct special_body bodies[] = {
    { "prefetch prefetch_evict prefetchu", "prefetch", "$I $A;\nmov.b32 %r0, %x;\n", itself, NULL, NULL, false },
    { "discard applypriority", "cache lines", "and.b64 %d1, %gl, -128;\n$I [%d1], 128;\nmov.b32 %r0, %x;\n", itself, NULL, NULL,
      false },
    { "createpolicy", "cache policies", "$I %d1, 0.5;\n$I %d2;\nld.global.L2::cache_hint.b32 %r0, [%gl], %d1;\n", copied, NULL,
      NULL, false },
    { "createpolicy_range", "cache policies of ranges",
      "$I %d1, [%gl], 16, 16;\n"
      "ld.global.L2::cache_hint.b32 %r0, [%gl], %d1;\n",
      copied, NULL, NULL, false },
    { "createpolicy_cvt", "cache policies of access properties",
      "createpolicy.fractional.L2::evict_first.b64 %d2;\n$I %d1, %d2;\nld.global.L2::cache_hint.b32 %r0, [%gl], %d1;\n", copied,
      NULL, NULL, false },
    { "st_bulk", "bulk stores of zeros",
      "st.shared.v2.b64 [%sh], {-1, -1};\nbar.sync 0;\nsetp.ne.u32 %p0, %x, 0;\n@%p0 bra $La;\n$G$I [%d1], 1792, 0;\n$La:\n"
      "bar.sync 0;\nld.shared.b32 %r0, [%sh];\n",
      zero, NULL, NULL, false },
    { "stacksave", "the stack, kept",
      "$I %d1;\nalloca.u64 %d2, 16;\nst.local.b32 [%d2], %x;\nld.local.b32 %r0, [%d2];\n"
      "stackrestore.u64 %d1;\n",
      itself, NULL, "u64", false },
    { "stackrestore", "the stack, put back",
      "stacksave.u64 %d1;\nalloca.u64 %d2, 16;\nst.local.b32 [%d2], %x;\nld.local.b32 %r0, [%d2];\n$I %d1;\n", itself, NULL,
      "u64", false },
    { "alloca", "memory of the stack",
      "$I %d1, 16, 16;\n$I %d2, 16;\nst.local.b32 [%d2], %x;\nst.local.b32 [%d1], 7;\n"
      "ld.local.b32 %r0, [%d2];\n",
      itself, NULL, "u64", false },
    { "getctarank", "ranks in a cluster of one", "$I %r0, %sh;\n", zero, NULL, "shared::cluster u64", false },
    { "cvta", "addresses to generic: global", "$I %d1, %gl;\nld.b32 %r0, [%d1];\n", copied, NULL, "global u64", false },
    { "cvta", "addresses to generic: shared", "st.shared.b32 [%sh], %x;\n$I %d1, %sh;\nld.b32 %r0, [%d1];\n", itself, NULL,
      "shared u64", false },
    { "cvta", "addresses to generic: local", "st.local.b32 [%lo], %x;\n$I %d1, %lo;\nld.b32 %r0, [%d1];\n", itself, NULL,
      "local u64", false },
    { "cvta_to", "addresses from generic: global", "$I %d1, %gl;\nld.global.b32 %r0, [%d1];\n", copied, NULL, "global u64",
      false },
    { "cvta_to", "addresses from generic: shared",
      "st.shared.b32 [%sh], %x;\ncvta.shared.u64 %d1, %sh;\n$I %d2, %d1;\nld.shared.b32 %r0, [%d2];\n", itself, NULL,
      "shared u64", false },
    { "cvta_to", "addresses from generic: local",
      "st.local.b32 [%lo], %x;\ncvta.local.u64 %d1, %lo;\n$I %d2, %d1;\n"
      "ld.local.b32 %r0, [%d2];\n",
      itself, NULL, "local u64", false },
    { "isspacep", "spaces of addresses",
      "cvta.shared.u64 %d1, %sh;\ncvta.local.u64 %d2, %lo;\nst.local.b32 [%lo], %x;\n$I %p0, %gl;\n$I %p1, %d1;\n$I %p2, %d2;\n"
      "selp.b32 %r0, 1, 0, %p0;\nselp.b32 %r1, 2, 0, %p1;\nselp.b32 %r2, 4, 0, %p2;\nor.b32 %r0, %r0, %r1;\n"
      "or.b32 %r0, %r0, %r2;\n",
      spaces, NULL, NULL, false },
    { "isspacep_32", "spaces of small addresses", "mov.b32 %r1, 64;\n$I %p0, %r1;\nselp.b32 %r0, 1, 0, %p0;\n", small_address,
      NULL, NULL, false },
    { "cp_async", "copies beside the thread", COPY(""), copied, NULL, NULL, false },
    { "cp_async_hint", "copies with a policy", "createpolicy.fractional.L2::evict_first.b64 %d1;\n" COPY(", %d1"), copied, NULL,
      NULL, false },
    { "cp_async_ignore", "copies that ignore their source", "setp.ne.u32 %p0, %x, %x;\n" COPY(", %p0"), copied, NULL, NULL,
      false },
    { "cp_async_ignore_hint", "copies that ignore their source, with a policy",
      "setp.eq.u32 %p0, %x, %x;\ncreatepolicy.fractional.L2::evict_first.b64 %d1;\n" COPY(", %p0, %d1"), zero, NULL, NULL,
      false },
    { "cp_async_commit", "groups of copies",
      "cp.async.ca.shared.global [%sh], [%gl], 16;\n$I;\ncp.async.wait_group 0;\n"
      "ld.shared.b32 %r0, [%sh];\n",
      copied, NULL, NULL, false },
    { "cp_async_wait", "waiting for groups",
      "cp.async.ca.shared.global [%sh], [%gl], 16;\ncp.async.commit_group;\n$I 0;\nld.shared.b32 %r0, [%sh];\n", copied, NULL,
      NULL, false },
    { "cp_async_wait_all", "waiting for all copies",
      "cp.async.ca.shared.global [%sh], [%gl], 16;\n$I;\n"
      "ld.shared.b32 %r0, [%sh];\n",
      copied, NULL, NULL, false },
    { "mapa", "addresses in a cluster of one",
      "st.shared.b32 [%sh], %x;\ncvta.shared.u64 %d1, %sh;\n$I %d2, %d1, 0;\n"
      "ld.b32 %r0, [%d2];\n",
      itself, NULL, "u64", false },
    { "membar fence fence_mbarrier membar_proxy fence_proxy fence_proxy_async fence_restrict fence_proxy_generic "
      "fence_tensormap_release",
      "fences", PASS_ON("$I;\nbar.sync 0;\n"), other_warp, NULL, NULL, false },
    { "bar_warp_sync", "barriers of a warp",
      "st.shared.b32 [%sh], %x;\nsetp.lt.u32 %p0, %x, 96;\n@!%p0 bra $La;\n$I -1;\n$La:\nsetp.ge.u32 %p0, %x, 96;\n"
      "@!%p0 bra $Lb;\n$I 0xffff;\n$Lb:\n"
      "xor.b32 %r1, %x, 1;\nmul.wide.u32 %d1, %r1, 16;\nmov.u64 %d2, sdata;\nadd.u64 %d1, %d1, %d2;\nld.shared.b32 %r0, [%d1];\n",
      neighbour, NULL, NULL, false },
    { "bar_sync barrier_sync", "barriers", PASS_ON("$I 3;\n"), other_warp, NULL, NULL, false },
    { "bar_sync barrier_sync", "barriers of some warps",
      "st.shared.b32 [%sh], %x;\nmov.b32 %r0, %x;\nsetp.ge.u32 %p0, %x, 64;\n@%p0 bra $La;\n$I 2, 64;\nxor.b32 %r1, %x, 32;\n"
      "mul.wide.u32 %d1, %r1, 16;\n"
      "mov.u64 %d2, sdata;\nadd.u64 %d1, %d1, %d2;\nld.shared.b32 %r0, [%d1];\n$La:\n",
      first_two_warps, NULL, NULL, false },
    { "bar_arrive barrier_arrive", "barriers that some only arrive at",
      "st.shared.b32 [%sh], %x;\nmov.b32 %r0, %x;\nsetp.ge.u32 %p0, %x, 64;\n@%p0 bra $Lb;\nsetp.ge.u32 %p0, %x, 32;\n"
      "@%p0 bra $La;\n$I 4, 64;\nbra $Lb;\n"
      "$La:\nbar.sync 4, 64;\nsub.u32 %r1, %x, 32;\nmul.wide.u32 %d1, %r1, 16;\nmov.u64 %d2, sdata;\nadd.u64 %d1, %d1, %d2;\n"
      "ld.shared.b32 %r0, [%d1];\n$Lb:\n",
      from_first_warp, NULL, NULL, false },
    { "bar_popc barrier_popc", "barriers that count", "and.b32 %r1, %x, 3;\nsetp.eq.u32 %p0, %r1, 0;\n$I %r0, 1, %p0;\n",
      popc_all, NULL, NULL, false },
    { "bar_popc_n barrier_popc_n", "barriers of some warps that count",
      "mov.b32 %r0, %x;\nand.b32 %r1, %x, 3;\nsetp.eq.u32 %p0, %r1, 0;\nsetp.ge.u32 %p1, %x, 64;\n@%p1 bra $La;\n"
      "$I %r0, 5, 64, %p0;\n$La:\n",
      popc_two, NULL, NULL, false },
    { "bar_red barrier_red", "barriers that decide", REDUCE(""), reductions, NULL, NULL, false },
    { "bar_red_n barrier_red_n", "barriers of some warps that decide",
      "mov.b32 %r0, 0;\nsetp.ge.u32 %p0, %x, 64;\n"
      "@%p0 bra $La;\n" REDUCE(", 64") "$La:\n",
      reductions_two, NULL, NULL, false },
    { "cluster_arrive", "clusters' barriers: arrive", PASS_ON("fence.acq_rel.cluster;\n$I;\nbarrier.cluster.wait;\n"), other_warp,
      NULL, NULL, false },
    { "cluster_wait", "clusters' barriers: wait", PASS_ON("barrier.cluster.arrive;\n$I;\n"), other_warp, NULL, NULL, false },
    { "griddepcontrol", "grids in order", "$I;\nmov.b32 %r0, %x;\n", itself, NULL, NULL, false },
    { "setmaxnreg", "registers of a warp", "$I 40;\nmov.b32 %r0, %x;\n", itself, NULL, NULL, false },
    { "pmevent pmevent_mask", "events for profilers", "$I 3;\nmov.b32 %r0, %x;\n", itself, NULL, NULL, false },
    { "nanosleep", "sleep", "$I 20;\nmov.b32 %r0, %x;\n", itself, NULL, NULL, false },
    { "bra", "branches",
      "rem.u32 %r1, %x, 5;\nmov.b32 %r0, 0;\n$La:\nadd.u32 %r0, %r0, 1;\nsetp.gt.u32 %p0, %r0, %r1;\n"
      "@!%p0 $I $La;\n",
      loops, NULL, NULL, false },
    { "brx", "branches by a table",
      "rem.u32 %r1, %x, 3;\n$Lt: .branchtargets $La, $Lb, $Lc;\n$I %r1, $Lt;\n$La: mov.b32 %r0, 10;\nbra $Ld;\n"
      "$Lb: mov.b32 %r0, 11;\nbra $Ld;\n"
      "$Lc: mov.b32 %r0, 12;\n$Ld:\n",
      tables, NULL, NULL, false },
    { "call", "calls",
      "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %x;\n$I (b), times7, (a);\nld.param.b32 %r0, [b];\n}\n", calls,
      ".func (.param .b32 out) times7(.param .b32 in)\n{\n.reg .b32 %v;\nld.param.b32 %v, [in];\nmad.lo.u32 %v, %v, 7, 5;\n"
      "st.param.b32 [out], %v;\nret;\n}\n",
      NULL, false },
    { "ret", "returns in some lanes",
      "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %x;\ncall (b), parity, (a);\n"
      "ld.param.b32 %r0, [b];\n}\n",
      returns,
      ".func (.param .b32 out) parity(.param .b32 in)\n{\n.reg .b32 %v;\n.reg .pred %p;\nld.param.b32 %v, [in];\n"
      "and.b32 %v, %v, 1;\n"
      "st.param.b32 [out], 1;\nsetp.eq.u32 %p, %v, 1;\n@%p $I;\nst.param.b32 [out], 2;\nret;\n}\n",
      NULL, false },
    { "exit", "exit in some lanes",
      "and.b32 %r1, %x, 1;\nsetp.eq.u32 %p0, %r1, 1;\nst.global.b32 [%res], 1;\n@%p0 $I;\n"
      "mov.b32 %r0, 2;\n",
      returns, NULL, NULL, false },
    { "trap", "trap", "setp.eq.u32 %p0, %x, 77;\n@%p0 $I;\nmov.b32 %r0, %x;\n", itself, NULL, NULL, true },
};

/* Rows that other tests execute, and compare with what they should give. */
static const struct {
    const char *rows, *file;
} elsewhere[] = {
    { "cp_async_arrive mbarrier_init mbarrier_inval mbarrier_expect mbarrier_complete mbarrier_arrive mbarrier_arrive_tx "
      "mbarrier_arrive_nc "
      "mbarrier_drop mbarrier_drop_tx mbarrier_drop_nc mbarrier_test mbarrier_test_parity mbarrier_try mbarrier_try_parity "
      "mbarrier_pending",
      "tests/apps/mbarrier.cu" },
    { "bulk_in bulk_multicast bulk_shared bulk_out bulk_out_mask bulk_prefetch bulk_commit bulk_wait bulk_red_bits "
      "bulk_red_arith bulk_red_incdec "
      "bulk_red_add64 bulk_out_bits bulk_out_add bulk_out_half bulk_out_minmax bulk_out_incdec st_async red_async_add "
      "red_async_bits "
      "red_async_minmax red_async_incdec st_async_global red_async_global_add red_async_global_bits red_async_global_minmax "
      "red_async_global_incdec clc_cancel clc_is_canceled clc_ctaid clc_ctaids",
      "tests/apps/async_copy.cu" },
    { "mma_*", "tests/matrix/mma.c" },
    { "ldmatrix stmatrix movmatrix wmma_load_f16 wmma_load_tf32 wmma_load_f64 wmma_load_int4 wmma_load_b1 "
      "wmma_load_c wmma_store "
      "wmma_store_f64 wmma_f16 wmma_bf16 wmma_tf32 wmma_f64 wmma_int8 wmma_int4 wmma_b1",
      "tests/matrix/main.c" },
    { "istypep", "tests/apps/texture_refs.cu" },
    { "tex tex_level tex_grad tex_half tex_half_level tex_half_grad tld4", "tests/apps/textures.cu" },
    { "txq txq_level suq suld sust sust_format sured sured_minmax sured_bits sured_format sured_format_mm",
      "tests/apps/surfaces.cu" },
    { "fence_tensormap_acquire", "tests/ptx/lower/async.ptx" },
    { "brkpt", "tests/ptx/lower/control.ptx" },
};

/* `row` is one of the words of `rows`, or begins as the only one, which ends in a star. */
static bool names(const char *rows, const char *row)
{
    size_t len = strlen(row), head = strlen(rows) - 1;
    if (rows[head] == '*')
        return !strncmp(rows, row, head);
    for (const char *p = rows; (p = strstr(p, row)); p += len)
        if ((p == rows || p[-1] == ' ') && (!p[len] || p[len] == ' '))
            return true;
    return false;
}

const char *oracle_special_of(const char *row)
{
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        if (names(bodies[i].rows, row))
            return bodies[i].name;
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (names(elsewhere[i].rows, row))
            return elsewhere[i].file;
    return NULL;
}

static bool selected(const struct special_body *b, const struct oracle_combo *c)
{
    char word[32];
    int n;

    for (const char *p = b->only; p && sscanf(p, "%31s%n", word, &n) == 1; p += n)
        if (!oracle_combo_has(c, word))
            return false;
    return names(b->rows, c->form->id);
}

/* ---- Text */
static void address(struct aw_buf *out, const struct oracle_combo *c)
{
    aw_buf_printf(out, "[%s]", c->space == PTX_SPACE_SHARED ? "%sh" : c->space == PTX_SPACE_LOCAL ? "%lo" : "%gl");
}

static void expand(struct aw_buf *out, const char *text, const struct oracle_combo *c)
{
    for (const char *p = text; *p; p++) {
        if (*p != '$')
            aw_buf_add(out, p, 1);
        else if (*++p == 'I')
            aw_buf_printf(out, "%s", c->name);
        else if (*p == 'A')
            address(out, c);
        else if (*p == 'G')
            aw_buf_printf(out, "%s.u64 %%d1, %%sh;\n", c->space ? "mov" : "cvta.shared");
        else if (*p == 'L' && p[1])
            aw_buf_printf(out, "L%c", *++p);
    }
}

static void kernel_text(struct aw_buf *out, const struct special_body *b, const struct oracle_combo *c)
{
    unsigned sm = c->form->sm > 90 ? c->form->sm : 90;

    aw_buf_printf(out, ".version 9.0\n.target sm_%u\n.address_size 64\n", sm);
    if (b->functions)
        expand(out, b->functions, c);
    aw_buf_printf(out, ".visible .entry oracle(.param .u64 pin, .param .u64 pout)\n{\n"
                       ".reg .b64 %%sh, %%lo, %%gl, %%res, %%d<4>;\n"
                       ".reg .b32 %%x, %%t, %%r<4>;\n.reg .pred %%p<4>;\n.shared .align 16 .b8 sdata[%u];\n"
                       ".local .align 16 .b8 ldata[16];\n",
                  16 * ORACLE_BLOCK);
    aw_buf_printf(out, "mov.u32 %%x, %%tid.x;\nmov.u32 %%t, %%ctaid.x;\nmul.wide.u32 %%d0, %%x, 16;\nmov.u64 %%sh, sdata;\n"
                       "add.u64 %%sh, %%sh, %%d0;\nmov.u64 %%lo, ldata;\nld.param.u64 %%gl, [pin];\nadd.u64 %%gl, %%gl, %%d0;\n"
                       "ld.param.u64 %%res, [pout];\nmad.lo.u32 %%t, %%t, %u, %%x;\nmul.wide.u32 %%d0, %%t, 4;\n"
                       "add.u64 %%res, %%res, %%d0;\n",
                  ORACLE_BLOCK);
    expand(out, b->body, c);
    aw_buf_printf(out, "st.global.b32 [%%res], %%r0;\nret;\n}\n");
}

/* ---- One case */
enum result { WAITING, PASSED, FAILED, SKIPPED };

static bool compare(const struct special_body *b, const struct oracle_combo *c, uint32_t *out, unsigned blocks)
{
    for (unsigned t = 0; t < blocks * ORACLE_BLOCK; t++) {
        uint32_t want = b->want(c, t % ORACLE_BLOCK);
        if (out[t] != want) {
            printf("FAIL %s (%s): thread %u has %#x, expected %#x\n", c->name, b->name, t % ORACLE_BLOCK, out[t], want);
            return false;
        }
    }
    for (unsigned t = blocks * ORACLE_BLOCK; t < (blocks + 1) * ORACLE_BLOCK; t++)
        if (out[t] != 0x55555555) {
            printf("FAIL %s (%s): memory was written behind the results\n", c->name, b->name);
            return false;
        }
    return true;
}

static enum result run_case(const struct special_body *b, const struct oracle_combo *c, bool *ret_usable)
{
    enum { BLOCKS = 2 };
    static uint32_t in[4 * ORACLE_BLOCK], out[(BLOCKS + 1) * ORACLE_BLOCK];
    static uint64_t address_of[2];
    struct aw_buf text = { 0 };
    char why[2048];
    void *kernel, *module;
    enum result result = FAILED;

    kernel_text(&text, b, c);
    for (unsigned t = 0; t < ORACLE_BLOCK; t++)
        for (unsigned i = 0; i < 4; i++)
            in[4 * t + i] = i ? 0xabcdef00 + i : 3 * t + 1;
    memset(out, 0x55, sizeof out);
    *ret_usable = (address_of[0] ||
                   (oracle_device_alloc(&address_of[0], sizeof in) && oracle_device_alloc(&address_of[1], sizeof out))) &&
                  oracle_device_write(address_of[0], in, sizeof in) && oracle_device_write(address_of[1], out, sizeof out);
    module = *ret_usable && !text.failed ? oracle_device_load(text.ptr, "oracle", &kernel, why, sizeof why) : NULL;
    if (module) {
        int error = oracle_device_launch(kernel, BLOCKS, ORACLE_BLOCK, (void *[]){ &address_of[0], &address_of[1] });
        *ret_usable = !error || oracle_device_read(out, address_of[1], 4);
        if (b->fails)
            result = error ? PASSED : FAILED;
        else if (error)
            printf("FAIL %s (%s): %s\n", c->name, b->name, oracle_device_error(error));
        else if (oracle_device_read(out, address_of[1], sizeof out))
            result = compare(b, c, out, BLOCKS) ? PASSED : FAILED;
        if (b->fails && !error)
            printf("FAIL %s (%s): nothing ended the kernel\n", c->name, b->name);
        if (*ret_usable)
            oracle_device_unload(module);
    } else if (*ret_usable && !strcmp(why, ORACLE_NOT_ASSEMBLED)) {
        result = SKIPPED;
    } else if (*ret_usable) {
        printf("FAIL %s (%s): %s\n", c->name, b->name, why);
    }
    aw_buf_fini(&text);
    return result;
}

/* ---- All of them.  A case that ends the process, or leaves the device unusable, is followed by a new process. */
struct special_case {
    const struct special_body *body;
    const struct oracle_combo *combo;
};
struct special_shared {
    unsigned next;
    uint8_t results[];
};

static void work(const struct special_case *cases, unsigned n, struct special_shared *shared)
{
    char name[256];
    bool usable = oracle_device_open(name, sizeof name);

    while (usable && shared->next < n) {
        unsigned i = shared->next;
        alarm(60);
        shared->results[i] = run_case(cases[i].body, cases[i].combo, &usable);
        fflush(stdout);
        shared->next = i + 1;
    }
    _exit(0);
}

static void run_cases(const struct special_case *cases, unsigned n, struct special_shared *shared)
{
    while (shared->next < n) {
        unsigned before = shared->next;
        int status = -1;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0)
            work(cases, n, shared);
        if (pid < 0 || waitpid(pid, &status, 0) < 0)
            return;
        if (status != 0 && shared->next < n) {
            printf("FAIL %s (%s): %s\n", cases[shared->next].combo->name, cases[shared->next].body->name,
                   WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "does not end" : "the process ended");
            shared->results[shared->next++] = FAILED;
        } else if (shared->next == before) {
            return; /* no device */
        }
    }
}

bool oracle_special_run(const struct oracle_combo *combos, size_t n_combos, unsigned *ret_passed, unsigned *ret_failed)
{
    AW_VEC(struct special_case) cases = { 0 };
    bool ok = true;

    *ret_passed = *ret_failed = 0;
    for (size_t c = 0; c < n_combos; c++)
        for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++)
            if (selected(&bodies[b], &combos[c]))
                ok = ok && aw_vec_push(&cases, (struct special_case){ &bodies[b], &combos[c] });
    size_t size = sizeof(struct special_shared) + cases.n;
    struct special_shared *shared = ok ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    ok = shared != MAP_FAILED;
    if (ok && cases.n)
        run_cases(cases.at, (unsigned)cases.n, shared);
    for (size_t i = 0; i < cases.n && ok; i++) {
        *ret_passed += shared->results[i] == PASSED;
        *ret_failed += shared->results[i] != PASSED && shared->results[i] != SKIPPED;
    }
    if (ok)
        munmap(shared, size);
    aw_vec_fini(&cases);
    return ok;
}
