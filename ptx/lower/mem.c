/* Moving data: mov, ld, st, address conversion, fences, prefetch (PTX ISA 9.7.9, 9.7.13.4).  Atomics are in atom.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

bool ptx_lower_mov(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    if (in->vec == 1) {
        ptx_dst(l, &in->ops[0], t, ptx_src(l, &in->ops[1], t));
        return true;
    }
    const struct ptx_operand *to, *from;
    unsigned n = ptx_elements(&in->ops[0], &to);
    LLVMValueRef v[8];
    ptx_elements(&in->ops[1], &from);
    for (unsigned i = 0; i < n; i++) /* all before any: v.yx may come from v.xy */
        v[i] = ptx_src(l, &from[i], t);
    for (unsigned i = 0; i < n; i++)
        ptx_dst(l, &to[i], t, v[i]);
    return true;
}

/* ---- Ordering: .weak and no word are plain; .volatile and the rest say how */
static const char *scope_name(const struct ptx_instr *in)
{
    if (ptx_has(in, PTX_MOD_CTA))
        return "workgroup";
    return ptx_has(in, PTX_MOD_GPU) || ptx_has(in, PTX_MOD_CLUSTER) ? "agent" : ""; /* .sys is LLVM's default scope */
}

enum access { PLAIN, VOLATILE, ATOMIC };
struct ordering {
    enum access access;
    LLVMAtomicOrdering order;
    unsigned scope;
};

/* Nobody else writes a parameter, so .volatile says nothing of one. */
static struct ordering ordering_of(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct ordering o = { PLAIN, LLVMAtomicOrderingMonotonic, 0 };
    if (in->space != PTX_SPACE_PARAM && (ptx_has(in, PTX_MOD_VOLATILE) || ptx_has(in, PTX_MOD_MMIO)))
        o.access = VOLATILE;
    else if (ptx_has(in, PTX_MOD_RELAXED) || ptx_has(in, PTX_MOD_ACQUIRE) || ptx_has(in, PTX_MOD_RELEASE))
        o.access = ATOMIC;
    if (ptx_has(in, PTX_MOD_ACQUIRE))
        o.order = LLVMAtomicOrderingAcquire;
    if (ptx_has(in, PTX_MOD_RELEASE))
        o.order = LLVMAtomicOrderingRelease;
    o.scope = ptx_scope(l, scope_name(in));
    return o;
}

static void access_mark(struct ptx_lower *l, LLVMValueRef access, struct ordering o, unsigned align)
{
    LLVMSetAlignment(access, align);
    if (o.access == VOLATILE)
        LLVMSetVolatile(access, 1);
    if (o.access != ATOMIC)
        return;
    LLVMSetOrdering(access, o.order);
    LLVMSetAtomicSyncScopeID(access, o.scope);
}

/* What lies in memory for one element: half, bfloat and pairs as integers, so that loads are of simple types. */
static LLVMTypeRef memory_type(struct ptx_lower *l, enum ptx_type type)
{
    return type == PTX_F32 || type == PTX_F64 ? ptx_llvm_type(l, type) : ptx_int_type(l, ptx_type_bits(type));
}

/* True when nothing writes what is read while the kernel runs. */
static bool is_invariant(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef pointer)
{
    unsigned as = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));
    return as == AS_CONST || (in->space == PTX_SPACE_GLOBAL && ptx_has(in, PTX_MOD_NC));
}

/* LLVM splits a volatile integer of 16 bytes, not so a vector. */
static bool as_pair(LLVMTypeRef type, struct ordering o)
{
    return o.access == VOLATILE && LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 128;
}

static LLVMValueRef load_pair(struct ptx_lower *l, LLVMValueRef p, unsigned align, struct ordering o)
{
    LLVMValueRef pair = LLVMBuildLoad2(l->builder, LLVMVectorType(l->i64, 2), p, "");
    access_mark(l, pair, o, align);
    LLVMValueRef low = LLVMBuildExtractElement(l->builder, pair, b_i32(l, 0), "");
    LLVMValueRef high = LLVMBuildExtractElement(l->builder, pair, b_i32(l, 1), "");
    return b_or(l, b_zext(l, low, l->i128), b_shl(l, b_zext(l, high, l->i128), b_int(l->i128, 64)));
}

