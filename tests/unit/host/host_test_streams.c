/* Tests of streams: order, the legacy default stream, events, callbacks, copies, many threads at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host_test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct log {
    uint32_t *entries, *n;
};

static struct log log_create(size_t n)
{
    return (struct log){ device_alloc(n * 4), device_alloc(4) };
}

static void log_destroy(struct log *log)
{
    device_free(log->entries);
    device_free(log->n);
}

static void append(struct log *log, uint32_t value, struct aw_stream *s)
{
    EQ(launch("append", 1, 1, s, 3, log->entries, log->n, (uint64_t)value), AW_OK);
}

static void open_gate(uint32_t *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

static void test_order(void)
{
    enum { N = 3000 };
    struct log log = log_create(N);
    struct aw_stream *s;
    EQ(P->stream_create(0, 0, 0, &s), AW_OK);
    for (uint32_t i = 0; i < N; i++)
        append(&log, i, s);
    EQ(P->stream_sync(0, s), AW_OK);
    EQ(P->stream_query(0, s), AW_OK);
    EQ(*log.n, N);
    int wrong = 0;
    for (uint32_t i = 0; i < N; i++)
        wrong += log.entries[i] != i;
    EQ(wrong, 0);
    P->stream_destroy(s);
    log_destroy(&log);
}

/* Launches that are waited for, and so may run on the caller's thread, keep their place behind those of other streams. */
static void test_waited(void)
{
    enum { TURNS = 100 };
    struct log log = log_create(TURNS * 2 + 1);
    uint32_t *flag = device_alloc(4);
    struct aw_stream *s;
    EQ(P->stream_create(0, 0, 0, &s), AW_OK);
    for (uint32_t i = 0; i < TURNS; i++) {
        append(&log, i * 2, i & 1 ? s : NULL);
        EQ(P->stream_sync(0, i & 1 ? s : NULL), AW_OK);
        EQ(*log.n, i * 2 + 1);
        append(&log, i * 2 + 1, NULL);
        EQ(P->device_sync(0), AW_OK);
        EQ(*log.n, i * 2 + 2);
    }
    EQ(launch("gate", 1, 32, NULL, 1, flag), AW_OK);
    append(&log, TURNS * 2, s); /* behind the default stream's gate */
    sleep_ms(2);
    EQ(*log.n, TURNS * 2);
    open_gate(flag);
    EQ(P->stream_sync(0, s), AW_OK);
    int wrong = 0;
    for (uint32_t i = 0; i <= TURNS * 2; i++)
        wrong += log.entries[i] != i;
    EQ(wrong, 0);
    P->stream_destroy(s);
    device_free(flag);
    log_destroy(&log);
}

/* Is a block of so many cycles, launched on an idle stream, run before the launch returns, by the thread that launches? */
static bool run_here(uint64_t *out, uint64_t cycles)
{
    *out = 0;
    EQ(launch("thread", 1, 1, NULL, 2, out, cycles), AW_OK);
    return __atomic_load_n(out, __ATOMIC_RELAXED) == (uint64_t)(uintptr_t)__builtin_thread_pointer();
}

static void waited_for(uint64_t *out, int n, uint64_t cycles)
{
    while (n--) {
        run_here(out, cycles);
        EQ(P->device_sync(0), AW_OK);
    }
}

/* Launches that take less time than handing them over are run by who launches them, also without waiting.  One that took far
 * longer, as its processor was taken from it, changes nothing; two in a row do.  Busy processors may do that to any. */
static void test_tiny(void)
{
    enum { TURNS = 20, SHORT = 200, LONG = 1000000, ENOUGH = 20 };
    uint64_t *out = device_alloc(8);
    int at_once = 0, after_one = 0, after_two = 0;
    for (int i = 0; i < TURNS; i++) {
        waited_for(out, ENOUGH, SHORT);
        at_once += run_here(out, SHORT) && run_here(out, SHORT);
        waited_for(out, 1, LONG);
        after_one += run_here(out, SHORT);
        EQ(P->device_sync(0), AW_OK);
        waited_for(out, 2, LONG);
        after_two += run_here(out, SHORT);
        EQ(P->device_sync(0), AW_OK);
    }
    CHECK(at_once > TURNS / 2);
    CHECK(after_one > TURNS / 2);
    EQ(after_two, 0);
    device_free(out);
}

