/* Faults of a card.  AMD's runtime ends the process when a kernel touches memory that is not there or runs into an illegal
 * instruction; CUDA gives an error that sticks to the device, and so do we:
 *
 *   page faults    ROCr asks the handlers that hsa_amd_register_system_event_handler was given, and aborts only when none of them
 *                  says that it took care;
 *   queue errors   (illegal instruction, aperture violation, a packet that is none) HIP hands ROCr a callback for each queue that
 *                  aborts; libamdhip64's own import of hsa_queue_create is pointed to a function here that passes ours instead.
 *
 * In both cases the work on the queue never completes.  The device is then "dead": it takes no more work (USE), what is freed
 * is left to the end of the process, and the process leaves by _exit, once its own exit handlers have run, because HIP's
 * teardown would wait. A reset does not bring such a device back.
 *
 * A thread may be inside a call of HIP's that waits when that happens: for a copy of pageable memory, or for room in a full
 * queue. So the imports through which HIP waits are taken over as well: on a dead device they say that what is waited for has
 * come. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/quirk.h"
#include "provider/hip/internal.h"

/* ROCr's interface, as far as needed; the same since ROCm 2. */
enum { HSA_OK = 0, HSA_INFO_BREAK = 1, HSA_APERTURE_VIOLATION = 0x29, HSA_ILLEGAL_INSTRUCTION = 0x2a, HSA_MEMORY_FAULT = 0x2b };
enum { HSA_EVENT_MEMORY_FAULT = 0 };
enum { HSA_AGENT_BDF = 0xA006, HSA_AGENT_DOMAIN = 0xA00F };

struct hsa_event {
    int32_t type;
    union {
        struct {
            uint64_t agent, address;
            uint32_t reason;
        } fault;
    };
};

/* hsa_signal_condition_t */
enum { HSA_EQ, HSA_NE, HSA_LT, HSA_GTE };

typedef void hsa_queue_callback(int status, void *queue, void *data);
typedef int hsa_queue_create_fn(uint64_t agent, uint32_t size, int type, hsa_queue_callback *callback, void *data,
                                uint32_t private_bytes, uint32_t group_bytes, void **queue);

static struct {
    int (*register_handler)(int (*fn)(const struct hsa_event *event, void *data), void *data);
    int (*agent_info)(uint64_t agent, int what, void *ret);
    int (*status_string)(int status, const char **ret_text);
    hsa_queue_create_fn *queue_create;
    int64_t (*wait_scacquire)(uint64_t signal, int condition, int64_t value, uint64_t timeout, int state);
    int64_t (*wait_relaxed)(uint64_t signal, int condition, int64_t value, uint64_t timeout, int state);
    int64_t (*load_scacquire)(uint64_t signal);
    int64_t (*load_relaxed)(uint64_t signal);
    uint64_t (*read_scacquire)(const void *queue);
    uint64_t (*read_relaxed)(const void *queue);
    uint64_t (*write_relaxed)(const void *queue);
} hsa;

/* ---- Which device, which kernels */

/* The device of a ROCr agent: the one at the same place on the bus.  0 when that is not to be found out. */
static int device_of(uint64_t agent)
{
    uint32_t bdf = 0, domain = 0;
    if (aw_hip.count < 2 || !hsa.agent_info || hsa.agent_info(agent, HSA_AGENT_BDF, &bdf) != HSA_OK)
        return 0;
    if (hsa.agent_info(agent, HSA_AGENT_DOMAIN, &domain) != HSA_OK)
        domain = 0;
    for (int i = 0; i < aw_hip.count; i++) {
        const int *place = aw_hip.dev[i].place;
        if ((uint32_t)place[0] == domain && (uint32_t)place[1] == (bdf >> 8 & 0xff) && (uint32_t)place[2] == (bdf >> 3 & 0x1f))
            return i;
    }
    return 0;
}

static void names_add(const struct aw_hip_stream *stream, char *text, size_t size)
{
    uint32_t n = atomic_load_explicit(&stream->n_names, memory_order_acquire);
    for (uint32_t i = n > AW_HIP_LAUNCHES ? n - AW_HIP_LAUNCHES : 0; i < n; i++) {
        const char *name = atomic_load_explicit(&stream->names[i % AW_HIP_LAUNCHES], memory_order_relaxed);
        size_t used = strlen(text);
        const char *seen = name ? strstr(text, name) : NULL;
        if (!name || (seen && (seen[strlen(name)] == ',' || !seen[strlen(name)])))
            continue;
        snprintf(text + used, size - used, "%s%s", used ? ", " : "", name);
    }
}

