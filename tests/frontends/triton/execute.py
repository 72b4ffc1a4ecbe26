"""Runs compiled cases on the device of this process and compares what they leave in memory; a line for each.  Under `anywarp
run`.

    execute.py FOLDER NAME..."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import sys

import numpy as np

import driver
import kernels


def difference(arg, data):
    """What is wrong in an array that came back, or None."""
    got = kernels.from_bits(np.frombuffer(bytes(data), arg.data.dtype).reshape(arg.data.shape), arg.type).astype(np.float64)
    want = np.asarray(arg.want, np.float64)
    wrong = ~(np.abs(got - want) <= arg.atol + arg.rtol * np.abs(want))
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f'{int(wrong.sum())} of {wrong.size} differ; {list(at)} is {got[at]}, not {want[at]}'


def run(device, case, folder):
    with open(os.path.join(folder, case.name + '.ptx'), encoding='utf-8') as f:
        ptx = f.read()
    with open(os.path.join(folder, case.name + '.json'), encoding='utf-8') as f:
        m = json.load(f)
    values = [bytearray(a.data.tobytes()) if isinstance(a, kernels.Array) else a for a in case.args]
    device.launch(ptx, m['name'], m['grid'], m['threads'], m['shared'], [values[i] for i in m['args']] + [None, None])
    bad = [f'argument {i}: {d}' for i, a in enumerate(case.args) if isinstance(a, kernels.Array) and a.want is not None
           for d in [difference(a, values[i])] if d]
    return '; '.join(bad)


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    device, all_of = driver.Device(), kernels.cases()
    for name in names:
        print('begin', name, flush=True)
        try:
            wrong = run(device, all_of[name], folder)
        except driver.TooLarge as e:
            print('skipped ' + str(e), flush=True)
            continue
        except RuntimeError as e:
            wrong = str(e)
        print('wrong ' + wrong if wrong else 'right', flush=True)


if __name__ == '__main__':
    main()
