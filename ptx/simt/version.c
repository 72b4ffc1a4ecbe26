/* Copies of divergent code for the case that no lane is off: masks cost most on machines without mask registers, and nearly all
 * warps of nearly all kernels pass their bounds checks whole.
 *
 *   if (c) T        becomes   if (all(c)) T' else if (c) T
 *   do L while (c)  becomes   do L' while (all(c)); if (c) do L while (c)
 *
 *   loads, stores   becomes   if (nowrap(addresses)) loads', stores' else loads, stores
 *
 *   i = c ? a : b; loads at i   becomes   if (all(c)) loads at a else { i = c ? a : b; loads at i }, where a is a lane's neighbour, or that of b
 *
 *   if (c) T; R     becomes   if (all(c == first(c) && n == first(n))) { if (first(c)) T' with first(n) for n; R' } else { if (c) T; R }
 *
 * the last where n is how often a loop in T runs, R being what comes after it and before others join (even.c);
 * where all() is the same for the whole warp, so that the copies run with the mask from outside, which is none at the top.  The call
 * may say false though every lane agrees: the original takes any lanes.  Works on the structured one-lane form, before emission;
 * regions inside an original are left alone, so code grows with the depth of nesting and not with its power. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/work.h"
#include <stdio.h>
#include <string.h>

enum {
    MAX_FUNCTION = 4000, /* instructions of one lane: larger functions are left as they are */
    MAX_GROWTH = 1600,   /* instructions that copies may add to a function */
    MAX_EVEN = 1200,     /* and those for loops that run equally often besides */
    MAX_ROUNDS = 24,     /* regions; the analyses run once for each */
    MAX_POINTERS = 24,   /* of one region; further ones are asked for at each access */
    MAX_SLICE = 64,      /* instructions that lead to an address */
    MAX_CHOICES = 8,     /* of one block */
    MAX_USES = 64,       /* of what is made of a choice, looked at for an address */
    MIN_CHECKED = 16,    /* instructions behind a bounds check: tiles of transpose_tiled (10) lose 7%, saxpy (17) gains 8% */
};

struct version {
    struct simt *u;
    LLVMValueRef fn;
    struct simt_fn f;      /* analysed anew for each region */
    struct aw_ptrmap cold; /* blocks whose mask may be partial */
    struct aw_ptrmap copy; /* of the region at hand: value or block -> its copy */
    struct aw_ptrmap plain; /* blocks whose addresses are settled */
    struct aw_ptrmap tried; /* loop counts */
    struct aw_ptrmap chosen; /* blocks whose choices are settled */
    size_t grown, even;
    LLVMBasicBlockRef even_at; /* the next region is all that this block's only successor dominates ... */
    LLVMValueRef count, cond;  /* ... and these are equal for all lanes in the copy */
    bool meets;            /* the function has barriers */
    struct aw_ptrmap own;  /* what differs among warps; empty, unless they are to go together */
    bool ok;               /* memory */
    int n_ptrs;
    LLVMValueRef ptrs[MAX_POINTERS]; /* addresses of the region at hand whose 32-bit indices might wrap */
};

/* ---- Looking at a region: blocks of `f` for which `in` says yes */

struct region {
    struct simt_fn *f;
    int head, then, join; /* if: `then` dominates the region, `join` is where it and the branch of `head` go */
    int loop;             /* >= 0: the region is this loop; REGION_BLOCK: it is the block `head` */
};

enum { REGION_IF = -1, REGION_BLOCK = -2 };

static bool inside(const struct region *r, int b)
{
    return r->loop >= 0 ? simt_loop_has(r->f, r->loop, b) : r->loop == REGION_IF ? simt_dominates(r->f, r->then, b) : b == r->head;
}

static bool inside_value(const struct region *r, LLVMValueRef v)
{
    if (!LLVMIsAInstruction(v))
        return false;
    int b = simt_block_of(r->f, LLVMGetInstructionParent(v));
    return b >= 0 && inside(r, b);
}

static bool is_barrier(struct simt *u, LLVMValueRef x)
{
    enum ptx_simt id = LLVMIsACallInst(x) ? simt_call_id(u, x) : PTX_SIMT_NONE;
    return id == PTX_SIMT_BARRIER || id == PTX_SIMT_BARRIER_REDUCE;
}

/* Instructions, or 0 when nothing in it would gain from a copy or something cannot be copied. */
static size_t worth(const struct region *r)
{
    size_t n = 0;
    bool gain = false;
    for (int b = 0; b < r->f->n_blocks; b++) {
        if (!inside(r, b))
            continue;
        for (LLVMValueRef x = LLVMGetFirstInstruction(r->f->blocks[b].bb); x; x = LLVMGetNextInstruction(x)) {
            n++;
            switch (LLVMGetInstructionOpcode(x)) {
            case LLVMAlloca: return 0;
            case LLVMCall:
                if (is_barrier(r->f->u, x))
                    return 0;
                break;
            case LLVMLoad: gain |= !simt_uniform(r->f, LLVMGetOperand(x, 0)); break;
            case LLVMStore: gain |= !simt_uniform(r->f, LLVMGetOperand(x, 1)); break;
            case LLVMAtomicRMW: gain = true; break;
            default: break;
            }
        }
    }
    return gain ? n : 0;
}

/* The only block outside that the region's edges lead to, or -1. */
static int only_exit(const struct region *r)
{
    int to = -1;
    for (int b = 0; b < r->f->n_blocks; b++)
        for (int j = 0; inside(r, b) && j < r->f->blocks[b].n_succ; j++) {
            int s = r->f->blocks[b].succ[j];
            if (inside(r, s))
                continue;
            if (to >= 0 && to != s)
                return -1;
            to = s;
        }
    return to;
}

