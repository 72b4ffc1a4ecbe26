// Double mathematics against long double on the processor, within the errors CUDA documents; directed rounding by its defining
// property; conversions between double, float and integers with every rounding and at the edges.
// variants: shared static ptx debug rdc O0
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <climits>
#include <vector>

/* name, device expression, reference in long double (x and y exact), argument ranges, allowed error: as
 * CUDA's documentation counts it, units in the last place from the correctly rounded result */
#define FUNCTIONS(F)                                                              \
    F(sin, sin(x), sinl(x), -1000, 1000, 0, 1, 2)                                 \
    F(cos, cos(x), cosl(x), -1000, 1000, 0, 1, 2)                                 \
    F(tan, tan(x), tanl(x), -100, 100, 0, 1, 2)                                   \
    F(sin_large, sin(x), sinl(x), 1e14, 1e15, 0, 1, 2)                            \
    F(asin, asin(x), asinl(x), -1, 1, 0, 1, 2)                                    \
    F(acos, acos(x), acosl(x), -1, 1, 0, 1, 2)                                    \
    F(atan, atan(x), atanl(x), -50, 50, 0, 1, 2)                                  \
    F(atan2, atan2(x, y), atan2l(x, y), -10, 10, -10, 10, 2)                      \
    F(sinh, sinh(x), sinhl(x), -20, 20, 0, 1, 2)                                  \
    F(cosh, cosh(x), coshl(x), -20, 20, 0, 1, 1)                                  \
    F(tanh, tanh(x), tanhl(x), -10, 10, 0, 1, 1)                                  \
    F(asinh, asinh(x), asinhl(x), -1000, 1000, 0, 1, 3)                           \
    F(acosh, acosh(x), acoshl(x), 1, 1000, 0, 1, 3)                               \
    F(atanh, atanh(x), atanhl(x), -0.999, 0.999, 0, 1, 2)                         \
    F(exp, exp(x), expl(x), -700, 700, 0, 1, 1)                                   \
    F(exp2, exp2(x), exp2l(x), -1000, 1000, 0, 1, 1)                              \
    F(expm1, expm1(x), expm1l(x), -10, 10, 0, 1, 1)                               \
    F(log, log(x), logl(x), 1e-9, 1e9, 0, 1, 1)                                   \
    F(log_near_one, log(x), logl(x), 0.9, 1.1, 0, 1, 1)                           \
    F(log2, log2(x), log2l(x), 1e-9, 1e9, 0, 1, 1)                                \
    F(log10, log10(x), log10l(x), 1e-9, 1e9, 0, 1, 1)                             \
    F(log1p, log1p(x), log1pl(x), -0.9, 100, 0, 1, 1)                             \
    F(pow, pow(x, y), powl(x, y), 0.01, 100, -30, 30, 2)                          \
    F(sqrt, sqrt(x), sqrtl(x), 0, 1e10, 0, 1, 0)                              \
    F(rsqrt, rsqrt(x), 1 / sqrtl(x), 1e-10, 1e10, 0, 1, 1)                        \
    F(cbrt, cbrt(x), cbrtl(x), -1e6, 1e6, 0, 1, 1)                                \
    F(hypot, hypot(x, y), hypotl(x, y), -1e5, 1e5, -1e5, 1e5, 2)                  \
    F(erf, erf(x), erfl(x), -4, 4, 0, 1, 2)                                       \
    F(erfc, erfc(x), erfcl(x), -4, 20, 0, 1, 5)                                   \
    F(tgamma, tgamma(x), tgammal(x), 0.5, 100, 0, 1, 10)                          \
    F(lgamma, lgamma(x), lgammal(x), 3, 1000, 0, 1, 4)                            \
    F(divide, x / y, (long double)x / y, -1e5, 1e5, 0.1, 1e5, 0)              \
    F(reciprocal, 1.0 / x, 1.0L / x, 0.001, 1000, 0, 1, 0)                    \
    F(fma, fma(x, y, x), (long double)x * y + x, -100, 100, -100, 100, 0)      \
    F(fmod, fmod(x, y), fmodl(x, y), -1e5, 1e5, 0.1, 10, 0)                       \
    F(remainder, remainder(x, y), remainderl(x, y), -1e5, 1e5, 0.1, 10, 0)        \
    F(floor, floor(x), floorl(x), -1000, 1000, 0, 1, 0)                           \
    F(ceil, ceil(x), ceill(x), -1000, 1000, 0, 1, 0)                              \
    F(rint, rint(x), rintl(x), -1000, 1000, 0, 1, 0)                              \
    F(round, round(x), roundl(x), -1000, 1000, 0, 1, 0)                           \
    F(trunc, trunc(x), truncl(x), -1000, 1000, 0, 1, 0)                           \
    F(fmax, fmax(x, y), fmaxl(x, y), -1, 1, -1, 1, 0)

