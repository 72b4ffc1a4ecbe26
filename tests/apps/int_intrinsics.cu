// Integer intrinsics and arithmetic at the edges, against plain C on the processor: bit counting, reversal, byte permutation,
// high products, funnel shifts, dot products, saturation, averages, SIMD-in-a-word, division and shifts of every width.
// variants: shared static ptx debug rdc O0
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <climits>
#include <vector>

typedef unsigned long long U64;
typedef long long I64;

struct Out {
    int clz, clzll, popc, popcll, ffs, ffsll, mulhi, sad, hadd, rhadd, dp4a, udp4a, dp2a, mul24;
    unsigned brev, perm, umulhi, usad, fl, fr, flc, frc, vadd4, vabsdiff, bfe, bfi, umul24;
    U64 brevll, umul64hi, mad;
    I64 mul64hi;
    int div, rem, shl, shr, abs, min, max;
    unsigned udiv, urem, ushr, umin;
    I64 ldiv, lrem, lshr, labs_;
    U64 uldiv, ulrem, lshl;
    short sdiv, sadd, srem;
    unsigned char bmul, bshr, bsub;
};

__global__ void intrinsics(const unsigned *in, const U64 *win, Out *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = in[3 * t], b = in[3 * t + 1], c = in[3 * t + 2];
    U64 x = win[2 * t], y = win[2 * t + 1];
    Out o;
    memset(&o, 0, sizeof o);
    o.clz = __clz(a), o.clzll = __clzll(x), o.popc = __popc(a), o.popcll = __popcll(x), o.ffs = __ffs(a), o.ffsll = __ffsll(x);
    o.mulhi = __mulhi((int)a, (int)b), o.umulhi = __umulhi(a, b), o.mul64hi = __mul64hi(x, y), o.umul64hi = __umul64hi(x, y);
    o.sad = __sad((int)a, (int)b, c), o.usad = __usad(a, b, c), o.hadd = __hadd((int)a, (int)b),
    o.rhadd = __rhadd((int)a, (int)b);
    o.brev = __brev(a), o.brevll = __brevll(x), o.perm = __byte_perm(a, b, c);
    o.fl = __funnelshift_l(a, b, c), o.fr = __funnelshift_r(a, b, c);
    o.flc = __funnelshift_lc(a, b, c), o.frc = __funnelshift_rc(a, b, c);
    o.dp4a = __dp4a((int)a, (int)b, (int)c), o.udp4a = __dp4a(a, b, c), o.dp2a = __dp2a_lo((int)a, (int)b, (int)c);
    o.mul24 = __mul24((int)a, (int)b), o.umul24 = __umul24(a, b);
    o.vadd4 = __vadd4(a, b), o.vabsdiff = __vabsdiffu4(a, b);
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(o.bfe) : "r"(a), "r"(b & 63), "r"(c & 63));
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(o.bfi) : "r"(a), "r"(b), "r"(c & 63), "r"(c >> 8 & 63));
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(o.mad) : "r"(a), "r"(b), "l"(x));

    int sa = (int)a, sb = (int)b | 1;
    o.div = sa / sb, o.rem = sa % sb, o.udiv = a / (b | 1), o.urem = a % (b | 1);
    o.shl = sa << (c & 31), o.shr = sa >> (c & 31), o.ushr = a >> (c & 31);
    o.abs = abs(sa), o.min = min(sa, sb), o.max = max(sa, sb), o.umin = min(a, b);
    I64 sx = (I64)x, sy = (I64)y | 1;
    o.ldiv = sx / sy, o.lrem = sx % sy, o.uldiv = x / (y | 1), o.ulrem = x % (y | 1);
    o.lshr = sx >> (c & 63), o.lshl = x << (c & 63), o.labs_ = llabs(sx);
    short ha = (short)a, hb = (short)(b | 1);
    o.sdiv = ha / hb, o.sadd = ha + hb, o.srem = ha % hb;
    unsigned char ca = (unsigned char)a, cb = (unsigned char)b;
    o.bmul = ca * cb, o.bshr = ca >> (c & 7), o.bsub = ca - cb;
    out[t] = o;
}

