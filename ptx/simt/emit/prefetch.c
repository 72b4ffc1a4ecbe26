/* Asking for memory that is used soon, where the processor's own prefetchers, which stay in a page, do not follow.
 *
 * Grid-stride loops ask for what the next rounds read and write: their rounds are a grid apart.  Where warps take turns round by
 * round (march.c), memory is read in order, and warps ask on behalf of those that follow only if they go through more places at
 * once than prefetchers keep track of.
 *
 * Blocks whose warps are rows of one picture and which take turns ask for rows of those that follow where they are a stencil's,
 * on processors whose prefetchers lose track of them.
 *
 * What a block with barriers reads before the first of them, it asks for on the next block's behalf: what comes after a barrier
 * waits for all that comes before, and a processor that looks ahead does not get as far as the next block.
 *
 * Rows that are found at run time (likely_row.c), in a loop, ask for the next warp's.
 *
 * Lanes that write a column, a line each, ask for all of these before they write: stores wait for their lines one after the
 * other. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include <stdlib.h>

enum { MAX_DEPTH = 12, LINE = 64, MIN_BYTES = 4 };
enum { USUAL_BLOCK = 256 /* threads, where the shape is any */, LONG_ROUND = 32 /* instructions */, MOST_ROUNDS = 8,
       ROWS_OF_STENCIL = 4 };

/* How an address changes from round to round: by `scale` times `step`. */
struct advance {
    int loop;
    int64_t scale;
    LLVMValueRef step; /* the same for all lanes; NULL: none yet */
};

/* What is added to a phi of the loop's header in each round, the same in all; NULL: something else is done. */
static LLVMValueRef step_of(struct simt_fn *f, int loop, LLVMValueRef phi)
{
    bool header = LLVMGetInstructionParent(phi) == f->blocks[f->loops[loop].header].bb;
    LLVMValueRef step = header ? simt_loop_step(f, loop, phi) : NULL;
    return step && !simt_defined_in(f, loop, step) ? step : NULL;
}

/* Adds how `v` times `by` changes.  False: not so simply. */
static bool add_change(struct simt_fn *f, struct advance *a, LLVMValueRef v, int64_t by, int depth)
{
    int64_t c;
    if (!simt_defined_in(f, a->loop, v))
        return true;
    if (depth == MAX_DEPTH)
        return false;
    LLVMValueRef x = LLVMGetNumOperands(v) ? LLVMGetOperand(v, 0) : NULL;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMPHI: {
        LLVMValueRef step = step_of(f, a->loop, v);
        if (!step || (a->step && a->step != step))
            return false;
        a->step = step;
        a->scale += by;
        return true;
    }
    case LLVMIntToPtr: case LLVMPtrToInt: case LLVMSExt: case LLVMZExt:
        return add_change(f, a, x, by, depth + 1);
    case LLVMAdd:
        return add_change(f, a, x, by, depth + 1) && add_change(f, a, LLVMGetOperand(v, 1), by, depth + 1);
    case LLVMShl:
        return simt_int_const(LLVMGetOperand(v, 1), &c) && c >= 0 && c < 32 &&
               add_change(f, a, x, by * (INT64_C(1) << c), depth + 1);
    case LLVMGetElementPtr:
        c = (int64_t)LLVMABISizeOfType(f->u->in_layout, LLVMGetGEPSourceElementType(v));
        return LLVMGetNumOperands(v) == 2 && add_change(f, a, x, by, depth + 1) &&
               add_change(f, a, LLVMGetOperand(v, 1), by * c, depth + 1);
    default:
        return false;
    }
}

/* Is a row of global memory read or written, `apart` bytes from one to the next? */
static bool is_row(struct simt_fn *f, LLVMValueRef access, const struct simt_val *ptr, int64_t apart)
{
    uint64_t size = LLVMStoreSizeOfType(f->u->in_layout, simt_access_type(access));
    unsigned space = simt_space(LLVMTypeOf(simt_access_address(access)));
    if (space == SIMT_SPACE_SHARED || size < MIN_BYTES || !simt_access_plain(access, LLVMIsAStoreInst(access)) || !ptr ||
        ptr->kind != SIMT_AFFINE || !ptr->off)
        return false;
    for (int i = 1; i < f->u->lanes; i++)
        if (ptr->off[i] != ptr->off[0] + i * apart)
            return false;
    return true;
}

