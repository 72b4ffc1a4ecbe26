/* Barriers as loops over warps: random kernels with barriers where all threads come to them, against the same kernels with a
 * stack for each warp.  The latter come of barriers whose number of threads is an argument, always 0, which the compiler cannot
 * know. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "simt/vectorise.h"
#include <criterion/criterion.h>
#include <criterion/logging.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARS = 5, COMMON = 2, DEPTH = 3, SLOTS = VARS + COMMON, THREADS = 1024 };

struct args {
    const int32_t *in; /* THREADS values */
    int32_t *out;      /* SLOTS a thread */
    int32_t knob, zero;
    char rest[56];
};

struct gen {
    uint64_t state;
    struct aw_buf text;
    int temp, label, loops, size;
    int lanes;   /* of a vector, where the block's shape is known */
    bool stacks; /* barriers that cannot be proved to be the whole block's */
    bool free;   /* no barriers, nor arrays */
    bool warps;  /* lanes ask each other */
};

#define P(g, ...) aw_buf_printf(&(g)->text, __VA_ARGS__)

static uint32_t rnd(struct gen *g, uint32_t n)
{
    g->state ^= g->state << 13;
    g->state ^= g->state >> 7;
    g->state ^= g->state << 17;
    return (uint32_t)((g->state * 0x9e3779b97f4a7c15u) >> 33) % n;
}

/* ---- Values: of a thread, and the same for all threads of a block */

static int common_expr(struct gen *g, int depth)
{
    int t, a, b;
    switch (depth > 1 ? rnd(g, 4) : rnd(g, 6)) {
    case 0: t = g->temp++; P(g, "  %%t%d = add i32 %%knob, %d\n", t, (int)rnd(g, 9)); return t;
    case 1: t = g->temp++; P(g, "  %%t%d = call i32 @aw.ctaid.x()\n", t); return t;
    case 2: t = g->temp++; P(g, "  %%t%d = add i32 0, %d\n", t, (int)rnd(g, 20)); return t;
    case 3: t = g->temp++; P(g, "  %%t%d = load i32, ptr addrspace(5) %%u%u\n", t, rnd(g, COMMON)); return t;
    default:
        a = common_expr(g, depth + 1);
        b = common_expr(g, depth + 1);
        t = g->temp++;
        P(g, "  %%t%d = %s i32 %%t%d, %%t%d\n", t, rnd(g, 2) ? "add" : "xor", a, b);
        return t;
    }
}

static int expr(struct gen *g, int depth)
{
    static const char *const ops[] = { "add", "sub", "mul", "and", "or", "xor", "add" };
    int t, a, b;
    uint32_t which = depth > 2 ? rnd(g, 6) : rnd(g, 11);
    switch (which == 6 && g->free ? 7 : which) {
    case 0: t = g->temp++; P(g, "  %%t%d = add i32 %%tx, %d\n", t, (int)rnd(g, 5) - 2); return t;
    case 1: return common_expr(g, 1);
    case 2: t = g->temp++; P(g, "  %%t%d = add i32 %%t, 0\n", t); return t;
    case 3: case 4: case 5: t = g->temp++; P(g, "  %%t%d = load i32, ptr addrspace(5) %%v%u\n", t, rnd(g, VARS)); return t;
    case 6: /* of the array, at any place */
        a = expr(g, depth + 1);
        t = g->temp;
        P(g, "  %%t%d = and i32 %%t%d, 3\n  %%t%d = getelementptr i32, ptr addrspace(5) %%array, i32 %%t%d\n", t, a, t + 1, t);
        P(g, "  %%t%d = load i32, ptr addrspace(5) %%t%d\n", t + 2, t + 1);
        g->temp += 3;
        return t + 2;
    case 7: /* of memory */
        a = expr(g, depth + 1);
        t = g->temp;
        P(g, "  %%t%d = and i32 %%t%d, 1023\n  %%t%d = zext i32 %%t%d to i64\n  %%t%d = shl i64 %%t%d, 2\n", t, a, t + 1, t,
          t + 2, t + 1);
        P(g, "  %%t%d = add i64 %%in, %%t%d\n  %%t%d = inttoptr i64 %%t%d to ptr addrspace(1)\n", t + 3, t + 2, t + 4, t + 3);
        P(g, "  %%t%d = load i32, ptr addrspace(1) %%t%d\n", t + 5, t + 4);
        g->temp += 6;
        return t + 5;
    default:
        a = expr(g, depth + 1);
        b = expr(g, depth + 1);
        t = g->temp++;
        P(g, "  %%t%d = %s i32 %%t%d, %%t%d\n", t, ops[rnd(g, 7)], a, b);
        return t;
    }
}

