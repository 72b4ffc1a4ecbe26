/* What kernels print, assert and allocate, and what becomes of those that never end, against a stand-in card whose memory is the
 * host's and whose kernels are functions here. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <anywarp/env.h>
#include <anywarp/provider.h>

#include "base/status.h"
#include "provider/hip/diagnose.h"
#include "provider/hip/hip.h"
#include "provider/hip/internal.h"

#define P (&aw_provider_hip)

static int failures;

#define CHECK(cond) ((cond) ? (void)0 : failed(__LINE__, #cond))
#define EQ(a, b) \
    ((long long)(a) == (long long)(b) ? (void)0 : failed_equal(__LINE__, #a " == " #b, (long long)(a), (long long)(b)))

static void failed(int line, const char *text)
{
    failures++;
    fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, text);
}

static void failed_equal(int line, const char *text, long long a, long long b)
{
    failed(line, text);
    fprintf(stderr, "    %lld against %lld\n", a, b);
}

/* ---- the card ---- */

#define AW_HIP(name, required, params) static int none_##name params { return 0; }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "provider/hip/hip.def"
#pragma GCC diagnostic pop
#undef AW_HIP

static void (*kernel)(struct aw_env *env); /* what a launch runs */
static uint64_t last_env;
static void *busy;                         /* this stream's work never ends */
static int n_mallocs, n_streams, n_launches, n_copies;
static const char *arch = "gfx1030";

static int card_count(int *count) { *count = 1; return 0; }
static int card_version(int *version) { *version = 50221153; return 0; }
static int card_name(char *name, int size, int device) { snprintf(name, (size_t)size, "card %d", device); return 0; }
static int card_properties(void *prop, int device)
{
    (void)device;
    memcpy((char *)prop + 700, arch, strlen(arch) + 1);
    return 0;
}
static int card_malloc(void **p, size_t size)
{
    n_mallocs++;
    *p = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    if (*p)
        memset(*p, 0xaa, size);
    return *p ? 0 : 2;
}
static int card_free(void *p) { free(p); return 0; }
static int card_host_malloc(void **p, size_t size, unsigned flags) { (void)flags; return card_malloc(p, size); }
static int card_copy(void *d, const void *s, size_t n, int kind, void *stream)
{
    (void)kind;
    (void)stream;
    n_copies++;
    memcpy(d, s, n);
    return 0;
}
static int card_fill(void *d, unsigned char v, size_t n, void *stream) { (void)stream; memset(d, v, n); return 0; }
static int card_stream(void **s, unsigned flags, int priority)
{
    (void)flags;
    (void)priority;
    *s = (void *)(uintptr_t)(0x1000 * ++n_streams);
    return 0;
}
static int card_query(void *s) { return s && s == busy ? 600 : 0; }
static int card_event(void **e, unsigned flags) { (void)flags; *e = (void *)(uintptr_t)0x77; return 0; }
static int card_launch(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                       void *stream, void **params, void **extra)
{
    (void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)params;
    n_launches++;
    memcpy(&last_env, (char *)extra[1] + *(size_t *)extra[3] - 8, 8);
    if (kernel && last_env)
        kernel((struct aw_env *)(uintptr_t)last_env);
    return 0;
}

static void card_open(void)
{
    static struct aw_hip_api api;
    const char *why = NULL;
    api = (struct aw_hip_api){
#define AW_HIP(name, required, params) .name = none_##name,
#include "provider/hip/hip.def"
#undef AW_HIP
    };
    api.hipGetDeviceCount = card_count;
    api.hipRuntimeGetVersion = card_version;
    api.hipDeviceGetName = card_name;
    api.hipGetDeviceProperties = card_properties;
    api.hipGetDevicePropertiesR0600 = NULL;
    api.hipMalloc = card_malloc;
    api.hipFree = api.hipHostFree = card_free;
    api.hipHostMalloc = card_host_malloc;
    api.hipMemcpyAsync = card_copy;
    api.hipMemsetD8Async = card_fill;
    api.hipStreamCreateWithPriority = card_stream;
    api.hipStreamQuery = card_query;
    api.hipEventCreateWithFlags = card_event;
    api.hipModuleLaunchKernel = card_launch;
    aw_hip_inject(&api);
    kernel = NULL;
    busy = NULL;
    EQ(P->open(&why), AW_OK);
    n_mallocs = n_launches = n_copies = 0;
}

