/* Races in shared memory: accesses of one block's threads to the same bytes, one of them a write, that nothing orders.  What
 * `anywarp check --race` looks for.
 *
 * Cells (struct aw_host_race of anywarp/hostabi.h) say of each place who has written it last, and who has read it.  Generated
 * code looks at them itself where lanes go side by side, and comes here for all else, and where a cell names another thread.
 *
 * What orders accesses: a barrier, for the warps that take part; for lanes of one warp whatever they meet at (__syncwarp,
 * shuffles, votes and their kin); a fence, acquire or release of one warp and a later one of another, whatever word they hear of
 * each other by, as that is not known.  Atomic and volatile accesses do not race with each other.  Writers of one value do not
 * race.
 *
 * A block's warps are run by one worker, so nothing here is locked but the list of what was told. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "race.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/demangle.h"
#include "base/hash.h"
#include "base/log.h"

enum { LANES = 32, WARPS = AW_HOST_MAX_THREADS / LANES, TICK = 1 << AW_HOST_RACE_WHEN, SETS = 3, LATE = 32 };

/* Two accesses that race: what the later one is, and what a cell says of the other. */
struct finding {
    const void *pc;
    struct aw_host_race_sites *sites;
    uint32_t what, thread, at, cell, index[3];
    bool wrote;                      /* the earlier one writes */
};

/* In front of the cells, and behind what generated code knows. */
struct block {
    struct aw_host_race race;
    size_t cells;                    /* bytes of each of the three sets */
    uint64_t grid;                   /* of the block that runs */
    uint32_t index[3];
    uint32_t known[WARPS][WARPS];    /* what a warp has heard of another: what that did before, it does not race with */
    uint32_t fenced[WARPS];          /* what all have said by fences, of each warp */
    uint32_t came[AW_HOST_BARRIERS][WARPS]; /* when a warp came to a barrier that is not complete; 0: it did not */
    uint32_t waits[AW_HOST_BARRIERS]; /* warps that wait there, and did not only arrive */
    uint32_t n_late;
    struct finding late[LATE];       /* of plain reads and atomics: not told yet */
};
_Static_assert(sizeof(struct block) <= AW_HOST_RACE_CELLS / 2, "generated code may write in front of the cells");

static bool on;

void aw_host_race_init(void)
{
    on = true;
}

/* ---- What is told */

static const char *name_of(bool writes, bool reads, bool strong)
{
    return writes && reads ? "atomic update" : writes ? strong ? "atomic or volatile write" : "write"
                                                      : strong ? "atomic or volatile read" : "read";
}

/* "read by thread (1,0,0)" */
static void who(const struct aw_host_run *run, const char *what, uint32_t thread, char *ret, size_t size)
{
    const uint32_t *shape = run->block.launch->block;
    snprintf(ret, size, "%s by thread (%u,%u,%u)", what, thread % shape[0], thread / shape[0] % shape[1],
             thread / shape[0] / shape[1]);
}

static const char *place_of(const struct aw_host_run *run, const void *pc, char *ret, size_t size)
{
    return pc ? aw_host_locate(&run->op->kernel, (const char *)pc - 1, ret, size) : ", at one of too many places";
}

/* Is this new to who reads it?  Several places in code may be one line.  A pair is one, whichever came first. */
static bool is_news(const char *kernel, const char *a, const char *b)
{
    enum { MOST = 256 };
    static struct aw_hash128 said[MOST];
    static int n;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const char *const parts[] = { kernel, strcmp(a, b) < 0 ? a : b, strcmp(a, b) < 0 ? b : a };
    struct aw_hasher h;
    aw_hasher_init(&h);
    for (int i = 0; i < 3; i++)
        aw_hasher_add(&h, parts[i], strlen(parts[i]) + 1);
    struct aw_hash128 text = aw_hasher_end(&h);
    pthread_mutex_lock(&lock);
    bool known = n == MOST;
    for (int i = 0; i < n && !known; i++)
        known = aw_hash128_eq(said[i], text);
    if (!known)
        said[n++] = text;
    pthread_mutex_unlock(&lock);
    return !known;
}

