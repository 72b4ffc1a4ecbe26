// Float mathematics against double on the processor, within the errors CUDA documents: library functions, intrinsics with
// directed rounding (checked by their defining property), fast intrinsics, division and square root, special values.
// bytes: vary, approximate functions are only bounded
// variants: shared static ptx debug rdc O0
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

/* name, device expression, reference in double (xf: the float itself), argument range, allowed error: as CUDA's
 * documentation counts it, units in the last place from the correctly rounded result */
#define UNARY(F)                                                                              \
    F(sinf, sinf(x), sin(x), -1000, 1000, 2)                                                  \
    F(sinf_large, sinf(x * 1e6f), sin((double)(xf * 1e6f)), -1000, 1000, 2)                    \
    F(cosf, cosf(x), cos(x), -1000, 1000, 2)                                                  \
    F(tanf, tanf(x), tan(x), -100, 100, 4)                                                    \
    F(asinf, asinf(x), asin(x), -1, 1, 2)                                                     \
    F(acosf, acosf(x), acos(x), -1, 1, 2)                                                     \
    F(atanf, atanf(x), atan(x), -50, 50, 2)                                                   \
    F(sinhf, sinhf(x), sinh(x), -20, 20, 3)                                                   \
    F(coshf, coshf(x), cosh(x), -20, 20, 2)                                                   \
    F(tanhf, tanhf(x), tanh(x), -10, 10, 2)                                                   \
    F(asinhf, asinhf(x), asinh(x), -1000, 1000, 3)                                            \
    F(acoshf, acoshf(x), acosh(x), 1, 1000, 4)                                                \
    F(atanhf, atanhf(x), atanh(x), -0.999, 0.999, 3)                                          \
    F(expf, expf(x), exp(x), -87, 88, 2)                                                      \
    F(exp2f, exp2f(x), exp2(x), -126, 127, 2)                                                 \
    F(exp10f, exp10f(x), pow(10.0, x), -37, 38, 2)                                            \
    F(expm1f, expm1f(x), expm1(x), -10, 10, 1)                                                \
    F(logf, logf(x), log(x), 1e-6, 1e6, 1)                                                    \
    F(log2f, log2f(x), log2(x), 1e-6, 1e6, 1)                                                 \
    F(log10f, log10f(x), log10(x), 1e-6, 1e6, 2)                                              \
    F(log1pf, log1pf(x), log1p(x), -0.9, 100, 1)                                              \
    F(sqrtf, sqrtf(x), sqrt(x), 0, 1e10, 0)                                                 \
    F(rsqrtf, rsqrtf(x), 1 / sqrt(x), 1e-10, 1e10, 2)                                         \
    F(cbrtf, cbrtf(x), cbrt(x), -1e6, 1e6, 1)                                                 \
    F(erff, erff(x), erf(x), -4, 4, 2)                                                        \
    F(erfcf, erfcf(x), erfc(x), -4, 9, 4)                                                     \
    F(tgammaf, tgammaf(x), tgamma(x), 0.5, 30, 11)                                            \
    F(lgammaf, lgammaf(x), lgamma(x), 3, 1000, 6)                                             \
    F(reciprocal, 1.0f / x, 1.0 / x, 0.001, 1000, 0)                                        \
    F(floorf, floorf(x), floor(x), -1000, 1000, 0)                                            \
    F(rintf, rintf(x), rint(x), -1000, 1000, 0)                                               \
    F(roundf, roundf(x), round(x), -1000, 1000, 0)                                            \
    F(truncf, truncf(x), trunc(x), -1000, 1000, 0)                                            \
    F(ceilf, ceilf(x), ceil(x), -1000, 1000, 0)                                               \
    F(expf_fast, __expf(x), exp(x), -1, 1, 4)                                                 \
    F(logf_fast, __logf(x), log(x), 2, 1e6, 3)                                                \
    F(fast_rcp, __frcp_rn(x), 1.0 / x, 0.001, 1000, 0)                                      \
    F(fast_sqrt, __fsqrt_rn(x), sqrt(x), 0, 1e10, 0)