#define FUNCTION_ID(name, dev, ref, l, h, yl, yh, ulp) F_##name,
enum { FUNCTIONS(FUNCTION_ID) FUNCTION_COUNT };
enum { N = 256 };

__global__ void evaluate(const double *in, double *out)
{
    int i = threadIdx.x + blockIdx.y * blockDim.x;
    double x = in[blockIdx.x * 2 * N + i], y = in[(blockIdx.x * 2 + 1) * N + i], r = 0;
    switch (blockIdx.x) {
#define FUNCTION_CASE(name, dev, ref, l, h, yl, yh, ulp) \
    case F_##name: r = dev; break;
        FUNCTIONS(FUNCTION_CASE)
    }
    out[blockIdx.x * N + i] = r;
}

static double ulps(double got, long double exact)
{
    double want = (double)exact;
    if (got != got || want != want)
        return got != got && want != want ? 0 : 1e9;
    if (got == want)
        return 0;
    if (std::isinf(got) || std::isinf(want))
        return 1e9;
    int e = want == 0 ? -1074 : ilogb(want) - 52;
    return (double)(fabsl((long double)got - want) / ldexpl(1.0L, e < -1074 ? -1074 : e));
}

static void check_functions()
{
    std::vector<double> in(FUNCTION_COUNT * 2 * N), out(FUNCTION_COUNT * N);
    static const double range[][4] = {
#define FUNCTION_RANGE(name, dev, ref, l, h, yl, yh, ulp) {l, h, yl, yh},
        FUNCTIONS(FUNCTION_RANGE)};
    Rng rng(44);
    for (int f = 0; f < FUNCTION_COUNT; f++)
        for (int i = 0; i < N; i++) {
            in[f * 2 * N + i] = rng.range(range[f][0], range[f][1]);
            in[(f * 2 + 1) * N + i] = rng.range(range[f][2], range[f][3]);
        }
    Dev<double> di(in.data(), in.size()), d(out.size());
    evaluate<<<dim3(FUNCTION_COUNT, N / 64), 64>>>(di, d);
    CHECK_LAUNCH();
    d.get(out.data());
    for (int f = 0; f < FUNCTION_COUNT; f++)
        for (int i = 0; i < N; i++) {
            double xd = in[f * 2 * N + i], yd = in[(f * 2 + 1) * N + i], got = out[f * N + i], allowed = 0;
            long double x = xd, y = yd, want = 0;
            const char *what = "";
            switch (f) {
#define FUNCTION_REF(name, dev, ref, l, h, yl, yh, ulp) \
    case F_##name: want = ref, allowed = ulp, what = #name; break;
                FUNCTIONS(FUNCTION_REF)
            }
            EXPECT(ulps(got, want) <= allowed, "%s(%a, %a) = %a, expected %La: %.2f ulp", what, xd, yd, got, want,
                   ulps(got, want));
        }
}

enum { DIRECTED = 16 };
__global__ void directed(const double *in, double *out)
{
    int i = threadIdx.x;
    double x = in[2 * i], y = in[2 * i + 1], *o = out + i * DIRECTED;
    o[0] = __dadd_rn(x, y), o[1] = __dadd_rz(x, y), o[2] = __dadd_rd(x, y), o[3] = __dadd_ru(x, y);
    o[4] = __dmul_rn(x, y), o[5] = __dmul_rz(x, y), o[6] = __dmul_rd(x, y), o[7] = __dmul_ru(x, y);
    o[8] = __ddiv_rn(x, y), o[9] = __ddiv_rz(x, y), o[10] = __ddiv_rd(x, y), o[11] = __ddiv_ru(x, y);
    o[12] = __dsqrt_rn(fabs(x)), o[13] = __dsqrt_rz(fabs(x)), o[14] = __dsqrt_rd(fabs(x)), o[15] = __dsqrt_ru(fabs(x));
}

