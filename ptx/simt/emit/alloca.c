/* Stack variables: a copy for each lane, lane after lane, or, of arrays that lie in rows (finish/host/local_rows.c), element
 * after element of all lanes.
 *
 * One that an access may overrun is marked, so that it is placed where only such variables lie (ptx/finish/host/local.c):
 * accesses at places that are not known, and addresses that are handed on. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include <string.h>

enum { ROW_ALIGN = 64 /* a line of the cache, a register */ };

static bool inside(struct simt *u, LLVMTypeRef type, int64_t at, uint64_t size)
{
    uint64_t bytes = LLVMABISizeOfType(u->in_layout, type);
    return at >= 0 && bytes <= size && (uint64_t)at <= size - bytes;
}

static bool stays_inside(struct simt *u, LLVMValueRef p, int64_t at, uint64_t size);

/* Does `x` use the address `p`, which is `at` bytes into a variable, within the variable only? */
static bool use_stays_inside(struct simt *u, LLVMValueRef x, LLVMValueRef p, int64_t at, uint64_t size)
{
    int64_t add;
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMLoad:
        return inside(u, LLVMTypeOf(x), at, size);
    case LLVMStore:
        return LLVMGetOperand(x, 0) != p && inside(u, LLVMTypeOf(LLVMGetOperand(x, 0)), at, size);
    case LLVMAddrSpaceCast:
        return stays_inside(u, x, at, size);
    case LLVMGetElementPtr:
        return LLVMGetNumOperands(x) == 2 && simt_int_const(LLVMGetOperand(x, 1), &add) &&
               !__builtin_mul_overflow(add, (int64_t)LLVMABISizeOfType(u->in_layout, LLVMGetGEPSourceElementType(x)), &add) &&
               !__builtin_add_overflow(at, add, &at) && stays_inside(u, x, at, size);
    case LLVMCall:
        /* The arguments of a printf: lowering has made them as long as the format says, or the runtime reads what it should
         * not. */
        return ptx_intrinsic_has(x, PTX_INTRINSIC_LIFETIME) || simt_call_id(u, x) == PTX_SIMT_VPRINTF;
    default:
        return false;
    }
}

static bool stays_inside(struct simt *u, LLVMValueRef p, int64_t at, uint64_t size)
{
    for (LLVMUseRef use = LLVMGetFirstUse(p); use; use = LLVMGetNextUse(use))
        if (!use_stays_inside(u, LLVMGetUser(use), p, at, size))
            return false;
    return true;
}

static void dynamic_alloca(struct simt_fn *f, LLVMValueRef inst, uint64_t size, uint64_t align)
{
    struct simt *u = f->u;
    LLVMValueRef count = LLVMGetOperand(inst, 0);
    LLVMValueRef n;
    if (simt_uniform(f, count)) {
        n = LLVMBuildIntCast2(u->b, simt_scalar(f, count), u->i64, 0, "");
    } else {
        LLVMTypeRef vt = LLVMTypeOf(simt_vector(f, count));
        LLVMValueRef v = simt_vector(f, count);
        if (f->mask)
            v = LLVMBuildSelect(u->b, f->mask, v, LLVMConstNull(vt), "");
        n = LLVMBuildIntCast2(u->b, simt_intrinsic(u, "llvm.vector.reduce.umax", &vt, 1, &v, 1), u->i64, 0, "");
    }
    LLVMValueRef up = simt_c64(u, (int64_t)align - 1), stride = LLVMBuildMul(u->b, n, simt_c64(u, (int64_t)size), "");
    stride = LLVMBuildAnd(u->b, LLVMBuildAdd(u->b, stride, up, ""), LLVMBuildNot(u->b, up, ""), "stride");
    LLVMValueRef base = LLVMBuildArrayAlloca(u->b, u->i8, LLVMBuildMul(u->b, stride, simt_c64(u, u->lanes), ""), "");
    LLVMSetAlignment(base, (unsigned)align);
    LLVMValueRef at = LLVMBuildMul(u->b, simt_splat(u, stride), simt_offset_vec(u, u->lane_offsets, u->i64), "");
    simt_set_vector(f, inst, LLVMBuildGEP2(u->b, u->i8, base, &at, 1, ""));
}

void simt_alloca_emit(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMTypeRef type = LLVMGetAllocatedType(inst);
    uint64_t align = LLVMGetAlignment(inst), size = LLVMABISizeOfType(u->in_layout, type);
    int64_t count;
    align = align ? align : 1;
    if (!simt_int_const(LLVMGetOperand(inst, 0), &count)) {
        dynamic_alloca(f, inst, size, align);
        return;
    }
    size = (size * (uint64_t)count + align - 1) / align * align;
    bool rows = ptx_metadata(inst, SIMT_ROWS);
    LLVMValueRef area = simt_variable(f, LLVMArrayType2(u->i8, rows ? size : size * (uint64_t)u->lanes));
    LLVMSetAlignment(area, rows ? ROW_ALIGN : (unsigned)align);
    if (!stays_inside(u, inst, 0, LLVMABISizeOfType(u->in_layout, type) * (uint64_t)count))
        ptx_mark(area, SIMT_LOCAL);
    simt_debug_variable(f, inst, area);
    simt_set_scalar(f, inst, area);
}
