/* Updates in place, `if (x < p[i]) p[i] = x`, without a branch: where no other thread of the grid writes p[i],
 *
 *   p[i] = x < p[i] ? x : p[i];
 *
 * is the same, as a thread that stores what it has just read changes nothing for others that read it.  Another launch that writes
 * there at that time races with the read.  For machines whose masked stores are slow (elsewhere update.c has a cheaper way):
 * lanes that nothing foretells cost no branch.  Memory beyond the caches would be written for nothing; there a branch asks
 * whether any lane writes.
 *
 * That nobody else writes there is proved of the address: the thread's number along one axis, or along two with a stride that is
 * no less than how far the other one goes.  How large the grid is, and the stride, is asked at run time, as a rule once for all
 * warps, as nothing in the question varies; if the answer is no, the branch stays.  All that the kernel writes to global memory
 * must be written there.
 *
 * Works on the structured one-lane form, before emission and before copies are made. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/rewrite/rewrite.h"
#include "lower/match.h"
#include "lower/copy.h"

enum {
    MOST = 4,          /* updates of a kernel; the analyses run once for each */
    DEPTH = 8,         /* operations that compute a stride */
    MAX_THEN = 12,     /* instructions of what is done for the lanes that write */
};

/* base + size * (row * width + column), row and column being the thread's numbers along axes of the grid; NULL for what there is
 * not. */
struct place {
    LLVMValueRef base, width, column;
    int row_axis, column_axis; /* row_axis -1: there is but one */
    unsigned bits;             /* of the index, after which it wraps */
    uint64_t size;
};

/* ---- Addresses */

static LLVMValueRef narrow(LLVMValueRef x)
{
    while (is_op(x, LLVMZExt) || is_op(x, LLVMSExt))
        x = LLVMGetOperand(x, 0);
    return x;
}

static bool asks(struct simt *u, LLVMValueRef x, enum ptx_simt id)
{
    x = narrow(x);
    return LLVMIsACallInst(x) && simt_call_id(u, x) == id;
}

/* Is it `a` times a constant?  Then that is *ret. */
static bool is_scaled(LLVMValueRef x, LLVMValueRef *a, int64_t *ret)
{
    bool shift = is_op(x, LLVMShl);
    if ((!shift && !is_op(x, LLVMMul)) || !simt_int_const(LLVMGetOperand(x, 1), ret) || (shift && (*ret < 0 || *ret > 31)))
        return false;
    *ret = shift ? INT64_C(1) << *ret : *ret;
    *a = LLVMGetOperand(x, 0);
    return true;
}

/* The first thread of a block, along the axis. */
static bool is_block_start(struct simt *u, LLVMValueRef x, unsigned axis)
{
    int64_t by;
    LLVMValueRef a;
    uint32_t size = u->options->block[1] ? u->options->block[axis] : 0;
    x = narrow(x);
    if (size && is_scaled(x, &a, &by))
        return by == size && asks(u, a, PTX_SIMT_CTAID_X + axis);
    if (!is_op(x, LLVMMul))
        return size == 1 && asks(u, x, PTX_SIMT_CTAID_X + axis);
    for (unsigned i = 0; i < 2; i++)
        if (asks(u, LLVMGetOperand(x, i), PTX_SIMT_CTAID_X + axis) && asks(u, LLVMGetOperand(x, 1 - i), PTX_SIMT_NTID_X + axis))
            return true;
    return false;
}

/* Is it a sum, of what is below the block's size and a multiple of that?  An `or` is one where no bit is in both. */
static bool is_sum(struct simt *u, LLVMValueRef x, unsigned axis)
{
    uint32_t size = u->options->block[1] ? u->options->block[axis] : 0;
    return is_op(x, LLVMAdd) || (is_op(x, LLVMOr) && size && (size & (size - 1)) == 0);
}

/* The axis of the grid along which it is the thread's number, or -1. */
static int axis_of(struct simt *u, LLVMValueRef x)
{
    x = narrow(x);
    for (unsigned axis = 0; axis < 3; axis++) {
        bool sum = is_sum(u, x, axis);
        if (u->options->block[1] && u->options->block[axis] == 1 && asks(u, x, PTX_SIMT_CTAID_X + axis))
            return (int)axis;
        for (unsigned i = 0; sum && i < 2; i++)
            if (asks(u, LLVMGetOperand(x, i), PTX_SIMT_TID_X + axis) && is_block_start(u, LLVMGetOperand(x, 1 - i), axis))
                return (int)axis;
    }
    return -1;
}

