/* Masks that live from block to block, where registers are 16 bytes: LLVM keeps a vector of more booleans than a register has
 * bytes as that many scalars there, in general registers or on the stack, and takes it apart and puts it together again at every
 * border.  As vectors of 16, one for each register, they stay vectors.  Last, as optimisation would put them together. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "finish/host/host.h"
#include "lower/copy.h"
#include <stdlib.h>

enum { WIDTH = 16, MOST_PARTS = 2 };

/* One function's. */
struct flags {
    LLVMBuilderRef b;
    struct aw_ptrmap parts;  /* mask -> struct parts, owned */
    struct aw_ptrmap wholes; /* of the block at hand: mask -> the whole of it there */
    bool ok;                 /* memory suffices */
};

struct parts {
    unsigned n;
    LLVMValueRef part[MOST_PARTS];
};

static bool is_wide(LLVMValueRef x)
{
    LLVMTypeRef t = LLVMTypeOf(x), i1 = LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : NULL;
    unsigned n = i1 && LLVMGetTypeKind(i1) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(i1) == 1 ? LLVMGetVectorSize(t) : 0;
    return n > WIDTH && n % WIDTH == 0 && n / WIDTH <= MOST_PARTS;
}

static struct parts *note(struct flags *f, LLVMValueRef x)
{
    struct parts *p = calloc(1, sizeof *p);
    f->ok &= p && aw_ptrmap_put(&f->parts, x, p);
    if (!f->ok) {
        free(p);
        return NULL;
    }
    p->n = LLVMGetVectorSize(LLVMTypeOf(x)) / WIDTH;
    return p;
}

/* The mask's pieces, made where it is; NULL: out of memory. */
static const struct parts *parts_of(struct flags *f, LLVMValueRef x)
{
    struct parts *p = aw_ptrmap_find(&f->parts, x);
    if (p || !(p = note(f, x)))
        return p;
    if (LLVMIsAInstruction(x))
        LLVMPositionBuilderBefore(f->b, LLVMGetNextInstruction(x));
    for (unsigned i = 0; i < p->n; i++)
        p->part[i] = ptx_host_piece(f->b, x, i * WIDTH, WIDTH);
    return p;
}

static LLVMValueRef join(struct flags *f, const struct parts *p)
{
    LLVMValueRef part[MOST_PARTS];
    for (unsigned i = 0; i < p->n; i++)
        part[i] = p->part[i];
    return ptx_host_join(f->b, part, p->n);
}

/* Phis of the pieces, and what was the phi put together from them; what comes in is filled in later. */
static void begin_phi(struct flags *f, LLVMValueRef phi)
{
    struct parts *p = note(f, phi);
    if (!p)
        return;
    LLVMPositionBuilderBefore(f->b, phi);
    LLVMTypeRef type = LLVMVectorType(LLVMGetElementType(LLVMTypeOf(phi)), WIDTH);
    for (unsigned i = 0; i < p->n; i++)
        p->part[i] = LLVMBuildPhi(f->b, type, "");
}

static void end_phi(struct flags *f, LLVMValueRef phi)
{
    const struct parts *to = aw_ptrmap_find(&f->parts, phi);
    for (unsigned k = 0; k < LLVMCountIncoming(phi) && f->ok; k++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, k);
        const struct parts *p = parts_of(f, LLVMGetIncomingValue(phi, k));
        for (unsigned i = 0; p && i < p->n; i++) {
            LLVMValueRef part = p->part[i];
            LLVMAddIncoming(to->part[i], &part, &from, 1);
        }
    }
}

static LLVMBasicBlockRef block_of(LLVMValueRef x)
{
    return LLVMIsAInstruction(x) ? LLVMGetInstructionParent(x) : LLVMGetEntryBasicBlock(LLVMGetParamParent(x));
}

/* The whole mask, put together where the block begins, once. */
static LLVMValueRef whole_in(struct flags *f, LLVMBasicBlockRef bb, LLVMValueRef x)
{
    LLVMValueRef whole = aw_ptrmap_find(&f->wholes, x);
    const struct parts *p = whole ? NULL : parts_of(f, x);
    if (whole || !p)
        return whole;
    LLVMPositionBuilderBefore(f->b, ptx_behind_phis(LLVMGetFirstInstruction(bb)));
    whole = join(f, p);
    f->ok &= aw_ptrmap_put(&f->wholes, x, whole);
    return whole;
}

/* What comes from other blocks, or from a phi, comes in pieces. */
static void receive(struct flags *f, LLVMBasicBlockRef bb)
{
    for (LLVMValueRef x = ptx_behind_phis(LLVMGetFirstInstruction(bb)); x && f->ok; x = LLVMGetNextInstruction(x))
        for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(x) && f->ok; o++) {
            LLVMValueRef v = LLVMGetOperand(x, o);
            if ((LLVMIsAInstruction(v) || LLVMIsAArgument(v)) && is_wide(v) && (LLVMIsAPHINode(v) || block_of(v) != bb))
                LLVMSetOperand(x, o, whole_in(f, bb, v));
        }
    aw_ptrmap_fini(&f->wholes);
}

static void each_wide_phi(struct flags *f, LLVMValueRef fn, void (*what)(struct flags *, LLVMValueRef))
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb), next; x && LLVMIsAPHINode(x) && f->ok; x = next) {
            next = LLVMGetNextInstruction(x);
            if (is_wide(x))
                what(f, x);
        }
}

static void drop_phi(struct flags *f, LLVMValueRef phi)
{
    (void)f;
    LLVMReplaceAllUsesWith(phi, LLVMGetPoison(LLVMTypeOf(phi)));
    LLVMInstructionEraseFromParent(phi);
}

static bool in_function(LLVMContextRef c, LLVMValueRef fn)
{
    struct flags f = { .b = LLVMCreateBuilderInContext(c), .ok = true };
    each_wide_phi(&f, fn, begin_phi);
    each_wide_phi(&f, fn, end_phi);
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        receive(&f, bb);
    each_wide_phi(&f, fn, drop_phi);
    for (size_t i = 0; i < f.parts.cap; i++)
        free(f.parts.slots[i].value);
    aw_ptrmap_fini(&f.parts);
    LLVMDisposeBuilder(f.b);
    return f.ok;
}

static bool in_module(LLVMModuleRef m)
{
    bool ok = true;
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn && ok; fn = LLVMGetNextFunction(fn))
        ok = in_function(LLVMGetModuleContext(m), fn);
    return ok;
}

int ptx_run_flags(struct ptx_pipeline *pipe)
{
    return in_module(*pipe->module) ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}
