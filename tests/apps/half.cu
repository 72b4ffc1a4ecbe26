// Half and bfloat16: conversions with every rounding, arithmetic, comparison, packed pairs, and a dot product.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

static float float_of(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

/* Float to half, round to nearest even, by integer arithmetic. */
static uint16_t half_rn(float f)
{
    uint32_t u = bits_of(f), sign = u >> 16 & 0x8000, mag = u & 0x7fffffff;
    if (mag > 0x7f800000)
        return 0x7fff;
    if (mag >= 0x47800000)
        return (uint16_t)(sign | 0x7c00);
    if (mag < 0x33000000)
        return (uint16_t)sign;
    int exponent = (int)(mag >> 23) - 127;
    uint32_t significand = (mag & 0x7fffff) | 0x800000;
    int shift = exponent < -14 ? 13 + (-14 - exponent) : 13;
    uint32_t kept = significand >> shift, rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    uint32_t h = exponent < -14 ? kept : kept + ((uint32_t)(exponent + 14) << 10);
    return (uint16_t)(sign | h);
}

static float half_to_float(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    float f = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf((float)(m + 1024), e - 25) : ldexpf((float)m, -24);
    return h & 0x8000 ? -f : f;
}

__global__ void convert(const float *in, unsigned short *rn, unsigned short *rz, float *back, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        rn[i] = __half_as_ushort(__float2half_rn(in[i]));
        rz[i] = __half_as_ushort(__float2half_rz(in[i]));
        back[i] = __half2float(__float2half(in[i]));
    }
}

__global__ void arithmetic(const unsigned short *in, unsigned short *out, int *flags, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    __half a = __ushort_as_half(in[2 * i]), b = __ushort_as_half(in[2 * i + 1]);
    out[5 * i] = __half_as_ushort(__hadd(a, b));
    out[5 * i + 1] = __half_as_ushort(__hmul(a, b));
    out[5 * i + 2] = __half_as_ushort(__hfma(a, b, a));
    out[5 * i + 3] = __half_as_ushort(__hsub(a, b));
    out[5 * i + 4] = __half_as_ushort(__hneg(a));
    flags[i] = __hlt(a, b) | __heq(a, b) << 1 | __hgt(a, b) << 2 | __hisnan(a) << 3;
}

// The greatest and the least of three, which are one instruction from sm_90 on.
__global__ void of_three(const unsigned *in, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const __half2 *h = (const __half2 *)in;
    const __nv_bfloat162 *w = (const __nv_bfloat162 *)in;
    __half2 a = h[i], b = h[(i + 1) % n], c = h[(i + 2) % n];
    ((__half2 *)out)[4 * i] = __hmax2(__hmax2(__hneg2(a), __habs2(b)), c);
    ((__half2 *)out)[4 * i + 1] = __hmin2_nan(__hmin2_nan(a, b), __hneg2(c));
    __half one = __hmax(__hmax(__low2half(a), __high2half(b)), __low2half(c));
    ((__half2 *)out)[4 * i + 2] = __halves2half2(one, __hmin(__hmin(__high2half(a), __high2half(b)), __low2half(c)));
    ((__nv_bfloat162 *)out)[4 * i + 3] = __hmax2(__hmax2(w[i], w[(i + 1) % n]), w[(i + 2) % n]);
}

static float widened(unsigned word, bool high)
{
    return half_to_float((uint16_t)(high ? word >> 16 : word));
}

static void check_three()
{
    const int n = 512;
    Rng rng(27);
    std::vector<unsigned> in(n), out(4 * n);
    for (unsigned &v : in)
        v = (rng.below(0x7c00) | rng.below(2) << 15) << 16 | rng.below(0x7c00) | rng.below(2) << 15;
    in[7] = 0x7e003c00, in[20] = 0x00007e00;
    Dev<unsigned> din(in.data(), n), dout(4 * n);
    of_three<<<4, 128>>>(din, dout, n);
    CHECK_LAUNCH();
    dout.get(out.data());
    for (int i = 0; i < n; i++) {
        unsigned a = in[i], b = in[(i + 1) % n], c = in[(i + 2) % n];
        for (int k = 0; k < 2; k++) {
            float x = widened(a, k), y = widened(b, k), z = widened(c, k), got = widened(out[4 * i], k);
            float want = fmaxf(fmaxf(-x, fabsf(y)), z);
            EXPECT(got == want, "%d: greatest of three %a, not %a", i, got, want);
            want = x != x || y != y || z != z ? NAN : fminf(fminf(x, y), -z), got = widened(out[4 * i + 1], k);
            EXPECT(got == want || (got != got && want != want), "%d: least of three %a, not %a", i, got, want);
            x = float_of(k ? a & 0xffff0000 : a << 16), y = float_of(k ? b & 0xffff0000 : b << 16);
            z = float_of(k ? c & 0xffff0000 : c << 16), want = fmaxf(fmaxf(x, y), z);
            got = float_of(k ? out[4 * i + 3] & 0xffff0000 : out[4 * i + 3] << 16);
            EXPECT(got == want, "%d: greatest of three bfloat16 %a, not %a", i, got, want);
        }
        float low = fmaxf(fmaxf(widened(a, false), widened(b, true)), widened(c, false)), got = widened(out[4 * i + 2], false);
        EXPECT(got == low, "%d: greatest of three halves %a, not %a", i, got, low);
        float high = fminf(fminf(widened(a, true), widened(b, true)), widened(c, false));
        got = widened(out[4 * i + 2], true);
        EXPECT(got == high, "%d: least of three halves %a, not %a", i, got, high);
    }
}

