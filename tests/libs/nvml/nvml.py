#!/usr/bin/env python3
"""NVML through ctypes, as nvidia-ml-py calls it, and nvidia-smi's output and exit codes, under `anywarp run`.

    nvml.py ANYWARP DEVICE"""
# SPDX-License-Identifier: Apache-2.0
import re
import subprocess
import sys

ASK = '''
import ctypes
import sys
from ctypes import byref, c_char_p, c_int, c_uint, c_ulonglong, c_void_p, create_string_buffer
nvml, cuda = ctypes.CDLL('libnvidia-ml.so.1'), ctypes.CDLL('libcuda.so.1')
n, h, text, index = c_uint(), c_void_p(), create_string_buffer(128), c_uint(9)
assert nvml.nvmlDeviceGetCount_v2(byref(n)) == 1, 'before the start'
assert nvml.nvmlInit_v2() == 0 and nvml.nvmlInit_v2() == 0
assert nvml.nvmlDeviceGetCount_v2(byref(n)) == 0 and n.value >= 1
assert nvml.nvmlDeviceGetHandleByIndex_v2(0, byref(h)) == 0
assert nvml.nvmlDeviceGetHandleByIndex_v2(n.value, byref(h)) == 2
assert nvml.nvmlDeviceGetName(h, text, 3) == 7, 'no room for the name'
assert nvml.nvmlDeviceGetName(h, text, 128) == 0
name, cuda_name = text.value, create_string_buffer(128)
cuda.cuInit(0)
visible = c_int()
cuda.cuDeviceGetCount(byref(visible))
assert visible.value == 0, 'CUDA_VISIBLE_DEVICES is not for NVML'
assert nvml.nvmlDeviceGetUUID(h, text, 128) == 0
uuid, other = text.value, c_void_p()
assert nvml.nvmlDeviceGetHandleByUUID(uuid, byref(other)) == 0 and other.value == h.value
assert nvml.nvmlDeviceGetHandleByUUID(b'GPU-none', byref(other)) == 6
assert nvml.nvmlDeviceGetIndex(h, byref(index)) == 0 and index.value == 0
assert nvml.nvmlDeviceGetIndex(c_void_p(8), byref(index)) == 2, 'a wild handle'
memory = (c_ulonglong * 3)()
assert nvml.nvmlDeviceGetMemoryInfo(h, memory) == 0 and memory[0] == memory[1] + memory[2] and memory[0] > 1 << 28
second = (c_ulonglong * 5)(40 | 2 << 24)
assert nvml.nvmlDeviceGetMemoryInfo_v2(h, second) == 0 and second[1] == memory[0]
second[0] = 40 | 1 << 24
assert nvml.nvmlDeviceGetMemoryInfo_v2(h, second) == 25
major, minor = c_int(), c_int()
assert nvml.nvmlDeviceGetCudaComputeCapability(h, byref(major), byref(minor)) == 0 and major.value == 8
pci = create_string_buffer(68)
assert nvml.nvmlDeviceGetPciInfo_v3(h, pci) == 0 and pci.raw[36:44] == b'00000000'
assert nvml.nvmlDeviceGetHandleByPciBusId_v2(c_char_p(pci.raw[36:].split(bytes(1))[0]), byref(other)) == 0
assert other.value == h.value
assert nvml.nvmlDeviceGetEccMode(h, byref(index), byref(index)) == 3
load = (c_uint * 2)()
assert nvml.nvmlDeviceGetUtilizationRates(h, load) in (0, 3) and load[0] <= 100
near = (ctypes.c_ulong * 16)()
assert nvml.nvmlDeviceGetCpuAffinity(h, 16, near) in (0, 3) and nvml.nvmlDeviceGetCpuAffinity(h, 0, near) == 2
assert nvml.nvmlDeviceGetCpuAffinityWithinScope(h, 16, near, 2) == 2 and nvml.nvmlDeviceGetMemoryAffinity(h, 16, None, 0) == 2
p2p, link = c_int(9), c_int(9)
for what, status in ((0, 0), (1, 0), (2, 5), (3, 5), (4, 5)):
    assert nvml.nvmlDeviceGetP2PStatus(h, h, what, byref(p2p)) == 0 and p2p.value == status, what
assert nvml.nvmlDeviceGetP2PStatus(h, h, 5, byref(p2p)) == 2 and nvml.nvmlDeviceGetP2PStatus(h, h, 0, None) == 2
assert nvml.nvmlDeviceGetP2PStatus(h, c_void_p(8), 0, byref(p2p)) == 2
if n.value > 1:
    assert nvml.nvmlDeviceGetHandleByIndex_v2(1, byref(other)) == 0
    assert nvml.nvmlDeviceGetP2PStatus(h, other, 0, byref(p2p)) == 0 and p2p.value == 0, 'the host device reaches itself'
    assert nvml.nvmlDeviceGetP2PStatus(h, other, 2, byref(p2p)) == 0 and p2p.value == 5
for f, value in ((nvml.nvmlDeviceGetMaxPcieLinkGeneration, 6), (nvml.nvmlDeviceGetCurrPcieLinkWidth, 16),
                 (nvml.nvmlDeviceGetPcieSpeed, 64000)):
    assert f(h, None) == 2 and f(c_void_p(8), byref(index)) == 2
    status = f(h, byref(index))
    assert (status, index.value) == (0, value) if sys.argv[1] == 'host' else status in (0, 3), f
fields = (ctypes.c_int64 * 10)(91, 0, 0, 0, -1, 1)
assert nvml.nvmlDeviceGetFieldValues(h, 2, fields) == 0 and nvml.nvmlDeviceGetFieldValues(h, 1, None) == 2
assert fields[3] == 1 and fields[4] == 0 and fields[1] > 0, 'NVLinks: an unsigned number, success, 0'
assert fields[8] >> 32 == 3, 'a field that no device here has'
assert nvml.nvmlDeviceGetNvLinkRemoteDeviceType(h, 0, byref(link)) == 3
assert nvml.nvmlDeviceGetNvLinkState(h, 99, byref(link)) == 2
fabric = (ctypes.c_ubyte * 40)(36, 0, 0, 2, *[255] * 36)
assert nvml.nvmlDeviceGetGpuFabricInfoV(h, fabric) == 0 and bytes(fabric[20:29]) == bytes([3, 0, 0, 0, 0, 0, 0, 0, 0])
assert bytes(fabric[36:]) == bytes([255] * 4), 'what is behind the second form'
fabric[3] = 1
assert nvml.nvmlDeviceGetGpuFabricInfoV(h, fabric) == 25
for f in (nvml.nvmlDeviceGetMigMode, nvml.nvmlDeviceGetDriverModel_v2, nvml.nvmlDeviceGetEncoderUtilization,
          nvml.nvmlDeviceGetEccMode):
    assert f(h, byref(index), byref(index)) == 3 and f(h, None, byref(index)) == 2
    assert f(c_void_p(8), byref(index), byref(index)) == 2
errors = ctypes.c_ulonglong()
for f in (nvml.nvmlDeviceGetCurrentClocksEventReasons, nvml.nvmlDeviceGetCurrentClocksThrottleReasons,
          nvml.nvmlDeviceGetDefaultEccMode):
    assert f(h, byref(errors)) == 3 and f(h, None) == 2 and f(c_void_p(8), byref(errors)) == 2
for f in nvml.nvmlDeviceGetTotalEccErrors, nvml.nvmlDeviceGetDetailedEccErrors:
    assert f(h, 1, 1, byref(errors)) == 3 and f(h, 2, 1, byref(errors)) == 2 and f(h, 1, 1, None) == 2
assert nvml.nvmlDeviceIsMigDeviceHandle(h, byref(index)) == 0 and index.value == 0
index.value = 9
assert nvml.nvmlDeviceGetMaxMigDeviceCount(h, byref(index)) == 0 and index.value == 0
assert nvml.nvmlDeviceGetMigDeviceHandleByIndex(h, 0, byref(other)) == 3
count = c_uint()
assert nvml.nvmlDeviceGetComputeRunningProcesses_v3(h, byref(count), None) in (0, 7)
assert nvml.nvmlShutdown() == 0 and nvml.nvmlDeviceGetCount_v2(byref(n)) == 0, 'two starts, one end'
assert nvml.nvmlShutdown() == 0 and nvml.nvmlShutdown() == 1 and nvml.nvmlDeviceGetCount_v2(byref(n)) == 1
print('PASS', uuid.decode())
'''