/* ---- objects: no code, only the marks ---- */

struct image {
    Elf64_Ehdr head;
    Elf64_Shdr sections[3];
    Elf64_Sym symbols[3];
    char strings[64];
};

static struct aw_function *function_make(bool env, bool heap)
{
    struct image *image = calloc(1, sizeof *image);
    struct aw_object *object = NULL;
    struct aw_function *function = NULL;
    memcpy(image->head.e_ident, ELFMAG "\2\1\1", 7);
    image->head.e_shoff = offsetof(struct image, sections);
    image->head.e_shentsize = sizeof(Elf64_Shdr);
    image->head.e_shnum = 3;
    image->sections[1] = (Elf64_Shdr){ .sh_type = SHT_DYNSYM, .sh_offset = offsetof(struct image, symbols),
                                       .sh_size = sizeof image->symbols, .sh_link = 2 };
    image->sections[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct image, strings),
                                       .sh_size = sizeof image->strings };
    strcpy(image->strings + 1, AW_ENV_SYMBOL);
    strcpy(image->strings + 20, AW_ENV_HEAP_SYMBOL);
    image->symbols[1].st_name = env ? 1 : 0;
    image->symbols[2].st_name = heap ? 20 : 0;
    EQ(P->object_load(0, image, sizeof *image, &object), AW_OK);
    /* Cut anywhere, it is refused or loaded, but nothing beyond it is read. */
    for (size_t cut = 0; cut < sizeof *image; cut += 13) {
        char *part = malloc(cut ? cut : 1);
        struct aw_object *other = NULL;
        memcpy(part, image, cut);
        if (P->object_load(0, part, cut, &other) == AW_OK)
            P->object_unload(other);
        free(part);
    }
    EQ(P->object_function(object, "the_kernel", &function), AW_OK);
    free(image);
    return function;
}

static void run(struct aw_function *function, struct aw_stream *stream, void (*fn)(struct aw_env *))
{
    uint64_t args[4] = { 1, 2, 3, 0 };
    struct aw_launch launch = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .kernarg = args, .kernarg_size = sizeof args };
    kernel = fn;
    EQ(P->launch(0, function, &launch, stream), AW_OK);
    CHECK(args[3] == 0); /* the caller's copy is its own */
}

/* ---- what the code in a kernel does ---- */

static char *text_format, *text_name;

static void *reserve(struct aw_env *env, uint32_t size)
{
    uint32_t place = env->used;
    env->used += size;
    if (place + size > env->capacity) {
        env->dropped++;
        return NULL;
    }
    return (char *)(uintptr_t)env->buffer + place;
}

static void put_printf(struct aw_env *env, const char *format, const void *args, uint32_t bytes)
{
    uint32_t size = (uint32_t)sizeof(struct aw_env_printf) + (bytes + 7) / 8 * 8;
    struct aw_env_printf *r = reserve(env, size);
    if (!r)
        return;
    r->head.kind = AW_ENV_PRINTF;
    r->format = (uint64_t)(uintptr_t)format;
    memcpy(r->args, args, bytes);
    r->head.size = size;
}

static void prints(struct aw_env *env)
{
    struct {
        int32_t i, pad;
        double d;
        const char *s;
    } args = { 42, 0, 2.5, text_name };
    CHECK(env->buffer % 8 == 0 && env->heap == 0 && env->status == 0);
    put_printf(env, text_format, &args, sizeof args);
}

