/* The store on disk: where it lies, loading, storing.  Listing and evicting are in sweep.c.  It keeps nothing in memory
 * but the directory's name; the files are the state. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "base/file.h"
#include "base/log.h"
#include "base/setting.h"
#include "cache/internal.h"

#define AW_ROOM "cache"

/* A file whose last use is noted more recently than this many seconds ago is not touched again on a hit. */
#define TOUCH_AFTER 3600

static struct aw_cache_header header_of(enum aw_cache_kind kind, struct aw_hash128 key, const void *bytes, size_t size)
{
    struct aw_hash128 payload = aw_hash128(bytes, size);
    struct aw_cache_header h = {
        .magic = AW_CACHE_MAGIC,
        .format = AW_CACHE_FORMAT,
        .kind = kind,
        .key = { key.lo, key.hi },
        .size = size,
        .payload = { payload.lo, payload.hi },
    };
    h.header = aw_hash64(&h, offsetof(struct aw_cache_header, header));
    return h;
}

/* ---- The directory ---- */

/* Warns once per cache, as the same trouble would come with every kernel. */
#define warn_once(cache, ...)                                           \
    do {                                                                \
        if (!__atomic_test_and_set(&(cache)->warned, __ATOMIC_RELAXED)) \
            aw_say(__VA_ARGS__);                                        \
    } while (0)

static void turn_off(struct aw_cache *cache)
{
    __atomic_store_n(&cache->off, true, __ATOMIC_RELAXED);
}

static bool is_off(const struct aw_cache *cache)
{
    return __atomic_load_n(&cache->off, __ATOMIC_RELAXED);
}

/* mkdir -p, for the user alone.  `path` is changed for a moment. */
static bool make_directories(char *path)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return true;
    char *slash = errno == ENOENT ? strrchr(path, '/') : NULL;
    if (!slash || slash == path)
        return false;
    *slash = '\0';
    bool made = make_directories(path);
    *slash = '/';
    return made && (mkdir(path, 0700) == 0 || errno == EEXIST);
}

/* For whoever asks later, and the log. */
static void refuse(struct aw_cache *cache, const char *why)
{
    if (!__atomic_test_and_set(&cache->warned, __ATOMIC_RELAXED)) {
        snprintf(cache->why, sizeof cache->why, "%s", why);
        if (cache->read_only)
            aw_say(CACHE_LAYER_REFUSED, why);
        else
            aw_say(CACHE_REFUSED, why);
    }
    turn_off(cache);
}

/* A missing directory is fine: storing makes it.  Turns the cache off when others could plant code in it. */
static void check_directory(struct aw_cache *cache)
{
    char why[sizeof cache->why];
    switch (aw_cache_trust(cache->dir, why, sizeof why)) {
    case AW_CACHE_TRUSTED:
        __atomic_store_n(&cache->found, true, __ATOMIC_RELEASE);
        return;
    case AW_CACHE_MISSING:
        return;
    case AW_CACHE_REFUSED:
        refuse(cache, why);
    }
}

/* Absolute, as the program may change its directory.  Heap; NULL when memory is out. */
static char *absolute(const char *dir)
{
    char *cwd = *dir == '/' || *dir == '\0' ? NULL : getcwd(NULL, 0), *path;
    if (!cwd)
        return strdup(dir);
    if (asprintf(&path, "%s/%s", cwd, dir) < 0)
        path = NULL;
    free(cwd);
    return path;
}

static struct aw_cache *create(const char *dir, uint64_t max_size, bool read_only)
{
    struct aw_cache *cache = calloc(1, sizeof *cache);
    if (!cache || !(cache->dir = absolute(dir))) {
        free(cache);
        return NULL;
    }
    cache->max_size = max_size;
    cache->read_only = read_only;
    cache->off = *cache->dir == '\0';
    for (size_t len = strlen(cache->dir); len > 1 && cache->dir[len - 1] == '/';)
        cache->dir[--len] = '\0';
    if (!cache->off && !read_only) /* a layer is looked at when it is asked for something */
        check_directory(cache);
    return cache;
}

struct aw_cache *aw_cache_create(const char *dir, uint64_t max_size)
{
    return create(dir, max_size, false);
}

void aw_cache_destroy(struct aw_cache *cache)
{
    if (!cache)
        return;
    aw_cache_destroy(cache->below);
    free(cache->dir);
    free(cache);
}

bool aw_cache_add_layer(struct aw_cache *cache, const char *dir)
{
    struct aw_cache *layer = create(dir, 0, true);
    if (!layer)
        return false;
    while (cache->below)
        cache = cache->below;
    cache->below = layer;
    return true;
}

