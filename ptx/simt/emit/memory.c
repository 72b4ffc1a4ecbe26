/* Memory: loads and stores of a warp, each by itself; access_way.def says what else there is.
 *
 * Uniform addresses are one scalar access (a block runs only when some lane is active).  Affine ones are vector accesses,
 * masked unless every lane runs, with an exact gather beside them where an index might have wrapped.  Everything else goes
 * lane by lane: by the machine's gather, by straight-line code in which inactive lanes use a dummy address, or by a loop. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

/* One access being emitted. */
struct access {
    LLVMValueRef inst, ptr;   /* source instruction and address */
    LLVMTypeRef elem;         /* in the out module */
    uint64_t size;            /* bytes */
    unsigned align;
    bool constant;            /* memory that no one writes while the kernel runs */
    bool rare;                /* an index has wrapped: small code */
    bool ordered;             /* volatile or atomic: one scalar access per lane, in order */
};

static struct access access_of(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef ptr, LLVMTypeRef type)
{
    struct access a = { .inst = inst, .ptr = ptr, .elem = simt_type(f->u, type) };
    a.size = LLVMStoreSizeOfType(f->u->in_layout, type);
    a.align = LLVMGetAlignment(inst);
    a.constant = simt_space(LLVMTypeOf(ptr)) == SIMT_SPACE_CONST;
    a.rare = simt_private_called(ptr) == SIMT_PRIVATE_APART;
    a.ordered = LLVMGetVolatile(inst) || LLVMGetOrdering(inst) != LLVMAtomicOrderingNotAtomic;
    return a;
}

/* Types whose vectors lie in memory as the lanes' values do. */
static bool packs(LLVMTypeRef t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMHalfTypeKind: case LLVMBFloatTypeKind: case LLVMFloatTypeKind: case LLVMDoubleTypeKind: case LLVMPointerTypeKind:
        return true;
    case LLVMIntegerTypeKind: {
        unsigned w = LLVMGetIntTypeWidth(t);
        return w == 8 || w == 16 || w == 32 || w == 64;
    }
    default:
        return false;
    }
}

/* The address as a plain pointer or vector of them. */
static LLVMValueRef plain(struct simt_fn *f, LLVMValueRef x, bool shared, bool vec)
{
    struct simt *u = f->u;
    if (!shared)
        return x;
    LLVMValueRef at = LLVMBuildSExt(u->b, x, vec ? u->i64v : u->i64, "");
    return LLVMBuildGEP2(u->b, u->i8, f->shared, &at, 1, "");
}

LLVMValueRef simt_window(struct simt_fn *f, LLVMValueRef at)
{
    return plain(f, at, true, false);
}

LLVMValueRef simt_address(struct simt_fn *f, LLVMValueRef ptr)
{
    return plain(f, simt_scalar(f, ptr), simt_is_shared_ptr(LLVMTypeOf(ptr)), false);
}

LLVMValueRef simt_addresses(struct simt_fn *f, LLVMValueRef ptr)
{
    return plain(f, simt_vector(f, ptr), simt_is_shared_ptr(LLVMTypeOf(ptr)), true);
}

static void copy_order(LLVMValueRef from, LLVMValueRef to)
{
    LLVMSetVolatile(to, LLVMGetVolatile(from));
    if (LLVMGetOrdering(from) != LLVMAtomicOrderingNotAtomic)
        LLVMSetOrdering(to, LLVMGetOrdering(from));
    LLVMSetAlignment(to, LLVMGetAlignment(from));
}

/* Global and shared memory are apart by PTX's definition, which plain pointers do not tell: loads from the one may then leave a
 * loop over warps that stores to the other. */
void simt_mark_space(struct simt *u, LLVMValueRef access, LLVMValueRef ptr)
{
    unsigned space = simt_space(LLVMTypeOf(ptr));
    if (space != SIMT_SPACE_GLOBAL && space != SIMT_SPACE_SHARED)
        return;
    bool shared = space == SIMT_SPACE_SHARED;
    LLVMSetMetadata(access, LLVMGetMDKindIDInContext(u->ctx, "alias.scope", 11), u->scopes[shared]);
    LLVMSetMetadata(access, LLVMGetMDKindIDInContext(u->ctx, "noalias", 7), u->scopes[!shared]);
}

void simt_mark_own(struct simt *u, LLVMValueRef access)
{
    LLVMSetMetadata(access, LLVMGetMDKindIDInContext(u->ctx, "noalias", 7), u->both_scopes);
}

static void mark(struct simt_fn *f, const struct access *a, LLVMValueRef x)
{
    if (!a->ordered)
        simt_mark_space(f->u, x, a->ptr);
}

static LLVMValueRef scalar_load(struct simt_fn *f, const struct access *a, LLVMValueRef p)
{
    struct simt *u = f->u;
    LLVMValueRef x = LLVMBuildLoad2(u->b, a->elem, p, "");
    copy_order(a->inst, x);
    mark(f, a, x);
    if (a->constant && !a->ordered)
        ptx_mark(x, PTX_INVARIANT);
    return x;
}

static void scalar_store(struct simt_fn *f, const struct access *a, LLVMValueRef x, LLVMValueRef p)
{
    LLVMValueRef store = LLVMBuildStore(f->u->b, x, p);
    copy_order(a->inst, store);
    mark(f, a, store);
}

LLVMValueRef simt_masked(struct simt *u, enum ptx_intrinsic id, LLVMTypeRef types[2], LLVMValueRef args[PTX_MASKED_OPERANDS],
                         unsigned align)
{
    return ptx_llvm_masked_build(u->b, u->out, ptx_intrinsic_llvm_id(id), types, args, align);
}

static LLVMValueRef lane_of(struct simt *u, LLVMValueRef vec, int lane)
{
    return LLVMBuildExtractElement(u->b, vec, simt_c32(u, lane), "");
}

