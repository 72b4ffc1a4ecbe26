/* Moving data: mov, ld, st, address conversion, fences, prefetch (PTX ISA 9.7.9, 9.7.13.4).  Atomics are in atom.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

bool ptx_lower_mov(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[0];
    ptx_dst(l, &in->ops[0], t, ptx_src(l, &in->ops[1], t));
    return true;
}

/* ---- Ordering: .weak and no word are plain; .volatile and the rest say how */
static const char *scope_name(const struct ptx_instr *in)
{
    if (ptx_has(in, PTX_MOD_CTA))
        return "workgroup";
    return ptx_has(in, PTX_MOD_GPU) || ptx_has(in, PTX_MOD_CLUSTER) ? "agent" : ""; /* .sys is LLVM's default scope */
}

static unsigned scope_id(struct ptx_lower *l, const char *name)
{
    return LLVMGetSyncScopeID(l->context, name, strlen(name));
}

enum access { PLAIN, VOLATILE, ATOMIC };
struct ordering {
    enum access access;
    LLVMAtomicOrdering order;
    unsigned scope;
};

static struct ordering ordering_of(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct ordering o = { PLAIN, LLVMAtomicOrderingMonotonic, 0 };
    if (ptx_has(in, PTX_MOD_VOLATILE) || ptx_has(in, PTX_MOD_MMIO))
        o.access = VOLATILE;
    else if (ptx_has(in, PTX_MOD_RELAXED) || ptx_has(in, PTX_MOD_ACQUIRE) || ptx_has(in, PTX_MOD_RELEASE))
        o.access = ATOMIC;
    if (ptx_has(in, PTX_MOD_ACQUIRE))
        o.order = LLVMAtomicOrderingAcquire;
    if (ptx_has(in, PTX_MOD_RELEASE))
        o.order = LLVMAtomicOrderingRelease;
    o.scope = scope_id(l, scope_name(in));
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

static LLVMValueRef load_one(struct ptx_lower *l, const struct ptx_instr *in, LLVMTypeRef type, LLVMValueRef p,
                             unsigned align, struct ordering o)
{
    LLVMValueRef v = LLVMBuildLoad2(l->builder, type, p, "");
    access_mark(l, v, o, align);
    if (o.access == PLAIN && is_invariant(l, in, p))
        ptx_invariant(l, v);
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

/* Where 16 bytes have no atomic access, a volatile one of the whole vector is one instruction all the same; the order comes
 * from fences then. */
static bool is_fenced(unsigned n, unsigned each, struct ordering *o)
{
    if (n == 1 || o->access != ATOMIC || n * each != 16)
        return false;
    o->access = VOLATILE;
    return o->order != LLVMAtomicOrderingMonotonic;
}

bool ptx_lower_ld(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type t = in->types[in->n_types - 1];
    const struct ptx_operand *items;
    unsigned n = ptx_elements(&in->ops[0], &items), each = ptx_type_bits(t) / 8;
    if (in->ops[0].kind == PTX_OP_VECTOR && in->vec <= 1)
        n = 1, items = &in->ops[0];
    LLVMTypeRef type = memory_type(l, t);
    struct ordering o = ordering_of(l, in);
    LLVMValueRef p = ptx_address(l, &in->ops[1], in->space);
    LLVMTypeRef whole = whole_type(l, in, n, each, o);
    if (whole) {
        load_whole(l, in, items, n, type, whole, p, o);
        return true;
    }
    bool fenced = is_fenced(n, each, &o);
    if (n == 1 || o.access == ATOMIC) {
        for (unsigned i = 0; i < n; i++) {
            LLVMValueRef v = load_one(l, in, type, b_gep(l, p, b_i64(l, i * each)), access_align(in, each), o);
            ptx_dst(l, &items[i], t, v);
        }
        return true;
    }
    LLVMValueRef v = load_one(l, in, LLVMVectorType(type, n), p, access_align(in, n * each), o);
    for (unsigned i = 0; i < n; i++)
        ptx_dst(l, &items[i], t, LLVMBuildExtractElement(l->builder, v, b_i32(l, i), ""));
    if (fenced)
        LLVMBuildFenceSyncScope(l->builder, o.order, o.scope, "");
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
    enum ptx_type t = in->types[in->n_types - 1];
    const struct ptx_operand *items;
    unsigned n = ptx_elements(&in->ops[1], &items), each = ptx_type_bits(t) / 8;
    if (in->ops[1].kind == PTX_OP_VECTOR && in->vec <= 1)
        n = 1, items = &in->ops[1];
    LLVMTypeRef type = memory_type(l, t);
    struct ordering o = ordering_of(l, in);
    LLVMValueRef p = ptx_address(l, &in->ops[0], in->space);
    LLVMTypeRef whole = whole_type(l, in, n, each, o);
    if (whole) {
        store_whole(l, in, items, n, whole, p, o);
        return true;
    }
    if (is_fenced(n, each, &o))
        LLVMBuildFenceSyncScope(l->builder, o.order, o.scope, "");
    if (n == 1 || o.access == ATOMIC) {
        for (unsigned i = 0; i < n; i++) {
            LLVMValueRef v = stored(l, &items[i], t);
            access_mark(l, LLVMBuildStore(l->builder, v, b_gep(l, p, b_i64(l, i * each))), o, access_align(in, each));
        }
        return true;
    }
    LLVMValueRef v = LLVMGetPoison(LLVMVectorType(type, n)); /* every element is inserted */
    for (unsigned i = 0; i < n; i++)
        v = LLVMBuildInsertElement(l->builder, v, stored(l, &items[i], t), b_i32(l, i), "");
    access_mark(l, LLVMBuildStore(l->builder, v, p), o, access_align(in, n * each));
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

bool ptx_lower_isspacep(struct ptx_lower *l, const struct ptx_instr *in)
{
    LLVMValueRef p = b_inttoptr(l, ptx_src(l, &in->ops[1], PTX_B64), l->ptr[AS_GENERIC]), r;
    LLVMValueRef shared = b_simt(l, PTX_SIMT_IS_SHARED, &p), local = b_simt(l, PTX_SIMT_IS_LOCAL, &p);
    switch (in->space) {
    case PTX_SPACE_SHARED: r = shared; break;
    case PTX_SPACE_LOCAL: r = local; break;
    case PTX_SPACE_GLOBAL: r = b_not(l, b_or(l, shared, local)); break;
    default: return ptx_lower_unsupported(l, in, "isspacep of this space");
    }
    ptx_dst(l, &in->ops[0], PTX_PRED, r);
    return true;
}

/* ---- Fences */
bool ptx_lower_membar(struct ptx_lower *l, const struct ptx_instr *in)
{
    const char *scope = ptx_has(in, PTX_MOD_CTA) ? "workgroup"
                        : ptx_has(in, PTX_MOD_GL) || ptx_has(in, PTX_MOD_GPU) || ptx_has(in, PTX_MOD_CLUSTER) ? "agent" : "";
    LLVMAtomicOrdering order = ptx_has(in, PTX_MOD_ACQ_REL) ? LLVMAtomicOrderingAcquireRelease
                               : ptx_has(in, PTX_MOD_ACQUIRE) ? LLVMAtomicOrderingAcquire
                               : ptx_has(in, PTX_MOD_RELEASE) ? LLVMAtomicOrderingRelease
                                                              : LLVMAtomicOrderingSequentiallyConsistent;
    LLVMBuildFenceSyncScope(l->builder, order, scope_id(l, scope), "");
    return true;
}

/* ---- cp.async: the copy is done at once, which every wait and commit allows */

/* Copies `n` bytes in the widest pieces; those from `limit` (i32) on become zero. */
bool ptx_lower_cp_async(struct ptx_lower *l, const struct ptx_instr *in)
{
    if (in->ops[2].kind != PTX_OP_INT || (in->ops[2].bits != 4 && in->ops[2].bits != 8 && in->ops[2].bits != 16))
        return ptx_lower_error(l, in->ops[2].loc, "the size must be 4, 8 or 16");
    unsigned n = (unsigned)in->ops[2].bits;
    LLVMTypeRef type = ptx_int_type(l, 8 * n);
    LLVMValueRef to = ptx_address(l, &in->ops[0], PTX_SPACE_SHARED), from = ptx_address(l, &in->ops[1], PTX_SPACE_GLOBAL);
    LLVMValueRef limit = in->n_ops > 3 && !ptx_has(in, PTX_MOD_L2__CACHE_HINT) ? ptx_src(l, &in->ops[3], PTX_U32) : NULL;
    if (!limit) {
        LLVMValueRef v = LLVMBuildLoad2(l->builder, type, from, "");
        LLVMSetAlignment(v, n);
        LLVMSetAlignment(LLVMBuildStore(l->builder, v, to), n);
        return true;
    }
    /* Bytes beyond the limit must not be read: they may lie outside the object. */
    for (unsigned i = 0; i < n; i++) {
        LLVMBasicBlockRef before = LLVMGetInsertBlock(l->builder), read = ptx_block_new(l, ""), done = ptx_block_new(l, "");
        LLVMBuildCondBr(l->builder, b_ult(l, b_i32(l, i), limit), read, done);
        LLVMPositionBuilderAtEnd(l->builder, read);
        LLVMValueRef v = LLVMBuildLoad2(l->builder, l->i8, b_gep(l, from, b_i64(l, i)), "");
        LLVMBuildBr(l->builder, done);
        LLVMPositionBuilderAtEnd(l->builder, done);
        LLVMValueRef phi = LLVMBuildPhi(l->builder, l->i8, "");
        LLVMAddIncoming(phi, (LLVMValueRef[]){ v, b_int(l->i8, 0) }, (LLVMBasicBlockRef[]){ read, before }, 2);
        LLVMBuildStore(l->builder, phi, b_gep(l, to, b_i32(l, i)));
    }
    return true;
}

bool ptx_lower_cp_async_done(struct ptx_lower *l, const struct ptx_instr *in)
{
    return true;
}

/* A cache policy is only a hint; its value means nothing to us. */
bool ptx_lower_createpolicy(struct ptx_lower *l, const struct ptx_instr *in)
{
    ptx_dst(l, &in->ops[0], PTX_B64, b_i64(l, 0));
    return true;
}