/* Is it the same for all threads of the grid?  What only memory knows is not: it may be written. */
static bool same_for_grid(struct simt *u, LLVMValueRef x, int depth)
{
    enum ptx_simt id = LLVMIsACallInst(x) ? simt_call_id(u, x) : PTX_SIMT_NONE;
    if (LLVMIsAConstantInt(x) || (LLVMIsAArgument(x) && LLVMGetParam(u->kernel, 0) == x))
        return true;
    if (id != PTX_SIMT_NONE)
        return id >= PTX_SIMT_NTID_X && id <= PTX_SIMT_NCTAID_Z && !(id >= PTX_SIMT_CTAID_X && id <= PTX_SIMT_CTAID_Z);
    bool argument = LLVMIsALoadInst(x) && simt_space(LLVMTypeOf(LLVMGetOperand(x, 0))) == SIMT_SPACE_CONST;
    if (depth == 0 || !LLVMIsAInstruction(x) || !(argument || ptx_arithmetic(x) || LLVMIsAGetElementPtrInst(x)))
        return false;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        if (!same_for_grid(u, LLVMGetOperand(x, i), depth - 1))
            return false;
    return true;
}

/* Is it a row's number times a width? */
static bool row_start(struct simt *u, LLVMValueRef x, struct place *p)
{
    x = narrow(x);
    for (unsigned i = 0; i < 2 && is_op(x, LLVMMul); i++) {
        p->row_axis = axis_of(u, LLVMGetOperand(x, i));
        p->width = LLVMGetOperand(x, 1 - i);
        if (p->row_axis < 0 || p->row_axis == p->column_axis || !same_for_grid(u, p->width, DEPTH))
            continue;
        unsigned bits = simt_width(LLVMTypeOf(x));
        p->bits = bits < p->bits ? bits : p->bits;
        return true;
    }
    return false;
}

static bool index_of(struct simt *u, LLVMValueRef x, struct place *p)
{
    x = narrow(x);
    p->bits = simt_width(LLVMTypeOf(x));
    p->row_axis = -1;
    p->width = NULL;
    p->column = x;
    p->column_axis = axis_of(u, x);
    if (p->column_axis >= 0 || !is_op(x, LLVMAdd))
        return p->column_axis >= 0;
    for (unsigned i = 0; i < 2; i++) {
        p->column = LLVMGetOperand(x, i);
        p->column_axis = axis_of(u, p->column);
        if (p->column_axis >= 0 && row_start(u, LLVMGetOperand(x, 1 - i), p))
            return true;
    }
    return false;
}

static bool place_of(struct simt *u, LLVMValueRef ptr, struct place *p)
{
    int64_t size;
    LLVMValueRef index, sum = LLVMIsAIntToPtrInst(ptr) ? LLVMGetOperand(ptr, 0) : NULL;
    for (unsigned i = 0; sum && i < 2 && is_op(sum, LLVMAdd); i++) {
        p->base = LLVMGetOperand(sum, 1 - i);
        if (is_scaled(LLVMGetOperand(sum, i), &index, &size) && size > 0 && index_of(u, index, p) &&
            same_for_grid(u, p->base, DEPTH)) {
            p->size = (uint64_t)size;
            return true;
        }
    }
    return false;
}

static bool same_place(const struct place *a, const struct place *b)
{
    return a->base == b->base && a->width == b->width && a->row_axis == b->row_axis && a->column_axis == b->column_axis &&
           a->bits == b->bits && a->size == b->size;
}

/* ---- What else the kernel writes */

/* Does the instruction write nothing that other blocks read, but for plain stores, each of which goes to the thread's own element
 * at `p`? */