/* ---- Lane by lane */

/* Inactive lanes read and write a stack slot, which spares a branch per lane. */
static LLVMValueRef divert_inactive(struct simt_fn *f, LLVMValueRef ptrs)
{
    if (!f->mask)
        return ptrs;
    return LLVMBuildSelect(f->u->b, f->mask, ptrs, simt_splat(f->u, simt_scratch(f, 5)), "");
}

/* Straight-line code is quicker than a loop over lanes, but the machine schedulers take quadratic time over it. */

static bool loop_lanes(const struct access *a, int *count, int most)
{
    return a->ordered || a->rare || (*count)++ >= most;
}

static LLVMValueRef gather_loop(struct simt_fn *f, const struct access *a, LLVMValueRef ptrs)
{
    struct simt_lanes it;
    simt_spill(f, 0, ptrs);
    simt_lanes_begin(f, f->mask, &it);
    simt_lane_put(f, 3, scalar_load(f, a, simt_lane_get(f, 0, f->u->ptr, it.lane)), it.lane);
    simt_lanes_end(f, &it);
    return simt_reload(f, 3, simt_vec_type(f->u, a->elem));
}

static void scatter_loop(struct simt_fn *f, const struct access *a, LLVMValueRef ptrs, LLVMValueRef x)
{
    struct simt_lanes it;
    simt_spill(f, 0, ptrs);
    simt_spill(f, 1, x);
    simt_lanes_begin(f, f->mask, &it);
    scalar_store(f, a, simt_lane_get(f, 1, a->elem, it.lane), simt_lane_get(f, 0, f->u->ptr, it.lane));
    simt_lanes_end(f, &it);
}

/* The lanes that run, or those of `mask`, one after another, of a row from `base` on: small code for machines that have no quick
 * masks. */
static LLVMValueRef load_row_loop(struct simt_fn *f, const struct access *a, LLVMValueRef base)
{
    struct simt_lanes it;
    simt_lanes_begin(f, f->mask, &it);
    simt_lane_put(f, 3, scalar_load(f, a, LLVMBuildGEP2(f->u->b, a->elem, base, &it.lane, 1, "")), it.lane);
    simt_lanes_end(f, &it);
    return simt_reload(f, 3, simt_vec_type(f->u, a->elem));
}

static void store_row_loop(struct simt_fn *f, const struct access *a, LLVMValueRef base, LLVMValueRef mask, LLVMValueRef x)
{
    struct simt_lanes it;
    simt_spill(f, 1, x);
    simt_lanes_begin(f, mask, &it);
    scalar_store(f, a, simt_lane_get(f, 1, a->elem, it.lane), LLVMBuildGEP2(f->u->b, a->elem, base, &it.lane, 1, ""));
    simt_lanes_end(f, &it);
}

/* Has the machine gathers and scatters for it that are worth it? */
static bool fast_lanes(struct simt_fn *f, const struct access *a)
{
    return f->u->options->fast_gather && a->size >= 4 && packs(a->elem) && !a->ordered;
}

static LLVMValueRef gather(struct simt_fn *f, const struct access *a, LLVMValueRef ptrs)
{
    struct simt *u = f->u;
    LLVMTypeRef vt = simt_vec_type(u, a->elem);
    bool fast = fast_lanes(f, a);
    if (!fast && loop_lanes(a, &f->gathers, (int)simt_threshold(u, PTX_THRESHOLD_STRAIGHT_GATHERS)))
        return gather_loop(f, a, ptrs);
    if (fast || (!u->options->fast_gather && packs(a->elem))) { /* finish/host/gather.c takes slow ones apart */
        LLVMTypeRef types[2] = { vt, LLVMTypeOf(ptrs) };
        LLVMValueRef args[3] = { ptrs, simt_full(u, f->mask), LLVMGetPoison(vt) };
        LLVMValueRef call = simt_masked(u, PTX_INTRINSIC_MASKED_GATHER, types, args, a->align);
        mark(f, a, call);
        return call;
    }
    ptrs = divert_inactive(f, ptrs);
    LLVMValueRef r = LLVMGetPoison(vt);
    for (int i = 0; i < u->lanes; i++)
        r = LLVMBuildInsertElement(u->b, r, scalar_load(f, a, lane_of(u, ptrs, i)), simt_c32(u, i), "");
    return r;
}

/* In lane order, so the last lane's value stays where addresses meet. */
static void scatter(struct simt_fn *f, const struct access *a, LLVMValueRef ptrs, LLVMValueRef x)
{
    struct simt *u = f->u;
    if (fast_lanes(f, a)) {
        LLVMTypeRef types[2] = { LLVMTypeOf(x), LLVMTypeOf(ptrs) };
        LLVMValueRef args[3] = { x, ptrs, simt_full(u, f->mask) };
        LLVMValueRef call = simt_masked(u, PTX_INTRINSIC_MASKED_SCATTER, types, args, a->align);
        mark(f, a, call);
        return;
    }
    if (loop_lanes(a, &f->scatters, (int)simt_threshold(u, PTX_THRESHOLD_STRAIGHT_SCATTERS))) {
        scatter_loop(f, a, ptrs, x);
        return;
    }
    ptrs = divert_inactive(f, ptrs);
    for (int i = 0; i < f->u->lanes; i++)
        scalar_store(f, a, lane_of(u, x, i), lane_of(u, ptrs, i));
}

LLVMValueRef simt_gather(struct simt_fn *f, LLVMValueRef inst, LLVMTypeRef type, int64_t by)
{
    LLVMValueRef ptr = simt_access_address(inst), ptrs = simt_addresses(f, ptr), at = simt_c64(f->u, by);
    struct access a = access_of(f, inst, ptr, type);
    return gather(f, &a, by ? LLVMBuildGEP2(f->u->b, f->u->i8, ptrs, &at, 1, "") : ptrs);
}

