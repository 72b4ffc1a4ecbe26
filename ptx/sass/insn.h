/* One decoded instruction, as ptx/tab/sass.def describes it; and the decoder.  Only what the bits say: no meaning, no control
 * flow. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SASS_INSN_H
#define AW_PTX_SASS_INSN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Made from ptx/tab/sass.def by tools/gen/sass.py: enum sass_op (SASS_IADD3 …: a mnemonic each), enum sass_field (SASS_F_CMP,
 * SASS_F_X …: modifiers), for each field that is no flag the enum of its values, from 1 (SASS_CMP_GE, SASS_SIZE_64 …), and enum
 * sass_sreg (SASS_SR_TID_X …). */
#include "tab/sass.inc"

#define SASS_INSN_SIZE 16u /* bytes */

enum sass_kind {
    SASS_NONE,   /* the form has no such operand */
    SASS_REG,    /* R`reg`; SASS_RZ reads as 0 and drops what is written */
    SASS_UREG,   /* UR`reg` */
    SASS_PRED,   /* P`reg`; SASS_PT reads as true and drops what is written.  `inv`: negated */
    SASS_UPRED,  /* UP`reg` */
    SASS_IMM,    /* `value`: the field's bits, zero-extended; signed fields (the table's `simm`) sign-extended; of f64 the whole
                  * double */
    SASS_CONST,  /* c[`bank`][`value` + R`reg` + UR`ureg`], in bytes; `handle`: cx[UR`ureg`][`value`] */
    SASS_MEM,    /* [R`reg` (+ UR`ureg`) + `value`], signed bytes; `reg` and `ureg` may be SASS_RZ; `regs` 2: 64-bit base, 1: 32
                  * bits, zero-extended where `uregs` is 2; of shared memory mod[SASS_F_SCALE] says that the register counts
                  * elements of 4, 8 or 16 bytes */
    SASS_TARGET, /* `value`: byte offset from the code's begin (of CALL.ABS and JMP absolute: as it stands) */
    SASS_SREG,   /* special register `value`: enum sass_sreg (others may occur) */
    SASS_BARRIER, /* convergence barrier B`reg`; SASS_MACTIVE: the active lanes */
    SASS_SCOREBOARD, /* SB`reg` */
};

enum { SASS_RZ = 255, SASS_PT = 7, SASS_MACTIVE = 26 }; /* URZ is read as SASS_RZ, UPT as SASS_PT */

/* Sixteen bytes: kernels have hundreds of thousands of them. */
struct sass_operand {
    uint8_t kind;        /* enum sass_kind */
    uint8_t slot;        /* enum sass_slot: its place */
    uint8_t reg;
    uint8_t regs;        /* how many consecutive 32-bit registers from `reg` on: 1, 2, 3, 4 (or of constants and immediates:
                          * 32-bit words) */
    uint8_t ureg;        /* MEM, CONST: SASS_RZ = none; `uregs` of them */
    uint8_t bank;        /* CONST */
    uint8_t uregs : 2;
    uint8_t half : 2;    /* of packed f16 (and I2F, F2F): enum sass_half */
    bool neg : 1, abs : 1, inv : 1; /* -x; |x| (taken before neg); ~x or !p */
    bool handle : 1;     /* CONST: `ureg` holds the bank's handle */
    int64_t value;
};

/* Which halves of a packed f16 operand are read; SASS_HALF_BOTH for all others. */
enum sass_half { SASS_HALF_BOTH /* .H1_H0 */, SASS_HALF_F32 /* .F32 */, SASS_HALF_LOW /* .H0_H0 */, SASS_HALF_HIGH /* .H1_H1 */ };
/* The same of F2F, F2I, FRND and MUFU, which take one f16. */
enum { SASS_ONE_LOW = 0, SASS_ONE_HIGH = 1 /* .H1 */ };

/* The places of operands: the same for every instruction, so that insn->op[SASS_A] is the first source. */
enum sass_slot {
    SASS_D, /* destination */
    SASS_P, /* first predicate written */
    SASS_Q, /* second predicate written */
    SASS_A, /* sources, in the order of the formula (whatever form the bits have: the decoder has sorted b and c) */
    SASS_B,
    SASS_C,
    SASS_S, /* predicate read (select's condition, carry, combined with a comparison): bits 87 to 90 */
    SASS_T, /* second predicate read: bits 77 to 80 */
    SASS_U, /* third predicate read: bits 68 to 71 */
    SASS_M, /* memory address */
    SASS_M2, /* LDGSTS: where in shared memory */
    SASS_UN, /* uniform register that names lanes (BRA.DIV, BRA.CONV) */
    SASS_J, /* code target */
    SASS_K, /* convergence barrier */
    SASS_K2,
    SASS_L, /* immediate that is no source: logic table, lane mask, scoreboard, … (the row's meaning says) */
    SASS_L2,
    SASS_D2, /* second destination of textures: registers of the third and fourth component */
    SASS_H, /* a texture's or surface's handle in a constant bank, 8 bytes */
    SASS_SLOTS
};

struct sass_insn {
    uint32_t offset;          /* in the code, bytes */
    uint16_t op;              /* enum sass_op */
    uint16_t form;            /* row of the expanded table: sass_form_name */
    uint8_t guard;            /* predicate; SASS_PT = always */
    bool guard_inv;           /* @!P */
    uint8_t undecoded;        /* of a kernel that is lifted: why nothing else is known of it, enum sass_decoded */
    bool guard_uniform;       /* the guard is UP`guard`: instructions of the uniform datapath */
    struct sass_operand opnd[SASS_SLOTS];
    uint8_t mod[SASS_FIELDS]; /* by enum sass_field: the value's enum, 1 for a flag that is set; 0 = one that is not, or none */
};

/* Which modifiers and operands someone has looked at. */
struct sass_looked {
    uint64_t fields[(SASS_FIELDS + 63) / 64]; /* bit enum sass_field */
    uint32_t slots;                           /* bit enum sass_slot */
};

static inline void sass_look_at_field(struct sass_looked *looked, unsigned field)
{
    looked->fields[field / 64] |= 1ull << field % 64;
}

static inline bool sass_has_looked(const struct sass_looked *looked, unsigned field)
{
    return looked->fields[field / 64] >> field % 64 & 1;
}

/* A modifier or operand that is not what it is when nothing is meant, and that nobody has looked at: its name, static; NULL when
 * there is none. */
const char *sass_overlooked(const struct sass_insn *insn, const struct sass_looked *looked);

enum sass_decoded {
    SASS_DECODED,
    SASS_UNKNOWN_OPCODE,   /* no row of the table has this key */
    SASS_UNKNOWN_MODIFIER, /* a row has it, but one of its fields has a value that the table does not name; insn->op is set */
    SASS_UNKNOWN_BITS,     /* bits that no field of the row has are not what they always are */
};

/* Decodes the 16 bytes at `bytes` for architecture `arch` (75, 80, …).  *ret_insn must be all zero before. */
enum sass_decoded sass_decode(const uint8_t bytes[SASS_INSN_SIZE], uint32_t offset, unsigned arch, struct sass_insn *ret_insn);

/* Appends "@!P0 IADD3.X R2, P1, PT, R4, c[0x0][0x160], RZ, P0, !PT", without newline. */
void sass_print(const struct sass_insn *insn, struct aw_buf *out);

const char *sass_op_name(enum sass_op op);      /* "IADD3"; static */
const char *sass_op_meaning(enum sass_op op);   /* the table's sentence; static */
const char *sass_sreg_name(unsigned sreg);      /* "SR_TID.X"; NULL for a number that the table does not know */

#endif
