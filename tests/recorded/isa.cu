// What PTX leaves open, or says in few words, asked of the device: one line a question, the lanes' answers in hexadecimal, equal
// neighbours as "value*n".  tests/recorded/isa.txt has what an NVIDIA card said; tests/recorded/run compares.
//
// Each question is a lambda that every thread of one block runs.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <vector>

enum { THREADS = 80 }; // the last warp has 16
static uint64_t *answers;
__device__ volatile unsigned opaque_zero;
__device__ volatile uint64_t sink;

template <class Question> __global__ void ask(uint64_t *out, Question question)
{
    out[threadIdx.x] = 0xeeee; // lanes that leave
    out[threadIdx.x] = question(threadIdx.x);
}

static void show(const char *name, const uint64_t *v, unsigned n)
{
    printf("%s:", name);
    for (unsigned i = 0; i < n;) {
        unsigned same = 1;
        while (i + same < n && v[i + same] == v[i])
            same++;
        printf(" %llx", (unsigned long long)v[i]);
        if (same > 1)
            printf("*%u", same);
        i += same;
    }
    printf("\n");
}

template <class Question> static void asked(const char *name, Question question, unsigned threads = THREADS)
{
    static uint64_t host[1024];
    cudaMemset(answers, 0, sizeof host);
    ask<<<1, threads>>>(answers, question);
    cudaError_t e = cudaMemcpy(host, answers, threads * sizeof *host, cudaMemcpyDeviceToHost);
    if (e != cudaSuccess)
        printf("%s: %s\n", name, cudaGetErrorName(e));
    else
        show(name, host, threads);
    fflush(stdout);
}

#define SHFL(mode, v, lane, c, mask)                                                                        \
    ({                                                                                                      \
        unsigned r_, p_;                                                                                    \
        asm volatile("{ .reg .pred p; shfl.sync." mode ".b32 %0|p, %2, %3, %4, %5; selp.u32 %1, 1, 0, p; }" \
                     : "=r"(r_), "=r"(p_)                                                                   \
                     : "r"(v), "r"(lane), "r"(c), "r"(mask));                                               \
        (uint64_t) p_ << 32 | r_;                                                                           \
    })

static void shuffles()
{
    asked("shfl.idx from a lane in another branch, which holds 100 + lane", [] __device__(unsigned t) -> uint64_t {
        unsigned lane = t % 32, v = 100 + lane + opaque_zero;
        if (lane < 16)
            return SHFL("idx", v, lane + 16, 0x1f, 0xffffu);
        return v;
    }, 64);
    asked("shfl.idx from a lane in the other mask of the same instruction", [] __device__(unsigned t) -> uint64_t {
        unsigned lane = t % 32, v = 100 + lane + opaque_zero;
        return SHFL("idx", v, lane ^ 16, 0x1f, lane < 16 ? 0xffffu : 0xffff0000u);
    }, 64);
    asked("shfl.bfly over all lanes, with masks of two", [] __device__(unsigned t) -> uint64_t {
        unsigned lane = t % 32, v = 100 + lane + opaque_zero;
        return SHFL("bfly", v, 4, 0x1f, 3u << (lane & 30));
    }, 64);
    asked("shfl.down in a warp of 16, mask of 32", [] __device__(unsigned t) -> uint64_t {
        unsigned v = 100 + t + opaque_zero;
        return SHFL("down", v, 8, 0x1f, 0xffffffffu);
    }, 16);
    asked("shfl.idx of lanes that have returned, mask of 32", [] __device__(unsigned t) -> uint64_t {
        unsigned v = 100 + t + opaque_zero;
        if (t % 32 >= 20) {
            sink = v;
            asm volatile("exit;");
        }
        return SHFL("idx", v, 31 - t % 32, 0x1f, 0xffffffffu);
    }, 64);
    asked("shfl.up, down, bfly, idx with segments and clamps beyond", [] __device__(unsigned t) -> uint64_t {
        unsigned v = 100 + t + opaque_zero, c[4] = { 0x1c1f, 0x181c, 0x100f, 0x1e03 };
        uint64_t r = 0;
        for (unsigned i = 0; i < 4; i++)
            r = r * 31 + SHFL("up", v, t % 7, c[i], ~0u) + 3 * SHFL("down", v, t % 5, c[i], ~0u) +
                5 * SHFL("bfly", v, t % 11, c[i], ~0u) + 7 * SHFL("idx", v, t * 13, c[i], ~0u);
        return r;
    }, 64);
    asked("shfl of lane numbers of 32 and more", [] __device__(unsigned t) -> uint64_t {
        unsigned v = 100 + t % 32 + opaque_zero;
        return SHFL("idx", v, t * 37 + 32, 0x1f, ~0u) * 1000 + SHFL("up", v, 33 + t % 3, 0, ~0u) % 1000;
    }, 64);
}