const char *aw_cache_layer(const struct aw_cache *cache, size_t i)
{
    do
        cache = cache->below;
    while (cache && i-- > 0);
    return cache ? cache->dir : NULL;
}

const char *aw_cache_dir(const struct aw_cache *cache)
{
    return is_off(cache) ? NULL : cache->dir;
}

/* Permission is not all: there are folders of the kernel's own, such as /proc, full disks, and ones that are read-only. */
static bool can_make_files(const char *dir)
{
    char *path;
    if (asprintf(&path, "%s/try.XXXXXX", dir) < 0)
        return false;
    int fd = mkostemp(path, O_CLOEXEC), saved = errno;
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    free(path);
    errno = saved;
    return fd >= 0;
}

const char *aw_cache_prepare(struct aw_cache *cache)
{
    if (!is_off(cache) && !make_directories(cache->dir))
        snprintf(cache->why, sizeof cache->why, "%.400s: %s", cache->dir, strerror(errno));
    else if (!is_off(cache))
        check_directory(cache);
    if (!*cache->why && !is_off(cache) && (access(cache->dir, R_OK | W_OK | X_OK) != 0 || !can_make_files(cache->dir)))
        snprintf(cache->why, sizeof cache->why, "%.400s: no file can be made there: %s", cache->dir, strerror(errno));
    return *cache->why ? cache->why : is_off(cache) ? "off" : NULL;
}

uint64_t aw_cache_max_size(const struct aw_cache *cache)
{
    return cache->max_size;
}

/* ---- The process's own ---- */

static struct aw_cache default_cache = { .off = true };

bool aw_cache_size(const char *text, uint64_t *ret_size)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    unsigned shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' || *end == 'm' ? 20 : *end == 'G' || *end == 'g' ? 30 : 0;
    end += shift != 0;
    if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || value > UINT64_MAX >> shift)
        return false;
    *ret_size = value << shift;
    return true;
}

static uint64_t max_size_from(const char *text)
{
    uint64_t size = AW_CACHE_DEFAULT_MAX;
    if (text && *text && !aw_cache_size(text, &size))
        aw_say(CACHE_SIZE, text);
    return size;
}

static void default_directory(void)
{
    const char *dir = aw_env("ANYWARP_CACHE_DIR"), *xdg = aw_env("XDG_CACHE_HOME");
    const char *home = aw_env("HOME");
    char path[4096];
    int n = -1;
    if (dir && *dir)
        n = snprintf(path, sizeof path, "%s", dir);
    else if (xdg && *xdg == '/')
        n = snprintf(path, sizeof path, "%s/anywarp", xdg);
    else if (home && *home == '/')
        n = snprintf(path, sizeof path, "%s/.cache/anywarp", home);
    if (n < 0) {
        aw_say(CACHE_NOWHERE);
        return;
    }
    struct aw_cache *cache = (size_t)n < sizeof path
                                 ? aw_cache_create(path, max_size_from(aw_env("ANYWARP_CACHE_MAX_SIZE")))
                                 : NULL;
    if (!cache)
        return;
    default_cache = *cache; /* takes over the name */
    free(cache);
}

/* Where the cache itself is nowhere, or cannot be used, its layers still can. */
static void default_layers(void)
{
    const char *list = aw_env("ANYWARP_CACHE_LAYERS");
    char *all = strdup(list ? list : AW_CACHE_LAYERS_DEFAULT), *rest = all;
    for (char *dir; all && (dir = strsep(&rest, ":"));)
        if (*dir && !aw_cache_add_layer(&default_cache, dir))
            break;
    free(all);
}

static void default_init(void)
{
    static const char *const words[] = { "0", "1", NULL };
    const char *passes = aw_env("ANYWARP_PASSES");
    if (!aw_setting_word("ANYWARP_CACHE", words, 1) || (passes && *passes)) /* what is asked of passes is no part of the key */
        return;
    default_directory();
    default_layers();
}

/* A program's end; also the end of the library, when it is unloaded. */
__attribute__((destructor)) static void default_fini(void)
{
    aw_cache_counts_flush(&default_cache);
}

struct aw_cache *aw_cache_default(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, default_init);
    return &default_cache;
}

bool aw_cache_stores(const struct aw_cache *cache)
{
    return cache->dir && !__atomic_load_n(&cache->off, __ATOMIC_RELAXED);
}

/* ---- Loading ---- */

