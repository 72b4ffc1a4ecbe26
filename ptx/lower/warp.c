/* Between lanes and warps: barriers, shuffles, votes, matches, reductions (PTX ISA 9.7.9.5, .6, 9.7.13). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

/* ---- Block barriers */

/* Constants are seen through; what registers hold is the finishers' to bound. */
static bool check_barrier(struct ptx_lower *l, const struct ptx_operand *id, const struct ptx_operand *threads)
{
    if (id->kind == PTX_OP_INT && id->bits > 15)
        return ptx_lower_error(l, id->loc, "there are barriers 0 to 15");
    if (threads && threads->kind == PTX_OP_INT && (threads->bits % 32 || !threads->bits || threads->bits > 1024))
        return ptx_lower_error(l, threads->loc, "the number of threads must be a multiple of 32, at most 1024");
    return true;
}

/* Without .aligned each lane waits by itself for the others of its warp. */
static void mark_unaligned(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef call)
{
    if (aw_str_is(in->mnemonic, "barrier") && !ptx_has(in, PTX_MOD_ALIGNED))
        LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                 LLVMCreateStringAttribute(l->context, PTX_UNALIGNED, sizeof PTX_UNALIGNED - 1, "", 0));
}

bool ptx_lower_bar(struct ptx_lower *l, const struct ptx_instr *in)
{
    if (!check_barrier(l, &in->ops[0], in->n_ops > 1 ? &in->ops[1] : NULL))
        return false;
    LLVMValueRef args[2] = { ptx_src(l, &in->ops[0], PTX_U32),
                             in->n_ops > 1 ? ptx_src(l, &in->ops[1], PTX_U32) : b_i32(l, 0) };
    ptx_check_barrier(l, in, args[0], args[1]);
    LLVMValueRef call = b_simt(l, ptx_has(in, PTX_MOD_ARRIVE) ? PTX_SIMT_BARRIER_ARRIVE : PTX_SIMT_BARRIER, args);
    mark_unaligned(l, in, call);
    return true;
}

/* bar.red.op d, id{, threads}, p */
bool ptx_lower_bar_red(struct ptx_lower *l, const struct ptx_instr *in)
{
    unsigned last = in->n_ops - 1;
    if (!check_barrier(l, &in->ops[1], last > 2 ? &in->ops[2] : NULL))
        return false;
    uint32_t op = ptx_has(in, PTX_MOD_POPC) ? 0 : ptx_has(in, PTX_MOD_AND) ? 1 : 2;
    LLVMValueRef args[4] = { ptx_src(l, &in->ops[1], PTX_U32),
                             last > 2 ? ptx_src(l, &in->ops[2], PTX_U32) : b_i32(l, 0), b_i32(l, op),
                             ptx_src(l, &in->ops[last], PTX_PRED) };
    ptx_check_barrier(l, in, args[0], args[1]);
    LLVMValueRef r = b_simt(l, PTX_SIMT_BARRIER_REDUCE, args);
    mark_unaligned(l, in, r);
    if (op == 0)
        ptx_dst(l, &in->ops[0], PTX_U32, r);
    else
        ptx_dst(l, &in->ops[0], PTX_PRED, b_ne(l, r, b_i32(l, 0)));
    return true;
}

/* A cluster has one block.  Arriving publishes what the block is to see; the wait is the block's barrier.  It returns when all
 * threads that have not exited wait, where the manual asks only that they have arrived: no thread may do between the two what
 * another one needs before it waits. */
bool ptx_lower_cluster_arrive(struct ptx_lower *l, const struct ptx_instr *in)
{
    if (!ptx_has(in, PTX_MOD_RELAXED))
        LLVMBuildFenceSyncScope(l->builder, LLVMAtomicOrderingRelease, ptx_scope(l, "workgroup"), "");
    return true;
}

bool ptx_lower_cluster_wait(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef call = b_simt(l, PTX_SIMT_BARRIER, (LLVMValueRef[]){ b_i32(l, 0), b_i32(l, 0) });
    mark_unaligned(l, in, call);
    return true;
}

bool ptx_lower_warpsync(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef mask = ptx_src(l, &in->ops[0], PTX_B32);
    ptx_check_members(l, in, mask);
    b_simt(l, PTX_SIMT_WARPSYNC, &mask);
    return true;
}

/* ---- Warp operations.  The forms without .sync take the lanes that are here. */
static LLVMValueRef member_mask(struct ptx_lower *l, const struct ptx_instr *in)
{
    if (!ptx_has(in, PTX_MOD_SYNC))
        return b_simt(l, PTX_SIMT_ACTIVEMASK, NULL);
    LLVMValueRef mask = ptx_src(l, &in->ops[in->n_ops - 1], PTX_B32);
    ptx_check_members(l, in, mask);
    return mask;
}

/* Results that come as value and predicate, into d or d|p. */
static void write_pair(struct ptx_lower *l, const struct ptx_operand *d, enum ptx_type type, LLVMValueRef pair)
{
    ptx_dst_pair(l, d, type, b_field(l, pair, 0), b_field(l, pair, 1));
}

