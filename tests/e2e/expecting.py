"""What the programs here share that say of each thing they look at whether it is as it should be."""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import nvcc

failed = []


@contextlib.contextmanager
def given():
    """nvcc, the anywarp that the first argument names, an environment without settings but for a cache and one form of code, and
    a folder for all of it.  Where there is no nvcc the test is left out."""
    compiler = nvcc.find()
    if not compiler:
        print('no nvcc')
        sys.exit(77)
    env = {k: v for k, v in os.environ.items() if not k.startswith('ANYWARP_')}
    with tempfile.TemporaryDirectory() as folder:
        env['ANYWARP_CACHE_DIR'] = os.path.join(folder, 'cache')
        env['ANYWARP_TIERS'] = 'off'  # one form of each kernel, however busy the machine is
        yield compiler, os.path.abspath(sys.argv[1]), env, folder


def expect(what, condition, seen):
    """Says whether `condition` holds, and if not what was `seen`."""
    print('%s: %s' % ('ok' if condition else 'FAIL', what))
    if not condition:
        failed.append(what)
        print('    ' + repr(seen)[-3000:])


def finish():
    sys.exit('%d failed' % len(failed) if failed else 0)