static bool writes_own(struct simt *u, LLVMValueRef x, const struct place *p)
{
    struct place other;
    bool store = LLVMIsAStoreInst(x), update = LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x);
    enum ptx_simt id = LLVMIsACallInst(x) ? simt_call_id(u, x) : PTX_SIMT_NONE;
    if (!store && !update)
        return LLVMIsALoadInst(x) || LLVMIsAAllocaInst(x) || LLVMIsAFenceInst(x) || !simt_touches_memory(x) ||
               simt_is_barrier(u, x) || (id != PTX_SIMT_NONE && ptx_simt_info(id)->traits == PTX_SIMT_PURE);
    LLVMValueRef ptr = LLVMGetOperand(x, store);
    if (simt_is_shared_ptr(LLVMTypeOf(ptr)))
        return true;
    return simt_access_plain(x, true) && place_of(u, ptr, &other) && same_place(&other, p) &&
           LLVMStoreSizeOfType(u->in_layout, LLVMTypeOf(LLVMGetOperand(x, 0))) <= p->size;
}

static bool kernel_writes_own(struct simt *u, const struct place *p)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(u->kernel); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b); x; x = LLVMGetNextInstruction(x))
            if (!writes_own(u, x, p))
                return false;
    return true;
}

/* ---- Looking for an update */

/* if (condition, or not) { one store over what block `head` has read } */
struct update {
    int head, then, join;
    bool on_false;
    LLVMValueRef store, old;
    struct place place;
};

/* The block's only store, which computes nothing that arithmetic does not. */
static LLVMValueRef only_store(LLVMBasicBlockRef bb)
{
    LLVMValueRef store = NULL;
    int n = 0;
    for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x && !LLVMIsATerminatorInst(x); x = LLVMGetNextInstruction(x)) {
        if (n++ == MAX_THEN || (!ptx_arithmetic(x) && (store || !simt_access_plain(x, true))))
            return NULL;
        store = LLVMIsAStoreInst(x) ? x : store;
    }
    return store;
}

/* What the block last read there, if nothing was written since. */
static LLVMValueRef read_at(LLVMBasicBlockRef bb, LLVMValueRef ptr, LLVMTypeRef type)
{
    for (LLVMValueRef x = LLVMGetLastInstruction(bb); x; x = LLVMGetPreviousInstruction(x)) {
        if (simt_access_plain(x, false) && LLVMGetOperand(x, 0) == ptr && LLVMTypeOf(x) == type)
            return x;
        if (simt_touches_memory(x) && !LLVMIsALoadInst(x))
            return NULL;
    }
    return NULL;
}

static bool update_at(struct simt_fn *f, int b, struct update *ret)
{
    const struct simt_block *h = &f->blocks[b];
    for (int i = 0; i < 2 && h->n_succ == 2 && h->divergent; i++) {
        const struct simt_block *t = &f->blocks[h->succ[i]];
        *ret = (struct update){ .head = b, .then = h->succ[i], .join = h->succ[1 - i], .on_false = i == 1 };
        if (t->n_preds != 1 || t->n_succ != 1 || t->succ[0] != ret->join || f->blocks[ret->join].loop != h->loop)
            continue;
        ret->store = only_store(t->bb);
        LLVMValueRef x = ret->store ? LLVMGetOperand(ret->store, 0) : NULL, ptr = x ? LLVMGetOperand(ret->store, 1) : NULL;
        uint64_t size = x ? LLVMStoreSizeOfType(f->u->in_layout, LLVMTypeOf(x)) : 0;
        ret->old = size == 4 || size == 8 ? read_at(h->bb, ptr, LLVMTypeOf(x)) : NULL;
        if (ret->old && place_of(f->u, ptr, &ret->place) && kernel_writes_own(f->u, &ret->place))
            return true;
    }
    return false;
}

/* ---- The question */

/* Does `condition`, being as `truth` says, tell that the column is below the width? */
static bool bounds(LLVMValueRef condition, bool truth, const struct place *p)
{
    if (simt_opposite(condition))
        return bounds(simt_opposite(condition), !truth, p);
    if (is_op(condition, truth ? LLVMAnd : LLVMOr))
        return bounds(LLVMGetOperand(condition, 0), truth, p) || bounds(LLVMGetOperand(condition, 1), truth, p);
    if (!LLVMIsAICmpInst(condition))
        return false;
    LLVMValueRef a = narrow(LLVMGetOperand(condition, 0)), b = narrow(LLVMGetOperand(condition, 1)), column = narrow(p->column);
    bool in_order = a == column && b == narrow(p->width), turned = b == column && a == narrow(p->width);
    switch (LLVMGetICmpPredicate(condition)) {
    case LLVMIntSLT: case LLVMIntULT: return truth && in_order;
    case LLVMIntSGE: case LLVMIntUGE: return !truth && in_order;
    case LLVMIntSGT: case LLVMIntUGT: return truth && turned;
    case LLVMIntSLE: case LLVMIntULE: return !truth && turned;
    default: return false;
    }
}

