/* The kernels of files: see kernels.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#include <anywarp/fatbin.h>

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/device.h"
#include "core/jit_pool.h"

/* ---- Reading. */

struct walk {
    struct aw_kernel_list *list;
    const char *file;
    size_t first_image, first_problem; /* of this file */
    unsigned containers;
    bool unresolved; /* an image needs another one: the program was made with -rdc */
};

static void problem_add(struct walk *walk, enum aw_status status, const char *text)
{
    struct aw_kernel_problem problem = { walk->file, status, strdup(text && *text ? text : aw_status_text(status)) };
    if (!problem.text || !aw_vec_push(&walk->list->problems, problem))
        free(problem.text);
}

/* Opens one image and adds it; why not otherwise. */
static enum aw_status image_add(struct walk *walk, const void *bytes, size_t size, unsigned flags, struct aw_image **ret_image)
{
    struct aw_kernel_image added = { .file = walk->file };
    enum aw_status status = aw_image_create_sized(bytes, size, flags | AW_IMAGE_BORROWED, walk->file, &added.image);
    if (status == AW_OK)
        status = aw_image_open(added.image, &added.manifest);
    if (status == AW_OK && !aw_vec_push(&walk->list->images, added))
        status = AW_ERR_OUT_OF_MEMORY;
    *ret_image = added.image;
    return status;
}

static bool container_add(void *user, const void *container, size_t size)
{
    struct walk *walk = user;
    struct aw_fatbin_iter iter = { 0 };
    struct aw_fatbin_entry entry;
    struct aw_image *image = NULL;
    int error;
    if (!aw_fatbin_next(container, size, &iter, &entry, &error) && error == AW_FATBIN_OK)
        return true; /* empty, as a linker leaves them */
    bool ptx = aw_fatbin_choose_ptx(container, size, 0, &entry, &error);
    walk->containers++;
    walk->list->n_ptx += ptx;
    enum aw_status status = image_add(walk, container, size, AW_IMAGE_FATBIN, &image);
    /* nvcc gives every program one for its own start, which has no kernel */
    bool idle = status == AW_OK && walk->list->images.at[walk->list->images.n - 1].manifest->n_kernels == 0;
    walk->list->n_machine += !ptx && !idle;
    walk->unresolved |= status == AW_ERR_NOT_FOUND;
    if (status) {
        problem_add(walk, status, image ? aw_image_log(image) : NULL);
        aw_image_unref(image);
    }
    return true;
}

static void drop_from(struct aw_kernel_list *list, size_t image, size_t problem)
{
    for (size_t i = image; i < list->images.n; i++)
        aw_image_unref(list->images.at[i].image);
    for (size_t i = problem; i < list->problems.n; i++)
        free(list->problems.at[i].text);
    list->images.n = image;
    list->problems.n = problem;
}

/* Made with -rdc: the program links its images when it starts, so they are one here, too. */
static void link_all(struct walk *walk, const void *bytes, size_t size)
{
    struct aw_kernel_list *list = walk->list;
    struct aw_kernel_image whole;
    struct aw_image *image = NULL;
    size_t before = list->images.n;
    if (image_add(walk, bytes, size, AW_IMAGE_OBJECT, &image) == AW_OK) {
        whole = list->images.at[before];
        list->images.n = before;
        drop_from(list, walk->first_image, walk->first_problem);
        list->images.at[list->images.n++] = whole; /* there was room for it */
    } else {
        aw_image_unref(image);
    }
}

static void file_read(struct walk *walk, const void *bytes, size_t size)
{
    enum { TEXT_HEAD = 65536 }; /* in which PTX says its version */
    uint32_t magic = 0;
    struct aw_image *image = NULL;
    if (size >= 4)
        memcpy(&magic, bytes, 4);
    if (magic == AW_FATBIN_MAGIC) {
        container_add(walk, bytes, size);
    } else if (size >= 4 && !memcmp(bytes, "\177ELF", 4)) {
        int error = aw_fatbin_each_in_elf(bytes, size, container_add, walk);
        if (error != AW_FATBIN_OK)
            problem_add(walk, AW_ERR_INVALID_IMAGE, aw_fatbin_error_text(error));
        if (walk->unresolved)
            link_all(walk, bytes, size);
    } else if (memmem(bytes, size < TEXT_HEAD ? size : TEXT_HEAD, ".version", 8)) {
        /* PTX.  The core wants a NUL behind it, and keeps a copy of its own. */
        char *copy = malloc(size + 1);
        if (!copy)
            return;
        memcpy(copy, bytes, size);
        copy[size] = 0;
        enum aw_status status = aw_image_create_sized(copy, size, 0, walk->file, &image);
        free(copy);
        if (status)
            return; /* anything: no CUDA code */
        struct aw_kernel_image added = { image, NULL, walk->file };
        walk->containers++;
        walk->list->n_ptx++;
        status = aw_image_open(image, &added.manifest);
        if (status || !aw_vec_push(&walk->list->images, added)) {
            problem_add(walk, status ? status : AW_ERR_OUT_OF_MEMORY, aw_image_log(image));
            aw_image_unref(image);
        }
    }
}

