/* A function's registers: variables in local memory, which LLVM makes values of. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
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

/* ---- Registers that need no zero */

/* What is known of a register's uses: in which block they are, and whether it is written there before it is read. */
struct use {
    LLVMBasicBlockRef block;
    bool elsewhere, read_first;
    unsigned n;
};

/* The variable that an instruction reads or writes as a whole; NULL. */
static LLVMValueRef accessed(LLVMValueRef x)
{
    return LLVMIsALoadInst(x) ? LLVMGetOperand(x, 0) : LLVMIsAStoreInst(x) ? LLVMGetOperand(x, 1) : NULL;
}

static void look_at_uses(LLVMBasicBlockRef bb, const struct aw_ptrmap *uses)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
        LLVMValueRef variable = accessed(x);
        struct use *use = variable ? aw_ptrmap_find(uses, variable) : NULL;
        if (!use)
            continue;
        use->n++;
        use->elsewhere |= use->block && use->block != bb;
        use->read_first |= !use->block && LLVMIsALoadInst(x);
        use->block = bb;
    }
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
    struct use *uses = AW_NEW_ARRAY(l->arena, struct use, f->n_regs + 1);
    bool ok = uses != NULL;
    for (uint32_t i = 0; ok && i < f->n_regs; i++)
        ok = aw_ptrmap_put(&map, l->regs[i], &uses[i]);
    for (LLVMBasicBlockRef bb = LLVMGetNextBasicBlock(l->entry); ok && bb; bb = LLVMGetNextBasicBlock(bb))
        look_at_uses(bb, &map);
    for (uint32_t i = 0; ok && i < f->n_regs; i++) {
        LLVMValueRef zero = LLVMGetNextInstruction(l->regs[i]);
        bool parameter = count_uses(l->regs[i]) != uses[i].n + 1; /* or whatever else is not in the body */
        if (!parameter && !uses[i].elsewhere && !uses[i].read_first)
            LLVMInstructionEraseFromParent(zero);
    }
    aw_ptrmap_fini(&map);
    l->out_of_memory |= !ok;
    return ok;
}
