/* mbarrier objects (PTX ISA 9.7.13.16), and cp.async.mbarrier.arrive.  Copies that complete on one are in async.c.
 *
 * The 64 bits are opaque to programs, and ours are:
 *
 *     bits  0..19   arrivals that the current phase still waits for
 *     bits 20..39   arrivals that the next phases wait for
 *     bits 40..60   tx-count, signed: bytes that the current phase still waits for
 *     bit  63       parity of the current phase
 *
 * The token that an arrival returns is the object as it was before.  Every change is one compare-and-swap, so that arrivals which
 * complete a phase begin the next in the same step.  A cluster has one block: .cluster scope is that of the block, and an address
 * in .shared::cluster is one in .shared::cta. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/async.h"

enum { COUNT_BITS = 20, TX_SHIFT = 40, PHASE_BIT = 63 };
#define COUNT_MASK (((uint64_t)1 << COUNT_BITS) - 1)
#define TX_MASK ((((uint64_t)1 << 21) - 1) << TX_SHIFT)
#define PHASE ((uint64_t)1 << PHASE_BIT)

/* An object is in shared memory even where its address is generic. */
LLVMValueRef ptx_mbarrier_address(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_space space)
{
    LLVMValueRef p = ptx_address(l, op, space);
    return LLVMGetPointerAddressSpace(LLVMTypeOf(p)) == AS_SHARED ? p : b_spacecast(l, p, l->ptr[AS_SHARED]);
}

static LLVMValueRef read_object(struct ptx_lower *l, LLVMValueRef p, LLVMAtomicOrdering order)
{
    LLVMValueRef v = LLVMBuildLoad2(l->builder, l->i64, p, "");
    LLVMSetAlignment(v, 8);
    LLVMSetOrdering(v, order);
    LLVMSetAtomicSyncScopeID(v, ptx_scope(l, "workgroup"));
    return v;
}

/* What one operation does to an object.  NULL = zero. */
struct change {
    LLVMValueRef arrivals; /* i64, pending arrivals fewer */
    LLVMValueRef dropped;  /* i64, and fewer in later phases */
    LLVMValueRef bytes;    /* i64, added to the tx-count */
};

static LLVMValueRef field(struct ptx_lower *l, LLVMValueRef object, unsigned shift)
{
    LLVMValueRef v = shift ? b_lshr(l, object, b_i64(l, shift)) : object;
    return b_and(l, v, b_i64(l, COUNT_MASK));
}

/* Counts beyond what is pending are undefined; they must not reach the neighbouring field. */
static LLVMValueRef changed(struct ptx_lower *l, LLVMValueRef object, const struct change *c)
{
    LLVMValueRef next = object;
    if (c->arrivals)
        next = b_sub(l, next, b_umin(l, c->arrivals, field(l, object, 0)));
    if (c->dropped) {
        LLVMValueRef n = b_umin(l, c->dropped, field(l, object, COUNT_BITS));
        next = b_sub(l, next, b_shl(l, n, b_i64(l, COUNT_BITS)));
    }
    if (c->bytes) {
        LLVMValueRef sum = b_add(l, next, b_shl(l, c->bytes, b_i64(l, TX_SHIFT)));
        next = b_or(l, b_and(l, next, b_i64(l, ~TX_MASK)), b_and(l, sum, b_i64(l, TX_MASK)));
    }
    LLVMValueRef complete = b_eq(l, b_and(l, next, b_i64(l, COUNT_MASK | TX_MASK)), b_i64(l, 0));
    LLVMValueRef begun = b_or(l, b_xor(l, next, b_i64(l, PHASE)), field(l, next, COUNT_BITS));
    return b_select(l, complete, begun, next);
}

static LLVMValueRef swap_object(struct ptx_lower *l, LLVMValueRef p, LLVMValueRef old, LLVMValueRef next,
                                LLVMAtomicOrdering order)
{
    LLVMValueRef x = LLVMBuildAtomicCmpXchgSyncScope(l->builder, p, old, next, order, LLVMAtomicOrderingMonotonic,
                                                     ptx_scope(l, "workgroup"));
    LLVMSetAlignment(x, 8);
    return x;
}

/* Returns the object as it was. */
static LLVMValueRef change_object(struct ptx_lower *l, LLVMValueRef p, const struct change *c, LLVMAtomicOrdering order)
{
    LLVMValueRef first = read_object(l, p, LLVMAtomicOrderingMonotonic);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->builder), loop = ptx_block_new(l, "mbarrier"), done = ptx_block_new(l, "");
    ptx_block_enter(l, loop);
    LLVMValueRef old = LLVMBuildPhi(l->builder, l->i64, "");
    LLVMValueRef x = swap_object(l, p, old, changed(l, old, c), order), seen = b_field(l, x, 0);
    LLVMBuildCondBr(l->builder, b_field(l, x, 1), done, loop);
    LLVMAddIncoming(old, (LLVMValueRef[]){ first, seen }, (LLVMBasicBlockRef[]){ before, loop }, 2);
    LLVMPositionBuilderAtEnd(l->builder, done);
    return old;
}