static int compare(struct gen *g, int a, int b)
{
    static const char *const preds[] = { "slt", "ugt", "eq", "ne", "sle" };
    P(g, "  %%t%d = icmp %s i32 %%t%d, %%t%d\n", g->temp, preds[rnd(g, 5)], a, b);
    return g->temp++;
}

static void assign(struct gen *g)
{
    int x = expr(g, 0);
    if (g->free || rnd(g, 5)) {
        P(g, "  store i32 %%t%d, ptr addrspace(5) %%v%u\n", x, rnd(g, VARS));
        return;
    }
    int at = expr(g, 1), t = g->temp;
    P(g, "  %%t%d = and i32 %%t%d, 3\n  %%t%d = getelementptr i32, ptr addrspace(5) %%array, i32 %%t%d\n", t, at, t + 1, t);
    P(g, "  store i32 %%t%d, ptr addrspace(5) %%t%d\n", x, t + 1);
    g->temp += 2;
}

static void label(struct gen *g, int l)
{
    P(g, "l%d:\n", l);
}

static void go(struct gen *g, int l)
{
    P(g, "  br label %%l%d\n", l);
}

/* ---- What threads do each for themselves: no barrier inside */

static void alone(struct gen *g, int depth);

static void branch_alone(struct gen *g, int depth)
{
    int a = expr(g, 1), c = compare(g, a, expr(g, 1)), yes = g->label++, join = g->label++;
    P(g, "  br i1 %%t%d, label %%l%d, label %%l%d\n", c, yes, join);
    label(g, yes);
    alone(g, depth + 1);
    go(g, join);
    label(g, join);
}

static void loop_alone(struct gen *g, int depth)
{
    int n = expr(g, 1), head = g->label++, done = g->label++, t = g->temp, slot = g->loops++;
    P(g, "  %%t%d = and i32 %%t%d, 3\n  store i32 %%t%d, ptr addrspace(5) %%n%d\n", t, n, t, slot);
    g->temp++;
    go(g, head);
    label(g, head);
    alone(g, depth + 1);
    t = g->temp;
    P(g, "  %%t%d = load i32, ptr addrspace(5) %%n%d\n  %%t%d = sub i32 %%t%d, 1\n", t, slot, t + 1, t);
    P(g, "  store i32 %%t%d, ptr addrspace(5) %%n%d\n  %%t%d = icmp sgt i32 %%t%d, 0\n", t + 1, slot, t + 2, t + 1);
    P(g, "  br i1 %%t%d, label %%l%d, label %%l%d\n", t + 2, head, done);
    g->temp += 3;
    label(g, done);
}

static void alone(struct gen *g, int depth)
{
    for (uint32_t n = 1 + rnd(g, 2); n; n--) {
        uint32_t c = depth >= DEPTH || g->loops > 20 ? 0 : rnd(g, 5);
        if (c < 3)
            assign(g);
        else if (c == 3)
            branch_alone(g, depth);
        else
            loop_alone(g, depth);
    }
}

/* ---- What all do together */

static void barrier(struct gen *g)
{
    P(g, "  call void @aw.barrier(i32 %u, i32 %s)\n", g->stacks ? 0 : rnd(g, 3) & 1, g->stacks ? "%zero" : "0");
    if (g->stacks)
        rnd(g, 3);
}

/* Each writes a word of shared memory; after a barrier each reads another's. */
static void exchange(struct gen *g)
{
    int x = expr(g, 1), t = g->temp;
    P(g, "  store i32 %%t%d, ptr addrspace(3) %%own\n", x);
    barrier(g);
    P(g, "  %%t%d = add i32 %%t, %u\n  %%t%d = urem i32 %%t%d, %%threads\n  %%t%d = shl i32 %%t%d, 2\n", t, 1 + rnd(g, 70), t + 1,
      t, t + 2, t + 1);
    P(g, "  %%t%d = getelementptr i8, ptr addrspace(3) @aw.shared, i32 %%t%d\n", t + 3, t + 2);
    P(g, "  %%t%d = load i32, ptr addrspace(3) %%t%d\n", t + 4, t + 3);
    P(g, "  store i32 %%t%d, ptr addrspace(5) %%v%u\n", t + 4, rnd(g, VARS));
    g->temp += 5;
    barrier(g);
}

