/* The tests of `anywarp doctor --report` but those of the memory model.  Each compares what its kernels leave with what is
 * computed here. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 256, WORDS = 4096 };
enum { LIMIT_STACK = 0, ATTR_CLOCK = 13, ATTR_COOPERATIVE = 95 };

__asm__(".pushsection .rodata\n"
        ".globl report_kernels\n"
        ".hidden report_kernels\n"
        "report_kernels:\n"
        "    .incbin \"" AW_REPORT_KERNELS "\"\n"
        "    .byte 0\n"
        ".popsection");

/* Reads `n` words back and compares them. */
static bool same(struct report_test *t, uint64_t address, const uint32_t *want, size_t n)
{
    uint32_t have[WORDS];
    TRY(t, cuMemcpyDtoH_v2, have, address, n * sizeof *have);
    for (size_t i = 0; i < n; i++)
        if (have[i] != want[i])
            return report_fail(t, "word %zu of %zu is 0x%08x instead of 0x%08x", i, n, have[i], want[i]);
    return true;
}

static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8 ^ *state << 13;
}

static bool test_stores(struct report_test *t)
{
    uint64_t out;
    uint32_t want[WORDS];
    for (uint32_t i = 0; i < WORDS; i++)
        want[i] = i < 4000 ? 3 * i + 16 : 0;
    return report_memory(t, sizeof want, &out) && report_launch(t, "stores", 16, THREADS, (uint64_t[]){ out, 4000 }) &&
           report_launch(t, "stores", 16, THREADS, (uint64_t[]){ out, 4000 }) && same(t, out, want, WORDS);
}

static void word(uint32_t *to, const void *from, size_t size)
{
    memcpy(to, from, size);
}

static bool test_computes(struct report_test *t)
{
    float in[2 * THREADS];
    uint32_t want[8 * THREADS], bits[2], seed = 12345;
    uint64_t out, from;
    for (size_t i = 0; i < 2 * THREADS; i++) /* of both signs, up to 2^23 */
        in[i] = ldexpf((float)((int32_t)random_next(&seed) | 1), (int)(random_next(&seed) % 16) - 23);
    for (size_t i = 0; i < THREADS; i++) {
        float x = in[2 * i], y = in[2 * i + 1], r[4] = { x + y, fmaf(x, y, 1.5f), x / y, sqrtf(fabsf(x)) };
        int32_t whole = (int32_t)lrintf(x);
        double d = (double)x / (double)y;
        word(want + 8 * i, r, sizeof r);
        word(want + 8 * i + 4, &whole, 4);
        word(bits, &in[2 * i], 8);
        want[8 * i + 5] = (uint32_t)((uint64_t)bits[0] * bits[1] >> 32);
        word(want + 8 * i + 6, &d, 8);
    }
    if (!report_memory(t, sizeof want, &out) || !report_memory(t, sizeof in, &from))
        return false;
    TRY(t, cuMemcpyHtoD_v2, from, in, sizeof in);
    return report_launch(t, "computes", 1, THREADS, (uint64_t[]){ out, from }) && same(t, out, want, 8 * THREADS);
}

static bool test_exchanges(struct report_test *t)
{
    uint32_t v[THREADS], w[THREADS], seed = 77;
    uint64_t out, in;
    for (size_t i = 0; i < THREADS; i++)
        v[i] = random_next(&seed);
    if (!report_memory(t, sizeof v, &out) || !report_memory(t, sizeof v, &in))
        return false;
    TRY(t, cuMemcpyHtoD_v2, in, v, sizeof v);
    for (unsigned k = 1; k < 256; k *= 2) {
        for (unsigned i = 0; i < THREADS; i++)
            w[i] = v[i] * 5 + v[(i + k) % THREADS];
        memcpy(v, w, sizeof v);
    }
    return report_launch(t, "exchanges", 1, THREADS, (uint64_t[]){ out, in }) && same(t, out, v, THREADS);
}

