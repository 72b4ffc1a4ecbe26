// Divergent control flow of every kind.  Each function is compiled for both sides, so the processor's own scalar execution is the
// reference: nested loops, break and continue at depth, switch with fall-through, early returns, goto into joins, short-circuit
// conditions with side effects, calls under divergence, and barriers in uniform control after all that.
// variants: shared static ptx debug rdc O0
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

#define BOTH __host__ __device__

BOTH unsigned mix(unsigned x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

BOTH unsigned collatz(unsigned n)
{
    unsigned steps = 0;
    n = n % 1000 + 1;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}

BOTH unsigned nested(unsigned x)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < (x & 7) + 2; i++) {
        if ((x >> i & 3) == 2)
            continue;
        for (unsigned j = i; j < 9; j++) {
            if ((mix(x + j) & 15) == 3)
                break;
            if (j == (x & 5)) {
                sum += 1000;
                continue;
            }
            unsigned k = 0;
            do {
                sum += i * j + k;
                if (sum > 5000 + (x & 511))
                    goto out;
                k++;
            } while (k < (x >> 4 & 3));
        }
        sum ^= i << 5;
    }
    sum += 7;
out:
    return sum;
}

BOTH unsigned switches(unsigned x)
{
    unsigned r = x & 255;
    for (int i = 0; i < 6; i++) {
        switch ((x >> (3 * i)) & 7) {
        case 0: r += 3; break;
        case 1: r *= 5; /* falls through */
        case 2: r ^= 0x55; break;
        case 3:
            if (r & 1)
                break;
            r = r / 3 + 1;
            /* falls through */
        case 4: r -= i; /* falls through */
        default: r = r << 1 | r >> 31; break;
        case 6: return r + 100000;
        }
        if (r == 77)
            return i;
    }
    return r;
}

BOTH unsigned long switch_wide(long long x)
{
    switch (x % 12) {
    case 0: return 10;
    case 1: return 7 + x;
    case 2: return 44;
    case 3: return x * 3;
    case 4: return x ^ 99;
    case 5: return 1;
    case 6: return x + 6;
    case 7: return 1000;
    case 11: return 5;
    }
    return x >> 1;
}

BOTH int noisy(int v, unsigned *log)
{
    *log = *log * 31 + (unsigned)v;
    return v & 1;
}

BOTH unsigned short_circuit(unsigned x)
{
    unsigned log = 1;
    for (int i = 0; i < 5; i++) {
        int a = (int)(x >> i), b = (int)(x >> (i + 7)), c = (int)(x >> (i + 13));
        if ((noisy(a, &log) && noisy(b, &log)) || (noisy(c, &log) && !noisy(a ^ b, &log)))
            log += 17;
        else if (noisy(a + c, &log) || noisy(b + c, &log))
            log ^= 0xff;
    }
    return log;
}

/* Irreducible: two entries into the loop. */
BOTH unsigned irreducible(unsigned x)
{
    unsigned n = 0, v = x & 31;
    if (x & 64)
        goto middle;
top:
    v = v * 3 + 1;
    n++;
    if (n > 20)
        return v;
middle:
    v ^= n;
    n += 1 + (x & 1);
    if ((v & 15) != 5)
        goto top;
    return v + n * 1000;
}

BOTH unsigned early(unsigned x)
{
    if ((x & 3) == 0)
        return 1;
    unsigned s = 0;
    for (unsigned i = 0;; i++) {
        if (mix(x ^ i) % 11 == 0)
            return s + i;
        if (i > 30) {
            if (x & 4)
                return s * 3;
            break;
        }
        s += i;
        if (s > 200 && (x & 8))
            break;
    }
    return s ^ x;
}

BOTH unsigned local_search(unsigned x)
{
    unsigned char a[41];
    for (unsigned i = 0; i < 41; i++)
        a[i] = (unsigned char)(i * (1 + (x & 3)));
    unsigned lo = 0, hi = 40, want = x >> 8 & 127;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (a[mid] < want)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (unsigned i = lo; i > 0 && a[i - 1] > 3; i--)
        a[i - 1] = a[i] ^ (unsigned char)x;
    return lo * 1000 + a[lo / 2] + a[39];
}