/* The file's path, or the directory's where the file would lie; false when it would be cut. */
static bool entry_path(const struct aw_cache *cache, enum aw_cache_kind kind, struct aw_hash128 key, char *ret_path,
                       size_t size)
{
    char hex[33];
    aw_hash128_hex(key, hex);
    int n = snprintf(ret_path, size, "%s/%.2s/%s.%c", cache->dir, hex, hex + 2, (char)kind);
    return n > 0 && (size_t)n < size;
}

const char *aw_cache_header_problem(const struct aw_cache_header *header, uint64_t file_size)
{
    if (header->magic != AW_CACHE_MAGIC)
        return "is no cache file";
    if (header->header != aw_hash64(header, offsetof(struct aw_cache_header, header)))
        return "has a damaged header";
    if (header->format != AW_CACHE_FORMAT)
        return "is of another version";
    if (header->size != file_size - sizeof *header)
        return "has the wrong length";
    return NULL;
}

/* Reads what follows the header.  NULL and *ret_bytes, or what is wrong. */
static const char *read_payload(int fd, const struct aw_cache_header *header, char **ret_bytes)
{
    char *bytes = malloc(header->size + 1);
    if (!bytes)
        return "does not fit into memory";
    const char *why = NULL;
    if (!aw_fd_read_all(fd, bytes, header->size))
        why = "cannot be read";
    if (!why) {
        struct aw_hash128 hash = aw_hash128(bytes, header->size);
        if (hash.lo != header->payload[0] || hash.hi != header->payload[1])
            why = "has damaged contents";
    }
    if (why) {
        free(bytes);
        return why;
    }
    bytes[header->size] = '\0';
    *ret_bytes = bytes;
    return NULL;
}

const char *aw_cache_read(int fd, const struct stat *st, struct aw_cache_header *ret_header, char **ret_bytes)
{
    if (!S_ISREG(st->st_mode))
        return "is not a file";
    const char *why = aw_cache_distrust(st);
    if (why)
        return why;
    if ((uint64_t)st->st_size < sizeof *ret_header || !aw_fd_read_all(fd, ret_header, sizeof *ret_header))
        return "is cut short";
    why = aw_cache_header_problem(ret_header, (uint64_t)st->st_size);
    return why ? why : read_payload(fd, ret_header, ret_bytes);
}

/* Opens the folder that `path` lies in; -1 with errno when it is not there or, EPERM and a warning, not ours alone. */
static int open_folder(struct aw_cache *cache, const char *path)
{
    char folder[4400];
    struct stat st;
    if (!__atomic_load_n(&cache->found, __ATOMIC_ACQUIRE)) {
        check_directory(cache); /* somebody may have made it */
        if (!__atomic_load_n(&cache->found, __ATOMIC_ACQUIRE)) {
            errno = is_off(cache) ? EPERM : ENOENT;
            return -1;
        }
    }
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    const char *why = fstat(fd, &st) != 0 ? strerror(errno) : aw_cache_distrust(&st);
    if (!why)
        return fd;
    close(fd);
    warn_once(cache, CACHE_FOLDER, folder, why);
    errno = EPERM;
    return -1;
}

