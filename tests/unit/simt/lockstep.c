/* See lockstep.h.  A program is a tree of statements over five variables; a lane that leaves a loop waits at its end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lockstep.h"
#include <stdio.h>
#include <stdlib.h>

enum kind { ASSIGN, BALLOT, SHUFFLE, REDUX, ANY, IF, LOOP, BREAK };

struct stmt {
    enum kind kind;
    int dst, a, b, op, imm;
    struct stmt *then, *other, *next;
};

enum { MAX = 64 };
struct lockstep {
    uint64_t state;
    struct stmt pool[MAX];
    int n;
    struct stmt *body;
};

static uint32_t rnd(struct lockstep *p, uint32_t n)
{
    p->state ^= p->state << 13;
    p->state ^= p->state >> 7;
    p->state ^= p->state << 17;
    return (uint32_t)((p->state * 0x9e3779b97f4a7c15u) >> 33) % n;
}

static struct stmt *sequence(struct lockstep *p, int depth, bool in_loop);

static struct stmt *statement(struct lockstep *p, int depth, bool in_loop)
{
    if (p->n == MAX)
        return NULL;
    struct stmt *s = &p->pool[p->n++];
    uint32_t c = rnd(p, 20);
    s->dst = (int)rnd(p, LOCKSTEP_VARS);
    s->a = (int)rnd(p, LOCKSTEP_VARS);
    s->b = (int)rnd(p, LOCKSTEP_VARS);
    s->op = (int)rnd(p, 6);
    s->imm = (int)rnd(p, 32);
    if (depth > 3 && c >= 13)
        c = 0;
    s->kind = c < 6    ? ASSIGN
              : c < 8  ? BALLOT
              : c < 10 ? SHUFFLE
              : c < 12 ? REDUX
              : c < 13 ? ANY
              : c < 17 ? IF
              : c < 19 ? LOOP
                       : BREAK;
    if (s->kind == BREAK && !in_loop)
        s->kind = ASSIGN;
    if (s->kind == IF) {
        s->then = sequence(p, depth + 1, false); /* a break stands in the loop's own sequence only */
        s->other = rnd(p, 2) ? sequence(p, depth + 1, false) : NULL;
    } else if (s->kind == LOOP) {
        s->then = sequence(p, depth + 1, true);
    }
    return s;
}

static struct stmt *sequence(struct lockstep *p, int depth, bool in_loop)
{
    struct stmt *first = NULL, **at = &first;
    for (uint32_t n = 1 + rnd(p, depth ? 4 : 7); n; n--) {
        *at = statement(p, depth, in_loop);
        if (!*at)
            break;
        at = &(*at)->next;
    }
    return first;
}

struct lockstep *lockstep_create(uint64_t seed)
{
    struct lockstep *p = calloc(1, sizeof *p);
    p->state = seed * 2654435761u + 88172645463325252u;
    for (int i = 0; i < 8; i++)
        rnd(p, 2);
    p->body = sequence(p, 0, false);
    return p;
}

void lockstep_destroy(struct lockstep *p)
{
    free(p);
}

/* ---- The interpreter */

struct warp {
    int32_t v[LOCKSTEP_VARS][32];
    uint32_t active;
};

static int32_t compute(int op, int32_t a, int32_t b)
{
    uint32_t x = (uint32_t)a, y = (uint32_t)b;
    switch (op) {
    case 0: return (int32_t)(x + y);
    case 1: return (int32_t)(x - y);
    case 2: return (int32_t)(x * 5 ^ y);
    case 3: return (int32_t)(x & y);
    case 4: return (int32_t)(x | y);
    default: return a < b ? a : b;
    }
}

/* Whether a lane takes a branch, goes round again, or leaves. */
static bool test(const struct stmt *s, int32_t a, int32_t b)
{
    switch (s->op) {
    case 0: return a < b;
    case 1: return (a & 1) != 0;
    case 2: return (a & 3) == (b & 3);
    case 3: return (a >> (s->imm & 7) & 1) != 0;
    case 4: return (uint32_t)a > (uint32_t)s->imm;
    default: return s->imm & 1; /* the same for all */
    }
}

static void run(const struct stmt *s, struct warp *w, uint32_t *loop);

static uint32_t tested(const struct stmt *s, const struct warp *w)
{
    uint32_t m = 0;
    for (int i = 0; i < 32; i++)
        if (w->active >> i & 1 && test(s, w->v[s->a][i], w->v[s->b][i]))
            m |= 1u << i;
    return m;
}

