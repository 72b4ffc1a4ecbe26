/* Warps that march through memory together: of a kernel whose loop takes every warp through the whole of an array in great
 * strides (grid- stride loops, columns of a volume), neighbouring warps and blocks run an iteration each in turn, so that memory
 * is read in order.
 *
 * A body that marches has two more parameters and says whether it goes on:
 *
 *   i1 body(..., frame, false) runs up to the loop, keeps what the loop needs in the frame; true: call again.  Or to the end:
 *   false
 *   i1 body(..., frame, true)    runs one iteration; true: call again.  Or with the last one everything after the loop: false
 *
 * Copies of the loop, for whole warps and for others (versions.c), have turns alike; the frame says in which of them a warp is.
 *
 * Threads may be interleaved so, as CUDA promises no order among warps.  Choosing, splitting the body, and the function that
 * gives the warps their turns; not the loops over blocks (entries.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include "simt/schedule/schedule.h"
#include "lower/copy.h"
#include <anywarp/hostabi.h>
#include <stdlib.h>
#include <string.h>

enum {
    FAR = 2048,              /* bytes: from here on a step is a stride */
    MAX_SLICE = 40,          /* instructions that lead to an address or are run again for each turn */
    MOST = 256,              /* warps, at most */
    MAX_POINTS = 4,          /* loops that are split at: copies of one for some masks and for all */
    MAX_LIVE = 64,           /* ... and so are those that keep more values in a frame: a dozen of such frames are more than the
                              * cache */
};

/* A frame begins with a warp's arguments (of 4 bytes) and the number of the point it goes on at; what is kept follows. */
enum { FRAME_ARGUMENTS = 8, FRAME_POINT = 4 * FRAME_ARGUMENTS, FRAME_HEAD = 64 };

/* How much is gained by splitting there: rather at a loop without masks, then at the one that does most. */
static int weight(struct simt_fn *f, int loop)
{
    int n = simt_loop_bytes(f, loop);
    return n && !f->blocks[f->loops[loop].header].mask ? n + (1 << 20) : n;
}

/* ---- Splitting the body, in the out module */

/* A loop that is split at. */
struct point {
    LLVMBasicBlockRef header, from[2]; /* where it is entered from, and its latch */
    LLVMBasicBlockRef save[2];         /* on these two ways: the end of a call */
    LLVMBasicBlockRef again;           /* where a turn begins */
    int loop;                          /* of the body's graph */
    bool *after;                       /* blocks that a turn may reach */
    int n_fields;
    uint32_t bytes;                    /* of the frame, so far */
    struct ptx_copy made;              /* what stands for values in `again` */
};

struct split {
    struct simt *u;
    struct simt_fn g;        /* the graph of the body */
    LLVMValueRef frame;
    LLVMBasicBlockRef start; /* the new entry */
    int n;
    struct point points[MAX_POINTS]; /* no turn of one reaches another's loop, so they have the frame in common */
};

static void mark_after(struct split *s, bool *after, int b)
{
    if (after[b])
        return;
    after[b] = true;
    for (int j = 0; j < s->g.blocks[b].n_succ; j++)
        mark_after(s, after, s->g.blocks[b].succ[j]);
}

static bool is_after(struct split *s, const struct point *p, LLVMBasicBlockRef bb)
{
    int b = simt_block_of(&s->g, bb);
    return b >= 0 && p->after[b];
}

/* Vectors of bits are kept as one integer. */
static LLVMTypeRef kept_type(struct simt *u, LLVMTypeRef t)
{
    bool bits = LLVMGetTypeKind(t) == LLVMVectorTypeKind && LLVMGetElementType(t) == u->i1;
    return bits ? LLVMIntTypeInContext(u->ctx, LLVMGetVectorSize(t)) : t == u->i1 ? u->i8 : t;
}

