// Vector loads and stores of every width, packed and padded structs, byte and short arrays, unaligned packing by hand, local
// arrays indexed at run time, unions, bit-fields, 128-bit integers, volatile and restrict, const tables.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

struct Mixed {
    char a;
    double b;
    short c;
    float3 d;
    uchar4 e;
    longlong2 f;
};

struct Bits {
    unsigned low : 3, mid : 11, high : 18;
    int signed_part : 7;
};

__constant__ short3 triples[4] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {-1, -2, -3}};

__global__ void vectors(const char4 *c, const short2 *s, const float4 *f, const double2 *d, const int3 *i, Mixed *out)
{
    int t = threadIdx.x;
    char4 cv = c[t];
    short2 sv = s[t];
    float4 fv = f[t];
    double2 dv = d[t];
    int3 iv = i[t];
    Mixed m;
    m.a = cv.x + cv.w;
    m.b = dv.x * dv.y + fv.w;
    m.c = sv.x - sv.y + triples[t % 4].z;
    m.d = make_float3(fv.z, fv.y, fv.x);
    m.e = make_uchar4(cv.y, cv.z, (unsigned char)iv.x, (unsigned char)iv.z);
    m.f = make_longlong2((long long)iv.x * iv.y, iv.z);
    out[t] = m;
}

__global__ void odd_things(const unsigned char *bytes, Bits *bits, unsigned long long *wide, int *out)
{
    int t = threadIdx.x;
    int local[16];
    for (int k = 0; k < 16; k++)
        local[(k * 5 + t) & 15] = k * t;
    int sum = 0;
    for (int k = t & 15; k < 16; k += 3)
        sum += local[k] * (k + 1);
    out[t] = sum;

    union {
        unsigned char b[8];
        unsigned short h[4];
        unsigned w[2];
        float f[2];
    } u;
    for (int k = 0; k < 8; k++)
        u.b[k] = bytes[t * 7 + k];
    out[64 + t] = u.h[1] + (u.w[1] >> 20) + u.b[t & 7];

    Bits v = bits[t];
    v.mid += t;
    v.high ^= v.low << 3;
    v.signed_part -= t;
    bits[t] = v;

    unsigned __int128 p = (unsigned __int128)wide[2 * t] * wide[2 * t + 1] + t;
    p = p >> (t & 31) ^ p << 5;
    wide[2 * t] = (unsigned long long)p;
    wide[2 * t + 1] = (unsigned long long)(p >> 64);
    bool flags[4] = {sum > 0, t > 3, u.b[0] > 100, v.low == 2};
    out[128 + t] = flags[0] + flags[1] * 2 + flags[t & 3] * 4;
}

static int host_sum(int t)
{
    int local[16], sum = 0;
    for (int k = 0; k < 16; k++)
        local[(k * 5 + t) & 15] = k * t;
    for (int k = t & 15; k < 16; k += 3)
        sum += local[k] * (k + 1);
    return sum;
}

