// What an older LLVM's C interface lacks and llvm_version.h gives: made of its C++ one, and no part of the build with LLVM 22.
// SPDX-License-Identifier: Apache-2.0
#include "llvm_version.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"
#include <llvm-c/Transforms/PassBuilder.h>

#include <cstring>
#include <memory>
#include <string>

// ---- Functions of LLVM 20's C interface, for 19

#if LLVM_VERSION_MAJOR < 20

using namespace llvm;

static AtomicOrdering ordering_of(LLVMAtomicOrdering ordering)
{
    switch (ordering) {
    case LLVMAtomicOrderingNotAtomic: return AtomicOrdering::NotAtomic;
    case LLVMAtomicOrderingUnordered: return AtomicOrdering::Unordered;
    case LLVMAtomicOrderingMonotonic: return AtomicOrdering::Monotonic;
    case LLVMAtomicOrderingAcquire: return AtomicOrdering::Acquire;
    case LLVMAtomicOrderingRelease: return AtomicOrdering::Release;
    case LLVMAtomicOrderingAcquireRelease: return AtomicOrdering::AcquireRelease;
    case LLVMAtomicOrderingSequentiallyConsistent: break;
    }
    return AtomicOrdering::SequentiallyConsistent;
}

static SyncScope::ID scope_of(unsigned scope)
{
    return static_cast<SyncScope::ID>(scope);
}

extern "C" unsigned LLVMGetSyncScopeID(LLVMContextRef context, const char *name, size_t len)
{
    return unwrap(context)->getOrInsertSyncScopeID(StringRef(name, len));
}

extern "C" unsigned LLVMGetAtomicSyncScopeID(LLVMValueRef instruction)
{
    return getAtomicSyncScopeID(cast<Instruction>(unwrap(instruction))).value_or(SyncScope::System);
}

extern "C" void LLVMSetAtomicSyncScopeID(LLVMValueRef instruction, unsigned scope)
{
    Value *i = unwrap(instruction);
    if (auto *fence = dyn_cast<FenceInst>(i))
        fence->setSyncScopeID(scope_of(scope));
    else if (auto *load = dyn_cast<LoadInst>(i))
        load->setSyncScopeID(scope_of(scope));
    else if (auto *store = dyn_cast<StoreInst>(i))
        store->setSyncScopeID(scope_of(scope));
    else if (auto *rmw = dyn_cast<AtomicRMWInst>(i))
        rmw->setSyncScopeID(scope_of(scope));
    else
        cast<AtomicCmpXchgInst>(i)->setSyncScopeID(scope_of(scope));
}

// The plain builders have the ordering; only the scope is another.
extern "C" LLVMValueRef LLVMBuildFenceSyncScope(LLVMBuilderRef b, LLVMAtomicOrdering ordering, unsigned scope, const char *name)
{
    return wrap(unwrap(b)->CreateFence(ordering_of(ordering), scope_of(scope), name));
}

extern "C" LLVMValueRef LLVMBuildAtomicRMWSyncScope(LLVMBuilderRef b, LLVMAtomicRMWBinOp op, LLVMValueRef ptr, LLVMValueRef value,
                                                    LLVMAtomicOrdering ordering, unsigned scope)
{
    LLVMValueRef rmw = LLVMBuildAtomicRMW(b, op, ptr, value, ordering, false);
    LLVMSetAtomicSyncScopeID(rmw, scope);
    return rmw;
}

extern "C" LLVMValueRef LLVMBuildAtomicCmpXchgSyncScope(LLVMBuilderRef b, LLVMValueRef ptr, LLVMValueRef expected,
                                                        LLVMValueRef value, LLVMAtomicOrdering success,
                                                        LLVMAtomicOrdering failure, unsigned scope)
{
    LLVMValueRef exchange = LLVMBuildAtomicCmpXchg(b, ptr, expected, value, success, failure, false);
    LLVMSetAtomicSyncScopeID(exchange, scope);
    return exchange;
}

extern "C" LLVMContextRef LLVMGetBuilderContext(LLVMBuilderRef b)
{
    return wrap(&unwrap(b)->getContext());
}

// ---- Passes

static bool add_scalarizer(StringRef name, FunctionPassManager &passes, ArrayRef<PassBuilder::PipelineElement>)
{
    ScalarizerPassOptions options;
    if (name != "scalarizer<load-store>")
        return false;
    options.ScalarizeLoadStore = true;
    passes.addPass(ScalarizerPass(options));
    return true;
}

extern "C" LLVMErrorRef ptx_llvm_passes(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes)
{
    PassBuilder builder(reinterpret_cast<TargetMachine *>(machine));
    LoopAnalysisManager loops;
    FunctionAnalysisManager functions;
    CGSCCAnalysisManager components;
    ModuleAnalysisManager modules;
    ModulePassManager all;
    builder.registerPipelineParsingCallback(add_scalarizer);
    builder.registerLoopAnalyses(loops);
    builder.registerFunctionAnalyses(functions);
    builder.registerCGSCCAnalyses(components);
    builder.registerModuleAnalyses(modules);
    builder.crossRegisterProxies(loops, functions, components, modules);
    if (Error error = builder.parsePassPipeline(all, passes))
        return wrap(std::move(error));
    all.run(*unwrap(module), modules);
    return LLVMErrorSuccess;
}

#endif

// ---- Processors

extern "C" bool ptx_llvm_has_cpu(const char *triple, const char *cpu)
{
    std::string error;
    std::string asked(triple);
    const llvm::Target *target = llvm::TargetRegistry::lookupTarget(asked, error);
    if (!target)
        return false;
    std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(asked, "", ""));
    return known && known->isCPUStringValid(cpu);
}
