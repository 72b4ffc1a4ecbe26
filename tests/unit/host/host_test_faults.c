/* Tests of kernels that go wrong: each gives its error and a message, sticks until reset, and leaves the process alive. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host_test.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* After a launch that fails: the status, sticky everywhere; the message of that many lines; and that a reset heals it. */
static void expect_fault(int status, int lines, const char *const words[])
{
    struct aw_event *e;
    void *p;
    EQ(P->device_sync(0), status);
    char *text = capture_end(2);
    for (int i = 0; words[i]; i++) {
        if (!strstr(text, words[i])) {
            CHECK(!"message");
            fprintf(stderr, "    no <%s> in <%s>\n", words[i], text);
        }
    }
    for (const char *end = text; (end = strchr(end, '\n')); end++)
        lines--;
    EQ(lines, 0);
    free(text);
    EQ(P->device_fault(0), status);
    EQ(launch("empty", 1, 32, NULL, 0), status);
    EQ(P->stream_query(0, NULL), status);
    EQ(P->stream_sync(0, NULL), status);
    p = device_alloc(16);
    EQ(P->fill(0, p, 0, 1, 16, NULL), status);
    EQ(P->event_create(0, 0, &e), AW_OK);
    EQ(P->event_record(0, e, NULL), status);
    EQ(P->event_destroy(e), AW_OK);
    device_free(p);
    EQ(P->device_reset(0), AW_OK);
    uint32_t *data = device_alloc(4096);
    EQ(launch("step", 32, 32, NULL, 2, data, 1024ull), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    EQ(data[1023], 1);
    device_free(data);
}

#define EXPECT_FAULT(status, ...) expect_fault((status), 1, (const char *const[]){ __VA_ARGS__, NULL })

static void test_wild(void)
{
    static const uint64_t addresses[] = { 0, 64, 0xdead0000, 0x7fffffff0000 };
    for (size_t i = 0; i < 4; i++) {
        char text[32] = "(nil)";
        if (addresses[i])
            snprintf(text, sizeof text, "0x%llx", (unsigned long long)addresses[i]);
        capture_begin(2);
        EQ(launch("wild", 5, 64, NULL, 1, addresses[i]), AW_OK);
        EXPECT_FAULT(AW_ERR_ILLEGAL_ADDRESS, "kernel wild", "illegal access", text, "block (");
    }
    capture_begin(2);
    EQ(launch("wild", 1, 32, NULL, 1, 0x4242424242424242ull), AW_OK);
    EXPECT_FAULT(AW_ERR_ILLEGAL_ADDRESS, "kernel wild", "not canonical");
}

static bool exact(void)
{
    const char *text = getenv("ANYWARP_HOST_GUARD");
    return text && (!strcmp(text, "exact") || !strcmp(text, "byte"));
}

/* Just past an allocation, in the next page, or past CUDA's page, below which a card notices nothing; and one that was freed. */
static void test_wild_near(void)
{
    static const size_t sizes[] = { 100000, 4000000, 8 << 20 }, cuda_page = 2 << 20;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *p = device_alloc(sizes[i]);
        uintptr_t past = ((uintptr_t)p + sizes[i] + 4095) & ~(uintptr_t)4095,
                  end = (uintptr_t)p + (sizes[i] + cuda_page - 1) / cuda_page * cuda_page;
        if (!exact()) {
            for (uintptr_t at = (uintptr_t)p + sizes[i]; at < end; at += 12345)
                EQ(launch("wild", 1, 32, NULL, 1, at), AW_OK);
            EQ(launch("wild", 1, 32, NULL, 1, end - 8), AW_OK);
            EQ(P->device_sync(0), AW_OK);
            past = end + (sizes[i] >= 4 << 20 ? cuda_page : 0); /* which may begin within a page */
        }
        capture_begin(2);
        EQ(launch("wild", 1, 32, NULL, 1, past), AW_OK);
        EXPECT_FAULT(AW_ERR_ILLEGAL_ADDRESS, "kernel wild");
        device_free(p);
        capture_begin(2);
        EQ(launch("wild", 1, 32, NULL, 1, p), AW_OK);
        EXPECT_FAULT(AW_ERR_ILLEGAL_ADDRESS, "kernel wild");
    }
}

