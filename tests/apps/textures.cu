// Texture objects of every geometry, format, address mode and filter, against the rules of the programming guide computed in C++:
// weights of linear filtering have 8 bits of fraction, sums are taken element by element.
// variants: shared static O0 sm_75 sm_86 sm_89 sm_90
// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "check.h"

// ---- The rules

// An image as floats, four channels.  Depth counts slices, layers or faces.
struct Image {
    int w, h, d;
    std::vector<float4> at;
    Image(int w_, int h_, int d_) : w(w_), h(h_), d(d_), at((size_t)w_ * h_ * d_) {}
    float4 &operator()(int x, int y, int z) { return at[((size_t)z * h + y) * w + x]; }
};

struct Rules {
    cudaTextureAddressMode mode[3];
    bool normalized, linear;
    float border[4];
    float most;   // what 16 bits of a fraction reach, 0: it is none
    int steps;    // of the element's fractions
    bool halves;
};

static bool resolve(int *i, int n, cudaTextureAddressMode mode)
{
    if (mode == cudaAddressModeBorder && (*i < 0 || *i >= n))
        return false;
    if (mode == cudaAddressModeWrap)
        *i = (*i % n + n) % n;
    *i = std::min(std::max(*i, 0), n - 1);
    return true;
}

static float in_elements(const Rules &r, int dim, float x, int n)
{
    if (!r.normalized)
        return x;
    if (r.mode[dim] == cudaAddressModeWrap)
        x = x - floorf(x);
    if (r.mode[dim] == cudaAddressModeMirror) {
        x = x - 2 * floorf(x * 0.5f);
        x = x > 1 ? 2 - x : x;
    }
    return x * (float)n;
}

static float4 texel(Image &image, const Rules &r, const int at[3], int dims, int slice)
{
    int i[3] = { 0, 0, slice }, size[3] = { image.w, image.h, image.d };
    for (int d = 0; d < dims; d++) {
        i[d] = at[d];
        if (!resolve(&i[d], size[d], r.mode[d])) {
            float4 b = make_float4(r.border[0], r.border[1], r.border[2], r.border[3]);
            for (int c = 0; r.steps && c < 4; c++) { // as elements would have it
                float *v = &b.x + c;
                *v = roundf(std::min(std::max(*v, r.most == 32767 ? -1.0f : 0.0f), 1.0f) * r.steps) / r.steps;
            }
            return b;
        }
    }
    return image(i[0], i[1], i[2]);
}

// Element k's part of a weight, all of them in 256ths: rounded for the depth, in it for the column, in that for the row, where
// columns take what is left of each other.
static int weight_of(int all, const int *fraction, int dims, int k)
{
    int part = all;
    if (dims == 3)
        part = k & 4 ? (all * fraction[2] + 128) / 256 : all - (all * fraction[2] + 128) / 256;
    int right = (part * fraction[0] + 128) / 256;
    part = k & 1 ? right : part - right;
    if (dims == 1)
        return part;
    int down = (part * fraction[1] + (k & 1 ? 128 : 127)) / 256;
    return k & 2 ? down : part - down;
}

static float rounded(const Rules &r, float v)
{
    if (r.halves && r.linear)
        return __half2float(__float2half(v));
    if (!r.most)
        return v;
    if (r.linear)
        v = rintf(v * r.most) / r.most;
    return r.most == 32767 ? std::max(v, -1.0f) : v;
}

static float4 sample(Image &image, const Rules &r, const float *x, int dims, int slice = 0, int all = 256)
{
    int low[3] = { 0, 0, 0 }, size[3] = { image.w, image.h, image.d }, fraction[3] = { 0, 0, 0 };
    for (int d = 0; d < dims; d++) {
        float u = in_elements(r, d, x[d], size[d]);
        if (r.linear) {
            int fixed = (int)floorf(fmaf(u, 256, -127.5f));
            low[d] = (int)floor(fixed / 256.0);
            fraction[d] = fixed - low[d] * 256;
        } else {
            low[d] = (int)floorf(u);
        }
    }
    float4 sum = make_float4(0, 0, 0, 0);
    if (!r.linear)
        sum = texel(image, r, low, dims, slice);
    for (int k = 0; r.linear && k < 1 << dims; k++) {
        int at[3] = { 0, 0, 0 };
        for (int d = 0; d < dims; d++)
            at[d] = low[d] + (k >> d & 1);
        float weight = weight_of(all, fraction, dims, k) / 256.0f;
        float4 t = texel(image, r, at, dims, slice);
        sum = make_float4(fmaf(weight, t.x, sum.x), fmaf(weight, t.y, sum.y), fmaf(weight, t.z, sum.z), fmaf(weight, t.w, sum.w));
    }
    return make_float4(rounded(r, sum.x), rounded(r, sum.y), rounded(r, sum.z), rounded(r, sum.w));
}

// ---- Formats: an element's C type, its channels as floats

static float as_float(float v) { return v; }
static float as_float(__half v) { return __half2float(v); }
static float as_float(unsigned char v) { return (float)v / 255; }
static float as_float(signed char v) { return (float)v / 127; }
static float as_float(unsigned short v) { return (float)v / 65535; }
static float as_float(short v) { return (float)v / 32767; }

