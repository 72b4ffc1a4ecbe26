/* Copies of divergent code for the case that no lane is off: masks cost most on machines without mask registers, and nearly all
 * warps of nearly all kernels pass their bounds checks whole.
 *
 *   if (c) T        becomes   if (all(c)) T' else if (c) T
 *   do L while (c)  becomes   do L' while (all(c)); if (c) do L while (c)
 *                             or, where one round is left unless an index wraps, do L' while (all(c)); if (c) { if (fits) L else
 *                             do L while (c) }
 *
 *   loads, stores   becomes   if (nowrap(addresses)) loads', stores' else loads, stores
 *
 *   i = c ? a : b; loads at i becomes if (all(c)) loads at a else { i = c ? a : b; loads at i }, where a is a lane's neighbour,
 *   or that of b
 *
 *   if (c) T; R becomes if (all(c == first(c) && n == first(n))) { if (first(c)) T' with first(n) for n; R' } else { if (c) T; R
 *   }
 *
 * the last where n is how often a loop in T runs, R being what comes after it and before others join (trip_count.c);
 * where all() is the same for the whole warp, so that the copies run with the mask from outside, which is none at the top.  The
 * call may say false though every lane agrees: the original takes any lanes.  Works on the structured one-lane form, before
 * emission; regions inside an original are left alone (but where counts are not equal), so code grows with the depth of nesting
 * and not with its power.
 *
 * What is copied and when; region_copy.c does it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/rewrite/rewrite.h"
#include "simt/rewrite/versions.h"

enum {
    MAX_FUNCTION = 4000, /* instructions of one lane: larger functions are left as they are */
    MANY_ACCESSES = 8,   /* where masks cost little: in one block, from which on it is copied, ... */
    LONG_CODE = 150,     /* ... and its instructions: so long a one is better without a branch at each access */
    MAX_ROUNDS = 24,     /* regions; the analyses run once for each */
    MAX_USES = 64,       /* of what is made of a choice, looked at for an address */
};

/* ---- Looking at a region */

/* Instructions, or 0 when nothing in it would gain from a copy or something cannot be copied. */
static size_t worth(const struct copied_region *r)
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
                if (simt_is_barrier(r->f->u, x))
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
static int only_exit(const struct copied_region *r)
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
    struct simt_same same;
    if (simt_opposite(c))
        return never_all(f, simt_opposite(c), !negated);
    if (!LLVMIsAICmpInst(c))
        return false;
    LLVMValueRef a = LLVMGetOperand(c, 0), b = LLVMGetOperand(c, 1);
    const struct simt_val *x = simt_get(f, a);
    if (LLVMGetICmpPredicate(c) == (negated ? LLVMIntNE : LLVMIntEQ))
        return x && x->kind == SIMT_AFFINE && x->off && simt_uniform(f, b);
    return simt_same_lanes(f, c, negated, &same) && same.lanes != UINT32_MAX >> (32 - f->u->lanes);
}

/* Values that leave a loop do so through phis of its exit. */
static bool leaves_by_phis(const struct copied_region *r, int exit)
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

static bool if_region(struct simt_fn *f, int head, struct copied_region *ret)
{
    const struct simt_block *h = &f->blocks[head];
    int then = f->blocks[h->succ[0]].n_preds == 1 ? 0 : 1;
    *ret = (struct copied_region){ .f = f, .head = head, .then = h->succ[then], .join = h->succ[1 - then], .loop = REGION_IF };
    return only_exit(ret) == ret->join && !never_all(f, LLVMGetCondition(LLVMGetBasicBlockTerminator(h->bb)), then == 1);
}

static bool loop_region(struct simt_fn *f, int loop, struct copied_region *ret)
{
    const struct simt_loop *l = &f->loops[loop];
    *ret = (struct copied_region){ .f = f, .head = l->header, .then = -1, .join = l->exit, .loop = loop };
    return l->latch >= 0 && l->exit >= 0 && l->preheader >= 0 && f->blocks[l->exit].n_preds == 1 && only_exit(ret) == l->exit &&
           !simt_loop_spins(f, loop) && leaves_by_phis(ret, l->exit);
}

/* ---- Warps of a block that go side by side, a round of each in turn */

static bool holds(const struct copied_region *r, bool (*is)(struct simt_fn *f, int loop))
{
    for (int l = 0; l < r->f->n_loops; l++)
        if (inside(r, r->f->loops[l].header) && is(r->f, l))
            return true;
    return false;
}

