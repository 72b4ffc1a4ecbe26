/* Modules, kernels and launches of the simulated HIP. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <hsa/hsa.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../object.h"
#include "hip.h"
#include "api.h"

/* Each kernel's code is loaded by itself, at an address of its own that is never used again. */
#define CODE_BASE 0x100000000000ull
#define CODE_STEP (1ull << 30)

enum { MAX_KERNARG = 64 << 10, USES_DYNAMIC_STACK = 1 << 11, DESCRIPTOR_PROPERTIES = 56 };
enum { LAUNCH_BUFFER = 1, LAUNCH_SIZE = 2, LAUNCH_END = 3 };
enum { FN_THREADS, FN_SHARED, FN_CONST, FN_LOCAL, FN_REGISTERS };

struct function {
    struct function *next;
    struct object object;
    bool dynamic_stack;
    const struct sim_card *card;
    char name[512];
};

struct module {
    size_t size;
    struct function *functions;
    pthread_mutex_t lock;
    unsigned char bytes[];
};

/* What a launch reads besides code and memory, at the same address on host and cards.  One launch at a time. */
struct mailbox {
    hsa_kernel_dispatch_packet_t packet;
    _Alignas(64) uint8_t kernarg[MAX_KERNARG];
};

static pthread_mutex_t launch_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mailbox *mailbox;

/* ---- Modules */

/* The length of an ELF file: its section headers come last. */
static size_t file_size(const void *image)
{
    const Elf64_Ehdr *e = image;
    if (memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_machine != EM_AMDGPU)
        return 0;
    return e->e_shoff + (size_t)e->e_shnum * e->e_shentsize;
}

/* Is it code for the current card?  e_flags' low byte. */
static bool is_ours(const void *image)
{
    static const struct {
        const char *card;
        uint8_t mach;
    } machs[] = { { "gfx900", 0x2c },  { "gfx906", 0x2f },  { "gfx90a", 0x3f }, { "gfx942", 0x4c },
                  { "gfx1030", 0x36 }, { "gfx1100", 0x41 }, { "gfx1201", 0x4e } };
    const Elf64_Ehdr *e = image;
    for (size_t k = 0; k < sizeof machs / sizeof *machs; k++)
        if (strcmp(machs[k].card, hip_card()->name) == 0)
            return (e->e_flags & 0xff) == machs[k].mach;
    return false;
}

int hipModuleLoadData(void **module, const void *image)
{
    size_t size = file_size(image);
    if (!size)
        return hip_result(HIP_INVALID_IMAGE);
    if (!is_ours(image))
        return hip_result(HIP_NO_BINARY);
    struct module *m = calloc(1, sizeof *m + size);
    if (!m)
        return hip_result(HIP_OUT_OF_MEMORY);
    m->size = size;
    memcpy(m->bytes, image, size);
    pthread_mutex_init(&m->lock, NULL);
    *module = m;
    return hip_result(HIP_SUCCESS);
}

int hipModuleUnload(void *module)
{
    struct module *m = module;
    while (m->functions) {
        struct function *f = m->functions;
        m->functions = f->next;
        sim_map_remove(f->object.base);
        object_fini(&f->object);
        free(f);
    }
    pthread_mutex_destroy(&m->lock);
    free(m);
    return hip_result(HIP_SUCCESS);
}

static struct function *function_new(const struct module *m, const char *name)
{
    static _Atomic uint64_t next_base = CODE_BASE;
    struct function *f = calloc(1, sizeof *f);
    char problem[200];
    uint16_t properties;
    if (!f)
        return NULL;
    if (strlen(name) >= sizeof f->name || !object_load_bytes(&f->object, m->bytes, m->size, name,
                                                             atomic_fetch_add(&next_base, CODE_STEP), problem, sizeof problem)) {
        free(f);
        return NULL;
    }
    if (!sim_map_add(f->object.base, f->object.image, f->object.size, HIP_ALL_NODES)) {
        object_fini(&f->object);
        free(f);
        return NULL;
    }
    memcpy(&properties, f->object.image + (f->object.descriptor - f->object.base) + DESCRIPTOR_PROPERTIES, sizeof properties);
    f->dynamic_stack = properties & USES_DYNAMIC_STACK;
    f->card = hip_card();
    strcpy(f->name, name);
    return f;
}