static void test_wild_barrier(void)
{
    for (int i = 0; i < 20; i++) {
        capture_begin(2);
        EQ(launch("wild_barrier", 8, 256, NULL, 1, 0ull), AW_OK);
        EXPECT_FAULT(AW_ERR_ILLEGAL_ADDRESS, "kernel wild_barrier", "block (2,0,0), warp 2");
    }
}

static void test_wild_shared(void)
{
    /* 4100 bytes: a card gives 5 KiB, and has one of its own. */
    uint64_t last = exact() ? 4159 : 6143;
    EQ(launch("wild_shared", 1, 32, NULL, 1, 4099ull), AW_OK);
    EQ(launch("wild_shared", 1, 32, NULL, 1, last), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    static const int64_t offsets[] = { 0, 20000, 400000, 100000000, INT32_MAX, -4096, -40000, -170000, -400000, -100000000,
                                       INT32_MIN };
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        capture_begin(2);
        EQ(launch("wild_shared", 1, 32, NULL, 1, offsets[i] ? (uint64_t)offsets[i] : last + 1), AW_OK);
        EXPECT_FAULT(AW_ERR_ILLEGAL_ADDRESS, "kernel wild_shared");
    }
}

static void test_unaligned(void)
{
    char *p = device_alloc(4096);
    for (uint64_t form = 0; form < 5; form++) {
        EQ(launch("unaligned", 1, 32, NULL, 2, p + 64, form), AW_OK);
        EQ(P->device_sync(0), AW_OK);
        capture_begin(2);
        EQ(launch("unaligned", 1, 32, NULL, 2, p + 72, form), AW_OK);
        EXPECT_FAULT(AW_ERR_MISALIGNED, "kernel unaligned", "not aligned");
        capture_begin(2);
        EQ(launch("unaligned", 1, 32, NULL, 2, 0x4242424242424240ull, form), AW_OK);
        EXPECT_FAULT(AW_ERR_ILLEGAL_ADDRESS, "kernel unaligned", "not canonical");
    }
    device_free(p);
}

static void *waits_for_all(void *unused)
{
    EQ(P->device_sync(0), AW_ERR_LAUNCH_FAILED);
    return unused;
}

/* Ends what never ends, at any moment, on workers and on a thread that waits; what waits behind it never starts. */
static void test_stop(void)
{
    uint32_t *data = device_alloc(4096);
    EQ(P->device_stop(0, NULL, 0), AW_OK);
    for (int i = 0; i < 40; i++) {
        pthread_t thread;
        bool waits = i % 4 == 3;
        P->fill(0, data, 0, 1, 4096, NULL);
        EQ(P->device_sync(0), AW_OK);
        EQ(launch("forever", 1 + i % 7, 64, NULL, 0), AW_OK);
        EQ(launch("step", 32, 32, NULL, 2, data, 1024ull), AW_OK);
        if (waits)
            pthread_create(&thread, NULL, waits_for_all, NULL);
        if (i % 3)
            sleep_ms(i % 3);
        EQ(P->device_stop(0, NULL, 0), AW_OK);
        EQ(P->device_fault(0), AW_ERR_LAUNCH_FAILED);
        if (waits)
            pthread_join(thread, NULL);
        EQ(data[5], 0);
        EQ(P->device_reset(0), AW_OK);
        EQ(launch("step", 32, 32, NULL, 2, data, 1024ull), AW_OK);
        EQ(P->device_stop(0, NULL, 10000000000ull), AW_OK);
        EQ(P->device_fault(0), AW_OK);
        EQ(data[1023], 1);
    }
    device_free(data);
}

/* Of one owner only: what never ends, what waits behind it, and a wait for a value.  The others' work goes on, before and
 * after. */
