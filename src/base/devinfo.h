/* A device as the machine has it, whatever CUDA_VISIBLE_DEVICES says: what the core tells libs/nvml.  Declarations only. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_DEVINFO_H
#define AW_BASE_DEVINFO_H

#include <stdbool.h>
#include <stdint.h>

struct aw_devinfo {
    char name[96];
    uint8_t uuid[16];
    bool host;                     /* the machine's own processors, not a card */
    int pci_domain, pci_bus, pci_device;
    int cc_major, cc_minor;        /* what CUDA programs are told */
    int multiprocessors;
    int clock_khz, memory_clock_khz; /* the highest */
    int bus_width;                 /* bits */
    uint64_t total, free;          /* bytes of memory */
    uint64_t peers;                /* bit n: its kernels and copies reach the memory of the machine's device n */
    int driver_version;            /* as cuDriverGetVersion's */
};

#endif
