// Indices whose lanes are neighbours but at the ends of rows and at bounds: taken apart by numbers known at run time, held within
// bounds or reflected, for loads and stores of several sizes, in all lanes and in some.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

enum { N = 1000, PITCH = 120 };

template <class T, class I>
__global__ void take_apart(const T *in, T *out, I width, I pitch, I n)
{
    I i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i / width * pitch + i % width];
}

template <class T>
__global__ void put_together(const T *in, T *out, int width, int pitch, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i / width * pitch + i % width] = in[i] + in[n - 1 - i % width];
}

// Of lanes some of which are off, the first one, too.
template <class T>
__global__ void in_some(const T *in, T *out, int width, int pitch, int n, int odd)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || (in[i] & 3) == odd)
        return;
    int at = i / width * pitch + i % width;
    out[at] = in[at] * 2;
}

template <class T>
__global__ void at_bounds(const T *in, T *out, int by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int held = min(max(i + by, 0), n - 1), reflected = i + by;
    if (reflected < 0)
        reflected = -reflected;
    if (reflected >= n)
        reflected = 2 * n - 2 - reflected;
    out[i] = in[held] * 3 + in[reflected];
}

// Three dimensions, whose strides may be anything.
template <class T>
__global__ void permuted(const T *in, T *out, int3 size, int3 stride, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i % size.x * stride.x + i / size.x % size.y * stride.y + i / size.x / size.y * stride.z];
}

// Rows by a list of them, as of words in a dictionary.
template <class T>
__global__ void listed(const T *in, T *out, const int *list, int width, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[list[i / width] * width + i % width];
}

// In rounds, from which lanes go at different times (`count` 0), or as many for all; bytes of no whole element are cut off.
template <class T>
__global__ void in_rounds(const T *in, T *out, int width, int pitch, int first, int step, int n, int cut, int count)
{
    T sum = 0;
    int i = threadIdx.x * first;
    auto add = [&] {
        int at = i / width * pitch + i % width * (int)sizeof(T) + cut;
        sum += *(const T *)((const char *)in + (at & -(int)sizeof(T)));
        i += step;
    };
    if (count == 0)
        while (i < n)
            add();
    for (int k = 0; k < count; k++)
        if (i < n)
            add();
    out[threadIdx.x] = sum;
}

// As many dimensions as there are, in which each of two tensors has a stride of its own, 0 where it has one element for all;
// divided by a multiplication and a shift.  Of some lanes, if `odd` says so, the first one of a warp among those that are off,
// too.
struct Dims {
    int n;
    unsigned size[6], magic[6], shift[6], stride[6][2];
    void add(unsigned count, unsigned a, unsigned b)
    {
        unsigned s = 0;
        while ((1u << s) < count)
            s++;
        size[n] = count;
        magic[n] = (unsigned)((((uint64_t)1 << 32) * (((uint64_t)1 << s) - count)) / count + 1);
        shift[n] = s;
        stride[n][0] = a;
        stride[n++][1] = b;
    }
};

template <class T>
__global__ void broadcast(const T *in, T *out, Dims d, int n, int odd)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, left = i, at[2] = { 0, 0 };
    if (i >= n || (i & 3) == odd)
        return;
#pragma unroll
    for (int k = 0; k < 6; k++) {
        if (k == d.n)
            break;
        unsigned q = (__umulhi(left, d.magic[k]) + left) >> d.shift[k], r = left - q * d.size[k];
        at[0] += r * d.stride[k][0];
        at[1] += r * d.stride[k][1];
        left = q;
    }
    out[i] = in[at[0]] * 2 + in[at[1]];
}

template <class T>
struct Arrays {
    std::vector<T> in, want, got;
    Dev<T> d_in, d_out;
    Arrays() : in(N * PITCH), want(N * PITCH), got(N * PITCH), d_in(N * PITCH), d_out(N * PITCH)
    {
        for (int i = 0; i < N * PITCH; i++)
            in[i] = (T)(i * 7 + i / 250);
        d_in.put(in.data());
    }
    void begin()
    {
        std::fill(want.begin(), want.end(), (T)0);
        d_out.fill(0);
    }
    void compare(const char *what, int a, int b)
    {
        d_out.get(got.data());
        for (size_t i = 0; i < got.size(); i++)
            EXPECT(got[i] == want[i], "%s of %d bytes, %d, %d: %g at %d is %g", what, (int)sizeof(T), a, b,
                   (double)got[i], (int)i, (double)want[i]);
    }
};

template <class T>
static void rows(Arrays<T> &a, int width, int n)
{
    int blocks = (n + 95) / 96, pitch = width + width % 3;
    a.begin();
    for (int i = 0; i < n; i++)
        a.want[i] = a.in[i / width * pitch + i % width];
    take_apart<T, int><<<blocks, 96>>>(a.d_in, a.d_out, width, pitch, n);
    a.compare("int", width, n);
    a.d_out.fill(0);
    take_apart<T, unsigned><<<blocks, 96>>>(a.d_in, a.d_out, width, pitch, n);
    a.compare("unsigned", width, n);
    a.d_out.fill(0);
    take_apart<T, long long><<<blocks, 96>>>(a.d_in, a.d_out, width, pitch, n);
    a.compare("long", width, n);
    a.begin();
    for (int i = 0; i < n; i++)
        a.want[i / width * pitch + i % width] = (T)(a.in[i] + a.in[n - 1 - i % width]);
    put_together<T><<<blocks, 96>>>(a.d_in, a.d_out, width, pitch, n);
    a.compare("stores", width, n);
}