/* " (s + 4)": what lies there, by its name in the source without what it is in; "": nobody knows. */
static const char *variable_at(const struct aw_host_race_sites *sites, uint32_t at, char *ret, size_t size)
{
    unsigned offset, bytes;
    char name[512];
    for (const char *line = sites->names; sscanf(line, "%u %u %511[^\n]", &offset, &bytes, name) == 3;
         line = strchr(line, '\n') + 1) {
        if (at < offset || (bytes && at - offset >= bytes))
            continue;
        char *plain = aw_demangle_text(name), *last = plain;
        for (char *p = plain; p && (p = strstr(p, "::")) != NULL;)
            last = p += 2;
        snprintf(ret, size, " (%s + %u)", last ? last : name, at - offset);
        free(plain);
        return ret;
    }
    return "";
}

static uint32_t site_in(uint32_t cell)
{
    return cell >> AW_HOST_RACE_PLACE & (AW_HOST_RACE_PLACES - 1);
}

static void tell(const struct aw_host_run *run, const struct finding *f)
{
    uint32_t before = f->cell & AW_HOST_RACE_THREAD, size = f->what & AW_HOST_ACCESS_SIZE;
    bool writes = f->what & AW_HOST_ACCESS_WRITE, reads = f->what & AW_HOST_ACCESS_READ, strong = f->cell & AW_HOST_RACE_STRONG;
    const void *pc = f->sites->pc[site_in(f->cell)];
    char whos[2][120], lines[2][800], variable[600], order[80] = "no barrier orders them";
    aw_host_thread.service++;
    if (aw_host_finding_new(f->pc < pc ? f->pc : pc, f->pc < pc ? pc : f->pc)) {
        who(run, name_of(f->wrote, !f->wrote, strong), before, whos[0], sizeof whos[0]);
        who(run, name_of(writes, reads, f->what & AW_HOST_ACCESS_STRONG), f->thread, whos[1], sizeof whos[1]);
        const char *place[2] = { place_of(run, pc, lines[0], sizeof lines[0]), place_of(run, f->pc, lines[1], sizeof lines[1]) };
        const char *what = !f->wrote ? "write after read" : writes && !reads ? "write after write" : "read after write";
        if (before / LANES == f->thread / LANES)
            snprintf(order, sizeof order, "both are lanes of warp %u, and no __syncwarp orders them", before / LANES);
        if (is_news(run->op->kernel.name, place[1], place[0]))
            aw_say(RACE, run->op->kernel.name, what, size, f->at, variable_at(f->sites, f->at, variable, sizeof variable),
                   f->index[0], f->index[1], f->index[2], whos[0], place[0], whos[1], place[1], order);
    }
    aw_host_thread.service--;
}

/* The plain read among the two. */
static uint32_t read_site(const struct finding *f)
{
    if (!f->wrote)
        return site_in(f->cell);
    for (uint32_t i = 1; i < AW_HOST_RACE_PLACES; i++)
        if (f->sites->pc[i] == f->pc)
            return i;
    return 0;
}

/* A plain read is no mistake that only tells what an atomic may find: `old = *p; do old = atomicCAS(p, old, ...)`.  That is not
 * known before it has been followed by one. */
static void tell_late(const struct aw_host_run *run, struct block *s)
{
    for (uint32_t i = 0; i < s->n_late; i++)
        if (!s->late[i].sites->looks[read_site(&s->late[i])])
            tell(run, &s->late[i]);
    s->n_late = 0;
}

