/* Copies that PTX lets run beside their thread: cp.async, cp.async.bulk, cp.reduce.async.bulk, st.async, red.async (PTX ISA
 * 9.7.9.25,
 * 9.7.13.7), st.bulk, and clusterlaunchcontrol.  Here each is done at once by the lane that asks for it, which every commit and
 * wait allows; those that complete on an mbarrier object take their bytes from its tx-count when they are done.
 *
 * Not here: copies through tensor maps, which ptx/module/form.c refuses.  A cluster has one block: .shared::cluster
 * addresses are .shared::cta ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/async.h"

/* ---- Loops over bytes */
struct bytes_loop {
    LLVMBasicBlockRef before, head, body, done;
    LLVMValueRef at; /* where this round's bytes begin: an integer of the bounds' type */
    LLVMValueRef step;
};

/* for (at = from; at + step <= to; at += step): the builder is in the body afterwards. */
static struct bytes_loop loop_begin(struct ptx_lower *l, LLVMValueRef from, LLVMValueRef to, uint32_t step)
{
    struct bytes_loop it = { .before = LLVMGetInsertBlock(l->builder),
                             .head = ptx_block_new(l, "copy"),
                             .body = ptx_block_new(l, ""),
                             .done = ptx_block_new(l, ""), .step = b_like(from, step) };
    ptx_block_enter(l, it.head);
    it.at = LLVMBuildPhi(l->builder, LLVMTypeOf(from), "");
    LLVMAddIncoming(it.at, &from, &it.before, 1);
    LLVMValueRef left = b_sub(l, to, it.at);
    LLVMBuildCondBr(l->builder, b_icmp(l, LLVMIntUGE, left, it.step), it.body, it.done);
    LLVMPositionBuilderAtEnd(l->builder, it.body);
    return it;
}

static void loop_end(struct ptx_lower *l, struct bytes_loop *it)
{
    LLVMValueRef next = b_add(l, it->at, it->step);
    LLVMBasicBlockRef end = LLVMGetInsertBlock(l->builder);
    LLVMBuildBr(l->builder, it->head);
    LLVMAddIncoming(it->at, &next, &end, 1);
    LLVMPositionBuilderAtEnd(l->builder, it->done);
}

static LLVMValueRef piece(struct ptx_lower *l, LLVMValueRef p, LLVMValueRef at)
{
    return LLVMGetPointerAddressSpace(LLVMTypeOf(p)) == AS_SHARED ? b_gep(l, p, at) : b_gep(l, p, b_zext(l, at, l->i64));
}

static LLVMValueRef load_piece(struct ptx_lower *l, LLVMTypeRef type, LLVMValueRef p, LLVMValueRef at, unsigned align)
{
    LLVMValueRef v = LLVMBuildLoad2(l->builder, type, piece(l, p, at), "");
    LLVMSetAlignment(v, align);
    return v;
}

static void store_piece(struct ptx_lower *l, LLVMValueRef v, LLVMValueRef p, LLVMValueRef at, unsigned align)
{
    LLVMSetAlignment(LLVMBuildStore(l->builder, v, piece(l, p, at)), align);
}

/* ---- cp.async */

static void copy_all(struct ptx_lower *l, LLVMValueRef to, LLVMValueRef from, unsigned n)
{
    store_piece(l, load_piece(l, ptx_int_type(l, 8 * n), from, b_i32(l, 0), n), to, b_i32(l, 0), n);
}

/* The first `limit` (i32) of `n` bytes, and zeros: what is beyond the limit must not be read. */
static void copy_part(struct ptx_lower *l, LLVMValueRef to, LLVMValueRef from, LLVMValueRef limit, unsigned n)
{
    LLVMBasicBlockRef all = ptx_block_new(l, "all"), part = ptx_block_new(l, "part"), done = ptx_block_new(l, "");
    LLVMBuildCondBr(l->builder, b_ult(l, limit, b_i32(l, n)), part, all);
    LLVMPositionBuilderAtEnd(l->builder, all);
    copy_all(l, to, from, n);
    LLVMBuildBr(l->builder, done);
    LLVMPositionBuilderAtEnd(l->builder, part);
    store_piece(l, b_int(ptx_int_type(l, 8 * n), 0), to, b_i32(l, 0), n);
    struct bytes_loop it = loop_begin(l, b_i32(l, 0), limit, 1);
    store_piece(l, load_piece(l, l->i8, from, it.at, 1), to, it.at, 1);
    loop_end(l, &it);
    LLVMBuildBr(l->builder, done);
    LLVMPositionBuilderAtEnd(l->builder, done);
}