static void store_pair(struct ptx_lower *l, LLVMValueRef v, LLVMValueRef p, unsigned align, struct ordering o)
{
    LLVMValueRef pair = LLVMGetPoison(LLVMVectorType(l->i64, 2)), high = b_lshr(l, v, b_int(l->i128, 64));
    pair = LLVMBuildInsertElement(l->builder, pair, b_trunc(l, v, l->i64), b_i32(l, 0), "");
    pair = LLVMBuildInsertElement(l->builder, pair, b_trunc(l, high, l->i64), b_i32(l, 1), "");
    access_mark(l, LLVMBuildStore(l->builder, pair, p), o, align);
}

static LLVMValueRef load_one(struct ptx_lower *l, const struct ptx_instr *in, LLVMTypeRef type, LLVMValueRef p,
                             unsigned align, struct ordering o)
{
    if (as_pair(type, o) && !(l->target->features & PTX_TARGET_ATOMIC_128))
        return load_pair(l, p, align, o);
    LLVMValueRef v = LLVMBuildLoad2(l->builder, type, p, "");
    access_mark(l, v, o, align);
    if (o.access == PLAIN && is_invariant(l, in, p))
        ptx_mark(v, PTX_INVARIANT);
    return v;
}

/* Alignment in bytes that an access of `n` elements may count on: PTX asks for the whole access's size.  Memory of the stack
 * that this lowering laid out is aligned, but .param areas are as aligned as their offset says. */
static unsigned access_align(const struct ptx_instr *in, unsigned bytes)
{
    return in->space == PTX_SPACE_PARAM && bytes > 8 ? 8 : bytes;
}

/* Ordered accesses of a vector are one access per lane where the machine can: PTX promises it of the elements only, but programs
 * that keep a value beside its flag count on it.  The integer that holds all `n` elements, or NULL: element by element. */
static LLVMTypeRef whole_type(struct ptx_lower *l, const struct ptx_instr *in, unsigned n, unsigned each, struct ordering o)
{
    unsigned bytes = n * each;
    if (n == 1 || o.access == PLAIN || in->space == PTX_SPACE_PARAM)
        return NULL;
    bool one_piece = bytes <= 8 || (bytes == 16 && (l->target->features & PTX_TARGET_ATOMIC_128));
    return one_piece ? ptx_int_type(l, bytes * 8) : NULL;
}

static void load_whole(struct ptx_lower *l, const struct ptx_instr *in, const struct ptx_operand *items, unsigned n,
                       LLVMTypeRef type, LLVMTypeRef whole, LLVMValueRef p, struct ordering o)
{
    enum ptx_type t = in->types[in->n_types - 1];
    unsigned bits = ptx_type_bits(t);
    o.access = ATOMIC; /* a volatile access of 16 bytes may be split, a relaxed one may not */
    LLVMValueRef v = load_one(l, in, whole, p, n * bits / 8, o);
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef part = b_trunc(l, b_lshr(l, v, b_int(whole, (uint64_t)i * bits)), ptx_int_type(l, bits));
        ptx_dst(l, &items[i], t, b_bitcast(l, part, type));
    }
}

/* Where 16 bytes have no atomic access, a volatile one of the whole is one instruction all the same; the order comes from fences
 * then. */
static bool is_fenced(struct ptx_lower *l, unsigned n, unsigned each, struct ordering *o)
{
    if (o->access == VOLATILE) /* .mmio */
        return o->order != LLVMAtomicOrderingMonotonic;
    if ((each == 16 && (l->target->features & PTX_TARGET_ATOMIC_128)) || o->access != ATOMIC || (each != 16 && n * each != 16))
        return false;
    o->access = VOLATILE;
    return o->order != LLVMAtomicOrderingMonotonic;
}

/* Beyond 16 bytes no machine has one ordered access. */
static bool by_element(unsigned n, unsigned each, struct ordering o)
{
    return n == 1 || o.access == ATOMIC || (o.access == VOLATILE && n * each > 16);
}

