/* Patterns: lanes that are no row of neighbours, but whose distances from each other are known, as the butterflies of a Fourier
 * transform, every second or third element, or elements in reverse.  They are whole registers of memory and permutations.
 *
 * With AVX2 alone, where permutations are dear, lanes' neighbouring words may be a load of four for each lane, and
 * transpositions.  Accesses near each other from one address are taken together: what one of them leaves out another may need.
 * Where lanes are off, and where a store leaves something out, each register has a mask of its own: no byte is touched that no
 * lane asks for.  Rows of structures are interleaved_access.c's, and anything else is left to memory.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

enum {
    NEAR = 40,       /* instructions to look ahead */
    MAX_SPAN = 4096, /* bytes, a page: what lies between two elements that are accessed can then be read, too */
    MAX_PLACES = MAX_SPAN / 4,
    MAX_SOURCES = MAX_SPAN / 16,
    SMALL_REGISTER = 16, /* bytes of a register in which SSSE3 moves bytes to any place */
    QUAD = 4,        /* words that one load of a lane reads */
    LEAST = 4,       /* elements of the shortest vector that is stored */
    MASK = 2,        /* cost of a register's mask, in instructions */
};

/* An element of a register that is made: from which one, and where in it. */
struct pick {
    int from, at; /* from -1: anything */
};

/* The registers of memory that hold a pattern's elements.  Places are counted in elements from the lowest one. */
struct cover {
    int span;                 /* places */
    int first;                /* place of lane 0's base in the first access */
    int writer[MAX_PLACES];   /* access * SIMT_LANES + lane that has the place, the last one; -1: none */
    bool shared;              /* there is a place that several lanes have */
    int source[MAX_PLACES];   /* the register that holds the place, or -1 */
    int n, width;             /* registers, elements of the widest */
    struct {
        int place, width;
    } reg[MAX_SOURCES];
    int quads;                    /* if not 0, each lane reads so many times four neighbouring elements instead, ... */
    int64_t quad[SIMT_PERMUTED];  /* ... from there on, as an access is: rising */
};

static int place(const struct cover *c, const struct simt_permuted *p, int k, int lane)
{
    return (int)((p->at[k] + (p->off ? p->off[lane] : 0)) / (int64_t)p->size) + c->first;
}

/* ---- What the machine permutes */

/* Bytes of a register whose elements of `size` bytes it brings into any order. */
static unsigned register_bytes(const struct simt *u, unsigned size)
{
    return size < 4 ? u->options->permute_narrow[size - 1] : u->options->small_masks ? 64 : 32;
}

static bool size_fits(const struct simt *u, unsigned size)
{
    return size == 4 || size == 8 || (size && size <= 2 && register_bytes(u, size));
}

/* Elements of a register, at most as many as there are lanes. */
static int register_width(const struct simt *u, unsigned size)
{
    int n = (int)(register_bytes(u, size) / size);
    return n < u->lanes ? n : u->lanes;
}

/* Can it leave out elements of such a register, and at what is no memory? */
static bool has_masks(const struct simt *u, unsigned size, bool store)
{
    return size < 4 ? u->options->small_masks : store ? u->options->masked_stores : u->options->masks;
}

/* ---- Which accesses */

/* Is the address of a plain access one that lies a constant from p's first one? */
static bool in_pattern(struct simt_fn *f, const struct simt_permuted *p, LLVMValueRef x, int64_t *ret_at)
{
    int64_t first, at;
    const struct simt_val *val = simt_get(f, simt_access_address(x));
    if (!val || val->kind != SIMT_AFFINE || val->off != p->off || val->check != p->check ||
        simt_access_root(f, simt_access_address(x), &at) != simt_access_root(f, simt_access_address(p->inst[0]), &first))
        return false;
    *ret_at = at - first;
    return true;
}

static unsigned access_size(struct simt_fn *f, LLVMValueRef x)
{
    return (unsigned)LLVMStoreSizeOfType(f->u->in_layout, simt_access_type(x));
}

/* Accesses of p's pattern, by one of which another may be moved. */
struct passed {
    int n;
    struct {
        int64_t at;
        unsigned size;
    } x[2 * SIMT_PERMUTED];
};

