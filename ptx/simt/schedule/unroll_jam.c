/* Several warps at once in a region between barriers, where they read the same and go the same way: unroll and jam of the loop
 * over warps.
 *
 *   for each warp: x = load common; y = fma(x, own, sum) becomes for each four: x = load common; y0 = fma(x, own0, sum0); y1 =
 *   ...
 *
 * What is the same for them is done once: in a product of matrices, the row of a tile that all warps multiply.  As nothing orders
 * a block's warps between barriers, any order of their accesses is right; that of each warp's own is kept.  Not for regions whose
 * branches may part the warps.  Whether it pays is decided here, too. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include "simt/schedule/schedule.h"
#include "simt/schedule/fission.h"

enum {
    MOST = 8,                  /* warps */
    MAX_INSTRUCTIONS = 2000,   /* of a region */
};

/* What lives at a block's end. */
struct lives {
    struct aw_ptrmap out;
    unsigned held[2];    /* registers of what is common, and of a warp's own */
};

struct jam {
    struct regions *r;
    struct region *g;
    struct aw_ptrmap apart;         /* values of which each warp has its own */
    struct ptx_copy copies[MOST];  /* -> those of the second warp, the third ... */
    AW_VEC(LLVMBasicBlockRef) blocks;
    struct aw_ptrmap lives;         /* block -> struct lives, and all of those */
    AW_VEC(struct lives *) all_lives;
    LLVMValueRef note;              /* tells the runtime which warp it is; nobody asks here */
    LLVMValueRef warp;              /* the first at hand */
    uint32_t apart_by;              /* from one of them to the next: a row of the block, or 1 */
};

/* Registers that vectors take, over the region's instructions. */
struct pressure {
    unsigned most;         /* of a warp's own, at once */
    unsigned n, common;    /* instructions; of those for all warps, summed up over them */
    unsigned work, loads;  /* vector operations of a warp, vectors loaded for all */
};

static bool is_apart(struct jam *j, LLVMValueRef v)
{
    return LLVMIsAInstruction(v) && aw_ptrmap_find(&j->apart, v);
}

static bool operands_apart(struct jam *j, LLVMValueRef x)
{
    int thread = simt_check_thread(j->r->u, x); /* what is looked at for all warps may be the first one's */
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        if ((int)i != thread && is_apart(j, LLVMGetOperand(x, i)))
            return true;
    return false;
}

/* ---- Can it be done? */

static bool is_plain_call(const struct jam *j, LLVMValueRef x)
{
    return simt_region_hoists(x) || ptx_intrinsic_has(x, PTX_INTRINSIC_MASKED) ||
           simt_check_thread(j->r->u, x) >= 0;
}

/* Does it read, write or lead to a place that an instruction of the kernel uses in between, and nothing else? */
static bool uses_scratch(LLVMValueRef x)
{
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
        LLVMValueRef o = LLVMGetOperand(x, i);
        while (LLVMIsAGetElementPtrInst(o))
            o = LLVMGetOperand(o, 0);
        if (LLVMIsAAllocaInst(o) && simt_region_scratch(o))
            return true;
    }
    return false;
}

static bool is_on_stack(LLVMValueRef p)
{
    while (LLVMIsAGetElementPtrInst(p))
        p = LLVMGetOperand(p, 0);
    return LLVMIsAAllocaInst(p);
}

/* May warps' stores to this address be mixed?  Where warps add to one place, as sums of barriers do, each must see what the one
 * before has left; and so it must where atomics on shared memory are loads and stores, at whatever places. */
static bool stores_mix(struct jam *j, LLVMValueRef p)
{
    return is_apart(j, p) && (!j->r->u->plain_updates || is_on_stack(p));
}

static bool call_suits(struct jam *j, LLVMValueRef x)
{
    return is_plain_call(j, x) && (!ptx_intrinsic_has(x, PTX_INTRINSIC_WRITES) || stores_mix(j, LLVMGetOperand(x, 1)));
}

