/* The frame that the three versions of a benchmark share: buffers with seeded contents, the checking of results, clocks, and
 * main.  A version is one program: this file, through cuda.h, openmp.h or opencl.h; the work (work.h: sizes, inputs, check); and
 * run(), one repetition of the kernel.  Not a library: each program is one translation unit, C for OpenMP and OpenCL, C++ for
 * CUDA. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_H
#define BENCH_H
#include <float.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

/* A work.h uses few of these. */
#define BENCH_MAYBE static __attribute__((unused))

enum bench_role {
    IN,     /* read only */
    OUT,    /* written; all ones before the first repetition, so that what was left out shows */
    INOUT,  /* read and written; brought back to its first contents before each repetition, outside the measured time */
};

#define BENCH_BUFFERS 12
struct bench_buffer {
    void *host;    /* contents now: inputs, and results once they are fetched */
    void *first;   /* of INOUT: contents before each repetition */
    void *device;  /* what the version's header keeps */
    size_t bytes;
    enum bench_role role;
};

static struct bench {
    struct bench_buffer buffers[BENCH_BUFFERS];
    int count;
    bool small;      /* --small: a size for seeing that it works */
    int reps;
    long units;      /* of a repetition, where the work says what one is; else 1 */
    bool unwaited;   /* what is measured ends when run() returns, not when the device is done */
    double worst;    /* largest error as a share of what is allowed */
    long checked, wrong;
    int counter;     /* perf's instruction counter, or -1 */
} bench;

/* What one work has, beside run(). */
static void setup(void);
static void check(void);
/* What a version has: memory of the device, and waiting for it.  DEVICE is its name in the output. */
static void run(void);
static void device_open(void);
static void device_restore(void);
static void device_wait(void);
static void device_fetch(void);

#define SIZE(full, for_a_test) (bench.small ? (for_a_test) : (full))

/* Ends the program: what was to be measured cannot be. */
BENCH_MAYBE void bench_fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", ROW, what);
    exit(1);
}

/* --- Buffers
 * --------------------------------------------------------------------------------------------------------------------------- */

static void *bench_memory(size_t bytes)
{
    size_t huge = (size_t)2 << 20, align = bytes >= huge ? huge : 64, all = (bytes + align - 1) / align * align;
    void *memory = aligned_alloc(align, all ? all : align);

    if (!memory)
        bench_fail("out of memory");
    if (align == huge)
        madvise(memory, all, MADV_HUGEPAGE);
    return memory;
}

/* Makes buffer `id` (they are made in order, from 0) with undefined contents, but all ones for OUT; the caller fills it. */
BENCH_MAYBE void *buffer(int id, enum bench_role role, size_t bytes)
{
    struct bench_buffer *b = &bench.buffers[id];

    if (id != bench.count || id >= BENCH_BUFFERS)
        bench_fail("buffers must be made in order");
    bench.count++;
    b->role = role;
    b->bytes = bytes;
    b->host = bench_memory(bytes);
    memset(b->host, 0xff, bytes);
    return b->host;
}

/* The host's contents of a buffer: in setup() and check(), and in run() of OpenMP. */
#define HOST(id, type) ((type *)bench.buffers[id].host)
/* What an INOUT buffer held before each repetition: in check(). */
#define FIRST(id, type) ((const type *)bench.buffers[id].first)

