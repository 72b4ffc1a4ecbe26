// Arrays of compressed blocks, BC1 to BC7, and views of others as such: random blocks of every mode, each texel fetched.  BC1 to
// BC5 against their definition, computed here; BC6H and BC7 against sums over what independent decoders gave for the same blocks.
// Cards do not have them.
// devices: host
// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "check.h"

static const int W = 8, H = 8; // blocks

struct Blocks {
    std::vector<unsigned char> bytes; // row by row
    int size;                         // of one
    uint32_t seed;
    Blocks(int size_, uint32_t seed_) : bytes(W * H * size_), size(size_), seed(seed_)
    {
        for (auto &b : bytes)
            b = (unsigned char)next();
    }
    uint32_t next() { return (seed = seed * 1664525 + 1013904223) >> 24; }
    unsigned char *at(int x, int y) { return &bytes[(size_t)(y * W + x) * size]; }
};

__global__ void fetch(cudaTextureObject_t t, float4 *out, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    out[y * width + x] = tex2D<float4>(t, x + 0.5f, y + 0.5f);
}

static cudaTextureObject_t texture_of(cudaArray_t array, cudaResourceViewFormat format, bool srgb, cudaTextureFilterMode filter,
                                      int width, int height)
{
    cudaResourceDesc resource = {};
    cudaTextureDesc how = {};
    cudaResourceViewDesc view = {};
    cudaTextureObject_t object;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = filter;
    how.readMode = cudaReadModeElementType; // as fractions CUDA refuses arrays of 32-bit integers
    how.sRGB = srgb;
    view.format = format;
    view.width = width;
    view.height = height;
    CHECK(cudaCreateTextureObject(&object, &resource, &how, &view));
    return object;
}

static std::vector<float4> fetched(Blocks &blocks, cudaResourceViewFormat format, bool srgb = false,
                                   cudaTextureFilterMode filter = cudaFilterModePoint)
{
    cudaArray_t array;
    cudaChannelFormatDesc desc = blocks.size == 8 ? cudaCreateChannelDesc<uint2>() : cudaCreateChannelDesc<uint4>();
    CHECK(cudaMallocArray(&array, &desc, W, H));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, blocks.bytes.data(), W * blocks.size, W * blocks.size, H, cudaMemcpyHostToDevice));
    cudaTextureObject_t object = texture_of(array, format, srgb, filter, 4 * W, 4 * H);
    Dev<float4> out(16 * W * H);
    fetch<<<dim3(W / 4, H), dim3(16, 4)>>>(object, out, 4 * W);
    CHECK(cudaDeviceSynchronize());
    std::vector<float4> got(16 * W * H);
    out.get(got.data());
    CHECK(cudaDestroyTextureObject(object));
    CHECK(cudaFreeArray(array));
    return got;
}

