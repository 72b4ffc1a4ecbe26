/* Arrays of a thread lie in rows: an element of all lanes, then the next one of all.  An index that is the same for all lanes, as
 * a loop's, makes a row of vectors of what would be a gather from arrays that lie lane after lane.
 *
 * What one lane does stays what it was, in an array of so many times the size: every offset is multiplied by the lanes of a warp,
 * and the vectoriser puts the other lanes' elements where the holes are (SIMT_ROWS).  So all accesses must be of whole elements
 * of one size, at multiples of it, and nothing else may be done with an address.  Where that is not known the array is as it
 * was. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "base/vec.h"
#include "simt/vectorise.h"
#include "finish/host/host.h"
#include <llvm-c/DebugInfo.h>

typedef LLVMValueRef V;

enum { DEPTH = 12 /* operations that make an offset */, MOST_ELEMENT = 16, MOST_ALIGN = 64,
       MOST_ACCESSES = 1000 /* LLVM takes a time for straight-line vector code that grows by the square */ };

struct local_array {
    LLVMTargetDataRef layout;
    LLVMBuilderRef b;
    LLVMTypeRef i8, i64;
    V variable;
    struct aw_ptrmap known; /* its addresses */
    AW_VEC(V) addresses;
    uint64_t element; /* bytes; 0 = no access yet */
    int accesses;
    bool failed;      /* memory is out */
};

static bool is_address(const struct local_array *a, V v)
{
    return aw_ptrmap_find(&a->known, v) != NULL;
}

static bool note(struct local_array *a, V v)
{
    if (is_address(a, v))
        return true;
    a->failed |= !aw_ptrmap_put(&a->known, v, v) || !aw_vec_push(&a->addresses, v);
    return !a->failed;
}

static bool accessed(struct local_array *a, LLVMTypeRef type)
{
    uint64_t size = LLVMABISizeOfType(a->layout, type);
    bool first = !a->element;
    a->element = first ? size : a->element;
    return ++a->accesses <= MOST_ACCESSES && size == a->element && size <= MOST_ELEMENT && !(size & (size - 1)) &&
           LLVMStoreSizeOfType(a->layout, type) == size && LLVMGetTypeKind(type) != LLVMVectorTypeKind;
}

static bool is_whole(struct local_array *a, LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return (kind == LLVMPointerTypeKind || kind == LLVMIntegerTypeKind) && LLVMSizeOfTypeInBits(a->layout, type) == 64;
}

/* Does `x` use the address `v` as one of an element, or make another address of it, which is then noted? */
static bool use_fits(struct local_array *a, V x, V v)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMLoad:
        return accessed(a, LLVMTypeOf(x));
    case LLVMStore:
        return LLVMGetOperand(x, 0) != v && accessed(a, LLVMTypeOf(LLVMGetOperand(x, 0)));
    case LLVMPtrToInt: case LLVMIntToPtr: case LLVMAddrSpaceCast: case LLVMFreeze:
        return is_whole(a, LLVMTypeOf(x)) && note(a, x);
    case LLVMGetElementPtr:
        return LLVMGetNumOperands(x) == 2 && LLVMGetOperand(x, 1) != v && note(a, x);
    case LLVMOr:
        return LLVMGetIsDisjoint(x) && note(a, x);
    case LLVMAdd: case LLVMSub: case LLVMPHI:
        return note(a, x);
    case LLVMSelect:
        return LLVMGetOperand(x, 0) != v && note(a, x);
    case LLVMCall:
        return ptx_intrinsic_has(x, PTX_INTRINSIC_LIFETIME);
    default:
        return false;
    }
}

/* ---- Multiples */

static bool is_multiple(V v, uint64_t of, int depth);

static bool all_multiples(V v, unsigned from, uint64_t of, int depth)
{
    unsigned n = LLVMIsAPHINode(v) ? LLVMCountIncoming(v) : (unsigned)LLVMGetNumOperands(v);
    for (unsigned i = from; i < n; i++)
        if (!is_multiple(LLVMIsAPHINode(v) ? LLVMGetIncomingValue(v, i) : LLVMGetOperand(v, i), of, depth))
            return false;
    return true;
}

