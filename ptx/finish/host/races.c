/* Looks for races in shared memory become code.  Where lanes access neighbouring words, or all of them one, it looks at the cells
 * of these itself, and notes in them who was here; where a cell says that others were, and for all other accesses, the host
 * device does (src/provider/host/race.c, whose rules these are).
 *
 * What the vectoriser has put is in ptx/simt/emit/check.c; what cells are, in anywarp/hostabi.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"

#include "base/vec.h"
#include "llvm_version.h"
#include "lower/copy.h"
#include "simt/vectorise.h"
#include <anywarp/hostabi.h>
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef BB;

enum {
    LANES = 32,
    MOST_PIECES = 4,
    MOST_SPAN = 8192, /* bytes of cells between the pieces of one access, which may lie where its other lanes are off */
};

/* Lanes whose words follow each other, or are one. */
struct race_piece {
    unsigned lane, n;
    int64_t at; /* bytes from the access's lowest */
    bool one;
};

struct races {
    LLVMModuleRef m;
    LLVMContextRef c;
    LLVMBuilderRef b;
    LLVMTypeRef i1, i8, i32, i64, ptr;
    unsigned grain;          /* the binary logarithm of a cell's bytes */
    V sites, addresses, values; /* the module's; areas of the function at hand */
};

/* An access that is looked at here. */
struct race_access {
    V call, race, lanes, thread, mine; /* mine: what a cell of thread 0 would say */
    V floor, order;                    /* what is earlier says nothing; nothing of the own warp */
    uint32_t size, what;
    unsigned n_lanes, n_pieces, cells; /* cells: of a lane */
    struct race_piece pieces[MOST_PIECES];
};

/* The cells of a piece, and who accesses each, as a cell would say it. */
struct race_cells {
    V at;      /* address of the first one's last write */
    V mask;    /* i1s; NULL: all */
    V mine, last; /* last: of lanes that access one word, the last lane's; NULL: lanes have their own */
    LLVMTypeRef type;
};

static V c32(struct races *k, uint64_t x)
{
    return LLVMConstInt(k->i32, x, 0);
}

static V c64(struct races *k, uint64_t x)
{
    return LLVMConstInt(k->i64, x, 0);
}

static uint64_t number(V v)
{
    return LLVMConstIntGetZExtValue(v);
}

static V same(struct races *k, LLVMTypeRef type, uint32_t x)
{
    return ptx_host_splat(c32(k, x), LLVMGetVectorSize(type));
}

static V splat(struct races *k, V x, LLVMTypeRef like)
{
    unsigned n = LLVMGetVectorSize(like);
    LLVMTypeRef t = LLVMVectorType(LLVMTypeOf(x), n);
    V one = LLVMBuildInsertElement(k->b, LLVMGetPoison(t), x, c32(k, 0), "");
    return LLVMBuildShuffleVector(k->b, one, LLVMGetPoison(t), LLVMConstNull(LLVMVectorType(k->i32, n)), "");
}

static V both(struct races *k, V a, V b)
{
    return a && b ? LLVMBuildAnd(k->b, a, b, "") : a ? a : b;
}

static V field(struct races *k, V base, size_t offset, LLVMTypeRef type)
{
    V at = c64(k, offset);
    return LLVMBuildLoad2(k->b, type, LLVMBuildGEP2(k->b, k->i8, base, &at, 1, ""), "");
}

/* ---- By the host device */