/* Does what lanes access `at` bytes from the first one touch nothing of those, whatever lanes these are of? */
static bool apart(struct simt_fn *f, const struct simt_permuted *p, const struct passed *others, int64_t at, unsigned size)
{
    for (int k = 0; k < others->n; k++)
        for (int i = 0; i < f->u->lanes; i++)
            for (int j = 0; j < f->u->lanes; j++) {
                int64_t x = p->off[i] + at, y = p->off[j] + others->x[k].at;
                if (x < y + others->x[k].size && y < x + size)
                    return false;
            }
    return true;
}

static bool pass(struct simt_fn *f, const struct simt_permuted *p, struct passed *others, LLVMValueRef x)
{
    int64_t at;
    if (others->n == 2 * SIMT_PERMUTED || !in_pattern(f, p, x, &at))
        return false;
    others->x[others->n].at = at;
    others->x[others->n++].size = access_size(f, x);
    return true;
}

static bool begin(struct simt_fn *f, LLVMValueRef inst, struct simt_permuted *ret)
{
    bool store = LLVMIsAStoreInst(inst);
    LLVMTypeRef type = simt_access_type(inst);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    const struct simt_val *val = simt_get(f, simt_access_address(inst));
    unsigned size = access_size(f, inst);
    *ret = (struct simt_permuted){ .n = 1, .size = size, .align = LLVMGetAlignment(inst), .elem = simt_type(f->u, type),
                                   .inst[0] = inst };
    if (!val || val->kind != SIMT_AFFINE || !val->off || !simt_access_plain(inst, store) || !size_fits(f->u, size))
        return false;
    ret->off = val->off;
    ret->check = val->check;
    return (!f->mask || !store || has_masks(f->u, size, true)) && (!val->check || !f->u->options->versions) &&
           (kind == LLVMIntegerTypeKind || kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind);
}

/* Loads come where the first one is, and stores where the last one is: loads may pass stores to other places, and the other way
 * round, as in updates of one part of a structure after the other. */
static bool find(struct simt_fn *f, LLVMValueRef inst, int most, struct simt_permuted *ret)
{
    bool store = LLVMIsAStoreInst(inst), passing = true;
    struct passed others = { 0 };
    if (!begin(f, inst, ret))
        return false;
    if (store)
        pass(f, ret, &others, inst);
    for (int k = 0; !store && k < f->spreading.n; k++) /* those before it are not there yet */
        passing &= pass(f, ret, &others, f->spreading.inst[k]);
    passing &= !ret->check;
    int left = NEAR;
    for (LLVMValueRef x = LLVMGetNextInstruction(inst); x && ret->n < most && --left; x = LLVMGetNextInstruction(x)) {
        int64_t at;
        bool same = simt_access_plain(x, store) && simt_access_type(x) == simt_access_type(inst) && in_pattern(f, ret, x, &at);
        bool other = !same && simt_touches_memory(x);
        if (same && (store || apart(f, ret, &others, at, ret->size))) {
            ret->at[ret->n] = at;
            ret->inst[ret->n++] = x;
            ret->align = LLVMGetAlignment(x) < ret->align ? LLVMGetAlignment(x) : ret->align;
            if (store && !pass(f, ret, &others, x))
                break;
        } else if (other && store) {
            if (!passing || !simt_access_plain(x, false) || !in_pattern(f, ret, x, &at) ||
                !apart(f, ret, &others, at, access_size(f, x)))
                break;
        } else if (other && !simt_access_plain(x, false)) {
            if (!passing || !simt_access_plain(x, true) || !pass(f, ret, &others, x))
                break;
        }
    }
    return true;
}

/* Gives each element its place; false: they lie too far apart, or not at multiples of their size, or it is not one lane alone
 * whose mask says whether a place is accessed. */
static bool arrange(struct simt_fn *f, const struct simt_permuted *p, struct cover *c)
{
    int64_t lo = 0, hi = 0;
    for (int k = 0; k < p->n; k++)
        for (int i = 0; i < f->u->lanes; i++) {
            int64_t at = p->at[k] + p->off[i];
            lo = (!k && !i) || at < lo ? at : lo;
            hi = (!k && !i) || at > hi ? at : hi;
            if (at % (int64_t)p->size || hi - lo > MAX_SPAN - (int64_t)p->size || (hi - lo) / p->size >= MAX_PLACES)
                return false;
        }
    *c = (struct cover){ .span = (int)((hi - lo) / p->size) + 1, .first = -(int)(lo / (int64_t)p->size) };
    for (int i = 0; i < c->span; i++)
        c->writer[i] = c->source[i] = -1;
    for (int k = 0; k < p->n; k++)
        for (int i = 0; i < f->u->lanes; i++) {
            int *writer = &c->writer[place(c, p, k, i)];
            c->shared |= *writer >= 0 && *writer % SIMT_LANES != i;
            *writer = k * SIMT_LANES + i;
        }
    return !f->mask || !c->shared;
}

