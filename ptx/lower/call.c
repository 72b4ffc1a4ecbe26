/* Calls: the .param convention, indirect calls, and the device runtime's functions (PTX ISA 7.1, 9.7.12.5). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

static uint32_t count(const struct ptx_var *list)
{
    uint32_t n = 0;
    for (; list; list = list->next)
        n++;
    return n;
}

/* An argument or result operand's memory when it names a .param variable, else NULL (a register or constant). */
static LLVMValueRef param_memory(const struct ptx_operand *op)
{
    return op->kind == PTX_OP_SYMBOL && op->var->space == PTX_SPACE_PARAM ? (LLVMValueRef)op->var->user : NULL;
}

/* A vector of registers that a function takes or gives is memory between the two. */
static LLVMValueRef element_at(struct ptx_lower *l, const struct ptx_var *formal, LLVMValueRef memory, unsigned i)
{
    return b_gep(l, memory, b_i64(l, (uint64_t)i * (ptx_type_bits(formal->type) / 8)));
}

static LLVMValueRef vector_memory(struct ptx_lower *l, const struct ptx_var *formal)
{
    return ptx_entry_alloca(l, LLVMArrayType2(ptx_llvm_type(l, formal->type), formal->vec), 16, "");
}

static bool is_vector(const struct ptx_var *formal, const struct ptx_operand *op)
{
    return formal->space == PTX_SPACE_REG && formal->vec > 1 && op->kind == PTX_OP_VECTOR && op->n_items == formal->vec;
}

static LLVMValueRef vector_argument(struct ptx_lower *l, const struct ptx_var *formal, const struct ptx_operand *op)
{
    LLVMValueRef memory = vector_memory(l, formal);
    for (uint32_t i = 0; i < op->n_items; i++)
        LLVMBuildStore(l->builder, ptx_src(l, &op->items[i], formal->type), element_at(l, formal, memory, i));
    return memory;
}

/* The value to pass for `formal`: bytes by address, scalars by value. */
static LLVMValueRef argument(struct ptx_lower *l, const struct ptx_var *formal, const struct ptx_operand *op)
{
    LLVMValueRef memory = param_memory(op);
    if (ptx_param_is_array(formal)) {
        if (memory)
            return memory;
        if (is_vector(formal, op))
            return vector_argument(l, formal, op);
        ptx_lower_error(l, op->loc, "argument for '%.*s' must be a .param variable", AW_STR_ARG(formal->name));
        return LLVMGetPoison(l->ptr[AS_LOCAL]);
    }
    if (!memory)
        return ptx_src(l, op, formal->type);
    if (op->var->size && op->var->size < ptx_type_bits(formal->type) / 8) {
        ptx_lower_error(l, op->loc, "argument is smaller than parameter '%.*s'", AW_STR_ARG(formal->name));
        return LLVMGetPoison(ptx_llvm_type(l, formal->type));
    }
    return LLVMBuildLoad2(l->builder, ptx_llvm_type(l, formal->type), memory, "");
}

struct arguments {
    LLVMValueRef *at; /* kernarg, [result bytes], parameters */
    unsigned n;
    LLVMValueRef result; /* where the result goes: memory; NULL with a register or no result */
    unsigned first_result, n_results; /* in `at`: where the function stores its results */
};