/* ---- Many lanes that arrive at one object do so in one change, made by the first of them, which is as if they had come one
 * after another.  Where that would be more than the phase waits for, each makes its own. */
struct crowd {
    LLVMValueRef here, leader; /* i32: lanes, and the lowest of them */
    LLVMValueRef same;         /* i32: those at the leader's object */
    LLVMValueRef bit;          /* i32: this lane */
};

static LLVMValueRef from_leader(struct ptx_lower *l, const struct crowd *c, LLVMValueRef v)
{
    return b_field(l, b_simt(l, PTX_SIMT_SHFL_IDX, (LLVMValueRef[]){ v, c->leader, b_i32(l, 31), c->here }), 0);
}

static struct crowd crowd_find(struct ptx_lower *l, LLVMValueRef p)
{
    struct crowd c = { .here = b_simt(l, PTX_SIMT_ACTIVEMASK, NULL) };
    LLVMValueRef at = b_ptrtoint(l, p, l->i32), lane = b_simt(l, PTX_SIMT_LANEID, NULL);
    c.leader = b_intrinsic(l, "llvm.cttz", &l->i32, 1, (LLVMValueRef[]){ c.here, b_bool(l, false) }, 2);
    c.same = b_simt(l, PTX_SIMT_BALLOT, (LLVMValueRef[]){ c.here, b_eq(l, at, from_leader(l, &c, at)) });
    c.bit = b_shl(l, b_i32(l, 1), b_and(l, lane, b_i32(l, 31)));
    return c;
}

/* In the leader alone: makes the whole change where there is room for it.  *ret_done (i1) says whether; returns the object before
 * it. */
static LLVMValueRef change_at_once(struct ptx_lower *l, LLVMValueRef p, const struct crowd *c, uint64_t count,
                                   LLVMAtomicOrdering order, LLVMValueRef *ret_done)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->builder), lead = ptx_block_new(l, "lead"),
                      loop = ptx_block_new(l, "mbarrier");
    LLVMBasicBlockRef swap = ptx_block_new(l, ""), join = ptx_block_new(l, "");
    LLVMValueRef lane = b_intrinsic(l, "llvm.cttz", &l->i32, 1, (LLVMValueRef[]){ c->bit, b_bool(l, false) }, 2);
    LLVMValueRef total = b_mul(l, b_zext(l, b_unary(l, "llvm.ctpop", c->same), l->i64), b_i64(l, count));
    struct change all = { .arrivals = total };
    LLVMBuildCondBr(l->builder, b_eq(l, lane, c->leader), lead, join);
    LLVMPositionBuilderAtEnd(l->builder, lead);
    LLVMValueRef first = read_object(l, p, LLVMAtomicOrderingMonotonic);
    LLVMBuildBr(l->builder, loop);
    LLVMPositionBuilderAtEnd(l->builder, loop);
    LLVMValueRef old = LLVMBuildPhi(l->builder, l->i64, "");
    LLVMBuildCondBr(l->builder, b_icmp(l, LLVMIntUGE, field(l, old, 0), total), swap, join);
    LLVMPositionBuilderAtEnd(l->builder, swap);
    LLVMValueRef x = swap_object(l, p, old, changed(l, old, &all), order), seen = b_field(l, x, 0);
    LLVMBuildCondBr(l->builder, b_field(l, x, 1), join, loop);
    LLVMAddIncoming(old, (LLVMValueRef[]){ first, seen }, (LLVMBasicBlockRef[]){ lead, swap }, 2);
    LLVMPositionBuilderAtEnd(l->builder, join);
    LLVMValueRef was = LLVMBuildPhi(l->builder, l->i64, ""), no = b_bool(l, false);
    LLVMBasicBlockRef from[] = { before, loop, swap };
    LLVMAddIncoming(was, (LLVMValueRef[]){ b_i64(l, 0), old, old }, from, 3);
    *ret_done = LLVMBuildPhi(l->builder, l->i1, "");
    LLVMAddIncoming(*ret_done, (LLVMValueRef[]){ no, no, b_bool(l, true) }, from, 3);
    return was;
}