/* ---- Registers from registers */

/* Of two registers by any indices: one instruction, or one for each and another that puts them together. */
static int permutation_cost(const struct simt *u, unsigned size)
{
    return size < 4 ? (register_bytes(u, size) > SMALL_REGISTER ? 1 : 3) : u->options->small_masks ? 1 : 2;
}

static int picks_cost(const struct simt *u, unsigned size, const struct pick *p, int n)
{
    int sources = 0;
    bool moved = false;
    for (int i = 0; i < n; i++) {
        bool seen = p[i].from < 0;
        for (int j = 0; j < i && !seen; j++)
            seen = p[j].from == p[i].from;
        sources += !seen;
        moved |= p[i].from >= 0 && p[i].at != i;
    }
    return sources > 1 ? (sources - 1) * permutation_cost(u, size) : moved;
}

/* From vectors of `n` elements each. */
static LLVMValueRef picks_build(struct simt *u, const struct pick *p, int n, LLVMValueRef const *source)
{
    LLVMValueRef r = NULL;
    bool done[SIMT_LANES] = { false };
    int at[SIMT_LANES];
    for (int left = 0; left < n; left++) {
        int from = p[left].from;
        if (from < 0 || done[left])
            continue;
        bool keeps = true;
        for (int i = 0; i < n; i++) {
            bool here = p[i].from == from;
            at[i] = !here ? i : r ? n + p[i].at : p[i].at;
            keeps &= !here || p[i].at == i;
            done[i] |= here;
        }
        if (r || !keeps)
            r = LLVMBuildShuffleVector(u->b, r ? r : source[from], r ? source[from] : LLVMGetPoison(LLVMTypeOf(source[from])),
                                       simt_const_i32v(u, at, n), "");
        else
            r = source[from];
    }
    return r;
}

static LLVMValueRef base_pointer(struct simt_fn *f, const struct simt_permuted *p, const struct cover *c)
{
    return simt_advance(f->u, simt_address(f, simt_access_address(p->inst[0])), -c->first * (int64_t)p->size);
}

/* Which elements of the `n` from that place on are accessed; NULL: all of them. */
static LLVMValueRef register_mask(struct simt_fn *f, const struct cover *c, int from, int n)
{
    struct simt *u = f->u;
    LLVMValueRef on[SIMT_LANES];
    int at[SIMT_LANES];
    bool all = !f->mask;
    for (int i = 0; i < n; i++) {
        int writer = from + i < c->span ? c->writer[from + i] : -1;
        at[i] = writer < 0 ? u->lanes : writer % SIMT_LANES;
        on[i] = LLVMConstInt(u->i1, writer >= 0, 0);
        all &= writer >= 0;
    }
    if (f->mask)
        return LLVMBuildShuffleVector(u->b, f->mask, u->no_lanes, simt_const_i32v(u, at, n), "");
    return all ? NULL : LLVMConstVector(on, (unsigned)n);
}

/* ---- Loads */

/* Registers from the first element that none holds yet; none reaches behind the last one. */
static void cover_loads(struct cover *c, int width)
{
    for (c->width = width; c->width > c->span; c->width /= 2)
        ;
    for (int i = 0; i < c->span; i++) {
        if (c->writer[i] < 0 || c->source[i] >= 0)
            continue;
        int from = i + c->width <= c->span ? i : c->span - c->width;
        for (int j = from; j < from + c->width; j++)
            c->source[j] = c->source[j] < 0 ? c->n : c->source[j];
        c->reg[c->n].place = from;
        c->reg[c->n++].width = c->width;
    }
}

/* Where the register of lanes `first` and on of access `k` comes from. */
static void load_picks(const struct simt_permuted *p, const struct cover *c, int k, int first, int n, struct pick *ret)
{
    for (int i = 0; i < n; i++) {
        int at = place(c, p, k, first + i), from = c->source[at];
        ret[i] = (struct pick){ from, at - c->reg[from].place };
    }
}