/* Moves the builder. */
static V area(struct races *k, V fn, LLVMTypeRef type)
{
    LLVMPositionBuilderBefore(k->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
    V at = LLVMBuildAlloca(k->b, type, "");
    LLVMSetAlignment(at, 64);
    return at;
}

static V addresses_of(struct races *k, V call)
{
    V at = LLVMGetOperand(call, SIMT_RACE_AT), offsets = LLVMGetOperand(call, SIMT_RACE_OFFSETS);
    LLVMTypeRef wide = LLVMVectorType(k->i64, LLVMGetVectorSize(LLVMTypeOf(offsets)));
    if (LLVMGetTypeKind(LLVMTypeOf(at)) == LLVMVectorTypeKind)
        return at;
    at = splat(k, LLVMBuildIntCast2(k->b, at, k->i64, 0, ""), wide);
    return LLVMBuildAdd(k->b, at, LLVMBuildZExt(k->b, offsets, wide, ""), "");
}

static V launch_of(struct races *k, V call)
{
    return field(k, LLVMGetOperand(call, SIMT_RACE_BLOCK), offsetof(struct aw_host_block, launch), k->ptr);
}

static void tell(struct races *k, V call, V site)
{
    V services = field(k, launch_of(k, call), offsetof(struct aw_host_launch, services), k->ptr);
    V fn = field(k, services, offsetof(struct aw_host_services, check_race), k->ptr);
    V at = k->addresses, values = LLVMConstNull(k->ptr);
    LLVMSetAlignment(LLVMBuildStore(k->b, addresses_of(k, call), at), 64);
    if (LLVMGetNumArgOperands(call) > SIMT_RACE_VALUES) {
        values = k->values;
        LLVMSetAlignment(LLVMBuildStore(k->b, LLVMGetOperand(call, SIMT_RACE_VALUES), values), 64);
    }
    V args[] = { LLVMGetOperand(call, SIMT_RACE_BLOCK), k->sites, site, at, LLVMGetOperand(call, SIMT_RACE_LANES),
                 LLVMGetOperand(call, SIMT_RACE_THREAD), LLVMGetOperand(call, SIMT_RACE_WHAT), values };
    LLVMTypeRef types[8];
    for (int i = 0; i < 8; i++)
        types[i] = LLVMTypeOf(args[i]);
    ptx_never_merge(LLVMBuildCall2(k->b, LLVMFunctionType(LLVMVoidTypeInContext(k->c), types, 8, 0), fn, args, 8, ""));
}

static BB block_new(struct races *k, V call, const char *name)
{
    return LLVMAppendBasicBlockInContext(k->c, LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)), name);
}

/* Generic addresses: do any of them lead to shared memory? */
static V leads_there(struct races *k, V call)
{
    V at = LLVMGetOperand(call, SIMT_RACE_AT), block = LLVMGetOperand(call, SIMT_RACE_BLOCK);
    bool lanes = LLVMGetTypeKind(LLVMTypeOf(at)) == LLVMVectorTypeKind;
    V base = LLVMBuildPtrToInt(k->b, field(k, block, offsetof(struct aw_host_block, shared), k->ptr), k->i64, "");
    V total = LLVMBuildZExt(k->b, field(k, launch_of(k, call), offsetof(struct aw_host_launch, total_shared), k->i32), k->i64,
                            "");
    if (!lanes)
        return LLVMBuildICmp(k->b, LLVMIntULT, LLVMBuildSub(k->b, at, base, ""), total, "");
    LLVMTypeRef t = LLVMTypeOf(at);
    V in = LLVMBuildICmp(k->b, LLVMIntULT, LLVMBuildSub(k->b, at, splat(k, base, t), ""), splat(k, total, t), "");
    V bits = LLVMBuildBitCast(k->b, in, LLVMIntTypeInContext(k->c, LLVMGetVectorSize(t)), "");
    bits = LLVMBuildAnd(k->b, LLVMBuildZExt(k->b, bits, k->i32, ""), LLVMGetOperand(call, SIMT_RACE_LANES), "");
    return LLVMBuildICmp(k->b, LLVMIntNE, bits, c32(k, 0), "");
}

/* Every time, or where an address leads to shared memory. */
static void told_always(struct races *k, V call, V site, bool shared)
{
    V where = shared ? NULL : leads_there(k, call);
    if (where) {
        BB slow = block_new(k, call, "race"), rest = ptx_host_part(k->b, call);
        ptx_weights_set(LLVMBuildCondBr(k->b, where, slow, rest), 1, 100);
        LLVMPositionBuilderAtEnd(k->b, slow);
        LLVMPositionBuilderBefore(k->b, LLVMBuildBr(k->b, rest));
    }
    tell(k, call, site);
}

/* ---- Here */

/* Does a lane that is `at` bytes from the lowest go on as those of the piece do? */
static bool piece_goes_on(struct race_piece *p, int64_t at, uint32_t size)
{
    if (p->n == 1)
        p->one = at == p->at;
    return at == (p->one ? p->at : p->at + (int64_t)(p->n * size));
}

