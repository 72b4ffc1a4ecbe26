/* What is taken apart only to be put together again is computed in memory's order.
 *
 * A lane's two or four neighbouring elements are rows of memory, permuted into a vector for each part
 * (ptx/simt/emit/interleaved_access.c); what is computed of the parts is permuted back where it is written.  Where the same is
 * computed of all parts, lane by lane, it is the same of the rows as they lie:
 *
 *     write(zip(f(even(read)), f(odd(read))))       is       write(f(read))
 *
 * So each row that is written is followed back, element by element, through permutations and operations that all its elements
 * have in common, to whole registers, constants and scalars.  It is made anew of those where all rows that share an operation can
 * be, so that nothing is computed twice.  Before LLVM's passes, which would rewrite the permutations. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

typedef LLVMValueRef V;

enum {
    MAX_ELEMENTS = 32,    /* of a row */
    MAX_STEPS = 600,      /* operations of one row */
    MAX_OPERANDS = 8,
    PART = 4,             /* a row comes from so many registers at most */
    SCALAR = -1,
};

/* Lane `lane` of a vector; or a scalar.  Without padding, as rows are compared byte by byte. */
struct row_element {
    V of;
    intptr_t lane;
};

/* A row that a written one is made of; the first one is that itself. */
struct row_step {
    struct row_element at[MAX_ELEMENTS];
    unsigned n_operands;  /* 0: it is there already, or */
    bool permuted;        /* is made as it would have been, for one of the ways to where several meet */
    unsigned operands[MAX_OPERANDS]; /* steps */
    V made;
};

struct written_row {
    V store;
    AW_VEC(struct row_step) steps;
    bool fits;
};

struct unshuffle {
    LLVMBuilderRef b;
    LLVMModuleRef m;
    unsigned n;                   /* elements of the row that is looked at */
    AW_VEC(struct written_row) roots;    /* of a block */
    struct aw_ptrmap operations;  /* of all roots that fit */
    bool failed;
};

static LLVMTypeRef scalar_type(V v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t;
}