static void votes()
{
    asked("ballot, activemask, any, all, uni in a warp of 16 with a mask of 32", [] __device__(unsigned t) -> uint64_t {
        unsigned p = t % 3 == 0, m = 0xffffffffu;
        return (uint64_t)__ballot_sync(m, p) << 32 | __activemask() & 0xffff | __any_sync(m, p) << 16 | __all_sync(m, p) << 17 |
               __ballot_sync(m, 1) << 18;
    }, 16);
    asked("ballot after lanes have returned, mask of 32", [] __device__(unsigned t) -> uint64_t {
        if (t % 32 > 10 && t % 2)
            asm volatile("exit;");
        return (uint64_t)__ballot_sync(~0u, t % 3 != 0) << 32 | __activemask();
    }, 64);
    asked("match.any, match.all after lanes have returned, mask of 32", [] __device__(unsigned t) -> uint64_t {
        if (t % 32 > 24)
            asm volatile("exit;");
        int all;
        unsigned a = __match_any_sync(~0u, t % 5), b = __match_all_sync(~0u, t / 64, &all);
        return (uint64_t)a << 32 | (b & 0x7fffffff) | (unsigned)all << 31;
    }, 64);
    asked("redux in a warp of 16 with a mask of 32", [] __device__(unsigned t) -> uint64_t {
        return (uint64_t)__reduce_add_sync(~0u, t) << 32 | __reduce_min_sync(~0u, t + 3) << 16 | __reduce_xor_sync(~0u, t * 7);
    }, 16);
    asked("elect.sync with masks of some lanes", [] __device__(unsigned t) -> uint64_t {
        unsigned leader, p, mask = t % 32 < 13 ? 0x1fffu : 0xffffe000u;
        asm volatile("{ .reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p; }" : "=r"(leader), "=r"(p) : "r"(mask));
        return (uint64_t)p << 32 | leader;
    }, 64);
    asked("lanemasks, laneid, warpid", [] __device__(unsigned t) -> uint64_t {
        unsigned lt, le, gt, ge, eq, id, w, nw;
        asm volatile("mov.u32 %0, %%lanemask_lt; mov.u32 %1, %%lanemask_le; mov.u32 %2, %%lanemask_gt; mov.u32 %3, %%lanemask_ge;"
                     "mov.u32 %4, %%lanemask_eq; mov.u32 %5, %%laneid; mov.u32 %6, %%warpid;"
                     : "=r"(lt), "=r"(le), "=r"(gt), "=r"(ge), "=r"(eq), "=r"(id), "=r"(w));
        nw = 0;
        return lt + 3ull * le + 5ull * gt + 7ull * ge + 11ull * eq + 13ull * id + 17ull * w + nw;
    });
}

static void barriers()
{
    asked("barrier.red.popc, and, or when threads have returned", [] __device__(unsigned t) -> uint64_t {
        if (t % 3 == 2)
            asm volatile("exit;");
        unsigned n = __syncthreads_count(t % 2), a = __syncthreads_and(t < 79), o = __syncthreads_or(t == 77);
        return n | a << 16 | o << 20;
    });
    asked("barrier.red.popc of warps that have returned whole", [] __device__(unsigned t) -> uint64_t {
        if (t / 32 == 1)
            asm volatile("exit;");
        return __syncthreads_count(1);
    });
    asked("named barrier of 64 threads, the third warp elsewhere", [] __device__(unsigned t) -> uint64_t {
        unsigned p;
        if (t >= 64)
            return 7;
        asm volatile("{ .reg .pred p; barrier.sync.aligned 3, 64; }");
        asm volatile("{ .reg .u32 r; barrier.red.popc.aligned.u32 %0, 5, 64, 1; }" : "=r"(p));
        return p;
    });
}

static const uint64_t edges[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff,
                                  0x8000000000000000, 0xffffffffffffffff, 0x123456789abcdef0 };
__constant__ uint64_t edge[10];

#define CHAIN(setter, st, s3, user, ut, u3)                                                                                    \
    asked("carry of " setter "." st " read by " user "." ut, [] __device__(unsigned t) -> uint64_t {                           \
        uint64_t a = edge[t % 10], b = edge[(t / 10 + t) % 10], r, q;                                                          \
        asm volatile("{ .reg ." st " d, x, y; .reg ." ut " e, f, g; .reg .u32 z; cvt." st ".u64 x, %2; cvt." st ".u64 y, %3;"  \
                     " cvt." ut ".u64 f, %3; cvt." ut ".u64 g, %2; add.cc.u32 z, 0, 0; " setter "." st " d, x, y" s3 "; " user \
                     "." ut " e, f, g" u3 "; cvt.u64." st " %0, d; cvt.u64." ut " %1, e; }"                                    \
                     : "=l"(r), "=l"(q)                                                                                        \
                     : "l"(a), "l"(b));                                                                                        \
        return r * 31 + q;                                                                                                     \
    })
#define CHAINS(setter, st, s3)                      \
    CHAIN(setter, st, s3, "addc", "u32", "");       \
    CHAIN(setter, st, s3, "subc", "u32", "");       \
    CHAIN(setter, st, s3, "madc.lo", "u32", ", g"); \
    CHAIN(setter, st, s3, "madc.hi", "u32", ", g"); \
    CHAIN(setter, st, s3, "addc", "u64", "");       \
    CHAIN(setter, st, s3, "subc", "u64", "");       \
    CHAIN(setter, st, s3, "addc", "s32", "");       \
    CHAIN(setter, st, s3, "subc", "s64", "")

static void carries()
{
    cudaMemcpyToSymbol(edge, edges, sizeof edges);
    CHAINS("add.cc", "u32", "");
    CHAINS("sub.cc", "u32", "");
    CHAINS("addc.cc", "u32", "");
    CHAINS("subc.cc", "u32", "");
    CHAINS("mad.lo.cc", "u32", ", x");
    CHAINS("mad.hi.cc", "u32", ", x");
    CHAINS("madc.lo.cc", "u32", ", x");
    CHAINS("madc.hi.cc", "s32", ", x");
    CHAINS("add.cc", "u64", "");
    CHAINS("sub.cc", "u64", "");
    CHAINS("mad.lo.cc", "s64", ", x");
    CHAINS("mad.hi.cc", "u64", ", x");
}

