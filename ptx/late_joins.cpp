// Values of joins in LLVM's AMDGPU backend, right before it makes control flow structured (finish/joins.c): by then it has moved
// conversions into the blocks that go to a join, and made some.  For LLVM 21 and 22; older ones do not have the fault.  C++, as
// there is no C interface to a backend's passes.
// SPDX-License-Identifier: Apache-2.0
#include "llvm/Config/llvm-config.h"

extern "C" {
#include "finish/joins.h"
}

#if __has_include("llvm/Target/RegisterTargetPassConfigCallback.h")

#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/Function.h"
#include "llvm/Pass.h"
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

// The pass before StructurizeCFG, which has no public number.
AnalysisID unify_loop_exits()
{
    return std::unique_ptr<Pass>(createUnifyLoopExitsPass())->getPassID();
}

void watch(TargetMachine &machine, PassManagerBase &, TargetPassConfig *config)
{
    static const AnalysisID before = unify_loop_exits();
    if (machine.getTargetTriple().isAMDGCN())
        config->insertPass(before, new LateJoins);
}

} // namespace

extern "C" void ptx_late_joins(void)
{
    static RegisterTargetPassConfigCallback callback(watch);
}

#else

extern "C" void ptx_late_joins(void) {}

#endif
