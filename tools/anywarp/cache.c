/* `anywarp cache`: what the cache holds, throwing it away, checking it, carrying it elsewhere. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "anywarp.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cache/cache.h"
#include "usage.h"

struct totals {
    uint64_t manifests, objects, left_over; /* files */
    uint64_t bytes;
    int64_t oldest;
    uint64_t failed, bad;
};

static void count(struct totals *totals, const struct aw_cache_entry *entry)
{
    if (entry->kind == AW_CACHE_MANIFEST)
        totals->manifests++;
    else if (entry->kind == AW_CACHE_OBJECT)
        totals->objects++;
    else
        totals->left_over++;
    totals->bytes += entry->disk_size;
    if (totals->oldest == 0 || entry->used < totals->oldest)
        totals->oldest = entry->used;
}

static bool count_one(void *user, const struct aw_cache_entry *entry)
{
    count(user, entry);
    return true;
}

static bool remove_one(void *user, const struct aw_cache_entry *entry)
{
    struct totals *totals = user;
    if (unlink(entry->path) == 0) {
        count(totals, entry);
    } else if (errno != ENOENT) {
        aw_tell("anywarp", CACHE_REMOVE, entry->path, strerror(errno));
        totals->failed++;
    }
    return true;
}

static bool verify_one(void *user, const struct aw_cache_entry *entry)
{
    struct totals *totals = user;
    const char *why = aw_cache_check(entry);
    count(totals, entry);
    if (!why)
        return true;
    totals->bad++;
    printf("%s %s", entry->path, why);
    if (unlink(entry->path) == 0) {
        puts("; removed");
    } else {
        printf("; cannot be removed: %s\n", strerror(errno));
        totals->failed++;
    }
    return true;
}

static void print_size(const char *before, uint64_t bytes)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    double value = (double)bytes;
    unsigned unit = 0;
    for (; value >= 1024 && unit < 4; unit++)
        value /= 1024;
    printf("%s%.*f %s", before, unit ? 1 : 0, value, units[unit]);
}

static void show_layers(const struct aw_cache *cache)
{
    const char *dir;
    for (size_t i = 0; (dir = aw_cache_layer(cache, i)); i++)
        printf("layer      %s%s\n", dir, access(dir, R_OK | X_OK) == 0 ? "" : " (not there)");
}