#define INT2(name, type, text)                                                                                              \
    asked(                                                                                                                  \
        name,                                                                                                               \
        [] __device__(unsigned t) -> uint64_t {                                                                             \
            uint64_t r;                                                                                                     \
            asm volatile("{ .reg ." type " d, x, y; cvt." type ".u64 x, %1; cvt." type ".u64 y, %2; " text " cvt.u64." type \
                         " %0, d; }"                                                                                        \
                         : "=l"(r)                                                                                          \
                         : "l"(edge[t % 10]), "l"(edge[t / 10]));                                                           \
            return r;                                                                                                       \
    }, 100)

static void integers()
{
    INT2("div.u16", "u16", "div.u16 d, x, y;");
    INT2("div.s16", "s16", "div.s16 d, x, y;");
    INT2("rem.s16", "s16", "rem.s16 d, x, y;");
    INT2("div.u32", "u32", "div.u32 d, x, y;");
    INT2("rem.u32", "u32", "rem.u32 d, x, y;");
    INT2("div.s32", "s32", "div.s32 d, x, y;");
    INT2("rem.s32", "s32", "rem.s32 d, x, y;");
    INT2("div.u64", "u64", "div.u64 d, x, y;");
    INT2("rem.u64", "u64", "rem.u64 d, x, y;");
    INT2("div.s64", "s64", "div.s64 d, x, y;");
    INT2("rem.s64", "s64", "rem.s64 d, x, y;");
    INT2("abs, neg, min of s32", "s32", "abs.s32 d, x; neg.s32 d, d; min.s32 d, d, y;");
    INT2("sad.s32", "s32", "sad.s32 d, x, y, x;");
    INT2("mul24.lo and hi .s32", "s32", "mul24.lo.s32 d, x, y; mul24.hi.s32 d, d, x;");
    INT2("bfe.s32 at odd places", "s32", "{ .reg .u32 n; cvt.u32.s32 n, y; bfe.s32 d, x, n, 40; }");
    INT2("bfe.u64 at odd places", "u64", "{ .reg .u32 n; cvt.u32.u64 n, y; bfe.u64 d, x, n, 70; }");
    asked("division by a zero that the compiler knows", [] __device__(unsigned t) -> uint64_t {
        unsigned r, q;
        asm volatile("div.u32 %0, %2, 0; rem.u32 %1, %2, 0;" : "=r"(r), "=r"(q) : "r"(t));
        return (uint64_t)r << 32 | q;
    });
}

// ---- Matrices: sums whose terms do not fit one float
static void matrices()
{
    asked("mma.m16n8k16.f32.f16 of large, small and cancelling terms", [] __device__(unsigned t) -> uint64_t {
        unsigned a[4], b[2];
        float d[4], c = t % 3 ? 1.0f : 16777216.0f;
        for (unsigned i = 0; i < 4; i++) {
            __half2 h = __floats2half2_rn((t * 7 + i) % 5 ? 1.0f + t / 1024.f : 2048.f,
                                          (t + i) % 3 ? 6.1e-5f * (t + 1) : -2048.f);
            memcpy(&a[i], &h, 4);
        }
        for (unsigned i = 0; i < 2; i++) {
            __half2 h = __floats2half2_rn(1.0f + (t + i) / 512.f, t % 4 ? 1.0f : 1024.f);
            memcpy(&b[i], &h, 4);
        }
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
                     : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c));
        return (uint64_t)__float_as_uint(d[0]) << 32 | __float_as_uint(d[3]);
    }, 32);
    asked("mma.m16n8k8.f32.tf32 takes the upper bits", [] __device__(unsigned t) -> uint64_t {
        float d[4];
        unsigned x = __float_as_uint(1.0f) + t * 0x777;
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%6,%6,%6,%6};"
                     : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(x), "r"(0x3f800fffu), "f"(0.f));
        return (uint64_t)__float_as_uint(d[0]) << 32 | __float_as_uint(d[3]);
    }, 32);
    asked("mma.m8n8k4.f64 rounds each step", [] __device__(unsigned t) -> uint64_t {
        double d0, d1, a = 1.0 + t * 0x1p-50, b = 1.0 + t * 0x1p-49;
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%4,%4};"
                     : "=d"(d0), "=d"(d1) : "d"(a), "d"(b), "d"(0x1p53));
        return __double_as_longlong(d0) * 3 + __double_as_longlong(d1);
    }, 32);
}

// ---- Textures
static std::vector<float> texels(unsigned n)
{
    std::vector<float> v(n);
    unsigned s = 12345;
    for (auto &x : v)
        s = s * 1664525 + 1013904223, x = (s >> 8) / 16777216.f * 4 - 2;
    return v;
}
__device__ float place(unsigned t, unsigned k)
{
    unsigned s = (t * 3 + k) * 2654435761u;
    s ^= s >> 13;
    s *= 0x5bd1e995;
    return (s >> 8) / 16777216.f * 3.f - 1.f;
}
static cudaTextureObject_t texture(cudaArray_t array, cudaTextureAddressMode mode, cudaTextureFilterMode filter, bool normalised,
                                   cudaTextureReadMode read = cudaReadModeElementType, bool srgb = false, bool seamless = false)
{
    cudaResourceDesc res = {};
    cudaTextureDesc desc = {};
    cudaTextureObject_t t = 0;
    res.resType = cudaResourceTypeArray;
    res.res.array.array = array;
    desc.addressMode[0] = desc.addressMode[1] = desc.addressMode[2] = mode;
    desc.filterMode = filter;
    desc.readMode = read;
    desc.normalizedCoords = normalised;
    desc.sRGB = srgb;
    desc.seamlessCubemap = seamless;
    desc.borderColor[0] = 0.25f;
    desc.borderColor[1] = -3;
    if (cudaCreateTextureObject(&t, &res, &desc, nullptr) != cudaSuccess)
        printf("cudaCreateTextureObject: %s\n", cudaGetErrorName(cudaGetLastError()));
    return t;
}

