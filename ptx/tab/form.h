/* The instruction table: one row (struct ptx_form) per instruction form, made at build time from tab/instr.def by
 * tools/gen/instr.py.  Static, immutable, thread-safe.
 *
 * A row's syntax column is written as the PTX manual writes it.  Groups of modifiers follow in order:
 *   .a         required            {.a}        optional
 *   .{a,b}     one of, required    {.{a,b}}    one of, optional
 *   .@set      one of a named set  (defined at the top of instr.def: int, cmpf, ...); {.@set} optional
 * Type groups are numbered from 0 as they appear; operands refer to them.  Modifiers of an instruction match groups in any
 * order, but types (and state spaces, where there are two) in theirs.  instr.def's head explains every column. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_TAB_FORM_H
#define AW_PTX_TAB_FORM_H

#include "syntax/ast.h"

/* Every modifier that is neither type, plain state space nor vector width; generated from all rows: PTX_MOD_RN for ".rn",
 * PTX_MOD_SHARED__CTA for ".shared::cta" (which sets the state space as well). */
enum ptx_mod {
#define PTX_MOD(id, spelling) PTX_MOD_##id,
#include "tab/mods.inc"
#undef PTX_MOD
    PTX_MOD_COUNT
};
_Static_assert(PTX_MOD_COUNT <= 255, "struct ptx_instr's flags hold 256, struct ptx_group's alternatives 255");

/* The lowerings that rows name, in order of first use: PTX_LOWER_ADD for "add".  Rows hold this number and not a function, so
 * that the front (syntax, module, tab) links without LLVM.  ptx/lower expands the same list to get from number to function:
 *     #define PTX_LOWERING(id, name) [PTX_LOWER_##id] = ptx_lower_##name,
 *     #include "tab/lowerings.inc"
 */
enum ptx_lowering {
#define PTX_LOWERING(id, name) PTX_LOWER_##id,
#include "tab/lowerings.inc"
#undef PTX_LOWERING
    PTX_LOWERING_COUNT
};

static inline bool ptx_has(const struct ptx_instr *in, enum ptx_mod mod)
{
    return in->flags[mod / 64] >> (mod % 64) & 1;
}

/* One group of alternatives in a row's syntax. */
enum ptx_group_kind { PTX_GROUP_TYPE, PTX_GROUP_SPACE, PTX_GROUP_VEC, PTX_GROUP_MOD };
struct ptx_group {
    enum ptx_group_kind kind;
    bool optional;
    uint16_t n;
    const uint16_t *alternatives; /* enum ptx_type; 2/4/8; enum ptx_mod; or a space, see below */
};

/* A SPACE alternative: enum ptx_space, and for ".shared::cta" and its like 256 * (1 + enum ptx_mod) on top. */
#define PTX_ALT_SPACE(alternative) ((enum ptx_space)((alternative)&255))

/* One operand of a row, from a token such as "d0", "s1", "s.u32", "m", "p?". */
enum ptx_shape_kind {
    PTX_SHAPE_DST,      /* d: register written (or _ where sink is allowed) */
    PTX_SHAPE_SRC,      /* s: register, immediate, special register, or symbol */
    PTX_SHAPE_DSTVEC,   /* D: {vector} of as many as the vec group says; without vec a register, or a {vector} whose
                           elements together are as wide as the type (mov's unpack) */
    PTX_SHAPE_SRCVEC,   /* S */
    PTX_SHAPE_MEM,      /* m: [address] */
    PTX_SHAPE_PRED_DST, /* p: predicate written, or _; p|q pairs allowed with suffix | */
    PTX_SHAPE_PRED_SRC, /* c: predicate read, may be negated */
    PTX_SHAPE_LABEL,    /* l: label, or the name of a target table */
    PTX_SHAPE_ANY       /* x: anything: checked by the lowering (call, tex, mma) */
};
struct ptx_shape {
    enum ptx_shape_kind kind;
    int8_t type_group;   /* index of the type group, or -1 */
    uint8_t type;        /* enum ptx_type when fixed */
    bool optional;       /* ? */
    bool pair;           /* |: a pair d|p or p|q is allowed as well */
    bool wider;          /* w: a register wider than the type is allowed (ld, st, cvt) */
    bool select;         /* %: a selector of parts may follow the register: %r1.b0, %r1.h10 (video instructions) */
    bool negatable;      /* -: a minus may stand before the register (vmad) */
    uint8_t count;       /* *4: a {vector} of that many elements of the type; 0: as the kind says */
};

struct ptx_form {
    const char *id;          /* "add_f32" */
    const char *mnemonic;
    const char *syntax;      /* as written in the table, for messages and docs */
    const struct ptx_group *groups;
    uint16_t n_groups;
    const struct ptx_shape *shapes;
    uint8_t n_shapes, n_types; /* n_types: number of TYPE groups */
    uint16_t isa;            /* 10 * major + minor of first appearance */
    uint16_t sm;
    const char *reference;   /* name of the C reference in tests/oracle; "" = none yet */
    enum ptx_lowering lowering; /* ptx_lower_<name> of ptx/lower emits its IR */
    const char *ulp;         /* error bound as in the table: "0" = exact to the bit, "2ulp", "2^-22.6" (relative), ... */
    const char *section;     /* "9.7.1.1" */
    uint32_t traits;         /* enum below */
};
enum ptx_trait {
    PTX_CONVERGENT = 1, /* reads or writes other lanes */
    PTX_BRANCH = 2,     /* ends a basic block */
    PTX_BARRIER = 4,    /* waits for other warps of the block */
    PTX_DEBUG_ONLY = 8  /* no effect on results (pragma-like) */
};

/* Rows of one mnemonic are consecutive.  NULL and 0 when there is none. */
const struct ptx_form *ptx_forms_of(struct aw_str mnemonic, size_t *ret_n);
/* All rows. */
const struct ptx_form *ptx_forms(size_t *ret_n);

const char *ptx_type_name(enum ptx_type type);  /* "f32" */
unsigned ptx_type_bits(enum ptx_type type);
char ptx_type_class(enum ptx_type type);        /* 'U' 'S' 'F' 'B' 'P' 'O' */
const char *ptx_mod_name(enum ptx_mod mod);
/* Spelling without the dot; false when it is no such thing. */
bool ptx_mod_from(struct aw_str s, enum ptx_mod *ret_mod);
bool ptx_type_from(struct aw_str s, enum ptx_type *ret_type);

#endif
