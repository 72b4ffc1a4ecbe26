"""Compiles a kernel `twice(float *)` with NVRTC for sm_80 and launches what nvrtcGetCUBIN gives, as a program does.

    launch.py LIBRARY SOURCE"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'frontends', 'triton'))
import driver  # pylint: disable=wrong-import-position


def main():
    ask = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'ask.py')
    image = subprocess.run([sys.executable, ask, sys.argv[1], sys.argv[2], '-arch=sm_80'], check=True, capture_output=True,
                           text=True).stdout
    values = (ctypes.c_float * 4)(0, 1, 2, 3)
    memory = bytearray(bytes(values))
    driver.Device().launch(image, 'twice', (1, 1, 1), 4, 0, [memory])
    print(list((ctypes.c_float * 4).from_buffer(memory)))


if __name__ == '__main__':
    main()