static void note_late(const struct aw_host_run *run, struct block *s, const struct finding *f)
{
    for (uint32_t i = 0; i < s->n_late; i++)
        if (s->late[i].pc == f->pc && site_in(s->late[i].cell) == site_in(f->cell))
            return;
    if (s->n_late == LATE)
        tell_late(run, s);
    s->late[s->n_late++] = *f;
}

/* ---- The clock */

static uint32_t *cells_of(struct block *s, int set)
{
    return (uint32_t *)(void *)((char *)s + AW_HOST_RACE_CELLS + (size_t)set * AW_HOST_RACE_STRIDE);
}

/* The clock begins again: all that was is forgotten. */
static void forget(struct block *s)
{
    for (int set = 0; set < SETS; set++)
        memset(cells_of(s, set), 0, s->cells);
    memset(s->known, 0, sizeof s->known);
    memset(s->fenced, 0, sizeof s->fenced);
    memset(s->came, 0, sizeof s->came);
    s->race.now = s->race.floor = TICK;
    for (int w = 0; w < WARPS; w++)
        s->race.order[w] = TICK;
}

static uint32_t tick(struct block *s)
{
    s->race.now += TICK;
    if (!s->race.now)
        forget(s);
    return s->race.now;
}

static struct block *block_of(struct aw_host_run *run)
{
    return (struct block *)(void *)run->block.race;
}

/* A new block: what comes is not to be compared with what was. */
static void begin(struct aw_host_run *run, struct block *s)
{
    tell_late(run, s);
    s->grid = run->block.launch->grid_id;
    memcpy(s->index, run->block.ctaid, sizeof s->index);
    memset(s->came, 0, sizeof s->came);
    memset(s->waits, 0, sizeof s->waits);
    s->race.floor = tick(s);
}

static bool is_begun(const struct aw_host_run *run, const struct block *s)
{
    return s->grid == run->block.launch->grid_id && !memcmp(s->index, run->block.ctaid, sizeof s->index);
}

bool aw_host_race_start(struct aw_host_run *run)
{
    size_t bytes = AW_HOST_RACE_CELLS + SETS * (size_t)AW_HOST_RACE_STRIDE;
    run->block.race = NULL;
    if (!on || !run->block.launch->total_shared)
        return true;
    if (!run->races) {
        void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED)
            return false;
        run->races = map;
        ((struct block *)map)->cells = run->window_bytes * sizeof(uint32_t) < AW_HOST_RACE_STRIDE ?
                                           run->window_bytes * sizeof(uint32_t) : AW_HOST_RACE_STRIDE;
        forget(map);
    }
    run->block.race = run->races;
    begin(run, block_of(run));
    return true;
}

void aw_host_race_finish(struct aw_host_run *run)
{
    tell_late(run, block_of(run));
}

void aw_host_race_end(struct aw_host_run *run)
{
    if (run->races)
        munmap(run->races, AW_HOST_RACE_CELLS + SETS * (size_t)AW_HOST_RACE_STRIDE);
}

/* ---- What orders accesses */

void aw_host_race_come(struct aw_host_run *run, uint32_t id, uint32_t warp, uint32_t warps, bool waits)
{
    struct block *s = block_of(run);
    uint32_t now = tick(s);
    for (uint32_t w = warp; w < warp + warps && w < WARPS; w++) {
        s->came[id][w] = s->race.order[w] = now;
        s->waits[id] = waits ? s->waits[id] | 1u << w : s->waits[id] & ~(1u << w);
    }
}

/* Those who wait hear of all that came, and of what these have heard. */
static void meet(struct block *s, uint32_t id)
{
    uint32_t heard[WARPS] = { 0 }, *came = s->came[id];
    for (int u = 0; u < WARPS; u++) {
        for (int v = 0; came[u] && v < WARPS; v++)
            heard[v] = s->known[u][v] > heard[v] ? s->known[u][v] : heard[v];
    }
    for (int u = 0; u < WARPS; u++)
        heard[u] = came[u] > heard[u] ? came[u] : heard[u];
    for (uint32_t left = s->waits[id]; left; left &= left - 1) {
        uint32_t *known = s->known[__builtin_ctz(left)];
        for (int v = 0; v < WARPS; v++)
            known[v] = heard[v] > known[v] ? heard[v] : known[v];
    }
}