/* Where in the frame, so that no vector of a register lies across two lines; -1: there is no room. */
static int new_field(struct split *s, struct point *p, LLVMTypeRef t)
{
    uint32_t size = (uint32_t)LLVMABISizeOfType(LLVMGetModuleDataLayout(s->u->out), kept_type(s->u, t));
    uint32_t align = size > 32 ? 64 : size > 8 ? 32 : 8;
    if (p->n_fields == MAX_LIVE)
        return -1;
    uint32_t at = (p->bytes + align - 1) / align * align;
    p->n_fields++;
    p->bytes = at + size;
    return (int)at;
}

static void keep(struct split *s, int field, LLVMValueRef x)
{
    LLVMBuilderRef b = s->u->b;
    LLVMTypeRef t = LLVMTypeOf(x), kept = kept_type(s->u, t);
    if (t == s->u->i1)
        x = LLVMBuildZExt(b, x, kept, "");
    else if (kept != t)
        x = LLVMBuildBitCast(b, x, kept, "");
    LLVMSetAlignment(LLVMBuildStore(b, x, simt_advance(s->u, s->frame, field)), 8);
}

static LLVMValueRef fetch(struct split *s, int field, LLVMTypeRef t)
{
    LLVMBuilderRef b = s->u->b;
    LLVMTypeRef kept = kept_type(s->u, t);
    LLVMValueRef x = LLVMBuildLoad2(b, kept, simt_advance(s->u, s->frame, field), "");
    LLVMSetAlignment(x, 8);
    return t == s->u->i1 ? LLVMBuildTrunc(b, x, t, "") : kept != t ? LLVMBuildBitCast(b, x, t, "") : x;
}

/* Can the value be had again from the body's parameters alone? */
static bool cheap(struct split *s, struct point *p, LLVMValueRef v, int *left)
{
    if (!LLVMIsAInstruction(v))
        return true;
    if (aw_ptrmap_find(&p->made.of, v))
        return true;
    if (--*left < 0)
        return false;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMShl: case LLVMOr: case LLVMAnd: case LLVMXor:
    case LLVMSExt: case LLVMZExt: case LLVMTrunc: case LLVMGetElementPtr: case LLVMIntToPtr:
    case LLVMPtrToInt: case LLVMBitCast: case LLVMICmp: case LLVMSelect: case LLVMInsertElement:
    case LLVMShuffleVector:
        break;
    case LLVMLoad:
        if (!ptx_metadata(v, PTX_INVARIANT))
            return false;
        break;
    default:
        return false;
    }
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(v); i++)
        if (!cheap(s, p, LLVMGetOperand(v, i), left))
            return false;
    return true;
}

static bool no_instruction(const void *data, LLVMValueRef v)
{
    (void)data;
    return !LLVMIsAInstruction(v);
}

static LLVMValueRef again(struct split *s, struct point *p, LLVMValueRef v)
{
    p->made.b = s->u->b;
    LLVMValueRef c = ptx_copy_computation(&p->made, v, no_instruction, NULL);
    if (p->made.failed)
        simt_memory(s->u);
    return c;
}

/* Is the value, of a block that no turn reaches, used where one does? */
static bool used_after(struct split *s, const struct point *p, LLVMValueRef v)
{
    for (LLVMUseRef use = LLVMGetFirstUse(v); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsAPHINode(user)) {
            if (is_after(s, p, LLVMGetInstructionParent(user)))
                return true;
            continue;
        }
        for (unsigned i = 0; i < LLVMCountIncoming(user); i++)
            if (LLVMGetIncomingValue(user, i) == v && is_after(s, p, LLVMGetIncomingBlock(user, i)))
                return true;
    }
    return false;
}

/* A value that turns need from before: a variable, of which LLVM makes values again, and each point's field in the frame, or
 * -1. */
struct carried {
    LLVMValueRef v, variable;
    int field[MAX_POINTS];
};

