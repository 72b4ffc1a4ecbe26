/* Listing, checking and evicting what the store holds. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"
#include "cache/internal.h"

#define AW_ROOM "cache"

/* A temporary file older than this many seconds belongs to a process that died. */
#define STALE_AFTER 3600

struct found {
    char *path;
    int64_t used;
    uint64_t size;
};

struct listing {
    AW_VEC(struct found) files;
    uint64_t total;
    bool failed;
};

/* The kind a file name stands for; 0 for a temporary; -1 for a file that is not ours. */
static int kind_of(const char *name)
{
    if (strncmp(name, ".tmp-", 5) == 0)
        return 0;
    if (strlen(name) != 32 || name[30] != '.' || strspn(name, "0123456789abcdef") != 30)
        return -1;
    return name[31] == AW_CACHE_MANIFEST || name[31] == AW_CACHE_OBJECT ? name[31] : -1;
}

/* False when the walk shall stop. */
static bool walk_directory(const char *path, bool (*each)(void *, const struct aw_cache_entry *), void *user)
{
    DIR *dir = opendir(path);
    if (!dir)
        return true; /* not there, or another process is busy with it */
    bool more = true;
    for (struct dirent *ent; more && (ent = readdir(dir));) {
        int kind = kind_of(ent->d_name);
        struct stat st;
        char file[4500];
        if (kind < 0 || fstatat(dirfd(dir), ent->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        int n = snprintf(file, sizeof file, "%s/%s", path, ent->d_name);
        if (n < 0 || (size_t)n >= sizeof file)
            continue;
        struct aw_cache_entry entry = { file, (enum aw_cache_kind)kind, (uint64_t)st.st_blocks * 512, st.st_mtime };
        more = each(user, &entry);
    }
    closedir(dir);
    return more;
}

bool aw_cache_walk(struct aw_cache *cache, bool (*each)(void *user, const struct aw_cache_entry *entry), void *user)
{
    const char *dir = aw_cache_dir(cache);
    if (!dir)
        return false;
    if (access(dir, R_OK | X_OK) != 0)
        return errno == ENOENT;
    for (unsigned i = 0; i < 256; i++) {
        char path[4300];
        int n = snprintf(path, sizeof path, "%s/%02x", dir, i);
        if (n < 0 || (size_t)n >= sizeof path)
            return false;
        if (!walk_directory(path, each, user))
            break;
    }
    return true;
}

const char *aw_cache_check(const struct aw_cache_entry *entry)
{
    if (entry->kind == 0)
        return time(NULL) - entry->used > STALE_AFTER ? "was left over by a process that died" : NULL;
    int fd = open(entry->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? NULL : "cannot be opened"; /* evicted meanwhile is no damage */
    struct stat st;
    struct aw_cache_header header;
    char *bytes = NULL;
    const char *why = fstat(fd, &st) != 0 ? "cannot be read" : aw_cache_read(fd, &st, &header, &bytes);
    free(bytes);
    close(fd);
    if (why)
        return why;
    char hex[33];
    size_t len = strlen(entry->path);
    aw_hash128_hex((struct aw_hash128){ header.key[0], header.key[1] }, hex);
    /* .../ab/cdef....k */
    if (header.kind != (uint32_t)entry->kind || len < 36 || strncmp(entry->path + len - 35, hex, 2) != 0 ||
        strncmp(entry->path + len - 32, hex + 2, 30) != 0)
        return "holds something else than its name says";
    return NULL;
}

static bool list_one(void *user, const struct aw_cache_entry *entry)
{
    struct listing *listing = user;
    if (entry->kind == 0 && time(NULL) - entry->used <= STALE_AFTER)
        return true; /* somebody is writing it */
    struct found found = { strdup(entry->path), entry->kind ? entry->used : 0, entry->disk_size };
    if (!found.path || !aw_vec_push(&listing->files, found)) {
        free(found.path);
        listing->failed = true;
        return false;
    }
    listing->total += entry->disk_size;
    return true;
}

static int by_use(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    return x->used < y->used ? -1 : x->used > y->used;
}

/* Removes what is left over, what was last used before `used_before`, and, where all together takes more than `limit` bytes, the
 * least recently used until `goal` holds. */
static uint64_t evict(struct aw_cache *cache, uint64_t limit, uint64_t goal, int64_t used_before)
{
    struct listing listing = { 0 };
    uint64_t freed = 0;
    aw_cache_walk(cache, list_one, &listing);
    if (listing.files.n > 0)
        qsort(listing.files.at, listing.files.n, sizeof *listing.files.at, by_use);
    if (listing.total <= limit)
        goal = UINT64_MAX;
    for (size_t i = 0; i < listing.files.n && !listing.failed; i++) {
        const struct found *file = &listing.files.at[i];
        if (file->used >= used_before && listing.total - freed <= goal) /* a left-over one has 0 */
            break;
        if (unlink(file->path) == 0 || errno == ENOENT)
            freed += file->size;
    }
    if (freed > 0)
        aw_say(CACHE_SWEPT, (unsigned long long)freed, cache->dir);
    for (size_t i = 0; i < listing.files.n; i++)
        free(listing.files.at[i].path);
    aw_vec_fini(&listing.files);
    return freed;
}

uint64_t aw_cache_prune(struct aw_cache *cache, uint64_t max_size, int64_t used_before)
{
    return evict(cache, max_size, max_size, used_before);
}

uint64_t aw_cache_sweep(struct aw_cache *cache)
{
    return evict(cache, cache->max_size ? cache->max_size : UINT64_MAX, cache->max_size / 8 * 7, 1);
}
