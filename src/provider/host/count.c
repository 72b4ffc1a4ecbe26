/* What counting code has counted, for `anywarp profile --counters` (ptx/simt/emit/count.c, anywarp/hostabi.h): counters for each
 * worker, the table that says what they mean, and how long a block's warps would have waited for each other at barriers.
 *
 * A worker runs a block's warps in turn, so nobody waits there.  What is told is what waiting would be if they ran side by side:
 * each warp's time from barrier to barrier against that of the slowest. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/calltrace.h"
#include "base/clock.h"
#include "base/str.h"

struct aw_host_counting {
    const struct aw_host_counts *table;
    const char *kernel;
    uint64_t *words;                    /* for each worker, `per_worker` of them; a line of the cache apart */
    size_t per_worker;
    _Atomic uint64_t barriers, ran_ns, waited_ns; /* times that blocks came to one; of warps, up to barriers */
    struct aw_host_counting *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct aw_host_counting *all;
static struct aw_host_services services; /* those of counting code */
static pid_t process;                    /* a child of it has nothing to say */

/* ---- Barriers. */

static struct aw_host_run *run_of(struct aw_host_block *block)
{
    return (struct aw_host_run *)(void *)block;
}

/* What the thread itself has run takes the system a microsecond to say. */
static uint64_t own_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Time that others had the processor since this was last asked, which was a little while ago: in all likelihood of the segment
 * that ends now. */
static uint64_t lost(struct aw_host_regions *r, uint64_t now)
{
    enum { WHILE_NS = 20000 };
    uint64_t wall = now - r->asked_wall;
    if (wall < WHILE_NS)
        return 0;
    uint64_t own = own_ns(), ran = own - r->asked_own;
    r->asked_own = own;
    r->asked_wall = aw_clock_ns();
    return wall > ran ? wall - ran : 0;
}

static void segment_begin(struct aw_host_block *block)
{
    run_of(block)->regions.since = aw_clock_ns();
}

/* The warp that runs is at the barrier: which of its meetings. */
static uint64_t segment_end(struct aw_host_run *run, uint32_t id)
{
    struct aw_host_regions *r = &run->regions;
    uint64_t now = aw_clock_ns(), took = now - r->since, others = lost(r, now);
    if (id >= AW_HOST_BARRIERS)
        return 0;
    took -= others < took ? others : took;
    r->at[id].n++;
    r->at[id].sum += took;
    r->at[id].most = took > r->at[id].most ? took : r->at[id].most;
    r->since = r->asked_wall > now ? r->asked_wall : now; /* of a warp that begins next */
    return r->at[id].meeting;
}

/* It goes on: as the first of them, it closes what they did before.  Others may be at the next one by then.  Its own time began
 * when the last one came to a barrier, right before. */
static void meeting_close(struct aw_host_run *run, uint32_t id, uint64_t meeting)
{
    struct aw_host_counting *c = run->op->kernel.counting;
    struct aw_host_regions *r = &run->regions;
    if (id < AW_HOST_BARRIERS && r->at[id].meeting == meeting) {
        atomic_fetch_add_explicit(&c->barriers, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&c->ran_ns, r->at[id].sum, memory_order_relaxed);
        atomic_fetch_add_explicit(&c->waited_ns, r->at[id].n * r->at[id].most - r->at[id].sum, memory_order_relaxed);
        r->at[id].n = r->at[id].sum = r->at[id].most = 0;
        r->at[id].meeting++;
    }
}

static void barrier(struct aw_host_block *block, uint32_t id, uint32_t threads)
{
    uint64_t meeting = segment_end(run_of(block), id);
    aw_host_services.barrier(block, id, threads);
    meeting_close(run_of(block), id, meeting);
}

static uint32_t barrier_reduce(struct aw_host_block *block, uint32_t id, uint32_t threads, uint32_t op, uint32_t active,
                               uint32_t predicate)
{
    uint64_t meeting = segment_end(run_of(block), id);
    uint32_t result = aw_host_services.barrier_reduce(block, id, threads, op, active, predicate);
    meeting_close(run_of(block), id, meeting);
    return result;
}

/* ---- Telling. */

static void line_write(struct aw_buf *line)
{
    if (!line->failed)
        aw_trace_write(line->ptr, line->len);
    aw_buf_fini(line);
}

/* NULL: of none. */
static const char *file_of(const struct aw_host_counting *c, const struct aw_host_counted_row *row)
{
    return row->file ? (const char *)c->table->rows + row->file : NULL;
}

/* A record "count": place (FILE:LINE or "(no line)"), process, kernel, how often warps ran an instruction of it, and how many
 * lanes did, bytes of global memory loaded and stored, and of shared memory. */
static void place_tell(const struct aw_host_counting *c, const struct aw_host_counted_row *row, const uint64_t sums[2],
                       const uint64_t bytes[AW_HOST_COUNTED_KINDS])
{
    struct aw_buf line = { 0 };
    aw_buf_printf(&line, "count\t");
    if (row->file)
        aw_buf_printf(&line, "%s:%u", file_of(c, row), row->line);
    else
        aw_buf_printf(&line, "(no line)");
    aw_buf_printf(&line, "\t%ld\t%s\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\n", (long)getpid(), c->kernel,
                  (unsigned long long)sums[0], (unsigned long long)sums[1], (unsigned long long)bytes[AW_HOST_COUNTED_LOAD],
                  (unsigned long long)bytes[AW_HOST_COUNTED_STORE], (unsigned long long)bytes[AW_HOST_COUNTED_SHARED_LOAD],
                  (unsigned long long)bytes[AW_HOST_COUNTED_SHARED_STORE]);
    line_write(&line);
}