static void reduce(struct gen *g)
{
    int a = expr(g, 1), c = compare(g, a, expr(g, 1)), t = g->temp++;
    P(g, "  %%t%d = call i32 @aw.barrier.reduce(i32 0, i32 %s, i32 %u, i1 %%t%d)\n", t, g->stacks ? "%zero" : "0", rnd(g, 3), c);
    P(g, "  store i32 %%t%d, ptr addrspace(5) %%%c%u\n", t, rnd(g, 2) ? 'u' : 'v', rnd(g, COMMON));
}

/* Each takes what another lane of its warp has, one whose number has some of its own bits: that one is there.  Lanes are taken
 * out of a vector in memory then, all at once. */
static void shuffle(struct gen *g)
{
    int x = expr(g, 1), from = expr(g, 1), t = g->temp;
    P(g, "  %%t%d = and i32 %%t, 31\n  %%t%d = and i32 %%t%d, %%t%d\n", t, t + 1, t, from);
    P(g, "  %%t%d = call {i32,i1} @aw.shfl.idx(i32 %%t%d, i32 %%t%d, i32 31, i32 -1)\n", t + 2, x, t + 1);
    P(g, "  %%t%d = extractvalue {i32,i1} %%t%d, 0\n  store i32 %%t%d, ptr addrspace(5) %%v%u\n", t + 3, t + 2, t + 3,
      rnd(g, VARS));
    g->temp += 4;
}

static void together(struct gen *g, int depth);

static void branch_together(struct gen *g, int depth)
{
    int a = common_expr(g, 0), c = compare(g, a, common_expr(g, 0)), yes = g->label++, no = g->label++, join = g->label++;
    bool other = rnd(g, 2);
    P(g, "  br i1 %%t%d, label %%l%d, label %%l%d\n", c, yes, other ? no : join);
    label(g, yes);
    together(g, depth + 1);
    go(g, join);
    if (other) {
        label(g, no);
        together(g, depth + 1);
        go(g, join);
    }
    label(g, join);
}

/* At most three rounds; now and then it is left in the middle. */
static void loop_together(struct gen *g, int depth)
{
    int n = common_expr(g, 1), head = g->label++, done = g->label++, slot = g->loops++, t = g->temp;
    P(g, "  %%t%d = and i32 %%t%d, 3\n  store i32 %%t%d, ptr addrspace(5) %%n%d\n", t, n, t, slot);
    g->temp++;
    go(g, head);
    label(g, head);
    together(g, depth + 1);
    if (rnd(g, 3) == 0) {
        int a = common_expr(g, 0), c = compare(g, a, common_expr(g, 0)), next = g->label++;
        P(g, "  br i1 %%t%d, label %%l%d, label %%l%d\n", c, done, next);
        label(g, next);
        together(g, depth + 1);
    }
    t = g->temp;
    P(g, "  %%t%d = load i32, ptr addrspace(5) %%n%d\n  %%t%d = sub i32 %%t%d, 1\n", t, slot, t + 1, t);
    P(g, "  store i32 %%t%d, ptr addrspace(5) %%n%d\n  %%t%d = icmp sgt i32 %%t%d, 0\n", t + 1, slot, t + 2, t + 1);
    P(g, "  br i1 %%t%d, label %%l%d, label %%l%d\n", t + 2, head, done);
    g->temp += 3;
    label(g, done);
}

static void statement(struct gen *g, int depth)
{
    if (g->warps && rnd(g, 4) == 0)
        shuffle(g);
    uint32_t c = ++g->size > 25 || depth >= DEPTH || g->loops > 20 ? rnd(g, 7) : rnd(g, 11);
    if (c < 2)
        alone(g, 1);
    else if (c < 4)
        exchange(g);
    else if (c < 5)
        reduce(g);
    else if (c < 6)
        P(g, "  store i32 %%t%d, ptr addrspace(5) %%u%u\n", common_expr(g, 0), rnd(g, COMMON));
    else if (c < 7)
        barrier(g);
    else if (c < 9)
        branch_together(g, depth);
    else
        loop_together(g, depth);
}

static void together(struct gen *g, int depth)
{
    for (uint32_t n = 1 + rnd(g, 3); n; n--)
        statement(g, depth);
}