/* Into the first-level cache, data. */
static void ask(struct simt *u, LLVMValueRef at, int64_t bytes, bool write)
{
    for (int64_t i = 0; i < bytes; i += LINE) {
        LLVMValueRef args[4] = { simt_advance(u, at, i), simt_c32(u, write), simt_c32(u, 3), simt_c32(u, 1) };
        simt_intrinsic(u, "llvm.prefetch", &u->ptr, 1, args, 4);
    }
}

/* Is there no access before it in its block that is known to be to the same line, about? */
static bool is_first(struct simt_fn *f, LLVMValueRef access)
{
    int64_t at, before;
    LLVMValueRef root = simt_access_root(f, simt_access_address(access), &at);
    for (LLVMValueRef x = LLVMGetPreviousInstruction(access); x; x = LLVMGetPreviousInstruction(x))
        if ((LLVMIsALoadInst(x) || LLVMIsAStoreInst(x)) && simt_access_root(f, simt_access_address(x), &before) == root &&
            llabs(at - before) < LINE)
            return false;
    return true;
}

static bool is_stream(struct simt_fn *f, LLVMValueRef x)
{
    if (!LLVMIsALoadInst(x) && !LLVMIsAStoreInst(x))
        return false;
    int64_t size = (int64_t)LLVMStoreSizeOfType(f->u->in_layout, simt_access_type(x));
    return is_row(f, x, simt_get(f, simt_access_address(x)), size) && is_first(f, x);
}

/* Of a loop's round: what a block's warps read and write in rows, and what they do. */
struct round {
    int64_t bytes;
    int instructions;
    bool updates;   /* of lanes, one after the other */
};

static struct round round_of(struct simt_fn *f, int loop)
{
    const uint32_t *shape = f->u->options->block;
    int64_t threads = shape[1] ? (int64_t)shape[0] * shape[1] * shape[2] : USUAL_BLOCK;
    struct round r = { 0 };
    for (int b = 0; b < f->n_blocks; b++)
        for (LLVMValueRef x = simt_loop_has(f, loop, b) ? LLVMGetFirstInstruction(f->blocks[b].bb) : NULL; x;
             x = LLVMGetNextInstruction(x)) {
            r.instructions++;
            r.updates = r.updates || LLVMIsAAtomicRMWInst(x);
            if (is_stream(f, x))
                r.bytes += (int64_t)LLVMStoreSizeOfType(f->u->in_layout, simt_access_type(x)) * threads;
        }
    return r;
}

/* Rounds from the one at hand to the one whose memory is asked for.  Short ones that only load and add are over before memory has
 * answered: so many that enough bytes are on their way.  In long ones the next round is far enough, and those with updates,
 * which the processor does not look beyond, take two. */
static int rounds_ahead(struct simt_fn *f, int loop)
{
    if (f->ahead.rounds && f->ahead.loop == loop)
        return f->ahead.rounds;
    struct round r = round_of(f, loop);
    int64_t on_way = simt_threshold(f->u, PTX_THRESHOLD_PREFETCH_BYTES), n = r.bytes > 0 ? (on_way + r.bytes - 1) / r.bytes : 1;
    f->ahead.loop = loop;
    f->ahead.rounds = r.updates ? 2 : r.instructions > LONG_ROUND || n < 1 ? 1 : n > MOST_ROUNDS ? MOST_ROUNDS : (int)n;
    return f->ahead.rounds;
}

static bool ask_next_round(struct simt_fn *f, LLVMValueRef access, int loop)
{
    struct simt *u = f->u;
    LLVMValueRef ptr = simt_access_address(access);
    int64_t size = (int64_t)LLVMStoreSizeOfType(u->in_layout, simt_access_type(access));
    const struct simt_val *val = simt_get(f, ptr);
    struct advance a = { .loop = loop };
    if (loop < 0 || !is_row(f, access, val, size) || !simt_goes_by_blocks(f, loop) || !add_change(f, &a, ptr, 1, 0) || !a.step)
        return false;
    LLVMValueRef by = LLVMBuildIntCast2(u->b, simt_scalar(f, a.step), u->i64, 1, "");
    by = LLVMBuildMul(u->b, by, simt_c64(u, a.scale * rounds_ahead(f, loop)), "");
    ask(u, LLVMBuildGEP2(u->b, u->i8, val->s, &by, 1, "ahead"), size * u->lanes, LLVMIsAStoreInst(access));
    return true;
}

/* ---- The next warps in turn */

/* In how many places a block goes through memory in rows. */
static int64_t streams_of(struct simt_fn *f, int block)
{
    LLVMBasicBlockRef bb = f->blocks[block].bb;
    if (f->ahead.counted == bb)
        return f->ahead.streams;
    f->ahead.counted = bb;
    f->ahead.streams = 0;
    for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
        f->ahead.streams += is_stream(f, x);
    return f->ahead.streams;
}