/* Each lane arrives `count` times.  Returns the object as each found it. */
static LLVMValueRef arrive_together(struct ptx_lower *l, LLVMValueRef p, uint64_t count, LLVMAtomicOrdering order)
{
    struct crowd c = crowd_find(l, p);
    struct change one = { .arrivals = b_i64(l, count) };
    LLVMValueRef led, was = change_at_once(l, p, &c, count, order, &led);
    LLVMValueRef done = b_ne(l, b_simt(l, PTX_SIMT_BALLOT, (LLVMValueRef[]){ c.here, led }), b_i32(l, 0));
    LLVMValueRef low = from_leader(l, &c, b_trunc(l, was, l->i32));
    LLVMValueRef high = from_leader(l, &c, b_trunc(l, b_lshr(l, was, b_i64(l, 32)), l->i32));
    was = b_or(l, b_zext(l, low, l->i64), b_shl(l, b_zext(l, high, l->i64), b_i64(l, 32)));
    LLVMValueRef before = b_unary(l, "llvm.ctpop", b_and(l, c.same, b_sub(l, c.bit, b_i32(l, 1))));
    LLVMValueRef token = b_sub(l, was, b_mul(l, b_zext(l, before, l->i64), b_i64(l, count)));
    LLVMValueRef with = b_and(l, done, b_ne(l, b_and(l, c.same, c.bit), b_i32(l, 0)));
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->builder), alone = ptx_block_new(l, "alone"), out = ptx_block_new(l, "");
    LLVMBuildCondBr(l->builder, with, out, alone);
    LLVMPositionBuilderAtEnd(l->builder, alone);
    LLVMValueRef own = change_object(l, p, &one, order);
    LLVMBasicBlockRef end = LLVMGetInsertBlock(l->builder);
    LLVMBuildBr(l->builder, out);
    LLVMPositionBuilderAtEnd(l->builder, out);
    LLVMValueRef r = LLVMBuildPhi(l->builder, l->i64, "");
    LLVMAddIncoming(r, (LLVMValueRef[]){ token, own }, (LLVMBasicBlockRef[]){ here, end }, 2);
    return r;
}

void ptx_mbarrier_complete_tx(struct ptx_lower *l, LLVMValueRef object, LLVMValueRef bytes)
{
    struct change c = { .bytes = b_neg(l, b_zext(l, bytes, l->i64)) };
    change_object(l, object, &c, LLVMAtomicOrderingRelease);
}

/* ---- Making and ending objects */
bool ptx_lower_mbarrier_init(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef n = b_and(l, b_zext(l, ptx_src(l, &in->ops[1], PTX_U32), l->i64), b_i64(l, COUNT_MASK));
    LLVMValueRef v = b_or(l, n, b_shl(l, n, b_i64(l, COUNT_BITS)));
    LLVMValueRef store = LLVMBuildStore(l->builder, v, ptx_mbarrier_address(l, &in->ops[0], in->space));
    LLVMSetAlignment(store, 8);
    LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(store, ptx_scope(l, "workgroup"));
    return true;
}

/* Afterwards the memory is only bytes. */
bool ptx_lower_mbarrier_inval(struct ptx_lower *l, const struct ptx_instr *in)
{
    ptx_mbarrier_address(l, &in->ops[0], in->space);
    return true;
}

/* ---- Arrivals and transactions */
static LLVMAtomicOrdering arrive_order(const struct ptx_instr *in)
{
    return ptx_has(in, PTX_MOD_RELAXED) ? LLVMAtomicOrderingMonotonic : LLVMAtomicOrderingRelease;
}

/* mbarrier.arrive{_drop}{.expect_tx}{.noComplete} d, [object]{, count or bytes} */
static bool arrive(struct ptx_lower *l, const struct ptx_instr *in, bool drop)
{
    LLVMValueRef operand = in->n_ops > 2 ? b_zext(l, ptx_src(l, &in->ops[2], PTX_U32), l->i64) : NULL;
    bool tx = ptx_has(in, PTX_MOD_EXPECT_TX);
    struct change c = { .arrivals = tx || !operand ? b_i64(l, 1) : operand, .bytes = tx ? operand : NULL };
    c.dropped = drop ? c.arrivals : NULL;
    LLVMValueRef p = ptx_mbarrier_address(l, &in->ops[1], in->space);
    bool together = !tx && !drop && LLVMIsAConstantInt(c.arrivals);
    LLVMValueRef token = together ? arrive_together(l, p, LLVMConstIntGetZExtValue(c.arrivals), arrive_order(in))
                                  : change_object(l, p, &c, arrive_order(in));
    ptx_dst(l, &in->ops[0], PTX_B64, token);
    return true;
}

bool ptx_lower_mbarrier_arrive(struct ptx_lower *l, const struct ptx_instr *in)
{
    return arrive(l, in, false);
}

bool ptx_lower_mbarrier_arrive_drop(struct ptx_lower *l, const struct ptx_instr *in)
{
    return arrive(l, in, true);
}