static void beginning(struct gen *g)
{
    if (!g->free)
        P(g, "@aw.shared = internal addrspace(3) global [%d x i8] undef\n", 4 * THREADS);
    static const char *const asks[] = { "tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ntid.z", "ctaid.x" };
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++)
        P(g, "declare i32 @aw.%s()\n", asks[i]);
    P(g, "declare void @aw.barrier(i32, i32)\ndeclare i32 @aw.barrier.reduce(i32, i32, i32, i1)\n"
      "declare {i32,i1} @aw.shfl.idx(i32, i32, i32, i32)\n"
      "define void @k(ptr addrspace(4) byref([80 x i8]) align 16 %%ka) \"aw-kernel\" \"aw-lanes\"=\"%d\" {\nentry:\n",
      g->lanes);
    for (int i = 0; i < SLOTS; i++)
        P(g, "  %%%c%d = alloca i32, align 4, addrspace(5)\n", i < VARS ? 'v' : 'u', i < VARS ? i : i - VARS);
    for (int i = 0; i < 24; i++)
        P(g, "  %%n%d = alloca i32, align 4, addrspace(5)\n", i);
    P(g, "  %%array = alloca [4 x i32], align 4, addrspace(5)\n  %%in = load i64, ptr addrspace(4) %%ka\n"
         "  %%outp.p = getelementptr i8, ptr addrspace(4) %%ka, i64 8\n  %%outp = load i64, ptr addrspace(4) %%outp.p\n"
         "  %%knob.p = getelementptr i8, ptr addrspace(4) %%ka, i64 16\n  %%knob = load i32, ptr addrspace(4) %%knob.p\n"
         "  %%zero.p = getelementptr i8, ptr addrspace(4) %%ka, i64 20\n  %%zero = load i32, ptr addrspace(4) %%zero.p\n"
         "  %%tx = call i32 @aw.tid.x()\n  %%ty = call i32 @aw.tid.y()\n  %%tz = call i32 @aw.tid.z()\n"
         "  %%nx = call i32 @aw.ntid.x()\n  %%ny = call i32 @aw.ntid.y()\n  %%nz = call i32 @aw.ntid.z()\n"
         "  %%a0 = mul i32 %%tz, %%ny\n  %%a1 = add i32 %%a0, %%ty\n  %%a2 = mul i32 %%a1, %%nx\n  %%t = add i32 %%a2, %%tx\n"
         "  %%a3 = mul i32 %%nx, %%ny\n  %%threads = mul i32 %%a3, %%nz\n  %%cx = call i32 @aw.ctaid.x()\n"
         "  %%a5 = mul i32 %%cx, %%threads\n  %%gid = add i32 %%a5, %%t\n");
    if (!g->free)
        P(g, "  %%own.at = shl i32 %%t, 2\n  %%own = getelementptr i8, ptr addrspace(3) @aw.shared, i32 %%own.at\n");
    for (int i = 0; i < VARS; i++)
        P(g, "  %%i%d = mul i32 %%gid, %d\n  store i32 %%i%d, ptr addrspace(5) %%v%d\n", i, i + 1, i, i);
    for (int i = 0; i < COMMON; i++)
        P(g, "  store i32 %d, ptr addrspace(5) %%u%d\n", i, i);
    for (int i = 0; i < 4 && !g->free; i++)
        P(g, "  %%e%d = getelementptr i32, ptr addrspace(5) %%array, i32 %d\n  store i32 %%t, ptr addrspace(5) %%e%d\n", i, i, i);
}

static void ending(struct gen *g)
{
    P(g, "  %%o0 = mul i32 %%gid, %d\n  %%o1 = zext i32 %%o0 to i64\n  %%o2 = shl i64 %%o1, 2\n  %%o3 = add i64 %%outp, %%o2\n"
         "  %%o = inttoptr i64 %%o3 to ptr addrspace(1)\n", SLOTS);
    for (int i = 0; i < SLOTS; i++)
        P(g, "  %%r%d = load i32, ptr addrspace(5) %%%c%d\n  %%q%d = getelementptr i32, ptr addrspace(1) %%o, i32 %d\n"
             "  store i32 %%r%d, ptr addrspace(1) %%q%d\n", i, i < VARS ? 'v' : 'u', i < VARS ? i : i - VARS, i, i, i, i);
    P(g, "  ret void\n}\n");
}

