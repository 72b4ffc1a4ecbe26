#!/usr/bin/env python3
# The folders that have a file of a suffix, for libs/meson.build, which takes every library there is.
# SPDX-License-Identifier: Apache-2.0
"""usage: rooms.py SUFFIX ROOT      names, sorted, a line each"""
import os
import sys

suffix, root = sys.argv[1:]
for name in sorted(os.listdir(root)):
    folder = os.path.join(root, name)
    if os.path.isdir(folder) and any(table.endswith(suffix) for table in os.listdir(folder)):
        print(name)
