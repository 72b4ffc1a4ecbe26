"""What programs under `anywarp run` do with nvJitLink, through ctypes: links, and launches what comes out.  Prints a line for
each case.

    link.py LIBRARY FOLDER [NVRTC]"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'frontends', 'triton'))
import driver  # pylint: disable=wrong-import-position

CUBIN, PTX, LTOIR, FATBIN, OBJECT, LIBRARY, ANY = 1, 2, 3, 4, 5, 6, 10
HEAD = '.version 8.0\n.target sm_80\n.address_size 64\n'
CALLER = HEAD + '''.extern .func (.param .b32 r) three();
.visible .entry k(.param .u64 p)
{
 .reg .b32 %r<2>;
 .reg .b64 %d<2>;
 .param .b32 v;
 call (v), three, ();
 ld.param.b32 %r1, [v];
 ld.param.u64 %d1, [p];
 st.global.u32 [%d1], %r1;
 ret;
}
'''
CALLEE = HEAD + '.visible .func (.param .b32 r) three()\n{\n st.param.b32 [r], 3;\n ret;\n}\n'
BAD = HEAD + '.visible .entry k(.param .u64 p)\n{\n mov.u32 %r9, 3;\n ret;\n}\n'


class Link:
    def __init__(self, library, options, numbered=''):
        self.library, self.handle, self.numbered = library, ctypes.c_void_p(), numbered
        words = [o.encode() for o in options]
        self.result = self.call('Create', ctypes.byref(self.handle), len(words), (ctypes.c_char_p * len(words))(*words))

    def call(self, name, *args):
        name = '__nvJitLink%s_%s' % (name, self.numbered) if self.numbered else 'nvJitLink' + name
        return getattr(self.library, name)(*args)

    def add(self, kind, data, name):
        data = data.encode() if isinstance(data, str) else data
        self.result = self.result or self.call('AddData', self.handle, kind, data, ctypes.c_size_t(len(data)), name.encode())
        return self

    def add_file(self, kind, path):
        self.result = self.result or self.call('AddFile', self.handle, kind, path.encode())
        return self

    def complete(self):
        self.result = self.result or self.call('Complete', self.handle)
        return self

    def bytes(self, what):
        size = ctypes.c_size_t()
        if self.call(what + 'Size', self.handle, ctypes.byref(size)):
            return None
        text = ctypes.create_string_buffer(size.value + 1)
        self.call(what, self.handle, text)
        return text.raw[:size.value]

    def end(self):
        log, image = self.bytes('GetErrorLog').rstrip(b'\0').decode(), self.bytes('GetLinkedCubin')
        ptx = self.bytes('GetLinkedPtx')
        self.call('Destroy', ctypes.byref(self.handle))
        return self.result, log.replace('\n', '|'), image, ptx


def launch(device, image):
    module, function, there, value = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_uint32()
    device.call('cuModuleLoadData', ctypes.byref(module), image)
    device.call('cuModuleGetFunction', ctypes.byref(function), module, b'k')
    device.call('cuMemAlloc_v2', ctypes.byref(there), ctypes.c_size_t(4))
    params = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(there), ctypes.c_void_p))
    device.call('cuLaunchKernel', function, 1, 1, 1, 1, 1, 1, 0, None, params, None)
    device.call('cuMemcpyDtoH_v2', ctypes.byref(value), there, ctypes.c_size_t(4))
    return value.value


def lto_code(nvrtc, source, device):
    prog, size = ctypes.c_void_p(), ctypes.c_size_t()
    options = [b'-arch=sm_80', b'-dlto'] + ([b'-rdc=true'] if device else [])
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(prog), source.encode(), b'x.cu', 0, None, None) == 0
    assert nvrtc.nvrtcCompileProgram(prog, len(options), (ctypes.c_char_p * len(options))(*options)) == 0
    assert nvrtc.nvrtcGetLTOIRSize(prog, ctypes.byref(size)) == 0
    code = ctypes.create_string_buffer(size.value)
    assert nvrtc.nvrtcGetLTOIR(prog, code) == 0
    return code.raw


def main():
    library, folder = ctypes.CDLL(sys.argv[1]), sys.argv[2]
    major = sys.argv[1].rsplit('.', 1)[1]
    device = driver.Device()

    def case(name, link, run=True):
        result, log, image, _ = link.complete().end()
        print('%s: %d %s%s' % (name, result, log, launch(device, image) if run and image else ''))

    both = Link(library, ['-arch=sm_80']).add(PTX, CALLER, 'a').add(PTX, CALLEE + '\0', 'b')
    case('two texts', both)
    case('numbered names', Link(library, ['-arch=sm_80', '-O3', '-lineinfo'], major + '_0').add(PTX, CALLER, 'a').add(ANY, CALLEE,
                                                                                                                      'b'))
    _, _, image, _ = Link(library, ['-arch=sm_80']).add(PTX, CALLEE, 'b').complete().end()
    case('a linked image as a cubin', Link(library, ['-arch=sm_80']).add(CUBIN, image, 'i').add(PTX, CALLER, 'a'))
    case('PTX as a cubin, which NVRTC of ours gives', Link(library, ['-arch=sm_80']).add(CUBIN, CALLEE, 'i').add(PTX, CALLER,
                                                                                                                 'a'))
    case('a fat binary', Link(library, ['-arch=sm_80']).add_file(FATBIN, folder + '/b.fatbin').add(PTX, CALLER, 'a'))
    case('an object', Link(library, ['-arch=sm_80']).add_file(OBJECT, folder + '/b.o').add(PTX, CALLER, 'a'))
    case('a library', Link(library, ['-arch=sm_80']).add_file(LIBRARY, folder + '/libb.a').add(PTX, CALLER, 'a'))
    case('nothing', Link(library, ['-arch=sm_80']), run=False)
    case('undefined', Link(library, ['-arch=sm_80']).add(PTX, CALLER, 'a'))
    case('defined twice', Link(library, ['-arch=sm_80']).add(PTX, CALLEE, 'a').add(PTX, CALLEE, 'b'))
    case('wrong PTX', Link(library, ['-arch=sm_80']).add(PTX, BAD, 'a'))
    case('no architecture', Link(library, ['-g']))
    case('unknown option', Link(library, ['-arch=sm_80', '-zork']))
    case('-ptx alone', Link(library, ['-arch=sm_80', '-ptx']))
    case('not a cubin', Link(library, ['-arch=sm_80']).add(CUBIN, b'garbage', 'a'))
    case('no such file', Link(library, ['-arch=sm_80']).add_file(PTX, '/no/such'))
    case('LTO code without -lto', Link(library, ['-arch=sm_80']).add(LTOIR, b'garbage', 'a'))
    if len(sys.argv) > 3:
        nvrtc = ctypes.CDLL(sys.argv[3])
        kernel = lto_code(nvrtc, 'extern __device__ int three(); extern "C" __global__ void k(int *p) { *p = three() + 4; }',
                          True)
        function = lto_code(nvrtc, '__device__ int three() { return 3; }', True)
        case('LTO code', Link(library, ['-arch=sm_80', '-lto']).add(LTOIR, kernel, 'k').add(LTOIR, function, 'f'))
        _, _, _, ptx = Link(library, ['-arch=sm_80', '-lto', '-ptx']).add(LTOIR, kernel, 'k').add(LTOIR, function,
                                                                                                  'f').complete().end()
        print('LTO code to PTX: %s' % (b'.visible .entry k(' in ptx))


if __name__ == '__main__':
    main()
