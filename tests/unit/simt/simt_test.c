/* The warp vectoriser and the host finisher: every feature against a C reference, random control flow against scalar code. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "gen.h"
#include "harness.h"
#include "lockstep.h"
#include "simt/vectorise.h"
#include <anywarp/compiler.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* ---- Kernels from a body: %p0 .. %p7 are the eight arguments as global pointers, %t the thread in its block, %g in the grid */

struct args {
    void *p[8];
    char hidden[16];
};

static char *kernel_text(const char *body, const char *globals)
{
    struct aw_buf b = { 0 };
    aw_buf_printf(&b, "%s\ndefine void @k(ptr addrspace(4) byref([80 x i8]) align 16 %%ka) \"aw-kernel\" {\nentry:\n", globals);
    for (int i = 0; i < 8; i++)
        aw_buf_printf(&b, "  %%pp%d = getelementptr i8, ptr addrspace(4) %%ka, i64 %d\n"
                      "  %%p%d = load ptr addrspace(1), ptr addrspace(4) %%pp%d\n", i, 8 * i, i, i);
    aw_buf_printf(&b,
        "  %%tx = call i32 @aw.tid.x()\n  %%ty = call i32 @aw.tid.y()\n  %%tz = call i32 @aw.tid.z()\n"
        "  %%nx = call i32 @aw.ntid.x()\n  %%ny = call i32 @aw.ntid.y()\n  %%nz = call i32 @aw.ntid.z()\n"
        "  %%a0 = mul i32 %%tz, %%ny\n  %%a1 = add i32 %%a0, %%ty\n  %%a2 = mul i32 %%a1, %%nx\n  %%t = add i32 %%a2, %%tx\n"
        "  %%a3 = mul i32 %%nx, %%ny\n  %%a4 = mul i32 %%a3, %%nz\n  %%cx = call i32 @aw.ctaid.x()\n"
        "  %%a5 = mul i32 %%cx, %%a4\n  %%g = add i32 %%a5, %%t\n  %%gl = zext i32 %%g to i64\n%s\n}\n", body);
    static const char *const declared[] = { "tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ntid.z", "ctaid.x" };
    for (size_t i = 0; i < sizeof declared / sizeof *declared; i++)
        aw_buf_printf(&b, "declare i32 @aw.%s()\n", declared[i]);
    return b.ptr;
}

static const uint32_t one[3] = { 1, 1, 1 }, any_rows[3] = { 1, 0, 0 }, full_rows[3] = { 32, 0, 0 };

static struct built build_or_fail(const char *ir, const char *target, const uint32_t block[3], uint32_t shared)
{
    struct aw_buf diags = { 0 };
    struct built b = { 0 };
    cr_assert(build_simt(ir, target, block, shared, &b, &diags), "%s\n%s", diags.ptr ? diags.ptr : "?", ir);
    aw_buf_fini(&diags);
    return b;
}

/* Builds for the blocks `built_for`, as the compiler's options say it, and runs one of them. */
static struct outcome run_form(const char *body, const char *globals, const uint32_t grid[3], const uint32_t block[3],
                               const uint32_t built_for[3], uint32_t shared, const struct args *a)
{
    char *ir = kernel_text(body, globals);
    struct built b = build_or_fail(ir, "host", built_for, shared);
    if (built_for)
        cr_assert_arr_eq(b.object->block, built_for, sizeof b.object->block);
    struct outcome o = launch(&b, grid, block, 0, a);
    unload(&b);
    free(ir);
    return o;
}

/* Builds for any shape, or for this one, and runs it. */
static struct outcome run_body(const char *body, const char *globals, const uint32_t grid[3], const uint32_t block[3], bool fixed,
                               uint32_t shared, const struct args *a)
{
    return run_form(body, globals, grid, block, fixed ? block : NULL, shared, a);
}

static uint64_t state = 0x1234567;
static uint32_t rnd(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state * 0x9e3779b97f4a7c15u) >> 33) % n;
}

#define LOAD(r, p, type, size) \
    "  %" r ".o = mul i64 %gl, " size "\n  %" r ".p = getelementptr i8, ptr addrspace(1) %" p ", i64 %" r ".o\n" \
    "  %" r " = load " type ", ptr addrspace(1) %" r ".p\n"
#define STORE(v, p, type, size) \
    "  %" v ".so = mul i64 %gl, " size "\n  %" v ".sp = getelementptr i8, ptr addrspace(1) %" p ", i64 %" v ".so\n" \
    "  store " type " %" v ", ptr addrspace(1) %" v ".sp\n"

/* The same inside a printf format. */
#define FLOAD(r, p, type, size) \
    "  %%" r ".o = mul i64 %%gl, " size "\n  %%" r ".p = getelementptr i8, ptr addrspace(1) %%" p ", i64 %%" r ".o\n" \
    "  %%" r " = load " type ", ptr addrspace(1) %%" r ".p\n"
#define FSTORE(v, p, type, size) \
    "  %%" v ".so = mul i64 %%gl, " size "\n  %%" v ".sp = getelementptr i8, ptr addrspace(1) %%" p ", i64 %%" v ".so\n" \
    "  store " type " %%" v ", ptr addrspace(1) %%" v ".sp\n"

/* ---- Warp operations under a random set of active lanes */

enum { WARPS = 6, N = WARPS * 32 };

struct warp_case {
    const char *call;   /* uses %v %b %c %m %q (i1), gives %r */
    bool pair;          /* { i32, i1 } */
    bool bit;           /* i1 */
    int op;
};
enum { UP, DOWN, BFLY, IDX, BALLOT, ANY, ALL, UNI, ACTIVE, MATCH_ANY, MATCH_ALL, ADD, MIN, MAX, UMIN, UMAX, AND, OR, XOR, ELECT };

static uint32_t in_v[N], in_b[N], in_c[N], in_m[N], in_q[N], in_a[N], out_r[N], out_p[N];

/* PTX ISA 9.7.9.6, as its pseudo code has it. */
static int shuffle_from(int op, int lane, uint32_t b, uint32_t c, uint32_t *pred)
{
    int bval = b & 31, cval = c & 31, segmask = c >> 8 & 31, j;
    int max = (lane & segmask) | (cval & ~segmask), min = lane & segmask;
    switch (op) {
    case UP: j = lane - bval; *pred = j >= max; break;
    case DOWN: j = lane + bval; *pred = j <= max; break;
    case BFLY: j = lane ^ bval; *pred = j <= max; break;
    default: j = min | (bval & ~segmask); *pred = j <= max; break;
    }
    return *pred ? j : lane;
}

static uint32_t reduce(int op, uint32_t x, uint32_t y)
{
    int32_t sx = (int32_t)x, sy = (int32_t)y;
    switch (op) {
    case ADD: return x + y;
    case MIN: return (uint32_t)(sx < sy ? sx : sy);
    case MAX: return (uint32_t)(sx > sy ? sx : sy);
    case UMIN: return x < y ? x : y;
    case UMAX: return x > y ? x : y;
    case AND: return x & y;
    case OR: return x | y;
    default: return x ^ y;
    }
}

/* The result of one lane; false when PTX leaves it undefined. */
static bool warp_reference(int op, int w, int lane, uint32_t *r, uint32_t *p)
{
    int base = w * 32, me = base + lane;
    uint32_t active = 0, yes = 0;
    for (int i = 0; i < 32; i++) {
        active |= (uint32_t)(in_a[base + i] != 0) << i;
        yes |= (uint32_t)(in_a[base + i] && (in_q[base + i] & 1)) << i;
    }
    uint32_t group = active & in_m[me], same = 0;
    if (op <= IDX) {
        int from = shuffle_from(op, lane, in_b[me], in_c[me], p);
        *r = in_v[base + from];
        return in_a[base + from] != 0;
    }
    for (int i = 0; i < 32; i++)
        same |= (uint32_t)(in_v[base + i] == in_v[me]) << i;
    bool first = true;
    switch (op) {
    case BALLOT: *r = yes & in_m[me]; return true;
    case ANY: *r = (yes & in_m[me]) != 0; return true;
    case ALL: *r = (yes & group) == group; return true;
    case UNI: *r = (yes & group) == group || (yes & group) == 0; return true;
    case ACTIVE: *r = active; return true;
    case MATCH_ANY: *r = same & group; return true;
    case MATCH_ALL: *p = (same & group) == group; *r = *p ? group : 0; return true;
    case ELECT: *r = (uint32_t)__builtin_ctz(group ? group : 1u << 31); *p = group && *r == (uint32_t)lane; return group != 0;
    default:
        for (int i = 0; i < 32; i++)
            if (group >> i & 1) {
                *r = first ? in_v[base + i] : reduce(op, *r, in_v[base + i]);
                first = false;
            }
        return group != 0;
    }
}

static void check_warp_op(const struct warp_case *c, bool uniform_mask, bool all_active, const char *declaration)
{
    char body[4096], ret[256];
    if (c->pair)
        snprintf(ret, sizeof ret, "  %%x = extractvalue {i32,i1} %%r, 0\n  %%y1 = extractvalue {i32,i1} %%r, 1\n  %%y = zext i1 %%y1 to i32\n");
    else if (c->bit)
        snprintf(ret, sizeof ret, "  %%x = zext i1 %%r to i32\n  %%y = add i32 %%x, 0\n");
    else
        snprintf(ret, sizeof ret, "  %%x = add i32 %%r, 0\n  %%y = add i32 %%r, 0\n");
    snprintf(body, sizeof body,
             FLOAD("a", "p5", "i32", "4") "  %%act = icmp ne i32 %%a, 0\n  br i1 %%act, label %%go, label %%end\ngo:\n"
             FLOAD("v", "p0", "i32", "4") FLOAD("b", "p1", "i32", "4") FLOAD("c", "p2", "i32", "4") FLOAD("m0", "p3", "i32", "4")
             FLOAD("q0", "p4", "i32", "4")
             "  %%q = trunc i32 %%q0 to i1\n  %%vl = zext i32 %%v to i64\n  %%m1 = load i32, ptr addrspace(1) %%p3\n"
             "  %%m = add i32 %s, 0\n  %%r = %s\n%s"
             "  br label %%join\njoin:\n"
             FSTORE("x", "p6", "i32", "4") FSTORE("y", "p7", "i32", "4") "  br label %%end\nend:\n  ret void\n",
             uniform_mask ? "%m1" : "%m0", c->call, ret);
    for (int i = 0; i < N; i++) {
        in_v[i] = rnd(4) ? rnd(7) : rnd(0x7fffffff) * 2 + rnd(2);
        in_b[i] = rnd(40);
        in_c[i] = rnd(2) ? 31 : rnd(0x2000);
        in_m[i] = uniform_mask ? 0xffff7fffu : i % 32 < 16 ? 0xffffu : rnd(2) ? 0xffff0000u : 0xffffffffu;
        in_q[i] = rnd(3) ? 1 : 0;
        in_a[i] = all_active || rnd(4);
        out_r[i] = out_p[i] = 77;
    }
    struct args a = { { in_v, in_b, in_c, in_m, in_q, in_a, out_r, out_p }, { 0 } };
    char *ir = kernel_text(body, declaration);
    struct built b = build_or_fail(ir, "host", NULL, 0);
    launch(&b, one, (uint32_t[3]){ N, 1, 1 }, 0, &a);
    unload(&b);
    free(ir);
    for (int i = 0; i < N; i++) {
        uint32_t r = 77, p = 77;
        bool defined = !in_a[i] || warp_reference(c->op, i / 32, i % 32, &r, &p);
        if (!defined)
            continue;
        cr_assert_eq(out_r[i], r, "%s lane %d: %#x, not %#x", c->call, i, out_r[i], r);
        if (c->pair)
            cr_assert_eq(out_p[i], p, "%s lane %d: predicate %u, not %u", c->call, i, out_p[i], p);
    }
}

Test(simt, warp_operations)
{
    static const struct warp_case cases[] = {
        { "call {i32,i1} @aw.shfl.up(i32 %v, i32 %b, i32 %c, i32 %m)", true, false, UP },
        { "call {i32,i1} @aw.shfl.down(i32 %v, i32 %b, i32 %c, i32 %m)", true, false, DOWN },
        { "call {i32,i1} @aw.shfl.bfly(i32 %v, i32 %b, i32 %c, i32 %m)", true, false, BFLY },
        { "call {i32,i1} @aw.shfl.idx(i32 %v, i32 %b, i32 %c, i32 %m)", true, false, IDX },
        { "call i32 @aw.ballot(i32 %m, i1 %q)", false, false, BALLOT },
        { "call i1 @aw.vote.any(i32 %m, i1 %q)", false, true, ANY },
        { "call i1 @aw.vote.all(i32 %m, i1 %q)", false, true, ALL },
        { "call i1 @aw.vote.uni(i32 %m, i1 %q)", false, true, UNI },
        { "call i32 @aw.activemask()", false, false, ACTIVE },
        { "call i32 @aw.match.any.i32(i32 %m, i32 %v)", false, false, MATCH_ANY },
        { "call i32 @aw.match.any.i64(i32 %m, i64 %vl)", false, false, MATCH_ANY },
        { "call {i32,i1} @aw.match.all.i32(i32 %m, i32 %v)", true, false, MATCH_ALL },
        { "call {i32,i1} @aw.match.all.i64(i32 %m, i64 %vl)", true, false, MATCH_ALL },
        { "call i32 @aw.redux.add(i32 %m, i32 %v)", false, false, ADD },
        { "call i32 @aw.redux.min(i32 %m, i32 %v)", false, false, MIN },
        { "call i32 @aw.redux.max(i32 %m, i32 %v)", false, false, MAX },
        { "call i32 @aw.redux.umin(i32 %m, i32 %v)", false, false, UMIN },
        { "call i32 @aw.redux.umax(i32 %m, i32 %v)", false, false, UMAX },
        { "call i32 @aw.redux.and(i32 %m, i32 %v)", false, false, AND },
        { "call i32 @aw.redux.or(i32 %m, i32 %v)", false, false, OR },
        { "call i32 @aw.redux.xor(i32 %m, i32 %v)", false, false, XOR },
        { "call {i32,i1} @aw.elect(i32 %m)", true, false, ELECT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int k = 0; k < 3; k++) {
            /* Declare just what is called. */
            char name[64], result[16], decl[256];
            cr_assert_eq(sscanf(cases[i].call, "call %15s @%63[a-z0-9.]", result, name), 2);
            const char *types = cases[i].op <= IDX ? "i32, i32, i32, i32" : cases[i].op <= UNI ? "i32, i1"
                                : cases[i].op == ACTIVE ? "" : cases[i].op == ELECT ? "i32"
                                : strstr(name, "i64") ? "i32, i64" : "i32, i32";
            snprintf(decl, sizeof decl, "declare %s @%s(%s)", result, name, types);
            check_warp_op(&cases[i], k == 1, k == 2, decl);
        }
}

/* Constant lanes and clamps become permutations; a constant lane of a whole warp, a broadcast. */
Test(simt, constant_shuffles)
{
    static const struct {
        const char *name;
        int op;
        uint32_t b, c;
    } cases[] = { { "up", UP, 3, 0 }, { "down", DOWN, 16, 31 }, { "bfly", BFLY, 5, 31 }, { "idx", IDX, 7, 31 },
                  { "down", DOWN, 4, 0x181f }, { "up", UP, 1, 0x1c00 }, { "idx", IDX, 3, 0x181f }, { "bfly", BFLY, 9, 0x1807 } };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char body[2048], decl[128];
        snprintf(decl, sizeof decl, "declare {i32,i1} @aw.shfl.%s(i32, i32, i32, i32)", cases[k].name);
        snprintf(body, sizeof body,
                 FLOAD("v", "p0", "i32", "4") "  %%r = call {i32,i1} @aw.shfl.%s(i32 %%v, i32 %u, i32 %u, i32 -1)\n"
                 "  %%x = extractvalue {i32,i1} %%r, 0\n  %%y1 = extractvalue {i32,i1} %%r, 1\n  %%y = zext i1 %%y1 to i32\n"
                 FSTORE("x", "p6", "i32", "4") FSTORE("y", "p7", "i32", "4") "  ret void\n", cases[k].name, cases[k].b, cases[k].c);
        for (int i = 0; i < N; i++)
            in_v[i] = rnd(100000);
        struct args a = { { in_v, 0, 0, 0, 0, 0, out_r, out_p }, { 0 } };
        run_body(body, decl, one, (uint32_t[3]){ N, 1, 1 }, k & 1, 0, &a);
        for (int i = 0; i < N; i++) {
            uint32_t p;
            int from = shuffle_from(cases[k].op, i % 32, cases[k].b, cases[k].c, &p);
            cr_assert_eq(out_r[i], in_v[i / 32 * 32 + from], "case %zu lane %d", k, i);
            cr_assert_eq(out_p[i], p, "case %zu lane %d predicate", k, i);
        }
    }
}

/* So do lanes that follow from the lane's own number. */
Test(simt, shuffles_by_lane)
{
    static const struct {
        const char *name;
        int op;
        uint32_t mask, shift, plus, c;
    } cases[] = { { "idx", IDX, 3, 3, 5, 31 }, { "idx", IDX, 7, 2, 3, 0x181f }, { "up", UP, 3, 0, 4, 0 }, { "down", DOWN, 1, 4, 1, 31 },
                  { "bfly", BFLY, 3, 1, 8, 0x100f } };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char body[2048], decl[256];
        snprintf(decl, sizeof decl, "declare i32 @aw.laneid()\ndeclare {i32,i1} @aw.shfl.%s(i32, i32, i32, i32)", cases[k].name);
        snprintf(body, sizeof body,
                 FLOAD("v", "p0", "i32", "4") "  %%l = call i32 @aw.laneid()\n  %%m = and i32 %%l, %u\n  %%s = shl i32 %%m, %u\n"
                 "  %%b = or i32 %%s, %u\n  %%r = call {i32,i1} @aw.shfl.%s(i32 %%v, i32 %%b, i32 %u, i32 -1)\n"
                 "  %%x = extractvalue {i32,i1} %%r, 0\n  %%y1 = extractvalue {i32,i1} %%r, 1\n  %%y = zext i1 %%y1 to i32\n"
                 FSTORE("x", "p6", "i32", "4") FSTORE("y", "p7", "i32", "4") "  ret void\n",
                 cases[k].mask, cases[k].shift, cases[k].plus, cases[k].name, cases[k].c);
        for (int i = 0; i < N; i++)
            in_v[i] = rnd(100000);
        struct args a = { { in_v, 0, 0, 0, 0, 0, out_r, out_p }, { 0 } };
        run_body(body, decl, one, (uint32_t[3]){ N, 1, 1 }, k & 1, 0, &a);
        for (int i = 0; i < N; i++) {
            uint32_t p, b = (i % 32 & cases[k].mask) << cases[k].shift | cases[k].plus;
            int from = shuffle_from(cases[k].op, i % 32, b, cases[k].c, &p);
            cr_assert_eq(out_r[i], in_v[i / 32 * 32 + from], "case %zu lane %d", k, i);
            cr_assert_eq(out_p[i], p, "case %zu lane %d predicate", k, i);
        }
    }
}

/* ---- Barriers and shared memory */

#define SHARED_ADDR \
    "  %s.o = shl i32 %t, 2\n  %s.p = getelementptr i8, ptr addrspace(3) @aw.shared, i32 %s.o\n"

Test(simt, barriers_in_loops)
{
    /* Rounds of: write own slot, barrier, read the neighbour's, barrier.  The trip count is loaded, but the same for all. */
    static const char body[] =
        LOAD("v0", "p0", "i32", "4") SHARED_ADDR
        "  %n = load i32, ptr addrspace(1) %p1\n  %t1 = add i32 %t, 1\n  %w = icmp eq i32 %t1, %a4\n  %nb = select i1 %w, i32 0, i32 %t1\n"
        "  %q.o = shl i32 %nb, 2\n  %q.p = getelementptr i8, ptr addrspace(3) @aw.shared, i32 %q.o\n"
        "  br label %loop\nloop:\n  %i = phi i32 [ 0, %entry ], [ %i1, %loop ]\n  %v = phi i32 [ %v0, %entry ], [ %v1, %loop ]\n"
        "  store i32 %v, ptr addrspace(3) %s.p\n  call void @aw.barrier(i32 0, i32 0)\n"
        "  %x = load i32, ptr addrspace(3) %q.p\n  call void @aw.barrier(i32 0, i32 0)\n"
        "  %x3 = mul i32 %x, 3\n  %v1 = add i32 %v, %x3\n"
        "  %i1 = add i32 %i, 1\n  %more = icmp slt i32 %i1, %n\n  br i1 %more, label %loop, label %done\ndone:\n"
        STORE("v1", "p6", "i32", "4") "  ret void\n";
    static const char globals[] = "@aw.shared = internal addrspace(3) global [1024 x i8] undef\ndeclare void @aw.barrier(i32, i32)\n";
    static const uint32_t shapes[][3] = { { 128, 1, 1 }, { 100, 1, 1 }, { 16, 8, 1 }, { 7, 5, 3 } };
    for (size_t s = 0; s < 4; s++)
        for (int form = 0; form < (s ? 3 : 4); form++) {
            const uint32_t *forms[] = { NULL, shapes[s], any_rows, full_rows };
            int threads = (int)(shapes[s][0] * shapes[s][1] * shapes[s][2]);
            uint32_t v[256], r[256] = { 0 }, n = 5, next[256];
            for (int i = 0; i < 2 * threads && i < 256; i++)
                v[i] = rnd(1000);
            uint32_t keep[256];
            memcpy(keep, v, sizeof v);
            struct args a = { { v, &n, 0, 0, 0, 0, r, 0 }, { 0 } };
            struct outcome o = run_form(body, globals, (uint32_t[3]){ threads <= 128 ? 2 : 1, 1, 1 }, shapes[s], forms[form], 1024, &a);
            cr_assert_eq(o.status, 0);
            for (int b = 0; b < (threads <= 128 ? 2 : 1); b++) {
                uint32_t *x = keep + b * threads;
                for (uint32_t k = 0; k < n; k++) {
                    for (int i = 0; i < threads; i++)
                        next[i] = x[i] + 3 * x[(i + 1) % threads];
                    memcpy(x, next, (size_t)threads * 4);
                }
                cr_assert_arr_eq(r + b * threads, x, (size_t)threads * 4);
            }
        }
}

Test(simt, barrier_reductions_and_early_exit)
{
    /* Threads of p0 == 0 leave first; the rest reduce three ways. */
    static const char body[] =
        LOAD("v", "p0", "i32", "4")
        "  %out = icmp eq i32 %v, 0\n  br i1 %out, label %end, label %go\ngo:\n  %b = and i32 %v, 2\n  %q = icmp ne i32 %b, 0\n"
        "  %x = call i32 @aw.barrier.reduce(i32 1, i32 0, i32 0, i1 %q)\n  %y = call i32 @aw.barrier.reduce(i32 1, i32 0, i32 1, i1 %q)\n"
        "  %z = call i32 @aw.barrier.reduce(i32 1, i32 0, i32 2, i1 %q)\n  %y2 = shl i32 %y, 16\n  %z2 = shl i32 %z, 17\n"
        "  %w0 = or i32 %x, %y2\n  %w = or i32 %w0, %z2\n" STORE("w", "p6", "i32", "4")
        "  br label %end\nend:\n  ret void\n";
    uint32_t v[160], r[160];
    for (int k = 0; k < 3; k++) {
        uint32_t count = 0, all = 1, any = 0;
        for (int i = 0; i < 160; i++) {
            v[i] = i / 32 == 2 ? 0 : k == 0 ? rnd(4) : k == 1 ? 2 : 1; /* warp 2 leaves whole */
            r[i] = 9;
            if (v[i]) {
                count += (v[i] & 2) != 0;
                all &= (v[i] & 2) != 0;
                any |= (v[i] & 2) != 0;
            }
        }
        struct args a = { { v, 0, 0, 0, 0, 0, r, 0 }, { 0 } };
        struct outcome o = run_body(body, "declare i32 @aw.barrier.reduce(i32, i32, i32, i1)", one, (uint32_t[3]){ 160, 1, 1 }, false, 0, &a);
        cr_assert_eq(o.status, 0);
        for (int i = 0; i < 160; i++)
            cr_assert_eq(r[i], v[i] ? count | all << 16 | any << 17 : 9, "thread %d: %#x", i, r[i]);
    }
}

Test(simt, named_barriers)
{
    /* Warp 0 arrives at barrier 3 and goes on; warp 1 waits there for both. */
    static const char body[] =
        "  %w = lshr i32 %t, 5\n  %first = icmp eq i32 %w, 0\n  br i1 %first, label %give, label %take\ngive:\n"
        "  store i32 41, ptr addrspace(3) @aw.shared\n  call void @aw.barrier.arrive(i32 3, i32 64)\n  br label %end\ntake:\n"
        "  call void @aw.barrier(i32 3, i32 64)\n  %x = load i32, ptr addrspace(3) @aw.shared\n" STORE("x", "p6", "i32", "4")
        "  br label %end\nend:\n  ret void\n";
    uint32_t r[64] = { 0 };
    struct args a = { { 0, 0, 0, 0, 0, 0, r, 0 }, { 0 } };
    struct outcome o = run_body(body, "@aw.shared = internal addrspace(3) global [4 x i8] undef\ndeclare void @aw.barrier(i32, i32)\n"
                                "declare void @aw.barrier.arrive(i32, i32)\n", one, (uint32_t[3]){ 64, 1, 1 }, false, 4, &a);
    cr_assert_eq(o.status, 0);
    cr_assert_eq(o.arrivals, 1);
    for (int i = 32; i < 64; i++)
        cr_assert_eq(r[i], 41);
}

/* ---- Atomics: lanes in order, so even the old values are known */

static uint64_t rmw(const char *op, uint64_t old, uint64_t x, int bits)
{
    uint64_t mask = bits == 64 ? ~UINT64_C(0) : 0xffffffffu;
    int64_t so = bits == 64 ? (int64_t)old : (int32_t)old, sx = bits == 64 ? (int64_t)x : (int32_t)x;
    uint64_t r = 0;
    if (!strcmp(op, "xchg")) r = x;
    else if (!strcmp(op, "add")) r = old + x;
    else if (!strcmp(op, "sub")) r = old - x;
    else if (!strcmp(op, "and")) r = old & x;
    else if (!strcmp(op, "nand")) r = ~(old & x);
    else if (!strcmp(op, "or")) r = old | x;
    else if (!strcmp(op, "xor")) r = old ^ x;
    else if (!strcmp(op, "max")) r = (uint64_t)(so > sx ? so : sx);
    else if (!strcmp(op, "min")) r = (uint64_t)(so < sx ? so : sx);
    else if (!strcmp(op, "umax")) r = old > x ? old : x;
    else if (!strcmp(op, "umin")) r = old < x ? old : x;
    else if (!strcmp(op, "uinc_wrap")) r = old >= x ? 0 : old + 1;
    else if (!strcmp(op, "udec_wrap")) r = old == 0 || old > x ? x : old - 1;
    else cr_assert(0, "%s", op);
    return r & mask;
}

