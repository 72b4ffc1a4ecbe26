/* Small tables, read or counted in: addresses that are the same for all lanes plus a few bits of each lane's own, as counters for
 * each digit of a sort or the steps of a ramp have.  The table is a register or two of memory, read whole, of which each lane
 * takes its element by a permutation; a gather takes a load for each lane.
 *
 * Reading it whole is safe where it lies in one page, for some lane that is on reads there.  That is known where the address is a
 * multiple of the table's length (a power of two), and asked for elsewhere.
 *
 * Such an address may advance in a loop by a constant: simt_table_split makes two values of it, one that differs by lane and one
 * that changes.
 *
 * Atomic additions to a table of the block's own memory, whose lanes all add the same, are counted by votes: one for each bit of
 * the element's number. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

enum { MAX_DEPTH = 12, MAX_REGISTERS = 2, PAGE = 4096, COUNT_BYTES = 64 };

/* ---- What is known of a lane's own part */

static uint64_t all_below(uint64_t x)
{
    return x ? ~UINT64_C(0) >> __builtin_clzll(x) : 0;
}

static uint64_t largest(LLVMValueRef v, int depth);

static uint64_t largest_of(LLVMValueRef v, int depth)
{
    int64_t c;
    bool fixed = LLVMGetNumOperands(v) > 1 && simt_int_const(LLVMGetOperand(v, 1), &c) && c >= 0 && c < 64;
    uint64_t a = largest(LLVMGetOperand(v, 0), depth), b;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMZExt: case LLVMTrunc:
        return a;
    case LLVMAnd:
        b = largest(LLVMGetOperand(v, 1), depth);
        return a < b ? a : b;
    case LLVMOr: case LLVMXor:
        return all_below(a | largest(LLVMGetOperand(v, 1), depth));
    case LLVMLShr:
        return fixed ? a >> c : a;
    case LLVMShl:
        return fixed && a << c >> c == a ? a << c : ~UINT64_C(0);
    case LLVMAdd:
        b = largest(LLVMGetOperand(v, 1), depth);
        return a + b >= a ? a + b : ~UINT64_C(0);
    default:
        return ~UINT64_C(0);
    }
}

/* At most this, taken as unsigned. */
static uint64_t largest(LLVMValueRef v, int depth)
{
    unsigned width = LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(LLVMTypeOf(v)) : 64;
    uint64_t all = width < 64 ? (UINT64_C(1) << width) - 1 : ~UINT64_C(0);
    int64_t c;
    if (simt_int_const(v, &c))
        return (uint64_t)c & all;
    if (!LLVMIsAInstruction(v) || depth == MAX_DEPTH || width > 64)
        return all;
    uint64_t most = largest_of(v, depth + 1);
    return most < all ? most : all;
}

/* Is it a multiple of 2^k? */
static bool multiple(LLVMValueRef v, int k, int depth)
{
    int64_t c;
    if (simt_int_const(v, &c))
        return !((uint64_t)c & ((UINT64_C(1) << k) - 1));
    if (!LLVMIsAInstruction(v) || depth == MAX_DEPTH)
        return false;
    LLVMValueRef a = LLVMGetOperand(v, 0), b = LLVMGetNumOperands(v) > 1 ? LLVMGetOperand(v, 1) : NULL;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMZExt:
        return multiple(a, k, depth + 1);
    case LLVMAnd:
        return multiple(a, k, depth + 1) || multiple(b, k, depth + 1);
    case LLVMShl:
        return simt_int_const(b, &c) && (c >= k || multiple(a, k - (int)c, depth + 1));
    case LLVMAdd: case LLVMOr: case LLVMXor:
        return multiple(a, k, depth + 1) && multiple(b, k, depth + 1);
    default:
        return false;
    }
}

/* ---- Finding one */

