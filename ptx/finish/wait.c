/* Lanes of one wave, or of one warp of the host's, that wait for each other.
 *
 * A wave has one program counter.  Where the two CUDA warps of a wave64 part and each comes to a barrier of its own, the machine
 * would run one to its barrier with the other still before its own, and count the wave twice.  And lanes that spin for what other
 * lanes of the wave have yet to do, a lock to be given back, spin for ever: those others wait for them to leave the loop.  So in
 * kernels where that can happen there are stops: a lane notes where it stands and goes to one block, the meeting, from where it
 * goes on when it can.
 *
 *   a barrier of the whole block when all lanes of the wave that are left stand at such barriers: the wave executes the
 *   machine's, once
 *   a counted barrier when all lanes of the warp that are left stand at it, the warp arrives; when it is complete, they go on
 *   a warp operation               when all lanes of its mask that are left stand at one of its kind with that
 *                                  mask
 *   the header of a loop           at once; of loops that spin, and of those with a stop inside: none has a second entry then
 *   the kernel's end               at once
 *
 * Stops are the barriers that the warps of a wave may reach apart, those without .aligned that the lanes of a warp may reach
 * apart, those that others do not reach any more but use memory before they end where that shows (ends.c), the loops that spin
 * (see is_spin), the warp operations that lanes of one mask may come to at different places (masks.c), and the barriers and warp
 * operations that come after these.  PTX has a whole warp execute the same barrier, but without .aligned at several places.
 * Kernels with nothing of the kind, nearly all, are left as they are.
 *
 * What an operation is given is kept, and it is executed in one block for all places of its kind (struct kind), from
 * where each lane goes on behind its own.  A program whose lanes wait for others at an operation while those wait for
 * them at a barrier is wrong, and hangs on NVIDIA's cards or does not; here an operation is executed with the lanes
 * that are there when nothing else can go on.
 *
 * On the host a warp is one vector, and it is the same with its lanes.  A block's warps take turns there: a lane that spins lets
 * the others run each time round, and any barrier is executed when all lanes that are left stand at one.  Waits for an mbarrier
 * object are taken for spins there only as those for global memory are, see release.h: nearly always whole warps wait for
 * others'. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/conditions.h"

#include "base/vec.h"
#include "lower/aggregates.h"
#include "lower/async.h"
#include "lower/copy.h"
#include "finish/masks.h"
#include "finish/release.h"
#include "finish/tangle.h"
#include "finish/target.h"
#include "finish/wait.h"
#include "finish/watchers.h"

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef BB;

/* What a lane stands at, above the number of its place: a barrier of the block's, or on the host any; a counted one, before and
 * after its warp has arrived.  And of which kind it is, if it does not only wait. */
enum {
    AT_WHOLE = 1 << 30, AT_COUNTED = 1 << 29, AT_COMING = 1 << 28, ARRIVES = 1 << 27, REDUCES = 1 << 26, AT_OPERATION = 1 << 25,
    PLACE = AT_OPERATION - 1
};

enum { OPERATION_ARGS = 4, OPERATION_RESULTS = 2 };

/* Operations of a warp that wait for each other's lanes: all calls of one function with a member mask; or one call. */
struct kind {
    enum ptx_simt id;
    bool alone;                     /* of one call */
    V args[OPERATION_ARGS], results[OPERATION_RESULTS]; /* allocas: what each lane gives, and gets */
    unsigned n_args, n_results;
    uint32_t place;                 /* of the block that executes it */
    V back;                         /* the switch that ends this */
};

struct meeting {
    const struct ptx_wait_card *card; /* NULL: the host */
    struct ptx_lower *b;
    V kernel;
    struct aw_buf *diags;
    struct flow *apart;         /* where lanes may have parted at all; made when it is asked for */
    AW_VEC(V) operations;       /* stops: calls of warp operations */
    AW_VEC(struct kind) kinds;  /* of these */
    AW_VEC(V) barriers;         /* of aw.barrier, and of others that lanes may reach apart */
    AW_VEC(BB) headers;         /* and heads of loops */
    V state, id, threads;       /* allocas: where this lane stands; the barrier that it stands at, and how many that is for */
    V generation;               /* alloca: the counted barrier's round before the warp arrived */
    V op, value;                /* allocas: of a reduction on the host; `value` is what goes in, then the result */
    V mask, behind;             /* allocas: of an operation, and the place behind it */
    V ready;                    /* alloca: whether the operation that it stands at, if any, can be executed */
    bool counted, arrives, reduces; /* there are stops at counted barriers on a card, and of these kinds */
    V left;                     /* lanes of this warp that have not ended, in the head */
    BB head, wait, latch;
    AW_VEC(BB) places;          /* where lanes go on; 0 is the kernel's beginning */
    uint32_t block[3];          /* on the host: its known shape, or 0 */
    bool pairs;                 /* a wave is two warps */
    bool *known, refused;       /* headers of loops that spin, as far as is known; a loop was none for what is not */
    bool spins;                 /* there are loops that spin */
    bool apart_by_mask;         /* there are operations that lanes of one mask come to at different places */
    bool sided_below;           /* a function that is called has operations where its lanes have parted */
    bool ok;                    /* memory sufficed */
};

/* ---- Which */

static LLVMValueRef function_of(LLVMModuleRef module, enum ptx_simt id)
{
    V fn = LLVMGetNamedFunction(module, ptx_simt_info(id)->name);
    return fn && LLVMGetFirstUse(fn) ? fn : NULL;
}

/* On the host these are operations of the whole warp, as those with a member mask are. */
static bool is_whole_operation(const struct meeting *m, V x)
{
    enum ptx_simt id = ptx_simt_called(x);
    return !m->card && (id == PTX_SIMT_BARRIER_ARRIVE || id == PTX_SIMT_BARRIER_REDUCE) && !ptx_flow_is_unaligned(x);
}

/* On a card a warp must not arrive more than once, by its lanes one after the other, either. */
static bool is_arrival(const struct meeting *m, V x)
{
    return m->card && ptx_simt_called(x) == PTX_SIMT_BARRIER_ARRIVE;
}