static void run_warp_op(const struct stmt *s, struct warp *w)
{
    int32_t r[32], sum = 0;
    uint32_t yes = tested(s, w);
    for (int i = 0; i < 32; i++)
        if (w->active >> i & 1)
            sum = (int32_t)((uint32_t)sum + (uint32_t)w->v[s->a][i]);
    for (int i = 0; i < 32; i++) {
        if (s->kind == BALLOT) {
            r[i] = (int32_t)yes;
        } else if (s->kind == REDUX) {
            r[i] = sum;
        } else if (s->kind == ANY) {
            r[i] = yes != 0;
        } else { /* from an inactive lane: the program keeps its own */
            int from = s->op < 3 ? i ^ s->imm : (w->v[s->b][i] & 31);
            r[i] = w->active >> from & 1 ? w->v[s->a][from] : w->v[s->a][i];
        }
    }
    for (int i = 0; i < 32; i++)
        if (w->active >> i & 1)
            w->v[s->dst][i] = r[i];
}

static void run_loop(const struct stmt *s, struct warp *w)
{
    uint32_t entered = w->active, live = w->active;
    for (int round = 0; live; round++) {
        w->active = live;
        uint32_t stay = 0;
        for (int i = 0; i < 32; i++)
            if (live >> i & 1 && round < (s->imm & 3) + (w->v[s->a][i] & 3))
                stay |= 1u << i;
        live = w->active = stay;
        if (live)
            run(s->then, w, &live);
    }
    w->active = entered;
}

static void run(const struct stmt *s, struct warp *w, uint32_t *loop)
{
    for (; s && w->active; s = s->next) {
        uint32_t before = w->active, yes;
        switch (s->kind) {
        case ASSIGN:
            for (int i = 0; i < 32; i++)
                if (w->active >> i & 1)
                    w->v[s->dst][i] = compute(s->op, w->v[s->a][i], s->imm & 1 ? w->v[s->b][i] : s->imm);
            break;
        case IF:
            yes = tested(s, w);
            w->active = yes;
            run(s->then, w, NULL);
            w->active = before & ~yes;
            run(s->other, w, NULL);
            w->active = before;
            break;
        case LOOP: run_loop(s, w); break;
        case BREAK:
            yes = tested(s, w);
            *loop &= ~yes;
            w->active &= ~yes;
            break;
        default: run_warp_op(s, w);
        }
    }
}

void lockstep_run(const struct lockstep *p, uint32_t thread, uint32_t global, uint32_t lanes, const int32_t *in, int32_t *out)
{
    struct warp w = { .active = lanes < 32 ? (1u << lanes) - 1 : ~0u };
    for (uint32_t i = 0; i < lanes; i++) {
        w.v[0][i] = in[global + i];
        w.v[1][i] = (int32_t)(thread + i);
        w.v[2][i] = 3;
        w.v[3][i] = (int32_t)i;
        w.v[4][i] = (int32_t)(global + i);
    }
    run(p->body, &w, NULL);
    for (uint32_t i = 0; i < lanes; i++)
        for (int k = 0; k < LOCKSTEP_VARS; k++)
            out[(global + i) * LOCKSTEP_VARS + (uint32_t)k] = w.v[k][i];
}

/* ---- As SIMT IR */

struct printer {
    struct aw_buf *out;
    int temp, label, leave;
};
#define P(p, ...) aw_buf_printf((p)->out, __VA_ARGS__)

static int load(struct printer *p, int var)
{
    P(p, "  %%t%d = load i32, ptr addrspace(5) %%v%d\n", p->temp, var);
    return p->temp++;
}

static void store(struct printer *p, int t, int var)
{
    P(p, "  store i32 %%t%d, ptr addrspace(5) %%v%d\n", t, var);
}

static int print_compute(struct printer *p, int op, int a, const char *b)
{
    static const char *const ops[] = { "add", "sub", "", "and", "or" };
    if (op == 2) {
        P(p, "  %%t%d = mul i32 %%t%d, 5\n  %%t%d = xor i32 %%t%d, %s\n", p->temp, a, p->temp + 1, p->temp, b);
        p->temp += 2;
    } else if (op == 5) {
        P(p, "  %%t%d = icmp slt i32 %%t%d, %s\n  %%t%d = select i1 %%t%d, i32 %%t%d, i32 %s\n", p->temp, a, b, p->temp + 1,
          p->temp, a, b);
        p->temp += 2;
    } else {
        P(p, "  %%t%d = %s i32 %%t%d, %s\n", p->temp++, ops[op], a, b);
    }
    return p->temp - 1;
}

