/* /sys and /proc: see machine.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nvml_types.h"

static const char *root = "";

void aw_nvml_test_root(const char *path)
{
    root = path ? path : "";
}

/* ---- Files of one line, and of "NAME: VALUE" lines. */

static bool text_read(const char *path, char *ret_text, size_t size)
{
    FILE *f = fopen(path, "re");
    bool fine = f && fgets(ret_text, (int)size, f);
    if (f)
        fclose(f);
    if (fine)
        ret_text[strcspn(ret_text, "\n")] = 0;
    return fine;
}

static bool number_read(const char *path, int base, uint64_t *ret_value)
{
    char text[64], *end;
    if (!text_read(path, text, sizeof text))
        return false;
    unsigned long long value = strtoull(text, &end, base);
    if (end == text)
        return false;
    *ret_value = value;
    return true;
}

static bool field_read(const char *path, const char *name, uint64_t *ret_value)
{
    char line[256];
    size_t len = strlen(name);
    bool found = false;
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f))
        if (!strncmp(line, name, len) && line[len] == ':') {
            *ret_value = strtoull(line + len + 1, NULL, 10);
            found = true;
        }
    if (f)
        fclose(f);
    return found;
}

/* The first folder of `dir` whose file `name` says one of `kinds`, or any where that is NULL. */
static bool hwmon_find(const char *dir, const char *const *kinds, char *ret_path, size_t size)
{
    bool found = false;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        char path[PATH_MAX], kind[64];
        if (strncmp(e->d_name, "hwmon", 5) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s/name", dir, e->d_name);
        if (!text_read(path, kind, sizeof kind))
            continue;
        for (size_t i = 0; !kinds || kinds[i]; i++)
            if (!kinds || !strcmp(kind, kinds[i])) {
                found = snprintf(ret_path, size, "%s/%s", dir, e->d_name) < (int)size;
                break;
            }
    }
    if (d)
        closedir(d);
    return found;
}

/* ---- The host device. */

static struct {
    pthread_mutex_t lock;
    uint64_t busy, all; /* in the processors' ticks, at the last sample */
    uint64_t share;     /* per cent, between the last two */
    bool known;
} usage = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool usage_sample(uint64_t *ret_busy, uint64_t *ret_all)
{
    char path[PATH_MAX], line[512];
    unsigned long long t[8] = { 0 };
    snprintf(path, sizeof path, "%s/proc/stat", root);
    if (!text_read(path, line, sizeof line) ||
        sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) < 4)
        return false;
    *ret_all = 0;
    for (int i = 0; i < 8; i++)
        *ret_all += t[i];
    *ret_busy = *ret_all - t[3] - t[4]; /* idle, and waiting for a disk */
    return true;
}

void aw_nvml_busy_start(void)
{
    pthread_mutex_lock(&usage.lock);
    usage.known = usage_sample(&usage.busy, &usage.all);
    pthread_mutex_unlock(&usage.lock);
}

/* Since the last question; where there are too few ticks for that, the last answer, or after a moment. */
static bool usage_read(uint64_t *ret_share)
{
    enum { FEW = 4 };
    uint64_t busy, all;
    pthread_mutex_lock(&usage.lock);
    bool fine = usage.known && usage_sample(&busy, &all);
    if (fine && all - usage.all < FEW && !usage.share) {
        nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
        fine = usage_sample(&busy, &all);
    }
    if (fine && all - usage.all >= FEW) {
        usage.share = (busy - usage.busy) * 100 / (all - usage.all);
        usage.busy = busy;
        usage.all = all;
    }
    *ret_share = usage.share;
    pthread_mutex_unlock(&usage.lock);
    return fine;
}

static bool host_read(enum aw_nvml_reading what, uint64_t *ret_value)
{
    static const char *const sensors[] = { "coretemp", "k10temp", "zenpower", "cpu_thermal", NULL };
    char monitors[PATH_MAX], dir[PATH_MAX], path[PATH_MAX + 32];
    uint64_t total, available;
    switch (what) {
    case AW_NVML_TEMPERATURE:
        snprintf(monitors, sizeof monitors, "%s/sys/class/hwmon", root);
        if (!hwmon_find(monitors, sensors, dir, sizeof dir))
            return false;
        snprintf(path, sizeof path, "%s/temp1_input", dir);
        return number_read(path, 10, ret_value);
    case AW_NVML_CLOCK:
        snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", root);
        if (!number_read(path, 10, ret_value))
            return false;
        *ret_value *= 1000;
        return true;
    case AW_NVML_MEMORY_TOTAL:
    case AW_NVML_MEMORY_USED:
        snprintf(path, sizeof path, "%s/proc/meminfo", root);
        if (!field_read(path, "MemTotal", &total) || !field_read(path, "MemAvailable", &available))
            return false;
        *ret_value = (what == AW_NVML_MEMORY_TOTAL ? total : total - available) * 1024;
        return true;
    case AW_NVML_BUSY:
        return usage_read(ret_value);
    default:
        return false;
    }
}

