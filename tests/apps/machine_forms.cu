// Instructions that only NVIDIA's assembler makes, by what it knows of the numbers: products scaled by a power of two, the least
// and the greatest of three, sums of bytes' differences, calls of functions whose places lie in a variable, a texture's handle in
// memory of each kind; least and greatest with both signs; one atomic for the lanes that are there; memory that code takes of the
// stack itself; integers saturated to few bits; what caches are told by a policy; products of eight lanes in steps; comparisons
// of uniform numbers under a guard that is uniform; parameters by an index from where their bank begins, as assemblers before 12
// make it.
// variants: sm_75 sm_86 sm_89 sm_90 debug_sm_80
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cstring>
#include <cuda_fp16.h>

#define N 64
#define CHECK_EQ(got, want) EXPECT((got) == (want), "%s is %g, not %g", #got, (double)(got), (double)(want))

// The argument of the conversion is small, so no product overflows and two of them are one that is scaled.
#define SMALL(x) ((float)(int)((x) & 0xffffff) * 0.0625f)

#define SCALES(X) X(0, .125f) X(1, .25f) X(2, .5f) X(3, 1.f) X(4, 2.f) X(5, 4.f) X(6, 8.f)

#define SCALED(i, by)                                                  \
    __global__ void scaled_##i(float *out, const int *in)              \
    {                                                                  \
        out[threadIdx.x] = __fmul_rn(by, SMALL(in[threadIdx.x]));      \
    }
SCALES(SCALED)

__global__ void byte_sums(int *out, const int *in)
{
    out[threadIdx.x] = __vsadu4(in[threadIdx.x], in[(threadIdx.x + 1) % N]) + in[(threadIdx.x + 2) % N];
}

// Bytes and halves of a word, which a conversion takes out of it.
__global__ void parts_as_floats(double *out, const int *in)
{
    int x = in[threadIdx.x], y = in[(threadIdx.x + 1) % N], z = in[(threadIdx.x + 2) % N];
    double *to = out + 8 * threadIdx.x;
    to[0] = (float)(x & 0xffff) + (float)((unsigned)x >> 16) * 0.5f;
    to[1] = (float)(short)y - (float)(short)(y >> 16) * 0.5f;
    to[2] = (double)((unsigned)z >> 16);
    to[3] = (double)(short)(x >> 16);
    for (int k = 0; k < 4; k++)
        to[4 + k] = (float)(z >> 8 * k & 255);
}

// a + b * c of complex numbers in halves.
__global__ void complex_halves(__half2 *out, const __half2 *in)
{
    out[threadIdx.x] = __hcmadd(in[3 * threadIdx.x], in[3 * threadIdx.x + 1], in[3 * threadIdx.x + 2]);
}

__global__ void of_three(int *out, const int *in)
{
    int a = in[threadIdx.x], b = in[(threadIdx.x + 1) % N], c = in[(threadIdx.x + 2) % N];
    unsigned x = a, y = b, z = c;
    out[4 * threadIdx.x] = max(a, max(b, c));
    out[4 * threadIdx.x + 1] = min(a, min(b, c));
    out[4 * threadIdx.x + 2] = max(x, max(y, z));
    out[4 * threadIdx.x + 3] = min(x, min(y, z));
}

// The greater magnitude, with the product's sign, of two halves, and of floats with a register and with a number.
__global__ void with_both_signs(unsigned *out, const unsigned *in)
{
#if __CUDA_ARCH__ >= 860
    unsigned a = in[threadIdx.x], b = in[(threadIdx.x + 1) % N], h, f, g;
    asm("max.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(h) : "r"(a), "r"(b));
    asm("min.xorsign.abs.f32 %0, %1, %2;" : "=r"(f) : "r"(a), "r"(b));
    asm("max.NaN.xorsign.abs.f32 %0, %1, 0fC0400000;" : "=r"(g) : "r"(a));
    out[3 * threadIdx.x] = h;
    out[3 * threadIdx.x + 1] = f;
    out[3 * threadIdx.x + 2] = g;
#endif
}

// For numbers that are none: of their bits without the sign the greater is the greater number's.
static unsigned both_signs(unsigned a, unsigned b, unsigned sign, bool least)
{
    unsigned x = a & (sign - 1), y = b & (sign - 1);
    return (least ? min(x, y) : max(x, y)) | ((a ^ b) & sign);
}

static void test_both_signs()
{
    static unsigned in[N], got[3 * N];
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, with_both_signs));
    if (attributes.binaryVersion < 86)
        return;
    for (unsigned i = 0; i < N; i++)
        in[i] = 0x37a53c01u + i * 0x01000019u + (i & 1) * 0x8000u + (i & 2) * 0x40000000u; // no NaN
    Dev<unsigned> din(in, N), dout(3 * N);
    with_both_signs<<<1, N>>>(dout, din);
    CHECK_LAUNCH();
    dout.get(got);
    for (unsigned i = 0; i < N; i++) {
        unsigned a = in[i], b = in[(i + 1) % N], low = both_signs(a & 0xffff, b & 0xffff, 0x8000, false);
        CHECK_EQ(got[3 * i], both_signs(a >> 16, b >> 16, 0x8000, false) << 16 | low);
        CHECK_EQ(got[3 * i + 1], both_signs(a, b, 0x80000000u, true));
        CHECK_EQ(got[3 * i + 2], both_signs(a, 0xc0400000u, 0x80000000u, false));
    }
}

