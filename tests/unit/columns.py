#!/usr/bin/env python3
# No line is wider than .editorconfig has it: max_line_length of the last section whose pattern fits the file, off for tables and
# texts.  Lines that a test reads as one (directives of tests/apps) are as long as they are, and so is what has no place to
# break: a line of one word.  Usage: columns.py SOURCE_ROOT.  `tools/format` mends C.
# SPDX-License-Identifier: Apache-2.0
import configparser
import fnmatch
import os
import re
import sys
import tempfile

FOLDERS = (".", ".ci", "include", "libs", "ptx", "src", "tests", "tools")
SKIPPED = {"corpus", "__pycache__"}
DIRECTIVE = re.compile(r"(//|/\*) (bytes|devices|expect-stderr|link|needs|not-lifted|races|sources|variants): ")


def alternatives(pattern):
    """A pattern of .editorconfig as fnmatch's, of which there is one for each way through its braces."""
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if not braces:
        return [pattern]
    return [p for way in braces[1].split(",") for p in alternatives(pattern[:braces.start()] + way + pattern[braces.end():])]


def widths(root):
    """[(patterns, width; 0: off)], later ones first."""
    with open(os.path.join(root, ".editorconfig"), encoding="utf-8") as f:
        text = f.read()
    parser = configparser.ConfigParser(delimiters=("=",), comment_prefixes=("#", ";"), interpolation=None)
    parser.read_string(text[text.index("["):])
    found = []
    for pattern in parser.sections():
        width = parser[pattern].get("max_line_length")
        if width:
            found.insert(0, (alternatives(pattern), 0 if width == "off" else int(width)))
    return found


def width_of(path, table):
    for patterns, width in table:
        for pattern in patterns:
            if fnmatch.fnmatch(path if "/" in pattern else os.path.basename(path), pattern):
                return width
    return 0


def files(root):
    for folder in FOLDERS:
        for at, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = [] if folder == "." else sorted(set(folders) - SKIPPED)
            yield from (os.path.join(at, name) for name in sorted(names) if not name.endswith((".pyc", ".orig", ".swp")))


def check(root):
    table = widths(root)
    for path in files(root):
        name = os.path.relpath(path, root)
        width = width_of(name, table)
        with open(path, "rb") as f:
            data = f.read()
        if not width or b"\0" in data:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            if len(line) > width and not DIRECTIVE.match(line) and len(line.split()) > 1:
                yield f"{name}:{number}: {len(line)} columns, {width} are allowed (.editorconfig)"


def self_test():
    """It must see what it is for, and leave alone what is named."""
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "src"))
        with open(os.path.join(root, ".editorconfig"), "w", encoding="utf-8") as f:
            f.write("root = true\n[*.c]\nmax_line_length = 20\n[*.{def,api}]\nmax_line_length = "
                    "off\n[src/w*.c]\nmax_line_length = 30\n")
        line = "int f(int a, int b);\n"
        for name, text in (("a.c", line + "\tint f(int a, int b);\n"), ("wide.c", " " * 9 + line), ("wider.c", " " * 11 + line),
                           ("t.def", " " * 90 + line), ("d.c", "// needs: " + line), ("word.c", "x" * 50),
                           ("é.c", "é" * 10 + " " + "é" * 9)):
            with open(os.path.join(root, "src", name), "w", encoding="utf-8") as f:
                f.write(text)
        seen = [fault.split(" ")[0] for fault in check(root)]
        assert seen == ["src/a.c:2:", "src/wider.c:1:"], seen


def main():
    self_test()
    faults = list(check(os.path.abspath(sys.argv[1])))
    print("\n".join(faults) or "columns: every line is as narrow as .editorconfig has it")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
