/* The binary interface between code that the host finisher generates and the host device that runs it.
 *
 * A host code object is an x86-64 shared object without dependencies: it reaches the runtime only through the tables
 * here, so that it can be loaded with no symbol resolution.  Each exports `aw_host_object` (struct aw_host_object).
 * Generated code knows the offsets below (ptx/finish/host/host.c reads them with offsetof from this header). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANYWARP_HOSTABI_H
#define ANYWARP_HOSTABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AW_HOST_ABI 6u
#define AW_HOST_OBJECT_SYMBOL "aw_host_object"

/* Of code that is made with check-memory: a byte for each eight of memory at AW_SHADOW_BASE + address / 8, of the low
 * AW_SHADOW_ADDRESS_BITS bits of the address.  0: all eight may be accessed; 1 to 7: so many, the first ones; else none. */
#define AW_SHADOW_BASE 0x200000000000ull /* where neither programs nor the sanitizers have anything */
#define AW_SHADOW_ADDRESS_BITS 47
/* Of code that is made with check-init: likewise, a bit for each byte, the lowest for the first one; 1: it was never written.
 * Behind each of the two there is a page more: code reads up to 64 bytes at once. */
#define AW_UNWRITTEN_BASE (AW_SHADOW_BASE + (1ull << (AW_SHADOW_ADDRESS_BITS - 3)) + (1ull << 21))

struct aw_host_block;

/* What lanes come to, in code that is made with check-sync: what waits for others; WARP is a `bar.warp.sync`. */
enum aw_host_sync {
    AW_HOST_SYNC_END, /* the kernel's */
    AW_HOST_SYNC_BARRIER, AW_HOST_SYNC_BARRIER_APART, AW_HOST_SYNC_ARRIVE,
    AW_HOST_SYNC_WARP, AW_HOST_SYNC_SHFL_UP, AW_HOST_SYNC_SHFL_DOWN, AW_HOST_SYNC_SHFL_XOR, AW_HOST_SYNC_SHFL,
    AW_HOST_SYNC_BALLOT,
    AW_HOST_SYNC_ANY, AW_HOST_SYNC_ALL, AW_HOST_SYNC_UNI, AW_HOST_SYNC_MATCH_ALL, AW_HOST_SYNC_MATCH_ANY, AW_HOST_SYNC_REDUCE,
    AW_HOST_SYNC_ELECT, AW_HOST_SYNC_COUNT,
    AW_HOST_SYNC_AGAIN = 0x100 /* added where it is in a loop */
};

/* What an access is, of code that is made with check-accesses: bytes, the binary logarithm of what its address is a multiple of,
 * and more.  Code looks at AW_HOST_ACCESS_SPAN bytes at once, at most. */
enum {
    AW_HOST_ACCESS_SIZE = 0xff, AW_HOST_ACCESS_ALIGN = 8, /* a shift, of three bits */
    AW_HOST_ACCESS_READ = 1 << 12, AW_HOST_ACCESS_WRITE = 1 << 13, AW_HOST_ACCESS_SHARED = 1 << 14,
    AW_HOST_ACCESS_STRONG = 1 << 15, /* atomic or volatile */
    AW_HOST_ACCESS_SPAN = 512
};

/* Of code that is made with check-race: what a block's threads have done to shared memory, at block->race.  A cell tells of so
 * many bytes that no access of the kernel is smaller (`grain` of struct aw_host_race_sites): who has accessed them, where in
 * the code, and when, by a clock that events move on (enum aw_host_order):
 *
 *     bits 31..22   when; cells of earlier than `floor` say nothing any more
 *     bit  21       atomic or volatile
 *     bits 20..10   which place of the kernel's code (struct aw_host_race_sites)
 *     bits  9..0    thread
 *
 * There are three of them: of the last write, of a read, and of a later read by another thread than that one.  They lie
 * AW_HOST_RACE_STRIDE bytes apart, from AW_HOST_RACE_CELLS on. */