typedef int (*function)(int, int);

__host__ __device__ __noinline__ int more(int a, int b)
{
    return a * 3 + b;
}

__host__ __device__ __noinline__ int less(int a, int b)
{
    return a > b ? a - b : b >> 3;
}

__host__ __device__ __noinline__ int other(int a, int b)
{
    return a ^ b;
}

static __device__ const function table[3] = { more, less, other };
static const function host_table[3] = { more, less, other };

__global__ void called(int *out, const int *in)
{
    int a = in[threadIdx.x];
    out[threadIdx.x] = table[(unsigned)a % 3](a, in[(threadIdx.x + 1) % N]);
}

__constant__ cudaTextureObject_t known[4];

struct textures {
    cudaTextureObject_t at[4];
};

__global__ void looked_up(const cudaTextureObject_t *in_memory, textures given, cudaTextureObject_t one, cudaTextureObject_t two,
                          int which, float *out)
{
    __shared__ cudaTextureObject_t shared[4];
    unsigned t = threadIdx.x, k = t & 3;
    if (t < 4)
        shared[t] = in_memory[t];
    __syncthreads();
    out[6 * t] = tex2D<float>(in_memory[k], t % 8 + .5f, .5f);
    out[6 * t + 1] = tex2D<float>(shared[k], t % 8 + .5f, 1.5f);
    out[6 * t + 2] = tex2D<float>(given.at[which], t % 8 + .5f, 1.5f);
    out[6 * t + 3] = tex2D<float>(known[which], t % 8 + .5f, .5f);
    out[6 * t + 4] = tex2D<float>(which > 2 ? one : two, t % 8 + .5f, 1.5f);
    out[6 * t + 5] = tex2D<float>(t % 5 ? one : two, t % 8 + .5f, .5f);
}

__global__ void stored(const cudaSurfaceObject_t *in_memory)
{
    cudaSurfaceObject_t s = in_memory[threadIdx.x & 3];
    int x = threadIdx.x % 8 * 4, y = threadIdx.x / 32;
    if (threadIdx.x % 32 / 4 == 1)
        surf2Dwrite(2 * surf2Dread<float>(s, x, y), s, x, y);
}

// What a lane looks at by adding nothing, the assembler asks for all lanes that are there, by one of them; others have the lock.
__global__ void locked(int *out)
{
    __shared__ int lock, count;
    if (threadIdx.x == 0)
        lock = count = 0;
    __syncthreads();
    do
        while (atomicAdd(&lock, 0))
            ;
    while (atomicExch(&lock, 1));
    __threadfence_block();
    *(volatile int *)&count = *(volatile int *)&count + 1;
    __threadfence_block();
    atomicExch(&lock, 0);
    __syncthreads();
    out[threadIdx.x] = count;
}

// Code to debug has the atomics in functions, and keeps on its stack what it waits with.
__global__ void locked_by_calls(int *lock, volatile int *count)
{
    while (atomicCAS(lock, 0, 1))
        ;
    __threadfence();
    *count = *count + 3;
    __threadfence();
    atomicExch(lock, 0);
}

static int in[N];

static void scales(const int *d_in)
{
    float *d_out, out[N];
    CHECK(cudaMalloc(&d_out, sizeof out));
#define TRY(i, by)                                                         \
    scaled_##i<<<1, N>>>(d_out, d_in);                                     \
    CHECK_LAUNCH();                                                        \
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));     \
    for (int t = 0; t < N; t++)                                            \
        CHECK_EQ(out[t], by * SMALL(in[t]));
    SCALES(TRY)
    CHECK(cudaFree(d_out));
}