/* Sign of (r - exact) by way of fma, which gives the sign of a residual exactly here. */
static int side(int op, double r, double x, double y)
{
    double d;
    switch (op) {
    case 0: {
        long double e = (long double)x + y;
        return (long double)r > e ? 1 : (long double)r < e ? -1 : 0;
    }
    case 1: d = -std::fma(x, y, -r); break;
    case 2: d = std::fma(r, y, -x) * (y < 0 ? -1 : 1); break;
    default: d = std::fma(r, r, -fabs(x)); break;
    }
    return d > 0 ? 1 : d < 0 ? -1 : 0;
}

static void check_directed()
{
    const int n = 256;
    std::vector<double> in(2 * n), out(n * DIRECTED);
    Rng rng(45);
    for (double &v : in)
        v = rng.range(0.1, 100) * (rng.below(2) ? 1 : -1);
    Dev<double> di(in.data(), in.size()), d(out.size());
    directed<<<1, n>>>(di, d);
    CHECK_LAUNCH();
    d.get(out.data());
    for (int i = 0; i < n; i++)
        for (int op = 0; op < 4; op++) {
            double x = in[2 * i], y = in[2 * i + 1], *o = &out[i * DIRECTED + op * 4];
            bool down = side(op, o[2], x, y) <= 0 && side(op, nextafter(o[2], INFINITY), x, y) > 0;
            bool up = side(op, o[3], x, y) >= 0 && side(op, nextafter(o[3], -INFINITY), x, y) < 0;
            bool zero = o[1] == (fabs(o[2]) < fabs(o[3]) ? o[2] : o[3]), near = o[0] == o[2] || o[0] == o[3];
            EXPECT(down && up && zero && near, "op %d of %a %a: rn %a rz %a rd %a ru %a", op, x, y, o[0], o[1], o[2], o[3]);
        }
}

struct Converted {
    int i[4];
    unsigned u;
    long long l[4];
    unsigned long long ul;
    float f[4];
    double from_int, from_unsigned, from_long, from_ulong;
    float from_long_f[4];
    short s;
    unsigned char b;
};

__global__ void convert(const double *in, const long long *ints, Converted *out)
{
    int t = threadIdx.x;
    double x = in[t];
    long long k = ints[t];
    Converted c;
    c.i[0] = __double2int_rn(x), c.i[1] = __double2int_rz(x), c.i[2] = __double2int_rd(x), c.i[3] = __double2int_ru(x);
    c.l[0] = __double2ll_rn(x), c.l[1] = __double2ll_rz(x), c.l[2] = __double2ll_rd(x), c.l[3] = __double2ll_ru(x);
    c.f[0] = __double2float_rn(x), c.f[1] = __double2float_rz(x), c.f[2] = __double2float_rd(x), c.f[3] = __double2float_ru(x);
    c.u = __double2uint_rz(x), c.ul = __double2ull_rz(x);
    c.from_int = (int)k, c.from_unsigned = (unsigned)k, c.from_long = (double)k, c.from_ulong = (double)(unsigned long long)k;
    c.from_long_f[0] = __ll2float_rn(k), c.from_long_f[1] = __ll2float_rz(k);
    c.from_long_f[2] = __ll2float_rd(k), c.from_long_f[3] = __ll2float_ru(k);
    c.s = (short)(int)fmin(fmax(x, -32768.0), 32767.0);
    c.b = (unsigned char)fmin(fmax(x, 0.0), 255.0);
    out[t] = c;
}

static long long clamp(long double v, long double lo, long double hi)
{
    return v != v ? 0 : v < lo ? (long long)lo : v > hi ? (long long)hi : (long long)v;
}

