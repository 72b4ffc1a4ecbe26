/* Loops whose lanes go side by side, or all alike, by a factor that is known when the code runs: PyTorch's reductions begin at
 * `threadIdx.x * a + threadIdx.y * b` and read what lies at `threadIdx.x * c`, where `a`, `b` and `c` are arguments, and either
 * `a` or `c` is 0.  Taken as they stand, lanes leave such a loop at different times and read anywhere.
 *
 *   do L while (c)    becomes    if (every lane is on, indices are the same, addresses a row)
 *                                    do L' while (all(c));
 *                                else if (every lane is on, indices are neighbours, what they are added to is the same)
 *                                    do L" while (all(c));
 *                                do L while (c), from where lanes are, if they have not left
 *
 * In a copy what was asked is said: an index is the first lane's, or that plus the lane's number, so that a round is rows of
 * memory.  That is computed anew, of what was compared with it, and so right whatever was guessed; what is guessed is which loops
 * are worth it.  Before control flow is nested, and before lane serialisation, which takes the loop that is left. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/rewrite/rewrite.h"

#include "lower/copy.h"

enum {
    MAX_LOOPS = 4,     /* of a function; the analyses run once for each */
    MAX_SIZE = 300,    /* instructions of a loop */
    MAX_ASSUMED = 8,   /* values of a loop */
    MAX_ROWS = 16,     /* addresses that are asked about */
    MAX_STEPS = 4000,  /* of looking at a loop */
    MAX_DEPTH = 60,
    WAYS = 2,          /* by how far indices are apart: 0, 1 */
};

/* Lanes of `v`, which the loop is entered with or begins with (a phi of its header), are `by` apart. */
struct assumed {
    LLVMValueRef v;
    int64_t by;
};

struct scaled_way {
    bool any;
    int n, n_rows;
    struct assumed of[MAX_ASSUMED];
    LLVMValueRef row[MAX_ROWS]; /* addresses of rows then, from which structures are accessed at constant distances */
    LLVMBasicBlockRef ask, enter, rest; /* asks; leads to the copy; behind it, of lanes some of which have left */
    struct ptx_copy copy;
    LLVMValueRef expected[MAX_ASSUMED];
};

struct scaled {
    struct simt *u;
    LLVMValueRef fn;
    struct simt_fn f;
    struct aw_ptrmap tried;   /* headers */
    int loop, leaves;         /* the loop, and its only block that it is left from */
    bool exits_if_true;
    int steps;                /* left */
    int n_index;
    LLVMValueRef index[MAX_ASSUMED]; /* what the end hangs on: phis of the header, and values from before */
    int64_t apart;            /* of indices, in the way at hand */
    struct scaled_way way[WAYS], *at;
    LLVMBasicBlockRef before, entry, left; /* the loop is entered from; its new entry; where all ways out meet */
    bool ok;                  /* memory */
};

static LLVMBasicBlockRef block_at(const struct scaled *s, int b)
{
    return s->f.blocks[b].bb;
}

static bool within(struct scaled *s, LLVMValueRef v)
{
    return simt_defined_in(&s->f, s->loop, v);
}

static bool heads(const struct scaled *s, LLVMValueRef v)
{
    return LLVMIsAPHINode(v) && LLVMGetInstructionParent(v) == block_at(s, s->f.loops[s->loop].header);
}

static LLVMValueRef start_of(struct scaled *s, LLVMValueRef v)
{
    return heads(s, v) ? ptx_phi_value(v, block_at(s, s->f.loops[s->loop].preheader)) : v;
}

static LLVMValueRef next_of(struct scaled *s, LLVMValueRef phi)
{
    return ptx_phi_value(phi, block_at(s, s->f.loops[s->loop].latch));
}

/* ---- Looking at a loop */

static bool is_index(const struct scaled *s, LLVMValueRef v)
{
    for (int i = 0; i < s->n_index; i++)
        if (s->index[i] == v)
            return true;
    return false;
}