static bool test_warps(struct report_test *t)
{
    uint32_t want[4 * THREADS];
    uint64_t out;
    for (uint32_t i = 0; i < THREADS; i++) {
        want[4 * i] = 7 * (i ^ 5);
        want[4 * i + 1] = 0xaaaaaaaa;
        want[4 * i + 2] = 15u << (i & 28);
        want[4 * i + 3] = 32 * (i & ~31u) + 496;
    }
    return report_memory(t, sizeof want, &out) && report_launch(t, "warps", 1, THREADS, &out) && same(t, out, want, 4 * THREADS);
}

static bool test_uneven(struct report_test *t)
{
    uint32_t want[THREADS];
    uint64_t out;
    for (uint32_t i = 0; i < THREADS; i++) {
        want[i] = 0;
        for (uint32_t x = i + 1; x > 1; x = x & 1 ? 3 * x + 1 : x / 2)
            want[i]++;
    }
    return report_memory(t, sizeof want, &out) && report_launch(t, "uneven", 1, THREADS, &out) && same(t, out, want, THREADS);
}

static bool test_updates(struct report_test *t)
{
    enum { BLOCKS = 24 };
    uint32_t n = BLOCKS * THREADS, want[4] = { n * (n - 1) / 2, n - 1, 0, n * (n - 1) / 2 };
    uint64_t out;
    for (uint32_t i = 0; i < n; i++)
        want[2] ^= i;
    return report_memory(t, sizeof want, &out) && report_launch(t, "updates", BLOCKS, THREADS, &out) && same(t, out, want, 4);
}

/* CUDA's default reaches some 30 calls down; ten times as much ten times as far. */
static bool test_descends(struct report_test *t)
{
    static const struct {
        uint32_t depth;
        size_t limit;
    } runs[] = { { 30, 0 }, { 200, 12 << 10 } };
    uint64_t out;
    uint32_t want[64];
    if (!report_memory(t, sizeof want, &out))
        return false;
    for (int i = 0; i < 2; i++) {
        if (runs[i].limit)
            TRY(t, cuCtxSetLimit, LIMIT_STACK, runs[i].limit);
        for (int k = 0; k < 64; k++)
            want[k] = runs[i].depth * (runs[i].depth + 1) / 2 + runs[i].depth;
        if (!report_launch(t, "descends", 1, 64, (uint64_t[]){ out, runs[i].depth }) || !same(t, out, want, 64))
            return false;
    }
    report_say(t, "30 calls down, 200 with a limit of 12 KiB");
    return true;
}

static bool test_prints(struct report_test *t)
{
    return report_launch(t, "prints", 1, 40, NULL);
}

/* The kernel ends the context with one of CUDA's codes. */
static bool ends(struct report_test *t, const char *kernel, const uint64_t *args, int want)
{
    int error = 0;
    if (!report_launch_error(t, kernel, 2, 128, args, &error))
        return false;
    if (error != want)
        return report_fail(t, "CUDA error %d instead of %d", error, want);
    report_say(t, "CUDA error %d", error);
    return true;
}

static bool test_asserts(struct report_test *t)
{
    return ends(t, "asserts", NULL, 710);
}

static bool test_traps(struct report_test *t)
{
    return ends(t, "traps", NULL, 719);
}

static bool test_strays(struct report_test *t)
{
    return ends(t, "strays", (uint64_t[]){ 0x123456789000 }, 700);
}

static bool test_allocates(struct report_test *t)
{
    uint32_t want[THREADS];
    uint64_t out;
    for (int i = 0; i < THREADS; i++)
        want[i] = 1;
    return report_memory(t, sizeof want, &out) && report_launch(t, "allocates", 1, THREADS, &out) && same(t, out, want, THREADS);
}