LLVMValueRef simt_gather_at(struct simt_fn *f, LLVMValueRef inst, LLVMTypeRef type, LLVMValueRef ptrs)
{
    struct access a = access_of(f, inst, simt_access_address(inst), type);
    a.align = 1;
    return gather(f, &a, ptrs);
}

void simt_scatter(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef x)
{
    struct access a = access_of(f, inst, simt_access_address(inst), LLVMGetElementType(LLVMTypeOf(x)));
    scatter(f, &a, simt_addresses(f, a.ptr), x);
}

LLVMValueRef simt_gather_some(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef other, int64_t by)
{
    struct access a = access_of(f, inst, simt_access_address(other), LLVMTypeOf(inst));
    LLVMValueRef ptrs = simt_addresses(f, a.ptr), at = simt_c64(f->u, by);
    a.rare = !fast_lanes(f, &a);
    return gather(f, &a, by ? LLVMBuildGEP2(f->u->b, f->u->i8, ptrs, &at, 1, "") : ptrs);
}

void simt_scatter_some(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef x)
{
    struct access a = access_of(f, inst, simt_access_address(inst), LLVMTypeOf(LLVMGetOperand(inst, 0)));
    a.rare = !fast_lanes(f, &a);
    scatter(f, &a, simt_addresses(f, a.ptr), x);
}

/* ---- Affine */

/* Length of the runs of neighbouring elements, a power of two: all lanes when contiguous, 0 when under 4. */
static int run_length(int lanes, const int64_t *off, uint64_t size)
{
    for (int w = lanes; w >= 4; w /= 2) {
        bool all = true;
        for (int i = 0; i < lanes; i++)
            all &= i % w == 0 || off[i] == off[i - 1] + (int64_t)size;
        if (all)
            return w;
    }
    return 0;
}

LLVMValueRef simt_slice(struct simt *u, LLVMValueRef vec, int first, int n)
{
    int at[SIMT_LANES];
    if (n == u->lanes)
        return vec;
    for (int i = 0; i < n; i++)
        at[i] = first + i;
    return LLVMBuildShuffleVector(u->b, vec, LLVMGetPoison(LLVMTypeOf(vec)), simt_const_i32v(u, at, n), "");
}

LLVMValueRef simt_join(struct simt *u, LLVMValueRef *part, int n, int width)
{
    for (; n > 1; n /= 2, width *= 2) {
        int at[SIMT_LANES];
        for (int i = 0; i < 2 * width; i++)
            at[i] = i;
        for (int i = 0; i < n / 2; i++)
            part[i] = LLVMBuildShuffleVector(u->b, part[2 * i], part[2 * i + 1], simt_const_i32v(u, at, 2 * width), "");
    }
    return part[0];
}

static LLVMValueRef run_load(struct simt_fn *f, const struct access *a, LLVMValueRef base, const int64_t *off, int width,
                             LLVMValueRef mask)
{
    struct simt *u = f->u;
    LLVMValueRef part[SIMT_LANES];
    LLVMTypeRef vt = LLVMVectorType(a->elem, (unsigned)width);
    for (int i = 0; i < u->lanes / width; i++) {
        LLVMValueRef p = simt_advance(u, base, off[i * width]);
        if (!mask) {
            part[i] = LLVMBuildLoad2(u->b, vt, p, "");
            LLVMSetAlignment(part[i], a->align);
            mark(f, a, part[i]);
            continue;
        }
        LLVMTypeRef types[2] = { vt, u->ptr };
        LLVMValueRef args[3] = { p, simt_slice(u, mask, i * width, width), LLVMGetPoison(vt) };
        part[i] = simt_masked(u, PTX_INTRINSIC_MASKED_LOAD, types, args, a->align);
        mark(f, a, part[i]);
    }
    return simt_join(u, part, u->lanes / width, width);
}

static void plain_store(struct simt_fn *f, const struct access *a, LLVMValueRef p, LLVMValueRef v)
{
    LLVMValueRef store = LLVMBuildStore(f->u->b, v, p);
    LLVMSetAlignment(store, a->align);
    mark(f, a, store);
}

static void masked_store(struct simt_fn *f, const struct access *a, LLVMValueRef p, LLVMValueRef mask, LLVMValueRef v)
{
    struct simt *u = f->u;
    LLVMTypeRef types[2] = { LLVMTypeOf(v), u->ptr };
    LLVMValueRef args[3] = { v, p, mask };
    LLVMValueRef call = simt_masked(u, PTX_INTRINSIC_MASKED_STORE, types, args, a->align);
    mark(f, a, call);
}

/* Without mask registers a masked store takes a multiple of the time of a plain one, and most registers' worth of lanes are all
 * on or all off. */
static void store_by_registers(struct simt_fn *f, const struct access *a, LLVMValueRef base, const int64_t *off,
                               LLVMValueRef mask, LLVMValueRef x)
{
    struct simt *u = f->u;
    int n = 32 / (int)a->size;
    LLVMValueRef bits = simt_bits(u, mask), all = simt_c32(u, (INT64_C(1) << n) - 1);
    for (int i = 0; i < u->lanes; i += n) {
        LLVMValueRef p = simt_advance(u, base, off[i]), v = simt_slice(u, x, i, n), m = simt_slice(u, mask, i, n);
        LLVMValueRef on = LLVMBuildAnd(u->b, LLVMBuildLShr(u->b, bits, simt_c32(u, i), ""), all, "");
        LLVMBasicBlockRef full = simt_new_block(f, "part.full"), not_full = simt_new_block(f, "part"),
                          some = simt_new_block(f, "part.some"), done = simt_new_block(f, "part.done");
        LLVMBuildCondBr(u->b, LLVMBuildICmp(u->b, LLVMIntEQ, on, all, ""), full, not_full);
        LLVMPositionBuilderAtEnd(u->b, full);
        plain_store(f, a, p, v);
        LLVMBuildBr(u->b, done);
        LLVMPositionBuilderAtEnd(u->b, not_full);
        LLVMBuildCondBr(u->b, LLVMBuildICmp(u->b, LLVMIntEQ, on, simt_c32(u, 0), ""), done, some);
        LLVMPositionBuilderAtEnd(u->b, some);
        masked_store(f, a, p, m, v);
        LLVMBuildBr(u->b, done);
        LLVMPositionBuilderAtEnd(u->b, done);
    }
}