/* Is the condition true for some lanes of a warp at most, so that all() never is? */
static bool never_all(struct simt_fn *f, LLVMValueRef c, bool negated)
{
    int64_t k;
    struct simt_same same;
    if (LLVMIsAInstruction(c) && LLVMGetInstructionOpcode(c) == LLVMXor && simt_int_const(LLVMGetOperand(c, 1), &k) && k)
        return never_all(f, LLVMGetOperand(c, 0), !negated);
    if (!LLVMIsAICmpInst(c))
        return false;
    LLVMValueRef a = LLVMGetOperand(c, 0), b = LLVMGetOperand(c, 1);
    const struct simt_val *x = simt_get(f, a);
    if (LLVMGetICmpPredicate(c) == (negated ? LLVMIntNE : LLVMIntEQ))
        return x && x->kind == SIMT_AFFINE && x->off && simt_uniform(f, b);
    return simt_same_lanes(f, c, negated, &same) && same.lanes != UINT32_MAX >> (32 - f->u->lanes);
}

/* Values that leave a loop do so through phis of its exit. */
static bool leaves_by_phis(const struct region *r, int exit)
{
    LLVMBasicBlockRef to = r->f->blocks[exit].bb;
    for (int b = 0; b < r->f->n_blocks; b++)
        for (LLVMValueRef x = inside(r, b) ? LLVMGetFirstInstruction(r->f->blocks[b].bb) : NULL; x; x = LLVMGetNextInstruction(x))
            for (LLVMUseRef use = LLVMGetFirstUse(x); use; use = LLVMGetNextUse(use)) {
                LLVMValueRef user = LLVMGetUser(use);
                if (!inside_value(r, user) && !(LLVMIsAPHINode(user) && LLVMGetInstructionParent(user) == to))
                    return false;
            }
    return true;
}

static bool if_region(struct simt_fn *f, int head, struct region *ret)
{
    const struct simt_block *h = &f->blocks[head];
    int then = f->blocks[h->succ[0]].n_preds == 1 ? 0 : 1;
    *ret = (struct region){ .f = f, .head = head, .then = h->succ[then], .join = h->succ[1 - then], .loop = REGION_IF };
    return only_exit(ret) == ret->join && !never_all(f, LLVMGetCondition(LLVMGetBasicBlockTerminator(h->bb)), then == 1);
}

static bool loop_region(struct simt_fn *f, int loop, struct region *ret)
{
    const struct simt_loop *l = &f->loops[loop];
    *ret = (struct region){ .f = f, .head = l->header, .then = -1, .join = l->exit, .loop = loop };
    return l->latch >= 0 && l->exit >= 0 && l->preheader >= 0 && f->blocks[l->exit].n_preds == 1 && only_exit(ret) == l->exit &&
           !simt_loop_spins(f, loop) && leaves_by_phis(ret, l->exit);
}

/* ---- Addresses whose lanes are at known distances unless an index wraps: asked for once, before the region */

static bool reads_argument(struct simt_fn *f, LLVMValueRef load)
{
    LLVMValueRef p = LLVMGetOperand(load, 0);
    int64_t c;
    if (LLVMGetVolatile(load))
        return false;
    if (LLVMIsAGetElementPtrInst(p) && LLVMGetNumOperands(p) == 2 && simt_int_const(LLVMGetOperand(p, 1), &c))
        p = LLVMGetOperand(p, 0);
    return f->form != SIMT_FORM_DEVICE && LLVMIsAArgument(p);
}

static bool is_minmax(LLVMValueRef call)
{
    static const char *const names[] = { "llvm.smax.", "llvm.smin.", "llvm.umax.", "llvm.umin." };
    LLVMValueRef fn = LLVMGetCalledValue(call);
    size_t len;
    for (size_t i = 0; LLVMIsAFunction(fn) && i < sizeof names / sizeof *names; i++)
        if (!strncmp(LLVMGetValueName2(fn, &len), names[i], strlen(names[i])))
            return true;
    return false;
}

/* Can the value be computed where the region begins? */
static bool hoists(struct version *v, const struct region *r, LLVMValueRef x, int *left)
{
    if (!inside_value(r, x) || (r->loop == REGION_BLOCK && LLVMIsAPHINode(x)))
        return true;
    if (--*left < 0)
        return false;
    if (!(LLVMIsALoadInst(x) ? reads_argument(r->f, x) : LLVMIsACallInst(x) ? is_minmax(x) : simt_arithmetic(x)))
        return false;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        if (!hoists(v, r, LLVMGetOperand(x, i), left))
            return false;
    return true;
}

static LLVMValueRef checked_pointer(const struct region *r, LLVMValueRef x)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(x);
    if ((op != LLVMLoad && op != LLVMStore) || LLVMGetVolatile(x) || LLVMGetOrdering(x) != LLVMAtomicOrderingNotAtomic)
        return NULL;
    LLVMValueRef p = LLVMGetOperand(x, op == LLVMStore);
    const struct simt_val *val = simt_get(r->f, p);
    return val && val->kind == SIMT_AFFINE && val->off && val->check ? p : NULL;
}

static bool listed(const struct version *v, LLVMValueRef p)
{
    for (int i = 0; i < v->n_ptrs; i++)
        if (v->ptrs[i] == p)
            return true;
    return false;
}

static void find_pointers(struct version *v, const struct region *r)
{
    v->n_ptrs = 0;
    for (int b = 0; b < r->f->n_blocks; b++)
        for (LLVMValueRef x = inside(r, b) ? LLVMGetFirstInstruction(r->f->blocks[b].bb) : NULL; x; x = LLVMGetNextInstruction(x)) {
            LLVMValueRef p = checked_pointer(r, x);
            int left = MAX_SLICE;
            if (p && v->n_ptrs < MAX_POINTERS && !listed(v, p) && hoists(v, r, p, &left))
                v->ptrs[v->n_ptrs++] = p;
        }
}