/* Lists what the value is computed of in the loop; false: of something else than indices. */
static bool find_indices(struct scaled *s, LLVMValueRef v, int depth)
{
    if ((!LLVMIsAInstruction(v) && !LLVMIsAArgument(v)) || is_index(s, v) || (!within(s, v) && simt_uniform(&s->f, v)))
        return true;
    if (--s->steps < 0 || !depth)
        return false;
    if (!within(s, v) || heads(s, v)) {
        if (s->n_index == MAX_ASSUMED || LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMIntegerTypeKind)
            return false;
        s->index[s->n_index++] = v;
        return !heads(s, v) || find_indices(s, next_of(s, v), depth - 1);
    }
    if (!ptx_arithmetic(v))
        return false;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(v); i++)
        if (!find_indices(s, LLVMGetOperand(v, i), depth - 1))
            return false;
    return true;
}

/* The loop is left from one block, whose other way is to the header, directly or through a block that only leads there. */
static bool find_end(struct scaled *s)
{
    struct simt_fn *f = &s->f;
    const struct simt_loop *l = &f->loops[s->loop];
    int edges = 0;
    for (int b = 0; b < f->n_blocks; b++)
        for (int j = 0; simt_loop_has(f, s->loop, b) && j < f->blocks[b].n_succ; j++)
            if (!simt_loop_has(f, s->loop, f->blocks[b].succ[j])) {
                edges++;
                s->leaves = b;
                s->exits_if_true = !j;
            }
    if (edges != 1 || f->blocks[s->leaves].n_succ != 2)
        return false;
    int on = f->blocks[s->leaves].succ[s->exits_if_true];
    return on == l->header ||
           (on == l->latch && f->blocks[on].n_preds == 1 && LLVMIsATerminatorInst(LLVMGetFirstInstruction(block_at(s, on))));
}

static bool copies_well(struct scaled *s, LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMLoad: case LLVMStore:
        return simt_access_plain(x, LLVMIsAStoreInst(x));
    case LLVMAlloca: case LLVMFence: case LLVMAtomicRMW: case LLVMAtomicCmpXchg: case LLVMRet: case LLVMSwitch:
    case LLVMUnreachable:
        return false;
    case LLVMCall:
        return LLVMIsAFunction(LLVMGetCalledValue(x)) && LLVMGetIntrinsicID(LLVMGetCalledValue(x)) &&
               ptx_intrinsic_called(x) != PTX_INTRINSIC_TRAP && !ptx_intrinsic_has(x, PTX_INTRINSIC_LIFETIME);
    default:
        return true;
    }
}

static bool is_innermost(const struct scaled *s)
{
    for (int l = 0; l < s->f.n_loops; l++)
        if (s->f.loops[l].parent == s->loop)
            return false;
    return true;
}

static bool is_small(struct scaled *s)
{
    int n = 0;
    for (int b = 0; b < s->f.n_blocks; b++)
        for (LLVMValueRef x = simt_loop_has(&s->f, s->loop, b) ? LLVMGetFirstInstruction(block_at(s, b)) : NULL; x;
             x = LLVMGetNextInstruction(x))
            if (++n > MAX_SIZE || !copies_well(s, x))
                return false;
    return true;
}

/* Does an index differ among lanes by a factor that is not known? */
static bool is_scaled(struct scaled *s)
{
    for (int i = 0; i < s->n_index; i++)
        if (simt_likely_scaled(&s->f, start_of(s, s->index[i])))
            return true;
    return false;
}

/* ---- How far lanes are apart, in a way */

static int assumed_at(const struct scaled_way *w, LLVMValueRef v)
{
    for (int i = 0; i < w->n; i++)
        if (w->of[i].v == v)
            return i;
    return -1;
}

static bool assume(struct scaled_way *w, LLVMValueRef v, int64_t by)
{
    int i = assumed_at(w, v);
    if (i >= 0)
        return w->of[i].by == by;
    if (w->n == MAX_ASSUMED)
        return false;
    w->of[w->n++] = (struct assumed){ v, by };
    return true;
}

