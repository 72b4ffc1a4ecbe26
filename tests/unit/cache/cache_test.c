/* The store on disk: round trips, damage of every kind, limits, hostile directories, several processes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

static char dir[64];

static void setup(void)
{
    folder_make();
    snprintf(dir, sizeof dir, "%s/a/b", top);
}

TestSuite(cache, .init = setup, .fini = folder_remove, .timeout = 60);

static const char *path_of(struct aw_hash128 k, enum aw_cache_kind kind)
{
    return path_in(dir, k, kind);
}

static bool holds(struct aw_cache *cache, struct aw_hash128 k, const char *expected, size_t len)
{
    char *bytes;
    size_t size;
    if (!aw_cache_load(cache, AW_CACHE_OBJECT, k, &bytes, &size))
        return false;
    cr_assert(size == len && memcmp(bytes, expected, len) == 0, "a hit must give what was stored");
    cr_assert_eq(bytes[size], '\0');
    free(bytes);
    return true;
}

static void put(struct aw_cache *cache, struct aw_hash128 k, const char *bytes, size_t len)
{
    cr_assert(aw_cache_store(cache, AW_CACHE_OBJECT, k, bytes, len));
}

Test(cache, round_trip)
{
    struct aw_cache *c = aw_cache_create(dir, 0);
    cr_assert(aw_cache_stores(c));
    cr_assert(!holds(c, key(1), "", 0));
    put(c, key(1), "hello", 5);
    put(c, key(2), "", 0);
    cr_assert(holds(c, key(1), "hello", 5));
    cr_assert(holds(c, key(2), "", 0));
    cr_assert(!holds(c, key(3), "", 0));
    char *bytes;
    size_t size;
    cr_assert(!aw_cache_load(c, AW_CACHE_MANIFEST, key(1), &bytes, &size), "kinds are apart");
    put(c, key(1), "other", 5);
    cr_assert(holds(c, key(1), "other", 5));
    aw_cache_destroy(c);
    c = aw_cache_create(dir, 0);
    cr_assert(holds(c, key(1), "other", 5));
    aw_cache_destroy(c);
    aw_cache_destroy(NULL);
}

Test(cache, only_the_user_may_read)
{
    umask(0);
    struct aw_cache *c = aw_cache_create(dir, 0);
    put(c, key(1), "hello", 5);
    struct stat st;
    cr_assert(stat(path_of(key(1), AW_CACHE_OBJECT), &st) == 0 && (st.st_mode & 0777) == 0600);
    cr_assert_eq(st.st_size, 64 + 5);
    cr_assert(stat(dir, &st) == 0 && (st.st_mode & 0777) == 0700);
    aw_cache_destroy(c);
}

/* ---- Damage ---- */

static void overwrite(const char *path, const char *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_TRUNC);
    cr_assert(fd >= 0 && aw_fd_write_all(fd, bytes, len));
    close(fd);
}

Test(cache, cut_at_every_byte)
{
    struct aw_cache *c = aw_cache_create(dir, 0);
    const char *path = path_of(key(1), AW_CACHE_OBJECT);
    char text[300], *file;
    size_t len;
    memset(text, 'x', sizeof text);
    for (size_t cut = 0; cut < 64 + sizeof text; cut++) {
        put(c, key(1), text, sizeof text);
        cr_assert_eq(aw_file_read(path, &file, &len), AW_OK);
        overwrite(path, file, cut);
        cr_assert(!holds(c, key(1), text, sizeof text), "cut to %zu", cut);
        cr_assert_neq(access(path, F_OK), 0, "the damaged file must be gone");
        free(file);
    }
    aw_cache_destroy(c);
}

Test(cache, every_byte_changed)
{
    struct aw_cache *c = aw_cache_create(dir, 0);
    const char *path = path_of(key(1), AW_CACHE_OBJECT);
    char *file;
    size_t len;
    put(c, key(1), "some text", 9);
    cr_assert_eq(aw_file_read(path, &file, &len), AW_OK);
    for (size_t at = 0; at < len; at++) {
        file[at] ^= 0x41;
        put(c, key(1), "some text", 9);
        overwrite(path, file, len);
        cr_assert(!holds(c, key(1), "some text", 9), "byte %zu", at);
        file[at] ^= 0x41;
    }
    put(c, key(1), "some text", 9);
    overwrite(path, file, len);
    cr_assert(holds(c, key(1), "some text", 9));
    free(file);
    aw_cache_destroy(c);
}