void aw_hip_kernels_in_flight(int dev, char *ret_text, size_t size)
{
    struct aw_hip_device *d = &aw_hip.dev[dev];
    ret_text[0] = '\0';
    /* The lock's holder may be inside a call of HIP's that a fault holds up; names are not worth waiting for ever. */
    for (int i = 0; pthread_mutex_trylock(&d->lock) != 0; i++) {
        if (i == 100) {
            snprintf(ret_text, size, "not known");
            return;
        }
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    names_add(&d->null_stream, ret_text, size);
    for (const struct aw_hip_stream *s = d->streams; s; s = s->next)
        names_add(s, ret_text, size);
    pthread_mutex_unlock(&d->lock);
    if (!*ret_text)
        snprintf(ret_text, size, "none known");
}

void aw_hip_stuck(int dev, int status, const char *what)
{
    char kernels[1024];
    struct aw_hip_device *d = &aw_hip.dev[dev];
    if (atomic_exchange(&d->told, true))
        return; /* of many lanes and queues one line is enough */
    aw_hip_kernels_in_flight(dev, kernels, sizeof kernels);
    aw_say(CARD_FAULT, dev, d->name, what, kernels);
    aw_hip_fault_set(dev, status);
    atomic_store(&d->dead, true); /* last: who waits returns now, and finds the line in the log */
}

/* ---- What ROCr tells, on a thread of its own */

static int on_system_event(const struct hsa_event *event, void *data)
{
    char what[160];
    (void)data;
    if (event->type != HSA_EVENT_MEMORY_FAULT) {
        aw_hip_stuck(0, AW_ERR_LAUNCH_FAILED, "the card reports a hardware exception");
        return HSA_OK;
    }
    uint32_t reason = event->fault.reason;
    snprintf(what, sizeof what, "%s at address 0x%llx",
             reason & 2     ? "write to read-only memory"
             : reason & 4   ? "execution of memory that holds no code"
             : reason & 8   ? "access to memory of the host only"
             : reason & 0x50 ? "memory error (ECC)"
                            : "access to memory that is not there",
             (unsigned long long)event->fault.address);
    aw_hip_stuck(device_of(event->fault.agent), reason & 0x50 ? AW_ERR_LAUNCH_FAILED : AW_ERR_ILLEGAL_ADDRESS, what);
    return HSA_OK;
}

static void on_queue_error(int status, void *queue, void *data)
{
    const char *text = NULL;
    char what[200];
    (void)queue;
    if (status == HSA_OK || status == HSA_INFO_BREAK)
        return;
    if (!hsa.status_string || hsa.status_string(status, &text) != HSA_OK || !text)
        text = "unknown error";
    size_t len = strcspn(text, "\n");
    len -= len && text[len - 1] == '.'; /* the line goes on */
    snprintf(what, sizeof what, "queue error 0x%x: %.*s", (unsigned)status, (int)len, text);
    aw_hip_stuck(device_of((uint64_t)(uintptr_t)data),
                 status == HSA_APERTURE_VIOLATION || status == HSA_MEMORY_FAULT ? AW_ERR_ILLEGAL_ADDRESS
                 : status == HSA_ILLEGAL_INSTRUCTION                           ? AW_ERR_ILLEGAL_INSTRUCTION
                                                                               : AW_ERR_LAUNCH_FAILED,
                 what);
}

/* In place of ROCr's function for libamdhip64 only; its own callback does nothing but abort. */
static int queue_create(uint64_t agent, uint32_t size, int type, hsa_queue_callback *callback, void *data,
                        uint32_t private_bytes, uint32_t group_bytes, void **queue)
{
    (void)callback;
    (void)data;
    return hsa.queue_create(agent, size, type, on_queue_error, (void *)(uintptr_t)agent, private_bytes, group_bytes, queue);
}

/* ---- Waiting inside HIP */

/* Whether what this thread waits for in HIP will never come: its device is dead, or it is a thread of HIP's own and all are. */
static bool hopeless(void)
{
    int dev = aw_hip_current;
    if (dev >= 0)
        return aw_hip_dead(dev);
    for (int i = 0; i < aw_hip.count; i++)
        if (!aw_hip_dead(i))
            return false;
    return aw_hip.count > 0;
}

static bool condition_holds(int condition, int64_t a, int64_t b)
{
    return condition == HSA_EQ ? a == b : condition == HSA_NE ? a != b : condition == HSA_LT ? a < b : a >= b;
}

/* In slices, so that a fault is seen.  Ticks of ROCr's clock: 20 ms at 1 GHz, 200 ms at 100 MHz. */
static int64_t signal_wait(int64_t (*real)(uint64_t, int, int64_t, uint64_t, int), uint64_t signal, int condition, int64_t value,
                           uint64_t timeout, int state)
{
    enum { SLICE = 20000000 };
    for (;;) {
        uint64_t part = timeout < SLICE ? timeout : SLICE;
        int64_t now = real(signal, condition, value, part, state);
        if (condition_holds(condition, now, value))
            return now;
        if (hopeless())
            return condition == HSA_NE ? value + 1 : condition == HSA_LT ? value - 1 : value;
        if (timeout != UINT64_MAX && (timeout -= part) == 0)
            return now;
    }
}

static int64_t wait_scacquire(uint64_t signal, int condition, int64_t value, uint64_t timeout, int state)
{
    return signal_wait(hsa.wait_scacquire, signal, condition, value, timeout, state);
}

static int64_t wait_relaxed(uint64_t signal, int condition, int64_t value, uint64_t timeout, int state)
{
    return signal_wait(hsa.wait_relaxed, signal, condition, value, timeout, state);
}

/* HIP's signals count down to 0, which is when the work has ended. */
static int64_t load_scacquire(uint64_t signal)
{
    int64_t now = hsa.load_scacquire(signal);
    return now > 0 && hopeless() ? 0 : now;
}

static int64_t load_relaxed(uint64_t signal)
{
    int64_t now = hsa.load_relaxed(signal);
    return now > 0 && hopeless() ? 0 : now;
}

/* The head of ROCr's hsa_queue_t. */
struct hsa_queue {
    int32_t type;
    uint32_t features;
    void *base;
    uint64_t doorbell;
    uint32_t size; /* packets */
};

/* The packet that will be read next: on a dead device such that half of the queue has room. */
static uint64_t queue_read(uint64_t read, const void *queue)
{
    const struct hsa_queue *q = queue;
    if (!hopeless())
        return read;
    uint64_t write = hsa.write_relaxed(queue);
    return write - read > q->size / 2 ? write - q->size / 2 : read;
}

static uint64_t read_scacquire(const void *queue)
{
    return queue_read(hsa.read_scacquire(queue), queue);
}

static uint64_t read_relaxed(const void *queue)
{
    return queue_read(hsa.read_relaxed(queue), queue);
}

/* ---- Taking imports over */

/* Stores `value` in a slot that the loader may have made read-only. */
static bool slot_write(void **slot, void *value)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)slot & -page;
    Dl_info info;
    if (!dladdr(slot, &info))
        return false;
    if (mprotect((void *)at, page, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    return true; /* left writable: whether it was read-only before is not to be seen from here */
}

static bool import_replace(const struct link_map *map, const char *name, void *value)
{
    const ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;
    const ElfW(Rela) *tables[2] = { NULL, NULL };
    size_t sizes[2] = { 0, 0 };
    bool done = false;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        switch (d->d_tag) {
        case DT_SYMTAB: symbols = (const void *)d->d_un.d_ptr; break;
        case DT_STRTAB: strings = (const void *)d->d_un.d_ptr; break;
        case DT_RELA: tables[0] = (const void *)d->d_un.d_ptr; break;
        case DT_RELASZ: sizes[0] = d->d_un.d_val; break;
        case DT_JMPREL: tables[1] = (const void *)d->d_un.d_ptr; break;
        case DT_PLTRELSZ: sizes[1] = d->d_un.d_val; break;
        default: break;
        }
    }
    if (!symbols || !strings)
        return false;
    for (int t = 0; t < 2; t++) {
        for (size_t i = 0; tables[t] && i < sizes[t] / sizeof(ElfW(Rela)); i++) {
            const ElfW(Rela) *r = &tables[t][i];
            unsigned type = (unsigned)ELF64_R_TYPE(r->r_info);
            if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
                continue;
            if (strcmp(strings + symbols[ELF64_R_SYM(r->r_info)].st_name, name) == 0)
                done |= slot_write((void **)(map->l_addr + r->r_offset), value);
        }
    }
    return done;
}

