/* The warp vectoriser: SIMT IR that says what one lane does in, IR that runs 32 lanes as vectors out.
 *
 * It takes structurised control flow (ptx/finish/host/host.c runs LLVM's passes for that) and knows of machines what its
 * options say.  Not an optimiser: what it emits is cleaned up by LLVM afterwards.  Thread-safe: all state is in the
 * arguments; the two modules share one LLVM context. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SIMT_VECTORISE_H
#define AW_PTX_SIMT_VECTORISE_H

#include "base/status.h"
#include "lower/simt.h"
#include "pass/pass.h"
#include "llvm_version.h"
#include <llvm-c/Target.h>

#define SIMT_ROWS "aw.rows" /* metadata of stack variables in SIMT IR, arrays of arrays of SIMT_VARIABLE_LANES integers, of each
                             * of which one lane uses the first alone: the others' lie behind it */
enum { SIMT_VARIABLE_LANES = 32 };
#define SIMT_LOCAL "aw.local" /* metadata of stack variables in the vector form that the program may overrun, for whoever gives
                               * them a place */

/* Calls in the vector form that look at an access before it is made, where options ask for checks (emit/check.c says what they
 * are); who finishes the code makes tests of them.  Their operands, of a row, also of shared memory's, and of lanes anywhere. */
#define SIMT_CHECK_ROW "aw.check.row"
#define SIMT_CHECK_SHARED "aw.check.shared"
#define SIMT_CHECK_LANES "aw.check.lanes"
enum {
    SIMT_ROW_BLOCK, SIMT_ROW_LOW, SIMT_ROW_TOTAL, SIMT_ROW_LANES, SIMT_ROW_THREAD, SIMT_ROW_WHAT, SIMT_ROW_SPAN, SIMT_ROW_OFFSETS
};
enum { SIMT_ANY_BLOCK, SIMT_ANY_TOTAL, SIMT_ANY_LANES, SIMT_ANY_THREAD, SIMT_ANY_WHAT, SIMT_ANY_ADDRESSES };
/* Likewise where options ask for races: an attribute of these functions, of which there is one for each of the operands'
 * types. */
#define SIMT_CHECK_RACE "aw-check-race"
bool simt_is_race_check(LLVMValueRef function);
enum {
    SIMT_RACE_BLOCK, SIMT_RACE_AT, SIMT_RACE_LANES, SIMT_RACE_THREAD, SIMT_RACE_WHAT, SIMT_RACE_OFFSETS,
    SIMT_RACE_VALUES /* of stores alone */
};

#define SIMT_DISPATCHED "aw-tangled" /* attribute of functions that are a loop over their blocks (ptx/finish/tangle.h) */

struct simt_options {
    const char *kernel;
    uint32_t block[3];      /* threads: this shape alone; x,0,0: rows of a multiple of x, in one form; 0,0,0: any, in the form
                             * that fits */
    uint32_t launched[3];   /* the shape that launches have, where `block` has it with indices changed (rewrite/lane_order.c) */
    uint32_t static_shared; /* bytes */
    uint32_t kernarg_size;  /* bytes */
    uint32_t local_bytes;   /* per thread, as the object reports it */
    bool fast_gather;       /* gathers and scatters of 32- and 64-bit elements are worth the machine's instruction */
    bool gathers;           /* gathers alone are; always with fast_gather */
    bool masks;             /* masked loads and stores of 32- and 64-bit elements are instructions; always with small_masks */
    bool small_masks;       /* masked loads and stores of 8- and 16-bit elements are instructions */
    bool ask_rows;          /* the processor does not follow rows by itself that blocks of a picture read in turn */
    bool masked_stores;     /* of 32- and 64-bit elements take not much longer than plain ones */
    uint32_t permute_bytes; /* of registers whose elements of 4 bytes one instruction brings into any order: 32 (AVX2), 64
                             * (AVX-512), or 0 */
    uint32_t permute_narrow[2]; /* the same of elements of 1 and of 2 bytes, by two instructions where it is 16 */
    /* Elements `at` of one or two such registers: vectors of i32 all, `at` below the number of elements.  Only asked where
     * permute_bytes is not 0. */
    LLVMValueRef (*permute)(LLVMBuilderRef b, LLVMValueRef *registers, int n, LLVMValueRef at);
    bool versions;          /* copies of divergent code for warps with no lane off: where masks cost */
    /* Code at the builder's place for a pure aw.* function that has arguments (lower/simt.def), all of them scalars or all
     * vectors of any number of lanes; constants that pick what it does stay scalars.  NULL where the machine has nothing for it;
     * itself NULL: it never has. */
    LLVMValueRef (*operation)(LLVMBuilderRef b, enum ptx_simt id, LLVMValueRef *args);
    int (*tidy)(LLVMModuleRef out, void *context); /* cleans up bodies before they are cut at barriers; enum aw_status.  NULL:
                                                    * nothing does */
    void *context;          /* tidy's */
    bool dispatched;        /* the kernel is a loop over its blocks, which only look like nested ones: no other form of it is of
                             * use */
    bool plain;             /* no form of which it is known only later whether it can be made: see `again` */
    bool checks;            /* accesses are looked at (emit/check.c) */
    bool races;             /* and those of shared memory for races: warps and blocks run one by one */
    bool count;             /* blocks of code are counted (emit/count.c) */
    bool debug;             /* a warp's body is a function by the kernel's name, and says which lanes run (emit/debug.c) */
    bool verify;            /* check the IR after every function */
    const struct ptx_pipeline *pipeline; /* says which of its steps (pass/pass.def: INNER) are taken; NULL: all */
};