template <class T>
static void strides(Arrays<T> &a, int3 size, int3 stride)
{
    int n = size.x * size.y * size.z;
    a.begin();
    for (int i = 0; i < n; i++)
        a.want[i] = a.in[i % size.x * stride.x + i / size.x % size.y * stride.y + i / size.x / size.y * stride.z];
    permuted<T><<<(n + 127) / 128, 128>>>(a.d_in, a.d_out, size, stride, n);
    a.compare("strides", size.x, stride.x);
}

template <class T>
static void lists(Arrays<T> &a, int width)
{
    std::vector<int> list(N / width + 1);
    for (size_t i = 0; i < list.size(); i++)
        list[i] = (int)(i * 37 % 100);
    Dev<int> d_list(list.data(), list.size());
    a.begin();
    for (int i = 0; i < N; i++)
        a.want[i] = a.in[list[i / width] * width + i % width];
    listed<T><<<8, 128>>>(a.d_in, a.d_out, d_list, width, N);
    a.compare("listed", width, N);
}

template <class T>
static void rounds(Arrays<T> &a, int width, int first, int step, int n)
{
    int pitch = width + 3;
    a.begin();
    for (int t = 0; t < 96; t++)
        for (int i = t * first; i < n; i += step)
            a.want[t] += a.in[i / width * pitch + i % width];
    for (int cut = 0; cut < (int)sizeof(T); cut += 3)
        for (int count : { 0, n }) {
            a.d_out.fill(0);
            in_rounds<T><<<1, 96>>>(a.d_in, a.d_out, width, pitch * (int)sizeof(T), first, step, n, cut, count);
            a.compare("rounds", width, first);
        }
}

template <class T>
static void broadcasts(Arrays<T> &a, const Dims &d)
{
    int n = 1;
    for (int k = 0; k < d.n; k++)
        n *= (int)d.size[k];
    for (int odd : { 4, 0, 1 }) {
        a.begin();
        for (int i = 0; i < n; i++) {
            unsigned left = i, at[2] = { 0, 0 };
            for (int k = 0; k < d.n; left /= d.size[k++])
                for (int j = 0; j < 2; j++)
                    at[j] += left % d.size[k] * d.stride[k][j];
            if ((i & 3) != odd)
                a.want[i] = (T)(a.in[at[0]] * 2 + a.in[at[1]]);
        }
        broadcast<T><<<(n + 127) / 128, 128>>>(a.d_in, a.d_out, d, n, odd);
        a.compare("broadcast", d.n, odd);
    }
}

template <class T>
static void test_broadcasts(Arrays<T> &a)
{
    for (unsigned x : { 5, 32, 64, 200 }) {
        Dims d = {};
        d.add(x, 1, 0);
        d.add(7, x, 1);
        broadcasts(a, d);
        d.add(6, 7 * x, 0);
        broadcasts(a, d);
        Dims e = {};
        e.add(x, 0, 0);
        e.add(2, 3, 0);
        e.add(4, 0, x);
        e.add(3, x, 1);
        broadcasts(a, e);
        Dims f = {};
        f.add(3, x, 0);
        f.add(x, 1, 5);
        f.add(2, 0, 7);
        broadcasts(a, f);
    }
}

template <class T>
static void test()
{
    static Arrays<T> a;
    test_broadcasts(a);
    for (int x : { 8, 40, 64 }) {
        for (int first : { 0, 1, 3 })
            rounds(a, x, first, 96, N);
        rounds(a, x, 1, 32, 70);
        lists(a, x);
        strides(a, make_int3(x, 6, 5), make_int3(1, 5 * x, x));
        strides(a, make_int3(x, 6, 5), make_int3(30, 1, 6));
        strides(a, make_int3(x, 6, 5), make_int3(0, 1, 6));
    }
    for (int width : { 1, 2, 7, 16, 31, 32, 33, 48, 97, 100 })
        for (int n : { 5, 96, (int)N })
            rows(a, width, n);
    for (int by = -40; by <= 40; by += 8) {
        a.begin();
        for (int i = 0; i < N; i++) {
            int at = i + by, reflected = at < 0 ? -at : at >= N ? 2 * N - 2 - at : at;
            a.want[i] = (T)(a.in[at < 0 ? 0 : at < N ? at : N - 1] * 3 + a.in[reflected]);
        }
        at_bounds<T><<<8, 128>>>(a.d_in, a.d_out, by, N);
        a.compare("bounds", by, N);
    }
}

static void test_some()
{
    static Arrays<int> a;
    for (int odd = 0; odd < 4; odd++)
        for (int width : { 20, 64 }) {
            a.begin();
            for (int i = 0; i < N; i++)
                if ((a.in[i] & 3) != odd)
                    a.want[i / width * PITCH + i % width] = a.in[i / width * PITCH + i % width] * 2;
            in_some<int><<<8, 128>>>(a.d_in, a.d_out, width, PITCH, N, odd);
            a.compare("some", odd, width);
        }
}

int main()
{
    test<float>();
    test<double>();
    test<short>();
    test<unsigned char>();
    test_some();
    return check_done();
}
