/* Queues: a thread each that takes packets as they come, and one watcher that wakes those that sleep.
 *
 * ROCr tells of a packet by a plain store, so somebody must look: a queue's thread looks for a short while, then sleeps, and the
 * watcher looks at all sleeping queues with short pauses.  When nothing came for some time it sleeps too, until a doorbell's page
 * tells of a store (doorbell.c); where it cannot, the pauses become longer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "thunk.h"

#include <errno.h>
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#define MAX_QUEUES 1024u
#define SPIN_NS 20000         /* before a queue's thread sleeps */
#define WATCH_NS 20000        /* between two looks of the watcher, while there was work lately */
#define LATELY_NS 2000000
#define POLL_NS 50000         /* between two looks at a signal that the host may change */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thunk_queue *queues[MAX_QUEUES];
static unsigned n_queues;
static volatile uint64_t *doorbells; /* by queue; and two words of pointers behind, for queues without */
static pthread_cond_t watch = PTHREAD_COND_INITIALIZER;
static bool watching;
static _Atomic uint64_t last_work;

static pthread_mutex_t signal_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t signal_changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_condition(pthread_cond_t *c)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(c, &attr);
    pthread_condattr_destroy(&attr);
}

/* What s_sendmsg of an interrupt does. */
static void raise_from_kernel(uint32_t node, uint32_t event)
{
    thunk_event_raise(event);
}

static void init(void)
{
    size_t size = 3 * MAX_QUEUES * sizeof *doorbells;
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    init_condition(&signal_changed);
    sim_interrupt = raise_from_kernel;
    if (p == MAP_FAILED)
        return;
    sim_map_add((uint64_t)(uintptr_t)p, p, size, thunk_cards_mask()); /* a kernel may ring */
    doorbells = p;
    memset(p, 0, size);
    thunk_doorbell_init(p, MAX_QUEUES * sizeof *doorbells);
}

static bool is_aql(const struct thunk_queue *q)
{
    return q->type == HSA_QUEUE_COMPUTE_AQL;
}

static bool is_ready(const struct thunk_queue *q)
{
    return !q->broken && (is_aql(q) ? thunk_aql_ready(q) : thunk_sdma_ready(q));
}

static struct timespec from_now(uint64_t nanoseconds)
{
    uint64_t t = thunk_now() + nanoseconds;
    return (struct timespec){ .tv_sec = (time_t)(t / 1000000000u), .tv_nsec = (long)(t % 1000000000u) };
}

/* ---- Waiting ---- */

void thunk_signal_changed(void)
{
    pthread_mutex_lock(&signal_lock);
    pthread_cond_broadcast(&signal_changed);
    pthread_mutex_unlock(&signal_lock);
}

bool thunk_wait(struct thunk_queue *q, bool (*is_met)(struct thunk_queue *q, const void *arg), const void *arg)
{
    for (unsigned spins = 0; spins < 200; spins++) {
        if (is_met(q, arg))
            return true;
        _mm_pause();
    }
    while (!q->stop) {
        if (is_met(q, arg))
            return true;
        struct timespec until = from_now(POLL_NS);
        pthread_mutex_lock(&signal_lock);
        pthread_cond_timedwait(&signal_changed, &signal_lock, &until);
        pthread_mutex_unlock(&signal_lock);
    }
    return false;
}

/* Looks for a packet for a while, then sleeps until the watcher sees one.  False when the queue must stop. */
static bool wait_for_packet(struct thunk_queue *q)
{
    uint64_t until = thunk_now() + SPIN_NS;
    while (!q->stop && !is_ready(q) && thunk_now() < until)
        for (int i = 0; i < 32; i++)
            _mm_pause();
    if (q->stop || is_ready(q))
        return !q->stop;
    pthread_mutex_lock(&lock);
    q->asleep = true;
    pthread_cond_signal(&watch);
    while (!q->stop && !is_ready(q))
        pthread_cond_wait(&q->wake, &lock);
    q->asleep = false;
    pthread_mutex_unlock(&lock);
    return !q->stop;
}

/* Wakes the sleeping queues that have a packet; false when none sleeps. */
static bool look(void)
{
    bool any = false;
    for (unsigned i = 0, seen = 0; i < MAX_QUEUES && seen < n_queues; i++) {
        struct thunk_queue *q = queues[i];
        if (!q)
            continue;
        seen++;
        any |= q->asleep && !q->broken;
        if (q->asleep && is_ready(q))
            pthread_cond_signal(&q->wake);
    }
    return any;
}

/* How long the watcher pauses where nothing tells it of a doorbell: the longer, the longer nothing came. */
static long pause_after(uint64_t idle)
{
    return idle < LATELY_NS ? WATCH_NS : idle < 500 * (uint64_t)LATELY_NS ? 4 * WATCH_NS : 16 * WATCH_NS;
}

static void *watch_main(void *unused)
{
    prctl(PR_SET_TIMERSLACK, 1);
    pthread_mutex_lock(&lock);
    for (;;) {
        if (!look()) {
            pthread_cond_wait(&watch, &lock);
            continue;
        }
        uint64_t idle = thunk_now() - last_work;
        bool armed = idle > LATELY_NS && thunk_doorbell_arm();
        if (armed)
            look(); /* what came before it was armed */
        pthread_mutex_unlock(&lock);
        if (armed) {
            thunk_doorbell_wait();
            last_work = thunk_now();
        } else {
            nanosleep(&(struct timespec){ .tv_nsec = pause_after(idle) }, NULL);
        }
        pthread_mutex_lock(&lock);
    }
    return unused;
}

