/* The host device itself: what it is, how much of the machine it may use, and its table for the seam. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"
#include "race.h"
#include "shadow.h"
#include "unwritten.h"

#include <cpuid.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/calltrace.h"
#include "base/env.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/setting.h"

struct aw_host_device aw_host = {
    .lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, /* held for tens of nanoseconds: sleeping at once would cost more */
    .callback_work = PTHREAD_COND_INITIALIZER,
    .value_work = PTHREAD_COND_INITIALIZER,
};

/* ---- small files of /proc and /sys ---- */

const char *aw_host_root = "";

/* The file's beginning as text; false when it cannot be read. */
static bool text_read(const char *path, char *ret_text, size_t size)
{
    char full[1400];
    snprintf(full, sizeof full, "%s%s", aw_host_root, path);
    FILE *f = fopen(full, "re");
    if (!f)
        return false;
    size_t n = fread(ret_text, 1, size - 1, f);
    fclose(f);
    ret_text[n] = '\0';
    return n > 0;
}

/* The number after "key" in a text of "key: number" lines; 0 when absent. */
static uint64_t text_number(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key) + strspn(at + strlen(key), ": \t"), NULL, 10) : 0;
}

bool aw_host_is_traced(void)
{
    char text[4096];
    return text_read("/proc/self/status", text, sizeof text) && text_number(text, "TracerPid") != 0;
}

/* Does the comma-separated list, which ends at a colon, have the word? */
static bool list_has(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (; *list && *list != ':'; list += *list == ',') {
        size_t len = strcspn(list, ",:");
        if (len == n && memcmp(list, word, n) == 0)
            return true;
        list += len;
    }
    return false;
}

/* This process's directory in the tree of a version 1 controller, or for "" in version 2's, as mounted; "" in the root or
 * without one. Lines are "number:controllers:directory"; version 2's has number 0 and no controllers. */
static void cgroup_dir(const char *controller, char ret_dir[512])
{
    char text[4096];
    ret_dir[0] = '\0';
    if (!text_read("/proc/self/cgroup", text, sizeof text))
        return;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *list = strchr(line, ':'), *dir = list ? strchr(list + 1, ':') : NULL;
        if (!dir || !(*controller ? list_has(list + 1, controller) : dir == list + 1))
            continue;
        dir++;
        if (strlen(dir) > 1 && strlen(dir) < 400)
            snprintf(ret_dir, 512, "%s", dir);
        return;
    }
}

/* Calls visit(directory's file text) for the cgroup and each of its ancestors: any of them may set the limit.  In a container
 * the tree may begin at the process's own group, while the directory is the host's: what is not there is passed over. */