enum { FUNCTIONS = 9 };
BOTH unsigned function(int which, unsigned x)
{
    switch (which) {
    case 0: return collatz(x);
    case 1: return nested(x);
    case 2: return switches(x);
    case 3: return (unsigned)switch_wide((long long)(x >> 3));
    case 4: return short_circuit(x);
    case 5: return irreducible(x);
    case 6: return early(x);
    case 7: return local_search(x);
    default: return x % 5 < 2 ? nested(collatz(x)) : early(switches(x));
    }
}

template <int WHICH> __global__ void one(const unsigned *in, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = function(WHICH, in[i]);
}

/* A different function in each lane. */
__global__ void mixed(const unsigned *in, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    out[i] = function(i % FUNCTIONS, in[i]);
}

/* Divergence between barriers; lanes with nothing to do still take part in each barrier. */
__global__ void with_barriers(const unsigned *in, unsigned *out, int rounds)
{
    __shared__ unsigned s[160];
    int t = threadIdx.x, n = blockDim.x;
    unsigned v = in[blockIdx.x * n + t];
    for (int r = 0; r < rounds; r++) {
        if ((v >> r & 3) != 1)
            v = v & 1 ? nested(v) : early(v);
        s[t] = v;
        __syncthreads();
        if (t % 3) {
            unsigned best = 0;
            for (int k = 0; k < (int)(v & 7); k++)
                best = max(best, s[(t + k * 11) % n]);
            v += best;
        }
        __syncthreads();
    }
    out[blockIdx.x * n + t] = v;
}

static void barriers()
{
    const int n = 150, blocks = 4, rounds = 5;
    Rng rng(35);
    std::vector<unsigned> in(n * blocks), out(n * blocks);
    for (unsigned &v : in)
        v = rng.u32();
    Dev<unsigned> din(in.data(), in.size()), dout(in.size());
    with_barriers<<<blocks, n>>>(din, dout, rounds);
    CHECK_LAUNCH();
    dout.get(out.data());
    for (int b = 0; b < blocks; b++) {
        unsigned *v = &in[b * n], s[n];
        for (int r = 0; r < rounds; r++) {
            for (int t = 0; t < n; t++) {
                if ((v[t] >> r & 3) != 1)
                    v[t] = v[t] & 1 ? nested(v[t]) : early(v[t]);
                s[t] = v[t];
            }
            for (int t = 0; t < n; t++) {
                unsigned best = 0;
                for (int k = 0; t % 3 && k < (int)(v[t] & 7); k++)
                    best = best > s[(t + k * 11) % n] ? best : s[(t + k * 11) % n];
                v[t] += best;
            }
        }
        for (int t = 0; t < n; t++)
            EXPECT(out[b * n + t] == v[t], "barriers block %d thread %d: %u, expected %u", b, t, out[b * n + t], v[t]);
    }
}

template <int WHICH> static void run(const std::vector<unsigned> &in, const Dev<unsigned> &din, const Dev<unsigned> &dout)
{
    int n = (int)in.size();
    std::vector<unsigned> out(n);
    dout.fill(0);
    one<WHICH><<<(n + 95) / 96, 96>>>(din, dout, n);
    CHECK_LAUNCH();
    dout.get(out.data());
    for (int i = 0; i < n; i++)
        EXPECT(out[i] == function(WHICH, in[i]), "function %d of %08x: %u, expected %u", WHICH, in[i], out[i],
               function(WHICH, in[i]));
    if constexpr (WHICH > 0)
        run<WHICH - 1>(in, din, dout);
}

int main()
{
    const int n = 3001;
    Rng rng(34);
    std::vector<unsigned> in(n), out(n);
    for (unsigned &v : in)
        v = rng.u32();
    Dev<unsigned> din(in.data(), n), dout(n);
    run<FUNCTIONS - 1>(in, din, dout);
    mixed<<<(n + 127) / 128, 128>>>(din, dout, n);
    CHECK_LAUNCH();
    dout.get(out.data());
    for (int i = 0; i < n; i++)
        EXPECT(out[i] == function(i % FUNCTIONS, in[i]), "mixed %d: %u, expected %u", i, out[i],
               function(i % FUNCTIONS, in[i]));
    barriers();
    return check_done();
}
