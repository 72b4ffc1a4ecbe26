/* How often processes found what they looked for: counted in memory, added up in one small file of the cache's directory.  Only
 * for people to look at: whatever is wrong with the file, it begins anew. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "cache/internal.h"

#define STATISTICS_MAGIC 0x3154415453505257ull /* "WRPSTAT1" */

/* All of the file.  Native byte order, as in the cache's others. */
struct record {
    uint64_t magic;
    int64_t since;
    uint64_t hits, layer_hits, misses, stores;
    uint64_t hash; /* of all the above */
};

static uint64_t hash_of(const struct record *r)
{
    return aw_hash64(r, offsetof(struct record, hash));
}

void aw_cache_count(struct aw_cache *cache, uint64_t *number)
{
    int self = getpid();
    if (__atomic_load_n(&cache->counts.process, __ATOMIC_RELAXED) != self) {
        /* The first in this process.  Two threads that come at once may lose a count. */
        struct aw_cache_counts *c = &cache->counts;
        uint64_t *const all[] = { &c->hits, &c->layer_hits, &c->misses, &c->stores };
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            __atomic_store_n(all[i], 0, __ATOMIC_RELAXED);
        __atomic_store_n(&c->process, self, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
}

/* Opened for each use: a descriptor that was kept might be closed by the program and be another file's by then. */
static int open_file(const struct aw_cache *cache, int flags)
{
    char path[4400];
    struct stat st;
    const char *dir = aw_cache_dir(cache);
    int n = dir && !cache->read_only && cache->found ? snprintf(path, sizeof path, "%s/statistics", dir) : -1;
    int fd = n > 0 && (size_t)n < sizeof path ? open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600) : -1;
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !aw_cache_distrust(&st)))
        return fd;
    close(fd);
    return -1;
}

static bool read_record(int fd, struct record *ret)
{
    return pread(fd, ret, sizeof *ret, 0) == (ssize_t)sizeof *ret && ret->magic == STATISTICS_MAGIC && ret->hash == hash_of(ret);
}

static uint64_t take(uint64_t *number)
{
    return __atomic_exchange_n(number, 0, __ATOMIC_RELAXED);
}

/* Has anything been counted in this process?  Others may be counting. */
static bool has_any(const struct aw_cache_counts *c)
{
    const uint64_t *const all[] = { &c->hits, &c->layer_hits, &c->misses, &c->stores };
    uint64_t any = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        any |= __atomic_load_n(all[i], __ATOMIC_RELAXED);
    return any && __atomic_load_n(&c->process, __ATOMIC_RELAXED) == getpid();
}

void aw_cache_counts_flush(struct aw_cache *cache)
{
    struct aw_cache_counts *c = &cache->counts;
    int error = errno;
    if (!has_any(c))
        return;
    int fd = open_file(cache, O_RDWR | O_CREAT);
    if (fd >= 0 && flock(fd, LOCK_EX) == 0) {
        struct record r;
        if (!read_record(fd, &r))
            r = (struct record){ .magic = STATISTICS_MAGIC, .since = time(NULL) };
        r.hits += take(&c->hits);
        r.layer_hits += take(&c->layer_hits);
        r.misses += take(&c->misses);
        r.stores += take(&c->stores);
        r.hash = hash_of(&r);
        (void)!pwrite(fd, &r, sizeof r, 0);
    }
    if (fd >= 0)
        close(fd);
    errno = error;
}

bool aw_cache_statistics_read(const struct aw_cache *cache, struct aw_cache_statistics *ret)
{
    struct record r;
    int fd = open_file(cache, O_RDONLY);
    bool there = fd >= 0 && read_record(fd, &r);
    if (fd >= 0)
        close(fd);
    if (there)
        *ret = (struct aw_cache_statistics){ r.since, r.hits, r.layer_hits, r.misses, r.stores };
    return there;
}

void aw_cache_statistics_clear(struct aw_cache *cache)
{
    int fd = open_file(cache, O_RDWR);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX) == 0)
        (void)!ftruncate(fd, 0);
    close(fd);
}