static bool is_operation(const struct meeting *m, V x)
{
    return ptx_flow_mask(x) || is_whole_operation(m, x);
}

/* How sure it is that a loop waits for other lanes: for those of its warp, too, if they could do anything meanwhile. */
enum watched { NOT_WATCHED, IF_RELEASED, WATCHED };

/* Reads what other lanes change: an exchange whose operands do not change (taking a lock, polling by adding 0; not a
 * compare-and-swap that retries with what it saw, which ends by itself), or an ordered load.  Loads of global memory, and of
 * mbarrier objects on the host, wait for other warps and blocks in nearly all programs, and those move. */
static enum watched watches(const struct meeting *m, const struct flow *f, const bool *body, V x)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(x);
    if (op == LLVMLoad && !m->card && ptx_mbarrier_is_look(x))
        return IF_RELEASED;
    if (op == LLVMLoad && ptx_flow_is_ordered(x) && ptx_conditions_space(LLVMGetOperand(x, 0), AS_SHARED))
        return WATCHED;
    if (op == LLVMLoad)
        return ptx_flow_is_ordered(x) ? IF_RELEASED : NOT_WATCHED;
    if (op != LLVMAtomicCmpXchg && (op != LLVMAtomicRMW || ptx_flow_counts(x)))
        return NOT_WATCHED;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        if (!ptx_conditions_invariant(f, body, LLVMGetOperand(x, i)))
            return NOT_WATCHED;
    return WATCHED;
}

/* What is known of the block's shape, as enum ptx_flow_of. */
static unsigned shape_of(const struct meeting *m)
{
    const uint32_t *shape = m->card ? m->card->block : m->block;
    unsigned row = shape[0] && shape[1] == 1 && shape[2] == 1 ? PTX_FLOW_ROW : 0;
    return row | (shape[0] && shape[0] % 32 == 0 ? PTX_FLOW_ROWS : 0);
}

static struct flow *apart(struct meeting *m)
{
    if (m->apart->blocks || ptx_flow_init(m->apart, m->kernel, PTX_FLOW_WAITS | shape_of(m) | (m->pairs ? 0 : PTX_FLOW_WARP)))
        return m->apart;
    ptx_flow_fini(m->apart);
    *m->apart = (struct flow){ 0 };
    return NULL;
}

/* Blocks of the kernel with operations that lanes of one mask come to at different places.  ret[]: by block, or NULL;
 * m->apart_by_mask: there are some; m->sided_below: not known, before functions are inlined.  False: out of memory. */
static bool masks_find(struct meeting *m, bool *ret)
{
    bool ok = true;
    m->apart_by_mask = m->sided_below = false;
    if (!ptx_masks_any(m->b->module))
        return true;
    for (V fn = LLVMGetFirstFunction(m->b->module); ok && fn; fn = LLVMGetNextFunction(fn)) {
        bool kernel = fn == m->kernel, apart = false, sided = false;
        struct flow warp = { 0 };
        if (LLVMIsDeclaration(fn))
            continue;
        ok = ptx_flow_init(&warp, fn, PTX_FLOW_WAITS | PTX_FLOW_WARP | PTX_FLOW_STEP | shape_of(m) |
                                          (kernel ? 0 : PTX_FLOW_FUNCTION));
        bool *found = ok ? AW_NEW_ARRAY(&warp.arena, bool, warp.n) : NULL;
        ok = found && ptx_masks_apart(&warp, found, &apart, &sided);
        if (ok && kernel && ret)
            memcpy(ret, found, warp.n * sizeof *ret);
        m->apart_by_mask |= kernel && apart;
        m->sided_below |= !kernel && (apart || sided);
        ptx_flow_fini(&warp);
    }
    return ok;
}

static enum watched ends_by_watching(const struct meeting *m, const struct flow *f, const bool *body)
{
    struct conditions c;
    enum watched ret = NOT_WATCHED;
    ptx_conditions(f, body, PTX_CONDITIONS_BRANCHES, &c);
    for (unsigned i = 0; i < c.n && ret != WATCHED; i++) {
        enum watched w = watches(m, f, body, c.at[i]);
        ret = w > ret ? w : ret;
    }
    return ret;
}

/* Is one lane of its warp in the loop at a time, having parted from the others before? */
static bool in_one_lane(struct meeting *m, const bool *body)
{
    const struct flow *f = apart(m);
    bool alone = f != NULL;
    for (unsigned i = 0; alone && i < f->n; i++)
        alone = !body[i] || f->blocks[i].alone;
    return alone;
}

/* Warps that spin together, by operations in the loop, wait for others: for those of their wave at most. */
static bool is_spin(const struct flow *f, const bool *body, void *data)
{
    struct meeting *m = data;
    bool operations = false;
    for (unsigned i = 0; i < f->n; i++)
        for (V x = body[i] ? LLVMGetFirstInstruction(f->blocks[i].bb) : NULL; x; x = LLVMGetNextInstruction(x)) {
            bool operation = is_operation(m, x);
            if (ptx_flow_is_barrier(x) || is_whole_operation(m, x) || (operation && !m->pairs && ptx_flow_is_whole(x)))
                return false;
            operations |= operation;
        }
    enum watched w = ends_by_watching(m, f, body);
    bool sure = w == WATCHED && !operations && !in_one_lane(m, body);
    if (w == NOT_WATCHED || sure || !apart(m) || ptx_release_possible(m->apart, m->known, body))
        return w != NOT_WATCHED;
    m->refused = true;
    return false;
}

static bool has_stop(const struct flow *f, const bool *body, void *stops)
{
    for (unsigned i = 0; i < f->n; i++)
        if (body[i] && ((const bool *)stops)[i])
            return true;
    return false;
}

/* Which blocks have stops: barriers, and operations. */
struct stops {
    bool *spins, *barriers, *operations, *any, *headers;
};

static bool stops_alloc(struct flow *f, struct stops *s)
{
    bool **all[] = { &s->spins, &s->barriers, &s->operations, &s->any, &s->headers };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!(*all[i] = AW_NEW_ARRAY(&f->arena, bool, f->n)))
            return false;
    return true;
}

static bool has_unaligned(BB bb)
{
    for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
        if (ptx_flow_is_unaligned(x))
            return true;
    return false;
}