static uint32_t seed = 12345;
static uint32_t next_random()
{
    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

static void random_channel(float *v) { *v = (float)((int)(next_random() % 2000) - 1000) / 64; }
static void random_channel(__half *v) { *v = __float2half((float)((int)(next_random() % 2000) - 1000) / 64); }
template <class T> static void random_channel(T *v) { *v = (T)next_random(); }

template <class C, int N> struct Pixels {
    std::vector<C> raw;
    Image image;
    Pixels(int w, int h, int d) : raw((size_t)w * h * d * N), image(w, h, d)
    {
        for (size_t i = 0; i < raw.size(); i++)
            random_channel(&raw[i]);
        for (size_t i = 0; i < image.at.size(); i++) {
            float v[4] = { 0, 0, 0, 1 };
            for (int c = 0; c < N; c++)
                v[c] = as_float(raw[i * N + c]);
            image.at[i] = make_float4(v[0], v[1], v[2], v[3]);
        }
    }
    cudaChannelFormatDesc desc() const
    {
        int bits = 8 * sizeof(C);
        bool is_float = std::is_same<C, float>::value || std::is_same<C, __half>::value;
        return cudaCreateChannelDesc(bits, N > 1 ? bits : 0, N > 2 ? bits : 0, N > 2 ? bits : 0,
                                     is_float                   ? cudaChannelFormatKindFloat
                                     : std::is_signed<C>::value ? cudaChannelFormatKindSigned
                                                                : cudaChannelFormatKindUnsigned);
    }
};

// ---- Kernels: one sample per thread

enum Geometry { G1D, G2D, G3D, G1DLayered, G2DLayered, GCube, GCubeLayered };

struct Point {
    float x, y, z;
    int layer;
};

__global__ void sample_kernel(cudaTextureObject_t t, Geometry g, const Point *points, int n, float4 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Point p = points[i];
    switch (g) {
    case G1D: out[i] = tex1D<float4>(t, p.x); break;
    case G2D: out[i] = tex2D<float4>(t, p.x, p.y); break;
    case G3D: out[i] = tex3D<float4>(t, p.x, p.y, p.z); break;
    case G1DLayered: out[i] = tex1DLayered<float4>(t, p.x, p.layer); break;
    case G2DLayered: out[i] = tex2DLayered<float4>(t, p.x, p.y, p.layer); break;
    case GCube: out[i] = texCubemap<float4>(t, p.x, p.y, p.z); break;
    case GCubeLayered: out[i] = texCubemapLayered<float4>(t, p.x, p.y, p.z, p.layer); break;
    }
}

static int dims_of(Geometry g)
{
    return g == G1D || g == G1DLayered ? 1 : g == G3D ? 3 : 2;
}

// A direction's face and place on it, by the guide's table.
static int face_of(const Point &p, float x[2])
{
    float ax = fabsf(p.x), ay = fabsf(p.y), az = fabsf(p.z), m, s, t;
    int face;
    if (ax > ay && ax > az)
        face = signbit(p.x) ? 1 : 0, m = ax, s = face ? p.z : -p.z, t = -p.y;
    else if (ay > az)
        face = signbit(p.y) ? 3 : 2, m = ay, s = p.x, t = face == 3 ? -p.z : p.z;
    else
        face = signbit(p.z) ? 5 : 4, m = az, s = face == 5 ? -p.x : p.x, t = -p.y;
    x[0] = fmaf(s / m, 0.5f, 0.5f);
    x[1] = fmaf(t / m, 0.5f, 0.5f);
    return face;
}

static float4 expected(Image &image, Rules r, Geometry g, const Point &p)
{
    float x[3] = { p.x, p.y, p.z };
    int slice = 0, layers = g == GCubeLayered ? image.d / 6 : image.d, layer = std::min(p.layer, layers - 1);
    if (g == G1DLayered || g == G2DLayered)
        slice = layer;
    if (g == GCube || g == GCubeLayered) {
        slice = face_of(p, x) + (g == GCubeLayered ? 6 * layer : 0);
        r.normalized = true;
        r.mode[0] = r.mode[1] = cudaAddressModeClamp;
    }
    return sample(image, r, x, dims_of(g), slice);
}

static std::vector<Point> make_points(const Image &image, const Rules &r, Geometry g, int n)
{
    std::vector<Point> points(n);
    bool cube = g == GCube || g == GCubeLayered;
    for (int i = 0; i < n; i++) {
        float *x = &points[i].x;
        int size[3] = { image.w, image.h, image.d };
        for (int d = 0; d < 3; d++) {
            float u = (float)((int)(next_random() % 4096) - 2048) / 1024; // -2 to 2
            x[d] = cube || r.normalized ? u : u * size[d];
            if (!cube && i % 7 == 0) // on elements' borders and centres
                x[d] = (float)((int)(next_random() % (2 * size[d] + 4)) - 2) / 2 / (r.normalized ? size[d] : 1);
        }
        points[i].layer = (int)(next_random() % (image.d + 2));
    }
    if (!cube) {
        points[0] = { NAN, NAN, NAN, 0 };
        points[1] = { INFINITY, -INFINITY, 1e30f, 1 };
        points[2] = { -0.0f, 0.0f, -1e30f, 0 };
    }
    return points;
}

static bool same(float a, float b)
{
    return memcmp(&a, &b, 4) == 0 || (a != a && b != b);
}

static void compare(const char *what, cudaTextureObject_t t, Image &image, const Rules &r, Geometry g)
{
    const int n = 500;
    std::vector<Point> points = make_points(image, r, g, n);
    Point *d_points;
    float4 *d_out;
    std::vector<float4> out(n);
    CHECK(cudaMalloc(&d_points, n * sizeof(Point)));
    CHECK(cudaMalloc(&d_out, n * sizeof(float4)));
    CHECK(cudaMemcpy(d_points, points.data(), n * sizeof(Point), cudaMemcpyHostToDevice));
    sample_kernel<<<(n + 127) / 128, 128>>>(t, g, d_points, n, d_out);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(float4), cudaMemcpyDeviceToHost));
    for (int i = 3; i < n; i++) { // the first are far outside: they must only end well
        float4 want = expected(image, r, g, points[i]), got = out[i];
        if (same(got.x, want.x) && same(got.y, want.y) && same(got.z, want.z) && same(got.w, want.w))
            continue;
        if (check_failures++ < 10)
            printf("%s, geometry %d, modes %d %d %d, %s, %s: (%g %g %g; %d) gives %.9g %.9g %.9g %.9g, not %.9g %.9g %.9g %.9g\n",
                   what, g, r.mode[0], r.mode[1], r.mode[2], r.normalized ? "normalised" : "elements",
                   r.linear ? "linear" : "point", points[i].x, points[i].y, points[i].z, points[i].layer, got.x, got.y, got.z,
                   got.w, want.x, want.y, want.z, want.w);
    }
    CHECK(cudaFree(d_points));
    CHECK(cudaFree(d_out));
}