/* Takes an address apart.  False: it is no such sum. */
static bool collect(struct simt_fn *f, struct simt_lookup_table *t, LLVMValueRef v, int depth)
{
    if (simt_uniform(f, v)) {
        if (t->n == SIMT_TABLE_TERMS)
            return false;
        t->terms[t->n++] = v;
        return true;
    }
    if (!LLVMIsAInstruction(v) || depth == MAX_DEPTH)
        return false;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMIntToPtr: case LLVMPtrToInt:
        return simt_width(LLVMTypeOf(v)) == simt_width(LLVMTypeOf(LLVMGetOperand(v, 0))) &&
               collect(f, t, LLVMGetOperand(v, 0), depth + 1);
    case LLVMAdd:
        return collect(f, t, LLVMGetOperand(v, 0), depth + 1) && collect(f, t, LLVMGetOperand(v, 1), depth + 1);
    default:
        if (t->own || LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMIntegerTypeKind)
            return false;
        t->own = v;
        t->most = largest(v, 0);
        return true;
    }
}

/* Elements of 4 bytes: those for which a permutation across the register is one instruction. */
static bool fits(struct simt_fn *f, LLVMValueRef load)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(load));
    bool word = kind == LLVMFloatTypeKind || (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(LLVMTypeOf(load)) == 32);
    unsigned bytes = f->u->options->permute_bytes;
    return bytes && f->u->lanes * 4 >= (int)bytes && word && LLVMGetAlignment(load) >= 4 && simt_access_plain(load, false);
}

/* A whole number of registers, as it is read. */
static uint64_t bytes_of(struct simt_fn *f, const struct simt_lookup_table *t)
{
    uint64_t bytes = all_below(t->most | 3) + 1;
    return bytes < f->u->options->permute_bytes ? f->u->options->permute_bytes : bytes;
}

static bool small(struct simt_fn *f, const struct simt_lookup_table *t)
{
    return t->own && t->most < PAGE && bytes_of(f, t) <= (uint64_t)MAX_REGISTERS * f->u->options->permute_bytes &&
           multiple(t->own, 2, 0);
}

/* ---- Reading it */

/* Known trailing zeros of the table's address.  The window of shared memory begins at a multiple of 64. */
static unsigned known_zeros(struct simt_fn *f, const struct simt_lookup_table *t, bool shared)
{
    unsigned zeros = shared ? 6 : 64;
    for (int i = 0; i < t->n; i++) {
        const struct simt_val *val = simt_get(f, t->terms[i]);
        int64_t c;
        unsigned z = val ? val->tz : !simt_known_const(f, t->terms[i], &c) ? 0 : c ? (unsigned)__builtin_ctzll((uint64_t)c) : 64;
        zeros = z < zeros ? z : zeros;
    }
    return zeros;
}

static LLVMValueRef table_address(struct simt_fn *f, const struct simt_lookup_table *t, bool shared)
{
    struct simt *u = f->u;
    LLVMTypeRef type = shared ? u->i32 : u->i64;
    LLVMValueRef sum = LLVMConstNull(type);
    for (int i = 0; i < t->n; i++) {
        LLVMValueRef x = simt_scalar(f, t->terms[i]);
        if (LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMPointerTypeKind)
            x = LLVMBuildPtrToInt(u->b, x, type, "");
        sum = LLVMBuildAdd(u->b, sum, x, "");
    }
    if (!shared)
        return LLVMBuildIntToPtr(u->b, sum, u->ptr, "table");
    sum = LLVMBuildSExt(u->b, sum, u->i64, "");
    return LLVMBuildGEP2(u->b, u->i8, f->shared, &sum, 1, "table");
}

static bool find(struct simt_fn *f, LLVMValueRef ptr, struct simt_lookup_table *ret)
{
    *ret = (struct simt_lookup_table){ 0 };
    if (!collect(f, ret, ptr, 0) || !small(f, ret))
        return false;
    ret->base = table_address(f, ret, simt_is_shared_ptr(LLVMTypeOf(ptr)));
    return true;
}

