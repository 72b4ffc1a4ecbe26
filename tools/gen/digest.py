#!/usr/bin/env python3
# A header with the digest of all that decides what the compiler makes: its sources, but for comments and empty lines, and LLVM's
# version.  It is part of every cache key, so that a changed compiler never meets old code, and one that is the same
# keeps it.  Usage: digest.py OUT DEPFILE LLVM_VERSION FOLDER_OR_FILE...
# SPDX-License-Identifier: Apache-2.0
import hashlib
import os
import re
import sys

SUFFIXES = (".c", ".h", ".cpp", ".def", ".py")


def files(roots):
    for root in roots:
        if os.path.isfile(root):
            yield root
        for at, folders, names in os.walk(root):
            folders.sort()
            yield from (os.path.join(at, name) for name in sorted(names) if name.endswith(SUFFIXES))


# Strings and characters, which stay as they are, and comments.
PIECES = re.compile(rb'''("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|/\*.*?\*/|//[^\n]*''', re.S)


def meaning(path, text):
    """Of C the lines without comments, without blanks at their ends and without empty ones."""
    if not path.endswith((".c", ".h")):
        return text
    lines = PIECES.sub(lambda m: m[1] or b" ", text).split(b"\n")
    return b"\n".join(line.strip() for line in lines if line.strip())


def main():
    out, depfile, llvm, *roots = sys.argv[1:]
    digest = hashlib.sha256(llvm.encode())
    paths = list(files(roots))
    for path in paths:
        with open(path, "rb") as f:
            digest.update(meaning(path, f.read()) + b"\0")
    with open(out, "w", encoding="ascii") as f:
        f.write("/* Made by tools/gen/digest.py. */\n"
                f'#define AW_COMPILER_DIGEST "{digest.hexdigest()[:32]}"\n')
    with open(depfile, "w", encoding="utf-8") as f:
        f.write(f"{out}: " + " ".join(path.replace(" ", "\\ ") for path in paths) + "\n")


if __name__ == "__main__":
    main()