/* May the warps' instructions be mixed, once it is known what differs? */
static bool suits(struct jam *j, LLVMValueRef x)
{
    bool scratch = uses_scratch(x); /* there is one of it: for what is the same for all */
    if (scratch && is_apart(j, x))
        return false;
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMAlloca: case LLVMFence: case LLVMAtomicRMW: case LLVMAtomicCmpXchg: case LLVMVAArg:
        return false;
    case LLVMLoad:
        return !LLVMGetVolatile(x) && LLVMGetOrdering(x) == LLVMAtomicOrderingNotAtomic;
    case LLVMStore:
        return !LLVMGetVolatile(x) && LLVMGetOrdering(x) == LLVMAtomicOrderingNotAtomic &&
               (x == j->note || scratch || stores_mix(j, LLVMGetOperand(x, 1)));
    case LLVMCall:
        return call_suits(j, x);
    case LLVMBr:
        return !LLVMIsConditional(x) || !is_apart(j, LLVMGetCondition(x));
    case LLVMRet: case LLVMSwitch: case LLVMUnreachable:
        return false;
    default:
        return true;
    }
}

static bool find_blocks(struct jam *j)
{
    const struct region *g = j->g;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(j->r->fn); b; b = LLVMGetNextBasicBlock(b))
        if (aw_ptrmap_find(&j->r->places, b) == g && b != g->before && b != g->after) {
            struct lives *l = AW_NEW(&j->r->u->arena, struct lives);
            if (!l || !aw_vec_push(&j->all_lives, l) || !aw_ptrmap_put(&j->lives, b, l) ||
                (b != g->latch && !aw_vec_push(&j->blocks, b)))
                return simt_memory(j->r->u);
        }
    return true;
}

/* An index that these warps have in common, as their place in a row is the same? */
static bool is_alike(struct jam *j, LLVMValueRef x)
{
    for (unsigned d = 0; d < 3; d++)
        if (x == j->g->own[2 + d])
            return simt_index_alike(j->r->u, d, j->apart_by);
    return false;
}

static bool find_apart(struct jam *j)
{
    bool ok = aw_ptrmap_put(&j->apart, j->g->own[0], j), changed = true;
    while (ok && changed) {
        changed = false;
        for (size_t b = 0; b < j->blocks.n; b++)
            for (LLVMValueRef x = LLVMGetFirstInstruction(j->blocks.at[b]); x && ok; x = LLVMGetNextInstruction(x))
                if (!is_apart(j, x) && operands_apart(j, x) && !is_alike(j, x)) {
                    ok = aw_ptrmap_put(&j->apart, x, j);
                    changed = true;
                }
    }
    return ok ? true : (simt_memory(j->r->u), false);
}

static bool all_suit(struct jam *j)
{
    size_t n = 0;
    for (size_t b = 0; b < j->blocks.n; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(j->blocks.at[b]); x; x = LLVMGetNextInstruction(x))
            if (!suits(j, x) || ++n > MAX_INSTRUCTIONS)
                return false;
    return true;
}

/* ---- How many at once? */

/* Registers that hold a vector; what is one element in all lanes comes from memory with the operation that needs it. */
static unsigned registers(struct jam *j, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    if (!LLVMIsAInstruction(v) || LLVMGetTypeKind(t) != LLVMVectorTypeKind || LLVMIsAInsertElementInst(v) ||
        (LLVMIsAShuffleVectorInst(v) &&
         (LLVMIsAInsertElementInst(LLVMGetOperand(v, 0)) || LLVMIsALoadInst(LLVMGetOperand(v, 0)))))
        return 0;
    unsigned size = j->r->u->options->small_masks ? 64 : 32;
    return (unsigned)(LLVMABISizeOfType(LLVMGetModuleDataLayout(j->r->u->out), t) + size - 1) / size;
}

static void lives_at_start(struct jam *j, LLVMValueRef v, LLVMBasicBlockRef bb);

/* Notes that `v`, which is used at the end of `bb`, lives there and wherever it comes from. */
static void lives_at_end(struct jam *j, LLVMValueRef v, LLVMBasicBlockRef bb)
{
    struct lives *l = aw_ptrmap_find(&j->lives, bb);
    if (!l || aw_ptrmap_find(&l->out, v))
        return; /* outside of the region, or known */
    if (!aw_ptrmap_put(&l->out, v, j))
        simt_memory(j->r->u);
    l->held[is_apart(j, v)] += registers(j, v);
    if (LLVMGetInstructionParent(v) != bb)
        lives_at_start(j, v, bb);
}

static void lives_at_start(struct jam *j, LLVMValueRef v, LLVMBasicBlockRef bb)
{
    for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(bb)); use; use = LLVMGetNextUse(use))
        if (LLVMIsATerminatorInst(LLVMGetUser(use)))
            lives_at_end(j, v, LLVMGetInstructionParent(LLVMGetUser(use)));
}

