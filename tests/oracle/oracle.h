/* The oracle's contract with its references: what every row of the instruction table must compute.
 *
 * A row's `reference` column names a function here, oracle_ref_<name>; the table of them is made from ptx/tab/instr.def, so a row
 * that names a missing one does not link.  A reference is written from the manual's words, in plain C, for one combination of
 * types and modifiers at a time (`in`: ask it with in->types[] and ptx_has).  It never sees how the instruction was lowered.
 *
 * Values: an operand's slot is 512 bits, little-endian; the low bits hold a value of its type, the rest is zero.  A predicate is
 * 0 or 1.  A {vector} operand has its elements one after the other, each as wide as its type.  NaN results: write the canonical
 * one where PTX says which, and set `any_nan` where it only says "NaN".
 *
 * Memory: an [address] operand is both read and written.  Its src has the 32 bytes at the address before, its dst (prefilled with
 * the same, and after what stands before it in the instruction) the 32 bytes after: ld leaves them, st and red change them, atom
 * also gives d.  One that is no memory cell of the lane's own (cp.async, bulk copies, texture) has a test of its own in
 * special.c.
 *
 * Registers wider than the type (ld, st, cvt) are the oracle's affair: the reference writes a value of the type. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_ORACLE_H
#define AW_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "tab/form.h"

enum { ORACLE_OPERANDS = 8, ORACLE_LANES = 32 };

union oracle_value {
    uint8_t u8[64];
    uint16_t u16[32];
    uint32_t u32[16];
    uint64_t u64[8];
    int8_t s8[64];
    int16_t s16[32];
    int32_t s32[16];
    int64_t s64[8];
    float f32[16];
    double f64[8];
};

/* One lane of one execution.  `src` is filled by the oracle, in the order of the instruction's operands that are read, immediates
 * as well (an absent optional one is left out); `dst` by the reference, in the order of those written (d|p gives two). */
struct oracle_lane {
    union oracle_value src[ORACLE_OPERANDS];
    union oracle_value dst[ORACLE_OPERANDS];
    bool carry;       /* the condition code before; after, as the reference leaves it */
    bool any_nan;     /* every NaN in dst is as good as another */
    bool may_vanish;  /* the least normal f32 in dst may be 0 of its sign: less before rounding, and .ftz does not say when it
                       * looks */
    bool undefined;   /* the manual leaves the result open for these inputs: not compared */
    double abs_error; /* how far each float in dst may be off, beside what the row's ulp column allows; 0 as it comes.  For bounds
                       * that are absolute, or the section's own ("doc") */
};

/* One lane alone: rows without the trait `convergent`. */
typedef void oracle_lane_reference(const struct ptx_instr *in, struct oracle_lane *lane);
/* A warp: rows with it.  `active`: the lanes that execute the instruction; the others' dst must stay as they were. */
typedef void oracle_warp_reference(const struct ptx_instr *in, uint32_t active, struct oracle_lane lanes[ORACLE_LANES]);

/* Prototypes of all references that rows name: oracle_ref_<name>. */
#define ORACLE_LANE(name) oracle_lane_reference oracle_ref_##name;
#define ORACLE_WARP(name) oracle_warp_reference oracle_ref_##name;
#include "tab/refs.inc"
#undef ORACLE_LANE
#undef ORACLE_WARP

#endif