/* False: it reads no small table. */
static bool table_find(struct simt_fn *f, LLVMValueRef load, struct simt_lookup_table *ret)
{
    struct simt *u = f->u;
    LLVMValueRef ptr = LLVMGetOperand(load, 0);
    bool shared = simt_is_shared_ptr(LLVMTypeOf(ptr));
    if (!fits(f, load) || !find(f, ptr, ret))
        return false;
    uint64_t bytes = bytes_of(f, ret);
    if (known_zeros(f, ret, shared) >= (unsigned)__builtin_ctzll(bytes))
        return true;
    LLVMValueRef at = LLVMBuildAnd(u->b, LLVMBuildPtrToInt(u->b, ret->base, u->i64, ""), simt_c64(u, PAGE - 1), "");
    ret->ok = LLVMBuildICmp(u->b, LLVMIntULE, at, simt_c64(u, PAGE - (int64_t)bytes), "");
    return true;
}

/* Which element each lane takes.  The freeze keeps lanes that are off from undoing the others. */
static LLVMValueRef elements(struct simt_fn *f, const struct simt_lookup_table *t)
{
    struct simt *u = f->u;
    LLVMValueRef own = LLVMBuildFreeze(u->b, LLVMBuildIntCast2(u->b, simt_vector(f, t->own), u->i32v, 0, ""), "");
    return LLVMBuildLShr(u->b, own, simt_splat(u, simt_c32(u, 2)), "");
}

/* All lanes' elements. */
static LLVMValueRef table_read(struct simt_fn *f, LLVMValueRef load, const struct simt_lookup_table *t)
{
    struct simt *u = f->u;
    int width = (int)u->options->permute_bytes / 4, rows = (int)(bytes_of(f, t) / u->options->permute_bytes);
    LLVMTypeRef type = LLVMVectorType(u->i32, (unsigned)width);
    LLVMValueRef row[MAX_REGISTERS], part[SIMT_LANES], at = elements(f, t);
    for (int i = 0; i < rows; i++) {
        row[i] = LLVMBuildLoad2(u->b, type, simt_advance(u, t->base, (int64_t)i * width * 4), "");
        LLVMSetAlignment(row[i], 4);
        simt_mark_space(u, row[i], LLVMGetOperand(load, 0));
    }
    for (int i = 0; i < u->lanes / width; i++)
        part[i] = u->options->permute(u->b, row, rows, simt_slice(u, at, i * width, width));
    LLVMValueRef r = simt_join(u, part, u->lanes / width, width);
    return LLVMBuildBitCast(u->b, r, simt_vec_type(u, simt_type(u, LLVMTypeOf(load))), "");
}

bool simt_table_load(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    struct simt_lookup_table t;
    if (!table_find(f, inst, &t))
        return false;
    if (!t.ok) {
        simt_set_vector(f, inst, table_read(f, inst, &t));
        return true;
    }
    LLVMBasicBlockRef from[2], whole = simt_new_block(f, "table"), apart = simt_new_block(f, "table.apart"),
                      done = simt_new_block(f, "table.done");
    LLVMValueRef x[2];
    simt_mark_likely(LLVMBuildCondBr(u->b, t.ok, whole, apart));
    LLVMPositionBuilderAtEnd(u->b, whole);
    x[0] = table_read(f, inst, &t);
    from[0] = LLVMGetInsertBlock(u->b);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, apart);
    f->epoch++;
    x[1] = simt_gather(f, inst, LLVMTypeOf(inst), 0);
    from[1] = LLVMGetInsertBlock(u->b);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, done);
    f->epoch++; /* distances built in either block are of no use here */
    simt_set_vector(f, inst, simt_phi2(u, x, from));
    return true;
}

/* ---- Counting in it: a block's own table, of which each lane adds the same to an element.  How many lanes add to an element are
 * those that agree with its number in every bit. */