/* Host and kernel take turns with the same memory. */
static bool turns(struct report_test *t, uint64_t address, volatile uint32_t *seen)
{
    for (uint32_t i = 0; i < WORDS; i++)
        seen[i] = i;
    for (uint32_t turn = 1; turn <= 3; turn++) {
        if (!report_launch(t, "doubles", WORDS / THREADS, THREADS, &address))
            return false;
        for (uint32_t i = 0; i < WORDS; i++) {
            uint32_t before = i * ((2u << turn) - 1) + (1u << turn) - 2; /* with the 1 that is added below */
            if (seen[i] != before)
                return report_fail(t, "turn %u: word %u is %u instead of %u", turn, i, seen[i], before);
            seen[i] = seen[i] + 1;
        }
    }
    return true;
}

static bool test_managed(struct report_test *t)
{
    uint64_t p = 0;
    TRY(t, cuMemAllocManaged, &p, WORDS * 4, 1);
    return turns(t, p, (uint32_t *)(uintptr_t)p);
}

static bool test_pinned(struct report_test *t)
{
    void *host = NULL;
    uint64_t p = 0;
    TRY(t, cuMemHostAlloc, &host, WORDS * 4, 2);
    TRY(t, cuMemHostGetDevicePointer_v2, &p, host, 0);
    return turns(t, p, host);
}

/* Of the device's own scope, PCI Express has no maximum: what comes of it is told, and no failure. */
static bool test_hosts(struct report_test *t)
{
    void *host = NULL;
    uint64_t p = 0;
    TRY(t, cuMemHostAlloc, &host, 64, 2);
    TRY(t, cuMemHostGetDevicePointer_v2, &p, host, 0);
    uint32_t *words = memset(host, 0, 64);
    if (!report_launch(t, "hosts", 1, THREADS, &p))
        return false;
    if (words[0] != 32640 || words[1] != 255)
        return report_fail(t, "system scope: sum %u instead of 32640, maximum %u instead of 255", words[0], words[1]);
    report_say(t, "system scope right; device's scope: sum %s, maximum %s", words[2] == 32640 ? "right" : "WRONG",
               words[3] == 255 ? "right" : "WRONG");
    return true;
}

static bool test_copies(struct report_test *t)
{
    size_t size = t->simulated ? 1 << 20 : 64 << 20;
    uint64_t a, b;
    unsigned char *from = malloc(size), *to = malloc(size);
    if (!from || !to)
        return report_fail(t, "out of memory");
    for (size_t i = 0; i < size; i++)
        from[i] = (unsigned char)(i * 7 + i / 1001);
    if (!report_memory(t, size, &a) || !report_memory(t, size, &b))
        return false;
    double begin = report_now();
    TRY(t, cuMemcpyHtoD_v2, a, from, size);
    double up = report_now();
    TRY(t, cuMemcpyDtoD_v2, b, a, size);
    TRY(t, cuCtxSynchronize, );
    double across = report_now();
    TRY(t, cuMemcpyDtoH_v2, to, b, size);
    double down = report_now();
    bool right = memcmp(from, to, size) == 0;
    double gb = (double)size * 1e-6; /* per ms */
    report_say(t, "%zu MiB: %.2f GB/s up, %.2f across, %.2f down", size >> 20, gb / (up - begin), gb / (across - up),
               gb / (down - across));
    free(from);
    free(to);
    return right || report_fail(t, "what came back is not what was sent");
}

static bool test_peers(struct report_test *t)
{
    int count = 0, can = 0, other;
    void *context = NULL;
    uint64_t here, there;
    uint32_t want[64] = { 0 };
    TRY(t, cuDeviceGetCount, &count);
    if (count < 2) {
        t->result->verdict = REPORT_LEFT_OUT;
        report_say(t, "one device");
        return true;
    }
    TRY(t, cuDeviceGet, &other, 1);
    TRY(t, cuDevicePrimaryCtxRetain, &context, other);
    TRY(t, cuDeviceCanAccessPeer, &can, t->device, other);
    if (!report_memory(t, sizeof want, &here))
        return false;
    TRY(t, cuCtxSetCurrent, context);
    if (!report_memory(t, sizeof want, &there))
        return false;
    TRY(t, cuCtxSetCurrent, t->context);
    if (can)
        TRY(t, cuCtxEnablePeerAccess, context, 0);
    for (uint32_t i = 0; i < 64; i++)
        want[i] = 3 * i + 1;
    if (!report_launch(t, "stores", 1, 64, (uint64_t[]){ can ? there : here, 64 }))
        return false;
    TRY(t, cuMemcpyPeer, can ? here : there, can ? t->context : context, can ? there : here, can ? context : t->context,
        sizeof want);
    report_say(t, "%s", can ? "stores into the other's memory, and a copy back" : "a copy; no access to the other's memory");
    return same(t, can ? here : there, want, 64);
}