static bool arguments_make(struct ptx_lower *l, const struct ptx_func *f, const struct ptx_call *call,
                           struct arguments *ret)
{
    uint32_t n_args = call->args ? call->args->n_items : 0, n_rets = call->rets ? call->rets->n_items : 0;
    if (n_args != count(f->params) || n_rets != count(f->rets))
        return ptx_lower_error(l, l->instr->loc, "'%.*s' takes %u arguments and gives %u results, not %u and %u",
                               AW_STR_ARG(f->name), count(f->params), count(f->rets), n_args, n_rets);
    ret->n = 0;
    ret->first_result = 1;
    ret->n_results = 0;
    ret->at = AW_NEW_ARRAY(l->arena, LLVMValueRef, (size_t)n_args + n_rets + 1);
    if (!ret->at) {
        l->out_of_memory = true;
        return false;
    }
    ret->at[ret->n++] = l->kernarg;
    ret->result = n_rets ? param_memory(&call->rets->items[0]) : NULL;
    if (ptx_results_in_memory(f)) {
        const struct ptx_var *formal = f->rets;
        for (uint32_t i = 0; i < n_rets; i++, formal = formal->next) {
            LLVMValueRef memory = param_memory(&call->rets->items[i]);
            bool vector = is_vector(formal, &call->rets->items[i]);
            if (!memory && !vector && ptx_param_is_array(formal))
                return ptx_lower_error(l, call->rets->loc, "the result must be a .param variable");
            ret->at[ret->n++] = memory ? memory
                                : vector ? vector_memory(l, formal) : ptx_entry_alloca(l, ptx_llvm_type(l, formal->type), 16, "");
        }
        ret->n_results = n_rets;
    }
    const struct ptx_var *formal = f->params;
    for (uint32_t i = 0; i < n_args; i++, formal = formal->next)
        ret->at[ret->n++] = argument(l, formal, &call->args->items[i]);
    return true;
}

static void result_store(struct ptx_lower *l, const struct ptx_func *f, const struct ptx_call *call,
                         const struct arguments *args, LLVMValueRef r)
{
    const struct ptx_var *formal = f->rets;
    for (unsigned i = 0; i < args->n_results; i++, formal = formal->next) {
        const struct ptx_operand *op = &call->rets->items[i];
        if (param_memory(op))
            continue;
        const struct ptx_operand *items = op;
        unsigned n = is_vector(formal, op) ? ptx_elements(op, &items) : 1;
        for (unsigned k = 0; k < n; k++) {
            LLVMValueRef from = element_at(l, formal, args->at[args->first_result + i], k);
            ptx_dst(l, &items[k], formal->type, LLVMBuildLoad2(l->builder, ptx_llvm_type(l, formal->type), from, ""));
        }
    }
    if (!f->rets || ptx_results_in_memory(f))
        return;
    if (args->result)
        LLVMBuildStore(l->builder, r, args->result);
    else
        ptx_dst(l, &call->rets->items[0], f->rets->type, r);
}

static void mark_convergent(struct ptx_lower *l, LLVMValueRef call)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("convergent", 10);
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(l->context, kind, 0));
}

static LLVMValueRef build_call(struct ptx_lower *l, LLVMTypeRef type, LLVMValueRef fn, LLVMValueRef *args, unsigned n)
{
    LLVMValueRef call = LLVMBuildCall2(l->builder, type, fn, args, n, "");
    mark_convergent(l, call);
    return call;
}

/* ---- Functions that the device runtime provides */
static LLVMValueRef generic(struct ptx_lower *l, LLVMValueRef v)
{
    return b_inttoptr(l, b_resize(l, v, l->i64), l->ptr[AS_GENERIC]);
}

static void runtime_assert(struct ptx_lower *l, const struct arguments *a)
{
    LLVMValueRef args[4] = { generic(l, a->at[1]), generic(l, a->at[2]), b_resize(l, a->at[3], l->i32),
                             generic(l, a->at[4]) };
    b_simt(l, PTX_SIMT_ASSERTFAIL, args);
    LLVMBuildUnreachable(l->builder);
}

static bool call_runtime(struct ptx_lower *l, const struct ptx_func *f, const struct ptx_call *call)
{
    struct arguments a;
    if (!arguments_make(l, f, call, &a))
        return false;
    LLVMValueRef r = NULL;
    unsigned n = a.n - 1;
    if (aw_str_is(f->name, "vprintf") && n == 2 && f->rets) {
        r = b_simt(l, PTX_SIMT_VPRINTF, (LLVMValueRef[]){ generic(l, a.at[1]), generic(l, a.at[2]) });
    } else if (aw_str_is(f->name, "__assertfail") && n == 5 && !f->rets) {
        runtime_assert(l, &a);
        return true;
    } else if (aw_str_is(f->name, "malloc") && n == 1 && f->rets) {
        r = b_simt(l, PTX_SIMT_MALLOC, (LLVMValueRef[]){ b_resize(l, a.at[1], l->i64) });
        r = b_ptrtoint(l, r, ptx_llvm_type(l, f->rets->type));
    } else if (aw_str_is(f->name, "free") && n == 1 && !f->rets) {
        b_simt(l, PTX_SIMT_FREE, (LLVMValueRef[]){ generic(l, a.at[1]) });
    } else {
        return ptx_lower_error(l, l->instr->loc, "device runtime function '%.*s' is not supported", AW_STR_ARG(f->name));
    }
    if (r)
        result_store(l, f, call, &a, r);
    return true;
}