static void prints_wild(struct aw_env *env)
{
    uint64_t wild = 0x123456;
    put_printf(env, text_format + 20, &wild, 8);        /* a string that is nowhere */
    put_printf(env, text_format + 20, &wild, 0);        /* arguments that are not in the record */
    put_printf(env, (const char *)0x99999, &wild, 8);   /* a format that is nowhere */
}

static void prints_half(struct aw_env *env)
{
    prints(env);
    env->used += 64; /* its writer is not done */
}

static void prints_much(struct aw_env *env)
{
    uint64_t n = 7;
    while (!env->dropped)
        put_printf(env, text_format + 30, &n, 4);
    put_printf(env, text_format + 30, &n, 4);
}

static void asserts(struct aw_env *env)
{
    struct aw_env_assert *r = reserve(env, sizeof *r);
    *r = (struct aw_env_assert){ .head = { 0, AW_ENV_ASSERT }, .message = (uint64_t)(uintptr_t)text_name,
                                 .file = (uint64_t)(uintptr_t)text_name, .function = 0, .line = 12, .block = { 1, 2, 3 },
                                 .thread = { 4, 5, 6 } };
    r->head.size = sizeof *r;
    env->status = AW_ERR_ASSERT;
}

static void traps(struct aw_env *env)
{
    env->status = AW_ERR_LAUNCH_FAILED;
}

/* ---- catching output ---- */

static char caught[1 << 20];

static void catch(int fd, FILE *file, void (*fn)(void *), void *arg)
{
    FILE *to = tmpfile();
    fflush(file);
    int saved = dup(fd);
    dup2(fileno(to), fd);
    fn(arg);
    fflush(file);
    dup2(saved, fd);
    close(saved);
    rewind(to);
    size_t n = fread(caught, 1, sizeof caught - 1, to);
    caught[n] = '\0';
    fclose(to);
}

static int sync_status;

static void sync_stream(void *stream)
{
    sync_status = P->stream_sync(0, stream);
}

struct launched {
    struct aw_function *function;
    struct aw_stream *stream;
};

static void run_prints(void *what)
{
    struct launched *l = what;
    run(l->function, l->stream, prints);
}

static void texts_make(void)
{
    void *p = NULL;
    EQ(P->mem_alloc(0, 4096, &p), AW_OK);
    memset(p, 0, 4096);
    text_format = p;
    strcpy(text_format, "%d|%5.2f|%s\n");
    strcpy(text_format + 20, "<%s>\n");
    strcpy(text_format + 30, "%x ");
    text_name = text_format + 100;
    strcpy(text_name, "name");
}

/* ---- tests ---- */

static void test_nothing(void)
{
    card_open();
    struct aw_function *f = function_make(false, false);
    n_mallocs = 0;
    run(f, NULL, prints);
    EQ(last_env, 0);
    EQ(n_mallocs, 0);
    EQ(P->device_sync(0), AW_OK);
    EQ(n_copies, 0); /* who does not print pays nothing */
}

static void test_printf(void)
{
    struct aw_stream *s = NULL;
    card_open();
    texts_make();
    struct aw_function *f = function_make(true, false);
    EQ(P->stream_create(0, 0, 0, &s), AW_OK);
    EQ(P->limit_set(0, AW_LIMIT_PRINTF, 4096), AW_OK);
    run(f, s, prints);
    catch(1, stdout, run_prints, &(struct launched){ f, s }); /* the first is read at the second's launch */
    CHECK(strcmp(caught, "42| 2.50|name\n") == 0);
    catch(1, stdout, sync_stream, s);
    EQ(sync_status, AW_OK);
    CHECK(strcmp(caught, "42| 2.50|name\n") == 0);
    catch(1, stdout, sync_stream, s);
    CHECK(strcmp(caught, "") == 0);
    run(f, s, prints_wild);
    catch(1, stdout, sync_stream, s);
    CHECK(strcmp(caught, "<(bad pointer 0x123456)>\n<(null)(printf: bad format 0x99999)") == 0);
    run(f, s, prints_half);
    catch(1, stdout, sync_stream, s);
    CHECK(strcmp(caught, "42| 2.50|name\n") == 0);
    run(f, s, prints_much);
    catch(2, stderr, sync_stream, s);
    CHECK(strstr(caught, "2 calls of printf are lost") != NULL && strstr(caught, "cudaLimitPrintfFifoSize") != NULL);
    run(f, s, prints_much);
    catch(2, stderr, sync_stream, s);
    CHECK(strcmp(caught, "") == 0); /* once */
    run(f, s, prints);
    catch(1, stdout, sync_stream, s);
    CHECK(strcmp(caught, "42| 2.50|name\n") == 0); /* the buffer began anew */
    EQ(P->stream_destroy(s), AW_OK);
}