static void parts(const int *d_in)
{
    double *d_out, out[8 * N];
    CHECK(cudaMalloc(&d_out, sizeof out));
    parts_as_floats<<<1, N>>>(d_out, d_in);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int t = 0; t < N; t++) {
        int x = in[t], y = in[(t + 1) % N], z = in[(t + 2) % N];
        double want[8] = { (float)(x & 0xffff) + (float)((unsigned)x >> 16) * 0.5f,
                           (float)(short)y - (float)(short)(y >> 16) * 0.5f, (double)((unsigned)z >> 16),
                           (double)(short)(x >> 16) };
        for (int k = 0; k < 4; k++)
            want[4 + k] = z >> 8 * k & 255;
        for (int k = 0; k < 8; k++)
            EXPECT(out[8 * t + k] == want[k], "part %d of %d: %g, expected %g", k, t, out[8 * t + k], want[k]);
    }
    CHECK(cudaFree(d_out));
}

static void complex_numbers(void)
{
    __half2 *d_in, *d_out, in[3 * N], out[N];
    for (int k = 0; k < 3 * N; k++)
        in[k] = __floats2half2_rn((float)(k % 7 - 3), (float)(k % 11 - 5));
    CHECK(cudaMalloc(&d_in, sizeof in));
    CHECK(cudaMalloc(&d_out, sizeof out));
    CHECK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
    complex_halves<<<1, N>>>(d_out, d_in);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int t = 0; t < N; t++) {
        float re[3], im[3];
        for (int k = 0; k < 3; k++) {
            re[k] = (float)((3 * t + k) % 7 - 3);
            im[k] = (float)((3 * t + k) % 11 - 5);
        }
        float x = re[0] * re[1] - im[0] * im[1] + re[2], y = re[0] * im[1] + im[0] * re[1] + im[2];
        float2 got = __half22float2(out[t]);
        EXPECT(got.x == x && got.y == y, "complex %d: %g, %g, expected %g, %g", t, got.x, got.y, x, y);
    }
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
}

static void integers(const int *d_in)
{
    int *d_out, out[4 * N];
    CHECK(cudaMalloc(&d_out, sizeof out));
    of_three<<<1, N>>>(d_out, d_in);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int t = 0; t < N; t++) {
        int v[3] = { in[t], in[(t + 1) % N], in[(t + 2) % N] }, most = v[0], least = v[0];
        unsigned high = v[0], low = v[0];
        for (int k = 1; k < 3; k++) {
            most = v[k] > most ? v[k] : most;
            least = v[k] < least ? v[k] : least;
            high = (unsigned)v[k] > high ? v[k] : high;
            low = (unsigned)v[k] < low ? v[k] : low;
        }
        CHECK_EQ(out[4 * t], most);
        CHECK_EQ(out[4 * t + 1], least);
        CHECK_EQ(out[4 * t + 2], (int)high);
        CHECK_EQ(out[4 * t + 3], (int)low);
    }
    called<<<1, N>>>(d_out, d_in);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d_out, N * sizeof *out, cudaMemcpyDeviceToHost));
    for (int t = 0; t < N; t++)
        CHECK_EQ(out[t], host_table[(unsigned)in[t] % 3](in[t], in[(t + 1) % N]));
    byte_sums<<<1, N>>>(d_out, d_in);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d_out, N * sizeof *out, cudaMemcpyDeviceToHost));
    for (int t = 0; t < N; t++) {
        int want = in[(t + 2) % N];
        for (int k = 0; k < 32; k += 8)
            want += abs((in[t] >> k & 255) - (in[(t + 1) % N] >> k & 255));
        CHECK_EQ(out[t], want);
    }
    locked<<<1, N>>>(d_out);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d_out, N * sizeof *out, cudaMemcpyDeviceToHost));
    for (int t = 0; t < N; t++)
        CHECK_EQ(out[t], N);
    CHECK(cudaMemset(d_out, 0, 2 * sizeof *out));
    locked_by_calls<<<1, N>>>(d_out, d_out + 1);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d_out, 2 * sizeof *out, cudaMemcpyDeviceToHost));
    CHECK_EQ(out[1], 3 * N);
    CHECK(cudaFree(d_out));
}