static void planes()
{
    static const char *const modes[] = { "wrap", "clamp", "mirror", "border" };
    std::vector<float> v = texels(7 * 5);
    cudaArray_t array;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &f, 7, 5);
    cudaMemcpy2DToArray(array, 0, 0, v.data(), 28, 28, 5, cudaMemcpyHostToDevice);
    for (unsigned mode = 0; mode < 4; mode++)
        for (unsigned normalised = 0; normalised < 2; normalised++)
            for (unsigned linear = 0; linear < 2; linear++) {
                char name[100];
                cudaTextureObject_t tex = texture(array, (cudaTextureAddressMode)mode,
                                                  linear ? cudaFilterModeLinear : cudaFilterModePoint, normalised);
                snprintf(name, sizeof name, "tex.2d.f32 7 x 5 %s %s%s", modes[mode], linear ? "linear" : "point",
                         normalised ? " normalised" : "");
                asked(name, [=] __device__(unsigned t) -> uint64_t {
                    float x = place(t, 0), y = place(t, 1);
                    return __float_as_uint(normalised ? tex2D<float>(tex, x, y) : tex2D<float>(tex, x * 7, y * 5));
                }, 64);
                asked((std::string(name) + ", at sixteenths").c_str(), [=] __device__(unsigned t) -> uint64_t {
                    float x = (t * 5) / 16.f - 2, y = t / 32.f + 0.25f;
                    return __float_as_uint(normalised ? tex2D<float>(tex, x / 8, y / 4) : tex2D<float>(tex, x, y));
                }, 64);
                cudaDestroyTextureObject(tex);
            }
    cudaTextureObject_t tex = texture(array, cudaAddressModeClamp, cudaFilterModeLinear, false);
    asked("tld4 of each of four", [=] __device__(unsigned t) -> uint64_t {
        float x = place(t, 0) * 7, y = place(t, 1) * 5;
        float4 g = tex2Dgather<float4>(tex, x, y, 0);
        return __float_as_uint(g.x) * 3ull + __float_as_uint(g.y) * 5ull + __float_as_uint(g.z) * 7ull +
               __float_as_uint(g.w) * 11ull;
    }, 64);
    asked("tex.2d.f32 at NaN, infinities and far places", [=] __device__(unsigned t) -> uint64_t {
        float far[] = { 1e10f, -1e10f, 1e30f, INFINITY, -INFINITY, NAN, 2147483648.f, -2147483904.f };
        return __float_as_uint(tex2D<float>(tex, far[t % 8], far[t / 8]));
    }, 64);
    cudaFreeArray(array);
}

template <class Texel> static void formats(const char *name, cudaTextureReadMode read, bool srgb)
{
    cudaArray_t array;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<Texel>();
    uint8_t bytes[9 * sizeof(Texel)];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37 + 11);
    cudaMallocArray(&array, &f, 9, 0);
    cudaMemcpy2DToArray(array, 0, 0, bytes, sizeof bytes, sizeof bytes, 1, cudaMemcpyHostToDevice);
    for (unsigned linear = 0; linear < 2; linear++) {
        cudaTextureObject_t tex = texture(array, cudaAddressModeClamp, linear ? cudaFilterModeLinear : cudaFilterModePoint, true,
                                          read, srgb);
        char text[100];
        snprintf(text, sizeof text, "tex.1d of %s%s%s", name, linear ? " linear" : "", srgb ? " sRGB" : "");
        asked(text, [=] __device__(unsigned t) -> uint64_t {
            float x = (t + 0.5f) / 64;
            float4 v = tex1D<float4>(tex, x);
            return (uint64_t)__float_as_uint(v.x) << 32 | __float_as_uint(v.y);
        }, 64);
        cudaDestroyTextureObject(tex);
    }
    cudaFreeArray(array);
}

static void copy_in(cudaArray_t array, const std::vector<float> &v, cudaExtent extent)
{
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr((void *)v.data(), extent.width * sizeof(float), extent.width, extent.height);
    copy.dstArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&copy);
}