/* With the lock. */
static bool start_watching(void)
{
    pthread_t thread;
    if (!watching && pthread_create(&thread, NULL, watch_main, NULL) == 0) {
        pthread_detach(thread);
        watching = true;
    }
    return watching;
}

static void *queue_main(void *arg)
{
    struct thunk_queue *q = arg;
    prctl(PR_SET_TIMERSLACK, 1);
    while (wait_for_packet(q)) {
        (is_aql(q) ? thunk_aql_take : thunk_sdma_take)(q);
        last_work = thunk_now();
    }
    return NULL;
}

/* ---- Creation ---- */

static void set_pointers(struct thunk_queue *q, unsigned id, HsaQueueResource *r)
{
    q->doorbell = &doorbells[id];
    if (!r->Queue_read_ptr_aql)
        r->Queue_read_ptr_aql = (HSAuint64 *)&doorbells[MAX_QUEUES + id];
    if (!r->Queue_write_ptr_aql)
        r->Queue_write_ptr_aql = (HSAuint64 *)&doorbells[2 * MAX_QUEUES + id];
    q->read = r->Queue_read_ptr_aql;
    q->write = r->Queue_write_ptr_aql;
    if (!is_aql(q))
        *q->read = *q->write = 0;
    *q->doorbell = is_aql(q) ? ~0ull : 0;
    q->done = *q->read;
    r->QueueId = id;
    r->Queue_DoorBell_aql = (HSAuint64 *)q->doorbell;
}

/* With the lock. */
static HSAKMT_STATUS create(struct thunk_queue *q, HsaQueueResource *resource)
{
    unsigned id = 0;
    while (id < MAX_QUEUES && queues[id])
        id++;
    if (id == MAX_QUEUES || !doorbells || !start_watching())
        return HSAKMT_STATUS_NO_MEMORY;
    thunk_doorbell_interrupt(); /* the watcher arms it with the lock only, so the store below goes through */
    thunk_doorbell_disarm();
    set_pointers(q, id, resource);
    if (pthread_create(&q->thread, NULL, queue_main, q))
        return HSAKMT_STATUS_NO_MEMORY;
    queues[id] = q;
    n_queues++;
    return HSAKMT_STATUS_SUCCESS;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtCreateQueue(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
                                             HSA_QUEUE_PRIORITY priority, void *ring, HSAuint64 size, HsaEvent *event,
                                             HsaQueueResource *resource)
{
    bool known = type == HSA_QUEUE_COMPUTE_AQL || type == HSA_QUEUE_SDMA || type == HSA_QUEUE_SDMA_XGMI;
    if (!thunk_card(node))
        return HSAKMT_STATUS_INVALID_NODE_UNIT;
    if (!known || !ring || size < 256 || size & (size - 1))
        return HSAKMT_STATUS_INVALID_PARAMETER;
    struct thunk_queue *q = calloc(1, sizeof *q);
    if (!q)
        return HSAKMT_STATUS_NO_MEMORY;
    pthread_once(&once, init);
    init_condition(&q->wake);
    q->node = q->view.node = node;
    q->type = type;
    q->ring = ring;
    q->bytes = size;
    pthread_mutex_lock(&lock);
    HSAKMT_STATUS status = create(q, resource);
    pthread_mutex_unlock(&lock);
    THUNK_TRACE("CreateQueue node %u type %d size %#llx -> %d id %llu", node, (int)type, (unsigned long long)size, (int)status,
                (unsigned long long)resource->QueueId);
    if (status) {
        pthread_cond_destroy(&q->wake);
        free(q);
    }
    return status;
}

static struct thunk_queue *queue_of(HSA_QUEUEID id)
{
    return id < MAX_QUEUES ? queues[id] : NULL;
}

static bool exists(HSA_QUEUEID id)
{
    pthread_mutex_lock(&lock);
    bool found = queue_of(id) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

/* Ends what the queue executes. */
THUNK_EXPORT HSAKMT_STATUS hsaKmtDestroyQueue(HSA_QUEUEID id)
{
    THUNK_TRACE("DestroyQueue %llu", (unsigned long long)id);
    pthread_mutex_lock(&lock);
    struct thunk_queue *q = queue_of(id);
    if (q && !q->stop) {
        q->stop = true;
        pthread_cond_signal(&q->wake);
    } else {
        q = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (!q)
        return HSAKMT_STATUS_INVALID_HANDLE;
    thunk_signal_changed();
    pthread_join(q->thread, NULL);
    pthread_mutex_lock(&lock);
    queues[id] = NULL;
    n_queues--;
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&q->wake);
    free(q);
    return HSAKMT_STATUS_SUCCESS;
}

/* Priorities and shares change nothing that a program may rely on. */
THUNK_EXPORT HSAKMT_STATUS hsaKmtUpdateQueue(HSA_QUEUEID id, HSAuint32 percentage, HSA_QUEUE_PRIORITY priority, void *ring,
                                             HSAuint64 size, HsaEvent *event)
{
    return exists(id) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtSetQueueCUMask(HSA_QUEUEID id, HSAuint32 count, HSAuint32 *mask)
{
    return exists(id) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

/* Every queue can use all of its card's resources; they begin at 0. */
THUNK_EXPORT HSAKMT_STATUS hsaKmtAllocQueueGWS(HSA_QUEUEID id, HSAuint32 count, HSAuint32 *ret_first)
{
    if (!exists(id))
        return HSAKMT_STATUS_INVALID_HANDLE;
    if (ret_first)
        *ret_first = 0;
    return HSAKMT_STATUS_SUCCESS;
}