static void find_lives(struct jam *j)
{
    for (size_t b = 0; b < j->blocks.n; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(j->blocks.at[b]); x; x = LLVMGetNextInstruction(x))
            for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x) && !j->r->u->status; i++) {
                LLVMValueRef o = LLVMGetOperand(x, i);
                if (!registers(j, o))
                    continue;
                if (LLVMIsAPHINode(x))
                    lives_at_end(j, o, LLVMGetIncomingBlock(x, i));
                else if (LLVMGetInstructionParent(o) != j->blocks.at[b])
                    lives_at_start(j, o, j->blocks.at[b]);
            }
}

static void measure_block(struct jam *j, LLVMBasicBlockRef bb, struct pressure *p)
{
    struct lives *l = aw_ptrmap_find(&j->lives, bb);
    struct aw_ptrmap live = l->out;
    unsigned held[2] = { l->held[0], l->held[1] };
    for (LLVMValueRef x = LLVMGetLastInstruction(bb); x && !LLVMIsAPHINode(x); x = LLVMGetPreviousInstruction(x)) {
        if (aw_ptrmap_remove(&live, x))
            held[is_apart(j, x)] -= registers(j, x);
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
            LLVMValueRef o = LLVMGetOperand(x, i);
            if (!registers(j, o) || aw_ptrmap_find(&live, o))
                continue;
            if (!aw_ptrmap_put(&live, o, j))
                simt_memory(j->r->u);
            held[is_apart(j, o)] += registers(j, o);
        }
        p->n++;
        p->common += held[0];
        p->most = held[1] > p->most ? held[1] : p->most;
        p->work += is_apart(j, x) && (registers(j, x) || LLVMIsAStoreInst(x) || LLVMIsALoadInst(x));
        p->loads += !is_apart(j, x) && LLVMIsALoadInst(x) && registers(j, x);
    }
    l->out = live; /* done with, but for its memory */
}

static void measure(struct jam *j, struct pressure *p)
{
    find_lives(j);
    for (size_t b = 0; b < j->blocks.n && !j->r->u->status; b++)
        measure_block(j, j->blocks.at[b], p);
}

static bool fits(struct jam *j, const struct pressure *p, unsigned n)
{
    unsigned machine = j->r->u->options->small_masks ? 32 : 16;
    return n * p->most < machine && p->common <= (machine - n * p->most) * p->n;
}

/* 1: each by itself. */
static unsigned how_many(struct jam *j)
{
    struct pressure p = { 0 };
    size_t shared = simt_threshold(j->r->u, PTX_THRESHOLD_SHARED_LOADS), most = simt_threshold(j->r->u, PTX_THRESHOLD_JAM_WARPS);
    measure(j, &p);
    for (unsigned n = most < MOST ? (unsigned)most : MOST; n > 1; n--)
        if (j->r->warps / j->apart_by % n == 0 && (simt_jams_always(j->r->u) || (p.loads * shared >= p.work && fits(j, &p, n))))
            return n;
    return 1;
}

/* ---- Doing it */

/* Behind each instruction its copies, which have its operands yet. */
static bool copy_all(struct jam *j, unsigned n)
{
    LLVMBuilderRef b = j->r->u->b;
    bool failed = false;
    for (unsigned k = 1; k < n; k++)
        j->copies[k].b = b;
    for (size_t i = 0; i < j->blocks.n; i++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(j->blocks.at[i]), next; x; x = next) {
            next = LLVMGetNextInstruction(x);
            if (x == j->g->own[0] || x == j->note || !is_apart(j, x))
                continue;
            LLVMPositionBuilderBefore(b, next);
            for (unsigned k = 1; k < n; k++)
                ptx_copy_as_is(&j->copies[k], x);
        }
    for (unsigned k = 1; k < n; k++)
        failed |= j->copies[k].failed;
    return !failed;
}

static LLVMValueRef of_warp(struct jam *j, unsigned k, LLVMValueRef v)
{
    return is_apart(j, v) ? aw_ptrmap_find(&j->copies[k].of, v) : v;
}

