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

const struct test stream_tests[] = {
    { "order", test_order },
    { "legacy", test_legacy },
    { "events", test_events },
    { "event_time", test_event_time },
    { "callbacks", test_callbacks },
    { "copies", test_copies },
    { "fills", test_fills },
    { "copy3d", test_copy3d },
    { "copy_order", test_copy_order },
    { "stress", test_stress },
    { "idle", test_idle },
    { NULL, NULL },
};