/* With AVX2, where permutations of any two registers are three instructions. */
static bool quads_fit(struct simt_fn *f, const struct simt_permuted *p, const struct cover *c)
{
    const struct simt_options *o = f->u->options;
    return o->masks && !o->small_masks && p->size == 4 && f->u->lanes % 8 == 0 && c->span >= QUAD;
}

static void find_quads(const struct simt_permuted *p, struct cover *c)
{
    int64_t bytes = QUAD * (int64_t)p->size;
    for (bool more = true; more;) {
        int64_t next = INT64_MAX;
        for (int k = 0; k < p->n; k++)
            if ((!c->quads || p->at[k] >= c->quad[c->quads - 1] + bytes) && p->at[k] < next)
                next = p->at[k];
        more = next < INT64_MAX;
        if (more)
            c->quad[c->quads++] = next;
    }
}

/* Which of its elements an access is; -1: it is none of that quad. */
static int in_quad(const struct simt_permuted *p, const struct cover *c, int quad, int k)
{
    int64_t by = p->at[k] - c->quad[quad], bytes = QUAD * (int64_t)p->size;
    return by >= 0 && by < bytes ? (int)(by / (int64_t)p->size) : -1;
}

static int quads_cost(struct simt_fn *f, const struct simt_permuted *p, const struct cover *c)
{
    int cost = c->quads * f->u->lanes;
    for (int q = 0; q < c->quads; q++) {
        bool pair[QUAD / 2] = { false };
        for (int k = 0; k < p->n; k++) {
            int at = in_quad(p, c, q, k);
            cost += at >= 0 ? f->u->lanes / 8 : 0;
            if (at >= 0 && !pair[at / 2])
                cost += 2 * f->u->lanes / 8;
            pair[at >= 0 ? at / 2 : 0] |= at >= 0;
        }
    }
    return cost;
}

/* Against a load and an insertion for each lane, or for each address where there are few. */
static bool load_pays(struct simt_fn *f, const struct simt_permuted *p, struct cover *c)
{
    int cost = c->n, others = 0, n = register_width(f->u, p->size);
    struct pick pick[SIMT_LANES];
    for (int k = 0; k < p->n; k++) {
        bool seen[MAX_PLACES] = { false };
        int different = 0;
        for (int i = 0; i < f->u->lanes; i++) {
            different += !seen[place(c, p, k, i)];
            seen[place(c, p, k, i)] = true;
        }
        others += different + (different <= n ? f->u->lanes / n : 0);
        for (int first = 0; first < f->u->lanes; first += n) {
            load_picks(p, c, k, first, n, pick);
            cost += picks_cost(f->u, p->size, pick, n);
        }
    }
    if (quads_fit(f, p, c))
        find_quads(p, c);
    int by_lanes = quads_cost(f, p, c);
    if (by_lanes >= cost)
        c->quads = 0;
    return (c->quads ? by_lanes : cost) < others;
}

static LLVMValueRef widen(struct simt *u, LLVMValueRef x, int from, int to)
{
    int at[SIMT_LANES];
    if (from == to)
        return x;
    for (int i = 0; i < to; i++)
        at[i] = i < from ? i : 0;
    return LLVMBuildShuffleVector(u->b, x, LLVMGetPoison(LLVMTypeOf(x)), simt_const_i32v(u, at, to), "");
}

static void loads_build(struct simt_fn *f, const struct simt_permuted *p, const struct cover *c, LLVMValueRef base, bool masked,
                        LLVMValueRef ret[SIMT_PERMUTED])
{
    struct simt *u = f->u;
    int n = register_width(u, p->size);
    LLVMValueRef source[MAX_SOURCES], part[SIMT_LANES];
    struct pick pick[SIMT_LANES];
    for (int i = 0; i < c->n; i++) {
        LLVMValueRef at = simt_advance(u, base, c->reg[i].place * (int64_t)p->size);
        LLVMTypeRef types[2] = { LLVMVectorType(p->elem, (unsigned)c->width), u->ptr };
        LLVMValueRef mask = masked ? register_mask(f, c, c->reg[i].place, c->width) : NULL;
        LLVMValueRef args[3] = { at, mask, LLVMGetPoison(types[0]) };
        LLVMValueRef x = mask ? simt_masked(u, PTX_INTRINSIC_MASKED_LOAD, types, args, p->align)
                              : LLVMBuildLoad2(u->b, types[0], at, "");
        if (!mask)
            LLVMSetAlignment(x, p->align);
        simt_mark_space(u, x, simt_access_address(p->inst[0]));
        source[i] = widen(u, x, c->width, n);
    }
    for (int k = 0; k < p->n; k++) {
        for (int first = 0; first < u->lanes; first += n) {
            load_picks(p, c, k, first, n, pick);
            part[first / n] = picks_build(u, pick, n, source);
        }
        ret[k] = simt_join(u, part, u->lanes / n, n);
    }
}