static bool is_vector(V v)
{
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

static unsigned lanes_of(V v)
{
    return LLVMGetVectorSize(LLVMTypeOf(v));
}

/* Where a lane comes from, through permutations; `of` is NULL where it is undefined. */
static struct row_element origin(V v, int lane)
{
    int64_t at;
    while (LLVMIsAInstruction(v)) {
        if (LLVMIsAShuffleVectorInst(v)) {
            int from = LLVMGetMaskValue(v, (unsigned)lane), n = (int)lanes_of(LLVMGetOperand(v, 0));
            if (from == LLVMGetUndefMaskElem())
                return (struct row_element){ 0 };
            v = LLVMGetOperand(v, from >= n);
            lane = from >= n ? from - n : from;
        } else if (LLVMIsAInsertElementInst(v) && ptx_host_constant(LLVMGetOperand(v, 2), &at)) {
            if (at == lane)
                return (struct row_element){ LLVMGetOperand(v, 1), SCALAR };
            v = LLVMGetOperand(v, 0);
        } else {
            return (struct row_element){ v, lane };
        }
    }
    V constant = LLVMIsConstant(v) ? LLVMGetAggregateElement(v, (unsigned)lane) : NULL;
    return constant ? (struct row_element){ constant, SCALAR } : (struct row_element){ v, lane };
}

/* ---- What a row is made of */

/* Is each lane of the result made of the same lane of the operands alone? */
static bool is_lane_wise(V v)
{
    if (!LLVMIsAInstruction(v) || !is_vector(v))
        return false;
    if (LLVMIsACallInst(v)) {
        enum ptx_intrinsic id = ptx_intrinsic_called(v);
        const struct ptx_intrinsic_info *info = id == PTX_INTRINSIC_NONE ? NULL : ptx_intrinsic_info(id);
        return info && info->types && !strcmp(info->types, "r") && !(info->traits & PTX_INTRINSIC_IMMEDIATE);
    }
    return LLVMIsABinaryOperator(v) || LLVMIsAUnaryOperator(v) || LLVMIsACastInst(v) || LLVMIsACmpInst(v) ||
           LLVMIsASelectInst(v) || LLVMIsAFreezeInst(v) || LLVMIsAPHINode(v);
}

static unsigned n_operands(V v)
{
    return LLVMIsAPHINode(v)    ? LLVMCountIncoming(v)
           : LLVMIsACallInst(v) ? LLVMGetNumArgOperands(v)
                                : (unsigned)LLVMGetNumOperands(v);
}

/* Operand k of an instruction that is like `first`, whose order counts where values come from several blocks; NULL. */
static V operand_like(V first, V v, unsigned k)
{
    if (!LLVMIsAPHINode(v))
        return LLVMGetOperand(v, k);
    for (unsigned i = 0; i < LLVMCountIncoming(v); i++)
        if (LLVMGetIncomingBlock(v, i) == LLVMGetIncomingBlock(first, k))
            return LLVMGetIncomingValue(v, i);
    return NULL;
}

/* Do two instructions of a block do the same? */
static bool alike(V x, V y)
{
    if (x == y)
        return true;
    if (!LLVMIsAInstruction(y) || LLVMGetInstructionOpcode(x) != LLVMGetInstructionOpcode(y) || LLVMTypeOf(x) != LLVMTypeOf(y) ||
        LLVMGetInstructionParent(x) != LLVMGetInstructionParent(y) || n_operands(x) != n_operands(y))
        return false;
    if (LLVMIsAICmpInst(x))
        return LLVMGetICmpPredicate(x) == LLVMGetICmpPredicate(y);
    if (LLVMIsAFCmpInst(x))
        return LLVMGetFCmpPredicate(x) == LLVMGetFCmpPredicate(y);
    return !LLVMIsACallInst(x) || LLVMGetCalledValue(x) == LLVMGetCalledValue(y);
}

/* Is it what all elements of the row come from, lane by lane, each in its own? */
static bool same_operation(const struct unshuffle *u, const struct row_element *row)
{
    V x = row[0].of;
    if (row[0].lane == SCALAR || !is_lane_wise(x) || n_operands(x) > MAX_OPERANDS)
        return false;
    for (unsigned i = 0; i < u->n; i++) {
        if (row[i].lane == SCALAR || !alike(x, row[i].of))
            return false;
        for (unsigned k = 0; k < n_operands(x); k++) {
            V of = LLVMGetOperand(x, k), like = operand_like(x, row[i].of, k);
            if (!like || LLVMTypeOf(like) != LLVMTypeOf(of) || !is_vector(of) || lanes_of(of) != lanes_of(x))
                return false;
        }
    }
    return true;
}

/* How many neighbours, from a multiple of their number on, each part of the row is; 0: it is no such row. */
static unsigned part_of(const struct unshuffle *u, const struct row_element *row)
{
    for (unsigned part = u->n; part > 1 && part * PART >= u->n; part /= 2) {
        bool ok = true;
        for (unsigned i = 0; i < u->n && ok; i++) {
            const struct row_element *first = &row[i - i % part];
            ok = row[i].lane != SCALAR && row[i].of == first->of && first->lane % (int)part == 0 &&
                 row[i].lane == first->lane + (int)(i % part);
        }
        if (ok)
            return part;
    }
    return 0;
}

/* Constants, or one scalar for all? */
static bool is_scalars(const struct unshuffle *u, const struct row_element *row)
{
    for (unsigned i = 0; i < u->n; i++)
        if (row[i].lane != SCALAR || (row[i].of != row[0].of && !(LLVMIsConstant(row[i].of) && LLVMIsConstant(row[0].of))))
            return false;
    return true;
}

static bool is_there(const struct unshuffle *u, const struct row_element *row)
{
    return is_scalars(u, row) || (part_of(u, row) && !is_lane_wise(row[0].of));
}

static bool may_permute(const struct unshuffle *u, const struct row_element *row)
{
    for (unsigned i = 0; i < u->n; i++)
        if (row[i].lane == SCALAR || LLVMTypeOf(row[i].of) != LLVMTypeOf(row[0].of))
            return false;
    return true;
}

static bool follow(struct unshuffle *u, struct written_row *root, const struct row_element *row, unsigned *ret_step);

static bool follow_operand(struct unshuffle *u, struct written_row *root, unsigned step, unsigned k)
{
    struct row_element from[MAX_ELEMENTS];
    unsigned operand;
    memset(from, 0, sizeof from);
    for (unsigned i = 0; i < u->n; i++) {
        const struct row_element *row = root->steps.at[step].at;
        from[i] = origin(operand_like(row[0].of, row[i].of, k), row[i].lane);
        if (!from[i].of)
            return false;
    }
    size_t before = root->steps.n;
    if (!follow(u, root, from, &operand)) {
        struct row_step permuted = { .permuted = true };
        if (!LLVMIsAPHINode(root->steps.at[step].at[0].of) || !may_permute(u, from) || u->failed)
            return false;
        memcpy(permuted.at, from, sizeof from);
        root->steps.n = before; /* without what was found of it */
        operand = (unsigned)before;
        u->failed |= !aw_vec_push(&root->steps, permuted);
    }
    root->steps.at[step].operands[k] = operand;
    return true;
}

/* Was one of the ways found, at least? */
static bool any_followed(const struct written_row *root, unsigned step)
{
    bool any = !root->steps.at[step].n_operands;
    for (unsigned k = 0; k < root->steps.at[step].n_operands; k++)
        any |= !root->steps.at[root->steps.at[step].operands[k]].permuted;
    return any;
}

/* The row's step, which is added where there is none; false where it cannot be made so. */
static bool follow(struct unshuffle *u, struct written_row *root, const struct row_element *row, unsigned *ret_step)
{
    for (size_t k = 0; k < root->steps.n; k++)
        if (!root->steps.at[k].permuted && !memcmp(root->steps.at[k].at, row, u->n * sizeof *row)) {
            *ret_step = (unsigned)k;
            return true;
        }
    bool there = is_there(u, row);
    if ((!there && !same_operation(u, row)) || root->steps.n == MAX_STEPS)
        return false;
    struct row_step step = { .n_operands = there ? 0 : n_operands(row[0].of) };
    memcpy(step.at, row, u->n * sizeof *row);
    unsigned at = *ret_step = (unsigned)root->steps.n;
    u->failed |= !aw_vec_push(&root->steps, step);
    for (unsigned k = 0; k < step.n_operands && !u->failed; k++)
        if (!follow_operand(u, root, at, k))
            return false;
    return !u->failed && any_followed(root, at);
}

/* A written row that is a permutation of something computed? */
static void look_at(struct unshuffle *u, V store)
{
    V v = LLVMIsAStoreInst(store) ? LLVMGetOperand(store, 0) : NULL;
    if (!v || !LLVMIsAShuffleVectorInst(v) || lanes_of(v) > MAX_ELEMENTS)
        return;
    struct written_row root = { .store = store, .fits = true };
    struct row_element row[MAX_ELEMENTS];
    memset(row, 0, sizeof row);
    u->n = lanes_of(v);
    bool ok = true;
    unsigned first;
    for (unsigned i = 0; i < u->n && ok; i++) {
        row[i] = origin(v, (int)i);
        ok = row[i].of != NULL;
    }
    if (ok && !part_of(u, row) && follow(u, &root, row, &first))
        u->failed |= !aw_vec_push(&u->roots, root);
    else
        aw_vec_fini(&root.steps);
}

/* ---- Which rows are made anew */

static void note_operations(struct unshuffle *u, const struct written_row *root)
{
    for (size_t k = 0; k < root->steps.n; k++)
        for (unsigned i = 0; root->steps.at[k].n_operands && i < lanes_of(LLVMGetOperand(root->store, 0)); i++)
            u->failed |= !aw_ptrmap_put(&u->operations, root->steps.at[k].at[i].of, root->store);
}

/* Is the value used by nothing but operations that are made anew, and rows that are written of them? */
static bool stays_within(struct unshuffle *u, V v)
{
    for (LLVMUseRef use = LLVMGetFirstUse(v); use; use = LLVMGetNextUse(use)) {
        V user = LLVMGetUser(use);
        bool written = LLVMIsAStoreInst(user) && aw_ptrmap_find(&u->operations, user);
        if (!written && !aw_ptrmap_find(&u->operations, user) && !(LLVMIsAShuffleVectorInst(user) && stays_within(u, user)))
            return false;
    }
    return true;
}

static bool within(struct unshuffle *u, const struct written_row *root)
{
    for (size_t k = 0; k < root->steps.n; k++)
        for (unsigned i = 0; root->steps.at[k].n_operands && i < lanes_of(LLVMGetOperand(root->store, 0)); i++)
            if (!stays_within(u, root->steps.at[k].at[i].of))
                return false;
    return true;
}

/* Leaves out rows until nothing is computed for those and for others. */
static void choose(struct unshuffle *u)
{
    for (bool changed = u->roots.n != 0; changed && !u->failed;) {
        changed = false;
        aw_ptrmap_fini(&u->operations);
        for (size_t r = 0; r < u->roots.n; r++)
            if (u->roots.at[r].fits) {
                note_operations(u, &u->roots.at[r]);
                u->failed |= !aw_ptrmap_put(&u->operations, u->roots.at[r].store, u->roots.at[r].store);
            }
        for (size_t r = 0; r < u->roots.n && !u->failed; r++)
            if (u->roots.at[r].fits && !within(u, &u->roots.at[r]))
                u->roots.at[r].fits = false, changed = true;
    }
    aw_ptrmap_fini(&u->operations);
}

/* ---- Making them */

static V splat_or_constants(struct unshuffle *u, const struct row_element *row)
{
    V all[MAX_ELEMENTS];
    for (unsigned i = 0; i < u->n; i++)
        all[i] = row[i].of;
    if (LLVMIsConstant(all[0]))
        return LLVMConstVector(all, u->n);
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(all[0]), u->n),
                at = LLVMVectorType(LLVMInt32TypeInContext(LLVMGetModuleContext(u->m)), u->n);
    V one = LLVMBuildInsertElement(u->b, LLVMGetPoison(type), all[0], LLVMConstNull(LLVMGetElementType(at)), "");
    return LLVMBuildShuffleVector(u->b, one, LLVMGetPoison(type), LLVMConstNull(at), "");
}

