/* Stack variables: a copy for each lane, lane after lane.  Not yet interleaved, which would make indexed arrays contiguous. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/work.h"

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
    LLVMValueRef area = simt_variable(f, LLVMArrayType2(u->i8, size * (uint64_t)u->lanes));
    LLVMSetAlignment(area, (unsigned)align);
    simt_set_scalar(f, inst, area);
}