/* A blocking stream, the default stream and a free one: who waits for whom. */
static void test_legacy(void)
{
    struct log log = log_create(16);
    uint32_t *flag = device_alloc(4);
    struct aw_stream *blocking, *other, *free_one;
    EQ(P->stream_create(0, 0, 0, &blocking), AW_OK);
    EQ(P->stream_create(0, 0, 0, &other), AW_OK);
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &free_one), AW_OK);
    EQ(launch("gate", 1, 32, blocking, 1, flag), AW_OK);
    append(&log, 1, blocking);
    append(&log, 2, NULL);     /* waits for the gate */
    append(&log, 3, other);    /* waits for the default stream */
    append(&log, 0, free_one); /* waits for nobody */
    EQ(P->stream_sync(0, free_one), AW_OK);
    sleep_ms(10);
    EQ(__atomic_load_n(log.n, __ATOMIC_ACQUIRE), 1);
    EQ(P->stream_query(0, NULL), AW_ERR_NOT_READY);
    EQ(P->stream_query(0, other), AW_ERR_NOT_READY);
    EQ(P->stream_query(0, free_one), AW_OK);
    open_gate(flag);
    EQ(P->stream_sync(0, NULL), AW_OK);
    EQ(P->stream_sync(0, other), AW_OK);
    EQ(*log.n, 4);
    for (uint32_t i = 0; i < 4; i++)
        EQ(log.entries[i], i);
    EQ(P->stream_query(0, NULL), AW_OK);
    /* Syncing the default stream waits for the blocking ones as well. */
    *flag = 0;
    EQ(launch("gate", 1, 32, other, 1, flag), AW_OK);
    EQ(P->stream_query(0, NULL), AW_ERR_NOT_READY);
    open_gate(flag);
    EQ(P->stream_sync(0, NULL), AW_OK);
    EQ(P->stream_query(0, other), AW_OK);
    P->stream_destroy(blocking);
    P->stream_destroy(other);
    P->stream_destroy(free_one);
    device_free(flag);
    log_destroy(&log);
}

static void test_events(void)
{
    struct log log = log_create(16);
    uint32_t *flag = device_alloc(4);
    struct aw_stream *a, *b;
    struct aw_event *begin, *end, *untimed;
    float ms = -1;
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &a), AW_OK);
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &b), AW_OK);
    EQ(P->event_create(0, 0, &begin), AW_OK);
    EQ(P->event_create(0, 0, &end), AW_OK);
    EQ(P->event_create(0, AW_EVENT_NO_TIMING, &untimed), AW_OK);
    EQ(P->event_query(begin), AW_OK); /* never recorded */
    EQ(P->event_elapsed(begin, end, &ms), AW_ERR_INVALID_HANDLE);
    EQ(P->event_record(0, begin, a), AW_OK);
    EQ(P->event_query(begin), AW_OK); /* nothing before it */
    EQ(launch("gate", 1, 32, a, 1, flag), AW_OK);
    append(&log, 0, a);
    EQ(P->event_record(0, end, a), AW_OK);
    EQ(P->event_record(0, untimed, a), AW_OK);
    EQ(P->stream_wait(0, b, end), AW_OK);
    append(&log, 1, b);
    sleep_ms(20);
    EQ(P->event_query(end), AW_ERR_NOT_READY);
    EQ(P->event_elapsed(begin, end, &ms), AW_ERR_NOT_READY);
    EQ(__atomic_load_n(log.n, __ATOMIC_ACQUIRE), 0);
    open_gate(flag);
    EQ(P->event_sync(end), AW_OK);
    EQ(P->event_elapsed(begin, end, &ms), AW_OK);
    CHECK(ms >= 19 && ms < 5000);
    EQ(P->stream_sync(0, b), AW_OK);
    EQ(log.entries[0], 0);
    EQ(log.entries[1], 1);
    EQ(P->event_elapsed(begin, untimed, &ms), AW_ERR_INVALID_HANDLE);
    /* Streams and events may go while they are in use. */
    *flag = 0;
    EQ(launch("gate", 1, 32, a, 1, flag), AW_OK);
    EQ(P->event_record(0, end, a), AW_OK);
    EQ(P->stream_wait(0, b, end), AW_OK);
    append(&log, 2, b);
    EQ(P->event_destroy(end), AW_OK);
    EQ(P->stream_destroy(a), AW_OK);
    EQ(P->stream_destroy(b), AW_OK);
    open_gate(flag);
    EQ(P->device_sync(0), AW_OK);
    EQ(*log.n, 3);
    EQ(P->event_destroy(begin), AW_OK);
    EQ(P->event_destroy(untimed), AW_OK);
    device_free(flag);
    log_destroy(&log);
}

/* Kernels of known length: the events' difference is close to it. */
static void test_event_time(void)
{
    struct aw_event *e[2];
    float ms = 0, total;
    for (int i = 0; i < 2; i++)
        EQ(P->event_create(0, 0, &e[i]), AW_OK);
    uint64_t begin = now_ns();
    EQ(P->event_record(0, e[0], NULL), AW_OK);
    EQ(launch("switches", 4, 64, NULL, 2, 0ull, 20000ull), AW_OK);
    EQ(P->event_record(0, e[1], NULL), AW_OK);
    EQ(P->event_sync(e[1]), AW_OK);
    total = (float)(now_ns() - begin) / 1e6f;
    EQ(P->event_elapsed(e[0], e[1], &ms), AW_OK);
    CHECK(ms > 0 && ms <= total);
    P->event_destroy(e[0]);
    P->event_destroy(e[1]);
}

