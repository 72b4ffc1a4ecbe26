#!/usr/bin/env python3
# Words of PTX for libFuzzer's -dict: what the tables know, and the directives.  Usage: dict.py instr.def type.def sreg.def > ptx.dict
# SPDX-License-Identifier: Apache-2.0
import re
import sys

DIRECTIVES = """.version .target .address_size .entry .func .visible .extern .weak .common .reg .param .global .const .shared .local .tex
.align .ptr .maxntid .reqntid .minnctapersm .maxnctapersm .maxnreg .noreturn .pragma .loc .file .section .alias .attribute .managed
.unified .branchtargets .calltargets .callprototype .reqnctapercluster .explicitcluster .maxclusterrank generic( mask( WARP_SZ debug
texmode_unified 0f3F800000 0d3FF0000000000000 0xFF 0b11 1U _ inlined_at function_name""".split()


def main():
    instr, types, sregs = (open(path, encoding="utf-8").read() for path in sys.argv[1:4])
    words = set(DIRECTIVES)
    for line in instr.splitlines():
        if line.startswith("@"):
            words.update("." + word for word in line.split("=")[1].split() if word[0] != "@")
        elif line and line[0] != "#":
            syntax = re.split(r"\s{2,}", line)[1]
            words.add(re.match(r"\w+", syntax)[0])
            words.update("." + word for word in re.findall(r"[.{,](\w+(?:::\w+)*)", syntax))
    words.update("." + word for word in re.findall(r'^PTX_TYPE\(\w+, "(\w+)"', types, re.M))
    words.update(re.findall(r'^PTX_SREG\(\w+, "([^"]+)"', sregs, re.M))
    for word in sorted(words):
        print(f'"{word}"')


main()
