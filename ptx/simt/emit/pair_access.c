/* Pairs: two neighbouring words that each lane reads or writes wherever it likes, as a complex number or a key with its value
 * (ld.v2 and the like, taken apart before).  One gather or scatter of twice the width is half the work of two.
 *
 * Only of addresses that follow no rule; lanes side by side are interleaved_access.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

enum { NEAR = 40 /* instructions between the two */, WORD = 4 /* bytes */ };

static bool is_word(LLVMValueRef x, bool store)
{
    if (!simt_access_plain(x, store))
        return false;
    LLVMTypeRef t = simt_access_type(x);
    return LLVMGetTypeKind(t) == LLVMFloatTypeKind ||
           (LLVMGetTypeKind(t) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(t) == 8 * WORD);
}

/* The next access of `inst`'s kind that is a word above or below, with nothing in between that would notice; NULL: none.
 * *ret_by: bytes from inst's word to the other. */
static LLVMValueRef neighbour(struct simt_fn *f, LLVMValueRef inst, int64_t *ret_by)
{
    bool store = LLVMIsAStoreInst(inst);
    LLVMValueRef p = simt_access_address(inst), x = inst;
    int64_t at, first;
    if (!is_word(inst, store) || !simt_varying(f, p))
        return NULL;
    LLVMValueRef root = simt_access_root(f, p, &first);
    for (int left = NEAR; left && (x = LLVMGetNextInstruction(x)) != NULL; left--) {
        if (is_word(x, store) && simt_varying(f, simt_access_address(x)) &&
            simt_access_root(f, simt_access_address(x), &at) == root && (at - first == WORD || first - at == WORD)) {
            *ret_by = at - first;
            return x;
        }
        if (simt_touches_memory(x) && (store || !simt_access_plain(x, false)))
            return NULL;
    }
    return NULL;
}

/* Notes loads of words that are up to three from `inst`'s, one way through the block: bit 3 is its own. */
static unsigned words_near(struct simt_fn *f, LLVMValueRef inst, bool back)
{
    int64_t at, first;
    LLVMValueRef root = simt_access_root(f, simt_access_address(inst), &first), x = inst;
    unsigned found = 1u << 3;
    for (int left = NEAR; left; left--) {
        x = back ? LLVMGetPreviousInstruction(x) : LLVMGetNextInstruction(x);
        if (!x || (simt_touches_memory(x) && !simt_access_plain(x, false)))
            break;
        if (!is_word(x, false) || simt_access_root(f, simt_access_address(x), &at) != root)
            continue;
        int64_t by = at - first;
        if (by % WORD == 0 && by >= -3 * WORD && by <= 3 * WORD)
            found |= 1u << (3 + by / WORD);
    }
    return found;
}

/* Is it one of four words in a row?  Where gathers are fast, finish/host/gather_wide.c makes one load for each lane of those. */
static bool is_quad(struct simt_fn *f, LLVMValueRef inst)
{
    unsigned found = words_near(f, inst, false) | words_near(f, inst, true);
    for (unsigned row = 0xf; row <= 0xf << 3 && f->u->options->fast_gather; row <<= 1)
        if ((found & row) == row)
            return true;
    return false;
}

/* Every second word of n pairs. */
static LLVMValueRef words(struct simt *u, LLVMValueRef pairs, int which, LLVMTypeRef type)
{
    int at[SIMT_LANES], n = u->lanes;
    for (int i = 0; i < n; i++)
        at[i] = 2 * i + which;
    LLVMValueRef all = LLVMBuildBitCast(u->b, pairs, LLVMVectorType(u->i32, 2 * (unsigned)n), "");
    LLVMValueRef half = LLVMBuildShuffleVector(u->b, all, LLVMGetPoison(LLVMTypeOf(all)), simt_const_i32v(u, at, n), "");
    return LLVMBuildBitCast(u->b, half, simt_vec_type(u, simt_type(u, type)), "");
}

bool simt_pair_load(struct simt_fn *f, LLVMValueRef inst)
{
    int64_t by;
    LLVMValueRef other = neighbour(f, inst, &by);
    if (!other || simt_get(f, other)->v || !simt_varying(f, other) || is_quad(f, inst))
        return false;
    LLVMValueRef pairs = simt_gather(f, inst, f->u->i64, by < 0 ? by : 0);
    simt_set_vector(f, inst, words(f->u, pairs, by < 0, LLVMTypeOf(inst)));
    simt_set_vector(f, other, words(f->u, pairs, by > 0, LLVMTypeOf(other)));
    return true;
}

static LLVMValueRef as_words(struct simt_fn *f, LLVMValueRef store)
{
    return LLVMBuildBitCast(f->u->b, simt_vector(f, LLVMGetOperand(store, 0)), f->u->i32v, "");
}

/* Two lanes' pairs may be the same, and the last lane's stay, but may not overlap by half, where the order of the two stores
 * would show: so only of pairs that are known to be aligned. */
bool simt_pair_store(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    int64_t by;
    if (f->spreading.n)
        return false; /* permuted_access.c has begun with it */
    if (!f->waiting) {
        LLVMValueRef other = neighbour(f, inst, &by), low = by > 0 ? inst : other;
        if (!other || LLVMGetAlignment(low) < 2 * WORD)
            return false;
        f->waiting = inst;
        f->awaited = other;
        return true;
    }
    if (inst != f->awaited)
        return false;
    int at[2 * SIMT_LANES];
    LLVMValueRef first = f->waiting, low = LLVMGetAlignment(first) < 2 * WORD ? inst : first, high = low == first ? inst : first;
    for (int i = 0; i < 2 * u->lanes; i++)
        at[i] = i / 2 + (i % 2 ? u->lanes : 0);
    f->waiting = f->awaited = NULL;
    LLVMValueRef both = LLVMBuildShuffleVector(u->b, as_words(f, low), as_words(f, high), simt_const_i32v(u, at, 2 * u->lanes),
                                               "");
    simt_scatter(f, low, LLVMBuildBitCast(u->b, both, u->i64v, ""));
    return true;
}
