/* The functions of CUDA's device-side runtime by which kernels start kernels: PTX text, linked behind a module that declares one
 * of them (runtime.c).
 *
 * What a grid starts is a record in a buffer (include/anywarp/started.h), and the runtime goes through them when the grid has
 * ended, one after another.  CUDA allows that order whatever streams and events say, as no grid may count on another's having
 * begun before its own end.  So streams and events are numbers here, and nothing is to be done with them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <anywarp/started.h>

#include <stddef.h>

#include "module/state.h"

/* What the text says in numbers. */
_Static_assert(offsetof(struct aw_starts_words, capacity) == 8 && offsetof(struct aw_starts_words, used) == 16 &&
              offsetof(struct aw_starts_words, error) == 24 && offsetof(struct aw_starts_words, depth) == 28 &&
              sizeof(struct aw_starts_words) == 32, "");
_Static_assert(offsetof(struct aw_started, kernel) == 8 && offsetof(struct aw_started, grid) == 16 &&
              offsetof(struct aw_started, block) == 28 && offsetof(struct aw_started, shared) == 40 &&
              offsetof(struct aw_started, kind) == 44 && offsetof(struct aw_started, stream) == 48 &&
              offsetof(struct aw_started, launched) == 56 && offsetof(struct aw_started, params) == 64, "");
_Static_assert(AW_STARTS_DEPTH == 24 && AW_STARTED_COPY == 1 && AW_STARTED_FILL == 2, "");

/* Errors are cudaError_t: 9 configuration, 65 depth, 69 too many. */
static const char common[] =
    ".version 6.0\n"
    ".target sm_30\n"
    ".address_size 64\n"
    ".weak .global .align 16 .b64 " AW_STARTS_SYMBOL "[4];\n"

    /* A record for so many bytes of parameters: where they begin, or 0. */
    ".weak .func (.param .b64 params) " PTX_STARTS_TAKE "(.param .b64 bytes)\n"
    "{\n"
    ".reg .b64 %n, %words, %old, %end, %capacity, %p;\n"
    ".reg .b32 %depth, %e, %zero;\n"
    ".reg .pred %no;\n"
    "mov.u64 %words, " AW_STARTS_SYMBOL ";\n"
    "mov.u64 %p, 0;\n"
    "ld.global.u32 %depth, [%words+28];\n"
    "setp.ge.u32 %no, %depth, 24;\n"
    "mov.u32 %e, 65;\n"
    "@%no bra ERROR;\n"
    "ld.param.u64 %n, [bytes];\n"
    "add.u64 %n, %n, 79;\n" /* the head's 64, and up to a multiple of 16 */
    "and.b64 %n, %n, -16;\n"
    "atom.global.add.u64 %old, [%words+16], %n;\n"
    "add.u64 %end, %old, %n;\n"
    "ld.global.u64 %capacity, [%words+8];\n"
    "setp.gt.u64 %no, %end, %capacity;\n"
    "mov.u32 %e, 69;\n"
    "@%no bra ERROR;\n"
    "ld.global.u64 %p, [%words];\n"
    "add.u64 %p, %p, %old;\n"
    "st.global.u64 [%p], %n;\n"
    "mov.u32 %zero, 0;\n"
    "st.global.u32 [%p+44], %zero;\n"
    "st.global.u32 [%p+56], %zero;\n"
    "st.global.u32 [%p+60], %zero;\n"
    "add.u64 %p, %p, 64;\n"
    "bra DONE;\n"
    "ERROR:\n"
    "st.global.u32 [%words+24], %e;\n"
    "DONE:\n"
    "st.param.b64 [params], %p;\n"
    "ret;\n"
    "}\n"

    /* What the record is of. */
    ".weak .func (.param .b32 error) __anywarp_starts_fill(.param .b64 params, .param .b64 kernel,\n"
    "    .param .align 4 .b8 grid[12], .param .align 4 .b8 block[12], .param .b32 shared)\n"
    "{\n"
    ".reg .b64 %p, %kernel, %words, %most, %z64;\n"
    ".reg .b32 %x, %y, %z, %u, %v, %w, %least, %shared, %e;\n"
    ".reg .pred %no;\n"
    "ld.param.u64 %p, [params];\n"
    "ld.param.u64 %kernel, [kernel];\n"
    "ld.param.u32 %x, [grid];\n"
    "ld.param.u32 %y, [grid+4];\n"
    "ld.param.u32 %z, [grid+8];\n"
    "ld.param.u32 %u, [block];\n"
    "ld.param.u32 %v, [block+4];\n"
    "ld.param.u32 %w, [block+8];\n"
    "ld.param.u32 %shared, [shared];\n"
    "st.u64 [%p+-56], %kernel;\n"
    "st.u32 [%p+-48], %x;\n"
    "st.u32 [%p+-44], %y;\n"
    "st.u32 [%p+-40], %z;\n"
    "st.u32 [%p+-36], %u;\n"
    "st.u32 [%p+-32], %v;\n"
    "st.u32 [%p+-28], %w;\n"
    "st.u32 [%p+-24], %shared;\n"
    "min.u32 %least, %x, %y;\n" /* none is 0, and there are 1024 threads in a block at most */
    "min.u32 %least, %least, %z;\n"
    "min.u32 %least, %least, %u;\n"
    "min.u32 %least, %least, %v;\n"
    "min.u32 %least, %least, %w;\n"
    "mul.wide.u32 %most, %u, %v;\n"
    "min.u64 %most, %most, 1025;\n"
    "cvt.u64.u32 %z64, %w;\n"
    "mul.lo.u64 %most, %most, %z64;\n"
    "setp.eq.u32 %no, %least, 0;\n"
    "setp.gt.or.u64 %no, %most, 1024, %no;\n"
    "selp.b32 %e, 9, 0, %no;\n"
    "mov.u64 %words, " AW_STARTS_SYMBOL ";\n"
    "@%no st.global.u32 [%words+24], %e;\n"
    "st.param.b32 [error], %e;\n"
    "ret;\n"
    "}\n"

    /* The record counts from now on.  Without one, why there is none. */
    ".weak .func (.param .b32 error) __anywarp_starts_go(.param .b64 params, .param .b64 stream)\n"
    "{\n"
    ".reg .b64 %p, %stream, %words, %one;\n"
    ".reg .b32 %e;\n"
    ".reg .pred %no;\n"
    "ld.param.u64 %p, [params];\n"
    "ld.param.u64 %stream, [stream];\n"
    "mov.u64 %words, " AW_STARTS_SYMBOL ";\n"
    "setp.eq.u64 %no, %p, 0;\n"
    "@%no bra NONE;\n"
    "mov.u64 %one, 1;\n"
    "st.u64 [%p+-16], %stream;\n"
    "st.u64 [%p+-8], %one;\n"
    "st.param.b32 [error], 0;\n"
    "ret;\n"
    "NONE:\n"
    "ld.global.u32 %e, [%words+24];\n"
    "st.param.b32 [error], %e;\n"
    "ret;\n"
    "}\n"

    /* Grids that this one has started run when it has ended: it cannot wait for them. */
    ".weak .func (.param .b32 error) cudaDeviceSynchronize()\n"
    "{\n"
    ".reg .b64 %words, %used;\n"
    ".reg .pred %some;\n"
    "mov.u64 %words, " AW_STARTS_SYMBOL ";\n"
    "ld.volatile.global.u64 %used, [%words+16];\n"
    "setp.ne.u64 %some, %used, 0;\n"
    "@%some trap;\n"
    "st.param.b32 [error], 0;\n"
    "ret;\n"
    "}\n"
    ".weak .func (.param .b32 error) __cudaDeviceSynchronizeDeprecationAvoidance()\n"
    "{\n"
    "{ .param .b32 e; .reg .b32 %e; call (e), cudaDeviceSynchronize, (); ld.param.b32 %e, [e]; st.param.b32 [error], %e; }\n"
    "ret;\n"
    "}\n";