/* Finds ROCr's function for `real` (a pointer to function) and points HIP's import of it to `ours`. */
static bool take(void *rocr, const struct link_map *map, const char *name, void *real, void (*ours)(void))
{
    void *address = dlsym(rocr, name);
    if (!address)
        return false;
    memcpy(real, &address, sizeof address);
    return import_replace(map, name, (void *)(uintptr_t)ours);
}

static void waits_take(void *rocr, const struct link_map *map)
{
    void *write = dlsym(rocr, "hsa_queue_load_write_index_relaxed");
    memcpy(&hsa.write_relaxed, &write, sizeof write);
    /* A version of HIP that lacks one of these imports does not wait through it. */
    take(rocr, map, "hsa_signal_wait_scacquire", &hsa.wait_scacquire, (void (*)(void))wait_scacquire);
    take(rocr, map, "hsa_signal_wait_relaxed", &hsa.wait_relaxed, (void (*)(void))wait_relaxed);
    take(rocr, map, "hsa_signal_load_scacquire", &hsa.load_scacquire, (void (*)(void))load_scacquire);
    take(rocr, map, "hsa_signal_load_relaxed", &hsa.load_relaxed, (void (*)(void))load_relaxed);
    if (write) {
        take(rocr, map, "hsa_queue_load_read_index_scacquire", &hsa.read_scacquire, (void (*)(void))read_scacquire);
        take(rocr, map, "hsa_queue_load_read_index_relaxed", &hsa.read_relaxed, (void (*)(void))read_relaxed);
    }
}