static bool pieces_find(struct races *k, struct race_access *a)
{
    V offsets = LLVMGetOperand(a->call, SIMT_RACE_OFFSETS);
    int64_t high = 0;
    a->n_lanes = LLVMGetVectorSize(LLVMTypeOf(offsets));
    for (unsigned i = 0; i < a->n_lanes; i++) {
        int64_t at = (int64_t)number(LLVMGetAggregateElement(offsets, i));
        struct race_piece *p = a->n_pieces ? &a->pieces[a->n_pieces - 1] : NULL;
        high = at > high ? at : high;
        if (p && piece_goes_on(p, at, a->size)) {
            p->n++;
            continue;
        }
        if (a->n_pieces == MOST_PIECES)
            return false;
        a->pieces[a->n_pieces++] = (struct race_piece){ i, 1, at, false };
    }
    for (unsigned i = 0; i < a->n_pieces; i++)
        a->pieces[i].one |= a->pieces[i].n == 1;
    return (high * 4 >> k->grain) + a->size * 4 * LANES <= MOST_SPAN;
}

/* Do lanes write the same word, for sure or perhaps?  Which of them wins is the host device's to judge. */
static bool pieces_overlap(const struct race_access *a)
{
    for (unsigned i = 0; i < a->n_pieces; i++)
        for (unsigned j = 0; j < i; j++) {
            const struct race_piece *p = &a->pieces[i], *q = &a->pieces[j];
            int64_t p_end = p->at + (int64_t)(a->size * (p->one ? 1 : p->n)),
                    q_end = q->at + (int64_t)(a->size * (q->one ? 1 : q->n));
            if (p->at < q_end && q->at < p_end)
                return true;
        }
    return false;
}

static bool is_all(const struct race_access *a)
{
    return LLVMIsAConstantInt(a->lanes) && number(a->lanes) == (a->n_lanes == 32 ? UINT32_MAX : (1u << a->n_lanes) - 1);
}

static bool access_read(struct races *k, V call, struct race_access *ret)
{
    struct race_access a = { .call = call, .lanes = LLVMGetOperand(call, SIMT_RACE_LANES),
                        .thread = LLVMGetOperand(call, SIMT_RACE_THREAD),
                        .what = (uint32_t)number(LLVMGetOperand(call, SIMT_RACE_WHAT)) };
    a.size = a.what & AW_HOST_ACCESS_SIZE;
    a.cells = a.size >> k->grain;
    if (LLVMTypeOf(LLVMGetOperand(call, SIMT_RACE_AT)) != k->i32 || a.what & AW_HOST_ACCESS_STRONG || a.size > 16 ||
        !pieces_find(k, &a))
        return false;
    *ret = a;
    if (!(a.what & AW_HOST_ACCESS_WRITE))
        return true;
    for (unsigned i = 0; i < a.n_pieces; i++)
        if (a.pieces[i].one && a.pieces[i].n > 1 && is_all(&a))
            return false;
    return !pieces_overlap(&a);
}

static V cells_mask(struct races *k, const struct race_access *a, const struct race_piece *p, V bits)
{
    V at[LANES * 16];
    if (is_all(a))
        return NULL;
    V one = LLVMBuildBitCast(k->b, LLVMBuildTrunc(k->b, bits, LLVMIntTypeInContext(k->c, p->n), ""),
                             LLVMVectorType(k->i1, p->n), "");
    for (unsigned i = 0; i < p->n * a->cells; i++)
        at[i] = c32(k, i / a->cells);
    return LLVMBuildShuffleVector(k->b, one, LLVMGetPoison(LLVMTypeOf(one)), LLVMConstVector(at, p->n * a->cells), "");
}