/* The same numbers for every version: a hash of the buffer and the index (splitmix64's finaliser). */
BENCH_MAYBE uint64_t random_bits(int id, uint64_t i)
{
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u + (uint64_t)(id + 1) * 0xd1b54a32d192ed03u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

BENCH_MAYBE float random_float(int id, uint64_t i, float low, float high)
{
    return low + (high - low) * (float)(random_bits(id, i) >> 40) * 0x1p-24f;
}

BENCH_MAYBE float *fill_floats(int id, enum bench_role role, size_t count, float low, float high)
{
    float *at = (float *)buffer(id, role, count * sizeof *at);

    for (size_t i = 0; i < count; i++)
        at[i] = random_float(id, i, low, high);
    return at;
}

BENCH_MAYBE double *fill_doubles(int id, enum bench_role role, size_t count, double low, double high)
{
    double *at = (double *)buffer(id, role, count * sizeof *at);

    for (size_t i = 0; i < count; i++)
        at[i] = low + (high - low) * (double)(random_bits(id, i) >> 11) * 0x1p-53;
    return at;
}

/* Whole numbers from 0 to below - 1; below 0 means all 32 bits. */
BENCH_MAYBE uint32_t *fill_ints(int id, enum bench_role role, size_t count, uint32_t below)
{
    uint32_t *at = (uint32_t *)buffer(id, role, count * sizeof *at);

    for (size_t i = 0; i < count; i++)
        at[i] = below ? (uint32_t)((random_bits(id, i) >> 32) * below >> 32) : (uint32_t)random_bits(id, i);
    return at;
}

BENCH_MAYBE void *fill_zero(int id, enum bench_role role, size_t bytes)
{
    return memset(buffer(id, role, bytes), 0, bytes);
}

/* --- Checking
 * -------------------------------------------------------------------------------------------------------------------------- */

static void check_failed(long i, double got, double want)
{
    if (bench.wrong++ < 3)
        fprintf(stderr, "%s: %s: element %ld is %.9g, should be %.9g\n", ROW, DEVICE, i, got, want);
}

/* Element i must differ from `want` by at most `tolerance`. */
BENCH_MAYBE void check_near(long i, double got, double want, double tolerance)
{
    double error = fabs(got - want) / tolerance;

    bench.checked++;
    if (!(error <= 1))
        check_failed(i, got, want);
    else if (error > bench.worst)
        bench.worst = error;
}

BENCH_MAYBE void check_same(long i, int64_t got, int64_t want)
{
    bench.checked++;
    if (got != want)
        check_failed(i, (double)got, (double)want);
}

/* --- Measuring
 * ------------------------------------------------------------------------------------------------------------------------- */

/* An instruction counter of this process's user code and of threads that it will make; where the machine has none, -1. */
static int counter_open(void)
{
    struct perf_event_attr attr;

    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = PERF_COUNT_HW_INSTRUCTIONS;
    attr.exclude_kernel = attr.exclude_hv = attr.inherit = 1;
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static double counter_read(void)
{
    uint64_t count;

    return bench.counter >= 0 && read(bench.counter, &count, sizeof count) == sizeof count ? (double)count : -1;
}

static double clock_ms(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* One repetition.  Under callgrind with --instr-atstart=no, what is measured is all that it counts. */
static void bench_measure(double *wall, double *cpu, double *instructions)
{
    device_restore();
    device_wait();
    CALLGRIND_START_INSTRUMENTATION;
    double count = counter_read(), used = clock_ms(CLOCK_PROCESS_CPUTIME_ID), start = clock_ms(CLOCK_MONOTONIC);
    run();
    if (!bench.unwaited)
        device_wait();
    *wall = clock_ms(CLOCK_MONOTONIC) - start;
    *cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - used;
    *instructions = bench.counter < 0 ? -1 : counter_read() - count;
    CALLGRIND_STOP_INSTRUMENTATION;
    device_wait();
}

static void bench_repeat(void)
{
    double *all = (double *)calloc((size_t)bench.reps * 3, sizeof *all), *wall = all, *cpu = all + bench.reps,
           *count = cpu + bench.reps;

    if (!all)
        bench_fail("out of memory");
    for (int i = 0; i < bench.reps; i++)
        bench_measure(&wall[i], &cpu[i], &count[i]);
    qsort(wall, (size_t)bench.reps, sizeof *wall, compare_doubles);
    qsort(cpu, (size_t)bench.reps, sizeof *cpu, compare_doubles);
    qsort(count, (size_t)bench.reps, sizeof *count, compare_doubles);
    device_fetch();
    check();
    printf("bench row=%s device=%s reps=%d units=%ld min_ms=%.4f median_ms=%.4f cpu_ms=%.4f instructions=%.0f checked=%ld "
           "wrong=%ld worst=%.3f\n",
           ROW, DEVICE, bench.reps, bench.units, wall[0], wall[bench.reps / 2], cpu[0], count[0], bench.checked, bench.wrong,
           bench.worst);
    free(all);
}

int main(int argc, char **argv)
{
    bench.reps = 10;
    bench.units = 1;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--small"))
            bench.small = true;
        else if (!strcmp(argv[i], "--reps") && i + 1 < argc && atoi(argv[i + 1]) > 0)
            bench.reps = atoi(argv[++i]);
        else
            bench_fail("usage: [--small] [--reps N]");
    }
    bench.counter = counter_open();
    setup();
    for (int i = 0; i < bench.count; i++) {
        struct bench_buffer *b = &bench.buffers[i];
        if (b->role == INOUT)
            b->first = memcpy(bench_memory(b->bytes), b->host, b->bytes);
    }
    device_open();
    device_restore();
    run();  /* the first one compiles, makes threads, touches pages */
    device_wait();
    bench_repeat();
    if (!bench.checked)
        bench_fail("nothing was checked");
    return bench.wrong ? 1 : 0;
}
#endif
