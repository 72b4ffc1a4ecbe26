/* The simulated Radeon: what its parts share.
 *
 *   thunk/   stands for AMD's libhsakmt.so.1: topology, memory, events, queues and their packets, for an unmodified ROCr
 *   core/    memory map, code decoding (LLVM's disassembler), waves, scheduling of a kernel's blocks, statistics
 *   isa/     one table row per instruction, and what each does
 *   run.c    simgpu-run: one kernel of one code object, without any runtime
 *   hip/     stands for AMD's libamdhip64.so.6, for cards that ROCr 5.2 does not know
 *
 * Nothing here knows CUDA or anywarp.  thunk/ and hip/ call core/, core/ calls isa/, isa/ calls the services of core/ declared
 * here and in inst.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Cards (core/card.c) ---- */

struct sim_card {
    const char *name;                    /* "gfx1030", also LLVM's CPU */
    const char *marketing;
    uint8_t major, minor, stepping;
    uint16_t pci_id;
    bool wave32;                         /* RDNA: a kernel's descriptor chooses 32 or 64; else always 64 */
    bool packed_ids;                     /* work-item ids in v0, 10 bits each */
    bool agprs;                          /* accumulation registers a0..a255 */
    unsigned cus, simds_per_cu, waves_per_simd; /* a "CU" as ROCr counts them */
    unsigned vgprs_per_simd_lane;        /* registers of one lane of a SIMD, for wave32 on RDNA, wave64 otherwise */
    unsigned lds_bytes;                  /* of one CU */
};

/* By its gfx name; NULL when unknown. */
const struct sim_card *sim_card_find(const char *name);
/* The i-th card of the table, NULL past the end. */
const struct sim_card *sim_card_at(size_t i);

/* ---- Memory map (core/map.c): what the cards can reach.  Thread-safe. ---- */

/* Makes [gpu, gpu + size) of the cards' address space mean the memory at `host`, reachable from the nodes whose bits are set.
 * False when it would overlap or memory is short. */
bool sim_map_add(uint64_t gpu, void *host, size_t size, uint32_t nodes);
/* Changes who can reach the range that begins at `gpu`; false when there is none. */
bool sim_map_nodes(uint64_t gpu, uint32_t nodes);
/* Takes it away (also from every view); false when there is none. */
bool sim_map_remove(uint64_t gpu);

/* A remembered range, so that most look-ups are two comparisons.  Zero-initialised is empty.  One thread each. */
struct sim_view {
    uint64_t lo, hi;
    char *host;          /* of lo */
    uint64_t generation; /* of the map when it was looked up */
    uint32_t node;       /* set by the owner before use */
};
extern _Atomic uint64_t sim_map_generation;

bool sim_map_lookup(struct sim_view *view, uint64_t gpu); /* the slow path of sim_at */

/* Host address of `size` bytes at `gpu`, or NULL when not all of them are mapped for the view's node. */
static inline void *sim_at(struct sim_view *view, uint64_t gpu, size_t size)
{
    if (view->generation != sim_map_generation || gpu < view->lo || gpu >= view->hi)
        if (!sim_map_lookup(view, gpu))
            return NULL;
    return size <= view->hi - gpu ? view->host + (gpu - view->lo) : NULL;
}

/* One line on where `gpu` lies: in what, or how far behind or before which range. */
void sim_map_describe(uint64_t gpu, char *ret_text, size_t size);

/* ---- Kernels (core/dispatch.c) ---- */

/* The apertures of flat addresses. */
#define SIM_LDS_APERTURE 0x0001000000000000ull
#define SIM_SCRATCH_APERTURE 0x0002000000000000ull

struct sim_dispatch {
    const struct sim_card *card;
    uint32_t node;
    uint64_t descriptor;      /* address of the kernel descriptor */
    uint32_t grid[3];         /* work-items */
    uint16_t group[3];        /* work-items */
    uint32_t private_bytes;   /* of a lane */
    uint32_t group_bytes;     /* LDS of a block, static and dynamic */
    uint64_t kernarg, packet; /* addresses of the arguments and of the AQL packet; packet may be 0 */
    uint64_t queue;           /* address of the amd_queue_t, may be 0 */
    uint64_t id;              /* of the packet in its queue */
    const char *name;         /* for messages; NULL: found by sim_kernel_name */
    const void *object;       /* for messages: the kernel's code object as a file, loaded at object_base; NULL: asked of ROCr */
    size_t object_size;
    uint64_t object_base;
    bool counts;              /* lines and bank conflicts, which takes time; else only when ANYWARP_SIM_STATS asks for
                               * statistics */
};

enum sim_end { SIM_END_DONE, SIM_END_FAULT, SIM_END_ILLEGAL, SIM_END_TRAP, SIM_END_STUCK, SIM_END_BAD_PACKET, SIM_END_STOPPED };

struct sim_report {
    uint64_t pc;              /* of the instruction; 0: none */
    uint64_t address;         /* SIM_END_FAULT */
    unsigned trap;            /* SIM_END_TRAP: s_trap's number */
    char text[1280];          /* one line: what, kernel, instruction, where */
};

/* Runs a kernel to its end on the calling thread and the pool's; blocks in parallel.  `stop` is looked at now and then; may be
 * NULL.  The report is written unless the result is SIM_END_DONE. */