static void volumes()
{
    std::vector<float> v = texels(5 * 4 * 3);
    cudaArray_t array;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaExtent extent = make_cudaExtent(5, 4, 3);
    cudaMalloc3DArray(&array, &f, extent);
    copy_in(array, v, extent);
    cudaTextureObject_t tex = texture(array, cudaAddressModeMirror, cudaFilterModeLinear, true);
    asked("tex.3d.f32 5 x 4 x 3 mirror linear", [=] __device__(unsigned t) -> uint64_t {
        return __float_as_uint(tex3D<float>(tex, place(t, 0), place(t, 1), place(t, 2)));
    }, 64);
    cudaDestroyTextureObject(tex);
    cudaFreeArray(array);

    std::vector<float> w = texels(4 * 4 * 6);
    extent = make_cudaExtent(4, 4, 6);
    cudaMalloc3DArray(&array, &f, extent, cudaArrayCubemap);
    copy_in(array, w, extent);
    for (unsigned seamless = 0; seamless < 2; seamless++) {
        tex = texture(array, cudaAddressModeClamp, cudaFilterModeLinear, true, cudaReadModeElementType, false, seamless);
        asked(seamless ? "tex.cube.f32 linear seamless" : "tex.cube.f32 linear", [=] __device__(unsigned t) -> uint64_t {
            return __float_as_uint(texCubemap<float>(tex, place(t, 0) - .5f, place(t, 1) - .5f, place(t, 2) - .5f));
        }, 64);
        cudaDestroyTextureObject(tex);
    }
    tex = texture(array, cudaAddressModeClamp, cudaFilterModePoint, true);
    asked("tex.cube.f32 point, ties of axes", [=] __device__(unsigned t) -> uint64_t {
        float a[] = { 1, -1, 0, 0.5f };
        return __float_as_uint(texCubemap<float>(tex, a[t % 4], a[t / 4 % 4], a[t / 16]));
    }, 64);
    cudaDestroyTextureObject(tex);
    cudaFreeArray(array);
}

static void levels()
{
    cudaMipmappedArray_t mips;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaMallocMipmappedArray(&mips, &f, make_cudaExtent(8, 8, 0), 4);
    for (unsigned l = 0, n = 8; l < 4; l++, n /= 2) {
        std::vector<float> v = texels(n * n);
        cudaArray_t level;
        cudaGetMipmappedArrayLevel(&level, mips, l);
        cudaMemcpy2DToArray(level, 0, 0, v.data(), n * 4, n * 4, n, cudaMemcpyHostToDevice);
    }
    for (unsigned trilinear = 0; trilinear < 2; trilinear++) {
        cudaResourceDesc res = {};
        cudaTextureDesc desc = {};
        cudaTextureObject_t tex;
        res.resType = cudaResourceTypeMipmappedArray;
        res.res.mipmap.mipmap = mips;
        desc.addressMode[0] = desc.addressMode[1] = cudaAddressModeWrap;
        desc.filterMode = cudaFilterModeLinear;
        desc.normalizedCoords = 1;
        desc.mipmapFilterMode = trilinear ? cudaFilterModeLinear : cudaFilterModePoint;
        desc.maxMipmapLevelClamp = 2.5f;
        desc.mipmapLevelBias = 0.125f;
        cudaCreateTextureObject(&tex, &res, &desc, nullptr);
        asked(
            trilinear ? "tex.level.2d linear between levels" : "tex.level.2d nearest level",
            [=] __device__(unsigned t) -> uint64_t {
                return __float_as_uint(tex2DLod<float>(tex, place(t, 0), place(t, 1), t / 16.f - 0.5f));
        }, 64);
        asked(
            trilinear ? "tex.grad.2d linear between levels" : "tex.grad.2d nearest level",
            [=] __device__(unsigned t) -> uint64_t {
                return __float_as_uint(
                    tex2DGrad<float>(tex, place(t, 0), place(t, 1), make_float2(t / 64.f, 0.01f), make_float2(0.f, t / 100.f)));
        }, 64);
        cudaDestroyTextureObject(tex);
    }
    cudaFreeMipmappedArray(mips);
}

// ---- What else filters do
template <class Texel> static cudaArray_t square(unsigned n, unsigned flags = 0)
{
    cudaArray_t array;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<Texel>();
    std::vector<uint8_t> bytes(n * n * sizeof(Texel));
    for (unsigned i = 0; i < bytes.size(); i++)
        bytes[i] = (uint8_t)(i * 83 + 7 ^ i >> 3);
    cudaMallocArray(&array, &f, n, n, flags);
    cudaMemcpy2DToArray(array, 0, 0, bytes.data(), n * sizeof(Texel), n * sizeof(Texel), n, cudaMemcpyHostToDevice);
    return array;
}

template <class Texel> static void fractions(const char *name, cudaTextureAddressMode mode)
{
    cudaArray_t array = square<Texel>(6);
    cudaTextureObject_t tex = texture(array, mode, cudaFilterModeLinear, false, cudaReadModeNormalizedFloat);
    asked((std::string("tex.2d of ") + name + (mode == cudaAddressModeBorder ? " linear, border" : " linear")).c_str(),
          [=] __device__(unsigned t) -> uint64_t {
              float4 v = tex2D<float4>(tex, place(t, 0) * 6, place(t, 1) * 6);
              return (uint64_t)__float_as_uint(v.x) << 32 | __float_as_uint(v.y);
          }, 64);
    cudaDestroyTextureObject(tex);
    cudaFreeArray(array);
}

static void halves()
{
    cudaArray_t array;
    cudaChannelFormatDesc f = cudaCreateChannelDescHalf4();
    __half v[36 * 4];
    for (unsigned i = 0; i < 144; i++)
        v[i] = __float2half(sinf(i * 1.7f) * (1 << i % 9));
    cudaMallocArray(&array, &f, 6, 6);
    cudaMemcpy2DToArray(array, 0, 0, v, 48, 48, 6, cudaMemcpyHostToDevice);
    cudaTextureObject_t tex = texture(array, cudaAddressModeClamp, cudaFilterModeLinear, false);
    asked("tex.2d of half4 linear", [=] __device__(unsigned t) -> uint64_t {
        float4 v = tex2D<float4>(tex, place(t, 0) * 6, place(t, 1) * 6);
        return (uint64_t)__float_as_uint(v.x) << 32 | __float_as_uint(v.y);
    }, 64);
    cudaDestroyTextureObject(tex);
    cudaFreeArray(array);
}