// Texture k has 100 k + 8 y + x at (x, y).
static void handles(void)
{
    cudaArray_t arrays[4];
    textures made;
    cudaSurfaceObject_t surfaces[4];
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    float texels[16], out[6 * N];
    for (int k = 0; k < 4; k++) {
        cudaResourceDesc resource = {};
        cudaTextureDesc sampler = {};
        for (int i = 0; i < 16; i++)
            texels[i] = 100 * k + i;
        CHECK(cudaMallocArray(&arrays[k], &format, 8, 2, cudaArraySurfaceLoadStore));
        CHECK(cudaMemcpy2DToArray(arrays[k], 0, 0, texels, 32, 32, 2, cudaMemcpyHostToDevice));
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = arrays[k];
        CHECK(cudaCreateTextureObject(&made.at[k], &resource, &sampler, NULL));
        CHECK(cudaCreateSurfaceObject(&surfaces[k], &resource));
    }
    char *memory;
    float *d_out;
    CHECK(cudaMalloc(&memory, sizeof made + sizeof surfaces));
    CHECK(cudaMalloc(&d_out, sizeof out));
    CHECK(cudaMemcpy(memory, &made, sizeof made, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(memory + sizeof made, surfaces, sizeof surfaces, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(known, &made, sizeof made));
    for (int which = 1; which < 4; which++) {
        looked_up<<<1, N>>>((cudaTextureObject_t *)memory, made, made.at[0], made.at[2], which, d_out);
        CHECK_LAUNCH();
        CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
        for (int t = 0; t < N; t++) {
            int x = t % 8;
            const int want[6] = { 100 * (t & 3) + x,       100 * (t & 3) + 8 + x, 100 * which + 8 + x, 100 * which + x,
                                  (which > 2 ? 0 : 200) + 8 + x, (t % 5 ? 0 : 200) + x };
            for (int i = 0; i < 6; i++)
                CHECK_EQ(out[6 * t + i], (float)want[i]);
        }
    }
    stored<<<1, N>>>((cudaSurfaceObject_t *)(memory + sizeof made));
    CHECK_LAUNCH();
    for (int k = 0; k < 4; k++) {
        CHECK(cudaMemcpy2DFromArray(texels, 32, arrays[k], 0, 0, 32, 2, cudaMemcpyDeviceToHost));
        for (int i = 0; i < 16; i++)
            CHECK_EQ(texels[i], (float)((100 * k + i) * (i % 8 == 4 + k ? 2 : 1)));
    }
}

// alloca: how much, only the lane knows.
__global__ void taken(int *out, const int *in)
{
    int x = in[threadIdx.x] & 15, sum = 0;
    for (int round = 0; round < 3; round++) {
        int n = x + round + 1, *mine = (int *)alloca(n * sizeof(int));
        for (int i = 0; i < n; i++)
            mine[i] = i * x + round;
        for (int i = 0; i < n; i++)
            sum = sum * 3 + mine[n - 1 - i];
    }
    out[threadIdx.x] = sum;
}

// More than any stack has: an error, and no other memory.
__global__ void taken_too_much(int *out, int n)
{
    volatile int *mine = (volatile int *)alloca(n);
    mine[threadIdx.x] = n;
    out[threadIdx.x] = mine[threadIdx.x];
}

__global__ void narrowed(int *out, const int *in)
{
    int x = in[threadIdx.x] >> threadIdx.x % 32, r[5];
    asm("cvt.sat.u8.s32 %0, %1;" : "=r"(r[0]) : "r"(x));
    asm("cvt.sat.s8.s32 %0, %1;" : "=r"(r[1]) : "r"(x));
    asm("cvt.sat.u16.s32 %0, %1;" : "=r"(r[2]) : "r"(x));
    asm("cvt.sat.s16.s32 %0, %1;" : "=r"(r[3]) : "r"(x));
    asm("cvt.rni.sat.u8.f32 %0, %1;" : "=r"(r[4]) : "f"(threadIdx.x % 9 ? (float)x * 0.25f : nanf("")));
    for (int i = 0; i < 5; i++)
        out[5 * threadIdx.x + i] = r[i];
}

// The policy of a launch; before sm_80 there are none.
__global__ void by_policy(int *out, const int *in, float fraction)
{
    int x;
#if __CUDA_ARCH__ >= 800
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, %1;" : "=l"(policy) : "f"(fraction));
    asm volatile("ld.global.L2::cache_hint.b32 %0, [%1], %2;" : "=r"(x) : "l"(in + threadIdx.x), "l"(policy));
    asm volatile("st.global.L2::cache_hint.b32 [%0], %1, %2;" ::"l"(out + threadIdx.x), "r"(x), "l"(policy));
    asm volatile("red.global.add.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(out + threadIdx.x), "r"(x), "l"(policy));
    asm volatile("atom.global.exch.L2::cache_hint.b32 %0, [%1], %2, %3;"
                 : "=r"(x)
                 : "l"(out + N + threadIdx.x), "r"(x), "l"(policy));
    out[2 * N + threadIdx.x] = x;
#else
    x = in[threadIdx.x];
    out[threadIdx.x] = 2 * x;
    out[N + threadIdx.x] = x;
    out[2 * N + threadIdx.x] = 0;
#endif
}

static int clamp(long long x, int least, int most)
{
    return x < least ? least : x > most ? most : (int)x;
}

static void stack_and_bits(const int *d_in)
{
    static int out[5 * N];
    int *d_out;
    CHECK(cudaMalloc(&d_out, sizeof out));
    taken<<<1, N>>>(d_out, d_in);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d_out, N * sizeof(int), cudaMemcpyDeviceToHost));
    for (int t = 0; t < N; t++) {
        int x = in[t] & 15;
        unsigned sum = 0;
        for (int round = 0; round < 3; round++)
            for (int i = x + round; i >= 0; i--)
                sum = sum * 3 + (unsigned)(i * x + round);
        CHECK_EQ(out[t], (int)sum);
    }
    narrowed<<<1, N>>>(d_out, d_in);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int t = 0; t < N; t++) {
        int x = in[t] >> t % 32;
        CHECK_EQ(out[5 * t], clamp(x, 0, 255));
        CHECK_EQ(out[5 * t + 1], clamp(x, -128, 127));
        CHECK_EQ(out[5 * t + 2], clamp(x, 0, 65535));
        CHECK_EQ(out[5 * t + 3], clamp(x, -32768, 32767));
        CHECK_EQ(out[5 * t + 4], t % 9 ? clamp(llrintf((float)x * 0.25f), 0, 255) : 0);
    }
    CHECK(cudaMemset(d_out, 0, sizeof out));
    by_policy<<<1, N>>>(d_out, d_in, 0.5f);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int t = 0; t < N; t++) {
        CHECK_EQ(out[t], (int)(2u * (unsigned)in[t]));
        CHECK_EQ(out[N + t], in[t]);
        CHECK_EQ(out[2 * N + t], 0);
    }
    taken_too_much<<<1, 1>>>(d_out, 1 << 20);
    EXPECT(cudaDeviceSynchronize() != cudaSuccess, "a stack of a megabyte");
}