/* ---- Indirect calls: a switch over every function whose address is taken and whose type fits */
static LLVMValueRef indirect_case(struct ptx_lower *l, const struct ptx_func *target, const struct arguments *a)
{
    LLVMValueRef fn = (LLVMValueRef)target->user;
    return build_call(l, LLVMGlobalGetValueType(fn), fn, a->at, a->n);
}

static bool call_indirect(struct ptx_lower *l, const struct ptx_func *proto, const struct ptx_call *call)
{
    struct arguments a;
    if (!arguments_make(l, proto, call, &a))
        return false;
    LLVMTypeRef type = ptx_func_type(l, proto), ret = LLVMGetReturnType(type);
    LLVMValueRef address = ptx_src(l, call->callee, PTX_B64);
    LLVMBasicBlockRef wild = ptx_block_new(l, "wild"), done = ptx_block_new(l, "called");
    LLVMValueRef slot = ret == l->void_type ? NULL : ptx_entry_alloca(l, ret, 0, "");
    LLVMValueRef sw = LLVMBuildSwitch(l->builder, address, wild, l->closure->n_targets);
    for (uint32_t i = 0; i < l->closure->n_targets; i++) {
        const struct ptx_func *target = l->closure->targets[i];
        if (!target->user || LLVMGlobalGetValueType((LLVMValueRef)target->user) != type)
            continue;
        LLVMBasicBlockRef block = ptx_block_new(l, "target");
        LLVMAddCase(sw, b_i64(l, 16ull * target->address_id), block);
        LLVMPositionBuilderAtEnd(l->builder, block);
        LLVMValueRef r = indirect_case(l, target, &a);
        if (slot)
            LLVMBuildStore(l->builder, r, slot);
        LLVMBuildBr(l->builder, done);
    }
    LLVMPositionBuilderAtEnd(l->builder, wild);
    ptx_trap(l, AW_ERR_INVALID_PC);
    LLVMPositionBuilderAtEnd(l->builder, done);
    result_store(l, proto, call, &a, slot ? LLVMBuildLoad2(l->builder, ret, slot, "") : NULL);
    return true;
}

/* The prototype that an indirect call's table gives. */
static const struct ptx_func *prototype_of(const struct ptx_operand *table)
{
    if (!table)
        return NULL;
    if (table->kind == PTX_OP_FUNC)
        return table->func;
    if (table->kind != PTX_OP_LABEL || !table->label)
        return NULL;
    if (table->label->kind == PTX_STMT_CALLPROTOTYPE)
        return table->label->proto;
    if (table->label->kind == PTX_STMT_CALLTARGETS && table->label->n_targets)
        return table->label->targets[0].func;
    return NULL;
}