static void test_stop_owned(void)
{
    uint32_t *data = device_alloc(4096);
    struct aw_stream *streams[2];
    for (int i = 0; i < 2; i++)
        EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &streams[i]), AW_OK);
    for (int i = 0; i < 20; i++) {
        struct aw_stream *s = i & 1 ? streams[0] : NULL;
        memset(data, 0, 4096);
        launch_owner = data;
        EQ(launch("forever", 1 + i % 7, 64, s, 0), AW_OK);
        EQ(launch("step", 1, 32, s, 2, data, 32ull), AW_OK);
        EQ(P->stream_wait_value(0, streams[0], data + 512, 1, 4, AW_WAIT_EQ, data), AW_OK);
        launch_owner = NULL;
        EQ(P->stream_wait_value(0, streams[1], data + 512, 2, 4, AW_WAIT_EQ, streams), AW_OK);
        EQ(launch("step", 1, 32, s, 2, data + 64, 32ull), AW_OK);
        EQ(launch("step", 1, 32, streams[1], 2, data + 128, 32ull), AW_OK);
        if (i % 3)
            sleep_ms(i % 3);
        EQ(P->device_stop(0, &streams[1], 0), AW_OK); /* has no work */
        EQ(P->device_stop(0, data, 0), AW_OK);
        EQ(P->device_fault(0), AW_OK);
        EQ(P->stream_sync(0, s), AW_OK);
        EQ(P->stream_query(0, streams[1]), AW_ERR_NOT_READY);
        data[512] = 2;
        EQ(P->device_sync(0), AW_OK);
        EQ(data[0], 0);
        EQ(data[64], 1);
        EQ(data[128], 1);
    }
    for (int i = 0; i < 2; i++)
        P->stream_destroy(streams[i]);
    device_free(data);
}

static void test_signals(void)
{
    capture_begin(2);
    EQ(launch("divide", 1, 32, NULL, 0), AW_OK);
    EXPECT_FAULT(AW_ERR_LAUNCH_FAILED, "kernel divide", "arithmetic");
    capture_begin(2);
    EQ(launch("illegal", 1, 32, NULL, 0), AW_OK);
    EXPECT_FAULT(AW_ERR_ILLEGAL_INSTRUCTION, "kernel illegal", "illegal instruction");
}

static void test_overflow(void)
{
    EQ(launch("recurse", 4, 32, NULL, 1, 20ull), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    for (int i = 0; i < 3; i++) {
        capture_begin(2);
        EQ(launch("recurse", 4, 32, NULL, 1, 10000000ull), AW_OK);
        EXPECT_FAULT(AW_ERR_LAUNCH_FAILED, "kernel recurse", "stack overflow");
    }
}

/* Faults are caught on whatever thread waits and helps; that keeps its signal stack, if it has one, and its mask. */
static void *waiting_thread(void *own)
{
    stack_t mine = { .ss_sp = own, .ss_size = own ? 1 << 16 : 0, .ss_flags = own ? 0 : SS_DISABLE }, after;
    sigset_t segv, mask;
    sigemptyset(&segv);
    sigaddset(&segv, SIGSEGV);
    pthread_sigmask(SIG_BLOCK, &segv, NULL);
    sigaltstack(&mine, NULL);
    for (int i = 0; i < 20; i++) {
        capture_begin(2);
        EQ(launch("recurse", 4, 32, NULL, 1, 10000000ull), AW_OK);
        EXPECT_FAULT(AW_ERR_LAUNCH_FAILED, "kernel recurse", "stack overflow");
    }
    sigaltstack(NULL, &after);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    CHECK(!own || after.ss_sp == own);
    CHECK(sigismember(&mask, SIGSEGV) == 1);
    return NULL;
}

static void test_waiting_threads(void)
{
    static char stack[1 << 16];
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, waiting_thread, i & 1 ? stack : NULL);
        pthread_join(thread, NULL);
    }
}