/* What the record at %p is of, from the parameters of who asks; %no: that is no shape, and %e says so. */
#define FILL \
    "ld.param.u32 %x, [grid];\n"                                                      \
    "ld.param.u32 %y, [grid+4];\n"                                                    \
    "ld.param.u32 %z, [grid+8];\n"                                                    \
    "ld.param.u32 %u, [block];\n"                                                     \
    "ld.param.u32 %v, [block+4];\n"                                                   \
    "ld.param.u32 %w, [block+8];\n"                                                   \
    "ld.param.u32 %shared, [shared];\n"                                               \
    "{ .param .b64 p, k; .param .align 4 .b8 g[12], b[12]; .param .b32 s, e;\n"       \
    "  st.param.b64 [p], %p; st.param.b64 [k], %kernel; st.param.b32 [s], %shared;\n" \
    "  st.param.b32 [g], %x; st.param.b32 [g+4], %y; st.param.b32 [g+8], %z;\n"       \
    "  st.param.b32 [b], %u; st.param.b32 [b+4], %v; st.param.b32 [b+8], %w;\n"       \
    "  call (e), __anywarp_starts_fill, (p, k, g, b, s); ld.param.b32 %e, [e]; }\n"   \
    "setp.ne.u32 %no, %e, 0;\n"                                                      

/* It counts from now on; %e: why there is none. */
#define GO \
    "{ .param .b64 p, s; .param .b32 e; st.param.b64 [p], %p; st.param.b64 [s], %stream;\n" \
    "  call (e), __anywarp_starts_go, (p, s); ld.param.b32 %e, [e]; }\n"                   

