#!/usr/bin/env python3
"""Programs as `anywarp trace`, `profile`, `doctor` and `precompile` see them: what is written of calls and of devices' work,
what is said of a
program, and what is compiled ahead.

usage: watch.py ANYWARP       (77 where there is no nvcc)
"""

# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import subprocess

import expecting
from expecting import expect

HERE = os.path.dirname(os.path.abspath(__file__))

OUTPUT = '0 118098\n'


def run(command, env, **more):
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=300, check=False, **more)


def trace_text(anywarp, program, env):
    r = run([anywarp, 'trace', program], env)
    expect('the program does as ever', r.returncode == 0 and r.stdout == OUTPUT, (r.returncode, r.stdout))
    lines = r.stderr.splitlines()
    form = r' *\d+\.\d{6} \d+ \w+\(.*\)( = \S+)? <\d+\.\d{3} us>'
    expect('nothing but calls', lines and all(re.fullmatch(form, line) for line in lines), r.stderr)
    for wanted in (
        r'cudaMalloc\(\*devPtr=0x[0-9a-f]+, size=262144\) = cudaSuccess <',
        r'cudaFree\(devPtr=0x10\) = cudaErrorInvalidValue <',
        r'LaunchKernel\(.*=\(1024,1,1\), \w+=\(64,1,1\), args=0x[0-9a-f]+, \w+=0, stream=0x0\) = cudaSuccess <',
    ):
        expect('a call is ' + wanted, any(re.search(wanted, line) for line in lines), r.stderr)
    r = run([anywarp, 'trace', '--filter=cudaMem*,cudaFree', '--filter', '*Malloc', program], env)
    names = [re.match(r' *\S+ \d+ (\w+)', line).group(1) for line in r.stderr.splitlines()]
    expect('a filter', names == ['cudaMalloc', 'cudaMemcpy', 'cudaMemset', 'cudaMemcpy', 'cudaFree', 'cudaFree'], names)
    r = run([anywarp, 'trace', '--failed', '--device=host', program], env)
    expect(
        'only what fails, with an option of run',
        re.fullmatch(r'.* cudaFree\(devPtr=0x10\) = cudaErrorInvalidValue <.*\n.* cudaGetLastError.*\n', r.stderr),
        r.stderr,
    )
    r = run([anywarp, 'trace', '--library', 'cublas', program], env)
    expect('another library', r.returncode == 0 and not r.stderr, r.stderr)


def trace_json(anywarp, program, env, folder):
    r = run([anywarp, 'trace', '--json', '-o', 'calls', program], env, cwd=folder)
    with open(os.path.join(folder, 'calls'), encoding='utf-8') as f:
        calls = [json.loads(line) for line in f]
    expect('a file', r.returncode == 0 and not r.stderr and calls, r.stderr)
    malloc = next(c for c in calls if c['function'] == 'cudaMalloc')
    expect(
        'what is given and what is stored',
        malloc['args']['size'] == 262144
        and malloc['args']['devPtr'].startswith('0x')
        and malloc['out']['devPtr'].startswith('0x')
        and malloc['library'] == 'cudart'
        and malloc['result'] == 'cudaSuccess',
        malloc,
    )
    launches = [c for c in calls if c['function'].endswith('LaunchKernel')]
    expect(
        'grids',
        [c['args'].get('gridDim') or c['args']['grid'] for c in launches] == [[256, 1, 1]] + 10 * [[1024, 1, 1]] + [[512, 1, 1]],
        launches,
    )
    bad = [c for c in calls if c['failed']]
    expect('what failed', len(bad) == 2 and bad[0]['result'] == 'cudaErrorInvalidValue' and bad[0]['out'] == {}, bad)
    expect('times', all(c['duration_ns'] >= 0 and a['begin_ns'] <= c['begin_ns'] for a, c in zip(calls, calls[1:])), calls)


