/* Tests of blocks: plain kernels, barriers of all kinds, cooperative launches, spinning, printf, the heap. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "provider/host/host.h"

static void test_add(void)
{
    enum { N = 100003 };
    float *a = device_alloc(N * 4), *b = device_alloc(N * 4), *c = device_alloc(N * 4);
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = 2 * (float)i;
    }
    EQ(launch("add", (N + 127) / 128, 128, NULL, 4, c, a, b, (uint64_t)N), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += c[i] != 3 * (float)i;
    EQ(wrong, 0);
    /* 3-D grids number their blocks x first. */
    memset(c, 0, N * 4);
    uint64_t args[] = { (uintptr_t)c, (uintptr_t)a, (uintptr_t)b, N };
    struct aw_launch l = { .grid = { 7, 41, 11 }, .block = { 8, 4, 1 }, .kernarg = args, .kernarg_size = sizeof args };
    EQ(P->launch(0, kernel("add"), &l, NULL), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += c[i] != (i < 7 * 41 * 11 * 32 ? 3 * (float)i : 0);
    EQ(wrong, 0);
    device_free(a);
    device_free(b);
    device_free(c);
}

/* However a grid is divided, each of its blocks runs once: the first launch of a size has no estimate of what a block takes. */
static void test_every_block(void)
{
    static const uint32_t grids[] = { 1, 2, 3, 5, 7, 8, 9, 63, 64, 65, 127, 1000, 4097, 100003 };
    enum { LAUNCHES = 20 };
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        uint32_t n = grids[g] * 32, expect = 0, wrong = 0, *data = device_alloc(n * 4);
        for (int i = 0; i < LAUNCHES; i++) {
            EQ(launch("step", grids[g], 32, NULL, 2, data, (uint64_t)n), AW_OK);
            expect = expect * 3 + 1;
        }
        EQ(P->device_sync(0), AW_OK);
        for (uint32_t i = 0; i < n; i++)
            wrong += data[i] != expect;
        EQ(wrong, 0);
        device_free(data);
    }
}

/* Workers that disturb each other, or do not: whoever comes and goes meanwhile, each block runs once. */
static void test_crowded(void)
{
    enum { BLOCKS = 1000, LAUNCHES = 30 };
    uint32_t *counts = device_alloc(12);
    for (int i = 0; i < LAUNCHES; i++) {
        memset(counts, 0, 12);
        EQ(launch("crowded", BLOCKS, 32, NULL, 2, counts, (uint64_t)(i >= LAUNCHES / 2)), AW_OK);
        EQ(P->device_sync(0), AW_OK);
        EQ(counts[0], 0);
        EQ(counts[1] + counts[2], BLOCKS);
    }
    device_free(counts);
}

/* A launch that is never run, in which each piece takes what `cost` says of so many workers. */
struct crowd {
    struct aw_host_op *op;
    struct aw_host_pace pace;
    struct aw_host_object code;
    uint32_t pieces, alone;            /* run, and of them by one worker */
};

static void crowd_init(struct crowd *c, uint32_t flags)
{
    size_t size = sizeof *c->op + sizeof *c->op->shares;
    memset(c, 0, sizeof *c);
    c->code.flags = flags;
    c->op = aligned_alloc(AW_HOST_APART, size);
    memset(c->op, 0, size);
    c->op->kernel.pace = &c->pace;
    c->op->kernel.code = &c->code;
    c->op->n_shares = 1;
    c->op->shares[0].end = 1000000;    /* enough is left; but nothing is open, so that no worker takes it */
    aw_host_lock();
    aw_host_crowd_begin(c->op);
    aw_host_unlock();
}

static uint64_t cost_alike(uint32_t workers)
{
    (void)workers;
    return 100;
}

static uint64_t cost_crowded(uint32_t workers)
{
    return 100 * workers * workers;
}

static uint64_t thread_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Until `level` is the usual number of workers, or `most` pieces have run; `cost` in ms of processor time. */
static bool crowd_becomes(struct crowd *c, uint64_t (*cost)(uint32_t workers), uint32_t level, uint32_t most)
{
    for (uint32_t i = 0; i < most && c->pace.crowd.level != level; i++) {
        uint32_t workers = c->op->trial.level;
        uint64_t ms = cost(workers);
        c->op->users = workers;
        struct aw_host_stay stay = { .ns = thread_ns() - ms * 1000000, .phase = c->op->trial.phase, .comings = c->op->comings };
        aw_host_crowd_leave(c->op, &stay, ms * 2000000, 1);
        c->pieces++;
        c->alone += workers == 1;
    }
    return c->pace.crowd.level == level;
}