static LLVMValueRef hoist(struct version *v, const struct region *r, struct aw_ptrmap *made, LLVMValueRef x)
{
    LLVMValueRef old = aw_ptrmap_find(made, x);
    if (old || !inside_value(r, x) || LLVMIsAPHINode(x))
        return old ? old : x;
    LLVMValueRef c = LLVMInstructionClone(x);
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        LLVMSetOperand(c, i, hoist(v, r, made, LLVMGetOperand(x, i)));
    LLVMInsertIntoBuilder(v->u->b, c);
    v->ok = v->ok && aw_ptrmap_put(made, x, c);
    return c;
}

static LLVMValueRef pointer_call(struct version *v, const char *prefix, LLVMValueRef p, LLVMTypeRef result)
{
    char name[64];
    LLVMTypeRef type = LLVMTypeOf(p);
    snprintf(name, sizeof name, "%s.%u", prefix, simt_space(type));
    LLVMTypeRef t = LLVMFunctionType(result, &type, 1, 0);
    LLVMValueRef fn = LLVMGetNamedFunction(v->u->in, name);
    fn = fn ? fn : LLVMAddFunction(v->u->in, name, t);
    return LLVMBuildCall2(v->u->b, t, fn, &p, 1, "");
}

/* `cond` and that no listed address wraps, at the builder; `cond` may be NULL. */
static LLVMValueRef build_nowrap(struct version *v, const struct region *r, LLVMValueRef cond)
{
    struct aw_ptrmap made = { 0 };
    for (int i = 0; i < v->n_ptrs; i++) {
        LLVMValueRef ok = pointer_call(v, SIMT_NOWRAP, hoist(v, r, &made, v->ptrs[i]), v->u->i1);
        cond = cond ? LLVMBuildAnd(v->u->b, cond, ok, "") : ok;
    }
    aw_ptrmap_fini(&made);
    return cond;
}

/* ---- Copying */

static void *copied(struct version *v, const void *x)
{
    void *c = aw_ptrmap_find(&v->copy, x);
    return c ? c : (void *)x;
}

static void note(struct version *v, struct aw_ptrmap *map, const void *key, void *value)
{
    v->ok = v->ok && aw_ptrmap_put(map, key, value);
}

static void copy_block(struct version *v, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    LLVMBuilderRef b = v->u->b;
    LLVMPositionBuilderAtEnd(b, to);
    for (LLVMValueRef x = LLVMGetFirstInstruction(from); x; x = LLVMGetNextInstruction(x)) {
        LLVMValueRef c;
        if (LLVMIsAPHINode(x)) {
            c = LLVMBuildPhi(b, LLVMTypeOf(x), "");
        } else {
            c = LLVMInstructionClone(x);
            LLVMInsertIntoBuilder(b, c);
        }
        note(v, &v->copy, x, c);
        v->grown++;
    }
}

static void settle_pointer(struct version *v, LLVMValueRef access, const char *how)
{
    unsigned at = LLVMGetInstructionOpcode(access) == LLVMStore;
    LLVMPositionBuilderBefore(v->u->b, access);
    LLVMValueRef p = LLVMGetOperand(access, at);
    LLVMSetOperand(access, at, pointer_call(v, how, p, LLVMTypeOf(p)));
}

static bool accesses_listed(const struct version *v, LLVMValueRef x)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(x);
    return v->n_ptrs && (op == LLVMLoad || op == LLVMStore) && listed(v, LLVMGetOperand(x, op == LLVMStore));
}

/* Operands and edges of a copied block; phis keep edges from outside the region as they are. */
static void connect_block(struct version *v, LLVMBasicBlockRef from)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(from); x; x = LLVMGetNextInstruction(x)) {
        LLVMValueRef c = copied(v, x);
        if (LLVMIsAPHINode(x)) {
            for (unsigned i = 0; i < LLVMCountIncoming(x); i++)
                simt_phi_add(c, copied(v, LLVMGetIncomingValue(x, i)), copied(v, LLVMGetIncomingBlock(x, i)));
            continue;
        }
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
            LLVMValueRef o = LLVMGetOperand(x, i), n = copied(v, o);
            if (n != o && !LLVMValueIsBasicBlock(o))
                LLVMSetOperand(c, i, n);
        }
        if (accesses_listed(v, x))
            settle_pointer(v, c, SIMT_EXACT);
        if (LLVMIsATerminatorInst(x))
            for (unsigned i = 0; i < LLVMGetNumSuccessors(x); i++)
                LLVMSetSuccessor(c, i, copied(v, LLVMGetSuccessor(x, i)));
    }
}

/* In the copy first[i] stands for even[i], i < n. */
static void copy_region(struct version *v, const struct region *r, const LLVMValueRef *even, const LLVMValueRef *first, int n)
{
    aw_ptrmap_fini(&v->copy);
    for (int b = 0; b < r->f->n_blocks; b++)
        if (inside(r, b))
            note(v, &v->copy, r->f->blocks[b].bb, LLVMAppendBasicBlockInContext(v->u->ctx, v->fn, "all"));
    for (int b = 0; v->ok && b < r->f->n_blocks; b++)
        if (inside(r, b))
            copy_block(v, r->f->blocks[b].bb, copied(v, r->f->blocks[b].bb));
    for (int i = 0; i < n; i++)
        if (!inside_value(r, even[i]))
            note(v, &v->copy, even[i], first[i]);
    for (int b = 0; v->ok && b < r->f->n_blocks; b++)
        if (inside(r, b))
            connect_block(v, r->f->blocks[b].bb);
    for (int i = 0; v->ok && i < n; i++)
        if (inside_value(r, even[i]))
            LLVMReplaceAllUsesWith(copied(v, even[i]), first[i]);
}

