/* Host code objects: checked, loaded from memory, asked about and launched.
 * Not how a launch is carried out (pool.c, block.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/calltrace.h"
#include "base/env.h"
#include "base/file.h"
#include "base/log.h"

struct aw_host_function {
    const struct aw_host_object *code;
    struct aw_host_loaded *object;
    char name[256];                 /* of the kernel, for messages when the launch gives none */
    int stack_class;
    _Atomic uint32_t max_dynamic;   /* what function_set_shared allowed */
    struct aw_host_pace pace;
    struct aw_host_counting *counting; /* NULL: the code does not count */
    _Atomic(struct aw_host_function *) by; /* what has taken its place, NULL: nothing */
};

struct aw_host_loaded {
    void *handle;
    int file;                       /* its descriptor while a debugger may read it by that, else -1 */
    struct link_map *map;           /* the dynamic loader's */
    uintptr_t code, code_size;      /* where it may be executed */
    aw_locate_fn *locate;           /* NULL: nobody knows places */
    void *locate_user;
    struct aw_host_function function;
    void *elf;                      /* where samples are taken (sample.c): a copy of what was loaded, its size, and the next */
    size_t elf_size;
    struct aw_host_loaded *next;
};

/* ---- loading ---- */

/* Enough that the dynamic loader, which trusts its input, stays inside the file. */
static bool elf_plausible(const unsigned char *bytes, size_t size)
{
    Elf64_Ehdr eh;
    if (!bytes || size < sizeof eh)
        return false;
    memcpy(&eh, bytes, sizeof eh);
    if (memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
        eh.e_ident[EI_DATA] != ELFDATA2LSB || eh.e_type != ET_DYN || eh.e_machine != EM_X86_64 ||
        eh.e_phentsize != sizeof(Elf64_Phdr) || eh.e_phnum == 0 || eh.e_phnum > 64)
        return false;
    if (eh.e_phoff > size || (size - eh.e_phoff) / sizeof(Elf64_Phdr) < eh.e_phnum)
        return false;
    bool load = false, dynamic = false;
    for (unsigned i = 0; i < eh.e_phnum; i++) {
        Elf64_Phdr ph;
        memcpy(&ph, bytes + eh.e_phoff + i * sizeof ph, sizeof ph);
        if (ph.p_type == PT_INTERP)
            return false;
        if (ph.p_type != PT_LOAD && ph.p_type != PT_DYNAMIC)
            continue;
        if (ph.p_offset > size || ph.p_filesz > size - ph.p_offset || ph.p_memsz < ph.p_filesz ||
            ph.p_memsz > (uint64_t)1 << 32 || ph.p_vaddr > (uint64_t)1 << 40)
            return false;
        load |= ph.p_type == PT_LOAD;
        dynamic |= ph.p_type == PT_DYNAMIC;
    }
    return load && dynamic;
}

/* A file without a name in the first of the usual folders that takes one. */
static int file_anonymous(void)
{
    const char *const folders[] = { aw_env("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm" };
    char path[4096];
    int fd = -1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && fd < 0; i++) {
        if (!folders[i] || !*folders[i])
            continue;
        fd = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
        /* Some file systems have only files with names. */
        if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR) &&
            snprintf(path, sizeof path, "%s/anywarp-XXXXXX", folders[i]) < (int)sizeof path) {
            fd = mkostemp(path, O_CLOEXEC);
            if (fd >= 0)
                unlink(path);
        }
    }
    return fd;
}