#define BINARY(F)                                                                             \
    F(powf, powf(x, y), pow(x, y), 0.01, 100, -8, 8, 9)                                       \
    F(powf_neg, powf(-x, rintf(y)), pow(-(double)x, rint(y)), 0.1, 10, -8, 8, 9)              \
    F(divide, x / y, (double)x / y, -1e5, 1e5, 0.1, 1e5, 0)                                 \
    F(fdividef, __fdividef(x, y), (double)x / y, -1e5, 1e5, 0.1, 1e5, 2)                      \
    F(atan2f, atan2f(x, y), atan2(x, y), -10, 10, -10, 10, 3)                                 \
    F(hypotf, hypotf(x, y), hypot(x, y), -1e5, 1e5, -1e5, 1e5, 3)                             \
    F(fmodf, fmodf(x, y), fmod(x, y), -1e5, 1e5, 0.1, 10, 0)                                  \
    F(remainderf, remainderf(x, y), remainder(x, y), -1e5, 1e5, 0.1, 10, 0)                   \
    F(fmaxf, fmaxf(x, y), fmax(x, y), -1, 1, -1, 1, 0)                                        \
    F(fminf, fminf(x, y), fmin(x, y), -1, 1, -1, 1, 0)                                        \
    F(fdimf, fdimf(x, y), fdim(x, y), -1, 1, -1, 1, 0)                                      \
    F(copysignf, copysignf(x, y), copysign(x, y), -1, 1, -1, 1, 0)                            \
    F(fmaf, fmaf(x, y, x), (double)x * y + x, -100, 100, -100, 100, 0)                     \
    F(add_mul, __fadd_rn(__fmul_rn(x, y), 1.0f), (double)(float)((double)x * y) + 1.0, -100, 100, -100, 100, 0)

#define UNARY_ID(name, dev, ref, lo, hi, ulp) U_##name,
#define BINARY_ID(name, dev, ref, lo, hi, ylo, yhi, ulp) B_##name,
enum { UNARY(UNARY_ID) UNARY_COUNT };
enum { BINARY(BINARY_ID) BINARY_COUNT };
enum { N = 512 };

__global__ void unary(const float *in, float *out)
{
    int i = threadIdx.x + blockIdx.y * blockDim.x;
    float x = in[blockIdx.x * N + i], r = 0;
    switch (blockIdx.x) {
#define UNARY_CASE(name, dev, ref, lo, hi, ulp) \
    case U_##name: r = dev; break;
        UNARY(UNARY_CASE)
    }
    out[blockIdx.x * N + i] = r;
}

__global__ void binary(const float *in, float *out)
{
    int i = threadIdx.x + blockIdx.y * blockDim.x;
    float x = in[blockIdx.x * 2 * N + i], y = in[(blockIdx.x * 2 + 1) * N + i], r = 0;
    switch (blockIdx.x) {
#define BINARY_CASE(name, dev, ref, lo, hi, ylo, yhi, ulp) \
    case B_##name: r = dev; break;
        BINARY(BINARY_CASE)
    }
    out[blockIdx.x * N + i] = r;
}

static double ulps(float got, double exact)
{
    float want = (float)exact;
    if (got != got || want != want)
        return got != got && want != want ? 0 : 1e9;
    if (got == want)
        return 0;
    if (std::isinf(got) || std::isinf(want))
        return 1e9;
    int e = want == 0 ? -149 : ilogb(want) - 23;
    return fabs((double)got - want) / ldexp(1.0, e < -149 ? -149 : e);
}

