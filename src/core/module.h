/* Modules, libraries, kernels: from an image the user hands in to code a device can run.
 *
 *   aw_image    what was handed in, made into PTX texts and a manifest at first need; knows no device; shared, counted
 *   aw_module   an image in one context (CUmodule): the arena with its variables, and its functions
 *   aw_func     a kernel of a module (CUfunction): compiled at its first use, once for each shape of block that gets code of its
 * own aw_library  an image with no context (CUlibrary, and each fatbin the program registers): a module per context on demand
 *   aw_kernel   a name in a library (CUkernel, cudaKernel_t): a function per context on demand; accepted wherever aw_func is
 *
 * Everything is lazy: loading a library stores the image and nothing else.  All functions are thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_MODULE_H
#define AW_CORE_MODULE_H

#include <anywarp/compiler.h>
#include <anywarp/provider.h>

#include "base/status.h"
#include "base/vec.h"
#include "core/context.h"
#include "core/jit.h"

struct aw_library;
struct aw_module;

/* ---- Images. */
struct aw_image; /* opaque */

enum { AW_IMAGE_BORROWED = 1 /* bytes outlive the image */, AW_IMAGE_FATBIN = 2 /* nothing else is accepted */,
       AW_IMAGE_OBJECT = 4 /* an ELF file may be any: all its fat binaries count */ };

/* Wraps what a user handed in: PTX text (NUL-terminated), a fatbin wrapper or container, or an ELF file of aw_fatbin_write.
 * Nothing is parsed but the first bytes.  `origin` names it in messages (borrowed for the call), NULL: derived from the
 * address. AW_ERR_INVALID_IMAGE when it is none of these; AW_ERR_NO_BINARY for a bare cubin (logged). */
enum aw_status aw_image_create(const void *bytes, unsigned flags, const char *origin, struct aw_image **ret_image);
/* The same of `size` bytes, NUL-terminated one past them: a file's contents. */
enum aw_status aw_image_create_sized(const void *bytes, size_t size, unsigned flags, const char *origin,
                                     struct aw_image **ret_image);
void aw_image_ref(struct aw_image *image);
void aw_image_unref(struct aw_image *image); /* NULL is fine */
/* Makes the manifest, once; later calls return the same status.  The message (of the failure or a warning) is in
 * aw_image_log.  AW_ERR_NO_BINARY: only cubins; AW_ERR_INVALID_IMAGE; or what aw_jit_open gives. */
enum aw_status aw_image_open(struct aw_image *image, const struct aw_manifest **ret_manifest);
/* Borrowed until unref; "" when there is nothing to say. */
const char *aw_image_log(struct aw_image *image);
/* Once open: the compiler's view of it (borrowed), and whether its PTX was made for debugging (nvcc -G). */
struct aw_jit_module *aw_image_jit(struct aw_image *image);
bool aw_image_debug(const struct aw_image *image);
/* Its n_kernels kernels; borrowed, like it. */
static inline const struct aw_manifest_kernel *aw_manifest_kernels(const struct aw_manifest *manifest)
{
    return (const void *)((const char *)manifest + manifest->kernels);
}
/* The number of a kernel in a manifest by its name; false: there is none. */
bool aw_manifest_find_kernel(const struct aw_manifest *manifest, const char *name, uint32_t *ret_index);
/* Of the open image: how many registers a thread of kernel number `kernel` takes on NVIDIA's card of the compute capability that
 * we report, where the image has machine code for one; else 0.  Programs choose the shapes of their blocks by it. */
int aw_image_registers(struct aw_image *image, uint32_t kernel);
/* The PTX texts of an image, each owned by `ret_texts` (aw_image_texts_fini, also after a failure); names live as long as it
 * and the image.  As aw_image_open where there are none.  Not while another thread opens the image. */
struct aw_image_texts {
    AW_VEC(struct aw_text) list;
    AW_VEC(char *) names;
    bool debug;  /* made with nvcc -G */
    bool failed; /* something could not be read; the image's log has what */
};
enum aw_status aw_image_texts(struct aw_image *image, struct aw_image_texts *ret_texts);
void aw_image_texts_fini(struct aw_image_texts *texts);
/* Storage of managed variable number `var` of the open image: one for all contexts while the context it was made in lives.
 * Allocated, uninitialised, when there is none: then *ret_fresh.  The caller holds aw_image_lock. */
void aw_image_lock(struct aw_image *image);
void aw_image_unlock(struct aw_image *image);
enum aw_status aw_image_managed(struct aw_image *image, struct aw_ctx *ctx, uint32_t var, uintptr_t *ret_address,
                                bool *ret_fresh);

/* ---- Functions. */
/* Two forms of host code (docs/host.md, "Quick code"); other devices have the good one alone. */
enum aw_tier { AW_TIER_GOOD, AW_TIER_QUICK };