/* Lanes that nothing foretells (update.c), mostly few, where a masked store takes as long as some plain ones. */
static void store_few_or_registers(struct simt_fn *f, const struct access *a, LLVMValueRef base, const int64_t *off,
                                   LLVMValueRef mask, LLVMValueRef x)
{
    struct simt *u = f->u;
    LLVMValueRef most = simt_c32(u, (int64_t)simt_threshold(u, PTX_THRESHOLD_STORE_FEW));
    LLVMValueRef bits = simt_bits(u, mask), n = simt_intrinsic(u, "llvm.ctpop", &u->i32, 1, &bits, 1);
    LLVMBasicBlockRef few = simt_new_block(f, "few"), more = simt_new_block(f, "more"), done = simt_new_block(f, "few.done");
    LLVMBuildCondBr(u->b, LLVMBuildICmp(u->b, LLVMIntULE, n, most, ""), few, more);
    LLVMPositionBuilderAtEnd(u->b, few);
    store_row_loop(f, a, simt_advance(u, base, off[0]), mask, x);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, more);
    store_by_registers(f, a, base, off, mask, x);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, done);
}

static void run_store(struct simt_fn *f, const struct access *a, LLVMValueRef base, const int64_t *off, int width,
                      LLVMValueRef mask, LLVMValueRef x)
{
    struct simt *u = f->u;
    if (mask && width == u->lanes && a->size >= 4 && u->options->versions && !(f->updates && u->options->masked_stores)) {
        (f->updates ? store_few_or_registers : store_by_registers)(f, a, base, off, mask, x);
        return;
    }
    for (int i = 0; i < u->lanes / width; i++) {
        LLVMValueRef p = simt_advance(u, base, off[i * width]), v = simt_slice(u, x, i * width, width);
        if (!mask) {
            plain_store(f, a, p, v);
            continue;
        }
        masked_store(f, a, p, simt_slice(u, mask, i * width, width), v);
    }
}

/* Addresses base + off, with no check left to do. */
static LLVMValueRef lane_ptrs(struct simt_fn *f, LLVMValueRef base, const int64_t *off)
{
    LLVMValueRef at = simt_offset_vec(f->u, off, f->u->i64);
    return LLVMBuildGEP2(f->u->b, f->u->i8, base, &at, 1, "");
}

/* Few distinct addresses and every lane active: a scalar load for each, then one permutation. */
static LLVMValueRef few_loads(struct simt_fn *f, const struct access *a, LLVMValueRef base, const int64_t *off)
{
    struct simt *u = f->u;
    int64_t seen[4];
    int n = 0, at[SIMT_LANES];
    for (int i = 0; i < u->lanes; i++) {
        int j = 0;
        while (j < n && seen[j] != off[i])
            j++;
        if (j == 4)
            return NULL;
        if (j == n)
            seen[n++] = off[i];
        at[i] = j;
    }
    LLVMTypeRef vt = simt_vec_type(u, a->elem);
    LLVMValueRef x = LLVMGetPoison(vt);
    for (int j = 0; j < n; j++)
        x = LLVMBuildInsertElement(u->b, x, scalar_load(f, a, simt_advance(u, base, seen[j])), simt_c32(u, j), "");
    return LLVMBuildShuffleVector(u->b, x, LLVMGetPoison(vt), simt_const_i32v(u, at, u->lanes), "");
}

/* Has no good masked form: on most machines narrow elements, on old ones any, elements apart from each other where gathers are
 * slow.  Such an access is unmasked when all lanes run, else lane by lane. */
static bool needs_all(struct simt_fn *f, const struct access *a, int width)
{
    bool fast = width ? (a->size >= 4 ? f->u->options->masks : f->u->options->small_masks)
                      : a->size >= 4 && f->u->options->fast_gather;
    return f->mask && !a->ordered && !fast;
}

/* One lane at a time at known distances: the addresses are plainly apart, or plainly the same. */
static LLVMValueRef spread_load(struct simt_fn *f, const struct access *a, LLVMValueRef base, const int64_t *off)
{
    struct simt *u = f->u;
    LLVMTypeRef vt = simt_vec_type(u, a->elem);
    LLVMValueRef r = LLVMGetPoison(vt);
    for (int i = 0; i < u->lanes; i++)
        r = LLVMBuildInsertElement(u->b, r, scalar_load(f, a, simt_advance(u, base, off[i])), simt_c32(u, i), "");
    return r;
}

static void spread_store(struct simt_fn *f, const struct access *a, LLVMValueRef base, const int64_t *off, LLVMValueRef x)
{
    for (int i = 0; i < f->u->lanes; i++)
        scalar_store(f, a, lane_of(f->u, x, i), simt_advance(f->u, base, off[i]));
}

/* Every lane of the warp runs. */
static LLVMValueRef full_load(struct simt_fn *f, const struct access *a, LLVMValueRef base, const int64_t *off, int width)
{
    LLVMValueRef few = width ? NULL : few_loads(f, a, base, off);
    return width ? run_load(f, a, base, off, width, NULL) : few ? few : spread_load(f, a, base, off);
}