/* Each comparison: a value that does not do, in a stream that therefore stays busy, and one that does. */
static void test_value_waits(void)
{
    static const struct {
        enum aw_wait how;
        unsigned bytes;
        uint64_t value, before, after;
    } cases[] = {
        { AW_WAIT_GEQ, 4, 5, 4, 5 },
        { AW_WAIT_GEQ, 4, 0x80000001, 5, 0x80000002 }, /* 5 is behind, in a circle */
        { AW_WAIT_GEQ, 4, 0xfffffff0, 0xffffffef, 3 },
        { AW_WAIT_GEQ, 8, 1ull << 40, 7, 1ull << 41 },
        { AW_WAIT_EQ, 4, 9, 10, 9 },
        { AW_WAIT_EQ, 8, 9, 9 | 1ull << 32, 9 },
        { AW_WAIT_AND, 4, 6, 0xfffffff9, 2 },
        { AW_WAIT_AND, 8, 1ull << 63, 1ull << 62, 3ull << 62 },
        { AW_WAIT_NOR, 4, 0xf, 0xfffffff0, 0x7fffffff },
        { AW_WAIT_NOR, 8, 0xf, ~0xfull, 0xffffffff },
    };
    struct aw_stream *s;
    uint64_t *flag = device_alloc(8);
    EQ(P->stream_create(0, 0, 0, &s), AW_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        __atomic_store_n(flag, cases[i].before, __ATOMIC_RELEASE);
        EQ(P->stream_wait_value(0, s, flag, cases[i].value, cases[i].bytes, cases[i].how, NULL), AW_OK);
        sleep_ms(3);
        EQ(P->stream_query(0, s), AW_ERR_NOT_READY);
        __atomic_store_n(flag, cases[i].after, __ATOMIC_RELEASE);
        EQ(P->stream_sync(0, s), AW_OK);
        EQ(P->stream_wait_value(0, s, flag, cases[i].value, cases[i].bytes, cases[i].how, NULL), AW_OK); /* it is there already */
        EQ(P->stream_query(0, s), AW_OK);
    }
    EQ(P->stream_wait_value(0, s, flag, 0, 2, AW_WAIT_EQ, NULL), AW_ERR_INVALID_VALUE);
    EQ(P->stream_wait_value(0, s, (char *)flag + 2, 0, 4, AW_WAIT_EQ, NULL), AW_ERR_INVALID_VALUE);
    EQ(P->stream_wait_value(0, s, flag, 0, 4, (enum aw_wait)4, NULL), AW_ERR_INVALID_VALUE);
    EQ(P->stream_wait_value(0, s, NULL, 0, 4, AW_WAIT_EQ, NULL), AW_ERR_INVALID_VALUE);
    EQ(P->stream_write_value(0, s, (char *)flag + 4, 0, 8), AW_ERR_INVALID_VALUE);
    EQ(P->stream_write_value(99, s, flag, 0, 8), AW_ERR_INVALID_DEVICE);
    P->stream_destroy(s);
    device_free(flag);
}

/* Writes come after what is before them, and waits hold up what is behind them and nothing else. */
static void test_value_order(void)
{
    enum { ROUNDS = 200 };
    struct log log = log_create(2 * ROUNDS + 8);
    uint32_t *flag = device_alloc(4), *values = device_alloc(16);
    struct aw_stream *a, *b, *c;
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &a), AW_OK);
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &b), AW_OK);
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &c), AW_OK);
    EQ(P->stream_write_value(0, a, values, 0x1122334455667788, 4), AW_OK); /* idle: at once, and 4 bytes only */
    EQ(values[0], 0x55667788);
    EQ(values[1], 0);
    EQ(P->stream_write_value(0, a, values, 0x1122334455667788, 8), AW_OK);
    EQ(values[1], 0x11223344);
    values[0] = 0;
    EQ(launch("gate", 1, 32, a, 1, flag), AW_OK);
    append(&log, 0, a);
    EQ(P->stream_write_value(0, a, values, 1, 4), AW_OK);
    EQ(P->stream_wait_value(0, b, values, 1, 4, AW_WAIT_EQ, NULL), AW_OK);
    append(&log, 1, b);
    append(&log, 100, c); /* runs, though both others wait */
    EQ(P->stream_sync(0, c), AW_OK);
    sleep_ms(5);
    EQ(__atomic_load_n(log.n, __ATOMIC_ACQUIRE), 1);
    EQ(__atomic_load_n(values, __ATOMIC_ACQUIRE), 0);
    open_gate(flag);
    EQ(P->stream_sync(0, b), AW_OK);
    EQ(log.entries[1], 0);
    EQ(log.entries[2], 1);
    /* Two streams hand on to each other, and streams may go while they wait. */
    *log.n = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        EQ(P->stream_wait_value(0, b, &values[2], i + 1, 4, AW_WAIT_GEQ, NULL), AW_OK);
        append(&log, 2 * i + 1, b);
        EQ(P->stream_write_value(0, b, &values[3], i + 1, 4), AW_OK);
    }
    for (uint32_t i = 0; i < ROUNDS; i++) {
        EQ(P->stream_wait_value(0, a, &values[3], i, 4, AW_WAIT_GEQ, NULL), AW_OK);
        append(&log, 2 * i, a);
        EQ(P->stream_write_value(0, a, &values[2], i + 1, 4), AW_OK);
    }
    P->stream_destroy(a);
    P->stream_destroy(b);
    EQ(P->device_sync(0), AW_OK);
    EQ(*log.n, 2 * ROUNDS);
    int wrong = 0;
    for (uint32_t i = 0; i < 2 * ROUNDS; i++)
        wrong += log.entries[i] != i;
    EQ(wrong, 0);
    P->stream_destroy(c);
    device_free(flag);
    device_free(values);
    log_destroy(&log);
}

