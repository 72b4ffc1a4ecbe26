/* Patterns: lanes that are no row of neighbours, but whose distances from each other are known, as the butterflies of a Fourier
 * transform, every second or third element, or elements in reverse.  They are whole registers of memory and permutations.
 *
 * Accesses near each other from one address are taken together: what one of them leaves out another may need.  Rows of structures
 * are interleaved_access.c's, and anything else is left to memory.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

enum {
    NEAR = 40,       /* instructions to look ahead */
    MAX_SPAN = 4096, /* bytes, a page: what lies between two elements that are accessed can then be read, too */
    MAX_PLACES = MAX_SPAN / 4,
    MAX_SOURCES = MAX_SPAN / 16,
    SMALL_REGISTER = 16, /* bytes of a register in which SSSE3 moves bytes to any place */
    LEAST = 4,       /* elements of the shortest vector that is stored */
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
    int source[MAX_PLACES];   /* the register that holds the place, or -1 */
    int n, width;             /* registers, elements of the widest */
    struct {
        int place, width;
    } reg[MAX_SOURCES];
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

/* ---- Which accesses */

static const int64_t *distances(struct simt_fn *f, LLVMValueRef ptr)
{
    const struct simt_val *val = simt_get(f, ptr);
    return val && val->kind == SIMT_AFFINE && !val->check ? val->off : NULL;
}

/* `inst` and others near it, at most `most`; false: it has no pattern. */
static bool find(struct simt_fn *f, LLVMValueRef inst, int most, struct simt_permuted *ret)
{
    bool store = LLVMIsAStoreInst(inst);
    LLVMTypeRef type = simt_access_type(inst);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    int64_t first, at;
    LLVMValueRef root = simt_access_root(f, simt_access_address(inst), &first);
    unsigned size = (unsigned)LLVMStoreSizeOfType(f->u->in_layout, type);
    *ret = (struct simt_permuted){
        .size = size, .align = size, .elem = simt_type(f->u, type), .off = distances(f, simt_access_address(inst))
    };
    if (f->mask || !ret->off || !simt_access_plain(inst, store) || !size_fits(f->u, size) ||
        (kind != LLVMIntegerTypeKind && kind != LLVMFloatTypeKind && kind != LLVMDoubleTypeKind))
        return false;
    int left = NEAR;
    for (LLVMValueRef x = inst; x && ret->n < most && left--; x = LLVMGetNextInstruction(x)) {
        if (simt_access_plain(x, store) && simt_access_type(x) == type &&
            simt_access_root(f, simt_access_address(x), &at) == root && distances(f, simt_access_address(x)) == ret->off) {
            ret->at[ret->n] = at - first;
            ret->inst[ret->n++] = x;
            ret->align = LLVMGetAlignment(x) < ret->align ? LLVMGetAlignment(x) : ret->align;
        } else if (simt_touches_memory(x) && (store || !simt_access_plain(x, false))) {
            break;
        }
    }
    return true;
}

/* Gives each element its place; false: they lie too far apart, or not at multiples of their size. */
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
        for (int i = 0; i < f->u->lanes; i++)
            c->writer[place(c, p, k, i)] = k * SIMT_LANES + i;
    return true;
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

/* Against a load and an insertion for each lane, or for each address where there are few. */
static bool load_pays(struct simt_fn *f, const struct simt_permuted *p, const struct cover *c)
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
    return cost < others;
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

static void loads_build(struct simt_fn *f, const struct simt_permuted *p, const struct cover *c)
{
    struct simt *u = f->u;
    int n = register_width(u, p->size);
    LLVMValueRef source[MAX_SOURCES], part[SIMT_LANES], base = base_pointer(f, p, c);
    struct pick pick[SIMT_LANES];
    for (int i = 0; i < c->n; i++) {
        LLVMValueRef at = simt_advance(u, base, c->reg[i].place * (int64_t)p->size);
        LLVMValueRef x = LLVMBuildLoad2(u->b, LLVMVectorType(p->elem, (unsigned)c->width), at, "");
        LLVMSetAlignment(x, p->align);
        simt_mark_space(u, x, simt_access_address(p->inst[0]));
        source[i] = widen(u, x, c->width, n);
    }
    for (int k = 0; k < p->n; k++) {
        for (int first = 0; first < u->lanes; first += n) {
            load_picks(p, c, k, first, n, pick);
            part[first / n] = picks_build(u, pick, n, source);
        }
        simt_set_vector(f, p->inst[k], simt_join(u, part, u->lanes / n, n));
    }
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
            loads_build(f, &p, &c);
            return true;
        }
    }
    return false;
}

/* ---- Stores */

/* Registers of which every element is written; false: something is left over. */
static bool cover_stores(struct cover *c, int width)
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

static void store_picks(const struct cover *c, int reg, int width, int registers, struct pick *ret)
{
    for (int i = 0; i < width; i++) {
        int writer = i < c->reg[reg].width ? c->writer[c->reg[reg].place + i] : -1, lane = writer % SIMT_LANES;
        ret[i] = writer < 0 ? (struct pick){ -1, 0 }
                            : (struct pick){ writer / SIMT_LANES * registers + lane / width, lane % width };
    }
}

/* Against taking out and storing each lane's. */
static bool store_pays(struct simt_fn *f, const struct simt_permuted *p, const struct cover *c)
{
    int cost = 0, n = c->width;
    struct pick pick[SIMT_LANES];
    for (int i = 0; i < c->n; i++) {
        store_picks(c, i, n, f->u->lanes / n, pick);
        cost += 1 + picks_cost(f->u, p->size, pick, n);
    }
    return cost < p->n * f->u->lanes;
}

static bool stores_find(struct simt_fn *f, LLVMValueRef inst, int most, struct simt_permuted *p, struct cover *c)
{
    return find(f, inst, most, p) && !in_row(f, p) && arrange(f, p, c) && cover_stores(c, register_width(f->u, p->size)) &&
           store_pays(f, p, c);
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
        LLVMValueRef store = LLVMBuildStore(u->b, x, simt_advance(u, base, c->reg[i].place * (int64_t)p->size));
        LLVMSetAlignment(store, p->align);
        simt_mark_space(u, store, simt_access_address(p->inst[0]));
    }
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
    if (arrange(f, p, &c) && cover_stores(&c, register_width(f->u, p->size)))
        stores_build(f, p, &c);
    p->n = 0;
    return true;
}