bool simt_table_counts(struct simt_fn *f, LLVMValueRef inst, struct simt_lookup_table *ret)
{
    LLVMAtomicRMWBinOp op = LLVMGetAtomicRMWBinOp(inst);
    LLVMValueRef ptr = LLVMGetOperand(inst, 0), by = LLVMGetOperand(inst, 1);
    LLVMTypeRef type = LLVMTypeOf(by);
    bool sum = (op == LLVMAtomicRMWBinOpAdd || op == LLVMAtomicRMWBinOpSub) && LLVMGetIntTypeWidth(type) == 32;
    /* Only with registers of 64 bytes few instructions compare lanes and count. */
    return sum && f->u->lanes == SIMT_LANES && f->u->options->permute_bytes == COUNT_BYTES && !LLVMGetFirstUse(inst) &&
           !LLVMGetVolatile(inst) && simt_uniform(f, by) && simt_block_owned(f->u, inst, ptr) && !simt_uniform(f, ptr) &&
           find(f, ptr, ret);
}

/* The active lanes that take each of the first `n` elements, as bits. */
static LLVMValueRef takers(struct simt_fn *f, LLVMValueRef at, int n)
{
    struct simt *u = f->u;
    LLVMValueRef who = simt_slice(u, simt_splat(u, simt_bits(u, f->mask)), 0, n), flip[SIMT_LANES];
    for (int k = 0; 1 << k < n; k++) {
        LLVMValueRef set = LLVMBuildAnd(u->b, at, simt_splat(u, simt_c32(u, 1 << k)), "");
        set = LLVMBuildICmp(u->b, LLVMIntNE, set, LLVMConstNull(u->i32v), "");
        LLVMValueRef lanes = simt_slice(u, simt_splat(u, simt_bits(u, set)), 0, n);
        for (int i = 0; i < n; i++)
            flip[i] = simt_c32(u, i >> k & 1 ? 0 : -1);
        who = LLVMBuildAnd(u->b, who, LLVMBuildXor(u->b, lanes, LLVMConstVector(flip, (unsigned)n), ""), "");
    }
    return who;
}

/* May elements that no lane takes be written with what they hold?  In the block's own memory, and in rows that lie in one page,
 * in which some lane's element is.  Else they may be another's.  What was stored under a mask is loaded late, as processors
 * forward plain stores only. */
static bool owns_row(struct simt_fn *f, LLVMValueRef ptr, const struct simt_lookup_table *t)
{
    return simt_is_shared_ptr(LLVMTypeOf(ptr)) && known_zeros(f, t, true) >= (unsigned)__builtin_ctzll(bytes_of(f, t));
}

void simt_table_count(struct simt_fn *f, LLVMValueRef inst, const struct simt_lookup_table *t)
{
    struct simt *u = f->u;
    int n = (int)bytes_of(f, t) / 4;
    LLVMValueRef who = takers(f, elements(f, t), n), ptr = LLVMGetOperand(inst, 0);
    LLVMTypeRef type = LLVMTypeOf(who), types[2] = { type, u->ptr };
    LLVMValueRef by = simt_slice(u, simt_splat(u, simt_scalar(f, LLVMGetOperand(inst, 1))), 0, n);
    LLVMValueRef sum = LLVMBuildMul(u->b, simt_intrinsic(u, "llvm.ctpop", &type, 1, &who, 1), by, "");
    LLVMAtomicRMWBinOp op = LLVMGetAtomicRMWBinOp(inst);
    if (owns_row(f, ptr, t)) {
        LLVMValueRef old = LLVMBuildLoad2(u->b, type, t->base, ""),
                     store = LLVMBuildStore(u->b, simt_rmw_value(u, op, old, sum), t->base);
        LLVMSetAlignment(old, 4);
        LLVMSetAlignment(store, 4);
        simt_mark_space(u, old, ptr);
        simt_mark_space(u, store, ptr);
        return;
    }
    LLVMValueRef some = LLVMBuildICmp(u->b, LLVMIntNE, who, LLVMConstNull(type), "");
    LLVMValueRef load[3] = { t->base, some, LLVMConstNull(type) };
    LLVMValueRef old = simt_masked(u, PTX_INTRINSIC_MASKED_LOAD, types, load, 4);
    LLVMValueRef store[3] = { simt_rmw_value(u, op, old, sum), t->base, some };
    simt_masked(u, PTX_INTRINSIC_MASKED_STORE, types, store, 4);
}