/* Who: the first and the last of the lanes that access one word. */
static void cells_one(struct races *k, const struct race_access *a, const struct race_piece *p, V bits, struct race_cells *c)
{
    V first = c32(k, p->lane), last = c32(k, p->lane + p->n - 1);
    if (!is_all(a)) {
        LLVMTypeRef i32 = k->i32;
        V zero = LLVMConstNull(k->i1), args[2] = { bits, zero }, some = LLVMBuildICmp(k->b, LLVMIntNE, bits, c32(k, 0), "");
        unsigned low = LLVMLookupIntrinsicID("llvm.cttz", strlen("llvm.cttz")),
                 high = LLVMLookupIntrinsicID("llvm.ctlz", strlen("llvm.ctlz"));
        V fn[2] = { LLVMGetIntrinsicDeclaration(k->m, low, &i32, 1), LLVMGetIntrinsicDeclaration(k->m, high, &i32, 1) };
        first = LLVMBuildCall2(k->b, LLVMGlobalGetValueType(fn[0]), fn[0], args, 2, "");
        last = LLVMBuildCall2(k->b, LLVMGlobalGetValueType(fn[1]), fn[1], args, 2, "");
        first = LLVMBuildAnd(k->b, LLVMBuildAdd(k->b, first, c32(k, p->lane), ""), c32(k, 31), "");
        last = LLVMBuildAnd(k->b, LLVMBuildSub(k->b, c32(k, 31 + p->lane), last, ""), c32(k, 31), "");
        c->mask = splat(k, some, c->type);
    }
    c->mine = splat(k, LLVMBuildAdd(k->b, a->mine, first, ""), c->type);
    c->last = splat(k, LLVMBuildAdd(k->b, a->mine, last, ""), c->type);
}

static struct race_cells cells_of(struct races *k, const struct race_access *a, const struct race_piece *p)
{
    unsigned n = a->cells * (p->one ? 1 : p->n);
    struct race_cells c = { .type = LLVMVectorType(k->i32, n) };
    /* That of a lane that is off may lie below the block's memory. */
    V low = LLVMBuildSExt(k->b, LLVMGetOperand(a->call, SIMT_RACE_AT), k->i64, ""), who[LANES * 16];
    V bits = LLVMBuildAnd(k->b, LLVMBuildLShr(k->b, a->lanes, c32(k, p->lane), ""),
                          c32(k, p->n == 32 ? UINT32_MAX : (1u << p->n) - 1), "");
    low = LLVMBuildAdd(k->b, low, c64(k, (uint64_t)p->at), "");
    low = LLVMBuildShl(k->b, LLVMBuildAShr(k->b, low, c64(k, k->grain), ""), c64(k, 2), "");
    low = LLVMBuildAdd(k->b, low, c64(k, AW_HOST_RACE_CELLS), "");
    c.at = LLVMBuildGEP2(k->b, k->i8, a->race, &low, 1, "");
    if (p->one) {
        cells_one(k, a, p, bits, &c);
        return c;
    }
    for (unsigned i = 0; i < n; i++)
        who[i] = c32(k, p->lane + i / a->cells);
    c.mask = cells_mask(k, a, p, bits);
    c.mine = LLVMBuildAdd(k->b, splat(k, a->mine, c.type), LLVMConstVector(who, n), "");
    return c;
}

/* The cells' addresses: which 0 is the last write's, 1 and 2 the reads'. */
static V cells_at(struct races *k, const struct race_cells *c, int which)
{
    V by = c64(k, (uint64_t)which * AW_HOST_RACE_STRIDE);
    return which ? LLVMBuildGEP2(k->b, k->i8, c->at, &by, 1, "") : c->at;
}

static V cells_load(struct races *k, const struct race_cells *c, int which)
{
    V x = LLVMBuildLoad2(k->b, c->type, cells_at(k, c, which), "");
    LLVMSetAlignment(x, 4);
    return x;
}

static void cells_store(struct races *k, const struct race_cells *c, int which, V take, V now, V old)
{
    V x = take ? LLVMBuildSelect(k->b, take, now, old, "") : now;
    LLVMSetAlignment(LLVMBuildStore(k->b, x, cells_at(k, c, which)), 4);
}

static V bits_zero(struct races *k, V x, uint32_t bits)
{
    return LLVMBuildICmp(k->b, LLVMIntEQ, LLVMBuildAnd(k->b, x, same(k, LLVMTypeOf(x), bits), ""),
                         LLVMConstNull(LLVMTypeOf(x)), "");
}

static V same_warp(struct races *k, V a, V b)
{
    return bits_zero(k, LLVMBuildXor(k->b, a, b, ""), AW_HOST_RACE_WARP);
}

static V is_live(struct races *k, const struct race_access *a, V cell)
{
    return LLVMBuildICmp(k->b, LLVMIntUGE, cell, splat(k, a->floor, LLVMTypeOf(cell)), "");
}