struct aw_code {                    /* immutable once published */
    struct aw_func *func;
    struct aw_code *next;           /* of the function */
    uint32_t block[3];              /* what it is for, as compile options say it */
    size_t size;                    /* of the object, bytes */
    enum aw_tier tier;
    struct aw_object *object;
    struct aw_function *function;
    int attr[AW_FN_COUNT_];         /* the provider's function attributes */
};

struct aw_func {
    struct aw_handle handle;
    struct aw_module *module;
    const char *name;               /* borrowed from the manifest */
    const struct aw_manifest_kernel *kernel;
    const struct aw_manifest_param *params;
    uint32_t index;                 /* in the manifest */
    uint32_t kernarg_size;          /* bytes, with the hidden part */
    struct aw_job *jobs;            /* good forms that are to come (tiers.c) */
    struct aw_code *code;           /* atomic; all there is, the newest first; grows under the lock */
    enum aw_status failure;         /* atomic; not AW_OK: the kernel cannot be compiled, and why was logged */
    unsigned attempts;              /* failed ones that may succeed when repeated */
    unsigned n_shapes;              /* that were launched and have code of their own */
    bool settled;                   /* atomic; no more get it */
    int max_dynamic_shared;         /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
    int carveout, cluster[3], cluster_policy, cache_config, nonportable_cluster;
    struct aw_func_legacy *legacy;  /* of launches as before CUDA 4 (src/abi/cuda_legacy.c); heap, under the lock */
    pthread_mutex_t lock;
};

/* What launching keeps with a module whose kernels start kernels (starts.c). */
struct aw_starts {
    void (*destroy)(struct aw_starts *starts);
};

struct aw_module {
    struct aw_handle handle;
    struct aw_ctx *ctx;
    struct aw_image *image;
    struct aw_library *library;     /* NULL: made by cuModuleLoad* */
    const struct aw_manifest *manifest; /* borrowed from the image */
    uintptr_t arena;                /* device address, atomic; 0 until filled or when there are no variables */
    bool arena_ready;               /* atomic */
    struct aw_func **funcs;         /* by manifest index, atomic entries, NULL until first asked for */
    struct aw_starts *starts;       /* NULL until a kernel is launched that may start others; under the lock */
    unsigned opt_level;             /* 0 for -G or CU_JIT_OPTIMIZATION_LEVEL 0, else 3 */
    pthread_mutex_t lock;
};

extern struct aw_slab aw_func_slab, aw_module_slab, aw_library_slab, aw_kernel_slab;

static inline struct aw_module *aw_module_from(const void *handle)
{
    return aw_slab_valid(&aw_module_slab, handle) ? (struct aw_module *)(uintptr_t)handle : NULL;
}

/* Loads an image into `ctx`.  Takes its own reference.  On failure the reason is aw_image_log(image). */
enum aw_status aw_module_create(struct aw_ctx *ctx, struct aw_image *image, unsigned opt_level, struct aw_module **ret_module);
/* May the module's device run quick code of its kernels? */
bool aw_module_has_quick(const struct aw_module *module);
/* What kernels of the module are compiled with, in the good form; the target is the device's. */
struct aw_compile_options aw_module_options(const struct aw_module *module, const uint32_t block[3], enum aw_lines lines);
/* Compiles kernel number `index` for the module's device and the blocks `block` (as compile options say it), or takes it from the
 * cache; as aw_jit_compile. */
enum aw_status aw_module_compile(struct aw_module *module, uint32_t index, const uint32_t block[3], enum aw_lines lines,
                                 enum aw_tier tier, char **ret_bytes, size_t *ret_size, char **ret_diags);
/* AW_OK when some kernel of the module can be compiled, or there is none.  Else why not: *ret_log is heap, caller frees, or NULL.
 * A user who hands in one text wants to hear of its errors at once, not at the first launch. */
enum aw_status aw_module_usable(struct aw_module *module, char **ret_log);
enum aw_status aw_module_destroy(struct aw_module *module); /* waits for its context's work */
/* AW_ERR_NOT_FOUND.  The function lives as long as its module. */
enum aw_status aw_module_function(struct aw_module *module, const char *name, struct aw_func **ret_func);
enum aw_status aw_module_function_at(struct aw_module *module, uint32_t index, struct aw_func **ret_func);
/* A variable's address and size; for a managed one its storage.  AW_ERR_NOT_FOUND. Outputs may be NULL. */
enum aw_status aw_module_global(struct aw_module *module, const char *name, uintptr_t *ret_address, size_t *ret_size);
/* The settings that a variable of the module, a texture reference, begins with: of enum aw_sampler.  0 when there is none of
 * the name. */
uint32_t aw_module_sampler(const struct aw_module *module, const char *name);
/* Makes sure the arena is there. */
enum aw_status aw_module_arena(struct aw_module *module);

/* ---- Libraries and kernels. */
struct aw_kernel {
    struct aw_handle handle;
    struct aw_library *library;
    const char *name;               /* owned by the library's image or the program */
    struct aw_func *func[AW_MAX_DEVICES]; /* atomic; of the primary context, or the context that asked last */
    struct aw_kernel *next;         /* of the library */
    const void *host;               /* the host function that stands for it in the runtime API, atomic; NULL: none asked yet */
};