static void curve()
{
    static const unsigned char pairs[8][2] = { { 0, 255 },  { 255, 0 },   { 1, 2 },  { 100, 101 },
                                               { 30, 200 }, { 254, 255 }, { 7, 90 }, { 180, 60 } };
    cudaArray_t array;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<uchar4>();
    uchar4 v[2];
    cudaMallocArray(&array, &f, 2, 0);
    for (auto &pair : pairs) {
        for (unsigned i = 0; i < 2; i++)
            v[i] = make_uchar4(pair[i], pair[i], pair[i], pair[i]);
        cudaMemcpy2DToArray(array, 0, 0, v, 8, 8, 1, cudaMemcpyHostToDevice);
        cudaTextureObject_t tex = texture(array, cudaAddressModeClamp, cudaFilterModeLinear, false, cudaReadModeNormalizedFloat,
                                          true);
        char name[100];
        snprintf(name, sizeof name, "tex.1d of %u and %u, sRGB linear, in 256ths", pair[0], pair[1]);
        asked(name, [=] __device__(unsigned t) -> uint64_t {
            float4 v = tex1D<float4>(tex, 0.5f + t / 256.f);
            return (uint64_t)__float_as_uint(v.x) << 32 | __float_as_uint(v.w);
        }, 257);
        cudaDestroyTextureObject(tex);
    }
    cudaFreeArray(array);
}

/* Lookups with and without a level where the object clamps levels, also to fewer than there are, to none, and with a bias. */
static void clamped_levels()
{
    cudaMipmappedArray_t mips;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaMallocMipmappedArray(&mips, &f, make_cudaExtent(8, 8, 0), 4, cudaArrayTextureGather);
    for (unsigned l = 0, n = 8; l < 4; l++, n /= 2) {
        std::vector<float> v(n * n, 10.f * (l + 1));
        cudaArray_t level;
        cudaGetMipmappedArrayLevel(&level, mips, l);
        cudaMemcpy2DToArray(level, 0, 0, v.data(), n * 4, n * 4, n, cudaMemcpyHostToDevice);
    }
    cudaResourceDesc res = {};
    res.resType = cudaResourceTypeMipmappedArray;
    res.res.mipmap.mipmap = mips;
    for (int k = 0; k < 2 * 4 * 5 * 3; k++) {
        static const float least[] = { 0, 0.5f, 1, 2 }, most[] = { 0, 1, 1.75f, 3, 99 }, biases[] = { 0, 0.75f, -1 };
        cudaTextureDesc desc = {};
        cudaTextureObject_t tex;
        char name[96];
        desc.normalizedCoords = 1;
        desc.mipmapFilterMode = k & 1 ? cudaFilterModeLinear : cudaFilterModePoint;
        desc.minMipmapLevelClamp = least[k / 2 % 4];
        desc.maxMipmapLevelClamp = most[k / 8 % 5];
        desc.mipmapLevelBias = biases[k / 40];
        snprintf(name, sizeof name, "tex.2d of four levels, filter %d, clamped to %g and %g, bias %g", k & 1,
                 desc.minMipmapLevelClamp, desc.maxMipmapLevelClamp, desc.mipmapLevelBias);
        cudaCreateTextureObject(&tex, &res, &desc, nullptr);
        asked(name, [=] __device__(unsigned t) -> uint64_t {
            float v = 0;
            if (t == 0)
                v = tex2D<float>(tex, 0.5f, 0.5f);
            else if (t < 5)
                v = tex2DLod<float>(tex, 0.5f, 0.5f, t == 1 ? 0.f : t == 2 ? -3.f : t == 3 ? 7.f : 1.25f);
            else if (t == 5)
                v = tex2Dgather<float4>(tex, 0.5f, 0.5f, 0).x;
            else if (t == 6)
                v = tex2DGrad<float>(tex, 0.5f, 0.5f, make_float2(1e-9f, 0), make_float2(0, 1e-9f));
            else
                asm("tex.2d.v4.f32.s32 {%0, _, _, _}, [%1, {0, 0}];" : "=f"(v) : "l"(tex));
            return __float_as_uint(v);
        }, 8);
        cudaDestroyTextureObject(tex);
    }
    cudaFreeMipmappedArray(mips);
}

