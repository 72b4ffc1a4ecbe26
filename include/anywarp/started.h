/* Kernels that kernels start (CUDA's dynamic parallelism): what the device code of one leaves for the runtime, which launches
 * them when the grid that asked for them has ended (docs/architecture.md, "Kernels that start kernels").
 *
 * The address of a kernel is a number, as a function's is: 16 * address_id of its module's manifest, and in the high half the
 * bytes of its parameters. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANYWARP_STARTED_H
#define ANYWARP_STARTED_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The variable of a module some of whose kernels have AW_KERNEL_STARTS.  The runtime fills it in before the first such launch;
 * grids of the module that start kernels run one after another. */
#define AW_STARTS_SYMBOL "__anywarp_starts"
struct aw_starts_words {
    uint64_t records;   /* device address, 16-aligned, of struct aw_started one behind the other; 0 where none is */
    uint64_t capacity;  /* its bytes */
    uint64_t used;      /* bytes asked for so far, also by those that did not fit */
    uint32_t error;     /* what cudaGetLastError says to kernels, and then forgets: a cudaError_t */
    uint32_t depth;     /* grids above the one that runs; AW_STARTS_DEPTH: it starts none */
};
enum { AW_STARTS_DEPTH = 24 }; /* CUDA C++ Programming Guide, "Dynamic Parallelism": nesting depth */

enum aw_started_kind { AW_STARTED_KERNEL, AW_STARTED_COPY, AW_STARTED_FILL };
struct aw_started {
    uint64_t size;      /* bytes, with this header and all parameters; a multiple of 16 */
    uint64_t kernel;    /* its address */
    uint32_t grid[3], block[3];
    uint32_t shared;    /* bytes, dynamic */
    uint32_t kind;      /* enum aw_started_kind */
    uint64_t stream;    /* AW_STARTED_TAIL: after all else that its grid has started */
    uint64_t launched;  /* 0: parameters were asked for, and it was not started */
    uint64_t params[];  /* a kernel's, packed; of copies destination, source, bytes; of fills destination, byte, bytes */
};
enum { AW_STARTED_TAIL = 3 }; /* cudaStreamTailLaunch */

#ifdef __cplusplus
}
#endif
#endif
