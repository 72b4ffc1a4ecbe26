/* The host device's tests: runner, helpers, memory and device questions, measurements.
 * usage: test_host DIRECTORY-OF-KERNELS [NAME | bench] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *kernel_dir;
static int failures;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void check_failed(const char *file, int line, const char *text)
{
    __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, text);
}

void check_equal(long long a, long long b, const char *file, int line, const char *text)
{
    if (a == b)
        return;
    check_failed(file, line, text);
    fprintf(stderr, "    %lld (0x%llx) against %lld (0x%llx)\n", a, a, b, b);
}

unsigned char *kernel_bytes(const char *name, size_t *ret_size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.so", kernel_dir, name);
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(2);
    }
    fseek(f, 0, SEEK_END);
    *ret_size = (size_t)ftell(f);
    rewind(f);
    unsigned char *bytes = malloc(*ret_size);
    if (fread(bytes, 1, *ret_size, f) != *ret_size)
        exit(2);
    fclose(f);
    return bytes;
}

struct aw_function *kernel(const char *name)
{
    static struct {
        const char *name;
        struct aw_function *function;
    } loaded[64];
    struct aw_function *function = NULL;
    size_t i, size;
    pthread_mutex_lock(&lock);
    for (i = 0; loaded[i].name; i++) {
        if (strcmp(loaded[i].name, name) == 0)
            function = loaded[i].function;
    }
    if (!function) {
        struct aw_object *object;
        unsigned char *bytes = kernel_bytes(name, &size);
        EQ(P->object_load(0, bytes, size, &object), AW_OK);
        free(bytes);
        EQ(P->object_function(object, name, &function), AW_OK);
        loaded[i].name = name;
        loaded[i].function = function;
    }
    pthread_mutex_unlock(&lock);
    return function;
}

const void *launch_owner;

static int launch_args(const char *name, uint32_t grid, uint32_t threads, struct aw_stream *stream, bool cooperative,
                       unsigned n_args, va_list ap)
{
    uint64_t args[16];
    for (unsigned i = 0; i < n_args; i++)
        args[i] = va_arg(ap, uint64_t);
    struct aw_launch l = { .grid = { grid, 1, 1 }, .block = { threads, 1, 1 }, .kernarg = args, .kernarg_size = n_args * 8,
                           .name = name, .cooperative = cooperative, .owner = launch_owner };
    return P->launch(0, kernel(name), &l, stream);
}

int launch(const char *name, uint32_t grid, uint32_t threads, struct aw_stream *stream, unsigned n_args, ...)
{
    va_list ap;
    va_start(ap, n_args);
    int status = launch_args(name, grid, threads, stream, false, n_args, ap);
    va_end(ap);
    return status;
}

int launch_cooperative(const char *name, uint32_t grid, uint32_t threads, struct aw_stream *stream, unsigned n_args, ...)
{
    va_list ap;
    va_start(ap, n_args);
    int status = launch_args(name, grid, threads, stream, true, n_args, ap);
    va_end(ap);
    return status;
}

void *device_alloc(size_t size)
{
    void *p = NULL;
    EQ(P->mem_alloc(0, size, &p), AW_OK);
    memset(p, 0, size);
    return p;
}

void device_free(void *p)
{
    EQ(P->mem_free(0, p), AW_OK);
}

uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void sleep_ms(unsigned ms)
{
    struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };
    nanosleep(&ts, NULL);
}

static int saved_fd[3], capture_fd[3];

void capture_begin(int fd)
{
    char path[] = "/tmp/anywarp-test-XXXXXX";
    fflush(NULL);
    saved_fd[fd] = dup(fd);
    capture_fd[fd] = mkstemp(path);
    unlink(path);
    dup2(capture_fd[fd], fd);
}

char *capture_end(int fd)
{
    fflush(NULL);
    dup2(saved_fd[fd], fd);
    close(saved_fd[fd]);
    off_t size = lseek(capture_fd[fd], 0, SEEK_END);
    char *text = calloc(1, (size_t)size + 1);
    if (pread(capture_fd[fd], text, (size_t)size, 0) != size)
        CHECK(!"read back");
    close(capture_fd[fd]);
    return text;
}

/* ---- device and memory ---- */

