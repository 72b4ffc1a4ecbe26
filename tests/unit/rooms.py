#!/usr/bin/env python3
# The include matrix of docs/architecture.md, and the floors of ptx/, checked against every #include; that src/core includes in
# one direction; that calls in the compiler are told by number; that only one header reads the environment; and each public
# header compiled alone, as C and as C++.  Usage: rooms.py SOURCE_ROOT [CC [CXX]].
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys
import tempfile

# room: (folder, other rooms whose headers it may include, foreign header families it may include).  Every room may include
# libc and itself.  src/abi's and tools' headers belong to nobody else.
ROOMS = {
    "include": ("include/anywarp", set(), set()),
    "base": ("src/base", {"include"}, {"xxhash"}),
    "fatbin": ("src/fatbin", {"include", "base"}, {"zstd", "lz4", "elf"}),
    "cache": ("src/cache", {"include", "base"}, set()),
    "provider": ("src/provider", {"include", "base"}, set()),
    "core": ("src/core", {"include", "base", "cache"}, set()),
    "abi": ("src/abi", {"include", "base", "core"}, set()),
    "preload": ("src/preload", {"include", "base"}, {"elf"}),
    "ptx": ("ptx", {"include", "base", "sass"}, {"llvm", "lld"}),
    "sass": ("ptx/sass", {"base"}, set()),
    # Of libs/, each folder is a room: what they share, and a library each (library_rooms).
    "common": ("libs/common", {"base"}, set()),
    "front": ("libs/front", {"base"}, set()),
    "tools": ("tools", None, {"elf"}),
    "simgpu": ("tests/simgpu", {"base"}, {"llvm", "elf", "hsa", "hip"}),
}
FOREIGN = {
    "llvm": re.compile(r"^llvm(-c)?/"),
    "lld": re.compile(r"^lld/"),
    "elf": re.compile(r"^(libelf|gelf|elfutils/.*)\.h$"),
    "zstd": re.compile(r"^zstd(_errors)?\.h$"),
    "lz4": re.compile(r"^lz4\.h$"),
    "xxhash": re.compile(r"^xxhash\.h$"),
    "hip": re.compile(r"^hip/"),
    "hsa": re.compile(r"^(hsa/|hsakmt)"),
    "cuda": re.compile(r"^cuda"),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
# Privileged programs must not follow their caller's environment, so that one place decides what is read.
GETENV = re.compile(r"\b(?:__)?(?:secure_)?getenv\b")
GETENV_HOME = ("src/base/env.c", "src/base/config.c")
# Variables of ours in a string, and those that are no user's setting: what `anywarp run` tells the simulator and its own objects.
VARIABLE = re.compile(r'"(ANYWARP_[A-Z_0-9]+)"')
NO_SETTINGS = {"ANYWARP_SIM", "ANYWARP_SIM_CHECK", "ANYWARP_SIM_STATS", "ANYWARP_LIB_DIR",
               "ANYWARP_ERRORS_FILE"}
CONFIG_DEF = "src/base/config.def"
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
SASS_HEADER = "sass/sass.h"
PTX_FOLDERS = ("tab/", "syntax/", "module/", "pass/", "lower/", "simt/", "finish/")


# Floors inside ptx/, from below: (folder or file, floors whose headers it may include).  The longest that fits a file is its
# floor; arrows go down only.  The tables of the language and its tree are one floor in two folders.
FLOORS = {
    "tab": ("syntax",),
    "syntax": ("tab",),
    "module": ("tab", "syntax"),
    "pass": (),
    "lower": ("tab", "syntax", "module"),
    "simt": ("lower", "pass"),
    "simt/analysis": ("simt", "lower", "pass"),
    "simt/rewrite": ("simt/analysis", "simt", "lower", "pass"),
    "simt/emit": ("simt/analysis", "simt", "lower", "pass"),
    "simt/schedule": ("simt/emit", "simt/analysis", "simt", "lower", "pass"),
    "simt/vectorise.c": ("simt/schedule", "simt/emit", "simt/rewrite", "simt/analysis", "simt", "lower", "pass"),
    "finish": ("simt/vectorise.h", "lower", "pass"),
    "finish/host": ("finish", "simt/vectorise.h", "lower", "pass"),
    "finish/amdgpu": ("finish", "lower", "pass"),
}
PRIVATE = {"simt/vectorise.h"}  # a header that is a floor of its own: what the others of its folder are not


def floor_of(path):
    """The floor of a file or header by its path from ptx/, or None for what stands above all."""
    if path in PRIVATE:
        return path
    fit = [floor for floor in FLOORS if path == floor or path.startswith(floor + "/")]
    return max(fit, key=len) if fit else None


def check_floors(root):
    for path in sources(root, "ptx"):
        name = os.path.relpath(path, os.path.join(root, "ptx"))
        mine = "simt" if name in PRIVATE else floor_of(name)
        for _, header in INCLUDE.findall(open(path, encoding="utf-8").read()) if mine else ():
            other = floor_of(header) if "/" in header and header.startswith(PTX_FOLDERS) else None
            if other in PRIVATE and mine.startswith("simt"):
                continue
            if other and other != mine and other not in FLOORS[mine]:
                yield f"ptx/{name}: floor {mine} may not include {other}'s {header}"


# What a call calls is a number of a table, and these tables alone read names.
NAMED_IN = ("lower/simt.c", "lower/intrinsic.c", "simt/private.c")
MARK = "SIMT_SCRATCH"  # of variables, which LLVM's SROA splits: a name is all that the parts keep
COMPARED = re.compile(r'\b(?:str(?:n?cmp|str)|mem(?:cmp|mem))\s*\([^;{]*?(?:LLVMGetValueName|"llvm\.|"aw\.)')


def check_names(root):
    for folder in ("lower", "simt", "finish"):
        for path in sources(root, os.path.join("ptx", folder)):
            name = os.path.relpath(path, os.path.join(root, "ptx"))
            text = open(path, encoding="utf-8").read()
            for hit in COMPARED.finditer(text) if name not in NAMED_IN else ():
                line = text.count("\n", 0, hit.start()) + 1
                if MARK not in text.splitlines()[line - 1]:
                    yield f"ptx/{name}:{line}: calls are told by number (lower/intrinsic.def, lower/simt.def, simt/private.def)"


STRUCT = re.compile(r"^(?:typedef |static |const )*struct (\w+) \{", re.M)


def check_structs(root):
    """No two struct types of the compiler have one name: who searches for it finds what was meant."""
    seen = {}
    for path in sources(root, "ptx"):
        name = os.path.relpath(path, root)
        for struct in set(STRUCT.findall(open(path, encoding="utf-8").read())):
            if seen.setdefault(struct, name) != name:
                yield f"{name}: struct {struct} is {seen[struct]}'s, too"


def room_of(header):
    """The room that a quoted or <anywarp/> include belongs to, or None for libc and generated files."""
    if header.startswith("anywarp/"):
        return "include"
    if header.startswith("sass/") or header == "tab/sass.inc":
        return "sass"
    if header.startswith(PTX_FOLDERS):
        return "ptx"
    head = header.split("/")[0]
    return head if head in ROOMS and "/" in header else None


def library_rooms(root):
    """A room for each folder of libs/ with a table: of a CUDA library (.api), or of one in front of NVIDIA's own (.front)."""
    found = {}
    for name in sorted(os.listdir(os.path.join(root, "libs"))):
        folder = os.path.join(root, "libs", name)
        tables = {os.path.splitext(table)[1] for table in (os.listdir(folder) if os.path.isdir(folder) else ())}
        may = {"base", "common"} if ".api" in tables else {"include", "base", "core", "front"} if ".front" in tables else None
        if may:
            found["libs/" + name] = ("libs/" + name, may, set())
    return found


def sources(root, folder):
    for at, _, names in os.walk(os.path.join(root, folder)):
        for name in sorted(names):
            if name.endswith((".c", ".h", ".cpp", ".def", ".inc")):
                yield os.path.join(at, name)


def check_room(root, room):
    folder, may, foreign_may = ROOMS[room]
    for path in sources(root, folder):
        text = open(path, encoding="utf-8").read()
        for style, header in INCLUDE.findall(text):
            other = room_of(header)
            mine = path.startswith(os.path.join(root, ROOMS["sass"][0]))
            if other == "sass" and room == "ptx" and header != SASS_HEADER and not mine:
                yield f"{os.path.relpath(path, root)}: of room sass only {SASS_HEADER} is for others"
            if other and other != room and may is not None and other not in may:
                yield f"{os.path.relpath(path, root)}: room {room} may not include {other}'s {header}"
            for family, pattern in FOREIGN.items():
                if style == "<" and pattern.match(header) and family not in foreign_may:
                    yield f"{os.path.relpath(path, root)}: room {room} may not include {header}"


def circles(arrows):
    """The sets of more than one file that include each other, from {file: files it includes}; Tarjan's algorithm."""
    index, low, stack, found = {}, {}, [], []

    def visit(at):
        index[at] = low[at] = len(index)
        stack.append(at)
        for other in sorted(arrows.get(at, ())):
            if other not in index:
                visit(other)
                low[at] = min(low[at], low[other])
            elif other in stack:
                low[at] = min(low[at], index[other])
        if low[at] == index[at]:
            found.append([])
            while not found[-1] or found[-1][-1] != at:
                found[-1].append(stack.pop())

    for at in sorted(arrows):
        if at not in index:
            visit(at)
    return [sorted(files) for files in found if len(files) > 1]


def check_circles(root, room):
    """Inside the room a file and the header of its name are one thing, and such things include each other in one direction
    only."""
    arrows = {}
    for path in sources(root, ROOMS[room][0]):
        name = os.path.splitext(os.path.basename(path))[0]
        for _, header in INCLUDE.findall(open(path, encoding="utf-8").read()):
            other = os.path.splitext(os.path.basename(header))[0]
            if room_of(header) == room and other != name:
                arrows.setdefault(name, set()).add(other)
    for files in circles(arrows):
        yield f"{ROOMS[room][0]}: a circle of includes: {', '.join(files)}"


def check_environment(root):
    for folder in ("src", "libs", "ptx", "tools", "tests/simgpu"):
        for path in sources(root, folder):
            name = os.path.relpath(path, root)
            text = COMMENT.sub(lambda m: "\n" * m.group().count("\n"), open(path, encoding="utf-8").read())
            for hit in GETENV.finditer(text) if name not in GETENV_HOME else ():
                line = text.count("\n", 0, hit.start()) + 1
                yield f"{name}:{line}: the environment is read by aw_env of src/base/env.h alone"


def check_header(root, header, compiler, flags):
    with tempfile.TemporaryDirectory() as tmp:
        run = subprocess.run(
            compiler + flags + ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I" + os.path.join(root, "include"), "-"],
            input=f"#include <anywarp/{header}>\n", text=True, capture_output=True, cwd=tmp)
    if run.returncode:
        yield f"include/anywarp/{header} does not compile alone with {' '.join(compiler + flags)}:\n{run.stderr}"


def check_settings(root):
    """Each variable that is read is a row of the table of settings, and each row is read somewhere."""
    with open(os.path.join(root, CONFIG_DEF), encoding="utf-8") as f:
        rows = set(VARIABLE.findall(f.read()))
    used = {}
    for folder in ("src", "libs", "ptx", "tools"):
        for path in sources(root, folder):
            if os.path.relpath(path, root) == CONFIG_DEF:
                continue
            with open(path, encoding="utf-8") as f:
                for name in VARIABLE.findall(f.read()):
                    used.setdefault(name, os.path.relpath(path, root))
    for name in sorted(set(used) - rows - NO_SETTINGS):
        yield f"{used[name]}: {name} is no row of {CONFIG_DEF}"
    for name in sorted(rows - set(used)):
        yield f"{CONFIG_DEF}: {name} is read nowhere"


def self_test():
    """The checker must catch what it is for."""
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "src/base"))
        os.makedirs(os.path.join(root, "src/core"))
        with open(os.path.join(root, "src/base/a.c"), "w") as f:
            f.write('#include "core/context.h"\n#include <llvm-c/Core.h>\n#include <stdio.h>\n')
        with open(os.path.join(root, "src/core/a.c"), "w") as f:
            f.write('#include "base/str.h"\n#include <anywarp/provider.h>\n')
        assert len(list(check_room(root, "base"))) == 2
        assert not list(check_room(root, "core"))
        assert not list(check_circles(root, "core"))
        for name, other in (("b.h", "c"), ("c.c", "d"), ("d.h", "b"), ("d.c", "a")):
            with open(os.path.join(root, "src/core", name), "w") as f:
                f.write(f'#include "core/{other}.h"\n')
        assert list(check_circles(root, "core")) == ["src/core: a circle of includes: b, c, d"]
        for folder, table in (("libs/cux", "cux.api"), ("libs/nvx", "nvx.front"), ("libs/none", "a.h")):
            os.makedirs(os.path.join(root, folder))
            open(os.path.join(root, folder, table), "w").close()
        assert {room: may for room, (_, may, _) in library_rooms(root).items()} == {
            "libs/cux": {"base", "common"}, "libs/nvx": {"include", "base", "core", "front"}}
        for folder in ("libs", "ptx", "tools", "tests/simgpu", "src/base"):
            os.makedirs(os.path.join(root, folder), exist_ok=True)
        for name in ("src/base/env.c", "ptx/b.cpp", "tools/b.c"):
            with open(os.path.join(root, name), "w") as f:
                f.write('/* not getenv */\nconst char *x = secure_getenv("X"), *y = std::getenv("Y");\n')
        for folder in ("lower", "simt/analysis", "finish/host"):
            os.makedirs(os.path.join(root, "ptx", folder))
        for name, text in (("lower/a.c", '#include "finish/target.h"\n#include "tab/form.h"\n'),
                           ("simt/analysis/a.c", '#include "simt/emit/emit.h"\n#include "simt/ir.h"\n'),
                           ("finish/host/a.c", '#include "simt/ir.h"\n#include "simt/vectorise.h"\n')):
            with open(os.path.join(root, "ptx", name), "w") as f:
                f.write(text)
        assert len(list(check_floors(root))) == 3, list(check_floors(root))
        with open(os.path.join(root, "ptx/simt/analysis/b.c"), "w") as f:
            f.write('bool b = !strncmp(name, "llvm.lifetime.", 14);\nbool c = !strcmp(name,\n    "aw.host.all");\n'
                    'strcmp(LLVMGetValueName2(v, &n), name);\n')
        assert len(list(check_names(root))) == 3, list(check_names(root))
        faults = list(check_environment(root))
        for name, text in ((CONFIG_DEF, 'AW_CONFIG("a", "ANYWARP_A", "", "", "")\nAW_CONFIG("b", "ANYWARP_B", "", "", "")\n'),
                           ("src/base/c.c", 'aw_env("ANYWARP_A"), aw_env("ANYWARP_C"), aw_env("ANYWARP_LIB_DIR")\n')):
            with open(os.path.join(root, name), "w") as f:
                f.write(text)
        assert [fault.split()[1] for fault in check_settings(root)] == ["ANYWARP_C", "ANYWARP_B"], list(check_settings(root))
        assert len(faults) == 4 and faults[0].startswith("ptx/b.cpp:2:"), faults