static bool test_time(struct report_test *t)
{
    enum { WAIT_MS = 20, TRIES = 5 };
    uint64_t out, have[3];
    int khz = 0;
    TRY(t, cuDeviceGetAttribute, &khz, ATTR_CLOCK, t->device);
    if (!report_memory(t, sizeof have, &out) || !report_launch(t, "waits", 1, 1, (uint64_t[]){ out, 0 }))
        return false;
    bool right = false;
    /* A launch takes some of it, or a busy machine; a timer of another rate is off by a factor of 4 and more, every time. */
    for (int i = 0; i < TRIES && !right; i++) {
        if (!report_launch(t, "waits", 1, 1, (uint64_t[]){ out, WAIT_MS * 1000000 }))
            return false;
        TRY(t, cuMemcpyDtoH_v2, have, out, sizeof have);
        double ms = t->result->ms, counted = (double)have[0] * 1e-6;
        report_say(t, "%%globaltimer: %.3f ms in %.3f by the host's clock; %%clock64: %.1f MHz, %.1f by the attribute", counted,
                   ms, (double)have[1] / counted * 1e-3, khz * 1e-3);
        right = counted > ms / 2 && counted < ms * 1.1;
    }
    return right;
}

static bool test_meets(struct report_test *t)
{
    enum { BLOCKS = 8 };
    uint64_t out;
    uint32_t want[2] = { BLOCKS, BLOCKS };
    int can = 0;
    void *function = NULL;
    TRY(t, cuDeviceGetAttribute, &can, ATTR_COOPERATIVE, t->device);
    if (!can) {
        t->result->verdict = REPORT_LEFT_OUT;
        report_say(t, "no cooperative launch here");
        return true;
    }
    if (!report_memory(t, sizeof want, &out))
        return false;
    void *params[] = { &out };
    TRY(t, cuModuleGetFunction, &function, t->module, "meets");
    TRY(t, cuLaunchCooperativeKernel, function, BLOCKS, 1, 1, 64, 1, 1, 0, NULL, params);
    TRY(t, cuCtxSynchronize, );
    return same(t, out, want, 2);
}

const struct report_row report_rows[] = {
    { "indices and stores", test_stores, NULL },
    { "arithmetic", test_computes, NULL },
    { "barriers", test_exchanges, NULL },
    { "warps", test_warps, NULL },
    { "uneven loops", test_uneven, NULL },
    { "atomics", test_updates, NULL },
    { "recursion", test_descends, NULL },
    { "printf", test_prints, "thread 39: 9.750\n" },
    { "assert", test_asserts, "thread: [70,0,0] Assertion `0 < x` failed." },
    { "trap", test_traps, NULL },
    { "fault", test_strays, NULL },
    { "malloc", test_allocates, NULL },
    { "managed memory", test_managed, NULL },
    { "pinned memory", test_pinned, NULL },
    { "atomics on the host", test_hosts, NULL },
    { "copies", test_copies, NULL },
    { "peers", test_peers, NULL },
    { "time", test_time, NULL },
    { "grid barrier", test_meets, NULL },
    { "litmus passing", report_litmus_passing, NULL },
    { "litmus passing words", report_litmus_passing_words, NULL },
    { "litmus buffering", report_litmus_buffering, NULL },
    { "litmus coherence", report_litmus_coherence, NULL },
    { "litmus in a block", report_litmus_block, NULL },
};
const size_t report_n_rows = sizeof report_rows / sizeof *report_rows;