static bool step_of(struct scaled *s, LLVMValueRef v, int depth, int64_t *ret);

/* Of lanes at known distances. */
static bool known_step(const struct scaled *s, const int64_t *off, int64_t *ret)
{
    *ret = off[1] - off[0];
    for (int i = 2; i < s->u->lanes; i++)
        if (off[i] - off[i - 1] != *ret)
            return false;
    return true;
}

static bool step_of_two(struct scaled *s, LLVMValueRef v, int depth, int64_t *ret)
{
    int64_t a, b, c;
    if (!step_of(s, LLVMGetOperand(v, 0), depth, &a) || !step_of(s, LLVMGetOperand(v, 1), depth, &b))
        return false;
    *ret = 0;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAdd: *ret = a + b; return true;
    case LLVMSub: *ret = a - b; return true;
    case LLVMShl:
        if (!simt_int_const(LLVMGetOperand(v, 1), &c) || c < 0 || c > 16)
            return !a && !b;
        *ret = (int64_t)((uint64_t)a << c);
        return true;
    case LLVMMul:
        if (!simt_int_const(LLVMGetOperand(v, 1), &c))
            return !a && !b;
        *ret = a * c;
        return true;
    case LLVMGetElementPtr:
        *ret = a + b * (int64_t)LLVMABISizeOfType(s->u->in_layout, LLVMGetGEPSourceElementType(v));
        return true;
    default: return !a && !b;
    }
}

/* Of what the loop computes: from indices, what is the same for all lanes, and what has been assumed. */
static bool step_of(struct scaled *s, LLVMValueRef v, int depth, int64_t *ret)
{
    const struct simt_val *val = simt_get(&s->f, v);
    *ret = 0;
    if (!val || val->kind == SIMT_AFFINE)
        return !val || !val->off || known_step(s, val->off, ret);
    int i = assumed_at(s->at, v);
    if (i >= 0 || is_index(s, v)) {
        *ret = i >= 0 ? s->at->of[i].by : heads(s, v) ? s->apart : 0;
        return true;
    }
    if (!within(s, v) || LLVMIsAPHINode(v) || !depth || --s->steps < 0)
        return false;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMZExt: case LLVMSExt: case LLVMTrunc: case LLVMIntToPtr: case LLVMPtrToInt:
        return step_of(s, LLVMGetOperand(v, 0), depth - 1, ret);
    default: break;
    }
    if (LLVMGetNumOperands(v) == 2 && ptx_arithmetic(v))
        return step_of_two(s, v, depth - 1, ret);
    int64_t a;
    bool same = ptx_arithmetic(v) || LLVMIsALoadInst(v);
    for (unsigned k = 0; same && k < (unsigned)LLVMGetNumOperands(v); k++)
        same = step_of(s, LLVMGetOperand(v, k), depth - 1, &a) && !a;
    return same;
}

/* Are lanes `by` apart, if what comes from before the loop is as far apart as that takes?  Then it is assumed. */
static bool trace(struct scaled *s, LLVMValueRef v, int64_t by, int depth)
{
    int64_t known, c = 1;
    if (step_of(s, v, depth, &known))
        return known == by;
    if (!within(s, v) || (heads(s, v) && simt_loop_step(&s->f, s->loop, v)))
        return assume(s->at, v, by);
    if (!depth || --s->steps < 0)
        return false;
    LLVMValueRef x = LLVMGetOperand(v, 0), y = LLVMGetNumOperands(v) == 2 ? LLVMGetOperand(v, 1) : NULL;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMZExt: case LLVMSExt: case LLVMIntToPtr: case LLVMPtrToInt:
        return trace(s, x, by, depth - 1);
    case LLVMShl:
        return simt_int_const(y, &c) && c >= 0 && c <= 16 && by % (INT64_C(1) << c) == 0 && trace(s, x, by >> c, depth - 1);
    case LLVMMul:
        return simt_int_const(y, &c) && c > 0 && by % c == 0 && trace(s, x, by / c, depth - 1);
    case LLVMSub:
        return step_of(s, y, depth, &known) && trace(s, x, by + known, depth - 1);
    case LLVMGetElementPtr:
        c = y ? (int64_t)LLVMABISizeOfType(s->u->in_layout, LLVMGetGEPSourceElementType(v)) : 0;
        if (c && step_of(s, y, depth, &known))
            return trace(s, x, by - known * c, depth - 1);
        return c && step_of(s, x, depth, &known) && (by - known) % c == 0 && trace(s, y, (by - known) / c, depth - 1);
    case LLVMAdd:
        if (step_of(s, x, depth, &known))
            return trace(s, y, by - known, depth - 1);
        return step_of(s, y, depth, &known) && trace(s, x, by - known, depth - 1);
    default: return false;
    }
}