def main():
    root = os.path.abspath(sys.argv[1])
    cc = sys.argv[2].split() if len(sys.argv) > 2 else ["cc"]
    cxx = sys.argv[3].split() if len(sys.argv) > 3 else ["c++"]
    self_test()
    ROOMS.update(library_rooms(root))
    unknown = {name for name in os.listdir(os.path.join(root, "libs")) if os.path.isdir(os.path.join(root, "libs", name))}
    unknown -= {"common", "front"} | {os.path.basename(room) for room in ROOMS}
    faults = [f"libs/{name}: a folder without a table is no room" for name in sorted(unknown)]
    faults += [fault for room in ROOMS for fault in check_room(root, room)]
    floors = list(check_floors(root))
    faults += floors + list(check_structs(root)) + list(check_names(root)) + list(check_environment(root))
    faults += list(check_circles(root, "core")) + list(check_settings(root))
    for header in sorted(os.listdir(os.path.join(root, "include/anywarp"))):
        for std in ("c11", "c17"):
            faults += check_header(root, header, cc, ["-xc", "-std=" + std, "-pedantic"])
        faults += check_header(root, header, cxx, ["-xc++", "-std=c++17"])
    print(f"rooms: {len(floors)} includes against the floors of ptx/")
    print("\n".join(faults)
          or "rooms: all includes allowed and without circles in core, the environment read in one place, all public headers "
             "compile alone")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
