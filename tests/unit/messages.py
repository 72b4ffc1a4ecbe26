#!/usr/bin/env python3
# What is said to users is a row of src/base/message.def, and each row is said somewhere: nothing else writes to standard error.
# That a call names a row, and that its arguments fit, is the compiler's to check.  Usage: messages.py SOURCE_ROOT.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import sys

SAID = re.compile(r"\b(?:aw_say|aw_preload_say|AW_ROW)\(\s*(\w+)|\b(?:aw_tell|warn_once)\(\s*(?:\"[^\"]*\"|\w+),\s*(\w+)")
DIRECT = re.compile(r"\bv?fprintf\(\s*stderr|\bf?(?:puts|putc|write)\([^;]*\bstderr\b|\bperror\(|\bv?dprintf\(|\bSTDERR_FILENO\b"
                    r"|\baw_log(?:_tool)?\((?![^;]*AW_ROW)")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
FOLDERS = ("src", "libs", "ptx", "tools")

# Who writes to standard error what is no message, and how often.
OTHERS = {
    "src/base/log.c": (3, "the log itself"),
    "src/base/log.h": (3, "the log itself"),
    "src/base/calltrace.c": (3, "the trace of calls"),
    "src/base/progress.c": (4, "the line at the terminal"),
    "src/preload/preload.c": (1, "its own log, without stdio"),
    "src/core/jit_process.c": (1, "the compiler process's log, which it hands on"),
    "src/core/logs.c": (1, "CUDA's log, where CUDA_LOG_FILE asks for it there"),
    "src/provider/host/service.c": (1, "a kernel's assert, in CUDA's form"),
    "src/provider/hip/env.c": (1, "a kernel's assert, in CUDA's form"),
    "tools/anywarp/precompile.c": (4, "the line at the terminal"),
    "tools/anywarp/compile.c": (7, "times, and the compiler's complaints, which quote lines"),
    "tools/anywarp/usage.c": (1, "usage"),
    "tools/standins/main.c": (4, "what NVIDIA's tools say, in their form"),
    "tools/standins/nvlink.c": (1, "what NVIDIA's tools say, in their form"),
    "tools/standins/ptxas.c": (3, "what NVIDIA's tools say, in their form"),
}


def sources(root):
    for folder in FOLDERS:
        for path, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".cpp")):
                    full = os.path.join(path, name)
                    with open(full, encoding="utf-8") as f:
                        yield os.path.relpath(full, root), COMMENT.sub("", f.read())


def table_faults(rows):
    numbers = [r[1] for r in rows]
    if numbers != sorted(set(numbers)):
        yield "message.def: numbers do not ascend, or one is there twice"
    names = [r[0] for r in rows]
    yield from (f"message.def: {name} is there twice" for name in sorted(set(names)) if names.count(name) > 1)
    for name, _, _, text, meaning, remedy in rows:
        if text.endswith("\\n") or not text:
            yield f"message.def: {name}: the text is empty, or ends its line itself"
        if not all(re.fullmatch(r"\S.*\.", f) for f in (meaning, remedy)):
            yield f"message.def: {name}: meaning and remedy are sentences"


def page_faults(root, rows):
    for name, *_, meaning, remedy in rows:
        for page in re.findall(r"\bdocs/[\w-]+\.md", meaning + remedy):
            if not os.path.exists(os.path.join(root, page)):
                yield f"message.def: {name} sends its reader to {page}, which is not there"


def faults(root):
    sys.path.insert(0, os.path.join(root, "tools/gen"))
    import messages
    rows = [r for r in messages.rows(os.path.join(root, "src/base/message.def")) if r[0] != "title"]
    yield from table_faults(rows)
    yield from page_faults(root, rows)
    said = set()
    for path, text in sources(root):
        said.update(a or b for a, b in SAID.findall(text))
        found, allowed = len(DIRECT.findall(text)), OTHERS.get(path, (0,))[0]
        if found != allowed:
            yield f"{path}: writes to standard error {found} times without a row of src/base/message.def ({allowed} are known)"
    yield from (f"message.def: nothing says {r[0]}" for r in rows if r[0] not in said)


def main():
    problems = list(faults(sys.argv[1]))
    print("\n".join(problems) or "every message has a row, and every row is said")
    return 1 if problems else 0


sys.exit(main())