/* What spins, until no loop is known to for which another one matters that was no spin. */
static bool spins_find(struct meeting *m, struct flow *f, bool *spins)
{
    bool more = true, *found = AW_NEW_ARRAY(&f->arena, bool, f->n);
    m->known = spins;
    while (found && more) {
        m->refused = more = false;
        if (!ptx_flow_loops(f, is_spin, m, found))
            return false;
        for (unsigned i = 0; i < f->n; i++)
            more |= found[i] && !spins[i];
        memcpy(spins, found, f->n * sizeof *spins);
        more &= m->refused;
    }
    return found;
}

/* Barriers that some lanes come to while others leave for good, and use memory that shows it (flow.h) before they end: what those
 * read, and write, is before the barrier, which does not wait for lanes that have ended but for all others.  Without a stop they
 * would be put off, as code behind a loop is until the last lane has left it.  ret[]: by block; *ret_any: there are some.  False:
 * out of memory. */
static bool left_find(const struct meeting *m, bool *ret, bool *ret_any)
{
    unsigned of = m->pairs ? 0 : PTX_FLOW_WARP;
    struct flow all = { 0 }, others = { 0 };
    bool ok = ptx_flow_init(&all, m->kernel, of | PTX_FLOW_ENDS) && ptx_flow_init(&others, m->kernel, of);
    *ret_any = false;
    for (unsigned i = 0; ok && i < all.n; i++) {
        bool left = all.blocks[i].waits && all.blocks[i].parted && !others.blocks[i].parted;
        if (ret)
            ret[i] = left;
        *ret_any |= left;
    }
    ptx_flow_fini(&all);
    ptx_flow_fini(&others);
    return ok;
}

static bool stops_find(struct meeting *m, struct flow *f, struct stops *s)
{
    bool *after = AW_NEW_ARRAY(&f->arena, bool, f->n); /* a barrier reached apart, or a spin */
    bool *left = AW_NEW_ARRAY(&f->arena, bool, f->n), *masks = AW_NEW_ARRAY(&f->arena, bool, f->n), any;
    bool ok = after && left && masks && stops_alloc(f, s) && spins_find(m, f, s->spins) && left_find(m, left, &any) &&
              masks_find(m, masks);
    for (unsigned i = 0; ok && i < f->n; i++)
        if (s->spins[i] || masks[i])
            ok = ptx_flow_reach(f, i, s->operations);
    for (unsigned i = 0; ok && i < f->n; i++)
        s->operations[i] |= masks[i];
    for (unsigned i = 0; ok && i < f->n; i++) {
        s->barriers[i] = left[i] || (f->blocks[i].waits && f->blocks[i].parted && (m->pairs || has_unaligned(f->blocks[i].bb)));
        if (s->spins[i] || s->barriers[i] || masks[i])
            ok = ptx_flow_reach(f, i, after);
    }
    for (unsigned i = 0; ok && i < f->n; i++) {
        s->barriers[i] |= f->blocks[i].waits && after[i];
        bool operations = false;
        for (V x = s->operations[i] ? LLVMGetFirstInstruction(f->blocks[i].bb) : NULL; x; x = LLVMGetNextInstruction(x))
            operations |= is_operation(m, x) || is_arrival(m, x);
        s->operations[i] &= operations || f->blocks[i].waits;
        s->any[i] = s->barriers[i] || s->operations[i] || s->spins[i];
    }
    return ok && ptx_flow_loops(f, has_stop, s->any, s->headers);
}

/* ---- Cutting.  Values live in allocas between blocks, so that edges can be moved. */

/* Ends the block before `at`; what follows is a new block, a place. */
static void cut(struct meeting *m, V at)
{
    struct ptx_lower *b = m->b;
    BB before = LLVMGetInstructionParent(at), rest = ptx_block_new(b, "place");
    LLVMMoveBasicBlockAfter(rest, before);
    ptx_move_rest(b->builder, at, rest);
    LLVMPositionBuilderAtEnd(b->builder, before);
    LLVMBuildBr(b->builder, rest);
    m->ok = m->ok && aw_vec_push(&m->places, rest);
}

/* Puts the fields of a call's result right behind it, and returns what is behind these. */
static V behind(struct meeting *m, V call)
{
    V rest = LLVMGetNextInstruction(call);
    for (V x = rest, next; x; x = next) {
        next = LLVMGetNextInstruction(x);
        if (!LLVMIsAExtractValueInst(x) || LLVMGetOperand(x, 0) != call)
            continue;
        if (x == rest) {
            rest = next;
            continue;
        }
        ptx_move_before(m->b->builder, x, rest);
    }
    return rest;
}

/* The kernel's entry keeps its allocas; its code becomes place 0.  The others: one for each header, and behind each
 * operation and barrier, in this order: what is behind a header's cut may be cut again. */
static bool cut_all(struct meeting *m)
{
    V first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(m->kernel));
    while (LLVMIsAAllocaInst(first))
        first = LLVMGetNextInstruction(first);
    cut(m, first);
    for (size_t i = 0; i < m->headers.n; i++)
        cut(m, LLVMGetFirstInstruction(m->headers.at[i]));
    for (size_t i = 0; i < m->operations.n; i++)
        cut(m, behind(m, m->operations.at[i]));
    for (size_t i = 0; i < m->barriers.n; i++)
        cut(m, LLVMGetNextInstruction(m->barriers.at[i]));
    return m->ok;
}

/* ---- Stops */

static V load(struct meeting *m, V p)
{
    return LLVMBuildLoad2(m->b->builder, m->b->i32, p, "");
}

/* The builder's block ends: its lanes stand at a place. */
static void stand(struct meeting *m, uint32_t kind_and_place)
{
    struct ptx_lower *b = m->b;
    LLVMBuildStore(b->builder, b_i32(b, kind_and_place), m->state);
    LLVMBuildBr(b->builder, m->latch);
}

/* The builder's block ends at a barrier: which, is remembered. */
static void stop_at(struct meeting *m, V id, V threads, uint32_t what)
{
    LLVMBuildStore(m->b->builder, id, m->id);
    LLVMBuildStore(m->b->builder, threads, m->threads);
    stand(m, what);
}