/* An attribute of kernels: AW_HOST_MEET. */
#define SIMT_GRID_MEETS "aw-grid-meets"

struct simt_stats {
    bool barrier;           /* some barrier is reached: the object carries AW_HOST_BARRIER */
    bool yield;             /* some loop or sleep lets others run: AW_HOST_YIELD */
    uint32_t bodies;        /* vector functions made */
    bool again;             /* the form that was chosen could not be made: to be done again, `plain`, from a fresh `in` to a fresh
                             * `out` */
};

/* Scalar rewrites that must precede structurising, on a module still in SIMT form and free of switches: aggregates are taken
 * apart where they are made, no path ends in `unreachable`, no loop is endless.  AW_OK, or AW_ERR_NOT_SUPPORTED or
 * AW_ERR_OUT_OF_MEMORY with a line in `diags`. */
int simt_one_way(LLVMModuleRef module, struct aw_buf *diags);

/* Exchanges two indices of the kernel's threads, and of `options->block` with them, where lanes are neighbours in memory then;
 * before regions are taken apart, and only where the code makes no checks.  AW_OK, AW_ERR_NOT_SUPPORTED or AW_ERR_OUT_OF_MEMORY
 * with a line in `diags`. */
int simt_lane_order(LLVMModuleRef module, struct simt_options *options, struct aw_buf *diags);
/* Moves regions of the kernel that are better run lane by lane to functions of their own; before control flow is nested, whose
 * passes must not touch those (they have `optnone`).  AW_OK, AW_ERR_NOT_SUPPORTED or AW_ERR_OUT_OF_MEMORY with a line in
 * `diags`. */
int simt_serialise(LLVMModuleRef module, const struct simt_options *options, struct aw_buf *diags);
extern bool simt_jam_always;    /* tests: warps share instructions of a region wherever they can (unroll_jam.c) */
extern bool simt_serialise_always; /* tests: wherever it can be done, whatever it costs; set before anything is compiled */

/* Does some function have a loop with several entries? */
bool simt_irreducible(LLVMModuleRef module);
/* Gives every loop one entry.  No value may cross a block but through memory (run LLVM's reg2mem before, sroa after).
 * AW_OK, AW_ERR_OUT_OF_MEMORY. */
int simt_make_reducible(LLVMModuleRef module, struct aw_buf *diags);

/* Adds to `out` (empty, with the machine's data layout and triple) the vector form of `in`'s kernel and of the device functions
 * it calls, its loops over blocks and warps, and the object table `aw_host_object` whose stack_bytes and local_stack are left 0.
 * AW_OK, AW_ERR_NOT_SUPPORTED (with a line in `diags`) or AW_ERR_OUT_OF_MEMORY. */
int simt_vectorise(LLVMModuleRef in, LLVMModuleRef out, const struct simt_options *options, struct simt_stats *ret_stats,
                   struct aw_buf *diags);

/* What `aw_host_object` says (struct aw_host_object of anywarp/hostabi.h, where the units are). */
struct simt_object {
    const char *kernel;
    uint32_t flags, static_shared, kernarg_size, warps_per_call;
    const uint32_t *block; /* 3 */
    uint32_t local_bytes;
    LLVMValueRef blocks;   /* or NULL */
    LLVMValueRef warp;
};
/* Adds the table to `m`, with stack_bytes and local_stack 0. */
void simt_object_emit(LLVMModuleRef m, const struct simt_object *object);

#endif