static void test_running(void)
{
    struct aw_stream *a = NULL, *b = NULL;
    card_open();
    texts_make();
    struct aw_function *f = function_make(true, false);
    EQ(P->stream_create(0, 0, 0, &a), AW_OK);
    EQ(P->stream_create(0, 0, 0, &b), AW_OK);
    run(f, a, prints);
    busy = aw_hip_stream_of(0, a)->handle; /* still running: what it has written is printed, and stays where it is */
    catch(1, stdout, sync_stream, b);
    CHECK(strcmp(caught, "42| 2.50|name\n") == 0);
    catch(1, stdout, sync_stream, b);
    CHECK(strcmp(caught, "") == 0);
    busy = NULL;
    catch(1, stdout, sync_stream, a);
    CHECK(strcmp(caught, "") == 0);
}

static void test_assert(void)
{
    struct aw_stream *s = NULL;
    card_open();
    texts_make();
    struct aw_function *f = function_make(true, false);
    EQ(P->stream_create(0, 0, 0, &s), AW_OK);
    run(f, s, asserts);
    EQ(P->device_fault(0), AW_OK); /* nobody has looked */
    catch(2, stderr, sync_stream, s);
    EQ(sync_status, AW_ERR_ASSERT);
    CHECK(strcmp(caught, "name:12: ?: block: [1,2,3], thread: [4,5,6] Assertion `name` failed.\n") == 0);
    EQ(P->device_fault(0), AW_ERR_ASSERT);
    EQ(P->stream_sync(0, s), AW_ERR_ASSERT); /* sticks */
    EQ(P->stream_destroy(s), AW_OK);
    EQ(P->device_reset(0), AW_OK);           /* the card is well */
    EQ(P->device_fault(0), AW_OK);
}

static void test_trap(void)
{
    struct aw_stream *s = NULL;
    void *p = NULL;
    card_open();
    struct aw_function *f = function_make(true, false);
    EQ(P->stream_create(0, 0, 0, &s), AW_OK);
    EQ(P->mem_alloc(0, 100, &p), AW_OK);
    run(f, s, traps);
    busy = aw_hip_stream_of(0, s)->handle; /* the others wait for the wave that has ended */
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    catch(2, stderr, sync_stream, s);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    EQ(sync_status, AW_ERR_LAUNCH_FAILED);
    CHECK(t1.tv_sec - t0.tv_sec < 10);
    CHECK(strstr(caught, "the_kernel") != NULL && strstr(caught, "goes on waiting") != NULL);
    /* From now on everything comes back at once. */
    EQ(P->device_sync(0), AW_ERR_LAUNCH_FAILED);
    EQ(P->mem_free(0, p), AW_ERR_LAUNCH_FAILED);
    EQ(P->mem_alloc(0, 10, &p), AW_ERR_LAUNCH_FAILED);
    EQ(P->stream_destroy(s), AW_ERR_LAUNCH_FAILED);
    EQ(P->device_reset(0), AW_ERR_LAUNCH_FAILED);
}

static struct aw_heap *seen_heap;

static void looks_at_heap(struct aw_env *env)
{
    seen_heap = (struct aw_heap *)(uintptr_t)env->heap;
}

