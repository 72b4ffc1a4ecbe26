"""The driver API through ctypes: as much as it takes to launch one kernel of a PTX text.  For processes under `anywarp run`;
needs nothing but Python."""
# SPDX-License-Identifier: Apache-2.0
import ctypes


class TooLarge(Exception):
    """The device has not what the kernel takes."""


class Device:
    def __init__(self):
        self.cuda = ctypes.CDLL('libcuda.so.1')
        self.device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call('cuInit', 0)
        self.call('cuDeviceGet', ctypes.byref(self.device), 0)
        self.call('cuDevicePrimaryCtxRetain', ctypes.byref(context), self.device)
        self.call('cuCtxSetCurrent', context)

    def call(self, name, *args):
        error = getattr(self.cuda, name)(*args)
        if error:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(error, ctypes.byref(text))
            raise RuntimeError(f'{name}: {(text.value or b"").decode()} ({error})')

    def launch(self, ptx, name, grid, threads, shared, args):
        """Launches the kernel once.  An argument is a bytearray (memory, which comes back changed), an int, a float or None (a
        null address). Whole numbers are 32 bits if they fit, as in Triton."""
        most = ctypes.c_int()
        # CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        self.call('cuDeviceGetAttribute', ctypes.byref(most), 97, self.device)
        if shared > most.value:
            raise TooLarge(f'{shared} bytes of shared memory, of {most.value}')
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call('cuModuleLoadData', ctypes.byref(module), ctypes.c_char_p(ptx.encode()))
        self.call('cuModuleGetFunction', ctypes.byref(function), module, name.encode())
        if shared > 48 << 10:
            self.call('cuFuncSetAttribute', function, 8, shared) # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        values, memory = [], []
        for arg in args:
            if isinstance(arg, bytearray):
                there = ctypes.c_uint64()
                raw = (ctypes.c_char * len(arg)).from_buffer(arg)
                self.call('cuMemAlloc_v2', ctypes.byref(there), ctypes.c_size_t(len(arg)))
                self.call('cuMemcpyHtoD_v2', there, raw, ctypes.c_size_t(len(arg)))
                memory.append((there, raw, len(arg)))
                values.append(there)
            elif isinstance(arg, float):
                values.append(ctypes.c_float(arg))
            else:
                values.append(ctypes.c_int32(arg) if arg is not None and abs(arg) < 1 << 31 else ctypes.c_int64(arg or 0))
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values))
        self.call('cuLaunchKernel', function, *grid, threads, 1, 1, shared, None, pointers, None)
        self.call('cuCtxSynchronize')
        for there, raw, size in memory:
            self.call('cuMemcpyDtoH_v2', raw, there, ctypes.c_size_t(size))
            self.call('cuMemFree_v2', there)
        self.call('cuModuleUnload', module)