// Products of eight lanes each, which the assembler makes in steps for sm_75 and by other ones for later architectures.
#define LAYOUTS(X) X(row, row) X(row, col) X(col, row) X(col, col)
#define EIGHTS(la, lb)                                                                                                         \
    __global__ void eights_##la##_##lb(float *f, unsigned *h, const unsigned *ab, const float *c, const unsigned *ch)          \
    {                                                                                                                          \
        unsigned t = threadIdx.x, a0 = ab[4 * t], a1 = ab[4 * t + 1], b0 = ab[4 * t + 2], b1 = ab[4 * t + 3];                  \
        float d[8];                                                                                                            \
        unsigned e[4];                                                                                                         \
        asm volatile("mma.sync.aligned.m8n8k4." #la "." #lb ".f32.f16.f16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, "    \
                     "{%10, %11}, {%12, %13, %14, %15, %16, %17, %18, %19};"                                                   \
                     : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]), "=f"(d[7])          \
                     : "r"(a0), "r"(a1), "r"(b0), "r"(b1), "f"(c[8 * t]), "f"(c[8 * t + 1]), "f"(c[8 * t + 2]),                \
                       "f"(c[8 * t + 3]), "f"(c[8 * t + 4]), "f"(c[8 * t + 5]), "f"(c[8 * t + 6]), "f"(c[8 * t + 7]));         \
        asm volatile("mma.sync.aligned.m8n8k4." #la "." #lb ".f16.f16.f16.f16 {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, "          \
                     "{%8, %9, %10, %11};"                                                                                     \
                     : "=r"(e[0]), "=r"(e[1]), "=r"(e[2]), "=r"(e[3])                                                          \
                     : "r"(a0), "r"(a1), "r"(b0), "r"(b1), "r"(ch[4 * t]), "r"(ch[4 * t + 1]), "r"(ch[4 * t + 2]),             \
                       "r"(ch[4 * t + 3]));                                                                                    \
        for (int i = 0; i < 8; i++)                                                                                            \
            f[8 * t + i] = d[i];                                                                                               \
        for (int i = 0; i < 4; i++)                                                                                            \
            h[4 * t + i] = e[i];                                                                                               \
    }