/* Is the block of a loop that marches, and in more places than a processor follows by itself (a stencil of 7 points, unrolled by
 * four, has 17)?  Not with AVX-512, where that has not been measured. */
static bool many_streams(struct simt_fn *f, int block)
{
    return !f->u->options->small_masks && streams_of(f, block) >= (int64_t)simt_threshold(f->u, PTX_THRESHOLD_PREFETCH_PLACES) &&
           simt_loop_marches(f, f->blocks[block].loop);
}

/* Warps that follow each other have rows that do so, too: as many on, and not a round on, so that lines are still there when they
 * are wanted. */
static void ask_next_warps(struct simt_fn *f, LLVMValueRef access, int block)
{
    int warps = (int)simt_threshold(f->u, PTX_THRESHOLD_PREFETCH_WARPS);
    struct simt *u = f->u;
    if (block < 0 || f->blocks[block].loop < 0 || !many_streams(f, block) || !is_stream(f, access))
        return;
    int64_t row = (int64_t)LLVMStoreSizeOfType(u->in_layout, simt_access_type(access)) * u->lanes;
    ask(u, simt_advance(u, simt_get(f, simt_access_address(access))->s, warps * row), row, LLVMIsAStoreInst(access));
}

/* Rows that were found at run time, in a loop: where the next round's is, nobody knows before all of its index has been taken
 * apart, so that few of them are on their way at once.  The next warp's is behind this one, as a rule, and that warp comes when
 * this one has been through its rounds. */
void simt_prefetch_row(struct simt_fn *f, LLVMValueRef load, LLVMValueRef base, int64_t bytes)
{
    const uint32_t *shape = f->u->options->block;
    int b = simt_block_of(f, LLVMGetInstructionParent(load));
    bool many = !shape[1] || (int64_t)shape[0] * shape[1] * shape[2] > f->u->lanes;
    if (b >= 0 && f->blocks[b].loop >= 0 && many && simt_step(f->u, PTX_PASS_PREFETCH))
        ask(f->u, simt_advance(f->u, base, bytes), bytes, false);
}

/* ---- The next blocks in a row */

/* Blocks whose warps are rows take turns warp by warp, each a row on from the one before: what a later one reads, where straight
 * code goes through so many places that it is a stencil's. */
static bool ask_next_rows(struct simt_fn *f, LLVMValueRef access, int block)
{
    struct simt *u = f->u;
    if (!u->options->ask_rows || !simt_takes_block_rows(u) || block < 0 || f->blocks[block].loop >= 0 || !is_stream(f, access) ||
        streams_of(f, block) < ROWS_OF_STENCIL)
        return false;
    int64_t row = (int64_t)LLVMStoreSizeOfType(u->in_layout, simt_access_type(access)) * u->lanes;
    int64_t ahead = simt_threshold(u, PTX_THRESHOLD_PREFETCH_ROWS) * row;
    ask(u, simt_advance(u, simt_get(f, simt_access_address(access))->s, ahead), row, LLVMIsAStoreInst(access));
    return true;
}

/* ---- The next block */

static LLVMValueRef block_change(struct simt_fn *f, LLVMValueRef v, int depth);

static LLVMValueRef operand_change(struct simt_fn *f, LLVMValueRef v, unsigned i, int depth)
{
    return block_change(f, LLVMGetOperand(v, i), depth + 1);
}

/* `by` times a factor that is the same for all lanes and both blocks. */
static LLVMValueRef times(struct simt_fn *f, LLVMValueRef by, LLVMValueRef factor)
{
    struct simt *u = f->u;
    if (by == simt_c64(u, 0))
        return by;
    return simt_uniform(f, factor) ? LLVMBuildMul(u->b, by, LLVMBuildIntCast2(u->b, simt_scalar(f, factor), u->i64, 1, ""), "")
                                   : NULL;
}

static LLVMValueRef call_change(struct simt_fn *f, LLVMValueRef v, int depth)
{
    enum ptx_simt id = simt_call_id(f->u, v);
    if (id == PTX_SIMT_NONE) /* of this room, on an address */
        return LLVMGetNumArgOperands(v) == 1 ? operand_change(f, v, 0, depth) : NULL;
    return id == PTX_SIMT_CTAID_X ? simt_c64(f->u, 1) : ptx_simt_info(id)->traits == PTX_SIMT_PURE ? simt_c64(f->u, 0) : NULL;
}