/* Whole registers, or slices of them, one after the other. */
static V registers(struct unshuffle *u, const struct row_element *row)
{
    unsigned part = part_of(u, row), pieces = u->n / part;
    V piece[PART];
    for (unsigned k = 0; k < pieces; k++)
        piece[k] = ptx_host_piece(u->b, row[k * part].of, (unsigned)row[k * part].lane, part);
    return ptx_host_join(u->b, piece, pieces);
}

/* Elements from anywhere, those of two vectors at a time. */
static V permutation(struct unshuffle *u, const struct row_element *row)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(u->m));
    bool done[MAX_ELEMENTS] = { false };
    V all = NULL;
    for (unsigned first = 0; first < u->n; first++) {
        V of[2] = { row[first].of, NULL }, take[MAX_ELEMENTS], blend[MAX_ELEMENTS];
        if (done[first])
            continue;
        for (unsigned i = 0; i < u->n; i++) {
            unsigned which = row[i].of != of[0];
            bool mine = !done[i] && (!which || !of[1] || row[i].of == of[1]);
            if (mine && which)
                of[1] = row[i].of;
            take[i] = mine ? LLVMConstInt(i32, (unsigned)row[i].lane + which * lanes_of(of[0]), 0) : LLVMGetPoison(i32);
            blend[i] = LLVMConstInt(i32, mine ? u->n + i : i, 0);
            done[i] |= mine;
        }
        V two = LLVMBuildShuffleVector(u->b, of[0], of[1] ? of[1] : LLVMGetPoison(LLVMTypeOf(of[0])),
                                       LLVMConstVector(take, u->n), "");
        all = all ? LLVMBuildShuffleVector(u->b, all, two, LLVMConstVector(blend, u->n), "") : two;
    }
    return all;
}