static LLVMValueRef address_of(LLVMValueRef x)
{
    return LLVMIsALoadInst(x) || LLVMIsAStoreInst(x) ? simt_access_address(x) : NULL;
}

/* What the address is made of by constant distances. */
static LLVMValueRef row_of(LLVMValueRef p)
{
    int64_t c;
    while (LLVMIsAGetElementPtrInst(p) && LLVMGetNumOperands(p) == 2 && simt_int_const(LLVMGetOperand(p, 1), &c))
        p = LLVMGetOperand(p, 0);
    return p;
}

static bool note_row(struct scaled_way *w, LLVMValueRef p)
{
    for (int i = 0; i < w->n_rows; i++)
        if (w->row[i] == p)
            return true;
    if (w->n_rows == MAX_ROWS)
        return false;
    w->row[w->n_rows++] = p;
    return true;
}

/* Bytes from the first to the end of the last of the loop's accesses beside this one. */
static int64_t structure(struct scaled *s, LLVMValueRef access)
{
    int64_t at, low = INT64_MAX, high = INT64_MIN;
    LLVMValueRef root = simt_access_root(&s->f, address_of(access), &at);
    for (LLVMValueRef x = LLVMGetFirstInstruction(LLVMGetInstructionParent(access)); x; x = LLVMGetNextInstruction(x)) {
        if (!address_of(x) || simt_access_root(&s->f, address_of(x), &at) != root)
            continue;
        int64_t end = at + (int64_t)LLVMABISizeOfType(s->u->in_layout, simt_access_type(x));
        low = at < low ? at : low;
        high = end > high ? end : high;
    }
    return high - low;
}

/* Can the address be computed before it is used, of what the loop begins a round with? */
static bool computes(struct scaled *s, LLVMValueRef v, int depth)
{
    if (!within(s, v) || heads(s, v))
        return true;
    if (!depth || --s->steps < 0 || !ptx_arithmetic(v))
        return false;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(v); i++)
        if (!computes(s, LLVMGetOperand(v, i), depth - 1))
            return false;
    return true;
}

/* Sets the way by what it takes for the loop's accesses to be rows. */
static void find_way(struct scaled *s, struct scaled_way *w, int64_t apart)
{
    int rows = 0, others = 0;
    *w = (struct scaled_way){ 0 };
    s->at = w;
    s->apart = apart;
    s->steps = MAX_STEPS;
    for (int b = 0; b < s->f.n_blocks; b++)
        for (LLVMValueRef x = simt_loop_has(&s->f, s->loop, b) ? LLVMGetFirstInstruction(block_at(s, b)) : NULL; x;
             x = LLVMGetNextInstruction(x)) {
            LLVMValueRef p = address_of(x);
            if (!p || !simt_varying(&s->f, p) || simt_is_shared_ptr(LLVMTypeOf(p)))
                continue;
            int n = w->n;
            if (computes(s, p, MAX_DEPTH) && trace(s, p, structure(s, x), MAX_DEPTH) && note_row(w, row_of(p)))
                rows++;
            else
                w->n = n, others++;
        }
    w->any = rows > others;
    for (int i = 0; i < s->n_index; i++)
        if (simt_varying(&s->f, s->index[i]))
            w->any = w->any && assume(w, s->index[i], heads(s, s->index[i]) ? apart : 0);
}