/* Was another thread here, and is it not known to come before? */
static V meets(struct races *k, const struct race_access *a, V cell, V mine)
{
    V differs = LLVMBuildXor(k->b, cell, mine, "");
    V own = bits_zero(k, differs, AW_HOST_RACE_THREAD);
    V early = LLVMBuildICmp(k->b, LLVMIntULT, cell, splat(k, a->order, LLVMTypeOf(cell)), "");
    V ordered = both(k, bits_zero(k, differs, AW_HOST_RACE_WARP), early);
    return both(k, is_live(k, a, cell), LLVMBuildNot(k->b, LLVMBuildOr(k->b, own, ordered, ""), ""));
}

static V any_of(struct races *k, const struct race_cells *c, V which)
{
    which = both(k, which, c->mask);
    V bits = LLVMBuildBitCast(k->b, which, LLVMIntTypeInContext(k->c, LLVMGetVectorSize(c->type)), "");
    return LLVMBuildICmp(k->b, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), "");
}

static int sets_of(const struct race_access *a)
{
    return a->what & AW_HOST_ACCESS_WRITE ? 3 : 1;
}

/* Does some cell that is accessed say anything?  Mostly none does, as there was a barrier since. */
static V piece_live(struct races *k, const struct race_access *a, const struct race_cells *c)
{
    V latest = cells_load(k, c, 0);
    for (int which = 1; which < sets_of(a); which++) {
        V x = cells_load(k, c, which);
        latest = LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntUGT, x, latest, ""), x, latest, "");
    }
    return any_of(k, c, is_live(k, a, latest));
}

/* Does it say that another thread was there? */
static V piece_meets(struct races *k, const struct race_access *a, const struct race_cells *c)
{
    V bad = NULL;
    for (int which = 0; which < sets_of(a); which++) {
        V cell = cells_load(k, c, which), one = meets(k, a, cell, c->mine);
        if (c->last)
            one = LLVMBuildOr(k->b, one, meets(k, a, cell, c->last), "");
        bad = bad ? LLVMBuildOr(k->b, bad, one, "") : one;
    }
    return any_of(k, c, bad);
}

/* Do several lanes write one word?  See pieces_overlap. */
static V piece_collides(struct races *k, const struct race_cells *c)
{
    return any_of(k, c, LLVMBuildICmp(k->b, LLVMIntNE, c->mine, c->last, ""));
}

/* A read: the first of its kind, or a later one by another thread.  When readers of two warps are known no more need be: whoever
 * writes meets one of them. */
static void piece_note_read(struct races *k, const struct race_access *a, const struct race_cells *c)
{
    V first = cells_load(k, c, 1), second = cells_load(k, c, 2), live = is_live(k, a, first);
    V own = bits_zero(k, LLVMBuildXor(k->b, first, c->mine, ""), AW_HOST_RACE_THREAD);
    V take = LLVMBuildOr(k->b, LLVMBuildNot(k->b, live, ""), own, "");
    V enough = both(k, is_live(k, a, second), LLVMBuildNot(k->b, same_warp(k, first, second), ""));
    enough = both(k, enough, live);
    cells_store(k, c, 1, both(k, take, c->mask), c->mine, first);
    V later = LLVMBuildNot(k->b, take, "");
    if (c->last)
        later = LLVMBuildOr(k->b, later, LLVMBuildICmp(k->b, LLVMIntNE, c->mine, c->last, ""), "");
    later = both(k, later, LLVMBuildNot(k->b, enough, ""));
    cells_store(k, c, 2, both(k, later, c->mask), c->last ? c->last : c->mine, second);
}

static void piece_note(struct races *k, const struct race_access *a, const struct race_cells *c)
{
    if (a->what & AW_HOST_ACCESS_WRITE)
        cells_store(k, c, 0, c->mask, c->mine, c->mask ? cells_load(k, c, 0) : NULL);
    else
        piece_note_read(k, a, c);
}

static V order_of(struct races *k, const struct race_access *a)
{
    V warp = LLVMBuildZExt(k->b, LLVMBuildLShr(k->b, a->thread, c32(k, 5), ""), k->i64, "");
    V at = LLVMBuildAdd(k->b, LLVMBuildShl(k->b, warp, c64(k, 2), ""), c64(k, offsetof(struct aw_host_race, order)), "");
    return LLVMBuildLoad2(k->b, k->i32, LLVMBuildGEP2(k->b, k->i8, a->race, &at, 1, ""), "");
}

