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
#define AW_CACHE_LAYERS_DEFAULT "/var/cache/anywarp"

/* Part of the file name, so one key may stand for several things. */
enum aw_cache_kind { AW_CACHE_MANIFEST = 'm', AW_CACHE_OBJECT = 'o' };

struct aw_cache;

/* The process's cache, made at first use from the environment:
 *   ANYWARP_CACHE=0            no cache, no layers
 *   ANYWARP_CACHE_DIR          the directory; else $XDG_CACHE_HOME/anywarp; else $HOME/.cache/anywarp
 *   ANYWARP_CACHE_MAX_SIZE     limit in bytes, with an optional K, M or G; 0 = no limit; else 4 GiB
 *   ANYWARP_CACHE_LAYERS       folders that are looked into where the directory has nothing, with colons between; else
 *                              AW_CACHE_LAYERS_DEFAULT
 * Never NULL; lives as long as the process. */
struct aw_cache *aw_cache_default(void);

/* Is there a directory that what is stored goes to, as far as is known yet? */
bool aw_cache_stores(const struct aw_cache *cache);

/* Bytes, with an optional K, M or G of 1024: "500M".  False when the text is something else. */
bool aw_cache_size(const char *text, uint64_t *ret_size);

/* A cache in `dir` (made when missing, with its parents, for the user alone).  `max_size` in bytes, 0 = no limit.
 * Owned by the caller; NULL only when memory is out.  A directory that cannot be used gives a cache that misses, and a
 * warning; an empty name, one that misses. */
struct aw_cache *aw_cache_create(const char *dir, uint64_t max_size);
void aw_cache_destroy(struct aw_cache *cache); /* NULL is fine; its layers go with it */

/* Adds a layer behind those that the cache has: another cache's directory, such as one that came with a container's image.  What
 * the cache does not have is looked for there; nothing there is ever written, touched or removed.  Trusted as the cache itself
 * is, but that a layer which cannot be used is left out and named in the log.  Not thread-safe: before the first load.  False
 * when memory is out. */
bool aw_cache_add_layer(struct aw_cache *cache, const char *dir);
/* The directory of layer i, from 0; borrowed until destroy.  NULL when there are not so many. */
const char *aw_cache_layer(const struct aw_cache *cache, size_t i);

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
/* Removes what was last used before `used_before` (seconds since 1970), and then the least recently used until what is left takes
 * at most `max_size` bytes.  As with sweep. */
uint64_t aw_cache_prune(struct aw_cache *cache, uint64_t max_size, int64_t used_before);

/* What processes have found in the cache, all together since `since` (seconds since 1970).  A process adds its own when it stores
 * something and when it ends; one that is killed may lose some. */
struct aw_cache_statistics {
    int64_t since;
    uint64_t hits, layer_hits, misses, stores;
};
/* False when nothing has been counted. */
bool aw_cache_statistics_read(const struct aw_cache *cache, struct aw_cache_statistics *ret);
/* Forgets them, on disk. */
void aw_cache_statistics_clear(struct aw_cache *cache);

/* A bundle: the files of a cache one behind the other, to be carried to another place.  Import checks each as load does and
 * stores those that are sound; what is in a bundle will be executed, so it has to come from who is trusted. */
struct aw_cache_bundle {
    uint64_t entries, bytes; /* written or read and sound */
    uint64_t damaged;        /* left out */
};
/* Writes everything that is sound to `fd`.  NULL, or what went wrong, static or of strerror. */
const char *aw_cache_export(struct aw_cache *cache, int fd, struct aw_cache_bundle *ret);
/* Reads to the end of `fd`.  NULL, or what went wrong: what came before it is stored. */
const char *aw_cache_import(struct aw_cache *cache, int fd, struct aw_cache_bundle *ret);

#endif
