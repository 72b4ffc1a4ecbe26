/* Directed rounding on AMDGPU: aw.round.*, one arithmetic instruction between two changes of the wave's rounding mode.
 *
 * The three are one piece of inline assembly that leaves the mode as it was: to LLVM a pure function, free to move. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"

#include <stdio.h>

typedef LLVMValueRef V;

/* MODE's encoding, for f32 (bits 0, 1) and f64 (bits 2, 3) alike. */
static unsigned mode_bits(enum ptx_round mode)
{
    static const unsigned codes[] = { [PTX_RN] = 0, [PTX_RP] = 1, [PTX_RM] = 2, [PTX_RZ] = 3 };
    return codes[mode] * 5;
}

static const char *mnemonic(enum ptx_simt id)
{
    switch (id) {
    case PTX_SIMT_ROUND_ADD_F32: return "v_add_f32";
    case PTX_SIMT_ROUND_MUL_F32: return "v_mul_f32";
    case PTX_SIMT_ROUND_FMA_F32: return "v_fma_f32";
    case PTX_SIMT_ROUND_ADD_F64: return "v_add_f64";
    case PTX_SIMT_ROUND_MUL_F64: return "v_mul_f64";
    default: return "v_fma_f64";
    }
}

/* A constant f32 as its bits; one of them may stand in the instruction from gfx10 on. */
static bool literal_of(const struct amdgpu *a, V v, uint32_t *ret)
{
    if (a->major < 10 || LLVMTypeOf(v) != a->b.f32 || !LLVMIsAConstantFP(v))
        return false;
    LLVMBool lost;
    float f = (float)LLVMConstRealGetDouble(v, &lost);
    memcpy(ret, &f, sizeof f);
    return !lost && f == f;
}

/* LLVM looks for no hazards around inline assembly.  Before gfx10 the waits keep s_setreg apart from the next one, and the result
 * from who reads it other than as an operand; gfx11 must not read a transcendental's result too soon. */
static int mode_print(const struct amdgpu *a, char *text, size_t size, unsigned bits, bool first)
{
    if (a->major < 10)
        return snprintf(text, size, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), %u\ns_nop 1\n", bits);
    return snprintf(text, size, "%ss_round_mode %#x\n", first && a->major == 11 ? "s_waitcnt_depctr 0xfff\n" : "", bits);
}

static V rounded(struct amdgpu *a, enum ptx_simt id, V call)
{
    enum ptx_round mode = (enum ptx_round)LLVMConstIntGetZExtValue(LLVMGetOperand(call, 0));
    unsigned n = LLVMGetNumArgOperands(call) - 1, inputs = 0;
    LLVMTypeRef type = LLVMTypeOf(call), types[3];
    char text[320], constraints[16] = "=v";
    uint32_t bits;
    bool literal = false;
    V args[3];
    int at = mode_print(a, text, sizeof text, mode_bits(mode), true);
    at += sprintf(text + at, "%s $0", mnemonic(id));
    for (unsigned i = 0; i < n; i++) {
        V v = LLVMGetOperand(call, 1 + i);
        if (n == 3 && !literal && literal_of(a, v, &bits)) {
            at += sprintf(text + at, ", %#x", bits);
            literal = true;
            continue;
        }
        types[inputs] = type;
        args[inputs++] = v;
        at += sprintf(text + at, ", $%u", inputs);
        strcat(constraints, ",v");
    }
    at += sprintf(text + at, "\n");
    at += mode_print(a, text + at, sizeof text - (size_t)at, mode_bits(PTX_RN), false);
    LLVMTypeRef fn = LLVMFunctionType(type, types, inputs, 0);
    V body = LLVMGetInlineAsm(fn, text, (size_t)at, constraints, strlen(constraints), 0, 0, LLVMInlineAsmDialectATT, 0);
    V r = LLVMBuildCall2(a->b.builder, fn, body, args, inputs, "");
    static const char *const pure[] = { "nounwind", "willreturn" };
    for (size_t i = 0; i < sizeof pure / sizeof *pure; i++)
        ptx_amdgpu_call_attribute(a, r, pure[i], 0);
    ptx_amdgpu_call_attribute(a, r, "memory", 0);
    return r;
}

void ptx_amdgpu_rounding(struct amdgpu *a)
{
    for (enum ptx_simt id = PTX_SIMT_ROUND_ADD_F32; id <= PTX_SIMT_ROUND_FMA_F64; id++) {
        V fn = LLVMGetNamedFunction(a->b.module, ptx_simt_info(id)->name);
        for (LLVMUseRef use; fn && (use = LLVMGetFirstUse(fn));) {
            V call = LLVMGetUser(use);
            LLVMPositionBuilderBefore(a->b.builder, call);
            LLVMReplaceAllUsesWith(call, rounded(a, id, call));
            LLVMInstructionEraseFromParent(call);
        }
    }
}
