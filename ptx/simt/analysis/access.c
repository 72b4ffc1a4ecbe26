/* Accesses that belong together: lanes whose parts of small structures, or of rows, neighbouring instructions read or write. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"

enum { MAX_PARTS = SIMT_INTERLEAVED_PARTS, NEAR = 400 /* instructions between parts */ };

/* Elements between one lane and the next, or 0. */
static int64_t stride(struct simt_fn *f, LLVMValueRef p, unsigned size)
{
    const struct simt_val *val = simt_get(f, p);
    if (!val || val->kind != SIMT_AFFINE || !val->off || val->check)
        return 0;
    int64_t by = val->off[1] / (int64_t)size;
    for (int i = 0; i < f->u->lanes; i++)
        if (val->off[i] != i * by * (int64_t)size)
            return 0;
    return by;
}

/* How many parts there are to find in lanes so many elements apart. */
static int parts_of(int64_t by, unsigned size, bool store, unsigned lanes)
{
    if (by == 2 || by == 4)
        return (int)by;
    return !store && size == 4 && lanes % 8 == 0 && (by > 4 || by < -4) ? 4 : 0;
}

static bool part_type(struct simt_fn *f, LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind != LLVMIntegerTypeKind && kind != LLVMFloatTypeKind && kind != LLVMDoubleTypeKind)
        return false;
    uint64_t size = LLVMStoreSizeOfType(f->u->in_layout, type);
    return size >= 4 && size <= 8;
}

int simt_access_parts(struct simt_fn *f, LLVMValueRef x)
{
    bool store = LLVMIsAStoreInst(x);
    if (!simt_access_plain(x, store) || !part_type(f, simt_access_type(x)))
        return 0;
    unsigned size = (unsigned)LLVMStoreSizeOfType(f->u->in_layout, simt_access_type(x));
    return parts_of(stride(f, simt_access_address(x), size), size, store, (unsigned)f->u->lanes);
}

bool simt_interleaved_find(struct simt_fn *f, LLVMValueRef inst, struct simt_interleaved *ret)
{
    bool store = LLVMIsAStoreInst(inst);
    LLVMTypeRef type = simt_access_type(inst);
    *ret = (struct simt_interleaved){ .size = (unsigned)LLVMStoreSizeOfType(f->u->in_layout, type),
                                      .elem = simt_type(f->u, type) };
    if (f->mask || !simt_access_plain(inst, store) || !part_type(f, type))
        return false;
    ret->by = stride(f, simt_access_address(inst), ret->size);
    ret->n = parts_of(ret->by, ret->size, store, LLVMGetVectorSize(f->u->i32v));
    int64_t first, at, seen = 0;
    LLVMValueRef root = simt_access_root(f, simt_access_address(inst), &first), places[MAX_PARTS * 2 - 1] = { NULL };
    ret->align = ret->size;
    ret->base = simt_access_address(inst);
    int left = NEAR;
    for (LLVMValueRef x = inst; ret->n && x && seen < ret->n && left--; x = LLVMGetNextInstruction(x)) {
        int64_t k = 0;
        bool part = simt_access_plain(x, store) && simt_access_type(x) == type &&
                    simt_access_root(f, simt_access_address(x), &at) == root &&
                    stride(f, simt_access_address(x), ret->size) == ret->by && (at - first) % (int64_t)ret->size == 0;
        k = part ? (at - first) / (int64_t)ret->size + ret->n - 1 : 0;
        if (part && k >= 0 && k < 2 * ret->n - 1 && !places[k]) {
            places[k] = x;
            ret->last = x;
            ret->align = LLVMGetAlignment(x) < ret->align ? LLVMGetAlignment(x) : ret->align;
            seen++;
        } else if (part || (simt_touches_memory(x) && (store || !simt_access_plain(x, false)))) {
            return false;
        }
    }
    int from = 0;
    while (from < ret->n && !places[from])
        from++;
    for (int i = 0; i < ret->n; i++)
        if (!ret->n || from + i >= 2 * ret->n - 1 || !(ret->inst[i] = places[from + i]))
            return false;
    ret->base_at = (int64_t)(ret->n - 1 - from) * (int64_t)ret->size;
    return ret->n > 0;
}