struct aw_host_race {
    uint32_t now, floor;             /* the clock; what comes before `floor` comes before all that is done now.  Shifted */
    uint32_t order[32];              /* of each warp: what its lanes did before that comes before what they do now */
};
enum {
    AW_HOST_RACE_WHEN = 22, AW_HOST_RACE_STRONG = 1 << 21, AW_HOST_RACE_PLACE = 10, AW_HOST_RACE_PLACES = 1 << 11,
    AW_HOST_RACE_THREAD = 0x3ff, AW_HOST_RACE_WARP = 0x3e0,
    AW_HOST_RACE_CELLS = 1 << 16,    /* code may also read, and write back, up to 32 KiB before */
    AW_HOST_RACE_STRIDE = (1 << 20) + 1344
};

/* A kernel's own: which places of its code have made accesses, in the order in which they first did. */
struct aw_host_race_sites {
    uint32_t grain;                  /* the binary logarithm of a cell's bytes */
    uint32_t n;
    const char *names;               /* lines: where in shared memory a variable begins, its bytes (0: dynamic), its name */
    const void *pc[AW_HOST_RACE_PLACES]; /* return addresses; 0 is none, and all that come too late are the last */
    uint8_t looks[AW_HOST_RACE_PLACES];  /* 1: a plain read of what the thread itself then updates by an atomic */
};

enum aw_host_order {
    AW_HOST_ORDER_BEGIN, /* a warp begins the kernel */
    AW_HOST_ORDER_WARP,  /* lanes of it have met */
    AW_HOST_ORDER_FENCE  /* it orders its accesses for others, and theirs for itself */
};

/* One lane of quick code, which begins as a block does: so functions read of it what others read of the block. */
struct aw_host_lane;
typedef void aw_host_lane_fn(struct aw_host_lane *lane);

/* What quick code says of a place where lanes come to an operation of their warp, in words; then the number of each loop around
 * it, the outermost first, as `rounds` in struct aw_host_lane has their rounds. */
enum aw_host_site {
    AW_HOST_SITE_NUMBER,         /* in the order of the program, each loop's in one piece */
    AW_HOST_SITE_OP,             /* enum aw_host_lane_op */
    AW_HOST_SITE_FLAGS,
    AW_HOST_SITE_LOOPS,          /* how many follow */
    AW_HOST_SITE_WORDS,
    AW_HOST_SITE_MEMBERS = 1,    /* flags: it waits for the lanes of its mask wherever they are */
    AW_HOST_SITE_UNALIGNED = 2   /* a barrier that lanes may come to at several places */
};
#define AW_HOST_LANE_LOOPS 64    /* loops with such places around each other, at most */

/* PTX ISA 9.0 §9.7.13; the operands are those of the aw.* functions of SIMT IR, in order, but for the mask: of a reducing barrier
 * the predicate is bit 32 of the third, beside the operation; of an assertion the line is in place of the mask. */
enum aw_host_lane_op {
    AW_HOST_LANE_BARRIER, AW_HOST_LANE_BARRIER_ARRIVE, AW_HOST_LANE_BARRIER_REDUCE, AW_HOST_LANE_STEP, AW_HOST_LANE_WARPSYNC,
    AW_HOST_LANE_SHFL_UP, AW_HOST_LANE_SHFL_DOWN, AW_HOST_LANE_SHFL_BFLY, AW_HOST_LANE_SHFL_IDX, AW_HOST_LANE_BALLOT,
    AW_HOST_LANE_ANY, AW_HOST_LANE_ALL, AW_HOST_LANE_UNI, AW_HOST_LANE_ACTIVEMASK, AW_HOST_LANE_MATCH_ANY, AW_HOST_LANE_MATCH_ALL,
    AW_HOST_LANE_ADD, AW_HOST_LANE_MIN, AW_HOST_LANE_MAX, AW_HOST_LANE_UMIN, AW_HOST_LANE_UMAX, AW_HOST_LANE_AND,
    AW_HOST_LANE_OR, AW_HOST_LANE_XOR, AW_HOST_LANE_ELECT, AW_HOST_LANE_LOWEST, AW_HOST_LANE_PRINTF, AW_HOST_LANE_ASSERT
};