/* On a card reductions have been expanded.  On the host the result will be where the value was. */
static uint32_t kind_of(struct meeting *m, V call)
{
    struct ptx_lower *b = m->b;
    enum ptx_simt id = ptx_simt_called(call);
    if (id == PTX_SIMT_BARRIER_ARRIVE) {
        m->arrives = true;
        return ARRIVES;
    }
    if (id != PTX_SIMT_BARRIER_REDUCE)
        return 0;
    m->reduces = true;
    LLVMBuildStore(b->builder, LLVMGetOperand(call, 2), m->op);
    LLVMBuildStore(b->builder, b_zext(b, LLVMGetOperand(call, 3), b->i32), m->value);
    return REDUCES;
}

static void stop_on_card(struct meeting *m, V id, V threads, uint32_t what)
{
    struct ptx_lower *b = m->b;
    V whole = m->card->barrier_is_whole(m->card->a, id, threads, b_simt(b, PTX_SIMT_NWARPID, NULL));
    if (what & ARRIVES)
        whole = b_bool(b, false);
    if (LLVMIsAConstantInt(whole) && LLVMConstIntGetZExtValue(whole)) {
        stand(m, AT_WHOLE | what);
        return;
    }
    m->counted = true;
    if (!LLVMIsAConstantInt(whole)) {
        BB all = ptx_block_new(b, "whole"), some = ptx_block_new(b, "counted");
        LLVMBuildCondBr(b->builder, whole, all, some);
        LLVMPositionBuilderAtEnd(b->builder, all);
        stand(m, AT_WHOLE | what);
        LLVMPositionBuilderAtEnd(b->builder, some);
    }
    stop_at(m, id, threads, AT_COMING | what);
}

/* What becomes of a reduction's result, that reg2mem stores it, becomes of the result as the meeting leaves it, at the builder's
 * place. */
static void result_move(struct meeting *m, V call)
{
    V result = load(m, m->value);
    LLVMReplaceAllUsesWith(call, result);
    for (V x = LLVMGetNextInstruction(call), next; !LLVMIsATerminatorInst(x); x = next) {
        next = LLVMGetNextInstruction(x);
        LLVMInstructionRemoveFromParent(x);
        ptx_insert(m->b->builder, x);
    }
}

/* The block is cut behind `call`. */
static void stop_at_barrier(struct meeting *m, V call, uint32_t place)
{
    struct ptx_lower *b = m->b;
    V id = LLVMGetOperand(call, 0), threads = LLVMGetOperand(call, 1);
    BB before = LLVMGetInstructionParent(call);
    LLVMPositionBuilderBefore(b->builder, call);
    uint32_t what = place | kind_of(m, call);
    LLVMPositionBuilderBefore(b->builder, LLVMGetFirstInstruction(m->places.at[place]));
    if (m->card)
        m->card->acquire(m->card->a);
    if (what & REDUCES)
        result_move(m, call);
    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(before));
    LLVMInstructionEraseFromParent(call);
    LLVMPositionBuilderAtEnd(b->builder, before);
    if (m->card)
        stop_on_card(m, id, threads, what);
    else
        stop_at(m, id, threads, AT_WHOLE | what);
}

/* The block ends where it was cut, and its lanes stand at what follows. */
static void stop_at_end(struct meeting *m, BB bb, uint32_t place)
{
    V end = LLVMGetBasicBlockTerminator(bb);
    LLVMPositionBuilderBefore(m->b->builder, end);
    stand(m, place);
    LLVMInstructionEraseFromParent(end);
}

/* The lanes of this warp that are here. */
static V active(struct meeting *m)
{
    return m->card ? m->card->active(m->card->a) : b_simt(m->b, PTX_SIMT_ACTIVEMASK, NULL);
}

/* ---- Operations */

static V variable(struct meeting *m, LLVMTypeRef type)
{
    LLVMPositionBuilderBefore(m->b->builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(m->kernel)));
    V p = LLVMBuildAlloca(m->b->builder, type, "");
    LLVMPositionBuilderBefore(m->b->builder, LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(m->kernel)));
    LLVMBuildStore(m->b->builder, LLVMConstNull(type), p);
    return p;
}

/* Has it no other places?  In lifted code those of all lanes that are not marked are of lanes that are together there. */
static bool is_alone(const struct meeting *m, V call)
{
    return is_whole_operation(m, call) || (ptx_flow_is_whole(call) && !ptx_flow_is_members(call));
}

/* The block that executes it, once for all lanes that come to it, and sends each to where it goes on. */
static bool kind_new(struct meeting *m, V call)
{
    struct ptx_lower *b = m->b;
    struct kind k = { .id = ptx_simt_called(call), .alone = is_alone(m, call), .n_args = LLVMGetNumArgOperands(call),
                      .place = (uint32_t)m->places.n };
    LLVMTypeRef type = LLVMTypeOf(call);
    bool several = LLVMGetTypeKind(type) == LLVMStructTypeKind;
    k.n_results = several ? LLVMCountStructElementTypes(type) : LLVMGetTypeKind(type) != LLVMVoidTypeKind;
    BB execute = ptx_block_new(b, "operation");
    for (unsigned i = 0; i < k.n_args; i++)
        k.args[i] = variable(m, LLVMTypeOf(LLVMGetOperand(call, i)));
    for (unsigned i = 0; i < k.n_results; i++)
        k.results[i] = variable(m, several ? LLVMStructGetTypeAtIndex(type, i) : type);
    V same = LLVMInstructionClone(call);
    LLVMPositionBuilderAtEnd(b->builder, execute);
    for (unsigned i = 0; i < k.n_args; i++)
        LLVMSetOperand(same, i, LLVMBuildLoad2(b->builder, LLVMTypeOf(LLVMGetOperand(call, i)), k.args[i], ""));
    ptx_insert(b->builder, same);
    for (unsigned i = 0; i < k.n_results; i++)
        LLVMBuildStore(b->builder, several ? b_field(b, same, i) : same, k.results[i]);
    k.back = LLVMBuildSwitch(b->builder, load(m, m->behind), m->wait, 1);
    return aw_vec_push(&m->places, execute) && aw_vec_push(&m->kinds, k);
}