bool aw_kernel_list_add(struct aw_kernel_list *list, const char *path)
{
    struct stat st;
    struct aw_kernel_file file = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        file.size = (size_t)st.st_size;
        file.bytes = mmap(NULL, file.size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
    if (!file.bytes || file.bytes == MAP_FAILED)
        return false;
    file.path = strdup(path);
    struct walk walk = { list, file.path, list->images.n, list->problems.n, 0, false };
    if (file.path && aw_vec_reserve(&list->files, 1))
        file_read(&walk, file.bytes, file.size);
    if (!walk.containers && list->problems.n == walk.first_problem) {
        munmap(file.bytes, file.size);
        free(file.path);
        return false;
    }
    list->files.at[list->files.n++] = file;
    return true;
}

void aw_kernel_list_fini(struct aw_kernel_list *list)
{
    drop_from(list, 0, 0);
    for (size_t i = 0; i < list->files.n; i++) {
        munmap(list->files.at[i].bytes, list->files.at[i].size);
        free(list->files.at[i].path);
    }
    aw_vec_fini(&list->files);
    aw_vec_fini(&list->images);
    aw_vec_fini(&list->problems);
}

const struct aw_manifest_kernel *aw_kernel_list_at(const struct aw_kernel_image *image, uint32_t index)
{
    return (const struct aw_manifest_kernel *)(const void *)((const char *)image->manifest + image->manifest->kernels) + index;
}

const char *aw_kernel_list_name(const struct aw_kernel_image *image, uint32_t index)
{
    return (const char *)image->manifest + image->manifest->strings + aw_kernel_list_at(image, index)->name;
}

bool aw_kernel_list_toolkits(const char *name)
{
    return strstr(name, "_cuda_device_runtime_cu_") != NULL;
}

/* ---- Compiling. */

struct crew {
    struct aw_kernel_job *jobs;
    size_t n, next;
    const struct aw_device *device;
    bool (*done)(void *user, const struct aw_kernel_job *job);
    void *user;
    bool stopped;
    pthread_mutex_t lock;
};

static void job_run(struct aw_kernel_job *job, const struct aw_device *device)
{
    struct aw_compile_options options = { .target = device->target,
                                          .opt_level = aw_image_debug(job->image->image) ? 0 : 3,
                                          .code_object_version = (uint32_t)device->code_object_version,
                                          .block = { job->block[0], job->block[1], job->block[2] },
                                          .lines = AW_LINES_LOC };
    char *bytes = NULL;
    size_t size;
    job->status = aw_jit_compile(aw_image_jit(job->image->image), job->index, &options, &bytes, &size, &job->text);
    free(bytes);
}

static void *crew_member(void *user)
{
    struct crew *crew = user;
    pthread_mutex_lock(&crew->lock);
    while (!crew->stopped && crew->next < crew->n) {
        struct aw_kernel_job *job = &crew->jobs[crew->next++];
        pthread_mutex_unlock(&crew->lock);
        job_run(job, crew->device);
        pthread_mutex_lock(&crew->lock);
        if (crew->done && !crew->done(crew->user, job))
            crew->stopped = true;
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

void aw_kernel_jobs_run(struct aw_kernel_job *jobs, size_t n, const struct aw_device *device,
                        bool (*done)(void *user, const struct aw_kernel_job *job), void *user)
{
    enum { MOST = 64 };
    struct crew crew = { .jobs = jobs, .n = n, .device = device, .done = done, .user = user, .lock = PTHREAD_MUTEX_INITIALIZER };
    pthread_t members[MOST];
    unsigned begun = 0, threads = aw_jit_pool_most();
    for (size_t i = 0; i < n; i++)
        jobs[i].status = AW_ERR_NOT_READY;
    while (begun + 1 < threads && begun + 1 < n && begun < MOST && pthread_create(&members[begun], NULL, crew_member, &crew) == 0)
        begun++;
    crew_member(&crew);
    while (begun > 0)
        pthread_join(members[--begun], NULL);
}
