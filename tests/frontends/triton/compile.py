"""Compiles cases of kernels.py with Triton as far as PTX: NAME.ptx and NAME.json (what a launch needs to know) in a folder. 
Needs no GPU and no ptxas.

    compile.py FOLDER [SUBSTRING...]"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import sys
import warnings

warnings.simplefilter('ignore')
import triton
from triton import knobs
from triton.backends.compiler import GPUTarget

import kernels


def stop_at_ptx(backend=None, stages=None, *_):
    """Triton asks this before it compiles; without arguments, for a part of its cache's key."""
    if stages is None:
        return 'ptx', 'ptx'
    stages['cubin'] = lambda text, metadata: b''
    return None


def signature(case):
    """Types, constants and what is known of arguments, as Triton's launcher would tell from these arguments: addresses and whole
    numbers that 16 divides, and 1."""
    types, constants, known = {}, dict(case.constants), {}
    names = case.kernel.arg_names
    for i, name in enumerate(names):
        arg = case.args[i] if i < len(case.args) else None
        if name in constants:
            types[name] = 'constexpr'
        elif isinstance(arg, kernels.Array):
            types[name] = '*' + arg.type
            known[(i,)] = [['tt.divisibility', 16]]
        elif isinstance(arg, float):
            types[name] = 'fp32'
        elif arg == 1:
            types[name], constants[name] = 'constexpr', 1
        else:
            types[name] = 'i32' if abs(arg) < 1 << 31 else 'i64'
            if arg % 16 == 0:
                known[(i,)] = [['tt.divisibility', 16]]
    return types, constants, known


def compile_case(case, folder):
    types, constants, known = signature(case)
    source = triton.compiler.ASTSource(case.kernel, types, constants, known)
    done = triton.compile(source, target=GPUTarget('cuda', case.arch, 32),
                          options=dict(num_warps=case.warps, num_stages=case.stages, ptx_version=83))
    m = done.metadata
    # A 1 among the arguments is no parameter; two addresses of Triton's own scratch memory follow.
    taken = [i for i, name in enumerate(case.kernel.arg_names) if types[name] != 'constexpr']
    with open(os.path.join(folder, case.name + '.ptx'), 'w', encoding='utf-8') as f:
        f.write(done.asm['ptx'])
    with open(os.path.join(folder, case.name + '.json'), 'w', encoding='utf-8') as f:
        json.dump(dict(name=m.name, grid=case.grid, threads=m.num_warps * 32, shared=m.shared, args=taken,
                       scratch=m.global_scratch_size), f)


def main():
    folder, wanted = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    os.environ.setdefault('TRITON_CACHE_DIR', os.path.join(folder, 'cache'))
    knobs.nvidia.mock_ptx_version = '83'
    knobs.compilation.always_compile = True
    knobs.runtime.add_stages_inspection_hook = stop_at_ptx
    for name, case in kernels.cases().items():
        if (not wanted or any(w in name for w in wanted)) and not os.path.exists(os.path.join(folder, name + '.json')):
            try:
                compile_case(case, folder)
            except Exception as e: # pylint: disable=broad-except
                print(f'{name}: Triton does not compile it: {str(e)[:300]}', flush=True)


if __name__ == '__main__':
    main()