def run(anywarp, device, *command, devices=1):
    got = subprocess.run(['env', 'CUDA_VISIBLE_DEVICES=', 'ANYWARP_HOST_DEVICES=%d' % devices, anywarp, 'run',
                          '--device=' + device, *command], capture_output=True, text=True, timeout=60)
    return got.returncode, got.stdout, got.stderr


def main():
    anywarp, device = sys.argv[1:]
    bad = []

    def want(what, condition, *seen):
        if not condition:
            bad.append('%s: %s' % (what, seen))

    code, out, err = run(anywarp, device, sys.executable, '-c', ASK, device)
    want('ctypes', code == 0 and out.startswith('PASS '), code, out, err)
    uuid = out.split()[-1] if out else ''
    if device == 'host':
        code, out, err = run(anywarp, device, sys.executable, '-c', ASK, device, devices=2)
        want('two devices', code == 0 and out.startswith('PASS '), code, out, err)
    code, out, err = run(anywarp, device, 'nvidia-smi', '-L')
    want('-L', code == 0 and re.fullmatch(r'GPU 0: .+ \(UUID: %s\)\n' % uuid, out), out, err)
    code, out, err = run(anywarp, device, 'nvidia-smi')
    lines = out.split('\n')
    want('table', code == 0 and re.search(r'Driver Version: 580\.0 +CUDA Version: 13\.0 ', out) and
         all(len(line) in (0, 91) for line in lines[1:]), [line for line in lines[1:] if len(line) not in (0, 91)], err)
    code, out, err = run(anywarp, device, 'nvidia-smi', '--query-gpu=index,uuid,memory.total,compute_cap,ecc.mode.current',
                         '--format=csv')
    want('csv', code == 0
         and re.fullmatch(r'index, uuid, memory.total \[MiB\], compute_cap, ecc.mode.current\n0, %s, \d+ MiB, 8.0, \[N/A\]\n'
                          % uuid,
                                           out), out, err)
    code, out, err = run(anywarp, device, 'nvidia-smi', '--query-gpu', 'memory.total', '--format=csv,noheader,nounits', '-i',
                         uuid)
    want('nounits', code == 0 and re.fullmatch(r'\d+\n', out), out, err)
    code, out, err = run(anywarp, device, 'nvidia-smi', '--query-compute-apps=pid,used_memory', '--format=csv')
    want('processes', code == 0 and out.startswith('pid, used_gpu_memory [MiB]\n'), out, err)
    code, out, err = run(anywarp, device, 'nvidia-smi', '-q')
    want('-q', code == 0 and re.search(r'\n    GPU UUID {38}: %s\n' % uuid, out), out, err)
    for options, status in ((['--query-gpu=nonsense', '--format=csv'], 2), (['--query-gpu=name'], 2), (['-pm', '1'], 2),
                            (['-i', '77'], 6)):
        want(options, run(anywarp, device, 'nvidia-smi', *options)[0] == status)
    print('\n'.join(bad) or 'all as wanted')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