static const uint32_t shapes[][3] = { { 64, 1, 1 },  { 33, 1, 1 }, { 16, 16, 1 }, { 100, 1, 1 }, { 256, 1, 1 }, { 31, 1, 1 },
                                      { 5, 3, 4 },   { 32, 8, 1 }, { 48, 1, 1 },  { 1, 1, 1 },   { 7, 9, 1 },   { 32, 1, 1 } };
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static struct built build(uint64_t seed, bool stacks, const char *target, const uint32_t *block)
{
    struct gen g = { .state = seed * 0x9e3779b97f4a7c15u + 99, .lanes = 8 << seed / N_SHAPES % 3, .stacks = stacks };
    g.warps = seed / N_SHAPES % 3 == 2;
    struct aw_buf diags = { 0 };
    struct built b = { 0 };
    beginning(&g);
    do
        together(&g, 0);
    while (g.size < 6);
    exchange(&g);
    ending(&g);
    cr_assert(build_simt(g.text.ptr, target, block, 4 * THREADS, &b, &diags), "seed %lu: %s\n%s", seed, diags.ptr, g.text.ptr);
    if (getenv("AW_FUZZ_SHOW"))
        fputs(g.text.ptr, stderr);
    aw_buf_fini(&g.text);
    aw_buf_fini(&diags);
    return b;
}

static void run(const struct built *b, uint64_t seed, const uint32_t *shape, const int32_t *in, int32_t *out)
{
    struct args a = { .in = in, .out = out, .knob = (int32_t)(seed % 7) };
    struct outcome o = launch(b, (uint32_t[3]){ 3, 1, 1 }, shape, 0, &a);
    cr_assert_eq(o.status, 0, "seed %lu: status %u", seed, o.status);
}

/* Was the second one, whose barriers are the whole block's, cut into loops?  LLVM may hide it: a value that is the same for all
 * threads comes out of a branch on which they differ. */
static bool fuzz_one(uint64_t seed)
{
    static const uint32_t any_rows[3] = { 1, 0, 0 }, full_rows[3] = { 32, 0, 0 };
    static int32_t in[THREADS], want[3 * THREADS * SLOTS], got[3 * THREADS * SLOTS];
    const uint32_t *shape = shapes[seed % N_SHAPES];
    const uint32_t *built_for = seed % 3 ? shape : seed % 2 ? any_rows : seed % 4 ? full_rows : NULL;
    struct built stacks = build(seed, true, "host", seed % 3 ? shape : NULL);
    simt_jam_always = seed / 2 % 2;
    struct built loops = build(seed, false, seed % 5 ? "host" : "host:haswell", built_for);
    cr_assert(stacks.object->flags & AW_HOST_BARRIER, "seed %lu", seed);
    bool cut = !(loops.object->flags & AW_HOST_BARRIER);
    for (int i = 0; i < THREADS; i++)
        in[i] = (int32_t)((i * 2654435761u * (uint32_t)(seed + 3)) >> 13) % 64 - 9;
    for (uint64_t k = 0; k < (seed % 3 ? 1 : 4); k++) {
        shape = shapes[(seed + k * 5) % N_SHAPES];
        if (built_for == full_rows && shape[0] % 32)
            continue;
        size_t n = 3 * (size_t)(shape[0] * shape[1] * shape[2]) * SLOTS;
        memset(want, 1, sizeof want);
        memset(got, 2, sizeof got);
        run(&stacks, seed, shape, in, want);
        run(&loops, seed, shape, in, got);
        for (size_t i = 0; i < n; i++)
            cr_assert_eq(got[i], want[i], "seed %lu shape %u,%u,%u thread %zu slot %zu: %d, not %d", seed, shape[0], shape[1],
                         shape[2], i / SLOTS, i % SLOTS, got[i], want[i]);
    }
    unload(&stacks);
    unload(&loops);
    return cut;
}

/* ---- Loops in steps of the grid, which warps go through side by side: whoever is done waits for nobody */