/* In a loop uses read the frame, if it is there, so that what rare blocks need is not read in every turn. */
static LLVMValueRef read_carried(struct split *s, const struct carried *c, LLVMBasicBlockRef at)
{
    LLVMTypeRef t = LLVMTypeOf(c->v);
    int block = simt_block_of(&s->g, at);
    for (int i = 0; i < s->n; i++)
        if (c->field[i] >= 0 && simt_loop_has(&s->g, s->points[i].loop, block))
            return fetch(s, c->field[i], t);
    return LLVMBuildLoad2(s->u->b, t, c->variable, "");
}

static bool after_any(struct split *s, LLVMBasicBlockRef bb)
{
    for (int i = 0; i < s->n; i++)
        if (is_after(s, &s->points[i], bb))
            return true;
    return false;
}

static void replace_uses(struct split *s, const struct carried *c)
{
    LLVMBuilderRef b = s->u->b;
    for (LLVMUseRef use = LLVMGetFirstUse(c->v), next; use; use = next) {
        LLVMValueRef user = LLVMGetUser(use);
        bool changed = false;
        next = LLVMGetNextUse(use);
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(user); i++) {
            LLVMBasicBlockRef at = LLVMIsAPHINode(user) ? LLVMGetIncomingBlock(user, i) : LLVMGetInstructionParent(user);
            if (LLVMGetOperand(user, i) != c->v || !after_any(s, at))
                continue;
            LLVMPositionBuilderBefore(b, LLVMIsAPHINode(user) ? LLVMGetBasicBlockTerminator(at) : user);
            LLVMSetOperand(user, i, read_carried(s, c, at));
            changed = true;
        }
        if (changed)
            next = LLVMGetFirstUse(c->v); /* the list has changed */
    }
}

/* The value where a turn begins: computed again, or by way of the frame. */
static bool carry_to(struct split *s, struct point *p, struct carried *c, int *field)
{
    LLVMBuilderRef b = s->u->b;
    LLVMValueRef now;
    int left = MAX_SLICE;
    if (cheap(s, p, c->v, &left)) {
        LLVMPositionBuilderAtEnd(b, p->again);
        now = again(s, p, c->v);
    } else {
        *field = new_field(s, p, LLVMTypeOf(c->v));
        if (*field < 0)
            return false;
        LLVMPositionBuilderAtEnd(b, p->save[0]);
        keep(s, *field, c->v);
        LLVMPositionBuilderAtEnd(b, p->again);
        now = fetch(s, *field, LLVMTypeOf(c->v));
        if (!aw_ptrmap_put(&p->made.of, c->v, now))
            return simt_memory(s->u);
    }
    LLVMBuildStore(b, now, c->variable);
    return true;
}

/* One value that loops or what follows them may need from before. */
static bool carry(struct split *s, LLVMValueRef v)
{
    LLVMBuilderRef b = s->u->b;
    struct carried c = { .v = v };
    for (int i = 0; i < s->n; i++) {
        struct point *p = &s->points[i];
        c.field[i] = -1;
        if (!used_after(s, p, v))
            continue;
        LLVMPositionBuilderAtEnd(b, s->start);
        c.variable = c.variable ? c.variable : LLVMBuildAlloca(b, LLVMTypeOf(v), "");
        if (!carry_to(s, p, &c, &c.field[i]))
            return false;
    }
    if (!c.variable)
        return true;
    replace_uses(s, &c);
    LLVMPositionBuilderBefore(b, ptx_behind_phis(LLVMGetNextInstruction(v)));
    LLVMBuildStore(b, v, c.variable);
    return true;
}

static LLVMBasicBlockRef save_block(struct split *s, LLVMBasicBlockRef from, LLVMBasicBlockRef header)
{
    LLVMBasicBlockRef save = LLVMAppendBasicBlockInContext(s->u->ctx, s->g.src, "save");
    LLVMValueRef term = LLVMGetBasicBlockTerminator(from);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(term); i++)
        if (LLVMGetSuccessor(term, i) == header)
            LLVMSetSuccessor(term, i, save);
    return save;
}