// ---- Arrays and objects

static cudaExtent extent_of(const Image &image, Geometry g)
{
    return make_cudaExtent(image.w, g == G1D || g == G1DLayered ? 0 : image.h, g == G1D || g == G2D ? 0 : image.d);
}

static unsigned flags_of(Geometry g)
{
    return (g == G1DLayered || g == G2DLayered || g == GCubeLayered ? cudaArrayLayered : 0u) |
           (g == GCube || g == GCubeLayered ? cudaArrayCubemap : 0u);
}

template <class C, int N> static cudaArray_t make_array(const Pixels<C, N> &p, Geometry g)
{
    cudaArray_t array;
    cudaChannelFormatDesc desc = p.desc();
    CHECK(cudaMalloc3DArray(&array, &desc, extent_of(p.image, g), flags_of(g)));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr((void *)p.raw.data(), p.image.w * N * sizeof(C), p.image.w, p.image.h);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(p.image.w, p.image.h, p.image.d);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

static cudaTextureObject_t make_texture(cudaArray_t array, const Rules &r, bool normalized_read)
{
    cudaTextureObject_t t;
    cudaResourceDesc resource = {};
    cudaTextureDesc desc = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    for (int d = 0; d < 3; d++)
        desc.addressMode[d] = r.mode[d];
    desc.filterMode = r.linear ? cudaFilterModeLinear : cudaFilterModePoint;
    desc.readMode = normalized_read ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    desc.normalizedCoords = r.normalized;
    memcpy(desc.borderColor, r.border, sizeof desc.borderColor);
    CHECK(cudaCreateTextureObject(&t, &resource, &desc, NULL));
    return t;
}

template <class C, int N> static void try_format(const char *what, Geometry g, int w, int h, int d, bool all_modes)
{
    static const cudaTextureAddressMode modes[] = { cudaAddressModeClamp, cudaAddressModeBorder, cudaAddressModeWrap,
                                                    cudaAddressModeMirror };
    Pixels<C, N> pixels(w, h, d);
    cudaArray_t array = make_array(pixels, g);
    bool integer = !std::is_same<C, float>::value && !std::is_same<C, __half>::value;
    for (int normalized = 0; normalized < 2; normalized++)
        for (int m = 0; m < (all_modes ? normalized ? 4 : 2 : 1); m++)
            for (int linear = 0; linear < 2; linear++) {
                Rules r = { { modes[m], modes[(m + normalized) % (normalized ? 4 : 2)], modes[m] }, normalized != 0, linear != 0,
                            { 0.25f, -3, 7, 0.5f },
                            !integer ? 0 : std::is_signed<C>::value ? 32767.0f : 65535.0f,
                            !integer ? 0 : (1 << (8 * sizeof(C) - std::is_signed<C>::value)) - 1,
                            std::is_same<C, __half>::value };
                if (!all_modes)
                    r.mode[1] = r.mode[0];
                cudaTextureObject_t t = make_texture(array, r, integer);
                compare(what, t, pixels.image, r, g);
                CHECK(cudaDestroyTextureObject(t));
            }
    CHECK(cudaFreeArray(array));
}

// ---- Integers, linear memory, pitched memory

__global__ void integer_kernel(cudaTextureObject_t bytes, cudaTextureObject_t words, cudaTextureObject_t line, int n, int *out)
{
    int i = threadIdx.x;
    uchar4 b = tex2D<uchar4>(bytes, i % 5 + 0.5f, i / 5 + 0.25f);
    out[4 * i] = b.x | b.y << 8 | b.z << 16 | b.w << 24;
    short2 w = tex2D<short2>(words, i % 5 + 0.5f, i / 5 + 0.25f);
    out[4 * i + 1] = w.x * 65536 + w.y;
    out[4 * i + 2] = tex1Dfetch<int>(line, i);
    out[4 * i + 3] = tex1Dfetch<int>(line, i - 10) + tex1Dfetch<int>(line, i + n - 10);
}

static void try_integers()
{
    const Rules r = { { cudaAddressModeClamp, cudaAddressModeClamp, cudaAddressModeClamp }, false, false, {} };
    Pixels<unsigned char, 4> bytes(5, 6, 1);
    Pixels<short, 2> words(5, 6, 1);
    cudaArray_t a = make_array(bytes, G2D), b = make_array(words, G2D);
    cudaTextureObject_t ta = make_texture(a, r, false), tb = make_texture(b, r, false), line;
    int raw[30], out[120], *d_raw, *d_out;
    for (int i = 0; i < 30; i++)
        raw[i] = (int)next_random() - 8000000;
    CHECK(cudaMalloc(&d_raw, sizeof raw));
    CHECK(cudaMalloc(&d_out, sizeof out));
    CHECK(cudaMemcpy(d_raw, raw, sizeof raw, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    cudaTextureDesc desc = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = d_raw;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = sizeof raw;
    CHECK(cudaCreateTextureObject(&line, &resource, &desc, NULL));
    integer_kernel<<<1, 30>>>(ta, tb, line, 30, d_out);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 30; i++) {
        int want[4] = { 0, words.raw[2 * i] * 65536 + words.raw[2 * i + 1], raw[i],
                        (i >= 10 ? raw[i - 10] : 0) + (i < 10 ? raw[i + 20] : 0) };
        memcpy(want, &bytes.raw[4 * i], 4);
        for (int k = 0; k < 4; k++)
            if (out[4 * i + k] != want[k] && check_failures++ < 10)
                printf("integer %d of element %d: %d, not %d\n", k, i, out[4 * i + k], want[k]);
    }
    cudaResourceDesc back;
    CHECK(cudaGetTextureObjectResourceDesc(&back, line));
    if (back.resType != cudaResourceTypeLinear || back.res.linear.devPtr != d_raw || back.res.linear.sizeInBytes != sizeof raw)
        printf("the resource's description is not what was given\n"), check_failures++;
    CHECK(cudaDestroyTextureObject(ta));
    CHECK(cudaDestroyTextureObject(tb));
    CHECK(cudaDestroyTextureObject(line));
    CHECK(cudaFreeArray(a));
    CHECK(cudaFreeArray(b));
}

static void try_pitched()
{
    Pixels<float, 1> p(37, 11, 1);
    float *d;
    size_t pitch;
    CHECK(cudaMallocPitch(&d, &pitch, 37 * sizeof(float), 11));
    CHECK(cudaMemcpy2D(d, pitch, p.raw.data(), 37 * sizeof(float), 37 * sizeof(float), 11, cudaMemcpyHostToDevice));
    for (int linear = 0; linear < 2; linear++) {
        cudaTextureObject_t t;
        Rules r = { { cudaAddressModeClamp, cudaAddressModeClamp, cudaAddressModeClamp }, false, linear != 0, {} };
        cudaResourceDesc resource = {};
        cudaTextureDesc desc = {};
        resource.resType = cudaResourceTypePitch2D;
        resource.res.pitch2D.devPtr = d;
        resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
        resource.res.pitch2D.width = 37;
        resource.res.pitch2D.height = 11;
        resource.res.pitch2D.pitchInBytes = pitch;
        desc.addressMode[0] = desc.addressMode[1] = cudaAddressModeClamp;
        desc.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
        CHECK(cudaCreateTextureObject(&t, &resource, &desc, NULL));
        compare("pitched memory", t, p.image, r, G2D);
        CHECK(cudaDestroyTextureObject(t));
    }
    CHECK(cudaFree(d));
}

// ---- sRGB, gathers, mipmaps

__global__ void bytes_kernel(cudaTextureObject_t t, float4 *out)
{
    out[threadIdx.x] = tex1D<float4>(t, threadIdx.x + 0.5f);
}

static void try_srgb()
{
    std::vector<uchar4> raw(256);
    for (int i = 0; i < 256; i++)
        raw[i] = make_uchar4(i, 255 - i, i ^ 0x55, i);
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    CHECK(cudaMallocArray(&array, &format, 256));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, raw.data(), 1024, 1024, 1, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    cudaTextureDesc desc = {};
    cudaTextureObject_t t;
    float4 *d_out, out[256];
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    desc.readMode = cudaReadModeNormalizedFloat;
    desc.sRGB = 1;
    desc.addressMode[0] = cudaAddressModeClamp;
    CHECK(cudaCreateTextureObject(&t, &resource, &desc, NULL));
    CHECK(cudaMalloc(&d_out, sizeof out));
    bytes_kernel<<<1, 256>>>(t, d_out);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++) {
        int v[3] = { i, 255 - i, i ^ 0x55 };
        float got[3] = { out[i].x, out[i].y, out[i].z };
        for (int c = 0; c < 3; c++) {
            double s = v[c] / 255.0, want = s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
            int exponent; // eight bits of it
            frexp(want, &exponent);
            double step = ldexp(1, std::max(exponent - 8, -14));
            want = floor(want / step + 0.5) * step;
            if (got[c] != want && check_failures++ < 10)
                printf("sRGB %d: %.9g, not %.9g\n", v[c], got[c], want);
        }
        if (out[i].w != i / 255.0f && check_failures++ < 10)
            printf("alpha %d: %.9g\n", i, out[i].w);
    }
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaFreeArray(array));
}

