// Surface objects of every geometry and width: reads, writes, what the three boundary modes do outside, formatted stores,
// reductions and queries (in PTX, as CUDA C++ has no names for them).  Everything is integers, compared with the same on the
// host.
// variants: shared static O0 sm_75 sm_86 sm_89 sm_90
// not-lifted: what a surface's elements are, machine code reads out of tables of the driver's
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "check.h"

static const int W = 12, H = 7, D = 3; // elements, rows, slices or layers

// ---- A surface of every geometry and element type

template <class T> __device__ T make_value(int i);
template <> __device__ unsigned char make_value(int i) { return (unsigned char)(i * 7 + 1); }
template <> __device__ short make_value(int i) { return (short)(i * 771 - 5); }
template <> __device__ int make_value(int i) { return i * 7777777 - 3; }
template <> __device__ int2 make_value(int i) { return make_int2(i, -i); }
template <> __device__ float4 make_value(int i) { return make_float4(i, i + 0.5f, -i, 1); }

enum Geometry { G1D, G2D, G3D, G1DLayered, G2DLayered, GCube };

template <class T> __device__ void store(cudaSurfaceObject_t s, Geometry g, T v, int x, int y, int z)
{
    x *= sizeof(T);
    switch (g) {
    case G1D: surf1Dwrite(v, s, x); break;
    case G2D: surf2Dwrite(v, s, x, y); break;
    case G3D: surf3Dwrite(v, s, x, y, z); break;
    case G1DLayered: surf1DLayeredwrite(v, s, x, z); break;
    case G2DLayered: surf2DLayeredwrite(v, s, x, y, z); break;
    case GCube: surfCubemapwrite(v, s, x, y, z); break;
    }
}

template <class T> __device__ T load(cudaSurfaceObject_t s, Geometry g, int x, int y, int z)
{
    x *= sizeof(T);
    switch (g) {
    case G1D: return surf1Dread<T>(s, x);
    case G2D: return surf2Dread<T>(s, x, y);
    case G3D: return surf3Dread<T>(s, x, y, z);
    case G1DLayered: return surf1DLayeredread<T>(s, x, z);
    case G2DLayered: return surf2DLayeredread<T>(s, x, y, z);
    default: return surfCubemapread<T>(s, x, y, z);
    }
}

// Every element: what is there, and its number added, goes to the element mirrored in all dimensions.
template <class T>
__global__ void mirror_kernel(cudaSurfaceObject_t from, cudaSurfaceObject_t to, Geometry g, int w, int h, int d)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w * h * d)
        return;
    int x = i % w, y = i / w % h, z = i / (w * h);
    store(to, g, load<T>(from, g, x, y, z), w - 1 - x, h - 1 - y, d - 1 - z);
}

template <class T> __global__ void fill_kernel(cudaSurfaceObject_t to, Geometry g, int w, int h, int d)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < w * h * d)
        store(to, g, make_value<T>(i), i % w, i / w % h, i / (w * h));
}

template <class T> __global__ void list_kernel(T *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = make_value<T>(i);
}

static cudaSurfaceObject_t surface_of(cudaArray_t array)
{
    cudaSurfaceObject_t s;
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    CHECK(cudaCreateSurfaceObject(&s, &resource));
    return s;
}

template <class T> static void try_type(const char *what, Geometry g)
{
    int w = g == GCube ? H : W, h = g == G1D || g == G1DLayered ? 1 : H, d = g == GCube ? 6 : g == G1D || g == G2D ? 1 : D,
        n = w * h * d;
    unsigned flags = cudaArraySurfaceLoadStore | (g == GCube ? cudaArrayCubemap : 0) |
                     (g == G1DLayered || g == G2DLayered ? cudaArrayLayered : 0);
    cudaArray_t a, b;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    cudaExtent extent = make_cudaExtent(w, h == 1 ? 0 : h, d == 1 ? 0 : d);
    CHECK(cudaMalloc3DArray(&a, &format, extent, flags));
    CHECK(cudaMalloc3DArray(&b, &format, extent, flags));
    cudaSurfaceObject_t sa = surface_of(a), sb = surface_of(b);
    fill_kernel<T><<<(n + 63) / 64, 64>>>(sa, g, w, h, d);
    mirror_kernel<T><<<(n + 63) / 64, 64>>>(sa, sb, g, w, h, d);
    CHECK_LAUNCH();
    std::vector<T> got(n), want(n);
    T *list;
    CHECK(cudaMalloc(&list, n * sizeof(T)));
    list_kernel<T><<<(n + 63) / 64, 64>>>(list, n);
    CHECK(cudaMemcpy(want.data(), list, n * sizeof(T), cudaMemcpyDeviceToHost));
    cudaMemcpy3DParms copy = {};
    copy.srcArray = b;
    copy.dstPtr = make_cudaPitchedPtr(got.data(), w * sizeof(T), w, h);
    copy.extent = make_cudaExtent(w, h, d);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    for (int i = 0; i < n; i++) // mirrored in all dimensions is backwards
        if (memcmp(&got[n - 1 - i], &want[i], sizeof(T)) && check_failures++ < 10)
            printf("%s, geometry %d: element %d is wrong\n", what, g, i);
    CHECK(cudaFree(list));
    CHECK(cudaDestroySurfaceObject(sa));
    CHECK(cudaDestroySurfaceObject(sb));
    CHECK(cudaFreeArray(a));
    CHECK(cudaFreeArray(b));
}