/* Is `x` nothing but the phi, whichever way it came? */
static bool same(LLVMValueRef x, LLVMValueRef phi, int depth)
{
    if (x == phi || !LLVMIsAPHINode(x) || !depth)
        return x == phi;
    for (unsigned i = 0; i < LLVMCountIncoming(x); i++)
        if (!same(LLVMGetIncomingValue(x, i), phi, depth - 1))
            return false;
    return true;
}

/* Phis that no iteration changes need no field: distances of lanes, mostly. */
static void drop_constant_phis(LLVMBasicBlockRef header, LLVMBasicBlockRef from[2])
{
    for (LLVMValueRef phi = LLVMGetFirstInstruction(header), next; LLVMIsAPHINode(phi); phi = next) {
        LLVMValueRef x[2] = { NULL };
        next = LLVMGetNextInstruction(phi);
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
            for (int j = 0; j < 2; j++)
                if (LLVMGetIncomingBlock(phi, i) == from[j])
                    x[j] = LLVMGetIncomingValue(phi, i);
        if (x[0] && x[1] && same(x[1], phi, 4)) {
            LLVMReplaceAllUsesWith(phi, x[0]);
            LLVMInstructionEraseFromParent(phi);
        }
    }
}

/* The header's phis: a field each. */
static bool keep_phis(struct split *s, struct point *p)
{
    LLVMBuilderRef b = s->u->b;
    for (LLVMValueRef phi = LLVMGetFirstInstruction(p->header); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
        int field = new_field(s, p, LLVMTypeOf(phi));
        if (field < 0)
            return false;
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
            for (int j = 0; j < 2; j++)
                if (LLVMGetIncomingBlock(phi, i) == p->from[j]) {
                    LLVMPositionBuilderAtEnd(b, p->save[j]);
                    keep(s, field, LLVMGetIncomingValue(phi, i));
                }
        LLVMPositionBuilderAtEnd(b, p->again);
        if (!aw_ptrmap_put(&p->made.of, phi, fetch(s, field, LLVMTypeOf(phi))))
            return simt_memory(s->u);
    }
    for (LLVMValueRef phi = LLVMGetFirstInstruction(p->header), next; LLVMIsAPHINode(phi); phi = next) {
        next = LLVMGetNextInstruction(phi);
        LLVMReplaceAllUsesWith(phi, aw_ptrmap_remove(&p->made.of, phi));
        LLVMInstructionEraseFromParent(phi);
    }
    return true;
}

/* A loop of the vectorised body as one more point, unless turns of two points could reach the same loop. */
static bool add_point(struct split *s, const struct simt_fn *f, const struct simt_loop *loop)
{
    struct point *p = &s->points[s->n];
    *p = (struct point){ .header = f->blocks[loop->header].begin,
                         .from = { f->blocks[loop->preheader].end, f->blocks[loop->latch].end },
                         .bytes = FRAME_HEAD };
    int header = simt_block_of(&s->g, p->header);
    p->loop = header < 0 ? -1 : s->g.blocks[header].loop;
    p->after = calloc((size_t)s->g.n_blocks, sizeof *p->after);
    if (!p->after)
        return simt_memory(s->u);
    bool fits = p->loop >= 0;
    if (fits)
        mark_after(s, p->after, header);
    fits = fits && !p->after[0] && !is_after(s, p, p->from[0]) && is_after(s, p, p->from[1]);
    for (int i = 0; i < s->n; i++)
        fits = fits && !is_after(s, &s->points[i], p->header) && !is_after(s, p, s->points[i].header);
    if (!fits)
        free(p->after);
    s->n += fits;
    return true;
}

