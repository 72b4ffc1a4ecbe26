/* Operations of one lane that AVX-512 has and LLVM's IR has no word for: directed rounding, 2^x by its exponent instructions.
 * The vectoriser asks for them (struct simt_options, `operation`), on scalars or on vectors of any power of two of lanes.
 *
 * Not the choice of when: lower/round.c asks for aw.round.* where the target has PTX_TARGET_ROUNDING. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"
#include "finish/host/host.h"
#include <string.h>

typedef LLVMValueRef V;

enum {
    NEAREST = 8, DOWN, UP, TO_ZERO, /* rounding of one instruction, exceptions suppressed: Intel's SDM, volume 2, table 2-40 and
                                     * on */
    MAX_ARGS = 6,
    MAX_LANES = 32,
};

static unsigned lanes_of(V v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetVectorSize(t) : 1;
}

static V index_vector(LLVMBuilderRef b, unsigned from, unsigned n, unsigned defined)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetBuilderContext(b));
    V at[MAX_LANES];
    for (unsigned i = 0; i < n; i++)
        at[i] = i < defined ? LLVMConstInt(i32, from + i, 0) : LLVMGetPoison(i32);
    return LLVMConstVector(at, n);
}

V ptx_host_piece(LLVMBuilderRef b, V v, unsigned at, unsigned width)
{
    unsigned n = lanes_of(v), rest = n - at < width ? n - at : width;
    if (n == width)
        return v;
    if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMVectorTypeKind)
        return LLVMBuildInsertElement(b, LLVMGetPoison(LLVMVectorType(LLVMTypeOf(v), width)), v,
                                      LLVMConstInt(LLVMInt32TypeInContext(LLVMGetBuilderContext(b)), 0, 0), "");
    return LLVMBuildShuffleVector(b, v, LLVMGetPoison(LLVMTypeOf(v)), index_vector(b, at, width, rest), "");
}

V ptx_host_join(LLVMBuilderRef b, V *pieces, unsigned n)
{
    for (; n > 1; n /= 2)
        for (unsigned i = 0; i < n / 2; i++)
            pieces[i] = LLVMBuildShuffleVector(b, pieces[2 * i], pieces[2 * i + 1],
                                               index_vector(b, 0, 2 * lanes_of(pieces[2 * i]), MAX_LANES), "");
    return pieces[0];
}

/* n pieces one after the other, or what `lanes` are used of a single one. */
static V join(LLVMBuilderRef b, V *pieces, unsigned n, unsigned lanes, LLVMTypeRef type)
{
    V all = ptx_host_join(b, pieces, n);
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return LLVMBuildExtractElement(b, all, LLVMConstInt(LLVMInt32TypeInContext(LLVMGetBuilderContext(b)), 0, 0), "");
    return ptx_host_piece(b, all, 0, lanes);
}

static bool is_lane_value(V v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t);
    return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
}

LLVMValueRef ptx_host_in_pieces(LLVMBuilderRef b, const char *intrinsic, LLVMValueRef *args, unsigned n)
{
    LLVMModuleRef m = LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInsertBlock(b)));
    V fn = LLVMGetIntrinsicDeclaration(m, LLVMLookupIntrinsicID(intrinsic, strlen(intrinsic)), NULL, 0), r[MAX_LANES];
    LLVMTypeRef type = LLVMTypeOf(args[0]),
                scalar = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
    unsigned width = LLVMGetTypeKind(scalar) == LLVMDoubleTypeKind ? 8 : 16, lanes = lanes_of(args[0]), done = 0;
    for (unsigned at = 0; at < lanes; at += width) {
        V part[MAX_ARGS];
        for (unsigned i = 0; i < n; i++)
            part[i] = is_lane_value(args[i]) ? ptx_host_piece(b, args[i], at, width) : args[i];
        r[done++] = LLVMBuildCall2(b, LLVMGlobalGetValueType(fn), fn, part, n, "");
    }
    return join(b, r, done, lanes, type);
}