/* A long wait costs next to no processor time. */
static void test_value_idle(void)
{
    uint32_t *value = device_alloc(4);
    struct timespec a, b;
    EQ(P->stream_wait_value(0, NULL, value, 1, 4, AW_WAIT_EQ, NULL), AW_OK);
    sleep_ms(20);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    sleep_ms(200);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    CHECK((b.tv_sec - a.tv_sec) * 1000000000 + (b.tv_nsec - a.tv_nsec) < 20000000);
    EQ(P->stream_query(0, NULL), AW_ERR_NOT_READY);
    __atomic_store_n(value, 1, __ATOMIC_RELEASE);
    EQ(P->stream_sync(0, NULL), AW_OK);
    device_free(value);
}

struct callback {
    struct log *log;
    uint32_t value;
    pthread_t thread;
    int sync_status;
};

static void on_callback(void *user)
{
    struct callback *c = user;
    sleep_ms(3);
    c->thread = pthread_self();
    c->sync_status = P->device_sync(0); /* would wait for itself */
    c->log->entries[__atomic_fetch_add(c->log->n, 1, __ATOMIC_RELAXED)] = c->value;
}

static void test_callbacks(void)
{
    struct log log = log_create(16);
    struct aw_stream *s;
    struct callback c[3] = { { &log, 1 }, { &log, 3 }, { &log, 4 } };
    EQ(P->stream_create(0, 0, 0, &s), AW_OK);
    append(&log, 0, s);
    EQ(P->stream_callback(0, s, on_callback, &c[0]), AW_OK);
    append(&log, 2, s);
    EQ(P->stream_callback(0, s, on_callback, &c[1]), AW_OK);
    EQ(P->stream_callback(0, NULL, on_callback, &c[2]), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    EQ(*log.n, 5);
    for (uint32_t i = 0; i < 5; i++)
        EQ(log.entries[i], i);
    CHECK(!pthread_equal(c[0].thread, pthread_self()));
    EQ(c[0].sync_status, AW_ERR_NOT_PERMITTED);
    P->stream_destroy(s);
    log_destroy(&log);
}

/* ---- Parts of a library's job ---- */

enum { PARTS = 200, INNER = 7 };

struct spread {
    uint32_t count[PARTS], inner; /* how often each part came, and parts of parts */
    bool nested;
};

static void on_inner(void *user, uint32_t part)
{
    struct spread *s = user;
    (void)part;
    __atomic_fetch_add(&s->inner, 1, __ATOMIC_RELAXED);
}

static void on_part(void *user, uint32_t part)
{
    struct spread *s = user;
    __atomic_fetch_add(&s->count[part], 1, __ATOMIC_RELAXED);
    if (s->nested)
        P->spread(INNER, on_inner, s);
}

static void on_job(void *user)
{
    P->spread(PARTS, on_part, user);
    /* All have returned. */
    for (int i = 0; i < PARTS; i++)
        __atomic_fetch_add(&((struct spread *)user)->count[i], 10, __ATOMIC_RELAXED);
}

/* Each part comes once, before the job goes on, from callbacks and inline work, beside kernels and in parts. */
static void test_spread(void)
{
    enum { JOBS = 20 };
    static struct spread jobs[JOBS];
    struct log log = log_create(JOBS);
    struct aw_stream *s, *other;
    memset(jobs, 0, sizeof jobs);
    CHECK(P->spread_threads() >= 1);
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &s), AW_OK);
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &other), AW_OK);
    for (uint32_t i = 0; i < JOBS; i++) {
        jobs[i].nested = i % 3 == 0;
        append(&log, i, other);
        if (i % 2) {
            EQ(P->stream_sync(0, s), AW_OK);
            EQ(P->stream_inline(0, s, on_job, &jobs[i]), AW_OK);
        } else {
            EQ(P->stream_callback(0, s, on_job, &jobs[i]), AW_OK);
        }
    }
    EQ(P->device_sync(0), AW_OK);
    EQ(*log.n, JOBS);
    for (int i = 0; i < JOBS; i++) {
        EQ(jobs[i].inner, jobs[i].nested ? PARTS * INNER : 0);
        int wrong = 0;
        for (int k = 0; k < PARTS; k++)
            wrong += jobs[i].count[k] != 11;
        EQ(wrong, 0);
    }
    P->stream_destroy(s);
    P->stream_destroy(other);
    log_destroy(&log);
}