static void cgroup_visit(const char *controller, const char *file, void (*visit)(const char *text, void *user), void *user)
{
    char dir[512], path[1100], text[256];
    cgroup_dir(controller, dir);
    for (;;) {
        snprintf(path, sizeof path, "/sys/fs/cgroup%s%s%s/%s", *controller ? "/" : "", controller, dir, file);
        if (text_read(path, text, sizeof text))
            visit(text, user);
        char *slash = strrchr(dir, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

static void cpu_quota(const char *text, void *user)
{
    uint32_t *cpus = user;
    unsigned long long quota, period;
    if (sscanf(text, "%llu %llu", &quota, &period) == 2 && period) {
        unsigned long long whole = (quota + period - 1) / period;
        if (whole >= 1 && whole < *cpus)
            *cpus = (uint32_t)whole;
    }
}

/* Version 1 has quota and period in two files of each directory, so the lists of both are gathered first. */
struct numbers {
    unsigned n;
    long long at[16];
};

static void number_add(const char *text, void *user)
{
    struct numbers *list = user;
    if (list->n < sizeof list->at / sizeof *list->at)
        list->at[list->n++] = strtoll(text, NULL, 10);
}

static void cpu_quota_1(uint32_t *cpus)
{
    struct numbers quota = { 0 }, period = { 0 };
    char both[64];
    cgroup_visit("cpu", "cpu.cfs_quota_us", number_add, &quota);
    cgroup_visit("cpu", "cpu.cfs_period_us", number_add, &period);
    for (unsigned i = 0; i < quota.n && i < period.n; i++) {
        snprintf(both, sizeof both, "%lld %lld", quota.at[i], period.at[i]);
        if (quota.at[i] > 0 && period.at[i] > 0)
            cpu_quota(both, cpus);
    }
}

uint32_t aw_host_cpu_count(void)
{
    uint32_t cpus = 1;
    for (int size = 1024; size <= 1 << 20; size *= 4) { /* the kernel refuses a set too small for the machine */
        cpu_set_t *set = CPU_ALLOC((size_t)size);
        if (!set)
            break;
        size_t bytes = CPU_ALLOC_SIZE((size_t)size);
        int error = sched_getaffinity(0, bytes, set);
        if (!error)
            cpus = (uint32_t)CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (!error)
            break;
    }
    cgroup_visit("", "cpu.max", cpu_quota, &cpus);
    cpu_quota_1(&cpus);
    return cpus < 1 ? 1 : cpus > AW_HOST_WORKERS_MAX ? AW_HOST_WORKERS_MAX : cpus;
}

struct lowest {
    uint64_t value;
};

static void lower(const char *text, void *user)
{
    struct lowest *l = user;
    if (text[0] < '0' || text[0] > '9') /* "max" */
        return;
    uint64_t value = strtoull(text, NULL, 10);
    if (value < l->value)
        l->value = value;
}

size_t aw_host_memory_limit(void)
{
    char text[4096];
    struct lowest l = { UINT64_MAX };
    if (text_read("/proc/meminfo", text, sizeof text))
        l.value = text_number(text, "MemTotal") * 1024;
    if (!l.value || l.value == UINT64_MAX)
        l.value = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    cgroup_visit("", "memory.max", lower, &l);
    cgroup_visit("memory", "memory.limit_in_bytes", lower, &l);
    return (size_t)l.value;
}

static void add_first(const char *text, void *user)
{
    struct lowest *l = user; /* the innermost group comes first */
    if (l->value == UINT64_MAX)
        l->value = strtoull(text, NULL, 10);
}

size_t aw_host_memory_available(void)
{
    char text[4096];
    uint64_t available = 0;
    if (text_read("/proc/meminfo", text, sizeof text))
        available = text_number(text, "MemAvailable") * 1024;
    struct lowest limit = { UINT64_MAX }, current = { UINT64_MAX };
    cgroup_visit("", "memory.max", lower, &limit);
    cgroup_visit("memory", "memory.limit_in_bytes", lower, &limit);
    cgroup_visit("", "memory.current", add_first, &current);
    cgroup_visit("memory", "memory.usage_in_bytes", add_first, &current);
    if (limit.value != UINT64_MAX && current.value != UINT64_MAX) {
        uint64_t left = limit.value > current.value ? limit.value - current.value : 0;
        available = left < available ? left : available;
    }
    return (size_t)available;
}

/* ---- the processor ---- */

static const char *const levels[] = { "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4" };

/* The highest of `levels` whose instructions are all there. */
static int cpu_level(void)
{
    unsigned a, b, c, d, ext = 0;
    __builtin_cpu_init();
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return 0;
    bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("popcnt") &&
              (c & bit_CMPXCHG16B);
    bool f16c = c & bit_F16C, movbe = c & bit_MOVBE;
    if (__get_cpuid(0x80000001, &a, &b, &c, &d))
        ext = c;
    bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2") && f16c && movbe && (ext & bit_LZCNT);
    bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
    return v4 ? 3 : v3 ? 2 : v2 ? 1 : 0;
}

/* Is a gather of AVX2 quicker than a load for each element?  1.4 ns and 2.7 ns for eight floats in the first cache, on a
 * Sapphire Rapids.  Not where microcode holds gathers up for safety, which takes several times as long; nor on processors of
 * AMD's, where it is a long sequence. */
static bool gathers_fast(void)
{
    char text[64];
    return __builtin_cpu_is("intel") &&
           text_read("/sys/devices/system/cpu/vulnerabilities/gather_data_sampling", text, sizeof text) &&
           !strncmp(text, "Not affected", strlen("Not affected"));
}

static bool is_amd(void)
{
    unsigned most, id[3];
    return __get_cpuid(0, &most, &id[0], &id[2], &id[1]) &&
           (!memcmp(id, "AuthenticAMD", sizeof id) || !memcmp(id, "HygonGenuine", sizeof id));
}

/* Are AVX2's masked stores microcode?  So on AMD's and Hygon's processors before Zen 4, which is the first with AVX-512
 * (LLVM's pull request 214187).  On a Milan one of eight floats takes 4.6 ns, whatever the mask, and a plain store 0.6 ns. */
static bool masked_stores_slow(void)
{
    return !__builtin_cpu_supports("avx512f") && is_amd();
}

static char target_text[192];

/* ANYWARP_HOST_GUARD: as cards notice; where memory ends, and alignment; each byte. */
enum guard { GUARD_CARD, GUARD_EXACT, GUARD_BYTE };

static enum guard guard_wish(void)
{
    static const char *const words[] = { "card", "exact", "byte", NULL };
    enum guard guard = (enum guard)aw_setting_word("ANYWARP_HOST_GUARD", words, GUARD_CARD);
    if (guard != GUARD_BYTE || aw_host_shadow_init())
        return guard;
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&said))
        aw_say(GUARD_SPACE);
    return GUARD_EXACT;
}

/* What is looked at, as the target's text has it. */
static void check_features(enum guard guard, char *ret, size_t size)
{
    enum { SYNC = 1, INIT = 2, RACE = 4 };
    static const char *const words[] = { "none", "sync", "init", "race", NULL };
    unsigned wish = guard == GUARD_BYTE ? aw_setting_words("ANYWARP_HOST_CHECK", words) : 0;
    if (wish & INIT && !aw_host_unwritten_init()) {
        aw_say(GUARD_SPACE);
        wish &= ~(unsigned)INIT;
    }
    if (wish & RACE)
        aw_host_race_init();
    snprintf(ret, size, "%s%s%s%s%s", guard == GUARD_EXACT ? ",+check-accesses" : "",
             guard == GUARD_BYTE && !wish ? ",+check-memory" : "", wish & SYNC ? ",+check-sync" : "",
             wish & INIT ? ",+check-init" : "", wish & RACE ? ",+check-race" : "");
}

static void target_init(void)
{
    const char *wish = aw_env("ANYWARP_HOST_CPU");
    int own = cpu_level(), level = own;
    if (wish && *wish) {
        for (level = own; level >= 0 && strcmp(levels[level], wish) != 0; level--)
            ;
        if (level < 0)
            aw_say(CPU_LEVEL, wish, levels[0], levels[own], levels[own]);
    }
    level = level < 0 ? own : level;
    char checks[96];
    check_features(guard_wish(), checks, sizeof checks);
    /* What matters of what the level does not say: with AVX-512 gathers and masked stores are quick, but bits are not counted
     * in every one, and AMD's do not follow rows of a picture by themselves. */
    snprintf(target_text, sizeof target_text, "host:%s%s%s%s%s%s%s%s", levels[level],
             level == 2 && gathers_fast() ? ",+fast-gather" : "",
             level == 2 && masked_stores_slow() ? ",+slow-masked-stores" : "",
             level == 3 && is_amd() ? ",+ask-rows" : "",
             level == 3 && __builtin_cpu_supports("avx512vpopcntdq") ? ",+avx512vpopcntdq" : "",
             checks, aw_setting_number("ANYWARP_HOST_DEBUG", 0, 1, 0) ? ",+debug" : "",
             aw_trace_counters() ? ",+count" : "");
}

const char *aw_host_target(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, target_init);
    return target_text;
}