static int print_test(struct printer *p, const struct stmt *s)
{
    int a = load(p, s->a), b = load(p, s->b), t = p->temp;
    switch (s->op) {
    case 0: P(p, "  %%t%d = icmp slt i32 %%t%d, %%t%d\n", p->temp++, a, b); break;
    case 1: P(p, "  %%t%d = trunc i32 %%t%d to i1\n", p->temp++, a); break;
    case 2:
        P(p, "  %%t%d = xor i32 %%t%d, %%t%d\n  %%t%d = and i32 %%t%d, 3\n  %%t%d = icmp eq i32 %%t%d, 0\n", t, a, b, t + 1, t,
          t + 2, t + 1);
        p->temp += 3;
        break;
    case 3:
        P(p, "  %%t%d = lshr i32 %%t%d, %d\n  %%t%d = trunc i32 %%t%d to i1\n", t, a, s->imm & 7, t + 1, t);
        p->temp += 2;
        break;
    case 4: P(p, "  %%t%d = icmp ugt i32 %%t%d, %d\n", p->temp++, a, s->imm); break;
    default: P(p, "  %%t%d = icmp eq i32 %d, 1\n", p->temp++, s->imm & 1); break;
    }
    return p->temp - 1;
}

static void print_warp_op(struct printer *p, const struct stmt *s)
{
    int t;
    if (s->kind == BALLOT || s->kind == ANY) {
        int c = print_test(p, s);
        t = p->temp++;
        if (s->kind == BALLOT)
            P(p, "  %%t%d = call i32 @aw.ballot(i32 -1, i1 %%t%d)\n", t, c);
        else
            P(p, "  %%t%d = call i1 @aw.vote.any(i32 -1, i1 %%t%d)\n  %%t%d = zext i1 %%t%d to i32\n", t, c, t + 1, t);
        p->temp += s->kind == ANY;
    } else if (s->kind == REDUX) {
        int a = load(p, s->a);
        P(p, "  %%t%d = call i32 @aw.redux.add(i32 -1, i32 %%t%d)\n", p->temp++, a);
    } else {
        int a = load(p, s->a), b = load(p, s->b);
        t = p->temp;
        P(p, "  %%t%d = call i32 @aw.activemask()\n  %%t%d = call i32 @aw.laneid()\n", t, t + 1);
        if (s->op < 3) {
            P(p, "  %%t%d = call {i32,i1} @aw.shfl.bfly(i32 %%t%d, i32 %d, i32 31, i32 -1)\n", t + 2, a, s->imm);
            P(p, "  %%t%d = xor i32 %%t%d, %d\n", t + 3, t + 1, s->imm);
        } else {
            P(p, "  %%t%d = call {i32,i1} @aw.shfl.idx(i32 %%t%d, i32 %%t%d, i32 31, i32 -1)\n", t + 2, a, b);
            P(p, "  %%t%d = and i32 %%t%d, 31\n", t + 3, b);
        }
        P(p, "  %%t%d = lshr i32 %%t%d, %%t%d\n  %%t%d = trunc i32 %%t%d to i1\n", t + 4, t, t + 3, t + 5, t + 4);
        P(p, "  %%t%d = extractvalue {i32,i1} %%t%d, 0\n  %%t%d = select i1 %%t%d, i32 %%t%d, i32 %%t%d\n", t + 6, t + 2, t + 7,
          t + 5, t + 6, a);
        p->temp += 8;
    }
    store(p, p->temp - 1, s->dst);
}