static void test_copies(void)
{
    static const size_t sizes[] = { 0, 1, 100, 65536, 65537, 1 << 20, (1 << 20) + 1, 10000000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i];
        unsigned char *a = malloc(n + 1), *b = malloc(n + 1), *d = device_alloc(n + 1);
        for (size_t k = 0; k < n; k++)
            a[k] = (unsigned char)(k * 31 + (k >> 8));
        b[n] = d[n] = 77;
        EQ(P->copy(0, d, a, n, AW_COPY_H2D, NULL), AW_OK);
        EQ(P->copy(0, b, d, n, AW_COPY_D2H, NULL), AW_OK);
        EQ(P->stream_sync(0, NULL), AW_OK);
        CHECK(memcmp(a, b, n) == 0 && b[n] == 77 && d[n] == 77);
        free(a);
        free(b);
        device_free(d);
    }
}

static void test_fills(void)
{
    static const size_t counts[] = { 1, 3, 1000, 100001, 3000001 };
    static const uint32_t values[] = { 0, 0xa5a5a5a5, 0x12345678 };
    for (unsigned e = 1; e <= 4; e *= 2) {
        for (size_t i = 0; i < 5; i++) {
            for (size_t v = 0; v < 3; v++) {
                size_t bytes = counts[i] * e, wrong = 0;
                unsigned char *d = device_alloc(bytes + 1);
                d[bytes] = 99;
                EQ(P->fill(0, d, values[v], e, counts[i], NULL), AW_OK);
                EQ(P->stream_sync(0, NULL), AW_OK);
                for (size_t k = 0; k < bytes; k++)
                    wrong += d[k] != (unsigned char)(values[v] >> (k % e * 8));
                EQ(wrong, 0);
                EQ(d[bytes], 99);
                device_free(d);
            }
        }
    }
    EQ(P->fill(0, (void *)16, 0, 3, 1, NULL), AW_ERR_INVALID_VALUE);
}

static void test_copy3d(void)
{
    enum { W = 300, H = 40, D = 9, SP = 320, DP = 307 };
    static const int scale[] = { 1, 40 };
    for (int i = 0; i < 2; i++) {
        size_t h = (size_t)H * (size_t)scale[i];
        unsigned char *src = malloc(SP * (h + 3) * D), *dst = device_alloc(DP * (h + 1) * D);
        for (size_t k = 0; k < SP * (h + 3) * D; k++)
            src[k] = (unsigned char)(1 + k % 251);
        struct aw_copy3d c = { .src = src, .dst = dst, .src_pitch = SP, .dst_pitch = DP, .src_slice = SP * (h + 3),
                               .dst_slice = DP * (h + 1), .width = W, .height = h, .depth = D };
        EQ(P->copy3d(0, &c, NULL), AW_OK);
        EQ(P->stream_sync(0, NULL), AW_OK);
        size_t wrong = 0;
        for (size_t z = 0; z < D; z++) {
            for (size_t y = 0; y < h + 1; y++) {
                for (size_t x = 0; x < DP; x++) {
                    bool inside = y < h && x < W;
                    wrong += dst[z * c.dst_slice + y * DP + x] != (inside ? src[z * c.src_slice + y * SP + x] : 0);
                }
            }
        }
        EQ(wrong, 0);
        free(src);
        device_free(dst);
    }
}