void aw_host_race_meet(struct aw_host_run *run, uint32_t id, bool all)
{
    struct block *s = block_of(run);
    if (all)
        s->race.floor = tick(s);
    else
        meet(s, id);
    memset(s->came[id], 0, sizeof s->came[id]);
    s->waits[id] = 0;
}

void aw_host_race_meet_all(struct aw_host_run *run)
{
    struct block *s = block_of(run);
    s->race.floor = tick(s);
}

static void fence(struct block *s, uint32_t warp)
{
    uint32_t now = tick(s), *known = s->known[warp];
    s->race.order[warp] = now;
    for (int v = 0; v < WARPS; v++)
        known[v] = s->fenced[v] = s->fenced[v] > known[v] ? s->fenced[v] : known[v];
    s->fenced[warp] = now;
}

void aw_host_check_order(struct aw_host_block *block, uint32_t what, uint32_t warp)
{
    struct aw_host_run *run = (struct aw_host_run *)(void *)block;
    struct block *s = block_of(run);
    if (!s || warp >= WARPS)
        return;
    if (!is_begun(run, s))
        begin(run, s);
    if (what == AW_HOST_ORDER_FENCE)
        fence(s, warp);
    else if (what == AW_HOST_ORDER_WARP)
        s->race.order[warp] = tick(s);
}

/* ---- Cells */

/* An access of several lanes. */
struct access {
    struct aw_host_run *run;
    struct block *s;
    struct aw_host_race_sites *sites;
    const void *pc;
    const uint64_t *addresses;
    const char *values;
    uint32_t lanes, thread, what;
    uint32_t mine; /* what a cell says of thread 0 */
};

static uint32_t size_of(const struct access *a)
{
    return a->what & AW_HOST_ACCESS_SIZE;
}

/* Was another thread there, and does nothing say that this comes before? */
static inline bool meets(const struct block *s, uint32_t cell, uint32_t mine)
{
    uint32_t differs = cell ^ mine, warp = (mine & AW_HOST_RACE_THREAD) / LANES;
    if (cell < s->race.floor || !(differs & AW_HOST_RACE_THREAD))
        return false;
    return cell >= (differs & AW_HOST_RACE_WARP ? s->known[warp][(cell & AW_HOST_RACE_THREAD) / LANES] : s->race.order[warp]);
}

static bool races(const struct block *s, uint32_t cell, uint32_t mine)
{
    return meets(s, cell, mine) && !(cell & mine & AW_HOST_RACE_STRONG);
}

/* One's own weak write is kept, as it may race with others' atomics. */
static bool keeps(const struct block *s, uint32_t cell, uint32_t mine)
{
    return mine & AW_HOST_RACE_STRONG && !(cell & AW_HOST_RACE_STRONG) && cell >= s->race.floor &&
           !((cell ^ mine) & AW_HOST_RACE_THREAD);
}

/* The first to read, and a later one: rather of another warp. */
static inline void note_read(struct block *s, uint32_t *first, uint32_t *second, uint32_t mine)
{
    if (!meets(s, *first, mine)) {
        *first = mine;
        return;
    }
    bool same = !((*first ^ mine) & AW_HOST_RACE_WARP), other = (*second ^ mine) & AW_HOST_RACE_WARP;
    if (!(same && other && *second >= s->race.floor))
        *second = mine;
}