static void full_store(struct simt_fn *f, const struct access *a, LLVMValueRef base, const int64_t *off, int width,
                       LLVMValueRef x)
{
    if (width)
        run_store(f, a, base, off, width, NULL, x);
    else
        spread_store(f, a, base, off, x);
}

/* For the warps of which some lanes are off: the machine's own, else small code. */
static LLVMValueRef load_some(struct simt_fn *f, const struct access *a, LLVMValueRef base, const int64_t *off, int width)
{
    if (width == f->u->lanes && !f->u->options->masks)
        return load_row_loop(f, a, simt_advance(f->u, base, off[0]));
    LLVMValueRef ptrs = lane_ptrs(f, base, off);
    return fast_lanes(f, a) ? gather(f, a, ptrs) : gather_loop(f, a, ptrs);
}

static void store_some(struct simt_fn *f, const struct access *a, LLVMValueRef base, const int64_t *off, int width,
                       LLVMValueRef x)
{
    if (width == f->u->lanes && !f->u->options->masks) {
        store_row_loop(f, a, simt_advance(f->u, base, off[0]), f->mask, x);
        return;
    }
    LLVMValueRef ptrs = lane_ptrs(f, base, off);
    if (fast_lanes(f, a))
        scatter(f, a, ptrs, x);
    else
        scatter_loop(f, a, ptrs, x);
}

/* If all lanes are on, or if all that lies between is in one page: some lane that is on reads that page. */
LLVMValueRef simt_may_read_all(struct simt_fn *f, LLVMValueRef first, int64_t bytes)
{
    enum { PAGE = 4096 };
    struct simt *u = f->u;
    LLVMValueRef all = simt_all_on(u, f->mask);
    if (bytes > PAGE)
        return all;
    LLVMValueRef at = LLVMBuildAnd(u->b, LLVMBuildPtrToInt(u->b, first, u->i64, ""), simt_c64(u, PAGE - 1), "");
    return LLVMBuildOr(u->b, all, LLVMBuildICmp(u->b, LLVMIntULE, at, simt_c64(u, PAGE - bytes), ""), "");
}

static LLVMValueRef may_read_all(struct simt_fn *f, const struct access *a, LLVMValueRef base, const int64_t *off)
{
    int64_t lo = 0, hi = 0;
    for (int i = 0; i < f->u->lanes; i++) {
        lo = off[i] < lo ? off[i] : lo;
        hi = off[i] > hi ? off[i] : hi;
    }
    return simt_may_read_all(f, simt_advance(f->u, base, lo), hi - lo + (int64_t)a->size);
}

static LLVMValueRef affine_load(struct simt_fn *f, const struct access *a, LLVMValueRef base, const int64_t *off)
{
    struct simt *u = f->u;
    int width = packs(a->elem) && !a->ordered ? run_length(u->lanes, off, a->size) : 0;
    if (a->ordered)
        return gather(f, a, lane_ptrs(f, base, off));
    if (!f->mask)
        return full_load(f, a, base, off, width);
    if (!needs_all(f, a, width))
        return width ? run_load(f, a, base, off, width, f->mask) : gather(f, a, lane_ptrs(f, base, off));
    LLVMBasicBlockRef all = simt_new_block(f, "load.all"), some = simt_new_block(f, "load.some"),
                      done = simt_new_block(f, "load.done");
    LLVMBuildCondBr(u->b, may_read_all(f, a, base, off), all, some);
    LLVMPositionBuilderAtEnd(u->b, all);
    LLVMValueRef x[2] = { full_load(f, a, base, off, width) };
    LLVMBasicBlockRef from[2] = { LLVMGetInsertBlock(u->b) };
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, some);
    x[1] = load_some(f, a, base, off, width);
    from[1] = LLVMGetInsertBlock(u->b);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, done);
    return simt_phi2(u, x, from);
}

static void affine_store(struct simt_fn *f, const struct access *a, LLVMValueRef base, const int64_t *off, LLVMValueRef x)
{
    struct simt *u = f->u;
    int width = packs(a->elem) && !a->ordered ? run_length(u->lanes, off, a->size) : 0;
    if (a->ordered) {
        scatter(f, a, lane_ptrs(f, base, off), x);
    } else if (!f->mask) {
        full_store(f, a, base, off, width, x);
    } else if (!needs_all(f, a, width)) {
        if (width)
            run_store(f, a, base, off, width, f->mask, x);
        else
            scatter(f, a, lane_ptrs(f, base, off), x);
    } else {
        LLVMBasicBlockRef all = simt_new_block(f, "store.all"), some = simt_new_block(f, "store.some"),
                          done = simt_new_block(f, "store.done");
        LLVMBuildCondBr(u->b, simt_all_on(u, f->mask), all, some);
        LLVMPositionBuilderAtEnd(u->b, all);
        full_store(f, a, base, off, width, x);
        LLVMBuildBr(u->b, done);
        LLVMPositionBuilderAtEnd(u->b, some);
        store_some(f, a, base, off, width, x);
        LLVMBuildBr(u->b, done);
        LLVMPositionBuilderAtEnd(u->b, done);
    }
}

/* ---- Loads and stores */

static LLVMValueRef affine_base(struct simt_fn *f, LLVMValueRef ptr)
{
    return plain(f, simt_get(f, ptr)->s, simt_is_shared_ptr(LLVMTypeOf(ptr)), false);
}

/* Splits into a likely block for the affine form and a cold one; returns the block where they meet. */
static LLVMBasicBlockRef split_on_ok(struct simt_fn *f, LLVMValueRef ok, LLVMBasicBlockRef *ret_cold)
{
    struct simt *u = f->u;
    LLVMBasicBlockRef hot = simt_new_block(f, "affine"), cold = simt_new_block(f, "wrapped");
    simt_mark_likely(LLVMBuildCondBr(u->b, ok, hot, cold));
    *ret_cold = cold;
    LLVMPositionBuilderAtEnd(u->b, hot);
    return simt_new_block(f, "access.done");
}