/* Short launches that are waited for run on the caller's thread: their faults are told when it waits, as always. */
static void test_caller_faults(void)
{
    uint32_t *data = device_alloc(64 * 4), wrong = 0;
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 30; i++) {
            EQ(launch("step", 2, 32, NULL, 2, data, 64ull), AW_OK);
            EQ(P->device_sync(0), AW_OK);
        }
        capture_begin(2);
        EQ(launch("step", 2, 32, NULL, 2, (void *)4096, 64ull), AW_OK);
        /* of the first or the second block */
        EXPECT_FAULT(AW_ERR_ILLEGAL_ADDRESS, "kernel step", "illegal access to address 0x10");
    }
    uint32_t expect = 0;
    for (int i = 0; i < 90; i++)
        expect = expect * 3 + 1;
    for (int i = 0; i < 64; i++)
        wrong += data[i] != expect;
    EQ(wrong, 0);
    device_free(data);
}

/* So they are where the thread has blocked the signals meanwhile, as long as it did so not just before. */
static void *blocking_thread(void *data)
{
    sigset_t segv, mask;
    sigemptyset(&segv);
    sigaddset(&segv, SIGSEGV);
    for (int turn = 0; turn < 3; turn++) {
        pthread_sigmask(SIG_UNBLOCK, &segv, NULL);
        for (int i = 0; i < 30; i++) {
            EQ(launch("step", 2, 32, NULL, 2, data, 64ull), AW_OK);
            EQ(P->device_sync(0), AW_OK);
        }
        pthread_sigmask(SIG_BLOCK, &segv, NULL);
        sleep_ms(20);
        capture_begin(2);
        EQ(launch("step", 2, 32, NULL, 2, (void *)4096, 64ull), AW_OK);
        EXPECT_FAULT(AW_ERR_ILLEGAL_ADDRESS, "kernel step", "illegal access to address 0x10");
        pthread_sigmask(SIG_BLOCK, NULL, &mask);
        CHECK(sigismember(&mask, SIGSEGV) == 1);
    }
    return NULL;
}

static void test_blocking_thread(void)
{
    uint32_t *data = device_alloc(64 * 4);
    pthread_t thread;
    pthread_create(&thread, NULL, blocking_thread, data);
    pthread_join(thread, NULL);
    device_free(data);
}

static void test_trap(void)
{
    capture_begin(2);
    EQ(launch("trap", 100, 32, NULL, 0), AW_OK);
    EXPECT_FAULT(AW_ERR_LAUNCH_FAILED, "kernel trap: trap");
    capture_begin(2);
    EQ(launch("assertion", 3, 64, NULL, 0), AW_OK);
    expect_fault(AW_ERR_ASSERT, 2, (const char *const[]){
        "file.cu:12: void kernel(): block: [1,0,0], thread: [33,0,0] Assertion `x > 0` failed.",
        "file.cu:12: void kernel(): block: [1,0,0], thread: [35,0,0] Assertion `x > 0` failed.", NULL });
    capture_begin(2);
    EQ(launch("heap_bad", 1, 32, NULL, 0), AW_OK);
    EXPECT_FAULT(AW_ERR_LAUNCH_FAILED, "kernel heap_bad", "free()");
}

static void test_deadlock(void)
{
    capture_begin(2);
    EQ(launch("deadlock", 3, 128, NULL, 0), AW_OK);
    EXPECT_FAULT(AW_ERR_LAUNCH_FAILED, "kernel deadlock", "barrier 3", "deadlock");
    capture_begin(2);
    EQ(launch("bad_barrier", 3, 128, NULL, 0), AW_OK);
    EXPECT_FAULT(AW_ERR_LAUNCH_FAILED, "kernel bad_barrier", "barrier 16 does not exist");
}

/* Waiting for a value of memory that goes away; and for one that nobody sets any more after a fault. */
static void test_values_fault(void)
{
    struct aw_stream *s;
    uint32_t *value = device_alloc(4);
    void *gone = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &s), AW_OK);
    capture_begin(2);
    EQ(P->stream_wait_value(0, s, gone, 1, 4, AW_WAIT_EQ, NULL), AW_OK);
    sleep_ms(3);
    munmap(gone, 4096);
    EXPECT_FAULT(AW_ERR_ILLEGAL_ADDRESS, "waits for a value at 0x");
    EQ(P->stream_write_value(0, s, gone, 1, 4), AW_ERR_INVALID_VALUE); /* told to the caller: no fault of the device */
    EQ(P->device_fault(0), AW_OK);
    capture_begin(2);
    EQ(P->stream_wait_value(0, s, value, 1, 4, AW_WAIT_EQ, NULL), AW_OK);
    EQ(launch("wild", 1, 32, NULL, 1, 0ull), AW_OK);
    EXPECT_FAULT(AW_ERR_ILLEGAL_ADDRESS, "kernel wild");
    P->stream_destroy(s);
    device_free(value);
}