bool ptx_lower_mbarrier_tx(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef p = ptx_mbarrier_address(l, &in->ops[0], in->space);
    LLVMValueRef n = b_zext(l, ptx_src(l, &in->ops[1], PTX_U32), l->i64);
    struct change c = { .bytes = ptx_has(in, PTX_MOD_COMPLETE_TX) ? b_neg(l, n) : n };
    change_object(l, p, &c, LLVMAtomicOrderingMonotonic);
    return true;
}

/* This lane's copies are done.  Without .noinc the object expects one arrival more and gets it: nothing is left to do. */
bool ptx_lower_cp_async_arrive(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef p = ptx_mbarrier_address(l, &in->ops[0], in->space);
    if (ptx_has(in, PTX_MOD_NOINC))
        arrive_together(l, p, 1, LLVMAtomicOrderingRelease);
    return true;
}

bool ptx_lower_mbarrier_pending(struct ptx_lower *l, const struct ptx_instr *in)
{
    ptx_dst(l, &in->ops[0], PTX_U32, b_trunc(l, field(l, ptx_src(l, &in->ops[1], PTX_B64), 0), l->i32));
    return true;
}

/* ---- Waiting */
struct wait {
    LLVMValueRef object, phase; /* i1: the parity that has passed */
    LLVMAtomicOrdering order;
    bool token;                 /* the phase is a token's */
};

/* Metadata of the loads that a wait consists of; with an operand where the phase is a token's. */
static const char look[] = "aw.mbarrier.look";

bool ptx_mbarrier_is_look(LLVMValueRef load)
{
    return ptx_metadata(load, look) != NULL;
}

bool ptx_mbarrier_is_token_look(LLVMValueRef load)
{
    LLVMValueRef node = ptx_metadata(load, look);
    return node && LLVMGetMDNodeNumOperands(node) != 0;
}

static LLVMValueRef has_passed(struct ptx_lower *l, const struct wait *w)
{
    LLVMValueRef object = read_object(l, w->object, w->order);
    LLVMMetadataRef word = LLVMMDStringInContext2(l->context, "token", strlen("token"));
    ptx_metadata_set(object, look, &word, w->token);
    return b_xor(l, b_icmp(l, LLVMIntSLT, object, b_i64(l, 0)), w->phase);
}

static struct wait wait_of(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct wait w = { .order = ptx_has(in, PTX_MOD_RELAXED) ? LLVMAtomicOrderingMonotonic : LLVMAtomicOrderingAcquire };
    w.object = ptx_mbarrier_address(l, &in->ops[1], in->space);
    w.token = !ptx_has(in, PTX_MOD_PARITY);
    if (!w.token)
        w.phase = b_trunc(l, ptx_src(l, &in->ops[2], PTX_U32), l->i1);
    else
        w.phase = b_icmp(l, LLVMIntSLT, ptx_src(l, &in->ops[2], PTX_B64), b_i64(l, 0));
    return w;
}

bool ptx_lower_mbarrier_test_wait(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct wait w = wait_of(l, in);
    ptx_dst(l, &in->ops[0], PTX_PRED, has_passed(l, &w));
    return true;
}

enum { WAIT_NS = 100 }; /* how long a lane sleeps between two looks */

/* Looks, and where the phase has not passed lets others run and looks again: once, or until the time is over that the program
 * gave. */
bool ptx_lower_mbarrier_try_wait(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct wait w = wait_of(l, in);
    LLVMValueRef hint = in->n_ops > 3 ? b_zext(l, ptx_src(l, &in->ops[3], PTX_U32), l->i64) : NULL;
    LLVMValueRef first = has_passed(l, &w), start = hint ? b_simt(l, PTX_SIMT_GLOBALTIMER, NULL) : NULL;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->builder), wait = ptx_block_new(l, "wait"), done = ptx_block_new(l, "");
    LLVMBuildCondBr(l->builder, first, done, wait);
    LLVMPositionBuilderAtEnd(l->builder, wait);
    b_simt(l, PTX_SIMT_NANOSLEEP, (LLVMValueRef[]){ b_i32(l, WAIT_NS) });
    LLVMValueRef second = has_passed(l, &w);
    if (hint) {
        LLVMValueRef over = b_icmp(l, LLVMIntUGE, b_sub(l, b_simt(l, PTX_SIMT_GLOBALTIMER, NULL), start), hint);
        LLVMBuildCondBr(l->builder, b_or(l, second, over), done, wait);
    } else {
        LLVMBuildBr(l->builder, done);
    }
    LLVMPositionBuilderAtEnd(l->builder, done);
    LLVMValueRef passed = LLVMBuildPhi(l->builder, l->i1, "");
    LLVMAddIncoming(passed, (LLVMValueRef[]){ first, second }, (LLVMBasicBlockRef[]){ before, wait }, 2);
    ptx_dst(l, &in->ops[0], PTX_PRED, passed);
    return true;
}
