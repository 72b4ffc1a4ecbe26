#!/usr/bin/env python3
"""Runs the fixture programs under the preload and audit objects and compares what they print.

    preload_test.py FIXTURES PRELOAD AUDIT

No CUDA, no nvcc and no compiler needed.  Each case names what must be on standard output, and on standard error."""
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import sys
import tempfile

REPORT = '{0}: registered {1}, text {1}, sum 54321, other 2\n'
INNER = '{0}: registered inner, text inner, sum -1, other 2\n'


class Cases:
    def __init__(self, fixtures, preload, audit):
        self.dir, self.preload, self.audit, self.failed, self.count = fixtures, preload, audit, 0, 0

    def path(self, name):
        return os.path.join(self.dir, name)

    def run(self, name, command, stdout, stderr='', status=0, lib_dir='ours', preload=True, audit=True, **more):
        env = {k: v for k, v in os.environ.items() if k not in ('LD_PRELOAD', 'LD_AUDIT', 'LD_LIBRARY_PATH', 'ANYWARP_LOG')}
        # Sanitizers insist on being first among the libraries.
        env['ASAN_OPTIONS'] = 'verify_asan_link_order=0'
        if preload:
            env['LD_PRELOAD'] = self.preload
        if audit:
            env['LD_AUDIT'] = self.audit
        env['ANYWARP_LIB_DIR'] = self.path(lib_dir)
        env.update(more)
        result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
        self.count += 1
        problems = []
        if result.returncode != status:
            problems.append('status %d, expected %d' % (result.returncode, status))
        if result.stdout != stdout:
            problems.append('stdout %r, expected %r' % (result.stdout, stdout))
        if stderr not in result.stderr or (not stderr and result.stderr):
            problems.append('stderr %r, expected %r' % (result.stderr, stderr))
        if stderr and result.stderr.count(stderr) != 1:
            problems.append('%r is there %d times' % (stderr, result.stderr.count(stderr)))
        if problems:
            self.failed += 1
        print('%s %s%s' % ('FAIL' if problems else 'ok', name, ''.join('\n     ' + p for p in problems)), flush=True)


NODES = """
import os, stat
def ask(path):
    try:
        found = os.stat(path), os.lstat(path), os.stat(path.encode(), dir_fd=0)
    except OSError as e:
        return e.strerror
    assert all(stat.S_ISCHR(s.st_mode) and s.st_rdev == found[0].st_rdev for s in found)
    assert os.access(path, os.R_OK | os.W_OK) and not os.access(path, os.X_OK) and os.path.exists(path)
    try:
        open(path)
    except OSError as e:
        return '%d:%d, %s' % (os.major(found[0].st_rdev), os.minor(found[0].st_rdev), e.strerror)
print(ask('/dev/nvidiactl'), ask('/dev/nvidia0'), ask('/dev/nvidia'), ask('/dev/nvidia0/'), ask('/dev/null/x'), sep='; ')
"""


def nodes(c):
    """NVIDIA's device nodes, which are not there."""
    if os.path.exists('/dev/nvidiactl'):
        return
    none, ask = 'No such file or directory', [sys.executable, '-c', NODES]
    rest = '; %s; %s; Not a directory\n' % (none, none)
    c.run('device nodes', ask, '195:255, %s; 195:0, %s' % (none, none) + rest)
    c.run('device nodes, without the audit object', ask, '195:255, %s; 195:0, %s' % (none, none) + rest, audit=False)
    c.run('device nodes, switched off', ask, '%s; %s' % (none, none) + rest, ANYWARP_QUIRKS='-device-files')
    c.run('device nodes, by statx', ['stat', '-c', '%F', '/dev/nvidiactl'], 'character special file\n')
    c.run('device nodes, by the shell', ['/bin/sh', '-c', 'test -e /dev/nvidia0 && test -c /dev/nvidiactl && echo yes'], 'yes\n')