static struct kind *kind_find(struct meeting *m, V call)
{
    for (size_t i = 0; i < m->kinds.n; i++)
        if (!m->kinds.at[i].alone && !is_alone(m, call) && m->kinds.at[i].id == ptx_simt_called(call))
            return &m->kinds.at[i];
    return kind_new(m, call) ? &m->kinds.at[m->kinds.n - 1] : NULL;
}

static V operation_mask(const struct meeting *m, V call)
{
    return is_whole_operation(m, call) ? b_i32(m->b, UINT32_MAX) : ptx_flow_mask(call);
}

/* Results that the meeting's block has left, at the builder's place: stored where reg2mem has those of the call stored, from
 * `call` to the end of its block.  False: something else is stored there. */
static bool results_take(struct meeting *m, const struct kind *k, V call)
{
    struct ptx_lower *b = m->b;
    V results[OPERATION_RESULTS] = { 0 }, whole = k->n_results > 1 ? LLVMGetPoison(LLVMTypeOf(call)) : NULL;
    for (unsigned i = 0; i < k->n_results; i++)
        results[i] = LLVMBuildLoad2(b->builder, LLVMGetAllocatedType(k->results[i]), k->results[i], "");
    for (unsigned i = 0; whole && i < k->n_results; i++)
        whole = LLVMBuildInsertValue(b->builder, whole, results[i], i, "");
    for (V x = LLVMGetNextInstruction(call); x; x = LLVMGetNextInstruction(x)) {
        V value = LLVMIsAStoreInst(x) ? LLVMGetOperand(x, 0) : NULL;
        if (!value)
            continue;
        bool field = LLVMIsAExtractValueInst(value) && LLVMGetOperand(value, 0) == call;
        if (!field && value != call)
            return false;
        V result = field ? results[LLVMGetIndices(value)[0]] : whole ? whole : results[0];
        LLVMBuildStore(b->builder, result, LLVMGetOperand(x, 1));
    }
    return true;
}

/* Lanes of the mask that are left but not here, as an i32 at the builder's place. */
static V missing(struct meeting *m, V mask, V here)
{
    return b_and(m->b, b_and(m->b, mask, m->left), b_not(m->b, here));
}

/* The block was cut behind `call`, which goes: lanes stand at its kind. */
static bool stop_at_operation(struct meeting *m, V call, uint32_t place)
{
    struct ptx_lower *b = m->b;
    struct kind *k = kind_find(m, call);
    BB before = LLVMGetInstructionParent(call), after = ptx_block_new(b, "behind");
    if (!k)
        return false;
    LLVMPositionBuilderAtEnd(b->builder, after);
    if (!results_take(m, k, call))
        return false;
    LLVMBuildBr(b->builder, m->places.at[place]);
    LLVMAddCase(k->back, b_i32(b, place), after);

    LLVMPositionBuilderBefore(b->builder, call);
    for (unsigned i = 0; i < k->n_args; i++)
        LLVMBuildStore(b->builder, LLVMGetOperand(call, i), k->args[i]);
    LLVMBuildStore(b->builder, operation_mask(m, call), m->mask);
    LLVMBuildStore(b->builder, b_i32(b, place), m->behind);
    for (V x = LLVMGetBasicBlockTerminator(before), next; x != call; x = next) { /* its results' stores, last first */
        next = LLVMGetPreviousInstruction(x);
        LLVMInstructionEraseFromParent(x);
    }
    LLVMInstructionEraseFromParent(call);
    LLVMPositionBuilderAtEnd(b->builder, before);
    stand(m, k->place | AT_OPERATION);
    return true;
}

/* ---- The meeting */

/* The lanes of the wave, or of the host's warp, that are here and for which `p` holds. */
static V here(struct meeting *m, V p)
{
    struct ptx_lower *b = m->b;
    if (!m->card)
        return b_simt(b, PTX_SIMT_BALLOT, (V[]){ b_i32(b, UINT32_MAX), p });
    return b_intrinsic(b, "llvm.amdgcn.ballot", m->card->wave64 ? &b->i64 : &b->i32, 1, &p, 1);
}

/* The loop has one edge back, through a block that nothing removes: with several, LLVM would make the lanes that wait a loop of
 * their own within it, which those that go on would wait for. */
static void latch_build(struct meeting *m)
{
    struct ptx_lower *b = m->b;
    LLVMPositionBuilderAtEnd(b->builder, m->latch);
    if (m->card)
        b_intrinsic(b, "llvm.amdgcn.wave.barrier", NULL, 0, NULL, 0);
    else
        b_simt(b, PTX_SIMT_WARPSYNC, (V[]){ b_i32(b, UINT32_MAX) }); /* nothing, but no pass knows */
    LLVMBuildBr(b->builder, m->head);
}

/* On a card: a warp all of which that is left has come to one counted barrier arrives there.  The builder goes on behind it. */
static void arrivals_build(struct meeting *m)
{
    const struct ptx_wait_card *card = m->card;
    struct ptx_lower *b = m->b;
    BB arrive = ptx_block_new(b, "arrive"), next = ptx_block_new(b, "arrived");
    V zero = b_i32(b, 0), state = load(m, m->state), id = load(m, m->id);
    V first = b_intrinsic(b, "llvm.cttz", &b->i32, 1, (V[]){ m->left, b_bool(b, false) }, 2);
    V one = b_field(b, b_simt(b, PTX_SIMT_SHFL_IDX, (V[]){ id, first, b_i32(b, 31), m->left }), 0);
    V come = b_and(b, b_ne(b, b_and(b, state, b_i32(b, AT_COMING)), zero), b_eq(b, id, one));
    LLVMBuildCondBr(b->builder, b_eq(b, b_simt(b, PTX_SIMT_BALLOT, (V[]){ m->left, come }), m->left), arrive, next);

    LLVMPositionBuilderAtEnd(b->builder, arrive);
    LLVMBuildStore(b->builder, card->barrier_generation(card->a, id), m->generation);
    card->barrier_arrive(card->a, id, load(m, m->threads), b_simt(b, PTX_SIMT_NWARPID, NULL));
    V place = b_and(b, state, b_i32(b, PLACE)), goes = b_ne(b, b_and(b, state, b_i32(b, ARRIVES)), zero);
    LLVMBuildStore(b->builder, b_select(b, goes, place, b_or(b, place, b_i32(b, AT_COUNTED))), m->state);
    LLVMBuildBr(b->builder, next);
    LLVMPositionBuilderAtEnd(b->builder, next);
}