static unsigned byte_of(unsigned v, int i) { return v >> (8 * i) & 255; }

static unsigned permute(unsigned a, unsigned b, unsigned s)
{
    U64 both = (U64)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        unsigned sel = s >> (4 * i) & 15, v = (unsigned)(both >> (8 * (sel & 7))) & 255;
        r |= v << (8 * i);
    }
    return r;
}

static unsigned extract(unsigned a, unsigned pos, unsigned len)
{
    U64 v = (U64)a >> pos;
    return (unsigned)(len >= 32 ? v : v & ((1ull << len) - 1));
}

static unsigned insert(unsigned a, unsigned b, unsigned pos, unsigned len)
{
    if (pos >= 32)
        return b;
    U64 mask = ((len >= 32 ? 0x100000000ull : 1ull << len) - 1) << pos;
    return (unsigned)((b & ~mask) | (((U64)a << pos) & mask));
}

static Out reference(unsigned a, unsigned b, unsigned c, U64 x, U64 y)
{
    Out o;
    memset(&o, 0, sizeof o);
    int sa = (int)a, sb = (int)b;
    o.clz = a ? __builtin_clz(a) : 32, o.clzll = x ? __builtin_clzll(x) : 64;
    o.popc = __builtin_popcount(a), o.popcll = __builtin_popcountll(x), o.ffs = __builtin_ffs(sa),
    o.ffsll = __builtin_ffsll((I64)x);
    o.mulhi = (int)((I64)sa * sb >> 32), o.umulhi = (unsigned)((U64)a * b >> 32);
    o.mul64hi = (I64)((__int128)(I64)x * (I64)y >> 64), o.umul64hi = (U64)((unsigned __int128)x * y >> 64);
    o.sad = (int)((sa > sb ? a - b : b - a) + c), o.usad = (a > b ? a - b : b - a) + c;
    o.hadd = (int)(((I64)sa + sb) >> 1), o.rhadd = (int)(((I64)sa + sb + 1) >> 1);
    for (int i = 0; i < 32; i++)
        o.brev |= (a >> i & 1) << (31 - i);
    for (int i = 0; i < 64; i++)
        o.brevll |= (x >> i & 1) << (63 - i);
    o.perm = permute(a, b, c);
    U64 both = (U64)b << 32 | a;
    unsigned wrap = c & 31, cap = c > 32 ? 32 : c;
    o.fl = (unsigned)((both << wrap) >> 32), o.fr = (unsigned)(both >> wrap);
    o.flc = (unsigned)((both << cap) >> 32), o.frc = (unsigned)(both >> cap);
    unsigned dp = c, udp = c, dp2 = c;
    for (int i = 0; i < 4; i++) {
        dp += (unsigned)((int)(signed char)byte_of(a, i) * (int)(signed char)byte_of(b, i));
        udp += byte_of(a, i) * byte_of(b, i);
        o.vadd4 |= ((byte_of(a, i) + byte_of(b, i)) & 255) << (8 * i);
        o.vabsdiff |= (unsigned)abs((int)byte_of(a, i) - (int)byte_of(b, i)) << (8 * i);
    }
    for (int i = 0; i < 2; i++)
        dp2 += (unsigned)((int)(short)(a >> (16 * i)) * (int)(signed char)byte_of(b, i));
    o.dp4a = (int)dp, o.udp4a = (int)udp, o.dp2a = (int)dp2;
    o.mul24 = (int)((I64)((int)(a << 8) >> 8) * (I64)((int)(b << 8) >> 8)), o.umul24 = (a & 0xffffff) * (b & 0xffffff);
    o.bfe = extract(a, b & 63, c & 63), o.bfi = insert(a, b, c & 63, c >> 8 & 63), o.mad = (U64)a * b + x;

    int sd = sb | 1;
    o.div = sa == INT_MIN && sd == -1 ? INT_MIN : sa / sd, o.rem = sd == -1 ? 0 : sa % sd, o.udiv = a / (b | 1),
    o.urem = a % (b | 1);
    o.shl = (int)(a << (c & 31)), o.shr = sa >> (c & 31), o.ushr = a >> (c & 31);
    o.abs = sa < 0 ? (int)-a : sa, o.min = sa < sd ? sa : sd, o.max = sa > sd ? sa : sd, o.umin = a < b ? a : b;
    I64 sx = (I64)x, sy = (I64)y | 1;
    o.ldiv = sx == LLONG_MIN && sy == -1 ? LLONG_MIN : sx / sy, o.lrem = sy == -1 ? 0 : sx % sy;
    o.uldiv = x / (y | 1), o.ulrem = x % (y | 1);
    o.lshr = sx >> (c & 63), o.lshl = x << (c & 63), o.labs_ = sx < 0 ? (I64)-x : sx;
    short ha = (short)a, hb = (short)(b | 1);
    o.sdiv = (short)(ha / hb), o.sadd = (short)(ha + hb), o.srem = (short)(ha % hb);
    o.bmul = (unsigned char)(a * b), o.bshr = (unsigned char)((a & 255) >> (c & 7)), o.bsub = (unsigned char)(a - b);
    return o;
}

