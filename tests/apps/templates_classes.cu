// C++ as kernels use it: variadic templates, lambdas (device and extended forms left to the compiler's defaults), operator
// overloading, constexpr, classes by value as kernel arguments, partial specialisation, static members, structured bindings.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <type_traits>

template <int N> struct Vec {
    float v[N];
    __host__ __device__ constexpr float &operator[](int i) { return v[i]; }
    __host__ __device__ constexpr float operator[](int i) const { return v[i]; }
    __host__ __device__ friend Vec operator+(Vec a, const Vec &b)
    {
        for (int i = 0; i < N; i++)
            a.v[i] += b.v[i];
        return a;
    }
    __host__ __device__ friend float dot(const Vec &a, const Vec &b)
    {
        float s = 0;
        for (int i = 0; i < N; i++)
            s += a.v[i] * b.v[i];
        return s;
    }
};

template <typename T, typename Enable = void> struct Traits {
    static constexpr int kind = 0;
};
template <typename T> struct Traits<T, std::enable_if_t<std::is_floating_point<T>::value>> {
    static constexpr int kind = 1;
};
template <typename T> struct Traits<T *> {
    static constexpr int kind = 2;
};

template <typename... Ts> __host__ __device__ constexpr int kinds()
{
    int k = 0;
    ((k = k * 10 + Traits<Ts>::kind), ...);
    return k;
}

template <typename T, typename... Rest> __host__ __device__ T sum_all(T first, Rest... rest)
{
    if constexpr (sizeof...(rest) == 0)
        return first;
    else
        return first + sum_all<T>(T(rest)...);
}

class Polynomial {
    double c_[6];
    int degree_;

public:
    Polynomial(std::initializer_list<double> c) : degree_((int)c.size() - 1)
    {
        int i = 0;
        for (double x : c)
            c_[i++] = x;
    }
    __host__ __device__ double operator()(double x) const
    {
        double r = 0;
        for (int i = degree_; i >= 0; i--)
            r = r * x + c_[i];
        return r;
    }
};

/* A large argument, copied and indexed per lane. */
struct Big {
    int head;
    short odd[301];
    long long tail;
};

template <typename F> __global__ void transform(F f, double *out, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = f(i * 0.5);
}

struct Scaled {
    double by;
    Polynomial p;
    __host__ __device__ double operator()(double x) const { return by * p(x); }
};

template <int N> __global__ void vectors(Vec<N> a, Vec<N> *io, float *out)
{
    int t = threadIdx.x;
    Vec<N> mine = io[t] + a;
    mine[t % N] = 100;
    io[t] = mine;
    auto square = [&](float x) { return x * x + out[t]; };
    out[t] = square(dot(mine, a));
}

__global__ void misc(Big big, int *out)
{
    int t = threadIdx.x;
    out[t] = big.odd[t * 3] + big.head + (int)(big.tail >> 32);
    struct Local {
        int a;
        long long b;
    };
    auto [a, b] = Local{t, (long long)t * t};
    out[100 + t] = sum_all(a, b, 2.9f, (short)4) + kinds<int, float, double, int *, char>();
}

int main()
{
    const int n = 50;
    Scaled f{2.0, Polynomial{1, -0.5, 0.25, 0, 2}};
    double out[n];
    Dev<double> d(n);
    transform<<<1, 32>>>(f, d, n);
    CHECK_LAUNCH();
    d.get(out);
    for (int i = 0; i < n; i++)
        EXPECT(fabs(out[i] - f(i * 0.5)) <= 1e-14 * fabs(f(i * 0.5)), "i=%d: %.17g", i, out[i]);

    Vec<3> a{{1, 2, 3}}, io[40], got[40];
    float fo[40];
    for (int i = 0; i < 40; i++)
        io[i] = Vec<3>{{(float)i, (float)-i, 2.0f * i}}, fo[i] = (float)i;
    Dev<Vec<3>> dio(io, 40);
    Dev<float> dfo(fo, 40);
    vectors<3><<<1, 40>>>(a, dio, dfo);
    CHECK_LAUNCH();
    dio.get(got);
    dfo.get(fo);
    for (int i = 0; i < 40; i++) {
        Vec<3> w = io[i] + a;
        w[i % 3] = 100;
        float s = dot(w, a);
        EXPECT(!memcmp(&w, &got[i], sizeof w) && fo[i] == s * s + i, "vec %d: %g %g %g -> %g", i, got[i][0], got[i][1],
               got[i][2], fo[i]);
    }

    Big big;
    big.head = 1000000;
    big.tail = 7LL << 32 | 5;
    for (int i = 0; i < 301; i++)
        big.odd[i] = (short)(i * 7 - 500);
    int mo[200];
    Dev<int> dm(200);
    misc<<<1, 100>>>(big, dm);
    CHECK_LAUNCH();
    dm.get(mo);
    for (int t = 0; t < 100; t++) {
        EXPECT(mo[t] == t * 21 - 500 + 1000000 + 7, "big %d: %d", t, mo[t]);
        EXPECT(mo[100 + t] == t + t * t + 2 + 4 + 1120, "misc %d: %d", t, mo[100 + t]);
    }
    return check_done();
}