/* Of a power of two. */
static bool is_multiple(V v, uint64_t of, int depth)
{
    int64_t c;
    if (of == 1)
        return true;
    if (ptx_host_constant(v, &c))
        return !((uint64_t)c & (of - 1));
    if (!depth || !LLVMIsAInstruction(v))
        return false;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMSExt: case LLVMZExt: case LLVMTrunc:
        return is_multiple(LLVMGetOperand(v, 0), of, depth - 1);
    case LLVMAdd: case LLVMSub: case LLVMOr: case LLVMXor: case LLVMPHI:
        return all_multiples(v, 0, of, depth - 1);
    case LLVMSelect:
        return all_multiples(v, 1, of, depth - 1);
    case LLVMAnd:
        return is_multiple(LLVMGetOperand(v, 0), of, depth - 1) || is_multiple(LLVMGetOperand(v, 1), of, depth - 1);
    case LLVMMul:
        if (!ptx_host_constant(LLVMGetOperand(v, 1), &c) || !c)
            return false;
        of /= (uint64_t)(c & -c) < of ? (uint64_t)(c & -c) : of;
        return is_multiple(LLVMGetOperand(v, 0), of, depth - 1);
    case LLVMShl:
        if (!ptx_host_constant(LLVMGetOperand(v, 1), &c) || c < 0 || c > 8)
            return false;
        of /= UINT64_C(1) << c < of ? UINT64_C(1) << c : of;
        return is_multiple(LLVMGetOperand(v, 0), of, depth - 1);
    default:
        return false;
    }
}

/* ---- Addresses */

static bool whole_elements(const struct local_array *a, V offset, uint64_t unit)
{
    uint64_t low = unit & (0 - unit);
    return unit && is_multiple(offset, low < a->element ? a->element / low : 1, DEPTH);
}

/* One of two operands is an address, the other one an offset; for a sum either. */
static bool sum_fits(const struct local_array *a, V x)
{
    V p = LLVMGetOperand(x, 0), q = LLVMGetOperand(x, 1);
    bool sub = LLVMGetInstructionOpcode(x) == LLVMSub;
    if (is_address(a, p) == is_address(a, q) || (sub && is_address(a, q)))
        return false;
    return whole_elements(a, is_address(a, p) ? q : p, 1);
}

static bool all_addresses(const struct local_array *a, V x)
{
    bool phi = LLVMIsAPHINode(x);
    unsigned n = phi ? LLVMCountIncoming(x) : 3;
    for (unsigned i = phi ? 0 : 1; i < n; i++) {
        V v = phi ? LLVMGetIncomingValue(x, i) : LLVMGetOperand(x, i);
        if (!is_address(a, v) && !LLVMIsUndef(v))
            return false;
    }
    return true;
}

static bool address_fits(const struct local_array *a, V x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMGetElementPtr:
        return whole_elements(a, LLVMGetOperand(x, 1), LLVMABISizeOfType(a->layout, LLVMGetGEPSourceElementType(x)));
    case LLVMAdd: case LLVMSub: case LLVMOr:
        return sum_fits(a, x);
    case LLVMPHI: case LLVMSelect:
        return all_addresses(a, x);
    default:
        return true;
    }
}

/* Finds all addresses of the variable.  An array that has one element lies in a row already. */
static bool fits(struct local_array *a)
{
    uint64_t size = LLVMABISizeOfType(a->layout, LLVMGetAllocatedType(a->variable));
    int64_t count;
    if (!ptx_host_constant(LLVMGetOperand(a->variable, 0), &count) || count != 1 ||
        LLVMGetAlignment(a->variable) > MOST_ALIGN || !note(a, a->variable))
        return false;
    for (size_t i = 0; i < a->addresses.n; i++)
        for (LLVMUseRef use = LLVMGetFirstUse(a->addresses.at[i]); use; use = LLVMGetNextUse(use))
            if (!LLVMIsAInstruction(LLVMGetUser(use)) || !use_fits(a, LLVMGetUser(use), a->addresses.at[i]))
                return false;
    for (size_t i = 1; i < a->addresses.n; i++)
        if (!address_fits(a, a->addresses.at[i]))
            return false;
    return a->element && size > a->element;
}

/* ---- Changes */