/* Once per process: what is taken over stays so. */
void aw_hip_faults_early(void *library)
{
    static bool done;
    struct link_map *map = NULL;
    if (done)
        return;
    done = true;
    if (!aw_quirk_on(AW_QUIRK_ROCR_FAULTS))
        return;
    void *rocr = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!rocr || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) {
        aw_say(NO_ROCR);
        return;
    }
    hsa.register_handler = (int (*)(int (*)(const struct hsa_event *, void *), void *))dlsym(
        rocr, "hsa_amd_register_system_event_handler");
    hsa.agent_info = (int (*)(uint64_t, int, void *))dlsym(rocr, "hsa_agent_get_info");
    hsa.status_string = (int (*)(int, const char **))dlsym(rocr, "hsa_status_string");
    if (!take(rocr, map, "hsa_queue_create", &hsa.queue_create, (void (*)(void))queue_create))
        aw_say(NO_QUEUE_CALLBACK);
    waits_take(rocr, map);
}

/* ---- The end of the process */

/* Registered after HIP has registered its own handlers, so it runs before them, and after those that the program adds later.
 * Those from before HIP was opened, the program's own fat binaries' among them, run when HIP is gone: they get
 * AW_ERR_DEINITIALIZED. */
static void on_process_exit(int status, void *data)
{
    (void)data;
    for (int i = 0; i < aw_hip.count; i++) {
        if (aw_hip_dead(i)) {
            fflush(NULL);
            _exit(status);
        }
    }
    aw_hip.closed = true;
    aw_hip.opened = false;
}

void aw_hip_faults_init(void)
{
    enum { PCI_BUS = 67, PCI_DEVICE = 68, PCI_DOMAIN = 69 };
    static const int attrs[3] = { PCI_DOMAIN, PCI_BUS, PCI_DEVICE };
    static bool done;
    for (int i = 0; i < aw_hip.count; i++)
        for (int k = 0; k < 3; k++)
            if (aw_hip.api.hipDeviceGetAttribute(&aw_hip.dev[i].place[k], attrs[k], aw_hip.dev[i].ordinal) != 0)
                aw_hip.dev[i].place[k] = 0;
    if (done)
        return;
    done = true;
    if (!hsa.register_handler || hsa.register_handler(on_system_event, NULL) != HSA_OK)
        aw_say(NO_FAULT_HANDLER);
    if (on_exit(on_process_exit, NULL) != 0)
        aw_say(NO_EXIT_HANDLER);
}