/* Blocks of which one in three takes ten times as long, whoever runs them. */
static uint64_t cost_uneven(uint32_t workers)
{
    static uint32_t n;
    (void)workers;
    return n++ % 3 ? 100 : 1000;
}

static void test_crowd(void)
{
    uint32_t all = aw_host.n_workers;
    struct crowd c;
    if (all == 1)
        return;
    crowd_init(&c, AW_HOST_ATOMIC);
    CHECK(crowd_becomes(&c, cost_crowded, 1, 20 + 20 * all));
    CHECK(crowd_becomes(&c, cost_crowded, all, 3000) == false);  /* it stays there */
    CHECK(c.alone > c.pieces * 9 / 10);
    CHECK(crowd_becomes(&c, cost_alike, all, 20000));            /* and goes when the data has changed */
    free(c.op);
    crowd_init(&c, 0);
    CHECK(!crowd_becomes(&c, cost_alike, 1, 20000));
    CHECK(c.alone > 0 && c.alone < c.pieces / 50);
    CHECK(!crowd_becomes(&c, cost_uneven, 1, 100000));
    free(c.op);
    /* Pieces in which somebody came or went say nothing. */
    crowd_init(&c, AW_HOST_ATOMIC);
    for (int i = 0; i < 100; i++) {
        struct aw_host_stay stay = { .phase = c.op->trial.phase, .comings = c.op->comings + 1 };
        c.op->users = c.op->trial.level;
        aw_host_crowd_leave(c.op, &stay, 1000000, 1);
    }
    EQ(c.op->trial.phase, AW_HOST_USUAL);
    free(c.op);
}

static void test_config(void)
{
    uint64_t args[4] = { 0 };
    uint32_t *out = device_alloc(16);
    struct aw_launch good = { .grid = { 1, 1, 1 }, .block = { 32, 1, 1 }, .kernarg = args, .kernarg_size = 32 }, l;
    EQ(launch("empty", 0, 32, NULL, 0), AW_ERR_INVALID_CONFIG);
    EQ(launch("empty", 1, 0, NULL, 0), AW_ERR_INVALID_CONFIG);
    EQ(launch("empty", 1, 1025, NULL, 0), AW_ERR_INVALID_CONFIG);
    l = good;
    l.block[2] = 65;
    l.block[0] = 1;
    EQ(P->launch(0, kernel("empty"), &l, NULL), AW_ERR_INVALID_CONFIG);
    l = good;
    l.grid[1] = 65536;
    EQ(P->launch(0, kernel("empty"), &l, NULL), AW_ERR_INVALID_CONFIG);
    EQ(P->launch(99, kernel("empty"), &good, NULL), AW_ERR_INVALID_DEVICE);
    /* Dynamic shared memory: 48 KiB with the kernel's own unless allowed. */
    args[0] = (uintptr_t)out;
    l = good;
    l.shared_bytes = 60000;
    EQ(P->launch(0, kernel("shape"), &l, NULL), AW_ERR_INVALID_VALUE);
    EQ(P->function_set_shared(kernel("shape"), 200000), AW_ERR_INVALID_VALUE);
    EQ(P->function_set_shared(kernel("shape"), 160000), AW_OK);
    l.shared_bytes = 160000;
    l.block[0] = 33;
    EQ(P->launch(0, kernel("shape"), &l, NULL), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    EQ(out[0], 160000);
    EQ(out[1], 4112 + 160000);
    EQ(out[2], 33);
    EQ(out[3], 2);
    device_free(out);
}

/* Code for some blocks runs no others. */
static void test_code_for_shapes(void)
{
    static const struct {
        const char *kernel;
        uint32_t block[3];
        int status;
    } cases[] = {
        { "one_shape", { 20, 5, 1 }, AW_OK },
        { "one_shape", { 100, 1, 1 }, AW_ERR_INVALID_CONFIG },
        { "one_shape", { 20, 5, 2 }, AW_ERR_INVALID_CONFIG },
        { "whole_rows", { 32, 1, 1 }, AW_OK },
        { "whole_rows", { 96, 2, 3 }, AW_OK },
        { "whole_rows", { 16, 4, 1 }, AW_ERR_INVALID_CONFIG },
        { "whole_rows", { 100, 1, 1 }, AW_ERR_INVALID_CONFIG },
        { "empty", { 100, 1, 1 }, AW_OK },
    };
    int value;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct aw_launch l = { .grid = { 2, 1, 1 }, .block = { cases[i].block[0], cases[i].block[1], cases[i].block[2] } };
        EQ(P->launch(0, kernel(cases[i].kernel), &l, NULL), cases[i].status);
    }
    EQ(P->device_sync(0), AW_OK);
    EQ(P->function_attr(kernel("one_shape"), AW_FN_MAX_THREADS, &value), AW_OK);
    EQ(value, 100);
    EQ(P->function_attr(kernel("whole_rows"), AW_FN_MAX_THREADS, &value), AW_OK);
    EQ(value, 1024);
    EQ(P->occupancy(kernel("whole_rows"), 128, 0, &value), AW_OK);
    EQ(value > 0, 1);
}