#define STRIDE(store, end)                                                                                                       \
    "@aw.shared = internal addrspace(3) global [4096 x i8] undef\ndeclare void @aw.barrier(i32, i32)\ndeclare i32 @aw.tid.x()\n" \
    "declare i32 @aw.ntid.x()\ndeclare i32 @aw.ctaid.x()\ndeclare i32 @aw.nctaid.x()\n"                                          \
    "define void @k(ptr addrspace(4) byref([80 x i8]) align 16 %ka) \"aw-kernel\" {\nentry:\n"                                   \
    "  %in = load i64, ptr addrspace(4) %ka\n  %out.p = getelementptr i8, ptr addrspace(4) %ka, i64 8\n"                         \
    "  %out = load i64, ptr addrspace(4) %out.p\n  %n.p = getelementptr i8, ptr addrspace(4) %ka, i64 16\n"                      \
    "  %n = load i32, ptr addrspace(4) %n.p\n  %t = call i32 @aw.tid.x()\n  %size = call i32 @aw.ntid.x()\n"                     \
    "  %block = call i32 @aw.ctaid.x()\n  %blocks = call i32 @aw.nctaid.x()\n  %before = mul i32 %block, %size\n"                \
    "  %g = add i32 %before, %t\n  %step = mul i32 %blocks, %size\n  %some = icmp slt i32 %g, %n\n"                              \
    "  br i1 %some, label %loop, label %done\n"                                                                                  \
    "loop:\n  %i = phi i32 [ %g, %entry ], [ %next, %loop ]\n  %sum = phi i32 [ 0, %entry ], [ %sum1, %loop ]\n"                 \
    "  %at = sext i32 %i to i64\n  %bytes = shl i64 %at, 2\n  %addr = add i64 %in, %bytes\n"                                     \
    "  %p = inttoptr i64 %addr to ptr addrspace(1)\n  %x = load i32, ptr addrspace(1) %p\n  %y = mul i32 %x, 3\n" store          \
    "  %sum1 = add i32 %sum, %y\n  %next = add i32 %i, %step\n  %more = icmp slt i32 %next, %n\n"                                \
    "  br i1 %more, label %loop, label %done\n"                                                                                  \
    "done:\n  %all = phi i32 [ 7, %entry ], [ %sum1, %loop ]\n" end                                                              \
    "  %r.at = zext i32 %g to i64\n  %r.bytes = shl i64 %r.at, 2\n  %r.addr = add i64 %out, %r.bytes\n"                          \
    "  %r = inttoptr i64 %r.addr to ptr addrspace(1)\n  store i32 %v, ptr addrspace(1) %r\n  ret void\n}\n"

/* Sums before a barrier, behind which each thread has its neighbour's; and without barriers, where the loop writes as well. */
static const char stride_text[] =
    STRIDE("", "  %own.at = shl i32 %t, 2\n  %own = getelementptr i8, ptr addrspace(3) @aw.shared, i32 %own.at\n"
               "  store i32 %all, ptr addrspace(3) %own\n  call void @aw.barrier(i32 0, i32 0)\n  %o = add i32 %t, 1\n"
               "  %other = urem i32 %o, %size\n  %other.at = shl i32 %other, 2\n"
               "  %q = getelementptr i8, ptr addrspace(3) @aw.shared, i32 %other.at\n  %v = load i32, ptr addrspace(3) %q\n");
static const char free_stride_text[] = STRIDE("  store i32 %y, ptr addrspace(1) %p\n", "  %v = xor i32 %all, 0\n");

enum { ELEMENTS = 5000 };

static void check_stride(const struct built *b, uint32_t size, int32_t n, bool neighbours)
{
    enum { BLOCKS = 3 };
    static int32_t in[ELEMENTS], got[BLOCKS * THREADS];
    struct args a = { .in = in, .out = got, .knob = n };
    for (int i = 0; i < ELEMENTS; i++)
        in[i] = i * 77 % 1013;
    cr_assert_eq(launch(b, (uint32_t[3]){ BLOCKS, 1, 1 }, (uint32_t[3]){ size, 1, 1 }, 0, &a).status, 0);
    for (int i = 0; i < ELEMENTS; i++) {
        int32_t want = i * 77 % 1013 * (i < n && !neighbours ? 3 : 1);
        cr_assert_eq(in[i], want, "%u threads, %d elements, element %d: %d, not %d", size, n, i, in[i], want);
    }
    for (uint32_t g = 0; g < BLOCKS * size; g++) {
        uint32_t first = neighbours ? g / size * size + (g % size + 1) % size : g;
        int32_t want = (int32_t)first < n ? 0 : 7;
        for (uint32_t i = first; (int32_t)i < n; i += BLOCKS * size)
            want += 3 * (int32_t)(i * 77 % 1013);
        cr_assert_eq(got[g], want, "%u threads, %d elements, thread %u: %d, not %d", size, n, g, got[g], want);
    }
}

/* Of a kernel with or without barriers, for any shape or one: do its warps go together? */
static bool strides(bool barriers, uint32_t size, bool fixed, const char *target)
{
    static const int32_t counts[] = { 0, 1, 5, 31, 33, 95, 100, 191, 192, 250, 257, 300, 777, 1000, ELEMENTS };
    uint32_t shape[3] = { size, 1, 1 };
    struct aw_buf diags = { 0 };
    struct built b;
    cr_assert(build_simt(barriers ? stride_text : free_stride_text, target, fixed ? shape : NULL, 4096, &b, &diags), "%s",
              diags.ptr);
    cr_assert_not(b.object->flags & AW_HOST_BARRIER);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        check_stride(&b, size, counts[k], barriers);
    bool together = b.object->warps_per_call > 1;
    unload(&b);
    return together;
}