LAYOUTS(EIGHTS)

// Small whole numbers, which are exact: of the half in place i of lane t.
struct steps {
    long long step[3]; // bytes, on to the next column, row, plane
    int n, columns, rows;
};

// Columns, rows and planes are counted for all threads together, the rows where the columns end.
__global__ void walked(int *out, const int *in, __grid_constant__ const steps g)
{
    extern __shared__ int tile[];
    int t = threadIdx.x, row = 0, column = 0;
    unsigned sum = 0;
    const char *p = (const char *)(in + 8 + t % 4);
    unsigned seen = in[t];
#pragma unroll 1
    for (int k = 0; k < g.n; k++) {
        if ((seen >> row & 1) && (seen >> (16 + column) & 1))
            sum = sum * 3 + *(const int *)p;
        int which = 0;
        if (++column == g.columns) {
            column = 0;
            which = 1;
            if (++row >= g.rows) {
                row = 0;
                which = 2;
            }
        }
        tile[t] = sum;
        __syncthreads();
        sum += tile[(t + 1) % blockDim.x];
        __syncthreads();
        p += g.step[which];
    }
    out[t] = sum;
}

static void test_walked(const int *d_in, const steps &g)
{
    int *d_out, out[N];
    CHECK(cudaMalloc(&d_out, sizeof out));
    walked<<<1, N, N * sizeof(int)>>>(d_out, d_in, g);
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    unsigned sums[N] = { 0 };
    int at = 8;
    for (int k = 0; k < g.n; k++) {
        int column = k % g.columns, row = k / g.columns % g.rows;
        unsigned before[N];
        for (int t = 0; t < N; t++)
            before[t] = (unsigned)in[t] >> row & (unsigned)in[t] >> (16 + column) & 1 ? sums[t] * 3 + in[at + t % 4] : sums[t];
        for (int t = 0; t < N; t++)
            sums[t] = before[t] + before[(t + 1) % N];
        at += (int)g.step[column + 1 < g.columns ? 0 : row + 1 < g.rows ? 1 : 2] / 4;
    }
    for (int t = 0; t < N; t++)
        CHECK_EQ(out[t], (int)sums[t]);
    CHECK(cudaFree(d_out));
}

struct wide_numbers {
    long long of[4];
};

// Until sm_89 their bank's first parameter is at 352.
extern "C" __global__ void from_bank_begin(long long *out, const int *place, wide_numbers n)
{
    long long at = place[threadIdx.x], value = n.of[0];
    asm volatile("{\n.reg .b64 a;\nmov.b64 a, from_bank_begin_param_2;\nadd.s64 a, a, %1;\nld.param.b64 %0, [a+-352];\n}"
                 : "=l"(value) : "l"(at));
    out[threadIdx.x] = value;
}

static void test_from_bank_begin()
{
    wide_numbers n = { { 1ll << 40, -5, 7ll << 33, 11 } };
    int places[32];
    long long out[32];
    for (int t = 0; t < 32; t++)
        places[t] = 352 + 8 * (t * 3 % 4);
    Dev<int> d_places(places, 32);
    Dev<long long> d_out(32);
    from_bank_begin<<<1, 32>>>(d_out, d_places, n);
    CHECK_LAUNCH();
    d_out.get(out);
    for (int t = 0; t < 32; t++)
        CHECK_EQ(out[t], n.of[t * 3 % 4]);
}

// What is the greatest or least of three, or of a sum and a number, and at least 0: one instruction each on sm_90.
__global__ void none_below_0(int *out, const int *in)
{
    int a = in[threadIdx.x] >> 4, b = in[(threadIdx.x + 1) % N] >> 4, c = in[(threadIdx.x + 2) % N] >> 4;
    int *to = out + 8 * threadIdx.x;
    to[0] = __viaddmax_s32_relu(a, b, c);
    to[1] = __viaddmin_s32_relu(a, b, c);
    to[2] = __viaddmax_s32_relu(a, -5, c);
    to[3] = __vimax3_s32_relu(a, b, c);
    to[4] = __vimin3_s32_relu(a, b, c);
    to[5] = __viaddmax_s16x2_relu(a, b, c);
    to[6] = __vimin3_s16x2_relu(a, b, c);
    to[7] = __vimax3_s16x2_relu(a, b, c);
}