/* cp.async [to], [from], n{, bytes to read, or a predicate that makes it none}{, cache policy} */
bool ptx_lower_cp_async(struct ptx_lower *l, const struct ptx_instr *in)
{
    uint64_t n = in->ops[2].kind == PTX_OP_INT ? in->ops[2].bits : 0;
    if (n != 16 && (ptx_has(in, PTX_MOD_CG) || (n != 4 && n != 8)))
        return ptx_lower_error(l, in->ops[2].loc,
                               ptx_has(in, PTX_MOD_CG) ? "the size must be 16" : "the size must be 4, 8 or 16");
    LLVMValueRef to = ptx_address(l, &in->ops[0], PTX_SPACE_SHARED), from = ptx_address(l, &in->ops[1], PTX_SPACE_GLOBAL);
    const struct ptx_operand *limit = in->n_ops > (ptx_has(in, PTX_MOD_L2__CACHE_HINT) ? 4 : 3) ? &in->ops[3] : NULL;
    if (!limit)
        copy_all(l, to, from, (unsigned)n);
    else if (in->form->shapes[3].kind == PTX_SHAPE_PRED_SRC)
        copy_part(l, to, from, b_select(l, ptx_src(l, limit, PTX_PRED), b_i32(l, 0), b_i32(l, (uint32_t)n)), (unsigned)n);
    else
        copy_part(l, to, from, ptx_src(l, limit, PTX_U32), (unsigned)n);
    return true;
}

/* Nothing is under way, in any group. */
bool ptx_lower_cp_async_done(struct ptx_lower *l, const struct ptx_instr *in)
{
    return true;
}

/* ---- cp.async.bulk.  Addresses and sizes are multiples of 16. */
enum { CHUNK = 16, UNROLLED = 4 };

static void copy_bulk(struct ptx_lower *l, LLVMValueRef to, LLVMValueRef from, LLVMValueRef size)
{
    LLVMTypeRef type = LLVMVectorType(l->i32, CHUNK / 4);
    LLVMValueRef v[UNROLLED];
    struct bytes_loop wide = loop_begin(l, b_i32(l, 0), size, UNROLLED * CHUNK);
    for (uint32_t i = 0; i < UNROLLED; i++)
        v[i] = load_piece(l, type, from, b_add(l, wide.at, b_i32(l, i * CHUNK)), CHUNK);
    for (uint32_t i = 0; i < UNROLLED; i++)
        store_piece(l, v[i], to, b_add(l, wide.at, b_i32(l, i * CHUNK)), CHUNK);
    loop_end(l, &wide);
    struct bytes_loop rest = loop_begin(l, wide.at, size, CHUNK);
    store_piece(l, load_piece(l, type, from, rest.at, CHUNK), to, rest.at, CHUNK);
    loop_end(l, &rest);
}

/* Byte i of each 16 where bit i of the mask is set. */
static void copy_masked(struct ptx_lower *l, LLVMValueRef to, LLVMValueRef from, LLVMValueRef size, LLVMValueRef mask)
{
    struct bytes_loop it = loop_begin(l, b_i32(l, 0), size, 1);
    LLVMValueRef bit = b_lshr(l, mask, b_and(l, it.at, b_i32(l, CHUNK - 1)));
    LLVMBasicBlockRef move = ptx_block_new(l, ""), skip = ptx_block_new(l, "");
    LLVMBuildCondBr(l->builder, b_trunc(l, bit, l->i1), move, skip);
    LLVMPositionBuilderAtEnd(l->builder, move);
    store_piece(l, load_piece(l, l->i8, from, it.at, 1), to, it.at, 1);
    LLVMBuildBr(l->builder, skip);
    LLVMPositionBuilderAtEnd(l->builder, skip);
    loop_end(l, &it);
}