/* The best loop, and the best of those that are beside it: copies for other masks. */
static bool find_points(struct split *s, struct simt_fn *f)
{
    bool *tried = calloc((size_t)f->n_loops + 1, sizeof *tried);
    bool ok = tried != NULL;
    while (ok && s->n < MAX_POINTS) {
        int best = -1, most = 0;
        for (int l = 0; l < f->n_loops; l++) {
            int n = tried[l] ? 0 : weight(f, l);
            best = n > most ? l : best;
            most = n > most ? n : most;
        }
        if (best < 0)
            break;
        tried[best] = true;
        ok = add_point(s, f, &f->loops[best]);
        uint32_t bytes = (uint32_t)most & ((1 << 20) - 1);
        f->u->turn_bytes = bytes > f->u->turn_bytes ? bytes : f->u->turn_bytes;
    }
    free(tried);
    return ok || simt_memory(s->u);
}

/* Stack variables belong into the new entry. */
static void move_variables(struct split *s, LLVMBasicBlockRef entry)
{
    LLVMPositionBuilderAtEnd(s->u->b, s->start);
    for (LLVMValueRef x = LLVMGetFirstInstruction(entry), next; x; x = next) {
        next = LLVMGetNextInstruction(x);
        if (LLVMIsAAllocaInst(x)) {
            LLVMInstructionRemoveFromParent(x);
            ptx_insert(s->u->b, x);
        }
    }
}

static bool split_point(struct split *s, struct point *p)
{
    struct simt *u = s->u;
    p->again = LLVMAppendBasicBlockInContext(u->ctx, s->g.src, "again");
    for (int j = 0; j < 2; j++)
        p->save[j] = save_block(s, p->from[j], p->header);
    if (s->n > 1) {
        LLVMPositionBuilderAtEnd(u->b, p->save[0]);
        keep(s, FRAME_POINT, simt_c32(u, p - s->points));
    }
    drop_constant_phis(p->header, p->from);
    return keep_phis(s, p);
}

/* Ends the blocks that were made. */
static void connect(struct split *s, LLVMBasicBlockRef entry)
{
    struct simt *u = s->u;
    LLVMBuilderRef b = u->b;
    LLVMBasicBlockRef to = s->points[0].again;
    for (int i = 0; i < s->n; i++) {
        for (int j = 0; j < 2; j++) {
            LLVMPositionBuilderAtEnd(b, s->points[i].save[j]);
            LLVMBuildRet(b, LLVMConstInt(u->i1, 1, 0));
        }
        LLVMPositionBuilderAtEnd(b, s->points[i].again);
        LLVMBuildBr(b, s->points[i].header);
    }
    for (int i = 1; i < s->n; i++) {
        LLVMBasicBlockRef which = LLVMAppendBasicBlockInContext(u->ctx, s->g.src, "which");
        LLVMPositionBuilderAtEnd(b, which);
        LLVMValueRef here = LLVMBuildICmp(b, LLVMIntEQ, fetch(s, FRAME_POINT, u->i32), simt_c32(u, i), "");
        LLVMBuildCondBr(b, here, s->points[i].again, to);
        to = which;
    }
    LLVMPositionBuilderAtEnd(b, s->start);
    LLVMBuildCondBr(b, LLVMGetLastParam(s->g.src), to, entry);
}

static bool split(struct split *s)
{
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(s->g.src);
    s->start = LLVMInsertBasicBlockInContext(s->u->ctx, entry, "start");
    move_variables(s, entry);
    for (int i = 0; i < s->n; i++)
        if (!split_point(s, &s->points[i]))
            return false;
    for (int i = 0; i < s->g.n_blocks; i++)
        for (LLVMValueRef x = after_any(s, s->g.blocks[i].bb) ? NULL : LLVMGetFirstInstruction(s->g.blocks[i].bb), next; x;
             x = next) {
            next = LLVMGetNextInstruction(x);
            if (LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVoidTypeKind && !carry(s, x))
                return false;
        }
    connect(s, entry);
    return true;
}