/* What an ld or st is to do: `n` elements of `each` bytes at `p`, as one integer of type `whole` where that is not NULL. */
struct ld_st {
    enum ptx_type t;
    const struct ptx_operand *items;
    unsigned n, each;
    LLVMTypeRef type, whole;
    struct ordering o;
    LLVMValueRef p;
};

static bool ld_st_begin(struct ptx_lower *l, const struct ptx_instr *in, const struct ptx_operand *value,
                        const struct ptx_operand *address, struct ld_st *ret)
{
    ret->t = in->types[in->n_types - 1];
    ret->n = ptx_elements(value, &ret->items);
    ret->each = ptx_type_bits(ret->t) / 8;
    if (in->vec * ret->each > 32)
        return ptx_lower_unsupported(l, in, "more than 256 bits at once");
    if (value->kind == PTX_OP_VECTOR && in->vec <= 1)
        ret->n = 1, ret->items = value;
    ret->type = memory_type(l, ret->t);
    ret->o = ordering_of(l, in);
    ret->p = ptx_address(l, address, in->space);
    ret->whole = whole_type(l, in, ret->n, ret->each, ret->o);
    return true;
}

bool ptx_lower_ld(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct ld_st a;
    if (!ld_st_begin(l, in, &in->ops[0], &in->ops[1], &a))
        return false;
    if (a.whole) {
        load_whole(l, in, a.items, a.n, a.type, a.whole, a.p, a.o);
        return true;
    }
    bool fenced = is_fenced(l, a.n, a.each, &a.o);
    if (by_element(a.n, a.each, a.o)) {
        for (unsigned i = 0; i < a.n; i++) {
            LLVMValueRef v = load_one(l, in, a.type, b_gep(l, a.p, b_i64(l, i * a.each)), access_align(in, a.each), a.o);
            ptx_dst(l, &a.items[i], a.t, v);
        }
        if (fenced)
            LLVMBuildFenceSyncScope(l->builder, a.o.order, a.o.scope, "");
        return true;
    }
    LLVMValueRef v = load_one(l, in, LLVMVectorType(a.type, a.n), a.p, access_align(in, a.n * a.each), a.o);
    for (unsigned i = 0; i < a.n; i++)
        ptx_dst(l, &a.items[i], a.t, LLVMBuildExtractElement(l->builder, v, b_i32(l, i), ""));
    if (fenced)
        LLVMBuildFenceSyncScope(l->builder, a.o.order, a.o.scope, "");
    return true;
}

static LLVMValueRef stored(struct ptx_lower *l, const struct ptx_operand *op, enum ptx_type t)
{
    return t == PTX_F32 || t == PTX_F64 ? ptx_src(l, op, t) : ptx_to_bits(l, ptx_src(l, op, t));
}

static void store_whole(struct ptx_lower *l, const struct ptx_instr *in, const struct ptx_operand *items, unsigned n,
                        LLVMTypeRef whole, LLVMValueRef p, struct ordering o)
{
    enum ptx_type t = in->types[in->n_types - 1];
    unsigned bits = ptx_type_bits(t);
    LLVMValueRef v = b_int(whole, 0);
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef part = b_bitcast(l, stored(l, &items[i], t), ptx_int_type(l, bits));
        v = b_or(l, v, b_shl(l, b_zext(l, part, whole), b_int(whole, (uint64_t)i * bits)));
    }
    o.access = ATOMIC;
    access_mark(l, LLVMBuildStore(l->builder, v, p), o, n * bits / 8);
}

