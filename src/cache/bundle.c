/* Bundles: a cache's files one behind the other, out of one cache and into another. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cache/internal.h"

/* Begins a bundle; each entry is a cache file as it is, whose header says how long it is. */
static const char bundle_magic[16] = "anywarp cache 1\n";

/* No kernel is that large: more is damage, and not to be asked of memory. */
#define ENTRY_MOST ((uint64_t)4 << 30)

struct export {
    int fd;
    struct aw_cache_bundle *done;
    const char *why;
};

static bool export_one(void *user, const struct aw_cache_entry *entry)
{
    struct export *e = user;
    struct aw_cache_header header;
    struct stat st;
    char *bytes = NULL;
    if (!entry->kind)
        return true; /* being written */
    int fd = open(entry->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return true; /* evicted meanwhile */
    bool sound = fstat(fd, &st) == 0 && !aw_cache_read(fd, &st, &header, &bytes);
    close(fd);
    if (!sound) {
        e->done->damaged++;
        return true;
    }
    if (!aw_fd_write_all(e->fd, &header, sizeof header) || !aw_fd_write_all(e->fd, bytes, header.size))
        e->why = strerror(errno);
    free(bytes);
    e->done->entries++;
    e->done->bytes += sizeof header + header.size;
    return !e->why;
}

const char *aw_cache_export(struct aw_cache *cache, int fd, struct aw_cache_bundle *ret)
{
    struct export e = { .fd = fd, .done = ret };
    memset(ret, 0, sizeof *ret);
    if (!aw_fd_write_all(fd, bundle_magic, sizeof bundle_magic))
        return strerror(errno);
    if (!aw_cache_walk(cache, export_one, &e) && !e.why)
        return strerror(errno);
    return e.why;
}

/* Fewer bytes than `n` only at the end; -1 with errno. */
static ssize_t read_some(int fd, void *bytes, size_t n)
{
    size_t got = 0;
    while (got < n) {
        ssize_t r = read(fd, (char *)bytes + got, n - got);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return -1;
        if (r == 0)
            break;
        got += (size_t)r;
    }
    return (ssize_t)got;
}

/* The entry behind `header`: stored when it is sound.  NULL, or why the rest cannot be read. */
static const char *import_one(struct aw_cache *cache, int fd, const struct aw_cache_header *header, struct aw_cache_bundle *done)
{
    const char *why = header->size <= ENTRY_MOST ? aw_cache_header_problem(header, header->size + sizeof *header)
                                                 : "has a damaged header";
    if (why)
        return why; /* where the next one begins is not known */
    if (header->kind != AW_CACHE_MANIFEST && header->kind != AW_CACHE_OBJECT)
        return "has an entry of an unknown kind";
    char *bytes = malloc(header->size + 1);
    if (!bytes)
        return "has an entry that does not fit into memory";
    ssize_t n = read_some(fd, bytes, header->size);
    struct aw_hash128 hash = aw_hash128(bytes, header->size), key = { header->key[0], header->key[1] };
    bool whole = n >= 0 && (uint64_t)n == header->size;
    if (whole && (hash.lo != header->payload[0] || hash.hi != header->payload[1])) {
        done->damaged++;
    } else if (whole && !aw_cache_store(cache, (enum aw_cache_kind)header->kind, key, bytes, header->size)) {
        why = "cannot be stored in the cache";
    } else if (whole) {
        done->entries++;
        done->bytes += sizeof *header + header->size;
    }
    free(bytes);
    return why ? why : n < 0 ? strerror(errno) : whole ? NULL : "is cut short";
}

const char *aw_cache_import(struct aw_cache *cache, int fd, struct aw_cache_bundle *ret)
{
    struct aw_cache_header header;
    char magic[sizeof bundle_magic];
    memset(ret, 0, sizeof *ret);
    ssize_t n = read_some(fd, magic, sizeof magic);
    if (n < 0)
        return strerror(errno);
    if (n != (ssize_t)sizeof magic || memcmp(magic, bundle_magic, sizeof magic) != 0)
        return "is no bundle of `anywarp cache export`";
    for (;;) {
        n = read_some(fd, &header, sizeof header);
        if (n <= 0)
            return n < 0 ? strerror(errno) : NULL;
        const char *why = n < (ssize_t)sizeof header ? "is cut short" : import_one(cache, fd, &header, ret);
        if (why)
            return why;
    }
}