__global__ void dot2(const __half2 *a, const __half2 *b, float *out, int n)
{
    __half2 sum = __float2half2_rn(0.0f);
    for (int i = threadIdx.x; i < n; i += 32)
        sum = __hfma2(a[i], b[i], sum);
    float f = __low2float(sum) + __high2float(sum);
    for (int d = 16; d; d >>= 1)
        f += __shfl_xor_sync(~0u, f, d);
    if (threadIdx.x == 0)
        *out = f;
}

__global__ void brain(const float *in, unsigned short *out, float *back, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        __nv_bfloat16 b = __float2bfloat16(in[i]);
        out[i] = __bfloat16_as_ushort(b);
        back[i] = __bfloat162float(b * __float2bfloat16(2.0f));
    }
}

/* Products of floats, and quotients, which end in a product, have zeros of either sign as halves too; 0 - 0 is +0. */
__global__ void narrow(const float *in, unsigned short *out, unsigned *below, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        __half h = __float2half_rn(in[2 * i]);
        out[2 * i] = __half_as_ushort(__float2half_rn(__half2float(h) * in[2 * i + 1]));
        out[2 * i + 1] = __half_as_ushort(h / __float2half_rn(in[2 * i + 1]));
        below[2 * i] = __float_as_uint((0.0f - in[2 * i]) * in[2 * i + 1]);
        below[2 * i + 1] = __half_as_ushort(__hmul(__hsub(__ushort_as_half(0), h), __float2half_rn(in[2 * i + 1])));
    }
}

static void check_narrow()
{
    const float values[] = {0.0f, -0.0f, 3.0f, -7.0f, 1e-30f, -1e-30f, 0.5f, -2.0f};
    const int n = 64;
    std::vector<float> in(2 * n);
    std::vector<unsigned short> out(2 * n);
    std::vector<unsigned> below(2 * n);
    for (int i = 0; i < n; i++)
        in[2 * i] = values[i / 8], in[2 * i + 1] = values[i % 8];
    Dev<float> din(in.data(), 2 * n);
    Dev<unsigned short> dout(2 * n);
    Dev<unsigned> dbelow(2 * n);
    narrow<<<1, n>>>(din, dout, dbelow, n);
    CHECK_LAUNCH();
    dout.get(out.data());
    dbelow.get(below.data());
    for (int i = 0; i < n; i++) {
        float a = half_to_float(half_rn(in[2 * i])), b = in[2 * i + 1], d = half_to_float(half_rn(b));
        EXPECT(out[2 * i] == half_rn(a * b), "%a * %a = %04x, expected %04x", a, b, out[2 * i], half_rn(a * b));
        EXPECT(below[2 * i] == bits_of((0.0f - in[2 * i]) * b), "(0 - %a) * %a = %08x", in[2 * i], b, below[2 * i]);
        EXPECT(below[2 * i + 1] == half_rn((0.0f - a) * d), "half (0 - %a) * %a = %04x", a, d, below[2 * i + 1]);
        if (d != 0)
            EXPECT(out[2 * i + 1] == half_rn(a / d), "%a / %a = %04x, expected %04x", a, d, out[2 * i + 1], half_rn(a / d));
    }
}