def main():
    c = Cases(*map(os.path.abspath, sys.argv[1:4]))
    ours13, ours12 = REPORT.format('program', 'ours13'), REPORT.format('program', 'ours12') + 'program: exit 12\n'
    lib13 = REPORT.format('library', 'ours13')

    # The fixtures do what they are for: without us, the inner runtime answers.
    c.run('untouched', [c.path('static_pie')], INNER.format('program'), preload=False, audit=False)
    for name, want in (('static_pie', ours13), ('static_nopie', ours13), ('static_now', ours13), ('static_nopie_12', ours12)):
        c.run(name, [c.path(name)], want)
    c.run('without the audit object', [c.path('static_pie')], ours13, audit=False)
    c.run('logged', [c.path('static_pie')], ours13, stderr='static_pie: 5 functions of its static runtime lead to',
          ANYWARP_LOG='info')
    c.run('dlopened library', [c.path('opener'), c.path('libstatic_part.so')], 2 * lib13)
    c.run('library linked to', [c.path('links_part')], REPORT.format('linked', 'ours13'))
    c.run('child process', ['/bin/sh', '-c', c.path('static_pie') + '; echo done'], ours13 + 'done\n')
    c.run('no CUDA at all', ['/bin/echo', 'hello'], 'hello\n')

    c.run('stripped', [c.path('static_stripped')], INNER.format('program'), stderr='static_stripped has the CUDA runtime linked')
    c.run('stripped: advice', [c.path('static_stripped')], INNER.format('program'), stderr='-cudart shared')
    for name in ('static_pie', 'links_part', 'uses_runtime'):
        shutil.copy(c.path(name), c.path(name + '.cut'))
        os.truncate(c.path(name + '.cut'), os.path.getsize(c.path(name)) - 64)
    c.run('cut off', [c.path('static_pie.cut')], INNER.format('program'), stderr='linked into it and is cut off')
    c.run('cut off, no runtime inside', [c.path('links_part.cut')], REPORT.format('linked', 'ours13'))
    c.run('cut off, shared runtime', [c.path('uses_runtime.cut')], 'shared: ours13\n')
    c.run('our library is missing', [c.path('static_pie')], INNER.format('program'), lib_dir='empty', stderr='is not there')

    # Shared runtimes: by the loader's path, by DT_RPATH, by absolute path, under a wheel's name, by the development link, by the
    # file's full version.
    c.run('rpath, untouched', [c.path('uses_runtime')], 'shared: ours99\n', preload=False, audit=False)
    c.run('rpath', [c.path('uses_runtime')], 'shared: ours13\n')
    theirs = c.path('theirs/libcudart.so.13')
    c.run('absolute path', [c.path('opener'), theirs], 'opened: ours13\n' * 2)
    with tempfile.TemporaryDirectory() as tmp:
        wheel, dev = os.path.join(tmp, 'libcudart-0f1e2d3c.so.12'), os.path.join(tmp, 'libcudart.so')
        shutil.copy(theirs, wheel)
        os.symlink(theirs, dev)
        other = os.path.join(tmp, 'libcudartlike.so.13')
        shutil.copy(theirs, other)
        c.run("a wheel's name", [c.path('opener'), wheel], 'opened: ours12\n' * 2)
        c.run("a wheel's name, switched off", [c.path('opener'), wheel], 'opened: ours13\n' * 2,
              ANYWARP_QUIRKS='-wheel-names')  # by its SONAME, which a wheel's has not
        c.run('development link', [c.path('opener'), dev], 'opened: ours13\n' * 2)
        c.run('development link, found by a search', [c.path('opener'), 'libcudart.so'], 'opened: ours13\n' * 2,
              LD_LIBRARY_PATH=tmp)
        c.run('development link, relative', ['/bin/sh', '-c', 'cd %s && exec %s ./libcudart.so' % (tmp, c.path('opener'))],
              'opened: ours13\n' * 2)
        os.remove(dev)
        shutil.copy(theirs, dev)
        c.run('copy instead of a development link', [c.path('opener'), dev], 'opened: ours13\n' * 2)
        # A development link of ours, whose version goes with the runtime that the program has.
        both = os.path.join(tmp, 'both')
        os.mkdir(both)
        for ours, name in (('11.0', 'libcudart.so.11.0'), ('11.0', 'libcudnn.so.8'), ('13', 'libcudnn.so.9'),
                           ('11.0', 'libcufile.so.0')):
            shutil.copy(c.path('ours/libcudart.so.' + ours), os.path.join(both, name))
        os.symlink('libcudnn.so.9', os.path.join(both, 'libcudnn.so'))
        needed = 'libanywarp-needed.so.0'
        shutil.copy(c.path('ours/' + needed), os.path.join(both, needed))
        ask = [c.path('opener'), 'libcudnn.so']
        c.run('development link of ours', ask, 'opened: ours13\n' * 2, lib_dir=both, LD_LIBRARY_PATH=both)
        c.run('development link of ours, for an older runtime', ask, 'opened: ours11\n' * 2, lib_dir=both, LD_LIBRARY_PATH=both,
              LD_PRELOAD=c.preload + ':' + os.path.join(both, 'libcudart.so.11.0'))
        for name, want in (('libcudart.so.12.9.79', 'ours12'), ('libcudart.so.11.8.89', 'ours11'),
                           ('libcudart.so.13.0.96', 'ours13')):
            full = os.path.join(tmp, name)
            shutil.copy(theirs, full)
            c.run('full version: ' + name, [c.path('opener'), full], 'opened: %s\n' % want * 2)
        for name in 'libcufile.so.1.15.1', 'libcufile-0f1e2d3c.so.1.15.1':
            full = os.path.join(tmp, name)
            shutil.copy(theirs, full)
            c.run('a release, not a SONAME: ' + name, [c.path('opener'), full], 'opened: ours11\n' * 2, lib_dir=both)
        dotted = os.path.join(tmp, 'libcudart.0f1e2d3c.so.12')
        shutil.copy(theirs, dotted)
        c.run("a wheel's name with a dot", [c.path('opener'), dotted], 'opened: ours12\n' * 2)
        c.run("a wheel's name with versions", [c.path('opener'), c.path('libwheel_part.so')], 'opened: ours13\n' * 2)
        c.run("a wheel's name with versions, where the runtime is there", [c.path('uses_runtime'), c.path('libwheel_part.so')],
              'shared: ours13\n' + 'opened: ours13\n' * 2)
        c.run('a runtime under a name of its own', [c.path('opener'), other], 'opened: ours13\n' * 2)
    c.run("NVIDIA's own is mapped", [c.path('uses_runtime')], 'shared: ours99\n', audit=False, stderr="which is not anywarp's")

    nodes(c)

    print('%d passed, %d failed' % (c.count - c.failed, c.failed))
    return 1 if c.failed else 0


if __name__ == '__main__':
    sys.exit(main())