/* The originals may be run by some lanes only. */
static void chill(struct version *v, const struct region *r)
{
    for (int b = 0; b < r->f->n_blocks; b++)
        if (inside(r, b))
            note(v, &v->cold, r->f->blocks[b].bb, v);
}

/* Builds each phi of `bb` anew: LLVM-C can neither rename nor drop an edge.  `edges` fills the new one from the old. */
static void rebuild_phis(struct version *v, LLVMBasicBlockRef bb, void (*edges)(struct version *, LLVMValueRef, LLVMValueRef, void *), void *context)
{
    for (LLVMValueRef phi = LLVMGetFirstInstruction(bb), next; phi && LLVMIsAPHINode(phi); phi = next) {
        next = LLVMGetNextInstruction(phi);
        LLVMPositionBuilderBefore(v->u->b, phi);
        LLVMValueRef now = LLVMBuildPhi(v->u->b, LLVMTypeOf(phi), "");
        edges(v, phi, now, context);
        void *copy = aw_ptrmap_remove(&v->copy, phi); /* its address may come back as another's */
        if (copy)
            note(v, &v->copy, now, copy);
        LLVMReplaceAllUsesWith(phi, now);
        LLVMInstructionEraseFromParent(phi);
    }
}

LLVMValueRef simt_all_build(struct simt *u, LLVMValueRef cond)
{
    LLVMTypeRef i1 = u->i1, t = LLVMFunctionType(i1, &i1, 1, 0);
    LLVMValueRef fn = LLVMGetNamedFunction(u->in, SIMT_ALL);
    fn = fn ? fn : LLVMAddFunction(u->in, SIMT_ALL, t);
    return LLVMBuildCall2(u->b, t, fn, &cond, 1, "");
}

/* ---- Warps of a block that go side by side, a round of each in turn */

static bool holds_stream(const struct region *r)
{
    for (int l = 0; l < r->f->n_loops; l++)
        if (inside(r, r->f->loops[l].header) && simt_streams(r->f, l))
            return true;
    return false;
}

/* Is it worth while that all warps of the block are in the copy at once? */
static bool reads_alike(struct version *v, const struct region *r)
{
    size_t n = 0;
    for (int b = 0; v->u->alike && b < r->f->n_blocks; b++)
        n += inside(r, b) ? simt_loads_alike(r->f, &v->own, b) : 0;
    return v->u->alike && (simt_jam_always || n >= SIMT_ALIKE);
}

static LLVMValueRef build_together(struct version *v, LLVMValueRef cond)
{
    LLVMTypeRef i1 = v->u->i1, t = LLVMFunctionType(i1, &i1, 1, 0);
    LLVMValueRef fn = LLVMGetNamedFunction(v->u->in, SIMT_TOGETHER);
    fn = fn ? fn : LLVMAddFunction(v->u->in, SIMT_TOGETHER, t);
    return LLVMBuildCall2(v->u->b, t, fn, &cond, 1, "");
}

static LLVMBasicBlockRef new_block(struct version *v, const char *name, bool cold)
{
    LLVMBasicBlockRef bb = LLVMAppendBasicBlockInContext(v->u->ctx, v->fn, name);
    if (cold)
        note(v, &v->cold, bb, v);
    return bb;
}

struct rename {
    LLVMBasicBlockRef from, to;
    bool more; /* edges from copied blocks, besides */
};

static void renamed_edges(struct version *v, LLVMValueRef old, LLVMValueRef now, void *context)
{
    const struct rename *r = context;
    for (unsigned i = 0; i < LLVMCountIncoming(old); i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(old, i);
        LLVMValueRef x = LLVMGetIncomingValue(old, i);
        simt_phi_add(now, x, from == r->from ? r->to : from);
        if (r->more && copied(v, from) != from)
            simt_phi_add(now, copied(v, x), copied(v, from));
    }
}

static void version_if(struct version *v, const struct region *r)
{
    LLVMBuilderRef b = v->u->b;
    LLVMBasicBlockRef head = r->f->blocks[r->head].bb, then = r->f->blocks[r->then].bb, join = r->f->blocks[r->join].bb;
    LLVMValueRef term = LLVMGetBasicBlockTerminator(head), cond = LLVMGetCondition(term);
    bool on_false = LLVMGetSuccessor(term, 1) == then, together = (v->meets && holds_stream(r)) || reads_alike(v, r);
    find_pointers(v, r);
    copy_region(v, r, NULL, NULL, 0);
    chill(v, r);
    if (!v->ok)
        return;
    LLVMBasicBlockRef some = new_block(v, "some", true);
    rebuild_phis(v, join, renamed_edges, &(struct rename){ head, some, true });
    rebuild_phis(v, then, renamed_edges, &(struct rename){ head, some, false });
    LLVMInstructionRemoveFromParent(term);
    LLVMPositionBuilderAtEnd(b, some);
    LLVMInsertIntoBuilder(b, term);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef want = on_false ? LLVMBuildNot(b, cond, "") : cond;
    LLVMValueRef all = build_nowrap(v, r, simt_all_build(v->u, want));
    LLVMBuildCondBr(b, together ? build_together(v, all) : all, copied(v, then), some);
}

struct loop_edges {
    LLVMBasicBlockRef preheader, latch, warm_exit, cold_preheader, cold_exit;
};

/* The original loop begins where the copy ends. */
static void header_edges(struct version *v, LLVMValueRef old, LLVMValueRef now, void *context)
{
    const struct loop_edges *e = context;
    for (unsigned i = 0; i < LLVMCountIncoming(old); i++) {
        LLVMValueRef x = LLVMGetIncomingValue(old, i);
        if (LLVMGetIncomingBlock(old, i) != e->latch)
            continue;
        simt_phi_add(now, copied(v, x), e->cold_preheader);
        simt_phi_add(now, x, e->latch);
    }
}

