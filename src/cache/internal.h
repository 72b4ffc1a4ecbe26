/* What the files of the cache share: the form of a file, and of the handle.  Not for other rooms. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CACHE_INTERNAL_H
#define AW_CACHE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "cache/cache.h"

#define AW_CACHE_MAGIC 0x3148434143505257ull /* "WRPCACH1" */

/* Begins each file; the payload follows at once.  Native byte order: a cache is never moved between machines that
 * differ. */
struct aw_cache_header {
    uint64_t magic;
    uint32_t format; /* AW_CACHE_FORMAT */
    uint32_t kind;
    uint64_t key[2];
    uint64_t size;       /* bytes of the payload */
    uint64_t payload[2]; /* its hash */
    uint64_t header;     /* hash of all the above */
};
_Static_assert(sizeof(struct aw_cache_header) == AW_CACHE_HEADER_SIZE, "the payload stays aligned in a mapped file");

/* What this process has found and not yet added to the file; atomic. */
struct aw_cache_counts {
    uint64_t hits, layer_hits, misses, stores;
    int process; /* whose they are: a child after fork starts with its parent's, which are not its own */
};

struct aw_cache {
    char *dir; /* owned; no slash at its end */
    uint64_t max_size;
    uint64_t stored; /* bytes stored by this process since its last sweep; atomic */
    bool off;        /* atomic */
    bool found;      /* the directory was there, and nobody else can write it; atomic */
    bool warned, warned_damage;
    bool read_only;  /* a layer */
    struct aw_cache *below; /* the next layer, owned; NULL: none */
    char why[512];   /* why it is off, for users */
    struct aw_cache_counts counts;
};

/* Counts one, into a number of `cache->counts`. */
void aw_cache_count(struct aw_cache *cache, uint64_t *number);
/* Adds what was counted since the last time to the file in the cache's directory. */
void aw_cache_counts_flush(struct aw_cache *cache);

/* What makes a file or a directory of ours unfit, as static text to follow its name, or NULL. */
const char *aw_cache_distrust(const struct stat *st);
/* The directory and all on the way to it, through links.  Where it is refused, *ret_why says what is wrong with what. */
enum aw_cache_trust { AW_CACHE_TRUSTED, AW_CACHE_MISSING, AW_CACHE_REFUSED };
enum aw_cache_trust aw_cache_trust(const char *dir, char *ret_why, size_t size);

/* What is wrong with a header, as static text to follow the file's name, or NULL. */
const char *aw_cache_header_problem(const struct aw_cache_header *header, uint64_t file_size);

/* Reads and checks an open file.  NULL and *ret_bytes (heap, NUL-terminated), or what is wrong. */
const char *aw_cache_read(int fd, const struct stat *st, struct aw_cache_header *ret_header, char **ret_bytes);

#endif