static bool choose(struct scaled *s)
{
    for (s->loop = 0; s->loop < s->f.n_loops; s->loop++) {
        const struct simt_loop *l = &s->f.loops[s->loop];
        if (!l->divergent || l->latch < 0 || l->preheader < 0 || l->exit < 0 || aw_ptrmap_find(&s->tried, block_at(s, l->header)))
            continue;
        s->n_index = 0;
        s->steps = MAX_STEPS;
        if (!is_innermost(s) || !find_end(s) || !is_small(s) || simt_loop_spins(&s->f, s->loop) ||
            !find_indices(s, LLVMGetCondition(LLVMGetBasicBlockTerminator(block_at(s, s->leaves))), MAX_DEPTH) || !is_scaled(s))
            continue;
        for (int i = 0; i < WAYS; i++)
            find_way(s, &s->way[i], i);
        if (s->way[0].any || s->way[1].any)
            return true;
    }
    return false;
}

/* ---- Making the copies */

static LLVMBasicBlockRef new_block(struct scaled *s, const char *name)
{
    return LLVMAppendBasicBlockInContext(s->u->ctx, s->fn, name);
}

static LLVMValueRef private_build(struct scaled *s, enum simt_private what, LLVMValueRef x)
{
    return simt_private_call(s->u->b, s->u->in, what, x ? &x : NULL, x != NULL);
}

/* How far a lane is from the first one. */
static LLVMValueRef lane_build(struct scaled *s, LLVMTypeRef type, int64_t by)
{
    LLVMBuilderRef b = s->u->b;
    LLVMValueRef lane = ptx_simt_call(b, s->u->in, PTX_SIMT_LANEID, NULL);
    lane = LLVMBuildSub(b, lane, private_build(s, SIMT_PRIVATE_FIRST, lane), "");
    return LLVMBuildMul(b, LLVMBuildIntCast2(b, lane, type, 0, ""), LLVMConstInt(type, (uint64_t)by, 1), "");
}

/* What a lane holds if what is assumed is true; *cond, which may be NULL, and that it does. */
static LLVMValueRef expect(struct scaled *s, LLVMValueRef x, int64_t by, LLVMValueRef *cond)
{
    LLVMBuilderRef b = s->u->b;
    LLVMTypeRef type = LLVMTypeOf(x);
    bool is_ptr = LLVMGetTypeKind(type) == LLVMPointerTypeKind;
    if (!by && simt_uniform(&s->f, x))
        return x;
    LLVMValueRef now = is_ptr ? LLVMBuildPtrToInt(b, x, s->u->i64, "") : x;
    LLVMValueRef r = private_build(s, SIMT_PRIVATE_FIRST, now);
    if (by)
        r = LLVMBuildAdd(b, r, lane_build(s, LLVMTypeOf(now), by), "");
    LLVMValueRef same = LLVMBuildICmp(b, LLVMIntEQ, now, r, "");
    *cond = *cond ? LLVMBuildAnd(b, *cond, same, "") : same;
    return is_ptr ? LLVMBuildIntToPtr(b, r, type, "") : r;
}

static bool outside(const void *data, LLVMValueRef x)
{
    const struct scaled *s = data;
    return !simt_defined_in((struct simt_fn *)&s->f, s->loop, x);
}

/* Are the rows' lanes where they are said to be, in a round that begins with what `made` says? */
static LLVMValueRef build_nowrap(struct scaled *s, const struct scaled_way *w, struct ptx_copy *made, LLVMValueRef cond)
{
    for (int i = 0; i < w->n_rows; i++) {
        LLVMValueRef p = ptx_copy_computation(made, w->row[i], outside, s);
        LLVMValueRef ok = private_build(s, SIMT_PRIVATE_NOWRAP, p);
        cond = cond ? LLVMBuildAnd(s->u->b, cond, ok, "") : ok;
    }
    s->ok = s->ok && !made->failed;
    ptx_copy_fini(made);
    return cond;
}