/* @ is a prefix of names. */
static const char family[] =
    ".weak .func (.param .b64 params) @GetParameterBuffer(.param .b64 alignment, .param .b64 bytes)\n"
    "{\n"
    ".reg .b64 %n, %p;\n"
    "ld.param.u64 %n, [bytes];\n"
    "{ .param .b64 n, p; st.param.b64 [n], %n; call (p), " PTX_STARTS_TAKE ", (n); ld.param.b64 %p, [p]; }\n"
    "st.param.b64 [params], %p;\n"
    "ret;\n"
    "}\n"
    ".weak .func (.param .b64 params) @GetParameterBufferV2(.param .b64 kernel, .param .align 4 .b8 grid[12],\n"
    "    .param .align 4 .b8 block[12], .param .b32 shared)\n"
    "{\n"
    ".reg .b64 %n, %p, %kernel;\n"
    ".reg .b32 %x, %y, %z, %u, %v, %w, %shared, %e;\n"
    ".reg .pred %no;\n"
    "ld.param.u64 %kernel, [kernel];\n"
    "shr.u64 %n, %kernel, 32;\n"
    "{ .param .b64 n, p; st.param.b64 [n], %n; call (p), " PTX_STARTS_TAKE ", (n); ld.param.b64 %p, [p]; }\n"
    "setp.eq.u64 %no, %p, 0;\n"
    "@%no bra DONE;\n"
    FILL
    "selp.b64 %p, 0, %p, %no;\n"
    "DONE:\n"
    "st.param.b64 [params], %p;\n"
    "ret;\n"
    "}\n"
    ".weak .func (.param .b32 error) @StreamCreateWithFlags(.param .b64 at, .param .b32 flags)\n"
    "{\n"
    ".reg .b64 %at, %handle;\n"
    "ld.param.u64 %at, [at];\n"
    "mov.u64 %handle, 0x10000;\n" /* a number that CUDA has no meaning for */
    "st.u64 [%at], %handle;\n"
    "st.param.b32 [error], 0;\n"
    "ret;\n"
    "}\n"
    ".weak .func (.param .b32 error) @EventCreateWithFlags(.param .b64 at, .param .b32 flags)\n"
    "{\n"
    ".reg .b64 %at, %handle;\n"
    "ld.param.u64 %at, [at];\n"
    "mov.u64 %handle, 0x20000;\n"
    "st.u64 [%at], %handle;\n"
    "st.param.b32 [error], 0;\n"
    "ret;\n"
    "}\n"
    ".weak .func (.param .b32 error) @StreamDestroy(.param .b64 s) { st.param.b32 [error], 0; ret; }\n"
    ".weak .func (.param .b32 error) @EventDestroy(.param .b64 e) { st.param.b32 [error], 0; ret; }\n"
    ".weak .func (.param .b32 error) @GetLastError()\n"
    "{\n"
    ".reg .b64 %words;\n"
    ".reg .b32 %e;\n"
    "mov.u64 %words, " AW_STARTS_SYMBOL ";\n"
    "atom.global.exch.b32 %e, [%words+24], 0;\n"
    "st.param.b32 [error], %e;\n"
    "ret;\n"
    "}\n"
    ".weak .func (.param .b32 error) @PeekAtLastError()\n"
    "{\n"
    ".reg .b64 %words;\n"
    ".reg .b32 %e;\n"
    "mov.u64 %words, " AW_STARTS_SYMBOL ";\n"
    "ld.volatile.global.u32 %e, [%words+24];\n"
    "st.param.b32 [error], %e;\n"
    "ret;\n"
    "}\n";

/* The same, and ~ ends them: nothing, or _ptsz in programs built for a default stream of each thread, which makes no difference
 * on the device. */
