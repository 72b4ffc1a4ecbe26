/* Images: from the bytes a user hands in to PTX texts and a manifest.  Which bytes are what is decided here; what is in them
 * is the fatbin reader's and the compiler's affair. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <anywarp/fatbin.h>

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/setting.h"
#include "base/vec.h"
#include "core/memory.h"
#include "core/module.h"
#include "core/tiers.h"

#define AW_ROOM "core"

enum image_kind { IMAGE_PTX, IMAGE_CONTAINER, IMAGE_WRAPPER, IMAGE_ELF };

struct managed {
    uintptr_t address;
    struct aw_ctx *ctx; /* that owns the storage */
    uint64_t ctx_id;
};

struct aw_image {
    int refs; /* atomic */
    enum image_kind kind;
    unsigned flags;
    const void *bytes;
    size_t size;     /* SIZE_MAX: not known */
    char *owned;     /* a copy of the bytes, or NULL */
    void *pinned;    /* dlopen handle of the object that holds the bytes, or NULL */
    char *origin;    /* NULL: derived from the address when needed */
    bool debug;
    pthread_mutex_t lock;
    bool opened;     /* atomic; the rest is constant once set */
    enum aw_status status;
    struct aw_jit_module *jit;
    struct aw_buf log;
    struct managed *managed; /* by variable number */
    uint8_t *registers;      /* by kernel number, as machine code beside the PTX says; 0: it does not; NULL: nobody has asked */
};

/* ---- Recognising. */

/* Past white space and comments; at the NUL when there is nothing else. */
static const char *ptx_skip(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\r\n\v\f");
        if (at[0] == '/' && at[1] == '/') {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            if (!end)
                return at;
            at = end + 2;
        } else {
            return at;
        }
    }
}

static enum aw_status image_recognise(const void *bytes, unsigned flags, enum image_kind *ret_kind)
{
    const unsigned char *b = bytes;
    uint32_t magic = 0;
    for (int i = 0; i < 4 && (i == 0 || b[i - 1]); i++) /* a short text ends at its NUL */
        magic |= (uint32_t)b[i] << 8 * i;
    if (magic == AW_FATBIN_WRAPPER_MAGIC)
        *ret_kind = IMAGE_WRAPPER;
    else if (magic == AW_FATBIN_MAGIC)
        *ret_kind = IMAGE_CONTAINER;
    else if (flags & AW_IMAGE_FATBIN)
        return AW_ERR_INVALID_IMAGE;
    else if (memcmp(&magic, "\177ELF", 4) == 0)
        *ret_kind = IMAGE_ELF;
    else if (*ptx_skip(bytes) == '.')
        *ret_kind = IMAGE_PTX;
    else
        return AW_ERR_INVALID_IMAGE;
    return AW_OK;
}

/* ---- Life. */

/* A run of bytes, and whether a read-only segment of a loaded object holds it. */
struct segment_search {
    uintptr_t begin, end;
    const char *object; /* "" is the program */
};

static int segment_visit(struct dl_phdr_info *info, size_t size, void *user)
{
    struct segment_search *search = user;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_type == PT_LOAD && search->begin >= at && search->end <= at + ph->p_memsz) {
            search->object = ph->p_flags & PF_W ? NULL : info->dlpi_name;
            return 1;
        }
    }
    return 0;
}

/* Bytes in a program's own constant data need no copy: they cannot change, and they stay while their object is held open.
 * Libraries hand in thousands of images that way. */
static bool image_pin(struct aw_image *image, size_t size)
{
    struct segment_search search = { (uintptr_t)image->bytes, (uintptr_t)image->bytes + size, NULL };
    dl_iterate_phdr(segment_visit, &search);
    if (search.object)
        image->pinned = dlopen(search.object[0] ? search.object : NULL, RTLD_LAZY | RTLD_NOLOAD);
    return image->pinned != NULL;
}