static void test_heap(void)
{
    struct aw_stream *a = NULL, *b = NULL;
    card_open();
    struct aw_function *plain = function_make(true, false), *f = function_make(true, true);
    EQ(P->stream_create(0, 0, 0, &a), AW_OK);
    EQ(P->stream_create(0, 0, 0, &b), AW_OK);
    EQ(P->limit_set(0, AW_LIMIT_HEAP, 100 * AW_HEAP_PAGE + 5), AW_OK);
    EQ(P->limit_set(0, AW_LIMIT_PRINTF, 8192), AW_OK);
    run(plain, a, looks_at_heap);
    CHECK(!seen_heap);
    CHECK(((struct aw_env *)(uintptr_t)last_env)->capacity == 8192);
    EQ(P->limit_set(0, AW_LIMIT_PRINTF, 4096), AW_ERR_INVALID_VALUE); /* kernels have printed */
    run(f, a, looks_at_heap);
    struct aw_heap *h = seen_heap;
    CHECK(h && h->n_pages == 100 && h->pages % AW_HEAP_PAGE == 0 && h->map % 8 == 0 && h->kind % 4 == 0);
    if (h) {
        const uint64_t *map = (const uint64_t *)(uintptr_t)h->map;
        EQ(map[0], 0);
        EQ(map[1], ~0ull << 36);
        CHECK(h->hint == 0 && h->classes[0].free == 0 && h->classes[5].page == 0);
        CHECK(((const uint32_t *)(uintptr_t)h->kind)[99] == 0);
        CHECK(h->pages >= h->kind + 400 && h->kind >= h->map + 16);
    }
    seen_heap = NULL;
    run(f, b, looks_at_heap);
    CHECK(seen_heap == h); /* one for all streams */
    EQ(P->limit_set(0, AW_LIMIT_HEAP, 1 << 20), AW_ERR_INVALID_VALUE);
    EQ(P->stream_destroy(a), AW_OK);
    EQ(P->stream_destroy(b), AW_OK);
    EQ(P->device_reset(0), AW_OK);
    EQ(P->limit_set(0, AW_LIMIT_HEAP, 1 << 20), AW_OK);
}

static void test_targets(void)
{
    static const struct {
        const char *arch;
        int version;
        const char *target; /* NULL: refused */
        int object;
    } rows[] = {
        { "gfx1030", 50200000, "gfx1030", 4 },
        { "gfx1030", 60000000, "gfx1030", 5 },
        { "gfx90a:sramecc+:xnack-", 50200000, "gfx90a:sramecc+:xnack-", 4 },
        { "gfx1030:sramecc+", 70000000, "gfx1030", 5 },
        { "gfx900:sramecc-:xnack+", 60000000, "gfx900:xnack+", 5 },
        { "gfx1037", 60400000, "gfx10-3-generic", 6 },
        { "gfx1037", 60300000, NULL, 0 },
        { "gfx1154", 100000000, "gfx11-generic", 6 },
        { "gfx803", 70000000, NULL, 0 },
        { "gfx1310", 70000000, NULL, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char target[64] = "", why[160] = "";
        int object = 0;
        bool ok = aw_hip_target_choose(rows[i].arch, rows[i].version, target, sizeof target, &object, why);
        EQ(ok, rows[i].target != NULL);
        CHECK(ok ? strcmp(target, rows[i].target) == 0 && object == rows[i].object : strstr(why, rows[i].arch) != NULL);
    }
}

static void test_fill_and_stage(void)
{
    void *p = NULL;
    char source[100];
    card_open();
    EQ(P->mem_alloc(0, 4096, &p), AW_OK);
    memset(p, 0, 4096);
    EQ(P->fill(0, (char *)p + 2, 0xff, 1, 3, NULL), AW_OK);
    CHECK(memcmp(p, "\0\0\377\377\377\0\0\0", 8) == 0);
    EQ(P->fill(0, (char *)p + 14, 0xee, 1, 30, NULL), AW_OK);
    for (int i = 12; i < 48; i++)
        EQ(((unsigned char *)p)[i], i >= 14 && i < 44 ? 0xee : 0);
    EQ(P->fill(0, (char *)p + 1, 0, 2, 3, NULL), AW_ERR_INVALID_VALUE);
    memset(source, 'x', sizeof source);
    EQ(P->copy_pageable(0, p, source, sizeof source, NULL), AW_OK);
    memset(source, 'y', sizeof source); /* the source is the caller's again */
    CHECK(*(char *)p == 'x');
    EQ(P->copy_pageable(0, p, source, 1 << 20, NULL), AW_ERR_NOT_SUPPORTED);
    for (int i = 0; i < 40; i++) /* more than there are blocks */
        EQ(P->copy_pageable(0, (char *)p + i, source, 1, NULL), AW_OK);
}

static void test_diagnose(void)
{
    struct aw_hip_diagnosis d;
    const char *why = NULL;
    card_open();
    aw_hip_diagnose(&d);
    EQ(d.verdict, AW_HIP_USABLE);
    CHECK(d.n_devices == 1 && strcmp(d.devices[0].target, "gfx1030") == 0 && strcmp(d.devices[0].name, "card 0") == 0);
    CHECK(strstr(d.text, "HIP 5.2") != NULL);
    arch = "gfx803";
    static struct aw_hip_api api;
    api = aw_hip.api;
    aw_hip_inject(&api);
    EQ(P->open(&why), AW_ERR_NO_DEVICE);
    aw_hip_diagnose(&d);
    EQ(d.verdict, AW_HIP_UNSUPPORTED);
    CHECK(strstr(d.text, "gfx803") && strstr(d.text, "card 0") && !strchr(d.text, '\n'));
    arch = "gfx1030";
    for (int i = 0; i <= AW_HIP_FAILED; i++)
        CHECK(*aw_hip_verdict_text((enum aw_hip_verdict)i));
}

static void file_write(const char *folder, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *p = path + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
        *p = '\0';
        mkdir(path, 0700);
    }
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0);
    if (f)
        fclose(f);
}