static void test_device(void)
{
    char name[256];
    int value;
    uint8_t uuid[16], again[16];
    int devices = getenv("ANYWARP_HOST_DEVICES") ? atoi(getenv("ANYWARP_HOST_DEVICES")) : 1;
    EQ(P->device_count(), devices);
    EQ(P->device_name(0, name, sizeof name), AW_OK);
    CHECK(strncmp(name, "anywarp host device (", 21) == 0);
    const char *target = P->device_target(0);
    CHECK(strncmp(target, "host:", 5) == 0 && strlen(target) > 5);
    char plain[64];
    size_t len = strlen(target);
    const char *guard = getenv("ANYWARP_HOST_GUARD");
    bool byte = guard && !strcmp(guard, "byte"), exact = byte || (guard && !strcmp(guard, "exact"));
    const char *checks = byte ? ",+check-memory" : ",+check-accesses";
    EQ(len > strlen(checks) && !strcmp(target + len - strlen(checks), checks), exact);
    snprintf(plain, sizeof plain, "%.*s", (int)(len - (exact ? strlen(checks) : 0)), target);
    CHECK(!strchr(plain, ',') || !strcmp(plain, "host:x86-64-v3,+fast-gather") || /* a feature only where it is of use */
          !strcmp(plain, "host:x86-64-v3,+slow-masked-stores") || !strcmp(plain, "host:x86-64-v4,+avx512vpopcntdq") ||
          !strcmp(plain, "host:x86-64-v4,+ask-rows,+avx512vpopcntdq"));
    for (int i = 0; i < AW_DEV_COUNT_; i++)
        EQ(P->device_attr(0, i, &value), AW_OK);
    EQ(P->device_attr(0, AW_DEV_COUNT_, &value), AW_ERR_INVALID_VALUE);
    EQ(P->device_attr(devices, 0, &value), AW_ERR_INVALID_DEVICE);
    EQ(P->device_attr(0, AW_DEV_MULTIPROCESSORS, &value), AW_OK);
    CHECK(value >= 1);
    EQ(P->device_attr(0, AW_DEV_L2_BYTES, &value), AW_OK);
    CHECK(value >= 1 << 20 && value <= 64 << 20); /* a card's, whatever the machine has */
    EQ(P->device_uuid(0, uuid), AW_OK);
    EQ(P->device_uuid(0, again), AW_OK);
    EQ(memcmp(uuid, again, 16), 0);
    size_t left = 0, total = 0;
    EQ(P->device_memory(0, &left, &total), AW_OK);
    CHECK(left > 0 && left <= total);
}