static void test_big_args(void)
{
    struct {
        uint64_t *out;
        unsigned char bytes[4000];
    } args;
    uint64_t *out = device_alloc(8), sum = 0;
    args.out = out;
    for (int i = 0; i < 4000; i++)
        sum += args.bytes[i] = (unsigned char)(i * 7);
    struct aw_launch l = { .grid = { 10, 1, 1 }, .block = { 32, 1, 1 }, .kernarg = &args, .kernarg_size = sizeof args };
    EQ(P->launch(0, kernel("big_args"), &l, NULL), AW_OK);
    memset(&args, 0, sizeof args); /* copied before the call returned */
    EQ(P->device_sync(0), AW_OK);
    EQ(*out, sum * 10);
    device_free(out);
}

static void test_reverse(void)
{
    for (uint32_t threads = 1; threads <= 1024; threads = threads * 2 + 5) {
        uint32_t grid = 37;
        int *data = device_alloc((size_t)grid * threads * 4), wrong = 0;
        for (uint32_t i = 0; i < grid * threads; i++)
            data[i] = (int)i;
        EQ(launch("reverse", grid, threads, NULL, 1, data), AW_OK);
        EQ(P->device_sync(0), AW_OK);
        for (uint32_t i = 0; i < grid * threads; i++)
            wrong += data[i] != (int)(i / threads * threads + threads - 1 - i % threads);
        EQ(wrong, 0);
        device_free(data);
    }
}