// The same from an array of a compressed format, of `width` x `height` texels, copied to and from by rows of blocks.
template <cudaChannelFormatKind kind> static void try_array(cudaResourceViewFormat view, bool srgb, int width, int height)
{
    cudaArray_t array;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<kind>(), told;
    cudaExtent extent;
    unsigned flags;
    Blocks blocks(desc.x == 8 && kind == cudaChannelFormatKindUnsignedBlockCompressed1 ? 8 : 16, 40u + kind);
    std::vector<float4> want = fetched(blocks, view, srgb);
    std::vector<unsigned char> back(blocks.bytes.size());
    int row = (width + 3) / 4 * blocks.size, rows = (height + 3) / 4;
    CHECK(cudaMallocArray(&array, &desc, width, height));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, blocks.bytes.data(), W * blocks.size, row, rows, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DFromArray(back.data(), W * blocks.size, array, 0, 0, row, rows, cudaMemcpyDeviceToHost));
    for (int y = 0; y < rows; y++)
        EXPECT(!memcmp(&back[y * W * blocks.size], blocks.at(0, y), row), "kind %d: row %d came back otherwise", kind, y);
    CHECK_ERR(cudaMemcpy2DToArray(array, 0, 0, blocks.bytes.data(), W * blocks.size, row, rows + 1, cudaMemcpyHostToDevice),
              cudaErrorInvalidValue);
    CHECK(cudaArrayGetInfo(&told, &extent, &flags, array));
    EXPECT(!memcmp(&told, &desc, sizeof told) && extent.width == (size_t)width && extent.height == (size_t)height,
           "kind %d: told %d, %zu x %zu", kind, told.f, extent.width, extent.height);
    cudaResourceDesc resource = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t object;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.readMode = kind == cudaChannelFormatKindSignedBlockCompressed6H ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
    CHECK(cudaCreateTextureObject(&object, &resource, &how, NULL));
    Dev<float4> out(16 * W * H);
    fetch<<<dim3(W / 4, H), dim3(16, 4)>>>(object, out, 4 * W);
    CHECK(cudaDeviceSynchronize());
    std::vector<float4> got(16 * W * H);
    out.get(got.data());
    for (int y = 0; y < 4 * H; y++)
        for (int x = 0; x < 4 * W; x++) { // beyond the array, its last texels
            float4 v = got[y * 4 * W + x], w = want[std::min(y, height - 1) * 4 * W + std::min(x, width - 1)];
            EXPECT(!memcmp(&v, &w, sizeof v), "kind %d at %d,%d: %g %g %g %g, not %g %g %g %g", kind, x, y, v.x, v.y, v.z, v.w,
                   w.x, w.y, w.z, w.w);
        }
    CHECK(cudaDestroyTextureObject(object));
    CHECK(cudaFreeArray(array));
}

// ---- BC1 to BC5, by definition

static int bits(const unsigned char *p, int from, int n)
{
    int v = 0;
    for (int i = 0; i < n; i++)
        v |= (p[(from + i) / 8] >> (from + i) % 8 & 1) << i;
    return v;
}

static int wide(int v, int n) { return v << (8 - n) | v >> (2 * n - 8); }

