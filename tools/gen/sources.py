#!/usr/bin/env python3
# The files of folders by their suffix, for meson.build files that take all there are: a new file is in the build without being
# named.
# SPDX-License-Identifier: Apache-2.0
"""usage: sources.py SUFFIX ROOT FOLDER...      paths from ROOT, sorted, a line each; not of folders in folders"""
import os
import sys

suffix, root, *folders = sys.argv[1:]
for folder in folders:
    for name in sorted(os.listdir(os.path.join(root, folder))):
        if name.endswith(suffix):
            print(os.path.normpath(os.path.join(folder, name)))