/* Copies what the user may free once the call returned.  A wrapper's containers are taken to stay: it lives in a program. */
static bool image_keep(struct aw_image *image)
{
    size_t size = image->size;
    if (image->kind == IMAGE_WRAPPER)
        return true;
    if (image->kind == IMAGE_ELF) {
        if (size == SIZE_MAX)
            size = aw_fatbin_elf_size(image->bytes, aw_fatbin_mapped(image->bytes));
        if (!size)
            return true; /* nobody's but NVIDIA's to read: opening will say so */
    } else if (image->kind == IMAGE_CONTAINER) {
        size_t whole = aw_fatbin_size(image->bytes, size);
        if (!whole)
            return true; /* opening will say what is wrong */
        size = whole;
    } else if (size == SIZE_MAX) {
        size = strlen(image->bytes);
    }
    if (image_pin(image, size + (image->kind == IMAGE_PTX))) {
        image->size = size;
        return true;
    }
    image->owned = malloc(size + 1);
    if (!image->owned)
        return false;
    memcpy(image->owned, image->bytes, size);
    image->owned[size] = 0;
    image->bytes = image->owned;
    image->size = size;
    return true;
}

enum aw_status aw_image_create_sized(const void *bytes, size_t size, unsigned flags, const char *origin,
                                     struct aw_image **ret_image)
{
    enum image_kind kind;
    if (!bytes)
        return AW_ERR_INVALID_VALUE;
    enum aw_status status = size < 4 ? AW_ERR_INVALID_IMAGE : image_recognise(bytes, flags, &kind);
    if (status)
        return status;
    struct aw_image *image = calloc(1, sizeof *image);
    if (!image)
        return AW_ERR_OUT_OF_MEMORY;
    *image = (struct aw_image){ .refs = 1, .kind = kind, .flags = flags, .bytes = bytes, .size = size };
    pthread_mutex_init(&image->lock, NULL);
    if (origin)
        image->origin = strdup(origin);
    if ((origin && !image->origin) || (!(flags & AW_IMAGE_BORROWED) && !image_keep(image))) {
        aw_image_unref(image);
        return AW_ERR_OUT_OF_MEMORY;
    }
    *ret_image = image;
    return AW_OK;
}

enum aw_status aw_image_create(const void *bytes, unsigned flags, const char *origin, struct aw_image **ret_image)
{
    return aw_image_create_sized(bytes, SIZE_MAX, flags, origin, ret_image);
}

void aw_image_ref(struct aw_image *image)
{
    __atomic_add_fetch(&image->refs, 1, __ATOMIC_RELAXED);
}

static bool managed_alive(const struct managed *managed)
{
    return managed->address && aw_ctx_from(managed->ctx) && managed->ctx->id == managed->ctx_id &&
           __atomic_load_n(&managed->ctx->active, __ATOMIC_ACQUIRE);
}

void aw_image_unref(struct aw_image *image)
{
    if (!image || __atomic_sub_fetch(&image->refs, 1, __ATOMIC_ACQ_REL))
        return;
    for (uint32_t i = 0; image->managed && i < aw_jit_manifest(image->jit)->n_vars; i++)
        if (managed_alive(&image->managed[i]))
            aw_mem_module_free(image->managed[i].address);
    free(image->managed);
    free(image->registers);
    aw_jit_close(image->jit);
    aw_buf_fini(&image->log);
    free(image->owned);
    if (image->pinned)
        dlclose(image->pinned);
    free(image->origin);
    pthread_mutex_destroy(&image->lock);
    free(image);
}

/* ---- Opening. */

/* The name for messages: as given, else the program or library file the bytes lie in. */
static const char *image_origin(struct aw_image *image)
{
    Dl_info info;
    if (!image->origin && dladdr(image->bytes, &info) && info.dli_fname)
        image->origin = strdup(info.dli_fname);
    return image->origin ?: "image in memory";
}

void aw_image_texts_fini(struct aw_image_texts *texts)
{
    for (size_t i = 0; i < texts->list.n; i++)
        free((void *)texts->list.at[i].ptr);
    for (size_t i = 0; i < texts->names.n; i++)
        free(texts->names.at[i]);
    aw_vec_fini(&texts->list);
    aw_vec_fini(&texts->names);
}

/* A text's own name where it has one that says more than where it lies: in what a linker put together. */
static const char *entry_name(struct aw_image *image, struct aw_image_texts *texts, const struct aw_fatbin_entry *entry)
{
    char *name = image->kind == IMAGE_ELF && entry->identifier ? strndup(entry->identifier, entry->identifier_len) : NULL;
    if (!name || aw_vec_push(&texts->names, name))
        return name ?: image_origin(image);
    free(name);
    return image_origin(image);
}