static void note_invariants(struct scaled *s, const struct scaled_way *w, struct ptx_copy *c)
{
    for (int i = 0; i < w->n; i++)
        if (!heads(s, w->of[i].v))
            ptx_copy_note(c, w->of[i].v, w->expected[i]);
}

/* The phis of the header: what they begin with in the way. */
static LLVMValueRef begins_with(struct scaled *s, const struct scaled_way *w, LLVMValueRef phi)
{
    int i = assumed_at(w, phi);
    return i >= 0 ? w->expected[i] : start_of(s, phi);
}

static LLVMValueRef first_of_header(struct scaled *s)
{
    return LLVMGetFirstInstruction(block_at(s, s->f.loops[s->loop].header));
}

static void build_ask(struct scaled *s, struct scaled_way *w, LLVMBasicBlockRef else_to)
{
    LLVMValueRef cond = NULL;
    struct ptx_copy made = { .b = s->u->b };
    LLVMPositionBuilderAtEnd(s->u->b, w->ask);
    for (int i = 0; i < w->n; i++)
        w->expected[i] = expect(s, start_of(s, w->of[i].v), w->of[i].by, &cond);
    note_invariants(s, w, &made);
    for (LLVMValueRef phi = first_of_header(s); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
        ptx_copy_note(&made, phi, begins_with(s, w, phi));
    cond = cond ? private_build(s, SIMT_PRIVATE_ALL, cond) : NULL;
    cond = build_nowrap(s, w, &made, cond);
    cond = LLVMBuildAnd(s->u->b, cond, private_build(s, SIMT_PRIVATE_FULL, NULL), "");
    LLVMBuildCondBr(s->u->b, cond, w->enter, else_to);
}

static void connect(struct scaled *s, struct scaled_way *w, LLVMValueRef x)
{
    LLVMValueRef c = ptx_copied(&w->copy, x);
    if (LLVMIsAPHINode(x)) {
        for (unsigned i = 0; i < LLVMCountIncoming(x); i++) {
            LLVMBasicBlockRef from = LLVMGetIncomingBlock(x, i);
            if (from == s->before)
                ptx_phi_add(c, begins_with(s, w, x), w->enter);
            else
                ptx_phi_add(c, ptx_copied(&w->copy, LLVMGetIncomingValue(x, i)), ptx_copied(&w->copy, from));
        }
        return;
    }
    if (LLVMIsATerminatorInst(x)) {
        for (unsigned i = 0; i < LLVMGetNumSuccessors(x); i++)
            LLVMSetSuccessor(c, i, ptx_copied(&w->copy, LLVMGetSuccessor(x, i)));
        if (LLVMGetNumSuccessors(x) == 2)
            LLVMSetCondition(c, ptx_copied(&w->copy, LLVMGetCondition(x)));
        return;
    }
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
        LLVMValueRef o = LLVMGetOperand(x, i), n = ptx_copied(&w->copy, o);
        if (n != o)
            LLVMSetOperand(c, i, n);
    }
}