static void check_atomic(const char *op, int bits, bool shared, bool all)
{
    enum { SLOTS = 5 };
    char body[4096];
    const char *sp = shared ? "3" : "1";
    snprintf(body, sizeof body,
             FLOAD("v", "p0", "i64", "8") FLOAD("s", "p1", "i32", "4") FLOAD("a", "p5", "i32", "4")
             "  %%x = %s i64 %%v to i%d\n  %%so = mul i32 %%s, 8\n"
             "  %%q = getelementptr i8, ptr addrspace(%s) %s, i32 %%so\n"
             "  %%act = icmp ne i32 %%a, 0\n  br i1 %%act, label %%go, label %%end\ngo:\n"
             "  %%o = atomicrmw %s ptr addrspace(%s) %%q, i%d %%x monotonic\n  %%r = %s i%d %%o to i64\n" FSTORE("r", "p6", "i64", "8")
             "  br label %%end\nend:\n"
             "%s  ret void\n",
             bits == 64 ? "bitcast" : "trunc", bits, sp, shared ? "@aw.shared" : "%p2", op, sp, bits, bits == 64 ? "bitcast" : "zext", bits,
             /* Copies shared memory out at the end; every lane that runs last sees the same. */
             shared ? "  %y = load i64, ptr addrspace(3) @aw.shared\n  store i64 %y, ptr addrspace(1) %p2\n"
                      "  %y1p = getelementptr i8, ptr addrspace(3) @aw.shared, i32 8\n  %y1 = load i64, ptr addrspace(3) %y1p\n"
                      "  %y1q = getelementptr i8, ptr addrspace(1) %p2, i32 8\n  store i64 %y1, ptr addrspace(1) %y1q\n" : "");
    uint64_t v[64], r[64], memory[SLOTS] = { 0 }, expect[SLOTS];
    uint32_t s[64], act[64];
    for (int i = 0; i < 64; i++) {
        v[i] = (uint64_t)rnd(0x7fffffff) * 12345;
        if (strstr(op, "wrap"))
            v[i] = rnd(4);
        s[i] = shared ? rnd(2) : rnd(SLOTS);
        act[i] = all || rnd(4);
        r[i] = 1;
    }
    if (!shared)
        for (int i = 0; i < SLOTS; i++)
            memory[i] = (uint64_t)rnd(0x7fffffff) << 20 | rnd(1 << 20);
    memcpy(expect, memory, sizeof memory);
    char globals[128] = "";
    if (shared)
        snprintf(globals, sizeof globals, "@aw.shared = internal addrspace(3) global [16 x i8] zeroinitializer\n");
    struct args a = { { v, s, memory, 0, 0, act, r, 0 }, { 0 } };
    char *ir = kernel_text(body, globals);
    struct built b = build_or_fail(ir, "host", NULL, shared ? 16 : 0);
    launch(&b, one, (uint32_t[3]){ 64, 1, 1 }, 0, &a);
    unload(&b);
    free(ir);
    if (shared)
        memset(expect, 0, sizeof expect);
    for (int i = 0; i < 64; i++) {
        if (!act[i]) {
            cr_assert_eq(r[i], 1);
            continue;
        }
        uint64_t mask = bits == 64 ? ~UINT64_C(0) : 0xffffffffu, old = expect[s[i]] & mask;
        cr_assert_eq(r[i], old, "%s i%d %s thread %d: old %#lx, not %#lx", op, bits, shared ? "shared" : "global", i, r[i], old);
        expect[s[i]] = (expect[s[i]] & ~mask) | rmw(op, old, v[i] & mask, bits);
    }
    for (int i = 0; i < (shared ? 2 : SLOTS); i++)
        cr_assert_eq(memory[i], expect[i], "%s i%d slot %d", op, bits, i);
}

Test(simt, atomics)
{
    static const char *const ops[] = { "xchg", "add", "sub", "and", "nand", "or", "xor", "max", "min", "umax", "umin", "uinc_wrap", "udec_wrap" };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int k = 0; k < 8; k++)
            check_atomic(ops[i], k & 1 ? 64 : 32, k & 2, k & 4);
}

Test(simt, compare_and_swap)
{
    /* A lane's swap succeeds when it holds the next number: lanes in order make a chain. */
    static const char body[] =
        LOAD("v", "p0", "i32", "4") "  %n = add i32 %v, 1\n"
        "  %pr = cmpxchg ptr addrspace(1) %p1, i32 %v, i32 %n monotonic monotonic\n  %x = extractvalue {i32,i1} %pr, 0\n"
        "  %y1 = extractvalue {i32,i1} %pr, 1\n  %y = zext i1 %y1 to i32\n"
        "  %sr = cmpxchg ptr addrspace(3) @aw.shared, i32 %v, i32 %n monotonic monotonic\n  %z = extractvalue {i32,i1} %sr, 0\n"
        "  %same = icmp eq i32 %x, %z\n  %e = zext i1 %same to i32\n"
        STORE("x", "p6", "i32", "4") STORE("y", "p7", "i32", "4") STORE("e", "p2", "i32", "4") "  ret void\n";
    uint32_t v[32], x[32], y[32], e[32], cell = 0, at = 0;
    for (int i = 0; i < 32; i++)
        v[i] = rnd(3) ? (uint32_t)(i * 2 / 3) : 0;
    struct args a = { { v, &cell, e, 0, 0, 0, x, y }, { 0 } };
    char *ir = kernel_text(body, "@aw.shared = internal addrspace(3) global [16 x i8] zeroinitializer\n");
    struct built b = build_or_fail(ir, "host", NULL, 16);
    launch(&b, one, (uint32_t[3]){ 32, 1, 1 }, 0, &a);
    unload(&b);
    free(ir);
    for (int i = 0; i < 32; i++) {
        cr_assert_eq(x[i], at);
        cr_assert_eq(y[i], at == v[i]);
        cr_assert_eq(e[i], 1, "shared and global differ for lane %d", i);
        at += at == v[i];
    }
    cr_assert_eq(cell, at);
}

/* ---- Local memory, calls, recursion */

Test(simt, local_arrays_and_generic_pointers)
{
    /* A per-thread array, indexed by data, through a generic pointer; and a shared cell through one, too. */
    static const char body[] =
        LOAD("v", "p0", "i32", "4")
        "  %arr = alloca [16 x i32], align 4, addrspace(5)\n  %gen = addrspacecast ptr addrspace(5) %arr to ptr\n  br label %fill\n"
        "fill:\n  %i = phi i32 [ 0, %entry ], [ %i1, %fill ]\n  %i64 = zext i32 %i to i64\n  %q = getelementptr i32, ptr %gen, i64 %i64\n"
        "  %x0 = mul i32 %i, %v\n  store i32 %x0, ptr %q\n  %i1 = add i32 %i, 1\n  %m = icmp ult i32 %i1, 16\n  br i1 %m, label %fill, label %use\n"
        "use:\n  %k = and i32 %v, 15\n  %k64 = zext i32 %k to i64\n  %w = getelementptr i32, ptr %gen, i64 %k64\n  %y = load i32, ptr %w\n"
        "  %l = call i1 @aw.is.local(ptr %w)\n  %sg = addrspacecast ptr addrspace(3) @aw.shared to ptr\n"
        "  %s1 = call i1 @aw.is.shared(ptr %sg)\n  %s2 = call i1 @aw.is.shared(ptr %w)\n  %l2 = call i1 @aw.is.local(ptr %sg)\n"
        "  %gg = addrspacecast ptr addrspace(1) %p0 to ptr\n  %l3 = call i1 @aw.is.local(ptr %gg)\n  %s3 = call i1 @aw.is.shared(ptr %gg)\n"
        "  store i32 5, ptr %sg\n  %sb = addrspacecast ptr %sg to ptr addrspace(3)\n  %five = load i32, ptr addrspace(3) %sb\n"
        "  %z0 = zext i1 %l to i32\n  %z1 = zext i1 %s1 to i32\n  %z2 = zext i1 %s2 to i32\n  %z3 = zext i1 %l2 to i32\n  %z4 = zext i1 %l3 to i32\n"
        "  %z5 = zext i1 %s3 to i32\n  %b1 = shl i32 %z1, 1\n  %b2 = shl i32 %z2, 2\n  %b3 = shl i32 %z3, 3\n  %b4 = shl i32 %z4, 4\n"
        "  %b5 = shl i32 %z5, 5\n  %c1 = or i32 %z0, %b1\n  %c2 = or i32 %c1, %b2\n  %c3 = or i32 %c2, %b3\n  %c4 = or i32 %c3, %b4\n  %c5 = or i32 %c4, %b5\n"
        "  %c6 = mul i32 %five, 64\n  %c = or i32 %c5, %c6\n" STORE("y", "p6", "i32", "4") STORE("c", "p7", "i32", "4") "  ret void\n";
    uint32_t v[70], y[70], c[70];
    for (int i = 0; i < 70; i++)
        v[i] = rnd(1000);
    struct args a = { { v, 0, 0, 0, 0, 0, y, c }, { 0 } };
    run_body(body, "@aw.shared = internal addrspace(3) global [16 x i8] undef\ndeclare i1 @aw.is.local(ptr)\ndeclare i1 @aw.is.shared(ptr)\n",
             one, (uint32_t[3]){ 70, 1, 1 }, false, 16, &a);
    for (int i = 0; i < 70; i++) {
        cr_assert_eq(y[i], (v[i] & 15) * v[i]);
        cr_assert_eq(c[i], 1 | 2 | 5 * 64, "windows of thread %d: %#x", i, c[i]);
    }
}

Test(simt, recursion_with_own_depths)
{
    /* Fibonacci by lanes of different depth; the callee has a stack variable of its own and returns on two paths. */
    static const char globals[] =
        "define internal i64 @fib(ptr addrspace(4) %ka, i32 %n, ptr addrspace(5) %calls) {\n"
        "  %c = load i32, ptr addrspace(5) %calls\n  %c1 = add i32 %c, 1\n  store i32 %c1, ptr addrspace(5) %calls\n"
        "  %small = icmp ult i32 %n, 2\n  br i1 %small, label %leaf, label %deep\nleaf:\n  %nl = zext i32 %n to i64\n  ret i64 %nl\ndeep:\n"
        "  %n1 = sub i32 %n, 1\n  %n2 = sub i32 %n, 2\n  %a = call i64 @fib(ptr addrspace(4) %ka, i32 %n1, ptr addrspace(5) %calls)\n"
        "  %b = call i64 @fib(ptr addrspace(4) %ka, i32 %n2, ptr addrspace(5) %calls)\n  %r = add i64 %a, %b\n  ret i64 %r\n}\n";
    static const char body[] =
        LOAD("v", "p0", "i32", "4") "  %n = alloca i32, align 4, addrspace(5)\n  store i32 0, ptr addrspace(5) %n\n"
        "  %odd = and i32 %v, 1\n  %is = icmp eq i32 %odd, 0\n  br i1 %is, label %go, label %end\ngo:\n"
        "  %x = call i64 @fib(ptr addrspace(4) %ka, i32 %v, ptr addrspace(5) %n)\n  %y = load i32, ptr addrspace(5) %n\n"
        STORE("x", "p6", "i64", "8") STORE("y", "p7", "i32", "4") "  br label %end\nend:\n  ret void\n";
    uint32_t v[40], y[40];
    uint64_t x[40];
    for (int i = 0; i < 40; i++) {
        v[i] = rnd(14);
        x[i] = 99;
    }
    struct args a = { { v, 0, 0, 0, 0, 0, x, y }, { 0 } };
    char *ir = kernel_text(body, globals);
    struct built b = build_or_fail(ir, "host", NULL, 0);
    cr_assert_geq(b.object->stack_bytes, 1u << 20, "a recursive kernel asks for a deep stack");
    launch(&b, one, (uint32_t[3]){ 40, 1, 1 }, 0, &a);
    unload(&b);
    free(ir);
    uint64_t fib[20] = { 0, 1 }, calls[20] = { 1, 1 };
    for (int i = 2; i < 20; i++) {
        fib[i] = fib[i - 1] + fib[i - 2];
        calls[i] = calls[i - 1] + calls[i - 2] + 1;
    }
    for (int i = 0; i < 40; i++) {
        cr_assert_eq(x[i], v[i] & 1 ? 99 : fib[v[i]], "lane %d", i);
        if (!(v[i] & 1))
            cr_assert_eq(y[i], calls[v[i]], "lane %d made %u calls", i, y[i]);
    }
}

Test(simt, memory_intrinsics_and_small_vectors)
{
    static const char body[] =
        "  %o = mul i64 %gl, 16\n  %s = getelementptr i8, ptr addrspace(1) %p0, i64 %o\n  %v = load <4 x float>, ptr addrspace(1) %s, align 16\n"
        "  %e0 = extractelement <4 x float> %v, i32 0\n  %e3 = extractelement <4 x float> %v, i32 3\n"
        "  %w1 = insertelement <4 x float> %v, float %e3, i32 0\n  %w2 = insertelement <4 x float> %w1, float %e0, i32 3\n"
        "  %d = getelementptr i8, ptr addrspace(1) %p1, i64 %o\n  store <4 x float> %w2, ptr addrspace(1) %d, align 16\n"
        "  %bits = load i32, ptr addrspace(1) %s\n  %h = bitcast i32 %bits to <2 x i16>\n  %h0 = extractelement <2 x i16> %h, i32 0\n"
        "  %h1 = extractelement <2 x i16> %h, i32 1\n  %k0 = insertelement <2 x i16> poison, i16 %h1, i32 0\n"
        "  %k1 = insertelement <2 x i16> %k0, i16 %h0, i32 1\n  %x = bitcast <2 x i16> %k1 to i32\n" STORE("x", "p6", "i32", "4")
        "  %l = alloca [32 x i8], align 8, addrspace(5)\n  call void @llvm.memset.p5.i64(ptr addrspace(5) %l, i8 17, i64 32, i1 false)\n"
        "  call void @llvm.memcpy.p5.p1.i64(ptr addrspace(5) %l, ptr addrspace(1) %s, i64 12, i1 false)\n"
        "  %l4 = getelementptr i8, ptr addrspace(5) %l, i64 4\n  call void @llvm.memmove.p5.p5.i64(ptr addrspace(5) %l4, ptr addrspace(5) %l, i64 12, i1 false)\n"
        "  %r = getelementptr i8, ptr addrspace(1) %p2, i64 %o\n  call void @llvm.memcpy.p1.p5.i64(ptr addrspace(1) %r, ptr addrspace(5) %l4, i64 16, i1 false)\n"
        "  ret void\n";
    static const char globals[] = "declare void @llvm.memset.p5.i64(ptr addrspace(5), i8, i64, i1)\n"
        "declare void @llvm.memcpy.p5.p1.i64(ptr addrspace(5), ptr addrspace(1), i64, i1)\n"
        "declare void @llvm.memcpy.p1.p5.i64(ptr addrspace(1), ptr addrspace(5), i64, i1)\n"
        "declare void @llvm.memmove.p5.p5.i64(ptr addrspace(5), ptr addrspace(5), i64, i1)\n";
    enum { T = 50 };
    _Alignas(16) static uint32_t v[T][4], d[T][4], c[T][4], x[T];
    for (int i = 0; i < T; i++)
        for (int j = 0; j < 4; j++)
            v[i][j] = rnd(0x7f000000);
    struct args a = { { v, d, c, 0, 0, 0, x, 0 }, { 0 } };
    run_body(body, globals, one, (uint32_t[3]){ T, 1, 1 }, false, 0, &a);
    for (int i = 0; i < T; i++) {
        cr_assert(d[i][0] == v[i][3] && d[i][1] == v[i][1] && d[i][2] == v[i][2] && d[i][3] == v[i][0]);
        cr_assert_eq(x[i], v[i][0] << 16 | v[i][0] >> 16);
        cr_assert(c[i][0] == v[i][0] && c[i][1] == v[i][1] && c[i][2] == v[i][2] && c[i][3] == 0x11111111u, "copy %d", i);
    }
}

/* ---- Indices that wrap */

Test(simt, wrapping_indices)
{
    /* 32-bit sums that wrap in some lane before they are widened: each way of widening, each side, in and out of a loop. */
    static const char body[] =
        "  %base = load i32, ptr addrspace(1) %p1\n  %i = add i32 %base, %t\n  %z = zext i32 %i to i64\n  %s = sext i32 %i to i64\n"
        "  %zo = and i64 %z, 4294967295\n  %a.in = icmp ult i32 %i, 4096\n  br i1 %a.in, label %lo, label %hi\n"
        "lo:\n  %zs = shl i64 %z, 2\n  %q = getelementptr i8, ptr addrspace(1) %p0, i64 %zs\n  %x0 = load i32, ptr addrspace(1) %q\n  br label %join\n"
        "hi:\n  %so = shl i64 %s, 2\n  %h = getelementptr i8, ptr addrspace(1) %p2, i64 %so\n  %x1 = load i32, ptr addrspace(1) %h\n  br label %join\n"
        "join:\n  %x = phi i32 [ %x0, %lo ], [ %x1, %hi ]\n  br label %loop\n"
        "loop:\n  %k = phi i32 [ 0, %join ], [ %k1, %loop ]\n  %sum = phi i32 [ %x, %join ], [ %sum1, %loop ]\n"
        "  %ptr = phi i64 [ %s, %join ], [ %ptr1, %loop ]\n  %po = shl i64 %ptr, 2\n  %pp = getelementptr i8, ptr addrspace(1) %p2, i64 %po\n"
        "  %e = load i32, ptr addrspace(1) %pp\n  %sum1 = add i32 %sum, %e\n  %ptr1 = add i64 %ptr, 1\n  %k1 = add i32 %k, 1\n"
        "  %more = icmp ult i32 %k1, 5\n  br i1 %more, label %loop, label %out\nout:\n" STORE("sum1", "p6", "i32", "4") "  ret void\n";
    static uint32_t table[16384];
    uint32_t *middle = table + 8192, r[64];
    for (int i = 0; i < 16384; i++)
        table[i] = rnd(0x7fffffff);
    static const uint32_t bases[] = { 0, 5, 0xffffffe0u, 0xfffffff3u, 0xffffffffu, 100, 0xfffff000u };
    for (int fixed = 0; fixed < 2; fixed++) {
        char *ir = kernel_text(body, "");
        uint32_t shape[3] = { 64, 1, 1 };
        struct built b = build_or_fail(ir, "host", fixed ? shape : NULL, 0);
        for (size_t k = 0; k < sizeof bases / sizeof *bases; k++) {
            uint32_t base = bases[k];
            struct args a = { { middle, &base, middle, 0, 0, 0, r, 0 }, { 0 } };
            launch(&b, one, shape, 0, &a);
            for (uint32_t t = 0; t < 64; t++) {
                int32_t i = (int32_t)(base + t);
                uint32_t sum = middle[i];
                for (int e = 0; e < 5; e++)
                    sum += middle[i + e];
                cr_assert_eq(r[t], sum, "base %#x thread %u: %u, not %u", base, t, r[t], sum);
            }
        }
        unload(&b);
        free(ir);
    }
}

Test(simt, several_wrapping_indices)
{
    /* Several addresses in one block, for all lanes, for some, and for those alone that come after the wrap. */
    static const char body[] =
        "  %base = load i32, ptr addrspace(1) %p1\n  %i = add i32 %base, %t\n  %in = icmp ult i32 %i, 4096\n  br i1 %in, label %lo, label %end\n"
        "lo:\n  %z = zext i32 %i to i64\n  %o = shl i64 %z, 2\n  %q = getelementptr i8, ptr addrspace(1) %p0, i64 %o\n"
        "  %x = load i32, ptr addrspace(1) %q\n  %i2 = add i32 %i, 3\n  %z2 = zext i32 %i2 to i64\n  %o2 = shl i64 %z2, 2\n"
        "  %q2 = getelementptr i8, ptr addrspace(1) %p0, i64 %o2\n  %y = load i32, ptr addrspace(1) %q2\n  %s = sub i32 %x, %y\n"
        "  %d = getelementptr i8, ptr addrspace(1) %p6, i64 %o\n  store i32 %s, ptr addrspace(1) %d\n"
        "  %b8 = getelementptr i8, ptr addrspace(1) %p7, i64 %z\n  %c8 = load i8, ptr addrspace(1) %b8\n  %n8 = add i8 %c8, 1\n"
        "  store i8 %n8, ptr addrspace(1) %b8\n  br label %end\nend:\n  ret void\n";
    static uint32_t table[8192], r[8192];
    static uint8_t bytes[8192];
    static const uint32_t bases[] = { 0, 5, 0xffffffe0u, 0xfffffff3u, 0xffffffffu, 4090, 4064, 0xffffffc8u };
    for (int i = 0; i < 8192; i++)
        table[i] = rnd(0x7fffffff);
    for (int form = 0; form < 4; form++) {
        char *ir = kernel_text(body, "");
        uint32_t shape[3] = { 64, 1, 1 };
        struct built b = build_or_fail(ir, form & 2 ? "host:x86-64-v3" : "host", form & 1 ? shape : NULL, 0);
        for (size_t k = 0; k < sizeof bases / sizeof *bases; k++) {
            uint32_t base = bases[k];
            struct args a = { { table, &base, 0, 0, 0, 0, r, bytes }, { 0 } };
            memset(r, 0, sizeof r);
            memset(bytes, 7, sizeof bytes);
            launch(&b, one, shape, 0, &a);
            for (uint32_t i = 0; i < 8192; i++) {
                bool in = i < 4096 && i - base < 64;
                cr_assert_eq(r[i], in ? table[i] - table[i + 3] : 0, "form %d base %#x index %u", form, base, i);
                cr_assert_eq(bytes[i], in ? 8 : 7, "form %d base %#x byte %u", form, base, i);
            }
        }
        unload(&b);
        free(ir);
    }
}

Test(simt, small_structures)
{
    /* Parts two and four elements apart, read and written together, with and without lanes that are off; and one of which a part is
     * left out. */
    static const char body[] =
        "  %n = load i32, ptr addrspace(1) %p2\n  %in = icmp ult i32 %t, %n\n  br i1 %in, label %go, label %end\ngo:\n  %o = mul i64 %gl, 16\n"
        "  %s = getelementptr i8, ptr addrspace(1) %p0, i64 %o\n  %v = load <4 x float>, ptr addrspace(1) %s, align 16\n"
        "  %w0 = getelementptr i8, ptr addrspace(1) %p1, i64 %o\n  %w = load <2 x i64>, ptr addrspace(1) %w0, align 16\n"
        "  %a = extractelement <4 x float> %v, i32 0\n  %b = extractelement <4 x float> %v, i32 1\n  %c = extractelement <4 x float> %v, i32 2\n"
        "  %d = extractelement <4 x float> %v, i32 3\n  %e = extractelement <2 x i64> %w, i32 0\n  %f = extractelement <2 x i64> %w, i32 1\n"
        "  %v1 = insertelement <4 x float> poison, float %d, i32 0\n  %v2 = insertelement <4 x float> %v1, float %c, i32 1\n"
        "  %v3 = insertelement <4 x float> %v2, float %a, i32 2\n  %v4 = insertelement <4 x float> %v3, float %b, i32 3\n"
        "  %q = getelementptr i8, ptr addrspace(1) %p6, i64 %o\n  store <4 x float> %v4, ptr addrspace(1) %q, align 16\n"
        "  %diff = sub i64 %e, %f\n  %u1 = insertelement <2 x i64> poison, i64 %f, i32 0\n  %u2 = insertelement <2 x i64> %u1, i64 %diff, i32 1\n"
        "  %k = getelementptr i8, ptr addrspace(1) %p7, i64 %o\n  store <2 x i64> %u2, ptr addrspace(1) %k, align 16\n"
        "  %m0 = getelementptr i8, ptr addrspace(1) %p3, i64 %o\n  %m1 = load float, ptr addrspace(1) %m0\n"
        "  %m4 = getelementptr i8, ptr addrspace(1) %m0, i64 8\n  %m2 = load float, ptr addrspace(1) %m4\n"
        "  %m8 = getelementptr i8, ptr addrspace(1) %m0, i64 4\n  store float %m2, ptr addrspace(1) %m8\n"
        "  store float %m1, ptr addrspace(1) %m4\n  br label %end\nend:\n  ret void\n";
    enum { T = 96 };
    _Alignas(16) static uint32_t v[T][4], r[T][4], m[T][4];
    _Alignas(16) static uint64_t w[T][2], x[T][2];
    static const uint32_t counts[] = { T, T - 5, 33, 0 };
    for (int form = 0; form < 4; form++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            uint32_t n = counts[k], old[T][4], shape[3] = { T, 1, 1 };
            for (int i = 0; i < T; i++)
                for (int j = 0; j < 4; j++) {
                    v[i][j] = rnd(0x7f000000);
                    w[i][j & 1] = (uint64_t)rnd(0x7fffffff) << 32 | rnd(0x7fffffff);
                    old[i][j] = m[i][j] = rnd(0x7f000000);
                }
            memset(r, 0, sizeof r);
            memset(x, 0, sizeof x);
            struct args a = { { v, w, &n, m, 0, 0, r, x }, { 0 } };
            char *ir = kernel_text(body, "");
            struct built b = build_or_fail(ir, form & 2 ? "host:x86-64-v3" : "host", form & 1 ? shape : NULL, 0);
            launch(&b, one, shape, 0, &a);
            unload(&b);
            free(ir);
            for (uint32_t i = 0; i < T; i++) {
                bool in = i < n;
                cr_assert(in ? r[i][0] == v[i][3] && r[i][1] == v[i][2] && r[i][2] == v[i][0] && r[i][3] == v[i][1]
                             : !r[i][0] && !r[i][1] && !r[i][2] && !r[i][3], "form %d lane %u of %u", form, i, n);
                cr_assert(in ? x[i][0] == w[i][1] && x[i][1] == w[i][0] - w[i][1] : !x[i][0] && !x[i][1], "form %d lane %u of %u", form, i, n);
                cr_assert(m[i][0] == old[i][0] && m[i][1] == (in ? old[i][2] : old[i][1]) && m[i][2] == (in ? old[i][0] : old[i][2]) &&
                          m[i][3] == old[i][3], "form %d lane %u of %u", form, i, n);
            }
        }
}