/* Adds what one entry holds. */
static enum aw_status entry_add(struct aw_image *image, struct aw_image_texts *texts, const struct aw_fatbin_entry *entry)
{
    char *bytes;
    size_t length;
    int error = aw_fatbin_extract(entry, &bytes, &length);
    if (error) {
        aw_buf_printf(&image->log, "%s: %s_%u: %s\n", image_origin(image),
                      entry->kind == AW_FATBIN_ELF ? "machine code for sm" : "PTX for compute", entry->sm,
                      aw_fatbin_error_text(error));
        texts->failed = true;
        return error == AW_FATBIN_NO_MEMORY ? AW_ERR_OUT_OF_MEMORY : AW_OK;
    }
    texts->debug |= entry->kind == AW_FATBIN_PTX && (entry->flags & AW_FATBIN_DEBUG) != 0;
    if (aw_vec_push(&texts->list, (struct aw_text){ bytes, length, entry_name(image, texts, entry) }))
        return AW_OK;
    free(bytes);
    return AW_ERR_OUT_OF_MEMORY;
}

static uint32_t reported_sm(void)
{
    struct aw_device *device = aw_device_find(0);
    return device ? (uint32_t)(device->cc_major * 10 + device->cc_minor) : 0;
}

/* Adds the PTX of one container that suits the compute capability we report.  A container without PTX adds nothing. */
static enum aw_status texts_add(struct aw_image *image, struct aw_image_texts *texts, const void *container, size_t size)
{
    struct aw_fatbin_entry entry;
    int error = 0;
    bool found = aw_fatbin_choose_ptx(container, size, reported_sm(), &entry, &error);
    if (error) {
        aw_buf_printf(&image->log, "%s: %s\n", image_origin(image), aw_fatbin_error_text(error));
        texts->failed = true;
    }
    return found ? entry_add(image, texts, &entry) : AW_OK;
}

/* ---- Machine code: what the compiler lifts to PTX where a program has none (docs/lifting.md). */

/* ANYWARP_LIFT: where nothing is said, machine code is lifted where there is no PTX; "always": before PTX, for tests; "0":
 * never. */
enum lift { LIFT_NEVER, LIFT_WITHOUT_PTX, LIFT_ALWAYS };

static enum lift lift(void)
{
    static const char *const words[] = { "0", "1", "always", NULL };
    return (enum lift)aw_setting_word("ANYWARP_LIFT", words, LIFT_WITHOUT_PTX);
}

