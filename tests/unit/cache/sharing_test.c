/* What a cache shares with others: layers that it only reads, bundles, and the counts of all processes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>


static char own[64], image[64], bundle[64];

static void setup(void)
{
    folder_make();
    snprintf(own, sizeof own, "%s/own", top);
    snprintf(image, sizeof image, "%s/image", top);
    snprintf(bundle, sizeof bundle, "%s/bundle", top);
}

TestSuite(cache_sharing, .init = setup, .fini = folder_remove, .timeout = 60);

static const char *path_of(const char *dir, struct aw_hash128 k)
{
    return path_in(dir, k, AW_CACHE_OBJECT);
}

/* "" where the cache does not have it. */
static const char *found(struct aw_cache *cache, struct aw_hash128 k)
{
    static char text[64];
    char *bytes;
    size_t size;
    if (!aw_cache_load(cache, AW_CACHE_OBJECT, k, &bytes, &size))
        return "";
    snprintf(text, sizeof text, "%s", bytes);
    free(bytes);
    return text;
}

static void fill(const char *dir, uint64_t first, uint64_t n, const char *text)
{
    struct aw_cache *cache = aw_cache_create(dir, 0);
    for (uint64_t i = first; i < first + n; i++)
        cr_assert(aw_cache_store(cache, AW_CACHE_OBJECT, key(i), text, strlen(text)));
    aw_cache_destroy(cache);
}

static void damage(const char *path)
{
    int fd = open(path, O_WRONLY);
    cr_assert(fd >= 0 && pwrite(fd, "?", 1, AW_CACHE_HEADER_SIZE) == 1);
    close(fd);
}

Test(cache_sharing, layer)
{
    fill(image, 0, 2, "of the image");
    fill(own, 1, 1, "own");
    struct aw_cache *cache = aw_cache_create(own, 0);
    cr_assert(aw_cache_add_layer(cache, "/nowhere/at/all") && aw_cache_add_layer(cache, image));
    cr_assert_str_eq(aw_cache_layer(cache, 0), "/nowhere/at/all");
    cr_assert_str_eq(aw_cache_layer(cache, 1), image);
    cr_assert_null(aw_cache_layer(cache, 2));
    cr_assert_str_eq(found(cache, key(0)), "of the image");
    cr_assert_str_eq(found(cache, key(1)), "own", "the cache's own comes first");
    cr_assert_str_eq(found(cache, key(2)), "");
    cr_assert(aw_cache_store(cache, AW_CACHE_OBJECT, key(3), "new", 3));
    cr_assert_eq(access(path_of(own, key(3)), F_OK), 0);
    cr_assert_neq(access(path_of(image, key(3)), F_OK), 0, "a layer is never written");
    aw_cache_destroy(cache);
}