static void check_vectors()
{
    const int n = 50;
    std::vector<char4> c(n);
    std::vector<short2> s(n);
    std::vector<float4> f(n);
    std::vector<double2> d(n);
    std::vector<int3> i(n);
    std::vector<Mixed> out(n);
    const short z[4] = {3, 6, 9, -3};
    Rng rng(48);
    for (int t = 0; t < n; t++) {
        c[t] = make_char4((char)rng.below(50), (char)rng.below(256), (char)rng.below(256), (char)rng.below(50));
        s[t] = make_short2((short)rng.below(20000), (short)rng.below(20000));
        f[t] = make_float4(rng.below(100) * 0.5f, rng.below(100) * 0.25f, (float)rng.below(100), (float)rng.below(9));
        d[t] = make_double2(rng.below(1000) * 0.5, rng.below(1000));
        i[t] = make_int3((int)rng.u32(), (int)rng.u32(), (int)rng.u32());
    }
    Dev<char4> dc(c.data(), n);
    Dev<short2> ds(s.data(), n);
    Dev<float4> df(f.data(), n);
    Dev<double2> dd(d.data(), n);
    Dev<int3> di(i.data(), n);
    Dev<Mixed> dm(n);
    dm.fill(0); /* between the fields, too */
    vectors<<<1, n>>>(dc, ds, df, dd, di, dm);
    CHECK_LAUNCH();
    dm.get(out.data());
    for (int t = 0; t < n; t++) {
        const Mixed &m = out[t];
        EXPECT(m.a == c[t].x + c[t].w && m.b == d[t].x * d[t].y + f[t].w && m.c == (short)(s[t].x - s[t].y + z[t % 4]),
               "scalars %d: %d %g %d", t, m.a, m.b, m.c);
        EXPECT(m.d.x == f[t].z && m.d.y == f[t].y && m.d.z == f[t].x, "float3 %d", t);
        EXPECT(m.e.x == (unsigned char)c[t].y && m.e.y == (unsigned char)c[t].z && m.e.z == (unsigned char)i[t].x &&
                   m.e.w == (unsigned char)i[t].z, "uchar4 %d", t);
        EXPECT(m.f.x == (long long)i[t].x * i[t].y && m.f.y == i[t].z, "longlong2 %d: %llx %llx", t, m.f.x, m.f.y);
    }
}

static void check_odd()
{
    const int n = 64;
    unsigned char bytes[64 * 7 + 8];
    Bits bits[n] = {}, got_bits[n];
    unsigned long long wide[2 * n], got_wide[2 * n];
    int out[192];
    Rng rng(49);
    for (unsigned char &b : bytes)
        b = (unsigned char)rng.u32();
    for (int t = 0; t < n; t++) {
        bits[t].low = rng.u32(), bits[t].mid = rng.u32(), bits[t].high = rng.u32(), bits[t].signed_part = (int)rng.u32();
        wide[2 * t] = rng.u64(), wide[2 * t + 1] = rng.u64();
    }
    Dev<unsigned char> db(bytes, sizeof bytes);
    Dev<Bits> dbits(bits, n);
    Dev<unsigned long long> dw(wide, 2 * n);
    Dev<int> d(192);
    odd_things<<<1, n>>>(db, dbits, dw, d);
    CHECK_LAUNCH();
    dbits.get(got_bits);
    dw.get(got_wide);
    d.get(out);
    for (int t = 0; t < n; t++) {
        const unsigned char *b = bytes + 7 * t;
        Bits v = bits[t];
        v.mid += t;
        v.high ^= v.low << 3;
        v.signed_part -= t;
        unsigned __int128 p = (unsigned __int128)wide[2 * t] * wide[2 * t + 1] + t;
        p = p >> (t & 31) ^ p << 5;
        int sum = host_sum(t), word = b[2] | b[3] << 8, high = b[7] << 4 | b[6] >> 4;
        bool flags[4] = {sum > 0, t > 3, b[0] > 100, v.low == 2};
        EXPECT(out[t] == sum, "local %d: %d, expected %d", t, out[t], sum);
        EXPECT(out[64 + t] == word + high + b[t & 7], "union %d: %d", t, out[64 + t]);
        EXPECT(got_bits[t].low == v.low && got_bits[t].mid == v.mid && got_bits[t].high == v.high &&
                   got_bits[t].signed_part == v.signed_part, "bit-fields %d", t);
        EXPECT(got_wide[2 * t] == (unsigned long long)p && got_wide[2 * t + 1] == (unsigned long long)(p >> 64), "128-bit %d", t);
        EXPECT(out[128 + t] == flags[0] + flags[1] * 2 + flags[t & 3] * 4, "flags %d: %d", t, out[128 + t]);
    }
}

int main()
{
    check_vectors();
    check_odd();
    return check_done();
}