/* Neighbouring elements that a thread asks for one by one: a chain of guards around loads, one around stores, and what both leave. */
static char *guarded_elements(int each)
{
    struct aw_buf b = { 0 };
    aw_buf_printf(&b, "  %%n = load i32, ptr addrspace(1) %%p1\n  %%begin = load i32, ptr addrspace(1) %%p2\n  %%o = mul i64 %%gl, %d\n"
                  "  %%s = getelementptr i8, ptr addrspace(1) %%p0, i64 %%o\n  %%d = getelementptr i8, ptr addrspace(1) %%p6, i64 %%o\n"
                  "  %%g4 = mul i32 %%g, %d\n  %%k0 = add i32 %%g4, %%begin\n  br label %%h0\nh0:\n", 4 * each, each);
    for (int j = 0; j < each; j++)
        aw_buf_printf(&b, "  %%i%d = add i32 %%k0, %d\n  %%c%d = icmp ult i32 %%i%d, %%n\n  br i1 %%c%d, label %%l%d, label %%h%d\n"
                      "l%d:\n  %%q%d = getelementptr i8, ptr addrspace(1) %%s, i64 %d\n  %%x%d = load i32, ptr addrspace(1) %%q%d\n  br label %%h%d\n"
                      "h%d:\n  %%v%d = phi i32 [ 5, %%h%d ], [ %%x%d, %%l%d ]\n  %%y%d = add i32 %%%s%d, %%v%d\n",
                      j, j, j, j, j, j, j + 1, j, j, 4 * j, j, j, j + 1, j + 1, j, j, j, j, j, j ? "y" : "v", j ? j - 1 : 0, j);
    aw_buf_printf(&b, "  %%left = add i32 %%y%d, %%i%d\n  br label %%w0\nw0:\n", each - 1, each - 1);
    for (int j = 0; j < each; j++)
        aw_buf_printf(&b, "  br i1 %%c%d, label %%t%d, label %%w%d\nt%d:\n  %%r%d = getelementptr i8, ptr addrspace(1) %%d, i64 %d\n"
                      "  store i32 %%y%d, ptr addrspace(1) %%r%d\n  br label %%w%d\nw%d:\n", j, j, j + 1, j, j, 4 * j, j, j, j + 1, j + 1);
    aw_buf_printf(&b, "  %%lo = mul i64 %%gl, 4\n  %%lp = getelementptr i8, ptr addrspace(1) %%p7, i64 %%lo\n"
                  "  store i32 %%left, ptr addrspace(1) %%lp\n  ret void\n");
    return b.ptr;
}

Test(simt, runs_of_guards)
{
    enum { T = 96 };
    static const char *const machines[] = { "host", "host:x86-64-v3" };
    static uint32_t in[T * 4], out[T * 4], left[T];
    for (int round = 0; round < 60; round++) {
        uint32_t each = round & 1 ? 2 : 4, shape[3] = { round % 5 == 4 ? 80 : T, 1, 1 };
        uint32_t whole = 32 * each * (1 + rnd(3)), n = round % 3 ? whole - rnd(each + 1) : rnd(T * each + 40); /* lane 31's last elements */
        uint32_t begin = round % 4 == 3 ? -rnd(T * 2) : 0; /* where it is not 0, guards wrap around */
        char *body = guarded_elements((int)each), *ir = kernel_text(body, "");
        struct built b = build_or_fail(ir, machines[round / 2 % 2], shape, 0);
        struct args a = { { in, &n, &begin, 0, 0, 0, out, left }, { 0 } };
        for (uint32_t i = 0; i < T * 4; i++)
            in[i] = rnd(0x7fffffff);
        memset(out, 0, sizeof out);
        launch(&b, one, shape, 0, &a);
        unload(&b);
        free(ir);
        free(body);
        for (uint32_t t = 0; t < shape[0]; t++) {
            uint32_t sum = 0;
            for (uint32_t j = 0; j < each; j++) {
                uint32_t at = t * each + j, v = at + begin < n ? in[at] : 5;
                sum += j ? v : 2 * v;
                cr_assert_eq(out[at], at + begin < n ? sum : 0, "round %d: element %u of %u", round, at, n);
            }
            cr_assert_eq(left[t], sum + t * each + begin + each - 1, "round %d: thread %u", round, t);
        }
    }
}

/* ---- Comparisons of indices with limits near multiples of their step */

struct comparison {
    const char *name;
    bool (*f)(uint32_t a, uint32_t b);
};

static bool cmp_ult(uint32_t a, uint32_t b) { return a < b; }
static bool cmp_ule(uint32_t a, uint32_t b) { return a <= b; }
static bool cmp_ugt(uint32_t a, uint32_t b) { return a > b; }
static bool cmp_uge(uint32_t a, uint32_t b) { return a >= b; }
static bool cmp_slt(uint32_t a, uint32_t b) { return (int32_t)a < (int32_t)b; }
static bool cmp_sle(uint32_t a, uint32_t b) { return (int32_t)a <= (int32_t)b; }
static bool cmp_sgt(uint32_t a, uint32_t b) { return (int32_t)a > (int32_t)b; }
static bool cmp_sge(uint32_t a, uint32_t b) { return (int32_t)a >= (int32_t)b; }
static bool cmp_eq(uint32_t a, uint32_t b) { return a == b; }
static bool cmp_ne(uint32_t a, uint32_t b) { return a != b; }

/* Operands: an index plus a multiple of its step, and a constant or twice an argument, in either order. */
Test(simt, limits)
{
    enum { CASES = 24, T = 96 };
    static const struct comparison all[] = { { "ult", cmp_ult }, { "ule", cmp_ule }, { "ugt", cmp_ugt }, { "uge", cmp_uge }, { "slt", cmp_slt },
                                             { "sle", cmp_sle }, { "sgt", cmp_sgt }, { "sge", cmp_sge }, { "eq", cmp_eq }, { "ne", cmp_ne } };
    static const int near[] = { -33, -32, -31, -2, -1, 0, 0, 0, 1, 2, 16, 31, 32, 33 };
    static uint32_t got[CASES][T];
    for (int round = 0; round < 40; round++) {
        struct aw_buf body = { 0 };
        struct {
            const struct comparison *c;
            uint32_t by, add, limit;
            bool argument, swapped;
        } k[CASES];
        uint32_t half = rnd(100);
        aw_buf_printf(&body, "  %%n = load i32, ptr addrspace(1) %%p0\n  %%n2 = shl i32 %%n, 5\n");
        for (int i = 0; i < CASES; i++) {
            uint32_t around = rnd(4) == 0 ? 0x80000000u : rnd(3) == 0 ? 0 : 32 * rnd(8);
            k[i].c = &all[rnd(10)];
            k[i].by = 1u << rnd(3);
            k[i].add = rnd(3) ? 32 * rnd(16) - 128 : rnd(4) ? around - 64 : rnd(50);
            k[i].limit = around + (uint32_t)near[rnd(14)];
            k[i].argument = rnd(4) == 0;
            k[i].swapped = rnd(2);
            aw_buf_printf(&body, "  %%m%d = mul i32 %%t, %u\n  %%x%d = add i32 %%m%d, %u\n  %%y%d = add i32 %s, %u\n", i, k[i].by, i, i, k[i].add, i,
                          k[i].argument ? "%n2" : "0", k[i].limit);
            aw_buf_printf(&body, "  %%b%d = icmp %s i32 %%%c%d, %%%c%d\n  br i1 %%b%d, label %%then%d, label %%end%d\nthen%d:\n", i, k[i].c->name,
                          k[i].swapped ? 'y' : 'x', i, k[i].swapped ? 'x' : 'y', i, i, i, i, i);
            aw_buf_printf(&body, "  %%q%d = getelementptr [%d x i32], ptr addrspace(1) %%p6, i64 %d, i64 %%gl\n"
                          "  store i32 1, ptr addrspace(1) %%q%d\n  br label %%end%d\nend%d:\n", i, T, i, i, i, i);
        }
        aw_buf_printf(&body, "  ret void\n");
        memset(got, 0, sizeof got);
        struct args a = { { &half, 0, 0, 0, 0, 0, got, 0 }, { 0 } };
        run_body(body.ptr, "", one, (uint32_t[3]){ round % 4 ? T : T - 11, 1, 1 }, round % 3, 0, &a);
        for (int i = 0; i < CASES; i++)
            for (uint32_t t = 0; t < (round % 4 ? T : T - 11); t++) {
                uint32_t x = t * k[i].by + k[i].add, y = k[i].limit + (k[i].argument ? half << 5 : 0);
                cr_assert_eq(got[i][t], k[i].c->f(k[i].swapped ? y : x, k[i].swapped ? x : y), "round %d: %u * %u + %u %s %u, %s", round, t,
                             k[i].by, k[i].add, k[i].c->name, y, k[i].swapped ? "swapped" : "");
            }
        aw_buf_fini(&body);
    }
}

/* ---- Lanes at known distances that are no row: random ones, read and written by several instructions that may meet */

struct spread {
    int and, mul_low, mul_high, xor;       /* lane l is at ((l & and) * mul_low + (l - (l & and)) * mul_high) ^ xor */
    int loads, load[4], stores, store[4];  /* and each access so many elements further */
    bool shared, wide;
};

enum { SPREAD_REGION = 512, SPREAD_MIDDLE = 240 }; /* elements of a warp, and the one that lanes' places are counted from */

static int spread_place(const struct spread *s, int lane)
{
    int low = lane & s->and;
    return SPREAD_MIDDLE + ((low * s->mul_low + (lane - low) * s->mul_high) ^ s->xor);
}

static void spread_random(struct spread *s)
{
    static const int masks[] = { 31, 15, 7, 3, 1, 0, 21, 28 }, steps[] = { 1, 1, 2, 2, 3, 4, -1, -2, 0, 6 };
    *s = (struct spread){ .and = masks[rnd(8)], .mul_low = steps[rnd(10)], .mul_high = steps[rnd(10)], .xor = rnd(2) ? 0 : (int)rnd(16),
                          .loads = 1 + (int)rnd(4), .stores = 1 + (int)rnd(4), .shared = rnd(2), .wide = rnd(4) == 0 };
    for (int i = 0; i < 4; i++) {
        s->load[i] = rnd(2) ? i : (int)rnd(70);
        s->store[i] = rnd(3) ? i * (rnd(2) ? s->and + 1 : 1) : (int)rnd(70);
    }
}

/* The warp's region from p1 to shared memory, or back. */
static void spread_copy(struct aw_buf *b, const char *type, bool back)
{
    for (int k = 0; k < SPREAD_REGION / 32; k++) {
        const char *to = back ? "g" : "s", *from = back ? "s" : "g", *n = back ? "b" : "a";
        aw_buf_printf(b, "  %%%s%d.i = add i32 %%first, %d\n  %%%s%d.x = sext i32 %%%s%d.i to i64\n", n, k, 32 * k, n, k, n, k);
        aw_buf_printf(b, "  %%%s%d.g = getelementptr %s, ptr addrspace(1) %%p1, i64 %%%s%d.x\n", n, k, type, n, k);
        aw_buf_printf(b, "  %%%s%d.s = getelementptr %s, ptr addrspace(3) @aw.shared, i32 %%%s%d.i\n", n, k, type, n, k);
        aw_buf_printf(b, "  %%%s%d.v = load %s, ptr addrspace(%d) %%%s%d.%s\n", n, k, type, back ? 3 : 1, n, k, from);
        aw_buf_printf(b, "  store %s %%%s%d.v, ptr addrspace(%d) %%%s%d.%s\n", type, n, k, back ? 1 : 3, n, k, to);
    }
}

static char *spread_body(const struct spread *s)
{
    const char *type = s->wide ? "i64" : "i32", *at = s->shared ? "ptr addrspace(3) %at.s" : "ptr addrspace(1) %at.g";
    int space = s->shared ? 3 : 1, size = s->wide ? 8 : 4;
    struct aw_buf b = { 0 };
    aw_buf_printf(&b, "  %%l = and i32 %%t, 31\n  %%w = lshr i32 %%t, 5\n  %%low = and i32 %%l, %d\n  %%high = sub i32 %%l, %%low\n"
                  "  %%x0 = mul i32 %%low, %d\n  %%x1 = mul i32 %%high, %d\n  %%x2 = add i32 %%x0, %%x1\n  %%x = xor i32 %%x2, %d\n",
                  s->and, s->mul_low, s->mul_high, s->xor);
    aw_buf_printf(&b, "  %%wr = mul i32 %%w, %d\n  %%first = add i32 %%wr, %%l\n  %%i0 = add i32 %%wr, %d\n  %%xl = sext i32 %%x to i64\n"
                  "  %%il = zext i32 %%i0 to i64\n  %%ix = add i64 %%il, %%xl\n  %%i = add i32 %%i0, %%x\n", SPREAD_REGION, SPREAD_MIDDLE);
    aw_buf_printf(&b, "  %%at.g = getelementptr %s, ptr addrspace(1) %%p1, i64 %%ix\n  %%at.n = ptrtoint ptr addrspace(3) @aw.shared to i32\n"
                  "  %%at.m = mul i32 %%i, %d\n  %%at.k = add i32 %%at.n, %%at.m\n  %%at.s = inttoptr i32 %%at.k to ptr addrspace(3)\n", type, size);
    if (s->shared)
        spread_copy(&b, type, false);
    aw_buf_printf(&b, "  %%s0 = add %s 0, 0\n", type);
    for (int k = 0; k < s->loads; k++)
        aw_buf_printf(&b, "  %%r%d.p = getelementptr %s, %s, i32 %d\n  %%r%d = load %s, ptr addrspace(%d) %%r%d.p\n"
                      "  %%r%d.m = mul %s %%r%d, %d\n  %%s%d = add %s %%r%d.m, %%s%d\n", k, type, at, s->load[k], k, type, space, k,
                      k, type, k, 2 * k + 3, k + 1, type, k, k);
    for (int k = 0; k < s->stores; k++)
        aw_buf_printf(&b, "  %%v%d = add %s %%s%d, %d\n  %%v%d.p = getelementptr %s, %s, i32 %d\n  store %s %%v%d, ptr addrspace(%d) %%v%d.p\n",
                      k, type, s->loads, 1000 * k, k, type, at, s->store[k], type, k, space, k);
    if (s->shared)
        spread_copy(&b, type, true);
    aw_buf_printf(&b, "  ret void\n");
    return b.ptr;
}

/* A warp's lanes in order, an instruction at a time. */
static void spread_reference(const struct spread *s, uint64_t *region)
{
    uint64_t sum[32] = { 0 };
    for (int k = 0; k < s->loads; k++)
        for (int l = 0; l < 32; l++)
            sum[l] += region[spread_place(s, l) + s->load[k]] * (uint64_t)(2 * k + 3);
    for (int k = 0; k < s->stores; k++)
        for (int l = 0; l < 32; l++)
            region[spread_place(s, l) + s->store[k]] = sum[l] + 1000u * (uint64_t)k;
}

Test(simt, known_distances)
{
    enum { T = 96, SIZE = T / 32 * SPREAD_REGION };
    static const char *const machines[] = { "host", "host:x86-64" };
    for (int round = 0; round < 150; round++) {
        struct spread s;
        static uint64_t want[SIZE], got64[SIZE];
        static uint32_t got32[SIZE];
        spread_random(&s);
        for (int i = 0; i < SIZE; i++)
            got32[i] = (uint32_t)(want[i] = got64[i] = rnd(0x7fffffff));
        for (int w = 0; w < T / 32; w++)
            spread_reference(&s, want + w * SPREAD_REGION);
        char *body = spread_body(&s), globals[80], *ir;
        uint32_t shape[3] = { T, 1, 1 }, bytes = SIZE * (s.wide ? 8 : 4);
        snprintf(globals, sizeof globals, "@aw.shared = internal addrspace(3) global [%u x i8] undef, align 16", bytes);
        ir = kernel_text(body, globals);
        struct built b = build_or_fail(ir, machines[round % 2], round % 5 ? shape : full_rows, bytes);
        struct args a = { { 0, s.wide ? (void *)got64 : got32 }, { 0 } };
        launch(&b, one, shape, 0, &a);
        unload(&b);
        for (int i = 0; i < SIZE; i++)
            cr_assert(s.wide ? got64[i] == want[i] : got32[i] == (uint32_t)want[i], "round %d: element %d of warp %d\n%s", round, i % SPREAD_REGION,
                      i / SPREAD_REGION, body);
        free(ir);
        free(body);
    }
}

/* What is less replaces what is there, for lanes below a limit: nothing else is written, by no warp. */
enum { UPDATED = 160 };

static void update_put(void *at, int type, int i, int32_t value)
{
    if (type == 0)
        ((int32_t *)at)[i] = value;
    else if (type == 1)
        ((float *)at)[i] = (float)value;
    else
        ((int64_t *)at)[i] = value * (INT64_C(1) << 33);
}

static void check_updates(const char *machine, int round, int type)
{
    static const char *const types[] = { "i32", "float", "i64" }, *const sizes[] = { "4", "4", "8" };
    static const char body[] =
        "  %%n = load i32, ptr addrspace(1) %%p2\n  %%in = icmp ult i32 %%t, %%n\n  br i1 %%in, label %%go, label %%end\ngo:\n"
        "  %%po = mul i64 %%gl, %s\n  %%q = getelementptr i8, ptr addrspace(1) %%p0, i64 %%po\n  %%x = load %s, ptr addrspace(1) %%q\n"
        "  %%p = getelementptr i8, ptr addrspace(1) %%p6, i64 %%po\n  %%y = load %s, ptr addrspace(1) %%p\n  %%c0 = %s %s %%x, %%y\n"
        "  %%c = xor i1 %%c0, %s\n  br i1 %%c, label %%less, label %%end\nless:\n  store %s %%x, ptr addrspace(1) %%p\n  br label %%end\n"
        "end:\n  ret void\n";
    static int64_t x[UPDATED], y[UPDATED], want[UPDATED];
    uint32_t n = round % 3 ? rnd(UPDATED + 10) : UPDATED, shape[3] = { round & 1 ? UPDATED : UPDATED - 7, 1, 1 };
    bool not_less = round & 4;
    memset(want, 0, sizeof want);
    for (int i = 0; i < UPDATED; i++) {
        int often = i / 32 % 3; /* in all lanes, in some, in none */
        int32_t was = (int32_t)rnd(100), now = often == 0 ? -1 : often == 1 ? (int32_t)rnd(100) : 100;
        bool written = (uint32_t)i < n && (uint32_t)i < shape[0] && (now < was) != not_less;
        update_put(x, type, i, now);
        update_put(y, type, i, was);
        update_put(want, type, i, written ? now : was);
    }
    char *text;
    cr_assert_geq(asprintf(&text, body, sizes[type], types[type], types[type], type == 1 ? "fcmp olt" : "icmp slt", types[type],
                           not_less ? "true" : "false", types[type]), 0);
    char *ir = kernel_text(text, "");
    struct args a = { { x, 0, &n, 0, 0, 0, y, 0 }, { 0 } };
    struct built b = build_or_fail(ir, machine, round & 2 ? shape : NULL, 0);
    launch(&b, one, shape, 0, &a);
    unload(&b);
    free(ir);
    free(text);
    cr_assert_arr_eq(y, want, (size_t)UPDATED * (type == 2 ? 8 : 4), "%s, round %d, %s, %u of %u threads", machine, round, types[type], n, shape[0]);
}

Test(simt, updates_in_place)
{
    static const char *const machines[] = { "host", "host:x86-64-v3", "host:x86-64-v3,+slow-masked-stores", "host:x86-64" };
    for (int round = 0; round < 96; round++)
        check_updates(machines[round % 4], round / 12, round / 4 % 3);
}

/* Neighbours on a ring, from anywhere and so round the end within a warp or between two: read for threads below a limit, and written. */
enum { RING_THREADS = 160, RING_MOST = 8 * 512 };

static void check_ring(const char *machine, const uint32_t *shape, bool wide)
{
    static const char body[] =
        "  %%n = load i32, ptr addrspace(1) %%p2\n  %%by = load i32, ptr addrspace(1) %%p3\n  %%in = icmp ult i32 %%t, %%n\n"
        "  br i1 %%in, label %%go, label %%end\ngo:\n  %%s = mul i32 %%t, %u\n  %%u = add i32 %%s, %u\n  %%v = add i32 %%u, %%by\n"
        "  %%at = and i32 %%v, %u\n  %%al = %s i32 %%at to i64\n  %%ao = mul i64 %%al, %u\n"
        "  %%q = getelementptr i8, ptr addrspace(1) %%p0, i64 %%ao\n  %%x = load %s, ptr addrspace(1) %%q\n"
        "  %%ro = mul i64 %%gl, %u\n  %%r = getelementptr i8, ptr addrspace(1) %%p6, i64 %%ro\n  store %s %%x, ptr addrspace(1) %%r\n"
        "  %%w = getelementptr i8, ptr addrspace(1) %%p5, i64 %%ao\n  %%y = zext i32 %%at to i128\n  %%z = trunc i128 %%y to %s\n"
        "  store %s %%z, ptr addrspace(1) %%w\n  br label %%end\nend:\n  ret void\n";
    static uint64_t from64[RING_MOST], to64[RING_MOST], out64[RING_THREADS];
    static uint32_t from32[RING_MOST], to32[RING_MOST], out32[RING_THREADS];
    static const uint32_t one_row[3] = { RING_THREADS, 1, 1 };
    uint32_t step = UINT32_C(1) << rnd(3), ring = UINT32_C(32) << rnd(5), mask = (ring - 1) * step * (rnd(4) ? 1 : 2), add = rnd(2) ? rnd(2 * ring) : rnd(UINT32_MAX);
    uint32_t by = rnd(4) ? rnd(3) - 1 : rnd(UINT32_MAX), n = rnd(3) ? RING_THREADS : rnd(RING_THREADS + 1), size = wide ? 8 : 4;
    const char *type = wide ? "i64" : "i32";
    char *text;
    for (uint32_t i = 0; i < RING_MOST; i++) {
        from64[i] = from32[i] = rnd(1 << 30);
        to64[i] = to32[i] = UINT32_MAX;
    }
    memset(out64, 0, sizeof out64);
    memset(out32, 0, sizeof out32);
    cr_assert_geq(asprintf(&text, body, step, add, mask, rnd(2) ? "zext" : "sext", size, type, size, type, type, type), 0);
    char *ir = kernel_text(text, "");
    struct args a = { { wide ? (void *)from64 : from32, 0, &n, &by, 0, wide ? (void *)to64 : to32, wide ? (void *)out64 : out32, 0 }, { 0 } };
    struct built b = build_or_fail(ir, machine, shape ? shape : one_row, 0);
    launch(&b, one, one_row, 0, &a);
    unload(&b);
    free(ir);
    free(text);
    for (uint32_t t = 0; t < RING_THREADS; t++) {
        uint32_t at = (t * step + add + by) & mask;
        cr_assert_eq(wide ? out64[t] : out32[t], t < n ? from32[at] : 0, "%s: thread %u of %u, %u * t + %u + %u & %u", machine, t, n, step, add, by, mask);
        if (t < n) {
            cr_assert_eq(wide ? to64[at] : to32[at], at, "%s: place %u, %u * t + %u + %u & %u", machine, at, step, add, by, mask);
            to64[at] = to32[at] = UINT32_MAX;
            for (uint32_t same = t + 1; same < n; same++) /* who wrote there, too */
                if (((same * step + add + by) & mask) == at)
                    to64[at] = to32[at] = at;
        }
    }
    for (uint32_t i = 0; i < RING_MOST; i++)
        cr_assert(wide ? to64[i] == UINT32_MAX : to32[i] == UINT32_MAX, "%s: nobody's place %u", machine, i);
}

Test(simt, rings)
{
    static const char *const machines[] = { "host", "host:x86-64-v3", "host:x86-64-v3,+fast-gather", "host:x86-64" };
    for (int i = 0; i < 120; i++)
        check_ring(machines[i % 4], i / 4 % 3 == 0 ? full_rows : i / 4 % 3 == 1 ? any_rows : NULL, i / 12 & 1);
}

/* Blocks of one row of a warp each, several rows, in a grid of three dimensions whose rows are no multiple of a group. */
Test(simt, blocks_in_turn)
{
    enum { WIDE = 600, COUNT = WIDE * 32 * 4 * 2 * 3 };
    static const uint32_t widths[] = { 1, 11, 256, 257, WIDE };
    static const char body[] =
        "  %bx = call i32 @aw.ctaid.x()\n  %by = call i32 @aw.ctaid.y()\n  %bz = call i32 @aw.ctaid.z()\n"
        "  %dx = call i32 @aw.nctaid.x()\n  %width = mul i32 %dx, 32\n"
        "  %z1 = mul i32 %bz, 2\n  %z2 = add i32 %z1, %by\n  %row = mul i32 %z2, 4\n  %row1 = add i32 %row, %ty\n"
        "  %r1 = mul i32 %row1, %width\n  %c1 = mul i32 %bx, 32\n  %c2 = add i32 %c1, %tx\n  %at = add i32 %r1, %c2\n"
        "  %al = sext i32 %at to i64\n  %ao = shl i64 %al, 2\n  %s = getelementptr i8, ptr addrspace(1) %p0, i64 %ao\n"
        "  %x = load i32, ptr addrspace(1) %s\n  %y = add i32 %x, %bx\n  %d = getelementptr i8, ptr addrspace(1) %p6, i64 %ao\n"
        "  %o = load i32, ptr addrspace(1) %d\n  %oy = add i32 %o, %y\n  store i32 %oy, ptr addrspace(1) %d\n  ret void\n";
    static const char globals[] = "declare i32 @aw.ctaid.y()\ndeclare i32 @aw.ctaid.z()\ndeclare i32 @aw.nctaid.x()";
    static uint32_t in[COUNT], out[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        in[i] = rnd(0x7fffffff);
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
        uint32_t width = 32 * widths[k], count = width * 4 * 2 * 3;
        struct args a = { { in, 0, 0, 0, 0, 0, out, 0 }, { 0 } };
        memset(out, 0, sizeof out);
        run_body(body, globals, (uint32_t[3]){ widths[k], 2, 3 }, (uint32_t[3]){ 32, 4, 1 }, true, 0, &a);
        for (uint32_t i = 0; i < COUNT; i++)
            cr_assert_eq(out[i], i < count ? in[i] + i % width / 32 : 0, "%u blocks, element %u", widths[k], i);
    }
}