static V operation(struct unshuffle *u, V like, V *x)
{
    LLVMTypeRef type = LLVMVectorType(scalar_type(like), u->n);
    if (LLVMIsABinaryOperator(like))
        return LLVMBuildBinOp(u->b, LLVMGetInstructionOpcode(like), x[0], x[1], "");
    if (LLVMIsAUnaryOperator(like))
        return LLVMBuildFNeg(u->b, x[0], "");
    if (LLVMIsACastInst(like))
        return LLVMBuildCast(u->b, LLVMGetInstructionOpcode(like), x[0], type, "");
    if (LLVMIsAICmpInst(like))
        return LLVMBuildICmp(u->b, LLVMGetICmpPredicate(like), x[0], x[1], "");
    if (LLVMIsAFCmpInst(like))
        return LLVMBuildFCmp(u->b, LLVMGetFCmpPredicate(like), x[0], x[1], "");
    if (LLVMIsASelectInst(like))
        return LLVMBuildSelect(u->b, x[0], x[1], x[2], "");
    if (LLVMIsAFreezeInst(like))
        return LLVMBuildFreeze(u->b, x[0], "");
    V fn = LLVMGetIntrinsicDeclaration(u->m, ptx_intrinsic_llvm_id(ptx_intrinsic_called(like)), &type, 1);
    return LLVMBuildCall2(u->b, LLVMGlobalGetValueType(fn), fn, x, n_operands(like), "");
}