static int at_least_0(int v)
{
    return v > 0 ? v : 0;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int greatest(int a, int b)
{
    return a < b ? b : a;
}

static void test_none_below_0(const int *d_in)
{
    int *d_out, out[8 * N];
    CHECK(cudaMalloc(&d_out, sizeof out));
    none_below_0<<<1, N>>>(d_out, d_in);
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int t = 0; t < N; t++) {
        int a = in[t] >> 4, b = in[(t + 1) % N] >> 4, c = in[(t + 2) % N] >> 4, *got = out + 8 * t;
        CHECK_EQ(got[0], at_least_0(greatest(a + b, c)));
        CHECK_EQ(got[1], at_least_0(least(a + b, c)));
        CHECK_EQ(got[2], at_least_0(greatest(a - 5, c)));
        CHECK_EQ(got[3], at_least_0(greatest(greatest(a, b), c)));
        CHECK_EQ(got[4], at_least_0(least(least(a, b), c)));
        for (int k = 0; k < 32; k += 16) {
            short x = (short)(a >> k), y = (short)(b >> k), z = (short)(c >> k);
            CHECK_EQ((short)(got[5] >> k), at_least_0(greatest((short)(x + y), z)));
            CHECK_EQ((short)(got[6] >> k), at_least_0(least(least(x, y), z)));
            CHECK_EQ((short)(got[7] >> k), at_least_0(greatest(greatest(x, y), z)));
        }
    }
    CHECK(cudaFree(d_out));
}

// Which halves are the least or the greatest: predicates of the instruction that chooses them, on sm_90.  And differences of
// halves.
__global__ void chosen(unsigned *out, const int *in)
{
    unsigned a = (unsigned)in[threadIdx.x], b = (unsigned)in[(threadIdx.x + 1) % N], *to = out + 12 * threadIdx.x;
    bool low, high;
    if (threadIdx.x % 3 == 0)
        b = b >> 16 | a << 16;
    if (threadIdx.x % 5 == 0)
        b = (b & 0xffff0000) | (a & 0xffff);
    to[0] = a;
    to[1] = b;
    to[2] = __vibmin_u16x2(a, b, &high, &low);
    to[3] = high * 2u + low;
    to[4] = __vibmax_s16x2(a, b, &high, &low);
    if (low)
        to[4] += 5;
    to[5] = __vibmin_s16x2(a, b, &high, &low);
    if (high)
        to[5] += 7;
    to[6] = __vibmax_u16x2(a, 0x80010003, &high, &low);
    to[7] = high * 2u + low;
    to[8] = __vibmin_s32(a, b, &low);
    to[9] = low;
    to[10] = __vsub2(a, b);
    to[11] = __vabsdiffs2(a, b);
}

static void test_chosen(const int *d_in)
{
    unsigned *d_out, out[12 * N];
    CHECK(cudaMalloc(&d_out, sizeof out));
    chosen<<<1, N>>>(d_out, d_in);
    CHECK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int t = 0; t < N; t++) {
        unsigned *got = out + 12 * t, a = got[0], b = got[1], least_u = 0, most_s = 0, least_s = 0, most_u = 0, less = 0,
                 apart = 0;
        bool u[2], s[2], m[2], c[2];
        for (int k = 0; k < 2; k++) {
            unsigned x = a >> 16 * k & 0xffff, y = b >> 16 * k & 0xffff, z = k ? 0x8001 : 3;
            u[k] = x <= y;
            m[k] = (short)x >= (short)y;
            s[k] = (short)x <= (short)y;
            c[k] = x >= z;
            least_u |= (u[k] ? x : y) << 16 * k;
            most_s |= (m[k] ? x : y) << 16 * k;
            least_s |= (s[k] ? x : y) << 16 * k;
            most_u |= (c[k] ? x : z) << 16 * k;
            less |= ((x - y) & 0xffff) << 16 * k;
            apart |= (((short)x < (short)y ? y - x : x - y) & 0xffff) << 16 * k;
        }
        CHECK_EQ(got[2], least_u);
        CHECK_EQ(got[3], u[1] * 2u + u[0]);
        CHECK_EQ(got[4], most_s + (m[0] ? 5 : 0));
        CHECK_EQ(got[5], least_s + (s[1] ? 7 : 0));
        CHECK_EQ(got[6], most_u);
        CHECK_EQ(got[7], c[1] * 2u + c[0]);
        CHECK_EQ((int)got[8], least((int)a, (int)b));
        CHECK_EQ(got[9], (unsigned)((int)a <= (int)b));
        CHECK_EQ(got[10], less);
        CHECK_EQ(got[11], apart);
    }
    CHECK(cudaFree(d_out));
}