/* NVIDIA's own libraries are replaced, never lifted: told by the name of the file that holds the image. */
static bool is_nvidias(struct aw_image *image)
{
    static const char *const names[] = { "libcublas",   "libcudnn",   "libcufft",      "libcusparse", "libcusolver",
                                         "libcurand",   "libnccl",    "libnpp",        "libnvjpeg",   "libnvrtc",
                                         "libcutensor", "libcufile",  "libnvshmem",    "libcupti",    "libcudart",
                                         "libcuda.",    "libnvinfer", "libnvToolsExt", "libnvfatbin", "libcudss" };
    const char *path = image_origin(image), *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Whether an image may be lifted at all; says why not where that is worth a word. */
static bool may_lift(struct aw_image *image)
{
    if (lift() == LIFT_NEVER)
        return false;
    if (!is_nvidias(image))
        return true;
    aw_buf_printf(&image->log, "%s: a library of NVIDIA's, whose machine code is never used\n", image_origin(image));
    return false;
}

/* `anywarp check --sync` knows who waits for whom by member masks, which machine code does not have: silence would be taken for
 * an answer. */
static void tell_unchecked(struct aw_image *image)
{
    enum { SYNC = 1 };
    static const char *const words[] = { "none", "sync", "init", "race", NULL };
    if (aw_setting_words("ANYWARP_HOST_CHECK", words) & SYNC)
        aw_say(SYNC_UNCHECKED, image_origin(image));
}

/* Adds the machine code of one container that suits the compute capability we report, or nothing. */
static enum aw_status cubin_add(struct aw_image *image, struct aw_image_texts *texts, const void *container, size_t size)
{
    struct aw_fatbin_entry entry;
    int error = 0;
    if (!aw_fatbin_choose_cubin(container, size, reported_sm(), &entry, &error))
        return AW_OK;
    tell_unchecked(image);
    return entry_add(image, texts, &entry);
}

/* The machine code of an image of containers.  In a linked program's wrapper the first one has it; what follows was its input. */
static enum aw_status lifted_texts(struct aw_image *image, struct aw_image_texts *texts)
{
    struct aw_fatbin_wrapper_iter iter = { 0 };
    const void *container;
    size_t size = image->size;
    int error = 0;
    enum aw_status status = AW_OK;
    if (!may_lift(image))
        return AW_OK;
    if (image->kind == IMAGE_CONTAINER)
        return cubin_add(image, texts, image->bytes, size == SIZE_MAX ? aw_fatbin_mapped(image->bytes) : size);
    while (status == AW_OK && !texts->list.n && aw_fatbin_wrapper_next(image->bytes, &iter, &container, &size, &error))
        status = cubin_add(image, texts, container, size);
    return status;
}

/* A cubin that was handed in as it is. */
static enum aw_status lifted_elf(struct aw_image *image, struct aw_image_texts *texts)
{
    size_t size = image->size == SIZE_MAX ? aw_fatbin_cubin_size(image->bytes, aw_fatbin_mapped(image->bytes)) : image->size;
    char *copy = size && may_lift(image) ? malloc(size + 1) : NULL;
    if (!copy)
        return AW_OK;
    memcpy(copy, image->bytes, size);
    copy[size] = 0;
    tell_unchecked(image);
    if (aw_vec_push(&texts->list, (struct aw_text){ copy, size, image_origin(image) }))
        return AW_OK;
    free(copy);
    return AW_ERR_OUT_OF_MEMORY;
}

/* Says what an image without usable PTX holds instead. */
static void image_no_ptx(struct aw_image *image, const void *container, size_t size)
{
    char text[512] = "";
    aw_fatbin_describe(container, size, text, sizeof text);
    aw_buf_printf(
        &image->log, "%s: no PTX in the fat binary, only %s%s; build with PTX (nvcc -gencode arch=compute_80,code=compute_80)\n",
        image_origin(image), *text ? text : "nothing", lift() == LIFT_NEVER ? ", which ANYWARP_LIFT=0 says not to use" : "");
}

/* Is machine code all that some input of a linked program has, beside others with PTX (as CUDA's own device runtime)?  Then only
 * the linked machine code has all kernels. */
static bool lacks_ptx(struct aw_image *image)
{
    struct aw_fatbin_wrapper_iter iter = { 0 };
    struct aw_fatbin_entry entry;
    const void *container;
    size_t size;
    int error = 0;
    bool lacks = false;
    for (size_t i = 0; !lacks && aw_fatbin_wrapper_next(image->bytes, &iter, &container, &size, &error); i++)
        lacks = i > 0 && !aw_fatbin_choose_ptx(container, size, reported_sm(), &entry, &error) &&
                aw_fatbin_choose_cubin(container, size, reported_sm(), &entry, &error);
    return lacks;
}

static enum aw_status wrapper_texts(struct aw_image *image, struct aw_image_texts *texts)
{
    struct aw_fatbin_wrapper_iter iter = { 0 };
    const void *container;
    size_t size;
    int error = 0;
    enum aw_status status = lacks_ptx(image) ? lifted_texts(image, texts) : AW_OK;
    if (status || texts->list.n)
        return status;
    while (aw_fatbin_wrapper_next(image->bytes, &iter, &container, &size, &error)) {
        status = texts_add(image, texts, container, size);
        if (status)
            return status;
    }
    if (error) {
        aw_buf_printf(&image->log, "%s: %s\n", image_origin(image), aw_fatbin_error_text(error));
        texts->failed = true;
    }
    if (texts->list.n || texts->failed)
        return AW_OK;
    status = lifted_texts(image, texts);
    if (status || texts->list.n)
        return status;
    iter = (struct aw_fatbin_wrapper_iter){ 0 };
    while (aw_fatbin_wrapper_next(image->bytes, &iter, &container, &size, &error))
        image_no_ptx(image, container, size);
    return AW_OK;
}

struct elf_walk {
    struct aw_image *image;
    struct aw_image_texts *texts;
    enum aw_status status;
};

static bool elf_container(void *user, const void *container, size_t size)
{
    struct elf_walk *walk = user;
    walk->status = texts_add(walk->image, walk->texts, container, size);
    return walk->status == AW_OK;
}

/* What a linker of ours made, or, for a linker, any object with fat binaries in it.  Other ELF files are cubins. */
static enum aw_status elf_texts(struct aw_image *image, struct aw_image_texts *texts)
{
    struct elf_walk walk = { image, texts, AW_OK };
    size_t size = image->size;
    if (!(image->flags & AW_IMAGE_OBJECT) || size == SIZE_MAX)
        size = aw_fatbin_elf_size(image->bytes, size == SIZE_MAX ? aw_fatbin_mapped(image->bytes) : size);
    int error = size ? aw_fatbin_each_in_elf(image->bytes, size, elf_container, &walk) : 0;
    if (error) {
        aw_buf_printf(&image->log, "%s: %s\n", image_origin(image), aw_fatbin_error_text(error));
        texts->failed = true;
    }
    if (walk.status == AW_OK && !texts->list.n && !texts->failed && !size && !(image->flags & AW_IMAGE_OBJECT))
        walk.status = lifted_elf(image, texts);
    if (walk.status == AW_OK && !texts->list.n && !texts->failed)
        aw_buf_printf(&image->log, image->flags & AW_IMAGE_OBJECT
                          ? "%s: no PTX in this ELF file (machine code for one NVIDIA architecture cannot be used)\n"
                          : "%s: a cubin holds machine code for one NVIDIA architecture and no PTX; under `anywarp run` whoever "
                            "makes code at run time makes PTX instead (docs/jit.md); what a cache has kept from a run with "
                            "NVIDIA's driver must be deleted\n",
                      image_origin(image));
    return walk.status;
}

static enum aw_status ptx_text(struct aw_image *image, struct aw_image_texts *texts)
{
    size_t size = image->size == SIZE_MAX ? strlen(image->bytes) : image->size;
    char *copy = malloc(size + 1);
    if (!copy)
        return AW_ERR_OUT_OF_MEMORY;
    memcpy(copy, image->bytes, size);
    copy[size] = 0;
    if (aw_vec_push(&texts->list, (struct aw_text){ copy, strlen(copy), image->origin }))
        return AW_OK;
    free(copy);
    return AW_ERR_OUT_OF_MEMORY;
}

enum aw_status aw_image_texts(struct aw_image *image, struct aw_image_texts *texts)
{
    enum aw_status status = AW_OK;
    size_t size = image->size;
    *texts = (struct aw_image_texts){ 0 };
    if (lift() == LIFT_ALWAYS && (image->kind == IMAGE_CONTAINER || image->kind == IMAGE_WRAPPER)) {
        status = lifted_texts(image, texts);
        if (status || texts->list.n)
            return status;
    }
    switch (image->kind) {
    case IMAGE_PTX:
        status = ptx_text(image, texts);
        break;
    case IMAGE_CONTAINER:
        status = texts_add(image, texts, image->bytes, size == SIZE_MAX ? aw_fatbin_mapped(image->bytes) : size);
        if (status == AW_OK && !texts->list.n && !texts->failed)
            status = lifted_texts(image, texts);
        if (status == AW_OK && !texts->list.n && !texts->failed)
            image_no_ptx(image, image->bytes, size);
        break;
    case IMAGE_WRAPPER:
        status = wrapper_texts(image, texts);
        break;
    case IMAGE_ELF:
        status = elf_texts(image, texts);
        break;
    }
    if (status)
        return status;
    return texts->list.n ? AW_OK : texts->failed ? AW_ERR_INVALID_IMAGE : AW_ERR_NO_BINARY;
}

static _Atomic bool exiting;

bool aw_core_exiting(void)
{
    return atomic_load_explicit(&exiting, memory_order_relaxed);
}

/* Registered at first use, so it comes before what was registered when the program was loaded. */
static void compilers_end(void)
{
    atomic_store_explicit(&exiting, true, memory_order_relaxed);
    if (!aw_core_forked()) /* the queue, and its lock, are the parent's */
        aw_tiers_leave();
    aw_jit_shutdown();
}

static void compilers_end_at_exit(void)
{
    if (atexit(compilers_end))
        aw_say(COMPILER_LINGERS);
}

static enum aw_status image_open_once(struct aw_image *image)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct aw_image_texts texts;
    char *diags = NULL;
    enum aw_status status = aw_image_texts(image, &texts);
    pthread_once(&once, compilers_end_at_exit);
    if (status == AW_OK)
        status = aw_jit_open(texts.list.at, texts.list.n, &image->jit, &diags);
    if (diags)
        aw_buf_str(&image->log, aw_str_from(diags));
    if (status == AW_OK) {
        image->debug = texts.debug;
        image->managed = calloc(aw_jit_manifest(image->jit)->n_vars + 1, sizeof *image->managed);
        if (!image->managed)
            status = AW_ERR_OUT_OF_MEMORY;
    }
    free(diags);
    aw_image_texts_fini(&texts);
    return status;
}