static void more_levels()
{
    cudaMipmappedArray_t mips;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaMallocMipmappedArray(&mips, &f, make_cudaExtent(16, 16, 16), 5);
    for (unsigned l = 0, n = 16; l < 5; l++, n /= 2) {
        std::vector<float> v(n * n * n, (float)l);
        cudaArray_t level;
        cudaGetMipmappedArrayLevel(&level, mips, l);
        copy_in(level, v, make_cudaExtent(n, n, n));
    }
    cudaResourceDesc res = {};
    cudaTextureDesc desc = {};
    cudaTextureObject_t tex;
    res.resType = cudaResourceTypeMipmappedArray;
    res.res.mipmap.mipmap = mips;
    desc.filterMode = desc.mipmapFilterMode = cudaFilterModeLinear;
    desc.normalizedCoords = 1;
    desc.maxMipmapLevelClamp = 10;
    cudaCreateTextureObject(&tex, &res, &desc, nullptr);
    asked("tex.level.3d, levels hold their number: at odd levels", [=] __device__(unsigned t) -> uint64_t {
        return __float_as_uint(tex3DLod<float>(tex, .3f, .4f, .5f, t / 37.f - 0.1f));
    }, 128);
    asked("tex.grad.3d, levels hold their number: along one axis", [=] __device__(unsigned t) -> uint64_t {
        float g = (t + 16) / 256.f;
        return __float_as_uint(tex3DGrad<float>(tex, .3f, .4f, .5f,
                                                make_float4(t % 3 == 0 ? g : 0, t % 3 == 1 ? g : 0, t % 3 == 2 ? g : 0, 0),
                                                make_float4(0, 0, 0, 0)));
    }, 96);
    asked("tex.grad.3d, levels hold their number: along two", [=] __device__(unsigned t) -> uint64_t {
        float g = 0.25f, h = g * (t / 3) / 32.f;
        return __float_as_uint(tex3DGrad<float>(tex, .3f, .4f, .5f,
                                                make_float4(t % 3 == 0 ? 0 : g, t % 3 == 1 ? 0 : t % 3 ? h : g,
                                                            t % 3 == 2 ? 0 : h, 0), make_float4(0, 0, 0, 0)));
    }, 96);
    asked("tex.grad.3d, levels hold their number: along three", [=] __device__(unsigned t) -> uint64_t {
        float g = 0.25f;
        return __float_as_uint(tex3DGrad<float>(tex, .3f, .4f, .5f, make_float4(g, g * (t % 10) / 10.f, g * (t / 10) / 10.f, 0),
                                                make_float4(0, 0, 0, 0)));
    }, 100);
    cudaDestroyTextureObject(tex);
    cudaFreeMipmappedArray(mips);

    cudaMallocMipmappedArray(&mips, &f, make_cudaExtent(64, 64, 0), 7);
    for (unsigned l = 0, n = 64; l < 7; l++, n /= 2) {
        std::vector<float> v(n * n, (float)l);
        cudaArray_t level;
        cudaGetMipmappedArrayLevel(&level, mips, l);
        cudaMemcpy2DToArray(level, 0, 0, v.data(), n * 4, n * 4, n, cudaMemcpyHostToDevice);
    }
    res.res.mipmap.mipmap = mips;
    for (unsigned anisotropy = 0; anisotropy < 17; anisotropy += 8) {
        desc.maxAnisotropy = anisotropy;
        cudaCreateTextureObject(&tex, &res, &desc, nullptr);
        asked((std::string("tex.grad.2d, levels hold their number, anisotropy ") + std::to_string(anisotropy)).c_str(),
              [=] __device__(unsigned t) -> uint64_t {
                  float g = 0.0625f;
                  return __float_as_uint(tex2DGrad<float>(tex, .3f, .4f, make_float2(g * (t % 16) / 8.f, g * (t / 16 % 4) / 8.f),
                                                          make_float2(g * (t / 64) / 4.f, g / 2)));
        }, 256);
        cudaDestroyTextureObject(tex);
    }
    cudaFreeMipmappedArray(mips);
}

static void layers()
{
    std::vector<float> v = texels(6 * 5 * 3);
    cudaArray_t array;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaExtent extent = make_cudaExtent(6, 5, 3);
    cudaMalloc3DArray(&array, &f, extent, cudaArrayLayered);
    copy_in(array, v, extent);
    cudaTextureObject_t tex = texture(array, cudaAddressModeWrap, cudaFilterModeLinear, true);
    asked("tex.a2d.f32 6 x 5 x 3 wrap linear, layers beyond", [=] __device__(unsigned t) -> uint64_t {
        return __float_as_uint(tex2DLayered<float>(tex, place(t, 0), place(t, 1), (int)(t % 6) - 1));
    }, 64);
    cudaDestroyTextureObject(tex);
    cudaFreeArray(array);
    cudaMallocArray(&array, &f, 9, 0);
    cudaMemcpy2DToArray(array, 0, 0, v.data(), 36, 36, 1, cudaMemcpyHostToDevice);
    for (unsigned mode = 0; mode < 4; mode++) {
        tex = texture(array, (cudaTextureAddressMode)mode, cudaFilterModeLinear, true);
        asked((std::string("tex.1d.f32 9 linear, mode ") + std::to_string(mode)).c_str(), [=] __device__(unsigned t) -> uint64_t {
            return __float_as_uint(tex1D<float>(tex, place(t, 0)));
        }, 64);
        cudaDestroyTextureObject(tex);
    }
    cudaFreeArray(array);
}

static void surfaces()
{
    cudaArray_t array;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<unsigned>();
    unsigned v[32];
    for (unsigned i = 0; i < 32; i++)
        v[i] = 1000 + i;
    cudaMallocArray(&array, &f, 8, 4, cudaArraySurfaceLoadStore);
    cudaMemcpy2DToArray(array, 0, 0, v, 32, 32, 4, cudaMemcpyHostToDevice);
    cudaResourceDesc res = {};
    cudaSurfaceObject_t s;
    res.resType = cudaResourceTypeArray;
    res.res.array.array = array;
    cudaCreateSurfaceObject(&s, &res);
    asked("suld.zero and clamp beyond the edges", [=] __device__(unsigned t) -> uint64_t {
        int x = (int)(t % 12) - 2, y = (int)(t / 12) - 1;
        unsigned z = surf2Dread<unsigned>(s, x * 4, y, cudaBoundaryModeZero),
                 c = surf2Dread<unsigned>(s, x * 4, y, cudaBoundaryModeClamp);
        return (uint64_t)z << 32 | c;
    }, 72);
    asked("sust.zero and clamp beyond the edges, then what is there", [=] __device__(unsigned t) -> uint64_t {
        if (t == 0) {
            surf2Dwrite(1u, s, 8 * 4, 0, cudaBoundaryModeZero);
            surf2Dwrite(2u, s, -4, 1, cudaBoundaryModeZero);
            surf2Dwrite(3u, s, 9 * 4, 2, cudaBoundaryModeClamp);
            surf2Dwrite(4u, s, 3 * 4, 7, cudaBoundaryModeClamp);
        }
        __syncthreads();
        return t < 32 ? surf2Dread<unsigned>(s, t % 8 * 4, t / 8) : 0;
    }, 32);
    cudaDestroySurfaceObject(s);
    cudaFreeArray(array);
}

