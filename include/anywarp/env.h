/* struct aw_env: what a kernel on a device without host services shares with the host: printf records, assertions, traps, and the
 * heap of device-side malloc.  Its address is a hidden kernel argument (docs/architecture.md, "Kernel arguments"); a kernel that
 * uses none of it gets 0.  A code object says what its kernel uses by defining the symbols below.
 *
 * All of it lies in device memory.  The provider allocates it, zeroes it before the first launch, and reads it by copies.  One
 * environment serves the launches of one stream, one heap all streams of a device.  Device code knows the offsets below; it
 * touches `used`, `dropped` and `status` by atomics of system scope only, as the host reads them while kernels run, and the heap
 * by those of agent scope. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANYWARP_ENV_H
#define ANYWARP_ENV_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AW_ENV_SYMBOL "aw_uses_env"       /* the kernel reads its environment */
#define AW_ENV_HEAP_SYMBOL "aw_uses_heap" /* and allocates: `heap` must be there */
#define AW_PARTS_SYMBOL "aw_takes_parts"  /* made for AW_BLOCK_PARTS: may be launched for some of a grid's blocks in x at a
                                           * time */
#define AW_STACK_SYMBOL "aw_uses_stack"   /* functions recurse: how much stack a thread needs is not known */
/* A constant of the object's, for kernels that ask for time: what one tick of the card's steady counter is.  The compiler takes
 * it to count 100 MHz; who loads the object may write in what the card really counts.  Parts are in 2^-64. */
#define AW_CLOCK_SYMBOL "aw_clock_scale"
struct aw_clock_scale {
    uint64_t ns, ns_part;
    uint64_t cycles, cycles_part; /* of the processors' clock, as the device's attribute has it */
};

/* Likewise, for kernels that ask where they run: memory of the device's that all its kernels share.  `numbers` is the address of
 * `count` words, 0 at first: 1 + the machine's number of the compute unit whose %smid is the word's place.  0: units are not told
 * apart. */
#define AW_UNITS_SYMBOL "aw_units"
struct aw_units {
    uint64_t numbers;
    uint32_t count; /* %nsmid: cudaDeviceProp.multiProcessorCount */
    uint32_t pad;
};

/* Likewise, for kernels made for AW_BLOCK_FULL that have barriers: `count` sets of AW_COUNTERS_BYTES, 0 at first, one of which a
 * block has from its beginning to its end; and behind them one that no block has, which stays 0. */
#define AW_COUNTERS_SYMBOL "aw_counters"
struct aw_counters {
    uint64_t sets;
    uint32_t count;
    uint32_t pad;
};
/* Words of a set: some block has it; threads of that block that have ended; five that say which block, the first 0 where nobody
 * asks; and what counts. */
enum { AW_COUNTERS_TAKEN, AW_COUNTERS_ENDED, AW_COUNTERS_OWNER, AW_COUNTERS_WORDS = AW_COUNTERS_OWNER + 5,
       AW_COUNTERS_BYTES = 512 };

struct aw_env {
    uint64_t buffer;    /* device address of the records, 8-aligned; 0: printf returns -1 */
    uint32_t capacity;  /* its bytes, below 2^31 */
    uint32_t used;      /* bytes asked for so far, also by those that did not fit: read min(used, capacity) */
    uint32_t dropped;   /* records that did not fit */
    uint32_t status;    /* enum aw_status of the first trap; 0 = none.  The wave that trapped has ended */
    uint64_t heap;      /* device address of struct aw_heap; 0: malloc returns NULL */
    uint32_t grid_workspace[2]; /* of cooperative kernels, which leave it fit for the next */
    uint32_t grid_first;        /* of a launch in parts: the first block in x of this one */
    uint32_t grid_blocks;       /* and how many the whole grid has in x */
};
/* Set in the hidden argument beside the address: the launch is cooperative. */
#define AW_ENV_COOPERATIVE 1u

/* A record begins 8-aligned.  Its size is written last: 0 means that its writer is not done, or was cut off. */
struct aw_env_record {
    uint32_t size;      /* bytes with this header, a multiple of 8 */
    uint32_t kind;      /* enum aw_env_kind */
};
enum aw_env_kind { AW_ENV_PRINTF = 1, AW_ENV_ASSERT = 2 };

/* Pointers are device addresses of NUL-terminated strings, also those of %s arguments. */
struct aw_env_printf {
    struct aw_env_record head;
    uint64_t format;
    unsigned char args[]; /* as CUDA's vprintf packs them: each at its natural alignment */
};
struct aw_env_assert {
    struct aw_env_record head;
    uint64_t message, file, function;
    uint32_t line, pad;
    uint32_t block[3], thread[3];
};

/* ---- The device heap: pages in a bitmap, small blocks in lists.  Lock-free: every lane calls for itself, and whichever wave is
 * held up, the others go on.
 *
 * Blocks of up to AW_HEAP_SMALL_MAX bytes are rounded up to a size class (16 << class).  Each class has a list of freed blocks,
 * whose first 4 bytes link them, and a page of which fresh blocks are cut.  The list's head holds a tag in its high half that
 * grows with every change, so that a block which was taken and freed again meanwhile is not mistaken.  Pages of small blocks stay
 * with their class.  Larger blocks are runs of whole pages, found in the bitmap and given back to it, so that neighbours unite by
 * themselves. */
enum { AW_HEAP_PAGE = 1024, AW_HEAP_CLASSES = 6, AW_HEAP_SMALL_MAX = 512 };
#define AW_HEAP_SMALL 0x80000000u

struct aw_heap_class {
    uint64_t free;      /* low half: 1 + (block's offset from `pages`) / 16, 0 = empty; high half: tag */
    uint64_t page;      /* low half: blocks cut of the page so far (may count beyond its end); high half: 1 + page number, 0 =
                         * none */
};

struct aw_heap {
    uint64_t pages;     /* device address of page 0; AW_HEAP_PAGE-aligned */
    uint64_t map;       /* of n_pages / 64 words, rounded up; bit set: taken.  Bits beyond the end are set */
    uint64_t kind;      /* of n_pages words of 4 bytes: what begins there.  0 nothing, AW_HEAP_SMALL | class, or a run's pages */
    uint32_t n_pages;   /* at most 2^26: addresses of blocks fit the classes' lists */
    uint32_t hint;      /* page where the next search begins */
    uint32_t wide_lock; /* 1 while a lane swaps 16 bytes, which cards cannot do at once */
    uint32_t pad;
    struct aw_heap_class classes[AW_HEAP_CLASSES];
};

#ifdef __cplusplus
}
#endif
#endif
