/* The hip provider on AMD's own HIP over a simulated card: what kernels print, assert and allocate, and each way in which they
 * can go wrong.  A process for each, because some faults are the end of a card.  usage: test_hip_sim FOLDER SCENARIO; 77: HIP is
 * not there */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <anywarp/env.h>
#include <anywarp/provider.h>

#include "base/status.h"
#include "provider/hip/internal.h"

#define P (&aw_provider_hip)

static int failures;
static const char *folder;

#define CHECK(cond) ((cond) ? (void)0 : failed(__LINE__, #cond))
#define EQ(a, b) \
    ((long long)(a) == (long long)(b) ? (void)0 : failed_equal(__LINE__, #a " == " #b, (long long)(a), (long long)(b)))

static void failed(int line, const char *text)
{
    failures++;
    fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, text);
}

static void failed_equal(int line, const char *text, long long a, long long b)
{
    failed(line, text);
    fprintf(stderr, "    %lld against %lld\n", a, b);
}

/* ---- running a kernel ---- */

static void *arena; /* format at 0, message at 16, as the compiler lays the module's variables out */

static bool spoil; /* the next kernel's last instruction is none */

static char code[1 << 20];

static size_t file_read(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/sim_%s.hsaco", folder, name);
    FILE *f = fopen(path, "rb");
    size_t size = f ? fread(code, 1, sizeof code, f) : 0;
    if (f)
        fclose(f);
    CHECK(size > 0);
    return size;
}

static struct aw_function *function_load(const char *name)
{
    static const char end[4] = { 0, 0, (char)0x81, (char)0xbf }, illegal[4] = { 0, 0, (char)0xff, (char)0xbf };
    struct aw_object *object = NULL;
    struct aw_function *function = NULL;
    size_t size = file_read(name);
    char *at = spoil ? memmem(code, size, end, sizeof end) : NULL; /* s_endpgm */
    CHECK(!spoil || at);
    if (at)
        memcpy(at, illegal, sizeof illegal);
    EQ(P->object_load(0, code, size, &object), AW_OK);
    if (object)
        EQ(P->object_function(object, name, &function), AW_OK);
    if (!function)
        exit(1);
    return function;
}

static int start(struct aw_function *function, struct aw_stream *stream, uint32_t blocks, uint32_t threads, void *out,
                 bool cooperative)
{
    uint64_t args[3] = { (uint64_t)(uintptr_t)out, (uint64_t)(uintptr_t)arena, 0 };
    struct aw_launch launch = { .grid = { blocks, 1, 1 },
                                .block = { threads, 1, 1 },
                                .kernarg = args,
                                .kernarg_size = sizeof args,
                                .cooperative = cooperative };
    return P->launch(0, function, &launch, stream);
}

static void *memory(size_t size)
{
    void *p = NULL;
    EQ(P->mem_alloc(0, size, &p), AW_OK);
    EQ(P->fill(0, p, 0, 1, size, NULL), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    return p;
}

static void arena_make(void)
{
    char bytes[32] = "%u\n";
    memcpy(bytes + 16, "0 < x", 6);
    arena = memory(sizeof bytes);
    EQ(P->copy(0, arena, bytes, sizeof bytes, AW_COPY_H2D, NULL), AW_OK);
    EQ(P->device_sync(0), AW_OK);
}

static void read_back(void *to, const void *from, size_t size)
{
    EQ(P->copy(0, to, from, size, AW_COPY_D2H, NULL), AW_OK);
    EQ(P->device_sync(0), AW_OK);
}

static char caught[1 << 16];

static int catch(int fd, FILE *file, int (*fn)(void *), void *arg)
{
    FILE *to = tmpfile();
    fflush(file);
    int saved = dup(fd);
    dup2(fileno(to), fd);
    int result = fn(arg);
    fflush(file);
    dup2(saved, fd);
    close(saved);
    rewind(to);
    caught[fread(caught, 1, sizeof caught - 1, to)] = '\0';
    fclose(to);
    return result;
}

static int sync_device(void *unused)
{
    (void)unused;
    return P->device_sync(0);
}

/* Starts a kernel that goes wrong, and waits for it: what is said of it may be said before anybody waits. */
struct wrong {
    struct aw_function *function;
    uint32_t blocks, threads;
    void *out;
};

static int start_and_sync(void *what)
{
    const struct wrong *w = what;
    EQ(start(w->function, NULL, w->blocks, w->threads, w->out, false), AW_OK);
    return P->device_sync(0);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- scenarios ---- */

static void test_print(void)
{
    struct aw_stream *s = NULL;
    struct aw_function *f = function_load("prints");
    bool seen[96] = { false };
    int n = 0;
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &s), AW_OK);
    EQ(start(f, s, 1, 96, NULL, false), AW_OK);
    EQ(catch(1, stdout, sync_device, NULL), AW_OK);
    for (char *line = strtok(caught, "\n"); line; line = strtok(NULL, "\n"), n++) {
        unsigned long t = strtoul(line, NULL, 10);
        CHECK(t < 96 && !seen[t]);
        if (t < 96)
            seen[t] = true;
    }
    EQ(n, 96);
    EQ(P->stream_destroy(s), AW_OK);
}

static void test_assert(void)
{
    uint32_t out[128];
    void *p = memory(sizeof out);
    struct wrong w = { function_load("asserts"), 1, 128, p };
    EQ(catch(2, stderr, start_and_sync, &w), AW_ERR_ASSERT);
    CHECK(strcmp(caught, "0 < x:12: 0 < x: block: [0,0,0], thread: [70,0,0] Assertion `0 < x` failed.\n") == 0);
    EQ(P->device_fault(0), AW_ERR_ASSERT);
    EQ(P->copy(0, out, p, sizeof out, AW_COPY_D2H, NULL), AW_OK);
    EQ(P->device_sync(0), AW_ERR_ASSERT);
    for (int t = 0; t < 128; t++) /* the other waves went through the barrier; thread 70's own may have ended before or after */
        if (t < 64 || t >= 96 || t == 70)
            EQ(out[t], t != 70);
    EQ(P->device_reset(0), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    arena_make();
    EQ(start(function_load("prints"), NULL, 1, 1, NULL, false), AW_OK); /* the card works on */
    EQ(catch(1, stdout, sync_device, NULL), AW_OK);
    CHECK(strcmp(caught, "0\n") == 0);
}

/* After a fault that leaves the queue stuck, nothing hangs. */
static void stuck_checks(void *p, int fault)
{
    double begin = seconds();
    char byte;
    EQ(P->device_sync(0), fault);
    EQ(P->device_fault(0), fault);
    EQ(P->copy(0, &byte, p, 1, AW_COPY_D2H, NULL), fault);
    EQ(P->mem_free(0, p), fault);
    EQ(P->device_reset(0), fault);
    CHECK(seconds() - begin < 1);
}

static void test_waits(void)
{
    void *p = memory(4);
    double begin = seconds();
    struct wrong w = { function_load("waits"), 2, 1, p };
    EQ(catch(2, stderr, start_and_sync, &w), AW_ERR_LAUNCH_FAILED);
    CHECK(seconds() - begin < 20);
    CHECK(strstr(caught, "kernel waits") != NULL);
    stuck_checks(p, AW_ERR_LAUNCH_FAILED);
}

static void test_wild(void)
{
    void *p = memory(4);
    struct wrong w = { function_load("wild"), 1, 1, p };
    EQ(catch(2, stderr, start_and_sync, &w), AW_ERR_ILLEGAL_ADDRESS);
    CHECK(strstr(caught, "wild") != NULL && strstr(caught, "address 0x") != NULL);
    stuck_checks(p, AW_ERR_ILLEGAL_ADDRESS);
}

static void test_illegal(void)
{
    void *p = memory(4);
    spoil = true;
    struct wrong w = { function_load("meets"), 1, 1, p };
    EQ(catch(2, stderr, start_and_sync, &w), AW_ERR_ILLEGAL_INSTRUCTION);
    CHECK(strstr(caught, "queue error") != NULL && strstr(caught, "in flight: meets") != NULL);
    stuck_checks(p, AW_ERR_ILLEGAL_INSTRUCTION);
}

/* Code for another card, code that is cut off, and what is no code at all; the card works on. */
static int load_wrong(void *unused)
{
    (void)unused;
    struct aw_object *object = NULL;
    size_t size = file_read("foreign");
    EQ(P->object_load(0, code, size, &object), AW_ERR_NO_BINARY);
    size = file_read("prints");
    for (size_t cut = 0; cut < size; cut += size / 7)
        EQ(P->object_load(0, code, cut, &object), AW_ERR_INVALID_IMAGE);
    memset(code, 'x', size);
    EQ(P->object_load(0, code, size, &object), AW_ERR_INVALID_IMAGE);
    CHECK(object == NULL);
    return P->device_sync(0);
}

static void test_foreign(void)
{
    EQ(catch(2, stderr, load_wrong, NULL), AW_OK);
    CHECK(strcmp(caught, "") == 0);
    EQ(start(function_load("prints"), NULL, 1, 1, NULL, false), AW_OK);
    EQ(catch(1, stdout, sync_device, NULL), AW_OK);
    CHECK(strcmp(caught, "0\n") == 0);
}

static void test_bad_free(void)
{
    void *p = memory(4);
    struct wrong w = { function_load("bad_free"), 1, 1, p };
    EQ(catch(2, stderr, start_and_sync, &w), AW_ERR_LAUNCH_FAILED);
    CHECK(strstr(caught, "kernel bad_free") != NULL);
    EQ(P->device_reset(0), AW_OK);
}

static void test_heap(void)
{
    enum { BLOCKS = 4, THREADS = 128, N = BLOCKS * THREADS };
    static uint32_t out[N];
    void *p = memory(sizeof out);
    struct aw_function *f = function_load("heap");
    EQ(P->limit_set(0, AW_LIMIT_HEAP, 8 << 20), AW_OK);
    for (int run = 0; run < 3; run++) { /* what is freed comes back: otherwise the third finds nothing left */
        EQ(start(f, NULL, BLOCKS, THREADS, p, false), AW_OK);
        EQ(P->device_sync(0), AW_OK);
        read_back(out, p, sizeof out);
        for (int t = 0; t < N; t++)
            EQ(out[t], 0);
    }
    EQ(P->device_reset(0), AW_OK);
    arena_make();
    p = memory(sizeof out);
    EQ(P->limit_set(0, AW_LIMIT_HEAP, 300 << 10), AW_OK); /* too little: malloc gives NULL, and nothing is torn */
    EQ(start(function_load("heap"), NULL, BLOCKS, THREADS, p, false), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    read_back(out, p, sizeof out);
    uint32_t failed_mallocs = 0;
    for (int t = 0; t < N; t++) {
        EQ(out[t] >> 16, 0);
        failed_mallocs += out[t] & 0xffff;
    }
    CHECK(failed_mallocs > 0);
}

static void test_cooperative(void)
{
    uint32_t n = 0;
    void *p = memory(4);
    struct aw_function *f = function_load("meets");
    EQ(start(f, NULL, 32, 64, p, true), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    read_back(&n, p, 4);
    EQ(n, 32 * 64);
    EQ(start(f, NULL, 1000000, 64, p, true), AW_ERR_COOPERATIVE_TOO_LARGE);
}

static void test_values(void)
{
    struct aw_stream *a = NULL, *b = NULL;
    uint32_t *host = NULL, value = 0;
    void *h = NULL, *p = memory(64);
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &a), AW_OK);
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &b), AW_OK);
    EQ(P->stream_write_value(0, a, p, 77, 4), AW_OK);
    EQ(P->stream_sync(0, a), AW_OK);
    read_back(&value, p, 4);
    EQ(value, 77);
    EQ(P->host_alloc(0, 4096, AW_HOST_MAPPED, &h), AW_OK);
    host = h;
    memset(host, 0, 4096);
    int status = P->stream_wait_value(0, b, host, 5, 4, AW_WAIT_GEQ, NULL);
    if (status == AW_ERR_NOT_SUPPORTED || status == AW_ERR_INVALID_VALUE)
        return; /* this HIP waits on memory of its own kind only */
    EQ(status, AW_OK);
    usleep(20000);
    EQ(P->stream_query(0, b), AW_ERR_NOT_READY);
    __atomic_store_n(host, 6, __ATOMIC_RELEASE);
    EQ(P->stream_sync(0, b), AW_OK);
}