__global__ void gather_kernel(cudaTextureObject_t t, const float2 *at, float4 *out)
{
    int i = threadIdx.x;
    out[4 * i] = tex2Dgather<float4>(t, at[i].x, at[i].y, 0);
    out[4 * i + 1] = tex2Dgather<float4>(t, at[i].x, at[i].y, 1);
    out[4 * i + 2] = tex2Dgather<float4>(t, at[i].x, at[i].y, 2);
    out[4 * i + 3] = tex2Dgather<float4>(t, at[i].x, at[i].y, 3);
}

static void try_gather()
{
    Pixels<float, 4> p(8, 7, 1);
    const Rules r = { { cudaAddressModeClamp, cudaAddressModeClamp, cudaAddressModeClamp }, false, false, {} };
    cudaArray_t array = make_array(p, G2D);
    cudaTextureObject_t t = make_texture(array, r, false);
    float2 at[64], *d_at;
    float4 out[256], *d_out;
    for (int i = 0; i < 64; i++)
        at[i] = make_float2((float)(next_random() % 1000) / 90, (float)(next_random() % 1000) / 90);
    at[0] = make_float2(2.49805f, 2.49805f); // the guide's example: the fraction rounds up to the next element
    CHECK(cudaMalloc(&d_at, sizeof at));
    CHECK(cudaMalloc(&d_out, sizeof out));
    CHECK(cudaMemcpy(d_at, at, sizeof at, cudaMemcpyHostToDevice));
    gather_kernel<<<1, 64>>>(t, d_at, d_out);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) {
        int x = (int)floor(floorf(fmaf(at[i].x, 256, -127.5f)) / 256.0),
            y = (int)floor(floorf(fmaf(at[i].y, 256, -127.5f)) / 256.0);
        static const int dx[] = { 0, 1, 1, 0 }, dy[] = { 1, 1, 0, 0 };
        for (int k = 0; k < 4; k++) {
            int place[3] = { x + dx[k], y + dy[k], 0 };
            float4 want = texel(p.image, r, place, 2, 0);
            for (int c = 0; c < 4; c++)
                if ((&out[4 * i + c].x)[k] != (&want.x)[c] && check_failures++ < 10)
                    printf("gather at %g %g, component %d, place %d: %g, not %g\n", at[i].x, at[i].y, c, k,
                           (&out[4 * i + c].x)[k], (&want.x)[c]);
        }
    }
    if (floorf(fmaf(at[0].x, 256, -127.5f)) / 256 != 2)
        printf("the example's element is not 2\n"), check_failures++;
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaFreeArray(array));
}