/* The pieces' cells; *ret_bad: the host device has to look at once. */
static void pieces_begin(struct races *k, struct race_access *a, V site, struct race_cells *ret_cells, V *ret_bad, V *ret_live)
{
    a->race = field(k, LLVMGetOperand(a->call, SIMT_RACE_BLOCK), offsetof(struct aw_host_block, race), k->ptr);
    a->floor = field(k, a->race, offsetof(struct aw_host_race, floor), k->i32);
    V place = LLVMBuildLoad2(k->b, k->i32, site, ""), bad = LLVMBuildICmp(k->b, LLVMIntEQ, place, c32(k, 0), ""), live = NULL;
    V now = field(k, a->race, offsetof(struct aw_host_race, now), k->i32);
    a->mine = LLVMBuildAdd(k->b, LLVMBuildOr(k->b, now, place, ""), a->thread, "");
    for (unsigned i = 0; i < a->n_pieces; i++) {
        struct race_cells *c = &ret_cells[i];
        *c = cells_of(k, a, &a->pieces[i]);
        V one = piece_live(k, a, c);
        live = live ? LLVMBuildOr(k->b, live, one, "") : one;
        if (c->last && a->what & AW_HOST_ACCESS_WRITE)
            bad = LLVMBuildOr(k->b, bad, piece_collides(k, c), "");
    }
    *ret_bad = bad;
    *ret_live = LLVMBuildOr(k->b, live, bad, "");
}

static void looked_at(struct races *k, struct race_access *a, V site)
{
    BB slow = block_new(k, a->call, "race"), fast = block_new(k, a->call, "mine"), met = block_new(k, a->call, "met");
    BB rest = ptx_host_part(k->b, a->call);
    if (!is_all(a)) { /* without any, addresses may lead anywhere */
        BB look = block_new(k, a->call, "cells");
        LLVMBuildCondBr(k->b, LLVMBuildICmp(k->b, LLVMIntEQ, a->lanes, c32(k, 0), ""), rest, look);
        LLVMPositionBuilderAtEnd(k->b, look);
    }
    struct race_cells c[MOST_PIECES];
    V bad, live;
    pieces_begin(k, a, site, c, &bad, &live);
    ptx_weights_set(LLVMBuildCondBr(k->b, live, met, fast), 1, 10);
    LLVMPositionBuilderAtEnd(k->b, met);
    a->order = order_of(k, a);
    for (unsigned i = 0; i < a->n_pieces; i++)
        bad = LLVMBuildOr(k->b, bad, piece_meets(k, a, &c[i]), "");
    ptx_weights_set(LLVMBuildCondBr(k->b, bad, slow, fast), 1, 1000);
    LLVMPositionBuilderAtEnd(k->b, fast);
    for (unsigned i = 0; i < a->n_pieces; i++)
        piece_note(k, a, &c[i]);
    LLVMBuildBr(k->b, rest);
    LLVMPositionBuilderAtEnd(k->b, slow);
    LLVMPositionBuilderBefore(k->b, LLVMBuildBr(k->b, rest));
    tell(k, a->call, site);
}

static void expand(struct races *k, V call)
{
    struct race_access a;
    V site = LLVMAddGlobal(k->m, k->i32, "aw.race.site");
    LLVMSetInitializer(site, c32(k, 0));
    LLVMSetLinkage(site, LLVMInternalLinkage);
    LLVMPositionBuilderBefore(k->b, call);
    LLVMSetCurrentDebugLocation2(k->b, LLVMInstructionGetDebugLoc(call));
    if (access_read(k, call, &a))
        looked_at(k, &a, site);
    else
        told_always(k, call, site, number(LLVMGetOperand(call, SIMT_RACE_WHAT)) & AW_HOST_ACCESS_SHARED);
    LLVMInstructionEraseFromParent(call);
}

/* ---- The module */

typedef AW_VEC(V) calls;

static bool calls_find(V fn, calls *ret)
{
    for (BB bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
            V callee = LLVMIsACallInst(x) ? LLVMGetCalledValue(x) : NULL;
            if (callee && LLVMIsAFunction(callee) && simt_is_race_check(callee) && !aw_vec_push(ret, x))
                return false;
        }
    return true;
}