/* [to], [from], size, [object]{, blocks of the cluster}{, cache policy}.  The one block has number 0. */
bool ptx_lower_bulk_in(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMBasicBlockRef done = NULL;
    if (ptx_has(in, PTX_MOD_MULTICAST__CLUSTER)) {
        LLVMBasicBlockRef here = ptx_block_new(l, "multicast");
        done = ptx_block_new(l, "");
        LLVMBuildCondBr(l->builder, b_trunc(l, ptx_src(l, &in->ops[4], PTX_B16), l->i1), here, done);
        LLVMPositionBuilderAtEnd(l->builder, here);
    }
    LLVMValueRef to = ptx_address(l, &in->ops[0], in->space), from = ptx_address(l, &in->ops[1], in->space2);
    LLVMValueRef size = ptx_src(l, &in->ops[2], PTX_U32), object = ptx_mbarrier_address(l, &in->ops[3], PTX_SPACE_SHARED);
    copy_bulk(l, to, from, size);
    ptx_mbarrier_complete_tx(l, object, size);
    if (done)
        ptx_block_enter(l, done);
    return true;
}

/* [to], [from], size{, cache policy}{, mask} */
bool ptx_lower_bulk_out(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef to = ptx_address(l, &in->ops[0], in->space), from = ptx_address(l, &in->ops[1], in->space2);
    LLVMValueRef size = ptx_src(l, &in->ops[2], PTX_U32);
    if (ptx_has(in, PTX_MOD_CP_MASK))
        copy_masked(l, to, from, size, b_zext(l, ptx_src(l, &in->ops[in->n_ops - 1], PTX_B16), l->i32));
    else
        copy_bulk(l, to, from, size);
    return true;
}

/* st.bulk: zeroes, in pieces of 8 bytes, of which the size is a multiple. */
bool ptx_lower_st_bulk(struct ptx_lower *l, const struct ptx_instr *in)
{
    if (in->ops[2].kind != PTX_OP_INT || in->ops[2].bits)
        return ptx_lower_error(l, in->ops[2].loc, "only 0 can be stored");
    LLVMValueRef p = ptx_address(l, &in->ops[0], in->space), size = ptx_src(l, &in->ops[1], PTX_B64);
    struct bytes_loop it = loop_begin(l, b_i64(l, 0), size, 8);
    store_piece(l, b_i64(l, 0), p, it.at, 8);
    loop_end(l, &it);
    return true;
}

/* ---- Reductions */

/* Relaxed; at the scope of the device, or of the block for shared memory. */
static struct ptx_atomic reduction_of(struct ptx_lower *l, const struct ptx_instr *in)
{
    unsigned scope = ptx_scope(l, in->space == PTX_SPACE_GLOBAL ? "agent" : "workgroup");
    return (struct ptx_atomic){ in, in->types[0], LLVMAtomicOrderingMonotonic, scope };
}

/* Halves go two at a time. */
static enum ptx_type reduced_at_once(enum ptx_type type)
{
    return type == PTX_F16 ? PTX_F16X2 : type == PTX_BF16 ? PTX_BF16X2 : type;
}

/* [to], [from], size{, [object]}{, cache policy} */
bool ptx_lower_bulk_reduce(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct ptx_atomic r = reduction_of(l, in);
    LLVMValueRef to = ptx_address(l, &in->ops[0], in->space), from = ptx_address(l, &in->ops[1], in->space2);
    LLVMValueRef size = ptx_src(l, &in->ops[2], PTX_U32);
    r.type = reduced_at_once(r.type);
    unsigned each = ptx_type_bits(r.type) / 8;
    struct bytes_loop it = loop_begin(l, b_i32(l, 0), size, each);
    LLVMValueRef v = load_piece(l, ptx_llvm_type(l, r.type), from, it.at, each);
    ptx_atomic_update(l, &r, piece(l, to, it.at), v);
    loop_end(l, &it);
    if (ptx_has(in, PTX_MOD_MBARRIER__COMPLETE_TX__BYTES))
        ptx_mbarrier_complete_tx(l, ptx_mbarrier_address(l, &in->ops[3], PTX_SPACE_SHARED), size);
    return true;
}

