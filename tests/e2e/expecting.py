"""What the programs here share that say of each thing they look at whether it is as it should be."""
# SPDX-License-Identifier: Apache-2.0
import sys

failed = []


def expect(what, condition, seen):
    """Says whether `condition` holds, and if not what was `seen`."""
    print('%s: %s' % ('ok' if condition else 'FAIL', what))
    if not condition:
        failed.append(what)
        print('    ' + repr(seen)[-3000:])


def finish():
    sys.exit('%d failed' % len(failed) if failed else 0)