def overlap(slices):
    """Slices of one row that begin within another, though neither is in the other: what a timeline cannot show."""
    open_ends, bad = [], []
    for begin, end in sorted(slices, key=lambda s: (s[0], -s[1])):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        if open_ends and end > open_ends[-1] + 0.002:  # us
            bad.append((begin, end))
        open_ends.append(end)
    return bad


def profile(anywarp, program, env, folder, device):
    r = run([anywarp, 'profile', '--json', '-o', 'profile', '--timeline=timeline', '--device', device, program], env, cwd=folder)
    expect(
        '%s: the program does as ever' % device,
        r.returncode == 0 and r.stdout == OUTPUT and not r.stderr,
        (r.returncode, r.stdout, r.stderr),
    )
    with open(os.path.join(folder, 'profile'), encoding='utf-8') as f:
        said = json.load(f)
    counts = {row['name']: row['count'] for row in said['kernels']}
    expect('kernels', counts == {'fill(float*, float)': 1, 'void scale<3>(float*)': 10, 'void scale<2>(float*)': 1}, counts)
    moved = {row['name']: (row['count'], row['bytes']) for row in said['copies']}
    expect('copies', moved == {'HtoD': (1, 262144), 'DtoH': (1, 262144), 'fill': (1, 64)}, moved)
    calls = {row['name']: (row['count'], row['failed']) for row in said['calls']}
    expect('calls', calls['cudaFree'] == (2, 1) and calls['cudaMemcpy'] == (2, 0), calls)
    expect('what was compiled', sorted(row['name'] for row in said['compiled']) == sorted(counts), said['compiled'])
    expect(
        'sums',
        all(
            row['min_ns'] * row['count'] <= row['total_ns'] <= row['max_ns'] * row['count'] and row['max_ns'] > 0
            for table in ('kernels', 'copies', 'calls', 'compiled')
            for row in said[table]
        ),
        said,
    )
    expect(
        'time',
        0 < said['busy_ns'] < said['run_ns']
        and said['busy_ns'] <= sum(row['total_ns'] for row in said['kernels'] + said['copies']),
        said,
    )
    with open(os.path.join(folder, 'timeline'), encoding='utf-8') as f:
        events = json.load(f)['traceEvents']
    slices = [e for e in events if e['ph'] == 'X']
    kernels = [e for e in slices if e['cat'] == 'kernel']
    expect(
        'a slice for each',
        len(kernels) == 12 and kernels[1]['args']['grid'] == [1024, 1, 1] and kernels[1]['args']['block'] == [64, 1, 1],
        kernels,
    )
    rows = {}
    for e in slices:
        rows.setdefault((e['pid'], e['tid']), []).append((e['ts'], e['ts'] + e['dur']))
    crossed = {row: overlap(r) for row, r in rows.items() if overlap(r)}
    expect('slices within slices', len(rows) >= 2 and not crossed, crossed)
    launches = [e['ts'] for e in slices if e['name'].endswith('LaunchKernel')]
    starts = {e['id']: e['ts'] for e in events if e['ph'] == 's'}
    arrows = [e for e in events if e['ph'] == 'f']
    expect(
        'an arrow from each call to its work',
        len(arrows) == 15 == len(starts)
        and sum(ts in launches for ts in starts.values()) == 12
        and all(starts[e['id']] <= e['ts'] + 50 for e in arrows),
        arrows,
    )


def profile_text(anywarp, program, env, folder):
    r = run([anywarp, 'profile', '--top', '1', program], env)
    expect('one row', 'and 2 more (--top 0 shows all)' in r.stderr, r.stderr)
    r = run([anywarp, 'profile', '--top=0', program], env)
    for wanted in (
        r'The run took \S+ m?s; devices worked in',
        r'Kernels, .* in all\n share',
        r' 10 .* void scale<3>\(float\*\)  <<<\(1024,1,1\), \(64,1,1\), 0>>>',
        r'262144 bytes, \d+\.\d\d GB/s',
    ):
        expect('a table has ' + wanted, re.search(wanted, r.stderr), r.stderr)
    r = run([anywarp, 'profile', '/bin/sh', '-c', 'kill -9 $$'], env)
    expect('a killed program', r.returncode == 137 and 'The run took' in r.stderr, (r.returncode, r.stderr))
    expect('nothing left behind', not [f for f in os.listdir(folder) if 'anywarp-profile' in f], os.listdir(folder))