static void name_init(void)
{
    char brand[49] = "";
    unsigned words[12];
    if (__get_cpuid_max(0x80000000, NULL) >= 0x80000004) {
        for (unsigned i = 0; i < 3; i++)
            __get_cpuid(0x80000002 + i, &words[i * 4], &words[i * 4 + 1], &words[i * 4 + 2], &words[i * 4 + 3]);
        memcpy(brand, words, 48);
        brand[48] = '\0';
    }
    const char *p = brand + strspn(brand, " ");
    snprintf(aw_host.name, sizeof aw_host.name, "anywarp host device (%s)", *p ? p : "x86-64");
}

static int clock_khz(void)
{
    char text[4096];
    if (text_read("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", text, sizeof text))
        return (int)strtol(text, NULL, 10);
    if (text_read("/proc/cpuinfo", text, sizeof text)) {
        uint64_t mhz = text_number(text, "cpu MHz");
        if (mhz)
            return (int)(mhz * 1000);
    }
    return 2000000;
}

/* No larger than those of cards: programs clear a buffer of that size before each run that they measure, and a server's last
 * cache, shared by a hundred processors, may have half a gigabyte. */
static int last_cache_bytes(void)
{
    enum { LEAST = 1 << 20, MOST = 64 << 20 };
    char path[96], text[64];
    int bytes = LEAST;
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!text_read(path, text, sizeof text))
            break;
        char *end;
        long n = strtol(text, &end, 10);
        long unit = *end == 'M' ? 1 << 20 : *end == 'K' ? 1 << 10 : 1;
        if (n > 0 && n < INT32_MAX / unit && n * unit > bytes)
            bytes = (int)(n * unit);
    }
    return bytes < MOST ? bytes : MOST;
}