/* On the host all lanes stand at barriers: the builder's block executes the one they stand at.  Of those that only arrive and
 * those that wait at it together, the warp does the latter. */
static void host_barrier_build(struct meeting *m, V state)
{
    struct ptx_lower *b = m->b;
    V id = load(m, m->id), threads = load(m, m->threads), zero = b_i32(b, 0);
    BB done = ptx_block_new(b, "");
    if (m->reduces) {
        BB reduce = ptx_block_new(b, "reduce"), other = ptx_block_new(b, "");
        V reduces = b_ne(b, b_and(b, state, b_i32(b, REDUCES)), zero);
        LLVMBuildCondBr(b->builder, b_ne(b, here(m, reduces), zero), reduce, other);
        LLVMPositionBuilderAtEnd(b->builder, reduce);
        V p = b_ne(b, load(m, m->value), zero);
        LLVMBuildStore(b->builder, b_simt(b, PTX_SIMT_BARRIER_REDUCE, (V[]){ id, threads, load(m, m->op), p }), m->value);
        LLVMBuildBr(b->builder, done);
        LLVMPositionBuilderAtEnd(b->builder, other);
    }
    if (m->arrives) {
        BB arrive = ptx_block_new(b, "arrive"), other = ptx_block_new(b, "");
        V waits = b_eq(b, b_and(b, state, b_i32(b, ARRIVES)), zero);
        LLVMBuildCondBr(b->builder, b_eq(b, here(m, waits), zero), arrive, other);
        LLVMPositionBuilderAtEnd(b->builder, arrive);
        b_simt(b, PTX_SIMT_BARRIER_ARRIVE, (V[]){ id, threads });
        LLVMBuildBr(b->builder, done);
        LLVMPositionBuilderAtEnd(b->builder, other);
    }
    b_simt(b, PTX_SIMT_BARRIER, (V[]){ id, threads });
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
}

/* Barriers: those of the whole block are executed when all lanes of the wave stand at them.  Returns where lanes go that need not
 * wait. */
static BB barriers_build(struct meeting *m, V state)
{
    const struct ptx_wait_card *card = m->card;
    struct ptx_lower *b = m->b;
    BB sync = ptx_block_new(b, "sync"), look = ptx_block_new(b, "look"), go = ptx_block_new(b, "go");
    V zero = b_i32(b, 0), whole = b_ne(b, b_and(b, state, b_i32(b, AT_WHOLE)), zero);
    LLVMBuildCondBr(b->builder, b_eq(b, here(m, whole), here(m, b_bool(b, true))), sync, look);

    LLVMPositionBuilderAtEnd(b->builder, sync);
    if (card)
        card->hardware_barrier(card->a);
    else
        host_barrier_build(m, state);
    LLVMBuildBr(b->builder, go);

    LLVMPositionBuilderAtEnd(b->builder, look);
    if (!m->counted) {
        LLVMBuildCondBr(b->builder, whole, m->wait, go);
        return go;
    }
    /* Of lanes that stand at none the word of a barrier is not looked at: it may be another block's by now. */
    BB counts = ptx_block_new(b, "counts"), other = ptx_block_new(b, "other");
    V waits = b_ne(b, b_and(b, state, b_i32(b, AT_WHOLE | AT_COMING)), zero);
    LLVMBuildCondBr(b->builder, b_ne(b, b_and(b, state, b_i32(b, AT_COUNTED)), zero), counts, other);
    LLVMPositionBuilderAtEnd(b->builder, other);
    LLVMBuildCondBr(b->builder, waits, m->wait, go);
    LLVMPositionBuilderAtEnd(b->builder, counts);
    if (card->ends)
        card->barrier_recheck(card->a, load(m, m->id), load(m, m->threads), b_simt(b, PTX_SIMT_NWARPID, NULL));
    V same = b_eq(b, card->barrier_generation(card->a, load(m, m->id)), load(m, m->generation));
    LLVMBuildCondBr(b->builder, same, m->wait, go);
    return go;
}

/* Which of the lanes that stand at operations go on: where all lanes of the mask that are left are at one of the kind
 * with that mask; and all where no lane of the warp could go on otherwise. */
static void operations_build(struct meeting *m, V state)
{
    struct ptx_lower *b = m->b;
    BB look = ptx_block_new(b, "members"), looked = ptx_block_new(b, "");
    V zero = b_i32(b, 0), at = b_ne(b, b_and(b, state, b_i32(b, AT_OPERATION)), zero);
    LLVMBuildStore(b->builder, b_i32(b, 1), m->ready);
    LLVMBuildCondBr(b->builder, at, look, looked);

    LLVMPositionBuilderAtEnd(b->builder, look);
    V mask = load(m, m->mask), kind = b_shl(b, b_zext(b, state, b->i64), b_i64(b, 32));
    V key = b_or(b, kind, b_zext(b, mask, b->i64));
    V same = b_simt(b, PTX_SIMT_MATCH_ANY_64, (V[]){ b_i32(b, UINT32_MAX), key });
    LLVMBuildStore(b->builder, b_zext(b, b_eq(b, missing(m, mask, same), zero), b->i32), m->ready);
    LLVMBuildBr(b->builder, looked);

    LLVMPositionBuilderAtEnd(b->builder, looked);
    V ready = load(m, m->ready), barrier = b_ne(b, b_and(b, state, b_i32(b, AT_WHOLE | AT_COMING)), zero);
    V waits = b_or(b, b_eq(b, ready, zero), barrier);
    V stuck = b_eq(b, b_simt(b, PTX_SIMT_BALLOT, (V[]){ b_i32(b, UINT32_MAX), waits }), m->left);
    LLVMBuildStore(b->builder, b_select(b, stuck, b_i32(b, 1), ready), m->ready);
}