Test(regions, steps_of_the_grid)
{
    static const uint32_t sizes[] = { 64, 33, 256, 100, 31, 1024 };
    static const char *const targets[] = { "host", "host:x86-64-v3", "host:x86-64" };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        strides(true, sizes[s], false, "host");
        strides(false, sizes[s], false, "host");
        for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
            cr_assert_eq(strides(true, sizes[s], true, targets[t]), sizes[s] > 32, "%u threads, %s", sizes[s], targets[t]);
            cr_assert_eq(strides(false, sizes[s], true, targets[t]), sizes[s] >= 64, "%u threads, %s, no barriers", sizes[s],
                         targets[t]);
        }
    }
}

/* ---- What goes round a loop with barriers, and is still needed where its next value is known: after it, or in a loop where that
 * is made */

static const char round_text[] =
    "@aw.shared = internal addrspace(3) global [4096 x i8] undef\ndeclare void @aw.barrier(i32, i32)\ndeclare i32 @aw.tid.x()\n"
    "declare i32 @aw.ntid.x()\n"
    "define void @k(ptr addrspace(4) byref([80 x i8]) align 16 %ka) \"aw-kernel\" {\nentry:\n"
    "  %out.p = getelementptr i8, ptr addrspace(4) %ka, i64 8\n  %out = load i64, ptr addrspace(4) %out.p\n"
    "  %n.p = getelementptr i8, ptr addrspace(4) %ka, i64 16\n  %n = load i32, ptr addrspace(4) %n.p\n"
    "  %t = call i32 @aw.tid.x()\n  %size = call i32 @aw.ntid.x()\n  %own.at = shl i32 %t, 2\n"
    "  %own = getelementptr i8, ptr addrspace(3) @aw.shared, i32 %own.at\n"
    "  %o = add i32 %t, 37\n  %other = urem i32 %o, %size\n  %other.at = shl i32 %other, 2\n"
    "  %q = getelementptr i8, ptr addrspace(3) @aw.shared, i32 %other.at\n  br label %round\n"
    "round:\n  %i = phi i32 [ 0, %entry ], [ %i1, %last ]\n  %a = phi i32 [ %t, %entry ], [ %a1, %last ]\n"
    "  %b = phi i32 [ %t, %entry ], [ %b1, %last ]\n  %sum = phi i32 [ 0, %entry ], [ %sum1, %last ]\n"
    "  call void @aw.barrier(i32 0, i32 0)\n  %a3 = mul i32 %a, 3\n  %a1 = add i32 %a3, %t\n"
    "  store i32 %a1, ptr addrspace(3) %own\n"
    "  call void @aw.barrier(i32 0, i32 0)\n  %x = load i32, ptr addrspace(3) %q\n  %xa = mul i32 %x, %a\n"
    "  %sum1 = add i32 %sum, %xa\n"
    "  br label %inner\n"
    "inner:\n  %j = phi i32 [ 0, %round ], [ %j1, %inner ]\n  call void @aw.barrier(i32 0, i32 0)\n  %j1 = add i32 %j, 1\n"
    "  %bj = mul i32 %b, %j1\n"
    "  %b1 = xor i32 %bj, 5\n  store i32 %b1, ptr addrspace(3) %own\n  %mj = icmp slt i32 %j1, 3\n"
    "  br i1 %mj, label %inner, label %last\n"
    "last:\n  call void @aw.barrier(i32 0, i32 0)\n  %i1 = add i32 %i, 1\n  %mi = icmp slt i32 %i1, %n\n"
    "  br i1 %mi, label %round, label %done\n"
    "done:\n  %s = add i32 %sum1, %b1\n  %r.at = zext i32 %t to i64\n  %r.bytes = shl i64 %r.at, 2\n"
    "  %r.addr = add i64 %out, %r.bytes\n"
    "  %r = inttoptr i64 %r.addr to ptr addrspace(1)\n  store i32 %s, ptr addrspace(1) %r\n  ret void\n}\n";