/* Services of the runtime, called by generated code.  None returns when it ends the block. */
struct aw_host_services {
    /* Block barrier `id` for all warps, or for `threads` threads when nonzero: switches to another warp's context and
     * returns when the barrier is complete.  Only kernels flagged AW_HOST_BARRIER may call it. */
    void (*barrier)(struct aw_host_block *block, uint32_t id, uint32_t threads);
    /* As barrier, and combines: op 0 popc, 1 and, 2 or over the `lanes` whose predicate bit is set; returns the result. */
    uint32_t (*barrier_reduce)(struct aw_host_block *block, uint32_t id, uint32_t threads, uint32_t op,
                               uint32_t active, uint32_t predicate);
    /* Lets other warps and blocks progress: spin loops, nanosleep. */
    void (*yield)(struct aw_host_block *block);
    /* Formats one lane's printf as CUDA does; returns the number of arguments, -1 on error.  `args` is the packed buffer. */
    int32_t (*vprintf)(struct aw_host_block *block, const char *format, const void *args);
    /* Prints one lane's assertion as CUDA does and ends the kernel with AW_ERR_ASSERT.  Returns while `more` is not 0: other
     * lanes of the warp have failed at the same place, and are to be told as well. */
    void (*assert_fail)(struct aw_host_block *block, const char *message, const char *file, uint32_t line,
                        const char *function, uint32_t thread_linear, uint32_t more);
    /* Ends the kernel with `status` (enum aw_status); `what` is a static string in the object ("trap", ...).  No return. */
    void (*trap)(struct aw_host_block *block, uint32_t status, const char *what);
    void *(*malloc)(struct aw_host_block *block, uint64_t size);
    void (*free)(struct aw_host_block *block, void *ptr);
    uint64_t (*globaltimer)(void); /* nanoseconds */
    /* This warp counts as arrived at barrier `id` of `threads` threads (never 0) and goes on: bar.arrive.  Only kernels flagged
     * AW_HOST_BARRIER may call it. */
    void (*barrier_arrive)(struct aw_host_block *block, uint32_t id, uint32_t threads);
    /* Two channels of a texel of the compressed block at `address`, as floats, the first in the low half: `which` is the texel, 0
     * to 15 by rows, plus 16 for the third and fourth channel; `descriptor` the address of the texture's struct aw_texture.
     * Nothing is written. */
    uint64_t (*block_texel)(struct aw_host_block *block, uint64_t address, uint32_t which, uint64_t descriptor);
    /* Of code made with check-sync: `lanes` of a warp come to `what` (enum aw_host_sync).  `masks` has 32 elements: each lane's
     * member mask, or the barrier's number; `threads` is the barrier's count, or 0;
     * of an end, 1: all lanes come to this one that have not ended on a branch before. */
    void (*check_sync)(struct aw_host_block *block, uint32_t what, uint32_t warp, uint32_t lanes, const uint32_t *masks,
                       uint32_t threads);
    /* Of code made with check-accesses: `lanes` of a vector, whose first is the block's thread `thread`, are about to make the
     * access `what` at `addresses`, each lane its own; in shared memory these are offsets.  Returns where all may. */
    void (*check_access)(struct aw_host_block *block, const uint64_t *addresses, uint32_t lanes, uint32_t thread, uint32_t what);
    /* Of code made with check-race: `lanes` make the access `what` to shared memory, as above, of `values` where it is a store:
     * each lane's, one behind the other.  Generic addresses may lead elsewhere.  `site` is the place's number, shifted, 0 at
     * first. */
    void (*check_race)(struct aw_host_block *block, struct aw_host_race_sites *sites, uint32_t *site, const uint64_t *addresses,
                       uint32_t lanes, uint32_t thread, uint32_t what, const void *values);
    void (*check_order)(struct aw_host_block *block, uint32_t what, uint32_t warp); /* enum aw_host_order */
    /* Of code that counts, with barriers: a warp begins. */
    void (*count_warp)(struct aw_host_block *block);
    /* ---- Of quick code, whose function `lane` is what one lane does (struct aw_host_lane).
     * All threads of the blocks first .. first+count-1, one after another. */
    void (*lanes_blocks)(struct aw_host_block *block, uint64_t first, uint64_t count, aw_host_lane_fn *lane);
    /* The lanes of a warp of the block in *block, each on a stack of its own, to their ends. */
    void (*lanes_warp)(struct aw_host_block *block, uint32_t warp, aw_host_lane_fn *lane);
    /* A lane comes to an operation of its warp: `site` tells which (enum aw_host_site), `mask` is its member mask, 0: it has
     * none.  Returns when it has been carried out; a predicate that belongs to the result is in bit 32. */
    uint64_t (*lane_op)(struct aw_host_lane *lane, const uint32_t *site, uint32_t mask, uint64_t a, uint64_t b, uint64_t c);
    /* A lane is in a loop that may wait for others. */
    void (*lane_yield)(struct aw_host_lane *lane);
    /* ---- Lets the other warps of the block that can go on do so, up to where they wait or call this, and returns.  Of kernels
     * flagged AW_HOST_BARRIER. */
    void (*turn)(struct aw_host_block *block);
};