/* A machine of two processors and three cards, as the driver shows it. */
static void test_atomics(void)
{
    char folder[] = "/tmp/aw-nodes-XXXXXX", remove[64];
    CHECK(mkdtemp(folder) != NULL);
    EQ(aw_hip_no_atomics(folder), -1);
    file_write(folder, "0/properties", "cpu_cores_count 8\nsimd_count 0\n");
    file_write(folder, "1/properties", "cpu_cores_count 8\nsimd_count 0\n");
    file_write(folder, "0/io_links/0/properties", "type 2\nnode_from 0\nnode_to 2\nflags 13\n");
    EQ(aw_hip_no_atomics(folder), -1);
    file_write(folder, "2/properties", "cpu_cores_count 0\nsimd_count 240\n");
    file_write(folder, "2/io_links/0/properties", "type 2\nnode_from 2\nnode_to 0\nflags 13\n");
    EQ(aw_hip_no_atomics(folder), 1);
    file_write(folder, "3/properties", "cpu_cores_count 0\nsimd_count 240\n");
    file_write(folder, "3/io_links/0/properties", "type 2\nnode_from 3\nnode_to 2\nflags 13\n"); /* to another card */
    file_write(folder, "3/io_links/1/properties", "type 2\nnode_from 3\nnode_to 1\nflags 1\n");
    EQ(aw_hip_no_atomics(folder), 1);
    file_write(folder, "4/properties", "cpu_cores_count 0\nsimd_count 240\n");
    file_write(folder, "4/io_links/0/properties", "type 2\nnode_from 4\nnode_to 1\nflags 8\n");
    EQ(aw_hip_no_atomics(folder), 2);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    EQ(system(remove), 0);
}

int main(void)
{
    test_nothing();
    test_printf();
    test_running();
    test_assert();
    test_heap();
    test_targets();
    test_fill_and_stage();
    test_diagnose();
    test_atomics();
    test_trap(); /* last: a device that is stuck is left as it is */
    fprintf(stderr, failures ? "%d FAILED\n" : "all passed\n", failures);
    return failures != 0;
}