/* Two neighbouring elements of lanes a and b, and of those four further on, from registers in which a lane's four are a half.  Of
 * lanes that began `shift` too soon they are so much further on. */
static LLVMValueRef quad_pair(struct simt *u, LLVMValueRef a, LLVMValueRef b, const int *shift, int first)
{
    int at[8];
    for (int i = 0; i < 8; i++) {
        int lane = i % 2 + i / 4 * 4, element = first + i / 2 % 2 + shift[lane];
        at[i] = i % 2 * 8 + i / 4 * 4 + (element < QUAD ? element : QUAD - 1);
    }
    return LLVMBuildShuffleVector(u->b, a, b, simt_const_i32v(u, at, 8), "");
}

/* Eight lanes' elements, transposed. */
static void quad_lanes(struct simt_fn *f, const struct simt_permuted *p, const struct cover *c, LLVMValueRef base, int quad,
                       int first, LLVMValueRef ret[SIMT_PERMUTED])
{
    static const int both[8] = { 0, 1, 2, 3, 4, 5, 6, 7 }, even[8] = { 0, 1, 8, 9, 4, 5, 12, 13 },
                     odd[8] = { 2, 3, 10, 11, 6, 7, 14, 15 };
    struct simt *u = f->u;
    LLVMValueRef half[8], row[QUAD], pair[QUAD / 2][2] = { { NULL } };
    int shift[8];
    for (int i = 0; i < 8; i++) {
        int from = (int)((c->quad[quad] + p->off[first + i]) / (int64_t)p->size) + c->first;
        shift[i] = from + QUAD > c->span ? from + QUAD - c->span : 0; /* nothing lies behind the last element */
        half[i] = LLVMBuildLoad2(u->b, LLVMVectorType(p->elem, QUAD), simt_advance(u, base, (from - shift[i]) * (int64_t)p->size),
                                 "");
        LLVMSetAlignment(half[i], p->align);
        simt_mark_space(u, half[i], simt_access_address(p->inst[0]));
    }
    for (int i = 0; i < QUAD; i++)
        row[i] = LLVMBuildShuffleVector(u->b, half[i], half[i + 4], simt_const_i32v(u, both, 8), "");
    for (int k = 0; k < p->n; k++) {
        int at = in_quad(p, c, quad, k), q = at / 2;
        if (at < 0)
            continue;
        for (int i = 0; i < 2 && !pair[q][1]; i++)
            pair[q][i] = quad_pair(u, row[2 * i], row[2 * i + 1], shift + 2 * i, 2 * q);
        ret[k] = LLVMBuildShuffleVector(u->b, pair[q][0], pair[q][1], simt_const_i32v(u, at % 2 ? odd : even, 8), "");
    }
}

static void whole_build(struct simt_fn *f, const struct simt_permuted *p, const struct cover *c, LLVMValueRef base,
                        LLVMValueRef ret[SIMT_PERMUTED])
{
    loads_build(f, p, c, base, false, ret);
}

static void quads_build(struct simt_fn *f, const struct simt_permuted *p, const struct cover *c, LLVMValueRef base,
                        LLVMValueRef ret[SIMT_PERMUTED])
{
    LLVMValueRef part[SIMT_PERMUTED][SIMT_LANES / 8], eight[SIMT_PERMUTED] = { NULL };
    int parts = f->u->lanes / 8;
    for (int i = 0; i < parts; i++) {
        for (int q = 0; q < c->quads; q++)
            quad_lanes(f, p, c, base, q, 8 * i, eight);
        for (int k = 0; k < p->n; k++)
            part[k][i] = eight[k];
    }
    for (int k = 0; k < p->n; k++)
        ret[k] = simt_join(f->u, part[k], parts, 8);
}

