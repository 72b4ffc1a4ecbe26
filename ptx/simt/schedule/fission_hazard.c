/* Write-after-read hazards that a program leaves open.
 *
 * All warps of a block read an array in shared memory, and one of them writes it next, with no barrier between.  (A sum of a
 * block that is taken twice through one array is the usual case.)  That is a race; but on cards, where warps go side by side, all
 * have read long before, and such programs are right there.  Here the first warp would be through its region, writing included,
 * before the second one reads.  So warps meet once more behind such reads.
 *
 * It is a hazard where all warps read the same known offsets of shared memory and a later access of the region writes there, not
 * in all warps alike: in a program without races there is no such pair, but for writes of which it turns out only when it runs
 * that they lie beside.  What is read at offsets that are known when it runs, as in double buffers, is left alone; and so are
 * kernels with atomics on shared memory, which are loads and stores here that belong together.
 *
 * Bodies that are not cut, as who comes to a barrier depends on data, go from barrier to barrier one warp after the other, too.
 * Nothing says which warps read there; so whoever is about to write what may be read lets the others go on first. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include "simt/schedule/schedule.h"
#include "simt/schedule/fission.h"
#include <anywarp/hostabi.h>
#include <string.h>

enum { ADDRESS_DEPTH = 8, MAX_SHIFT = 20, MAX_SCALE = 1 << MAX_SHIFT };

/* An access of shared memory: bytes first .. end-1, and on from there where an index is added that warps have by themselves. */
struct shared_access {
    LLVMValueRef base;   /* `scale` times that behind shared memory's begin: the same for all warps, all the time; NULL: none */
    int64_t scale;
    int64_t first, end;
    bool known;          /* nothing else is added */
    bool alike;          /* all warps make it, at the same addresses for the same lanes */
};

static unsigned bytes_of(struct simt *u, LLVMTypeRef type)
{
    return (unsigned)LLVMABISizeOfType(LLVMGetModuleDataLayout(u->out), type);
}

/* The address of a load or store, or of an intrinsic with a mask; NULL: it is none. */
static LLVMValueRef address_of(LLVMValueRef x, bool *ret_writes, LLVMTypeRef *ret_type)
{
    enum ptx_intrinsic id = ptx_intrinsic_called(x);
    *ret_writes = LLVMIsAStoreInst(x) || id == PTX_INTRINSIC_MASKED_STORE || id == PTX_INTRINSIC_MASKED_SCATTER;
    bool reads = LLVMIsALoadInst(x) || id == PTX_INTRINSIC_MASKED_LOAD || id == PTX_INTRINSIC_MASKED_GATHER;
    if (!*ret_writes && !reads)
        return NULL;
    *ret_type = LLVMTypeOf(*ret_writes ? LLVMGetOperand(x, 0) : x);
    return LLVMGetOperand(x, *ret_writes ? 1 : 0);
}

/* What all elements of a vector are, where it was made of that; else the value itself. */
static LLVMValueRef element_of(LLVMValueRef v)
{
    int64_t at;
    LLVMValueRef from = LLVMIsAShuffleVectorInst(v) ? LLVMGetOperand(v, 0) : NULL;
    if (!from || !LLVMIsAInsertElementInst(from) || !simt_int_const(LLVMGetOperand(from, 2), &at) || at != 0)
        return v;
    for (unsigned i = 0; i < LLVMGetNumMaskElements(v); i++)
        if (LLVMGetMaskValue(v, i) > 0)
            return v;
    return LLVMGetOperand(from, 1);
}

/* Is it where shared memory begins? */
static bool is_window(const struct regions *r, LLVMValueRef p)
{
    int64_t at;
    LLVMValueRef field = LLVMIsALoadInst(p) ? LLVMGetOperand(p, 0) : NULL;
    return field && LLVMIsAGetElementPtrInst(field) && LLVMGetOperand(field, 0) == LLVMGetParam(r->fn, BODY_BLOCK) &&
           simt_int_const(LLVMGetOperand(field, 1), &at) && at == offsetof(struct aw_host_block, shared);
}