enum { DEPTH = 8 /* operations from an index to an address */ };

/* Does the checked value come from a ring (shape.c), whose lanes go round often enough? */
static bool on_ring(struct simt_fn *f, LLVMValueRef x, int depth)
{
    const struct simt_val *val = simt_get(f, x);
    if (!depth || !val || !val->check || !LLVMIsAInstruction(x) || LLVMIsAPHINode(x))
        return false;
    if (LLVMGetInstructionOpcode(x) == LLVMAnd)
        return true;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        if (on_ring(f, LLVMGetOperand(x, i), depth - 1))
            return true;
    return false;
}

/* Beside lanes that are where their distances say, an exact form for those that have wrapped. */
static LLVMValueRef checked_load(struct simt_fn *f, const struct access *a, const int64_t *off, LLVMValueRef ok)
{
    struct simt *u = f->u;
    LLVMBasicBlockRef cold, done = split_on_ok(f, ok, &cold), from[2];
    LLVMValueRef x[2];
    x[0] = affine_load(f, a, affine_base(f, a->ptr), off);
    from[0] = LLVMGetInsertBlock(u->b);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, cold);
    f->epoch++;
    struct access wrapped = *a;
    wrapped.rare = !on_ring(f, a->ptr, DEPTH);
    x[1] = gather(f, &wrapped, simt_addresses(f, a->ptr));
    from[1] = LLVMGetInsertBlock(u->b);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, done);
    f->epoch++; /* distances built in the cold block are of no use here */
    return simt_phi2(u, x, from);
}

bool simt_affine_load(struct simt_fn *f, LLVMValueRef inst)
{
    struct access a = access_of(f, inst, LLVMGetOperand(inst, 0), LLVMTypeOf(inst));
    const struct simt_val *p = simt_get(f, a.ptr);
    if (!p || p->kind != SIMT_AFFINE || !p->off)
        return false;
    LLVMValueRef ok = simt_ok(f, a.ptr);
    simt_set_vector(f, inst, ok ? checked_load(f, &a, p->off, ok) : affine_load(f, &a, affine_base(f, a.ptr), p->off));
    return true;
}

/* ---- What is likely a row of neighbours */

enum { LIKELY_ROWS = 48 /* in a function: two forms of an access take twice the code */ };

static bool likely_row(struct simt_fn *f, const struct access *a, struct simt_likely *ret)
{
    struct simt *u = f->u;
    bool fits = packs(a->elem) && !a->ordered && !a->rare && u->lanes > 1 && f->form != SIMT_FORM_SINGLE;
    return fits && f->likely < LIKELY_ROWS && simt_likely_row(f, a->ptr, a->size, ret);
}

/* Offsets of a row, which are interned with those of the shapes. */
static void row_offsets(struct simt *u, uint64_t size, int64_t *ret_off)
{
    for (int i = 0; i < u->lanes; i++)
        ret_off[i] = (int64_t)size * i;
}

/* Branches to the form for a row; returns the block of the other one, and where they meet. */
static LLVMBasicBlockRef split_on_row(struct simt_fn *f, LLVMValueRef row, LLVMBasicBlockRef *ret_done)
{
    struct simt *u = f->u;
    LLVMBasicBlockRef together = simt_new_block(f, "row"), apart = simt_new_block(f, "apart");
    LLVMBuildCondBr(u->b, row, together, apart);
    *ret_done = simt_new_block(f, "access.done");
    LLVMPositionBuilderAtEnd(u->b, together);
    f->likely++;
    return apart;
}

/* In a block of its own, of the element that all lanes read. */
static LLVMValueRef load_same(struct simt_fn *f, const struct access *a, LLVMValueRef base, LLVMValueRef same,
                              LLVMBasicBlockRef done, LLVMBasicBlockRef *ret_from)
{
    struct simt *u = f->u;
    LLVMBasicBlockRef one = simt_new_block(f, "same"), each = simt_new_block(f, "each");
    LLVMBuildCondBr(u->b, same, one, each);
    LLVMPositionBuilderAtEnd(u->b, one);
    LLVMValueRef x = simt_splat(u, scalar_load(f, a, base));
    *ret_from = LLVMGetInsertBlock(u->b);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, each);
    return x;
}

/* How many rows that vectors come to the end of are worth a masked access each.  A scatter takes no longer than a few stores. */
static int rows_worth(struct simt_fn *f, const struct access *a, const struct simt_likely *likely)
{
    if (LLVMIsAStoreInst(a->inst) && fast_lanes(f, a) && likely->more > 1)
        return 0;
    bool fast = f->u->options->small_masks && (a->size >= 4 || f->u->lanes * (int)a->size >= 16);
    return fast && likely->more && simt_step(f->u, PTX_PASS_ROW_ENDS) ? likely->more : 0;
}

/* Lanes that are in several rows: an access for each, of the lanes that are in it. */
struct rows {
    struct simt_row row;
    LLVMValueRef rest, in;        /* masks: lanes that no row has had, and of those the ones in `row` */
    LLVMBasicBlockRef each, done; /* where each lane has its own access; where all have been */
    int left;                     /* rows that may follow */
};

static void branch_unless(struct simt_fn *f, LLVMValueRef cond, LLVMBasicBlockRef otherwise)
{
    LLVMBasicBlockRef next = simt_new_block(f, "rows");
    LLVMBuildCondBr(f->u->b, cond, next, otherwise);
    LLVMPositionBuilderAtEnd(f->u->b, next);
}