static void check_convert()
{
    std::vector<float> in = {0.0f, -0.0f, 1.0f, 65504.0f, 65519.0f, 65520.0f, 1e6f, 6.1e-5f, 5.96e-8f, 2.98e-8f, 2.9802323e-8f,
                             -1e-7f, INFINITY, -INFINITY, 1.00048828125f, 1.00146484375f, 0.1f};
    Rng rng(24);
    for (int i = 0; i < 2000; i++)
        in.push_back(float_of(0x33000000u + rng.below(0x15000000u)) * (i & 1 ? 1 : -1));
    int n = (int)in.size();
    Dev<float> d(in.data(), n), dback(n);
    Dev<unsigned short> drn(n), drz(n);
    std::vector<unsigned short> rn(n), rz(n);
    std::vector<float> back(n);
    convert<<<(n + 63) / 64, 64>>>(d, drn, drz, dback, n);
    CHECK_LAUNCH();
    drn.get(rn.data());
    drz.get(rz.data());
    dback.get(back.data());
    for (int i = 0; i < n; i++) {
        uint16_t want = half_rn(in[i]), zero = want;
        if (std::isfinite(in[i]) && fabsf(half_to_float(want)) > fabsf(in[i]))
            zero = (uint16_t)(want - 1);
        EXPECT(rn[i] == want, "rn(%a) = %04x, expected %04x", in[i], rn[i], want);
        EXPECT(rz[i] == zero, "rz(%a) = %04x, expected %04x", in[i], rz[i], zero);
        EXPECT(back[i] == half_to_float(want), "back(%a) = %a", in[i], back[i]);
    }
}

static void check_arithmetic()
{
    const int n = 2000;
    Rng rng(25);
    std::vector<unsigned short> in(2 * n), out(5 * n);
    std::vector<int> flags(n);
    for (int i = 0; i < 2 * n; i++)
        in[i] = (unsigned short)(rng.below(0x4000) + 0x2000 + (rng.below(2) << 15));
    in[0] = 0x7e00, in[2] = in[3] = 0x3c00, in[4] = 0x0000, in[5] = 0x8000, in[6] = 0x0001, in[7] = 0x3800;
    Dev<unsigned short> din(in.data(), 2 * n), dout(5 * n);
    Dev<int> df(n);
    arithmetic<<<(n + 95) / 96, 96>>>(din, dout, df, n);
    CHECK_LAUNCH();
    dout.get(out.data());
    df.get(flags.data());
    for (int i = 0; i < n; i++) {
        float a = half_to_float(in[2 * i]), b = half_to_float(in[2 * i + 1]);
        int want_flags = (a < b) | (a == b) << 1 | (a > b) << 2 | (a != a) << 3;
        EXPECT(flags[i] == want_flags, "compare %a %a: %x, expected %x", a, b, flags[i], want_flags);
        if (a != a)
            continue;
        /* Exact in double; one rounding to float cannot move a value off or onto a half tie unless inexact, so go by halves. */
        double exact[4] = {(double)a + b, (double)a * b, (double)a * b + a, (double)a - b};
        for (int k = 0; k < 4; k++) {
            float f = (float)exact[k];
            /* Round to odd in float, so that the second rounding to half is right. */
            if ((double)f != exact[k] && !(bits_of(f) & 1))
                f = nextafterf(f, exact[k] > (double)f ? INFINITY : -INFINITY);
            uint16_t want = half_rn(f);
            EXPECT(out[5 * i + k] == want, "op %d of %a %a: %04x, expected %04x", k, a, b, out[5 * i + k], want);
        }
        EXPECT(out[5 * i + 4] == (in[2 * i] ^ 0x8000), "neg %04x: %04x", in[2 * i], out[5 * i + 4]);
    }
}

int main()
{
    check_convert();
    check_arithmetic();
    check_narrow();
    check_three();

    const int n = 512;
    std::vector<unsigned> a(n), b(n);
    double want = 0;
    for (int i = 0; i < n; i++) {
        float lo = (float)(i % 5) * 0.25f, hi = (float)(i % 7) * 0.5f;
        a[i] = half_rn(lo) | (unsigned)half_rn(hi) << 16;
        b[i] = half_rn(0.5f) | (unsigned)half_rn(-1.0f) << 16;
        want += lo * 0.5 - hi;
    }
    Dev<unsigned> da(a.data(), n), db(b.data(), n);
    Dev<float> dd(1);
    float dot;
    dot2<<<1, 32>>>((const __half2 *)da.ptr, (const __half2 *)db.ptr, dd, n);
    CHECK_LAUNCH();
    dd.get(&dot);
    EXPECT(dot == (float)want, "dot %g, expected %g", dot, want);

    std::vector<float> in(600), back(600);
    std::vector<unsigned short> bf(600);
    Rng rng(26);
    for (float &f : in)
        f = (float)rng.range(-1e5, 1e5);
    in[0] = 0, in[1] = 1.00390625f, in[2] = 1.01171875f;
    Dev<float> din(in.data(), 600), dback(600);
    Dev<unsigned short> dbf(600);
    brain<<<5, 128>>>(din, dbf, dback, 600);
    CHECK_LAUNCH();
    dbf.get(bf.data());
    dback.get(back.data());
    for (int i = 0; i < 600; i++) {
        uint32_t u = bits_of(in[i]);
        uint16_t w = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
        EXPECT(bf[i] == w && back[i] == 2 * float_of((uint32_t)w << 16), "bf16 %g: %04x %g, expected %04x", in[i], bf[i],
               back[i], w);
    }
    return check_done();
}
