/* Control flow: branches, ret, exit, trap (PTX ISA 9.7.12, 9.7.19).  Calls are in call.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

static LLVMBasicBlockRef block_of(struct ptx_lower *l, const struct ptx_operand *op)
{
    if (op->kind != PTX_OP_LABEL || !op->label || op->label->kind != PTX_STMT_LABEL || !op->label->user) {
        ptx_lower_error(l, op->loc, "not a label of this function");
        return l->entry;
    }
    return (LLVMBasicBlockRef)op->label->user;
}

bool ptx_lower_bra(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMBuildBr(l->builder, block_of(l, &in->ops[0]));
    return true;
}

/* brx.idx index, table: an index beyond the table is undefined; it takes the first entry. */
bool ptx_lower_brx(struct ptx_lower *l, const struct ptx_instr *in)
{
    const struct ptx_stmt *table = in->ops[1].label;
    if (!table || table->kind != PTX_STMT_BRANCHTARGETS || !table->n_targets)
        return ptx_lower_error(l, in->ops[1].loc, "not a table of branch targets");
    LLVMValueRef index = ptx_src(l, &in->ops[0], PTX_U32);
    LLVMValueRef sw = LLVMBuildSwitch(l->builder, index, block_of(l, &table->targets[0]), table->n_targets);
    for (uint32_t i = 1; i < table->n_targets; i++)
        LLVMAddCase(sw, b_i32(l, i), block_of(l, &table->targets[i]));
    return true;
}

bool ptx_lower_ret(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct ptx_var *result = l->func->rets;
    if (l->func->is_entry || !result || l->ret_pointer) {
        LLVMBuildRetVoid(l->builder);
        return true;
    }
    LLVMTypeRef type = LLVMGetReturnType(LLVMGlobalGetValueType(l->fn));
    LLVMValueRef v;
    if (result->space == PTX_SPACE_REG) {
        v = LLVMBuildLoad2(l->builder, l->reg_types[result->index], l->regs[result->index], "");
        v = ptx_from_bits(l, ptx_to_bits(l, v), type);
    } else {
        v = LLVMBuildLoad2(l->builder, type, l->ret_alloca, "");
    }
    LLVMBuildRet(l->builder, v);
    return true;
}

bool ptx_lower_exit(struct ptx_lower *l, const struct ptx_instr *in)
{
    if (l->func->is_entry) {
        LLVMBuildRetVoid(l->builder);
        return true;
    }
    b_simt(l, PTX_SIMT_EXIT, NULL);
    LLVMBuildUnreachable(l->builder);
    return true;
}

bool ptx_lower_trap(struct ptx_lower *l, const struct ptx_instr *in)
{
    b_simt(l, PTX_SIMT_TRAP, (LLVMValueRef[]){ b_i32(l, AW_ERR_LAUNCH_FAILED) });
    LLVMBuildUnreachable(l->builder);
    return true;
}

/* brkpt stops only under a debugger; there is none.  pmevent counts for a profiler; likewise. */
bool ptx_lower_nothing(struct ptx_lower *l, const struct ptx_instr *in)
{
    return true;
}
