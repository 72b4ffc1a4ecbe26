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
    LLVMBasicBlockRef target = block_of(l, &in->ops[0]);
    ptx_loop_branch(l, LLVMBuildBr(l->builder, target), target);
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

static void register_result(struct ptx_lower *l, const struct ptx_var *result)
{
    for (unsigned i = 0; i < result->vec; i++) {
        LLVMValueRef v = LLVMBuildLoad2(l->builder, l->reg_types[result->index + i], l->regs[result->index + i], "");
        LLVMBuildStore(l->builder, v,
                       b_gep(l, (LLVMValueRef)result->user, b_i64(l, (uint64_t)i * (ptx_type_bits(result->type) / 8))));
    }
}

bool ptx_lower_ret(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct ptx_var *result = l->func->rets;
    if (l->func->is_entry || !result || ptx_results_in_memory(l->func)) {
        for (; !l->func->is_entry && result; result = result->next)
            if (result->space == PTX_SPACE_REG) /* .param ones were stored there when they were written */
                register_result(l, result);
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

void ptx_trap(struct ptx_lower *l, enum aw_status why)
{
    b_simt(l, PTX_SIMT_TRAP, (LLVMValueRef[]){ b_i32(l, why) });
    LLVMBuildUnreachable(l->builder);
}

void ptx_trap_unless(struct ptx_lower *l, LLVMValueRef ok, enum aw_status why)
{
    LLVMBasicBlockRef good = ptx_block_new(l, ""), bad = ptx_block_new(l, "trap");
    LLVMBuildCondBr(l->builder, ok, good, bad);
    LLVMPositionBuilderAtEnd(l->builder, bad);
    ptx_trap(l, why);
    LLVMPositionBuilderAtEnd(l->builder, good);
}

bool ptx_lower_trap(struct ptx_lower *l, const struct ptx_instr *in)
{
    ptx_trap(l, AW_ERR_LAUNCH_FAILED);
    return true;
}

/* How many registers a warp may have is the compiler's affair here: they are never too few, and nobody waits for them. */
bool ptx_lower_setmaxnreg(struct ptx_lower *l, const struct ptx_instr *in)
{
    const struct ptx_operand *n = &in->ops[0];
    if (n->kind != PTX_OP_INT || n->bits < 24 || n->bits > 256 || n->bits % 8)
        return ptx_lower_error(l, n->loc, "the count of registers must be a constant from 24 to 256, and a multiple of 8");
    return true;
}

/* pmevent counts for a profiler; there is none. */
bool ptx_lower_nothing(struct ptx_lower *l, const struct ptx_instr *in)
{
    return true;
}