/* Many blocks with barriers, so that a worker runs several on the same stacks: indices in three dimensions. */
static void test_block_chain(void)
{
    enum { X = 37, Y = 9, Z = 5, THREADS = 100, N = X * Y * Z * THREADS };
    int32_t *data = device_alloc(N * 4);
    uint64_t args[8] = { (uintptr_t)data };
    struct aw_launch l = { .grid = { X, Y, Z }, .block = { THREADS, 1, 1 }, .shared_bytes = THREADS * 4, .kernarg = args,
                           .kernarg_size = sizeof args };
    for (int i = 0; i < N; i++)
        data[i] = i;
    EQ(P->launch(0, kernel("reverse"), &l, NULL), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += data[i] != i / THREADS * THREADS + THREADS - 1 - i % THREADS;
    EQ(wrong, 0);
    device_free(data);
}

/* What a block leaves at a barrier is not the next block's. */
static void test_leftover(void)
{
    uint32_t *errors = device_alloc(4);
    EQ(launch("leftover", 4000, 128, NULL, 1, errors), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    EQ(*errors, 0);
    device_free(errors);
}

static void test_mixed(void)
{
    enum { BLOCKS = 24, ROUNDS = 60 };
    uint32_t *errors = device_alloc(4), *done = device_alloc(4);
    for (uint32_t warps = 1; warps <= 14; warps++) {
        uint64_t args[8] = { (uintptr_t)errors, warps * 1000, ROUNDS, (uintptr_t)done };
        struct aw_launch l = { .grid = { BLOCKS, 1, 1 }, .block = { warps * 32, 1, 1 }, .shared_bytes = 64, .kernarg = args,
                               .kernarg_size = sizeof args };
        *done = 0;
        EQ(P->launch(0, kernel("mixed"), &l, NULL), AW_OK);
        EQ(P->device_sync(0), AW_OK);
        EQ(*errors, 0);
        EQ(*done, BLOCKS * warps);
    }
    device_free(errors);
    device_free(done);
}

static void test_rounds(void)
{
    uint32_t *errors = device_alloc(4);
    EQ(launch("rounds", 20, 1024, NULL, 2, errors, 100ull), AW_OK);
    EQ(launch("rounds", 3, 96, NULL, 2, errors, 5000ull), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    EQ(*errors, 0);
    device_free(errors);
}

static void test_reduce(void)
{
    uint32_t *out = device_alloc(3 * 8 * 4);
    EQ(launch("reduce", 1, 8 * 32 - 30, NULL, 1, out), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    for (int w = 0; w < 8; w++) {
        EQ(out[w * 3], 0 + 1 + 2 + 3 + 4 + 5 + 6 + 2);
        EQ(out[w * 3 + 1], 0);
        EQ(out[w * 3 + 2], 1);
    }
    device_free(out);
}

static void test_named(void)
{
    uint32_t *out = device_alloc(7 * 4);
    EQ(launch("named", 1, 14 * 32, NULL, 2, out, 1000ull), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    for (int i = 0; i < 7; i++)
        EQ(out[i], 1000);
    device_free(out);
}

static void test_early(void)
{
    uint32_t *out = device_alloc(4);
    EQ(launch("early", 10, 9 * 32, NULL, 1, out), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    EQ(*out, 10 * 5 * 3);
    device_free(out);
}

static void test_cooperative(void)
{
    int sm, per_sm;
    EQ(P->device_attr(0, AW_DEV_MULTIPROCESSORS, &sm), AW_OK);
    EQ(P->occupancy(kernel("gridsync"), 64, 0, &per_sm), AW_OK);
    uint32_t grid = (uint32_t)(sm * per_sm), phases = 20;
    uint32_t *counter = device_alloc(4), *out = device_alloc(grid * 2 * 4);
    EQ(launch_cooperative("gridsync", grid + 1, 64, NULL, 3, counter, out, 1ull), AW_ERR_COOPERATIVE_TOO_LARGE);
    EQ(launch_cooperative("gridsync", grid, 64, NULL, 3, counter, out, (uint64_t)phases), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    for (uint32_t i = 0; i < grid * 2; i++)
        EQ(out[i], phases * grid * 2);
    device_free(counter);
    device_free(out);
}

/* Blocks, and warps of one block, that wait for others without a barrier. */
static void test_spinning(void)
{
    uint32_t *flag = device_alloc(4), *out = device_alloc(4);
    EQ(launch("await_last", 300, 96, NULL, 2, flag, out), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    EQ(*out, 900);
    /* One stream's kernel waits for what the other one's does. */
    struct aw_stream *a, *b;
    *flag = *out = 0;
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &a), AW_OK);
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &b), AW_OK);
    EQ(launch("gate", 64, 64, a, 1, flag), AW_OK);
    EQ(launch("await_last", 10, 32, b, 2, flag, out), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    EQ(*out, 10);
    P->stream_destroy(a);
    P->stream_destroy(b);
    device_free(flag);
    device_free(out);
}

static void test_fpstate(void)
{
    uint32_t *out = device_alloc(8);
    uint32_t odd = 0x7fa0, saved, after; /* round to zero, and more */
    __asm__ volatile("stmxcsr %0; ldmxcsr %1" : "=m"(saved) : "m"(odd));
    for (int i = 0; i < 150; i++) {
        EQ(launch("fpstate", 1, 32, NULL, 1, out), AW_OK);
        EQ(P->device_sync(0), AW_OK);
        EQ(out[0], 0x1f80);
        EQ(out[1], 0x037f);
    }
    __asm__ volatile("stmxcsr %0; ldmxcsr %1" : "=m"(after) : "m"(saved));
    EQ(after & 0xffc0, odd & 0xffc0);
    device_free(out);
}

static int32_t printed(const char *format, const void *args, char *ret_text, size_t size)
{
    int32_t *n = device_alloc(4);
    capture_begin(1);
    launch("print", 1, 32, NULL, 3, format, args, n);
    EQ(P->device_sync(0), AW_OK);
    char *text = capture_end(1);
    snprintf(ret_text, size, "%s", text);
    free(text);
    int32_t result = *n;
    device_free(n);
    return result;
}

#define PRINTS(expect, count, args, ...)                                     \
    do {                                                                     \
        char text_[4096];                                                    \
        EQ(printed((__VA_ARGS__), (args), text_, sizeof text_), (count));    \
        if (strcmp(text_, (expect)) != 0) {                                  \
            CHECK(!"printed text");                                          \
            fprintf(stderr, "    <%s> against <%s>\n", text_, (expect));     \
        }                                                                    \
    } while (0)

static void test_printf(void)
{
    _Alignas(8) struct {
        int32_t i;
        uint32_t u;
        double d;
        const char *s;
        int32_t c;
        int64_t l;
        void *p;
    } a = { -5, 0xdeadbeef, 3.25, "text", 'x', -1234567890123, (void *)0x1234 };
    PRINTS("-5|deadbeef|3.250000|text|x|-1234567890123|0x1234|100%\n", 7, &a, "%d|%x|%f|%s|%c|%lld|%p|100%%\n");
    PRINTS("   -5|3735928559|3.2e+00|   te|x    |-1234567890123", 6, &a, "%5d|%u|%.1e|%5.2s|%-5c|%ld");
    _Alignas(8) int32_t stars[] = { 7, 2, 0, 0, 0, 0, 300, -2, 0x1ffff, 0x180 };
    double pi = 3.14159;
    memcpy(&stars[2], &pi, 8);
    PRINTS("   3.14|00000|+300|-2       |-1|-128", 9, stars, "%*.*f|%.4d%d|%+d|%-9d|%hd|%hhd");
    PRINTS("plain", 0, NULL, "plain");
    PRINTS("50% of", 0, NULL, "50%% of");
    PRINTS("bad %k end", 0, NULL, "bad %k end");
    PRINTS("cut %", 0, NULL, "cut %");
    _Alignas(8) const char *null[] = { NULL, (const char *)(uintptr_t)16 };
    PRINTS("(null)", 1, null, "%s");
    PRINTS("(bad pointer 0x10)", 1, null + 1, "%s");
    char text[64];
    EQ(printed((const char *)(uintptr_t)24, NULL, text, sizeof text), -1); /* no format at all */
    EQ(printed("%d", (const void *)(uintptr_t)24, text, sizeof text), -1);
    char longer[3000];
    memset(longer, 'y', sizeof longer);
    longer[2999] = '\0';
    _Alignas(8) const char *ptr[] = { longer };
    PRINTS(longer, 1, ptr, "%s");
}

/* Kernel output comes at the sync, after what the program printed before it. */
static void test_print_order(void)
{
    int32_t *n = device_alloc(4);
    capture_begin(1);
    printf("before ");
    launch("print", 1, 32, NULL, 3, "kernel ", NULL, n);
    sleep_ms(5);
    printf("between ");
    P->device_sync(0);
    printf("after");
    char *text = capture_end(1);
    CHECK(strcmp(text, "before between kernel after") == 0);
    free(text);
    device_free(n);
}

static void test_heap(void)
{
    uint32_t *out = device_alloc(4);
    EQ(launch("heap", 50, 64, NULL, 1, out), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    EQ(*out, 50 * 2 * 64);
    device_free(out);
}

/* Lanes on stacks of their own: kernels.c says what each result is. */
static void test_lanes(void)
{
    enum { THREADS = 96, RESULTS = 8 };
    uint32_t *out = device_alloc(THREADS * RESULTS * 4), wrong[RESULTS] = { 0 };
    struct aw_launch l = { .grid = { 1, 1, 1 }, .block = { THREADS, 1, 1 }, .shared_bytes = 4 * (THREADS + 1), .kernarg = &out,
                           .kernarg_size = sizeof out };
    EQ(P->launch(0, kernel("lanes"), &l, NULL), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    for (uint32_t t = 0; t < THREADS; t++) {
        const uint32_t *r = out + t * RESULTS, lane = t % 32;
        wrong[0] += r[0] != (lane < 31 ? 1101 + lane : 131);
        wrong[1] += r[1] != (0x49249249 & (lane < 16 ? 0xffff : 0xffff0000));
        wrong[2] += r[2] != (lane ^ 1);
        wrong[3] += r[3] != (lane % 2 ? 32 : 1632);
        wrong[4] += lane < 8 && r[4] != 0xff;
        wrong[5] += r[5] != THREADS - 1 - t;
        wrong[6] += r[6] != THREADS / 32;
        wrong[7] += r[7] != 496;
    }
    for (int i = 0; i < RESULTS; i++)
        EQ(wrong[i], 0);
    device_free(out);
}

const struct test block_tests[] = {
    { "add", test_add },
    { "every_block", test_every_block },
    { "crowded", test_crowded },
    { "crowd", test_crowd },
    { "config", test_config },
    { "code_for_shapes", test_code_for_shapes },
    { "big_args", test_big_args },
    { "reverse", test_reverse },
    { "block_chain", test_block_chain },
    { "leftover", test_leftover },
    { "mixed", test_mixed },
    { "rounds", test_rounds },
    { "reduce", test_reduce },
    { "named", test_named },
    { "early", test_early },
    { "cooperative", test_cooperative },
    { "spinning", test_spinning },
    { "fpstate", test_fpstate },
    { "printf", test_printf },
    { "print_order", test_print_order },
    { "heap", test_heap },
    { "lanes", test_lanes },
    { NULL, NULL },
};