int hipModuleGetFunction(void **function, void *module, const char *name)
{
    struct module *m = module;
    pthread_mutex_lock(&m->lock);
    struct function *f = m->functions;
    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    if (!f && (f = function_new(m, name))) {
        f->next = m->functions;
        m->functions = f;
    }
    pthread_mutex_unlock(&m->lock);
    *function = f;
    return hip_result(f ? HIP_SUCCESS : HIP_NOT_FOUND);
}

/* ---- Launches */

static uint32_t private_bytes(const struct function *f)
{
    size_t limit = hip_stack_limit();
    return f->dynamic_stack && limit > f->object.private_bytes ? (uint32_t)limit : f->object.private_bytes;
}

static bool dispatch_of(const struct function *f, const struct object_launch *l, struct sim_dispatch *ret)
{
    *ret = (struct sim_dispatch){ .card = f->card, .node = hip_node(hip_current()), .descriptor = f->object.descriptor,
                                  .private_bytes = private_bytes(f), .group_bytes = f->object.lds_bytes + l->lds,
                                  .kernarg = (uintptr_t)mailbox->kernarg, .packet = (uintptr_t)&mailbox->packet, .name = f->name,
                                  .object = f->object.file, .object_size = f->object.file_size, .object_base = f->object.base };
    for (int i = 0; i < 3; i++) {
        uint64_t items = (uint64_t)l->grid[i] * l->block[i];
        if (!items || items > UINT32_MAX || l->block[i] > 1024)
            return false;
        ret->grid[i] = (uint32_t)items;
        ret->group[i] = (uint16_t)l->block[i];
    }
    return true;
}

static void write_packet(const struct sim_dispatch *d)
{
    mailbox->packet = (hsa_kernel_dispatch_packet_t){
        .header = HSA_PACKET_TYPE_KERNEL_DISPATCH, .setup = 3, .workgroup_size_x = d->group[0], .workgroup_size_y = d->group[1],
        .workgroup_size_z = d->group[2], .grid_size_x = d->grid[0], .grid_size_y = d->grid[1], .grid_size_z = d->grid[2],
        .private_segment_size = d->private_bytes, .group_segment_size = d->group_bytes, .kernel_object = d->descriptor,
        .kernarg_address = mailbox->kernarg,
    };
}

static int error_of(enum sim_end end)
{
    switch (end) {
    case SIM_END_DONE:
        return HIP_SUCCESS;
    case SIM_END_FAULT:
        return HIP_ILLEGAL_ADDRESS;
    case SIM_END_ILLEGAL:
        return HIP_ILLEGAL_INSTRUCTION;
    case SIM_END_BAD_PACKET:
        return HIP_INVALID_CONFIGURATION;
    default:
        return HIP_LAUNCH_FAILURE;
    }
}

/* With the lock held: the arguments are in the mailbox. */
static int run(const struct function *f, const struct object_launch *l)
{
    struct sim_dispatch d;
    struct sim_report report;
    if (!dispatch_of(f, l, &d))
        return HIP_INVALID_CONFIGURATION;
    object_fill_hidden(&f->object, l, mailbox->kernarg, MAX_KERNARG);
    write_packet(&d);
    enum sim_end end = sim_dispatch_run(&d, NULL, &report);
    if (end == SIM_END_DONE)
        return HIP_SUCCESS;
    sim_say("%s", report.text);
    if (end != SIM_END_BAD_PACKET)
        hip_set_fault(error_of(end));
    return end == SIM_END_BAD_PACKET ? HIP_INVALID_CONFIGURATION : HIP_SUCCESS; /* a kernel's end is no error of its launch */
}

