/* The kernels of files, as the runtime would make them of the programs: read, and compiled by several compilers at once,
 * through the cache.  What `doctor` and `precompile` share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_KERNELS_H
#define AW_TOOLS_KERNELS_H

#include "base/vec.h"
#include "core/module.h"

struct aw_device;

struct aw_kernel_image {
    struct aw_image *image;
    const struct aw_manifest *manifest;
    const char *file; /* borrowed from the list's files */
};

/* What could not be opened: an image, or a file. */
struct aw_kernel_problem {
    const char *file;
    enum aw_status status;
    char *text; /* lines; heap */
};

struct aw_kernel_file {
    char *path;
    void *bytes; /* mapped */
    size_t size;
};

struct aw_kernel_list {
    AW_VEC(struct aw_kernel_file) files;
    AW_VEC(struct aw_kernel_image) images;
    AW_VEC(struct aw_kernel_problem) problems;
    unsigned n_ptx, n_machine; /* containers with PTX; with kernels in machine code alone */
};

/* Adds a file: an ELF program or library, a fat binary, or PTX.  True when there is CUDA code in it; what of it could not be
 * opened is among the problems.  False, with nothing added, for one without, or that cannot be read.  Needs aw_core_init.
 * One thread. */
bool aw_kernel_list_add(struct aw_kernel_list *list, const char *path);
void aw_kernel_list_fini(struct aw_kernel_list *list);

const struct aw_manifest_kernel *aw_kernel_list_at(const struct aw_kernel_image *image, uint32_t index);
/* As it is in the PTX; borrowed from the image. */
const char *aw_kernel_list_name(const struct aw_kernel_image *image, uint32_t index);
/* Is it the toolkit's own, of the device's runtime linked into programs made with -rdc?  Only launches by kernels use those. */
bool aw_kernel_list_toolkits(const char *name);

struct aw_kernel_job {
    const struct aw_kernel_image *image;
    uint32_t index, block[3]; /* as in struct aw_compile_options */
    enum aw_status status;    /* what came of it */
    char *text;               /* the compiler's messages; heap, or NULL */
};
/* Compiles for the device what is not in the cache yet, several at a time.  `done`, if there is one, hears of each that has
 * ended, one at a time; when it returns false no more are begun, and the others keep AW_ERR_NOT_READY. */
void aw_kernel_jobs_run(struct aw_kernel_job *jobs, size_t n, const struct aw_device *device,
                        bool (*done)(void *user, const struct aw_kernel_job *job), void *user);

#endif