bool ptx_lower_shfl(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_simt id = ptx_has(in, PTX_MOD_UP) ? PTX_SIMT_SHFL_UP
                       : ptx_has(in, PTX_MOD_DOWN) ? PTX_SIMT_SHFL_DOWN
                       : ptx_has(in, PTX_MOD_BFLY) ? PTX_SIMT_SHFL_BFLY : PTX_SIMT_SHFL_IDX;
    LLVMValueRef args[4];
    for (unsigned i = 0; i < 3; i++)
        args[i] = ptx_src(l, &in->ops[1 + i], PTX_B32);
    args[3] = member_mask(l, in);
    write_pair(l, &in->ops[0], PTX_B32, b_simt(l, id, args));
    return true;
}

bool ptx_lower_vote(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef args[2] = { member_mask(l, in), ptx_src(l, &in->ops[1], PTX_PRED) };
    if (ptx_has(in, PTX_MOD_BALLOT)) {
        ptx_dst(l, &in->ops[0], PTX_B32, b_simt(l, PTX_SIMT_BALLOT, args));
        return true;
    }
    enum ptx_simt id = ptx_has(in, PTX_MOD_ANY) ? PTX_SIMT_VOTE_ANY
                       : ptx_has(in, PTX_MOD_ALL) ? PTX_SIMT_VOTE_ALL : PTX_SIMT_VOTE_UNI;
    ptx_dst(l, &in->ops[0], PTX_PRED, b_simt(l, id, args));
    return true;
}

bool ptx_lower_match(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type type = in->types[0];
    bool wide = ptx_type_bits(type) == 64, all = ptx_has(in, PTX_MOD_ALL);
    LLVMValueRef args[2] = { member_mask(l, in), ptx_src(l, &in->ops[1], type) };
    enum ptx_simt id = all ? wide ? PTX_SIMT_MATCH_ALL_64 : PTX_SIMT_MATCH_ALL_32
                           : wide ? PTX_SIMT_MATCH_ANY_64 : PTX_SIMT_MATCH_ANY_32;
    LLVMValueRef r = b_simt(l, id, args);
    if (all)
        write_pair(l, &in->ops[0], PTX_B32, r);
    else
        ptx_dst(l, &in->ops[0], PTX_B32, r);
    return true;
}

bool ptx_lower_activemask(struct ptx_lower *l, const struct ptx_instr *in)
{
    ptx_dst(l, &in->ops[0], PTX_B32, b_simt(l, PTX_SIMT_ACTIVEMASK, NULL));
    return true;
}

bool ptx_lower_redux(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type type = in->types[0];
    bool is_signed = ptx_is_signed(type);
    enum ptx_simt id = ptx_has(in, PTX_MOD_ADD) ? PTX_SIMT_REDUX_ADD
                       : ptx_has(in, PTX_MOD_MIN) ? is_signed ? PTX_SIMT_REDUX_MIN : PTX_SIMT_REDUX_UMIN
                       : ptx_has(in, PTX_MOD_MAX) ? is_signed ? PTX_SIMT_REDUX_MAX : PTX_SIMT_REDUX_UMAX
                       : ptx_has(in, PTX_MOD_AND) ? PTX_SIMT_REDUX_AND
                       : ptx_has(in, PTX_MOD_OR) ? PTX_SIMT_REDUX_OR : PTX_SIMT_REDUX_XOR;
    LLVMValueRef args[2] = { member_mask(l, in), ptx_src(l, &in->ops[1], type) };
    ptx_dst(l, &in->ops[0], type, b_simt(l, id, args));
    return true;
}

/* Floats as integers of the same order: the bits, with those below the sign turned over where it is set.  NaN becomes the number
 * at the end where it loses, or wins with .NaN; both ends are numbers that only NaN has. */
bool ptx_lower_redux_float(struct ptx_lower *l, const struct ptx_instr *in)
{
    bool max = ptx_has(in, PTX_MOD_MAX);
    LLVMValueRef v = ptx_src(l, &in->ops[1], PTX_F32), low = b_i32(l, 0x7fffffff), first = b_i32(l, 0x80000000u);
    LLVMValueRef bits = ptx_to_bits(l, v), lost = max == ptx_has(in, PTX_MOD_NAN_RESULT) ? low : first;
    if (ptx_has(in, PTX_MOD_ABS))
        bits = b_and(l, bits, low);
    LLVMValueRef key = b_xor(l, bits, b_and(l, b_ashr(l, bits, b_i32(l, 31)), low));
    key = b_select(l, ptx_is_nan(l, v), lost, key);
    LLVMValueRef args[2] = { member_mask(l, in), key };
    LLVMValueRef r = b_simt(l, max ? PTX_SIMT_REDUX_MAX : PTX_SIMT_REDUX_MIN, args);
    LLVMValueRef back = b_xor(l, r, b_and(l, b_ashr(l, r, b_i32(l, 31)), low));
    back = b_select(l, b_eq(l, r, first), low, back); /* NaN is canonical */
    ptx_dst(l, &in->ops[0], PTX_F32, b_bitcast(l, back, l->f32));
    return true;
}

bool ptx_lower_elect(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef r = b_simt(l, PTX_SIMT_ELECT, (LLVMValueRef[]){ member_mask(l, in) });
    write_pair(l, &in->ops[0], PTX_B32, r);
    return true;
}

bool ptx_lower_nanosleep(struct ptx_lower *l, const struct ptx_instr *in)
{
    b_simt(l, PTX_SIMT_NANOSLEEP, (LLVMValueRef[]){ ptx_src(l, &in->ops[0], PTX_U32) });
    return true;
}
