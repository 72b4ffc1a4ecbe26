// Arrays of structures, and of elements in strides: lanes at known distances that are no row of neighbours, all of them or those
// that a bound or the data chooses.  Arrays begin and end where their memory does, so that lanes that are off point outside; and
// what lies between the elements that are written is another thread's.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

template <typename T, int S, int R>
static __device__ __forceinline__ void part(const T *in, T *out, int i)
{
    T x[R];
    for (int k = 0; k < R; k++)
        x[k] = in[(long long)S * i + k];
    for (int k = 0; k < R; k++)
        out[(long long)S * i + k] = (T)(x[(k + 1) % R] + x[k] + 1);
}

// Lane i has the structure `from + S * i`, of which it reads and writes R elements one after the other, from the first on; those
// of lane i lie `gap` elements further on.  Structures from `n` on are not there, nor those below `low`.
template <typename T, int S, int R>
__global__ void parts(const T *in, T *out, int low, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= low && i < n)
        part<T, S, R>(in, out, i);
}

// The same where the data says so.
template <typename T, int S, int R>
__global__ void chosen(const T *in, T *out, const unsigned char *flag, int low, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= low && i < n && flag[i])
        part<T, S, R>(in, out, i);
}

// In place, each element before the next one is read.
template <typename T, int S, int R>
__global__ void updated(T *a, const unsigned char *flag, int low, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= low && i < n && flag[i]) {
        a[(long long)S * i] += 3;
        for (int k = 1; k < R; k++)
            a[(long long)S * i + k] = (T)(a[(long long)S * i + k] * 5 + a[(long long)S * i + k - 1]);
    }
}

enum { WHOLE = 2 << 20 /* bytes: what CUDA maps at once */, WINDOW = 32 << 10 /* of which the first or last ones are used */ };

struct Edge {
    char *all, *at;
    std::vector<char> host;
    explicit Edge(bool end) : host(WINDOW)
    {
        CHECK(cudaMalloc(&all, WHOLE));
        at = end ? all + WHOLE - WINDOW : all;
    }
    ~Edge() { CHECK(cudaFree(all)); }
    void fill(Rng &rng)
    {
        for (char &c : host)
            c = (char)rng.below(256);
        CHECK(cudaMemcpy(at, host.data(), WINDOW, cudaMemcpyHostToDevice));
    }
};

static void compare(const char *what, int size, int stride, int n, const Edge &e)
{
    std::vector<char> got(WINDOW);
    CHECK(cudaMemcpy(got.data(), e.at, WINDOW, cudaMemcpyDeviceToHost));
    int i = 0;
    while (i < WINDOW && got[i] == e.host[i])
        i++;
    EXPECT(i == WINDOW, "%s of %d bytes by %d, %d: byte %d is %d, not %d", what, size, stride, n, i, got[i], e.host[i]);
}

template <typename T, int S, int R>
static void one(Rng &rng, Edge &in, Edge &out, unsigned char *dflag, bool at_end, int low, int n, int threads)
{
    // The structures low .. n - 1 lie at the beginning, or at the end.
    const long long first = S * (S > 0 ? low : n - 1), last = S * (S > 0 ? n - 1 : low) + R;
    const long long shift = at_end ? WINDOW / (long long)sizeof(T) - last : -first;
    std::vector<unsigned char> flag(n);
    int density = rng.below(4);
    for (unsigned char &f : flag)
        f = density == 3 ? 1 : rng.below(1 + density * 3) == 0;
    CHECK(cudaMemcpy(dflag, flag.data(), n, cudaMemcpyHostToDevice));
    const int blocks = (n + threads - 1) / threads;
    const T *from = (const T *)in.at + shift;
    T *to = (T *)out.at + shift;
    for (int kind = 0; kind < 3; kind++) {
        in.fill(rng);
        out.fill(rng);
        if (kind == 0)
            parts<T, S, R><<<blocks, threads>>>(from, to, low, n);
        else if (kind == 1)
            chosen<T, S, R><<<blocks, threads>>>(from, to, dflag, low, n);
        else
            updated<T, S, R><<<blocks, threads>>>(to, dflag, low, n);
        CHECK_LAUNCH();
        const T *hin = (const T *)in.host.data() + shift;
        T *hout = (T *)out.host.data() + shift;
        for (int i = low; i < n; i++)
            for (int k = 0; k < R && (kind == 0 || flag[i]); k++) {
                long long at = (long long)S * i + k;
                hout[at] = kind < 2 ? (T)(hin[(long long)S * i + (k + 1) % R] + hin[at] + 1)
                                    : k ? (T)(hout[at] * 5 + hout[at - 1]) : (T)(hout[at] + 3);
            }
        compare(kind == 0 ? "parts" : kind == 1 ? "chosen" : "updated", sizeof(T), S, n, out);
    }
}