static LLVMValueRef count_lanes(struct simt *u, LLVMValueRef mask)
{
    LLVMValueRef bits = simt_bits(u, mask);
    return simt_intrinsic(u, "llvm.ctpop", &u->i32, 1, &bits, 1);
}

/* Goes to where each lane has its own access unless the row may be accessed. */
static void row_begin(struct simt_fn *f, struct rows *r)
{
    if (r->row.ok)
        branch_unless(f, r->row.ok, r->each);
    r->in = LLVMBuildAnd(f->u->b, r->row.lanes, r->rest, "");
    r->rest = LLVMBuildAnd(f->u->b, r->rest, LLVMBuildNot(f->u->b, r->row.lanes, ""), "");
}

static void rows_begin(struct simt_fn *f, const struct access *a, const struct simt_row *first, int more, LLVMBasicBlockRef done,
                       struct rows *ret)
{
    *ret = (struct rows){ .row = *first, .rest = simt_full(f->u, f->mask), .each = simt_new_block(f, "each"), .done = done,
                          .left = more };
    f->epoch++;
    row_begin(f, ret);
}

/* The next lane's row.  It is as long as those behind: if too many lanes would be left, each has its own access. */
static void rows_next(struct simt_fn *f, const struct access *a, struct rows *r)
{
    struct simt *u = f->u;
    r->left--;
    simt_ask_row_of(f, a->ptr, a->size, r->rest, &r->row);
    row_begin(f, r);
    LLVMValueRef room = LLVMBuildMul(u->b, count_lanes(u, r->in), simt_c32(u, r->left), "");
    branch_unless(f, LLVMBuildICmp(u->b, LLVMIntULE, count_lanes(u, r->rest), room, ""), r->each);
}

/* Goes to `done` when all lanes have been; false: they have. */
static bool rows_go_on(struct simt_fn *f, struct rows *r)
{
    struct simt *u = f->u;
    if (!r->left) {
        LLVMBuildBr(u->b, r->done);
        LLVMPositionBuilderAtEnd(u->b, r->each);
        return false;
    }
    LLVMBasicBlockRef on = simt_new_block(f, "rows");
    LLVMBuildCondBr(u->b, simt_any(u, r->rest), on, r->done);
    LLVMPositionBuilderAtEnd(u->b, on);
    return true;
}

/* Returns how many ways there are to `done`; the builder is left where each lane has its own access. */
static unsigned load_rows(struct simt_fn *f, const struct access *a, const struct simt_row *row, int more, LLVMBasicBlockRef done,
                          LLVMValueRef *ret_x, LLVMBasicBlockRef *ret_from)
{
    struct simt *u = f->u;
    struct rows r;
    int64_t off[SIMT_LANES];
    unsigned n = 0;
    row_offsets(u, a->size, off);
    rows_begin(f, a, row, more, done, &r);
    LLVMValueRef first = r.in, x = NULL;
    do {
        rows_next(f, a, &r);
        x = x ? x : run_load(f, a, row->base, off, u->lanes, first);
        x = LLVMBuildSelect(u->b, r.in, run_load(f, a, r.row.base, off, u->lanes, r.in), x, "");
        ret_x[n] = x;
        ret_from[n++] = LLVMGetInsertBlock(u->b);
    } while (rows_go_on(f, &r));
    return n;
}

/* Lanes that follow go behind those of the row: the last one's value stays where addresses meet. */
static void branch_unless_in_order(struct simt_fn *f, const struct rows *r)
{
    struct simt *u = f->u;
    LLVMValueRef rest = simt_bits(u, r->rest), before = LLVMBuildSub(u->b, rest, simt_c32(u, 1), "");
    LLVMValueRef below = LLVMBuildAnd(u->b, before, LLVMBuildNot(u->b, rest, ""), ""); /* all lanes, where there is no rest */
    LLVMValueRef behind = LLVMBuildAnd(u->b, simt_bits(u, r->in), LLVMBuildNot(u->b, below, ""), "");
    branch_unless(f, LLVMBuildICmp(u->b, LLVMIntEQ, behind, simt_c32(u, 0), ""), r->each);
}

static void store_rows(struct simt_fn *f, const struct access *a, const struct simt_row *row, int more, LLVMValueRef x,
                       LLVMBasicBlockRef done)
{
    struct rows r;
    rows_begin(f, a, row, more, done, &r);
    branch_unless_in_order(f, &r);
    for (LLVMValueRef first = r.in;; first = NULL) {
        rows_next(f, a, &r);
        branch_unless_in_order(f, &r);
        if (first)
            masked_store(f, a, row->base, first, x);
        masked_store(f, a, r.row.base, r.in, x);
        if (!rows_go_on(f, &r))
            break;
    }
}

bool simt_likely_load(struct simt_fn *f, LLVMValueRef inst)
{
    enum { WAYS = SIMT_MORE_ROWS + 3 };
    struct simt *u = f->u;
    struct access a = access_of(f, inst, LLVMGetOperand(inst, 0), LLVMTypeOf(inst));
    struct simt_likely likely;
    struct simt_row r;
    LLVMValueRef same = NULL, x[WAYS];
    LLVMValueRef row = likely_row(f, &a, &likely) ? simt_ask_row(f, a.ptr, a.size, &r, likely.scaled ? &same : NULL) : NULL;
    LLVMBasicBlockRef done, apart = row ? split_on_row(f, row, &done) : NULL, from[WAYS];
    int64_t off[SIMT_LANES];
    unsigned n = 0;
    if (!row)
        return false;
    row_offsets(u, a.size, off);
    x[n] = affine_load(f, &a, r.base, off);
    simt_prefetch_row(f, inst, r.base, (int64_t)a.size * u->lanes);
    from[n++] = LLVMGetInsertBlock(u->b);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, apart);
    if (same) {
        x[n] = load_same(f, &a, r.base, same, done, &from[n]);
        n++;
    }
    if (rows_worth(f, &a, &likely))
        n += load_rows(f, &a, &r, likely.more, done, &x[n], &from[n]);
    f->epoch++;
    x[n] = gather(f, &a, simt_addresses(f, a.ptr));
    from[n++] = LLVMGetInsertBlock(u->b);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, done);
    f->epoch++;
    LLVMValueRef phi = LLVMBuildPhi(u->b, LLVMTypeOf(x[0]), "");
    LLVMAddIncoming(phi, x, from, n);
    simt_set_vector(f, inst, phi);
    return true;
}