static V make(struct unshuffle *u, struct written_row *root, unsigned k);

/* Where values of several blocks meet: there before what comes to it is made, which may be made of it. */
static void make_phi(struct unshuffle *u, struct written_row *root, struct row_step *step)
{
    V like = step->at[0].of;
    LLVMPositionBuilderBefore(u->b, LLVMGetFirstInstruction(LLVMGetInstructionParent(like)));
    step->made = LLVMBuildPhi(u->b, LLVMVectorType(scalar_type(like), u->n), "");
    for (unsigned i = 0; i < step->n_operands; i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(like, i);
        LLVMPositionBuilderBefore(u->b, LLVMGetBasicBlockTerminator(from));
        V x = make(u, root, step->operands[i]);
        LLVMAddIncoming(step->made, &x, &from, 1);
    }
}

/* At the end of the block that has it now, or before it is written. */
static void make_operation(struct unshuffle *u, struct written_row *root, struct row_step *step)
{
    V like = step->at[0].of, x[MAX_OPERANDS] = { 0 };
    LLVMBasicBlockRef bb = LLVMGetInstructionParent(like);
    V before = bb == LLVMGetInstructionParent(root->store) ? root->store : LLVMGetBasicBlockTerminator(bb);
    for (unsigned i = 0; i < step->n_operands; i++) {
        LLVMPositionBuilderBefore(u->b, before);
        x[i] = make(u, root, step->operands[i]);
    }
    LLVMPositionBuilderBefore(u->b, before);
    step->made = operation(u, like, x);
}

/* A step's row.  What is there already is put together at the builder's place. */
static V make(struct unshuffle *u, struct written_row *root, unsigned k)
{
    struct row_step *step = &root->steps.at[k];
    if (!step->n_operands)
        return step->permuted             ? permutation(u, step->at)
               : is_scalars(u, step->at) ? splat_or_constants(u, step->at)
                                         : registers(u, step->at);
    if (!step->made && LLVMIsAPHINode(step->at[0].of))
        make_phi(u, root, step);
    else if (!step->made)
        make_operation(u, root, step);
    return step->made;
}

static void make_root(struct unshuffle *u, struct written_row *root)
{
    u->n = lanes_of(LLVMGetOperand(root->store, 0));
    LLVMPositionBuilderBefore(u->b, root->store);
    LLVMSetCurrentDebugLocation2(u->b, LLVMInstructionGetDebugLoc(root->store));
    LLVMSetOperand(root->store, 0, make(u, root, 0));
}

static void in_block(struct unshuffle *u, LLVMBasicBlockRef bb)
{
    for (V x = LLVMGetFirstInstruction(bb); x && !u->failed; x = LLVMGetNextInstruction(x))
        look_at(u, x);
    choose(u);
    for (size_t r = 0; r < u->roots.n; r++) {
        if (u->roots.at[r].fits && !u->failed)
            make_root(u, &u->roots.at[r]);
        aw_vec_fini(&u->roots.at[r].steps);
    }
    aw_vec_fini(&u->roots);
}

int ptx_run_unshuffle(struct ptx_pipeline *pipe)
{
    LLVMModuleRef m = *pipe->module;
    struct unshuffle u = { .b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m)), .m = m };
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb && !u.failed; bb = LLVMGetNextBasicBlock(bb))
            in_block(&u, bb);
    LLVMDisposeBuilder(u.b);
    return u.failed ? AW_ERR_OUT_OF_MEMORY : AW_OK;
}