static bool same_place(const struct aw_host_counted_row *a, const struct aw_host_counted_row *b)
{
    return a->line == b->line && a->file == b->file;
}

static uint64_t counted(const struct aw_host_counting *c, uint32_t counter, int at)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < aw_host.n_workers + AW_HOST_GUESTS; i++)
        sum += c->words[i * c->per_worker + 2 * (size_t)counter + (size_t)at];
    return sum;
}

static int by_place(const void *a, const void *b)
{
    const struct aw_host_counted_row *x = *(const struct aw_host_counted_row *const *)a,
                                     *y = *(const struct aw_host_counted_row *const *)b;
    return x->file != y->file ? x->file < y->file ? -1 : 1 : x->line < y->line ? -1 : x->line > y->line;
}

static void places_tell(const struct aw_host_counting *c)
{
    uint32_t n = c->table->n_rows;
    const struct aw_host_counted_row **rows = malloc((n + 1) * sizeof *rows);
    for (uint32_t i = 0; rows && i < n; i++)
        rows[i] = &c->table->rows[i];
    if (rows && n)
        qsort(rows, n, sizeof *rows, by_place);
    for (uint32_t i = 0, end; rows && i < n; i = end) {
        uint64_t sums[2] = { 0 }, bytes[AW_HOST_COUNTED_KINDS] = { 0 };
        for (end = i; end < n && same_place(rows[i], rows[end]); end++) {
            uint64_t lanes = counted(c, rows[end]->counter, 1) * rows[end]->amount;
            if (rows[end]->what == AW_HOST_COUNTED_INSTRUCTIONS) {
                sums[0] += counted(c, rows[end]->counter, 0) * rows[end]->amount;
                sums[1] += lanes;
            } else if (rows[end]->what < AW_HOST_COUNTED_KINDS) {
                bytes[rows[end]->what] += lanes;
            }
        }
        if (sums[0])
            place_tell(c, rows[i], sums, bytes);
    }
    free(rows);
}

/* A record "wait": kernel, process, how often blocks met at a barrier, their warps' time up to these, and what they would have
 * waited. */
static void waits_tell(const struct aw_host_counting *c)
{
    struct aw_buf line = { 0 };
    if (!atomic_load(&c->barriers))
        return;
    aw_buf_printf(&line, "wait\t%s\t%ld\t%llu\t%llu\t%llu\n", c->kernel, (long)getpid(),
                  (unsigned long long)atomic_load(&c->barriers), (unsigned long long)atomic_load(&c->ran_ns),
                  (unsigned long long)atomic_load(&c->waited_ns));
    line_write(&line);
}

/* And forgets, as the object may be unloaded after the program's exit has begun. */
static void tell(struct aw_host_counting *c)
{
    if (getpid() != process)
        return;
    places_tell(c);
    waits_tell(c);
    memset(c->words, 0, (aw_host.n_workers + AW_HOST_GUESTS) * c->per_worker * sizeof *c->words);
    atomic_store(&c->barriers, 0);
    atomic_store(&c->ran_ns, 0);
    atomic_store(&c->waited_ns, 0);
}

static void tell_all(void)
{
    pthread_mutex_lock(&lock);
    for (struct aw_host_counting *c = all; c; c = c->next)
        tell(c);
    pthread_mutex_unlock(&lock);
}

/* ---- Objects. */

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set_up(void)
{
    process = getpid();
    services = aw_host_services;
    services.barrier = barrier;
    services.barrier_reduce = barrier_reduce;
    services.count_warp = segment_begin;
    atexit(tell_all);
}

bool aw_host_counting_begin(void *object, const char *kernel, struct aw_host_counting **ret_counting)
{
    const struct aw_host_counts *table = dlsym(object, AW_HOST_COUNTS_SYMBOL);
    struct aw_host_counting *c = table ? calloc(1, sizeof *c) : NULL;
    *ret_counting = NULL;
    if (!c)
        return !table;
    pthread_once(&once, set_up);
    c->table = table;
    c->kernel = kernel;
    c->per_worker = (2 * (size_t)table->n_counters + 15) / 16 * 16 + 16;
    c->words = calloc((aw_host.n_workers + AW_HOST_GUESTS) * c->per_worker, sizeof *c->words);
    if (!c->words) {
        free(c);
        return false;
    }
    pthread_mutex_lock(&lock);
    c->next = all;
    all = c;
    pthread_mutex_unlock(&lock);
    *ret_counting = c;
    return true;
}

void aw_host_counting_end(struct aw_host_counting *counting)
{
    if (!counting)
        return;
    pthread_mutex_lock(&lock);
    for (struct aw_host_counting **at = &all; *at; at = &(*at)->next)
        if (*at == counting) {
            *at = counting->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    tell(counting);
    free(counting->words);
    free(counting);
}

const struct aw_host_services *aw_host_counting_services(void)
{
    return &services;
}

void aw_host_counting_run(struct aw_host_run *run)
{
    const struct aw_host_counting *c = run->op->kernel.counting;
    run->block.counts = c->words + (size_t)(run->worker - aw_host.workers) * c->per_worker;
    memset(&run->regions, 0, sizeof run->regions);
}

void aw_host_counting_step(struct aw_host_run *run)
{
    run->regions.asked_own = own_ns();
    run->regions.since = run->regions.asked_wall = aw_clock_ns();
}