static void check_unary()
{
    std::vector<float> in(UNARY_COUNT * N), out(in.size());
    static const double lo[] = {
#define UNARY_LO(name, dev, ref, l, h, ulp) l,
        UNARY(UNARY_LO)};
    static const double hi[] = {
#define UNARY_HI(name, dev, ref, l, h, ulp) h,
        UNARY(UNARY_HI)};
    Rng rng(40);
    for (int f = 0; f < UNARY_COUNT; f++)
        for (int i = 0; i < N; i++)
            in[f * N + i] = (float)rng.range(lo[f], hi[f]);
    Dev<float> di(in.data(), in.size()), d(out.size());
    unary<<<dim3(UNARY_COUNT, N / 64), 64>>>(di, d);
    CHECK_LAUNCH();
    d.get(out.data());
    for (int f = 0; f < UNARY_COUNT; f++)
        for (int i = 0; i < N; i++) {
            float xf = in[f * N + i], got = out[f * N + i];
            double x = xf, want = 0, allowed = 0;
            const char *what = "";
            switch (f) {
#define UNARY_REF(name, dev, ref, l, h, ulp) \
    case U_##name: want = ref, allowed = ulp, what = #name; break;
                UNARY(UNARY_REF)
            }
            EXPECT(ulps(got, want) <= allowed, "%s(%a) = %a, expected %a: %.2f ulp", what, x, got, want, ulps(got, want));
        }
}

static void check_binary()
{
    std::vector<float> in(BINARY_COUNT * 2 * N), out(BINARY_COUNT * N);
    static const double range[][4] = {
#define BINARY_RANGE(name, dev, ref, l, h, yl, yh, ulp) {l, h, yl, yh},
        BINARY(BINARY_RANGE)};
    Rng rng(41);
    for (int f = 0; f < BINARY_COUNT; f++)
        for (int i = 0; i < N; i++) {
            in[f * 2 * N + i] = (float)rng.range(range[f][0], range[f][1]);
            in[(f * 2 + 1) * N + i] = (float)rng.range(range[f][2], range[f][3]);
        }
    Dev<float> di(in.data(), in.size()), d(out.size());
    binary<<<dim3(BINARY_COUNT, N / 64), 64>>>(di, d);
    CHECK_LAUNCH();
    d.get(out.data());
    for (int f = 0; f < BINARY_COUNT; f++)
        for (int i = 0; i < N; i++) {
            double x = in[f * 2 * N + i], y = in[(f * 2 + 1) * N + i], want = 0, allowed = 0;
            float got = out[f * N + i];
            const char *what = "";
            switch (f) {
#define BINARY_REF(name, dev, ref, l, h, yl, yh, ulp) \
    case B_##name: want = ref, allowed = ulp, what = #name; break;
                BINARY(BINARY_REF)
            }
            EXPECT(ulps(got, want) <= allowed, "%s(%a, %a) = %a, expected %a: %.2f ulp", what, x, y, got, want,
                   ulps(got, want));
        }
}

enum { DIRECTED = 20 };
__global__ void directed(const float *in, float *out)
{
    int i = threadIdx.x;
    float x = in[2 * i], y = in[2 * i + 1], *o = out + i * DIRECTED;
    o[0] = __fadd_rn(x, y), o[1] = __fadd_rz(x, y), o[2] = __fadd_rd(x, y), o[3] = __fadd_ru(x, y);
    o[4] = __fmul_rn(x, y), o[5] = __fmul_rz(x, y), o[6] = __fmul_rd(x, y), o[7] = __fmul_ru(x, y);
    o[8] = __fdiv_rn(x, y), o[9] = __fdiv_rz(x, y), o[10] = __fdiv_rd(x, y), o[11] = __fdiv_ru(x, y);
    o[12] = __fsqrt_rn(fabsf(x)), o[13] = __fsqrt_rz(fabsf(x)), o[14] = __fsqrt_rd(fabsf(x)), o[15] = __fsqrt_ru(fabsf(x));
    o[16] = __fmaf_rn(x, y, y), o[17] = __fmaf_rz(x, y, y), o[18] = __fmaf_rd(x, y, y), o[19] = __fmaf_ru(x, y, y);
}

/* Sign of (r - exact), exact being the true result of operation `op`; long double holds every product exactly. */
static int side(int op, float r, float x, float y)
{
    long double d;
    switch (op) {
    case 0: d = (long double)r - ((long double)x + y); break;
    case 1: d = (long double)r - (long double)x * y; break;
    case 2: d = ((long double)r * y - x) * (y < 0 ? -1 : 1); break;
    case 3: d = (long double)r * r - fabsf(x); break;
    default: d = (long double)r - ((long double)x * y + y); break;
    }
    return d > 0 ? 1 : d < 0 ? -1 : 0;
}