/* Is it worth while that all warps of the block are in the copy at once? */
static bool reads_alike(struct version *v, const struct copied_region *r)
{
    size_t n = 0;
    for (int b = 0; v->u->schedule == SIMT_INTERLEAVED && b < r->f->n_blocks; b++)
        n += inside(r, b) ? simt_loads_alike(r->f, &v->own, b) : 0;
    return v->u->schedule == SIMT_INTERLEAVED && (simt_jams_always(v->u) || n >= simt_threshold(v->u, PTX_THRESHOLD_ALIKE));
}

/* ---- Choices of an index: in x ? x - 1 : w - 1 all lanes of most warps take their neighbour */

/* Which operand of a select all lanes may well take: it is affine, and the other one is the same for all lanes.  0: neither. */
static unsigned usual_arm(struct simt_fn *f, LLVMValueRef x)
{
    if (!LLVMIsASelectInst(x) || LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMIntegerTypeKind || LLVMTypeOf(x) == f->u->i1 ||
        !simt_varying(f, x))
        return 0;
    for (unsigned i = 1; i <= 2; i++) {
        LLVMValueRef arm = LLVMGetOperand(x, i), other = LLVMGetOperand(x, 3 - i);
        if (!simt_varying(f, arm) && !simt_uniform(f, arm) && simt_uniform(f, other))
            return i;
    }
    return 0;
}

/* Does an access depend on it whose lanes lie here and there? */
static bool leads_astray(const struct copied_region *r, LLVMValueRef x, int *left)
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

static int find_choices(struct version *v, const struct copied_region *r, struct choice ret_choice[MAX_CHOICES])
{
    int n = 0;
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f->blocks[r->head].bb); x; x = LLVMGetNextInstruction(x)) {
        int left = MAX_SLICE, uses = MAX_USES;
        if (n < MAX_CHOICES && usual_arm(r->f, x) && leads_astray(r, x, &uses) &&
            (!n || simt_copy_hoists(v, r, LLVMGetOperand(x, 0), &left)))
            ret_choice[n++] = (struct choice){ x, usual_arm(r->f, x) };
    }
    return n;
}

/* ---- Loops that run equally often */

/* How often some loop of the region runs, if that can be known before; or NULL. */
static LLVMValueRef count_in(struct version *v, const struct copied_region *r)
{
    for (int l = 0; l < r->f->n_loops; l++) {
        LLVMValueRef count = r->f->loops[l].divergent && inside(r, r->f->loops[l].header) ? simt_trip_count(r->f, l) : NULL;
        int left = MAX_SLICE;
        if (count && simt_copy_hoists(v, r, count, &left))
            return count;
    }
    return NULL;
}

/* The branch before such a loop becomes a block of its own; what that dominates is looked at when it has been analysed. */
static bool begin_even(struct version *v, const struct copied_region *r)
{
    LLVMBasicBlockRef bb = r->f->blocks[r->head].bb;
    LLVMValueRef cond = LLVMGetCondition(LLVMGetBasicBlockTerminator(bb));
    LLVMValueRef count = aw_ptrmap_find(&v->tried, cond) ? NULL : count_in(v, r);
    if (!count)
        return false;
    simt_copy_set_branch_apart(v, bb);
    note(v, &v->tried, cond, v);
    v->even_at = bb;
    v->count = count;
    v->cond = cond;
    return true;
}

/* Warps of a block wait at the same barrier, and regions between barriers are better off with one of each. */
static bool has_barrier(const struct copied_region *r)
{
    for (int b = 0; b < r->f->n_blocks; b++)
        for (LLVMValueRef x = inside(r, b) ? LLVMGetFirstInstruction(r->f->blocks[b].bb) : NULL; x;
             x = LLVMGetNextInstruction(x)) {
            enum ptx_simt id = LLVMIsACallInst(x) ? simt_call_id(r->f->u, x) : PTX_SIMT_NONE;
            if (id == PTX_SIMT_BARRIER_ARRIVE || (id != PTX_SIMT_NONE && simt_is_barrier(r->f->u, x)))
                return true;
        }
    return false;
}