static void exit_edges(struct version *v, LLVMValueRef old, LLVMValueRef now, void *context)
{
    const struct loop_edges *e = context;
    LLVMValueRef x = LLVMGetIncomingValue(old, 0), place = LLVMGetFirstInstruction(e->cold_exit);
    if (place)
        LLVMPositionBuilderBefore(v->u->b, place);
    else
        LLVMPositionBuilderAtEnd(v->u->b, e->cold_exit);
    LLVMValueRef left = LLVMBuildPhi(v->u->b, LLVMTypeOf(old), "");
    simt_phi_add(left, x, e->latch);
    simt_phi_add(now, left, e->cold_exit);
    simt_phi_add(now, copied(v, x), e->warm_exit);
}

static void version_loop(struct version *v, const struct region *r)
{
    LLVMBuilderRef b = v->u->b;
    const struct simt_loop *l = &r->f->loops[r->loop];
    bool together = v->meets && simt_streams(r->f, r->loop);
    LLVMBasicBlockRef header = r->f->blocks[l->header].bb, exit = r->f->blocks[l->exit].bb;
    v->n_ptrs = 0;
    struct loop_edges e = { .preheader = r->f->blocks[l->preheader].bb, .latch = r->f->blocks[l->latch].bb };
    copy_region(v, r, NULL, NULL, 0);
    chill(v, r);
    e.warm_exit = new_block(v, "some", true);
    e.cold_preheader = new_block(v, "some.loop", true);
    e.cold_exit = new_block(v, "some.exit", true);
    if (!v->ok)
        return;
    LLVMValueRef term = LLVMGetBasicBlockTerminator(e.latch), enter = LLVMGetBasicBlockTerminator(e.preheader);
    LLVMBasicBlockRef warm_latch = copied(v, e.latch), warm_header = copied(v, header);
    LLVMValueRef warm_term = LLVMGetBasicBlockTerminator(warm_latch), cond = LLVMGetCondition(warm_term);
    bool exit_if_true = LLVMGetSuccessor(term, 0) == exit;
    for (unsigned i = 0; i < LLVMGetNumSuccessors(enter); i++)
        if (LLVMGetSuccessor(enter, i) == header)
            LLVMSetSuccessor(enter, i, warm_header);
    LLVMPositionBuilderBefore(b, warm_term);
    LLVMValueRef all = simt_all_build(v->u, exit_if_true ? LLVMBuildNot(b, cond, "") : cond);
    LLVMBuildCondBr(b, together ? build_together(v, all) : all, warm_header, e.warm_exit);
    LLVMInstructionEraseFromParent(warm_term);
    LLVMPositionBuilderAtEnd(b, e.warm_exit);
    LLVMBuildCondBr(b, cond, exit_if_true ? exit : e.cold_preheader, exit_if_true ? e.cold_preheader : exit);
    LLVMPositionBuilderAtEnd(b, e.cold_preheader);
    LLVMBuildBr(b, header);
    LLVMPositionBuilderAtEnd(b, e.cold_exit);
    LLVMBuildBr(b, exit);
    LLVMSetSuccessor(term, exit_if_true ? 0 : 1, e.cold_exit);
    rebuild_phis(v, exit, exit_edges, &e);
    rebuild_phis(v, header, header_edges, &e);
}

/* Uses of a block's value elsewhere get the phi that joins it and its copy. */
static void join_value(struct version *v, LLVMValueRef x, LLVMBasicBlockRef checked, LLVMBasicBlockRef exact, LLVMBasicBlockRef join)
{
    LLVMValueRef phi = NULL, copy = copied(v, x);
    for (LLVMUseRef use = LLVMGetFirstUse(x), next; use; use = next) {
        LLVMValueRef user = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (LLVMGetInstructionParent(user) == checked || user == phi)
            continue;
        if (!phi) {
            LLVMValueRef first = LLVMGetFirstInstruction(join);
            LLVMPositionBuilderBefore(v->u->b, first);
            phi = LLVMBuildPhi(v->u->b, LLVMTypeOf(x), "");
            simt_phi_add(phi, x, checked);
            simt_phi_add(phi, copy, exact);
            next = LLVMGetFirstUse(x); /* the list has changed */
            continue;
        }
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(user); i++)
            if (LLVMGetOperand(user, i) == x)
                LLVMSetOperand(user, i, phi);
        next = LLVMGetFirstUse(x);
    }
}

/* Where a block's own instructions begin. */
static LLVMValueRef behind_phis(LLVMBasicBlockRef bb)
{
    LLVMValueRef first = LLVMGetFirstInstruction(bb);
    while (LLVMIsAPHINode(first))
        first = LLVMGetNextInstruction(first);
    return first;
}

struct twins {
    LLVMBasicBlockRef checked, exact, join;
};