static void head_build(struct meeting *m)
{
    struct ptx_lower *b = m->b;
    LLVMPositionBuilderAtEnd(b->builder, m->head);
    if (m->counted)
        arrivals_build(m);
    V state = load(m, m->state);
    if (m->operations.n)
        operations_build(m, state);
    BB go = m->card || m->barriers.n ? barriers_build(m, state) : LLVMGetInsertBlock(b->builder);
    if (m->operations.n) {
        BB ready = ptx_block_new(b, "ready");
        LLVMPositionBuilderAtEnd(b->builder, go);
        LLVMBuildCondBr(b->builder, b_ne(b, load(m, m->ready), b_i32(b, 0)), ready, m->wait);
        go = ready;
    }

    LLVMPositionBuilderAtEnd(b->builder, m->wait);
    if (m->card)
        b_intrinsic(b, "llvm.amdgcn.s.sleep", NULL, 0, (V[]){ b_i32(b, 1) }, 1);
    LLVMBuildBr(b->builder, m->latch);

    LLVMPositionBuilderAtEnd(b->builder, go);
    V place = b_and(b, state, b_i32(b, PLACE));
    V pick = LLVMBuildSwitch(b->builder, place, m->places.at[0], (unsigned)m->places.n);
    for (size_t i = 1; i < m->places.n; i++)
        if (i <= m->headers.n || i > m->headers.n + m->operations.n) /* to those behind operations lanes go from there */
            LLVMAddCase(pick, b_i32(b, (uint32_t)i), m->places.at[i]);
}

/* The kernel's ends become one, and a stop: what a lane does last is then within the loop, and not something for which it would
 * wait until the others have left the loop. */
static bool ends_gather(struct meeting *m)
{
    struct ptx_lower *b = m->b;
    BB end = ptx_block_new(b, "end");
    for (BB bb = LLVMGetFirstBasicBlock(m->kernel); bb != end; bb = LLVMGetNextBasicBlock(bb)) {
        V last = LLVMGetBasicBlockTerminator(bb);
        if (!last || !LLVMIsAReturnInst(last))
            continue;
        LLVMPositionBuilderBefore(b->builder, last);
        stand(m, (uint32_t)m->places.n);
        LLVMInstructionEraseFromParent(last);
    }
    LLVMPositionBuilderAtEnd(b->builder, end);
    LLVMBuildRetVoid(b->builder);
    return aw_vec_push(&m->places, end);
}

static bool rebuild(struct meeting *m)
{
    struct ptx_lower *b = m->b;
    BB entry = LLVMGetEntryBasicBlock(m->kernel);
    V *variables[] = { &m->state, &m->id, &m->threads, &m->generation, &m->op, &m->value, &m->mask, &m->behind,
                       &m->ready };
    m->head = ptx_block_new(b, "meeting");
    m->wait = ptx_block_new(b, "wait");
    m->latch = ptx_block_new(b, "");
    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(entry));
    LLVMPositionBuilderAtEnd(b->builder, entry);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        *variables[i] = LLVMBuildAlloca(b->builder, b->i32, "");
        LLVMBuildStore(b->builder, b_i32(b, 0), *variables[i]);
    }
    LLVMBuildBr(b->builder, m->head);
    LLVMPositionBuilderAtEnd(b->builder, m->head);
    m->left = active(m);
    uint32_t place = 1;
    for (size_t i = 0; i < m->headers.n; i++) {
        if (!m->card) {
            LLVMPositionBuilderBefore(b->builder, LLVMGetBasicBlockTerminator(m->headers.at[i]));
            b_simt(b, PTX_SIMT_NANOSLEEP, (V[]){ b_i32(b, 0) });
        }
        stop_at_end(m, m->headers.at[i], place++);
    }
    for (size_t i = 0; i < m->operations.n; i++)
        if (!stop_at_operation(m, m->operations.at[i], place++))
            return false;
    for (size_t i = 0; i < m->barriers.n; i++)
        stop_at_barrier(m, m->barriers.at[i], place++);
    if (!ends_gather(m))
        return false;
    latch_build(m);
    head_build(m);
    return true;
}

/* Cutting makes values of one block values of two. */
static int transform(struct meeting *m)
{
    LLVMModuleRef module = m->b->module;
    m->b->fn = m->kernel;
    if (m->operations.n && !ptx_aggregates_split(m->b->builder, m->kernel))
        return AW_ERR_OUT_OF_MEMORY;
    /* What is tangled has its registers in memory from here on. */
    bool tangled = ptx_tangle_is(m->kernel);
    int status = tangled ? ptx_tangle_demote(m->kernel) : AW_OK;
    ptx_tangle_hold(module, false);
    if (status == AW_OK)
        status = ptx_registers_to_memory(module, m->diags);
    if (status == AW_OK && !cut_all(m))
        status = AW_ERR_OUT_OF_MEMORY;
    if (status == AW_OK)
        status = ptx_registers_to_memory(module, m->diags);
    ptx_tangle_hold(module, true);
    if (status != AW_OK)
        return status;
    return rebuild(m) ? ptx_passes_run(module, NULL, "function(sroa)", m->diags) : AW_ERR_OUT_OF_MEMORY;
}

/* ---- The plan, made while values are still values */

/* A reduction is barriers around atomics on a word in shared memory; the barriers are stops of their own. */
static void reduction_expand(struct meeting *m, V call)
{
    V p[4];
    for (unsigned i = 0; i < 4; i++)
        p[i] = LLVMGetOperand(call, i);
    LLVMPositionBuilderBefore(m->b->builder, call);
    LLVMReplaceAllUsesWith(call, m->card->barrier_reduce(m->card->a, p, NULL));
    LLVMInstructionEraseFromParent(call);
}

static bool block_list(struct meeting *m, BB bb, bool barriers, bool operations)
{
    bool ok = true;
    for (V x = LLVMGetFirstInstruction(bb), next; x && barriers; x = next) {
        next = LLVMGetNextInstruction(x);
        if (m->card && ptx_simt_called(x) == PTX_SIMT_BARRIER_REDUCE)
            reduction_expand(m, x);
    }
    for (V x = LLVMGetFirstInstruction(bb); ok && x; x = LLVMGetNextInstruction(x)) {
        if ((barriers && (ptx_simt_called(x) == PTX_SIMT_BARRIER || ptx_flow_is_unaligned(x))) ||
            (operations && is_arrival(m, x)))
            ok = aw_vec_push(&m->barriers, x);
        if ((operations && is_operation(m, x)) || (barriers && is_whole_operation(m, x)))
            ok = ok && aw_vec_push(&m->operations, x);
    }
    return ok;
}