static void on_call(void *user)
{
    __atomic_store_n((int *)user, 1, __ATOMIC_RELEASE);
}

static void test_order(void)
{
    static char big[3 << 20], back[3 << 20];
    struct aw_stream *s = NULL;
    struct aw_event *begin = NULL, *end = NULL;
    int called = 0;
    float ms = -1;
    void *p = memory(sizeof big), *m = NULL;
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (char)(i * 7 + i / 1000);
    EQ(P->stream_create(0, 0, -1, &s), AW_OK);
    EQ(P->event_create(0, 0, &begin), AW_OK);
    EQ(P->event_create(0, 0, &end), AW_OK);
    EQ(P->event_record(0, begin, s), AW_OK);
    EQ(P->copy(0, p, big, sizeof big, AW_COPY_H2D, s), AW_OK);
    for (int i = 0; i < 100; i++) { /* pageable: the source changes at once */
        uint32_t number = (uint32_t)i;
        EQ(P->copy_pageable(0, (char *)p + 4 * i, &number, 4, s), AW_OK);
        number = 0xffffffff;
    }
    for (int i = 0; i < 100; i++)
        memcpy(big + 4 * i, &(uint32_t){ (uint32_t)i }, 4);
    EQ(P->fill(0, (char *)p + 1001, 0x5a, 1, 5, s), AW_OK);
    memset(big + 1001, 0x5a, 5);
    EQ(P->event_record(0, end, s), AW_OK);
    EQ(P->stream_callback(0, s, on_call, &called), AW_OK);
    EQ(P->copy(0, back, p, sizeof back, AW_COPY_D2H, s), AW_OK);
    EQ(P->stream_sync(0, s), AW_OK);
    CHECK(memcmp(big, back, sizeof big) == 0);
    EQ(__atomic_load_n(&called, __ATOMIC_ACQUIRE), 1);
    EQ(P->event_sync(end), AW_OK);
    EQ(P->event_elapsed(begin, end, &ms), AW_OK);
    CHECK(ms >= 0);
    EQ(P->managed_alloc(0, 4096, &m), AW_OK);
    memset(m, 3, 4096);
    EQ(P->copy(0, p, m, 4096, AW_COPY_D2D, s), AW_OK);
    EQ(P->stream_sync(0, s), AW_OK);
    read_back(back, p, 4096);
    CHECK(back[0] == 3 && back[4095] == 3);
    EQ(P->mem_free(0, m), AW_OK);
    EQ(P->event_destroy(begin), AW_OK);
    EQ(P->event_destroy(end), AW_OK);
    EQ(P->stream_destroy(s), AW_OK);
    EQ(P->mem_free(0, p), AW_OK);
    EQ(P->mem_alloc(0, (size_t)1 << 46, &p), AW_ERR_OUT_OF_MEMORY);
}