/* From `first` on the block is there twice: in a copy if `cond`, which has been built before it. */
static struct twins copy_rest(struct version *v, LLVMBasicBlockRef bb, LLVMValueRef first, LLVMValueRef cond)
{
    LLVMBuilderRef b = v->u->b;
    bool cold = aw_ptrmap_find(&v->cold, bb) != NULL;
    struct twins t = { new_block(v, "wraps", true), new_block(v, "exact", cold), new_block(v, "joined", cold) };
    LLVMValueRef term = LLVMGetBasicBlockTerminator(bb);
    aw_ptrmap_fini(&v->copy);
    LLVMPositionBuilderBefore(b, first);
    LLVMBuildCondBr(b, cond, t.exact, t.checked);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(term); i++)
        rebuild_phis(v, LLVMGetSuccessor(term, i), renamed_edges, &(struct rename){ bb, t.join, false });
    LLVMInstructionRemoveFromParent(term);
    LLVMPositionBuilderAtEnd(b, t.join);
    LLVMInsertIntoBuilder(b, term);
    for (LLVMValueRef next; first && first != term; first = next) {
        next = LLVMGetNextInstruction(first);
        LLVMInstructionRemoveFromParent(first);
        LLVMPositionBuilderAtEnd(b, t.checked);
        LLVMInsertIntoBuilder(b, first);
    }
    copy_block(v, t.checked, t.exact);
    connect_block(v, t.checked);
    for (LLVMValueRef x = LLVMGetFirstInstruction(t.checked); x; x = LLVMGetNextInstruction(x)) {
        join_value(v, x, t.checked, t.exact, t.join);
        if (accesses_listed(v, x))
            settle_pointer(v, x, SIMT_APART);
    }
    LLVMPositionBuilderAtEnd(b, t.checked);
    LLVMBuildBr(b, t.join);
    LLVMPositionBuilderAtEnd(b, t.exact);
    LLVMBuildBr(b, t.join);
    return t;
}

/* A block's accesses under one question: where no index wraps, a copy of the block without any. */
static void version_block(struct version *v, const struct region *r)
{
    LLVMBasicBlockRef bb = r->f->blocks[r->head].bb;
    LLVMValueRef first = behind_phis(bb);
    LLVMPositionBuilderBefore(v->u->b, first);
    struct twins t = copy_rest(v, bb, first, build_nowrap(v, r, NULL));
    note(v, &v->plain, t.exact, v);
    note(v, &v->plain, t.checked, v);
    note(v, &v->plain, t.join, v);
}

/* ---- Choices of an index: in x ? x - 1 : w - 1 all lanes of most warps take their neighbour */

/* Which operand of a select all lanes may well take: it is affine, and the other one is the same for all lanes.  0: neither. */
static unsigned usual_arm(struct simt_fn *f, LLVMValueRef x)
{
    if (!LLVMIsASelectInst(x) || LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMIntegerTypeKind || LLVMTypeOf(x) == f->u->i1 || !simt_varying(f, x))
        return 0;
    for (unsigned i = 1; i <= 2; i++) {
        LLVMValueRef arm = LLVMGetOperand(x, i), other = LLVMGetOperand(x, 3 - i);
        if (!simt_varying(f, arm) && !simt_uniform(f, arm) && simt_uniform(f, other))
            return i;
    }
    return 0;
}

/* Does an access depend on it whose lanes lie here and there? */
static bool leads_astray(const struct region *r, LLVMValueRef x, int *left)
{
    for (LLVMUseRef use = LLVMGetFirstUse(x); use && --*left >= 0; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!inside_value(r, user) || !simt_varying(r->f, x))
            continue;
        switch (LLVMGetInstructionOpcode(user)) {
        case LLVMLoad:
            return true;
        case LLVMStore:
            if (LLVMGetOperand(user, 1) == x)
                return true;
            break;
        case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMShl: case LLVMOr: case LLVMSExt: case LLVMZExt: case LLVMTrunc:
        case LLVMGetElementPtr: case LLVMIntToPtr: case LLVMPtrToInt: case LLVMAddrSpaceCast:
            if (leads_astray(r, user, left))
                return true;
            break;
        default:
            break;
        }
    }
    return false;
}

static int find_choices(struct version *v, const struct region *r, LLVMValueRef ret_choice[MAX_CHOICES])
{
    int n = 0;
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f->blocks[r->head].bb); x; x = LLVMGetNextInstruction(x)) {
        int left = MAX_SLICE, uses = MAX_USES;
        if (n < MAX_CHOICES && usual_arm(r->f, x) && leads_astray(r, x, &uses) && (!n || hoists(v, r, LLVMGetOperand(x, 0), &left)))
            ret_choice[n++] = x;
    }
    return n;
}

/* Where all lanes take the usual arms, a copy of the block, which begins with the first choice, with these. */
static void version_choices(struct version *v, const struct region *r, const LLVMValueRef *choice, int n)
{
    LLVMBasicBlockRef bb = r->f->blocks[r->head].bb;
    LLVMValueRef first = behind_phis(bb), cond = NULL;
    struct aw_ptrmap made = { 0 };
    unsigned arm[MAX_CHOICES];
    LLVMPositionBuilderBefore(v->u->b, first);
    for (int i = 0; i < n; i++) {
        arm[i] = usual_arm(r->f, choice[i]);
        LLVMValueRef c = hoist(v, r, &made, LLVMGetOperand(choice[i], 0));
        c = arm[i] == 1 ? c : LLVMBuildNot(v->u->b, c, "");
        cond = cond ? LLVMBuildAnd(v->u->b, cond, c, "") : c;
    }
    aw_ptrmap_fini(&made);
    v->n_ptrs = 0;
    struct twins t = copy_rest(v, bb, first, simt_all_build(v->u, cond));
    for (int i = 0; i < n && v->ok; i++) {
        LLVMValueRef c = copied(v, choice[i]);
        LLVMReplaceAllUsesWith(c, LLVMGetOperand(c, arm[i]));
    }
    note(v, &v->plain, t.checked, v); /* rare, and large as it is */
    note(v, &v->chosen, t.checked, v);
    note(v, &v->chosen, t.exact, v);
    note(v, &v->chosen, t.join, v);
}

/* ---- Loops that run equally often */

/* How often some loop of the region runs, if that can be known before; or NULL. */
static LLVMValueRef count_in(struct version *v, const struct region *r)
{
    for (int l = 0; l < r->f->n_loops; l++) {
        LLVMValueRef count = r->f->loops[l].divergent && inside(r, r->f->loops[l].header) ? simt_even_count(r->f, l) : NULL;
        int left = MAX_SLICE;
        if (count && hoists(v, r, count, &left))
            return count;
    }
    return NULL;
}

