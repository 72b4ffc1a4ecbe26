/* ROCr alone over the simulated thunk: packets that HIP does not write, and every way in which a queue fails.  One case per run,
 * with the folder of the kernels' code objects.  Exit status 0 passed, 1 failed, 77 there is no ROCr to test with. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#ifndef HAVE_HSA
int main(void)
{
    puts("built without ROCr");
    return 77;
}
#else

#include <fcntl.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call) check((call), #call, __LINE__)
#define EXPECT(condition) do { if (!(condition)) fail(#condition, __LINE__); } while (0)

static const char *folder;
static hsa_agent_t card, host;
static hsa_queue_t *queue;
static hsa_amd_memory_pool_t pool; /* of the host, for arguments and results */
static _Atomic int error;          /* what the queue's callback was called with */

static void fail(const char *what, int line)
{
    fprintf(stderr, "line %d: %s\n", line, what);
    _exit(1);
}

static void check(hsa_status_t status, const char *what, int line)
{
    if (status != HSA_STATUS_SUCCESS && status != HSA_STATUS_INFO_BREAK) {
        fprintf(stderr, "line %d: %s gives %#x\n", line, what, (unsigned)status);
        _exit(1);
    }
}

static hsa_status_t find_agent(hsa_agent_t agent, void *unused)
{
    hsa_device_type_t type;
    (void)unused;
    CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    *(type == HSA_DEVICE_TYPE_GPU ? &card : &host) = agent;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t find_pool(hsa_amd_memory_pool_t p, void *unused)
{
    uint32_t flags;
    (void)unused;
    CHECK(hsa_amd_memory_pool_get_info(p, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED)
        pool = p;
    return HSA_STATUS_SUCCESS;
}

static void on_error(hsa_status_t status, hsa_queue_t *source, void *unused)
{
    (void)source, (void)unused;
    error = (int)status;
}

static void begin(void)
{
    CHECK(hsa_init());
    CHECK(hsa_iterate_agents(find_agent, NULL));
    CHECK(hsa_amd_agent_iterate_memory_pools(host, find_pool, NULL));
    CHECK(hsa_queue_create(card, 64, HSA_QUEUE_TYPE_MULTI, on_error, NULL, UINT32_MAX, UINT32_MAX, &queue));
}

static void *memory(size_t size)
{
    void *p;
    CHECK(hsa_amd_memory_pool_allocate(pool, size, 0, &p));
    CHECK(hsa_amd_agents_allow_access(1, &card, NULL, p));
    memset(p, 0, size);
    return p;
}

static uint64_t kernel(const char *name)
{
    char path[1024], symbol[100];
    hsa_code_object_reader_t reader;
    hsa_executable_t executable;
    hsa_executable_symbol_t s;
    uint64_t object;
    snprintf(path, sizeof path, "%s/thunk-gfx1030.hsaco", folder);
    snprintf(symbol, sizeof symbol, "%s.kd", name);
    CHECK(hsa_code_object_reader_create_from_file(open(path, O_RDONLY), &reader));
    CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &executable));
    CHECK(hsa_executable_load_agent_code_object(executable, card, reader, NULL, NULL));
    CHECK(hsa_executable_freeze(executable, NULL));
    CHECK(hsa_executable_get_symbol_by_name(executable, symbol, &card, &s));
    CHECK(hsa_executable_symbol_get_info(s, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
    return object;
}

static hsa_signal_t signal_of(hsa_signal_value_t value)
{
    hsa_signal_t s;
    CHECK(hsa_signal_create(value, 0, NULL, &s));
    return s;
}

static bool comes(hsa_signal_t s, hsa_signal_value_t value, double seconds)
{
    uint64_t frequency;
    CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency));
    return hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_EQ, value, (uint64_t)(seconds * (double)frequency),
                                     HSA_WAIT_STATE_BLOCKED) == value;
}