static void check_convert()
{
    std::vector<double> in = {0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 0.9999999, 2147483647.0, 2147483648.0, -2147483648.5,
                              -2147483650.0,
                              4294967295.5, 4294967296.0, 9.2e18, 9.3e18, -9.3e18, 1e300, -1e300, INFINITY, -INFINITY, 1e-320};
    std::vector<long long> ints = {0, 1, -1, INT_MAX, INT_MIN, LLONG_MAX, LLONG_MIN, 16777217, 16777219, -16777217, 1LL << 53,
                                   (1LL << 53) + 1, (1LL << 62) + (1LL << 38)};
    Rng rng(46);
    while (in.size() < 128)
        in.push_back(rng.range(-1, 1) * exp2((double)rng.below(70)));
    while (ints.size() < 128)
        ints.push_back((long long)(rng.u64() >> rng.below(63)) * (rng.below(2) ? 1 : -1));
    Dev<double> di(in.data(), 128);
    Dev<long long> dk(ints.data(), 128);
    Dev<Converted> d(128);
    std::vector<Converted> out(128);
    convert<<<1, 128>>>(di, dk, d);
    CHECK_LAUNCH();
    d.get(out.data());
    for (int t = 0; t < 128; t++) {
        double x = in[t];
        const Converted &c = out[t];
        const double rounded[4] = {rint(x), trunc(x), floor(x), ceil(x)};
        for (int m = 0; m < 4; m++) {
            EXPECT(c.i[m] == clamp(rounded[m], INT_MIN, INT_MAX), "int mode %d of %a: %d", m, x, c.i[m]);
            EXPECT(c.l[m] == clamp(rounded[m], (long double)LLONG_MIN, (long double)LLONG_MAX), "long mode %d of %a: %llx", m, x,
                   c.l[m]);
        }
        unsigned long long ul = x >= 18446744073709551616.0 ? ~0ull : x < 1 ? 0 : (unsigned long long)x;
        EXPECT(c.u == (unsigned)clamp(trunc(x), 0, 4294967295.0L) && c.ul == ul, "unsigned of %a: %x %llx", x, c.u, c.ul);
        EXPECT(c.f[0] == (float)x && (c.f[2] <= x && c.f[3] >= x) && (c.f[1] == (x < 0 ? c.f[3] : c.f[2])) &&
                   (c.f[2] == c.f[3] || nextafterf(c.f[2], INFINITY) == c.f[3]),
               "float of %a: %a %a %a %a", x, c.f[0], c.f[1], c.f[2], c.f[3]);
        long long k = ints[t];
        EXPECT(c.from_int == (double)(int)k && c.from_unsigned == (double)(unsigned)k && c.from_long == (double)k &&
                   c.from_ulong == (double)(unsigned long long)k, "from %lld: %a %a %a %a", k, c.from_int, c.from_unsigned,
               c.from_long, c.from_ulong);
        const float *g = c.from_long_f;
        EXPECT(g[0] == (float)k && (long double)g[2] <= k && (long double)g[3] >= k && g[1] == (k < 0 ? g[3] : g[2]) &&
                   (g[2] == g[3] || nextafterf(g[2], INFINITY) == g[3]),
               "float from %lld: %a %a %a %a", k, g[0], g[1], g[2], g[3]);
        EXPECT(c.s == (short)clamp(trunc(x), -32768, 32767) && c.b == (unsigned char)clamp(trunc(x), 0, 255),
               "narrow of %a: %d %d", x, c.s, c.b);
    }
}

/* Integers that become floating point and integers of another sign or size again: out of range they saturate as any others. */
__global__ void return_to_integers(const int *in, long long *out)
{
    int i = threadIdx.x, v = in[i];
    out[4 * i] = __double2uint_rz(rint((double)v));
    out[4 * i + 1] = __float2uint_rn((float)v);
    out[4 * i + 2] = __double2int_rn((double)(unsigned)v);
    out[4 * i + 3] = __float2int_rz((float)(unsigned)v);
}

static void check_return()
{
    const int in[] = {0, 1, -1, -4, 77, INT_MAX, INT_MIN, -771209358, 16777216}, n = sizeof in / sizeof *in;
    long long out[4 * n];
    Dev<int> din(in, n);
    Dev<long long> dout(4 * n);
    return_to_integers<<<1, n>>>(din, dout);
    CHECK_LAUNCH();
    dout.get(out);
    for (int i = 0; i < n; i++) {
        unsigned u = (unsigned)in[i];
        double positive = in[i] < 0 ? 0 : in[i], f = (float)positive, g = (float)u;
        const long long want[4] = {(long long)positive, (long long)(f), u > INT_MAX ? INT_MAX : (long long)u,
                                   g > INT_MAX ? INT_MAX : (long long)g};
        for (int k = 0; k < 4; k++)
            EXPECT(out[4 * i + k] == want[k], "%d, way %d: %lld, expected %lld", in[i], k, out[4 * i + k], want[k]);
    }
}

int main()
{
    check_functions();
    check_directed();
    check_convert();
    check_return();
    return check_done();
}