static int launch(const struct function *f, const struct object_launch *l, const void *arguments, size_t size)
{
    int error = HIP_OUT_OF_MEMORY;
    if (hip_fault())
        return hip_result(hip_fault());
    if (size > MAX_KERNARG)
        return hip_result(HIP_INVALID_VALUE);
    pthread_mutex_lock(&launch_lock);
    if (!mailbox)
        mailbox = hip_memory_new(sizeof *mailbox);
    if (mailbox) {
        memset(mailbox->kernarg, 0, MAX_KERNARG);
        memcpy(mailbox->kernarg, arguments, size);
        error = run(f, l);
    }
    pthread_mutex_unlock(&launch_lock);
    if (error)
        return hip_result(error);
    return HIP_SUCCESS;
}

int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                          unsigned block_z, unsigned shared_bytes, void *stream, void **params, void **extra)
{
    const void *arguments = NULL;
    size_t size = 0;
    (void)stream;
    if (params || !extra)
        return hip_result(HIP_NOT_SUPPORTED);
    for (; (uintptr_t)*extra != LAUNCH_END; extra += 2) {
        if ((uintptr_t)extra[0] == LAUNCH_BUFFER)
            arguments = extra[1];
        else if ((uintptr_t)extra[0] == LAUNCH_SIZE)
            size = *(const size_t *)extra[1];
        else
            return hip_result(HIP_INVALID_VALUE);
    }
    struct object_launch l = { { grid_x, grid_y, grid_z }, { block_x, block_y, block_z }, shared_bytes };
    return launch(function, &l, arguments, size);
}

/* The parameters' sizes and places are in the object's metadata. */
int hipModuleLaunchCooperativeKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                     unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **params)
{
    const struct function *f = function;
    struct object_launch l = { { grid_x, grid_y, grid_z }, { block_x, block_y, block_z }, shared_bytes };
    uint8_t *packed = calloc(1, MAX_KERNARG);
    size_t size = 0;
    (void)stream;
    if (!packed)
        return hip_result(HIP_OUT_OF_MEMORY);
    for (unsigned i = 0; i < f->object.n_args; i++) {
        const struct object_arg *a = &f->object.args[i];
        if (strncmp(a->kind, "hidden_", 7) == 0 || (size_t)a->offset + a->size > MAX_KERNARG)
            continue;
        memcpy(packed + a->offset, *params++, a->size);
        size = a->offset + a->size > size ? a->offset + a->size : size;
    }
    int error = launch(f, &l, packed, size);
    free(packed);
    return error;
}

/* ---- What a kernel takes */

static bool shape_of(const struct function *f, unsigned threads, size_t dynamic, struct sim_shape *ret)
{
    struct object_launch l = { { 1, 1, 1 }, { threads, 1, 1 }, (uint32_t)dynamic };
    struct sim_dispatch d;
    struct sim_report report;
    pthread_mutex_lock(&launch_lock);
    if (!mailbox)
        mailbox = hip_memory_new(sizeof *mailbox);
    bool ok = mailbox && dynamic <= UINT32_MAX / 2 && dispatch_of(f, &l, &d) && sim_dispatch_shape(&d, ret, &report);
    pthread_mutex_unlock(&launch_lock);
    return ok;
}

int hipFuncGetAttribute(int *value, int attr, void *function)
{
    const struct function *f = function;
    struct sim_shape shape;
    if (!shape_of(f, 1, 0, &shape))
        return hip_result(HIP_INVALID_VALUE);
    *value = attr == FN_THREADS     ? 1024
             : attr == FN_SHARED    ? (int)f->object.lds_bytes
             : attr == FN_LOCAL     ? (int)f->object.private_bytes
             : attr == FN_REGISTERS ? (int)shape.vgprs
                                    : 0;
    return hip_result(HIP_SUCCESS);
}

int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t dynamic_shared)
{
    const struct function *f = function;
    struct sim_shape shape;
    if (f->object.lds_bytes + dynamic_shared > f->card->lds_bytes)
        return *blocks = 0, hip_result(HIP_SUCCESS);
    if (threads <= 0 || !shape_of(f, (unsigned)threads, dynamic_shared, &shape))
        return hip_result(HIP_INVALID_VALUE);
    *blocks = (int)(shape.resident / f->card->cus);
    return hip_result(HIP_SUCCESS);
}