/* ---- AMD's cards: what the kernel's amdgpu says. */

static bool card_read(const struct aw_nvml_place *place, enum aw_nvml_reading what, uint64_t *ret_value)
{
    static const struct {
        const char *name;
        bool hwmon;
    } files[] = {
        [AW_NVML_TEMPERATURE] = { "temp1_input", true }, [AW_NVML_POWER] = { "power1_average", true },
        [AW_NVML_POWER_LIMIT] = { "power1_cap", true },
        [AW_NVML_FAN] = { "pwm1", true },
        [AW_NVML_CLOCK] = { "freq1_input", true },
        [AW_NVML_MEMORY_CLOCK] = { "freq2_input", true }, [AW_NVML_MEMORY_TOTAL] = { "mem_info_vram_total", false },
        [AW_NVML_MEMORY_USED] = { "mem_info_vram_used", false }, [AW_NVML_BUSY] = { "gpu_busy_percent", false },
        [AW_NVML_MEMORY_BUSY] = { "mem_busy_percent", false }, [AW_NVML_PCI_DEVICE] = { "device", false },
        [AW_NVML_PCI_SUBSYSTEM] = { "subsystem_device", false },
        [AW_NVML_LINK_RATE] = { "current_link_speed", false },
        [AW_NVML_LINK_RATE_MAX] = { "max_link_speed", false },
        [AW_NVML_LINK_WIDTH] = { "current_link_width", false },
        [AW_NVML_LINK_WIDTH_MAX] = { "max_link_width", false },
    };
    char dir[PATH_MAX], path[PATH_MAX + 64];
    uint64_t vendor;
    snprintf(dir, sizeof dir, "%s/sys/bus/pci/devices/%s", root, place->pci);
    bool pci = what == AW_NVML_PCI_DEVICE || what == AW_NVML_PCI_SUBSYSTEM;
    if (files[what].hwmon) {
        char monitors[PATH_MAX];
        snprintf(monitors, sizeof monitors, "%s/sys/bus/pci/devices/%s/hwmon", root, place->pci);
        if (!hwmon_find(monitors, NULL, dir, sizeof dir))
            return false;
    }
    snprintf(path, sizeof path, "%s/%s", dir, files[what].name);
    if (what == AW_NVML_POWER && access(path, R_OK)) /* newer cards say what is drawn now, not the average */
        snprintf(path, sizeof path, "%s/power1_input", dir);
    if (!number_read(path, pci ? 16 : 10, ret_value))
        return false;
    if (pci) {
        snprintf(path, sizeof path, "%s/%s", dir, what == AW_NVML_PCI_DEVICE ? "vendor" : "subsystem_vendor");
        if (!number_read(path, 16, &vendor))
            return false;
        *ret_value = *ret_value << 16 | vendor;
    }
    return true;
}

bool aw_nvml_read(const struct aw_nvml_place *place, enum aw_nvml_reading what, uint64_t *ret_value)
{
    return place->host ? host_read(what, ret_value) : card_read(place, what, ret_value);
}

bool aw_nvml_vbios(const struct aw_nvml_place *place, char *ret_text, size_t size)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/vbios_version", root, place->pci);
    return !place->host && text_read(path, ret_text, size);
}

/* ---- Topology: the card's folder lies in those of the bridges before it. */

static bool card_path(const struct aw_nvml_place *place, char ret_path[PATH_MAX])
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s", root, place->pci);
    return realpath(path, ret_path) != NULL;
}

static bool card_node(const struct aw_nvml_place *place, uint64_t *ret_node)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/numa_node", root, place->pci);
    return number_read(path, 10, ret_node);
}

bool aw_nvml_topology(const struct aw_nvml_place *a, const struct aw_nvml_place *b, int *ret_level)
{
    char pa[PATH_MAX], pb[PATH_MAX];
    uint64_t na, nb;
    if (!card_path(a, pa) || !card_path(b, pb))
        return false;
    size_t same = 0;
    for (size_t i = 0; pa[i] && pa[i] == pb[i]; i++)
        if (pa[i] == '/')
            same = i;
    const char *bridge = strstr(pa, "/pci");
    const char *first = bridge ? strchr(bridge + 1, '/') : NULL;
    if (!first)
        return false;
    if (!strchr(pa + same + 1, '/') && !strchr(pb + same + 1, '/') && pa + same > first)
        *ret_level = NVML_TOPOLOGY_SINGLE;
    else if (pa + same > first)
        *ret_level = NVML_TOPOLOGY_MULTIPLE;
    else if (pa + same == first)
        *ret_level = NVML_TOPOLOGY_HOSTBRIDGE;
    else
        *ret_level = card_node(a, &na) && card_node(b, &nb) && na == nb ? NVML_TOPOLOGY_NODE : NVML_TOPOLOGY_SYSTEM;
    return true;
}

/* ---- What is near. */