static int element(int t, int i)
{
    return (int)((unsigned)in[(t * 8 + i) % N] >> (4 + i) & 7) - 3;
}

// Where the element of a row and a column of a lane's eight lanes is: the lane, and the place there.
static int of_a(bool row, int first, int r, int k)
{
    return row ? element(first + r % 4 + r / 4 * 16, k) : element(first + k + r / 4 * 16, r % 4);
}

static int of_b(bool row, int first, int k, int c)
{
    return row ? element(first + k + c / 4 * 16, 4 + c % 4) : element(first + c % 4 + c / 4 * 16, 4 + k);
}

static unsigned two_halves(int low, int high)
{
    __half2 h = __floats2half2_rn((float)low, (float)high);
    unsigned u;
    memcpy(&u, &h, sizeof u);
    return u;
}

static void eights(void (*kernel)(float *, unsigned *, const unsigned *, const float *, const unsigned *), bool a_row, bool b_row)
{
    unsigned ab[128], ch[128], h[128];
    float c[256], f[256];
    for (int t = 0; t < 32; t++) {
        for (int i = 0; i < 4; i++) {
            ab[4 * t + i] = two_halves(element(t, 2 * i), element(t, 2 * i + 1));
            ch[4 * t + i] = two_halves(element(t + 9, 2 * i), element(t + 9, 2 * i + 1));
        }
        for (int i = 0; i < 8; i++)
            c[8 * t + i] = (float)element(t + 5, i);
    }
    Dev<unsigned> d_ab(ab, 128), d_ch(ch, 128), d_h(128);
    Dev<float> d_c(c, 256), d_f(256);
    kernel<<<1, 32>>>(d_f, d_h, d_ab, d_c, d_ch);
    CHECK_LAUNCH();
    d_f.get(f);
    d_h.get(h);
    for (int t = 0; t < 32; t++)
        for (int i = 0; i < 8; i++) {
            int first = t % 16 / 4 * 4, row = (t & 1) + (i & 2) + t / 16 * 4, col = (i & 4) + (t & 2) + (i & 1);
            int row_h = t % 4 + t / 16 * 4, sum = element(t + 5, i), sum_h = element(t + 9, i);
            for (int k = 0; k < 4; k++) {
                sum += of_a(a_row, first, row, k) * of_b(b_row, first, k, col);
                sum_h += of_a(a_row, first, row_h, k) * of_b(b_row, first, k, i);
            }
            EXPECT(f[8 * t + i] == (float)sum, "lane %d, %d: %g, expected %d", t, i, f[8 * t + i], sum);
            unsigned want = two_halves(sum_h, sum_h) & 0xffff, got = h[4 * t + i / 2] >> (i & 1) * 16 & 0xffff;
            EXPECT(got == want, "half of lane %d, %d: %04x, expected %04x", t, i, got, want);
        }
}

int main()
{
    int *d_in;
    for (int t = 0; t < N; t++)
        in[t] = (int)(2654435761u * (unsigned)(t + 7));
    CHECK(cudaMalloc(&d_in, sizeof in));
    CHECK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
    scales(d_in);
    integers(d_in);
    parts(d_in);
    complex_numbers();
    handles();
    test_both_signs();
    test_none_below_0(d_in);
    test_chosen(d_in);
    test_from_bank_begin();
    test_walked(d_in, { { 12, -20, 36 }, 30, 3, 4 });
    test_walked(d_in, { { 12, -4, 20 }, 30, 1, 5 }); // the step back has a carry, which is a predicate
#define RUN_EIGHTS(la, lb) eights(eights_##la##_##lb, #la[0] == 'r', #lb[0] == 'r');
    LAYOUTS(RUN_EIGHTS)
    stack_and_bits(d_in); // ends with a fault
    return check_done();
}