/* Where all that lies between may be read: whole registers.  Else a mask for each, or each lane by itself. */
static void loads_emit(struct simt_fn *f, const struct simt_permuted *p, const struct cover *c)
{
    struct simt *u = f->u;
    LLVMValueRef base = base_pointer(f, p, c), ok = simt_ok(f, simt_access_address(p->inst[0])), x[2][SIMT_PERMUTED];
    LLVMBasicBlockRef from[2];
    if (f->mask)
        ok = simt_and(u, ok, simt_may_read_all(f, base, c->span * (int64_t)p->size));
    if (!ok) {
        (c->quads ? quads_build : whole_build)(f, p, c, base, x[0]);
    } else {
        LLVMBasicBlockRef all = simt_new_block(f, "load.all"), some = simt_new_block(f, "load.some"),
                          done = simt_new_block(f, "load.done");
        LLVMBuildCondBr(u->b, ok, all, some);
        LLVMPositionBuilderAtEnd(u->b, all);
        (c->quads ? quads_build : whole_build)(f, p, c, base, x[0]);
        from[0] = LLVMGetInsertBlock(u->b);
        LLVMBuildBr(u->b, done);
        LLVMPositionBuilderAtEnd(u->b, some);
        f->epoch++;
        if (!p->check && has_masks(u, p->size, false))
            loads_build(f, p, c, base, true, x[1]);
        else
            for (int k = 0; k < p->n; k++)
                x[1][k] = simt_gather_some(f, p->inst[k], p->inst[0], p->at[k]);
        from[1] = LLVMGetInsertBlock(u->b);
        LLVMBuildBr(u->b, done);
        LLVMPositionBuilderAtEnd(u->b, done);
        f->epoch++;
    }
    for (int k = 0; k < p->n; k++)
        simt_set_vector(f, p->inst[k], ok ? simt_phi2(u, (LLVMValueRef[]){ x[0][k], x[1][k] }, from) : x[0][k]);
}

/* Neighbours in whole vectors are the better for a plain load. */
static bool in_row(struct simt_fn *f, const struct simt_permuted *p)
{
    for (int i = 1; i < f->u->lanes; i++)
        if (i % 4 && p->off[i] != p->off[i - 1] + (int64_t)p->size)
            return false;
    return true;
}

bool simt_permuted_load(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt_permuted p;
    struct cover c;
    for (int most = SIMT_PERMUTED; most; most = most > 1 ? 1 : 0) {
        if (!find(f, inst, most, &p) || in_row(f, &p))
            return false;
        if (!arrange(f, &p, &c))
            continue;
        cover_loads(&c, register_width(f->u, p.size));
        if (load_pays(f, &p, &c)) {
            loads_emit(f, &p, &c);
            return true;
        }
    }
    return false;
}

/* ---- Stores */

/* Registers of which some elements are written. */
static void cover_some(struct cover *c, int width)
{
    c->width = width;
    c->n = 0;
    for (int i = 0; i < c->span;) {
        bool some = c->writer[i] >= 0;
        c->reg[c->n].place = i;
        c->reg[c->n].width = width;
        c->n += some;
        i += some ? width : 1;
    }
}

/* Registers of which every element is written; false: something is left over. */
static bool cover_all(struct cover *c, int width)
{
    c->width = width;
    for (int i = 0; i < c->span;) {
        int run = 0, n = width;
        while (run < width && i + run < c->span && c->writer[i + run] >= 0)
            run++;
        while (n > run)
            n /= 2;
        if (run && n < LEAST)
            return false;
        c->reg[c->n].place = i;
        c->reg[c->n].width = n;
        c->n += run > 0;
        i += run ? n : 1;
    }
    return true;
}

static bool cover_stores(struct simt_fn *f, const struct simt_permuted *p, struct cover *c)
{
    int width = register_width(f->u, p->size);
    if (!f->mask && cover_all(c, width))
        return true;
    cover_some(c, width);
    return has_masks(f->u, p->size, true);
}

static void store_picks(const struct cover *c, int reg, int width, int registers, struct pick *ret)
{
    for (int i = 0; i < width; i++) {
        int at = c->reg[reg].place + i, lane;
        int writer = i < c->reg[reg].width && at < c->span ? c->writer[at] : -1;
        lane = writer % SIMT_LANES;
        ret[i] = writer < 0 ? (struct pick){ -1, 0 }
                            : (struct pick){ writer / SIMT_LANES * registers + lane / width, lane % width };
    }
}

