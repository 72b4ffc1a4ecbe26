/* `anywarp cache`: what the cache holds, throwing it away, checking it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "anywarp.h"
#include "base/log.h"
#include "cache/cache.h"

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

static int show(struct aw_cache *cache, const struct totals *totals)
{
    printf("directory  %s\n", aw_cache_dir(cache));
    printf("modules    %llu\nkernels    %llu\n", (unsigned long long)totals->manifests, (unsigned long long)totals->objects);
    if (totals->left_over)
        printf("left over  %llu (being written, or by processes that died)\n", (unsigned long long)totals->left_over);
    print_size("size       ", totals->bytes);
    if (aw_cache_max_size(cache))
        print_size(" of ", aw_cache_max_size(cache));
    putchar('\n');
    if (totals->oldest) {
        char text[32];
        time_t t = (time_t)totals->oldest;
        struct tm tm;
        if (localtime_r(&t, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M", &tm) > 0)
            printf("least recently used on %s\n", text);
    }
    return 0;
}

static int usage(FILE *out)
{
    fputs("usage: anywarp cache show | clear | verify\n\n"
          "  show    where the cache is and what it holds (the default)\n"
          "  clear   remove everything in it\n"
          "  verify  check every file, remove damaged ones\n\n"
          "environment:\n"
          "  ANYWARP_CACHE=0          do without the cache\n"
          "  ANYWARP_CACHE_DIR        the directory; else $XDG_CACHE_HOME/anywarp; else ~/.cache/anywarp\n"
          "  ANYWARP_CACHE_MAX_SIZE   limit, such as 500M; 0 is no limit; default 4G\n",
          out);
    return out == stderr ? 2 : 0;
}

int aw_cmd_cache(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "show";
    if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0)
        return usage(stdout);
    bool is_show = strcmp(what, "show") == 0, is_clear = strcmp(what, "clear") == 0;
    if (argc > 2 || (!is_show && !is_clear && strcmp(what, "verify") != 0))
        return usage(stderr);
    struct aw_cache *cache = aw_cache_default();
    if (!aw_cache_dir(cache)) {
        aw_tell("anywarp", CACHE_IS_OFF);
        return 1;
    }
    struct totals totals = { 0 };
    if (!aw_cache_walk(cache, is_show ? count_one : is_clear ? remove_one : verify_one, &totals)) {
        aw_tell("anywarp", CACHE_READ, aw_cache_dir(cache), strerror(errno));
        return 1;
    }
    if (is_show)
        return show(cache, &totals);
    uint64_t files = totals.manifests + totals.objects + totals.left_over;
    printf("%llu files, ", (unsigned long long)files);
    print_size("", totals.bytes);
    if (is_clear)
        puts(" removed");
    else
        printf(", %llu damaged\n", (unsigned long long)totals.bad);
    return totals.failed || (!is_clear && totals.bad) ? 1 : 0;
}
