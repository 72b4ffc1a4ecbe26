// Masks that are widened with zeros stay so on the stack.  LLVM's X86 backend widens one of 8, 16 or 32 lanes by KMOVB, KMOVW or
// KMOVD, which clear a mask register's upper bits, and has them for plain copies (isMoveReg).  So where the wide mask is spilled,
// the register allocator stores the narrow one in its place, with whatever lies above it: lanes then run, load and store that are
// switched off.  Before registers are allocated such an instruction becomes an AND of the mask with itself, which clears as much.
// For LLVM 21 and 22; older ones have no way to add a pass.  C++, as there is no C interface to machine code.
// SPDX-License-Identifier: Apache-2.0
#include "llvm/Config/llvm-config.h"

extern "C" {
#include "finish/target.h"
}

#if __has_include("llvm/Target/RegisterTargetPassConfigCallback.h")

#include "llvm/ADT/StringRef.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace {

// Opcodes have no public numbers, but names; the numbers are the same for all processors.
unsigned opcode_of(const TargetInstrInfo &info, StringRef name)
{
    for (unsigned i = 0; i < info.getNumOpcodes(); i++)
        if (info.getName(i) == name)
            return i;
    return 0;
}

class MaskMoves : public MachineFunctionPass {
public:
    static char ID;
    MaskMoves() : MachineFunctionPass(ID) {}

    bool runOnMachineFunction(MachineFunction &fn) override
    {
        const TargetInstrInfo &info = *fn.getSubtarget().getInstrInfo();
        static const unsigned opcodes[3][2] = { { opcode_of(info, "KMOVBkk"), opcode_of(info, "KANDBkk") },
                                                { opcode_of(info, "KMOVWkk"), opcode_of(info, "KANDWkk") },
                                                { opcode_of(info, "KMOVDkk"), opcode_of(info, "KANDDkk") } };
        bool changed = false;
        for (auto &pair : opcodes)
            changed |= become(fn, info, pair[0], pair[1]);
        return changed;
    }

private:
    static bool become(MachineFunction &fn, const TargetInstrInfo &info, unsigned move, unsigned both)
    {
        bool changed = false;
        if (!move || !both)
            return false;
        for (MachineBasicBlock &block : fn)
            for (MachineInstr &i : block)
                if (i.getOpcode() == move) {
                    Register from = i.getOperand(1).getReg();
                    unsigned part = i.getOperand(1).getSubReg();
                    i.setDesc(info.get(both));
                    MachineInstrBuilder(fn, i).addReg(from, 0, part);
                    changed = true;
                }
        return changed;
    }
};

char MaskMoves::ID;

void watch(TargetMachine &machine, PassManagerBase &, TargetPassConfig *config)
{
    if (machine.getTargetTriple().isX86() && machine.getOptLevel() != CodeGenOptLevel::None)
        config->insertPass(&PeepholeOptimizerLegacyID, new MaskMoves);
}

} // namespace

extern "C" void ptx_mask_moves(void)
{
    static RegisterTargetPassConfigCallback callback(watch);
}

#else

extern "C" void ptx_mask_moves(void) {}

#endif