/* What the write that a cell tells of has left there: another lane's of the same instruction, or what memory has. */
static const char *left_by(const struct access *a, uint32_t cell, uint32_t lane, uint32_t at)
{
    uint32_t other = (cell & AW_HOST_RACE_THREAD) - a->thread, mine = a->mine + a->thread + other;
    if (other < lane && a->lanes >> other & 1 && cell == mine) {
        uint64_t base = a->what & AW_HOST_ACCESS_SHARED ? 0 : (uintptr_t)a->run->block.shared;
        uint64_t from = at - (a->addresses[other] - base);
        if (from < size_of(a))
            return a->values + other * size_of(a) + from;
    }
    return a->run->block.shared + at;
}

static bool writes_the_same(const struct access *a, uint32_t cell, uint32_t lane, uint32_t begin, uint32_t at, uint32_t bytes)
{
    return a->values && !(a->what & AW_HOST_ACCESS_READ) &&
           !memcmp(left_by(a, cell, lane, at), a->values + lane * size_of(a) + (at - begin), bytes);
}

/* The lane's access of the place at `at` meets what a cell says; `wrote`: that is a write. */
static void find(const struct access *a, uint32_t lane, uint32_t at, uint32_t cell, bool wrote)
{
    const uint32_t *index = a->run->block.ctaid;
    struct finding f = { a->pc, a->sites, a->what, a->thread + lane, at, cell, { index[0], index[1], index[2] }, wrote };
    bool strong = a->what & AW_HOST_ACCESS_STRONG, writes = a->what & AW_HOST_ACCESS_WRITE;
    if ((wrote && !writes && cell & AW_HOST_RACE_STRONG) || (!wrote && strong))
        note_late(a->run, a->s, &f);
    else
        tell(a->run, &f);
}

/* The thread has read by a plain read what it now updates by an atomic. */
static void note_look(const struct access *a, uint32_t cell, uint32_t mine)
{
    if (cell >= a->s->race.floor && !((cell ^ mine) & AW_HOST_RACE_THREAD) && !(cell & AW_HOST_RACE_STRONG))
        a->sites->looks[site_in(cell)] = 1;
}

/* Some cell says something. */
static __attribute__((noinline)) void cell_write(const struct access *a, uint32_t lane, uint32_t begin, uint32_t i, uint32_t mine)
{
    struct block *s = a->s;
    uint32_t grain = a->sites->grain, *wrote = cells_of(s, 0) + i, first = cells_of(s, 1)[i], second = cells_of(s, 2)[i];
    if (races(s, *wrote, mine) && !writes_the_same(a, *wrote, lane, begin, i << grain, 1u << grain))
        find(a, lane, begin, *wrote, true);
    if (mine & AW_HOST_RACE_STRONG && a->what & AW_HOST_ACCESS_READ) {
        note_look(a, first, mine);
        note_look(a, second, mine);
    }
    if (races(s, first, mine))
        find(a, lane, begin, first, false);
    else if (races(s, second, mine))
        find(a, lane, begin, second, false);
    if (!keeps(s, *wrote, mine))
        *wrote = mine;
}

/* Does a cell tell of another thread, in this or in what may come at once with it? */
static inline bool says(uint32_t cell, uint32_t mine, uint32_t floor)
{
    return cell >= floor && (cell ^ mine) & AW_HOST_RACE_THREAD;
}

/* What lanes do: nothing in here is the compiler to read again from memory for each of them. */
struct walk {
    uint64_t base, last;             /* of addresses: the block's memory, and the last offset that an access may have */
    uint32_t grain, more, floor, mine;
    bool offsets, strong;            /* addresses are offsets already */
};

static inline bool walk_at(const struct walk *w, uint64_t address, uint64_t *ret)
{
    *ret = w->offsets ? (uint32_t)address : address - w->base;
    return *ret <= w->last; /* else a generic address that leads elsewhere */
}

/* The block's cells, by kind. */
struct cells {
    uint32_t *wrote, *first, *second;
};