/* The least and greatest element of a constant, of those that are any; false: it is none. */
static bool constant_range(LLVMValueRef v, int64_t *ret_low, int64_t *ret_high)
{
    bool any = simt_int_const(v, ret_low);
    if (any)
        *ret_high = *ret_low;
    if (any || !LLVMIsConstant(v) || LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMVectorTypeKind)
        return any;
    for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(v)); i++) {
        int64_t c;
        LLVMValueRef element = LLVMGetAggregateElement(v, i);
        if (element && simt_undef(element))
            continue;
        if (!element || !simt_int_const(element, &c))
            return false;
        *ret_low = !any || c < *ret_low ? c : *ret_low;
        *ret_high = !any || c > *ret_high ? c : *ret_high;
        any = true;
    }
    return any;
}

/* Is it one value for as long as the body runs: of arguments, constants and what no kernel writes? */
static bool is_fixed(const struct regions *r, LLVMValueRef v, int depth)
{
    if (LLVMIsConstant(v) || LLVMIsAArgument(v))
        return !simt_region_differs(r, v);
    bool fixed = depth > 0 && LLVMIsAInstruction(v) && !LLVMIsAPHINode(v) && !LLVMIsAAllocaInst(v) && !simt_region_differs(r, v);
    for (unsigned i = 0; fixed && i < (unsigned)LLVMGetNumOperands(v); i++)
        fixed = is_fixed(r, LLVMGetOperand(v, i), depth - 1);
    return fixed;
}

/* What an index adds, `scale` times, term by term: constants; a multiple of one fixed value, which is the base; of what each warp
 * has by itself nothing is known but that it is not negative.  False: something else that is the same for all warps. */
static bool index_add(const struct regions *r, LLVMValueRef index, int64_t scale, struct shared_access *a, int depth)
{
    int64_t low, high, by;
    index = element_of(index);
    if (constant_range(index, &low, &high)) {
        a->first += low * scale;
        a->end += high * scale;
        return true;
    }
    LLVMOpcode op = depth > 0 && LLVMIsAInstruction(index) ? LLVMGetInstructionOpcode(index) : LLVMRet;
    if (op == LLVMAdd || op == LLVMOr)
        return index_add(r, LLVMGetOperand(index, 0), scale, a, depth - 1) &&
               index_add(r, LLVMGetOperand(index, 1), scale, a, depth - 1);
    if (op == LLVMZExt || op == LLVMSExt)
        return index_add(r, LLVMGetOperand(index, 0), scale, a, depth - 1);
    if ((op == LLVMShl || op == LLVMMul) && simt_int_const(LLVMGetOperand(index, 1), &by) && by >= 0 &&
        by < (op == LLVMShl ? MAX_SHIFT : MAX_SCALE) && scale < MAX_SCALE)
        return index_add(r, LLVMGetOperand(index, 0), op == LLVMShl ? scale << by : scale * by, a, depth - 1);
    if (simt_region_differs(r, index)) {
        a->known = false;
        return true;
    }
    if (a->base || !is_fixed(r, index, ADDRESS_DEPTH))
        return false;
    a->base = index;
    a->scale = scale;
    return true;
}

/* Of an access that lanes make one after the other, as volatile ones: the addresses of all, which are stored before that loop. */
static LLVMValueRef lanes_addresses(const struct regions *r, int b, LLVMValueRef p)
{
    LLVMValueRef element = LLVMIsALoadInst(p) ? LLVMGetOperand(p, 0) : NULL;
    LLVMValueRef held = element && LLVMIsAGetElementPtrInst(element) ? LLVMGetOperand(element, 0) : NULL;
    for (int from = 0; held && LLVMIsAAllocaInst(held) && from < r->f.n_blocks; from++) {
        if (from == b || !simt_leads_to(&r->f.blocks[from], b))
            continue;
        for (LLVMValueRef x = LLVMGetLastInstruction(r->f.blocks[from].bb); x; x = LLVMGetPreviousInstruction(x))
            if (LLVMIsAStoreInst(x) && LLVMGetOperand(x, 1) == held)
                return LLVMGetOperand(x, 0);
    }
    return p;
}