/* One launch, constant while it runs. */
struct aw_host_launch {
    uint32_t grid[3], block[3];
    uint32_t warps;              /* per block, ceil(threads / 32) */
    uint32_t threads;            /* per block */
    uint32_t dynamic_shared;     /* bytes */
    uint32_t total_shared;       /* static + dynamic */
    uint64_t grid_id;
    const char *kernarg;         /* packed parameters, then hidden ones (docs/architecture.md, "Kernel arguments") */
    const struct aw_host_services *services;
    void *runtime;               /* the host device's own */
    uint64_t grid_workspace;     /* address of 8 bytes that were zero at launch, for a barrier of the grid; 0: not cooperative */
    uint32_t group;              /* neighbouring blocks whose warps may run in turn, at most; at least 1.  What suits this
                                  * machine's caches */
    uint32_t pad;
};

/* One block in execution, on one worker thread.  The runtime embeds this at the head of a larger struct. */
struct aw_host_block {
    const struct aw_host_launch *launch;
    char *shared;                /* base of the block's shared window; window offset 0.  64-byte aligned */
    uint32_t ctaid[3];
    uint32_t worker;             /* index of the worker thread: %smid */
    uint32_t warp;               /* index of the warp that runs now: set before each entry and each switch */
    uint32_t lanes;              /* of code made for a debugger: those that run now, as bits; else not set */
    /* Where a function's part of its warp's local memory begins, downwards, when it is entered: set before each entry, and by
     * generated code before calls; a multiple of AW_HOST_LOCAL_ALIGN.  Not kept over switches.  At an entry the area's
     * `local_size` bytes end there. */
    char *local;
    uint64_t local_size;
    struct aw_host_race *race;   /* NULL: nobody asks, or the block has no shared memory */
    uint64_t *counts;            /* of code that counts; else not set */
};

#define AW_HOST_LOCAL_ALIGN 128

/* A lane of quick code.  `own` is its block's, but for `local` and `local_size`, which are of the lane alone. */
struct aw_host_lane {
    struct aw_host_block own;
    struct aw_host_block *block;
    const char *kernarg;
    char *local_base;            /* the lowest address of its local memory */
    uint32_t tid[3], lane;
    uint32_t rounds[AW_HOST_LANE_LOOPS]; /* how often it has come to a loop's head since it came to the loop; by depth */
};

/* Of code that counts (target host:...,+count), the exported constant `aw_host_counts`.  Each block of code has a counter of two
 * words, how often it was run by a warp and by how many lanes together; `counts` of struct aw_host_block has them all, and is the
 * worker's own.  A row says what that means: so many instructions of a line each time, or so many bytes of each lane. */