Test(regions, needed_when_next_is_known)
{
    enum { SIZE = 200, ROUNDS = 4 };
    static int32_t got[SIZE];
    uint32_t a[SIZE], b[SIZE], next[SIZE], sum[SIZE], shape[3] = { SIZE, 1, 1 };
    struct aw_buf diags = { 0 };
    struct built k;
    cr_assert(build_simt(round_text, "host", shape, 4096, &k, &diags), "%s", diags.ptr);
    cr_assert_not(k.object->flags & AW_HOST_BARRIER);
    struct args args = { .out = got, .knob = ROUNDS };
    cr_assert_eq(launch(&k, (uint32_t[3]){ 1, 1, 1 }, shape, 0, &args).status, 0);
    for (uint32_t t = 0; t < SIZE; t++) {
        a[t] = b[t] = t;
        sum[t] = 0;
    }
    for (int i = 0; i < ROUNDS; i++) {
        for (uint32_t t = 0; t < SIZE; t++)
            next[t] = 3 * a[t] + t;
        for (uint32_t t = 0; t < SIZE; t++) {
            sum[t] += next[(t + 37) % SIZE] * a[t];
            b[t] = 3 * b[t] ^ 5;
        }
        memcpy(a, next, sizeof a);
    }
    for (uint32_t t = 0; t < SIZE; t++)
        cr_assert_eq((uint32_t)got[t], sum[t] + b[t], "thread %u: %d, not %u", t, got[t], sum[t] + b[t]);
    unload(&k);
}

/* ---- Kernels without barriers whose warps go together all the same, where all lanes of a block take a branch
 * (ptx/simt/analysis/warp_uniform.c) */

/* All of it under a condition on which the lanes, or the blocks, may differ. */
static char *free_text(uint64_t seed)
{
    struct gen g = { .state = seed * 0x9e3779b97f4a7c15u + 7, .lanes = 8 << seed / N_SHAPES % 3, .free = true };
    beginning(&g);
    int a = rnd(&g, 3) ? common_expr(&g, 0) : expr(&g, 2), c = compare(&g, a, common_expr(&g, 0)), yes = g.label++,
        join = g.label++;
    P(&g, "  br i1 %%t%d, label %%l%d, label %%l%d\n", c, yes, join);
    label(&g, yes);
    loop_alone(&g, 1);
    alone(&g, 1);
    go(&g, join);
    label(&g, join);
    ending(&g);
    if (getenv("AW_FUZZ_SHOW"))
        fputs(g.text.ptr, stderr);
    return g.text.ptr;
}

/* Against scalar code: do the block's warps go together? */
static bool fuzz_free(uint64_t seed)
{
    static int32_t in[THREADS], want[3 * THREADS * SLOTS], got[3 * THREADS * SLOTS];
    const uint32_t *shape = shapes[seed % N_SHAPES];
    struct aw_buf diags = { 0 };
    struct scalar reference;
    struct built all;
    char *text = free_text(seed);
    simt_jam_always = true;
    cr_assert(build_scalar(text, &reference, &diags), "seed %lu: %s\n%s", seed, diags.ptr, text);
    cr_assert(build_simt(text, seed % 5 ? "host" : "host:haswell", shape, 0, &all, &diags), "seed %lu: %s\n%s", seed, diags.ptr,
              text);
    size_t n = 3 * (size_t)(shape[0] * shape[1] * shape[2]) * SLOTS;
    for (int i = 0; i < THREADS; i++)
        in[i] = (int32_t)((i * 2654435761u * (uint32_t)(seed + 3)) >> 13) % 64 - 9;
    memset(want, 1, sizeof want);
    memset(got, 2, sizeof got);
    run_scalar(&reference, (uint32_t[3]){ 3, 1, 1 }, shape, &(struct args){ .in = in, .out = want, .knob = (int32_t)(seed % 7) });
    run(&all, seed, shape, in, got);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(got[i], want[i], "seed %lu thread %zu slot %zu: %d, not %d", seed, i / SLOTS, i % SLOTS, got[i], want[i]);
    bool together = all.object->warps_per_call > 1;
    unload_scalar(&reference);
    unload(&all);
    aw_buf_fini(&diags);
    free(text);
    return together;
}

Test(regions, random_without_barriers)
{
    unsigned long first = 700, count = 120, together = 0;
    seeds_wanted(&first, &count);
    for (unsigned long s = first; s < first + count; s++)
        together += fuzz_free(s);
    cr_log_info("%lu of %lu together", together, count);
    cr_assert(together * 8 >= count, "%lu of %lu", together, count);
}

Test(regions, random_barriers)
{
    unsigned long first = 300, count = 60, cut = 0;
    seeds_wanted(&first, &count);
    for (unsigned long s = first; s < first + count; s++)
        cut += fuzz_one(s);
    cr_log_info("%lu of %lu cut", cut, count);
    cr_assert(cut + 1 + count / 50 >= count, "%lu of %lu", cut, count);
}