static V scaled(struct local_array *a, V offset, uint64_t by)
{
    offset = LLVMBuildSExt(a->b, offset, a->i64, "");
    return LLVMBuildMul(a->b, offset, LLVMConstInt(a->i64, by, 0), "");
}

static void replace(V x, V with)
{
    LLVMReplaceAllUsesWith(x, with);
    LLVMInstructionEraseFromParent(x);
}

static void scale_address(struct local_array *a, V x)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(x);
    LLVMPositionBuilderBefore(a->b, x);
    LLVMSetCurrentDebugLocation2(a->b, LLVMIsAPHINode(x) ? NULL : LLVMInstructionGetDebugLoc(x));
    if (op == LLVMGetElementPtr) {
        uint64_t unit = LLVMABISizeOfType(a->layout, LLVMGetGEPSourceElementType(x));
        V at = scaled(a, LLVMGetOperand(x, 1), unit * SIMT_VARIABLE_LANES);
        replace(x, LLVMBuildGEP2(a->b, a->i8, LLVMGetOperand(x, 0), &at, 1, ""));
    } else if (op == LLVMAdd || op == LLVMSub || op == LLVMOr) {
        bool first = is_address(a, LLVMGetOperand(x, 0));
        V address = LLVMGetOperand(x, !first), by = scaled(a, LLVMGetOperand(x, first), SIMT_VARIABLE_LANES);
        replace(x, op == LLVMSub ? LLVMBuildSub(a->b, address, by, "") : LLVMBuildAdd(a->b, address, by, ""));
    }
}

/* Every access may say no more of where it is than an element does, as lanes' are beside each other. */
static void lower_alignments(struct local_array *a, V address)
{
    for (LLVMUseRef use = LLVMGetFirstUse(address); use; use = LLVMGetNextUse(use)) {
        V x = LLVMGetUser(use);
        if ((LLVMIsALoadInst(x) || LLVMIsAStoreInst(x)) && LLVMGetAlignment(x) > a->element)
            LLVMSetAlignment(x, (unsigned)a->element);
    }
}

static void scale(struct local_array *a)
{
    LLVMContextRef c = LLVMGetTypeContext(a->i8);
    uint64_t size = LLVMABISizeOfType(a->layout, LLVMGetAllocatedType(a->variable));
    for (size_t i = 0; i < a->addresses.n; i++)
        lower_alignments(a, a->addresses.at[i]);
    /* A sum asks which of its operands is an address: of none that was replaced. */
    for (size_t i = a->addresses.n; --i > 0;)
        scale_address(a, a->addresses.at[i]);
    LLVMTypeRef row = LLVMArrayType2(LLVMIntTypeInContext(c, 8 * (unsigned)a->element), SIMT_VARIABLE_LANES);
    LLVMPositionBuilderBefore(a->b, a->variable);
    LLVMSetCurrentDebugLocation2(a->b, NULL);
    V rows = LLVMBuildAlloca(a->b, LLVMArrayType2(row, (size + a->element - 1) / a->element), "");
    LLVMSetAlignment(rows, (unsigned)a->element);
    ptx_mark(rows, SIMT_ROWS);
    replace(a->variable, rows);
}

static bool in_rows(LLVMBuilderRef b, LLVMModuleRef m, V variable)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct local_array a = { .layout = LLVMGetModuleDataLayout(m), .b = b, .i8 = LLVMInt8TypeInContext(c),
                             .i64 = LLVMInt64TypeInContext(c),
                             .variable = variable };
    if (fits(&a) && !a.failed)
        scale(&a);
    aw_ptrmap_fini(&a.known);
    aw_vec_fini(&a.addresses);
    return !a.failed;
}

int ptx_run_local_rows(struct ptx_pipeline *pipe)
{
    LLVMModuleRef m = *pipe->module;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    AW_VEC(V) variables = { 0 };
    bool ok = true;
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V x = LLVMGetFirstInstruction(bb); x && ok; x = LLVMGetNextInstruction(x))
                ok = !LLVMIsAAllocaInst(x) || aw_vec_push(&variables, x);
    for (size_t i = 0; i < variables.n && ok; i++)
        ok = in_rows(b, m, variables.at[i]);
    aw_vec_fini(&variables);
    LLVMDisposeBuilder(b);
    return ok ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}