// ---- Text
__global__ void say()
{
    const char *null = nullptr;
    double nan = __longlong_as_double(0x7ff8000000000000ll), minus = __longlong_as_double(0xfff8000000000000ll);
    printf("[%d][%5d][%-5d][%05d][%+d][% d][%x][%#X][%o][%u]\n", -1, 42, 42, 42, 42, 42, 0xbeef, 0xbeef, 8, 4000000000u);
    printf("[%f][%e][%g][%G][%.3f][%10.2e][%-10g][%+.1f][%#g][%a]\n", 1.5, 12345.678, 1e-10, 1e20, 2.0 / 3, 1e100, 0.1, 1.25, 3.0,
           0.5);
    printf("[%f][%f][%f][%f][%5.1f][%F]\n", nan, minus, 1 / 0.0, -1 / 0.0, 1 / 0.0, nan);
    printf("[%s][%10s][%-10s][%.2s][%c][%5c]\n", "text", "text", "text", "text", 'c', 'd');
    printf("[%s]\n", null);
    printf("[%lld][%llx][%ld][%hd][%hhd][%zu]\n", 1ll << 40, ~0ull, 1l << 40, 70000, 300, (size_t)5);
    printf("[%p][%p]\n", (void *)0x1234abcd, nullptr);
    printf("[%%][%*d][%.*f][%-*d]\n", 6, 42, 2, 3.14159, 4, 7);
    printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
           17, 18, 19, 20);
    printf("no end of line");
    int n = printf("[%d arguments of %s]\n", 2, "two");
    printf("[printf says %d][of nothing %d]\n", n, printf(""));
}

// ---- Memory of the device
static void heap()
{
    asked("malloc of more than there is, of 0, alignment", [] __device__(unsigned t) -> uint64_t {
        if (t)
            return 0;
        void *huge = malloc(1ull << 40), *none = malloc(0), *some = malloc(24);
        uint64_t r = (huge != nullptr) | (uint64_t)(none != nullptr) << 1 | ((uint64_t)some & 15) << 4;
        free(some);
        free(none);
        free(nullptr);
        return r;
    }, 1);
    asked("atomicInc, atomicDec, CAS of 16 bits, exchange", [] __device__(unsigned t) -> uint64_t {
        __shared__ unsigned w[3];
        __shared__ unsigned short h[2];
        if (t == 0)
            w[0] = 7, w[1] = 0, w[2] = 5, h[0] = 1, h[1] = 2;
        __syncthreads();
        atomicInc(&w[0], 5);
        atomicDec(&w[1], 9);
        if (t == 3)
            atomicCAS(&h[1], (unsigned short)2, (unsigned short)0xabcd);
        __syncthreads();
        return (uint64_t)w[0] << 48 | (uint64_t)w[1] << 32 | (unsigned)h[1] << 16 | h[0];
    });
    asked("float atomics and subnormals, shared then global", [] __device__(unsigned t) -> uint64_t {
        __shared__ float s;
        __device__ static float g;
        if (t == 0)
            s = g = __uint_as_float(1);
        __syncthreads();
        if (t == 1) {
            atomicAdd(&s, __uint_as_float(2));
            atomicAdd(&g, __uint_as_float(2));
        }
        __syncthreads();
        return (uint64_t)__float_as_uint(s) << 32 | __float_as_uint(*(volatile float *)&g);
    });
}

int main()
{
    cudaMalloc(&answers, 1024 * sizeof *answers);
    shuffles();
    votes();
    barriers();
    carries();
    integers();
    matrices();
    planes();
    formats<uchar4>("uchar4", cudaReadModeNormalizedFloat, false);
    formats<uchar4>("uchar4", cudaReadModeNormalizedFloat, true);
    formats<char4>("char4", cudaReadModeNormalizedFloat, false);
    formats<ushort4>("ushort4", cudaReadModeNormalizedFloat, false);
    formats<short4>("short4", cudaReadModeNormalizedFloat, false);
    formats<float4>("float4", cudaReadModeElementType, false);
    volumes();
    levels();
    layers();
    fractions<uchar4>("uchar4", cudaAddressModeClamp);
    fractions<uchar4>("uchar4", cudaAddressModeBorder);
    fractions<char4>("char4", cudaAddressModeClamp);
    fractions<char4>("char4", cudaAddressModeBorder);
    fractions<ushort4>("ushort4", cudaAddressModeClamp);
    halves();
    curve();
    more_levels();
    clamped_levels();
    surfaces();
    heap();
    say<<<1, 1>>>();
    cudaError_t e = cudaDeviceSynchronize();
    printf("\nend: %s\n", cudaGetErrorName(e));
    return 0;
}