/* Of block_indices: the block's linear number %block, and element %ao of p6 that is its thread's; of as many instructions as asked, at least. */
static void indices_body(struct aw_buf *body, int instructions)
{
    aw_buf_printf(body, "  %%by = call i32 @aw.ctaid.y()\n  %%bz = call i32 @aw.ctaid.z()\n  %%dx = call i32 @aw.nctaid.x()\n"
                        "  %%dy = call i32 @aw.nctaid.y()\n  %%z1 = mul i32 %%bz, %%dy\n  %%z2 = add i32 %%z1, %%by\n"
                        "  %%row = mul i32 %%z2, %%dx\n  %%block = add i32 %%row, %%cx\n  %%b1 = mul i32 %%block, %%nx\n"
                        "  %%at = add i32 %%b1, %%t\n  %%al = sext i32 %%at to i64\n  %%ao = shl i64 %%al, 2\n  %%v0 = add i32 %%t, 1\n");
    for (int i = 1; i < instructions; i++)
        aw_buf_printf(body, "  %%v%d = %s i32 %%v%d, %d\n", i, i % 2 ? "mul" : "xor", i - 1, 2 * i + 1);
    aw_buf_printf(body, "  %%pv = getelementptr i8, ptr addrspace(1) %%p5, i64 %%ao\n  store i32 %%v%d, ptr addrspace(1) %%pv\n",
                  instructions ? instructions - 1 : 0);
}
#define INDICES "declare i32 @aw.ctaid.y()\ndeclare i32 @aw.ctaid.z()\ndeclare i32 @aw.nctaid.x()\ndeclare i32 @aw.nctaid.y()\n"
static const uint32_t indices_grids[][3] = { { 60, 1, 1 }, { 1, 60, 1 }, { 1, 1, 60 }, { 3, 5, 4 }, { 5, 1, 12 }, { 1, 4, 15 }, { 20, 3, 1 } };

/* The loop over blocks counts their indices: each is there once, in rows and planes of one and of many, from wherever it begins; in a register
 * where the kernel is small, in blocks of one warp and of two.  Where warps are entered one by one (the last form yields), they leave the
 * indices as they are. */
Test(simt, block_indices)
{
    enum { COUNT = 60 * 64 };
    static uint32_t out[COUNT], values[COUNT];
    for (size_t g = 0; g < sizeof indices_grids / sizeof *indices_grids; g++) {
        for (int form = 0; form < 12; form++) {
            struct args a = { { 0, 0, 0, 0, 0, values, out, 0 }, { 0 } };
            uint32_t threads = form / 3 % 2 ? 32 : 64;
            struct aw_buf text = { 0 };
            if (form % 3 == 2)
                aw_buf_printf(&text, "  call void @aw.nanosleep(i32 1)\n");
            indices_body(&text, form / 6 ? 150 : 0);
            aw_buf_printf(&text, "  %%d = getelementptr i8, ptr addrspace(1) %%p6, i64 %%ao\n  %%x = load i32, ptr addrspace(1) %%d\n"
                                 "  %%y = add i32 %%x, 1\n  store i32 %%y, ptr addrspace(1) %%d\n  ret void\n");
            memset(out, 0, sizeof out);
            run_body(text.ptr, INDICES "declare void @aw.nanosleep(i32)", indices_grids[g], (uint32_t[3]){ threads, 1, 1 }, form % 3, 0, &a);
            aw_buf_fini(&text);
            for (uint32_t i = 0; i < COUNT; i++)
                cr_assert_eq(out[i], i < 60 * threads, "grid %zu, form %d: element %u", g, form, i);
        }
    }
}

/* What services are told of the block and the warp that run, whatever registers hold. */
Test(simt, block_indices_told)
{
    static uint32_t values[60 * 64];
    for (size_t g = 0; g < sizeof indices_grids / sizeof *indices_grids; g++) {
        for (int form = 0; form < 8; form++) {
            const uint32_t *grid = indices_grids[g];
            uint32_t threads = form & 2 ? 32 : 64, thread = rnd(60 * threads), block = thread / threads;
            struct args a = { { 0, &thread, 0, 0, 0, values, 0, 0 }, { 0 } };
            struct aw_buf text = { 0 };
            indices_body(&text, form & 4 ? 150 : 0);
            aw_buf_printf(&text, "  %%n0 = load i32, ptr addrspace(1) %%p1\n  %%die = icmp eq i32 %%at, %%n0\n"
                                 "  br i1 %%die, label %%dead, label %%fine\n"
                                 "dead:\n  call void @aw.trap(i32 719)\n  unreachable\nfine:\n  ret void\n");
            struct outcome o = run_body(text.ptr, INDICES "declare void @aw.trap(i32)", grid, (uint32_t[3]){ threads, 1, 1 }, form & 1, 0, &a);
            aw_buf_fini(&text);
            cr_assert_eq(o.status, 719, "grid %zu, form %d", g, form);
            cr_assert_eq(o.ctaid[0], block % grid[0], "grid %zu, form %d", g, form);
            cr_assert_eq(o.ctaid[1], block / grid[0] % grid[1], "grid %zu, form %d", g, form);
            cr_assert_eq(o.ctaid[2], block / grid[0] / grid[1], "grid %zu, form %d", g, form);
            cr_assert_eq(o.warp, thread % threads / 32, "grid %zu, form %d", g, form);
        }
    }
}

/* What the grid-stride loop of `marching` leaves: each element plus three times the one that the thread had before it. */
static void march_by_hand(const uint32_t *in, int count, int threads, uint32_t *out, uint32_t *last)
{
    for (int g = 0; g < threads; g++) {
        uint32_t old = 7;
        last[g] = 99;
        for (int i = g; i < count; i += threads) {
            out[i] = in[i] + 3 * old;
            last[g] = old = in[i];
        }
    }
}

/* Warps that go through an array together, an iteration each (ptx/simt/schedule/march.c): of blocks that are whole warps and that are not, for one
 * shape and for several, some of which end before the others, with values that live through the loop and after it. */
Test(simt, marching)
{
    static const char body[] =
        "  %n = load i32, ptr addrspace(1) %p1\n  %nb = call i32 @aw.nctaid.x()\n  %step = mul i32 %nb, %nx\n"
        "  %some = icmp slt i32 %g, %n\n  br i1 %some, label %loop, label %done\nloop:\n"
        "  %i = phi i32 [ %g, %entry ], [ %i1, %loop ]\n  %old = phi i32 [ 7, %entry ], [ %x, %loop ]\n"
        "  %il = sext i32 %i to i64\n  %o = shl i64 %il, 2\n  %s = getelementptr i8, ptr addrspace(1) %p0, i64 %o\n"
        "  %x = load i32, ptr addrspace(1) %s\n  %y = mul i32 %old, 3\n  %z = add i32 %x, %y\n"
        "  %d = getelementptr i8, ptr addrspace(1) %p6, i64 %o\n  store i32 %z, ptr addrspace(1) %d\n"
        "  %i1 = add i32 %i, %step\n  %more = icmp slt i32 %i1, %n\n  br i1 %more, label %loop, label %done\ndone:\n"
        "  %last = phi i32 [ 99, %entry ], [ %x, %loop ]\n  %go = shl i64 %gl, 2\n"
        "  %e = getelementptr i8, ptr addrspace(1) %p7, i64 %go\n  store i32 %last, ptr addrspace(1) %e\n  ret void\n";
    static const uint32_t rows[] = { 128, 100, 48, 33, 32, 31, 16, 1 };
    enum { COUNT = 5000, GRID = 300 };
    static uint32_t in[COUNT], out[COUNT], want[COUNT], last[GRID * 128], want_last[GRID * 128];
    for (int i = 0; i < COUNT; i++)
        in[i] = rnd(0x7fffffff);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (int form = 0; form < (rows[k] % 32 ? 2 : 3); form++) {
            const uint32_t block[3] = { rows[k], 1, 1 }, *forms[] = { block, any_rows, full_rows };
            int grid = k % 2 ? GRID : 5, threads = grid * (int)rows[k], count = COUNT - (int)rnd(100);
            memset(out, 0, sizeof out);
            memset(want, 0, sizeof want);
            march_by_hand(in, count, threads, want, want_last);
            struct args a = { { in, &count, 0, 0, 0, 0, out, last }, { 0 } };
            run_form(body, "declare i32 @aw.nctaid.x()", (uint32_t[3]){ (uint32_t)grid, 1, 1 }, block, forms[form], 0, &a);
            for (int i = 0; i < COUNT; i++)
                cr_assert_eq(out[i], want[i], "rows of %u, form %d, element %d: %u, not %u", rows[k], form, i, out[i], want[i]);
            for (int i = 0; i < threads; i++)
                cr_assert_eq(last[i], want_last[i], "rows of %u, form %d, thread %d: %u, not %u", rows[k], form, i, last[i], want_last[i]);
        }
}

/* What the columns of `marching_in_columns` leave; with size[4] not 0 a column ends up to 3 planes early. */
static void columns_by_hand(const uint32_t *in, const int size[5], uint32_t *out, uint32_t *last)
{
    int w = size[0], h = size[1], plane = size[3];
    for (int y = 1; y < h; y++)
        for (int x = 1; x < w; x++) {
            uint32_t old = 7;
            for (int z = 0; z < size[2] - (x & size[4]); z++) {
                int at = z * plane + y * w + x;
                out[at] = in[at] + 3 * old + (uint32_t)x;
                old = in[at];
            }
            last[y * w + x] = old + (uint32_t)(y * w + x);
        }
}

/* Columns of a volume, in blocks of several rows, some of whose warps are whole: these and the others go through copies of the loop, each
 * with its turns, and warps of neighbouring blocks take theirs together (block.c). */
Test(simt, marching_in_columns)
{
    static const char body[] =
        "  %w = load i32, ptr addrspace(1) %p1\n  %q1 = getelementptr i8, ptr addrspace(1) %p1, i64 4\n"
        "  %h = load i32, ptr addrspace(1) %q1\n  %q2 = getelementptr i8, ptr addrspace(1) %p1, i64 8\n"
        "  %d = load i32, ptr addrspace(1) %q2\n  %q3 = getelementptr i8, ptr addrspace(1) %p1, i64 12\n"
        "  %plane = load i32, ptr addrspace(1) %q3\n  %q4 = getelementptr i8, ptr addrspace(1) %p1, i64 16\n"
        "  %uneven = load i32, ptr addrspace(1) %q4\n  %cy = call i32 @aw.ctaid.y()\n"
        "  %bx = mul i32 %cx, %nx\n  %x = add i32 %bx, %tx\n  %by = mul i32 %cy, %ny\n  %y = add i32 %by, %ty\n"
        "  %x1 = sub i32 %x, 1\n  %w1 = sub i32 %w, 1\n  %xs = icmp ult i32 %x1, %w1\n"
        "  %y1 = sub i32 %y, 1\n  %h1 = sub i32 %h, 1\n  %ys = icmp ult i32 %y1, %h1\n  %in = and i1 %xs, %ys\n"
        "  br i1 %in, label %before, label %done\nbefore:\n  %yw = mul i32 %y, %w\n  %at = add i32 %yw, %x\n"
        "  %less = and i32 %x, %uneven\n  %n = sub i32 %d, %less\n  br label %loop\nloop:\n"
        "  %z = phi i32 [ 0, %before ], [ %z1, %loop ]\n  %i = phi i32 [ %at, %before ], [ %i1, %loop ]\n"
        "  %old = phi i32 [ 7, %before ], [ %v, %loop ]\n"
        "  %il = sext i32 %i to i64\n  %o = shl i64 %il, 2\n  %s = getelementptr i8, ptr addrspace(1) %p0, i64 %o\n"
        "  %v = load i32, ptr addrspace(1) %s\n  %m = mul i32 %old, 3\n  %a = add i32 %v, %m\n  %r = add i32 %a, %x\n"
        "  %e = getelementptr i8, ptr addrspace(1) %p6, i64 %o\n  store i32 %r, ptr addrspace(1) %e\n"
        "  %i1 = add i32 %i, %plane\n  %z1 = add i32 %z, 1\n  %more = icmp slt i32 %z1, %n\n"
        "  br i1 %more, label %loop, label %after\nafter:\n  %l = add i32 %v, %at\n  %al = sext i32 %at to i64\n"
        "  %ao = shl i64 %al, 2\n  %f = getelementptr i8, ptr addrspace(1) %p7, i64 %ao\n  store i32 %l, ptr addrspace(1) %f\n"
        "  br label %done\ndone:\n  ret void\n";
    static const uint32_t blocks[][3] = { { 32, 4, 1 }, { 32, 3, 1 }, { 16, 4, 1 }, { 64, 2, 1 }, { 128, 1, 1 }, { 32, 1, 2 }, { 20, 3, 1 } };
    static const char *const targets[] = { "host", "host:haswell" };
    enum { W = 200, H = 43, D = 9, PLANE = W * H }; /* more warps than go together */
    static uint32_t in[D * PLANE], out[D * PLANE], want[D * PLANE], last[PLANE], want_last[PLANE];
    for (int i = 0; i < D * PLANE; i++)
        in[i] = rnd(0x7fffffff);
    char *ir = kernel_text(body, "declare i32 @aw.ctaid.y()");
    for (unsigned k = 0; k < 2 * sizeof blocks / sizeof *blocks; k++)
        for (int uneven = 0; uneven < 4; uneven += 3) {
            const uint32_t *block = blocks[k / 2], grid[3] = { (W + block[0] - 1) / block[0], (H + block[1] - 1) / block[1], 1 };
            const int size[5] = { W - (int)rnd(40), H - (int)rnd(3), D - (int)rnd(2), PLANE, uneven };
            memset(out, 0, sizeof out), memset(want, 0, sizeof want), memset(last, 0, sizeof last), memset(want_last, 0, sizeof want_last);
            columns_by_hand(in, size, want, want_last);
            struct args a = { { in, (void *)size, 0, 0, 0, 0, out, last }, { 0 } };
            struct built b = build_or_fail(ir, targets[k % 2], block, 0);
            launch(&b, grid, block, 0, &a);
            unload(&b);
            for (int i = 0; i < D * PLANE; i++)
                cr_assert_eq(out[i], want[i], "%s, %ux%u, uneven %d, element %d: %u, not %u", targets[k % 2], block[0], block[1], uneven, i, out[i], want[i]);
            cr_assert_arr_eq(last, want_last, sizeof last, "%s, %ux%u, uneven %d", targets[k % 2], block[0], block[1], uneven);
        }
    free(ir);
}

/* A loop that keeps more values than a frame has room for does not march, and runs all the same. */
Test(simt, marching_with_much)
{
    enum { SUMS = 70, COUNT = 3000, THREADS = 3 * 64 };
    static uint32_t in[COUNT], out[THREADS];
    static const uint32_t block[3] = { 64, 1, 1 };
    struct aw_buf body = { 0 };
    int count = COUNT;
    aw_buf_printf(&body, "  %%n = load i32, ptr addrspace(1) %%p1\n  %%nb = call i32 @aw.nctaid.x()\n  %%step = mul i32 %%nb, %%nx\n"
                         "  br label %%loop\nloop:\n  %%i = phi i32 [ %%g, %%entry ], [ %%i1, %%loop ]\n");
    for (int k = 0; k < SUMS; k++)
        aw_buf_printf(&body, "  %%s%d = phi i32 [ %d, %%entry ], [ %%t%d, %%loop ]\n", k, k, k);
    aw_buf_printf(&body, "  %%il = sext i32 %%i to i64\n  %%o = shl i64 %%il, 2\n  %%s = getelementptr i8, ptr addrspace(1) %%p0, i64 %%o\n"
                         "  %%x = load i32, ptr addrspace(1) %%s\n");
    for (int k = 0; k < SUMS; k++)
        aw_buf_printf(&body, "  %%m%d = mul i32 %%s%d, 3\n  %%t%d = add i32 %%m%d, %%x\n", k, k, k, k);
    aw_buf_printf(&body, "  %%i1 = add i32 %%i, %%step\n  %%more = icmp slt i32 %%i1, %%n\n  br i1 %%more, label %%loop, label %%done\ndone:\n"
                         "  %%all0 = xor i32 %%t0, 0\n");
    for (int k = 1; k < SUMS; k++)
        aw_buf_printf(&body, "  %%all%d = xor i32 %%all%d, %%t%d\n", k, k - 1, k);
    aw_buf_printf(&body, "  %%go = shl i64 %%gl, 2\n  %%e = getelementptr i8, ptr addrspace(1) %%p6, i64 %%go\n"
                         "  store i32 %%all%d, ptr addrspace(1) %%e\n  ret void\n", SUMS - 1);
    for (int i = 0; i < COUNT; i++)
        in[i] = rnd(0x7fffffff);
    struct args a = { { in, &count, 0, 0, 0, 0, out, 0 }, { 0 } };
    run_form(body.ptr, "declare i32 @aw.nctaid.x()", (uint32_t[3]){ 3, 1, 1 }, block, block, 0, &a);
    for (int g = 0; g < THREADS; g++) {
        uint32_t all = 0;
        for (uint32_t k = 0; k < SUMS; k++) {
            uint32_t sum = k;
            for (int i = g; i < COUNT; i += THREADS)
                sum = 3 * sum + in[i];
            all ^= sum;
        }
        cr_assert_eq(out[g], all, "thread %d: %u, not %u", g, out[g], all);
    }
    aw_buf_fini(&body);
}

/* ---- Services */

Test(simt, traps_and_asserts)
{
    static const char trap_body[] =
        LOAD("v", "p0", "i32", "4") "  %bad = icmp eq i32 %v, 7\n  br i1 %bad, label %die, label %fine\n"
        "die:\n  call void @aw.trap(i32 %v)\n  unreachable\nfine:\n" STORE("v", "p6", "i32", "4") "  ret void\n";
    uint32_t v[40] = { 0 }, r[40] = { 0 };
    struct args a = { { v, 0, 0, 0, 0, 0, r, 0 }, { 0 } };
    for (int i = 0; i < 40; i++)
        v[i] = 100 + i;
    struct outcome o = run_body(trap_body, "declare void @aw.trap(i32)", one, (uint32_t[3]){ 40, 1, 1 }, false, 0, &a);
    cr_assert_eq(o.status, 0);
    cr_assert_eq(r[39], 139);
    v[33] = 7;
    o = run_body(trap_body, "declare void @aw.trap(i32)", one, (uint32_t[3]){ 40, 1, 1 }, false, 0, &a);
    cr_assert_eq(o.status, 7);

    static const char assert_body[] =
        LOAD("v", "p0", "i32", "4") "  %bad = icmp eq i32 %v, 7\n  br i1 %bad, label %die, label %fine\n"
        "die:\n  %m = addrspacecast ptr addrspace(1) %p1 to ptr\n  %f = addrspacecast ptr addrspace(1) %p2 to ptr\n"
        "  call void @aw.assertfail(ptr %m, ptr %f, i32 55, ptr %m)\n  unreachable\nfine:\n  ret void\n";
    struct args b = { { v, "x > 0", "a.cu", 0, 0, 0, r, 0 }, { 0 } };
    v[36] = v[39] = 7; /* all lanes of a warp that fail together */
    o = run_body(assert_body, "declare void @aw.assertfail(ptr, ptr, i32, ptr)", one, (uint32_t[3]){ 40, 1, 1 }, false, 0, &b);
    cr_assert_eq(o.status, AW_ERR_ASSERT);
    cr_assert_eq(o.assert_threads, UINT64_C(0x9200000000));
    cr_assert_str_eq(o.output, "x > 0 a.cu 55 x > 0");
}

Test(simt, printf_heap_sleep_and_spin)
{
    static const char body[] =
        LOAD("v", "p0", "i32", "4") "  %some = icmp ult i32 %v, 3\n  br i1 %some, label %say, label %rest\nsay:\n"
        "  %b = alloca i32, align 4, addrspace(5)\n  store i32 %t, ptr addrspace(5) %b\n  %bg = addrspacecast ptr addrspace(5) %b to ptr\n"
        "  %f = addrspacecast ptr addrspace(1) %p1 to ptr\n  %n = call i32 @aw.vprintf(ptr %f, ptr %bg)\n  br label %rest\n"
        "rest:\n  %m = call ptr @aw.malloc(i64 8)\n  store i32 %t, ptr %m\n  %x = load i32, ptr %m\n  call void @aw.free(ptr %m)\n"
        STORE("x", "p6", "i32", "4") "  call void @aw.nanosleep(i32 5)\n  %time = call i64 @aw.globaltimer()\n  %ti = trunc i64 %time to i32\n"
        STORE("ti", "p7", "i32", "4") "  br label %spin\nspin:\n  %flag = load volatile i32, ptr addrspace(1) %p2\n"
        "  %wait = icmp eq i32 %flag, 0\n  br i1 %wait, label %spin, label %end\nend:\n  ret void\n";
    static const char globals[] = "declare i32 @aw.vprintf(ptr, ptr)\ndeclare ptr @aw.malloc(i64)\ndeclare void @aw.free(ptr)\n"
                                  "declare void @aw.nanosleep(i32)\ndeclare i64 @aw.globaltimer()\n";
    uint32_t v[32], x[32], ti[32], flag = 1;
    for (int i = 0; i < 32; i++)
        v[i] = 9;
    v[2] = v[30] = v[7] = 1;
    struct args a = { { v, "f", &flag, 0, 0, 0, x, ti }, { 0 } };
    char *ir = kernel_text(body, globals);
    struct built b = build_or_fail(ir, "host", NULL, 0);
    cr_assert(b.object->flags & AW_HOST_YIELD);
    struct outcome o = launch(&b, one, (uint32_t[3]){ 32, 1, 1 }, 0, &a);
    unload(&b);
    free(ir);
    cr_assert_str_eq(o.output, "f:2;f:7;f:30;");
    cr_assert_geq(o.yields, 2, "one for the sleep, one for the loop that waits");
    for (uint32_t i = 0; i < 32; i++) {
        cr_assert_eq(x[i], i);
        cr_assert_eq(ti[i], 12345);
    }
}

/* ---- Approximations within PTX's bounds */

struct bound {
    const char *name;
    double (*exact)(double);
    double lo, hi;      /* arguments */
    double rel, abs;    /* either suffices */
};

static double rcp(double x) { return 1 / x; }
static double rsq(double x) { return 1 / sqrt(x); }

static float one_f32(const struct built *b, float *v, float *r, int n)
{
    struct args a = { { v, 0, 0, 0, 0, 0, r, 0 }, { 0 } };
    launch(b, (uint32_t[3]){ (uint32_t)n / 256, 1, 1 }, (uint32_t[3]){ 256, 1, 1 }, 0, &a);
    return r[0];
}

Test(simt, approximations)
{
    enum { COUNT = 1 << 15 };
    static float v[COUNT], r[COUNT];
    static const struct bound bounds[] = {
        { "ex2", exp2, -126, 128, 2.4e-7, 0 }, { "ex2", exp2, -149, -126, 0, 1.5e-45 }, { "lg2", log2, 1e-45, 0.5, 2.4e-7, 0 },
        { "lg2", log2, 0.5, 2, 0, 2.4e-7 }, { "lg2", log2, 2, 3e38, 2.4e-7, 0 },
        { "sin", sin, -6.2831853, 6.2831853, 0, 6.7e-7 }, { "cos", cos, -6.2831853, 6.2831853, 0, 6.7e-7 },
        { "sin", sin, -314, 314, 0, 3.7e-5 }, { "cos", cos, -314, 314, 0, 3.7e-5 },
        { "sin", sin, -1e6, 1e6, 0, 1e-3 }, { "cos", cos, -1e6, 1e6, 0, 1e-3 },
        { "rcp", rcp, -1e30, 1e30, 1.2e-7, 0 }, { "rsqrt", rsq, 1e-38, 1e38, 1.28e-7, 0 }, { "sqrt", sqrt, 0, 1e38, 1.2e-7, 0 },
        { "tanh", tanh, -20, 20, 4.9e-4, 0 },
    };
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        char body[1024], decl[64];
        snprintf(body, sizeof body, FLOAD("v", "p0", "float", "4") "  %%x = call float @aw.%s.f32(float %%v)\n" FSTORE("x", "p6", "float", "4")
                 "  ret void\n", bounds[k].name);
        snprintf(decl, sizeof decl, "declare float @aw.%s.f32(float)", bounds[k].name);
        char *ir = kernel_text(body, decl);
        struct built b = build_or_fail(ir, "host", NULL, 0);
        for (int i = 0; i < COUNT; i++)
            v[i] = (float)(bounds[k].lo + (bounds[k].hi - bounds[k].lo) * (i + rnd(1000) / 1000.0) / COUNT);
        one_f32(&b, v, r, COUNT);
        for (int i = 0; i < COUNT; i++) {
            double want = bounds[k].exact(v[i]), error = fabs(r[i] - want);
            cr_assert(error <= bounds[k].abs || error <= bounds[k].rel * fabs(want) || (float)want == r[i], "%s(%a) = %a, not %a", bounds[k].name, v[i], r[i], want);
        }
        unload(&b);
        free(ir);
    }
}

