// Histogram with global atomics, with shared atomics merged per block, and the other 32-bit atomic operations.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <climits>
#include <vector>

__global__ void histogram_global(const unsigned char *in, int n, unsigned *bins)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i]], 1u);
}

__global__ void histogram_shared(const unsigned char *in, int n, unsigned *bins)
{
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[in[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (local[i])
            atomicAdd(&bins[i], local[i]);
}

// Whole counters of few elements, most of which are 0, in all lanes and in some.
__global__ void mostly_none(const unsigned char *in, int n, unsigned *bins)
{
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        local[i] = 0;
    __syncthreads();
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        atomicAdd(&local[in[at]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        if (i % 5)
            atomicAdd(&bins[255 - (255 - i)], local[i]);
        else
            atomicSub(&bins[i], 0u - local[i]);
    }
}

struct Ops {
    int add, sub, lo, hi, conj, disj, exor;
    unsigned ulo, uhi, inc, dec, exch, exch_first, cas_count;
    float fsum;
};

__global__ void every_op(Ops *o, unsigned *seen)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&o->add, t);
    atomicSub(&o->sub, t);
    atomicMin(&o->lo, 500 - t);
    atomicMax(&o->hi, t - 500);
    atomicAnd(&o->conj, ~(1 << (t % 16)));
    atomicOr(&o->disj, 1 << (t % 16));
    atomicXor(&o->exor, t);
    atomicMin(&o->ulo, 0x80000000u + t);
    atomicMax(&o->uhi, 0x80000000u + t);
    unsigned ticket = atomicInc(&o->inc, 99);
    atomicAdd(&seen[ticket], 1u);
    atomicDec(&o->dec, 6);
    atomicAdd(&o->fsum, 0.5f);
    unsigned old = o->cas_count, assumed;
    do {
        assumed = old;
        old = atomicCAS(&o->cas_count, assumed, assumed + 3);
    } while (old != assumed);
    if (atomicExch(&o->exch, 7u) == 0)
        atomicAdd(&o->exch_first, 1u);
}

static void check_ops()
{
    const int n = 640;
    Ops o = {};
    o.lo = INT_MAX, o.hi = INT_MIN, o.conj = -1, o.ulo = UINT_MAX;
    unsigned seen[100];
    Dev<Ops> d(&o, 1);
    Dev<unsigned> ds(100);
    ds.fill(0);
    every_op<<<5, 128>>>(d, ds);
    CHECK_LAUNCH();
    d.get(&o);
    ds.get(seen);
    int exor = 0;
    for (int t = 0; t < n; t++)
        exor ^= t;
    EXPECT(o.add == n * (n - 1) / 2, "add %d", o.add);
    EXPECT(o.sub == -n * (n - 1) / 2, "sub %d", o.sub);
    EXPECT(o.lo == 500 - (n - 1) && o.hi == n - 1 - 500, "min %d max %d", o.lo, o.hi);
    EXPECT(o.conj == ~0xffff && o.disj == 0xffff && o.exor == exor, "and %x or %x xor %x", o.conj, o.disj, o.exor);
    EXPECT(o.ulo == 0x80000000u && o.uhi == 0x80000000u + n - 1, "umin %x umax %x", o.ulo, o.uhi);
    EXPECT(o.inc == n % 100, "inc %u", o.inc);
    EXPECT(o.dec == (7 - n % 7) % 7, "dec %u", o.dec);
    EXPECT(o.fsum == n * 0.5f, "float %g", o.fsum);
    EXPECT(o.cas_count == 3 * n, "cas %u", o.cas_count);
    EXPECT(o.exch == 7 && o.exch_first == 1, "exch %u, first %u times", o.exch, o.exch_first);
    for (int i = 0; i < 100; i++)
        EXPECT(seen[i] == (unsigned)(n / 100 + (i < n % 100)), "ticket %d seen %u times", i, seen[i]);
}

int main()
{
    const int n = 60000;
    Rng rng(6);
    std::vector<unsigned char> in(n);
    unsigned want[256] = {}, got[256];
    for (unsigned char &v : in) {
        v = (unsigned char)(rng.below(256) & rng.below(256));
        want[v]++;
    }
    Dev<unsigned char> din(in.data(), n);
    Dev<unsigned> bins(256);
    for (int form = 0; form < 3; form++) {
        bins.fill(0);
        if (form == 2)
            mostly_none<<<(n + 95) / 96, 96>>>(din, n, bins);
        else if (form)
            histogram_shared<<<6, 192>>>(din, n, bins);
        else
            histogram_global<<<6, 192>>>(din, n, bins);
        CHECK_LAUNCH();
        bins.get(got);
        for (int i = 0; i < 256; i++)
            EXPECT(got[i] == want[i], "form %d bin %d: %u, expected %u", form, i, got[i], want[i]);
    }
    check_ops();
    return check_done();
}
