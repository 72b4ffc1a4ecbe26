/* A function's registers: variables in local memory, which LLVM makes values of. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "lower/graph.h"
#include "lower/internal.h"

static LLVMTypeRef register_type(struct ptx_lower *l, const struct ptx_var *var)
{
    switch (var->type) {
    case PTX_F32: case PTX_F64: case PTX_F16: case PTX_PRED: return ptx_llvm_type(l, var->type);
    default: return ptx_int_type(l, ptx_type_bits(var->type) ? ptx_type_bits(var->type) : 32);
    }
}

bool ptx_registers_make(struct ptx_lower *l, struct ptx_func *f)
{
    l->regs = AW_NEW_ARRAY(l->arena, LLVMValueRef, f->n_regs + 1);
    l->reg_types = AW_NEW_ARRAY(l->arena, LLVMTypeRef, f->n_regs + 1);
    if (!l->regs || !l->reg_types) {
        l->out_of_memory = true;
        return false;
    }
    for (uint32_t i = 0; i < f->n_regs; i++) {
        l->reg_types[i] = register_type(l, f->reg_vars[i]);
        l->regs[i] = LLVMBuildAlloca(l->builder, l->reg_types[i], "");
        LLVMBuildStore(l->builder, LLVMConstNull(l->reg_types[i]), l->regs[i]);
    }
    return true;
}

/* ---- Registers that need no zero
 *
 * One does where a path leads from the function's begin to a read without a write before.  LLVM would find out, too, but a
 * variable that is written at the begin costs it a walk over all the function's blocks. */

/* What a block does with a register. */
struct register_touch {
    struct register_touch *next;
    int block;
    bool read_first, written;
};

struct register_uses {
    struct register_touch *touches; /* the last block's first */
    unsigned n;
};

struct register_blocks {
    struct aw_arena arena;
    struct aw_ptrmap index; /* block -> 1 + number */
    LLVMBasicBlockRef *bb;
    int n;
    struct ptx_edges *into;
    int *stack;
    uint32_t *live, *written; /* 1 + the register for which a block is that */
};

/* The variable that an instruction reads or writes as a whole; NULL. */
static LLVMValueRef accessed(LLVMValueRef x)
{
    return LLVMIsALoadInst(x) ? LLVMGetOperand(x, 0) : LLVMIsAStoreInst(x) ? LLVMGetOperand(x, 1) : NULL;
}

static bool blocks_make(struct register_blocks *b, LLVMBasicBlockRef entry)
{
    if (!ptx_blocks_order(entry, &b->arena, &b->index, &b->bb, &b->n))
        return false;
    b->stack = AW_NEW_ARRAY(&b->arena, int, b->n);
    b->live = AW_NEW_ARRAY(&b->arena, uint32_t, b->n);
    b->written = AW_NEW_ARRAY(&b->arena, uint32_t, b->n);
    return b->stack && b->live && b->written && ptx_blocks_into(&b->arena, b->bb, b->n, &b->index, &b->into);
}

static bool look_at_uses(struct register_blocks *b, int block, const struct aw_ptrmap *map)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(b->bb[block]); x; x = LLVMGetNextInstruction(x)) {
        LLVMValueRef variable = accessed(x);
        struct register_uses *uses = variable ? aw_ptrmap_find(map, variable) : NULL;
        if (!uses)
            continue;
        struct register_touch *t = uses->touches;
        if (!t || t->block != block) {
            t = AW_NEW(&b->arena, struct register_touch);
            if (!t)
                return false;
            *t = (struct register_touch){ uses->touches, block, LLVMIsALoadInst(x) != NULL, false };
            uses->touches = t;
        }
        t->written |= LLVMIsAStoreInst(x) != NULL;
        uses->n++;
    }
    return true;
}

/* Does a path lead from the begin to a read of the register without a write before?  Goes backwards from the reads. */
static bool read_unwritten(struct register_blocks *b, const struct register_touch *touches, uint32_t mark)
{
    int n = 0;
    for (const struct register_touch *t = touches; t; t = t->next) {
        if (t->written)
            b->written[t->block] = mark;
        if (t->read_first)
            b->live[b->stack[n++] = t->block] = mark;
    }
    while (n) {
        int block = b->stack[--n];
        if (block == 0)
            return true;
        for (int k = 0; k < b->into[block].n; k++) {
            int from = b->into[block].at[k];
            if (b->live[from] == mark || b->written[from] == mark)
                continue;
            b->live[from] = mark;
            b->stack[n++] = from;
        }
    }
    return false;
}

static unsigned count_uses(LLVMValueRef variable)
{
    unsigned n = 0;
    for (LLVMUseRef use = LLVMGetFirstUse(variable); use; use = LLVMGetNextUse(use))
        n++;
    return n;
}

bool ptx_registers_trim(struct ptx_lower *l, struct ptx_func *f)
{
    struct aw_ptrmap map = { 0 };
    struct register_blocks b = { 0 };
    struct register_uses *uses = AW_NEW_ARRAY(&b.arena, struct register_uses, f->n_regs + 1);
    bool ok = uses && blocks_make(&b, l->entry);
    for (uint32_t i = 0; ok && i < f->n_regs; i++)
        ok = aw_ptrmap_put(&map, l->regs[i], &uses[i]);
    for (int i = 1; ok && i < b.n; i++)
        ok = look_at_uses(&b, i, &map);
    for (uint32_t i = 0; ok && i < f->n_regs; i++) {
        LLVMValueRef zero = LLVMGetNextInstruction(l->regs[i]);
        bool parameter = count_uses(l->regs[i]) != uses[i].n + 1; /* or whatever else is not in the body */
        if (!parameter && !read_unwritten(&b, uses[i].touches, i + 1))
            LLVMInstructionEraseFromParent(zero);
    }
    aw_ptrmap_fini(&map);
    aw_ptrmap_fini(&b.index);
    aw_arena_fini(&b.arena);
    l->out_of_memory |= !ok;
    return ok;
}
