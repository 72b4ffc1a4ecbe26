// Quotients and remainders whose divisor is an argument of the kernel, or each lane's own: signed and unsigned, of 8 to 64 bits,
// by and of the numbers next to powers of two and to their own multiples, in all lanes and in some; and by an inverse of 33 bits.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <limits>
#include <vector>

template <class T>
__global__ void by_one(const T *a, T b, T *quotient, T *remainder, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    quotient[i] = a[i] / b;
    remainder[i] = a[i] % b;
}

// The odd lanes have their own divisor, where it is none of 0: a lane that does not divide may hold anything.
template <class T>
__global__ void by_each(const T *a, const T *b, T *quotient, T *remainder, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    quotient[i] = remainder[i] = 99;
    if (b[i] != 0 && (i & 1)) {
        quotient[i] = a[i] / b[i];
        remainder[i] = a[i] % b[i];
    }
}

// By a divisor up to 2^31, as libraries divide indices: the factor is 2^32 + inverse, and what it makes is shifted.
__global__ void by_inverse(const uint32_t *a, uint32_t b, uint32_t inverse, uint32_t shift, uint32_t *quotient,
                           uint32_t *remainder, uint32_t *high, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint32_t x = a[i], q = (__umulhi(x, inverse) + x) >> shift;
    quotient[i] = q;
    remainder[i] = x - q * b;
    high[i] = (uint32_t)((x * (((uint64_t)1 << 32) + inverse)) >> 32);
}

// Next to powers of two, to the ends of the type and to multiples of some divisors.
template <class T>
static std::vector<T> numbers()
{
    std::vector<T> v;
    int bits = sizeof(T) * 8;
    for (int k = 0; k < bits; k++)
        for (int d = -1; d <= 1; d++) {
            T x = (T)((uint64_t)1 << k) + (T)d;
            v.push_back(x);
            v.push_back((T)(0 - x));
        }
    T last = std::numeric_limits<T>::max();
    for (T d : { (T)3, (T)7, (T)10, (T)97 })
        for (T q : { (T)(last / d), (T)(last / d / 2), (T)1 })
            for (int e = -1; e <= 1; e++)
                v.push_back((T)(q * d + e));
    uint64_t state = 12345;
    for (int i = 0; i < 200; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        v.push_back((T)(state >> 33 >> (state >> 59)));
    }
    return v;
}

template <class T>
static void compare(const std::vector<T> &a, const std::vector<T> &b, const Dev<T> &quotient, const Dev<T> &remainder, bool some)
{
    std::vector<T> got_q(a.size()), got_r(a.size());
    quotient.get(got_q.data());
    remainder.get(got_r.data());
    for (size_t i = 0; i < a.size(); i++) {
        bool wraps = std::numeric_limits<T>::is_signed && sizeof(T) >= 4 && b[i] == (T)-1; // the least number by -1 is itself
        bool none = some && (b[i] == 0 || !(i & 1));
        T q = none ? 99 : wraps ? (T)(0 - (uint64_t)a[i]) : (T)(a[i] / b[i]);
        T r = none ? 99 : wraps ? 0 : (T)(a[i] % b[i]);
        EXPECT(got_q[i] == q && got_r[i] == r, "%d bits, %lld by %lld: %lld, %lld", (int)sizeof(T) * 8,
               (long long)a[i], (long long)b[i], (long long)got_q[i], (long long)got_r[i]);
    }
}

template <class T>
static void test()
{
    std::vector<T> a = numbers<T>(), b(a.size());
    int n = (int)a.size(), blocks = (n + 127) / 128;
    Dev<T> da(a.data(), n), db(n), q(n), r(n);
    for (int k = 0; k < n; k += k < 100 ? 3 : 17) {
        if (a[k]) {
            by_one<T><<<blocks, 128>>>(da, a[k], q, r, n);
            compare<T>(a, std::vector<T>(n, a[k]), q, r, false);
        }
        for (int i = 0; i < n; i++)
            b[i] = a[(i + k) % n];
        db.put(b.data());
        by_each<T><<<blocks, 128>>>(da, db, q, r, n);
        compare<T>(a, b, q, r, true);
    }
}

// Exact for numbers up to 2^31; of larger ones the high word alone is compared, whatever the inverse.
static void test_inverse()
{
    std::vector<uint32_t> a = numbers<uint32_t>(), got_q(a.size()), got_r(a.size()), got_high(a.size());
    int n = (int)a.size(), blocks = (n + 127) / 128;
    Dev<uint32_t> da(a.data(), n), q(n), r(n), high(n);
    for (int k = 0; k < n; k += k < 100 ? 1 : 7) {
        uint32_t b = a[k], shift = 0;
        bool divides = b && b <= 1u << 31;
        while (divides && (1u << shift) < b)
            shift++;
        uint32_t inverse = divides ? (uint32_t)((((uint64_t)1 << 32) * (((uint64_t)1 << shift) - b)) / b + 1) : b;
        by_inverse<<<blocks, 128>>>(da, b, inverse, shift, q, r, high, n);
        CHECK_LAUNCH();
        q.get(got_q.data());
        r.get(got_r.data());
        high.get(got_high.data());
        for (int i = 0; i < n; i++) {
            uint32_t want = (uint32_t)(((uint64_t)a[i] * inverse) >> 32) + a[i];
            EXPECT(got_high[i] == want, "%u by 2^32 + %u: %u, not %u", a[i], inverse, got_high[i], want);
            if (divides && a[i] < 1u << 31)
                EXPECT(got_q[i] == a[i] / b && got_r[i] == a[i] % b, "%u by the inverse of %u: %u, %u", a[i], b, got_q[i],
                       got_r[i]);
        }
    }
}

int main()
{
    test_inverse();
    test<int32_t>();
    test<uint32_t>();
    test<int16_t>();
    test<uint16_t>();
    test<int8_t>();
    test<uint8_t>();
    test<int64_t>();
    test<uint64_t>();
    return check_done();
}