template <typename T, int S, int R>
static void shape()
{
    Rng rng(sizeof(T) * 100 + S * 10 + R);
    Dev<unsigned char> flag(1024);
    for (int end = 0; end < 2; end++) {
        Edge in(end), out(end);
        one<T, S, R>(rng, in, out, flag, end, 0, 1024, 64);
        one<T, S, R>(rng, in, out, flag, end, 0, 999, 64);
        one<T, S, R>(rng, in, out, flag, end, 37, 64 + 3, 64);
        one<T, S, R>(rng, in, out, flag, end, 5, 6, 64);
    }
}

// The elements of a structure belong to two halves of the grid, which meet nowhere.
struct Both {
    float mine, others, a, b, c;
};

__global__ void halves(Both *p, const unsigned char *flag, int n)
{
    int half = gridDim.x / 2, i = (blockIdx.x % half) * blockDim.x + threadIdx.x;
    if (i < n && flag[i]) {
        if (blockIdx.x < half)
            p[i].mine += 1;
        else
            p[i].others += 2;
    }
}

static void check_halves()
{
    const int n = 20000, rounds = 40;
    Rng rng(5);
    std::vector<Both> p(n, Both{ 0, 0, 7, 8, 9 });
    std::vector<unsigned char> flag(n);
    for (unsigned char &f : flag)
        f = rng.below(3) != 0;
    Dev<Both> dp(p.data(), n);
    Dev<unsigned char> dflag(flag.data(), n);
    for (int i = 0; i < rounds; i++)
        halves<<<2 * ((n + 127) / 128), 128>>>(dp, dflag, n);
    CHECK_LAUNCH();
    dp.get(p.data());
    for (int i = 0; i < n; i++)
        EXPECT(p[i].mine == rounds * flag[i] && p[i].others == 2 * rounds * flag[i] && p[i].a == 7 && p[i].b == 8 && p[i].c == 9,
               "structure %d is %g %g %g %g %g", i, p[i].mine, p[i].others, p[i].a, p[i].b, p[i].c);
}

// Stores of which the second to the fifth are a whole structure, and the others parts of the next ones: one thread after another
// is the order of none, but each element has one last writer.
__global__ void astray(unsigned *p)
{
    unsigned *s = p + 4 * threadIdx.x;
    s[32 * 4 + 0] = threadIdx.x;
    s[32 * 8 + 0] = threadIdx.x + 100;
    s[32 * 8 + 1] = threadIdx.x + 200;
    s[32 * 8 + 2] = threadIdx.x + 300;
    s[32 * 8 + 3] = threadIdx.x + 400;
    s[32 * 12 + 2] = threadIdx.x + 500;
}

static void check_astray()
{
    std::vector<unsigned> p(16 * 32, 1);
    Dev<unsigned> d(p.data(), p.size());
    astray<<<1, 32>>>(d);
    CHECK_LAUNCH();
    d.get(p.data());
    for (unsigned i = 0; i < p.size(); i++) {
        unsigned t = i % 128 / 4, k = i % 4, want = 1;
        if (i / 128 == 1 && k == 0)
            want = t;
        if (i / 128 == 2)
            want = t + 100 * (k + 1);
        if (i / 128 == 3 && k == 2)
            want = t + 500;
        EXPECT(p[i] == want, "element %u is %u, not %u", i, p[i], want);
    }
}

int main()
{
    shape<unsigned char, 3, 3>();
    shape<unsigned char, 4, 3>();
    shape<unsigned char, -1, 1>();
    shape<unsigned char, 2, 1>();
    shape<unsigned short, 2, 2>();
    shape<unsigned short, 3, 2>();
    shape<short, -1, 1>();
    shape<unsigned, 7, 3>();
    shape<unsigned, 7, 6>();
    shape<unsigned, 3, 3>();
    shape<unsigned, -1, 1>();
    shape<unsigned, 2, 1>();
    shape<unsigned, 5, 1>();
    shape<int, -3, 2>();
    shape<unsigned long long, 2, 2>();
    shape<unsigned long long, 3, 2>();
    shape<long long, -1, 1>();
    check_halves();
    check_astray();
    return check_done();
}