static float srgb_of(int v)
{
    double c = v / 255.0;
    return (float)(c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
}

// Colors of the eight bytes at p, of texel t; a BC1 block may have three and nothing.
static float4 color(const unsigned char *p, int t, bool bc1, bool srgb)
{
    int c[2] = { bits(p, 0, 16), bits(p, 16, 16) }, index = bits(p, 32 + 2 * t, 2), v[3];
    bool four = !bc1 || c[0] > c[1];
    if (!four && index == 3)
        return make_float4(0, 0, 0, 0);
    for (int i = 0; i < 3; i++) {
        int n = i == 1 ? 6 : 5, shift = i == 0 ? 11 : i == 1 ? 5 : 0;
        int a = wide(c[0] >> shift & ((1 << n) - 1), n), b = wide(c[1] >> shift & ((1 << n) - 1), n);
        v[i] = index == 0 ? a : index == 1 ? b : !four ? (a + b + 1) / 2 : index == 2 ? (2 * a + b + 1) / 3 : (a + 2 * b + 1) / 3;
    }
    if (srgb)
        return make_float4(srgb_of(v[0]), srgb_of(v[1]), srgb_of(v[2]), 1);
    return make_float4((float)v[0] / 255, (float)v[1] / 255, (float)v[2] / 255, 1);
}

static float between(const unsigned char *p, int t, bool is_signed)
{
    int a = is_signed ? std::max((int)(signed char)p[0], -127) : p[0],
        b = is_signed ? std::max((int)(signed char)p[1], -127) : p[1];
    int most = is_signed ? 127 : 255, index = bits(p, 16 + 3 * t, 3);
    if (index < 2)
        return (float)(index ? b : a) / (float)most;
    if (a > b)
        return (float)((8 - index) * a + (index - 1) * b) / (float)(7 * most);
    if (index >= 6)
        return index == 7 ? 1.0f : is_signed ? -1.0f : 0.0f;
    return (float)((6 - index) * a + (index - 1) * b) / (float)(5 * most);
}

static float4 expected(const unsigned char *p, int t, int kind, bool is_signed, bool srgb)
{
    if (kind == 4)
        return make_float4(between(p, t, is_signed), 0, 0, 1);
    if (kind == 5)
        return make_float4(between(p, t, is_signed), between(p + 8, t, is_signed), 0, 1);
    float4 v = color(kind == 1 ? p : p + 8, t, kind == 1, srgb);
    if (kind == 2)
        v.w = (float)(bits(p, 4 * t, 4) * 17) / 255;
    if (kind == 3)
        v.w = between(p, t, false);
    return v;
}

// With the sRGB curve numbers have eight bits.
static bool near(float a, float b, bool srgb) { return fabsf(a - b) <= (srgb ? fmaxf(fabsf(b) / 256, 1.0f / 32768) : 0); }

static bool same(float4 a, float4 b, bool srgb)
{
    return near(a.x, b.x, srgb) && near(a.y, b.y, srgb) && near(a.z, b.z, srgb) && a.w == b.w;
}

static void try_simple(int kind, cudaResourceViewFormat format, bool is_signed, bool srgb = false)
{
    Blocks blocks(kind == 1 || kind == 4 ? 8 : 16, 100u + kind);
    if (kind >= 3) { // the ends in both orders; both extremes
        memcpy(blocks.at(0, 0), "\x80\x7f", 2);
        memcpy(blocks.at(1, 0), "\x7f\x80", 2);
        memcpy(blocks.at(2, 0), "\x81\x81", 2);
    }
    std::vector<float4> got = fetched(blocks, format, srgb);
    for (int y = 0; y < 4 * H; y++)
        for (int x = 0; x < 4 * W; x++) {
            float4 want = expected(blocks.at(x / 4, y / 4), y % 4 * 4 + x % 4, kind, is_signed, srgb), v = got[y * 4 * W + x];
            EXPECT(same(v, want, srgb), "BC%d at %d,%d: %g %g %g %g, not %g %g %g %g", kind, x, y, v.x, v.y, v.z, v.w, want.x,
                   want.y, want.z, want.w);
        }
}

// ---- BC6H and BC7

static uint32_t sum_of(const std::vector<float4> &v, bool halves)
{
    uint32_t sum = 2166136261u;
    for (const float4 &t : v)
        for (float c : { t.x, t.y, t.z, t.w }) {
            unsigned n = halves ? __half_as_ushort(__float2half(c)) : (unsigned)(c * 255 + 0.5f);
            sum = (sum ^ n) * 16777619;
        }
    return sum;
}

static void try_seven()
{
    static const uint32_t sums[9] = { 0x1be91d32, 0x3255d32a, 0x645efb26, 0xaf38357a, 0x5896da84,
                                      0x87e75b0b, 0xcddb59c3, 0x826fc703, 0x76efddc5 };
    for (int mode = 0; mode < 9; mode++) {
        Blocks blocks(16, 700u + mode);
        for (int i = 0; i < W * H; i++) {
            unsigned char *p = blocks.at(i, 0);
            p[0] = mode == 8 ? 0 : (unsigned char)((p[0] & -(2 << mode)) | 1 << mode);
        }
        std::vector<float4> got = fetched(blocks, cudaResViewFormatUnsignedBlockCompressed7);
        EXPECT(sum_of(got, false) == sums[mode], "BC7 mode %d: sum %#x; first texel %g %g %g %g", mode, sum_of(got, false),
               got[0].x, got[0].y, got[0].z, got[0].w);
    }
}

static void try_six(bool is_signed)
{
    static const unsigned char codes[16] = { 0, 1, 2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 31 };
    static const uint32_t sums[2][16] = {
        { 0x79d3e710, 0x6eedd490, 0xd77fec95, 0xa412313d, 0x2b28aab3, 0x9c9ab282, 0x66132c6a, 0xb694f80b, 0x69f30fd1, 0x4cbd1665,
          0x238781c8, 0xf85e9e46, 0xa161bcd1, 0xd4e35f3c, 0x30efddc5, 0x30efddc5 },
        { 0x2b626533, 0x3fe28cf7, 0x2d8a86bf, 0x69dfd4e3, 0xe3ac6173, 0x036b6a3f, 0x37b5b060, 0xbad7d762, 0x8c26b55e, 0x41ec736e,
          0xb91d6819, 0x00a29ea1, 0x5c196980, 0x55c7f702, 0x30efddc5, 0x30efddc5 }
    };
    for (int mode = 0; mode < 16; mode++) {
        Blocks blocks(16, 600u + mode);
        for (int i = 0; i < W * H; i++) {
            unsigned char *p = blocks.at(i, 0);
            p[0] = (unsigned char)((p[0] & ~(codes[mode] < 2 ? 3 : 31)) | codes[mode]);
        }
        std::vector<float4> got = fetched(blocks, is_signed ? cudaResViewFormatSignedBlockCompressed6H
                                                            : cudaResViewFormatUnsignedBlockCompressed6H);
        EXPECT(sum_of(got, true) == sums[is_signed][mode], "BC6H mode %#x, %ssigned: sum %#x; first texel %g %g %g %g",
               codes[mode], is_signed ? "" : "un", sum_of(got, true), got[0].x, got[0].y, got[0].z, got[0].w);
    }
}

// ---- Filters, and what is refused

static void try_filter()
{
    Blocks blocks(8, 9);
    std::vector<float4> texels = fetched(blocks, cudaResViewFormatUnsignedBlockCompressed1);
    std::vector<float4> filtered = fetched(blocks, cudaResViewFormatUnsignedBlockCompressed1, false, cudaFilterModeLinear);
    for (size_t i = 0; i < texels.size(); i++) // at their centers
        EXPECT(same(texels[i], filtered[i], false), "filtered[%zu]: %g, not %g", i, filtered[i].x, texels[i].x);
}

static void try_wrong()
{
    cudaArray_t array;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<uint2>();
    cudaResourceDesc resource = {};
    cudaTextureDesc how = {};
    cudaResourceViewDesc view = {};
    cudaTextureObject_t object;
    CHECK(cudaMallocArray(&array, &desc, W, H));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    view.width = 4 * W;
    view.height = 4 * H;
    view.format = cudaResViewFormatUnsignedBlockCompressed7; // has blocks of 16 bytes
    CHECK_ERR(cudaCreateTextureObject(&object, &resource, &how, &view), cudaErrorInvalidValue);
    view.format = cudaResViewFormatUnsignedBlockCompressed1;
    view.width = 4 * W + 1;
    CHECK_ERR(cudaCreateTextureObject(&object, &resource, &how, &view), cudaErrorInvalidValue);
    CHECK(cudaFreeArray(array));
}

int main()
{
    try_simple(1, cudaResViewFormatUnsignedBlockCompressed1, false);
    try_simple(1, cudaResViewFormatUnsignedBlockCompressed1, false, true);
    try_simple(2, cudaResViewFormatUnsignedBlockCompressed2, false);
    try_simple(3, cudaResViewFormatUnsignedBlockCompressed3, false);
    try_simple(3, cudaResViewFormatUnsignedBlockCompressed3, false, true);
    try_simple(4, cudaResViewFormatUnsignedBlockCompressed4, false);
    try_simple(4, cudaResViewFormatSignedBlockCompressed4, true);
    try_simple(5, cudaResViewFormatUnsignedBlockCompressed5, false);
    try_simple(5, cudaResViewFormatSignedBlockCompressed5, true);
    try_seven();
    try_six(false);
    try_six(true);
    try_array<cudaChannelFormatKindUnsignedBlockCompressed1>(cudaResViewFormatUnsignedBlockCompressed1, false, 4 * W, 4 * H);
    try_array<cudaChannelFormatKindUnsignedBlockCompressed3SRGB>(cudaResViewFormatUnsignedBlockCompressed3, true, 4 * W - 1,
                                                                 4 * H);
    try_array<cudaChannelFormatKindSignedBlockCompressed5>(cudaResViewFormatSignedBlockCompressed5, false, 4 * W, 4 * H - 5);
    try_array<cudaChannelFormatKindSignedBlockCompressed6H>(cudaResViewFormatSignedBlockCompressed6H, false, 4 * W - 3,
                                                            4 * H - 2);
    try_array<cudaChannelFormatKindUnsignedBlockCompressed7>(cudaResViewFormatUnsignedBlockCompressed7, false, 4 * W, 4 * H);
    try_filter();
    try_wrong();
    return check_done();
}