bool simt_march_split(struct simt_fn *f)
{
    struct simt *u = f->u;
    struct split s = { .u = u, .g = { .u = u, .src = f->out }, .frame = LLVMGetParam(f->out, LLVMCountParams(f->out) - 2) };
    LLVMSetCurrentDebugLocation2(u->b, NULL);
    bool ok = simt_cfg_build(&s.g) && find_points(&s, f);
    if (ok && s.n) /* else every call ends with the last instruction */
        ok = split(&s);
    u->stats.again |= !ok;
    for (int i = 0; i < s.n; i++) {
        u->frame_bytes = s.points[i].bytes > u->frame_bytes ? s.points[i].bytes : u->frame_bytes;
        free(s.points[i].after);
        ptx_copy_fini(&s.points[i].made);
    }
    u->frame_bytes = ((u->frame_bytes ? u->frame_bytes : FRAME_HEAD) + 63) / 64 * 64;
    simt_cfg_fini(&s.g);
    return ok;
}

/* ---- Turns */

uint32_t simt_march_stride(const struct simt *u)
{
    return u->frame_bytes;
}

unsigned simt_march_most(const struct simt *u)
{
    /* What neighbours read again is near; of blocks of several rows, those at the edge of a round are read again by the next,
     * from afar. */
    enum ptx_threshold cache = !simt_takes_block_rows(u) ? PTX_THRESHOLD_MARCH_CACHE :
                               u->options->small_masks ? PTX_THRESHOLD_MARCH_ROWS_CACHE_512 : PTX_THRESHOLD_MARCH_ROWS_CACHE;
    unsigned n = (unsigned)simt_threshold(u, cache) / (simt_march_stride(u) + u->turn_bytes);
    return n < 8 ? 8 : n > MOST ? MOST : n;
}

/* The frame of warp `i`, and where its arguments are. */
static LLVMValueRef frame_of(struct simt *u, LLVMValueRef frames, LLVMValueRef i)
{
    LLVMValueRef at = LLVMBuildMul(u->b, LLVMBuildZExt(u->b, i, u->i64, ""), simt_c64(u, simt_march_stride(u)), "");
    return LLVMBuildGEP2(u->b, u->i8, frames, &at, 1, "frame");
}

static LLVMValueRef argument_at(struct simt *u, LLVMValueRef frame, unsigned i)
{
    return simt_advance(u, frame, 4 * (int64_t)i);
}

/* Arguments that are kept: part, lanes, and from 5 on the indices. */
static int argument_of(int kept)
{
    return kept < 2 ? 2 + kept : 3 + kept;
}

LLVMValueRef simt_march_begin(struct simt *u, LLVMValueRef body, LLVMValueRef *args, unsigned n, LLVMValueRef frames,
                              LLVMValueRef i)
{
    args[n] = frame_of(u, frames, i);
    args[n + 1] = LLVMConstInt(u->i1, 0, 0);
    for (unsigned k = 0; k < FRAME_ARGUMENTS; k++)
        LLVMBuildStore(u->b, args[argument_of((int)k)], argument_at(u, args[n], k));
    LLVMValueRef more = LLVMBuildCall2(u->b, LLVMGlobalGetValueType(body), body, args, n + 2, "more");
    return LLVMBuildAdd(u->b, i, LLVMBuildZExt(u->b, more, u->i32, ""), "waiting");
}

/* One iteration of warp number `i`; whether it goes on. */
static LLVMValueRef turn(struct simt *u, LLVMValueRef fn, LLVMValueRef body, LLVMValueRef i)
{
    LLVMValueRef args[16], frame = frame_of(u, LLVMGetParam(fn, 3), i);
    unsigned n = LLVMCountParams(body);
    args[0] = LLVMGetParam(fn, 0);
    args[1] = LLVMGetParam(fn, 1);
    args[4] = LLVMGetParam(fn, 2);
    for (unsigned k = 0; k < FRAME_ARGUMENTS; k++)
        args[argument_of((int)k)] = LLVMBuildLoad2(u->b, u->i32, argument_at(u, frame, k), "");
    args[n - 2] = frame;
    args[n - 1] = LLVMConstInt(u->i1, 1, 0);
    for (unsigned d = 0; d < 3; d++)
        LLVMBuildStore(u->b, args[5 + d], simt_advance(u, args[0], (int64_t)(offsetof(struct aw_host_block, ctaid) + 4 * d)));
    LLVMValueRef warp = LLVMBuildUDiv(u->b, args[2], simt_c32(u, SIMT_LANES / u->lanes), "");
    LLVMBuildStore(u->b, warp, simt_advance(u, args[0], (int64_t)offsetof(struct aw_host_block, warp)));
    return LLVMBuildCall2(u->b, LLVMGlobalGetValueType(body), body, args, n, "more");
}