static void print(struct printer *p, const struct stmt *s)
{
    char b[24];
    for (; s; s = s->next) {
        int l = p->label, t, c;
        switch (s->kind) {
        case ASSIGN:
            t = load(p, s->a);
            snprintf(b, sizeof b, s->imm & 1 ? "%%t%d" : "%d", s->imm & 1 ? load(p, s->b) : s->imm);
            store(p, print_compute(p, s->op, t, b), s->dst);
            break;
        case IF:
            p->label += 3;
            c = print_test(p, s);
            P(p, "  br i1 %%t%d, label %%l%d, label %%l%d\nl%d:\n", c, l, l + 1, l);
            print(p, s->then);
            P(p, "  br label %%l%d\nl%d:\n", l + 2, l + 1);
            print(p, s->other);
            P(p, "  br label %%l%d\nl%d:\n", l + 2, l + 2);
            break;
        case LOOP: {
            int outer = p->leave, round = p->label + 3;
            p->label += 4;
            p->leave = l + 2;
            P(p, "  store i32 0, ptr addrspace(5) %%round%d\n  br label %%l%d\nl%d:\n", round, l, l);
            t = load(p, s->a);
            P(p, "  %%t%d = and i32 %%t%d, 3\n  %%t%d = add i32 %%t%d, %d\n  %%t%d = load i32, ptr addrspace(5) %%round%d\n",
              p->temp, t, p->temp + 1, p->temp, s->imm & 3, p->temp + 2, round);
            P(p, "  %%t%d = add i32 %%t%d, 1\n  store i32 %%t%d, ptr addrspace(5) %%round%d\n", p->temp + 3, p->temp + 2,
              p->temp + 3, round);
            P(p, "  %%t%d = icmp slt i32 %%t%d, %%t%d\n  br i1 %%t%d, label %%l%d, label %%l%d\nl%d:\n", p->temp + 4, p->temp + 2,
              p->temp + 1, p->temp + 4, l + 1, l + 2, l + 1);
            p->temp += 5;
            print(p, s->then);
            P(p, "  br label %%l%d\nl%d:\n", l, l + 2);
            p->leave = outer;
            break;
        }
        case BREAK:
            p->label++;
            c = print_test(p, s);
            P(p, "  br i1 %%t%d, label %%l%d, label %%l%d\nl%d:\n", c, p->leave, l, l);
            break;
        default: print_warp_op(p, s);
        }
    }
}

void lockstep_print(const struct lockstep *program, struct aw_buf *ret)
{
    struct printer p = { .out = ret };
    P(&p, "define void @k(ptr addrspace(4) byref([80 x i8]) align 16 %%ka) \"aw-kernel\" \"aw-lifted\" {\n"
          "  %%in = load ptr addrspace(1), ptr addrspace(4) %%ka\n"
      "  %%po = getelementptr i8, ptr addrspace(4) %%ka, i64 8\n  %%out = load ptr addrspace(1), ptr addrspace(4) %%po\n"
      "  %%tid = call i32 @aw.tid.x()\n  %%nt = call i32 @aw.ntid.x()\n  %%cta = call i32 @aw.ctaid.x()\n"
      "  %%g0 = mul i32 %%cta, %%nt\n"
      "  %%g = add i32 %%g0, %%tid\n  %%gl = zext i32 %%g to i64\n  %%q = getelementptr i32, ptr addrspace(1) %%in, i64 %%gl\n"
      "  %%x = load i32, ptr addrspace(1) %%q\n  %%lane = call i32 @aw.laneid()\n");
    for (int i = 0; i < 256; i++)
        P(&p, "  %%round%d = alloca i32, addrspace(5)\n", i);
    static const char *const init[] = { "%x", "%tid", "3", "%lane", "%g" };
    for (int i = 0; i < LOCKSTEP_VARS; i++)
        P(&p, "  %%v%d = alloca i32, addrspace(5)\n  store i32 %s, ptr addrspace(5) %%v%d\n", i, init[i], i);
    print(&p, program->body);
    P(&p, "  %%o = mul i64 %%gl, %d\n", 4 * LOCKSTEP_VARS);
    for (int i = 0; i < LOCKSTEP_VARS; i++)
        P(&p, "  %%f%d = load i32, ptr addrspace(5) %%v%d\n  %%o%d = add i64 %%o, %d\n"
              "  %%r%d = getelementptr i8, ptr addrspace(1) %%out, i64 %%o%d\n"
          "  store i32 %%f%d, ptr addrspace(1) %%r%d\n", i, i, i, 4 * i, i, i, i, i);
    P(&p, "  ret void\n}\ndeclare i32 @aw.tid.x()\ndeclare i32 @aw.ntid.x()\ndeclare i32 @aw.ctaid.x()\n"
          "declare i32 @aw.laneid()\n"
      "declare i32 @aw.activemask()\ndeclare i32 @aw.ballot(i32, i1)\ndeclare i1 @aw.vote.any(i32, i1)\n"
      "declare i32 @aw.redux.add(i32, i32)\n"
      "declare {i32,i1} @aw.shfl.bfly(i32, i32, i32, i32)\ndeclare {i32,i1} @aw.shfl.idx(i32, i32, i32, i32)\n");
}