/* Both blocks' loops have the same steps. */
static LLVMValueRef phi_change(struct simt_fn *f, LLVMValueRef phi, int depth)
{
    int b = simt_block_of(f, LLVMGetInstructionParent(phi)), loop = b < 0 ? -1 : f->blocks[b].loop;
    if (loop < 0 || f->loops[loop].header != b || f->loops[loop].preheader < 0)
        return NULL;
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        if (LLVMGetIncomingBlock(phi, i) == f->blocks[f->loops[loop].preheader].bb)
            return block_change(f, LLVMGetIncomingValue(phi, i), depth + 1);
    return NULL;
}

static LLVMValueRef sum_change(struct simt_fn *f, LLVMValueRef v, int depth)
{
    struct simt *u = f->u;
    LLVMValueRef c[2], none = simt_c64(u, 0);
    int64_t k;
    if (LLVMGetNumOperands(v) != 2 || !(c[0] = operand_change(f, v, 0, depth)) || !(c[1] = operand_change(f, v, 1, depth)))
        return NULL;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAdd: case LLVMOr:
        return LLVMBuildAdd(u->b, c[0], c[1], "");
    case LLVMSub:
        return LLVMBuildSub(u->b, c[0], c[1], "");
    case LLVMMul:
        return c[1] == none ? times(f, c[0], LLVMGetOperand(v, 1)) : c[0] == none ? times(f, c[1], LLVMGetOperand(v, 0)) : NULL;
    case LLVMShl:
        return simt_int_const(LLVMGetOperand(v, 1), &k) && k >= 0 && k < 32 ? LLVMBuildShl(u->b, c[0], simt_c64(u, k), "") : NULL;
    case LLVMGetElementPtr:
        k = (int64_t)LLVMABISizeOfType(u->in_layout, LLVMGetGEPSourceElementType(v));
        return LLVMBuildAdd(u->b, c[0], LLVMBuildMul(u->b, c[1], simt_c64(u, k), ""), "");
    default:
        return c[0] == none && c[1] == none ? none : NULL;
    }
}

/* How far `v` is from what it is in the next block of the grid's row, as an i64; NULL: that is not known. */
static LLVMValueRef block_change(struct simt_fn *f, LLVMValueRef v, int depth)
{
    if (!LLVMIsAInstruction(v))
        return simt_c64(f->u, 0);
    if (depth == MAX_DEPTH)
        return NULL;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMCall:
        return call_change(f, v, depth);
    case LLVMPHI:
        return phi_change(f, v, depth);
    case LLVMIntToPtr: case LLVMPtrToInt: case LLVMSExt: case LLVMZExt: case LLVMTrunc: case LLVMFreeze:
        return operand_change(f, v, 0, depth);
    case LLVMLoad: /* of an argument, as a rule */
        return simt_space(LLVMTypeOf(LLVMGetOperand(v, 0))) == SIMT_SPACE_CONST ? operand_change(f, v, 0, depth) : NULL;
    default:
        return sum_change(f, v, depth);
    }
}

static bool has_barrier(struct simt_fn *f, int block)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[block].bb); x; x = LLVMGetNextInstruction(x))
        if (simt_is_barrier(f->u, x))
            return true;
    return false;
}

/* Marks blocks with barriers and behind them; false: there are none. */
static bool mark_late(struct simt_fn *f)
{
    bool any = false, *late = f->ahead.late;
    for (int b = 0; b < f->n_blocks; b++)
        any |= late[b] = has_barrier(f, b);
    for (bool more = any; more;) {
        more = false;
        for (int b = 0; b < f->n_blocks; b++)
            for (int i = 0; !late[b] && i < f->blocks[b].n_preds; i++)
                more |= late[b] = late[f->blocks[b].preds[i]];
    }
    return any;
}

/* Does a block come there before any barrier? */
static bool early(struct simt_fn *f, int block)
{
    if (!f->ahead.late) {
        f->ahead.late = AW_NEW_ARRAY(&f->u->arena, bool, (size_t)f->n_blocks + 1);
        f->ahead.barriers = f->ahead.late && mark_late(f);
    }
    return f->ahead.barriers && block >= 0 && !f->ahead.late[block];
}

/* Has another load asked for about the same? */
static bool asked(struct simt_fn *f, LLVMValueRef ptr)
{
    int64_t at;
    LLVMValueRef root = simt_access_root(f, ptr, &at);
    int n = f->ahead.n;
    for (int i = 0; i < n; i++)
        if (f->ahead.root[i] == root && llabs(f->ahead.at[i] - at) < LINE)
            return true;
    if (n == (int)(sizeof f->ahead.at / sizeof *f->ahead.at))
        return true;
    f->ahead.root[n] = root;
    f->ahead.at[n] = at;
    f->ahead.n++;
    return false;
}

