// What differs between the versions of LLVM, 19 to 22: see llvm_version.h.  C++ where LLVM's C interface has no way to ask.
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

#endif

// ---- Masked accesses

enum { ALIGN_IS_OPERAND = LLVM_VERSION_MAJOR < 22 };

static unsigned align_kind()
{
    return LLVMGetEnumAttributeKindForName("align", strlen("align"));
}

extern "C" unsigned ptx_llvm_masked_at(unsigned i, bool store)
{
    return ALIGN_IS_OPERAND && i > store ? i + 1 : i;
}

extern "C" LLVMValueRef ptx_llvm_masked_build(LLVMBuilderRef b, LLVMModuleRef module, unsigned id, LLVMTypeRef types[2],
                                              LLVMValueRef args[PTX_MASKED_OPERANDS], unsigned align)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(module, id, types, 2), operands[PTX_MASKED_OPERANDS + 1];
    LLVMTypeRef type = LLVMGlobalGetValueType(fn);
    bool store = LLVMGetTypeKind(LLVMGetReturnType(type)) == LLVMVoidTypeKind;
    for (unsigned i = 0; i < PTX_MASKED_OPERANDS; i++)
        operands[ptx_llvm_masked_at(i, store)] = args[i];
    if (ALIGN_IS_OPERAND)
        operands[store + 1] = LLVMConstInt(LLVMInt32TypeInContext(context), align, 0);
    LLVMValueRef call = LLVMBuildCall2(b, type, fn, operands, LLVMCountParamTypes(type), "");
    if (!ALIGN_IS_OPERAND)
        LLVMAddCallSiteAttribute(call, store + 1, LLVMCreateEnumAttribute(context, align_kind(), align));
    return call;
}

extern "C" unsigned ptx_llvm_masked_align(LLVMValueRef call, bool store)
{
    if (ALIGN_IS_OPERAND)
        return static_cast<unsigned>(LLVMConstIntGetZExtValue(LLVMGetOperand(call, store + 1)));
    LLVMAttributeRef align = LLVMGetCallSiteEnumAttribute(call, store + 1, align_kind());
    return align ? static_cast<unsigned>(LLVMGetEnumAttributeValue(align)) : 1;
}

// ---- Minima and maxima

static LLVMValueRef of_two(LLVMBuilderRef b, LLVMModuleRef module, const char *name, LLVMValueRef x, LLVMValueRef y)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(module, LLVMLookupIntrinsicID(name, strlen(name)), &type, 1), args[] = { x, y };
    return LLVMBuildCall2(b, LLVMGlobalGetValueType(fn), fn, args, 2, "");
}

// LLVM 20 and 21 have the newer pair, too; that their backends make of it what it says was not looked at, so they go 19's way.
extern "C" LLVMValueRef ptx_llvm_extreme(LLVMBuilderRef b, LLVMModuleRef module, bool max, LLVMValueRef x, LLVMValueRef y)
{
    if (LLVM_VERSION_MAJOR >= 22)
        return of_two(b, module, max ? "llvm.maximumnum" : "llvm.minimumnum", x, y);
    LLVMValueRef of_numbers = of_two(b, module, max ? "llvm.maximum" : "llvm.minimum", x, y);
    LLVMValueRef second = LLVMBuildFCmp(b, LLVMRealUNO, x, x, ""), first = LLVMBuildFCmp(b, LLVMRealUNO, y, y, "");
    return LLVMBuildSelect(b, second, y, LLVMBuildSelect(b, first, x, of_numbers, ""), "");
}

// ---- Divisors

extern "C" LLVMValueRef ptx_llvm_divisor(LLVMBuilderRef b, LLVMValueRef by)
{
    if (LLVM_VERSION_MAJOR >= 20)
        return by;
    LLVMTypeRef type = LLVMTypeOf(by), scalar = LLVMGetElementType(type);
    LLVMValueRef ones[64], zero = LLVMBuildICmp(b, LLVMIntEQ, by, LLVMConstNull(type), "");
    unsigned lanes = LLVMGetVectorSize(type);
    for (unsigned i = 0; i < lanes; i++)
        ones[i] = LLVMConstInt(scalar, 1, 0);
    return LLVMBuildSelect(b, zero, LLVMConstVector(ones, lanes), by, "");
}

// ---- Passes

#if LLVM_VERSION_MAJOR < 20

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

#else

extern "C" LLVMErrorRef ptx_llvm_passes(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, passes, machine, options);
    LLVMDisposePassBuilderOptions(options);
    return error;
}

#endif

// ---- Processors

extern "C" bool ptx_llvm_has_cpu(const char *triple, const char *cpu)
{
    std::string error;
#if LLVM_VERSION_MAJOR < 22
    std::string asked(triple);
#else
    llvm::Triple asked(triple);
#endif
    const llvm::Target *target = llvm::TargetRegistry::lookupTarget(asked, error);
    if (!target)
        return false;
    std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(asked, "", ""));
    return known && known->isCPUStringValid(cpu);
}