/* ---- opening, forking ---- */

static void fork_prepare(void)
{
    aw_host_lock();
    aw_host_memory_fork(0);
    aw_host_print_fork(0);
}

static void fork_parent(void)
{
    aw_host_print_fork(1);
    aw_host_memory_fork(1);
    aw_host_unlock();
}

static void fork_child(void)
{
    aw_host_print_fork(2);
    aw_host_memory_fork(2);
    memset(&aw_host_thread, 0, sizeof aw_host_thread);
    aw_host_pool_forked();
    aw_host_streams_forked();
    aw_host_unlock();
}

/* What the variable says, from 1 to `most`; 0: nothing. */
static uint32_t count_wish(const char *name, long most)
{
    const char *text = aw_env(name);
    char *end;
    long n = text && *text ? strtol(text, &end, 10) : 0;
    if (text && *text && (*end || n < 1 || n > most)) {
        aw_say(HOST_NUMBER, name, text, most);
        n = 0;
    }
    return (uint32_t)n;
}

static uint32_t worker_count(void)
{
    uint32_t wish = count_wish("ANYWARP_HOST_THREADS", AW_HOST_WORKERS_MAX);
    return wish ? wish : aw_host_cpu_count();
}

/* The rows of so many blocks are read one after another.  Long ones are fetched ahead best; but where rows are a power of two
 * apart they fall on each other in a first-level cache, and short ones stay there if it has the ways for a block's height.  A
 * stencil on rows of 16 KiB: 8 blocks take .89 of the time of 256 on a Granite Rapids (12 ways), and 1.6 times it on a Milan
 * (8 ways). */
static uint32_t group_blocks(void)
{
    return sysconf(_SC_LEVEL1_DCACHE_ASSOC) > 8 ? 8 : 256;
}

int aw_host_open(const char **ret_why)
{
    static const char *why;
    aw_host_lock();
    int status = AW_OK;
    if (aw_host.opened)
        goto out;
    aw_host.n_workers = worker_count();
    uint32_t devices = count_wish("ANYWARP_HOST_DEVICES", AW_HOST_DEVICES_MAX);
    aw_host.n_devices = devices ? devices : 1;
    for (uint32_t d = 0; d < aw_host.n_devices; d++) {
        aw_host.devices[d].null_stream.refs = 1;
        aw_host.devices[d].null_stream.device = d;
    }
    aw_host.group = group_blocks();
    aw_host.exact = guard_wish() != GUARD_CARD;
    aw_host.memory_total = aw_host_memory_limit();
    name_init();
    status = aw_host_pool_init();
    if (status != AW_OK) {
        why = "out of memory";
        goto out;
    }
    if (aw_host_fault_init() != AW_OK || pthread_atfork(fork_prepare, fork_parent, fork_child) != 0) {
        why = "the operating system refuses signal or fork handlers";
        status = AW_ERR_NO_DEVICE;
        free(aw_host.workers);
        aw_host.workers = NULL;
        goto out;
    }
    aw_host.opened = true;
    aw_host_debugger_tell();
out:
    aw_host_unlock();
    if (status != AW_OK && ret_why)
        *ret_why = why;
    return status;
}

bool aw_host_device_ok(int dev)
{
    return dev >= 0 && (uint32_t)dev < aw_host.n_devices && aw_host.opened;
}