/* Carry chains, as multi-word arithmetic uses them. */
__global__ void carries(const unsigned *in, unsigned *out)
{
    int t = threadIdx.x;
    const unsigned *a = in + 3 * t, *b = in + 3 * (127 - t);
    unsigned r0, r1, r2, s0, s1, s2;
    asm("add.cc.u32 %0, %3, %6;\n\taddc.cc.u32 %1, %4, %7;\n\taddc.u32 %2, %5, %8;"
        : "=r"(r0), "=r"(r1), "=r"(r2) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(b[0]), "r"(b[1]), "r"(b[2]));
    asm("sub.cc.u32 %0, %3, %6;\n\tsubc.cc.u32 %1, %4, %7;\n\tsubc.u32 %2, %5, %8;"
        : "=r"(s0), "=r"(s1), "=r"(s2) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(b[0]), "r"(b[1]), "r"(b[2]));
    unsigned *o = out + 6 * t;
    o[0] = r0, o[1] = r1, o[2] = r2, o[3] = s0, o[4] = s1, o[5] = s2;
}

static void check_carries(const std::vector<unsigned> &in)
{
    typedef unsigned __int128 U128;
    std::vector<unsigned> out(6 * 128);
    Dev<unsigned> di(in.data(), 384), d(out.size());
    carries<<<1, 128>>>(di, d);
    CHECK_LAUNCH();
    d.get(out.data());
    for (int t = 0; t < 128; t++) {
        const unsigned *a = &in[3 * t], *b = &in[3 * (127 - t)], *o = &out[6 * t];
        U128 x = (U128)a[2] << 64 | (U128)a[1] << 32 | a[0], y = (U128)b[2] << 64 | (U128)b[1] << 32 | b[0];
        U128 sum = x + y, difference = x - y;
        for (int i = 0; i < 3; i++)
            EXPECT(o[i] == (unsigned)(sum >> (32 * i)) && o[3 + i] == (unsigned)(difference >> (32 * i)), "carry %d word %d", t,
                   i);
    }
}

// Sums in which what lanes differ by cancels, but for the carry of those whose 32 bits wrapped.
__global__ void cancelled(const unsigned *in, U64 *out, unsigned from)
{
    unsigned i = threadIdx.x;
    U64 sum = (U64)(from - i) + i, twice = (U64)(2 * from - 2 * i) + 2 * i;
    U64 *to = out + 4 * i;
    to[0] = sum;
    to[1] = twice + in[twice >> 32];
    to[2] = in[sum >> 32];
    to[3] = sum > 0xffffffff ? 7 : in[1];
}