static void connect(struct jam *j, unsigned k, LLVMValueRef x)
{
    LLVMValueRef c = aw_ptrmap_find(&j->copies[k].of, x);
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
        LLVMValueRef v = of_warp(j, k, LLVMGetOperand(x, i));
        LLVMBasicBlockRef from = LLVMIsAPHINode(x) ? LLVMGetIncomingBlock(x, i) : NULL;
        if (from)
            LLVMAddIncoming(c, &v, &from, 1);
        else
            LLVMSetOperand(c, i, v);
    }
}

/* The loop counts warps in steps of n.  Where those that go together have the same place in their rows, the first one comes of
 * the count: a place after the other, then the next n rows. */
static LLVMValueRef first_warp(struct jam *j, unsigned n)
{
    struct simt *u = j->r->u;
    LLVMValueRef group = LLVMBuildUDiv(u->b, j->g->own[0], simt_c32(u, n), ""), row = simt_c32(u, j->apart_by);
    LLVMValueRef rows = LLVMBuildMul(u->b, LLVMBuildUDiv(u->b, group, row, ""), simt_c32(u, n * j->apart_by), "");
    return LLVMBuildAdd(u->b, rows, LLVMBuildURem(u->b, group, row, ""), "warp");
}

/* Instructions from `first` on and in all other blocks use the warp in place of the counter. */
static void recount(struct jam *j, LLVMValueRef first)
{
    for (size_t i = 0; i < j->blocks.n; i++)
        for (LLVMValueRef x = j->blocks.at[i] == j->g->first ? first : LLVMGetFirstInstruction(j->blocks.at[i]); x;
             x = LLVMGetNextInstruction(x))
            for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(x); o++)
                if (LLVMGetOperand(x, o) == j->g->own[0])
                    LLVMSetOperand(x, o, j->warp);
}

static bool number_warps(struct jam *j, unsigned n)
{
    LLVMBuilderRef b = j->r->u->b;
    LLVMValueRef counter = j->g->own[0], first = ptx_behind_phis(counter);
    LLVMPositionBuilderBefore(b, first);
    j->warp = j->apart_by > 1 ? first_warp(j, n) : counter;
    bool ok = aw_ptrmap_put(&j->apart, j->warp, j);
    for (unsigned k = 1; k < n; k++)
        ok = ok && aw_ptrmap_put(&j->copies[k].of, j->warp, LLVMBuildAdd(b, j->warp, simt_c32(j->r->u, k * j->apart_by), "warp"));
    recount(j, first);
    for (unsigned i = 0; i < LLVMCountIncoming(counter); i++)
        if (LLVMGetIncomingBlock(counter, i) == j->g->latch)
            LLVMSetOperand(LLVMGetIncomingValue(counter, i), 1, simt_c32(j->r->u, n));
    return ok;
}

static void jam(struct jam *j, unsigned n)
{
    if (!copy_all(j, n) || !number_warps(j, n)) {
        simt_memory(j->r->u);
        return;
    }
    for (size_t i = 0; i < j->blocks.n; i++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(j->blocks.at[i]); x; x = LLVMGetNextInstruction(x))
            for (unsigned k = 1; k < n && is_apart(j, x) && x != j->g->own[0] && x != j->warp && x != j->note; k++)
                connect(j, k, x);
    j->r->u->jammed = true;
}

static void fini(struct jam *j)
{
    for (size_t i = 0; i < j->all_lives.n; i++)
        aw_ptrmap_fini(&j->all_lives.at[i]->out);
    aw_vec_fini(&j->all_lives);
    aw_ptrmap_fini(&j->lives);
    aw_vec_fini(&j->blocks);
    aw_ptrmap_fini(&j->apart);
    for (int k = 0; k < MOST; k++)
        ptx_copy_fini(&j->copies[k]);
}

/* Warps so far apart; false: it does not pay. */
static bool try(struct regions *r, struct region *g, uint32_t apart_by)
{
    struct jam j = { .r = r, .g = g, .note = g->note, .apart_by = apart_by };
    unsigned n = find_blocks(&j) && find_apart(&j) && all_suit(&j) ? how_many(&j) : 1;
    if (n > 1 && !r->u->status)
        jam(&j, n);
    fini(&j);
    return n > 1;
}

void simt_unroll_jam(struct regions *r, struct region *g)
{
    uint32_t row = simt_row_vectors(r->u);
    if (!simt_step(r->u, PTX_PASS_JAM))
        return;
    if (!try(r, g, row) && row > 1)
        try(r, g, 1);
}