/* All lanes go on; what is left of them after that goes on in the loop. */
static void build_end(struct scaled *s, struct scaled_way *w)
{
    LLVMBuilderRef b = s->u->b;
    LLVMValueRef term = LLVMGetBasicBlockTerminator(ptx_copied(&w->copy, block_at(s, s->leaves))), c = LLVMGetCondition(term);
    LLVMBasicBlockRef on = LLVMGetSuccessor(term, s->exits_if_true);
    struct ptx_copy made = { .b = b };
    LLVMPositionBuilderBefore(b, term);
    LLVMValueRef go = s->exits_if_true ? LLVMBuildNot(b, c, "") : c;
    note_invariants(s, w, &made);
    for (LLVMValueRef phi = first_of_header(s); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
        ptx_copy_note(&made, phi, ptx_copied(&w->copy, next_of(s, phi)));
    LLVMBuildCondBr(b, build_nowrap(s, w, &made, private_build(s, SIMT_PRIVATE_ALL, go)), on, w->rest);
    LLVMInstructionEraseFromParent(term);
    LLVMPositionBuilderAtEnd(b, w->rest);
    LLVMBuildCondBr(b, go, s->entry, s->left);
}

/* A row's lanes are where they are said to be. */
static void settle(struct scaled *s, LLVMValueRef p)
{
    LLVMPositionBuilderBefore(s->u->b, LLVMGetNextInstruction(p));
    LLVMValueRef exact = private_build(s, SIMT_PRIVATE_EXACT, p);
    LLVMReplaceAllUsesWith(p, exact);
    LLVMSetOperand(exact, 0, p);
}

static void build_copy(struct scaled *s, struct scaled_way *w)
{
    struct simt_fn *f = &s->f;
    w->copy = (struct ptx_copy){ .b = s->u->b };
    for (int b = 0; b < f->n_blocks; b++)
        if (simt_loop_has(f, s->loop, b)) {
            LLVMBasicBlockRef to = new_block(s, "alike");
            ptx_copy_note(&w->copy, block_at(s, b), to);
            LLVMPositionBuilderAtEnd(s->u->b, to);
            for (LLVMValueRef x = LLVMGetFirstInstruction(block_at(s, b)); x; x = LLVMGetNextInstruction(x))
                ptx_copy_as_is(&w->copy, x);
        }
    note_invariants(s, w, &w->copy);
    for (int b = 0; b < f->n_blocks && !w->copy.failed; b++)
        for (LLVMValueRef x = simt_loop_has(f, s->loop, b) ? LLVMGetFirstInstruction(block_at(s, b)) : NULL; x;
             x = LLVMGetNextInstruction(x))
            connect(s, w, x);
    s->ok = s->ok && !w->copy.failed;
    for (int i = 0; i < w->n_rows && s->ok; i++)
        if (within(s, w->row[i]) && !LLVMIsAPHINode(w->row[i]))
            settle(s, ptx_copied(&w->copy, w->row[i]));
    LLVMPositionBuilderAtEnd(s->u->b, w->enter);
    private_build(s, SIMT_PRIVATE_UNMASKED, NULL);
    LLVMBuildBr(s->u->b, ptx_copied(&w->copy, block_at(s, f->loops[s->loop].header)));
    if (s->ok)
        build_end(s, w);
}

/* A value of the loop that is used behind it. */
static void leave(struct scaled *s, LLVMValueRef x)
{
    LLVMValueRef phi = NULL;
    for (LLVMUseRef use = LLVMGetFirstUse(x), next; use; use = next) {
        LLVMValueRef user = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (within(s, user) || user == phi || (LLVMIsAPHINode(user) && LLVMGetInstructionParent(user) == s->entry))
            continue;
        if (!phi) {
            LLVMPositionBuilderBefore(s->u->b, LLVMGetFirstInstruction(s->left));
            phi = LLVMBuildPhi(s->u->b, LLVMTypeOf(x), "");
            ptx_phi_add(phi, x, block_at(s, s->leaves));
            for (int i = 0; i < WAYS; i++)
                if (s->way[i].any)
                    ptx_phi_add(phi, ptx_copied(&s->way[i].copy, x), s->way[i].rest);
        } else {
            for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(user); i++)
                if (LLVMGetOperand(user, i) == x)
                    LLVMSetOperand(user, i, phi);
        }
        next = LLVMGetFirstUse(x); /* the list has changed */
    }
}

struct entry_edges {
    struct scaled *s;
    LLVMBasicBlockRef last; /* that asks */
};