bool ptx_lower_call(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct ptx_call call = ptx_call_parts(in);
    if (!call.callee)
        return ptx_lower_error(l, in->loc, "call without a callee");
    if (call.callee->kind != PTX_OP_FUNC) {
        const struct ptx_func *proto = prototype_of(call.table);
        return proto ? call_indirect(l, proto, &call)
                     : ptx_lower_error(l, in->loc, "indirect call without a prototype");
    }
    const struct ptx_func *f = call.callee->func;
    if (f->definition)
        f = f->definition;
    if (f->is_prototype)
        return call_runtime(l, f, &call);
    if (f->is_entry || !f->user)
        return ptx_lower_error(l, in->loc, "'%.*s' cannot be called from here", AW_STR_ARG(f->name));
    struct arguments a;
    if (!arguments_make(l, f, &call, &a))
        return false;
    LLVMValueRef fn = (LLVMValueRef)f->user, r;
    if (LLVMCountParams(fn) != a.n)
        return ptx_lower_error(l, in->loc, "'%.*s' was declared otherwise", AW_STR_ARG(f->name));
    r = build_call(l, LLVMGlobalGetValueType(fn), fn, a.at, a.n);
    result_store(l, f, &call, &a, r);
    if (f->noreturn)
        LLVMBuildUnreachable(l->builder);
    return true;
}

/* ---- Memory that a function takes as it runs.  Each lane has its own mark in memory of a fixed size, for lanes give back at
 * different times.  What does not fit ends the kernel. */
enum { STACK_BYTES = 16384, STACK_ALIGN = 128 };

static void stack_need(struct ptx_lower *l)
{
    if (l->stack)
        return;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->builder);
    l->stack = ptx_entry_alloca(l, LLVMArrayType2(l->i8, STACK_BYTES), STACK_ALIGN, "stack");
    l->stack_top = ptx_entry_alloca(l, l->i64, 8, "top");
    LLVMPositionBuilderBefore(l->builder, LLVMGetNextInstruction(l->stack));
    LLVMBuildStore(l->builder, b_i64(l, 0), l->stack_top);
    LLVMPositionBuilderAtEnd(l->builder, here);
}

static LLVMValueRef stack_address(struct ptx_lower *l, LLVMValueRef top)
{
    return b_ptrtoint(l, b_gep(l, l->stack, top), l->i64);
}

bool ptx_lower_alloca(struct ptx_lower *l, const struct ptx_instr *in)
{
    uint64_t align = in->n_ops > 2 ? in->ops[2].bits : 16;
    if (in->n_ops > 2 && (in->ops[2].kind != PTX_OP_INT || !align || (align & (align - 1)) || align > STACK_ALIGN))
        return ptx_lower_error(l, in->ops[2].loc, "the alignment must be a power of two, %d at most", STACK_ALIGN);
    stack_need(l);
    align = align < 16 ? 16 : align;
    LLVMValueRef size = b_resize(l, ptx_src(l, &in->ops[1], in->types[0]), l->i64), room = b_i64(l, STACK_BYTES);
    LLVMValueRef top = LLVMBuildLoad2(l->builder, l->i64, l->stack_top, "");
    top = b_and(l, b_add(l, top, b_i64(l, align - 1)), b_i64(l, ~(align - 1)));
    /* A mark restored from elsewhere may be anything. */
    LLVMValueRef fits = b_and(l, b_ult(l, top, b_i64(l, STACK_BYTES + 1)), b_not(l, b_ult(l, b_sub(l, room, top), size)));
    ptx_trap_unless(l, fits, AW_ERR_LAUNCH_FAILED);
    LLVMBuildStore(l->builder, b_add(l, top, size), l->stack_top);
    ptx_dst(l, &in->ops[0], in->types[0], b_resize(l, stack_address(l, top), ptx_llvm_type(l, in->types[0])));
    return true;
}

bool ptx_lower_stacksave(struct ptx_lower *l, const struct ptx_instr *in)
{
    stack_need(l);
    LLVMValueRef at = stack_address(l, LLVMBuildLoad2(l->builder, l->i64, l->stack_top, ""));
    ptx_dst(l, &in->ops[0], in->types[0], b_resize(l, at, ptx_llvm_type(l, in->types[0])));
    return true;
}

bool ptx_lower_stackrestore(struct ptx_lower *l, const struct ptx_instr *in)
{
    stack_need(l);
    LLVMValueRef at = ptx_src(l, &in->ops[0], in->types[0]), base = b_ptrtoint(l, l->stack, LLVMTypeOf(at));
    LLVMBuildStore(l->builder, b_resize(l, b_sub(l, at, base), l->i64), l->stack_top);
    return true;
}