static void check_cancelled(const std::vector<unsigned> &in)
{
    const int n = 96;
    Dev<unsigned> di(in.data(), 384);
    Dev<U64> d(4 * n);
    std::vector<U64> out(4 * n);
    for (unsigned from : { 0u, 5u, 70u, 1000u }) {
        cancelled<<<1, n>>>(di, d, from);
        CHECK_LAUNCH();
        d.get(out.data());
        for (unsigned t = 0; t < n; t++) {
            U64 carry = t > from, sum = (carry << 32) + from, twice = (carry << 32) + 2 * from;
            U64 want[] = { sum, twice + in[carry], in[carry], carry ? 7 : in[1] };
            for (int k = 0; k < 4; k++)
                EXPECT(out[4 * t + k] == want[k], "cancelled %d of thread %u from %u: %llx, expected %llx", k, t, from,
                       out[4 * t + k], want[k]);
        }
    }
}

int main()
{
    const int n = 512;
    const unsigned edges[] = {0, 1, 2, 0x7fffffffu, 0x80000000u, 0xffffffffu, 0xfffffffeu, 31, 32, 33, 0x8000u, 0xff80u,
                              0x3210u, 0x7654u};
    const U64 wide[] = {0, 1, 0x7fffffffffffffffull, 0x8000000000000000ull, ~0ull, 0xffffffffull, 0x100000000ull, ~1ull};
    Rng rng(47);
    std::vector<unsigned> in(3 * n);
    std::vector<U64> win(2 * n);
    for (int i = 0; i < 3 * n; i++)
        in[i] = rng.below(3) == 0 ? edges[rng.below(14)] : rng.u32() >> rng.below(32);
    for (int i = 0; i < 2 * n; i++)
        win[i] = rng.below(3) == 0 ? wide[rng.below(8)] : rng.u64() >> rng.below(64);
    Dev<unsigned> di(in.data(), in.size());
    Dev<U64> dw(win.data(), win.size());
    Dev<Out> d(n);
    std::vector<Out> out(n);
    intrinsics<<<n / 64, 64>>>(di, dw, d);
    CHECK_LAUNCH();
    d.get(out.data());
#define SAME(f) EXPECT(o.f == w.f, #f "(%x, %x, %x, %llx, %llx): %llx, expected %llx", a, b, c, x, y, (U64)o.f, (U64)w.f)
    for (int t = 0; t < n; t++) {
        unsigned a = in[3 * t], b = in[3 * t + 1], c = in[3 * t + 2];
        U64 x = win[2 * t], y = win[2 * t + 1];
        Out w = reference(a, b, c, x, y), o = out[t];
        SAME(clz); SAME(clzll); SAME(popc); SAME(popcll); SAME(ffs); SAME(ffsll); SAME(mulhi); SAME(sad);
        SAME(hadd); SAME(rhadd); SAME(dp4a); SAME(udp4a); SAME(dp2a); SAME(mul24); SAME(brev); SAME(perm);
        SAME(umulhi); SAME(usad); SAME(fl); SAME(fr); SAME(flc); SAME(frc); SAME(vadd4); SAME(vabsdiff); SAME(bfe);
        SAME(bfi); SAME(umul24); SAME(brevll); SAME(umul64hi); SAME(mad); SAME(mul64hi); SAME(div); SAME(rem);
        SAME(shl); SAME(shr); SAME(abs); SAME(min); SAME(max); SAME(udiv); SAME(urem); SAME(ushr); SAME(umin);
        SAME(ldiv); SAME(lrem); SAME(lshr); SAME(labs_); SAME(uldiv); SAME(ulrem); SAME(lshl); SAME(sdiv);
        SAME(sadd); SAME(srem); SAME(bmul); SAME(bshr); SAME(bsub);
    }
    check_carries(in);
    check_cancelled(in);
    return check_done();
}