// ---- Outside

__global__ void outside_kernel(cudaSurfaceObject_t s, int *out)
{
    int x = (int)threadIdx.x - 8, y = (int)blockIdx.x - 3, i = blockIdx.x * blockDim.x + threadIdx.x;
    out[2 * i] = surf2Dread<int>(s, 4 * x, y, cudaBoundaryModeZero);
    out[2 * i + 1] = surf2Dread<int>(s, 4 * x, y, cudaBoundaryModeClamp);
}

// Writes one element's number into itself; those outside are to be ignored, or to land on the edge.
__global__ void outside_store_kernel(cudaSurfaceObject_t s, int clamp)
{
    int x = (int)threadIdx.x - 8, y = (int)blockIdx.x - 3;
    if (clamp)
        surf2Dwrite(77, s, 4 * x, y, cudaBoundaryModeClamp);
    else
        surf2Dwrite(y * 100 + x, s, 4 * x, y, cudaBoundaryModeZero);
}

__global__ void trap_kernel(cudaSurfaceObject_t s)
{
    surf2Dwrite(1, s, 4 * W, 0);
}

static void try_outside()
{
    cudaArray_t a;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    CHECK(cudaMallocArray(&a, &format, W, H, cudaArraySurfaceLoadStore));
    cudaSurfaceObject_t s = surface_of(a);
    const int blocks = H + 6, threads = W + 16, n = blocks * threads;
    std::vector<int> out(2 * n), all(W * H);
    int *d_out;
    CHECK(cudaMalloc(&d_out, 2 * n * sizeof(int)));
    outside_store_kernel<<<blocks, threads>>>(s, 0);
    outside_kernel<<<blocks, threads>>>(s, d_out);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out.data(), d_out, 2 * n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        int x = i % threads - 8, y = i / threads - 3, cx = x < 0 ? 0 : x >= W ? W - 1 : x, cy = y < 0 ? 0 : y >= H ? H - 1 : y;
        int zero = x == cx && y == cy ? y * 100 + x : 0, clamp = cy * 100 + cx;
        if ((out[2 * i] != zero || out[2 * i + 1] != clamp) && check_failures++ < 10)
            printf("outside at %d %d: %d and %d, not %d and %d\n", x, y, out[2 * i], out[2 * i + 1], zero, clamp);
    }
    outside_store_kernel<<<blocks, threads>>>(s, 1);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy2DFromArray(all.data(), W * 4, a, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
    for (int i = 0; i < W * H; i++)
        if (all[i] != 77 && check_failures++ < 10)
            printf("clamped store at %d: %d\n", i, all[i]);
    CHECK(cudaFree(d_out));
}

// ---- What has no name in CUDA C++