Test(simt, approximations_of_special_values)
{
    static const struct {
        const char *name;
        float x, want;
    } cases[] = {
        { "ex2", INFINITY, INFINITY }, { "ex2", -INFINITY, 0 }, { "ex2", NAN, NAN }, { "ex2", 128, INFINITY }, { "ex2", -200, 0 }, { "ex2", 0, 1 },
        { "ex2", -149, 0x1p-149f }, { "lg2", 0, -INFINITY }, { "lg2", -0.0f, -INFINITY }, { "lg2", -1, NAN }, { "lg2", INFINITY, INFINITY },
        { "lg2", NAN, NAN }, { "lg2", 1, 0 }, { "lg2", 0x1p-149f, -149 }, { "lg2", -INFINITY, NAN }, { "sin", INFINITY, NAN }, { "cos", -INFINITY, NAN },
        { "sin", NAN, NAN }, { "sin", 0, 0 }, { "sin", -0.0f, -0.0f }, { "cos", 0, 1 }, { "rcp", 0, INFINITY }, { "rcp", -0.0f, -INFINITY },
        { "rcp", INFINITY, 0 }, { "rcp", NAN, NAN }, { "rsqrt", 0, INFINITY }, { "rsqrt", -0.0f, -INFINITY }, { "rsqrt", -1, NAN },
        { "rsqrt", INFINITY, 0 }, { "sqrt", -0.0f, -0.0f }, { "sqrt", -1, NAN }, { "sqrt", INFINITY, INFINITY }, { "tanh", INFINITY, 1 },
        { "tanh", -INFINITY, -1 }, { "tanh", NAN, NAN }, { "tanh", -0.0f, -0.0f },
    };
    const char *built_for = "";
    struct built b = { 0 };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        if (strcmp(built_for, cases[k].name)) {
            char body[1024], decl[64];
            if (b.handle)
                unload(&b);
            built_for = cases[k].name;
            snprintf(body, sizeof body, FLOAD("v", "p0", "float", "4") "  %%x = call float @aw.%s.f32(float %%v)\n" FSTORE("x", "p6", "float", "4")
                     "  ret void\n", built_for);
            snprintf(decl, sizeof decl, "declare float @aw.%s.f32(float)", built_for);
            char *ir = kernel_text(body, decl);
            b = build_or_fail(ir, "host", NULL, 0);
            free(ir);
        }
        float v[256], r[256];
        for (int i = 0; i < 256; i++)
            v[i] = cases[k].x;
        float got = one_f32(&b, v, r, 256), want = cases[k].want;
        cr_assert(isnan(want) ? isnan(got) : got == want && signbit(got) == signbit(want), "%s(%g) = %g, not %g", cases[k].name, cases[k].x, got, want);
    }
    unload(&b);
}

/* ---- Minima and maxima as lower/round.c writes them, around a loop (ptx/finish/host/minmax.c) */

static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float of_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static uint32_t extreme(uint32_t a, uint32_t b, bool min)
{
    float x = of_bits(a), y = of_bits(b);
    if (isnan(x) || isnan(y))
        return !isnan(x) ? a : !isnan(y) ? b : 0x7fffffff;
    if (x == y)
        return min ? a | b : a & b;
    return (x > y) != min ? a : b;
}

enum { EXTREME_THREADS = 96, EXTREME_ROUNDS = 4 };

/* m = max(a, x) of each round's x; then a is m, or (`crossed`) b, which becomes m: it was 1, or a number from memory (`loaded`). */
static char *extreme_text(bool min, bool loaded, bool crossed)
{
    char body[2048], declared[64];
    snprintf(body, sizeof body, FLOAD("n", "p1", "float", "4") "  %%rounds = load i32, ptr addrspace(1) %%p2\n  br label %%loop\nloop:\n"
             "  %%k = phi i32 [ 0, %%entry ], [ %%k1, %%loop ]\n  %%a = phi float [ -2.0, %%entry ], [ %%%s, %%loop ]\n"
             "  %%b = phi float [ %s, %%entry ], [ %%m, %%loop ]\n"
             "  %%r0 = mul i32 %%k, %d\n  %%r1 = add i32 %%r0, %%g\n  %%r2 = zext i32 %%r1 to i64\n"
             "  %%xp = getelementptr float, ptr addrspace(1) %%p0, i64 %%r2\n  %%x = load float, ptr addrspace(1) %%xp\n"
             "  %%y = call float @llvm.%simumnum.f32(float %%a, float %%x)\n  %%u = fcmp uno float %%y, 0.0\n"
             "  %%m = select i1 %%u, float 0x7FFFFFFFE0000000, float %%y\n"
             "  %%k1 = add i32 %%k, 1\n  %%more = icmp ult i32 %%k1, %%rounds\n  br i1 %%more, label %%loop, label %%end\nend:\n"
             FSTORE("m", "p6", "float", "4") "  ret void\n",
             crossed ? "b" : "m", loaded ? "%n" : "1.0", EXTREME_THREADS, min ? "min" : "max");
    snprintf(declared, sizeof declared, "declare float @llvm.%simumnum.f32(float, float)", min ? "min" : "max");
    return kernel_text(body, declared);
}

static void check_extremes(const char *target, bool min, bool loaded, bool crossed)
{
    enum { T = EXTREME_THREADS };
    static const uint32_t odd[] = { 0x7fc00000, 0xffc00001, 0x7f800001, 0xff812345, 0, 0x80000000, 0x7f800000, 0xff800000, 1, 0x80000001 };
    static uint32_t x[T * EXTREME_ROUNDS], n[T], got[T];
    for (int i = 0; i < T * EXTREME_ROUNDS; i++)
        x[i] = rnd(3) ? odd[rnd(10)] : rnd(0x7fffffff) * 2;
    for (int i = 0; i < T; i++)
        n[i] = odd[rnd(10)];
    char *ir = extreme_text(min, loaded, crossed);
    uint32_t rounds = EXTREME_ROUNDS;
    struct args args = { { x, n, &rounds, 0, 0, 0, got, 0 }, { 0 } };
    struct built k = build_or_fail(ir, target, (uint32_t[3]){ T, 1, 1 }, 0);
    launch(&k, one, (uint32_t[3]){ T, 1, 1 }, 0, &args);
    unload(&k);
    free(ir);
    for (int i = 0; i < T; i++) {
        uint32_t a = bits_of(-2), b = loaded ? n[i] : bits_of(1), m = 0;
        for (int r = 0; r < EXTREME_ROUNDS; r++) {
            m = extreme(a, x[r * T + i], min);
            a = crossed ? b : m;
            b = m;
        }
        cr_assert_eq(got[i], m, "%s, %s%s%s: lane %d: %08x, not %08x", target, min ? "min" : "max", loaded ? ", loaded" : "", crossed ? ", crossed" : "", i,
                     got[i], m);
    }
}

Test(simt, extremes_around_loops)
{
    static const char *const machines[] = { "host", "host:x86-64" };
    for (int i = 0; i < 32; i++)
        check_extremes(machines[i % 2], i & 2, i & 4, i & 8);
}

/* ---- Pairs of words that lanes read and write anywhere (ptx/simt/emit/pair_access.c): pairs that lanes have in common are the last lane's */

static void check_pairs(const char *target, bool high_first, bool some, bool aligned)
{
    enum { T = 96, PAIRS = 64 };
    static const char *const parts[2][2] = { { "0", "4" }, { "4", "0" } };
    const char *const *off = parts[high_first];
    static uint64_t from[PAIRS], to[PAIRS], want[PAIRS];
    static uint32_t at[T];
    char body[4096];
    int shift = aligned ? 3 : 2; /* not aligned: pairs that overlap by half */
    snprintf(body, sizeof body, FLOAD("i", "p0", "i32", "4") "  %%bit = lshr i32 %%i, 31\n  %%off = trunc i32 %%bit to i1\n"
             "  br i1 %%off, label %%end, label %%go\ngo:\n  %%w = zext i32 %%i to i64\n"
             "  %%o = shl i64 %%w, %d\n  %%f = getelementptr i8, ptr addrspace(1) %%p1, i64 %%o\n  %%q = getelementptr i8, ptr addrspace(1) %%p6, i64 %%o\n"
             "  %%f0 = getelementptr i8, ptr addrspace(1) %%f, i64 %s\n  %%f1 = getelementptr i8, ptr addrspace(1) %%f, i64 %s\n"
             "  %%q0 = getelementptr i8, ptr addrspace(1) %%q, i64 %s\n  %%q1 = getelementptr i8, ptr addrspace(1) %%q, i64 %s\n"
             "  %%x0 = load i32, ptr addrspace(1) %%f0, align 4\n  %%x1 = load i32, ptr addrspace(1) %%f1, align 4\n"
             "  %%y0 = add i32 %%x0, %%g\n  %%y1 = sub i32 %%x1, %%g\n"
             "  store i32 %%y0, ptr addrspace(1) %%q0, align %d\n  store i32 %%y1, ptr addrspace(1) %%q1, align %d\n  br label %%end\nend:\n  ret void\n",
             shift, off[0], off[1], off[0], off[1], aligned && !high_first ? 8 : 4, aligned && high_first ? 8 : 4);
    for (int i = 0; i < T; i++)
        at[i] = rnd(PAIRS) | (some && !rnd(3) ? 0x80000000 : 0);
    for (int i = 0; i < PAIRS; i++) {
        from[i] = rnd(0x7fffffff) * UINT64_C(0x100000001);
        to[i] = want[i] = rnd(0x7fffffff);
    }
    for (int w = 0; w < T; w += 32) /* a warp stores the first words of all lanes, then the second ones */
        for (int k = 0; k < 2; k++)
            for (int i = w; i < w + 32; i++) {
                unsigned place = (at[i] << (shift - 2)) + (unsigned)atoi(off[k]) / 4;
                if (!(at[i] >> 31))
                    ((uint32_t *)want)[place] = ((uint32_t *)from)[place] + (k ? -(uint32_t)i : (uint32_t)i);
            }
    char *ir = kernel_text(body, "");
    struct args args = { { at, from, 0, 0, 0, 0, to, 0 }, { 0 } };
    struct built k = build_or_fail(ir, target, (uint32_t[3]){ T, 1, 1 }, 0);
    launch(&k, one, (uint32_t[3]){ T, 1, 1 }, 0, &args);
    unload(&k);
    free(ir);
    for (int i = 0; i < PAIRS; i++)
        cr_assert_eq(to[i], want[i], "%s%s%s%s: pair %d: %016llx, not %016llx", target, high_first ? ", high first" : "", some ? ", some" : "",
                     aligned ? "" : ", overlapping", i, (unsigned long long)to[i], (unsigned long long)want[i]);
}

Test(simt, pairs)
{
    static const char *const machines[] = { "host", "host:x86-64-v3", "host:x86-64" };
    for (int i = 0; i < 48; i++)
        check_pairs(machines[i % 3], i & 1, i & 2, i & 4);
}

/* ---- Control flow */

Test(simt, endless_loops_and_dead_divisors)
{
    /* A loop whose only way out is a trap that no lane takes while others return early; divisors that are 0 where unused. */
    static const char body[] =
        LOAD("v", "p0", "i32", "4") LOAD("w", "p1", "i32", "4")
        "  %stop = icmp ult i32 %v, 50\n  br i1 %stop, label %quit, label %run\nrun:\n  %x = phi i32 [ %v, %entry ], [ %x1, %again ]\n"
        "  %z = icmp eq i32 %w, 0\n  br i1 %z, label %again, label %div\ndiv:\n  %q = sdiv i32 %x, %w\n  br label %again\n"
        "again:\n  %d = phi i32 [ 1, %run ], [ %q, %div ]\n  %x1 = sub i32 %x, 1\n  %done = icmp ult i32 %x1, 40\n"
        "  br i1 %done, label %quit2, label %run\nquit2:\n" STORE("d", "p6", "i32", "4") "  ret void\nquit:\n  ret void\n";
    int32_t v[64], w[64], r[64];
    for (int i = 0; i < 64; i++) {
        v[i] = (int32_t)rnd(100);
        w[i] = (int32_t)rnd(3) - 1;
        r[i] = -7;
    }
    struct args a = { { v, w, 0, 0, 0, 0, r, 0 }, { 0 } };
    run_body(body, "", one, (uint32_t[3]){ 64, 1, 1 }, false, 0, &a);
    for (int i = 0; i < 64; i++)
        cr_assert_eq(r[i], v[i] < 50 ? -7 : w[i] ? 40 / w[i] : 1, "lane %d", i);

    /* No way out at all but the trap: it must still compile and trap. */
    static const char endless[] =
        LOAD("v", "p0", "i32", "4") "  br label %spin\nspin:\n  %x = phi i32 [ %v, %entry ], [ %x1, %more ]\n  %x1 = sub i32 %x, 1\n"
        "  %z = icmp eq i32 %x1, 0\n  br i1 %z, label %die, label %more\nmore:\n  br label %spin\ndie:\n  call void @aw.trap(i32 719)\n  unreachable\n";
    struct outcome o = run_body(endless, "declare void @aw.trap(i32)", one, (uint32_t[3]){ 32, 1, 1 }, false, 0, &a);
    cr_assert_eq(o.status, 719);
}

static const uint32_t shapes[][3] = { { 64, 1, 1 }, { 33, 1, 1 }, { 16, 4, 1 }, { 5, 3, 2 }, { 32, 2, 1 }, { 100, 1, 1 }, { 7, 1, 9 }, { 8, 8, 1 } };

/* One random kernel against scalar code, over some shapes.  Half of the graphs are irreducible. */
static void fuzz_one(uint64_t seed)
{
    struct aw_buf text = { 0 }, diags = { 0 };
    struct scalar reference;
    struct built b;
    int32_t in[1024];
    state = seed * 77 + 1;
    for (int i = 0; i < 1024; i++)
        in[i] = (int32_t)rnd(400) - 100;
    gen_kernel(seed, seed & 1, &text);
    bool fixed = seed % 3 != 0;
    const uint32_t *shape = shapes[seed % 8], *built_for = fixed ? shape : seed % 2 ? NULL : seed % 4 ? any_rows : full_rows;
    cr_assert(build_scalar(text.ptr, &reference, &diags), "seed %lu: %s", seed, diags.ptr);
    cr_assert(build_simt(text.ptr, "host", built_for, 0, &b, &diags), "seed %lu: %s", seed, diags.ptr);
    for (int q = 0; q < (fixed ? 1 : 5); q++) {
        shape = shapes[(seed + (uint64_t)q * 3) % 8];
        if (built_for && shape[0] % built_for[0])
            continue;
        int threads = (int)(shape[0] * shape[1] * shape[2]) * 6;
        int32_t *want = calloc((size_t)threads, 32), *got = calloc((size_t)threads, 32);
        struct gen_args k = { in, want, threads - 5, (int32_t)(seed % 11), { 0 } };
        run_scalar(&reference, (uint32_t[3]){ 3, 2, 1 }, shape, &k);
        k.out = got;
        struct outcome o = launch(&b, (uint32_t[3]){ 3, 2, 1 }, shape, 0, &k);
        cr_assert_eq(o.status, 0);
        for (int i = 0; i < threads * 8; i++)
            cr_assert_eq(got[i], want[i], "seed %lu shape %u,%u,%u thread %d slot %d: %d, not %d", seed, shape[0], shape[1], shape[2],
                         i / 8, i % 8, got[i], want[i]);
        free(want);
        free(got);
    }
    unload(&b);
    unload_scalar(&reference);
    aw_buf_fini(&text);
    aw_buf_fini(&diags);
}

Test(simt, random_control_flow)
{
    unsigned long first = 1000, count = 120;
    if (!seeds_wanted(&first, &count))
        fuzz_one(1264); /* distances of lanes that were built in one branch, used after it */
    for (unsigned long s = first; s < first + count; s++)
        fuzz_one(s);
}

/* The same with all loops taken out that can be, and run lane by lane, whatever it costs. */
Test(simt, random_control_flow_lane_by_lane)
{
    unsigned long first = 7000, count = 60;
    seeds_wanted(&first, &count);
    simt_serialise_always = true;
    for (unsigned long s = first; s < first + count; s++)
        fuzz_one(s);
    simt_serialise_always = false;
}

/* ---- Lane by lane: values of all kinds go in and come out, memory of all kinds is updated */

enum { ROWS = 300, PLACES = 8 };

#define TABLE(r, p, type, size, index) \
    "  %" r ".o = mul i64 " index ", " size "\n  %" r ".p = getelementptr i8, ptr addrspace(1) %" p ", i64 %" r ".o\n" \
    "  %" r " = load " type ", ptr addrspace(1) %" r ".p\n"

/* p0: starts of rows, p1: columns, p2: values, p3: sums (double), p4: other results (i64 x 4), p5: counts, p6: the first to come, p7: rows */
/* Only atomics on memory of all blocks are said to be some. */
Test(simt, atomics_are_told)
{
    static const struct {
        const char *update;
        bool told;
    } cases[] = {
        { "  %old = atomicrmw add ptr addrspace(1) %p0, i32 %t monotonic, align 4\n", true },
        { "  %old = atomicrmw fadd ptr addrspace(1) %p0, float 1.0 monotonic, align 4\n", true },
        { "  %old = cmpxchg ptr addrspace(1) %p0, i32 0, i32 %t monotonic monotonic, align 4\n", true },
        { "  %old = atomicrmw add ptr addrspace(3) @aw.shared, i32 %t monotonic, align 4\n", false },
        { "  store volatile i32 %t, ptr addrspace(1) %p0\n", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[200];
        snprintf(body, sizeof body, "%s  ret void\n", cases[i].update);
        char *ir = kernel_text(body, "@aw.shared = internal addrspace(3) global [4 x i8] undef, align 4\n");
        struct built b = build_or_fail(ir, "host", NULL, 4);
        cr_assert_eq((b.object->flags & AW_HOST_ATOMIC) != 0, cases[i].told, "%s", cases[i].update);
        unload(&b);
        free(ir);
    }
}

static const char lane_by_lane_body[] =
    "  %n = ptrtoint ptr addrspace(1) %p7 to i32\n  %mine = icmp slt i32 %g, %n\n"
    "  %local = alloca [4 x i32], addrspace(5)\n"
    "  %odd.x = and i32 %g, 1\n  %odd = icmp ne i32 %odd.x, 0\n  %byte = trunc i32 %g to i8\n  %long = sext i32 %g to i128\n"
    "  br i1 %mine, label %rows, label %end\n"
    "rows:\n" TABLE("from", "p0", "i32", "4", "%gl") "  %next = add i64 %gl, 1\n" TABLE("to", "p0", "i32", "4", "%next")
    "  %sh.o = and i32 %t, 7\n  %sh.i = zext i32 %sh.o to i64\n"
    "  %sh = getelementptr [8 x i32], ptr addrspace(3) @aw.shared, i64 0, i64 %sh.i\n"
    "  %some = icmp slt i32 %from, %to\n  br i1 %some, label %loop, label %done\n"
    "loop:\n"
    "  %i = phi i32 [ %from, %rows ], [ %i.next, %more ]\n  %sum = phi double [ 0.0, %rows ], [ %sum.next, %more ]\n"
    "  %flag = phi i1 [ %odd, %rows ], [ %flag.next, %more ]\n  %small = phi i8 [ %byte, %rows ], [ %small.next, %more ]\n"
    "  %big = phi i128 [ %long, %rows ], [ %big.next, %more ]\n"
    "  %il = sext i32 %i to i64\n" TABLE("column", "p1", "i32", "4", "%il")
    "  %cl = sext i32 %column to i64\n" TABLE("value", "p2", "float", "4", "%cl")
    "  %wide = fpext float %value to double\n  %sum.next = fadd double %sum, %wide\n"
    "  %zero = fcmp oeq float %value, 0.0\n  br i1 %zero, label %stop, label %more\n" /* a second way out */
    "more:\n  call void @llvm.lifetime.start.p5(ptr addrspace(5) %local)\n"
    "  %place = and i64 %cl, 7\n  %count.o = mul i64 %place, 4\n  %count = getelementptr i8, ptr addrspace(1) %p5, i64 %count.o\n"
    "  %old = atomicrmw add ptr addrspace(1) %count, i32 %column monotonic, align 4\n"
    "  %shared = atomicrmw add ptr addrspace(3) %sh, i32 1 monotonic, align 4\n"
    "  %first = getelementptr i8, ptr addrspace(1) %p6, i64 %count.o\n"
    "  %pair = cmpxchg ptr addrspace(1) %first, i32 0, i32 %column monotonic monotonic, align 4\n"
    "  %took = extractvalue { i32, i1 } %pair, 1\n"
    "  %li = and i32 %column, 3\n  %ll = zext i32 %li to i64\n"
    "  %lp = getelementptr [4 x i32], ptr addrspace(5) %local, i64 0, i64 %ll\n  store i32 %column, ptr addrspace(5) %lp\n"
    "  %flag.next = xor i1 %flag, %took\n  %c8 = trunc i32 %column to i8\n  %small.next = add i8 %small, %c8\n"
    "  %c128 = zext i32 %column to i128\n  %big3 = mul i128 %big, 4294967311\n  %big.next = add i128 %big3, %c128\n"
    "  %warp = call i32 @aw.warpid()\n  %n32 = shl i32 %warp, 5\n  %t32 = call i32 @aw.laneid()\n  %tt = add i32 %n32, %t32\n" /* is %t */
    "  %same = icmp eq i32 %tt, %t\n  %one = zext i1 %same to i32\n"
    "  %i.next = add i32 %i, %one\n  %again = icmp slt i32 %i.next, %to\n  br i1 %again, label %loop, label %done\n"
    "stop:\n  br label %done\n"
    "done:\n"
    "  %s = phi double [ 0.0, %rows ], [ %sum.next, %more ], [ -1.0, %stop ]\n"
    "  %f = phi i1 [ false, %rows ], [ %flag.next, %more ], [ %flag, %stop ]\n"
    "  %sm = phi i8 [ 1, %rows ], [ %small.next, %more ], [ %small, %stop ]\n"
    "  %b = phi i128 [ 2, %rows ], [ %big.next, %more ], [ %big, %stop ]\n" STORE("s", "p3", "double", "8")
    "  %fl = zext i1 %f to i64\n  %sml = zext i8 %sm to i64\n  %lo = trunc i128 %b to i64\n  %b.hi = lshr i128 %b, 64\n"
    "  %hi = trunc i128 %b.hi to i64\n  %out.o = mul i64 %gl, 32\n  %out = getelementptr i8, ptr addrspace(1) %p4, i64 %out.o\n"
    "  %out1 = getelementptr i8, ptr addrspace(1) %out, i64 8\n  %out2 = getelementptr i8, ptr addrspace(1) %out, i64 16\n"
    "  %out3 = getelementptr i8, ptr addrspace(1) %out, i64 24\n"
    "  store i64 %fl, ptr addrspace(1) %out\n  store i64 %sml, ptr addrspace(1) %out1\n"
    "  store i64 %lo, ptr addrspace(1) %out2\n  store i64 %hi, ptr addrspace(1) %out3\n  br label %end\n"
    "end:\n  ret void\n";

struct lane_by_lane {
    int32_t start[ROWS + 1], column[4096], counts[PLACES], first[PLACES];
    float value[256];
    double sums[ROWS];
    uint64_t other[ROWS][4];
};

static void lane_by_lane_input(struct lane_by_lane *d)
{
    memset(d, 0, sizeof *d);
    for (int i = 0; i < 256; i++)
        d->value[i] = rnd(24) ? (float)rnd(1000) - 500.5f : 0;
    for (int i = 0; i < 4096; i++)
        d->column[i] = (int32_t)rnd(256);
    for (int i = 0; i < ROWS; i++)
        d->start[i + 1] = d->start[i] + (int32_t)(rnd(4) ? rnd(9) : rnd(20));
    cr_assert_leq(d->start[ROWS], 4096);
}

static void lane_by_lane_reference(struct lane_by_lane *d, int rows)
{
    for (int g = 0; g < rows; g++) {
        double sum = 0, result = 0;
        bool flag = d->start[g] < d->start[g + 1] && (g & 1);
        uint8_t small = d->start[g] < d->start[g + 1] ? (uint8_t)g : 1;
        unsigned __int128 big = d->start[g] < d->start[g + 1] ? (unsigned __int128)g : 2;
        for (int i = d->start[g]; i < d->start[g + 1]; i++) {
            int32_t c = d->column[i];
            sum += (double)d->value[c];
            result = d->value[c] == 0 ? -1 : sum;
            if (d->value[c] == 0)
                break;
            d->counts[c & 7] += c;
            flag ^= !d->first[c & 7];
            d->first[c & 7] = d->first[c & 7] ? d->first[c & 7] : c;
            small = (uint8_t)(small + c);
            big = big * 4294967311u + (uint32_t)c;
        }
        d->sums[g] = result;
        d->other[g][0] = flag;
        d->other[g][1] = small;
        d->other[g][2] = (uint64_t)big;
        d->other[g][3] = (uint64_t)(big >> 64);
    }
}

Test(simt, lane_by_lane)
{
    static const uint32_t sizes[] = { 1, 31, 32, 33, 48, 64, 100 };
    static struct lane_by_lane got, want;
    const char *globals = "@aw.shared = internal addrspace(3) global [32 x i8] undef\ndeclare void @llvm.lifetime.start.p5(ptr addrspace(5))\n"
                          "declare i32 @aw.warpid()\ndeclare i32 @aw.laneid()\n";
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int form = 0; form < 3; form++) {
            const uint32_t shape[3] = { sizes[s], 1, 1 }, grid[3] = { ROWS / sizes[s], 1, 1 };
            int rows = (int)(grid[0] * sizes[s]) - 3 > 0 ? (int)(grid[0] * sizes[s]) - 3 : 1;
            simt_serialise_always = form != 2; /* at last as the estimate has it */
            lane_by_lane_input(&got);
            want = got;
            struct args a = { { got.start, got.column, got.value, got.sums, got.other, got.counts, got.first, (void *)(intptr_t)rows }, "" };
            run_form(lane_by_lane_body, globals, grid, shape, form ? shape : any_rows, 32, &a);
            simt_serialise_always = false;
            lane_by_lane_reference(&want, rows);
            cr_assert_arr_eq(got.sums, want.sums, sizeof got.sums, "%u threads, form %d", sizes[s], form);
            cr_assert_arr_eq(got.other, want.other, sizeof got.other, "%u threads, form %d", sizes[s], form);
            cr_assert_arr_eq(got.counts, want.counts, sizeof got.counts);
            cr_assert_arr_eq(got.first, want.first, sizeof got.first);
        }
}

/* Gathers and scatters, gathers alone, neither. */
static const char *const machines[] = { "host", "host:x86-64-v3,+fast-gather", "host:x86-64-v3" };

/* ---- Loops unrolled with a loop for the remainder first, for lanes that run differently often: their rounds are one loop's */

/* A word of p5 for each thread: rounds before (3 bits), whether to go past the second loop (8) or past both (16). */
enum { PAST = 8, PAST_BOTH = 16, UNROLLED_THREADS = 256 };

/* Rounds are read from memory, and then where the row ends is computed before the loops or between them; or they are computed from the way to
 * the row's end, as nvcc does. */
enum unrolled_how { READ, READ_LATE, COUNTED };

/* p0: where each warp's row begins and how long it is, p1, p2: the row's columns and values, p3: what columns are of, p4: results, p5: the rounds.
 * `slip`: is added to the way. */