Test(cache, longer_than_it_says)
{
    struct aw_cache *c = aw_cache_create(dir, 0);
    put(c, key(1), "some text", 9);
    int fd = open(path_of(key(1), AW_CACHE_OBJECT), O_WRONLY | O_APPEND);
    cr_assert_eq(write(fd, "x", 1), 1);
    close(fd);
    cr_assert(!holds(c, key(1), "some text", 9));
    aw_cache_destroy(c);
}

Test(cache, a_sound_file_under_another_name)
{
    struct aw_cache *c = aw_cache_create(dir, 0);
    char from[128];
    put(c, key(1), "one", 3);
    put(c, key(2), "two", 3);
    snprintf(from, sizeof from, "%s", path_of(key(1), AW_CACHE_OBJECT));
    cr_assert_eq(rename(from, path_of(key(2), AW_CACHE_OBJECT)), 0);
    cr_assert(!holds(c, key(2), "two", 3));
    put(c, key(1), "one", 3);
    cr_assert_eq(rename(from, path_of(key(1), AW_CACHE_MANIFEST)), 0);
    char *bytes;
    size_t size;
    cr_assert(!aw_cache_load(c, AW_CACHE_MANIFEST, key(1), &bytes, &size));
    aw_cache_destroy(c);
}

/* Things that are no files must neither block nor be followed. */
Test(cache, strange_things_in_its_place)
{
    struct aw_cache *c = aw_cache_create(dir, 0);
    put(c, key(1), "one", 3);
    const char *path = path_of(key(1), AW_CACHE_OBJECT);
    char saved[64];
    snprintf(saved, sizeof saved, "%s/saved", top);
    cr_assert_eq(rename(path, saved), 0);
    cr_assert_eq(symlink(saved, path), 0);
    cr_assert(!holds(c, key(1), "one", 3));
    unlink(path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert(!holds(c, key(1), "one", 3));
    put(c, key(1), "one", 3);
    cr_assert(holds(c, key(1), "one", 3));
    aw_cache_destroy(c);
}

/* ---- Directories that cannot be used ---- */

/* Everything goes on, without. */
static void expect_off(struct aw_cache *c)
{
    char *bytes;
    size_t size;
    cr_assert(!aw_cache_store(c, AW_CACHE_OBJECT, key(1), "x", 1));
    cr_assert(!aw_cache_load(c, AW_CACHE_OBJECT, key(1), &bytes, &size));
}

Test(cache, directories_that_cannot_be_used)
{
    struct aw_cache *c = aw_cache_create("/proc/no/such/place", 0);
    expect_off(c);
    aw_cache_destroy(c);
    c = aw_cache_create("/dev/null", 0);
    cr_assert_null(aw_cache_dir(c));
    expect_off(c);
    aw_cache_destroy(c);
    c = aw_cache_create("/dev/null/sub", 0);
    expect_off(c);
    aw_cache_destroy(c);
    c = aw_cache_create("", 0);
    expect_off(c);
    aw_cache_destroy(c);
    char open_to_all[64];
    snprintf(open_to_all, sizeof open_to_all, "%s/open", top);
    umask(0);
    cr_assert_eq(mkdir(open_to_all, 0777), 0);
    c = aw_cache_create(open_to_all, 0);
    cr_assert_null(aw_cache_dir(c), "everybody may write there");
    expect_off(c);
    aw_cache_destroy(c);
}

Test(cache, not_writable)
{
    struct aw_cache *c = aw_cache_create(dir, 0);
    put(c, key(1), "one", 3);
    aw_cache_destroy(c);
    pid_t child = fork(); /* root may write anywhere: become nobody, with the directory given away */
    if (child == 0) {
        if (geteuid() == 0) {
            char command[256];
            snprintf(command, sizeof command, "chown -R 65534 %s && chmod 755 %s && chmod -R u-w %s/a", top, top, top);
            if (system(command) != 0 || setuid(65534) != 0)
                _exit(2);
        } else {
            char command[256];
            snprintf(command, sizeof command, "chmod -R u-w %s/a", top);
            if (system(command) != 0)
                _exit(2);
        }
        c = aw_cache_create(dir, 0);
        bool hit = holds(c, key(1), "one", 3);
        bool stored = aw_cache_store(c, AW_CACHE_OBJECT, key(2), "two", 3);
        _exit(hit && !stored ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    cr_assert_eq(status, 0, "status %x", status);
}

Test(cache, of_another_user)
{
    if (geteuid() != 0)
        cr_skip_test("needs root");
    struct aw_cache *c = aw_cache_create(dir, 0);
    put(c, key(1), "one", 3);
    put(c, key(2), "two", 3);
    cr_assert_eq(chown(path_of(key(1), AW_CACHE_OBJECT), 65534, 65534), 0);
    cr_assert(!holds(c, key(1), "one", 3), "a file of another user");
    cr_assert(holds(c, key(2), "two", 3));
    aw_cache_destroy(c);
    cr_assert_eq(chown(dir, 65534, 65534), 0);
    c = aw_cache_create(dir, 0);
    cr_assert_null(aw_cache_dir(c));
    expect_off(c);
    aw_cache_destroy(c);
}

/* Everything from the root directory to the file, and through links. */
Test(cache, that_others_can_write)
{
    char folder[128], other[64], link[64];
    struct aw_cache *c = aw_cache_create(dir, 0);
    put(c, key(1), "one", 3);
    cr_assert_eq(chmod(path_of(key(1), AW_CACHE_OBJECT), 0620), 0);
    cr_assert(!holds(c, key(1), "one", 3), "a file that a group can write");
    put(c, key(1), "one", 3);
    snprintf(folder, sizeof folder, "%s", path_of(key(1), AW_CACHE_OBJECT));
    *strrchr(folder, '/') = '\0';
    const int bad[] = { 0770, 0702, 01777 };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_assert_eq(chmod(folder, (mode_t)bad[i]), 0);
        cr_assert(!holds(c, key(1), "one", 3), "a folder of mode %o", (unsigned)bad[i]);
        cr_assert(!aw_cache_store(c, AW_CACHE_OBJECT, key(1), "two", 3));
    }
    cr_assert_eq(chmod(folder, 0755), 0);
    cr_assert(holds(c, key(1), "one", 3));
    aw_cache_destroy(c);

    snprintf(other, sizeof other, "%s/a", top);
    snprintf(link, sizeof link, "%s/link", top);
    cr_assert_eq(symlink("a/./b/", link), 0);
    for (int i = 0; i < 4; i++) { /* by name and by link: all's folder, then a sticky one */
        cr_assert_eq(chmod(other, i & 2 ? 01777 : 0777), 0);
        c = aw_cache_create(i & 1 ? link : dir, 0);
        cr_assert_eq(aw_cache_dir(c) != NULL, (i & 2) != 0);
        cr_assert_eq(holds(c, key(1), "one", 3), (i & 2) != 0);
        cr_assert_eq(aw_cache_prepare(c) == NULL, (i & 2) != 0);
        aw_cache_destroy(c);
    }
    cr_assert_eq(unlink(link), 0);
    cr_assert_eq(symlink(link, link), 0);
    c = aw_cache_create(link, 0);
    expect_off(c);
    aw_cache_destroy(c);
}

/* A link in a folder of everybody's that somebody else made; and a folder that they made first. */
Test(cache, that_others_made)
{
    char link[64], late[64];
    if (geteuid() != 0)
        cr_skip_test("needs root");
    struct aw_cache *c = aw_cache_create(dir, 0);
    put(c, key(1), "one", 3);
    aw_cache_destroy(c);
    snprintf(link, sizeof link, "%s/link", top);
    snprintf(late, sizeof late, "%s/late", top);
    cr_assert_eq(chmod(top, 01777), 0);
    cr_assert_eq(symlink(dir, link), 0);
    cr_assert_eq(lchown(link, 65534, 65534), 0);
    c = aw_cache_create(link, 0);
    expect_off(c);
    aw_cache_destroy(c);
    c = aw_cache_create(late, 0);
    cr_assert(aw_cache_dir(c));
    cr_assert_eq(mkdir(late, 0755), 0);
    cr_assert_eq(chown(late, 65534, 65534), 0);
    expect_off(c);
    aw_cache_destroy(c);
}

Test(cache, preparing)
{
    struct aw_cache *c = aw_cache_create(dir, 0);
    cr_assert_null(aw_cache_prepare(c));
    cr_assert_eq(access(dir, W_OK), 0);
    aw_cache_destroy(c);
    c = aw_cache_create("/proc/nope", 0);
    cr_assert_not_null(aw_cache_prepare(c));
    cr_assert_not_null(strstr(aw_cache_prepare(c), "/proc/nope"));
    aw_cache_destroy(c);
}

/* RLIMIT_FSIZE would raise SIGXFSZ; a full disk gives ENOSPC. */
Test(cache, file_size_limit_and_full_disk)
{
    struct aw_cache *c = aw_cache_create(dir, 0);
    struct rlimit limit, small = { 1000, RLIM_INFINITY };
    getrlimit(RLIMIT_FSIZE, &limit);
    small.rlim_max = limit.rlim_max;
    char text[2000] = { 0 };
    setrlimit(RLIMIT_FSIZE, &small);
    cr_assert(!aw_cache_store(c, AW_CACHE_OBJECT, key(1), text, sizeof text));
    put(c, key(2), text, 100);
    setrlimit(RLIMIT_FSIZE, &limit);
    put(c, key(1), text, sizeof text);
    aw_cache_destroy(c);
}

Test(cache, a_relative_directory_stays_where_it_is)
{
    cr_assert_eq(chdir(top), 0);
    struct aw_cache *c = aw_cache_create("a/b", 0);
    cr_assert_eq(chdir("/"), 0);
    put(c, key(1), "one", 3);
    cr_assert_eq(access(path_of(key(1), AW_CACHE_OBJECT), F_OK), 0);
    aw_cache_destroy(c);
}

/* ---- The limit ---- */

static bool sum(void *user, const struct aw_cache_entry *entry)
{
    *(uint64_t *)user += entry->disk_size;
    return true;
}

Test(cache, the_limit_holds)
{
    uint64_t limit = 1 << 20, total = 0;
    struct aw_cache *c = aw_cache_create(dir, limit);
    char *text = malloc(32 << 10);
    memset(text, 'y', 32 << 10);
    for (uint64_t i = 0; i < 200; i++)
        put(c, key(i), text, 32 << 10);
    aw_cache_walk(c, sum, &total);
    cr_assert_leq(total, limit + limit / 8, "%llu", (unsigned long long)total);
    cr_assert_geq(total, limit / 2, "%llu", (unsigned long long)total);
    cr_assert(!aw_cache_store(c, AW_CACHE_OBJECT, key(999), text, 600 << 10), "too large for this cache");
    free(text);
    aw_cache_destroy(c);
}

/* Of ten files, with a limit that seven exceed, those used last stay. */
Test(cache, the_least_recently_used_go)
{
    struct aw_cache *c = aw_cache_create(dir, 0);
    char text[64 << 10] = { 0 };
    for (uint64_t i = 0; i < 10; i++) {
        put(c, key(i), text, sizeof text);
        struct timespec old[2] = { { time(NULL) - 100000 - (time_t)i * 1000, 0 }, { time(NULL) - 100000 - (time_t)i * 1000, 0 } };
        cr_assert_eq(utimensat(AT_FDCWD, path_of(key(i), AW_CACHE_OBJECT), old, 0), 0);
    }
    cr_assert(holds(c, key(9), text, sizeof text)); /* the oldest, used now */
    aw_cache_destroy(c);
    c = aw_cache_create(dir, 400 << 10);
    uint64_t freed = aw_cache_sweep(c);
    cr_assert_gt(freed, 0);
    int left = 0;
    for (uint64_t i = 0; i < 10; i++) {
        bool there = access(path_of(key(i), AW_CACHE_OBJECT), F_OK) == 0;
        left += there;
        cr_assert(i == 9 ? there : i < 3 ? there : i > 5 ? !there : true, "%d", (int)i);
    }
    cr_assert(left >= 4 && left <= 6, "%d", left);
    aw_cache_destroy(c);
}

Test(cache, left_overs_go)
{
    struct aw_cache *c = aw_cache_create(dir, 0);
    put(c, key(1), "one", 3);
    char old[160], fresh[160], foreign[160];
    const char *path = path_of(key(1), AW_CACHE_OBJECT);
    int len = (int)(strrchr(path, '/') - path);
    snprintf(old, sizeof old, "%.*s/.tmp-1-1-1", len, path);
    snprintf(fresh, sizeof fresh, "%.*s/.tmp-2-2-2", len, path);
    snprintf(foreign, sizeof foreign, "%.*s/README", len, path);
    close(creat(old, 0600));
    close(creat(fresh, 0600));
    close(creat(foreign, 0600));
    struct timespec ago[2] = { { time(NULL) - 7200, 0 }, { time(NULL) - 7200, 0 } };
    cr_assert_eq(utimensat(AT_FDCWD, old, ago, 0), 0);
    aw_cache_sweep(c);
    cr_assert_neq(access(old, F_OK), 0);
    cr_assert_eq(access(fresh, F_OK), 0);
    cr_assert_eq(access(foreign, F_OK), 0, "files that are not ours stay");
    cr_assert(holds(c, key(1), "one", 3));
    aw_cache_destroy(c);
}

/* ---- Checking ---- */

static bool check(void *user, const struct aw_cache_entry *entry)
{
    if (aw_cache_check(entry))
        ++*(int *)user;
    return true;
}

Test(cache, verify)
{
    struct aw_cache *c = aw_cache_create(dir, 0);
    int bad = 0;
    for (uint64_t i = 0; i < 20; i++)
        put(c, key(i), "text", 4);
    cr_assert(aw_cache_store(c, AW_CACHE_MANIFEST, key(5), "manifest", 8));
    cr_assert(aw_cache_walk(c, check, &bad));
    cr_assert_eq(bad, 0);
    overwrite(path_of(key(3), AW_CACHE_OBJECT), "garbage", 7);
    char from[128];
    snprintf(from, sizeof from, "%s", path_of(key(4), AW_CACHE_OBJECT));
    cr_assert_eq(rename(from, path_of(key(6), AW_CACHE_OBJECT)), 0);
    cr_assert(aw_cache_walk(c, check, &bad));
    cr_assert_eq(bad, 2, "%d", bad);
    aw_cache_destroy(c);
}

/* ---- Several processes ---- */

/* Stores and loads the same keys for a while; 0 when every hit was sound. */
static int race(unsigned seed, uint64_t max_size)
{
    struct aw_cache *c = aw_cache_create(dir, max_size);
    char *text = malloc(40000);
    for (int i = 0; i < 400; i++) {
        seed = seed * 1103515245 + 12345;
        uint64_t n = seed >> 16 & 7;
        size_t len = 1000 + (size_t)n * 5000; /* a key's bytes are the same, whoever makes them */
        memset(text, 'a' + (int)n, len);
        char *bytes;
        size_t size;
        if (seed >> 20 & 1) {
            if (!aw_cache_store(c, AW_CACHE_OBJECT, key(n), text, len))
                return 1;
        } else if (aw_cache_load(c, AW_CACHE_OBJECT, key(n), &bytes, &size)) {
            if (size != len || memcmp(bytes, text, len) != 0)
                return 2;
            free(bytes);
        }
    }
    free(text);
    aw_cache_destroy(c);
    return 0;
}

Test(cache, races)
{
    for (int round = 0; round < 2; round++) {
        pid_t pids[6];
        for (int i = 0; i < 6; i++)
            if ((pids[i] = fork()) == 0)
                _exit(race((unsigned)i * 7919 + 1, round ? 100000 : 0)); /* the second round sweeps all the time */
        for (int i = 0; i < 6; i++) {
            int status;
            waitpid(pids[i], &status, 0);
            cr_assert_eq(status, 0, "round %d: status %x", round, status);
        }
    }
    struct aw_cache *c = aw_cache_create(dir, 0);
    int bad = 0;
    cr_assert(aw_cache_walk(c, check, &bad) && bad == 0);
    aw_cache_destroy(c);
}

/* ---- The environment ---- */

static const char *default_dir(void)
{
    return aw_cache_dir(aw_cache_default());
}

Test(cache, by_directory)
{
    setenv("ANYWARP_CACHE_DIR", dir, 1);
    setenv("ANYWARP_CACHE_MAX_SIZE", "500M", 1);
    cr_assert_str_eq(default_dir(), dir);
    cr_assert_eq(aw_cache_max_size(aw_cache_default()), (uint64_t)500 << 20);
}

Test(cache, by_xdg)
{
    unsetenv("ANYWARP_CACHE_DIR");
    setenv("XDG_CACHE_HOME", top, 1);
    setenv("ANYWARP_CACHE_MAX_SIZE", "much", 1);
    char expected[64];
    snprintf(expected, sizeof expected, "%s/anywarp", top);
    cr_assert_str_eq(default_dir(), expected);
    cr_assert_eq(aw_cache_max_size(aw_cache_default()), AW_CACHE_DEFAULT_MAX);
}

Test(cache, by_home)
{
    unsetenv("ANYWARP_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", top, 1);
    char expected[64];
    snprintf(expected, sizeof expected, "%s/.cache/anywarp", top);
    cr_assert_str_eq(default_dir(), expected);
}

Test(cache, off)
{
    setenv("ANYWARP_CACHE", "0", 1);
    setenv("ANYWARP_CACHE_DIR", dir, 1);
    cr_assert_null(default_dir());
    cr_assert(!aw_cache_stores(aw_cache_default()));
    expect_off(aw_cache_default());
}

Test(cache, homeless)
{
    unsetenv("ANYWARP_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    cr_assert_null(default_dir());
    expect_off(aw_cache_default());
}