/* The branch before such a loop becomes a block of its own; what that dominates is looked at when it has been analysed. */
static bool begin_even(struct version *v, const struct region *r)
{
    LLVMBasicBlockRef bb = r->f->blocks[r->head].bb;
    LLVMValueRef term = LLVMGetBasicBlockTerminator(bb), cond = LLVMGetCondition(term);
    LLVMValueRef count = aw_ptrmap_find(&v->tried, cond) ? NULL : count_in(v, r);
    if (!count)
        return false;
    LLVMBasicBlockRef branch = new_block(v, "counted", false);
    aw_ptrmap_fini(&v->copy);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(term); i++)
        rebuild_phis(v, LLVMGetSuccessor(term, i), renamed_edges, &(struct rename){ bb, branch, false });
    LLVMInstructionRemoveFromParent(term);
    LLVMPositionBuilderAtEnd(v->u->b, branch);
    LLVMInsertIntoBuilder(v->u->b, term);
    LLVMPositionBuilderAtEnd(v->u->b, bb);
    LLVMBuildBr(v->u->b, branch);
    note(v, &v->tried, cond, v);
    v->even_at = bb;
    v->count = count;
    v->cond = cond;
    return true;
}

/* Warps of a block wait at the same barrier, and regions between barriers are better off with one of each. */
static bool has_barrier(const struct region *r)
{
    for (int b = 0; b < r->f->n_blocks; b++)
        for (LLVMValueRef x = inside(r, b) ? LLVMGetFirstInstruction(r->f->blocks[b].bb) : NULL; x; x = LLVMGetNextInstruction(x)) {
            enum ptx_simt id = LLVMIsACallInst(x) ? simt_call_id(r->f->u, x) : PTX_SIMT_NONE;
            if (id == PTX_SIMT_BARRIER || id == PTX_SIMT_BARRIER_ARRIVE || id == PTX_SIMT_BARRIER_REDUCE)
                return true;
        }
    return false;
}

/* What the even block dominates, up to where others join; false: nothing to copy. */
static bool even_region(struct version *v, struct region *ret)
{
    int head = simt_block_of(&v->f, v->even_at);
    if (head < 0 || v->f.blocks[head].n_succ != 1 || v->f.blocks[v->f.blocks[head].succ[0]].n_preds != 1)
        return false;
    *ret = (struct region){ .f = &v->f, .head = head, .then = v->f.blocks[head].succ[0], .loop = REGION_IF };
    ret->join = only_exit(ret);
    /* A region that ends where its loop begins anew would give that two ends. */
    if (ret->join < 0 || simt_dominates(&v->f, ret->join, head) || !leaves_by_phis(ret, ret->join) || has_barrier(ret))
        return false;
    size_t size = worth(ret);
    return size && v->even + size <= MAX_EVEN;
}

static LLVMValueRef build_same(struct version *v, LLVMValueRef x, LLVMValueRef first)
{
    return LLVMBuildICmp(v->u->b, LLVMIntEQ, x, first, "");
}

/* False: out of memory. */
static bool version_even(struct version *v)
{
    LLVMBuilderRef b = v->u->b;
    LLVMBasicBlockRef at = v->even_at;
    struct region r;
    bool fits = even_region(v, &r);
    v->even_at = NULL;
    if (!fits)
        return true;
    LLVMBasicBlockRef then = v->f.blocks[r.then].bb;
    LLVMValueRef term = LLVMGetBasicBlockTerminator(at);
    struct aw_ptrmap made = { 0 };
    size_t before = v->grown;
    v->n_ptrs = 0;
    LLVMPositionBuilderBefore(b, term);
    LLVMValueRef count = hoist(v, &r, &made, v->count), even[2] = { v->count, v->cond };
    LLVMValueRef first[2] = { simt_first_build(v->u, count), simt_first_build(v->u, v->cond) };
    LLVMValueRef same = LLVMBuildAnd(b, build_same(v, count, first[0]), build_same(v, v->cond, first[1]), "");
    same = simt_all_build(v->u, same);
    aw_ptrmap_fini(&made);
    copy_region(v, &r, even, first, 2);
    chill(v, &r);
    v->even += v->grown - before;
    v->grown = before;
    if (!v->ok)
        return false;
    rebuild_phis(v, v->f.blocks[r.join].bb, renamed_edges, &(struct rename){ NULL, NULL, true });
    LLVMInstructionEraseFromParent(term);
    LLVMPositionBuilderAtEnd(b, at);
    LLVMBuildCondBr(b, same, copied(v, then), then);
    return true;
}

/* ---- Choosing */

static void reject(struct version *v, const struct region *r, bool whole)
{
    for (int b = 0; b < r->f->n_blocks; b++)
        if (b == r->head || (whole && inside(r, b)))
            note(v, &v->cold, r->f->blocks[b].bb, v);
}

/* Instructions of a block, or 0 where they had better not be twice in the code. */
static int checked_size(LLVMBasicBlockRef bb)
{
    int n = 0;
    for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x), n++)
        if (LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x))
            return 0;
    return n;
}

/* Is the block one that no branch need lead to, or only a jump? */
static bool goes_on(struct simt_fn *f, int b, int size)
{
    return (size == 1 && f->blocks[b].n_succ == 1) || simt_only_updates(f, f->blocks[b].idom, b);
}

/* Where masks are cheap a copy is, too, if a few scalar operations lead to it and there is something in it: regions that are little more than
 * an access have been slower; so have loops and branches, but between barriers, where warps do not take turns. */