static char *unrolled_body(const char *type, int shift, int step, int times, int mistake, enum unrolled_how how, int slip)
{
    static const char end[] = "  %to = add i32 %from, %length\n";
    bool late = how == READ_LATE;
    struct aw_buf b = { 0 };
    aw_buf_printf(&b, "  %%w = lshr i32 %%g, 5\n  %%lane = and i32 %%t, 31\n  %%wl = zext i32 %%w to i64\n  %%wo = shl i64 %%wl, 3\n"
                  "  %%fp = getelementptr i8, ptr addrspace(1) %%p0, i64 %%wo\n  %%from = load i32, ptr addrspace(1) %%fp\n"
                  "  %%tp = getelementptr i8, ptr addrspace(1) %%fp, i64 4\n  %%length = load i32, ptr addrspace(1) %%tp\n%s"
                  "  %%c.base = ptrtoint ptr addrspace(1) %%p1 to i64\n  %%v.base = ptrtoint ptr addrspace(1) %%p2 to i64\n" FLOAD("word", "p5", "i32", "4")
                  "  %%i0 = add i32 %%from, %%lane\n", late ? "" : end);
    if (how == COUNTED)
        aw_buf_printf(&b, "  %%below = icmp slt i32 %%i0, %%to\n  br i1 %%below, label %%count, label %%after\n"
                      "count:\n  %%i1 = add i32 %%i0, %d\n  %%end = call i32 @llvm.smax.i32(i32 %%to, i32 %%i1)\n  %%not = xor i32 %%lane, -1\n"
                      "  %%end.lane = add i32 %%end, %%not\n  %%exact = sub i32 %%end.lane, %%from\n  %%way = add i32 %%exact, %d\n"
                      "  %%whole = lshr i32 %%way, %d\n  %%rounds = add i32 %%whole, 1\n  %%few = and i32 %%rounds, %d\n"
                      "  %%past = icmp ult i32 %%way, %d\n", step, slip, __builtin_ctz((unsigned)step), times - 1, step * (times - 1));
    else
        aw_buf_printf(&b, "  br label %%count\ncount:\n  %%few = and i32 %%word, %d\n  %%past.x = and i32 %%word, 8\n"
                      "  %%past = icmp ne i32 %%past.x, 0\n", times - 1);
    aw_buf_printf(&b, "  %%skip = icmp eq i32 %%few, 0\n  br i1 %%skip, label %%join, label %%enter\n"
                  "enter:\n  %%il = sext i32 %%i0 to i64\n  %%io = shl i64 %%il, %d\n  %%c0 = add i64 %%c.base, %%io\n  %%v0 = add i64 %%v.base, %%io\n"
                  "  br label %%rest\nrest:\n  %%sum = phi i32 [ 7, %%enter ], [ %%rs.0, %%rest ]\n  %%i = phi i32 [ %%i0, %%enter ], [ %%i.next, %%rest ]\n"
                  "  %%rc = phi i64 [ %%c0, %%enter ], [ %%c.next, %%rest ]\n  %%rv = phi i64 [ %%v0, %%enter ], [ %%v.next, %%rest ]\n"
                  "  %%left = phi i32 [ %%few, %%enter ], [ %%left.next, %%rest ]\n", shift);
    for (int loop = 0; loop < 2; loop++) {
        const char *l = loop ? "m" : "r";
        if (loop)
            aw_buf_printf(&b, "join:\n  %%js = phi i32 [ 7, %%count ], [ %%rs.0, %%rest ]\n  %%ji = phi i32 [ %%i0, %%count ], [ %%i.next, %%rest ]\n"
                          "%s  br i1 %%past, label %%after, label %%more\nmore:\n  %%jl = sext i32 %%ji to i64\n  %%jo = shl i64 %%jl, %d\n"
                          "  %%jo2 = add i64 %%jo, %d\n  %%c1 = add i64 %%c.base, %%jo2\n  %%v1 = add i64 %%v.base, %%jo2\n  br label %%main\n"
                          "main:\n  %%ms = phi i32 [ %%js, %%more ], [ %%ms.%d, %%main ]\n  %%mi = phi i32 [ %%ji, %%more ], [ %%mi.next, %%main ]\n"
                          "  %%mc = phi i64 [ %%c1, %%more ], [ %%mc.next, %%main ]\n  %%mv = phi i64 [ %%v1, %%more ], [ %%mv.next, %%main ]\n",
                          late ? end : "", shift, 2 * step << shift, times - 1);
        for (int k = 0; k < (loop ? times : 1); k++) {
            char before[16];
            snprintf(before, sizeof before, k ? "%ss.%d" : loop ? "ms" : "sum", l, k - 1);
            int64_t at = loop ? (k - 2) * step * (INT64_C(1) << shift) : 0;
            aw_buf_printf(&b, "  %%%sca.%d = add i64 %%%sc, %lld\n  %%%scp.%d = inttoptr i64 %%%sca.%d to ptr addrspace(1)\n"
                          "  %%%sco.%d = load %s, ptr addrspace(1) %%%scp.%d\n", l, k, l, (long long)at, l, k, l, k, l, k, type, l, k);
            aw_buf_printf(&b, "  %%%sva.%d = add i64 %%%sv, %lld\n  %%%svp.%d = inttoptr i64 %%%sva.%d to ptr addrspace(1)\n"
                          "  %%%sval.%d = load %s, ptr addrspace(1) %%%svp.%d\n", l, k, l, (long long)at, l, k, l, k, l, k, type, l, k);
            aw_buf_printf(&b, "  %%%scx.%d = zext %s %%%sco.%d to i64\n  %%%sxo.%d = and i64 %%%scx.%d, 255\n  %%%sx4.%d = shl i64 %%%sxo.%d, 2\n"
                          "  %%%sxp.%d = getelementptr i8, ptr addrspace(1) %%p3, i64 %%%sx4.%d\n  %%%sx.%d = load i32, ptr addrspace(1) %%%sxp.%d\n",
                          l, k, type, l, k, l, k, l, k, l, k, l, k, l, k, l, k, l, k, l, k);
            aw_buf_printf(&b, "  %%%svx.%d = zext %s %%%sval.%d to i64\n  %%%sv32.%d = trunc i64 %%%svx.%d to i32\n  %%%spr.%d = mul i32 %%%sv32.%d, %%%sx.%d\n"
                          "  %%%ssh.%d = mul i32 %%%s, %d\n  %%%ss.%d = add i32 %%%ssh.%d, %%%spr.%d\n",
                          l, k, type, l, k, l, k, l, k, l, k, l, k, l, k, l, k, before, loop && k == mistake ? 37 : 31, l, k, l, k, l, k);
        }
        if (!loop)
            aw_buf_printf(&b, "  %%i.next = add i32 %%i, %d\n  %%c.next = add i64 %%rc, %d\n  %%v.next = add i64 %%rv, %d\n"
                          "  %%left.next = add i32 %%left, -1\n  %%go = icmp ne i32 %%left.next, 0\n  br i1 %%go, label %%rest, label %%join\n",
                          step, step << shift, step << shift);
    }
    aw_buf_printf(&b, "  %%mi.next = add i32 %%mi, %d\n  %%mc.next = add i64 %%mc, %d\n  %%mv.next = add i64 %%mv, %d\n"
                  "  %%on = icmp slt i32 %%mi.next, %%to\n  br i1 %%on, label %%main, label %%after\n"
                  "after:\n  %%r = phi i32 [ %%js, %%join ], [ %%ms.%d, %%main ]%s\n" FSTORE("r", "p4", "i32", "4") "  ret void",
                  step * times, step * times << shift, step * times << shift, times - 1, how == COUNTED ? ", [ 7, %entry ]" : "");
    return b.ptr;
}

struct unrolled {
    int32_t range[UNROLLED_THREADS / 32][2];
    uint32_t x[256], word[UNROLLED_THREADS], got[UNROLLED_THREADS];
    char *columns, *values; /* of index 0 */
    int shift, step, times, mistake, slip;
};

static uint32_t element(const char *base, int64_t i, int shift)
{
    uint32_t r = 0;
    memcpy(&r, base + i * (1 << shift), (size_t)1 << shift);
    return r;
}

static uint32_t unrolled_one(const struct unrolled *d, int64_t i, uint32_t sum, uint32_t by)
{
    return sum * by + element(d->values, i, d->shift) * d->x[element(d->columns, i, d->shift) & 255];
}

static uint32_t unrolled_reference(const struct unrolled *d, int thread)
{
    uint32_t sum = 7, few = d->word[thread] & (uint32_t)(d->times - 1);
    int32_t i = (int32_t)((uint32_t)d->range[thread / 32][0] + (uint32_t)thread % 32);
    if (d->word[thread] & PAST_BOTH)
        return sum;
    for (uint32_t k = 0; k < few; k++)
        sum = unrolled_one(d, (int64_t)i + k * (uint32_t)d->step, sum, 31);
    i = (int32_t)((uint32_t)i + few * (uint32_t)d->step);
    if (d->word[thread] & PAST)
        return sum;
    int64_t at = i;
    do {
        for (int k = 0; k < d->times; k++, at += d->step)
            sum = unrolled_one(d, at, sum, k == d->mistake ? 37 : 31);
        i = (int32_t)((uint32_t)i + (uint32_t)(d->step * d->times));
    } while (i < d->range[thread / 32][1]);
    return sum;
}

/* The word that says what the thread counts itself. */
static uint32_t unrolled_counted(const struct unrolled *d, int thread)
{
    uint32_t lane = (uint32_t)thread % 32, from = (uint32_t)d->range[thread / 32][0];
    int32_t to = d->range[thread / 32][1], first = (int32_t)(from + lane), next = (int32_t)(from + lane + (uint32_t)d->step);
    uint32_t way = (uint32_t)(to > next ? to : next) - 1 - lane - from + (uint32_t)d->slip;
    uint32_t few = (way / (uint32_t)d->step + 1) % (uint32_t)d->times;
    return first >= to ? PAST_BOTH : few | (way < (uint32_t)(d->step * (d->times - 1)) ? PAST : 0);
}

static void check_unrolled(struct unrolled *d, const char *target, enum unrolled_how how)
{
    const uint32_t block[3] = { UNROLLED_THREADS, 1, 1 };
    int32_t rows[UNROLLED_THREADS / 32][2];
    for (int w = 0; w < UNROLLED_THREADS / 32; w++) {
        rows[w][0] = d->range[w][0];
        rows[w][1] = (int32_t)((uint32_t)d->range[w][1] - (uint32_t)d->range[w][0]);
    }
    char *body = unrolled_body(d->shift ? "i32" : "i8", d->shift, d->step, d->times, d->mistake, how, d->slip), *ir = kernel_text(body, "");
    struct args a = { { rows, d->columns, d->values, d->x, d->got, d->word }, "" };
    struct built b = build_or_fail(ir, target, block, 0);
    memset(d->got, 0, sizeof d->got);
    cr_assert_eq(launch(&b, one, block, 0, &a).status, 0);
    for (int t = 0; t < UNROLLED_THREADS; t++)
        cr_assert_eq(d->got[t], unrolled_reference(d, t), "%s, %d times %d of %d bytes, how %d, slip %d, thread %d: %d to %d, word %u", target,
                     d->times, d->step, 1 << d->shift, how, d->slip, t, d->range[t / 32][0], d->range[t / 32][1], d->word[t]);
    unload(&b);
    free(ir);
    free(body);
}

/* Columns and values of 4 bytes, at random. */
static void unrolled_words(struct unrolled *d)
{
    static uint32_t memory[2][1 << 14];
    d->columns = (char *)memory[0];
    d->values = (char *)memory[1];
    d->shift = 2;
    for (int i = 0; i < 256; i++)
        d->x[i] = rnd(1u << 30);
    for (int i = 0; i < 2 << 14; i++)
        memory[i >> 14][i & 0x3fff] = rnd(1u << 30);
}

/* Rounds as nvcc counts them, and at random; and bodies one of which is not as the others. */
Test(simt, unrolled_unevenly)
{
    static const int forms[][3] = { { 32, 4, -1 }, { 32, 4, 2 }, { 32, 2, -1 }, { 64, 8, -1 }, { 1, 4, -1 }, { 32, 4, 0 } };
    static struct unrolled d;
    unrolled_words(&d);
    for (size_t m = 0; m < 3; m++)
        for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
            d.step = forms[form][0];
            d.times = forms[form][1];
            d.mistake = forms[form][2];
            for (int w = 0; w < UNROLLED_THREADS / 32; w++) {
                d.range[w][0] = (int32_t)rnd(1000);
                d.range[w][1] = d.range[w][0] + (int32_t)rnd(700) - 50;
            }
            for (int t = 0; t < UNROLLED_THREADS; t++) {
                int rounds = (d.range[t / 32][1] - d.range[t / 32][0] - t % 32 + d.step - 1) / d.step;
                rounds = rounds < 0 ? 0 : rounds;
                d.word[t] = form & 1 ? rnd(16) : (uint32_t)(rounds % d.times) | (rounds < d.times ? PAST : 0);
            }
            check_unrolled(&d, machines[m], READ);
            check_unrolled(&d, machines[m], READ_LATE);
        }
}

/* Counted from the way to the end, for which one loop may stand; and from ways that are not quite that. */
Test(simt, unrolled_and_counted)
{
    static const int forms[][4] = { { 32, 4, -1, 0 }, { 32, 2, -1, 0 }, { 64, 8, -1, 0 }, { 1, 4, -1, 0 }, { 32, 4, 2, 0 }, { 32, 4, -1, 32 }, { 32, 4, -1, 1 } };
    static struct unrolled d;
    unrolled_words(&d);
    for (size_t m = 0; m < 3; m++)
        for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
            d.step = forms[form][0];
            d.times = forms[form][1];
            d.mistake = forms[form][2];
            d.slip = forms[form][3];
            for (int w = 0; w < UNROLLED_THREADS / 32; w++) {
                d.range[w][0] = (int32_t)rnd(1000);
                d.range[w][1] = d.range[w][0] + (w < 2 ? 32 << w * 2 : (int32_t)rnd(700) - 50);
            }
            for (int t = 0; t < UNROLLED_THREADS; t++)
                d.word[t] = unrolled_counted(&d, t);
            check_unrolled(&d, machines[m], COUNTED);
        }
}

/* An index that wraps on the way goes on at the other end of memory in the second loop, and does not in the first. */
Test(simt, unrolled_and_wrapping)
{
    enum { AROUND = 4096 };
    const size_t half = (size_t)1 << 31, all = 2 * half + AROUND;
    static struct unrolled d = { .step = 32, .times = 4, .mistake = -1 };
    char *memory[2];
    for (int i = 0; i < 2; i++) {
        memory[i] = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        cr_assert_neq(memory[i], MAP_FAILED);
        for (int k = 0; k < AROUND; k++) {
            memory[i][k] = (char)rnd(256);
            memory[i][all - 1 - (size_t)k] = (char)rnd(256);
        }
    }
    d.columns = memory[0] + half;
    d.values = memory[1] + half;
    for (int i = 0; i < 256; i++)
        d.x[i] = rnd(1u << 30);
    for (int w = 0; w < UNROLLED_THREADS / 32; w++) {
        d.range[w][0] = INT32_MAX - (int32_t)(w & 1 ? rnd(400) : 500 + rnd(200));
        d.range[w][1] = w & 1 ? INT32_MIN + (int32_t)rnd(300) : INT32_MAX - 150; /* is reached without wrapping, if only just */
    }
    for (int t = 0; t < UNROLLED_THREADS; t++)
        d.word[t] = rnd(4);
    for (size_t m = 0; m < 3; m++) {
        check_unrolled(&d, machines[m], READ);
        check_unrolled(&d, machines[m], READ_LATE);
    }
    for (int w = 1; w < UNROLLED_THREADS / 32; w += 2) {
        d.range[w][0] = INT32_MAX - 500 - (int32_t)rnd(200);
        d.range[w][1] = INT32_MAX - 250 - (int32_t)rnd(12); /* about as far as it cannot wrap */
    }
    for (int t = 0; t < UNROLLED_THREADS; t++)
        d.word[t] = unrolled_counted(&d, t);
    for (size_t m = 0; m < 3; m++)
        check_unrolled(&d, machines[m], COUNTED);
    munmap(memory[0], all);
    munmap(memory[1], all);
}

/* ---- Rounds below a bound, the last of which is no loop: not where an index wraps, or goes on in shorter steps than from lane to lane */

enum { BELOW_THREADS = 128, BELOW_ROUNDS = 200 };

static bool is_below(const char *how, uint32_t i, uint32_t to)
{
    bool equal = how[2] == 'e';
    if (*how == 's')
        return equal ? (int32_t)i <= (int32_t)to : (int32_t)i < (int32_t)to;
    return equal ? i <= to : i < to;
}

static uint32_t below_reference(const char *how, const uint32_t range[2], uint32_t step, bool asked, const uint32_t *row, uint32_t lane, int *ret_rounds)
{
    uint32_t i = range[0] + lane, sum = 7;
    *ret_rounds = 0;
    if (asked && !is_below(how, i, range[1]))
        return sum;
    do
        sum = sum * 31 + (row[32u * (uint32_t)*ret_rounds + lane] ^ i);
    while (++*ret_rounds < BELOW_ROUNDS && is_below(how, i += step, range[1]));
    return sum;
}

static void check_below(const char *target, const char *how, uint32_t step, bool asked)
{
    static uint32_t range[BELOW_THREADS / 32][2], row[32 * BELOW_ROUNDS], got[BELOW_THREADS];
    static const uint32_t edges[] = { 0, INT32_MAX, UINT32_MAX, 0x1000 };
    const uint32_t block[3] = { BELOW_THREADS, 1, 1 };
    struct aw_buf body = { 0 };
    aw_buf_printf(&body, "  %%w = lshr i32 %%t, 5\n  %%lane = and i32 %%t, 31\n  %%wl = zext i32 %%w to i64\n  %%wo = shl i64 %%wl, 3\n"
                  "  %%fp = getelementptr i8, ptr addrspace(1) %%p0, i64 %%wo\n  %%from = load i32, ptr addrspace(1) %%fp\n"
                  "  %%tp = getelementptr i8, ptr addrspace(1) %%fp, i64 4\n  %%to = load i32, ptr addrspace(1) %%tp\n"
                  "  %%i0 = add i32 %%from, %%lane\n  %%ll = zext i32 %%lane to i64\n  %%lo = shl i64 %%ll, 2\n"
                  "  %%at = getelementptr i8, ptr addrspace(1) %%p1, i64 %%lo\n  %%some = icmp %s i32 %%i0, %%to\n"
                  "  br i1 %s, label %%loop, label %%end\nloop:\n  %%i = phi i32 [ %%i0, %%entry ], [ %%next, %%loop ]\n"
                  "  %%a = phi ptr addrspace(1) [ %%at, %%entry ], [ %%a.next, %%loop ]\n  %%sum = phi i32 [ 7, %%entry ], [ %%sum.next, %%loop ]\n"
                  "  %%v = load i32, ptr addrspace(1) %%a\n  %%x = xor i32 %%v, %%i\n  %%more = mul i32 %%sum, 31\n  %%sum.next = add i32 %%more, %%x\n"
                  "  %%a.next = getelementptr i8, ptr addrspace(1) %%a, i64 128\n  %%next = add i32 %%i, %u\n  %%on = icmp %s i32 %%next, %%to\n"
                  "  br i1 %%on, label %%loop, label %%end\nend:\n  %%r = phi i32 [ 7, %%entry ], [ %%sum.next, %%loop ]\n" FSTORE("r", "p2", "i32", "4")
                  "  ret void", how, asked ? "%some" : "true", step, how);
    char *ir = kernel_text(body.ptr, "");
    struct args a = { { range, row, got }, "" };
    struct built b = build_or_fail(ir, target, block, 0);
    for (int i = 0; i < 32 * BELOW_ROUNDS; i++)
        row[i] = rnd(1u << 30);
    for (int times = 0; times < 20; times++) {
        uint32_t want[BELOW_THREADS];
        for (int t = 0, rounds; t < BELOW_THREADS; t++) {
            uint32_t *at = range[t / 32];
            if (t % 32 == 0) {
                at[0] = edges[rnd(4)] + rnd(3000) - 1500;
                uint32_t near[] = { at[0] + rnd(900), edges[rnd(4)] + rnd(300) - 150, at[0] + rnd(64) * step + rnd(40) };
                at[1] = near[rnd(3)];
            }
            want[t] = below_reference(how, at, step, asked, row, (uint32_t)t % 32, &rounds);
            if (rounds == BELOW_ROUNDS) /* all but endless: others */
                t = t / 32 * 32 - 1;
        }
        memset(got, 0, sizeof got);
        cr_assert_eq(launch(&b, one, block, 0, &a).status, 0);
        for (int t = 0; t < BELOW_THREADS; t++)
            cr_assert_eq(got[t], want[t], "%s, %s, steps of %u, asked %d, thread %d: %u to %u", target, how, step, asked, t, range[t / 32][0],
                         range[t / 32][1]);
    }
    unload(&b);
    free(ir);
    free(body.ptr);
}

Test(simt, rounds_below_a_bound)
{
    static const char *const hows[] = { "slt", "sle", "ult", "ule" };
    static const uint32_t steps[] = { 8, 30, 31, 32, 0x4100001, 0x30000001 };
    for (size_t m = 0; m < 3; m++)
        for (size_t how = 0; how < 4; how++)
            for (size_t step = 0; step < sizeof steps / sizeof *steps; step++)
                check_below(machines[m], hows[how], steps[step], (m + how + step) % 3 != 0);
}

/* ---- More values than registers: code in another order, but not past what writes the memory that it reads */

static uint32_t sum_factor(int sum, int k)
{
    return (uint32_t)(sum * 2654435761u + (unsigned)k * 40503u) | 1;
}

/* Sums in p2, of words of p1; after half of them those of p1 have been written anew. */
static void check_many_sums(const char *target, int sums)
{
    enum { THREADS = 64, STEPS = 12, MOST = 40 };
    static uint32_t words[STEPS * THREADS], want[MOST * THREADS], got[MOST * THREADS], again[STEPS * THREADS];
    struct aw_buf body = { 0 };
    aw_buf_printf(&body, FLOAD("first", "p0", "i32", "4") "  %%o = shl i64 %%gl, 2\n  %%w = getelementptr i8, ptr addrspace(1) %%p1, i64 %%o\n"
                  "  %%s = getelementptr i8, ptr addrspace(1) %%p2, i64 %%o\n");
    for (int j = 0; j < sums; j++)
        aw_buf_printf(&body, "  %%v%d.0 = add i32 %%first, %d\n", j, j);
    for (int k = 0; k < STEPS; k++) {
        if (k == STEPS / 2)
            for (int i = 0; i < STEPS; i++)
                aw_buf_printf(&body, "  %%q%d = getelementptr i8, ptr addrspace(1) %%w, i64 %d\n  store i32 %%v%d.%d, ptr addrspace(1) %%q%d\n", i,
                              4 * THREADS * i, i % sums, k, i);
        aw_buf_printf(&body, "  %%p%d.w = getelementptr i8, ptr addrspace(1) %%w, i64 %d\n  %%x%d = load i32, ptr addrspace(1) %%p%d.w\n", k,
                      4 * THREADS * k, k, k);
        for (int j = 0; j < sums; j++)
            aw_buf_printf(&body, "  %%m%d.%d = mul i32 %%v%d.%d, %d\n  %%v%d.%d = add i32 %%m%d.%d, %%x%d\n", j, k, j, k, (int)sum_factor(j, k), j,
                          k + 1, j, k, k);
    }
    for (int j = 0; j < sums; j++)
        aw_buf_printf(&body, "  %%r%d = getelementptr i8, ptr addrspace(1) %%s, i64 %d\n  store i32 %%v%d.%d, ptr addrspace(1) %%r%d\n", j,
                      4 * THREADS * j, j, STEPS, j);
    aw_buf_printf(&body, "  ret void");
    for (int i = 0; i < STEPS * THREADS; i++)
        words[i] = again[i] = rnd(1u << 30);
    for (int t = 0; t < THREADS; t++)
        for (int k = 0; k < STEPS; k++) {
            for (int i = 0; i < STEPS && k == STEPS / 2; i++)
                again[i * THREADS + t] = want[i % sums * THREADS + t];
            for (int j = 0; j < sums; j++) {
                uint32_t *v = &want[j * THREADS + t];
                *v = (k ? *v : words[t] + (uint32_t)j) * sum_factor(j, k) + again[k * THREADS + t];
            }
        }
    static uint32_t first[THREADS];
    memcpy(first, words, sizeof first);
    const uint32_t shape[3] = { THREADS, 1, 1 };
    char *ir = kernel_text(body.ptr, "");
    struct built b = build_or_fail(ir, target, shape, 0);
    struct args a = { { first, words, got }, "" };
    cr_assert_eq(launch(&b, one, shape, 0, &a).status, 0);
    for (int i = 0; i < sums * THREADS; i++)
        cr_assert_eq(got[i], want[i], "%s, sum %d of %d, thread %d", target, i / THREADS, sums, i % THREADS);
    cr_assert_arr_eq(words, again, sizeof words, "%s, %d sums", target, sums);
    unload(&b);
    free(ir);
    aw_buf_fini(&body);
}

Test(simt, many_sums)
{
    for (int sums = 3; sums <= 40; sums += 1 + sums / 3) {
        check_many_sums("host", sums);
        check_many_sums("host:x86-64-v3", sums);
    }
}

/* ---- Both halves of 32-bit products */

Test(simt, products_of_both_halves)
{
    enum { COUNT = 96 };
    static const char *const factors[] = { "%y", "3528531795", "5", "4294967295" };
    static const uint64_t known[] = { 0, 3528531795, 5, UINT32_MAX };
    static uint32_t x[COUNT], y[COUNT], low[COUNT], high[COUNT];
    const uint32_t shape[3] = { COUNT, 1, 1 };
    for (int form = 0; form < 16; form++) { /* which factor; low or high first; with a shape, or for rows of warps */
        char *body, *two;
        const char *by = factors[form / 4], *first = "  %lo = mul i32 %x, %b\n";
        cr_assert_geq(asprintf(&two, "  %%b = add i32 %s, 0\n  %%xl = zext i32 %%x to i64\n  %%bl = zext i32 %%b to i64\n%s"
                               "  %%p = mul i64 %%xl, %%bl\n  %%ps = lshr i64 %%p, 32\n  %%hi = trunc i64 %%ps to i32\n%s", by,
                               form & 1 ? first : "", form & 1 ? "" : first), 0);
        cr_assert_geq(asprintf(&body, FLOAD("x", "p0", "i32", "4") FLOAD("y", "p1", "i32", "4") "%s" FSTORE("lo", "p2", "i32", "4")
                               FSTORE("hi", "p3", "i32", "4") "  ret void", two), 0);
        for (int i = 0; i < COUNT; i++) {
            x[i] = i % 5 ? rnd(1u << 31) * 2 + rnd(2) : UINT32_MAX - (uint32_t)i;
            y[i] = i % 7 ? rnd(1u << 31) * 2 + rnd(2) : UINT32_MAX;
        }
        struct args a = { { x, y, low, high }, "" };
        run_form(body, "", one, shape, form & 2 ? shape : full_rows, 0, &a);
        for (int i = 0; i < COUNT; i++) {
            uint64_t p = x[i] * (form < 4 ? y[i] : known[form / 4]);
            cr_assert_eq(low[i] | (uint64_t)high[i] << 32, p, "form %d, thread %d", form, i);
        }
        free(body);
        free(two);
    }
}