static V int_of(LLVMBuilderRef b, unsigned bits, long long value)
{
    return LLVMConstInt(LLVMIntTypeInContext(LLVMGetBuilderContext(b), bits), (unsigned long long)value, 1);
}

/* ---- Rounding */

static V rounded(LLVMBuilderRef b, enum ptx_simt id, V *args)
{
    static const int direction[] = { [PTX_RN] = NEAREST, [PTX_RZ] = TO_ZERO, [PTX_RM] = DOWN, [PTX_RP] = UP };
    static const struct {
        enum ptx_simt id;
        const char *name;
        unsigned n;
    } table[] = {
        { PTX_SIMT_ROUND_ADD_F32, "llvm.x86.avx512.add.ps.512", 2 }, { PTX_SIMT_ROUND_ADD_F64, "llvm.x86.avx512.add.pd.512", 2 },
        { PTX_SIMT_ROUND_MUL_F32, "llvm.x86.avx512.mul.ps.512", 2 }, { PTX_SIMT_ROUND_MUL_F64, "llvm.x86.avx512.mul.pd.512", 2 },
        { PTX_SIMT_ROUND_FMA_F32, "llvm.x86.avx512.vfmadd.ps.512", 3 },
        { PTX_SIMT_ROUND_FMA_F64, "llvm.x86.avx512.vfmadd.pd.512", 3 },
    };
    size_t i = 0;
    while (table[i].id != id)
        i++;
    V x[4] = { args[1], args[2], args[3] };
    x[table[i].n] = int_of(b, 32, direction[LLVMConstIntGetZExtValue(args[0])]);
    return ptx_host_in_pieces(b, table[i].name, x, table[i].n + 1);
}

/* ---- 2^x */

static V constant(V like, double x)
{
    LLVMTypeRef t = LLVMTypeOf(like);
    if (LLVMGetTypeKind(t) != LLVMVectorTypeKind)
        return LLVMConstReal(t, x);
    return ptx_host_splat(LLVMConstReal(LLVMGetElementType(t), x), LLVMGetVectorSize(t));
}

/* 2^x = 2^n 2^f, f = x - n between -1/2 and 1/2, which is x itself where x is tiny and 0 where it is huge or infinite.  The
 * polynomial is 1 at 0 and elsewhere at most 0.03 units of 2^-23 wrong, before rounding (minimax, its coefficients rounded one by
 * one).  Scaling takes any n, and makes subnormal results, zeros and infinities. */
static V exp2_of(LLVMBuilderRef b, V x, bool flush)
{
    static const double c[] = { 0x1.416b50p-13, 0x1.5f082ep-10, 0x1.3b2de0p-7, 0x1.c6af7cp-5, 0x1.ebfbdcp-3, 0x1.62e430p-1, 1.0 };
    V all = int_of(b, 16, -1), as_set = int_of(b, 32, PTX_HOST_AS_SET);
    V f = ptx_host_in_pieces(b, "llvm.x86.avx512.mask.reduce.ps.512", (V[]){ x, int_of(b, 32, NEAREST), x, all, as_set }, 5);
    V p = constant(x, c[0]), n = LLVMBuildFSub(b, x, f, "");
    for (size_t i = 1; i < sizeof c / sizeof *c; i++)
        p = ptx_host_fma(b, p, f, constant(x, c[i]));
    V r = ptx_host_in_pieces(b, "llvm.x86.avx512.mask.scalef.ps.512", (V[]){ p, n, p, all, as_set }, 5);
    if (!flush)
        return r;
    return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOLT, x, constant(x, -126), ""), constant(x, 0), r, "");
}

LLVMValueRef ptx_host_avx512(LLVMBuilderRef b, enum ptx_simt id, LLVMValueRef *args)
{
    if (id >= PTX_SIMT_ROUND_ADD_F32 && id <= PTX_SIMT_ROUND_FMA_F64)
        return rounded(b, id, args);
    return id == PTX_SIMT_EX2_F32 ? exp2_of(b, args[0], false) : id == PTX_SIMT_EX2_FTZ_F32 ? exp2_of(b, args[0], true) : NULL;
}