/* The source may change when the call has returned, also where the copy has to wait for its turn. */
static void test_copy_pageable(void)
{
    static const size_t sizes[] = { 1, 512, 513, 5000, 65536 };
    enum { N = sizeof sizes / sizeof *sizes, SLOT = 65536 };
    uint32_t *flag = device_alloc(4);
    unsigned char *dst = device_alloc(N * SLOT), *src = malloc(SLOT);
    struct aw_stream *s;
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &s), AW_OK);
    for (int busy = 0; busy < 2; busy++) {
        *flag = !busy;
        EQ(launch("gate", 1, 32, s, 1, flag), AW_OK);
        if (!busy)
            EQ(P->stream_sync(0, s), AW_OK);
        for (size_t i = 0; i < N; i++) {
            memset(src, (int)(busy * 16 + i + 1), sizes[i]);
            EQ(P->copy_pageable(0, dst + i * SLOT, src, sizes[i], s), AW_OK);
            memset(src, 0xee, sizes[i]);
            EQ(dst[i * SLOT], i + 1); /* in the second round what the first has left */
        }
        EQ(P->copy_pageable(0, dst, (void *)16, 64, s), AW_ERR_INVALID_VALUE);
        EQ(P->copy_pageable(0, dst, src, 65537, s), AW_ERR_NOT_SUPPORTED);
        open_gate(flag);
        EQ(P->stream_sync(0, s), AW_OK);
        for (size_t i = 0; i < N; i++) {
            EQ(dst[i * SLOT], busy * 16 + i + 1);
            EQ(dst[i * SLOT + sizes[i] - 1], busy * 16 + i + 1);
        }
    }
    P->stream_destroy(s);
    free(src);
    device_free(dst);
    device_free(flag);
}

/* Copies and kernels of one stream in alternation, large enough to be split over the workers. */
static void test_copy_order(void)
{
    enum { N = 1 << 20 };
    uint32_t *host = malloc(N * 4), *d = device_alloc(N * 4), *e = device_alloc(N * 4), expect = 5;
    struct aw_stream *s;
    EQ(P->stream_create(0, 0, 0, &s), AW_OK);
    EQ(P->fill(0, d, 5, 4, N, s), AW_OK);
    for (int i = 0; i < 20; i++) {
        EQ(launch("step", N / 256, 256, s, 2, d, (uint64_t)N), AW_OK);
        EQ(P->copy(0, e, d, N * 4, AW_COPY_D2D, s), AW_OK);
        EQ(launch("step", N / 256, 256, s, 2, e, (uint64_t)N), AW_OK);
        EQ(P->copy(0, d, e, N * 4, AW_COPY_D2D, s), AW_OK);
        expect = (expect * 3 + 1) * 3 + 1;
    }
    EQ(P->copy(0, host, d, N * 4, AW_COPY_D2H, s), AW_OK);
    EQ(P->stream_sync(0, s), AW_OK);
    size_t wrong = 0;
    for (size_t i = 0; i < N; i++)
        wrong += host[i] != expect;
    EQ(wrong, 0);
    P->stream_destroy(s);
    free(host);
    device_free(d);
    device_free(e);
}

/* ---- many threads, many streams ---- */

static void stress_count(void *user)
{
    __atomic_fetch_add((uint32_t *)user, 1, __ATOMIC_RELAXED);
}

static void *stress_thread(void *arg)
{
    enum { STREAMS = 6, N = 700, ROUNDS = 60 };
    unsigned seed = (unsigned)(uintptr_t)arg;
    struct aw_stream *s[STREAMS];
    struct aw_event *e;
    uint32_t *data[STREAMS], expect[STREAMS], callbacks = 0, callbacks_expected = 0;
    EQ(P->event_create(0, 0, &e), AW_OK);
    for (int i = 0; i < STREAMS; i++) {
        EQ(P->stream_create(0, i % 2 ? AW_STREAM_NON_BLOCKING : 0, 0, &s[i]), AW_OK);
        data[i] = device_alloc(N * 4);
        expect[i] = 0;
    }
    for (int r = 0; r < ROUNDS * STREAMS; r++) {
        int i = rand_r(&seed) % STREAMS, k = rand_r(&seed) % STREAMS;
        EQ(launch("step", (N + 63) / 64, 64, s[i], 2, data[i], (uint64_t)N), AW_OK);
        expect[i] = expect[i] * 3 + 1;
        switch (rand_r(&seed) % 6) {
        case 0:
            EQ(P->event_record(0, e, s[i]), AW_OK);
            EQ(P->stream_wait(0, s[k], e), AW_OK);
            EQ(P->copy(0, data[k], data[i], N * 4, AW_COPY_D2D, s[k]), AW_OK);
            expect[k] = expect[i];
            EQ(P->event_record(0, e, s[k]), AW_OK); /* nobody may change the source before */
            EQ(P->stream_wait(0, s[i], e), AW_OK);
            break;
        case 1:
            EQ(P->stream_sync(0, s[k]), AW_OK);
            break;
        case 2:
            EQ(P->stream_callback(0, s[k], stress_count, &callbacks), AW_OK);
            callbacks_expected++;
            break;
        case 3:
            EQ(launch("empty", 3, 32, NULL, 0), AW_OK);
            break;
        case 4:
            EQ(launch("reverse", 7, 100, s[i], 1, data[i]), AW_OK); /* all elements are equal */
            break;
        default:
            break;
        }
    }
    for (int i = 0; i < STREAMS; i++) {
        EQ(P->stream_sync(0, s[i]), AW_OK);
        int wrong = 0;
        for (int k = 0; k < N; k++)
            wrong += data[i][k] != expect[i];
        EQ(wrong, 0);
        P->stream_destroy(s[i]);
        device_free(data[i]);
    }
    EQ(__atomic_load_n(&callbacks, __ATOMIC_RELAXED), callbacks_expected);
    P->event_destroy(e);
    return NULL;
}