/* ---- Gathers: lanes that are off hold indices far outside */

struct gather_case {
    const char *type;
    int size;
    const char *index; /* gives %x, i64 in units of `scale` bytes, from %i, i32 */
    int scale, add;    /* address: p1 + x * scale + add */
    bool negative;     /* indices below 0, too */
};

static int64_t gathered(const struct gather_case *k, const char *table, int32_t i)
{
    int64_t r = 0;
    memcpy(&r, table + (int64_t)i * k->scale + k->add, (size_t)k->size);
    return r;
}

Test(simt, gathers)
{
    static const char *const widen = "  %x = sext i32 %i to i64\n", *const unsign = "  %x = zext i32 %i to i64\n",
                      *const wide = "  %x0 = sext i32 %i to i64\n  %x1 = mul i64 %x0, 3\n  %x2 = mul i64 %x0, 2\n  %x = sub i64 %x1, %x2\n";
    const struct gather_case cases[] = {
        { "i8", 1, widen, 1, 0, true }, { "i16", 2, widen, 2, -6, true }, { "i32", 4, widen, 4, 0, true }, { "i32", 4, unsign, 4, 128, false },
        { "i64", 8, widen, 8, 8, true }, { "i64", 8, unsign, 8, 0, false }, { "i32", 4, wide, 4, -4, true }, { "i32", 4, widen, 12, 0, true },
        { "i64", 8, wide, 16, 0, true }, { "i16", 2, unsign, 8, 2, false },
    };
    static char table[16384];
    static int32_t at[320];
    static int64_t got[320];
    static const uint32_t sizes[] = { 33, 64, 100 };
    for (size_t i = 0; i < sizeof table; i++)
        table[i] = (char)rnd(256);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int variant = 0; variant < 12; variant++) { /* in units or bytes, under a mask or not; on each machine */
            const struct gather_case *k = &cases[c];
            bool masked = variant & 1, bytes = variant & 2;
            char *body = NULL, *address = NULL;
            if (bytes)
                cr_assert_geq(asprintf(&address, "  %%b = mul i64 %%x, %d\n  %%p1i = ptrtoint ptr addrspace(1) %%p1 to i64\n"
                                       "  %%s0 = add i64 %%p1i, %%b\n  %%s1 = add i64 %%s0, %d\n"
                                       "  %%p = inttoptr i64 %%s1 to ptr addrspace(1)\n", k->scale, k->add), 0);
            else
                cr_assert_geq(asprintf(&address, "  %%q = getelementptr [%d x i8], ptr addrspace(1) %%p1, i64 %%x\n"
                                       "  %%p = getelementptr i8, ptr addrspace(1) %%q, i64 %d\n", k->scale, k->add), 0);
            cr_assert_geq(asprintf(&body, FLOAD("i", "p0", "i32", "4") "%s  br i1 %%on, label %%then, label %%end\nthen:\n%s%s"
                                   "  %%v = load %s, ptr addrspace(1) %%p\n  %%r = %s\n" FSTORE("r", "p6", "i64", "8")
                                   "  br label %%end\nend:\n  ret void\n",
                                   masked ? "  %on = icmp ne i32 %i, 1879048192\n" : "  %on = icmp ult i32 %g, 1000000\n", k->index, address,
                                   k->type, k->size == 8 ? "add i64 %v, 0" : k->size == 4 ? "zext i32 %v to i64"
                                            : k->size == 2 ? "zext i16 %v to i64" : "zext i8 %v to i64"), 0);
            const uint32_t shape[3] = { sizes[c % 3], 1, 1 }, grid[3] = { 3, 1, 1 };
            for (int i = 0; i < 320; i++) {
                at[i] = masked && rnd(3) == 0 ? 0x70000000 : (int32_t)rnd(300) - (k->negative ? 100 : 0);
                got[i] = -7;
            }
            struct args a = { { at, table + 4096, 0, 0, 0, 0, got, 0 }, "" };
            char *ir = kernel_text(body, "");
            struct built b = build_or_fail(ir, machines[variant / 4], variant & 2 ? shape : any_rows, 0);
            cr_assert_eq(launch(&b, grid, shape, 0, &a).status, 0);
            unload(&b);
            free(ir);
            for (int i = 0; i < 3 * (int)shape[0]; i++)
                cr_assert_eq(got[i], at[i] == 0x70000000 ? -7 : gathered(k, table + 4096, at[i]), "case %zu variant %d thread %d", c, variant, i);
            free(body);
            free(address);
        }
}

/* Indices loaded side by side, which may be read where they lie: unless they are written over before the gather, or are for more than it. */
Test(simt, gathers_by_loaded_indices)
{
    enum { THREADS = 256 };
    static uint32_t table[1000], at[THREADS], got[THREADS], more[THREADS];
    const uint32_t shape[3] = { THREADS, 1, 1 };
    for (int i = 0; i < 1000; i++)
        table[i] = rnd(1u << 30);
    for (int variant = 0; variant < 24; variant++) { /* written over or not, for more or not, floats or not; on each machine */
        bool over = variant & 1, twice = variant & 2, real = variant & 4;
        uint32_t index[THREADS];
        const char *type = real ? "float" : "i32";
        struct aw_buf body = { 0 };
        aw_buf_printf(&body, FLOAD("i", "p0", "i32", "4"));
        if (over)
            aw_buf_printf(&body, "  %%j = sub i32 999, %%g\n" FSTORE("j", "p0", "i32", "4"));
        aw_buf_printf(&body, "  %%il = zext i32 %%i to i64\n  %%io = shl i64 %%il, 2\n  %%q = getelementptr i8, ptr addrspace(1) %%p1, i64 %%io\n"
                      "  %%v = load %s, ptr addrspace(1) %%q\n  %%r = bitcast %s %%v to i32\n" FSTORE("r", "p2", "i32", "4"), type, type);
        if (twice)
            aw_buf_printf(&body, "  %%k = add i32 %%i, 5\n" FSTORE("k", "p3", "i32", "4"));
        aw_buf_printf(&body, "  ret void");
        for (int i = 0; i < THREADS; i++)
            at[i] = index[i] = rnd(1000);
        memset(got, 0, sizeof got);
        struct args a = { { at, table, got, more }, "" };
        char *ir = kernel_text(body.ptr, "");
        struct built b = build_or_fail(ir, machines[variant / 8], shape, 0);
        cr_assert_eq(launch(&b, one, shape, 0, &a).status, 0);
        unload(&b);
        for (int i = 0; i < THREADS; i++) {
            cr_assert_eq(got[i], table[index[i]], "variant %d thread %d", variant, i);
            cr_assert_eq(at[i], over ? 999 - (uint32_t)i : index[i], "variant %d thread %d", variant, i);
            if (twice)
                cr_assert_eq(more[i], index[i] + 5, "variant %d thread %d", variant, i);
        }
        free(ir);
        aw_buf_fini(&body);
    }
}

/* Lanes that go on by the same step from places of their own, for as long as each likes; p0: first places, p1: table, p2: rounds. */
Test(simt, gathers_in_strides)
{
    enum { COUNT = 100 };
    static const char body[] =
        LOAD("first", "p0", "i32", "4") LOAD("rounds", "p2", "i32", "4")
        "  %f64 = sext i32 %first to i64\n  %f4 = shl i64 %f64, 2\n  %table = ptrtoint ptr addrspace(1) %p1 to i64\n"
        "  %begin = add i64 %table, %f4\n  %some = icmp sgt i32 %rounds, 0\n  br i1 %some, label %loop, label %done\n"
        "loop:\n  %at = phi i64 [ %begin, %entry ], [ %at.next, %loop ]\n  %i = phi i32 [ 0, %entry ], [ %i.next, %loop ]\n"
        "  %sum = phi i32 [ 0, %entry ], [ %sum.2, %loop ]\n"
        "  %p = inttoptr i64 %at to ptr addrspace(1)\n  %x = load i32, ptr addrspace(1) %p, align 4\n  %sum.1 = add i32 %sum, %x\n"
        "  %at.8 = add i64 %at, -8\n  %q = inttoptr i64 %at.8 to ptr addrspace(1)\n  %y = load i32, ptr addrspace(1) %q, align 4\n"
        "  %y3 = mul i32 %y, 3\n  %sum.2 = add i32 %sum.1, %y3\n  %sum.s = add i32 %sum.2, %i\n  store i32 %sum.s, ptr addrspace(1) %q\n"
        "  %at.next = add i64 %at, 12\n  %i.next = add i32 %i, 1\n  %more = icmp slt i32 %i.next, %rounds\n"
        "  br i1 %more, label %loop, label %done\n"
        "done:\n  %r = phi i32 [ -1, %entry ], [ %sum.2, %loop ]\n" STORE("r", "p6", "i32", "4") "  ret void\n";
    static int32_t table[COUNT * 64], want[COUNT * 64], first[COUNT], rounds[COUNT], got[COUNT];
    const uint32_t shape[3] = { COUNT, 1, 1 };
    for (int form = 0; form < 2; form++) {
        for (int i = 0; i < COUNT * 64; i++)
            table[i] = want[i] = (int32_t)rnd(1 << 30);
        for (int i = 0; i < COUNT; i++) { /* a part of the table for each, in no order */
            first[i] = i * 37 % COUNT * 64 - 3000;
            rounds[i] = (int32_t)rnd(20);
        }
        struct args a = { { first, table + 3002, rounds, 0, 0, 0, got, 0 }, "" };
        run_form(body, "", one, shape, form ? shape : any_rows, 0, &a);
        for (int i = 0; i < COUNT; i++) {
            uint32_t sum = 0;
            for (int32_t k = 0, *p = want + 3002 + first[i]; k < rounds[i]; k++, p += 3) {
                sum += (uint32_t)p[0] + 3 * (uint32_t)p[-2];
                p[-2] = (int32_t)(sum + (uint32_t)k);
            }
            cr_assert_eq(got[i], rounds[i] ? (int32_t)sum : -1, "form %d thread %d", form, i);
        }
        cr_assert_arr_eq(table, want, sizeof table, "form %d", form);
    }
}

/* ---- Every so many elements, read and written up to the last byte before memory that is not there, and from the first after such */

