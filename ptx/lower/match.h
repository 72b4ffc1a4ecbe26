/* What passes ask of a value that look for a pattern of operations. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_LOWER_MATCH_H
#define PTX_LOWER_MATCH_H

#include <llvm-c/Core.h>
#include <stdbool.h>

static inline bool is_op(LLVMValueRef v, LLVMOpcode op)
{
    return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == op;
}

static inline bool is_number(LLVMValueRef v, unsigned long long n)
{
    return LLVMIsAConstantInt(v) && LLVMConstIntGetZExtValue(v) == n;
}

/* Is it an addition, or a disjunction of numbers without a bit in common, which is one? */
static inline bool is_addition(LLVMValueRef v)
{
    return is_op(v, LLVMAdd) || (is_op(v, LLVMOr) && LLVMGetIsDisjoint(v));
}

static inline LLVMValueRef operand(LLVMValueRef v, unsigned k)
{
    return LLVMGetOperand(v, k);
}

#endif
