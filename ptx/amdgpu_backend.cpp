// What is ours in LLVM's AMDGPU backend, where LLVM 21 and 22 would make wrong code, or 22.1.8 has been seen to:
//
// - Joins are settled again right before control flow is made structured (finish/joins.c): by then the backend has moved
//   conversions into the blocks that go to a join, and made some.
// - Quotients of numbers of 23 and 24 bits are computed as those of 32.  In floats a / (a + 1) becomes 1 where it is next to it,
//   and the remainder -1, which is mended in the other direction alone; 23 bits would do if the card's reciprocal were always
//   the nearest float, but it may be the next.
// - SDWA (gfx9 and gfx10), instructions on bytes and halves of registers, are not made of others: the pass takes a shift of 16
//   bits, whose result has zeros above, for one with the sign above.
//
// Older LLVMs have no way to add a pass.  C++, as there is no C interface to a backend's passes.
// SPDX-License-Identifier: Apache-2.0
#include "llvm/Config/llvm-config.h"

extern "C" {
#include "finish/joins.h"
#include "finish/target.h"
}

#if __has_include("llvm/Target/RegisterTargetPassConfigCallback.h")

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Pass.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/KnownBits.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils.h"
#include <memory>

using namespace llvm;

namespace {

class LateJoins : public FunctionPass {
public:
    static char ID;
    LateJoins() : FunctionPass(ID) {}

    void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesCFG(); }
    bool runOnFunction(Function &fn) override { return ptx_joins_settle_in(wrap(&fn)); }
};

char LateJoins::ID;

class WideQuotients : public FunctionPass {
public:
    static char ID;
    WideQuotients() : FunctionPass(ID) {}

    void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesCFG(); }
    bool runOnFunction(Function &fn) override
    {
        const DataLayout &layout = fn.getDataLayout();
        SmallVector<BinaryOperator *, 8> found;
        for (Instruction &i : instructions(fn))
            if (is_inexact(i, layout))
                found.push_back(cast<BinaryOperator>(&i));
        for (BinaryOperator *quotient : found)
            widen(quotient);
        return !found.empty();
    }

private:
    static bool is_signed(const Instruction &i)
    {
        return i.getOpcode() == Instruction::SDiv || i.getOpcode() == Instruction::SRem;
    }

    // Would it be computed in floats, and are they too short?
    static bool is_inexact(const Instruction &i, const DataLayout &layout)
    {
        if (!i.isIntDivRem() || !i.getType()->isIntegerTy() || i.getType()->getIntegerBitWidth() > 64)
            return false;
        unsigned bits = 0;
        for (const Value *operand : i.operands())
            bits = std::max(bits, is_signed(i) ? ComputeMaxSignificantBits(operand, layout)
                                               : computeKnownBits(operand, layout).countMaxActiveBits());
        return bits > (is_signed(i) ? 23 : 22) && bits <= 24;
    }

    // As if nothing were known of the number that is divided.
    static void widen(BinaryOperator *quotient)
    {
        IRBuilder<> b(quotient);
        Type *word = b.getInt32Ty();
        auto as = [&](Value *v, Type *type) {
            return is_signed(*quotient) ? b.CreateSExtOrTrunc(v, type) : b.CreateZExtOrTrunc(v, type);
        };
        Value *hidden = b.CreateCall(InlineAsm::get(FunctionType::get(word, { word }, false), "", "=v,0", false),
                                     { as(quotient->getOperand(0), word) });
        Value *wide = b.CreateBinOp(quotient->getOpcode(), hidden, as(quotient->getOperand(1), word));
        quotient->replaceAllUsesWith(as(wide, quotient->getType()));
        quotient->eraseFromParent();
    }
};

char WideQuotients::ID;

// Of passes that have no public number.
AnalysisID unify_loop_exits()
{
    return std::unique_ptr<Pass>(createUnifyLoopExitsPass())->getPassID();
}

AnalysisID peephole_sdwa()
{
    const PassInfo *info = PassRegistry::getPassRegistry()->getPassInfo(StringRef("si-peephole-sdwa"));
    if (!info)
        report_fatal_error("the AMDGPU backend's pass si-peephole-sdwa has another name");
    return info->getTypeInfo();
}

void watch(TargetMachine &machine, PassManagerBase &, TargetPassConfig *config)
{
    if (!machine.getTargetTriple().isAMDGCN())
        return;
    static const AnalysisID before_structured = unify_loop_exits(), sdwa = peephole_sdwa();
    config->insertPass(&AtomicExpandID, new WideQuotients);
    config->insertPass(before_structured, new LateJoins);
    config->disablePass(sdwa);
}

} // namespace

extern "C" void ptx_amdgpu_backend(void)
{
    static RegisterTargetPassConfigCallback callback(watch);
}

#else

extern "C" void ptx_amdgpu_backend(void) {}

#endif
