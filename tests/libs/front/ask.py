"""What a program under `anywarp run` does with NVRTC, through ctypes: compiles with the options given and prints what
nvrtcGetCUBIN has.

    ask.py LIBRARY SOURCE [OPTION...]"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import sys


def main():
    nvrtc = ctypes.CDLL(sys.argv[1])
    nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
    prog, size = ctypes.c_void_p(), ctypes.c_size_t()
    options = [o.encode() for o in sys.argv[3:]]

    def call(name, *args):
        result = getattr(nvrtc, name)(*args)
        if result:
            log, there = ctypes.create_string_buffer(1 << 16), prog.value and hasattr(nvrtc, 'nvrtcGetProgramLog')
            if there and name == 'nvrtcCompileProgram' and 'NVRTC' in sys.argv[2]:
                nvrtc.nvrtcGetProgramLog(prog, log)
            sys.exit('%s: %d %s %s' % (name, result, nvrtc.nvrtcGetErrorString(result).decode(), log.value.decode()))

    call('nvrtcCreateProgram', ctypes.byref(prog), sys.argv[2].encode(), b'x.cu', 0, None, None)
    call('nvrtcCompileProgram', prog, len(options), (ctypes.c_char_p * len(options))(*options))
    call('nvrtcGetCUBINSize', prog, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    call('nvrtcGetCUBIN', prog, cubin)
    call('nvrtcDestroyProgram', ctypes.byref(prog))
    print(cubin.raw[:size.value].rstrip(b'\0').decode())


if __name__ == '__main__':
    main()
