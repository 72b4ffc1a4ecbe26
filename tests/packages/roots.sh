# What the tests of packages share: clean roots of Debian 12, and programs in them.  $roots is the folder that they are in.
# SPDX-License-Identifier: Apache-2.0
passed=0
failed=0

# expect NAME REGULAR_EXPRESSION COMMAND...: the command's output has it.
expect() {
    name=$1 pattern=$2
    shift 2
    if said=$("$@" 2>&1); then status=0; else status=$?; fi
    if printf '%s\n' "$said" | grep -q -E "$pattern"; then
        passed=$((passed + 1))
        echo "ok    $name"
    else
        failed=$((failed + 1))
        printf 'FAIL  %s (status %s, not %s)\n%s\n' "$name" "$status" "$pattern" "$said"
    fi
}

mirror=$(sed -n 's/^URIs: *//p; s/^deb \([^ ]*\) bookworm main.*/\1/p' /etc/apt/sources.list \
    /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
base() {
    [ -d "$roots/$1" ] || debootstrap --variant=minbase ${2:+--include=$2} bookworm "$roots/$1.new" ${mirror:+"$mirror"} \
        >"$roots/$1.log" 2>&1 ||
        { tail -n 20 "$roots/$1.log" >&2; exit 1; }
    [ -d "$roots/$1" ] || mv "$roots/$1.new" "$roots/$1"
}

# A copy of a base, to be spoilt; with /proc and /dev as a container has them.
inside() {
    where=$1
    shift
    unshare --mount --pid --fork sh -c '
        mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" &&
            exec chroot "$0" "$@"' "$where" "$@"
}

# Two CUDA programs, and why they fail where there is no anywarp.
programs=$roots/programs
make_programs() {
    nvcc=$(python3 -c 'import sys; sys.path.insert(0, "tests"); import nvcc; print(nvcc.find() or "")')
    [ -n "$nvcc" ] || { echo "tests/packages: no nvcc" >&2; exit 1; }
    mkdir -p "$programs"
    "$nvcc" -cudart shared -arch=compute_75 -o "$programs/shared" tools/demo.cu
    "$nvcc" -cudart static -arch=compute_75 -o "$programs/static" tools/demo.cu
}