/* Puts 64 bytes into the queue, the header last. */
static void submit(const void *packet)
{
    uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
    char *slot = (char *)queue->base_address + index % queue->size * 64;
    memcpy(slot + 4, (const char *)packet + 4, 60);
    __atomic_store_n((uint32_t *)(void *)slot, *(const uint32_t *)packet, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static hsa_kernel_dispatch_packet_t launch_of(uint64_t object, void *args, hsa_signal_t done)
{
    hsa_kernel_dispatch_packet_t p = { .header = HSA_PACKET_TYPE_KERNEL_DISPATCH, .setup = 1, .workgroup_size_x = 64,
                                       .workgroup_size_y = 1,
                                       .workgroup_size_z = 1, .grid_size_x = 64, .grid_size_y = 1, .grid_size_z = 1,
                                       .kernel_object = object, .kernarg_address = args, .completion_signal = done };
    return p;
}

/* ---- Cases ---- */

static int *line_args(int **ret_out)
{
    struct { void *out; int n; } *args = memory(256);
    args->out = *ret_out = memory(4096);
    args->n = 64;
    return (int *)(void *)args;
}

/* A launch, with a partial last block, and the packet's profile. */
static void launches(void)
{
    int *out;
    void *args = line_args(&out);
    hsa_signal_t done = signal_of(1);
    hsa_amd_profiling_dispatch_time_t time;
    CHECK(hsa_amd_profiling_set_profiler_enabled(queue, 1));
    hsa_kernel_dispatch_packet_t p = launch_of(kernel("line"), args, done);
    p.grid_size_x = 50;
    submit(&p);
    EXPECT(comes(done, 0, 10));
    for (int i = 0; i < 64; i++)
        EXPECT(out[i] == (i < 50 ? 3 * i + 7 : 0));
    CHECK(hsa_amd_profiling_get_dispatch_time(card, done, &time));
    EXPECT(time.end > time.start);
}

static void barriers(void)
{
    hsa_signal_t a = signal_of(1), b = signal_of(1), done = signal_of(3);
    hsa_barrier_and_packet_t all = { .header = HSA_PACKET_TYPE_BARRIER_AND, .dep_signal = { a, b }, .completion_signal = done };
    hsa_barrier_or_packet_t any = { .header = HSA_PACKET_TYPE_BARRIER_OR, .dep_signal = { b, a }, .completion_signal = done };
    hsa_amd_barrier_value_packet_t value = { .header = { .header = HSA_PACKET_TYPE_VENDOR_SPECIFIC, .AmdFormat = 2 }, .signal = a,
                                             .value = 5, .mask = 0xf, .cond = HSA_SIGNAL_CONDITION_GTE,
                                             .completion_signal = done };
    submit(&any);
    EXPECT(!comes(done, 2, 0.05));
    hsa_signal_store_screlease(b, 0);
    EXPECT(comes(done, 2, 10));
    submit(&all);
    EXPECT(!comes(done, 1, 0.05));
    hsa_signal_store_screlease(a, 0);
    EXPECT(comes(done, 1, 10));
    submit(&value);
    hsa_signal_store_screlease(a, 0x14); /* 4 under the mask */
    EXPECT(!comes(done, 0, 0.05));
    hsa_signal_store_screlease(a, 0x15);
    EXPECT(comes(done, 0, 10));
}

/* More packets than the queue holds. */
static void many(void)
{
    enum { COUNT = 1000 };
    int *out;
    void *args = line_args(&out);
    uint64_t object = kernel("line");
    hsa_signal_t done = signal_of(COUNT);
    for (int i = 0; i < COUNT; i++) {
        while (hsa_queue_load_write_index_relaxed(queue) - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
            usleep(10);
        hsa_kernel_dispatch_packet_t p = launch_of(object, args, done);
        submit(&p);
    }
    EXPECT(comes(done, 0, 30));
}

/* Two threads, and ROCr's own with a handler, sleep until the same signal: all of them wake. */
static _Atomic int handled;

static bool on_signal(hsa_signal_value_t value, void *unused)
{
    (void)value;
    (void)unused;
    handled++;
    return false;
}

static void *wait_asleep(void *signal)
{
    hsa_signal_wait_scacquire(*(hsa_signal_t *)signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    return NULL;
}

static void waiters(void)
{
    enum { ROUNDS = 100 };
    for (int round = 1; round <= ROUNDS; round++) {
        pthread_t threads[2];
        hsa_signal_t go = signal_of(1), done = signal_of(1);
        hsa_barrier_and_packet_t packet = { .header = HSA_PACKET_TYPE_BARRIER_AND,
                                            .dep_signal = { go },
                                            .completion_signal = done };
        submit(&packet);
        EXPECT(pthread_create(&threads[0], NULL, wait_asleep, &done) == 0);
        usleep(3000); /* ROCr spins for a while before it sleeps */
        CHECK(hsa_amd_signal_async_handler(done, HSA_SIGNAL_CONDITION_LT, 1, on_signal, NULL));
        EXPECT(pthread_create(&threads[1], NULL, wait_asleep, &done) == 0);
        usleep(3000);
        hsa_signal_store_screlease(go, 0);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < 1000 && handled < round; i++)
            usleep(1000);
        EXPECT(handled == round);
        CHECK(hsa_signal_destroy(go));
        CHECK(hsa_signal_destroy(done));
    }
}

static void expect_error(const void *packet, hsa_status_t status)
{
    submit(packet);
    for (int i = 0; i < 1000 && !error; i++)
        usleep(10000);
    if (error != (int)status) {
        fprintf(stderr, "the queue's callback got %#x instead of %#x\n", (unsigned)error, (unsigned)status);
        _exit(1);
    }
}

static void bad_type(void)
{
    hsa_agent_dispatch_packet_t p = { .header = HSA_PACKET_TYPE_AGENT_DISPATCH };
    expect_error(&p, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
}

static void bad_code(void)
{
    hsa_kernel_dispatch_packet_t p = launch_of(0x1000, NULL, signal_of(1));
    expect_error(&p, HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
}

static void bad_lds(void)
{
    hsa_kernel_dispatch_packet_t p = launch_of(kernel("line"), NULL, signal_of(1));
    p.group_segment_size = 1 << 20;
    expect_error(&p, HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

static void bad_size(void)
{
    hsa_kernel_dispatch_packet_t p = launch_of(kernel("line"), NULL, signal_of(1));
    p.workgroup_size_x = 2048;
    expect_error(&p, HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

static void bad_grid(void)
{
    hsa_kernel_dispatch_packet_t p = launch_of(kernel("line"), NULL, signal_of(1));
    p.workgroup_size_x = 0;
    expect_error(&p, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
}

static void trap(void)
{
    int *n = memory(256);
    hsa_kernel_dispatch_packet_t p = launch_of(kernel("trap"), n, signal_of(1));
    expect_error(&p, HSA_STATUS_ERROR_EXCEPTION);
}

/* The code of a kernel is overwritten with what is no instruction. */
static void illegal(void)
{
    uint64_t object = kernel("line"), entry;
    int *out;
    void *args = line_args(&out);
    memcpy(&entry, (char *)object + 16, 8);
    memset((char *)(object + entry), 0xff, 64); /* the card's memory is the host's to write, too */
    hsa_kernel_dispatch_packet_t p = launch_of(object, args, signal_of(1));
    expect_error(&p, (hsa_status_t)HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION);
}

static void aperture(void)
{
    uint64_t *address = memory(256);
    *address = 0x0001000000000000ull + (1 << 30); /* in LDS, past its end */
    hsa_kernel_dispatch_packet_t p = launch_of(kernel("store_flat"), address, signal_of(1));
    expect_error(&p, (hsa_status_t)HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
}

static _Atomic uint64_t fault_address;

static hsa_status_t on_event(const hsa_amd_event_t *event, void *unused)
{
    (void)unused;
    EXPECT(event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT && event->memory_fault.agent.handle == card.handle);
    EXPECT(event->memory_fault.fault_reason_mask & HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT);
    fault_address = event->memory_fault.virtual_address;
    return HSA_STATUS_SUCCESS;
}

/* A program that takes page faults itself lives on. */
static void fault(void)
{
    uint64_t *address = memory(256);
    CHECK(hsa_amd_register_system_event_handler(on_event, NULL));
    *address = 0x123456789abcull;
    hsa_kernel_dispatch_packet_t p = launch_of(kernel("store_at"), address, signal_of(1));
    submit(&p);
    for (int i = 0; i < 1000 && !fault_address; i++)
        usleep(10000);
    EXPECT(fault_address == 0x123456789000);
}

/* A queue is destroyed under a kernel that never ends. */
static void endless(void)
{
    void **flag = memory(256);
    *flag = memory(256);
    hsa_kernel_dispatch_packet_t p = launch_of(kernel("spin"), flag, signal_of(1));
    p.grid_size_x = 64 * 8;
    submit(&p);
    usleep(100000);
    CHECK(hsa_queue_destroy(queue));
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    { "launches", launches }, { "barriers", barriers }, { "many", many },       { "waiters", waiters },
    { "bad_type", bad_type }, { "bad_code", bad_code }, { "bad_lds", bad_lds }, { "bad_size", bad_size },
    { "bad_grid", bad_grid }, { "trap", trap },         { "illegal", illegal }, { "aperture", aperture },
    { "fault", fault },       { "endless", endless },
};

int main(int argc, char **argv)
{
    if (argc == 3) {
        folder = argv[2];
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            if (!strcmp(cases[i].name, argv[1])) {
                begin();
                cases[i].run();
                printf("%s passed\n", argv[1]);
                fflush(stdout);
                return 0;
            }
        }
    }
    fputs("usage: test_hsa CASE FOLDER; cases:", stderr);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fprintf(stderr, " %s", cases[i].name);
    fputs("\n", stderr);
    return 1;
}
#endif