bool simt_likely_store(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMValueRef value = LLVMGetOperand(inst, 0), ptr = LLVMGetOperand(inst, 1);
    struct access a = access_of(f, inst, ptr, LLVMTypeOf(value));
    struct simt_likely likely;
    struct simt_row r;
    LLVMValueRef row = likely_row(f, &a, &likely) ? simt_ask_row(f, ptr, a.size, &r, NULL) : NULL;
    LLVMValueRef x = row ? simt_vector(f, value) : NULL;
    LLVMBasicBlockRef done, apart = row ? split_on_row(f, row, &done) : NULL;
    int64_t off[SIMT_LANES];
    if (!row)
        return false;
    row_offsets(u, a.size, off);
    affine_store(f, &a, r.base, off, x);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, apart);
    if (rows_worth(f, &a, &likely))
        store_rows(f, &a, &r, likely.more, x, done);
    f->epoch++;
    scatter(f, &a, simt_addresses(f, ptr), x);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, done);
    f->epoch++;
    return true;
}

bool simt_each_load(struct simt_fn *f, LLVMValueRef inst)
{
    simt_set_vector(f, inst, simt_gather(f, inst, LLVMTypeOf(inst), 0));
    return true;
}

bool simt_uniform_load(struct simt_fn *f, LLVMValueRef inst)
{
    LLVMValueRef ptr = LLVMGetOperand(inst, 0);
    struct access a = access_of(f, inst, ptr, LLVMTypeOf(inst));
    if (simt_varying(f, inst))
        return false;
    simt_set_scalar(f, inst, scalar_load(f, &a, simt_address(f, ptr)));
    return true;
}

static LLVMValueRef last_lane_value(struct simt_fn *f, LLVMValueRef v)
{
    if (simt_uniform(f, v))
        return simt_scalar(f, v);
    LLVMValueRef lane = simt_first_lane(f->u, f->mask, true);
    return LLVMBuildExtractElement(f->u->b, simt_vector(f, v), lane, "");
}

/* What a function that is a loop over its blocks keeps in memory is written in each of them: lanes that are elsewhere write what
 * was there, where parts of a masked store would be thousands of branches. */
bool simt_slot_store(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMValueRef value = LLVMGetOperand(inst, 0), slot = LLVMGetOperand(inst, 1);
    LLVMTypeRef t = LLVMTypeOf(value);
    LLVMTypeKind kind = LLVMGetTypeKind(t);
    bool plain = kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind ||
                 (kind == LLVMIntegerTypeKind &&
                  (simt_width(t) == 8 || simt_width(t) == 16 || simt_width(t) == 32 || simt_width(t) == 64));
    if (!f->dispatched || !f->mask || !plain || !LLVMIsAAllocaInst(slot) || LLVMGetAllocatedType(slot) != t ||
        !LLVMIsAConstantInt(LLVMGetOperand(slot, 0)))
        return false;
    LLVMValueRef area = simt_scalar(f, slot), x = simt_vector(f, value);
    LLVMValueRef old = LLVMBuildLoad2(u->b, LLVMTypeOf(x), area, "");
    unsigned align = (unsigned)LLVMABISizeOfType(u->in_layout, t);
    LLVMSetAlignment(old, align);
    LLVMSetAlignment(LLVMBuildStore(u->b, LLVMBuildSelect(u->b, f->mask, x, old, ""), area), align);
    return true;
}

bool simt_uniform_store(struct simt_fn *f, LLVMValueRef inst)
{
    LLVMValueRef value = LLVMGetOperand(inst, 0), ptr = LLVMGetOperand(inst, 1);
    struct access a = access_of(f, inst, ptr, LLVMTypeOf(value));
    if (!simt_uniform(f, ptr))
        return false;
    scalar_store(f, &a, last_lane_value(f, value), simt_address(f, ptr));
    return true;
}

bool simt_affine_store(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMValueRef value = LLVMGetOperand(inst, 0), ptr = LLVMGetOperand(inst, 1);
    const struct simt_val *p = simt_get(f, ptr);
    if (!p || p->kind != SIMT_AFFINE)
        return false;
    struct access a = access_of(f, inst, ptr, LLVMTypeOf(value));
    LLVMValueRef x = simt_vector(f, value), ok = simt_ok(f, ptr);
    if (!ok) {
        affine_store(f, &a, affine_base(f, ptr), p->off, x);
        return true;
    }
    LLVMBasicBlockRef cold, done = split_on_ok(f, ok, &cold);
    affine_store(f, &a, affine_base(f, ptr), p->off, x);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, cold);
    f->epoch++;
    a.rare = true;
    scatter(f, &a, simt_addresses(f, ptr), x);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, done);
    f->epoch++;
    return true;
}

bool simt_each_store(struct simt_fn *f, LLVMValueRef inst)
{
    LLVMValueRef value = LLVMGetOperand(inst, 0), ptr = LLVMGetOperand(inst, 1);
    struct access a = access_of(f, inst, ptr, LLVMTypeOf(value));
    LLVMValueRef x = simt_vector(f, value), ptrs = simt_addresses(f, ptr);
    simt_prefetch_column(f, inst, ptrs);
    scatter(f, &a, ptrs, x);
    return true;
}