__global__ void mipmap_kernel(cudaTextureObject_t t, const Point *at, int n, float4 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    out[2 * i] = tex2DLod<float4>(t, at[i].x, at[i].y, at[i].z);
    float step = exp2f(at[i].z) / 32; // as many elements of level 0
    out[2 * i + 1] = tex2DGrad<float4>(t, at[i].x, at[i].y, make_float2(step, 0), make_float2(0, step / 2));
}

static void try_mipmap(bool mip_linear)
{
    const int n = 200, levels = 5; // 32 to 2
    std::vector<Pixels<float, 2>> p;
    cudaMipmappedArray_t mipmap;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float2>();
    CHECK(cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(32, 32, 0), levels));
    for (int l = 0; l < levels; l++) {
        cudaArray_t array;
        int w = 32 >> l;
        p.push_back(Pixels<float, 2>(w, w, 1));
        CHECK(cudaGetMipmappedArrayLevel(&array, mipmap, l));
        CHECK(cudaMemcpy2DToArray(array, 0, 0, p[l].raw.data(), 8 * w, 8 * w, w, cudaMemcpyHostToDevice));
    }
    Rules r = { { cudaAddressModeWrap, cudaAddressModeMirror, cudaAddressModeClamp }, true, true, {} };
    cudaResourceDesc resource = {};
    cudaTextureDesc desc = {};
    cudaTextureObject_t t;
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmap;
    desc.addressMode[0] = r.mode[0];
    desc.addressMode[1] = r.mode[1];
    desc.filterMode = cudaFilterModeLinear;
    desc.mipmapFilterMode = mip_linear ? cudaFilterModeLinear : cudaFilterModePoint;
    desc.normalizedCoords = 1;
    desc.mipmapLevelBias = 0.25f;
    desc.minMipmapLevelClamp = 0.5f;
    desc.maxMipmapLevelClamp = 3.5f;
    CHECK(cudaCreateTextureObject(&t, &resource, &desc, NULL));
    std::vector<Point> at = make_points(p[0].image, r, G2D, n);
    for (int i = 0; i < n; i++)
        at[i].z = (float)(next_random() % 700) / 100 - 1 + 0.001f;
    Point *d_at;
    float4 *d_out;
    std::vector<float4> out(2 * n);
    CHECK(cudaMalloc(&d_at, n * sizeof(Point)));
    CHECK(cudaMalloc(&d_out, 2 * n * sizeof(float4)));
    CHECK(cudaMemcpy(d_at, at.data(), n * sizeof(Point), cudaMemcpyHostToDevice));
    mipmap_kernel<<<2, 128>>>(t, d_at, n, d_out);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out.data(), d_out, 2 * n * sizeof(float4), cudaMemcpyDeviceToHost));
    for (int i = 3; i < n; i++) {
        float lod = std::min(std::max(at[i].z + 0.25f, 0.5f), 3.5f), x[2] = { at[i].x, at[i].y };
        int q = (int)floorf(lod * 256), low = q >> 8;
        int f = q & 255;
        if (!mip_linear)
            low = (int)floorf(lod + 0.5f), f = 0;
        float4 a = sample(p[low].image, r, x, 2, 0, 256 - f), b = {};
        if (f)
            b = sample(p[low + 1].image, r, x, 2, 0, f);
        float want[2] = { a.x + b.x, a.y + b.y };
        if ((!same(out[2 * i].x, want[0]) || !same(out[2 * i].y, want[1])) && check_failures++ < 10)
            printf("level %g at %g %g: %.9g %.9g, not %.9g %.9g\n", at[i].z, x[0], x[1], out[2 * i].x, out[2 * i].y, want[0],
                   want[1]);
        bool near_edge = !mip_linear && fabsf(lod - floorf(lod) - 0.5f) < 0.01f;
        if (!near_edge && (fabsf(out[2 * i + 1].x - want[0]) > 0.3f || fabsf(out[2 * i + 1].y - want[1]) > 0.3f) &&
            check_failures++ < 10)
            printf("gradients of level %g at %g %g: %.9g, not %.9g\n", at[i].z, x[0], x[1], out[2 * i + 1].x, want[0]);
    }
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaFreeMipmappedArray(mipmap));
}