static const char streamed[] =
    ".weak .func (.param .b32 error) @LaunchDeviceV2~(.param .b64 params, .param .b64 stream)\n"
    "{\n"
    ".reg .b64 %p, %stream;\n"
    ".reg .b32 %e;\n"
    "ld.param.u64 %p, [params];\n"
    "ld.param.u64 %stream, [stream];\n"
    GO
    "st.param.b32 [error], %e;\n"
    "ret;\n"
    "}\n"
    ".weak .func (.param .b32 error) @LaunchDevice~(.param .b64 kernel, .param .b64 params, .param .align 4 .b8 grid[12],\n"
    "    .param .align 4 .b8 block[12], .param .b32 shared, .param .b64 stream)\n"
    "{\n"
    ".reg .b64 %p, %kernel, %stream;\n"
    ".reg .b32 %x, %y, %z, %u, %v, %w, %shared, %e;\n"
    ".reg .pred %no;\n"
    "ld.param.u64 %p, [params];\n"
    "ld.param.u64 %stream, [stream];\n"
    "setp.eq.u64 %no, %p, 0;\n"
    "@%no bra GO;\n"
    "ld.param.u64 %kernel, [kernel];\n"
    FILL
    "@%no bra DONE;\n"
    "GO:\n"
    GO
    "DONE:\n"
    "st.param.b32 [error], %e;\n"
    "ret;\n"
    "}\n"
    ".weak .func (.param .b32 error) @MemcpyAsync~(.param .b64 dst, .param .b64 src, .param .b64 bytes, .param .b32 kind,\n"
    "    .param .b64 stream)\n"
    "{\n"
    ".reg .b64 %p, %dst, %src, %bytes, %stream;\n"
    ".reg .b32 %e, %kind;\n"
    ".reg .pred %no;\n"
    "ld.param.u64 %stream, [stream];\n"
    "{ .param .b64 n, p; st.param.b64 [n], 24; call (p), " PTX_STARTS_TAKE ", (n); ld.param.b64 %p, [p]; }\n"
    "setp.eq.u64 %no, %p, 0;\n"
    "@%no bra GO;\n"
    "ld.param.u64 %dst, [dst];\n"
    "ld.param.u64 %src, [src];\n"
    "ld.param.u64 %bytes, [bytes];\n"
    "mov.u32 %kind, 1;\n"
    "st.u32 [%p+-20], %kind;\n"
    "st.u64 [%p], %dst;\n"
    "st.u64 [%p+8], %src;\n"
    "st.u64 [%p+16], %bytes;\n"
    "GO:\n"
    GO
    "st.param.b32 [error], %e;\n"
    "ret;\n"
    "}\n"
    ".weak .func (.param .b32 error) @MemsetAsync~(.param .b64 dst, .param .b32 value, .param .b64 bytes, .param .b64 stream)\n"
    "{\n"
    ".reg .b64 %p, %dst, %value, %bytes, %stream;\n"
    ".reg .b32 %e, %kind, %v;\n"
    ".reg .pred %no;\n"
    "ld.param.u64 %stream, [stream];\n"
    "{ .param .b64 n, p; st.param.b64 [n], 24; call (p), " PTX_STARTS_TAKE ", (n); ld.param.b64 %p, [p]; }\n"
    "setp.eq.u64 %no, %p, 0;\n"
    "@%no bra GO;\n"
    "ld.param.u64 %dst, [dst];\n"
    "ld.param.u32 %v, [value];\n"
    "cvt.u64.u32 %value, %v;\n"
    "ld.param.u64 %bytes, [bytes];\n"
    "mov.u32 %kind, 2;\n"
    "st.u32 [%p+-20], %kind;\n"
    "st.u64 [%p], %dst;\n"
    "st.u64 [%p+8], %value;\n"
    "st.u64 [%p+16], %bytes;\n"
    "GO:\n"
    GO
    "st.param.b32 [error], %e;\n"
    "ret;\n"
    "}\n"
    ".weak .func (.param .b32 error) @StreamWaitEvent~(.param .b64 s, .param .b64 e, .param .b32 f) { st.param.b32 [error], 0; "
    "ret; }\n"
    ".weak .func (.param .b32 error) @EventRecord~(.param .b64 e, .param .b64 s) { st.param.b32 [error], 0; ret; }\n"
    ".weak .func (.param .b32 error) @EventRecordWithFlags~(.param .b64 e, .param .b64 s, .param .b32 f)\n"
    "{ st.param.b32 [error], 0; ret; }\n";

static void expand(struct aw_buf *to, const char *text, const char *prefix, const char *suffix)
{
    for (const char *p = text; *p; p++) {
        const char *name = *p == '@' && p[1] >= 'A' && p[1] <= 'Z' ? prefix : *p == '~' ? suffix : NULL; /* a guard is @%no */
        aw_buf_add(to, name ? name : p, name ? strlen(name) : 1);
    }
}

void ptx_starts_text(struct aw_buf *ret_text)
{
    static const char *const prefixes[] = { "cuda", "__cudaCDP2" };
    static const char *const suffixes[] = { "", "_ptsz" };

    aw_buf_add(ret_text, common, sizeof common - 1);
    for (size_t i = 0; i < 2; i++) {
        expand(ret_text, family, prefixes[i], "");
        for (size_t j = 0; j < 2; j++)
            expand(ret_text, streamed, prefixes[i], suffixes[j]);
    }
}

bool ptx_closure_starts(const struct ptx_closure *c)
{
    for (uint32_t i = 0; i < c->n_funcs; i++)
        if (aw_str_is(c->funcs[i]->name, PTX_STARTS_TAKE))
            return true;
    return false;
}