/* A file descriptor with the bytes: anonymous memory, or a file where that may not be executed. */
static int bytes_to_fd(const void *bytes, size_t size, bool on_disk)
{
    int fd = on_disk ? file_anonymous() : memfd_create("anywarp", MFD_CLOEXEC);
    if (fd < 0)
        aw_say(CODE_FILE, on_disk ? "" : " in memory", strerror(errno));
    if (fd >= 0 && !aw_fd_write_all(fd, bytes, size)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* The loader takes a path it has seen for the same library, and descriptors are used again: so each path is spelt
 * differently, the load's number written with "./" and ".//".  The folder is named by the process's number where /proc knows it
 * under that, as "self" would be the debugger to a debugger that opens the file. */
static void *open_fd(int fd)
{
    static _Atomic uint32_t counter;
    char path[256];
    struct stat own, named;
    int n = snprintf(path, sizeof path, "/proc/%ld/fd/", (long)getpid());
    if (stat("/proc/self/fd", &own) != 0 || stat(path, &named) != 0 || own.st_ino != named.st_ino || own.st_dev != named.st_dev)
        n = snprintf(path, sizeof path, "/proc/self/fd/");
    for (uint32_t id = atomic_fetch_add(&counter, 1) + 1; id; id >>= 1)
        n += snprintf(path + n, sizeof path - (size_t)n, "%s", id & 1 ? ".//" : "./");
    snprintf(path + n, sizeof path - (size_t)n, "%d", fd);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The handle, and the file where a debugger is there to read it. */
static void *load_bytes(const void *bytes, size_t size, int *ret_file)
{
    for (int on_disk = 0; on_disk < 2; on_disk++) {
        int fd = bytes_to_fd(bytes, size, on_disk);
        if (fd < 0)
            continue;
        void *handle = open_fd(fd);
        if (handle && aw_host_is_traced()) {
            *ret_file = fd;
            return handle;
        }
        close(fd);
        if (handle)
            return handle;
        if (on_disk)
            aw_say(CODE_NOT_LOADED, dlerror(),
                   access("/proc/self/fd", X_OK) != 0 ? " (/proc is not mounted: the host device needs it)" : "");
        else
            aw_say(CODE_MEMORY, dlerror());
    }
    return NULL;
}

static const char *object_complaint(const struct aw_host_object *o)
{
    if (!o)
        return "it exports no " AW_HOST_OBJECT_SYMBOL;
    if (o->abi != AW_HOST_ABI)
        return "it was made for another version of the interface";
    if (!o->name || !*o->name)
        return "it names no kernel";
    if (!o->warp && !o->blocks)
        return "it has no entry";
    if ((o->flags & AW_HOST_BARRIER) && !o->warp)
        return "it has barriers but no entry per warp";
    if (o->warps_per_call < 1 || o->warps_per_call > 32)
        return "its number of warps per call makes no sense";
    if (o->static_shared > AW_HOST_SHARED_MAX)
        return "it wants more shared memory than there is";
    if (aw_host_context_class(o->stack_bytes) < 0)
        return "it wants more stack than there is";
    return NULL;
}

/* Of an object whose headers are plausible; nothing is found where it has several such parts, or the loader does not say where
 * it is. */
static void code_find(struct aw_host_loaded *o, const unsigned char *bytes)
{
    Elf64_Ehdr eh;
    unsigned n = 0;
    memcpy(&eh, bytes, sizeof eh);
    for (unsigned i = 0; i < eh.e_phnum && o->map; i++) {
        Elf64_Phdr ph;
        memcpy(&ph, bytes + eh.e_phoff + i * sizeof ph, sizeof ph);
        if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
            continue;
        o->code = o->map->l_addr + ph.p_vaddr;
        o->code_size = n++ ? 0 : ph.p_memsz;
    }
}

static bool is_in(const struct aw_host_loaded *object, const void *pc)
{
    return object && (uintptr_t)pc - object->code < object->code_size;
}

/* The object of the kernel that has this code: blocks of a launch may run that of another form.  NULL: neither. */
static const struct aw_host_loaded *object_of(const struct aw_host_kernel *kernel, const void *pc)
{
    const struct aw_host_function *by =
        kernel->function ? atomic_load_explicit(&kernel->function->by, memory_order_acquire) : NULL;
    return is_in(kernel->object, pc) ? kernel->object : by && is_in(by->object, pc) ? by->object : NULL;
}

bool aw_host_object_has(const struct aw_host_kernel *kernel, const void *pc)
{
    return object_of(kernel, pc);
}

/* ---- Samples of where kernels are. */

static pthread_mutex_t sampled_lock = PTHREAD_MUTEX_INITIALIZER;
static struct aw_host_loaded *sampled;

static void samples_tell(const struct aw_host_loaded *o)
{
    aw_host_sample_tell(&(struct aw_host_sampled){ o, o->code, o->code_size, o->map ? o->map->l_addr : 0, o->elf, o->elf_size,
                                                   o->function.code->name });
}

static void samples_tell_all(void)
{
    pthread_mutex_lock(&sampled_lock);
    for (const struct aw_host_loaded *o = sampled; o; o = o->next)
        samples_tell(o);
    pthread_mutex_unlock(&sampled_lock);
    aw_host_sample_end();
}

static void samples_begin(struct aw_host_loaded *o, const void *bytes, size_t size)
{
    static bool asked;
    o->elf = aw_trace_samples() ? malloc(size) : NULL;
    if (!o->elf)
        return;
    memcpy(o->elf, bytes, size);
    o->elf_size = size;
    aw_host_sample_start();
    pthread_mutex_lock(&sampled_lock);
    if (!asked)
        asked = atexit(samples_tell_all) == 0;
    o->next = sampled;
    sampled = o;
    pthread_mutex_unlock(&sampled_lock);
}

static void samples_end(struct aw_host_loaded *o)
{
    pthread_mutex_lock(&sampled_lock);
    for (struct aw_host_loaded **at = &sampled; *at; at = &(*at)->next)
        if (*at == o) {
            *at = o->next;
            break;
        }
    pthread_mutex_unlock(&sampled_lock);
    samples_tell(o);
    free(o->elf);
}

static void object_free(struct aw_host_loaded *object)
{
    if (object->elf)
        samples_end(object);
    aw_host_counting_end(object->function.counting);
    if (object->handle)
        dlclose(object->handle);
    if (object->file >= 0)
        close(object->file);
    free(object);
}

int aw_host_object_load(int dev, const void *bytes, size_t size, struct aw_object **ret_object)
{
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (!elf_plausible(bytes, size)) {
        aw_say(CODE_CUT, size);
        return AW_ERR_INVALID_IMAGE;
    }
    struct aw_host_loaded *object = calloc(1, sizeof *object);
    if (!object)
        return AW_ERR_OUT_OF_MEMORY;
    object->file = -1;
    object->handle = load_bytes(bytes, size, &object->file);
    if (!object->handle)
        goto fail;
    const struct aw_host_object *code = dlsym(object->handle, AW_HOST_OBJECT_SYMBOL);
    const char *complaint = object_complaint(code);
    if (complaint) {
        aw_say(CODE_UNFIT, complaint);
        goto fail;
    }
    if (!aw_host_counting_begin(object->handle, code->name, &object->function.counting)) {
        object_free(object);
        return AW_ERR_OUT_OF_MEMORY;
    }
    if (dlinfo(object->handle, RTLD_DI_LINKMAP, &object->map) != 0)
        object->map = NULL;
    code_find(object, bytes);
    object->function.code = code;
    object->function.object = object;
    object->function.stack_class = aw_host_context_class(code->stack_bytes);
    snprintf(object->function.name, sizeof object->function.name, "%s", code->name);
    samples_begin(object, bytes, size);
    *ret_object = (struct aw_object *)object;
    return AW_OK;
fail:
    object_free(object);
    return AW_ERR_INVALID_IMAGE;
}

int aw_host_object_unload(struct aw_object *object)
{
    struct aw_host_loaded *o = (struct aw_host_loaded *)object;
    if (!o)
        return AW_ERR_INVALID_HANDLE;
    int status = aw_host_wait_all(); /* its code may be running */
    if (status != AW_OK)
        return status;
    object_free(o);
    return AW_OK;
}

int aw_host_object_function(struct aw_object *object, const char *name, struct aw_function **ret_function)
{
    struct aw_host_loaded *o = (struct aw_host_loaded *)object;
    if (!o)
        return AW_ERR_INVALID_HANDLE;
    if (!name || strcmp(name, o->function.code->name) != 0)
        return AW_ERR_NOT_FOUND;
    *ret_function = (struct aw_function *)&o->function;
    return AW_OK;
}

int aw_host_object_locator(struct aw_object *object, aw_locate_fn *locate, void *user)
{
    struct aw_host_loaded *o = (struct aw_host_loaded *)object;
    if (!o)
        return AW_ERR_INVALID_HANDLE;
    o->locate = locate;
    o->locate_user = user;
    return AW_OK;
}

const char *aw_host_locate(const struct aw_host_kernel *kernel, const void *pc, char *ret_text, size_t size)
{
    const struct aw_host_loaded *o = object_of(kernel, pc);
    struct link_map *map = NULL;
    Dl_info info;
    char place[768];
    if (!o || !o->locate || !o->map || !dladdr1(pc, &info, (void **)&map, RTLD_DL_LINKMAP) || map != o->map ||
        !o->locate(o->locate_user, (const void *)o->map->l_addr, (uintptr_t)pc - o->map->l_addr, place, sizeof place))
        return "";
    snprintf(ret_text, size, ", at %s", place);
    return ret_text;
}

/* ---- questions ---- */

static uint32_t max_threads(const struct aw_host_object *code)
{
    uint64_t shape = (uint64_t)code->block[0] * code->block[1] * code->block[2];
    return shape && shape <= AW_HOST_MAX_THREADS ? (uint32_t)shape : AW_HOST_MAX_THREADS;
}

int aw_host_kernel_attr(uint32_t static_shared, enum aw_function_attr attr, int *ret_value)
{
    switch (attr) {
    case AW_FN_MAX_THREADS:
        *ret_value = AW_HOST_MAX_THREADS;
        return AW_OK;
    case AW_FN_SHARED_BYTES:
        *ret_value = (int)static_shared;
        return AW_OK;
    case AW_FN_CONST_BYTES:
        *ret_value = 0;
        return AW_OK;
    case AW_FN_REGS: /* no such limit here; a number that never bounds occupancy */
        *ret_value = 32;
        return AW_OK;
    default:
        return AW_ERR_INVALID_VALUE;
    }
}

int aw_host_function_attr(struct aw_function *function, enum aw_function_attr attr, int *ret_value)
{
    struct aw_host_function *f = (struct aw_host_function *)function;
    if (!f)
        return AW_ERR_INVALID_DEVFUNC;
    switch (attr) {
    case AW_FN_MAX_THREADS:
        *ret_value = (int)max_threads(f->code);
        return AW_OK;
    case AW_FN_LOCAL_BYTES:
        *ret_value = (int)f->code->local_bytes;
        return AW_OK;
    default:
        return aw_host_kernel_attr(f->code->static_shared, attr, ret_value);
    }
}

/* Static and dynamic together, with dynamic memory's alignment. */
static size_t shared_total(uint32_t static_shared, size_t dynamic)
{
    return dynamic ? (((size_t)static_shared + 15) & ~(size_t)15) + dynamic : static_shared;
}

int aw_host_function_set_shared(struct aw_function *function, size_t dynamic_shared)
{
    struct aw_host_function *f = (struct aw_host_function *)function;
    if (!f)
        return AW_ERR_INVALID_DEVFUNC;
    if (dynamic_shared > AW_HOST_SHARED_MAX || shared_total(f->code->static_shared, dynamic_shared) > AW_HOST_SHARED_MAX)
        return AW_ERR_INVALID_VALUE;
    atomic_store(&f->max_dynamic, (uint32_t)dynamic_shared);
    return AW_OK;
}

static int blocks_per_sm(uint32_t static_shared, uint32_t most, uint32_t threads, size_t dynamic)
{
    uint32_t warps = (threads + 31) / 32;
    size_t shared = dynamic > AW_HOST_SHARED_MAX ? dynamic : shared_total(static_shared, dynamic);
    if (threads == 0 || threads > most || shared > AW_HOST_SHARED_MAX)
        return 0;
    uint32_t blocks = AW_HOST_SM_THREADS / 32 / warps;
    size_t by_shared = AW_HOST_SHARED_SM / (shared + AW_HOST_SHARED_RESERVED);
    if (blocks > AW_HOST_SM_BLOCKS)
        blocks = AW_HOST_SM_BLOCKS;
    return (int)(blocks < by_shared ? blocks : by_shared);
}

int aw_host_kernel_occupancy(uint32_t static_shared, int block_threads, size_t dynamic_shared, int *ret_blocks)
{
    if (block_threads <= 0)
        return AW_ERR_INVALID_VALUE;
    *ret_blocks = blocks_per_sm(static_shared, AW_HOST_MAX_THREADS, (uint32_t)block_threads, dynamic_shared);
    return AW_OK;
}

int aw_host_occupancy(struct aw_function *function, int block_threads, size_t dynamic_shared, int *ret_blocks)
{
    struct aw_host_function *f = (struct aw_host_function *)function;
    if (!f)
        return AW_ERR_INVALID_DEVFUNC;
    if (block_threads <= 0)
        return AW_ERR_INVALID_VALUE;
    *ret_blocks = blocks_per_sm(f->code->static_shared, max_threads(f->code), (uint32_t)block_threads, dynamic_shared);
    return AW_OK;
}

/* ---- launch ---- */

static int launch_check(struct aw_host_function *f, const struct aw_launch *l)
{
    const struct aw_host_object *code = f->code;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    if (!l->grid[0] || !l->grid[1] || !l->grid[2] || l->grid[0] > INT32_MAX || l->grid[1] > 65535 || l->grid[2] > 65535)
        return AW_ERR_INVALID_CONFIG;
    if (!threads || l->block[0] > 1024 || l->block[1] > 1024 || l->block[2] > 64 || threads > AW_HOST_MAX_THREADS)
        return AW_ERR_INVALID_CONFIG;
    if (code->block[1] ? memcmp(code->block, l->block, sizeof code->block) != 0 : code->block[0] && l->block[0] % code->block[0])
        return AW_ERR_INVALID_CONFIG;
    uint32_t allowed = atomic_load_explicit(&f->max_dynamic, memory_order_relaxed);
    uint32_t standard = code->static_shared < AW_HOST_SHARED_DEFAULT ? AW_HOST_SHARED_DEFAULT - code->static_shared : 0;
    if (l->shared_bytes > (allowed > standard ? allowed : standard) ||
        shared_total(code->static_shared, l->shared_bytes) > AW_HOST_SHARED_MAX)
        return AW_ERR_INVALID_VALUE;
    if (l->kernarg_size < code->kernarg_size || (l->kernarg_size && !l->kernarg))
        return AW_ERR_INVALID_VALUE;
    if (l->cooperative) {
        uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
        uint64_t room = (uint64_t)blocks_per_sm(code->static_shared, max_threads(code), (uint32_t)threads, l->shared_bytes) *
                        aw_host.n_workers;
        if (blocks > room)
            return AW_ERR_COOPERATIVE_TOO_LARGE;
    }
    return AW_OK;
}

static int kernarg_copy(struct aw_host_op *op, const void *kernarg, size_t size)
{
    char *to = aw_host_op_buffer(op, size);
    if (!to)
        return AW_ERR_OUT_OF_MEMORY;
    if (size)
        memcpy(to, kernarg, size);
    op->kernel.launch.kernarg = to;
    return AW_OK;
}

/* Kernels whose warps must progress alone get a context per warp. */
static bool has_contexts(const struct aw_host_object *code, bool cooperative)
{
    return !code->blocks || (code->warp && (cooperative || (code->flags & (AW_HOST_BARRIER | AW_HOST_YIELD))));
}

struct aw_host_code aw_host_kernel_code(const struct aw_host_kernel *k)
{
    const struct aw_host_function *by = k->function ? atomic_load_explicit(&k->function->by, memory_order_acquire) : NULL;
    if (!by)
        return (struct aw_host_code){ k->code, k->warps, k->stack_class };
    return (struct aw_host_code){ by->code, has_contexts(by->code, k->cooperative), (unsigned)by->stack_class };
}

void aw_host_function_replace(struct aw_function *function, struct aw_function *by)
{
    struct aw_host_function *f = (struct aw_host_function *)function, *other = (struct aw_host_function *)by;
    if (f->code->static_shared == other->code->static_shared && f->code->kernarg_size == other->code->kernarg_size)
        atomic_store_explicit(&f->by, other, memory_order_release);
}

static void kernel_fill(struct aw_host_op *op, struct aw_host_function *f, const struct aw_launch *l)
{
    struct aw_host_kernel *k = &op->kernel;
    struct aw_host_launch *to = &k->launch;
    memcpy(to->grid, l->grid, sizeof to->grid);
    memcpy(to->block, l->block, sizeof to->block);
    to->threads = l->block[0] * l->block[1] * l->block[2];
    to->warps = (to->threads + 31) / 32;
    to->dynamic_shared = l->shared_bytes;
    to->total_shared = (uint32_t)shared_total(f->code->static_shared, l->shared_bytes);
    to->grid_id = ++aw_host.grid_id;
    k->counting = f->counting;
    to->services = f->counting ? aw_host_counting_services() : &aw_host_services;
    to->runtime = op;
    to->group = aw_host.group;
    k->code = f->code;
    k->object = f->object;
    k->name = l->name ? l->name : f->name;
    k->cooperative = l->cooperative;
    k->grid_workspace[0] = sizeof k->grid_workspace;
    k->grid_workspace[1] = 0;
    to->grid_workspace = l->cooperative ? (uintptr_t)k->grid_workspace : 0;
    k->function = f;
    k->warps = has_contexts(f->code, l->cooperative);
    k->stack_class = (unsigned)f->stack_class;
    k->pace = &f->pace;
    op->total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    /* Blocks that may wait for others come one at a time, so that they are spread over the workers. */
    op->ordered = l->cooperative || (f->code->flags & AW_HOST_YIELD);
    op->piece = op->ordered ? 1 : 1024;
    op->meets = op->ordered && (f->code->flags & AW_HOST_MEET);
    atomic_store_explicit(&op->came, 0, memory_order_relaxed);
}

int aw_host_launch(int dev, struct aw_function *function, const struct aw_launch *l, struct aw_stream *stream)
{
    struct aw_host_function *f = (struct aw_host_function *)function;
    struct aw_host_op *op;
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (!f || !l)
        return AW_ERR_INVALID_VALUE;
    if (aw_host_fault())
        return aw_host_fault();
    int status = launch_check(f, l);
    if (status != AW_OK)
        return status;
    aw_host_print_flush(); /* as CUDA does at a launch */
    aw_host_lock();
    status = aw_host_op_create(AW_HOST_OP_KERNEL, &op);
    if (status != AW_OK)
        goto out;
    status = kernarg_copy(op, l->kernarg, l->kernarg_size);
    if (status == AW_OK) {
        kernel_fill(op, f, l);
        op->owner = l->owner;
        status = aw_host_pool_launch(aw_host_stream_of(dev, stream), op);
    } else {
        aw_host_op_discard(op);
    }
out:
    aw_host_unlock();
    return status;
}