// ---- Cubes whose filtering goes on across edges: an element beyond one is the one that lies in its direction

static float4 cube_texel(Image &image, int face, int x, int y)
{
    int n = image.w;
    if (x < 0 || x >= n) // in a corner the element along y
        y = std::min(std::max(y, 0), n - 1);
    float u = (2 * x + 1 - n) / (float)n, v = (2 * y + 1 - n) / (float)n, place[2];
    const Point directions[6] = { { 1, -v, -u, 0 }, { -1, -v, u, 0 }, { u, 1, v, 0 },
                                  { u, -1, -v, 0 }, { u, -v, 1, 0 },  { -u, -v, -1, 0 } };
    face = face_of(directions[face], place);
    int i = std::min((int)(place[0] * n), n - 1), j = std::min((int)(place[1] * n), n - 1);
    return image(i, j, face);
}

static void try_seamless()
{
    const int n = 8, count = 600;
    Pixels<float, 1> p(n, n, 6);
    cudaArray_t array = make_array(p, GCube);
    cudaTextureObject_t t;
    cudaResourceDesc resource = {};
    cudaTextureDesc desc = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    desc.filterMode = cudaFilterModeLinear;
    desc.normalizedCoords = 1;
    desc.seamlessCubemap = 1;
    CHECK(cudaCreateTextureObject(&t, &resource, &desc, NULL));
    std::vector<Point> at(count);
    for (int i = 0; i < count; i++) { // most near an edge
        float *x = &at[i].x;
        for (int d = 0; d < 3; d++)
            x[d] = (float)((int)(next_random() % 2001) - 1000) / 1000;
        x[i % 3] = i & 1 ? 1 : -1;
        if (i % 4)
            x[(i + 1) % 3] = (i & 2 ? 1 : -1) * (1 - (float)(next_random() % 100) / 1000);
    }
    Point *d_at;
    float4 *d_out;
    std::vector<float4> out(count);
    CHECK(cudaMalloc(&d_at, count * sizeof(Point)));
    CHECK(cudaMalloc(&d_out, count * sizeof(float4)));
    CHECK(cudaMemcpy(d_at, at.data(), count * sizeof(Point), cudaMemcpyHostToDevice));
    sample_kernel<<<(count + 127) / 128, 128>>>(t, GCube, d_at, count, d_out);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out.data(), d_out, count * sizeof(float4), cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) {
        float place[2], want = 0;
        int low[2], fraction[2], face = face_of(at[i], place), weights[4];
        for (int d = 0; d < 2; d++) {
            int fixed = (int)floorf(fmaf(place[d] * n, 256, -127.5f));
            low[d] = (int)floor(fixed / 256.0);
            fraction[d] = fixed - low[d] * 256;
        }
        for (int k = 0; k < 4; k++)
            weights[k] = weight_of(256, fraction, 2, k);
        for (int k = 0; k < 4; k++) // a corner has no fourth element: the others share its weight
            if ((k & 1 ? low[0] + 1 >= n : low[0] < 0) && (k & 2 ? low[1] + 1 >= n : low[1] < 0)) {
                int third = (weights[k] * 85 + 128) / 256;
                weights[k ^ 1] += third, weights[k ^ 2] += third, weights[k ^ 3] += weights[k] - 2 * third, weights[k] = 0;
            }
        for (int k = 0; k < 4; k++) {
            float weight = weights[k] / 256.0f;
            want = fmaf(weight, cube_texel(p.image, face, low[0] + (k & 1), low[1] + (k >> 1)).x, want);
        }
        if (!same(out[i].x, want) && check_failures++ < 10)
            printf("seamless at %g %g %g: %.9g, not %.9g\n", at[i].x, at[i].y, at[i].z, out[i].x, want);
    }
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaFreeArray(array));
}