static void ask_next_block(struct simt_fn *f, LLVMValueRef load, int block)
{
    struct simt *u = f->u;
    LLVMValueRef ptr = LLVMGetOperand(load, 0);
    const struct simt_val *val = simt_get(f, ptr);
    int64_t apart = val && val->kind == SIMT_AFFINE && val->off ? val->off[1] - val->off[0] : 0;
    if (apart < MIN_BYTES || apart > LINE || !early(f, block) || !is_row(f, load, val, apart) || asked(f, ptr))
        return;
    LLVMValueRef by = block_change(f, ptr, 0);
    if (by && by != simt_c64(u, 0))
        ask(u, LLVMBuildGEP2(u->b, u->i8, val->s, &by, 1, "ahead"), apart * u->lanes, false);
}

/* ---- Columns */

/* How far lanes' values are from each other, as an i64, where that is a product of something the same for all and a constant,
 * which only is known when the code runs; NULL: they are anywhere. */
static LLVMValueRef lane_step(struct simt_fn *f, LLVMValueRef v, int depth)
{
    struct simt *u = f->u;
    int64_t k;
    if (!LLVMIsAInstruction(v) || depth == MAX_DEPTH)
        return NULL;
    LLVMValueRef x = LLVMGetNumOperands(v) ? LLVMGetOperand(v, 0) : NULL,
                 y = LLVMGetNumOperands(v) == 2 ? LLVMGetOperand(v, 1) : NULL;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMIntToPtr: case LLVMPtrToInt: case LLVMSExt: case LLVMZExt: case LLVMAddrSpaceCast:
        return lane_step(f, x, depth + 1);
    case LLVMAdd:
        return simt_uniform(f, x) ? lane_step(f, y, depth + 1) : simt_uniform(f, y) ? lane_step(f, x, depth + 1) : NULL;
    case LLVMShl:
        x = simt_int_const(y, &k) && k >= 0 && k < 32 ? lane_step(f, x, depth + 1) : NULL;
        return x ? LLVMBuildShl(u->b, x, simt_c64(u, k), "") : NULL;
    case LLVMGetElementPtr:
        k = (int64_t)LLVMABISizeOfType(f->u->in_layout, LLVMGetGEPSourceElementType(v));
        x = y && simt_uniform(f, x) ? lane_step(f, y, depth + 1) : NULL;
        return x ? LLVMBuildMul(u->b, x, simt_c64(u, k), "") : NULL;
    case LLVMMul: {
        LLVMValueRef by = simt_uniform(f, x) ? x : y, lanes = by == x ? y : x;
        const int64_t *off = simt_uniform(f, by) && !simt_varying(f, lanes) ? simt_offsets(f, lanes) : NULL;
        for (int i = 1; off && i < u->lanes; i++)
            off = off[i] - off[i - 1] == off[1] ? off : NULL;
        return off ? LLVMBuildMul(u->b, LLVMBuildIntCast2(u->b, simt_scalar(f, by), u->i64, 1, ""), simt_c64(u, off[1]), "")
                   : NULL;
    }
    default:
        return NULL;
    }
}

void simt_prefetch_column(struct simt_fn *f, LLVMValueRef store, LLVMValueRef ptrs)
{
    struct simt *u = f->u;
    LLVMValueRef ptr = simt_access_address(store);
    if (!simt_step(u, PTX_PASS_PREFETCH) || f->mask || simt_is_shared_ptr(LLVMTypeOf(ptr)) || !simt_access_plain(store, true))
        return;
    LLVMValueRef step = lane_step(f, ptr, 0), at = step ? LLVMBuildExtractElement(u->b, ptrs, simt_c32(u, 0), "") : NULL;
    for (int i = 0; step && i < u->lanes; i++) {
        ask(u, at, LINE, true);
        at = LLVMBuildGEP2(u->b, u->i8, at, &step, 1, "");
    }
}

void simt_prefetch_emit(struct simt_fn *f, LLVMValueRef access)
{
    int block = simt_block_of(f, LLVMGetInstructionParent(access));
    if (!simt_step(f->u, PTX_PASS_PREFETCH))
        return;
    if (simt_is_marching(f->u))
        ask_next_warps(f, access, block);
    else if (!ask_next_round(f, access, block < 0 ? -1 : f->blocks[block].loop) && !ask_next_rows(f, access, block) &&
             !LLVMIsAStoreInst(access))
        ask_next_block(f, access, block);
}