/* Against taking out and storing each lane's, which takes twice the time where lanes may be off. */
static bool store_pays(struct simt_fn *f, const struct simt_permuted *p, const struct cover *c)
{
    int cost = 0, n = c->width;
    struct pick pick[SIMT_LANES];
    for (int i = 0; i < c->n; i++) {
        store_picks(c, i, n, f->u->lanes / n, pick);
        cost += 1 + (f->mask ? MASK : 0) + picks_cost(f->u, p->size, pick, n);
    }
    return cost < p->n * f->u->lanes * (f->mask ? 2 : 1);
}

static bool stores_find(struct simt_fn *f, LLVMValueRef inst, int most, struct simt_permuted *p, struct cover *c)
{
    return find(f, inst, most, p) && !in_row(f, p) && arrange(f, p, c) && cover_stores(f, p, c) && store_pays(f, p, c);
}

static void stores_build(struct simt_fn *f, const struct simt_permuted *p, const struct cover *c)
{
    struct simt *u = f->u;
    int n = c->width, registers = u->lanes / n;
    LLVMValueRef source[SIMT_PERMUTED * SIMT_LANES], base = base_pointer(f, p, c);
    struct pick pick[SIMT_LANES];
    for (int k = 0; k < p->n; k++) {
        LLVMValueRef x = simt_vector(f, LLVMGetOperand(p->inst[k], 0));
        for (int i = 0; i < registers; i++)
            source[k * registers + i] = simt_slice(u, x, i * n, n);
    }
    for (int i = 0; i < c->n; i++) {
        store_picks(c, i, n, registers, pick);
        LLVMValueRef x = widen(u, picks_build(u, pick, n, source), n, c->reg[i].width);
        LLVMValueRef at = simt_advance(u, base, c->reg[i].place * (int64_t)p->size);
        LLVMValueRef mask = register_mask(f, c, c->reg[i].place, c->reg[i].width), args[3] = { x, at, mask };
        LLVMTypeRef types[2] = { LLVMTypeOf(x), u->ptr };
        LLVMValueRef store = mask ? simt_masked(u, PTX_INTRINSIC_MASKED_STORE, types, args, p->align)
                                  : LLVMBuildStore(u->b, x, at);
        if (!mask)
            LLVMSetAlignment(store, p->align);
        simt_mark_space(u, store, simt_access_address(p->inst[0]));
    }
}

/* Are there more of them than had better be stored one after another, where masks are no registers? */
static LLVMValueRef many_lanes(struct simt *u, LLVMValueRef mask)
{
    LLVMValueRef bits = simt_bits(u, mask), few = simt_c32(u, (int64_t)simt_threshold(u, PTX_THRESHOLD_STORE_FEW));
    return LLVMBuildICmp(u->b, LLVMIntUGT, simt_intrinsic(u, "llvm.ctpop", &u->i32, 1, &bits, 1), few, "");
}

static void stores_emit(struct simt_fn *f, const struct simt_permuted *p, const struct cover *c)
{
    struct simt *u = f->u;
    LLVMValueRef ok = simt_ok(f, simt_access_address(p->inst[0]));
    if (f->mask && !u->options->small_masks && !f->updates) /* of those there may be none */
        ok = simt_and(u, ok, many_lanes(u, f->mask));
    if (!ok) {
        stores_build(f, p, c);
        return;
    }
    LLVMBasicBlockRef rows = simt_new_block(f, "store.rows"), each = simt_new_block(f, "store.each"),
                      done = simt_new_block(f, "store.done");
    LLVMValueRef x[SIMT_PERMUTED];
    for (int k = 0; k < p->n; k++)
        x[k] = simt_vector(f, LLVMGetOperand(p->inst[k], 0));
    LLVMBuildCondBr(u->b, ok, rows, each);
    LLVMPositionBuilderAtEnd(u->b, rows);
    stores_build(f, p, c);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, each);
    f->epoch++;
    for (int k = 0; k < p->n; k++)
        simt_scatter_some(f, p->inst[k], x[k]);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, done);
    f->epoch++;
}

bool simt_permuted_store(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt_permuted *p = &f->spreading;
    struct cover c;
    if (!p->n) {
        int most = SIMT_PERMUTED;
        while (most && !stores_find(f, inst, most, p, &c))
            most = most > 1 ? most / 2 : 0;
        if (!most) {
            p->n = 0;
            return false;
        }
    }
    if (inst != p->inst[p->n - 1])
        return true; /* with the last one */
    if (arrange(f, p, &c) && cover_stores(f, p, &c))
        stores_emit(f, p, &c);
    p->n = 0;
    return true;
}