static void test_memory(void)
{
    void *p, *q;
    size_t left, total;
    struct aw_pointer_info info;
    static const size_t sizes[] = { 1, 255, 257, 4096, 65536, 65537, 1 << 20, 5 << 20, (64 << 20) + 1 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        EQ(P->mem_alloc(0, sizes[i], &p), AW_OK);
        EQ((uintptr_t)p % 256, 0);
        ((volatile char *)p)[0] = 1;
        ((volatile char *)p)[sizes[i] - 1] = 1;
        EQ(P->pointer_info((char *)p + sizes[i] - 1, &info), AW_OK);
        CHECK(info.base == p && info.size == sizes[i] && info.device == 0 && !info.managed);
        EQ(P->pointer_info((char *)p + sizes[i], &info), AW_ERR_INVALID_VALUE);
        EQ(P->mem_free(0, (char *)p + 1), AW_ERR_INVALID_VALUE);
        EQ(P->mem_free(0, p), AW_OK);
        EQ(P->mem_free(0, p), AW_ERR_INVALID_VALUE);
        EQ(P->pointer_info(p, &info), AW_ERR_INVALID_VALUE);
    }
    EQ(P->device_memory(0, &left, &total), AW_OK);
    EQ(P->mem_alloc(0, total + 1, &p), AW_ERR_OUT_OF_MEMORY);
    EQ(P->mem_alloc(0, SIZE_MAX - 100, &p), AW_ERR_OUT_OF_MEMORY);
    EQ(P->mem_alloc(0, total / 2 + 1, &p), AW_OK);
    EQ(P->mem_alloc(0, total / 2 + 1, &q), AW_ERR_OUT_OF_MEMORY); /* together more than there is */
    EQ(P->mem_free(0, p), AW_OK);
    EQ(P->host_alloc(0, 1000, AW_HOST_MAPPED, &p), AW_OK);
    EQ(P->pointer_info(p, &info), AW_OK);
    EQ(info.device, -1);
    EQ(P->mem_free(0, p), AW_ERR_INVALID_VALUE);
    EQ(P->host_free(p), AW_OK);
    EQ(P->managed_alloc(0, 1 << 20, &p), AW_OK);
    EQ(P->pointer_info((char *)p + 77, &info), AW_OK);
    CHECK(info.managed && info.device == 0);
    EQ(P->mem_free(0, p), AW_OK);
    char *own = malloc(10000);
    EQ(P->host_register(0, own, 10000, 0, &q), AW_OK);
    CHECK(q == own);
    EQ(P->host_register(0, own + 9999, 10, 0, &q), AW_ERR_HOST_REGISTERED);
    EQ(P->pointer_info(own + 5000, &info), AW_OK);
    CHECK(info.base == own && info.device == -1);
    EQ(P->host_unregister(own), AW_OK);
    EQ(P->host_unregister(own), AW_ERR_HOST_NOT_REGISTERED);
    free(own);
    /* Only memory that is there can be registered: to the last page. */
    char *pages = mmap(NULL, 3 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EQ(munmap(pages + (2 << 16), 1 << 16), 0);
    EQ(P->host_register(0, pages + 5, (2 << 16) - 4, 0, &q), AW_ERR_INVALID_VALUE);
    EQ(P->host_register(0, (void *)16, 4096, 0, &q), AW_ERR_INVALID_VALUE);
    EQ(P->host_register(0, pages + 5, (2 << 16) - 5, 0, &q), AW_OK);
    EQ(P->host_unregister(pages + 5), AW_OK);
    munmap(pages, 2 << 16);
}

/* Random allocations and frees against a plain list; patterns catch overlap. */
/* Elements of one index in large arrays do not compete for the same lines of a cache: none of them begin alike. */
static void test_memory_apart(void)
{
    enum { N = 12, WAY = 64 << 10 };
    const size_t size = (size_t)8 << 20;
    char *p[N];
    for (int i = 0; i < N; i++) {
        p[i] = device_alloc(size);
        EQ((uintptr_t)p[i] % 512, 0);
        for (int k = 0; k < i; k++)
            CHECK(((uintptr_t)p[i] ^ (uintptr_t)p[k]) % WAY != 0);
    }
    for (int i = 0; i < N; i++)
        device_free(p[i]);
}

static void test_memory_random(void)
{
    enum { N = 512 };
    static struct {
        unsigned char *p;
        size_t size;
        unsigned char mark;
    } live[N];
    unsigned seed = (unsigned)now_ns();
    fprintf(stderr, "    seed %u\n", seed);
    srand(seed);
    for (int i = 0; i < 20000; i++) {
        int k = rand() % N;
        if (live[k].p) {
            CHECK(live[k].p[0] == live[k].mark && live[k].p[live[k].size - 1] == live[k].mark);
            struct aw_pointer_info info;
            EQ(P->pointer_info(live[k].p + (size_t)rand() % live[k].size, &info), AW_OK);
            CHECK(info.base == live[k].p && info.size == live[k].size);
            device_free(live[k].p);
            live[k].p = NULL;
            continue;
        }
        live[k].size = 1 + (size_t)rand() % (1u << (8 + rand() % 12));
        live[k].mark = (unsigned char)rand();
        void *p = NULL;
        EQ(P->mem_alloc(0, live[k].size, &p), AW_OK);
        live[k].p = p;
        live[k].p[0] = live[k].p[live[k].size - 1] = live[k].mark;
    }
    for (int k = 0; k < N; k++) {
        if (live[k].p)
            device_free(live[k].p);
        live[k].p = NULL;
    }
}

static void test_objects(void)
{
    size_t size;
    unsigned char *bytes = kernel_bytes("add", &size);
    struct aw_object *object;
    struct aw_function *function;
    int value;
    /* Loaded and unloaded many times: paths and descriptors are used again. */
    for (int i = 0; i < 50; i++) {
        EQ(P->object_load(0, bytes, size, &object), AW_OK);
        EQ(P->object_function(object, "add", &function), AW_OK);
        EQ(P->object_function(object, "sub", &function), AW_ERR_NOT_FOUND);
        EQ(P->object_unload(object), AW_OK);
    }
    capture_begin(2);
    EQ(P->object_load(0, bytes, 0, &object), AW_ERR_INVALID_IMAGE);
    for (size_t cut = 1; cut < size; cut = cut * 5 / 4 + 1) {
        /* Behind the last loaded byte lie only section headers, which nobody needs. */
        if (P->object_load(0, bytes, cut, &object) == AW_OK) {
            CHECK(cut > size / 3);
            P->object_unload(object);
        }
    }
    unsigned char *bad = malloc(size);
    memcpy(bad, bytes, size);
    bad[0] = 0;
    EQ(P->object_load(0, bad, size, &object), AW_ERR_INVALID_IMAGE);
    memcpy(bad, bytes, size);
    bad[18] = 183; /* another machine's */
    EQ(P->object_load(0, bad, size, &object), AW_ERR_INVALID_IMAGE);
    free(bad);
    free(capture_end(2));
    free(bytes);
    EQ(P->function_attr(kernel("add"), AW_FN_SHARED_BYTES, &value), AW_OK);
    EQ(value, 4100);
    EQ(P->function_attr(kernel("add"), AW_FN_MAX_THREADS, &value), AW_OK);
    EQ(value, 1024);
    EQ(P->occupancy(kernel("add"), 256, 0, &value), AW_OK);
    EQ(value, 8);
    EQ(P->occupancy(kernel("add"), 1024, 60 << 10, &value), AW_OK);
    EQ(value, 2);
    EQ(P->occupancy(kernel("add"), 1025, 0, &value), AW_OK);
    EQ(value, 0);
}

/* What one device's default stream waits for holds up neither another's nor who waits for that device. */
static void test_devices(void)
{
    uint8_t uuid[2][16];
    bool can = false;
    if (P->device_count() < 2)
        return;
    EQ(P->device_uuid(0, uuid[0]), AW_OK);
    EQ(P->device_uuid(1, uuid[1]), AW_OK);
    CHECK(memcmp(uuid[0], uuid[1], 16));
    EQ(P->peer_access(0, 1, &can), AW_OK);
    CHECK(can);
    uint32_t *data = device_alloc(4096), *flag = device_alloc(4);
    struct aw_stream *stream;
    EQ(P->stream_create(1, 0, 0, &stream), AW_OK);
    EQ(launch("gate", 1, 32, NULL, 1, flag), AW_OK); /* on device 0 */
    EQ(P->stream_query(0, NULL), AW_ERR_NOT_READY);
    EQ(P->fill(1, data, 7, 4, 1024, NULL), AW_OK);
    EQ(P->fill(1, data + 1, 8, 4, 1, stream), AW_OK);
    EQ(P->fill(1, data + 2, 9, 4, 1, NULL), AW_OK); /* behind the stream's */
    EQ(P->stream_sync(1, NULL), AW_OK);
    EQ(P->device_sync(1), AW_OK);
    EQ(data[0], 7);
    EQ(data[1], 8);
    EQ(data[2], 9);
    EQ(P->stream_query(0, NULL), AW_ERR_NOT_READY);
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    EQ(P->device_sync(0), AW_OK);
    EQ(P->stream_destroy(stream), AW_OK);
    device_free(data);
    device_free(flag);
}

static void fork_child_body(bool expect_fault)
{
    uint32_t *data = device_alloc(4096);
    if (expect_fault) {
        EQ(launch("step", 1, 32, NULL, 2, data, 32), AW_ERR_NOT_INITIALIZED);
        _exit(failures != 0);
    }
    EQ(launch("step", 32, 32, NULL, 2, data, 1024), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    EQ(data[1023], 1);
    _exit(failures != 0);
}

#if defined(__SANITIZE_THREAD__)
/* A child may start threads: that is what test_fork is about. */
const char *__tsan_default_options(void);
__attribute__((visibility("default"))) const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}
#endif

static void test_fork(void)
{
    uint32_t *data = device_alloc(4096), *flag = device_alloc(4);
    int status;
    EQ(launch("step", 32, 32, NULL, 2, data, 1024), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    for (int busy = 0; busy < 2; busy++) {
        if (busy)
            EQ(launch("gate", 1, 32, NULL, 1, flag), AW_OK);
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0)
            fork_child_body(busy);
        EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    EQ(launch("step", 32, 32, NULL, 2, data, 1024), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    EQ(data[0], 4);
    device_free(data);
    device_free(flag);
}

/* Leaves in mid-kernel: exit must neither hang nor crash. */
static void test_exit(void)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        uint32_t *flag = device_alloc(4);
        launch("gate", 4, 64, NULL, 1, flag);
        sleep_ms(20);
        exit(failures != 0);
    }
    EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- measurements ---- */

static double bench_launch(uint32_t *flag, struct aw_stream *s, int n)
{
    /* Behind a gate: the cost of queueing alone. */
    __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
    launch("gate", 1, 32, s, 1, flag);
    struct aw_function *f = kernel("empty");
    uint64_t args[8] = { 0 };
    struct aw_launch l = { .grid = { 64, 1, 1 }, .block = { 128, 1, 1 }, .kernarg = args, .kernarg_size = sizeof args };
    uint64_t begin = now_ns();
    for (int i = 0; i < n; i++)
        P->launch(0, f, &l, s);
    double each = (double)(now_ns() - begin) / n;
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    P->stream_sync(0, s);
    return each;
}

static void bench(void)
{
    struct aw_stream *s;
    uint32_t *flag = device_alloc(4);
    P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &s);
    bench_launch(flag, s, 4000);
    printf("launch, queued            %8.0f ns\n", bench_launch(flag, s, 4000));
    uint64_t begin = now_ns();
    for (int i = 0; i < 20000; i++) {
        launch("empty", 1, 32, s, 0);
        P->stream_sync(0, s);
    }
    printf("launch and sync, 1 block  %8.0f ns\n", (double)(now_ns() - begin) / 20000);
    begin = now_ns();
    for (int i = 0; i < 100000; i++)
        launch("empty", 1, 32, s, 0);
    P->stream_sync(0, s);
    printf("launches back to back     %8.0f ns\n", (double)(now_ns() - begin) / 100000);
    begin = now_ns();
    launch("empty", 10000000, 32, s, 0);
    P->stream_sync(0, s);
    printf("block without barrier     %8.1f ns\n", (double)(now_ns() - begin) / 1e7);
    begin = now_ns();
    launch("switches", 1000000, 32, s, 2, 0, 0);
    P->stream_sync(0, s);
    printf("block with contexts       %8.1f ns\n", (double)(now_ns() - begin) / 1e6);
    for (uint32_t warps = 2; warps <= 32; warps *= 4) {
        uint64_t rounds = 2000000 / warps;
        begin = now_ns();
        launch("switches", 1, warps * 32, s, 2, 0, rounds);
        P->stream_sync(0, s);
        printf("barrier, per warp (%2u)    %8.1f ns\n", warps, (double)(now_ns() - begin) / (double)(rounds * warps));
    }
    begin = now_ns();
    uint32_t *counter = device_alloc(4), *out = device_alloc(4096);
    launch_cooperative("gridsync", 8, 128, s, 3, counter, out, 2000);
    EQ(P->stream_sync(0, s), AW_OK);
    printf("grid sync, 8 blocks of 4  %8.0f ns\n", (double)(now_ns() - begin) / 2000);
    P->stream_destroy(s);
}

static const struct test own_tests[] = {
    { "device", test_device },   { "memory", test_memory }, { "memory_random", test_memory_random },
    { "memory_apart", test_memory_apart },
    { "devices", test_devices },
    { "objects", test_objects }, { "fork", test_fork },     { "exit", test_exit },
    { NULL, NULL },
};

static void run(const struct test *tests, const char *only)
{
    for (; tests->name; tests++) {
        if (only && strcmp(only, tests->name) != 0)
            continue;
        int before = failures;
        fprintf(stderr, "%s\n", tests->name);
        tests->run();
        EQ(P->device_fault(0), AW_OK); /* no test leaves one behind */
        P->device_reset(0);
        if (failures != before)
            fprintf(stderr, "%s FAILED\n", tests->name);
    }
}

int main(int argc, char **argv)
{
    const char *why = NULL;
    if (argc < 2)
        return 2;
    if (strncmp(argv[1], "--chain-", 8) == 0)
        chain_process(strcmp(argv[1], "--chain-handler") == 0);
    kernel_dir = argv[1];
    if (P->open(&why) != AW_OK) {
        fprintf(stderr, "cannot open: %s\n", why);
        return 1;
    }
    if (argc > 2 && strcmp(argv[2], "bench") == 0) {
        bench();
        return failures != 0;
    }
    run(own_tests, argc > 2 ? argv[2] : NULL);
    run(block_tests, argc > 2 ? argv[2] : NULL);
    run(stream_tests, argc > 2 ? argv[2] : NULL);
    run(fault_tests, argc > 2 ? argv[2] : NULL);
    run(limit_tests, argc > 2 ? argv[2] : NULL);
    fprintf(stderr, failures ? "%d FAILED\n" : "all passed\n", failures);
    return failures != 0;
}