#define AW_HOST_COUNTS_SYMBOL "aw_host_counts"
enum aw_host_counted {
    AW_HOST_COUNTED_INSTRUCTIONS,    /* as the compiler has them, not a card */
    AW_HOST_COUNTED_LOAD, AW_HOST_COUNTED_STORE,               /* bytes of global memory */
    AW_HOST_COUNTED_SHARED_LOAD, AW_HOST_COUNTED_SHARED_STORE, /* of shared memory */
    AW_HOST_COUNTED_KINDS
};
struct aw_host_counted_row {
    uint32_t counter, what;          /* enum aw_host_counted */
    uint32_t amount, line;           /* line 0: of none */
    uint64_t file;                   /* its name's distance from the first row, in bytes; 0: of none */
};
struct aw_host_counts {
    uint32_t n_counters, n_rows;
    const struct aw_host_counted_row *rows;
};

enum {
    AW_HOST_BARRIER = 1,         /* must be started through `warp`, on contexts; else through `blocks` */
    AW_HOST_YIELD = 2,           /* calls yield somewhere: started through `warp` too, so that each warp can progress alone */
    AW_HOST_ATOMIC = 4,          /* updates what other blocks may update, by atomics: workers may disturb each other */
    AW_HOST_MEET = 8,            /* blocks meet where they first yield: none goes on from there before all have come, of those
                                  * that there is room for.  Beside AW_HOST_YIELD */
};

/* Runs the blocks first .. first+count-1 (linear, x fastest) one after another; sets block->ctaid and block->warp.
 * Precondition: no barrier in the kernel.  */
typedef void aw_host_blocks_fn(struct aw_host_block *block, uint64_t first, uint64_t count);
/* Runs `warps_per_call` consecutive warps, beginning with warp `warp`, of the block in *block, from entry to return.  */
typedef void aw_host_warp_fn(struct aw_host_block *block, uint32_t warp);

struct aw_host_object {
    uint32_t abi;                /* AW_HOST_ABI */
    uint32_t flags;
    uint32_t static_shared;      /* bytes; dynamic shared memory begins at this offset rounded up to 16 */
    uint32_t stack_bytes;        /* a warp context's stack must have at least this */
    uint32_t kernarg_size;       /* with hidden ones */
    uint32_t warps_per_call;     /* 1, 2..4 where one vector holds several warps, or 32: a call runs all warps of the block */
    uint32_t block[3];           /* for this shape alone; x,0,0: for rows of a multiple of x; 0,0,0: any */
    uint32_t local_bytes;        /* per thread, as attribute */
    aw_host_blocks_fn *blocks;   /* NULL when AW_HOST_BARRIER */
    aw_host_warp_fn *warp;
    const char *name;            /* kernel */
    uint32_t local_stack;        /* bytes of local memory that a call of `blocks` or `warp` must have */
    uint32_t pad;
};

/* For debuggers: the exported variable `aw_host_debugger`.  A worker at `workers` + i * `worker_size` whose `thread_id` (the
 * system's, 4 bytes) is that of a thread runs kernels on it; `running`, where it is not NULL, points to a struct aw_host_block,
 * and that to the rest: the launch, the block's index, the warp, and in code made for a debugger the lanes.  `op` leads from
 * there, and `name` on from what lies there, to the kernel's name.  The last four are offsets in bytes. */
#define AW_HOST_DEBUGGER 1u
struct aw_host_debugger {
    uint32_t version;            /* AW_HOST_DEBUGGER */
    uint32_t n_workers;
    const void *workers;         /* NULL: none yet */
    uint32_t worker_size;        /* bytes */
    uint32_t thread_id, running; /* in a worker */
    uint32_t op;                 /* in what `running` points to: a pointer */
    uint32_t name;               /* in what `op` points to: a pointer to text */
    uint32_t pad;
};
extern struct aw_host_debugger aw_host_debugger;

#ifdef __cplusplus
}
#endif
#endif