/* Bytes that all accesses are multiples of, at such multiples. */
static unsigned grain_of(const calls *all)
{
    unsigned grain = 4;
    for (size_t i = 0; i < all->n; i++) {
        uint32_t what = (uint32_t)number(LLVMGetOperand(all->at[i], SIMT_RACE_WHAT));
        unsigned size = (unsigned)__builtin_ctz(what & AW_HOST_ACCESS_SIZE), align = what >> AW_HOST_ACCESS_ALIGN & 7;
        grain = size < grain ? size : grain;
        grain = align < grain ? align : grain;
    }
    return grain;
}

/* Lines of PTX_SHARED_NAMES, as a constant of the module. */
static V names_make(struct races *k, LLVMModuleRef named)
{
    struct aw_buf text = { 0 };
    unsigned n = LLVMGetNamedMetadataNumOperands(named, PTX_SHARED_NAMES), len;
    V *nodes = n ? calloc(n, sizeof *nodes) : NULL, word;
    if (nodes)
        LLVMGetNamedMetadataOperands(named, PTX_SHARED_NAMES, nodes);
    for (unsigned i = 0; i < n && nodes; i++) {
        LLVMGetMDNodeOperands(nodes[i], &word);
        const char *line = LLVMGetMDString(word, &len);
        aw_buf_printf(&text, "%.*s\n", (int)len, line);
    }
    free(nodes);
    V bytes = LLVMConstStringInContext2(k->c, text.ptr ? text.ptr : "", text.ptr ? text.len : 0, 0);
    V all = LLVMAddGlobal(k->m, LLVMTypeOf(bytes), "aw.race.names");
    LLVMSetInitializer(all, bytes);
    LLVMSetGlobalConstant(all, 1);
    LLVMSetLinkage(all, LLVMInternalLinkage);
    aw_buf_fini(&text);
    return all;
}

static void sites_make(struct races *k, LLVMModuleRef named)
{
    enum { REST = sizeof(struct aw_host_race_sites) - offsetof(struct aw_host_race_sites, pc) };
    LLVMTypeRef rest = LLVMArrayType2(k->i8, REST);
    V parts[] = { c32(k, k->grain), c32(k, 0), names_make(k, named), LLVMConstNull(rest) };
    V all = LLVMConstStructInContext(k->c, parts, 4, 0);
    k->sites = LLVMAddGlobal(k->m, LLVMTypeOf(all), "aw.race.sites");
    LLVMSetInitializer(k->sites, all);
    LLVMSetAlignment(k->sites, 8);
    LLVMSetLinkage(k->sites, LLVMInternalLinkage);
}

bool ptx_host_races(LLVMModuleRef m, LLVMModuleRef named)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct races k = { .m = m, .c = c, .b = LLVMCreateBuilderInContext(c), .i1 = LLVMInt1TypeInContext(c),
                       .i8 = LLVMInt8TypeInContext(c), .i32 = LLVMInt32TypeInContext(c), .i64 = LLVMInt64TypeInContext(c),
                       .ptr = LLVMPointerTypeInContext(c, 0) };
    calls all = { 0 };
    bool ok = true;
    for (V fn = LLVMGetFirstFunction(m); fn && ok; fn = LLVMGetNextFunction(fn))
        ok = calls_find(fn, &all);
    k.grain = grain_of(&all);
    if (all.n)
        sites_make(&k, named);
    V last = NULL;
    for (size_t i = 0; i < all.n && ok; i++) {
        V fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(all.at[i]));
        if (fn != last) {
            LLVMSetCurrentDebugLocation2(k.b, NULL);
            k.addresses = area(&k, fn, LLVMArrayType2(k.i64, LANES));
            k.values = area(&k, fn, LLVMArrayType2(k.i8, LANES * 32));
        }
        last = fn;
        expand(&k, all.at[i]);
    }
    for (V fn = LLVMGetFirstFunction(m), next; fn && ok; fn = next) {
        next = LLVMGetNextFunction(fn);
        if (simt_is_race_check(fn))
            LLVMDeleteFunction(fn);
    }
    aw_vec_fini(&all);
    LLVMDisposeBuilder(k.b);
    return ok;
}

void ptx_host_races_prepare(LLVMModuleRef m)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    unsigned kind = LLVMGetEnumAttributeKindForName("sanitize_thread", strlen("sanitize_thread"));
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(c, kind, 0));
}