static void check_stride(const char *type, int size, int stride, int threads, bool early)
{
    enum { PAGE = 4096, SPACE = 8 * PAGE };
    char *body, *memory = mmap(NULL, SPACE + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int bytes = ((threads - 1) * stride + 1) * size;
    cr_assert_neq(memory, MAP_FAILED);
    cr_assert_eq(mprotect(memory, PAGE, PROT_NONE) | mprotect(memory + PAGE + SPACE, PAGE, PROT_NONE), 0);
    char *first = early ? memory + PAGE : memory + PAGE + SPACE - bytes, want[SPACE];
    for (int i = 0; i < SPACE; i++)
        memory[PAGE + i] = want[i] = (char)rnd(256);
    cr_assert_geq(asprintf(&body,
        "  %%n = ptrtoint ptr addrspace(1) %%p1 to i32\n  %%on = icmp slt i32 %%g, %%n\n  br i1 %%on, label %%then, label %%end\n"
        "then:\n  %%o = mul i64 %%gl, %d\n  %%p = getelementptr i8, ptr addrspace(1) %%p0, i64 %%o\n"
        "  %%v = load %s, ptr addrspace(1) %%p\n  %%w = mul %s %%v, 3\n  store %s %%w, ptr addrspace(1) %%p\n  br label %%end\n"
        "end:\n  ret void\n", size * stride, type, type, type), 0);
    const uint32_t shape[3] = { (uint32_t)(threads + 31) / 32 * 32, 1, 1 };
    struct args a = { { first, (void *)(intptr_t)threads }, "" };
    run_body(body, "", one, shape, threads & 1, 0, &a);
    for (int i = 0; i < threads; i++) {
        uint64_t x = 0;
        char *at = want + (first - memory - PAGE) + i * stride * size;
        memcpy(&x, at, (size_t)size);
        x *= 3;
        memcpy(at, &x, (size_t)size);
    }
    cr_assert_arr_eq(memory + PAGE, want, sizeof want, "%s, %d threads, stride %d", type, threads, stride);
    munmap(memory, SPACE + 2 * PAGE);
    free(body);
}

Test(simt, strides)
{
    static const int threads[] = { 32, 96, 51, 64 };
    for (int stride = 2; stride <= 5; stride++)
        for (size_t i = 0; i < 2 * sizeof threads / sizeof *threads; i++) {
            check_stride("i16", 2, stride, threads[i / 2], i & 1);
            check_stride("i32", 4, stride, threads[i / 2], i & 1);
            check_stride("i64", 8, stride, threads[i / 2], i & 1);
        }
}

/* ---- Small tables: up to the last byte before memory that is not there, or anywhere, of lanes that are off or read on */

/* Rows of 16 words from p1 + 4 * the block's index on: each lane adds up its own column of as many rows as it likes. */
static void check_table(const char *target, const char *own, unsigned columns, const uint32_t built_for[3], int rows, bool last)
{
    enum { PAGE = 4096, THREADS = 75 };
    static const char body[] =
        FLOAD("i", "p0", "i32", "4") FLOAD("rounds", "p2", "i32", "4")
        "%s  %%on = icmp ne i32 %%rounds, 0\n  br i1 %%on, label %%go, label %%end\n"
        "go:\n  %%o = shl i32 %%own, 2\n  %%ol = zext i32 %%o to i64\n  %%u = shl i32 %%cx, 2\n  %%ul = zext i32 %%u to i64\n"
        "  %%p1i = ptrtoint ptr addrspace(1) %%p1 to i64\n  %%row = add i64 %%p1i, %%ul\n  %%begin = add i64 %%row, %%ol\n  br label %%loop\n"
        "loop:\n  %%at = phi i64 [ %%begin, %%go ], [ %%at.next, %%loop ]\n  %%n = phi i32 [ %%rounds, %%go ], [ %%n.next, %%loop ]\n"
        "  %%sum = phi i32 [ 0, %%go ], [ %%sum.next, %%loop ]\n"
        "  %%p = inttoptr i64 %%at to ptr addrspace(1)\n  %%x = load i32, ptr addrspace(1) %%p, align 4\n  %%sum3 = mul i32 %%sum, 3\n"
        "  %%sum.next = add i32 %%sum3, %%x\n  %%at.next = add i64 %%at, 64\n  %%n.next = add i32 %%n, -1\n"
        "  %%more = icmp ne i32 %%n.next, 0\n  br i1 %%more, label %%loop, label %%done\n"
        "done:\n" FSTORE("sum.next", "p6", "i32", "4") "  br label %%end\nend:\n  ret void\n";
    uint32_t in[2 * THREADS], rounds[2 * THREADS], got[2 * THREADS];
    char *text, *memory = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    cr_assert_eq(mprotect(memory + 2 * PAGE, PAGE, PROT_NONE), 0);
    for (int i = 0; i < 2 * PAGE; i++)
        memory[i] = (char)rnd(256);
    /* The second block's last row ends with its fifth column where memory does. */
    const uint32_t *first = (const uint32_t *)(memory + (last ? 2 * PAGE - 64 * (rows - 1) - 4 - 20 : PAGE - 64 + 4 * (int)rnd(16)));
    for (int i = 0; i < 2 * THREADS; i++) {
        in[i] = rnd(1u << 31);
        unsigned column = columns == 32 ? in[i] & 31 : in[i] >> 7 & 15;
        rounds[i] = rnd(4) ? rnd((uint32_t)rows + 1) : 0;
        rounds[i] = last && (column > 4 || (columns == 32 && column > 15)) ? 0 : rounds[i];
        got[i] = 1;
    }
    cr_assert_geq(asprintf(&text, body, own), 0);
    char *ir = kernel_text(text, "");
    struct args a = { { in, (void *)first, rounds, 0, 0, 0, got, 0 }, "" };
    struct built b = build_or_fail(ir, target, built_for, 0);
    launch(&b, (uint32_t[3]){ 2, 1, 1 }, (uint32_t[3]){ THREADS, 1, 1 }, 0, &a);
    unload(&b);
    for (int i = 0; i < 2 * THREADS; i++) {
        unsigned column = columns == 32 ? in[i] & 31 : in[i] >> 7 & 15;
        uint32_t sum = 0;
        for (uint32_t k = 0; k < rounds[i]; k++)
            sum = sum * 3 + first[k * 16 + column + (unsigned)i / THREADS];
        cr_assert_eq(got[i], rounds[i] ? sum : 1, "%s, %u columns, %d rows, thread %d", target, columns, rows, i);
    }
    munmap(memory, 3 * PAGE);
    free(text);
    free(ir);
}

Test(simt, small_tables)
{
    static const char *const targets[] = { "host", "host:x86-64-v3", "host:x86-64-v2" };
    static const uint32_t fixed[3] = { 75, 1, 1 };
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
        for (int k = 0; k < 8; k++) {
            const char *sixteen = "  %own0 = lshr i32 %i, 7\n  %own = and i32 %own0, 15\n", *more = "  %own = and i32 %i, 31\n";
            check_table(targets[t], k & 1 ? more : sixteen, k & 1 ? 32 : 16, k & 2 ? fixed : NULL, 1 + (int)rnd(6), k & 4);
        }
}

/* Lanes count in a table of the block's, of which memory has only the first few elements; some lanes are off, perhaps nearly all. */
static void check_counts(const char *op, const char *target, unsigned bits, unsigned present, unsigned on)
{
    enum { PAGE = 4096, THREADS = 75 };
    char *text, *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t in[THREADS], want[32], *first = (uint32_t *)(memory + PAGE) - present;
    cr_assert_neq(memory, MAP_FAILED);
    cr_assert_eq(mprotect(memory + PAGE, PAGE, PROT_NONE), 0);
    for (unsigned i = 0; i < present; i++)
        first[i] = want[i] = rnd(1u << 30);
    for (int i = 0; i < THREADS; i++) {
        in[i] = rnd(present) << 3 | rnd(8);
        if (rnd(32) >= on)
            in[i] |= 1u << 31;
        else
            want[in[i] >> 3] += *op == 's' ? -7u : 7;
    }
    cr_assert_geq(asprintf(&text, FLOAD("i", "p0", "i32", "4") "  %%on = icmp sge i32 %%i, 0\n  br i1 %%on, label %%go, label %%end\n"
        "go:\n  %%o0 = lshr i32 %%i, 3\n  %%o1 = and i32 %%o0, %u\n  %%o = shl i32 %%o1, 2\n  %%ol = zext i32 %%o to i64\n"
        "  %%p1i = ptrtoint ptr addrspace(1) %%p1 to i64\n  %%qi = add i64 %%p1i, %%ol\n  %%q = inttoptr i64 %%qi to ptr addrspace(1)\n"
        "  %%old = atomicrmw %s ptr addrspace(1) %%q, i32 7 syncscope(\"workgroup\") monotonic\n  br label %%end\nend:\n  ret void\n",
        (1u << bits) - 1, op), 0);
    char *ir = kernel_text(text, "");
    struct args a = { { in, first, 0, 0, 0, 0, 0, 0 }, "" };
    struct built b = build_or_fail(ir, target, NULL, 0);
    launch(&b, one, (uint32_t[3]){ THREADS, 1, 1 }, 0, &a);
    unload(&b);
    cr_assert_arr_eq(first, want, present * sizeof *want, "%s, %u bits, %u elements, %u of 32 lanes", target, bits, present, on);
    munmap(memory, 2 * PAGE);
    free(text);
    free(ir);
}

Test(simt, counts_in_small_tables)
{
    for (unsigned bits = 2; bits <= 6; bits++)
        for (unsigned on = 4; on <= 32; on += 14) {
            check_counts("add", "host", bits, bits < 5 ? 1u << bits : 5, on);
            check_counts("sub", "host", bits, 3, on);
            check_counts("add", "host:x86-64-v3", bits, 3, on);
        }
}

/* The same in shared memory, of which the table is a part, in a row of a cache line or across two; what is around it stays. */
Test(simt, counts_in_shared_tables)
{
    enum { THREADS = 160, WORDS = 64 };
    static const char body[] =
        "  %%to = shl i32 %%t, 2\n  %%w = icmp ult i32 %%t, 64\n  br i1 %%w, label %%fill, label %%filled\n"
        "fill:\n  %%fp = getelementptr i8, ptr addrspace(3) @aw.shared, i32 %%to\n  %%f = mul i32 %%t, 1000\n"
        "  store i32 %%f, ptr addrspace(3) %%fp\n  br label %%filled\nfilled:\n  call void @aw.barrier(i32 0, i32 0)\n"
        FLOAD("i", "p0", "i32", "4") "  %%on = icmp sge i32 %%i, 0\n  br i1 %%on, label %%go, label %%done\n"
        "go:\n  %%o1 = and i32 %%i, %d\n  %%o = shl i32 %%o1, 2\n  %%oo = add i32 %%o, %d\n"
        "  %%s = ptrtoint ptr addrspace(3) @aw.shared to i32\n  %%so = add i32 %%s, %%oo\n  %%q = inttoptr i32 %%so to ptr addrspace(3)\n"
        "  %%old = atomicrmw add ptr addrspace(3) %%q, i32 7 syncscope(\"workgroup\") monotonic\n  br label %%done\n"
        "done:\n  call void @aw.barrier(i32 0, i32 0)\n  br i1 %%w, label %%dump, label %%end\n"
        "dump:\n  %%dp = getelementptr i8, ptr addrspace(3) @aw.shared, i32 %%to\n  %%r = load i32, ptr addrspace(3) %%dp\n"
        FSTORE("r", "p6", "i32", "4") "  br label %%end\nend:\n  ret void\n";
    for (int k = 0; k < 16; k++) {
        static const int places[] = { 0, 64, 20, 128 };
        uint32_t in[THREADS], want[WORDS], got[WORDS] = { 0 }, elements = k & 1 ? 32 : 16, shape[3] = { THREADS, 1, 1 };
        int place = places[k / 2 % 4];
        for (uint32_t i = 0; i < WORDS; i++)
            want[i] = 1000 * i;
        for (int i = 0; i < THREADS; i++) {
            in[i] = k & 8 && rnd(3) == 0 ? 1u << 31 : rnd(elements);
            if (in[i] < elements)
                want[(uint32_t)place / 4 + in[i]] += 7;
        }
        char *text;
        cr_assert_geq(asprintf(&text, body, (int)elements - 1, place), 0);
        struct args a = { { in, 0, 0, 0, 0, 0, got, 0 }, "" };
        struct outcome o = run_body(text, "@aw.shared = internal addrspace(3) global [256 x i8] undef\ndeclare void @aw.barrier(i32, i32)\n",
                                    one, shape, k & 4, 256, &a);
        cr_assert_eq(o.status, 0);
        cr_assert_arr_eq(got, want, sizeof got, "%u elements at %d, round %d", elements, place, k);
        free(text);
    }
}

/* Structures of four words anywhere, the last ends where memory does; lanes that are off hold indices far outside.  Perhaps the last word is
 * written before it is read. */
static void check_quads(const char *target, int scale, bool masked, bool written, const char *type)
{
    enum { PAGE = 4096, THREADS = 200, QUADS = 300 };
    static int32_t at[THREADS], taken[QUADS];
    static uint32_t got[THREADS], want[THREADS];
    char *body, *memory = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    cr_assert_eq(mprotect(memory + 2 * PAGE, PAGE, PROT_NONE), 0);
    int rows = (2 * PAGE - 16) / scale + 1 < QUADS ? (2 * PAGE - 16) / scale + 1 : QUADS;
    char *table = memory + 2 * PAGE - 16 - (rows - 1) * scale;
    for (int i = 0; i < 2 * PAGE / 4; i++)
        ((uint32_t *)(void *)memory)[i] = rnd(1u << 23);
    memset(taken, 0, sizeof taken);
    for (int i = 0; i < THREADS; i++) {
        int row = (int)rnd((uint32_t)rows);
        bool on = !masked || rnd(3);
        while (written && on && taken[row]) /* rows of 16 bytes, each one lane's */
            row = (row + 1) % rows;
        taken[row] |= on;
        at[i] = on ? row : 0x70000000;
        const uint32_t *w = (const uint32_t *)(const void *)(table + row * scale);
        want[i] = !on ? 7 : w[0] + 3 * w[1] + 5 * w[2] + 7 * (written ? w[0] : w[3]);
        got[i] = 7;
    }
    cr_assert_geq(asprintf(&body, FLOAD("i", "p0", "i32", "4") "  %%on = icmp ne i32 %%i, 1879048192\n  br i1 %%on, label %%go, label %%end\n"
        "go:\n  %%x = sext i32 %%i to i64\n  %%o = mul i64 %%x, %d\n  %%q0 = getelementptr i8, ptr addrspace(1) %%p1, i64 %%o\n"
        "  %%q1 = getelementptr i8, ptr addrspace(1) %%q0, i64 4\n  %%q2 = getelementptr i8, ptr addrspace(1) %%q0, i64 8\n"
        "  %%q3 = getelementptr i8, ptr addrspace(1) %%q0, i64 12\n"
        "  %%w0t = load %s, ptr addrspace(1) %%q0\n  %%w2t = load %s, ptr addrspace(1) %%q2\n%s"
        "  %%w3t = load %s, ptr addrspace(1) %%q3\n  %%w1t = load %s, ptr addrspace(1) %%q1\n"
        "  %%w0 = bitcast %s %%w0t to i32\n  %%w1 = bitcast %s %%w1t to i32\n  %%w2 = bitcast %s %%w2t to i32\n  %%w3 = bitcast %s %%w3t to i32\n"
        "  %%m1 = mul i32 %%w1, 3\n  %%m2 = mul i32 %%w2, 5\n  %%m3 = mul i32 %%w3, 7\n  %%s1 = add i32 %%w0, %%m1\n  %%s2 = add i32 %%m2, %%m3\n"
        "  %%r = add i32 %%s1, %%s2\n" FSTORE("r", "p6", "i32", "4") "  br label %%end\nend:\n  ret void\n", scale, type, type,
        written ? "  store i32 %w0t, ptr addrspace(1) %q3\n" : "", type, type, type, type, type, type), 0);
    char *ir = kernel_text(body, "");
    struct args a = { { at, table, 0, 0, 0, 0, got, 0 }, "" };
    struct built b = build_or_fail(ir, target, NULL, 0);
    launch(&b, one, (uint32_t[3]){ THREADS, 1, 1 }, 0, &a);
    unload(&b);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(got[i], want[i], "%s, %d bytes apart, masked %d, written %d, thread %d", target, scale, masked, written, i);
    munmap(memory, 3 * PAGE);
    free(body);
    free(ir);
}

Test(simt, quads)
{
    static const int scales[] = { 1, 4, 8, 12, 16, 24 };
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        for (int k = 0; k < 4; k++) {
            check_quads("host", scales[i], k & 1, false, k & 2 ? "float" : "i32");
            check_quads("host:x86-64-v3", scales[i], k & 1, false, "i32");
            if (scales[i] >= 16)
                check_quads("host", scales[i], k & 1, true, "i32");
        }
}

/* Elements at indices of few bits, of which some are known to be set, of a warp's registers and of memory: the indices leave vectors in pairs
 * (ptx/finish/host/extract.c). */
Test(simt, elements_at_known_bits)
{
    static const char *const targets[] = { "host", "host:x86-64-v3", "host:x86-64-v2" };
    static const char start[] = FLOAD("v", "p0", "i32", "4") "  %%m = mul i32 %%t, 7\n  %%low = and i32 %%m, %d\n  %%at = or i32 %%low, %d\n";
    static const char end[] = STORE("r", "p7", "i32", "4") "  ret void\n";
    static const char load[] = " i32 %at to i64\n  %ao = shl i64 %al, 2\n  %ap = getelementptr i8, ptr addrspace(1) %p0, i64 %ao\n"
                               "  %r = load i32, ptr addrspace(1) %ap\n";
    static const char shuffle[] = "  %rp = call { i32, i1 } @aw.shfl.idx(i32 %v, i32 %at, i32 ", end_shuffle[] = ", i32 -1)\n"
                                  "  %r = extractvalue { i32, i1 } %rp, 0\n";
    static const char *const reads[][3] = {
        { "  %al = sext", load, "" }, { "  %al = zext", load, "" }, { shuffle, "31", end_shuffle }, { shuffle, "4127", end_shuffle } /* of 16 */
    };
    static const int masks[][2] = { { 15, 0 }, { 15, 16 }, { 1, 16 }, { 7, 8 }, { 30, 1 } };
    for (unsigned k = 0; k < 12 * sizeof masks / sizeof *masks; k++) {
        const int *mask = masks[k / 12], read = (int)k / 3 % 4;
        uint32_t v[N], got[N];
        for (int i = 0; i < N; i++)
            v[i] = rnd(1u << 31);
        char *begun, *text;
        cr_assert_geq(asprintf(&begun, start, mask[0], mask[1]), 0);
        cr_assert_geq(asprintf(&text, "%s%s%s%s%s", begun, reads[read][0], reads[read][1], reads[read][2], end), 0);
        char *ir = kernel_text(text, "declare { i32, i1 } @aw.shfl.idx(i32, i32, i32, i32)");
        struct built b = build_or_fail(ir, targets[k % 3], (uint32_t[3]){ N, 1, 1 }, 0);
        struct args a = { { v, 0, 0, 0, 0, 0, 0, got }, "" };
        launch(&b, one, (uint32_t[3]){ N, 1, 1 }, 0, &a);
        unload(&b);
        for (int i = 0; i < N; i++) {
            int width = 16 * (4 - read), at = (i * 7 & mask[0]) | mask[1];
            at = read < 2 ? at : i / width * width + at % width;
            cr_assert_eq(got[i], v[at], "%s, way %d, & %d | %d, thread %d", targets[k % 3], read, mask[0], mask[1], i);
        }
        free(begun);
        free(text);
        free(ir);
    }
}

/* ---- One lane's element: of those that store to one place the last lane's stays, and all may read one's of their own choice */

Test(simt, elements_of_one_lane)
{
    static const char *const targets[] = { "host", "host:x86-64-v3", "host:x86-64-v2" }, *const types[] = { "i32", "float", "i64" };
    static const char body[] =
        FLOAD("v", "p0", "i32", "4") FLOAD("m", "p1", "i32", "4") "  %%w = lshr i32 %%t, 5\n  %%wl = zext i32 %%w to i64\n"
        "  %%wo = mul i64 %%wl, %d\n  %%q = getelementptr i8, ptr addrspace(1) %%p6, i64 %%wo\n  %%fo = shl i64 %%wl, 2\n"
        "  %%fp = getelementptr i8, ptr addrspace(1) %%p2, i64 %%fo\n  %%from = load i32, ptr addrspace(1) %%fp\n"
        "  %%rp = call { i32, i1 } @aw.shfl.idx(i32 %%v, i32 %%from, i32 31, i32 -1)\n  %%r = extractvalue { i32, i1 } %%rp, 0\n"
        FSTORE("r", "p7", "i32", "4") "  %%on = icmp ne i32 %%m, 0\n  br i1 %%on, label %%go, label %%end\n"
        "go:\n  %%x = %s %s to %s\n  store %s %%x, ptr addrspace(1) %%q\n  br label %%end\nend:\n  ret void\n";
    for (int k = 0; k < 36; k++) {
        const char *type = types[k / 3 % 3];
        int size = k / 3 % 3 == 2 ? 8 : 4;
        uint32_t v[N], m[N], from[WARPS], got[2 * WARPS] = { 0 }, want[2 * WARPS] = { 0 }, read[N];
        for (int i = 0; i < N; i++) {
            v[i] = rnd(1u << 31);
            m[i] = k < 18 ? rnd(2) : rnd(20) == 0; /* many lanes, or one or two */
            if (m[i])
                want[i / 32 * size / 4] = v[i];
        }
        for (int w = 0; w < WARPS; w++)
            from[w] = rnd(64);
        char *text;
        cr_assert_geq(asprintf(&text, body, size, size == 8 ? "zext i32" : "bitcast i32", "%v", type, type), 0);
        char *ir = kernel_text(text, "declare { i32, i1 } @aw.shfl.idx(i32, i32, i32, i32)");
        struct built b = build_or_fail(ir, targets[k % 3], (uint32_t[3]){ N, 1, 1 }, 0);
        struct args a = { { v, m, from, 0, 0, 0, got, read }, "" };
        launch(&b, one, (uint32_t[3]){ N, 1, 1 }, 0, &a);
        unload(&b);
        cr_assert_arr_eq(got, want, sizeof got, "%s, %s", targets[k % 3], type);
        for (int i = 0; i < N; i++)
            cr_assert_eq(read[i], v[i / 32 * 32 + (int)(from[i / 32] & 31)], "%s, thread %d", targets[k % 3], i);
        free(text);
        free(ir);
    }
}

/* Comparisons of indices with constants, which take the same lanes of whatever warp: within what other lanes have left on, where values join, and
 * for stores to one place. */
Test(simt, lanes_below_a_constant)
{
    enum { T = 160 };
    static const char *const predicates[] = { "ult", "ule", "ugt", "uge", "eq", "ne" }, *const targets[] = { "host", "host:x86-64-v3" };
    static const uint32_t limits[] = { 1, 5, 16, 31, 32, 33, 63, 64, 77, 159, 1000, 0, UINT32_MAX };
    static const char body[] =
        FLOAD("v", "p0", "i32", "4") FLOAD("m", "p1", "i32", "4") "  %%on = icmp ne i32 %%m, 0\n  br i1 %%on, label %%go, label %%end\n"
        "go:\n  %%c = icmp %s i32 %%t, %d\n  br i1 %%c, label %%yes, label %%join\n"
        "yes:\n  %%w = add i32 %%v, 7\n  store i32 %%v, ptr addrspace(1) %%p7\n  br label %%join\n"
        "join:\n  %%r = phi i32 [ %%v, %%go ], [ %%w, %%yes ]\n" FSTORE("r", "p6", "i32", "4") "  br label %%end\nend:\n  ret void\n";
    for (unsigned k = 0; k < 2 * 6 * sizeof limits / sizeof *limits; k++) {
        const char *target = targets[k & 1], *p = predicates[k / 2 % 6];
        uint32_t limit = limits[k / 12], v[T], m[T], got[T] = { 0 }, want[T] = { 0 }, last = 3, want_last = 3, shape[3] = { rnd(4) ? T : T - 9, 1, 1 };
        bool all = rnd(2);
        for (uint32_t i = 0; i < T; i++) {
            v[i] = rnd(1u << 30);
            m[i] = all || rnd(2);
            bool c = p[0] == 'e' ? i == limit : p[0] == 'n' ? i != limit : p[1] == 'l' ? (p[2] == 't' ? i < limit : i <= limit) : p[2] == 't' ? i > limit : i >= limit;
            if (i >= shape[0] || !m[i])
                continue;
            want[i] = v[i] + (c ? 7 : 0);
            want_last = c ? v[i] : want_last;
        }
        char *text;
        cr_assert_geq(asprintf(&text, body, p, (int)limit), 0);
        char *ir = kernel_text(text, "");
        struct args a = { { v, m, 0, 0, 0, 0, got, &last }, "" };
        struct built b = build_or_fail(ir, target, rnd(3) ? shape : NULL, 0);
        launch(&b, one, shape, 0, &a);
        unload(&b);
        cr_assert_arr_eq(got, want, sizeof got, "%s, %s %u, %u threads", target, p, limit, shape[0]);
        cr_assert_eq(last, want_last, "%s, %s %u, %u threads: %u, not %u", target, p, limit, shape[0], last, want_last);
        free(text);
        free(ir);
    }
}

/* Indices that all lanes of most warps take from the same side of a choice (ptx/simt/rewrite/versions.c): neighbours in rows whose ends meet, and
 * those of lanes that choose by what they read. */
Test(simt, choices)
{
    static const char body[] =
        "  %w = load i32, ptr addrspace(1) %p1\n  %q = getelementptr i8, ptr addrspace(1) %p1, i64 4\n  %h = load i32, ptr addrspace(1) %q\n"
        "  %cy = call i32 @aw.ctaid.y()\n  %bx = mul i32 %cx, %nx\n  %x = add i32 %bx, %tx\n  %by = mul i32 %cy, %ny\n"
        "  %y = add i32 %by, %ty\n  %xs = icmp ult i32 %x, %w\n  %ys = icmp ult i32 %y, %h\n  %in = and i1 %xs, %ys\n"
        "  br i1 %in, label %inside, label %done\ninside:\n  %row = mul i32 %y, %w\n  %at = add i32 %row, %x\n  %al = sext i32 %at to i64\n"
        "  %ao = shl i64 %al, 2\n  %first = icmp eq i32 %x, 0\n  %e = select i1 %first, i32 %w, i32 %x\n  %w1 = sub i32 %e, 1\n"
        "  %last = sub i32 %w, 1\n  %before = icmp slt i32 %x, %last\n  %x1 = add i32 %x, 1\n  %e1 = select i1 %before, i32 %x1, i32 0\n"
        "  %fp = getelementptr i8, ptr addrspace(1) %p2, i64 %ao\n  %flag = load i32, ptr addrspace(1) %fp\n  %on = icmp ne i32 %flag, 0\n"
        "  %west = add i32 %row, %w1\n  %wl = sext i32 %west to i64\n  %wo = shl i64 %wl, 2\n"
        "  %wp = getelementptr i8, ptr addrspace(1) %p0, i64 %wo\n  %a = load i32, ptr addrspace(1) %wp\n"
        "  %east = add i32 %row, %e1\n  %el = sext i32 %east to i64\n  %eo = shl i64 %el, 2\n"
        "  %ep = getelementptr i8, ptr addrspace(1) %p0, i64 %eo\n  %b = load i32, ptr addrspace(1) %ep\n"
        "  %own = select i1 %on, i32 %at, i32 5\n  %ol = sext i32 %own to i64\n  %oo = shl i64 %ol, 2\n"
        "  %op = getelementptr i8, ptr addrspace(1) %p0, i64 %oo\n  %c = load i32, ptr addrspace(1) %op\n"
        "  %m = mul i32 %b, 3\n  %s = add i32 %a, %m\n  %n = mul i32 %c, 5\n  %r = add i32 %s, %n\n"
        "  %d = getelementptr i8, ptr addrspace(1) %p6, i64 %ao\n  store i32 %r, ptr addrspace(1) %d\n  br label %done\n"
        "done:\n  %sum = phi i32 [ 0, %entry ], [ %west, %inside ]\n  %none = icmp eq i32 %sum, -1\n  br i1 %none, label %odd, label %out\n"
        "odd:\n  store i32 1, ptr addrspace(1) %p7\n  br label %out\nout:\n  ret void\n";
    static const uint32_t blocks[][3] = { { 32, 4, 1 }, { 64, 2, 1 }, { 16, 4, 1 }, { 96, 1, 1 }, { 24, 3, 1 } };
    static const char *const targets[] = { "host", "host:haswell" };
    enum { W = 260, H = 9, CELLS = W * H };
    static uint32_t in[CELLS], flags[CELLS], out[CELLS], want[CELLS], odd[1];
    char *ir = kernel_text(body, "declare i32 @aw.ctaid.y()");
    for (unsigned k = 0; k < 2 * sizeof blocks / sizeof *blocks; k++)
        for (int some = 0; some < 3; some++) {
            const uint32_t *block = blocks[k / 2], grid[3] = { (W + block[0] - 1) / block[0], (H + block[1] - 1) / block[1], 1 };
            int size[2] = { some ? W - (int)rnd(70) : 256, H - (int)rnd(2) }, w = size[0];
            memset(out, 0, sizeof out), memset(want, 0, sizeof want), odd[0] = 0;
            for (int i = 0; i < CELLS; i++)
                in[i] = rnd(0x7fffffff), flags[i] = some == 2 ? rnd(9) : (uint32_t)some;
            for (int i = 0; i < w * size[1]; i++) {
                int x = i % w, row = i - x;
                want[i] = in[row + (x ? x : w) - 1] + 3 * in[row + (x < w - 1 ? x + 1 : 0)] + 5 * in[flags[i] ? i : 5];
            }
            struct args a = { { in, size, flags, 0, 0, 0, out, odd }, { 0 } };
            struct built b = build_or_fail(ir, targets[k % 2], block, 0);
            launch(&b, grid, block, 0, &a);
            unload(&b);
            cr_assert_eq(odd[0], 0);
            for (int i = 0; i < CELLS; i++)
                cr_assert_eq(out[i], want[i], "%s, %ux%u, row of %d, %d: element %d: %u, not %u", targets[k % 2], block[0], block[1], w, some, i, out[i], want[i]);
        }
    free(ir);
}

/* An index read on two ways is one value: what is added to it stays side by side. */
Test(simt, indices_read_twice)
{
    static const char body[] =
        "  %low = icmp ult i32 %t, 16\n  br i1 %low, label %a, label %b\n"
        "a:\n  %n1 = call i32 @aw.nctaid.x()\n  store i32 %n1, ptr addrspace(1) %p2\n  br label %j\n"
        "b:\n  store i32 2, ptr addrspace(1) %p3\n  br label %j\n"
        "j:\n  %n2 = call i32 @aw.nctaid.x()\n  %s = add i32 %n2, %t\n  %sl = zext i32 %s to i64\n  %so = shl i64 %sl, 2\n"
        "  %p = getelementptr i8, ptr addrspace(1) %p0, i64 %so\n  %v = load float, ptr addrspace(1) %p\n" STORE("v", "p6", "float", "4")
        "  ret void\n";
    char *ir = kernel_text(body, "declare i32 @aw.nctaid.x()");
    struct aw_buf diags = { 0 };
    char *text = emit_simt(ir, "host:haswell", AW_EMIT_IR_OPT, &diags);
    cr_assert(text, "%s", diags.ptr);
    cr_assert(strstr(text, "load <32 x float>"), "%s", text);
    free(text);
    free(ir);
}

/* ---- Warp operations under nested divergence, against an interpreter that runs the warp in step */

static void lockstep_one(uint64_t seed)
{
    struct lockstep *p = lockstep_create(seed);
    struct aw_buf text = { 0 }, diags = { 0 };
    struct built b;
    int32_t in[200], want[1000] = { 0 }, got[1000] = { 0 };
    lockstep_print(p, &text);
    cr_assert(build_simt(text.ptr, "host", NULL, 0, &b, &diags), "seed %lu: %s", seed, diags.ptr);
    for (uint32_t threads = 64; threads <= 77; threads += 13) { /* full warps; a partial one */
        for (uint32_t i = 0; i < 2 * threads; i++)
            in[i] = (int32_t)((i * 2654435761u * (uint32_t)(seed + 3)) >> 13) % 64 - 9;
        for (uint32_t block = 0; block < 2; block++)
            for (uint32_t t = 0; t < threads; t += 32)
                lockstep_run(p, t, block * threads + t, threads - t < 32 ? threads - t : 32, in, want);
        struct args a = { { in, got }, { 0 } };
        launch(&b, (uint32_t[3]){ 2, 1, 1 }, (uint32_t[3]){ threads, 1, 1 }, 0, &a);
        for (uint32_t i = 0; i < 2 * threads * LOCKSTEP_VARS; i++)
            cr_assert_eq(got[i], want[i], "seed %lu, %u threads, thread %u variable %u: %d, not %d", seed, threads, i / LOCKSTEP_VARS,
                         i % LOCKSTEP_VARS, got[i], want[i]);
    }
    unload(&b);
    aw_buf_fini(&text);
    aw_buf_fini(&diags);
    lockstep_destroy(p);
}

Test(simt, random_warp_operations)
{
    unsigned long first = 5000, count = 150;
    seeds_wanted(&first, &count);
    for (unsigned long s = first; s < first + count; s++)
        lockstep_one(s);
}

/* Conditions that live from block to block, changing or not, in registers of every width.  On old machines none may do so as a vector of 32. */
Test(simt, masks_from_block_to_block)
{
    static const char *const targets[] = { "host:x86-64", "host:x86-64-v2", "host:x86-64-v3", "host" };
    static const char body[] =
        LOAD("x", "p0", "i32", "4") LOAD("y", "p1", "i32", "4") "  %c = icmp slt i32 %x, %y\n  %n = and i32 %y, 7\n  br label %loop\n"
        "loop:\n  %i = phi i32 [ 0, %entry ], [ %i1, %loop ]\n  %s = phi i32 [ %x, %entry ], [ %s1, %loop ]\n"
        "  %e = phi i1 [ %c, %entry ], [ %e1, %loop ]\n  %d = phi i1 [ false, %entry ], [ %e, %loop ]\n"
        "  %bit = lshr i32 %s, 3\n  %odd = trunc i32 %bit to i1\n  %e1 = xor i1 %e, %odd\n  %s0 = mul i32 %s, 5\n"
        "  %k = select i1 %e, i32 %y, i32 3\n  %s1 = add i32 %s0, %k\n  %i1 = add i32 %i, 1\n  %more = icmp ult i32 %i, %n\n"
        "  br i1 %more, label %loop, label %out\n"
        "out:\n  %f = and i1 %c, %e1\n  %r0 = select i1 %f, i32 %s1, i32 %i1\n  %r1 = select i1 %d, i32 %n, i32 %s1\n  %r = xor i32 %r0, %r1\n"
        STORE("r", "p7", "i32", "4") "  ret void\n";
    uint32_t x[N], y[N], got[N], want[N];
    for (int t = 0; t < N; t++) {
        x[t] = rnd(1u << 31) * 2;
        y[t] = rnd(1u << 31) * 2 + rnd(2);
        bool c = (int32_t)x[t] < (int32_t)y[t], e = c, d = false;
        uint32_t s = x[t], i = 0;
        for (;; d = e, e = e != (s >> 3 & 1), s = s * 5 + (d ? y[t] : 3))
            if (i++ == (y[t] & 7))
                break;
        bool e1 = e != (s >> 3 & 1);
        s = s * 5 + (e ? y[t] : 3);
        want[t] = (c && e1 ? s : i) ^ (d ? y[t] & 7 : s);
    }
    char *ir = kernel_text(body, "");
    struct args a = { { x, y, 0, 0, 0, 0, 0, got }, "" };
    for (int k = 0; k < 8; k++) {
        struct built b = build_or_fail(ir, targets[k / 2], k % 2 ? (uint32_t[3]){ N, 1, 1 } : NULL, 0);
        memset(got, 0, sizeof got);
        launch(&b, one, (uint32_t[3]){ N, 1, 1 }, 0, &a);
        unload(&b);
        cr_assert_arr_eq(got, want, sizeof got, "%s", targets[k / 2]);
    }
    struct aw_buf diags = { 0 };
    for (int k = 0; k < 2; k++) {
        char *text = emit_simt(ir, targets[k], AW_EMIT_IR_OPT, &diags);
        cr_assert(text && strstr(text, "phi <16 x i1>") && !strstr(text, "phi <32 x i1>"), "%s: %s", targets[k], text);
        free(text);
    }
    free(ir);
}

/* Rows of which some lanes are off, before a page that is none, where masked accesses are no instructions and where they are.  Lanes that are off
 * neither read nor write. */
Test(simt, rows_in_part)
{
    enum { PAGE = 4096 };
    static const char *const targets[] = { "host:x86-64", "host:x86-64-v2", "host:x86-64-v3", "host" }, *const types[] = { "i32", "i64", "i16", "float" };
    static const int sizes[] = { 4, 8, 2, 4 };
    static const char body[] =
        FLOAD("m", "p1", "i32", "4") "  %%on = icmp ne i32 %%m, 0\n  br i1 %%on, label %%go, label %%end\n"
        "go:\n" FLOAD("v", "p0", "%s", "%d") FSTORE("v", "p7", "%s", "%d") "  br label %%end\nend:\n  ret void\n";
    char *memory = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    cr_assert_eq(mprotect(memory + PAGE, PAGE, PROT_NONE) | mprotect(memory + 3 * PAGE, PAGE, PROT_NONE), 0);
    for (int k = 0; k < 48; k++) {
        const char *type = types[k / 4 % 4], *target = targets[k % 4];
        int size = sizes[k / 4 % 4], last = N - 1 - (int)rnd(70); /* the last lane that is on */
        uint32_t m[N];
        char *text, *from = memory + PAGE - (last + 1) * size, *to = memory + 3 * PAGE - (last + 1) * size;
        for (int i = 0; i < N; i++)
            m[i] = i == last || (i < last && (k < 16 ? rnd(2) : k < 32 ? i % 32 != 5 : rnd(30) == 0));
        for (int i = 0; i < PAGE; i++) {
            memory[i] = (char)(1 + rnd(100));
            memory[2 * PAGE + i] = -1;
        }
        cr_assert_geq(asprintf(&text, body, size, type, size, type), 0);
        char *ir = kernel_text(text, "");
        struct built b = build_or_fail(ir, target, k % 3 ? (uint32_t[3]){ N, 1, 1 } : NULL, 0);
        struct args a = { { from, m, 0, 0, 0, 0, 0, to }, "" };
        launch(&b, one, (uint32_t[3]){ N, 1, 1 }, 0, &a);
        unload(&b);
        for (int i = 0; i <= last; i++)
            for (int j = 0; j < size; j++)
                cr_assert_eq(to[i * size + j], m[i] ? from[i * size + j] : -1, "%s, %s, lane %d of %d", target, type, i, last);
        free(text);
        free(ir);
    }
    munmap(memory, 4 * PAGE);
}

/* ---- Targets and errors */

Test(simt, machines)
{
    char *ir = kernel_text(LOAD("v", "p0", "float", "4") "  %x = fadd float %v, 1.0\n" STORE("x", "p6", "float", "4") "  ret void\n", "");
    struct aw_buf diags = { 0 };
    char *wide = emit_simt(ir, "host:sapphirerapids", AW_EMIT_ASM, &diags), *old = emit_simt(ir, "host:haswell", AW_EMIT_ASM, &diags);
    cr_assert(wide && old, "%s", diags.ptr);
    cr_assert(strstr(wide, "zmm"), "512-bit vectors where there are some");
    cr_assert(strstr(old, "ymm") && !strstr(old, "zmm"));
    cr_assert_null(emit_simt(ir, "host:pentium9000", AW_EMIT_ASM, &diags));
    cr_assert(strstr(diags.ptr, "pentium9000"));
    free(wide);
    free(old);
    free(ir);
    aw_buf_fini(&diags);
}

/* fma is an instruction that the oldest machines lack: there it is a function that is linked in. */
Test(simt, old_machines)
{
    static float in[64], out[64];
    struct args a = { .p = { in, NULL, NULL, NULL, NULL, NULL, out } };
    struct aw_buf diags = { 0 };
    struct built b;
    for (int i = 0; i < 64; i++)
        in[i] = 1 + (float)i / 4096;
    char *ir = kernel_text(LOAD("v", "p0", "float", "4") "  %x = call float @llvm.fma.f32(float %v, float %v, float -1.0)\n"
                           STORE("x", "p6", "float", "4") "  ret void\n", "declare float @llvm.fma.f32(float, float, float)");
    cr_assert(build_simt(ir, "host:x86-64", NULL, 0, &b, &diags), "%s", diags.ptr);
    launch(&b, one, (uint32_t[3]){ 64, 1, 1 }, 0, &a);
    for (int i = 0; i < 64; i++)
        cr_assert_eq(out[i], fmaf(in[i], in[i], -1), "%d: %a", i, out[i]);
    unload(&b);
    free(ir);
    aw_buf_fini(&diags);
}

Test(simt, unknown_operations_are_errors)
{
    char *ir = kernel_text("  call void @mystery()\n  ret void\n", "declare void @mystery()");
    struct aw_buf diags = { 0 };
    struct built b;
    cr_assert_not(build_simt(ir, "host", NULL, 0, &b, &diags));
    cr_assert(strstr(diags.ptr, "mystery"), "%s", diags.ptr);
    free(ir);
    aw_buf_fini(&diags);
}