static void check_directed()
{
    const int n = 256;
    std::vector<float> in(2 * n), out(n * DIRECTED);
    Rng rng(42);
    for (float &v : in)
        v = (float)(rng.range(0.1, 100) * (rng.below(2) ? 1 : -1));
    Dev<float> di(in.data(), in.size()), d(out.size());
    directed<<<1, n>>>(di, d);
    CHECK_LAUNCH();
    d.get(out.data());
    for (int i = 0; i < n; i++)
        for (int op = 0; op < 5; op++) {
            float x = in[2 * i], y = in[2 * i + 1], *o = &out[i * DIRECTED + op * 4];
            bool down = side(op, o[2], x, y) <= 0 && (side(op, nextafterf(o[2], INFINITY), x, y) > 0);
            bool up = side(op, o[3], x, y) >= 0 && (side(op, nextafterf(o[3], -INFINITY), x, y) < 0);
            bool zero = o[1] == (fabsf(o[2]) < fabsf(o[3]) ? o[2] : o[3]), near = o[0] == o[2] || o[0] == o[3];
            EXPECT(down && up && zero && near, "op %d of %a %a: rn %a rz %a rd %a ru %a", op, x, y, o[0], o[1], o[2], o[3]);
        }
}

/* Absolute bounds, and special values. */
__global__ void fast_and_special(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    float x = in[i];
    out[i] = __sinf(x);
    out[n + i] = __cosf(x);
    float s, c;
    sincosf(x, &s, &c);
    out[2 * n + i] = s;
    out[3 * n + i] = c;
    __sincosf(x, &s, &c);
    out[4 * n + i] = s - c;
    out[5 * n + i] = __saturatef(x);
    int e;
    float m = frexpf(x, &e);
    out[6 * n + i] = ldexpf(m, e);
    float whole, fraction = modff(x, &whole);
    out[7 * n + i] = whole + fraction;
    out[8 * n + i] = __powf(fabsf(x) + 0.5f, 2.0f);
}

__global__ void special(float *out, float zero, float inf, float nan)
{
    out[0] = sqrtf(-1.0f + zero), out[1] = 1.0f / zero, out[2] = -1.0f / zero, out[3] = zero / zero;
    out[4] = expf(inf), out[5] = expf(-inf), out[6] = logf(zero), out[7] = logf(-1.0f + zero);
    out[8] = fmaxf(nan, 3.0f), out[9] = fminf(2.0f, nan), out[10] = sinf(inf), out[11] = powf(zero, 0.0f);
    out[12] = powf(nan, 0.0f), out[13] = atan2f(zero, -1.0f), out[14] = inf - inf, out[15] = fabsf(-inf);
    out[16] = 1e-30f * (1e-12f + zero), out[17] = !!isnan(nan) + 2 * !!isinf(inf) + 4 * !!signbit(-zero) + 8 * !!isfinite(inf);
    out[18] = rsqrtf(zero), out[19] = tanhf(inf);
}