static void test_stress(void)
{
    pthread_t threads[4];
    unsigned seed = (unsigned)now_ns();
    fprintf(stderr, "    seed %u\n", seed);
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, stress_thread, (void *)(uintptr_t)(seed + i));
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

/* While every worker has long kernels, and more than enough, a short one in another stream still gets its turn. */
static void test_turns(void)
{
    enum { LONG_MAX = 16, BLOCKS = 400 };
    struct aw_stream *busy[LONG_MAX], *s;
    int n;
    EQ(P->device_attr(0, AW_DEV_MULTIPROCESSORS, &n), AW_OK);
    n = n > LONG_MAX ? LONG_MAX : n;
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &s), AW_OK);
    for (int i = 0; i < n; i++) {
        EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &busy[i]), AW_OK);
        EQ(launch("linger", BLOCKS, 32, busy[i], 1, (uint64_t)1000000), AW_OK);
    }
    sleep_ms(5);
    EQ(launch("empty", 1, 32, s, 0), AW_OK);
    while (P->stream_query(0, s) == AW_ERR_NOT_READY) /* waiting would help it along */
        sleep_ms(1);
    for (int i = 0; i < n; i++)
        EQ(P->stream_query(0, busy[i]), AW_ERR_NOT_READY);
    for (int i = 0; i < n; i++) {
        EQ(P->stream_sync(0, busy[i]), AW_OK);
        P->stream_destroy(busy[i]);
    }
    P->stream_destroy(s);
}

/* Nanoseconds for each of `pairs` pairs of a record on one stream and a wait on the other, back and forth behind a closed gate,
 * from the first to the end of the last. */
static double pair_cost(int pairs)
{
    struct aw_stream *s[2];
    struct aw_event *e;
    uint32_t *flag = device_alloc(4);
    EQ(P->event_create(0, AW_EVENT_NO_TIMING, &e), AW_OK);
    for (int i = 0; i < 2; i++)
        EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &s[i]), AW_OK);
    EQ(launch("gate", 1, 32, s[0], 1, flag), AW_OK);
    uint64_t begin = now_ns();
    for (int i = 0; i < pairs; i++) {
        EQ(P->event_record(0, e, s[i & 1]), AW_OK);
        EQ(P->stream_wait(0, s[~i & 1], e), AW_OK);
    }
    EQ(P->stream_query(0, s[pairs & 1]), AW_ERR_NOT_READY);
    open_gate(flag);
    EQ(P->stream_sync(0, s[0]), AW_OK);
    EQ(P->stream_sync(0, s[1]), AW_OK);
    double cost = (double)(now_ns() - begin) / pairs;
    for (int i = 0; i < 2; i++)
        P->stream_destroy(s[i]);
    P->event_destroy(e);
    device_free(flag);
    return cost;
}

/* What waits for work of other streams costs the same however much of it is queued, a microsecond or less.  When every operation
 * that ended looked through all that waited, so many took 450 each.  The least of a few turns: others may disturb some. */
static void test_many_waits(void)
{
    enum { FEW = 500, MANY = 8000, TURNS = 4, CACHES = 20000 };
    double few = 1e9, many = 1e9, cost;
    pair_cost(MANY); /* memory is taken, once */
    for (int i = 0; i < TURNS; i++) {
        few = (cost = pair_cost(FEW)) < few ? cost : few;
        many = (cost = pair_cost(MANY)) < many ? cost : many;
    }
    CHECK(many <= 4 * few + CACHES);
}

/* Nanoseconds for each of some records on the default stream. */
static double record_cost(struct aw_event *e)
{
    enum { RECORDS = 1000 };
    uint64_t begin = now_ns();
    for (int i = 0; i < RECORDS; i++)
        EQ(P->event_record(0, e, NULL), AW_OK);
    return (double)(now_ns() - begin) / RECORDS;
}

/* The default stream's work waits for that of streams that were given some since its last, and looks at no other. */
static void test_many_streams(void)
{
    enum { STREAMS = 3000, TURNS = 4 };
    static struct aw_stream *s[STREAMS];
    struct aw_event *e;
    double alone = 1e9, among = 1e9, cost;
    EQ(P->event_create(0, AW_EVENT_NO_TIMING, &e), AW_OK);
    for (int i = 0; i < TURNS; i++)
        alone = (cost = record_cost(e)) < alone ? cost : alone;
    for (int i = 0; i < STREAMS; i++)
        EQ(P->stream_create(0, 0, 0, &s[i]), AW_OK);
    for (int i = 0; i < TURNS; i++)
        among = (cost = record_cost(e)) < among ? cost : among;
    for (int i = 0; i < STREAMS; i++)
        P->stream_destroy(s[i]);
    P->event_destroy(e);
    CHECK(among <= 4 * alone + 500);
}