/* ---- Addresses that advance in a loop */

/* What a phi of the loop's header becomes in the next round, if that is itself plus a constant; else NULL. */
static LLVMValueRef advanced(struct simt_fn *f, const struct simt_loop *l, LLVMValueRef phi, LLVMValueRef *ret_begin)
{
    LLVMValueRef next = NULL;
    int64_t c;
    if (LLVMCountIncoming(phi) != 2 || l->latch < 0 || l->preheader < 0)
        return NULL;
    for (unsigned i = 0; i < 2; i++)
        *(LLVMGetIncomingBlock(phi, i) == f->blocks[l->latch].bb ? &next : ret_begin) = LLVMGetIncomingValue(phi, i);
    bool adds = next && LLVMIsAInstruction(next) && LLVMGetInstructionOpcode(next) == LLVMAdd && LLVMGetOperand(next, 0) == phi;
    return adds && simt_int_const(LLVMGetOperand(next, 1), &c) ? next : NULL;
}

/* Is it an address from which small tables would be read, if it did not advance? */
static bool reads_table(struct simt_fn *f, LLVMValueRef phi, LLVMValueRef begin)
{
    struct simt_lookup_table t = { 0 };
    if (!collect(f, &t, begin, 0) || !small(f, &t))
        return false;
    for (LLVMUseRef use = LLVMGetFirstUse(phi); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef ptr = LLVMGetUser(use);
        for (LLVMUseRef load = LLVMIsAIntToPtrInst(ptr) ? LLVMGetFirstUse(ptr) : NULL; load; load = LLVMGetNextUse(load))
            if (fits(f, LLVMGetUser(load)))
                return true;
    }
    return false;
}

/* The phi becomes what it begins with plus one that begins with 0. */
static void split(struct simt_fn *f, const struct simt_loop *l, LLVMValueRef phi, LLVMValueRef begin, LLVMValueRef next)
{
    LLVMBuilderRef b = f->u->b;
    LLVMTypeRef type = LLVMTypeOf(phi);
    LLVMValueRef step = LLVMGetOperand(next, 1);
    LLVMPositionBuilderBefore(b, phi);
    LLVMSetCurrentDebugLocation2(b, NULL);
    LLVMValueRef count = LLVMBuildPhi(b, type, "");
    LLVMPositionBuilderBefore(b, next);
    LLVMValueRef more = LLVMBuildAdd(b, count, step, "");
    ptx_phi_add(count, LLVMConstNull(type), f->blocks[l->preheader].bb);
    ptx_phi_add(count, more, f->blocks[l->latch].bb);
    LLVMPositionBuilderBefore(b, ptx_behind_phis(phi));
    LLVMReplaceAllUsesWith(phi, LLVMBuildAdd(b, begin, count, ""));
    LLVMInstructionEraseFromParent(phi);
}

/* One such address in the function; false: there is none. */
static bool split_one(struct simt_fn *f)
{
    for (int i = 0; i < f->n_loops; i++) {
        const struct simt_loop *l = &f->loops[i];
        for (LLVMValueRef phi = LLVMGetFirstInstruction(f->blocks[l->header].bb); LLVMIsAPHINode(phi);
             phi = LLVMGetNextInstruction(phi)) {
            LLVMValueRef begin = NULL, next = simt_varying(f, phi) ? advanced(f, l, phi, &begin) : NULL;
            if (next && reads_table(f, phi, begin)) {
                split(f, l, phi, begin, next);
                return true;
            }
        }
    }
    return false;
}

bool simt_table_split(struct simt *u, LLVMValueRef fn, enum simt_form form)
{
    bool more = u->options->permute_bytes != 0;
    while (more && !u->status) {
        struct simt_fn f = { .u = u, .form = form, .src = fn };
        more = simt_cfg_build(&f) && f.n_loops && simt_shape_analyse(&f) && split_one(&f);
        aw_ptrmap_fini(&f.vals);
        simt_cfg_fini(&f);
    }
    return !u->status;
}
