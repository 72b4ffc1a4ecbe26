/* The table of forms that tools/gen/sass.py makes of ptx/tab/sass.def, as decoder and listing read it, and who makes
 * instructions at random.  Nobody else includes it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SASS_FORM_H
#define AW_PTX_SASS_FORM_H

#include "sass/insn.h"

/* A field of bits in up to two runs; the first is the low one. */
enum { SASS_REGS_OF = 128 }; /* in `regs`: as many as the modifier behind it says */

enum {
    SASS_SIGNED = 1,       /* sign-extended */
    SASS_INVERT = 2,       /* the negating bit inverts */
    SASS_INVERT_X = 4,     /* it inverts where .X is set */
    SASS_HIDE = 8,         /* not printed when it is the default */
    SASS_ONLY_X = 16,      /* only printed with .X */
    SASS_ONLY_EX = 32,
    SASS_HIGH = 64,        /* an immediate is the high half of a double */
    SASS_FP16 = 128,       /* an operand of two halves */
    SASS_INDEX_REG = 256,  /* of constants: register in 24 to 31 */
    SASS_INDEX_UREG = 512,
    SASS_HANDLE = 2048,    /* of constants: found through a uniform register */
    SASS_FLOAT = 4096,     /* an immediate is a float */
    SASS_FAR = 8192,       /* of memory: the offset is 32 to 63 */
};

struct sass_operand_desc {
    uint8_t slot, kind;
    uint8_t at[2], n[2];
    uint8_t neg, abs, half; /* bits, 0 = none */
    uint8_t regs;           /* 1, 2, 4; or SASS_REGS_OF + enum sass_field */
    uint8_t ureg_at, ureg_n; /* of memory: uniform register */
    uint8_t wide;           /* of memory: bit that says that the base has 64 bits; 0: bit 72 if the form has .E */
    uint8_t desc;           /* of memory: bit that says that the uniform register is a descriptor and no part of the address */
    uint16_t flags;
    const char *text;       /* fixed text instead */
};

struct sass_modifier_desc {
    uint8_t field;
    uint8_t at[2], n[2];
    const uint8_t *values; /* by bits: enum value, + 128 when it is not printed, 0 = no value; NULL: a flag */
    uint8_t usual;         /* what it is when nothing is meant; 255: any may mean something */
    const char *text;      /* fixed text instead */
};

struct sass_form {
    uint16_t key; /* bits 0 to 11, and bit 91 as bit 12 */
    uint16_t op;
    uint8_t first, last; /* architectures */
    uint8_t n_operands, n_modifiers, n_conds;
    struct {
        uint8_t at, n, value;
    } conds[3];
    const struct sass_operand_desc *operands;
    const struct sass_modifier_desc *modifiers;
    struct sass_looked has;     /* what modifiers and operands it has */
    uint64_t rest[2], usual[2]; /* bits that no field has (scheduling aside), and what they are in code that means nothing by
                                 * them */
};

extern const struct sass_form sass_forms[]; /* by key; rows with conditions first */
extern const unsigned sass_forms_n;
enum { SASS_KEYS = 1 << 13 };
extern const uint16_t sass_first_forms[SASS_KEYS]; /* by key: 1 + the first of its forms, which lie side by side; 0: none */
extern const char *const sass_op_names[], *const sass_op_meanings[], *const sass_field_names[], *const sass_sreg_names[256];
extern const char *const *const sass_value_names[];
extern const uint8_t *const sass_value_regs[]; /* by field, of sizes, types and numbers: how many registers each value takes */

#endif
