/* The cards' address space: which host memory each range of it means, and who may reach it.
 *
 * Ranges are kept in an array ordered by address.  Every change raises the generation, which empties all views. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../sim.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range {
    uint64_t gpu;
    size_t size;
    char *host;
    uint32_t nodes;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct range *ranges;
static size_t n_ranges, cap_ranges;
_Atomic uint64_t sim_map_generation = 1; /* 0 is that of an empty view */

/* The first range that ends behind `gpu`. */
static size_t find(uint64_t gpu)
{
    size_t lo = 0, hi = n_ranges;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (ranges[mid].gpu + ranges[mid].size > gpu)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static bool grow(void)
{
    if (n_ranges < cap_ranges)
        return true;
    size_t cap = cap_ranges ? 2 * cap_ranges : 256;
    struct range *bigger = realloc(ranges, cap * sizeof *bigger);
    if (!bigger)
        return false;
    ranges = bigger;
    cap_ranges = cap;
    return true;
}

bool sim_map_add(uint64_t gpu, void *host, size_t size, uint32_t nodes)
{
    pthread_rwlock_wrlock(&lock);
    size_t at = find(gpu);
    bool fits = size && gpu + size > gpu && (at == n_ranges || ranges[at].gpu >= gpu + size) && grow();
    if (fits) {
        memmove(ranges + at + 1, ranges + at, (n_ranges - at) * sizeof *ranges);
        ranges[at] = (struct range){ gpu, size, host, nodes };
        n_ranges++;
        atomic_fetch_add(&sim_map_generation, 1);
    }
    pthread_rwlock_unlock(&lock);
    return fits;
}

/* With the lock held for writing: the range that begins at `gpu`, or NULL. */
static struct range *exactly(uint64_t gpu)
{
    size_t at = find(gpu);
    return at < n_ranges && ranges[at].gpu == gpu ? &ranges[at] : NULL;
}

bool sim_map_nodes(uint64_t gpu, uint32_t nodes)
{
    pthread_rwlock_wrlock(&lock);
    struct range *r = exactly(gpu);
    if (r) {
        r->nodes = nodes;
        atomic_fetch_add(&sim_map_generation, 1);
    }
    pthread_rwlock_unlock(&lock);
    return r != NULL;
}

bool sim_map_remove(uint64_t gpu)
{
    pthread_rwlock_wrlock(&lock);
    struct range *r = exactly(gpu);
    if (r) {
        memmove(r, r + 1, (size_t)(ranges + n_ranges - (r + 1)) * sizeof *r);
        n_ranges--;
        atomic_fetch_add(&sim_map_generation, 1);
    }
    pthread_rwlock_unlock(&lock);
    return r != NULL;
}

bool sim_map_lookup(struct sim_view *view, uint64_t gpu)
{
    pthread_rwlock_rdlock(&lock);
    size_t at = find(gpu);
    bool found = at < n_ranges && ranges[at].gpu <= gpu && ranges[at].nodes >> view->node & 1;
    if (found) {
        view->lo = ranges[at].gpu;
        view->hi = ranges[at].gpu + ranges[at].size;
        view->host = ranges[at].host;
        /* Changes need the lock, so this is the generation in which the range was seen. */
        view->generation = atomic_load(&sim_map_generation);
    }
    pthread_rwlock_unlock(&lock);
    return found;
}

void sim_map_describe(uint64_t gpu, char *ret_text, size_t size)
{
    pthread_rwlock_rdlock(&lock);
    size_t at = find(gpu);
    const struct range *in = at < n_ranges && ranges[at].gpu <= gpu ? &ranges[at] : NULL;
    const struct range *before = at ? &ranges[at - 1] : NULL, *after = !in && at < n_ranges ? &ranges[at] : NULL;
    uint64_t behind = before ? gpu - (before->gpu + before->size) : UINT64_MAX, ahead = after ? after->gpu - gpu : UINT64_MAX;
    if (in)
        snprintf(ret_text, size, "byte %#" PRIx64 " of %#zx allocated at %#" PRIx64 ", not mapped for this card", gpu - in->gpu,
                 in->size, in->gpu);
    else if (!before && !after)
        snprintf(ret_text, size, "nothing is allocated");
    else if (behind <= ahead)
        snprintf(ret_text, size, "%#" PRIx64 " bytes behind the end of %#zx allocated at %#" PRIx64, behind, before->size,
                 before->gpu);
    else
        snprintf(ret_text, size, "%#" PRIx64 " bytes before %#zx allocated at %#" PRIx64, ahead, after->size, after->gpu);
    pthread_rwlock_unlock(&lock);
}