bool ptx_lower_st(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct ld_st a;
    if (!ld_st_begin(l, in, &in->ops[1], &in->ops[0], &a))
        return false;
    if (a.whole) {
        store_whole(l, in, a.items, a.n, a.whole, a.p, a.o);
        return true;
    }
    bool wide = a.each == 16 && a.o.access == ATOMIC && !(l->target->features & PTX_TARGET_ATOMIC_128);
    if (wide && !ptx_has(in, PTX_MOD_SYS)) { /* an atom.cas.b128 of another lane must not miss it */
        for (unsigned i = 0; i < a.n; i++)
            ptx_swap_128(l, b_gep(l, a.p, b_i64(l, i * a.each)), NULL, stored(l, &a.items[i], a.t));
        return true;
    }
    if (is_fenced(l, a.n, a.each, &a.o))
        LLVMBuildFenceSyncScope(l->builder, a.o.order, a.o.scope, "");
    if (by_element(a.n, a.each, a.o)) {
        for (unsigned i = 0; i < a.n; i++) {
            LLVMValueRef v = stored(l, &a.items[i], a.t);
            if (as_pair(a.type, a.o) && !(l->target->features & PTX_TARGET_ATOMIC_128)) {
                store_pair(l, v, b_gep(l, a.p, b_i64(l, i * a.each)), access_align(in, a.each), a.o);
                continue;
            }
            access_mark(l, LLVMBuildStore(l->builder, v, b_gep(l, a.p, b_i64(l, i * a.each))), a.o, access_align(in, a.each));
        }
        return true;
    }
    LLVMValueRef v = LLVMGetPoison(LLVMVectorType(a.type, a.n)); /* every element is inserted */
    for (unsigned i = 0; i < a.n; i++)
        v = LLVMBuildInsertElement(l->builder, v, stored(l, &a.items[i], a.t), b_i32(l, i), "");
    access_mark(l, LLVMBuildStore(l->builder, v, a.p), a.o, access_align(in, a.n * a.each));
    return true;
}

/* Hints about caches change nothing that a program can see. */
bool ptx_lower_prefetch(struct ptx_lower *l, const struct ptx_instr *in)
{
    return true;
}

/* ---- Address conversion */

/* A window's address to a generic one.  Global, constant and parameter addresses are generic already. */
static LLVMValueRef to_generic(struct ptx_lower *l, LLVMValueRef v, unsigned as)
{
    if (as != AS_SHARED && as != AS_LOCAL)
        return b_resize(l, v, l->i64);
    LLVMValueRef p = b_inttoptr(l, as == AS_SHARED ? b_resize(l, v, l->i32) : b_resize(l, v, l->i64), l->ptr[as]);
    return b_ptrtoint(l, b_spacecast(l, p, l->ptr[AS_GENERIC]), l->i64);
}

static LLVMValueRef from_generic(struct ptx_lower *l, LLVMValueRef v, unsigned as)
{
    if (as != AS_SHARED && as != AS_LOCAL)
        return v;
    LLVMValueRef p = b_inttoptr(l, b_resize(l, v, l->i64), l->ptr[AS_GENERIC]);
    return b_ptrtoint(l, b_spacecast(l, p, l->ptr[as]), l->i64);
}

/* Where a .param symbol of this function really lies. */
static unsigned param_space(struct ptx_lower *l)
{
    return l->func->is_entry ? AS_CONST : AS_LOCAL;
}

bool ptx_lower_cvta(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[in->n_types - 1];
    unsigned as = in->space == PTX_SPACE_PARAM ? param_space(l) : ptx_address_space(in->space);
    LLVMValueRef v = ptx_src(l, &in->ops[1], t);
    v = ptx_has(in, PTX_MOD_TO) ? from_generic(l, v, as) : to_generic(l, v, as);
    ptx_dst(l, &in->ops[0], t, b_resize(l, v, ptx_llvm_type(l, t)));
    return true;
}

/* Inside `bytes` from `from`? */
static LLVMValueRef within(struct ptx_lower *l, LLVMValueRef address, LLVMValueRef from, uint64_t bytes)
{
    return b_ult(l, b_sub(l, address, from), b_i64(l, bytes));
}

/* This program's .const variables lie in the arena among the others; neighbours are asked about together. */
static LLVMValueRef is_const(struct ptx_lower *l, LLVMValueRef address)
{
    LLVMValueRef r = b_bool(l, false);
    uint64_t from = 0, end = 0;
    for (const struct ptx_var *v = l->ptx->vars; v; v = v->next) {
        if (v->space != PTX_SPACE_CONST || v->linkage == PTX_EXTERN)
            continue;
        if (end > from && (v->offset < end || v->offset - end >= 16)) {
            r = b_or(l, r, within(l, address, b_add(l, l->arena_int, b_i64(l, from)), end - from));
            from = end = 0;
        }
        from = end > from ? from : v->offset;
        end = v->offset + v->size;
    }
    if (end > from)
        r = b_or(l, r, within(l, address, b_add(l, l->arena_int, b_i64(l, from)), end - from));
    for (const struct ptx_module *text = l->ptx; text; text = text->absorbed)
        for (const struct ptx_nested *n = text->nested; n; n = n->next)
            if (n->var->space == PTX_SPACE_CONST)
                r = b_or(l, r, within(l, address, b_add(l, l->arena_int, b_i64(l, n->var->offset)), n->var->size));
    return r;
}

