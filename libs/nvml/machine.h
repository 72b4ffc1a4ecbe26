/* What the operating system knows of a device: /sys and /proc.  Bodies of NVML's functions ask here and nowhere else.
 *
 * Cards are found by their PCI address; of the host device the machine's processors and memory are asked.  Every function gives
 * false for what the machine does not tell.  Thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NVML_MACHINE_H
#define AW_LIBS_NVML_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aw_nvml_place {
    bool host;
    char pci[16]; /* "0000:65:00.0", of a card */
};

enum aw_nvml_reading {
    AW_NVML_TEMPERATURE, /* millidegrees Celsius */
    AW_NVML_POWER,       /* microwatts */
    AW_NVML_POWER_LIMIT, /* microwatts */
    AW_NVML_FAN,         /* 0 to 255 */
    AW_NVML_CLOCK,       /* Hz, now */
    AW_NVML_MEMORY_CLOCK,
    AW_NVML_MEMORY_TOTAL, /* bytes */
    AW_NVML_MEMORY_USED,
    AW_NVML_BUSY,        /* per cent */
    AW_NVML_MEMORY_BUSY,
    AW_NVML_PCI_DEVICE,  /* device << 16 | vendor, as PCI has them */
    AW_NVML_PCI_SUBSYSTEM,
    AW_NVML_LINK_RATE, /* of a PCI Express lane now: GT/s, cut off (2 is 2.5) */
    AW_NVML_LINK_RATE_MAX,
    AW_NVML_LINK_WIDTH, /* lanes, now */
    AW_NVML_LINK_WIDTH_MAX,
};

bool aw_nvml_read(const struct aw_nvml_place *place, enum aw_nvml_reading what, uint64_t *ret_value);
/* Takes the first sample of what AW_NVML_BUSY of the host device is the change of. */
void aw_nvml_busy_start(void);
bool aw_nvml_vbios(const struct aw_nvml_place *place, char *ret_text, size_t size);
/* An nvmlGpuTopologyLevel_t between two cards. */
bool aw_nvml_topology(const struct aw_nvml_place *a, const struct aw_nvml_place *b, int *ret_level);

/* Which of the machine's processors, or of its NUMA nodes, are near the device: bit i of word i / 64 is number i; those that have
 * no room are left out.  Of the host device, and of a card of which it is not told, all there are. */
bool aw_nvml_near(const struct aw_nvml_place *place, bool nodes, unsigned long *ret_set, unsigned words);

/* A process that uses the device; `memory` in bytes, or all ones where it is not known.  Of the host device, whose memory is the
 * machine's, it is what the process holds there itself (not what it maps of files). */
struct aw_nvml_process {
    unsigned pid;
    uint64_t memory;
};
/* Fills in the first `room` of them; returns how many there are. */
unsigned aw_nvml_processes(const struct aw_nvml_place *place, struct aw_nvml_process *ret, unsigned room);

/* For tests: where /sys and /proc are, without the slash; NULL: there. */
void aw_nvml_test_root(const char *root);

#endif