// ---- Gradients on cubes: of a mipmap whose levels hold their own number, so that what is read is the level of detail

__global__ void gradient_kernel(cudaTextureObject_t t, const float4 *at, const float4 *dx, const float4 *dy, int n, float2 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    out[i].x = texCubemapGrad<float>(t, at[i].x, at[i].y, at[i].z, dx[i], dy[i]);
    out[i].y = texCubemapLod<float>(t, at[i].x, at[i].y, at[i].z, 1.5f);
}

/* Twice how the position on the face of direction p changes as p does by d, by differences, in double: the longer part and 3/8 of
 * the other, which is a card's measure of a gradient. */
static double moved(const float *p, const float *d)
{
    const double step = 1e-6;
    int axis = 0;
    for (int i = 1; i < 3; i++)
        if (std::fabs(p[i]) > std::fabs(p[axis]))
            axis = i;
    double most = 0, least = 1e30;
    for (int i = 0; i < 3; i++) {
        double now = p[i] / std::fabs((double)p[axis]), then = (p[i] + step * d[i]) / std::fabs(p[axis] + step * d[axis]);
        if (i == axis)
            continue;
        most = std::max(most, std::fabs(then - now) / step);
        least = std::min(least, std::fabs(then - now) / step);
    }
    return most + 0.375 * least;
}

static void try_cube_gradients()
{
    const int n = 32, levels = 6, count = 500;
    cudaMipmappedArray_t mipmap;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(n, n, 6), levels, cudaArrayCubemap));
    for (int k = 0; k < levels; k++) {
        cudaArray_t level;
        CHECK(cudaGetMipmappedArrayLevel(&level, mipmap, k));
        size_t m = n >> k;
        std::vector<float> values(m * m * 6, (float)k);
        cudaMemcpy3DParms copy = {};
        copy.srcPtr = make_cudaPitchedPtr(values.data(), m * 4, m, m);
        copy.dstArray = level;
        copy.extent = make_cudaExtent(m, m, 6);
        copy.kind = cudaMemcpyHostToDevice;
        CHECK(cudaMemcpy3D(&copy));
    }
    cudaTextureObject_t t;
    cudaResourceDesc resource = {};
    cudaTextureDesc desc = {};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmap;
    desc.filterMode = desc.mipmapFilterMode = cudaFilterModeLinear;
    desc.normalizedCoords = 1;
    desc.maxMipmapLevelClamp = 100;
    CHECK(cudaCreateTextureObject(&t, &resource, &desc, NULL));
    std::vector<float4> v[3];
    float4 *d[3];
    for (int k = 0; k < 3; k++) {
        v[k].resize(count);
        for (int i = 0; i < count; i++) {
            float scale = k ? std::ldexp(1.0f, -(int)(next_random() % 7)) : 1, *x = &v[k][i].x;
            for (int c = 0; c < 3; c++)
                x[c] = (float)((int)(next_random() % 2001) - 1000) / 1000 * scale;
            if (k == 0)
                x[i % 3] = i & 1 ? 1.25f : -1.25f;
        }
        CHECK(cudaMalloc(&d[k], count * sizeof(float4)));
        CHECK(cudaMemcpy(d[k], v[k].data(), count * sizeof(float4), cudaMemcpyHostToDevice));
    }
    Dev<float2> out(count);
    std::vector<float2> got(count);
    gradient_kernel<<<(count + 127) / 128, 128>>>(t, d[0], d[1], d[2], count, out);
    CHECK_LAUNCH();
    out.get(got.data());
    int between = 0;
    for (int i = 0; i < count; i++) {
        double length = std::max(moved(&v[0][i].x, &v[1][i].x), moved(&v[0][i].x, &v[2][i].x)) * n / 2;
        double want = std::min(std::max(std::log2(length), 0.0), levels - 1.0);
        between += want > 0 && want < levels - 1;
        EXPECT(std::fabs(got[i].x - want) < 0.01, "gradient %d: level %g, not %g", i, got[i].x, want);
        EXPECT(got[i].y == 1.5f, "level %d: %g", i, got[i].y);
    }
    EXPECT(between > count / 2, "only %d gradients between the first level and the last", between);
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaFreeMipmappedArray(mipmap));
}