/* Idle means idle: the process uses no processor time while nothing is queued. */
static void test_idle(void)
{
    EQ(launch("empty", 1000, 32, NULL, 0), AW_OK);
    EQ(P->device_sync(0), AW_OK);
    sleep_ms(5);
    struct timespec a, b;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    sleep_ms(100);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    CHECK((b.tv_sec - a.tv_sec) * 1000000000 + (b.tv_nsec - a.tv_nsec) < 5000000);
}

/* An event by two handles, as two processes have it: each waits for what the other recorded last. */
static void test_common_event(void)
{
    struct aw_stream *s, *t;
    struct aw_event *plain, *a, *b, *none;
    struct aw_ipc_handle handle, memory;
    uint32_t *flag = device_alloc(4), *p = device_alloc(4), value = 7, got = 0;
    void *mapped;
    size_t size;
    *flag = 0;
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &s), AW_OK);
    EQ(P->stream_create(0, AW_STREAM_NON_BLOCKING, 0, &t), AW_OK);
    EQ(P->event_create(0, AW_EVENT_NO_TIMING, &plain), AW_OK);
    EQ(P->ipc_event_get(plain, &handle), AW_ERR_INVALID_VALUE);
    EQ(P->event_create(0, AW_EVENT_NO_TIMING | AW_EVENT_INTERPROCESS, &a), AW_OK);
    EQ(P->ipc_event_get(a, &handle), AW_OK);
    EQ(P->ipc_mem_get(0, p, &memory), AW_OK);
    EQ(P->ipc_event_open(0, &memory, &none), AW_ERR_INVALID_VALUE); /* each handle is of one kind */
    EQ(P->ipc_mem_open(0, &handle, &mapped, &size), AW_ERR_INVALID_VALUE);
    EQ(P->ipc_event_open(0, &handle, &b), AW_OK);
    EQ(P->ipc_event_get(b, &handle), AW_ERR_INVALID_VALUE); /* only its owner gives it on */
    EQ(P->event_query(b), AW_OK); /* nothing was recorded */
    for (int turn = 0; turn < 2; turn++) {
        struct aw_event *mine = turn ? b : a, *others = turn ? a : b;
        value++;
        EQ(P->stream_wait_value(0, s, flag, 1, 4, AW_WAIT_EQ, NULL), AW_OK);
        EQ(P->stream_write_value(0, s, p, value, 4), AW_OK);
        EQ(P->event_record(0, mine, s), AW_OK);
        EQ(P->event_query(others), AW_ERR_NOT_READY);
        EQ(P->stream_wait(0, t, others), AW_OK);
        EQ(P->copy(0, &got, p, 4, AW_COPY_D2H, t), AW_OK);
        EQ(P->stream_query(0, t), AW_ERR_NOT_READY);
        open_gate(flag);
        EQ(P->event_sync(others), AW_OK);
        EQ(P->event_query(mine), AW_OK);
        EQ(P->stream_sync(0, t), AW_OK);
        EQ(got, value);
        __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
    }
    EQ(P->stream_wait_value(0, s, flag, 1, 4, AW_WAIT_EQ, NULL), AW_OK);
    EQ(P->event_record(0, a, s), AW_OK);
    EQ(P->stream_wait(0, t, b), AW_OK);
    P->event_destroy(a), P->event_destroy(b), P->event_destroy(plain); /* while they are waited for */
    open_gate(flag);
    EQ(P->stream_sync(0, t), AW_OK);
    P->stream_destroy(s), P->stream_destroy(t);
    device_free(flag), device_free(p);
}

const struct test stream_tests[] = {
    { "common_event", test_common_event },
    { "order", test_order },
    { "waited", test_waited },
    { "tiny", test_tiny },
    { "legacy", test_legacy },
    { "events", test_events },
    { "event_time", test_event_time },
    { "value_waits", test_value_waits },
    { "value_order", test_value_order },
    { "value_idle", test_value_idle },
    { "callbacks", test_callbacks },
    { "spread", test_spread },
    { "copies", test_copies },
    { "fills", test_fills },
    { "copy3d", test_copy3d },
    { "copy_pageable", test_copy_pageable },
    { "copy_order", test_copy_order },
    { "stress", test_stress },
    { "turns", test_turns },
    { "many_waits", test_many_waits },
    { "many_streams", test_many_streams },
    { "idle", test_idle },
    { NULL, NULL },
};