/* ---- questions ---- */

static int device_count(void)
{
    return aw_host.opened ? (int)aw_host.n_devices : 0;
}

int aw_host_device_name(int dev, char *ret_name, size_t size)
{
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (!size)
        return AW_ERR_INVALID_VALUE;
    snprintf(ret_name, size, "%s", aw_host.name);
    return AW_OK;
}

const char *aw_host_device_target(int dev)
{
    return aw_host_device_ok(dev) ? aw_host_target() : NULL;
}

static bool attr_value(enum aw_device_attr attr, int *ret_value)
{
    static const int fixed[AW_DEV_COUNT_] = {
        [AW_DEV_MEMORY_CLOCK_KHZ] = 1600000, [AW_DEV_BUS_WIDTH] = 128,
        [AW_DEV_MAX_THREADS_PER_BLOCK] = AW_HOST_MAX_THREADS,
        [AW_DEV_MAX_BLOCK_X] = 1024, [AW_DEV_MAX_BLOCK_Y] = 1024, [AW_DEV_MAX_BLOCK_Z] = 64,
        [AW_DEV_MAX_GRID_X] = INT32_MAX, [AW_DEV_MAX_GRID_Y] = 65535, [AW_DEV_MAX_GRID_Z] = 65535,
        [AW_DEV_SHARED_PER_BLOCK] = AW_HOST_SHARED_MAX, [AW_DEV_SHARED_PER_MULTIPROCESSOR] = AW_HOST_SHARED_SM,
        [AW_DEV_REGS_PER_BLOCK] = 65536, [AW_DEV_MAX_THREADS_PER_MULTIPROCESSOR] = AW_HOST_SM_THREADS,
        [AW_DEV_WAVE_SIZE] = 32, [AW_DEV_MANAGED] = 1, [AW_DEV_CONCURRENT_MANAGED] = 1, [AW_DEV_PAGEABLE] = 1,
        [AW_DEV_COOPERATIVE] = 1, [AW_DEV_UNIFIED_ADDRESSING] = 1, [AW_DEV_HOST_NATIVE_ATOMICS] = 1,
        [AW_DEV_ASYNC_ENGINES] = 2,
    };
    switch (attr) {
    case AW_DEV_MULTIPROCESSORS:
        *ret_value = (int)aw_host.n_workers;
        return true;
    case AW_DEV_CLOCK_KHZ:
        *ret_value = clock_khz();
        return true;
    case AW_DEV_L2_BYTES:
        *ret_value = last_cache_bytes();
        return true;
    default:
        if ((unsigned)attr >= AW_DEV_COUNT_)
            return false;
        *ret_value = fixed[attr];
        return true;
    }
}

int aw_host_device_attr(int dev, enum aw_device_attr attr, int *ret_value)
{
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (attr == AW_DEV_PCI_DEVICE) {
        *ret_value = dev; /* there is no such bus; programs tell devices apart by it */
        return AW_OK;
    }
    return attr_value(attr, ret_value) ? AW_OK : AW_ERR_INVALID_VALUE;
}

int aw_host_device_uuid(int dev, uint8_t ret_uuid[16])
{
    char id[64] = "";
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    /* Stable on one machine, and not the machine's own identity. */
    text_read("/etc/machine-id", id, sizeof id);
    struct aw_hasher h;
    aw_hasher_init(&h);
    aw_hasher_add(&h, "anywarp host device", 19);
    aw_hasher_add(&h, id, strlen(id));
    if (dev)
        aw_hasher_add(&h, &dev, sizeof dev);
    struct aw_hash128 hash = aw_hasher_end(&h);
    memcpy(ret_uuid, &hash, 16);
    ret_uuid[6] = (uint8_t)((ret_uuid[6] & 0x0f) | 0x80); /* version 8: made as its maker likes */
    ret_uuid[8] = (uint8_t)((ret_uuid[8] & 0x3f) | 0x80);
    return AW_OK;
}

int aw_host_device_memory(int dev, size_t *ret_free, size_t *ret_total)
{
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    size_t used = aw_host_memory_used(), total = aw_host.memory_total;
    size_t left = total > used ? total - used : 0, available = aw_host_memory_available();
    *ret_free = available && available < left ? available : left;
    *ret_total = total;
    return AW_OK;
}