/* Each level down has its number and 1 more, when none has another's memory. */
static int descend(struct aw_function *f, void *p, uint32_t depth)
{
    enum { THREADS = 40 };
    uint64_t args[4] = { (uint64_t)(uintptr_t)p, depth };
    struct aw_launch launch = { .grid = { 1, 1, 1 }, .block = { THREADS, 1, 1 }, .kernarg = args, .kernarg_size = sizeof args };
    uint32_t out[THREADS] = { 0 };
    EQ(P->launch(0, f, &launch, NULL), AW_OK);
    int status = P->device_sync(0);
    if (status != AW_OK)
        return status;
    read_back(out, p, sizeof out);
    for (unsigned t = 0; t < THREADS; t++)
        EQ(out[t], depth * (depth + 1) / 2 + depth);
    return status;
}

/* As deep as a larger limit allowed. */
static int descend_too_far(void *what)
{
    const struct wrong *w = what;
    return descend(w->function, w->out, 240);
}

static void test_stack(void)
{
    struct aw_function *f = function_load("descends");
    void *p = memory(4096);
    int before = 0, after = 0;
    EQ(P->function_attr(f, AW_FN_LOCAL_BYTES, &before), AW_OK);
    EQ(descend(f, p, 30), AW_OK); /* CUDA's default of 1 KiB reaches so far */
    EQ(P->limit_set(0, AW_LIMIT_STACK, 12 << 10), AW_OK);
    EQ(descend(f, p, 240), AW_OK); /* code that is loaded already */
    EQ(P->function_attr(f, AW_FN_LOCAL_BYTES, &after), AW_OK);
    CHECK(after > before);
    EQ(P->limit_set(0, AW_LIMIT_STACK, 1 << 10), AW_OK);
    EQ(P->device_reset(0), AW_OK);
    arena_make();
    struct wrong w = { function_load("descends"), 1, 1, memory(4096) };
    EQ(catch(2, stderr, descend_too_far, &w), AW_ERR_ILLEGAL_ADDRESS); /* the limit is 1 KiB again */
}