/* What the even block dominates, up to where others join; false: nothing to copy. */
static bool even_region(struct version *v, struct copied_region *ret)
{
    int head = simt_block_of(&v->f, v->even_at);
    if (head < 0 || v->f.blocks[head].n_succ != 1 || v->f.blocks[v->f.blocks[head].succ[0]].n_preds != 1)
        return false;
    *ret = (struct copied_region){ .f = &v->f, .head = head, .then = v->f.blocks[head].succ[0], .loop = REGION_IF };
    ret->join = only_exit(ret);
    /* A region that ends where its loop begins anew would give that two ends. */
    if (ret->join < 0 || simt_dominates(&v->f, ret->join, head) || !leaves_by_phis(ret, ret->join) || has_barrier(ret))
        return false;
    size_t size = worth(ret);
    return size && v->even + size <= simt_threshold(v->u, PTX_THRESHOLD_EVEN_COPIES);
}

/* False: out of memory. */
static bool version_even(struct version *v)
{
    LLVMBasicBlockRef at = v->even_at;
    struct copied_region r;
    bool fits = even_region(v, &r);
    v->even_at = NULL;
    if (fits)
        simt_copy_even(v, &r, at);
    return v->ok;
}

/* ---- Choosing */

static void reject(struct version *v, const struct copied_region *r, bool whole)
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

/* Masked stores of bytes and halves take some times as long as plain ones. */
static bool stores_narrow(struct simt_fn *f, int b)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[b].bb); x; x = LLVMGetNextInstruction(x))
        if (LLVMIsAStoreInst(x) && LLVMStoreSizeOfType(f->u->in_layout, simt_access_type(x)) < 4)
            return true;
    return false;
}

/* Where masks are cheap a copy is, too, of rounds of the grid between barriers, and if a few scalar operations lead to it and
 * there is something in it: regions that are little more than an access have been slower; so have loops and branches, but between
 * barriers, where warps do not take turns. */
static bool is_bounds_check(struct version *v, const struct copied_region *r)
{
    struct simt_fn *f = &v->f;
    LLVMBasicBlockRef then = f->blocks[r->then].bb;
    LLVMValueRef term = LLVMGetBasicBlockTerminator(f->blocks[r->head].bb);
    int size = 0;
    bool narrow = false;
    for (int b = 0; b < f->n_blocks; b++) {
        int n = inside(r, b) ? checked_size(f->blocks[b].bb) : 0;
        if (inside(r, b) && (!n || (b != r->then && !v->meets && !goes_on(f, b, n))))
            return false;
        narrow |= n && stores_narrow(f, b);
        size += n;
    }
    return (narrow || size >= (int)simt_threshold(v->u, PTX_THRESHOLD_CHECKED)) &&
           simt_all_scalar(&v->f, LLVMGetCondition(term), LLVMGetSuccessor(term, 1) == then);
}

/* May some lanes of a block take the branch and others not?  Lanes of a warp; or whole warps, where those are to go together. */
static bool parts_lanes(struct version *v, int b)
{
    const struct simt_block *x = &v->f.blocks[b];
    return x->divergent || (v->u->schedule == SIMT_INTERLEAVED && x->n_succ == 2 &&
                            simt_own(&v->own, LLVMGetCondition(LLVMGetBasicBlockTerminator(x->bb))));
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
        struct copied_region r;
        bool fits = header ? loop_region(f, l, &r) : if_region(f, b, &r);
        if (!header && fits && begin_even(v, &r))
            return v->ok;
        if (!header && fits && simt_only_updates(f, b, r.then))
            continue;
        bool streams = v->meets && fits && holds(&r, simt_streams), counts = v->meets && fits && holds(&r, simt_counts);
        if (!v->u->options->versions && !streams && !counts &&
            (header || !fits || !(reads_alike(v, &r) || is_bounds_check(v, &r))))
            continue;
        size_t size = fits ? worth(&r) : 0;
        if (!size || v->grown + size > simt_threshold(v->u, PTX_THRESHOLD_COPIES)) {
            reject(v, &r, true);
            continue;
        }
        if (header) {
            simt_copy_loop(v, &r, streams);
        } else {
            note(v, &v->cold, f->blocks[b].bb, v);
            simt_copy_if(v, &r, streams || reads_alike(v, &r));
        }
        return v->ok;
    }
    return false;
}