/* The kernel's parameters; a device function's own are local. */
static LLVMValueRef is_param(struct ptx_lower *l, LLVMValueRef address)
{
    return within(l, address, b_ptrtoint(l, l->kernarg, l->i64), l->param_size);
}

bool ptx_lower_isspacep(struct ptx_lower *l, const struct ptx_instr *in)
{
    const struct ptx_operand *a = &in->ops[1];
    bool narrow = a->kind == PTX_OP_REG && ptx_type_bits(a->var->type) == 32; /* a register of 32 bits holds a small address */
    LLVMValueRef address = b_resize(l, ptx_src(l, a, narrow ? PTX_B32 : PTX_B64), l->i64),
                 p = b_inttoptr(l, address, l->ptr[AS_GENERIC]), r;
    switch (in->space) {
    case PTX_SPACE_SHARED: r = b_simt(l, PTX_SIMT_IS_SHARED, &p); break;
    case PTX_SPACE_LOCAL: r = b_simt(l, PTX_SIMT_IS_LOCAL, &p); break;
    case PTX_SPACE_CONST: r = is_const(l, address); break;
    case PTX_SPACE_PARAM: r = is_param(l, address); break;
    case PTX_SPACE_GLOBAL:
        r = b_or(l, b_simt(l, PTX_SIMT_IS_SHARED, &p), b_simt(l, PTX_SIMT_IS_LOCAL, &p));
        r = b_not(l, b_or(l, r, b_or(l, is_const(l, address), is_param(l, address))));
        break;
    default: return ptx_lower_unsupported(l, in, "isspacep of this space");
    }
    ptx_dst(l, &in->ops[0], PTX_PRED, r);
    return true;
}

/* Clusters have one block, whose rank is 0: shared memory of that block is where it is.  Without a space, addresses are generic,
 * and so is what a variable's name becomes. */
bool ptx_lower_mapa(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    LLVMValueRef v = ptx_src(l, &in->ops[1], t);
    if (in->ops[1].kind == PTX_OP_SYMBOL && !in->space)
        v = b_resize(l, to_generic(l, v, AS_SHARED), ptx_llvm_type(l, t));
    ptx_dst(l, &in->ops[0], t, v);
    return true;
}

bool ptx_lower_getctarank(struct ptx_lower *l, const struct ptx_instr *in)
{
    ptx_dst(l, &in->ops[0], PTX_U32, b_i32(l, 0));
    return true;
}

/* ---- Fences */
bool ptx_lower_membar(struct ptx_lower *l, const struct ptx_instr *in)
{
    /* A cluster has one block.  Copies go through no proxy of their own: .proxy.async orders what they read and write in the
     * block. */
    const char *scope = ptx_has(in, PTX_MOD_CTA) || ptx_has(in, PTX_MOD_CLUSTER) || ptx_has(in, PTX_MOD_ASYNC) ? "workgroup"
                        : ptx_has(in, PTX_MOD_GL) || ptx_has(in, PTX_MOD_GPU) ? "agent" : "";
    LLVMAtomicOrdering order = ptx_has(in, PTX_MOD_ACQ_REL) ? LLVMAtomicOrderingAcquireRelease
                               : ptx_has(in, PTX_MOD_ACQUIRE) ? LLVMAtomicOrderingAcquire
                               : ptx_has(in, PTX_MOD_RELEASE) ? LLVMAtomicOrderingRelease
                                                              : LLVMAtomicOrderingSequentiallyConsistent;
    LLVMBuildFenceSyncScope(l->builder, order, ptx_scope(l, scope), "");
    return true;
}

/* A cache policy is only a hint; its value means nothing to us. */
bool ptx_lower_createpolicy(struct ptx_lower *l, const struct ptx_instr *in)
{
    ptx_dst(l, &in->ops[0], PTX_B64, b_i64(l, 0));
    return true;
}