/* void turns(block, state, kernarg, frames, order, n): warps 0 .. n-1 in turn until none goes on.  `order` is room for n numbers:
 * those that still go on, in their order. */
LLVMValueRef simt_march_turns(struct simt *u, LLVMValueRef body)
{
    LLVMBuilderRef b = u->b;
    LLVMTypeRef t[6] = { u->ptr, u->ptr, u->ptr, u->ptr, u->ptr, u->i32 };
    LLVMValueRef fn = LLVMAddFunction(u->out, "turns", LLVMFunctionType(u->v_void, t, 6, 0));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    unsigned kind = LLVMGetEnumAttributeKindForName("noinline", 8);
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(u->ctx, kind, 0));
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(u->ctx, fn, "entry"),
                      number = LLVMAppendBasicBlockInContext(u->ctx, fn, "number"),
                      round = LLVMAppendBasicBlockInContext(u->ctx, fn, "round"),
                      each = LLVMAppendBasicBlockInContext(u->ctx, fn, "each"),
                      next = LLVMAppendBasicBlockInContext(u->ctx, fn, "next"),
                      done = LLVMAppendBasicBlockInContext(u->ctx, fn, "done");
    LLVMPositionBuilderAtEnd(b, entry);
    simt_line_tables_function(u, NULL, fn);
    LLVMValueRef order = LLVMGetParam(fn, 4), all = LLVMGetParam(fn, 5);
    LLVMBuildBr(b, number);
    LLVMPositionBuilderAtEnd(b, number);
    LLVMValueRef k = LLVMBuildPhi(b, u->i32, "k"), k1 = LLVMBuildAdd(b, k, simt_c32(u, 1), "");
    LLVMBuildStore(b, k, LLVMBuildGEP2(b, u->i32, order, &k, 1, ""));
    ptx_phi_add(k, simt_c32(u, 0), entry);
    ptx_phi_add(k, k1, number);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, k1, all, ""), number, round);

    LLVMPositionBuilderAtEnd(b, round);
    LLVMValueRef n = LLVMBuildPhi(b, u->i32, "n");
    LLVMBuildBr(b, each);
    LLVMPositionBuilderAtEnd(b, each);
    LLVMValueRef j = LLVMBuildPhi(b, u->i32, "j"), left = LLVMBuildPhi(b, u->i32, "left");
    LLVMValueRef i = LLVMBuildLoad2(b, u->i32, LLVMBuildGEP2(b, u->i32, order, &j, 1, ""), "i");
    LLVMValueRef more = turn(u, fn, body, i);
    LLVMBuildStore(b, i, LLVMBuildGEP2(b, u->i32, order, &left, 1, ""));
    LLVMValueRef left1 = LLVMBuildAdd(b, left, LLVMBuildZExt(b, more, u->i32, ""), ""),
                 j1 = LLVMBuildAdd(b, j, simt_c32(u, 1), "");
    ptx_phi_add(j, simt_c32(u, 0), round);
    ptx_phi_add(left, simt_c32(u, 0), round);
    ptx_phi_add(j, j1, LLVMGetInsertBlock(b));
    ptx_phi_add(left, left1, LLVMGetInsertBlock(b));
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, j1, n, ""), each, next);
    LLVMPositionBuilderAtEnd(b, next);
    ptx_phi_add(n, all, number);
    ptx_phi_add(n, left1, next);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, left1, simt_c32(u, 0), ""), round, done);
    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildRetVoid(b);
    return fn;
}
