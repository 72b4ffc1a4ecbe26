/* Subwords: bytes and halfwords that each lane reads near each other wherever it likes, as a pixel of three or four bytes, or at
 * known distances that are far apart, as a string of each lane's.  One gather of words is a fraction of the work of a load for
 * each lane and byte.
 *
 * No page is touched that the lane does not read of: a word that lies between what is read is of the same pages, and any other
 * one begins sooner where it would reach the next page.  Lanes side by side are permuted_access.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

enum { NEAR = 60 /* instructions between two of them */, WORD = 4 /* bytes */, PAGE = 4096, AROUND = 8 };

/* What a block reads near one subword, as bits: AROUND is that one's first byte. */
struct near_bytes {
    LLVMValueRef root;
    int64_t first;      /* of the subword, from the root */
    uint32_t read;      /* bytes that each lane reads */
    LLVMValueRef at[2 * AROUND]; /* loads that can be made with it, by their first byte; of two alike the first one */
};

static int subword_bytes(LLVMValueRef x)
{
    if (!simt_access_plain(x, false) || LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMIntegerTypeKind)
        return 0;
    unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(x));
    return bits == 8 || bits == 16 ? (int)bits / 8 : 0;
}

/* Is the address one of which lanes have words apart from each other, as far as is known? */
static bool far_apart(struct simt_fn *f, LLVMValueRef p)
{
    const struct simt_val *val = simt_get(f, p);
    if (!val || val->kind != SIMT_AFFINE || !val->off)
        return false;
    for (int i = 1; i < f->u->lanes; i++)
        if (val->off[i] < val->off[i - 1] + WORD && val->off[i] > val->off[i - 1] - WORD)
            return false;
    return true;
}

/* May `x` write what a load reads that is of state space `space`?  Spaces are apart but for generic addresses. */
static bool may_write(LLVMValueRef x, unsigned space)
{
    if (!simt_touches_memory(x) || simt_access_plain(x, false))
        return false;
    unsigned other = simt_access_plain(x, true) ? simt_space(LLVMTypeOf(simt_access_address(x))) : SIMT_SPACE_GENERIC;
    return space == SIMT_SPACE_GENERIC || other == SIMT_SPACE_GENERIC || other == space;
}

/* Goes one way through the block, up to what may write. */
static void look(struct simt_fn *f, LLVMValueRef inst, bool back, struct near_bytes *n)
{
    LLVMValueRef x = inst;
    for (int left = NEAR; left; left--) {
        int64_t at;
        x = back ? LLVMGetPreviousInstruction(x) : LLVMGetNextInstruction(x);
        if (!x || may_write(x, simt_space(LLVMTypeOf(simt_access_address(inst)))))
            return;
        int size = subword_bytes(x);
        if (!size || simt_access_root(f, simt_access_address(x), &at) != n->root)
            continue;
        int64_t place = at - n->first + AROUND;
        if (place < 0 || place + size > 2 * AROUND)
            continue;
        n->read |= ((1u << size) - 1) << place;
        if (!back && !n->at[place] && !simt_get(f, x)->v)
            n->at[place] = x;
    }
}

static int made_within(const struct near_bytes *n, int from)
{
    int count = 0;
    for (int i = 0; i < WORD; i++)
        count += n->at[from + i] && i + subword_bytes(n->at[from + i]) <= WORD;
    return count;
}

static bool between_read(const struct near_bytes *n, int from)
{
    return n->read >> from & 1 && n->read >> (from + WORD - 1) & 1;
}

/* The word with most of them in it that has the subword's own bytes, one between what is read if there is a choice. */
static int best_word(const struct near_bytes *n, int size)
{
    int best = AROUND;
    for (int from = AROUND + size - WORD; from <= AROUND; from++)
        if (2 * made_within(n, from) + between_read(n, from) > 2 * made_within(n, best) + between_read(n, best))
            best = from;
    return best;
}

static LLVMValueRef each_lane(struct simt *u, LLVMTypeRef type, int64_t x)
{
    return simt_splat(u, LLVMConstInt(type, (uint64_t)x, 0));
}

/* The words at `ptrs`, of which lanes read the first bytes alone: those that would reach into another page begin `back`
 * sooner. */
static LLVMValueRef load_within_page(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef ptrs, int back)
{
    struct simt *u = f->u;
    LLVMValueRef in_page = LLVMBuildAnd(u->b, LLVMBuildPtrToInt(u->b, ptrs, u->i64v, ""), each_lane(u, u->i64, PAGE - 1), "");
    LLVMValueRef ends = LLVMBuildICmp(u->b, LLVMIntUGT, in_page, each_lane(u, u->i64, PAGE - WORD), "");
    LLVMValueRef sooner = LLVMBuildSelect(u->b, ends, each_lane(u, u->i64, -back), LLVMConstNull(u->i64v), "");
    LLVMValueRef shift = LLVMBuildSelect(u->b, ends, each_lane(u, u->i32, 8 * back), LLVMConstNull(u->i32v), "");
    ptrs = LLVMBuildGEP2(u->b, u->i8, ptrs, &sooner, 1, "");
    return LLVMBuildLShr(u->b, simt_gather_at(f, inst, u->i32, ptrs), shift, "");
}

static bool load_words(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMValueRef ptr = simt_access_address(inst);
    struct near_bytes n = { .at = { [AROUND] = inst } };
    int size = subword_bytes(inst);
    if (!size || f->form == SIMT_FORM_SINGLE)
        return false;
    n.root = simt_access_root(f, ptr, &n.first);
    n.read = ((1u << size) - 1) << AROUND;
    look(f, inst, false, &n);
    look(f, inst, true, &n);
    int from = best_word(&n, size), end = from;
    bool between = between_read(&n, from);
    if (made_within(&n, from) < 2)
        return false;
    while (!between && !n.at[from])
        from++;
    for (int i = 0; i < WORD; i++)
        if (n.at[from + i] && i + subword_bytes(n.at[from + i]) <= WORD)
            end = from + i + subword_bytes(n.at[from + i]) > end ? from + i + subword_bytes(n.at[from + i]) : end;
    LLVMValueRef ptrs = simt_addresses(f, ptr), by = simt_c64(u, from - AROUND);
    ptrs = from == AROUND ? ptrs : LLVMBuildGEP2(u->b, u->i8, ptrs, &by, 1, "");
    LLVMValueRef words = between ? simt_gather_at(f, inst, u->i32, ptrs)
                                 : load_within_page(f, inst, ptrs, WORD - (end - from));
    for (int i = 0; i < WORD; i++) {
        LLVMValueRef x = n.at[from + i];
        if (!x || i + subword_bytes(x) > WORD)
            continue;
        LLVMValueRef part = LLVMBuildLShr(u->b, words, each_lane(u, u->i32, 8 * i), "");
        simt_set_vector(f, x, LLVMBuildTrunc(u->b, part, simt_vec_type(u, LLVMTypeOf(x)), ""));
    }
    return true;
}

bool simt_subword_load(struct simt_fn *f, LLVMValueRef inst)
{
    return simt_varying(f, simt_access_address(inst)) && load_words(f, inst);
}

bool simt_far_subword_load(struct simt_fn *f, LLVMValueRef inst)
{
    return far_apart(f, simt_access_address(inst)) && load_words(f, inst);
}