static inline void cell_read(const struct access *a, const struct cells *c, uint32_t lane, uint32_t begin, uint64_t i,
                             const struct walk *w)
{
    uint32_t mine = w->mine + lane, *first = &c->first[i], *second = &c->second[i];
    if (says(c->wrote[i], mine, w->floor) && races(a->s, c->wrote[i], mine))
        find(a, lane, begin, c->wrote[i], true);
    if (*first < w->floor || !((*first ^ mine) & AW_HOST_RACE_THREAD))
        *first = mine;
    else if (*second < w->floor || !((*first ^ *second) & AW_HOST_RACE_WARP))
        note_read(a->s, first, second, mine);
}

static inline void cell_written(const struct access *a, const struct cells *c, uint32_t lane, uint32_t begin, uint64_t i,
                                const struct walk *w)
{
    uint32_t mine = w->mine + lane, wrote = c->wrote[i], first = c->first[i], second = c->second[i];
    bool atomics = w->strong && wrote & AW_HOST_RACE_STRONG && first < w->floor && second < w->floor;
    bool alone = !w->strong && !says(wrote, mine, w->floor) && !says(first, mine, w->floor) && !says(second, mine, w->floor);
    if (atomics || alone)
        c->wrote[i] = mine;
    else
        cell_write(a, lane, begin, (uint32_t)i, mine);
}

static inline __attribute__((always_inline)) void lanes_do(const struct access *a, const struct walk *walk, bool write)
{
    const struct walk w = *walk;
    const struct cells c = { cells_of(a->s, 0), cells_of(a->s, 1), cells_of(a->s, 2) };
    const uint64_t *addresses = a->addresses;
    for (uint32_t left = a->lanes; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        uint64_t begin;
        if (!walk_at(&w, addresses[lane], &begin))
            continue;
        for (uint64_t i = begin >> w.grain; i <= (begin + w.more) >> w.grain; i++) {
            if (write)
                cell_written(a, &c, lane, (uint32_t)begin, i, &w);
            else
                cell_read(a, &c, lane, (uint32_t)begin, i, &w);
        }
    }
}

static void lanes_read(const struct access *a, const struct walk *walk)
{
    lanes_do(a, walk, false);
}

static void lanes_write(const struct access *a, const struct walk *walk)
{
    lanes_do(a, walk, true);
}

static uint32_t site_of(struct aw_host_race_sites *sites, uint32_t *site, const void *pc)
{
    if (!*site) {
        uint32_t n = __atomic_add_fetch(&sites->n, 1, __ATOMIC_RELAXED);
        if (n >= AW_HOST_RACE_PLACES - 1)
            n = AW_HOST_RACE_PLACES - 1, __atomic_store_n(&sites->n, n, __ATOMIC_RELAXED);
        else
            sites->pc[n] = pc;
        *site = n << AW_HOST_RACE_PLACE;
    }
    return *site;
}

void aw_host_check_race(struct aw_host_block *block, struct aw_host_race_sites *sites, uint32_t *site, const uint64_t *addresses,
                        uint32_t lanes, uint32_t thread, uint32_t what, const void *values)
{
    struct aw_host_run *run = (struct aw_host_run *)(void *)block;
    struct access a = { run, block_of(run), sites, __builtin_return_address(0), addresses, values, lanes, thread, what, 0 };
    uint32_t total = block->launch->total_shared, size = size_of(&a);
    bool strong = what & AW_HOST_ACCESS_STRONG;
    if (!a.s || total < size)
        return;
    if (!is_begun(run, a.s))
        begin(run, a.s);
    a.mine = a.s->race.now | site_of(sites, site, a.pc) | (strong ? AW_HOST_RACE_STRONG : 0);
    struct walk w = { (uintptr_t)block->shared, total - size, sites->grain, size - 1, a.s->race.floor, a.mine + thread,
                      what & AW_HOST_ACCESS_SHARED, strong };
    if (what & AW_HOST_ACCESS_WRITE)
        lanes_write(&a, &w);
    else
        lanes_read(&a, &w);
}