/* One block in which several addresses might wrap; false when none is left. */
static bool version_one_block(struct version *v)
{
    bool few = v->u->options->versions;
    for (int b = 0; b < v->f.n_blocks && v->ok; b++) {
        struct copied_region r = { .f = &v->f, .head = b, .then = -1, .join = -1, .loop = REGION_BLOCK };
        if (aw_ptrmap_find(&v->plain, v->f.blocks[b].bb))
            continue;
        simt_copy_find_pointers(v, &r);
        size_t size = worth(&r);
        if (v->n_ptrs && v->n_accesses >= (few ? 2 : MANY_ACCESSES) && size >= (few ? 1 : LONG_CODE) &&
            v->grown + size <= simt_threshold(v->u, PTX_THRESHOLD_COPIES)) {
            simt_copy_block(v, &r);
            return v->ok;
        }
        note(v, &v->plain, v->f.blocks[b].bb, v);
    }
    return false;
}

/* One block with choices, which all lanes that run come to without others; false when none is left. */
static bool version_one_choice(struct version *v)
{
    for (int b = 0; b < v->f.n_blocks && v->ok && !v->meets && v->u->schedule != SIMT_INTERLEAVED; b++) {
        LLVMBasicBlockRef bb = v->f.blocks[b].bb;
        struct copied_region r = { .f = &v->f, .head = b, .then = -1, .join = -1, .loop = REGION_BLOCK };
        struct choice choice[MAX_CHOICES];
        if (aw_ptrmap_find(&v->chosen, bb) || aw_ptrmap_find(&v->cold, bb))
            continue;
        note(v, &v->chosen, bb, v);
        int n = find_choices(v, &r, choice);
        size_t size = n && checked_size(bb) ? worth(&r) : 0;
        if (!size || v->grown + size > simt_threshold(v->u, PTX_THRESHOLD_COPIES))
            continue;
        if (choice[0].x == ptx_behind_phis(LLVMGetFirstInstruction(bb)))
            simt_copy_choices(v, &r, choice, n);
        else
            simt_split_before(v->u, choice[0].x); /* a block of its own, the next time */
        return v->ok;
    }
    return false;
}

/* Lanes that run unequally often are still all on in most rounds.  False: there are none. */
static bool warm_uneven(struct version *v)
{
    bool any = false;
    for (int b = 0; b < v->f.n_blocks; b++)
        if (aw_ptrmap_remove(&v->uneven, v->f.blocks[b].bb)) {
            aw_ptrmap_remove(&v->cold, v->f.blocks[b].bb);
            any = true;
        }
    return any;
}

/* Barriers get blocks of their own: all warps come to them, and not only those of which a copy is true. */
static bool set_barriers_apart(struct simt *u, LLVMValueRef fn)
{
    bool any = false;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
            if (!simt_is_barrier(u, x))
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

bool simt_all_lanes_versions(struct simt *u, LLVMValueRef fn, enum simt_form form)
{
    struct version v = { .u = u, .fn = fn, .ok = true };
    bool more = simt_instructions(fn) <= MAX_FUNCTION;
    LLVMSetCurrentDebugLocation2(u->b, NULL);
    v.meets = more && (set_barriers_apart(u, fn) || u->schedule == SIMT_ABREAST);
    more = more && (!simt_step(u, PTX_PASS_RUNS) || simt_merge_guards(u, fn, form, &v.cold));
    simt_stepped(u, PTX_PASS_RUNS, u->in);
    more = more && simt_step(u, PTX_PASS_VERSIONS);
    for (int i = 0; i < MAX_ROUNDS && more && !u->status; i++) {
        v.f = (struct simt_fn){ .u = u, .form = form, .src = fn };
        more = simt_cfg_build(&v.f) && simt_shape_analyse(&v.f) &&
               (u->schedule != SIMT_INTERLEAVED || simt_find_own(&v.f, &v.own));
        more = more &&
               (v.even_at ? version_even(&v)
                          : version_one(&v) || version_one_choice(&v) || version_one_block(&v) || warm_uneven(&v));
        aw_ptrmap_fini(&v.own);
        aw_ptrmap_fini(&v.f.vals);
        simt_cfg_fini(&v.f);
    }
    aw_ptrmap_fini(&v.cold);
    aw_ptrmap_fini(&v.plain);
    aw_ptrmap_fini(&v.tried);
    aw_ptrmap_fini(&v.uneven);
    aw_ptrmap_fini(&v.chosen);
    ptx_copy_fini(&v.copy);
    if (!v.ok)
        simt_memory(u);
    return !u->status;
}
