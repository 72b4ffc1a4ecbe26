/* Interned spellings of instructions: "ld.global.v4.f32" is taken apart once, and matched to table rows once, however often a
 * module uses it.  Internal to ptx/syntax and ptx/module. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SYNTAX_OPCODE_H
#define AW_PTX_SYNTAX_OPCODE_H

#include "syntax/ast.h"

struct ptx_opcode {
    uint64_t hash;
    struct aw_str text, mnemonic;
    struct aw_str *mods;
    uint32_t n_mods;
    /* [checked] by ptx/module, the same for all instructions of this spelling */
    bool decoded;
    bool unknown_mod;             /* a modifier that no row has: `bad` */
    enum ptx_type types[PTX_MAX_TYPES];
    uint32_t n_types, vec;
    enum ptx_space space, space2;
    uint64_t flags[4];
    bool foreign;            /* [checked] valid PTX that anywarp cannot do; `bad` says why */
    struct aw_str bad;
    const struct ptx_form **forms; /* rows whose modifiers match, in table order */
    uint32_t n_forms;
};

struct ptx_opcodes {
    struct ptx_opcode **slots;
    uint32_t n, cap; /* cap is a power of two */
};

void ptx_opcodes_fini(struct ptx_opcodes *table);
/* `text` must outlive the arena's users; what it returns lives in the arena.  NULL: out of memory. */
struct ptx_opcode *ptx_opcode_intern(struct ptx_opcodes *table, struct aw_arena *arena, struct aw_str text);

#endif