/* False: no access of shared memory, or nothing is known of where. */
static bool access_of(const struct regions *r, int b, LLVMValueRef x, struct shared_access *ret, bool *ret_writes)
{
    LLVMTypeRef type;
    LLVMValueRef p = address_of(x, ret_writes, &type);
    bool scattered = p && LLVMGetTypeKind(LLVMTypeOf(p)) == LLVMVectorTypeKind;
    if (!p)
        return false;
    p = lanes_addresses(r, b, p);
    *ret = (struct shared_access){ .end = bytes_of(r->u, scattered ? LLVMGetElementType(type) : type), .known = true };
    for (p = element_of(p); LLVMIsAGetElementPtrInst(p); p = element_of(LLVMGetOperand(p, 0)))
        if (LLVMGetNumOperands(p) != 2 || bytes_of(r->u, LLVMGetGEPSourceElementType(p)) != 1 ||
            !index_add(r, LLVMGetOperand(p, 1), 1, ret, ADDRESS_DEPTH))
            return false;
    ret->alike = !r->parted[b];
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        ret->alike &= !simt_region_differs(r, LLVMGetOperand(x, i));
    return is_window(r, p);
}

/* A write that not all warps make alike. */
struct write {
    int block;
    LLVMValueRef x;
    struct shared_access access;
};

struct writes {
    struct write *at;
    size_t n, cap;
};

static bool find_writes(const struct regions *r, struct writes *all)
{
    bool ok = true;
    for (int b = 0; b < r->f.n_blocks; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[b].bb); x && ok; x = LLVMGetNextInstruction(x)) {
            struct write w = { b, x, { 0 } };
            bool writes;
            if (access_of(r, b, x, &w.access, &writes) && writes && !w.access.alike)
                ok = aw_vec_push(all, w);
        }
    return ok ? true : (simt_memory(r->u), false);
}

static bool may_meet(const struct shared_access *read, const struct shared_access *write)
{
    return write->base == read->base && write->scale == read->scale && write->first < read->end &&
           (write->known ? write->end > read->first : write->first >= read->first);
}

static bool before_head(void *data, int from, int to)
{
    (void)from;
    return !((const struct regions *)data)->head[to];
}

/* Does block `to` come behind `from` before warps meet? */
static bool leads_to(const struct regions *r, int from, int to)
{
    int n = r->f.n_blocks;
    bool *seen = AW_NEW_ARRAY(&r->u->arena, bool, (size_t)n);
    for (int j = 0; seen && j < r->f.blocks[from].n_succ; j++)
        seen[r->f.blocks[from].succ[j]] = before_head((void *)r, from, r->f.blocks[from].succ[j]);
    if (!seen || !ptx_graph_walk(r->f.blocks, n, simt_edges_out, seen, before_head, (void *)r))
        return simt_memory(r->u), false;
    return seen[to];
}

static bool comes_behind(const struct regions *r, int b, LLVMValueRef x, const struct write *w)
{
    if (w->block != b)
        return r->owner[w->block] == r->owner[b] && leads_to(r, b, w->block);
    while (x && x != w->x)
        x = LLVMGetNextInstruction(x);
    return x != NULL;
}

static bool is_hazard(const struct regions *r, const struct writes *all, int b, LLVMValueRef x)
{
    struct shared_access a;
    bool writes;
    if (!access_of(r, b, x, &a, &writes) || writes || !a.known || !a.alike)
        return false;
    for (size_t i = 0; i < all->n; i++)
        if (may_meet(&a, &all->at[i].access) && comes_behind(r, b, x, &all->at[i]))
            return true;
    return false;
}

unsigned simt_hazards(const struct regions *r, LLVMValueRef ret[SIMT_MAX_HAZARDS])
{
    LLVMValueRef args[2] = { simt_c32(r->u, 0), simt_c32(r->u, 0) };
    struct writes all = { 0 };
    unsigned n = 0;
    bool any = find_writes(r, &all) && all.n;
    for (int b = 0; any && b < r->f.n_blocks && n < SIMT_MAX_HAZARDS; b++) {
        LLVMValueRef last = NULL;
        for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[b].bb); x; x = LLVMGetNextInstruction(x))
            if (is_hazard(r, &all, b, x))
                last = x;
        if (!last)
            continue;
        LLVMPositionBuilderBefore(r->u->b, LLVMGetNextInstruction(last));
        ret[n++] = simt_private_call(r->u->b, r->u->out, SIMT_PRIVATE_MEET, args, 2);
    }
    aw_vec_fini(&all);
    return n;
}

/* ---- Bodies that are not cut */

struct hazard_turns {
    const struct regions *r;
    bool *waits;                        /* by block: warps may wait for each other in it */
    AW_VEC(struct shared_access) reads; /* known ones of the block at hand, behind which nobody has waited yet */
    struct aw_ptrmap writes;            /* before which others have their turn */
};