/* A fault ends blocks that would otherwise wait for ever, and what is queued behind is not run. */
static void test_fault_spreads(void)
{
    uint32_t *flag = device_alloc(4), *counter = device_alloc(4), *out = device_alloc(4096);
    struct aw_stream *s;
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &s), AW_OK);
    EQ(launch("gate", 1, 32, s, 1, flag), AW_OK);
    EQ(launch("wild", 1, 32, s, 1, 0ull), AW_OK);
    EQ(launch("add", 1, 32, s, 4, 0ull, 0ull, 0ull, 1ull), AW_OK);
    EQ(launch("append", 1, 32, s, 3, out, counter, 1ull), AW_OK);
    capture_begin(2);
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    EXPECT_FAULT(AW_ERR_ILLEGAL_ADDRESS, "kernel wild");
    EQ(*counter, 0);
    P->stream_destroy(s);
    device_free(flag);
    device_free(counter);
    device_free(out);
}

static void test_copy_faults(void)
{
    char *d = device_alloc(1 << 20), small[64];
    /* At once: the caller is told, and nothing sticks. */
    EQ(P->copy(0, d, (void *)64, 100, AW_COPY_H2D, NULL), AW_ERR_INVALID_VALUE);
    EQ(P->copy(0, (void *)64, small, 64, AW_COPY_D2H, NULL), AW_ERR_INVALID_VALUE);
    EQ(P->device_fault(0), AW_OK);
    capture_begin(2);
    EQ(P->copy(0, d, (void *)64, 1 << 20, AW_COPY_H2D, NULL), AW_OK);
    EXPECT_FAULT(AW_ERR_ILLEGAL_ADDRESS, "copy of 1048576 bytes");
    device_free(d);
}

static volatile sig_atomic_t chained;

static void own_handler(int sig)
{
    chained = sig;
    _exit(chained == SIGSEGV ? 33 : 1);
}

/* Faults of the program itself go where they went before: to its own handler, or to death by signal. */
static void test_chain(void)
{
    int status;
    const char *why;
    for (int handler = 0; handler < 2; handler++) {
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            alarm(10);
            char dir[4096];
            ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);
            dir[n < 0 ? 0 : n] = '\0';
            /* A fresh process, so that our handlers come after its own. */
            execl(dir, dir, handler ? "--chain-handler" : "--chain-default", (char *)NULL);
            _exit(2);
        }
        EQ(waitpid(pid, &status, 0), pid);
        if (handler)
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 33);
        else
            CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    }
    EQ(P->open(&why), AW_OK); /* a second time is harmless */
}

void chain_process(bool handler)
{
    const char *why;
    int *volatile nowhere = (int *)(uintptr_t)8;
    signal(SIGSEGV, handler ? own_handler : SIG_DFL);
    if (P->open(&why) != AW_OK)
        _exit(3);
    *(volatile int *)nowhere = 1;
    _exit(4);
}

const struct test fault_tests[] = {
    { "wild", test_wild },
    { "wild_near", test_wild_near },
    { "wild_barrier", test_wild_barrier },
    { "wild_shared", test_wild_shared },
    { "unaligned", test_unaligned },
    { "stop", test_stop }, { "stop_owned", test_stop_owned },
    { "signals", test_signals },
    { "overflow", test_overflow },
    { "waiting_threads", test_waiting_threads },
    { "caller_faults", test_caller_faults },
    { "blocking_thread", test_blocking_thread },
    { "trap", test_trap },
    { "deadlock", test_deadlock },
    { "values_fault", test_values_fault },
    { "fault_spreads", test_fault_spreads },
    { "copy_faults", test_copy_faults },
    { "chain", test_chain },
    { NULL, NULL },
};