/* ---- One element: st.async, red.async.  [to], value, [object] */
bool ptx_lower_st_async(struct ptx_lower *l, const struct ptx_instr *in)
{
    const struct ptx_operand *items;
    enum ptx_type t = in->types[0];
    unsigned n = ptx_elements(&in->ops[1], &items), each = ptx_type_bits(t) / 8;
    if (n != in->vec || n * each > 16)
        return ptx_lower_unsupported(l, in, "a vector of this width");
    LLVMValueRef to = ptx_address(l, &in->ops[0], in->space);
    for (unsigned i = 0; i < n; i++)
        LLVMSetAlignment(LLVMBuildStore(l->builder, ptx_src(l, &items[i], t), b_gep(l, to, b_i32(l, i * each))), each);
    ptx_mbarrier_complete_tx(l, ptx_mbarrier_address(l, &in->ops[2], in->space), b_i32(l, n * each));
    return true;
}

bool ptx_lower_red_async(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct ptx_atomic r = reduction_of(l, in);
    ptx_atomic_update(l, &r, ptx_address(l, &in->ops[0], in->space), ptx_src(l, &in->ops[1], r.type));
    ptx_mbarrier_complete_tx(l, ptx_mbarrier_address(l, &in->ops[2], in->space), b_i32(l, ptx_type_bits(r.type) / 8));
    return true;
}

/* The forms of sm_100 with .release: after everything this lane has done, as others see it.  [to], value */
static unsigned release_scope(struct ptx_lower *l, const struct ptx_instr *in)
{
    return ptx_scope(l, ptx_has(in, PTX_MOD_GPU) ? "agent" : "");
}

bool ptx_lower_st_release(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    LLVMValueRef store = LLVMBuildStore(l->builder, ptx_src(l, &in->ops[1], t), ptx_address(l, &in->ops[0], in->space));
    LLVMSetAlignment(store, ptx_type_bits(t) / 8);
    LLVMSetOrdering(store, LLVMAtomicOrderingRelease);
    LLVMSetAtomicSyncScopeID(store, release_scope(l, in));
    LLVMSetVolatile(store, ptx_has(in, PTX_MOD_MMIO));
    return true;
}

bool ptx_lower_red_release(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct ptx_atomic r = { in, in->types[0], LLVMAtomicOrderingMonotonic, release_scope(l, in) };
    LLVMBuildFenceSyncScope(l->builder, LLVMAtomicOrderingRelease, r.scope, "");
    ptx_atomic_update(l, &r, ptx_address(l, &in->ops[0], in->space), ptx_src(l, &in->ops[1], r.type));
    return true;
}

/* ---- clusterlaunchcontrol.  No block is ever taken back from the launch: each request is answered with "no", which is all
 * zeros. */
bool ptx_lower_clc_cancel(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef to = ptx_address(l, &in->ops[0], in->space);
    LLVMSetAlignment(LLVMBuildStore(l->builder, LLVMConstNull(LLVMVectorType(l->i32, CHUNK / 4)), to), CHUNK);
    ptx_mbarrier_complete_tx(l, ptx_mbarrier_address(l, &in->ops[1], in->space), b_i32(l, CHUNK));
    return true;
}

/* What a request says of its block is undefined where the answer is "no". */
bool ptx_lower_clc_query(struct ptx_lower *l, const struct ptx_instr *in)
{
    if (ptx_has(in, PTX_MOD_IS_CANCELED)) {
        LLVMValueRef answer = ptx_src(l, &in->ops[1], PTX_B128);
        ptx_dst(l, &in->ops[0], PTX_PRED, b_trunc(l, answer, l->i1));
        return true;
    }
    const struct ptx_operand *items;
    unsigned n = ptx_elements(&in->ops[0], &items);
    for (unsigned i = 0; i < n; i++)
        ptx_dst(l, &items[i], PTX_B32, b_i32(l, 0));
    return true;
}