/* May warps wait for each other there?  Whatever is called but intrinsics. */
static bool may_wait(LLVMValueRef x)
{
    LLVMValueRef callee = LLVMIsACallInst(x) ? LLVMGetCalledValue(x) : NULL;
    return callee && !(LLVMIsAFunction(callee) && LLVMGetIntrinsicID(callee));
}

static bool meets_reads(const struct hazard_turns *t, const struct shared_access *write)
{
    for (size_t i = 0; i < t->reads.n; i++)
        if (may_meet(&t->reads.at[i], write))
            return true;
    return false;
}

static void find_waits(struct hazard_turns *t)
{
    for (int b = 0; b < t->r->f.n_blocks; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(t->r->f.blocks[b].bb); x && !t->waits[b]; x = LLVMGetNextInstruction(x))
            t->waits[b] = may_wait(x);
}

/* Writes of block `b` that meet the reads, up to where warps may wait; or, where these are its own, through all of it, and notes
 * them. */
static bool turns_scan(struct hazard_turns *t, int b, bool own)
{
    bool ok = true;
    for (LLVMValueRef x = LLVMGetFirstInstruction(t->r->f.blocks[b].bb); x && ok; x = LLVMGetNextInstruction(x)) {
        struct shared_access a;
        bool writes, waits = may_wait(x);
        if (waits && !own)
            break;
        if (waits)
            t->reads.n = 0;
        else if (!access_of(t->r, b, x, &a, &writes))
            continue;
        else if (writes && meets_reads(t, &a))
            ok = aw_ptrmap_put(&t->writes, x, x);
        else if (!writes && own && a.known)
            ok = aw_vec_push(&t->reads, a);
    }
    return ok ? true : (simt_memory(t->r->u), false);
}

static bool not_behind_wait(void *data, int from, int to)
{
    (void)to;
    return !((const struct hazard_turns *)data)->waits[from];
}

/* Writes behind the reads that block `b` ends with. */
static bool turns_behind(struct hazard_turns *t, int b, bool *seen)
{
    int n = t->r->f.n_blocks;
    const struct simt_block *x = &t->r->f.blocks[b];
    memset(seen, 0, (size_t)n);
    for (int j = 0; j < x->n_succ; j++)
        seen[x->succ[j]] = true;
    bool ok = ptx_graph_walk(t->r->f.blocks, n, simt_edges_out, seen, not_behind_wait, t);
    for (int c = 0; c < n && ok; c++)
        ok = !seen[c] || turns_scan(t, c, false);
    return ok;
}

/* The calls: one for writes that follow each other, with no such read between them. */
static void turns_emit(const struct hazard_turns *t)
{
    struct simt *u = t->r->u;
    LLVMValueRef block = LLVMGetParam(t->r->fn, BODY_BLOCK);
    LLVMTypeRef type = LLVMFunctionType(u->v_void, &u->ptr, 1, 0);
    for (int b = 0; b < t->r->f.n_blocks; b++) {
        bool due = true;
        for (LLVMValueRef x = LLVMGetFirstInstruction(t->r->f.blocks[b].bb); x; x = LLVMGetNextInstruction(x)) {
            struct shared_access a;
            bool writes, known = access_of(t->r, b, x, &a, &writes);
            due |= (known && !writes) || may_wait(x);
            if (!due || !aw_ptrmap_find(&t->writes, x))
                continue;
            simt_service_before(u, x, offsetof(struct aw_host_services, turn), type, &block, 1);
            due = false;
        }
    }
}

void simt_hazard_turns(const struct regions *r)
{
    size_t n = (size_t)r->f.n_blocks;
    struct hazard_turns t = { .r = r, .waits = AW_NEW_ARRAY(&r->u->arena, bool, n) };
    bool *seen = AW_NEW_ARRAY(&r->u->arena, bool, n), ok = seen && t.waits;
    if (ok)
        find_waits(&t);
    else
        simt_memory(r->u);
    for (int b = 0; b < r->f.n_blocks && ok; b++) {
        t.reads.n = 0;
        ok = turns_scan(&t, b, true) && (!t.reads.n || turns_behind(&t, b, seen));
    }
    if (ok)
        turns_emit(&t);
    aw_vec_fini(&t.reads);
    aw_ptrmap_fini(&t.writes);
}