static bool plan(struct meeting *m)
{
    struct flow f, apart = { 0 };
    struct stops s;
    m->apart = &apart;
    bool ok = ptx_flow_init(&f, m->kernel, 0) && stops_find(m, &f, &s);
    for (unsigned i = 0; ok && i < f.n; i++) {
        m->spins |= s.spins[i];
        ok = block_list(m, f.blocks[i].bb, s.barriers[i], s.operations[i]);
        if (ok && s.headers[i])
            ok = aw_vec_push(&m->headers, f.blocks[i].bb);
    }
    ptx_flow_fini(&f);
    ptx_flow_fini(&apart);
    return ok;
}

/* ---- Functions */

/* Lanes that have come apart by spinning come together for a warp operation only where the kernel has it itself. */
static int operations_inline(struct meeting *m)
{
    V operations[PTX_SIMT_COUNT];
    size_t n = 0;
    for (int id = 0; id < PTX_SIMT_COUNT; id++)
        if (id == PTX_SIMT_WARPSYNC ||
            (ptx_simt_info((enum ptx_simt)id)->traits == PTX_SIMT_CONVERGENT && id != PTX_SIMT_ACTIVEMASK))
            operations[n++] = function_of(m->b->module, (enum ptx_simt)id);
    return ptx_target_inline_callers(m->b->module, operations, n, m->diags);
}

static int meet(struct meeting *m)
{
    int status = plan(m) ? AW_OK : AW_ERR_OUT_OF_MEMORY;
    if (status == AW_OK && (m->spins || m->apart_by_mask || m->sided_below)) {
        m->operations.n = m->barriers.n = m->headers.n = 0;
        status = operations_inline(m);
        if (status == AW_OK && !plan(m))
            status = AW_ERR_OUT_OF_MEMORY;
    }
    if (status == AW_OK && m->barriers.n + m->operations.n + m->headers.n) {
        if (m->card) /* a wave's lanes may come back from the meeting without the others */
            m->card->tiles_never(m->card->a);
        status = transform(m);
    }
    aw_vec_fini(&m->operations);
    aw_vec_fini(&m->kinds);
    aw_vec_fini(&m->barriers);
    aw_vec_fini(&m->headers);
    aw_vec_fini(&m->places);
    return status;
}

static int card_waits(const struct ptx_wait_card *card, struct ptx_lower *b, LLVMValueRef kernel, struct aw_buf *diags)
{
    struct meeting m = { .card = card, .b = b, .kernel = kernel, .diags = diags, .ok = true };
    m.pairs = card->wave64 && card->max_threads > 32;
    V barriers[] = { function_of(b->module, PTX_SIMT_BARRIER), function_of(b->module, PTX_SIMT_BARRIER_REDUCE),
                     function_of(b->module, PTX_SIMT_BARRIER_ARRIVE) };
    bool apart = m.pairs && (barriers[0] || barriers[1]);
    int status = card->max_threads == 1 ? AW_OK : ptx_watchers_inline(b->module, kernel, diags);
    bool left = false;
    if (status != AW_OK || card->max_threads == 1)
        return status;
    if (!apart && (barriers[0] || barriers[1]) && !left_find(&m, NULL, &left))
        return AW_ERR_OUT_OF_MEMORY;
    if (!apart && !left && !ptx_wait_possible(kernel) && !masks_find(&m, NULL))
        return AW_ERR_OUT_OF_MEMORY;
    if (!apart && !left && !m.apart_by_mask && !m.sided_below && !ptx_wait_possible(kernel))
        return status;
    status = ptx_target_inline_callers(b->module, barriers, 3, diags);
    return status == AW_OK ? meet(&m) : status;
}

int ptx_card_waits(const struct ptx_wait_card *card, struct ptx_lower *b, LLVMValueRef kernel, struct aw_buf *diags)
{
    int status = card_waits(card, b, kernel, diags);
    ptx_simt_keep(b->module, false);
    return status;
}

static int host_waits(LLVMModuleRef module, const char *kernel, const uint32_t *block, struct aw_buf *diags)
{
    struct ptx_lower b = { .context = LLVMGetModuleContext(module), .module = module };
    struct meeting m = { .b = &b, .kernel = LLVMGetNamedFunction(module, kernel), .diags = diags, .ok = true };
    if (!m.kernel || LLVMIsDeclaration(m.kernel))
        return AW_OK;
    memcpy(m.block, block, sizeof m.block);
    V barriers[] = { function_of(module, PTX_SIMT_BARRIER), function_of(module, PTX_SIMT_BARRIER_REDUCE),
                     function_of(module, PTX_SIMT_BARRIER_ARRIVE) };
    int status = ptx_watchers_inline(module, m.kernel, diags);
    bool left = false;
    if (status == AW_OK && (barriers[0] || barriers[1]) && !left_find(&m, NULL, &left))
        return AW_ERR_OUT_OF_MEMORY;
    if (status != AW_OK)
        return status;
    if (!left && !ptx_wait_possible(m.kernel) && !masks_find(&m, NULL))
        return AW_ERR_OUT_OF_MEMORY;
    if (!left && !m.apart_by_mask && !m.sided_below && !ptx_wait_possible(m.kernel))
        return status;
    status = ptx_target_inline_callers(module, barriers, 3, diags);
    if (status != AW_OK)
        return status;
    ptx_types_make(&b);
    b.builder = LLVMCreateBuilderInContext(b.context);
    status = meet(&m);
    LLVMDisposeBuilder(b.builder);
    return status;
}

int ptx_host_waits(LLVMModuleRef module, const char *kernel, const uint32_t *block, struct aw_buf *diags)
{
    int status = host_waits(module, kernel, block, diags);
    ptx_simt_keep(module, false);
    return status;
}