/* Reads "0-3,8" into a set; false: it is none. */
static bool list_read(const char *path, unsigned long *set, unsigned words)
{
    enum { BITS = 8 * sizeof *set };
    char text[4096], *at = text;
    if (!text_read(path, text, sizeof text) || !*text)
        return false;
    memset(set, 0, words * sizeof *set);
    for (;;) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (end == at)
            return false;
        if (*end == '-')
            last = strtoul(at = end + 1, &end, 10);
        for (unsigned long k = first; k <= last && k < words * BITS; k++)
            set[k / BITS] |= 1ul << k % BITS;
        if (*end != ',')
            return true;
        at = end + 1;
    }
}

bool aw_nvml_near(const struct aw_nvml_place *place, bool nodes, unsigned long *ret_set, unsigned words)
{
    char path[PATH_MAX];
    uint64_t node;
    if (!place->host && nodes && card_node(place, &node) && node < words * 8 * sizeof *ret_set) {
        memset(ret_set, 0, words * sizeof *ret_set);
        ret_set[node / (8 * sizeof *ret_set)] = 1ul << node % (8 * sizeof *ret_set);
        return true;
    }
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/local_cpulist", root, place->pci);
    if (!place->host && !nodes && list_read(path, ret_set, words))
        return true;
    snprintf(path, sizeof path, "%s/sys/devices/system/%s/online", root, nodes ? "node" : "cpu");
    return list_read(path, ret_set, words);
}

/* ---- Processes. */

/* Does it have a thread that works for the host device?  These are named so (src/provider/host/pool.c). */
static bool process_on_host(const char *pid)
{
    char dir[PATH_MAX], comm[32];
    snprintf(dir, sizeof dir, "%s/proc/%s/task", root, pid);
    bool found = false;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        char path[PATH_MAX + 300];
        snprintf(path, sizeof path, "%s/%s/comm", dir, e->d_name);
        found = e->d_name[0] != '.' && strcmp(e->d_name, pid) != 0 && text_read(path, comm, sizeof comm) &&
                !strcmp(comm, "anywarp");
    }
    if (d)
        closedir(d);
    return found;
}

/* What it holds of the machine's memory without a file behind it, in bytes, or all ones. */
static uint64_t process_memory(const char *pid)
{
    char path[PATH_MAX], line[256];
    unsigned long long own, shared, kib = 0;
    unsigned found = 0;
    snprintf(path, sizeof path, "%s/proc/%s/status", root, pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "RssAnon: %llu", &own) == 1)
            kib += own, found |= 1;
        else if (sscanf(line, "RssShmem: %llu", &shared) == 1)
            kib += shared, found |= 2;
    }
    if (f)
        fclose(f);
    return found == 3 ? kib * 1024 : UINT64_MAX;
}

/* What an open file of a card says: whose card it is, which client has it, what that holds. */
struct card_file {
    char where[32];
    uint64_t client, memory;
};

static bool card_file_read(const char *path, struct card_file *ret)
{
    char line[256];
    FILE *f = fopen(path, "re");
    *ret = (struct card_file){ .client = UINT64_MAX };
    while (f && fgets(line, sizeof line, f)) {
        sscanf(line, "drm-pdev: %31s", ret->where);
        if (!strncmp(line, "drm-client-id:", 14))
            ret->client = strtoull(line + 14, NULL, 10);
        else if (!strncmp(line, "drm-memory-vram:", 16))
            ret->memory = strtoull(line + 16, NULL, 10) * 1024;
    }
    if (f)
        fclose(f);
    return f != NULL;
}

/* What amdgpu counts for each open file; several files of one process may be one client, in any order. */
static bool process_on_card(const char *pid, const char *pci, uint64_t *ret_memory)
{
    enum { CLIENTS = 64 };
    uint64_t clients[CLIENTS], total = 0;
    unsigned n = 0;
    bool found = false;
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s/proc/%s/fdinfo", root, pid);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[PATH_MAX + 300];
        struct card_file file;
        unsigned k = 0;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (e->d_name[0] == '.' || !card_file_read(path, &file) || strcmp(file.where, pci) != 0)
            continue;
        found = true;
        while (k < n && clients[k] != file.client)
            k++;
        if (k < n)
            continue;
        if (n < CLIENTS)
            clients[n++] = file.client;
        total += file.memory;
    }
    if (d)
        closedir(d);
    *ret_memory = total;
    return found;
}

unsigned aw_nvml_processes(const struct aw_nvml_place *place, struct aw_nvml_process *ret, unsigned room)
{
    char dir[PATH_MAX];
    unsigned n = 0;
    snprintf(dir, sizeof dir, "%s/proc", root);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        uint64_t memory = UINT64_MAX;
        if (e->d_name[0] < '0' || e->d_name[0] > '9' ||
            !(place->host ? process_on_host(e->d_name) : process_on_card(e->d_name, place->pci, &memory)))
            continue;
        if (place->host && n < room)
            memory = process_memory(e->d_name);
        if (n < room)
            ret[n] = (struct aw_nvml_process){ .pid = (unsigned)strtoul(e->d_name, NULL, 10), .memory = memory };
        n++;
    }
    if (d)
        closedir(d);
    return n;
}