/* The file, open for reading; -1 when it is not there. */
static int open_entry(struct aw_cache *cache, const char *path)
{
    int folder = open_folder(cache, path);
    if (folder < 0)
        return -1;
    int fd = openat(folder, strrchr(path, '/') + 1, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    close(folder);
    return fd;
}

static void drop_damaged(struct aw_cache *cache, const char *path, const char *why)
{
    bool first = !__atomic_test_and_set(&cache->warned_damage, __ATOMIC_RELAXED);
    /* Perhaps another process has just replaced it by a sound one: then that one is made again, nothing worse. */
    if (!cache->read_only)
        unlink(path);
    if (first && cache->read_only)
        aw_say(CACHE_LAYER_DAMAGED, path, why);
    else if (first)
        aw_say(CACHE_DAMAGED, path, why);
}

static bool load_one(struct aw_cache *cache, enum aw_cache_kind kind, struct aw_hash128 key, char **ret_bytes, size_t *ret_size)
{
    char path[4400];
    if (is_off(cache) || !entry_path(cache, kind, key, path, sizeof path))
        return false;
    int fd = open_entry(cache, path);
    if (fd < 0)
        return false;
    struct stat st;
    struct aw_cache_header header;
    char *bytes = NULL;
    const char *why = fstat(fd, &st) != 0 ? "cannot be read" : aw_cache_read(fd, &st, &header, &bytes);
    if (!why && (header.kind != (uint32_t)kind || header.key[0] != key.lo || header.key[1] != key.hi))
        why = "holds something else than its name says";
    if (!why && !cache->read_only && time(NULL) - st.st_mtime > TOUCH_AFTER)
        (void)!futimens(fd, NULL); /* only the order of eviction suffers when it fails */
    close(fd);
    if (why) {
        drop_damaged(cache, path, why);
        free(bytes);
        return false;
    }
    *ret_bytes = bytes;
    *ret_size = header.size;
    return true;
}

bool aw_cache_load(struct aw_cache *cache, enum aw_cache_kind kind, struct aw_hash128 key, char **ret_bytes,
                   size_t *ret_size)
{
    for (struct aw_cache *c = cache; c; c = c->below)
        if (load_one(c, kind, key, ret_bytes, ret_size)) {
            aw_cache_count(cache, c == cache ? &cache->counts.hits : &cache->counts.layer_hits);
            return true;
        }
    aw_cache_count(cache, &cache->counts.misses);
    return false;
}

/* ---- Storing ---- */

/* Opens a fresh file beside `path`; makes the directories when they are missing. */
static int open_temporary(struct aw_cache *cache, const char *path, char *ret_temporary, size_t size)
{
    static unsigned counter;
    const char *slash = strrchr(path, '/');
    int n = snprintf(ret_temporary, size, "%.*s/.tmp-%ld-%u-%lx", (int)(slash - path), path, (long)getpid(),
                     __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED), (unsigned long)time(NULL));
    if (n < 0 || (size_t)n >= size) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int folder = open_folder(cache, path);
    if (folder < 0 && errno == ENOENT) {
        char directory[4400];
        snprintf(directory, sizeof directory, "%.*s", (int)(slash - path), path);
        if (make_directories(directory))
            folder = open_folder(cache, path); /* perhaps somebody else was quicker to make it */
    }
    if (folder < 0)
        return -1;
    int fd = openat(folder, strrchr(ret_temporary, '/') + 1, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600),
        error = errno;
    close(folder);
    errno = error;
    return fd;
}

/* Beyond the process's own limit on file sizes a write would raise SIGXFSZ in a program that is not ours. */
static bool exceeds_file_limit(size_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           size + sizeof(struct aw_cache_header) > limit.rlim_cur;
}

static bool write_entry(struct aw_cache *cache, const char *path, const struct aw_cache_header *header,
                        const void *bytes)
{
    char temporary[4500];
    if (exceeds_file_limit(header->size)) {
        errno = EFBIG;
        return false;
    }
    int fd = open_temporary(cache, path, temporary, sizeof temporary);
    if (fd < 0)
        return false;
    bool done = aw_fd_write_all(fd, header, sizeof *header) && aw_fd_write_all(fd, bytes, header->size);
    int error = errno;
    /* Some file systems report a full disk only here. */
    if (close(fd) != 0 && done) {
        done = false;
        error = errno;
    }
    if (done && rename(temporary, path) != 0) {
        done = false;
        error = errno;
    }
    if (!done)
        unlink(temporary);
    errno = error;
    return done;
}

/* Chance decides which store pays for the sweep, so that one happens for about each 1/16 of the limit that is stored, by
 * however many processes.  The key serves as the die. */
static bool sweep_is_due(struct aw_cache *cache, struct aw_hash128 key, size_t size)
{
    if (cache->max_size == 0)
        return false;
    uint64_t step = cache->max_size / 16 + 1;
    if (__atomic_add_fetch(&cache->stored, size, __ATOMIC_RELAXED) >= step) {
        __atomic_store_n(&cache->stored, 0, __ATOMIC_RELAXED);
        return true;
    }
    return key.lo % step < size;
}

bool aw_cache_store(struct aw_cache *cache, enum aw_cache_kind kind, struct aw_hash128 key, const void *bytes,
                    size_t size)
{
    char path[4400];
    if (is_off(cache) || !entry_path(cache, kind, key, path, sizeof path))
        return false;
    if (cache->max_size != 0 && size > cache->max_size / 2) {
        aw_say(CACHE_TOO_LARGE, size, (unsigned long long)cache->max_size);
        return false;
    }
    struct aw_cache_header header = header_of(kind, key, bytes, size);
    if (!write_entry(cache, path, &header, bytes)) {
        if (!is_off(cache))
            warn_once(cache, CACHE_STORE, cache->dir, strerror(errno));
        return false;
    }
    aw_cache_count(cache, &cache->counts.stores);
    aw_cache_counts_flush(cache); /* compiling it took a thousand times as long */
    if (sweep_is_due(cache, key, size))
        aw_cache_sweep(cache);
    return true;
}
