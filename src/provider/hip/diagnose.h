/* Why the hip provider can or cannot serve on this machine, as facts: what `anywarp info` and `anywarp doctor` report.
 * Not advice: what to do about each is docs/amd.md's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_HIP_DIAGNOSE_H
#define AW_HIP_DIAGNOSE_H

#include <stdbool.h>
#include <stddef.h>

enum { AW_HIP_DIAGNOSE_DEVICES = 16 };

/* In the order in which they are looked for: the first that holds is the verdict. */
enum aw_hip_verdict {
    AW_HIP_USABLE,            /* at least one device that serves */
    AW_HIP_LIBRARY_MISSING,   /* no libamdhip64 anywhere we look */
    AW_HIP_LIBRARY_BROKEN,    /* one is there and cannot be loaded, or lacks functions */
    AW_HIP_NO_KFD,            /* no /dev/kfd: no amdgpu kernel driver, no card, or not handed into the container */
    AW_HIP_KFD_DENIED,        /* /dev/kfd or a render node cannot be opened: see `denied` and `group` */
    AW_HIP_NO_DEVICE,         /* HIP works and shows no device */
    AW_HIP_UNSUPPORTED,       /* only devices of architectures that anywarp does not compile for */
    AW_HIP_FAILED,            /* HIP itself failed otherwise: see `text` */
};

struct aw_hip_device_facts {
    char name[128];           /* "AMD Radeon RX 6800" */
    char arch[64];            /* as the card has it: "gfx90a:sramecc+:xnack-" */
    char target[64];          /* what we compile for; "" when unsupported */
    char why[160];            /* why unsupported; "" */
};

struct aw_hip_diagnosis {
    enum aw_hip_verdict verdict;
    char text[600];           /* one line, no '\n': what was found, in words */
    char library[512];        /* file that was loaded or tried; "" */
    int version;              /* HIP's own number, major * 10^7 + minor * 10^5 + patch; 0: unknown */
    bool kfd_present;         /* there is a /dev/kfd */
    bool kfd_allowed;         /* and this process may open it for reading and writing */
    int render_present;       /* nodes /dev/dri/renderD* */
    int render_allowed;       /* of them, those this process may open */
    char denied[64];          /* the first device file that may not be opened; "" */
    char group[64];           /* the group that file belongs to ("render"); "" */
    bool group_member;        /* this process has that group already (then a mode or a container's rule forbids it) */
    /* cards that the kernel's driver shows without atomics on host memory (PCIe AtomicOps); -1: not known */
    int no_atomics;
    int n_devices;            /* that HIP shows; the first AW_HIP_DIAGNOSE_DEVICES are described */
    struct aw_hip_device_facts devices[AW_HIP_DIAGNOSE_DEVICES];
};

/* Looks and fills *ret.  Loads HIP into the process (it stays loaded) and starts it; opens device files and closes them again.
 * A machine where the files are missing but HIP shows a device all the same (a simulated one) is AW_HIP_USABLE.
 * Thread-safe. */
void aw_hip_diagnose(struct aw_hip_diagnosis *ret);

/* Counts the cards without atomics on host memory in the driver's view of the machine, a folder of nodes (of
 * /sys/class/kfd/kfd/topology/nodes); -1: it shows no card. */
int aw_hip_no_atomics(const char *nodes);

/* "usable", "library missing", ...: static, never NULL. */
const char *aw_hip_verdict_text(enum aw_hip_verdict verdict);

#endif
