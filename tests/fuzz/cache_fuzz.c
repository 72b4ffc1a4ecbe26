/* Any bytes as a file of the cache, and as a manifest: loading gives what was stored, or a miss; a manifest that passes
 * its check can be walked. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <anywarp/compiler.h>

#include "base/file.h"
#include "cache/cache.h"
#include "fuzz.h"

static char dir[] = "/tmp/aw-cache-fuzz-XXXXXX", path[128];
static struct aw_cache *cache;
static struct aw_hash128 key;
static const char payload[] = "what was stored";

static void clean_up(void)
{
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    rmdir(dir);
    aw_cache_destroy(cache);
}

static void set_up(void)
{
    char hex[33];
    if (cache)
        return;
    setenv("ANYWARP_LOG", "err", 1);
    key = aw_hash128("key", 3);
    if (!mkdtemp(dir) || !(cache = aw_cache_create(dir, 0)) ||
        !aw_cache_store(cache, AW_CACHE_OBJECT, key, payload, sizeof payload))
        abort();
    aw_hash128_hex(key, hex);
    snprintf(path, sizeof path, "%s/%.2s/%s.o", dir, hex, hex + 2);
    atexit(clean_up);
}

static volatile uint64_t sink;

static void walk_manifest(const struct aw_manifest *m)
{
    const char *base = (const char *)m;
    const struct aw_manifest_kernel *k = (const void *)(base + m->kernels);
    const struct aw_manifest_param *p = (const void *)(base + m->params);
    const struct aw_manifest_var *v = (const void *)(base + m->vars);
    const struct aw_manifest_reloc *r = (const void *)(base + m->relocs);
    for (uint32_t i = 0; i < m->n_kernels; i++) {
        sink += strlen(base + m->strings + k[i].name);
        for (uint32_t n = 0; n < k[i].n_params; n++)
            sink += p[k[i].first_param + n].size;
    }
    for (uint32_t i = 0; i < m->n_vars; i++)
        sink += strlen(base + m->strings + v[i].name) + v[i].size;
    for (uint32_t i = 0; i < m->n_relocs; i++)
        sink += r[i].at;
    for (uint32_t i = 0; i < m->image_size; i++)
        sink += (unsigned char)base[m->image + i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    set_up();
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || !aw_fd_write_all(fd, data, size))
        abort();
    close(fd);
    char *bytes;
    size_t len;
    if (aw_cache_load(cache, AW_CACHE_OBJECT, key, &bytes, &len)) {
        if (len != sizeof payload || memcmp(bytes, payload, len) != 0)
            abort();
        free(bytes);
    } else if (access(path, F_OK) == 0) {
        abort(); /* a damaged file stays nowhere */
    }
    /* the manifest: aligned as a heap block is */
    char *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    if (aw_manifest_check(copy, size))
        walk_manifest((const void *)copy);
    free(copy);
    return 0;
}

static struct aw_fuzz_seed manifest_seed(void)
{
    struct {
        struct aw_manifest m;
        struct aw_manifest_kernel k[2];
        struct aw_manifest_var v[2];
        struct aw_manifest_reloc r[1];
        _Alignas(8) struct aw_manifest_param p[3];
        _Alignas(8) char image[8];
        char strings[16];
    } s = { .k = { { .name = 0, .n_params = 2, .param_size = 16 },
                   { .name = 2, .first_param = 2, .n_params = 1, .param_size = 8 } },
            .v = { { .name = 4, .size = 4, .align = 4 },
                   { .name = 6, .space = AW_VAR_MANAGED, .offset = 8, .size = 100, .align = 8 } },
            .r = { { .at = 8, .addend = 4, .size = 8 } },
            .p = { { 0, 8, 8 }, { 8, 8, 8 }, { 0, 4, 4 } } };
    memcpy(s.strings, "a\0b\0v\0w\0", 8);
#define AT(field) (uint32_t)((char *)&s.field - (char *)&s)
    s.m = (struct aw_manifest){ AW_MANIFEST_MAGIC, AW_COMPILER_ABI, sizeof s, 8, 0, 80, AT(k), 2, AT(p), 3, AT(v), 2, AT(r), 1,
                                AT(image), 8, 128, AT(strings), 16 };
#undef AT
    if (!aw_manifest_check(&s, sizeof s))
        abort(); /* else nothing behind the check is ever reached */
    char *copy = malloc(sizeof s);
    return (struct aw_fuzz_seed){ copy ? memcpy(copy, &s, sizeof s) : NULL, sizeof s };
}

unsigned aw_fuzz_seeds(struct aw_fuzz_seed *ret_seeds, unsigned max)
{
    set_up();
    if (max < 2 || aw_file_read(path, &ret_seeds[0].bytes, &ret_seeds[0].len) != AW_OK)
        abort();
    ret_seeds[1] = manifest_seed();
    return 2;
}