__global__ void ptx_kernel(cudaSurfaceObject_t bytes, cudaSurfaceObject_t sum, cudaSurfaceObject_t half, int *out)
{
    int i = threadIdx.x, x = i % 4, far = 1000000;
    // Integers saturate to the channel; missing channels are zero, elements outside are left alone.
    asm volatile("sust.p.1d.v2.b32.trap [%0, {%1}], {%2, %3};" : : "l"(bytes), "r"(x), "r"(300 + x), "r"(5 * x) : "memory");
    asm volatile("sust.p.1d.b32.zero [%0, {%1}], %2;" : : "l"(bytes), "r"(far), "r"(1) : "memory");
    asm volatile("sust.p.1d.v2.b32.trap [%0, {%1}], {%2, %3};" : : "l"(half), "r"(x), "f"(x + 0.25f), "f"(-65536.0f) : "memory");
    asm volatile("sured.b.add.1d.u32.trap [%0, {%1}], %2;" : : "l"(sum), "r"(0), "r"(i) : "memory");
    asm volatile("sured.b.max.1d.s32.trap [%0, {%1}], %2;" : : "l"(sum), "r"(4), "r"(i - 40) : "memory");
    asm volatile("sured.b.min.1d.u32.clamp [%0, {%1}], %2;" : : "l"(sum), "r"(8), "r"(i + 3) : "memory");
    asm volatile("sured.b.or.1d.b32.zero [%0, {%1}], %2;" : : "l"(sum), "r"(12), "r"(1 << i % 32) : "memory");
    asm volatile("sured.p.min.1d.b32.trap [%0, {%1}], %2;" : : "l"(sum), "r"(4), "r"(-i) : "memory");
    asm volatile("sured.b.add.1d.u32.zero [%0, {%1}], %2;" : : "l"(sum), "r"(-4), "r"(1) : "memory");
    if (i == 0) {
        asm("suq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(bytes));
        asm("suq.height.b32 %0, [%1];" : "=r"(out[1]) : "l"(bytes));
        asm("suq.channel_order.b32 %0, [%1];" : "=r"(out[2]) : "l"(bytes));
        asm("suq.channel_data_type.b32 %0, [%1];" : "=r"(out[3]) : "l"(half));
    }
}

static void try_ptx()
{
    cudaArray_t a, b, c;
    cudaChannelFormatDesc bytes = cudaCreateChannelDesc<uchar4>(), words = cudaCreateChannelDesc<int>(),
                          halves = cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindFloat);
    CHECK(cudaMallocArray(&a, &bytes, 4, 0, cudaArraySurfaceLoadStore));
    CHECK(cudaMallocArray(&b, &words, 8, 0, cudaArraySurfaceLoadStore));
    CHECK(cudaMallocArray(&c, &halves, 4, 0, cudaArraySurfaceLoadStore));
    int init[8] = { 0, -1000, 1 << 30, 0, 0, -1, 0, 0 }, out[4], *d_out, sums[8];
    unsigned char got[16];
    unsigned short half[8];
    CHECK(cudaMemcpy2DToArray(b, 0, 0, init, 32, 32, 1, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&d_out, sizeof out));
    ptx_kernel<<<1, 64>>>(surface_of(a), surface_of(b), surface_of(c), d_out);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy2DFromArray(got, 16, a, 0, 0, 16, 1, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy2DFromArray(sums, 32, b, 0, 0, 32, 1, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy2DFromArray(half, 16, c, 0, 0, 16, 1, cudaMemcpyDeviceToHost));
    static const unsigned short quarters[] = { 0x3400, 0x3d00, 0x4080, 0x4280 };
    for (int x = 0; x < 4; x++) {
        unsigned char want[4] = { 255, (unsigned char)(5 * x), 0, 0 };
        if (memcmp(got + 4 * x, want, 4) && check_failures++ < 10)
            printf("formatted bytes %d: %d %d %d %d\n", x, got[4 * x], got[4 * x + 1], got[4 * x + 2], got[4 * x + 3]);
        if ((half[2 * x] != quarters[x] || half[2 * x + 1] != 0xfc00) && check_failures++ < 10)
            printf("formatted halves %d: %04x %04x\n", x, half[2 * x], half[2 * x + 1]);
    }
    const int want[8] = { 2016, 23, 3, -1, -63, -1, 0, 0 };
    for (int i = 0; i < 8; i++)
        if (sums[i] != want[i] && check_failures++ < 10)
            printf("reduction %d: %d, not %d\n", i, sums[i], want[i]);
    if (out[0] != 4 || out[1] != 1 || out[2] != 4 || out[3] != 16)
        printf("queries: %d %d %d %d\n", out[0], out[1], out[2], out[3]), check_failures++;
}

static void try_errors()
{
    cudaArray_t a;
    cudaSurfaceObject_t s;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    CHECK(cudaMallocArray(&a, &format, W, H)); // not made for surfaces, and taken
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = a;
    CHECK(cudaCreateSurfaceObject(&s, &resource));
    CHECK(cudaDestroySurfaceObject(s));
    resource.resType = cudaResourceTypeLinear;
    CHECK_ERR(cudaCreateSurfaceObject(&s, &resource), cudaErrorInvalidValue);
    cudaGetLastError();
    CHECK(cudaFreeArray(a));
}

// Last: the device is lost after it.
static void try_trap()
{
    cudaArray_t a;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    CHECK(cudaMallocArray(&a, &format, W, H, cudaArraySurfaceLoadStore));
    trap_kernel<<<1, 1>>>(surface_of(a));
    CHECK_ERR(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
}

int main()
{
    try_type<int>("int", G1D);
    try_type<unsigned char>("uchar", G2D);
    try_type<short>("short", G2D);
    try_type<int>("int", G2D);
    try_type<int2>("int2", G2D);
    try_type<float4>("float4", G2D);
    try_type<float4>("float4", G3D);
    try_type<short>("short", G1DLayered);
    try_type<int2>("int2", G2DLayered);
    try_type<int>("int", GCube);
    try_outside();
    try_ptx();
    try_errors();
    try_trap();
    return check_done();
}