/* The header's phis begin with what comes to the new entry. */
static void entry_edges(LLVMValueRef old, LLVMValueRef now, void *data)
{
    const struct entry_edges *e = data;
    struct scaled *s = e->s;
    LLVMBasicBlockRef latch = block_at(s, s->f.loops[s->loop].latch);
    LLVMValueRef next = ptx_phi_value(old, latch), start = ptx_phi_value(old, s->before);
    LLVMPositionBuilderBefore(s->u->b, LLVMGetFirstInstruction(s->entry));
    LLVMValueRef phi = LLVMBuildPhi(s->u->b, LLVMTypeOf(old), "");
    ptx_phi_add(phi, start, e->last);
    for (int i = 0; i < WAYS; i++)
        if (s->way[i].any)
            ptx_phi_add(phi, ptx_copied(&s->way[i].copy, next == old ? old : next), s->way[i].rest);
    ptx_phi_add(now, phi, s->entry);
    ptx_phi_add(now, next, latch);
    for (int i = 0; i < WAYS; i++) { /* whose address may come back as another's */
        void *copy = aw_ptrmap_remove(&s->way[i].copy.of, old);
        if (copy)
            s->ok = s->ok && aw_ptrmap_put(&s->way[i].copy.of, now, copy);
    }
}

static void redirect(LLVMBasicBlockRef bb, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    LLVMValueRef t = LLVMGetBasicBlockTerminator(bb);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(t); i++)
        if (LLVMGetSuccessor(t, i) == from)
            LLVMSetSuccessor(t, i, to);
}

static void make(struct scaled *s)
{
    LLVMBuilderRef b = s->u->b;
    const struct simt_loop *l = &s->f.loops[s->loop];
    LLVMBasicBlockRef header = block_at(s, l->header), exit = block_at(s, l->exit), leaves = block_at(s, s->leaves);
    s->before = block_at(s, l->preheader);
    s->entry = new_block(s, "apart");
    s->left = new_block(s, "left");
    LLVMPositionBuilderAtEnd(b, s->entry);
    LLVMBuildBr(b, header);
    LLVMPositionBuilderAtEnd(b, s->left);
    LLVMBuildBr(b, exit);
    for (int i = 0; i < WAYS; i++)
        if (s->way[i].any) {
            s->way[i].ask = new_block(s, "ask");
            s->way[i].enter = new_block(s, "enter");
            s->way[i].rest = new_block(s, "rest");
        }
    LLVMBasicBlockRef last = s->way[1].any ? s->way[1].ask : s->way[0].ask;
    for (int i = 0; i < WAYS && s->ok; i++)
        if (s->way[i].any) {
            build_ask(s, &s->way[i], s->way[i].ask == last ? s->entry : last);
            build_copy(s, &s->way[i]);
        }
    if (!s->ok)
        return;
    redirect(s->before, header, s->way[0].any ? s->way[0].ask : last);
    redirect(leaves, exit, s->left);
    ptx_phis_rename(b, exit, leaves, s->left);
    ptx_phis_rebuild(b, header, entry_edges, &(struct entry_edges){ s, last });
    for (int k = 0; k < s->f.n_blocks; k++)
        for (LLVMValueRef x = simt_loop_has(&s->f, s->loop, k) ? LLVMGetFirstInstruction(block_at(s, k)) : NULL; x;
             x = LLVMGetNextInstruction(x))
            leave(s, x);
}

bool simt_scaled_loops(struct simt *u, LLVMValueRef fn, enum simt_form form)
{
    struct scaled s = { .u = u, .fn = fn, .ok = true };
    bool more = true;
    LLVMSetCurrentDebugLocation2(u->b, NULL);
    for (int i = 0; i < MAX_LOOPS && more && !u->status; i++) {
        s.f = (struct simt_fn){ .u = u, .form = form, .src = fn };
        more = simt_cfg_build(&s.f) && s.f.n_loops && simt_shape_estimate(&s.f) && choose(&s);
        if (more) {
            LLVMBasicBlockRef header = block_at(&s, s.f.loops[s.loop].header);
            make(&s);
            s.ok = s.ok && aw_ptrmap_put(&s.tried, header, &s);
            for (int k = 0; k < WAYS; k++)
                ptx_copy_fini(&s.way[k].copy);
        }
        aw_ptrmap_fini(&s.f.vals);
        simt_cfg_fini(&s.f);
        if (!s.ok)
            simt_memory(u);
    }
    aw_ptrmap_fini(&s.tried);
    return !u->status;
}