/* One memory serves all. */
static int peer_access(int dev, int peer, bool *ret_can)
{
    if (!aw_host_device_ok(dev) || !aw_host_device_ok(peer))
        return AW_ERR_INVALID_DEVICE;
    *ret_can = true;
    return AW_OK;
}

static int peer_enable(int dev, int peer, bool on)
{
    return aw_host_device_ok(dev) && aw_host_device_ok(peer) ? AW_OK : AW_ERR_INVALID_DEVICE;
}

static int code_object_version(int dev)
{
    return 0;
}

static int device_fault(int dev)
{
    return aw_host_device_ok(dev) ? aw_host_fault() : AW_ERR_INVALID_DEVICE;
}

/* Waits, prints, and clears the fault.  Allocations stay: their owners free them. */
static int device_reset(int dev)
{
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    int status = aw_host_wait_all();
    if (status != AW_OK)
        return status;
    aw_host_print_flush();
    aw_host_limits_reset();
    atomic_store(&aw_host.fault, AW_OK);
    return AW_OK;
}

const struct aw_provider aw_provider_host = {
    .name = "host",
    .row = 32,
    .open = aw_host_open,
    .device_count = device_count,
    .device_name = aw_host_device_name,
    .device_target = aw_host_device_target,
    .device_attr = aw_host_device_attr,
    .device_uuid = aw_host_device_uuid,
    .device_memory = aw_host_device_memory,
    .code_object_version = code_object_version,
    .device_sync = aw_host_device_sync,
    .device_fault = device_fault,
    .device_reset = device_reset,
    .device_stop = aw_host_device_stop,
    .mem_alloc = aw_host_mem_alloc,
    .mem_alloc_shared = aw_host_mem_alloc_shared,
    .ipc_mem_get = aw_host_ipc_mem_get,
    .ipc_mem_open = aw_host_ipc_mem_open,
    .ipc_mem_close = aw_host_ipc_mem_close,
    .ipc_event_get = aw_host_ipc_event_get,
    .ipc_event_open = aw_host_ipc_event_open,
    .mem_free = aw_host_mem_free,
    .host_alloc = aw_host_host_alloc,
    .host_free = aw_host_host_free,
    .host_register = aw_host_host_register,
    .host_unregister = aw_host_host_unregister,
    .managed_alloc = aw_host_managed_alloc,
    .pointer_info = aw_host_pointer_info,
    .copy = aw_host_copy,
    .copy3d = aw_host_copy3d,
    .fill = aw_host_fill,
    .copy_peer = aw_host_copy_peer,
    .copy_pageable = aw_host_copy_pageable,
    .stream_create = aw_host_stream_create,
    .stream_destroy = aw_host_stream_destroy,
    .stream_query = aw_host_stream_query,
    .stream_sync = aw_host_stream_sync,
    .stream_wait = aw_host_stream_wait,
    .stream_callback = aw_host_stream_callback,
    .stream_inline = aw_host_stream_inline,
    .spread = aw_host_spread,
    .spread_threads = aw_host_spread_threads,
    .event_create = aw_host_event_create,
    .event_destroy = aw_host_event_destroy,
    .event_record = aw_host_event_record,
    .event_query = aw_host_event_query,
    .event_sync = aw_host_event_sync,
    .event_elapsed = aw_host_event_elapsed,
    .object_load = aw_host_object_load,
    .object_unload = aw_host_object_unload,
    .object_locator = aw_host_object_locator,
    .mem_complain = aw_host_mem_complain,
    .vmm = &aw_host_vmm,
    .block_textures = true,
    .object_function = aw_host_object_function,
    .function_attr = aw_host_function_attr,
    .occupancy = aw_host_occupancy,
    .kernel_attr = aw_host_kernel_attr,
    .kernel_occupancy = aw_host_kernel_occupancy,
    .function_set_shared = aw_host_function_set_shared,
    .function_replace = aw_host_function_replace,
    .launch = aw_host_launch,
    .limit_set = aw_host_limit_set,
    .peer_access = peer_access,
    .peer_enable = peer_enable,
    .stream_write_value = aw_host_stream_write_value,
    .stream_wait_value = aw_host_stream_wait_value,
};