static bool is_bounds_check(struct version *v, const struct region *r)
{
    struct simt_fn *f = &v->f;
    LLVMBasicBlockRef then = f->blocks[r->then].bb;
    LLVMValueRef term = LLVMGetBasicBlockTerminator(f->blocks[r->head].bb);
    int size = 0;
    for (int b = 0; b < f->n_blocks; b++) {
        int n = inside(r, b) ? checked_size(f->blocks[b].bb) : 0;
        if (inside(r, b) && (!n || (b != r->then && !v->meets && !goes_on(f, b, n))))
            return false;
        size += n;
    }
    return size >= MIN_CHECKED && simt_all_scalar(&v->f, LLVMGetCondition(term), LLVMGetSuccessor(term, 1) == then);
}

/* May some lanes of a block take the branch and others not?  Lanes of a warp; or whole warps, where those are to go together. */
static bool parts_lanes(struct version *v, int b)
{
    const struct simt_block *x = &v->f.blocks[b];
    return x->divergent || (v->u->alike && x->n_succ == 2 && simt_own(&v->own, LLVMGetCondition(LLVMGetBasicBlockTerminator(x->bb))));
}

/* One region, the first in reverse postorder and so an outermost one; false when none is left. */
static bool version_one(struct version *v)
{
    struct simt_fn *f = &v->f;
    for (int b = 0; b < f->n_blocks && v->ok; b++) {
        int l = f->blocks[b].loop;
        bool header = l >= 0 && f->loops[l].header == b && f->loops[l].divergent;
        if (aw_ptrmap_find(&v->cold, f->blocks[b].bb) || (!header && !parts_lanes(v, b)))
            continue;
        struct region r;
        bool fits = header ? loop_region(f, l, &r) : if_region(f, b, &r);
        if (!header && fits && begin_even(v, &r))
            return v->ok;
        if (!header && fits && simt_only_updates(f, b, r.then))
            continue;
        if (!v->u->options->versions && (header || !fits || !(reads_alike(v, &r) || is_bounds_check(v, &r))))
            continue;
        size_t size = fits ? worth(&r) : 0;
        if (!size || v->grown + size > MAX_GROWTH) {
            reject(v, &r, true);
            continue;
        }
        if (header) {
            version_loop(v, &r);
        } else {
            note(v, &v->cold, f->blocks[b].bb, v);
            version_if(v, &r);
        }
        return v->ok;
    }
    return false;
}

/* One block in which several addresses might wrap; false when none is left. */
static bool version_one_block(struct version *v)
{
    for (int b = 0; b < v->f.n_blocks && v->ok; b++) {
        struct region r = { .f = &v->f, .head = b, .then = -1, .join = -1, .loop = REGION_BLOCK };
        if (aw_ptrmap_find(&v->plain, v->f.blocks[b].bb))
            continue;
        find_pointers(v, &r);
        size_t size = worth(&r);
        if (v->n_ptrs >= 2 && size && v->grown + size <= MAX_GROWTH) {
            version_block(v, &r);
            return v->ok;
        }
        note(v, &v->plain, v->f.blocks[b].bb, v);
    }
    return false;
}

/* One block with choices, which all lanes that run come to without others; false when none is left. */
static bool version_one_choice(struct version *v)
{
    for (int b = 0; b < v->f.n_blocks && v->ok && !v->meets && !v->u->alike; b++) {
        LLVMBasicBlockRef bb = v->f.blocks[b].bb;
        struct region r = { .f = &v->f, .head = b, .then = -1, .join = -1, .loop = REGION_BLOCK };
        LLVMValueRef choice[MAX_CHOICES];
        if (aw_ptrmap_find(&v->chosen, bb) || aw_ptrmap_find(&v->cold, bb))
            continue;
        note(v, &v->chosen, bb, v);
        int n = find_choices(v, &r, choice);
        size_t size = n && checked_size(bb) ? worth(&r) : 0;
        if (!size || v->grown + size > MAX_GROWTH)
            continue;
        if (choice[0] == behind_phis(bb))
            version_choices(v, &r, choice, n);
        else
            simt_split_before(v->u, choice[0]); /* a block of its own, the next time */
        return v->ok;
    }
    return false;
}

/* Barriers get blocks of their own: all warps come to them, and not only those of which a copy is true. */
static bool set_barriers_apart(struct simt *u, LLVMValueRef fn)
{
    bool any = false;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
            if (!is_barrier(u, x))
                continue;
            any = true;
            if (x != LLVMGetFirstInstruction(bb))
                simt_split_before(u, x);
            else if (!LLVMIsATerminatorInst(LLVMGetNextInstruction(x)))
                simt_split_before(u, LLVMGetNextInstruction(x));
            break;
        }
    return any;
}

bool simt_version(struct simt *u, LLVMValueRef fn, enum simt_form form)
{
    struct version v = { .u = u, .fn = fn, .ok = true };
    bool whole = u->options->versions, more = simt_instructions(fn) <= MAX_FUNCTION;
    LLVMSetCurrentDebugLocation2(u->b, NULL);
    v.meets = more && set_barriers_apart(u, fn);
    more = more && simt_runs(u, fn, form, &v.cold);
    for (int i = 0; i < MAX_ROUNDS && more && !u->status; i++) {
        v.f = (struct simt_fn){ .u = u, .form = form, .src = fn };
        more = simt_cfg_build(&v.f) && simt_shape_analyse(&v.f) && (!u->alike || simt_find_own(&v.f, &v.own));
        more = more && (v.even_at ? version_even(&v) : version_one(&v) || version_one_choice(&v) || (whole && version_one_block(&v)));
        aw_ptrmap_fini(&v.own);
        aw_ptrmap_fini(&v.f.vals);
        simt_cfg_fini(&v.f);
    }
    aw_ptrmap_fini(&v.cold);
    aw_ptrmap_fini(&v.plain);
    aw_ptrmap_fini(&v.tried);
    aw_ptrmap_fini(&v.chosen);
    aw_ptrmap_fini(&v.copy);
    if (!v.ok)
        simt_memory(u);
    return !u->status;
}
