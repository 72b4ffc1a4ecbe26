#!/usr/bin/env python3
# The table of passes: each row's golden test sees its pass.  Code without a pass that may be left out is another than with it,
# on one of the machines of the file's RUN lines; a pass that is needed has run.  And the IR is well formed after each.
# SPDX-License-Identifier: Apache-2.0
"""usage: passes.py COMPILER SOURCE_ROOT [NAME...]"""
import os
import re
import subprocess
import sys

# What passes of the vectoriser that choose by the shape of blocks are tried with, beside the RUN lines' own.
BLOCKS = ('256,1,1', '64,8,1')


def compiled(compiler, path, args, *more):
    done = subprocess.run([compiler, 'compile', path, *args, *more], capture_output=True, text=True, errors='replace',
                          check=False)
    return done.returncode, done.stdout, done.stderr


def runs_of(path, row):
    """The file's RUN lines for this finisher, and each once for the machines that the row is for."""
    lines = re.findall(r'^\s*//\s*RUN:\s?(.*)$', open(path, encoding='utf-8').read(), flags=re.M)
    seen = []
    for args in (line.split() for line in lines):
        target = next((args[i + 1] for i, a in enumerate(args) if a == '--target'), 'host')
        rest = [a for i, a in enumerate(args) if a != '--target' and (not i or args[i - 1] != '--target')
                and not a.startswith('--emit')]
        amd = target.startswith('gfx')
        host_too = 'HOST' in row['on']
        machines = [target] if amd == ('AMD' in row['on'] and not host_too) or host_too and 'AMD' in row['on'] else []
        if 'HOST' in row['on'] and not amd:
            machines += ['host:sapphirerapids', 'host:haswell', 'host:znver3', 'host:x86-64-v2']
        elif 'AMD' in row['on'] and not machines:
            machines = ['gfx1030']
        elif 'HOST' in row['on'] and not machines:
            machines = ['host:haswell', 'host:sapphirerapids', 'host:x86-64-v2']
        seen += [['--target', m, *rest] for m in machines]
    shaped = [['--target', run[1], '--block', block] for run in seen for block in BLOCKS] if row['stage'] == 'VECTOR' else []
    return [run for i, run in enumerate(seen + shaped) if run not in (seen + shaped)[:i]]


def check(compiler, root, row):
    path = os.path.join(root, 'tests/ptx/lower', row['test'] + '.ptx')
    runs = runs_of(path, row)
    name, ran = row['name'], False
    for args in runs:
        if row['may'] == 'NEEDED':
            _, _, err = compiled(compiler, path, args, '--emit=ir-opt', '--print-after=' + name)
            ran |= f'; {name}\n' in err
        else:
            code, plain, _ = compiled(compiler, path, args, '--emit=asm')
            _, without, _ = compiled(compiler, path, args, '--emit=asm', '--disable=' + name)
            ran |= code == 0 and plain != without
            if row['may'] == 'FORCE':
                code, forced, _ = compiled(compiler, path, args, '--emit=asm', '--force=' + name)
                ran |= code == 0 and forced != without
        if ran:
            break
    if not ran:
        print(f"pass {name}: {row['test']}.ptx does not show it, on any of {len(runs)} runs")
    return ran


def well_formed(compiler, root, row):
    path = os.path.join(root, 'tests/ptx/lower', row['test'] + '.ptx')
    for args in runs_of(path, row)[:2]:
        _, _, err = compiled(compiler, path, args, '--emit=ir-opt', '--verify-each')
        if 'malformed' in err:
            print(f"{row['test']}.ptx {' '.join(args)}: {err}")
            return False
    return True


def refusals(compiler, root):
    path = os.path.join(root, 'tests/ptx/lower/int.ptx')
    ok = True
    for word, said in (('--disable=nonsense', 'is not known'), ('--disable=vectorise', 'is needed for right code'),
                       ('--force=blend', 'no choice'),
                       ('--stop-after=blend', 'a step inside another pass'), ('--set=nonsense=1', 'is no threshold'),
                       ('--set=jam_warps', 'is no threshold'), ('--set=jam_warps=0', 'is no threshold'),
                       ('--set=jam_warps=2x', 'is no threshold')):
        code, _, err = compiled(compiler, path, ['--target', 'host'], word)
        if code != 1 or said not in err:
            print(f'{word}: exit status {code}: {err}')
            ok = False
    code, out, _ = compiled(compiler, path, ['--target', 'host', '--emit=ir-opt'], '--stop-after=optimise')
    return ok and code == 0 and 'aw-kernel' in out


def thresholds(compiler, root):
    """Each is measured by rows that there are, of two programs at least; and setting one changes code."""
    kernels = os.path.join(root, 'tests/bench/host/kernels')
    listed = subprocess.run([compiler, 'compile', '--thresholds'], capture_output=True, text=True, check=True).stdout
    ok = bool(listed)
    for line in listed.splitlines():
        name, value, candidates, rows, _ = line.split('\t')
        folders = {r if os.path.isdir(os.path.join(kernels, r)) else r.rsplit('_', 1)[0] for r in rows.split()}
        missing = [r for r in rows.split() if not os.path.isdir(os.path.join(kernels, r)) and
                   not os.path.exists(os.path.join(kernels, *r.rsplit('_', 1)) + '.cu')]
        if missing or len(folders) < 2 or not candidates or value in candidates.split():
            print(f'threshold {name}: rows {rows} of {len(folders)} programs, missing {missing}; {value} against {candidates}')
            ok = False
    path, args = os.path.join(root, 'tests/ptx/lower/jam.ptx'), ['--target', 'host:haswell', '--block', '64,8,1', '--emit=asm']
    code, plain, _ = compiled(compiler, path, args)
    _, same, _ = compiled(compiler, path, args, '--set=jam_warps=8')
    _, other, _ = compiled(compiler, path, args, '--set=jam_warps=1')
    if code or plain != same or plain == other:
        print('--set=jam_warps=1 changes nothing, or 8, which is the value, something')
    return ok and not code and plain == same and plain != other


def main(argv):
    if len(argv) < 3:
        sys.exit(__doc__)
    compiler, root, names = argv[1], argv[2], argv[3:]
    sys.path.insert(0, os.path.join(root, 'tools/gen'))
    import passes
    table = passes.rows(os.path.join(root, 'ptx/pass/pass.def'))
    chosen = [r for r in table if not names or r['name'] in names]
    ok = all([check(compiler, root, r) and well_formed(compiler, root, r) for r in chosen])
    return 0 if refusals(compiler, root) and thresholds(compiler, root) and ok else 1


sys.exit(main(sys.argv))
