#!/usr/bin/env python3
"""NPP under `anywarp run`: every name of the tables can be called, answers not-supported and is named once in the log; version,
device, stream and memory are there.

    npp.py ANYWARP LIB.py DEVICE TABLE..."""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import re
import subprocess
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p

NOT_SUPPORTED, STREAM_CTX, NULL_POINTER = -9999, -215, -8
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2


def tables(lib_py, paths):
    sys.path.insert(0, os.path.dirname(lib_py))
    import lib
    return [lib.Table(path) for path in paths]


def opened(name, major):
    return ctypes.CDLL('lib%s.so.%s' % (name, major))


class Context(ctypes.Structure):
    _fields_ = [('stream', c_void_p), ('device', c_int), ('sms', c_int), ('threads_per_sm', c_int), ('threads', c_int),
                ('shared', c_size_t), ('major', c_int), ('minor', c_int), ('flags', c_uint), ('reserved', c_int)]


def attribute(cudart, number):
    value = c_int()
    assert cudart.cudaDeviceGetAttribute(byref(value), number, 0) == 0
    return value.value


def device(npp, cudart, version):
    """Of one version: what it says of itself and of the device."""
    npp.nppGetLibVersion.restype = ctypes.POINTER(c_int)
    npp.nppGetGpuName.restype = c_char_p
    assert npp.nppGetLibVersion()[0] == version and npp.nppGetGpuName()
    sms, threads, per_sm = attribute(cudart, 16), attribute(cudart, 1), attribute(cudart, 39)
    assert (npp.nppGetGpuNumSMs(), npp.nppGetMaxThreadsPerBlock(), npp.nppGetMaxThreadsPerSM()) == (sms, threads, per_sm)
    assert (npp.nppGetStreamNumSMs(), npp.nppGetStreamMaxThreadsPerSM()) == (sms, per_sm)
    got = [c_int(), c_int(), c_int()]
    assert npp.nppGetGpuDeviceProperties(*map(byref, got)) == 0
    assert [v.value for v in got] == [per_sm, threads, sms]
    assert npp.nppGetGpuDeviceProperties(byref(got[0]), None, byref(got[2])) == -1


def stream(npp, cudart):
    npp.nppGetStream.restype = c_void_p
    own, context = c_void_p(), Context()
    assert npp.nppGetStream() is None
    assert cudart.cudaStreamCreateWithFlags(byref(own), 1) == 0
    assert npp.nppSetStream(own) == 0 and npp.nppGetStream() == own.value
    assert npp.nppGetStreamContext(None) == NULL_POINTER and npp.nppGetStreamContext(byref(context)) == 0
    assert (context.stream, context.device, context.flags, context.reserved) == (own.value, 0, 1, 0)
    assert (context.sms, context.threads, context.shared) == tuple(attribute(cudart, n) for n in (16, 1, 8))
    assert (context.major, context.minor) == (attribute(cudart, 75), attribute(cudart, 76))
    assert npp.nppSetStream(c_void_p(1 << 40)) == STREAM_CTX and npp.nppGetStream() == own.value
    assert npp.nppSetStream(None) == 0 and npp.nppGetStream() is None
    assert cudart.cudaStreamDestroy(own) == 0


def images(memory, cudart):
    """Rows of every type are as long as asked for, and keep what is written."""
    sizes = {'8u': 1, '16u': 2, '16s': 2, '16sc': 4, '32s': 4, '32f': 4, '32sc': 8, '32fc': 8}
    names = [name for kind in sizes for name in ['nppiMalloc_%s_C%d' % (kind, c) for c in (1, 2, 3, 4)] if hasattr(memory, name)]
    assert len(names) == 30
    for name in names:
        kind, channels = re.fullmatch(r'nppiMalloc_(\w+)_C(\d)', name).groups()
        make, step, width = getattr(memory, name), c_int(), 37 * sizes[kind] * int(channels)
        make.restype = c_void_p
        assert make(0, 5, byref(step)) is None and make(5, -1, byref(step)) is None and make(5, 5, None) is None
        data = make(37, 11, byref(step))
        assert data and step.value >= width and step.value % 32 == 0
        sent = bytes((7 * i + len(name)) % 251 for i in range(width * 11))
        back = ctypes.create_string_buffer(len(sent))
        assert cudart.cudaMemcpy2D(c_void_p(data), c_size_t(step.value), sent, c_size_t(width), c_size_t(width), c_size_t(11),
                                   HOST_TO_DEVICE) == 0
        assert cudart.cudaMemcpy2D(back, c_size_t(width), c_void_p(data), c_size_t(step.value), c_size_t(width), c_size_t(11),
                                   DEVICE_TO_HOST) == 0
        assert back.raw == sent
        memory.nppiFree(c_void_p(data))
    memory.nppiFree(None)


def signals(memory, cudart, count):
    sizes = {'8u': 1, '8s': 1, '16u': 2, '16s': 2, '16sc': 4, '32u': 4, '32s': 4, '32sc': 8, '32f': 4, '32fc': 8, '64s': 8,
             '64sc': 16, '64f': 8, '64fc': 16}
    for kind, size in sizes.items():
        make = getattr(memory, 'nppsMalloc_' + kind)
        make.restype = c_void_p
        assert make(count(0)) is None and make(count(-1)) is None
        data = make(count(1001))
        sent, back = bytes(i % 253 for i in range(1001 * size)), ctypes.create_string_buffer(1001 * size)
        assert data and cudart.cudaMemcpy(c_void_p(data), sent, c_size_t(len(sent)), HOST_TO_DEVICE) == 0
        assert cudart.cudaMemcpy(back, c_void_p(data), c_size_t(len(sent)), DEVICE_TO_HOST) == 0 and back.raw == sent
        memory.nppsFree(c_void_p(data))


def child(lib_py, paths):
    for table in tables(lib_py, paths):
        for major in table.libraries:
            library, names = opened(table.name, major), table.bare(major)
            for name in names:
                assert getattr(library, name)(1, 2, 3, 4, 5, 6, 7, 8) == NOT_SUPPORTED, name
            for name in names[::100] + names[-1:]: # is not named again
                assert getattr(library, name)() == NOT_SUPPORTED
    cudart = ctypes.CDLL('libcudart.so.12')
    for major in (11, 12, 13):
        device(opened('nppc', major), cudart, major)
        signals(opened('npps', major), cudart, c_int if major == 11 else c_size_t)
    stream(opened('nppc', 12), cudart)
    images(opened('nppisu', 13), cudart)
    print('PASS')


def main():
    if sys.argv[1] == 'child':
        child(sys.argv[2], sys.argv[3:])
        return 0
    anywarp, lib_py, where, paths = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    got = subprocess.run([anywarp, 'run', '--device=' + where, sys.executable, __file__, 'child', lib_py, *paths], text=True,
                         capture_output=True, timeout=110)
    told = re.findall(r'(\w+) is not implemented', got.stderr)
    wanted = [name for table in tables(lib_py, paths) for major in table.libraries for name in table.bare(major)]
    if got.returncode or got.stdout != 'PASS\n' or sorted(told) != sorted(wanted):
        print(got.returncode, got.stdout, got.stderr[:3000], '...', got.stderr[-2000:])
        print('%d names, %d told of' % (len(wanted), len(told)))
        return 1
    print('%d names' % len(wanted))
    return 0


if __name__ == '__main__':
    sys.exit(main())
