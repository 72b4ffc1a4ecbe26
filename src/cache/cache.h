/* A content-addressed store on disk for what the compiler made: bytes under a 128-bit key and a kind.
 *
 * Every entry is a file of its own, written aside and renamed, and checked on load by length, key and hash: a torn or
 * damaged file is removed and reads as a miss.  Nothing here fails a caller: a cache that cannot be used says so once
 * in the log and misses from then on.  Thread-safe, and safe with many processes on one directory.  It never trusts
 * what other users (root excepted) own or can write, from the root directory to the file, since objects are executed. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CACHE_CACHE_H
#define AW_CACHE_CACHE_H

#include "base/hash.h"

/* The file form's version: part of each header, so files of another version read as damaged and are replaced. */
#define AW_CACHE_FORMAT 1u
/* Bytes before the payload in each file. */
#define AW_CACHE_HEADER_SIZE 64u
#define AW_CACHE_DEFAULT_MAX ((uint64_t)4 << 30)

/* Part of the file name, so one key may stand for several things. */
enum aw_cache_kind { AW_CACHE_MANIFEST = 'm', AW_CACHE_OBJECT = 'o' };

struct aw_cache;

/* The process's cache, made at first use from the environment:
 *   ANYWARP_CACHE=0            no cache
 *   ANYWARP_CACHE_DIR          the directory; else $XDG_CACHE_HOME/anywarp; else $HOME/.cache/anywarp
 *   ANYWARP_CACHE_MAX_SIZE     limit in bytes, with an optional K, M or G; 0 = no limit; else 4 GiB
 * Never NULL; lives as long as the process. */
struct aw_cache *aw_cache_default(void);

/* A cache in `dir` (made when missing, with its parents, for the user alone).  `max_size` in bytes, 0 = no limit.
 * Owned by the caller; NULL only when memory is out.  A directory that cannot be used gives a cache that misses, and a
 * warning; an empty name, one that misses. */
struct aw_cache *aw_cache_create(const char *dir, uint64_t max_size);
void aw_cache_destroy(struct aw_cache *cache); /* NULL is fine */

/* NULL when the cache is off.  Borrowed until destroy. */
const char *aw_cache_dir(const struct aw_cache *cache);
/* Makes the directory where it is missing and sees whether it can be written.  NULL, or why not: borrowed until destroy, or
 * static. */
const char *aw_cache_prepare(struct aw_cache *cache);
uint64_t aw_cache_max_size(const struct aw_cache *cache);

/* True on a hit: *ret_bytes is heap (caller frees), NUL-terminated beyond its size. */
bool aw_cache_load(struct aw_cache *cache, enum aw_cache_kind kind, struct aw_hash128 key, char **ret_bytes,
                   size_t *ret_size);

/* Keeps a copy.  True when it is stored; false has been logged where a user should know, and is no reason to stop. */
bool aw_cache_store(struct aw_cache *cache, enum aw_cache_kind kind, struct aw_hash128 key, const void *bytes,
                    size_t size);

/* One file of the store.  Borrowed for the call. */
struct aw_cache_entry {
    const char *path;
    enum aw_cache_kind kind; /* 0 for a left-over temporary file */
    uint64_t disk_size;      /* bytes it takes on disk */
    int64_t used;            /* last use, seconds since 1970, to about an hour */
};
/* Calls `each` for every file until it returns false.  False when the directory could not be read. */
bool aw_cache_walk(struct aw_cache *cache, bool (*each)(void *user, const struct aw_cache_entry *entry), void *user);

/* What there is to say of one file: NULL when it is sound, else a static text. */
const char *aw_cache_check(const struct aw_cache_entry *entry);

/* Removes the least recently used files until the limit holds with some room.  Runs by itself now and then; also
 * left-over temporary files go.  Returns the bytes freed. */
uint64_t aw_cache_sweep(struct aw_cache *cache);

#endif