/* Every block ran once, and knows where it is, in as many launches as it takes. */
static void places_check(struct aw_function *f, uint32_t *p, uint32_t blocks)
{
    enum { ROWS = 3, MOST = 100 };
    uint64_t args[3] = { (uint64_t)(uintptr_t)p };
    struct aw_launch launch = {
        .grid = { blocks, ROWS, 1 }, .block = { 40, 1, 1 }, .kernarg = args, .kernarg_size = sizeof args
    };
    uint32_t out[ROWS * MOST];
    EQ(P->fill(0, p, 0, 4, ROWS * MOST, NULL), AW_OK);
    EQ(P->launch(0, f, &launch, NULL), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    read_back(out, p, sizeof out);
    for (uint32_t y = 0; y < ROWS; y++)
        for (uint32_t x = 0; x < blocks; x++)
            EQ(out[y * blocks + x], x + (y << 16) + (blocks << 20));
}

static void test_parts(void)
{
    struct aw_object *object = NULL;
    struct aw_function *parts = NULL, *plain = function_load("places");
    uint32_t *p = memory(4096);
    EQ(P->object_load(0, code, file_read("parts"), &object), AW_OK);
    EQ(P->object_function(object, "places", &parts), AW_OK);
    places_check(plain, p, 100);
    places_check(parts, p, 100);
    aw_hip.grid_most = 1000; /* threads: 25 blocks */
    places_check(parts, p, 100);
    places_check(parts, p, 91);
    places_check(parts, p, 25);
    places_check(plain, p, 25);
    aw_hip.grid_most = 40;
    places_check(parts, p, 7);
    struct aw_launch launch = { .grid = { 2, 1, 1 }, .block = { 40, 1, 1 }, .kernarg = "not looked at", .kernarg_size = 8 };
    EQ(P->launch(0, plain, &launch, NULL), AW_ERR_INVALID_CONFIG);
    launch.cooperative = true;
    launch.grid[0] = 200000000;
    EQ(P->launch(0, parts, &launch, NULL), AW_ERR_COOPERATIVE_TOO_LARGE);
}

static const struct {
    const char *name;
    void (*fn)(void);
} scenarios[] = {
    { "print", test_print },
    { "assert", test_assert },
    { "waits", test_waits },
    { "wild", test_wild },
    { "illegal", test_illegal },
    { "foreign", test_foreign },
    { "bad_free", test_bad_free },
    { "heap", test_heap },
    { "cooperative", test_cooperative },
    { "values", test_values },
    { "order", test_order },
    { "stack", test_stack },
    { "parts", test_parts },
};

int main(int argc, char **argv)
{
    const char *why = NULL;
    if (argc != 3)
        return 2;
    folder = argv[1];
    alarm(100); /* a hang is a failure, too */
    if (P->open(&why) != AW_OK) {
        fprintf(stderr, "%s\n", why);
        return strstr(why, "not installed") ? 77 : 1;
    }
    arena_make();
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(argv[2], scenarios[i].name) != 0)
            continue;
        scenarios[i].fn();
        fprintf(stderr, failures ? "%d FAILED\n" : "passed\n", failures);
        return failures != 0;
    }
    return 2;
}
