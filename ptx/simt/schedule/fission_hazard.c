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
 * kernels with atomics on shared memory, which are loads and stores here that belong together. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include "simt/schedule/schedule.h"
#include "simt/schedule/fission.h"
#include <anywarp/hostabi.h>

enum { ADDRESS_DEPTH = 8 };

/* An access of shared memory: bytes first .. end-1, and on from there where an index is added that warps have by themselves. */
struct shared_access {
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

/* What an index adds: constants at once; of what each warp has by itself nothing is known but that it is not negative.  False:
 * something that is the same for all warps and not known. */
static bool index_add(const struct regions *r, LLVMValueRef index, struct shared_access *a)
{
    int64_t low, high;
    for (int depth = 0; depth < ADDRESS_DEPTH; depth++) {
        if (constant_range(index, &low, &high)) {
            a->first += low;
            a->end += high;
            return true;
        }
        LLVMOpcode op = LLVMIsAInstruction(index) ? LLVMGetInstructionOpcode(index) : LLVMRet;
        if ((op == LLVMAdd || op == LLVMOr) && constant_range(LLVMGetOperand(index, 1), &low, &high)) {
            a->first += low;
            a->end += high;
        } else if (op != LLVMZExt && op != LLVMSExt) {
            break;
        }
        index = LLVMGetOperand(index, 0);
    }
    a->known = false;
    return simt_region_differs(r, index);
}

/* False: no access of shared memory, or nothing is known of where. */
static bool access_of(const struct regions *r, int b, LLVMValueRef x, struct shared_access *ret, bool *ret_writes)
{
    LLVMTypeRef type;
    LLVMValueRef p = address_of(x, ret_writes, &type);
    bool scattered = p && LLVMGetTypeKind(LLVMTypeOf(p)) == LLVMVectorTypeKind;
    if (!p)
        return false;
    *ret = (struct shared_access){ .end = bytes_of(r->u, scattered ? LLVMGetElementType(type) : type), .known = true };
    for (; LLVMIsAGetElementPtrInst(p); p = LLVMGetOperand(p, 0))
        if (LLVMGetNumOperands(p) != 2 || bytes_of(r->u, LLVMGetGEPSourceElementType(p)) != 1 ||
            !index_add(r, LLVMGetOperand(p, 1), ret))
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
    return write->first < read->end && (write->known ? write->end > read->first : write->first >= read->first);
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