static void check_fast_and_special()
{
    const int n = 256;
    float in[n], out[9 * n], sp[20];
    Rng rng(43);
    for (float &v : in)
        v = (float)rng.range(-M_PI, M_PI);
    Dev<float> di(in, n), d(9 * n), ds(20);
    fast_and_special<<<1, n>>>(di, d, n);
    special<<<1, 1>>>(ds, 0.0f, INFINITY, NAN);
    CHECK_LAUNCH();
    d.get(out);
    ds.get(sp);
    const double sin_bound = exp2(-21.41), cos_bound = exp2(-21.19);
    for (int i = 0; i < n; i++) {
        double x = in[i];
        EXPECT(fabs(out[i] - sin(x)) <= sin_bound, "__sinf(%a) = %a", x, out[i]);
        EXPECT(fabs(out[n + i] - cos(x)) <= cos_bound, "__cosf(%a) = %a", x, out[n + i]);
        EXPECT(ulps(out[2 * n + i], sin(x)) <= 2 && ulps(out[3 * n + i], cos(x)) <= 2, "sincosf(%a)", x);
        EXPECT(fabs(out[4 * n + i] - (sin(x) - cos(x))) <= sin_bound + cos_bound + 1e-7, "__sincosf(%a)", x);
        EXPECT(out[5 * n + i] == (x < 0 ? 0 : x > 1 ? 1 : in[i]), "__saturatef(%a) = %a", x, out[5 * n + i]);
        EXPECT(out[6 * n + i] == in[i] && out[7 * n + i] == in[i], "frexpf or modff of %a: %a %a", x, out[6 * n + i],
               out[7 * n + i]);
        double p = pow((double)(fabsf(in[i]) + 0.5f), 2);
        EXPECT(fabs(out[8 * n + i] - p) <= 1e-5 * p, "__powf(%a) = %a", x, out[8 * n + i]);
    }
    const float want[20] = {NAN, INFINITY, -INFINITY, NAN, INFINITY, 0, -INFINITY, NAN, 3, 2, NAN, 1, 1, (float)M_PI, NAN,
                            INFINITY, 1e-30f * 1e-12f, 7, INFINITY, 1};
    for (int i = 0; i < 20; i++)
        EXPECT(sp[i] == want[i] || (sp[i] != sp[i] && want[i] != want[i]), "special %d: %a, expected %a", i, sp[i], want[i]);
}

/* Of the block's own pair, the same for all threads, and of all that come before: so much is one number on a processor, not a
 * vector. */
template <typename T> __global__ void extremes_of_block(const T *x, const T *y, T *out)
{
    T most = -(T)INFINITY, least = (T)INFINITY, *o = out + 4 * blockIdx.x;

    for (unsigned i = 0; i <= blockIdx.x; i++) {
        most = max(most, x[i]);
        least = min(least, x[i]);
    }
    o[0] = max(x[blockIdx.x], y[blockIdx.x]), o[1] = min(x[blockIdx.x], y[blockIdx.x]), o[2] = most, o[3] = least;
}

template <typename T> __global__ void extremes_of_thread(const T *x, const T *y, T *out)
{
    int i = threadIdx.x;
    out[2 * i] = max(x[i], y[i]), out[2 * i + 1] = min(x[i], y[i]);
}

/* The number where one is a NaN, and -0 below +0. */
template <typename T> static T extreme(bool largest, T x, T y)
{
    bool first = x == y ? signbit(x) != largest : (x > y) == largest;
    return x != x ? y : y != y ? x : first ? x : y;
}

template <typename T> static bool same(T x, T y) { return x != x ? y != y : x == y && signbit(x) == signbit(y); }

template <typename T> static void check_extremes()
{
    const T some[] = {-1, -0.0f, 0, (T)NAN, (T)INFINITY, 1, -(T)INFINITY, (T)1e-40};
    const int k = 8, n = k * k;
    T x[n], y[n], of_block[4 * n], of_thread[2 * n];
    for (int i = 0; i < n; i++)
        x[i] = some[i / k], y[i] = some[i % k];
    Dev<T> dx(x, n), dy(y, n), db(4 * n), dt(2 * n);
    extremes_of_block<T><<<n, 32>>>(dx, dy, db);
    extremes_of_thread<T><<<1, n>>>(dx, dy, dt);
    CHECK_LAUNCH();
    db.get(of_block);
    dt.get(of_thread);
    T most[2] = {(T)INFINITY, -(T)INFINITY};
    for (int i = 0; i < n; i++)
        for (int largest = 0; largest < 2; largest++) {
            T want = extreme(largest, x[i], y[i]);
            most[largest] = extreme(largest, most[largest], x[i]);
            EXPECT(same(of_block[4 * i + !largest], want) && same(of_thread[2 * i + !largest], want),
                   "extreme %d of %a and %a: %a %a", largest, x[i], y[i], of_block[4 * i + !largest],
                   of_thread[2 * i + !largest]);
            EXPECT(same(of_block[4 * i + 2 + !largest], most[largest]), "extreme %d so far, of %d: %a", largest, i,
                   of_block[4 * i + 2 + !largest]);
        }
}

int main()
{
    check_extremes<float>();
    check_extremes<double>();
    check_unary();
    check_binary();
    check_directed();
    check_fast_and_special();
    return check_done();
}
