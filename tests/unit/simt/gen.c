/* See gen.h.  Variables are stack slots (LLVM makes them phis), so any block may go anywhere; fuel ends every loop. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "gen.h"

enum { VARS = 6, MAX_DEPTH = 4 };

struct gen {
    uint64_t state;
    struct aw_buf *out;
    int temp, label;
    int break_to[MAX_DEPTH + 2], continue_to[MAX_DEPTH + 2], loops;
    int size;     /* statements so far */
    bool device;  /* generating the device function */
    int terminated;
};

static uint32_t rnd(struct gen *g, uint32_t n)
{
    g->state ^= g->state << 13;
    g->state ^= g->state >> 7;
    g->state ^= g->state << 17;
    return (uint32_t)((g->state * 0x9e3779b97f4a7c15u) >> 33) % n;
}

#define P(g, ...) aw_buf_printf((g)->out, __VA_ARGS__)

static int expr(struct gen *g, int depth);

static int binary(struct gen *g, int depth)
{
    static const char *const ops[] = { "add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "add", "sub" };
    uint32_t op = rnd(g, 11);
    int a = expr(g, depth + 1), b = expr(g, depth + 1);
    if (op >= 6 && op <= 8) {
        P(g, "  %%t%d = and i32 %%t%d, 7\n", g->temp, b);
        b = g->temp++;
    }
    P(g, "  %%t%d = %s i32 %%t%d, %%t%d\n", g->temp, ops[op], a, b);
    return g->temp++;
}

/* The divisor is never 0 or -1 for a lane that runs, but may be for one that does not. */
static int division(struct gen *g, int depth)
{
    static const char *const ops[] = { "sdiv", "udiv", "srem", "urem" };
    int a = expr(g, depth + 1), b = expr(g, depth + 1);
    P(g, "  %%t%d = and i32 %%t%d, 15\n  %%t%d = or i32 %%t%d, 1\n", g->temp, b, g->temp + 1, g->temp);
    P(g, "  %%t%d = %s i32 %%t%d, %%t%d\n", g->temp + 2, ops[rnd(g, 4)], a, g->temp + 1);
    g->temp += 3;
    return g->temp - 1;
}

static int leaf(struct gen *g)
{
    int t = g->temp++;
    switch (rnd(g, 8)) {
    case 0: P(g, "  %%t%d = add i32 0, %d\n", t, (int)rnd(g, 40) - 10); break;
    case 1: P(g, "  %%t%d = call i32 @aw.tid.x()\n", t); break;
    case 2: P(g, g->device ? "  %%t%d = load i32, ptr addrspace(5) %%v0\n" : "  %%t%d = add i32 %%gid, 0\n", t); break;
    case 3: P(g, rnd(g, 2) ? "  %%t%d = call i32 @aw.ctaid.x()\n" : "  %%t%d = call i32 @aw.tid.y()\n", t); break;
    case 4: P(g, "  %%t%d = add i32 %%knob, 0\n", t); break;
    default: P(g, "  %%t%d = load i32, ptr addrspace(5) %%v%u\n", t, rnd(g, VARS)); break;
    }
    return t;
}

static int input(struct gen *g, int depth)
{
    int i = expr(g, depth + 1), t = g->temp;
    P(g, "  %%t%d = and i32 %%t%d, 1023\n  %%t%d = %s i32 %%t%d to i64\n", t, i, t + 1, rnd(g, 2) ? "zext" : "sext", t);
    P(g, "  %%t%d = shl i64 %%t%d, 2\n  %%t%d = add i64 %%in, %%t%d\n", t + 2, t + 1, t + 3, t + 2);
    P(g, "  %%t%d = inttoptr i64 %%t%d to ptr addrspace(1)\n  %%t%d = load i32, ptr addrspace(1) %%t%d\n", t + 4, t + 3, t + 5,
      t + 4);
    g->temp += 6;
    return t + 5;
}

static int condition(struct gen *g)
{
    static const char *const preds[] = { "slt", "sgt", "eq", "ne", "ult", "sle" };
    int a = expr(g, 1), b = expr(g, 2), t = g->temp;
    if (rnd(g, 3) == 0) {
        P(g, "  %%t%d = and i32 %%t%d, %d\n  %%t%d = icmp ne i32 %%t%d, 0\n", t, a, 1 << rnd(g, 4), t + 1, t);
        g->temp += 2;
        return t + 1;
    }
    P(g, "  %%t%d = icmp %s i32 %%t%d, %%t%d\n", t, preds[rnd(g, 6)], a, b);
    g->temp++;
    return t;
}

static int expr(struct gen *g, int depth)
{
    uint32_t c = depth > 2 ? 0 : rnd(g, 12);
    if (c >= 6 && c <= 8)
        return binary(g, depth);
    if (c == 9)
        return division(g, depth);
    if (c == 10)
        return input(g, depth);
    if (c == 11) {
        int a = expr(g, depth + 1), b = expr(g, depth + 1), p = condition(g);
        P(g, "  %%t%d = select i1 %%t%d, i32 %%t%d, i32 %%t%d\n", g->temp, p, a, b);
        return g->temp++;
    }
    return leaf(g);
}

static void store_out(struct gen *g)
{
    int x = expr(g, 1), t = g->temp;
    P(g, "  %%t%d = shl i32 %%gid, 3\n  %%t%d = add i32 %%t%d, %u\n  %%t%d = sext i32 %%t%d to i64\n", t, t + 1, t, rnd(g, 7),
      t + 2, t + 1);
    P(g, "  %%t%d = shl i64 %%t%d, 2\n  %%t%d = add i64 %%outp, %%t%d\n", t + 3, t + 2, t + 4, t + 3);
    P(g, "  %%t%d = inttoptr i64 %%t%d to ptr addrspace(1)\n  store i32 %%t%d, ptr addrspace(1) %%t%d\n", t + 5, t + 4, x, t + 5);
    g->temp += 6;
}

static void assign(struct gen *g)
{
    if (!g->device && rnd(g, 6) == 0) {
        store_out(g);
        return;
    }
    int x;
    if (rnd(g, 10) == 0) {
        int a = expr(g, 1), b = g->device ? -1 : expr(g, 1);
        if (g->device) { /* recursion, ended by the depth */
            P(g, "  %%t%d = sub i32 %%depth, 1\n", g->temp);
            b = g->temp++;
        } else {
            P(g, "  %%t%d = and i32 %%t%d, 3\n", g->temp, b);
            b = g->temp++;
        }
        P(g, "  %%t%d = call i32 @dev(ptr addrspace(4) %%ka, i32 %%t%d, i32 %%t%d)\n", g->temp, a, b);
        x = g->temp++;
    } else {
        x = expr(g, 0);
    }
    P(g, "  store i32 %%t%d, ptr addrspace(5) %%v%u\n", x, rnd(g, VARS));
}

static void label(struct gen *g, int l)
{
    P(g, "l%d:\n", l);
    g->terminated = 0;
}

static void go(struct gen *g, int l)
{
    if (!g->terminated)
        P(g, "  br label %%l%d\n", l);
    g->terminated = 1;
}

/* Takes one unit of fuel; goes to `out` when there is none. */
static void fuel(struct gen *g, int out)
{
    int t = g->temp, next = g->label++;
    P(g, "  %%t%d = load i32, ptr addrspace(5) %%fuel\n  %%t%d = sub i32 %%t%d, 1\n", t, t + 1, t);
    P(g, "  store i32 %%t%d, ptr addrspace(5) %%fuel\n  %%t%d = icmp slt i32 %%t%d, 0\n", t + 1, t + 2, t + 1);
    P(g, "  br i1 %%t%d, label %%l%d, label %%l%d\n", t + 2, out, next);
    g->temp += 3;
    label(g, next);
}

static void block(struct gen *g, int depth);

static void loop(struct gen *g, int depth)
{
    int head = g->label++, body = g->label++, done = g->label++, latch = g->label++;
    bool test_first = rnd(g, 2);
    go(g, head);
    label(g, head);
    fuel(g, done);
    if (test_first) {
        int c = condition(g);
        P(g, "  br i1 %%t%d, label %%l%d, label %%l%d\n", c, body, done);
    } else {
        P(g, "  br label %%l%d\n", body);
    }
    g->break_to[g->loops] = done;
    g->continue_to[g->loops++] = latch;
    label(g, body);
    block(g, depth + 1);
    go(g, latch);
    g->loops--;
    label(g, latch);
    if (test_first) {
        go(g, head);
    } else {
        int c = condition(g);
        P(g, "  br i1 %%t%d, label %%l%d, label %%l%d\n", c, head, done);
    }
    label(g, done);
}

static void branch(struct gen *g, int depth)
{
    int yes = g->label++, no = g->label++, join = g->label++, c = condition(g);
    bool has_else = rnd(g, 2);
    P(g, "  br i1 %%t%d, label %%l%d, label %%l%d\n", c, yes, has_else ? no : join);
    label(g, yes);
    block(g, depth + 1);
    go(g, join);
    if (has_else) {
        label(g, no);
        block(g, depth + 1);
        go(g, join);
    }
    label(g, join);
}

static void choice(struct gen *g, int depth)
{
    int join = g->label++, first = g->label, x = expr(g, 1), t = g->temp++;
    g->label += 4;
    P(g, "  %%t%d = and i32 %%t%d, 3\n  switch i32 %%t%d, label %%l%d [", t, x, t, first + 3);
    for (int i = 0; i < 3; i++)
        P(g, " i32 %d, label %%l%d", i, first + i);
    P(g, " ]\n");
    for (int i = 0; i < 4; i++) {
        label(g, first + i);
        block(g, depth + 1);
        go(g, i < 3 && rnd(g, 3) == 0 ? first + i + 1 : join); /* falls through now and then */
    }
    label(g, join);
}

static void statement(struct gen *g, int depth)
{
    uint32_t c = rnd(g, 14);
    if (++g->size > 60 || depth >= MAX_DEPTH)
        c = rnd(g, 2) ? 0 : 12;
    if (c < 4) {
        assign(g);
    } else if (c < 8) {
        branch(g, depth);
    } else if (c < 10) {
        loop(g, depth);
    } else if (c < 11) {
        choice(g, depth);
    } else if (c < 13 && g->loops) {
        /* Out of any loop around, or on with it. */
        uint32_t which = rnd(g, (uint32_t)g->loops);
        int next = g->label++, t = condition(g);
        P(g, "  br i1 %%t%d, label %%l%d, label %%l%d\n", t, rnd(g, 2) ? g->break_to[which] : g->continue_to[which], next);
        label(g, next);
    } else if (c == 13 && rnd(g, 3) == 0) {
        int next = g->label++, t = condition(g);
        P(g, "  br i1 %%t%d, label %%finish, label %%l%d\n", t, next);
        label(g, next);
    } else {
        assign(g);
    }
}

static void block(struct gen *g, int depth)
{
    for (uint32_t n = 1 + rnd(g, 3); n && !g->terminated; n--)
        statement(g, depth);
}

/* Blocks that go to any others: loops with several entries, and worse. */
static void tangle(struct gen *g)
{
    int n = 3 + (int)rnd(g, 9), first = g->label;
    g->label += n;
    go(g, first);
    for (int i = 0; i < n; i++) {
        label(g, first + i);
        int t = g->temp, out = g->label++;
        P(g, "  %%t%d = load i32, ptr addrspace(5) %%fuel\n  %%t%d = sub i32 %%t%d, 1\n", t, t + 1, t);
        P(g, "  store i32 %%t%d, ptr addrspace(5) %%fuel\n  %%t%d = icmp slt i32 %%t%d, 0\n", t + 1, t + 2, t + 1);
        P(g, "  br i1 %%t%d, label %%finish, label %%l%d\n", t + 2, out);
        g->temp += 3;
        label(g, out);
        assign(g);
        if (rnd(g, 3) == 0)
            assign(g);
        int a = first + (int)rnd(g, (uint32_t)n), b = first + (int)rnd(g, (uint32_t)n);
        uint32_t kind = rnd(g, 8);
        if (kind == 0) {
            P(g, "  br label %%l%d\n", a);
        } else if (kind == 1) {
            int x = expr(g, 1), u = g->temp++;
            P(g, "  %%t%d = and i32 %%t%d, 3\n  switch i32 %%t%d, label %%l%d [ i32 0, label %%l%d i32 1, label %%finish ]\n", u,
              x, u, a, b);
        } else {
            int c = condition(g);
            P(g, rnd(g, 6) ? "  br i1 %%t%d, label %%l%d, label %%l%d\n" : "  br i1 %%t%d, label %%l%d, label %%finish\n", c, a,
              b);
        }
    }
    g->terminated = 1;
}

static void prologue(struct gen *g)
{
    static const char *const fields[] = { "in", "outp" };
    for (int i = 0; i < 2; i++) {
        P(g, "  %%p%d = getelementptr i8, ptr addrspace(4) %%ka, i64 %d\n", i, 8 * i);
        P(g, "  %%%s = load i64, ptr addrspace(4) %%p%d\n", fields[i], i);
    }
    P(g, "  %%pn = getelementptr i8, ptr addrspace(4) %%ka, i64 16\n  %%n = load i32, ptr addrspace(4) %%pn\n");
    P(g, "  %%pk = getelementptr i8, ptr addrspace(4) %%ka, i64 20\n  %%knob = load i32, ptr addrspace(4) %%pk\n");
    for (int i = 0; i < VARS; i++)
        P(g, "  %%v%d = alloca i32, addrspace(5)\n", i);
    P(g, "  %%fuel = alloca i32, addrspace(5)\n  store i32 %d, ptr addrspace(5) %%fuel\n", g->device ? 2 : 40);
}

static void device_function(struct gen *g)
{
    g->device = true;
    P(g, "define internal i32 @dev(ptr addrspace(4) %%ka, i32 %%a, i32 %%depth) %s {\n", rnd(g, 2) ? "noinline" : "");
    prologue(g);
    P(g, "  %%start = add i32 %%a, 0\n  store i32 %%start, ptr addrspace(5) %%v0\n  store i32 %%depth, ptr addrspace(5) %%v1\n");
    for (int i = 2; i < VARS; i++)
        P(g, "  store i32 %d, ptr addrspace(5) %%v%d\n", 3 * i, i);
    P(g, "  %%end = icmp sle i32 %%depth, 0\n  br i1 %%end, label %%finish, label %%go\ngo:\n");
    g->size = 45;
    g->terminated = 0;
    block(g, 2);
    if (!g->terminated)
        P(g, "  br label %%finish\n");
    P(g, "finish:\n  %%r0 = load i32, ptr addrspace(5) %%v0\n  %%r1 = load i32, ptr addrspace(5) %%v2\n");
    P(g, "  %%r = xor i32 %%r0, %%r1\n  ret i32 %%r\n}\n");
    g->device = false;
    g->size = 0;
}

void gen_kernel(uint64_t seed, bool irreducible, struct aw_buf *ret)
{
    struct gen g = { .state = seed * 2654435761u + 88172645463325252u, .out = ret };
    for (int i = 0; i < 8; i++)
        rnd(&g, 2);
    device_function(&g);
    P(&g, "define void @k(ptr addrspace(4) byref([80 x i8]) align 16 %%ka) \"aw-kernel\" \"aw-lanes\"=\"%d\" {\n",
      8 << seed / 8 % 3);
    prologue(&g);
    P(&g, "  %%tx = call i32 @aw.tid.x()\n  %%ty = call i32 @aw.tid.y()\n  %%tz = call i32 @aw.tid.z()\n");
    P(&g, "  %%nx = call i32 @aw.ntid.x()\n  %%ny = call i32 @aw.ntid.y()\n  %%nz = call i32 @aw.ntid.z()\n");
    P(&g, "  %%cx = call i32 @aw.ctaid.x()\n  %%nc = call i32 @aw.nctaid.x()\n  %%cy = call i32 @aw.ctaid.y()\n");
    P(&g, "  %%g0 = mul i32 %%tz, %%ny\n  %%g1 = add i32 %%g0, %%ty\n  %%g2 = mul i32 %%g1, %%nx\n  %%g3 = add i32 %%g2, %%tx\n");
    P(&g, "  %%g4 = mul i32 %%cy, %%nc\n  %%g5 = add i32 %%g4, %%cx\n  %%g6 = mul i32 %%nx, %%ny\n  %%g7 = mul i32 %%g6, %%nz\n");
    P(&g, "  %%g8 = mul i32 %%g5, %%g7\n  %%gid = add i32 %%g8, %%g3\n");
    for (int i = 0; i < VARS; i++) {
        static const char *const init[] = { "%gid", "%tx", "%knob", "7", "%cx", "%ty" };
        P(&g, "  store i32 %s, ptr addrspace(5) %%v%d\n", init[i], i);
    }
    P(&g, "  %%in.range = icmp slt i32 %%gid, %%n\n  br i1 %%in.range, label %%begin, label %%leave\nbegin:\n");
    if (irreducible) {
        block(&g, 2);
        tangle(&g);
    } else {
        block(&g, 0);
        block(&g, 0);
        block(&g, 0);
    }
    if (!g.terminated)
        P(&g, "  br label %%finish\n");
    P(&g, "finish:\n");
    for (int i = 0; i < VARS; i++)
        P(&g, "  %%f%d = load i32, ptr addrspace(5) %%v%d\n", i, i);
    P(&g, "  %%s1 = mul i32 %%f1, 31\n  %%s2 = add i32 %%f0, %%s1\n  %%s3 = xor i32 %%s2, %%f2\n  %%s4 = mul i32 %%s3, 17\n");
    P(&g, "  %%s5 = add i32 %%s4, %%f3\n  %%s6 = sub i32 %%s5, %%f4\n  %%s7 = add i32 %%s6, %%f5\n");
    P(&g, "  %%o0 = shl i32 %%gid, 3\n  %%o1 = add i32 %%o0, 7\n  %%o2 = sext i32 %%o1 to i64\n  %%o3 = shl i64 %%o2, 2\n");
    P(&g, "  %%o4 = add i64 %%outp, %%o3\n  %%o5 = inttoptr i64 %%o4 to ptr addrspace(1)\n"
          "  store i32 %%s7, ptr addrspace(1) %%o5\n");
    P(&g, "  br label %%leave\nleave:\n  ret void\n}\n");
    static const char *const names[] = {
        "tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ntid.z", "ctaid.x", "ctaid.y", "nctaid.x"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        P(&g, "declare i32 @aw.%s()\n", names[i]);
}