enum aw_status aw_image_open(struct aw_image *image, const struct aw_manifest **ret_manifest)
{
    if (!__atomic_load_n(&image->opened, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&image->lock);
        if (!image->opened) {
            image->status = image_open_once(image);
            __atomic_store_n(&image->opened, true, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&image->lock);
    }
    if (image->status == AW_OK)
        *ret_manifest = aw_jit_manifest(image->jit);
    return image->status;
}

const char *aw_image_log(struct aw_image *image)
{
    return __atomic_load_n(&image->opened, __ATOMIC_ACQUIRE) && image->log.ptr ? image->log.ptr : "";
}

struct aw_jit_module *aw_image_jit(struct aw_image *image)
{
    return image->jit;
}

bool aw_image_debug(const struct aw_image *image)
{
    return image->debug;
}

/* ---- Kernels. */

bool aw_manifest_find_kernel(const struct aw_manifest *manifest, const char *name, uint32_t *ret_index)
{
    const struct aw_manifest_kernel *kernels = aw_manifest_kernels(manifest);
    for (uint32_t low = 0, high = manifest->n_kernels; low < high;) {
        uint32_t mid = low + (high - low) / 2;
        int order = strcmp((const char *)manifest + manifest->strings + kernels[mid].name, name);
        if (order == 0) {
            *ret_index = mid;
            return true;
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}

static void registers_note(void *user, const char *name, uint32_t registers)
{
    struct aw_image *image = user;
    uint32_t index;
    if (aw_manifest_find_kernel(aw_jit_manifest(image->jit), name, &index))
        image->registers[index] = (uint8_t)registers;
}

/* Reads them from one container's machine code; false: there is none that suits. */
static bool registers_read(struct aw_image *image, const void *container, size_t size)
{
    struct aw_fatbin_entry entry;
    char *bytes;
    size_t length;
    int error = 0;
    if (!aw_fatbin_choose_cubin(container, size, reported_sm(), &entry, &error) || aw_fatbin_extract(&entry, &bytes, &length))
        return false;
    aw_fatbin_cubin_registers(bytes, length, registers_note, image);
    free(bytes);
    return true;
}

static void registers_find(struct aw_image *image)
{
    struct aw_fatbin_wrapper_iter iter = { 0 };
    const void *container;
    size_t size = image->size == SIZE_MAX && image->kind != IMAGE_WRAPPER ? aw_fatbin_mapped(image->bytes) : image->size;
    int error = 0;
    image->registers = calloc(aw_jit_manifest(image->jit)->n_kernels + 1, 1);
    if (!image->registers)
        return;
    if (image->kind == IMAGE_CONTAINER)
        registers_read(image, image->bytes, size);
    else if (image->kind == IMAGE_ELF && (size = aw_fatbin_cubin_size(image->bytes, size)) > 0)
        aw_fatbin_cubin_registers(image->bytes, size, registers_note, image);
    while (image->kind == IMAGE_WRAPPER && aw_fatbin_wrapper_next(image->bytes, &iter, &container, &size, &error) &&
           !registers_read(image, container, size))
        ;
}

int aw_image_registers(struct aw_image *image, uint32_t kernel)
{
    pthread_mutex_lock(&image->lock);
    if (!image->registers)
        registers_find(image);
    int n = image->registers ? image->registers[kernel] : 0;
    pthread_mutex_unlock(&image->lock);
    return n;
}

/* ---- Managed variables. */

void aw_image_lock(struct aw_image *image)
{
    pthread_mutex_lock(&image->lock);
}

void aw_image_unlock(struct aw_image *image)
{
    pthread_mutex_unlock(&image->lock);
}

enum aw_status aw_image_managed(struct aw_image *image, struct aw_ctx *ctx, uint32_t var, uintptr_t *ret_address,
                                bool *ret_fresh)
{
    const struct aw_manifest *manifest = aw_jit_manifest(image->jit);
    const struct aw_manifest_var *vars = (const void *)((const char *)manifest + manifest->vars);
    struct managed *managed = &image->managed[var];
    *ret_fresh = !managed_alive(managed);
    if (*ret_fresh) {
        uintptr_t address;
        enum aw_status status = aw_mem_module_alloc(ctx, vars[var].size ?: 1, true, &address);
        if (status)
            return status;
        *managed = (struct managed){ address, ctx, ctx->id };
    }
    *ret_address = managed->address;
    return AW_OK;
}
