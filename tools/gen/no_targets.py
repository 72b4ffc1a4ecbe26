#!/usr/bin/env python3
"""Functions that do nothing in the place of those that register LLVM's other targets: lld's driver calls all of them.

usage: no_targets.py LLVM_CONFIG OUTPUT KEPT...      (KEPT: targets that are linked: X86 AMDGPU)
"""
# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys

PARTS = ('TargetInfo', 'Target', 'TargetMC', 'AsmPrinter', 'AsmParser', 'Disassembler', 'TargetMCA')

llvm_config, output, *kept = sys.argv[1:]
targets = subprocess.run([llvm_config, '--targets-built'], capture_output=True, text=True, check=True).stdout.split()
with open(output, 'w', encoding='utf-8') as f:
    for target in targets:
        for part in PARTS if target not in kept else ():
            print('void LLVMInitialize%s%s(void);\nvoid LLVMInitialize%s%s(void) {}' % (target, part, target, part), file=f)