Test(cache_sharing, layer_stays_as_it_is)
{
    struct timespec long_ago[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
    struct stat st;
    fill(image, 0, 2, "of the image");
    damage(path_of(image, key(1)));
    cr_assert_eq(utimensat(AT_FDCWD, path_of(image, key(0)), long_ago, 0), 0);
    struct aw_cache *cache = aw_cache_create(own, 1 << 20);
    cr_assert(aw_cache_add_layer(cache, image));
    cr_assert_str_eq(found(cache, key(0)), "of the image");
    cr_assert_str_eq(found(cache, key(1)), "", "what is damaged is not taken");
    cr_assert(stat(path_of(image, key(0)), &st) == 0 && st.st_mtime == 1000000000, "nor is its last use noted");
    cr_assert_eq(access(path_of(image, key(1)), F_OK), 0, "nor removed");
    aw_cache_prune(cache, 0, INT64_MAX);
    cr_assert_eq(access(path_of(image, key(0)), F_OK), 0);
    aw_cache_destroy(cache);
}

Test(cache_sharing, layer_of_others)
{
    fill(image, 0, 1, "planted");
    cr_assert_eq(chmod(image, 0777), 0);
    fill(own, 1, 1, "own");
    struct aw_cache *cache = aw_cache_create(own, 0);
    cr_assert(aw_cache_add_layer(cache, image));
    cr_assert_str_eq(found(cache, key(0)), "", "everybody can write there");
    cr_assert_str_eq(found(cache, key(1)), "own");
    aw_cache_destroy(cache);
}

Test(cache_sharing, layer_alone)
{
    char list[160];
    fill(image, 0, 1, "of the image");
    snprintf(list, sizeof list, ":/nowhere:%s", image);
    setenv("ANYWARP_CACHE_LAYERS", list, 1);
    unsetenv("ANYWARP_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    cr_assert_str_eq(found(aw_cache_default(), key(0)), "of the image", "a user without a home still has the image's");
    cr_assert_not(aw_cache_store(aw_cache_default(), AW_CACHE_OBJECT, key(1), "x", 1));
}

Test(cache_sharing, no_cache_no_layer)
{
    fill(image, 0, 1, "of the image");
    setenv("ANYWARP_CACHE_LAYERS", image, 1);
    setenv("ANYWARP_CACHE", "0", 1);
    cr_assert_str_eq(found(aw_cache_default(), key(0)), "");
}

/* Each of `n` processes stores one, finds it twice, one in the layer, and misses three. */
static void use_by(unsigned n)
{
    pid_t children[8];
    for (unsigned i = 0; i < n; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            setenv("ANYWARP_CACHE_DIR", own, 1);
            setenv("ANYWARP_CACHE_LAYERS", image, 1);
            struct aw_cache *cache = aw_cache_default();
            bool right = aw_cache_store(cache, AW_CACHE_OBJECT, key(100 + i), "x", 1);
            right &= *found(cache, key(100 + i)) && *found(cache, key(100 + i)) && *found(cache, key(0));
            for (unsigned k = 0; k < 3; k++)
                right &= !*found(cache, key(1000 + k));
            exit(right ? 0 : 1); /* the counts go to the file as the program ends */
        }
    }
    for (unsigned i = 0; i < n; i++) {
        int status;
        cr_assert(waitpid(children[i], &status, 0) == children[i] && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

Test(cache_sharing, statistics)
{
    struct aw_cache_statistics s;
    fill(image, 0, 1, "of the image");
    use_by(8);
    struct aw_cache *cache = aw_cache_create(own, 0);
    cr_assert(aw_cache_statistics_read(cache, &s));
    cr_assert(s.hits == 16 && s.layer_hits == 8 && s.misses == 24 && s.stores == 8, "%llu hits, %llu in the layer, %llu misses, "
              "%llu stored", (unsigned long long)s.hits, (unsigned long long)s.layer_hits, (unsigned long long)s.misses,
              (unsigned long long)s.stores);
    cr_assert(s.since > 1700000000 && s.since <= time(NULL));
    aw_cache_statistics_clear(cache);
    cr_assert_not(aw_cache_statistics_read(cache, &s));
    use_by(1);
    cr_assert(aw_cache_statistics_read(cache, &s) && s.hits == 2 && s.stores == 1);
    aw_cache_destroy(cache);
}

Test(cache_sharing, statistics_damaged)
{
    struct aw_cache_statistics s;
    char path[96];
    fill(image, 0, 1, "of the image");
    use_by(1);
    snprintf(path, sizeof path, "%s/statistics", own);
    int fd = open(path, O_WRONLY);
    cr_assert(fd >= 0 && pwrite(fd, "\xff\xff", 2, 20) == 2);
    close(fd);
    struct aw_cache *cache = aw_cache_create(own, 0);
    cr_assert_not(aw_cache_statistics_read(cache, &s));
    use_by(1);
    cr_assert(aw_cache_statistics_read(cache, &s) && s.stores == 1, "it begins anew");
    aw_cache_destroy(cache);
}

Test(cache_sharing, child_of_fork)
{
    struct aw_cache_statistics s;
    setenv("ANYWARP_CACHE_DIR", own, 1);
    struct aw_cache *cache = aw_cache_default();
    cr_assert(aw_cache_store(cache, AW_CACHE_OBJECT, key(0), "x", 1));
    for (unsigned i = 0; i < 5; i++)
        cr_assert_str_eq(found(cache, key(0)), "x");
    pid_t child = fork();
    if (child == 0)
        exit(*found(cache, key(0)) ? 0 : 1);
    int status;
    cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    cr_assert(aw_cache_statistics_read(cache, &s));
    cr_assert_eq(s.hits, 1, "a child adds its own, not its parent's once more: %llu", (unsigned long long)s.hits);
}

Test(cache_sharing, prune)
{
    struct timespec long_ago[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
    fill(own, 0, 3, "x");
    cr_assert_eq(utimensat(AT_FDCWD, path_of(own, key(1)), long_ago, 0), 0);
    struct aw_cache *cache = aw_cache_create(own, 0);
    cr_assert(aw_cache_prune(cache, UINT64_MAX, 1) == 0, "nothing is that old");
    cr_assert(aw_cache_prune(cache, UINT64_MAX, time(NULL) - 1000) > 0);
    cr_assert_str_eq(found(cache, key(0)), "x");
    cr_assert_str_eq(found(cache, key(1)), "");
    cr_assert(aw_cache_prune(cache, 0, 1) > 0);
    cr_assert_str_eq(found(cache, key(0)), "");
    aw_cache_destroy(cache);
}

static const char *carry(struct aw_cache_bundle *ret_out, struct aw_cache_bundle *ret_in)
{
    struct aw_cache *from = aw_cache_create(own, 0), *to = aw_cache_create(image, 0);
    int fd = open(bundle, O_RDWR | O_CREAT | O_TRUNC, 0600);
    cr_assert(fd >= 0);
    cr_assert_null(aw_cache_export(from, fd, ret_out));
    cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
    const char *why = aw_cache_import(to, fd, ret_in);
    close(fd);
    aw_cache_destroy(from);
    aw_cache_destroy(to);
    return why;
}

Test(cache_sharing, bundle)
{
    struct aw_cache_bundle out, in;
    fill(own, 0, 100, "carried");
    damage(path_of(own, key(50)));
    cr_assert_null(carry(&out, &in));
    cr_assert(out.entries == 99 && out.damaged == 1 && in.entries == 99 && in.damaged == 0);
    cr_assert_eq(out.bytes, in.bytes);
    struct aw_cache *cache = aw_cache_create(image, 0);
    for (uint64_t i = 0; i < 100; i++)
        cr_assert_str_eq(found(cache, key(i)), i == 50 ? "" : "carried");
    aw_cache_destroy(cache);
}

/* Every byte of a bundle of two changed, and every length cut: never a wrong text, never a crash. */
Test(cache_sharing, bundle_damaged)
{
    char bytes[512];
    struct aw_cache_bundle out, in;
    fill(own, 0, 2, "carried");
    cr_assert_null(carry(&out, &in));
    int fd = open(bundle, O_RDWR);
    ssize_t size = read(fd, bytes, sizeof bytes);
    cr_assert(size == 16 + 2 * (AW_CACHE_HEADER_SIZE + 7));
    struct aw_cache *cache = aw_cache_create(image, 0);
    for (ssize_t i = 0; i < 2 * size; i++) {
        aw_cache_prune(cache, 0, INT64_MAX);
        bool cut = i >= size;
        bytes[i % size] ^= 0x41;
        cr_assert(pwrite(fd, bytes, (size_t)size, 0) == size && ftruncate(fd, cut ? i - size : size) == 0);
        bytes[i % size] ^= 0x41;
        if (cut)
            cr_assert(pwrite(fd, bytes, (size_t)(i - size), 0) == i - size);
        lseek(fd, 0, SEEK_SET);
        const char *why = aw_cache_import(cache, fd, &in);
        bool between = cut && (i - size - 16) % (AW_CACHE_HEADER_SIZE + 7) == 0 && i - size >= 16;
        cr_assert(between || why || in.damaged == 1, "byte %zd", i);
        for (uint64_t k = 0; k < 2; k++) {
            const char *text = found(cache, key(k));
            cr_assert(!*text || !strcmp(text, "carried"), "byte %zd: %s", i, text);
        }
    }
    close(fd);
    aw_cache_destroy(cache);
}

Test(cache_sharing, no_bundle)
{
    struct aw_cache_bundle in;
    struct aw_cache *cache = aw_cache_create(image, 0);
    int fd = open("/dev/zero", O_RDONLY), none = open("/dev/null", O_RDONLY);
    cr_assert_str_eq(aw_cache_import(cache, fd, &in), "is no bundle of `anywarp cache export`");
    cr_assert_str_eq(aw_cache_import(cache, none, &in), "is no bundle of `anywarp cache export`");
    close(fd);
    close(none);
    aw_cache_destroy(cache);
}