def made(env):
    """Code objects in the cache, by name and time: what a run that compiles nothing leaves alone."""
    return {
        os.path.join(d, f): os.stat(os.path.join(d, f)).st_mtime_ns
        for d, _, files in os.walk(env['ANYWARP_CACHE_DIR'])
        for f in files if f != 'statistics'
    }


def precompile(anywarp, program, env, folder):
    env = {**env, 'ANYWARP_CACHE_DIR': os.path.join(folder, 'recorded'), 'ANYWARP_DEVICE': 'host'}
    r = run([anywarp, 'run', '--record=list', program], env, cwd=folder)
    with open(os.path.join(folder, 'list'), encoding='utf-8') as f:
        listed = sorted(f.read().split())
    expect(
        'what a run records', r.stdout == OUTPUT and listed[:3] == ['128,1,1', '256,1,1', '64,1,1'] and len(listed) == 6, listed
    )
    env['ANYWARP_CACHE_DIR'] = os.path.join(folder, 'ahead')
    r = run([anywarp, 'precompile', '--list', 'list', program], env, cwd=folder)
    ahead = made(env)
    expect(
        'three kernels', r.returncode == 0 and r.stdout.startswith('3 of 3 made ready') and len(ahead) >= 4, (r.stdout, r.stderr)
    )
    r = run([anywarp, 'run', program], env)
    expect('nothing is left to compile', r.stdout == OUTPUT and made(env).keys() == ahead.keys(), sorted(made(env)))
    r = run([anywarp, 'precompile', '--block=64', '--block', '8,8', '--json', folder], env)
    said = json.loads(r.stdout)
    expect('a folder, two shapes', r.returncode == 0 and (said['kernels'], said['made'], said['failed']) == (6, 6, 0), said)
    bad = os.path.join(folder, 'bad.ptx')
    with open(bad, 'w', encoding='utf-8') as f:
        f.write(
            '.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n.reqntid 32\n{\n\tfrob;\n}\n'
            '.visible .entry k2()\n.maxntid 128\n{\n\tret;\n}\n'
        )
    r = run([anywarp, 'precompile', bad], env)
    expect(
        'what does not compile is named',
        r.returncode == 1
        and r.stdout.startswith('1 of 2 made ready')
        and re.search(r'(?s)bad\.ptx: kernel k: .*bad\.ptx:7:', r.stderr),
        (r.stdout, r.stderr),
    )
    for words, status, text in (
        (['--help'], 0, 'Exit status'),
        ([], 2, 'usage'),
        (['--block=0', program], 2, 'usage'),
        (['--block=1025', program], 2, 'usage'),
        (['--list=missing', program], 2, 'missing'),
        (['missing'], 1, 'No such file'),
        (['/bin/true'], 1, 'no CUDA code'),
        (['--list', program, program], 2, ':1: no kernel'),
    ):
        r = run([anywarp, 'precompile'] + words, env, cwd=folder)
        expect(
            'precompile ' + ' '.join(words),
            r.returncode == status and text in r.stdout + r.stderr,
            (r.returncode, r.stdout, r.stderr),
        )
    r = run([anywarp, 'precompile', program], {**env, 'ANYWARP_CACHE': '0'})
    expect('no cache', r.returncode == 1 and 'cache' in r.stderr, (r.returncode, r.stderr))


def usage(anywarp, command, env):
    for words, status, text in (
        (['--help'], 0, 'Exit status'),
        ([], 2, 'usage'),
        (['--output'], 2, 'usage'),
        (['--frob', '/bin/true'], 2, 'frob'),
        (['/missing'], 127, 'No such file'),
        (['-o', '/proc/no', '/bin/true'], 2, '/proc/no'),
    ):
        r = run([anywarp, command] + words, env)
        expect(
            '%s %s' % (command, ' '.join(words)),
            r.returncode == status and text in r.stdout + r.stderr,
            (r.returncode, r.stdout, r.stderr),
        )