enum sim_end sim_dispatch_run(const struct sim_dispatch *dispatch, const _Atomic bool *stop, struct sim_report *ret_report);

/* What a kernel takes of a card. */
struct sim_shape {
    unsigned lanes;                   /* of a wave */
    unsigned vgprs, agprs;            /* allocated per lane */
    unsigned lds_bytes, private_bytes;
    unsigned waves_per_block;
    unsigned occupancy, occupancy_of; /* waves that fit a SIMD, of how many */
    uint64_t blocks, resident;        /* of the grid; how many fit the card at once */
};
/* False, with the report's text, when the descriptor or the packet makes no sense. */
bool sim_dispatch_shape(const struct sim_dispatch *dispatch, struct sim_shape *ret_shape, struct sim_report *ret_report);

/* sim_dispatch_run, which also says what was executed; `ret_stats` may be NULL. */
struct sim_stats;
enum sim_end sim_dispatch_count(const struct sim_dispatch *dispatch, const _Atomic bool *stop, struct sim_report *ret_report,
                                struct sim_stats *ret_stats);

/* The name of the kernel whose descriptor lies at `descriptor`, from the dynamic symbols of the code object loaded around it. */
void sim_kernel_name(uint32_t node, uint64_t descriptor, char *ret_name, size_t size);

/* Called, when set, on the wave's thread when it sends the interrupt message: `event` is the low 24 bits of M0, what it wrote to
 * the signal's mailbox before.  The thunk's (core/wave.c holds it). */
extern void (*sim_interrupt)(uint32_t node, uint32_t event);

/* ---- Statistics (core/stats.c) ---- */

/* Rows: name, text. */
#define SIM_CLASSES(X)                                                                                                  \
    X(VALU, "vector arithmetic") X(TRANS, "transcendental") X(F64, "double precision") X(LANES, "across lanes")        \
    X(MATRIX, "matrix") X(SALU, "scalar arithmetic") X(SMEM, "scalar memory") X(VMEM_LOAD, "vector loads")             \
    X(VMEM_STORE, "vector stores") X(VMEM_ATOMIC, "vector atomics") X(SCRATCH, "scratch") X(LDS, "LDS")                 \
    X(IMAGE, "image") X(BRANCH, "branches") X(BARRIER, "barriers") X(WAIT, "waits and hints") X(OTHER, "other")
enum sim_class {
#define X(name, text) SIM_##name,
    SIM_CLASSES(X)
#undef X
    SIM_CLASS_COUNT
};

/* Counts of a wave, a dispatch or a kernel's launches: plain sums unless said otherwise. */
struct sim_stats {
    uint64_t executed[SIM_CLASS_COUNT]; /* wave-instructions */
    uint64_t vector_lanes, vector_slots;/* lanes active / lanes there, over vector instructions: divergence */
    uint64_t loaded, stored;            /* bytes of vector memory, by active lanes */
    uint64_t lines;                     /* distinct 64-byte lines per instruction, summed: coalescing; counted when asked for */
    uint64_t scalar_loaded;             /* bytes */
    uint64_t lds_accesses, lds_conflicts; /* LDS instructions, and further passes they need by bank conflicts, counted when asked
                                           * for */
    uint64_t taken;                     /* branches taken */
    uint64_t waves, launches;
    uint64_t occupancy, occupancy_of;   /* waves that fit a SIMD, of how many; summed per launch */
    uint64_t nanoseconds;               /* of the simulation */
};

void sim_stats_add(struct sim_stats *to, const struct sim_stats *from);
/* Adds a launch to the kernel's entry (by name).  Thread-safe. */
void sim_stats_record(const char *kernel, const struct sim_stats *stats);
/* Prints all entries, as text, or as JSON lines when `json`, and closes `fd`. */
void sim_stats_print(int fd, bool json);

/* ---- Races (core/race.c) ---- */

/* How many were found so far, and one line that says so, when they are looked for. */
unsigned sim_race_count(void);
void sim_race_summary(void);

/* ---- A program's end (core/exit.c): the statistics and races that were asked for ---- */

void sim_exit_watch(void);  /* once, when the cards are opened: notes the program's status */
void sim_exit_report(void); /* when the library ends; ends the process with another status where races were found */

/* ---- Settings (core/settings.c): the environment, read once ---- */

struct sim_settings {
    const struct sim_card *cards[16];   /* ANYWARP_SIM=gfx1030[,gfx1030...]; default one gfx1030 */
    unsigned n_cards;
    unsigned threads;                   /* ANYWARP_SIM_THREADS; default the cores this process may use */
    const char *stats;                  /* ANYWARP_SIM_STATS: "1" to standard error, else a file (.json: JSON lines); NULL:
                                         * none */
    uint64_t vram;                      /* ANYWARP_SIM_MEMORY, bytes of each card; default 8 GiB */
    bool check_race;                    /* ANYWARP_SIM_CHECK=race */
    bool trace_thunk, trace_packets, trace_instructions; /* ANYWARP_SIM_TRACE=thunk,packets,instructions */
    char problem[200];                  /* what was wrong with them, "" when nothing; the thunk refuses to open then */
};
const struct sim_settings *sim_settings(void);

/* One line to standard error, "simgpu: ...". */
void sim_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