/* Do all threads that come to the block have columns below the width? */
static bool bounded(const struct simt_fn *f, int b, const struct place *p)
{
    for (; b > 0; b = f->blocks[b].idom) {
        const struct simt_block *from = &f->blocks[f->blocks[b].idom];
        LLVMValueRef term = LLVMGetBasicBlockTerminator(from->bb);
        if (f->blocks[b].n_preds == 1 && from->n_succ == 2 && LLVMIsABranchInst(term) &&
            bounds(LLVMGetCondition(term), LLVMGetSuccessor(term, 0) == f->blocks[b].bb, p))
            return true;
    }
    return false;
}

static bool writes_global(LLVMBasicBlockRef bb)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
        if (LLVMIsAStoreInst(x) && !simt_is_shared_ptr(LLVMTypeOf(LLVMGetOperand(x, 1))))
            return true;
    return false;
}

/* Is that asked before each of the kernel's stores, and before the update, which all threads make that come to its head? */
static bool all_bounded(const struct simt_fn *f, int head, const struct place *p)
{
    if (!bounded(f, head, p))
        return false;
    for (int b = 0; b < f->n_blocks; b++)
        if (writes_global(f->blocks[b].bb) && !bounded(f, b, p))
            return false;
    return true;
}

/* The grid's threads along an axis: i64, at the builder. */
static LLVMValueRef extent(struct simt *u, unsigned axis)
{
    LLVMTypeRef t = LLVMFunctionType(u->i32, NULL, 0, 0);
    LLVMValueRef blocks = LLVMBuildCall2(u->b, t, ptx_simt_declare(u->in, PTX_SIMT_NCTAID_X + axis), NULL, 0, "");
    LLVMValueRef threads = u->options->block[1] ? simt_c32(u, u->options->block[axis])
                               : LLVMBuildCall2(u->b, t, ptx_simt_declare(u->in, PTX_SIMT_NTID_X + axis), NULL, 0, "");
    return LLVMBuildMul(u->b, LLVMBuildZExt(u->b, blocks, u->i64, ""), LLVMBuildZExt(u->b, threads, u->i64, ""), "");
}

/* Is what all threads may write more than caches hold?  i1, at the builder; asked where no number wraps. */
static LLVMValueRef build_large(struct simt *u, const struct place *p)
{
    LLVMValueRef n = simt_c64(u, (int64_t)p->size);
    for (unsigned axis = 0; axis < 3; axis++)
        n = LLVMBuildMul(u->b, n, extent(u, axis), "");
    return LLVMBuildICmp(u->b, LLVMIntUGT, n, simt_c64(u, (int64_t)simt_threshold(u, PTX_THRESHOLD_BLEND_CACHED)), "");
}

static LLVMValueRef no_more(struct simt *u, LLVMValueRef all, LLVMValueRef x, LLVMValueRef most)
{
    return simt_and(u, all, LLVMBuildICmp(u->b, LLVMIntULE, x, most, ""));
}

/* Is each thread's place its own?  i1, at the builder.  No number may wrap, nor may a row reach into the next. */
static LLVMValueRef build_own(struct simt *u, const struct place *p, bool is_bounded)
{
    LLVMValueRef all = NULL, row = NULL, column = NULL;
    for (int axis = 0; axis < 3; axis++) {
        bool used = axis == p->column_axis || axis == p->row_axis;
        LLVMValueRef n = extent(u, (unsigned)axis);
        all = no_more(u, all, n, simt_c64(u, used ? INT32_MAX : 1));
        column = axis == p->column_axis ? n : column;
        row = axis == p->row_axis ? n : row;
    }
    if (!row)
        return all;
    LLVMValueRef width = LLVMBuildSExt(u->b, p->width, u->i64, "");
    all = no_more(u, all, width, simt_c64(u, INT32_MAX));
    if (!is_bounded)
        all = no_more(u, all, column, width);
    return p->bits == 32 ? no_more(u, all, LLVMBuildMul(u->b, row, width, ""), simt_c64(u, INT64_C(1) << 32)) : all;
}

