/* What is read of a card from /sys and /proc, from files made here as Linux' amdgpu has them.  Usage: machine_test FOLDER */
/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine.h"
#include "nvml_types.h"

static const char *root;
static int bad;

#define CHECK(condition) \
    do { \
        if (!(condition)) \
            bad++, printf("line %d: %s\n", __LINE__, #condition); \
    } while (0)

/* Makes the folders of `path` and the file itself. */
static void put(const char *path, const char *text)
{
    char full[PATH_MAX];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(full, 0755);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    if (!f || fputs(text, f) < 0 || fclose(f))
        perror(full), exit(1);
}

static void link_card(const char *pci, const char *path)
{
    char target[PATH_MAX], name[PATH_MAX];
    snprintf(target, sizeof target, "../../../%s", path);
    snprintf(name, sizeof name, "%s/sys/bus/pci/devices/%s", root, pci);
    unlink(name);
    if (symlink(target, name))
        perror(name), exit(1);
}

static uint64_t reading(const char *pci, enum aw_nvml_reading what)
{
    struct aw_nvml_place place = { .host = !pci };
    uint64_t value;
    if (pci)
        snprintf(place.pci, sizeof place.pci, "%s", pci);
    return aw_nvml_read(&place, what, &value) ? value : UINT64_MAX;
}

static int level(const char *a, const char *b)
{
    struct aw_nvml_place pa = { 0 }, pb = { 0 };
    int value = -1;
    snprintf(pa.pci, sizeof pa.pci, "%s", a);
    snprintf(pb.pci, sizeof pb.pci, "%s", b);
    return aw_nvml_topology(&pa, &pb, &value) ? value : -1;
}

static void sensors(void)
{
    const char *pci = "0000:03:00.0";
    CHECK(reading(pci, AW_NVML_TEMPERATURE) == 54000);
    CHECK(reading(pci, AW_NVML_POWER) == 31000000);
    CHECK(reading(pci, AW_NVML_POWER_LIMIT) == 203000000);
    CHECK(reading(pci, AW_NVML_FAN) == 51);
    CHECK(reading(pci, AW_NVML_CLOCK) == 2475000000);
    CHECK(reading(pci, AW_NVML_MEMORY_TOTAL) == 17163091968);
    CHECK(reading(pci, AW_NVML_MEMORY_USED) == 1234567168);
    CHECK(reading(pci, AW_NVML_BUSY) == 37);
    CHECK(reading(pci, AW_NVML_PCI_DEVICE) == 0x73bf1002);
    CHECK(reading(pci, AW_NVML_LINK_RATE) == 2 && reading(pci, AW_NVML_LINK_RATE_MAX) == 16);
    CHECK(reading(pci, AW_NVML_LINK_WIDTH) == 8 && reading(pci, AW_NVML_LINK_WIDTH_MAX) == 16);
    CHECK(reading(pci, AW_NVML_MEMORY_BUSY) == UINT64_MAX);
    CHECK(reading("0000:04:00.0", AW_NVML_POWER) == 9000000); /* no average: what is drawn now */
    CHECK(reading("0000:09:00.0", AW_NVML_TEMPERATURE) == UINT64_MAX);
    CHECK(reading(NULL, AW_NVML_TEMPERATURE) == 61000);
    CHECK(reading(NULL, AW_NVML_MEMORY_USED) == (8000000ull - 5000000) * 1024);
    CHECK(reading(NULL, AW_NVML_POWER) == UINT64_MAX);
}

static void load(void)
{
    put("proc/stat", "cpu 100 0 100 700 100 0 0 0 0 0\n");
    aw_nvml_busy_start();
    put("proc/stat", "cpu 130 0 110 740 120 0 0 0 0 0\n"); /* 40 of 100 ticks */
    CHECK(reading(NULL, AW_NVML_BUSY) == 40);
    CHECK(reading(NULL, AW_NVML_BUSY) == 40); /* nothing new */
    put("proc/stat", "cpu 130 0 110 840 120 0 0 0 0 0\n");
    CHECK(reading(NULL, AW_NVML_BUSY) == 0);
}

static void processes(void)
{
    struct aw_nvml_process list[4];
    struct aw_nvml_place card = { .pci = "0000:03:00.0" }, host = { .host = true };
    CHECK(aw_nvml_processes(&card, list, 4) == 1 && list[0].pid == 42 && list[0].memory == 4 * 1024 * 1024);
    CHECK(aw_nvml_processes(&host, list, 4) == 1 && list[0].pid == 43 && list[0].memory == 2500 * 1024);
    put("proc/43/status", "Name:\tprogram\nRssAnon:\t    2000 kB\n");
    CHECK(aw_nvml_processes(&host, list, 4) == 1 && list[0].memory == UINT64_MAX); /* not all is told */
    CHECK(aw_nvml_processes(&host, NULL, 0) == 1);
}

static void near(void)
{
    struct aw_nvml_place card = { .pci = "0000:03:00.0" }, other = { .pci = "0000:81:00.0" }, host = { .host = true };
    unsigned long set[2];
    CHECK(aw_nvml_near(&card, false, set, 2) && set[0] == 0xf0f && set[1] == 2);
    CHECK(aw_nvml_near(&card, false, set, 1) && set[0] == 0xf0f);
    CHECK(aw_nvml_near(&card, true, set, 1) && set[0] == 1);
    CHECK(aw_nvml_near(&other, true, set, 1) && set[0] == 2);
    CHECK(aw_nvml_near(&other, false, set, 2) && set[0] == ~0ul && set[1] == 0xff); /* it is not told */
    CHECK(aw_nvml_near(&host, false, set, 2) && set[0] == ~0ul && set[1] == 0xff);
    CHECK(aw_nvml_near(&host, true, set, 1) && set[0] == 3);
}

static void fill(void)
{
    put("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:03:00.0/hwmon/hwmon3/name", "amdgpu\n");
#define CARD "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:03:00.0/"
    put(CARD "hwmon/hwmon3/temp1_input", "54000\n");
    put(CARD "hwmon/hwmon3/power1_average", "31000000\n");
    put(CARD "hwmon/hwmon3/power1_cap", "203000000\n");
    put(CARD "hwmon/hwmon3/pwm1", "51\n");
    put(CARD "hwmon/hwmon3/freq1_input", "2475000000\n");
    put(CARD "mem_info_vram_total", "17163091968\n");
    put(CARD "mem_info_vram_used", "1234567168\n");
    put(CARD "gpu_busy_percent", "37\n");
    put(CARD "current_link_speed", "2.5 GT/s PCIe\n");
    put(CARD "max_link_speed", "16.0 GT/s PCIe\n");
    put(CARD "current_link_width", "8\n");
    put(CARD "max_link_width", "16\n");
    put(CARD "device", "0x73bf\n");
    put(CARD "vendor", "0x1002\n");
    put(CARD "numa_node", "0\n");
    put(CARD "local_cpulist", "0-3,8-11,65\n");
    put("sys/devices/system/cpu/online", "0-71\n");
    put("sys/devices/system/node/online", "0-1\n");
    put("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:04:00.0/hwmon/hwmon4/name", "amdgpu\n");
    put("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:04:00.0/hwmon/hwmon4/power1_input", "9000000\n");
    put("sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0/0000:05:00.0/vendor", "0x1002\n");
    put("sys/devices/pci0000:00/0000:00:02.0/0000:06:00.0/vendor", "0x1002\n");
    put("sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0/numa_node", "0\n");
    put("sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0/numa_node", "1\n");
    put("sys/bus/pci/devices/.keep", "");
    link_card("0000:03:00.0", "devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:03:00.0");
    link_card("0000:04:00.0", "devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:04:00.0");
    link_card("0000:05:00.0", "devices/pci0000:00/0000:00:01.0/0000:02:00.0/0000:05:00.0");
    link_card("0000:06:00.0", "devices/pci0000:00/0000:00:02.0/0000:06:00.0");
    link_card("0000:41:00.0", "devices/pci0000:40/0000:40:01.0/0000:41:00.0");
    link_card("0000:81:00.0", "devices/pci0000:80/0000:80:01.0/0000:81:00.0");
    put("sys/class/hwmon/hwmon0/name", "nvme\n");
    put("sys/class/hwmon/hwmon1/name", "k10temp\n");
    put("sys/class/hwmon/hwmon1/temp1_input", "61000\n");
    put("proc/meminfo", "MemTotal:        8000000 kB\nMemFree: 1 kB\nMemAvailable:    5000000 kB\n");
    put("proc/42/fdinfo/3", "pos: 0\ndrm-driver: amdgpu\ndrm-client-id: 7\ndrm-pdev: 0000:03:00.0\ndrm-memory-vram: 3072 KiB\n");
    put("proc/42/fdinfo/4", "pos: 0\ndrm-driver: amdgpu\ndrm-client-id: 7\ndrm-pdev: 0000:03:00.0\ndrm-memory-vram: 3072 KiB\n");
    for (int fd = 5; fd < 20; fd++) { /* two clients in turns: the folder is not read in any order */
        char path[64], text[160];
        snprintf(path, sizeof path, "proc/42/fdinfo/%d", fd);
        snprintf(text, sizeof text, "drm-driver: amdgpu\ndrm-client-id: %d\ndrm-pdev: 0000:03:00.0\ndrm-memory-vram: %d KiB\n",
                 7 + fd % 2, fd % 2 ? 1024 : 3072);
        put(path, text);
    }
    put("proc/43/task/43/comm", "program\n");
    put("proc/43/status", "Name:\tprogram\nVmRSS:\t    9000 kB\n"
                          "RssAnon:\t    2000 kB\nRssFile:\t  6500 kB\nRssShmem:\t     500 kB\n");
    put("proc/43/task/44/comm", "anywarp\n");
    put("proc/45/task/45/comm", "anywarp\n"); /* a program of that name, without workers */
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    root = argv[1];
    mkdir(root, 0755);
    fill();
    aw_nvml_test_root(root);
    sensors();
    load();
    processes();
    near();
    CHECK(level("0000:03:00.0", "0000:04:00.0") == NVML_TOPOLOGY_SINGLE);
    CHECK(level("0000:03:00.0", "0000:05:00.0") == NVML_TOPOLOGY_MULTIPLE);
    CHECK(level("0000:03:00.0", "0000:06:00.0") == NVML_TOPOLOGY_HOSTBRIDGE);
    CHECK(level("0000:03:00.0", "0000:41:00.0") == NVML_TOPOLOGY_NODE);
    CHECK(level("0000:03:00.0", "0000:81:00.0") == NVML_TOPOLOGY_SYSTEM);
    CHECK(level("0000:03:00.0", "0000:99:00.0") == -1);
    printf("%d wrong\n", bad);
    return bad != 0;
}