def doctor(anywarp, program, env):
    r = run([anywarp, 'doctor', '--json', program], env)
    said = json.loads(r.stdout)
    found = {f['what']: f for f in said['findings']}
    expect(
        'a sound program',
        r.returncode == 0
        and said['ok']
        and found['kernels']['text'] == 'all 3 compile'
        and found['code']['text'].startswith('PTX'),
        said,
    )
    expect(
        'its runtime',
        re.search(r'linked into it; calls of its \d+ functions go to our libcudart\.so\.\d+', found['runtime']['text']),
        found['runtime'],
    )


def lines(anywarp, compiler, env, folder):
    """A kernel is found where it is: at the one line that takes its time."""
    program = os.path.join(folder, 'lines')
    subprocess.run([compiler, '-arch=sm_80', '-lineinfo', '-o', program, os.path.join(HERE, 'lines.cu')], check=True)
    r = run([anywarp, 'profile', '--json', '-o', 'profile', '--device', 'host', program], env, cwd=folder)
    with open(os.path.join(folder, 'profile'), encoding='utf-8') as f:
        said = json.load(f)['lines']
    looks = sum(row['looks'] for row in said)
    there = sum(row['looks'] for row in said if re.search(r'lines\.cu:[67]$', row['line']))
    kernels = {row['kernel'] for row in said}
    expect('lines', r.returncode == 0 and looks >= 10 and there >= 0.8 * looks and kernels == {'spin(float*, int)'}, said)
    r = run([anywarp, 'profile', '--device', 'host', program], env)
    table = re.search(r'\d+ looks .*\n share .*\n.*lines\.cu:[67]  spin\(float\*, int\)\n', r.stderr)
    expect('a table of lines', table, r.stderr)


def stripped(anywarp, program, env):
    """A stripped program runs.  Where its functions cannot be told, as the unwind table is gone, too, there is one message, and
    none behind it about what NVIDIA's runtime then asks of the driver."""
    subprocess.run(['strip', '-o', program + '-s', program], check=True)
    told, plain = run([anywarp, 'run', program + '-s'], env), run([anywarp, 'run', program], env)
    same = (told.stdout, told.stderr) == (plain.stdout, plain.stderr)
    expect('a stripped program runs', told.returncode == 0 and same, told.stderr)
    subprocess.run(['strip', '-R', '.eh_frame', '-R', '.eh_frame_hdr', '-o', program + '-s', program], check=True)
    r = run([anywarp, 'run', program + '-s'], env)
    lines = [line for line in r.stderr.splitlines() if line.startswith('anywarp:')]
    expect('one message', len(lines) == 1 and lines[0].endswith('[AW1706]') and r.returncode >= 0, (r.returncode, r.stderr))


def main():
    with expecting.given() as (compiler, anywarp, env, folder):
        program = os.path.join(folder, 'watch')
        subprocess.run(
            [compiler, '-gencode', 'arch=compute_80,code=compute_80', '-o', program, os.path.join(HERE, 'watch.cu')], check=True
        )
        trace_text(anywarp, program, env)
        trace_json(anywarp, program, env, folder)
        usage(anywarp, 'trace', env)
        env['TMPDIR'] = folder
        profile(anywarp, program, env, folder, 'host')
        if os.path.exists(os.path.join(os.path.dirname(anywarp), '../../tests/simgpu/libhsakmt.so.1')):
            profile(anywarp, program, env, folder, 'sim:gfx1030')
        profile_text(anywarp, program, env, folder)
        usage(anywarp, 'profile', env)
        doctor(anywarp, program, env)
        precompile(anywarp, program, env, folder)
        stripped(anywarp, program, env)
        lines(anywarp, compiler, env, folder)
    expecting.finish()


main()