static void print_day(const char *before, int64_t seconds)
{
    char text[32];
    time_t t = (time_t)seconds;
    struct tm tm;
    if (localtime_r(&t, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M", &tm) > 0)
        printf("%s%s\n", before, text);
}

static void show_statistics(const struct aw_cache *cache)
{
    struct aw_cache_statistics s;
    if (!aw_cache_statistics_read(cache, &s))
        return;
    uint64_t found = s.hits + s.layer_hits, all = found + s.misses;
    printf("found      %llu of %llu looked for", (unsigned long long)found, (unsigned long long)all);
    if (all)
        printf(" (%.1f%%)", 100.0 * (double)found / (double)all);
    if (s.layer_hits)
        printf(", %llu of them in layers", (unsigned long long)s.layer_hits);
    printf("; %llu stored", (unsigned long long)s.stores);
    print_day(", since ", s.since);
}

static int show(struct aw_cache *cache, const struct totals *totals)
{
    printf("directory  %s\n", aw_cache_dir(cache));
    show_layers(cache);
    printf("modules    %llu\nkernels    %llu\n", (unsigned long long)totals->manifests, (unsigned long long)totals->objects);
    if (totals->left_over)
        printf("left over  %llu (being written, or by processes that died)\n", (unsigned long long)totals->left_over);
    print_size("size       ", totals->bytes);
    if (aw_cache_max_size(cache))
        print_size(" of ", aw_cache_max_size(cache));
    putchar('\n');
    show_statistics(cache);
    if (totals->oldest)
        print_day("least recently used on ", totals->oldest);
    return 0;
}

/* The same as one object; bytes, and seconds since 1970. */
static int show_json(struct aw_cache *cache, const struct totals *totals)
{
    struct aw_buf out = { 0 };
    struct aw_cache_statistics s = { 0 };
    const char *dir;
    aw_cache_statistics_read(cache, &s);
    aw_buf_printf(&out, "{\"directory\": ");
    aw_json_cstr(&out, aw_cache_dir(cache));
    aw_buf_printf(&out, ", \"layers\": [");
    for (size_t i = 0; (dir = aw_cache_layer(cache, i)); i++) {
        aw_buf_printf(&out, "%s", i ? ", " : "");
        aw_json_cstr(&out, dir);
    }
    aw_buf_printf(&out, "], \"modules\": %llu, \"kernels\": %llu, \"left_over\": %llu, \"bytes\": %llu, \"max_bytes\": %llu",
                  (unsigned long long)totals->manifests, (unsigned long long)totals->objects,
                  (unsigned long long)totals->left_over, (unsigned long long)totals->bytes,
                  (unsigned long long)aw_cache_max_size(cache));
    aw_buf_printf(&out, ", \"least_recently_used\": %lld, \"counted_since\": %lld", (long long)totals->oldest,
                  (long long)s.since);
    aw_buf_printf(&out, ", \"hits\": %llu, \"layer_hits\": %llu, \"misses\": %llu, \"stores\": %llu}",
                  (unsigned long long)s.hits, (unsigned long long)s.layer_hits, (unsigned long long)s.misses,
                  (unsigned long long)s.stores);
    bool whole = out.ptr && !out.failed;
    if (whole)
        puts(out.ptr);
    aw_buf_fini(&out);
    return whole ? 0 : 1;
}

static const char help[] =
    "usage: anywarp cache [show [--json] | verify | clear | prune [--max-size SIZE] [--unused DAYS] | export FILE | "
    "import FILE]\n\n"
    "Shows, checks, empties or carries the cache of compiled kernels.\n\n"
        "  show    where the cache is, what it holds, how often something was found in it (the default)\n"
        "  verify  check every file, remove damaged ones\n"
        "  clear   remove everything in it\n"
        "  prune   remove what was not used for DAYS, then what was used longest ago, until SIZE holds; without either, as much\n"
        "          as the cache's own limit asks for, and what processes that died have left over\n"
        "  export  write all kernels into one FILE, to be carried to another machine or image; -: standard output\n"
        "  import  add the kernels of such a FILE; -: standard input.  They will be executed: take them from who you trust\n\n"
        "environment:\n"
        "  ANYWARP_CACHE=0          do without the cache\n"
        "  ANYWARP_CACHE_DIR        the directory; else $XDG_CACHE_HOME/anywarp; else ~/.cache/anywarp\n"
        "  ANYWARP_CACHE_LAYERS     caches that are only read, with colons between; else /var/cache/anywarp\n"
        "  ANYWARP_CACHE_MAX_SIZE   limit, such as 500M; 0 is no limit; default 4G\n\n"
    "Exit status: 0; 1 there is no cache, or something in it was damaged or could not be read or removed; 2 wrong usage.\n";

static int too_many(const char *word)
{
    return aw_usage_wrong("cache", help, *word == '-' ? "unknown option %s" : "'%s' is one word too many", word);
}

static int unreadable(struct aw_cache *cache)
{
    aw_tell("anywarp", CACHE_READ, aw_cache_dir(cache), strerror(errno));
    return 1;
}

static int cmd_show(struct aw_cache *cache, int argc, char **argv)
{
    bool json = argc == 1 && !strcmp(argv[0], "--json");
    struct totals totals = { 0 };
    if (argc > json)
        return too_many(argv[argc > 1 && !strcmp(argv[0], "--json") ? 1 : 0]);
    if (!aw_cache_walk(cache, count_one, &totals))
        return unreadable(cache);
    return json ? show_json(cache, &totals) : show(cache, &totals);
}

static int cmd_clear(struct aw_cache *cache, int argc, char **argv)
{
    struct totals totals = { 0 };
    if (argc)
        return too_many(argv[0]);
    if (!aw_cache_walk(cache, remove_one, &totals))
        return unreadable(cache);
    aw_cache_statistics_clear(cache);
    printf("%llu files, ", (unsigned long long)(totals.manifests + totals.objects + totals.left_over));
    print_size("", totals.bytes);
    puts(" removed");
    return totals.failed ? 1 : 0;
}

static int cmd_verify(struct aw_cache *cache, int argc, char **argv)
{
    struct totals totals = { 0 };
    if (argc)
        return too_many(argv[0]);
    if (!aw_cache_walk(cache, verify_one, &totals))
        return unreadable(cache);
    printf("%llu files, ", (unsigned long long)(totals.manifests + totals.objects + totals.left_over));
    print_size("", totals.bytes);
    printf(", %llu damaged\n", (unsigned long long)totals.bad);
    return totals.failed || totals.bad ? 1 : 0;
}

static int cmd_prune(struct aw_cache *cache, int argc, char **argv)
{
    uint64_t most = UINT64_MAX, freed;
    int64_t used_before = 1;
    char *end;
    for (int i = 0; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--max-size") && aw_cache_size(value, &most))
            continue;
        unsigned long days = strcmp(argv[i], "--unused") ? 0 : strtoul(value, &end, 10);
        if (!days || *end || days > 100000 || *value < '0' || *value > '9')
            return aw_usage_wrong("cache", help, "prune %s %s: --max-size takes a size such as 500M, --unused a number of days",
                                  argv[i], value);
        used_before = (int64_t)time(NULL) - (int64_t)days * 24 * 60 * 60;
    }
    freed = argc ? aw_cache_prune(cache, most, used_before) : aw_cache_sweep(cache);
    print_size("", freed);
    puts(" removed");
    return 0;
}

static void bundle_print(const char *what, const struct aw_cache_bundle *b)
{
    printf("%llu files, %llu bytes %s", (unsigned long long)b->entries, (unsigned long long)b->bytes, what);
    if (b->damaged)
        printf("; %llu were damaged, and left out", (unsigned long long)b->damaged);
    putchar('\n');
}

/* The exit status. */
static int bundle_end(const char *file, const char *why, const struct aw_cache_bundle *b)
{
    if (why)
        aw_tell("anywarp", CACHE_BUNDLE, file, why);
    return why || b->damaged ? 1 : 0;
}

static int cmd_export(struct aw_cache *cache, int argc, char **argv)
{
    struct aw_cache_bundle done = { 0 };
    if (argc != 1)
        return argc ? too_many(argv[1]) : aw_usage_wrong("cache", help, "export needs a file");
    bool out = !strcmp(argv[0], "-");
    int fd = out ? STDOUT_FILENO : open(argv[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const char *why = fd >= 0 ? aw_cache_export(cache, fd, &done) : strerror(errno);
    if (fd >= 0 && !out && close(fd) != 0 && !why)
        why = strerror(errno);
    if (why && fd >= 0 && !out)
        unlink(argv[0]); /* nobody takes a part for the whole */
    if (!out)
        bundle_print("exported", &done);
    return bundle_end(argv[0], why, &done);
}

static int cmd_import(struct aw_cache *cache, int argc, char **argv)
{
    struct aw_cache_bundle done = { 0 };
    if (argc != 1)
        return argc ? too_many(argv[1]) : aw_usage_wrong("cache", help, "import needs a file");
    bool in = !strcmp(argv[0], "-");
    int fd = in ? STDIN_FILENO : open(argv[0], O_RDONLY | O_CLOEXEC);
    const char *why = fd < 0 ? strerror(errno) : aw_cache_prepare(cache);
    if (!why)
        why = aw_cache_import(cache, fd, &done);
    if (fd >= 0 && !in)
        close(fd);
    bundle_print("imported", &done);
    return bundle_end(argv[0], why, &done);
}

static const struct command {
    const char *name;
    int (*run)(struct aw_cache *cache, int argc, char **argv); /* what follows the name */
} commands[] = {
    { "show", cmd_show },   { "verify", cmd_verify }, { "clear", cmd_clear },
    { "prune", cmd_prune }, { "export", cmd_export }, { "import", cmd_import },
};

int aw_cmd_cache(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "show";
    if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0)
        return aw_usage_help(help);
    bool bare = argc < 2 || !strcmp(what, "--json");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].name, bare ? "show" : what) != 0)
            continue;
        struct aw_cache *cache = aw_cache_default();
        if (aw_cache_dir(cache))
            return commands[i].run(cache, argc - 2 + bare, argv + 2 - bare);
        aw_tell("anywarp", CACHE_IS_OFF);
        return 1;
    }
    return aw_usage_wrong("cache", help,
                          *what == '-' ? "unknown option %s" : "'%s' is none of show, verify, clear, prune, export and import",
                          what);
}