/* ---- The rewriting */

static void hoist(LLVMBuilderRef b, LLVMBasicBlockRef from)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(from), next; !LLVMIsATerminatorInst(x); x = next) {
        next = LLVMGetNextInstruction(x);
        if (LLVMIsAStoreInst(x))
            continue;
        LLVMInstructionRemoveFromParent(x);
        ptx_insert(b, x);
    }
}

static LLVMBasicBlockRef new_block(struct simt_fn *f, const char *name)
{
    return LLVMAppendBasicBlockInContext(f->u->ctx, f->src, name);
}

static void rewrite(struct simt_fn *f, const struct update *p)
{
    struct simt *u = f->u;
    LLVMBasicBlockRef head = f->blocks[p->head].bb, join = f->blocks[p->join].bb;
    LLVMBasicBlockRef branch = new_block(f, "branch"), blend = new_block(f, "blend"), any = new_block(f, "any"),
                      write = new_block(f, "write"), done = new_block(f, "done");
    LLVMValueRef term = LLVMGetBasicBlockTerminator(head), condition = LLVMGetCondition(term), x = LLVMGetOperand(p->store, 0);
    LLVMPositionBuilderBefore(u->b, term);
    hoist(u->b, f->blocks[p->then].bb);
    LLVMBuildCondBr(u->b, build_own(u, &p->place, all_bounded(f, p->head, &p->place)), blend, branch);
    ptx_move_to_end(u->b, term, branch);
    LLVMPositionBuilderAtEnd(u->b, blend);
    condition = p->on_false ? LLVMBuildNot(u->b, condition, "") : condition;
    LLVMBuildCondBr(u->b, build_large(u, &p->place), any, write);
    LLVMPositionBuilderAtEnd(u->b, any);
    LLVMBuildCondBr(u->b, simt_all_build(u, LLVMBuildNot(u->b, condition, "")), done, write);
    LLVMPositionBuilderAtEnd(u->b, write);
    LLVMValueRef store = LLVMInstructionClone(p->store);
    LLVMSetOperand(store, 0, LLVMBuildSelect(u->b, condition, x, p->old, ""));
    ptx_insert(u->b, store);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, done);
    LLVMBuildBr(u->b, join);
    ptx_phis_rename(u->b, join, head, branch);
    LLVMPositionBuilderBefore(u->b, LLVMGetBasicBlockTerminator(blend));
    for (LLVMValueRef phi = LLVMGetFirstInstruction(join); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
        LLVMValueRef wrote = ptx_phi_value(phi, f->blocks[p->then].bb), left = ptx_phi_value(phi, branch);
        ptx_phi_add(phi, wrote == left ? wrote : LLVMBuildSelect(u->b, condition, wrote, left, ""), done);
    }
}

/* The first update behind whose store none was blended yet. */
static bool blend_one(struct simt_fn *f, struct aw_ptrmap *blended)
{
    struct update p;
    for (int b = 0; b < f->n_blocks; b++) {
        if (!update_at(f, b, &p) || aw_ptrmap_find(blended, p.store))
            continue;
        rewrite(f, &p);
        return aw_ptrmap_put(blended, p.store, f) || simt_memory(f->u);
    }
    return false;
}

bool simt_blend(struct simt *u, enum simt_form form)
{
    struct aw_ptrmap blended = { 0 };
    bool more = u->options->versions && !u->options->masked_stores;
    for (int i = 0; i < MOST && more && !u->status; i++) {
        struct simt_fn f = { .u = u, .form = form, .src = u->kernel };
        more = simt_cfg_build(&f) && simt_shape_analyse(&f) && blend_one(&f, &blended);
        aw_ptrmap_fini(&f.vals);
        simt_cfg_fini(&f);
    }
    aw_ptrmap_fini(&blended);
    return !u->status;
}
