#!/usr/bin/env python3
# Products of matrices, sparse and not, and what moves matrices, as machine code: each form of tests/matrix, or every Nth, as the
# assembler makes it for an architecture, has the reference's results.
# SPDX-License-Identifier: Apache-2.0
"""usage: matrix.py ANYWARP MATRIX_FORMS N ARCH[:TEXT]...   (TEXT: what is in a form's name)"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import nvcc
import check


def main():
    ptxas = nvcc.find_beside('ptxas')
    if not ptxas:
        print('there is no ptxas')
        return check.SKIPPED
    anywarp, forms, every = sys.argv[1:4]
    status = 0
    for arch in sys.argv[4:]:
        arch, _, text = arch.partition(':')
        command = [anywarp, 'run', '--device=host', '--', forms, text or 'm', every, '2', arch, ptxas]
        status |= subprocess.run(command, check=False).returncode
    return status


sys.exit(main())
