/* Operations of a warp (simt/emit/warp_op.c): under any set of active lanes, and against an interpreter that runs the warp in
 * step. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include "lockstep.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        snprintf(ret, sizeof ret, "  %%x = extractvalue {i32,i1} %%r, 0\n  %%y1 = extractvalue {i32,i1} %%r, 1\n"
                                  "  %%y = zext i1 %%y1 to i32\n");
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
                                              "  %%x = extractvalue {i32,i1} %%r, 0\n  %%y1 = extractvalue {i32,i1} %%r, 1\n  "
                                              "%%y = zext i1 %%y1 to i32\n" FSTORE("x", "p6", "i32", "4")
                                                  FSTORE("y", "p7", "i32", "4") "  ret void\n",
                 cases[k].name, cases[k].b, cases[k].c);
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
    } cases[] = { { "idx", IDX, 3, 3, 5, 31 }, { "idx", IDX, 7, 2, 3, 0x181f }, { "up", UP, 3, 0, 4, 0 },
                  { "down", DOWN, 1, 4, 1, 31 },
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

Test(simt, elements_of_one_lane)
{
    static const char *const targets[] = { "host", "host:x86-64-v3", "host:x86-64-v2" }, *const types[] = { "i32", "float",
                                                                                                            "i64" };
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

/* Comparisons of indices with constants, which take the same lanes of whatever warp: within what other lanes have left on, where
 * values join, and for stores to one place. */
Test(simt, lanes_below_a_constant)
{
    enum { T = 160 };
    static const char *const predicates[] = { "ult", "ule", "ugt", "uge", "eq", "ne" }, *const targets[] = { "host",
                                                                                                             "host:x86-64-v3" };
    static const uint32_t limits[] = { 1, 5, 16, 31, 32, 33, 63, 64, 77, 159, 1000, 0, UINT32_MAX };
    static const char body[] =
        FLOAD("v", "p0", "i32", "4") FLOAD("m", "p1", "i32", "4") "  %%on = icmp ne i32 %%m, 0\n"
                                                                  "  br i1 %%on, label %%go, label %%end\n"
        "go:\n  %%c = icmp %s i32 %%t, %d\n  br i1 %%c, label %%yes, label %%join\n"
        "yes:\n  %%w = add i32 %%v, 7\n  store i32 %%v, ptr addrspace(1) %%p7\n  br label %%join\n"
        "join:\n  %%r = phi i32 [ %%v, %%go ], [ %%w, %%yes ]\n" FSTORE("r", "p6", "i32", "4") "  br label %%end\nend:\n"
                                                                                               "  ret void\n";
    for (unsigned k = 0; k < 2 * 6 * sizeof limits / sizeof *limits; k++) {
        const char *target = targets[k & 1], *p = predicates[k / 2 % 6];
        uint32_t limit = limits[k / 12], v[T], m[T], got[T] = { 0 }, want[T] = { 0 }, last = 3, want_last = 3,
                 shape[3] = { rnd(4) ? T : T - 9, 1, 1 };
        bool all = rnd(2);
        for (uint32_t i = 0; i < T; i++) {
            v[i] = rnd(1u << 30);
            m[i] = all || rnd(2);
            bool c = p[0] == 'e'   ? i == limit
                     : p[0] == 'n' ? i != limit
                     : p[1] == 'l' ? (p[2] == 't' ? i < limit : i <= limit)
                     : p[2] == 't' ? i > limit
                                   : i >= limit;
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
            cr_assert_eq(got[i], want[i], "seed %lu, %u threads, thread %u variable %u: %d, not %d", seed, threads,
                         i / LOCKSTEP_VARS, i % LOCKSTEP_VARS, got[i], want[i]);
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
