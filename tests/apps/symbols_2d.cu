// Copies: 2-D with pitches in every direction, pitched allocation, 2-D and 1-D memset of each width, 3-D, symbols with offsets
// both ways and device to device, async forms, host allocation flags, pointer attributes.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

__device__ int from_symbol[32], to_symbol[32];

__global__ void fill(unsigned char *p, size_t pitch, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < w && y < h)
        p[y * pitch + x] = (unsigned char)(x * 3 + y * 5);
}

__global__ void bump_host(int *p)
{
    p[threadIdx.x] += 1000;
}

static void pitched()
{
    const int w = 101, h = 13, host_pitch = 160;
    unsigned char *d, *e;
    size_t pitch, pitch2;
    CHECK(cudaMallocPitch((void **)&d, &pitch, w, h));
    CHECK(cudaMallocPitch((void **)&e, &pitch2, w + 300, h));
    EXPECT(pitch >= (size_t)w && pitch % 32 == 0, "pitch %zu", pitch);
    fill<<<dim3(2, h), 64>>>(d, pitch, w, h);
    CHECK_LAUNCH();
    std::vector<unsigned char> host(host_pitch * h, 0xaa);
    CHECK(cudaMemset2D(e, pitch2, 0x11, w + 300, h));
    CHECK(cudaMemcpy2D(e + 7, pitch2, d, pitch, w, h, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy2D(host.data() + 2, host_pitch, e + 5, pitch2, w + 4, h, cudaMemcpyDeviceToHost));
    for (int y = 0; y < h; y++)
        for (int x = 0; x < host_pitch; x++) {
            int k = x - 4, want = x < 2 || x >= w + 6 ? 0xaa : k < 0 || k >= w ? 0x11 : (k * 3 + y * 5) & 255;
            EXPECT(host[y * host_pitch + x] == want, "(%d,%d): %02x, expected %02x", x, y, host[y * host_pitch + x], want);
        }
    CHECK_ERR(cudaMemcpy2D(host.data(), 10, d, pitch, 20, h, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
    cudaGetLastError();
    std::vector<unsigned char> back(w * h);
    CHECK(cudaMemcpy2D(d, pitch, host.data() + 4, host_pitch, w, h, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DAsync(back.data(), w, d, pitch, w, h, cudaMemcpyDefault, 0));
    CHECK(cudaStreamSynchronize(0));
    for (int i = 0; i < w * h; i++)
        EXPECT(back[i] == ((i % w * 3 + i / w * 5) & 255), "back %d: %02x", i, back[i]);
    CHECK(cudaFree(d));
    CHECK(cudaFree(e));
}

static void symbols()
{
    int a[32], b[32];
    for (int i = 0; i < 32; i++)
        a[i] = i * i;
    CHECK(cudaMemcpyToSymbol(from_symbol, a, sizeof a));
    CHECK(cudaMemcpyToSymbolAsync(from_symbol, a, 8, 40, cudaMemcpyHostToDevice, 0));
    void *address;
    CHECK(cudaGetSymbolAddress(&address, from_symbol));
    CHECK(cudaMemcpyToSymbol(to_symbol, (int *)address + 4, 24 * 4, 16, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpyFromSymbolAsync(b, to_symbol, 20 * 4, 16, cudaMemcpyDeviceToHost, 0));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 20; i++) {
        int k = i + 4, want = k == 10 ? a[0] : k == 11 ? a[1] : a[k];
        EXPECT(b[i] == want, "symbol %d: %d, expected %d", i, b[i], want);
    }
    CHECK_ERR(cudaMemcpyToSymbol(to_symbol, a, 8, 32 * 4 - 4), cudaErrorInvalidValue);
    cudaGetLastError();
}

static void sets()
{
    unsigned char out[64];
    Dev<unsigned char> d(64);
    d.fill(0xee);
    CHECK(cudaMemset(d.ptr + 3, 0x155, 9));
    CHECK(cudaMemsetAsync(d.ptr + 20, 7, 5, 0));
    d.get(out);
    for (int i = 0; i < 64; i++)
        EXPECT(out[i] == (i >= 3 && i < 12 ? 0x55 : i >= 20 && i < 25 ? 7 : 0xee), "set %d: %02x", i, out[i]);
}

static void three_d()
{
    const int w = 10, h = 4, n = 3;
    cudaPitchedPtr p;
    CHECK(cudaMalloc3D(&p, make_cudaExtent(w, h, n)));
    std::vector<unsigned char> a(w * h * n), b(w * h * n, 0);
    for (int i = 0; i < w * h * n; i++)
        a[i] = (unsigned char)i;
    cudaMemcpy3DParms parms = {};
    parms.srcPtr = make_cudaPitchedPtr(a.data(), w, w, h);
    parms.dstPtr = p;
    parms.extent = make_cudaExtent(w, h, n);
    parms.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&parms));
    CHECK(cudaMemset3D(make_cudaPitchedPtr((char *)p.ptr + 2, p.pitch, w, h), 0xff, make_cudaExtent(3, 2, n)));
    cudaMemcpy3DParms back = {};
    back.srcPtr = p;
    back.srcPos = make_cudaPos(1, 0, 1);
    back.dstPtr = make_cudaPitchedPtr(b.data(), w, w, h);
    back.extent = make_cudaExtent(w - 1, h, n - 1);
    back.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&back));
    for (int z = 0; z < n - 1; z++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w - 1; x++) {
                int sx = x + 1, want = sx >= 2 && sx < 5 && y < 2 ? 0xff : ((z + 1) * h + y) * w + sx;
                EXPECT(b[(z * h + y) * w + x] == want, "(%d,%d,%d): %d, expected %d", x, y, z, b[(z * h + y) * w + x], want);
            }
    CHECK(cudaFree(p.ptr));
}

static void host_memory()
{
    int *mapped, *device, *portable;
    CHECK(cudaHostAlloc((void **)&mapped, 40 * sizeof(int), cudaHostAllocMapped));
    CHECK(cudaHostAlloc((void **)&portable, 64, cudaHostAllocPortable));
    for (int i = 0; i < 40; i++)
        mapped[i] = i;
    CHECK(cudaHostGetDevicePointer((void **)&device, mapped, 0));
    bump_host<<<1, 40>>>(device);
    CHECK_LAUNCH();
    for (int i = 0; i < 40; i++)
        EXPECT(mapped[i] == 1000 + i, "mapped %d: %d", i, mapped[i]);
    cudaPointerAttributes attr;
    CHECK(cudaPointerGetAttributes(&attr, mapped));
    EXPECT(attr.type == cudaMemoryTypeHost, "type of host memory %d", attr.type);
    Dev<int> d(4);
    CHECK(cudaPointerGetAttributes(&attr, d.ptr + 1));
    EXPECT(attr.type == cudaMemoryTypeDevice && attr.device == 0, "type of device memory %d", attr.type);
    int local;
    CHECK(cudaPointerGetAttributes(&attr, &local));
    EXPECT(attr.type == cudaMemoryTypeUnregistered, "type of stack memory %d", attr.type);
    std::vector<int> plain(4096, 5);
    CHECK(cudaHostRegister(plain.data(), plain.size() * sizeof(int), cudaHostRegisterDefault));
    CHECK(cudaHostUnregister(plain.data()));
    CHECK(cudaFreeHost(mapped));
    CHECK(cudaFreeHost(portable));
}

int main()
{
    pitched();
    symbols();
    sets();
    three_d();
    host_memory();
    return check_done();
}