// ---- What must fail

__global__ void two_kernel(cudaTextureObject_t a, cudaTextureObject_t b, float2 *out)
{
    out[threadIdx.x] = make_float2(tex1Dfetch<float>(a, threadIdx.x), tex1Dfetch<float>(b, threadIdx.x));
}

/* What reads objects that were destroyed before it was launched, as a class does whose destructor runs too early: what they
 * named is read all the same as long as its memory is there. */
static void try_destroyed()
{
    enum { N = 32, OBJECTS = 1500 };
    float *data;
    float2 *out;
    cudaResourceDesc resource = {};
    cudaTextureDesc desc = {};
    CHECK(cudaMallocManaged(&data, 2 * N * sizeof *data));
    CHECK(cudaMallocManaged(&out, N * sizeof *out));
    for (int i = 0; i < 2 * N; i++)
        data[i] = (float)i;
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = N * sizeof *data;
    for (int i = 0; i < OBJECTS; i++) {
        cudaTextureObject_t t[2];
        for (int k = 0; k < 2; k++) {
            resource.res.linear.devPtr = data + k * N;
            CHECK(cudaCreateTextureObject(&t[k], &resource, &desc, NULL));
            CHECK(cudaDestroyTextureObject(t[k]));
        }
        if (i % 100)
            continue;
        two_kernel<<<1, N>>>(t[0], t[1], out);
        CHECK(cudaDeviceSynchronize());
        for (int k = 0; k < N; k++)
            EXPECT(out[k].x == k && out[k].y == N + k, "destroyed %d: %g and %g instead of %d and %d", i, out[k].x, out[k].y, k,
                   N + k);
    }
    CHECK(cudaFree(data));
    CHECK(cudaFree(out));
}

static void try_errors()
{
    cudaTextureObject_t t;
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>(), odd = { 32, 16, 0, 0, cudaChannelFormatKindFloat };
    CHECK_ERR(cudaMallocArray(&array, &odd, 4, 4), cudaErrorInvalidChannelDescriptor);
    CHECK_ERR(cudaMallocArray(&array, &format, 0, 4), cudaErrorInvalidValue);
    CHECK(cudaMallocArray(&array, &format, 4, 4));
    cudaResourceDesc resource = {};
    cudaTextureDesc desc = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    desc.filterMode = cudaFilterModeLinear;
    CHECK_ERR(cudaCreateTextureObject(&t, &resource, &desc, NULL), cudaErrorInvalidFilterSetting);
    desc.filterMode = cudaFilterModePoint;
    desc.readMode = cudaReadModeNormalizedFloat;
    CHECK_ERR(cudaCreateTextureObject(&t, &resource, &desc, NULL), cudaErrorInvalidNormSetting);
    CHECK(cudaDestroyTextureObject(12345));
    desc.readMode = cudaReadModeElementType;
    CHECK(cudaCreateTextureObject(&t, &resource, &desc, NULL));
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaFreeArray(array));
    cudaGetLastError();
}

int main()
{
    try_format<float, 4>("float4", G1D, 19, 1, 1, true);
    try_format<float, 1>("float", G2D, 17, 13, 1, true);
    try_format<float, 2>("float2", G3D, 9, 7, 5, true);
    try_format<__half, 4>("half4", G2D, 8, 8, 1, false);
    try_format<unsigned char, 4>("uchar4", G2D, 16, 5, 1, false);
    try_format<unsigned char, 1>("uchar", G2D, 13, 5, 1, false);
    try_format<signed char, 2>("char2", G1D, 31, 1, 1, false);
    try_format<unsigned short, 1>("ushort", G2D, 11, 9, 1, false);
    try_format<short, 4>("short4", G3D, 5, 4, 3, false);
    try_format<float, 1>("float, layered", G1DLayered, 21, 1, 4, false);
    try_format<float, 4>("float4, layered", G2DLayered, 8, 9, 3, true);
    try_format<float, 1>("float, cube", GCube, 8, 8, 6, false);
    try_format<float, 2>("float2, cubes", GCubeLayered, 4, 4, 18, false);
    try_integers();
    try_pitched();
    try_srgb();
    try_gather();
    try_mipmap(false);
    try_mipmap(true);
    try_cube_gradients();
    try_seamless();
    try_destroyed();
    try_errors();
    return check_done();
}