static inline struct aw_library *aw_library_from(const void *handle)
{
    return aw_slab_valid(&aw_library_slab, handle) ? (struct aw_library *)(uintptr_t)handle : NULL;
}

static inline struct aw_kernel *aw_kernel_from(const void *handle)
{
    return aw_slab_valid(&aw_kernel_slab, handle) ? (struct aw_kernel *)(uintptr_t)handle : NULL;
}

/* Stores the image, nothing else.  Takes its own reference. */
enum aw_status aw_library_create(struct aw_image *image, struct aw_library **ret_library);
enum aw_status aw_library_destroy(struct aw_library *library);
/* The library's module in `ctx`, made at first need. */
enum aw_status aw_library_module(struct aw_library *library, struct aw_ctx *ctx, struct aw_module **ret_module);
/* Opens the manifest.  AW_ERR_NOT_FOUND; or why the image cannot be opened. */
enum aw_status aw_library_kernel(struct aw_library *library, const char *name, struct aw_kernel **ret_kernel);
/* Does not open anything: a name that does not exist shows at first use.  `name` is borrowed for the library's life. */
enum aw_status aw_library_kernel_lazy(struct aw_library *library, const char *name, struct aw_kernel **ret_kernel);
enum aw_status aw_library_manifest(struct aw_library *library, const struct aw_manifest **ret_manifest);
/* A managed variable's storage, shared by all contexts.  AW_ERR_NOT_FOUND also when the variable is not managed. */
enum aw_status aw_library_managed(struct aw_library *library, const char *name, uintptr_t *ret_address, size_t *ret_size);
struct aw_image *aw_library_image(struct aw_library *library); /* borrowed */

/* Forgets a module that is being destroyed. */
void aw_library_forget(struct aw_library *library, struct aw_module *module);

/* The function behind a CUfunction or CUkernel handle in `ctx`.  AW_ERR_INVALID_HANDLE when it is neither, or a CUfunction
 * of another context. */
enum aw_status aw_func_find(struct aw_ctx *ctx, const void *handle, struct aw_func **ret_func);
enum aw_status aw_kernel_func(struct aw_kernel *kernel, struct aw_ctx *ctx, struct aw_func **ret_func);
/* Code that blocks of this shape (threads, each at least 1) can be launched with; compiled and loaded unless that was done,
 * without a lock when it was.  Borrowed while the function lives; or why it cannot be had (the message has been logged once). */
enum aw_status aw_func_code(struct aw_func *func, const uint32_t block[3], const struct aw_code **ret_code);
/* What to take instead of `code` where blocks have so much dynamic shared memory, in bytes, that what `code` takes of it for
 * itself does not fit: code that takes nothing.  Else `code`. */
enum aw_status aw_func_code_shared(struct aw_func *func, const struct aw_code *code, size_t dynamic_shared,
                                   const struct aw_code **ret_code);
/* The same for questions: some code, whatever it is for; and code that can speak for blocks of `threads` threads. */
enum aw_status aw_func_code_any(struct aw_func *func, const struct aw_code **ret_code);
enum aw_status aw_func_code_threads(struct aw_func *func, int threads, const struct aw_code **ret_code);
/* Where no shape is known, what code is made for, as compile options say it: the only one that there can be, or many.  Needs
 * aw_core_init. */
void aw_kernel_usual_shape(const struct aw_manifest_kernel *kernel, uint32_t ret[3]);
/* Unloads all code, as the function ends. */
void aw_func_code_drop(struct aw_func *func);
/* CUfunction_attribute by number.  Compiles where the answer needs code.  AW_ERR_INVALID_VALUE. */
enum aw_status aw_func_attribute(struct aw_func *func, int cu_attr, int *ret_value);
enum aw_status aw_func_set_attribute(struct aw_func *func, int cu_attr, int value);
/* AW_ERR_INVALID_VALUE when there is no such parameter. Bytes. */
enum aw_status aw_func_param(struct aw_func *func, size_t index, size_t *ret_offset, size_t *ret_size);

/* Blocks of `block_threads` threads with `dynamic_shared` bytes that fit a multiprocessor at once; and when they run `code`. */
enum aw_status aw_func_occupancy(struct aw_func *func, int block_threads, size_t dynamic_shared, int *ret_blocks);
enum aw_status aw_code_occupancy(const struct aw_code *code, int block_threads, size_t dynamic_shared, int *ret_blocks);
/* The most dynamic shared memory, in bytes, with which `blocks` blocks of `block_threads` threads still fit a multiprocessor at
 * once.  AW_ERR_INVALID_VALUE when they do not even without. */
enum aw_status aw_func_dynamic_shared(struct aw_func *func, int blocks, int block_threads, size_t *ret_bytes);

#endif
