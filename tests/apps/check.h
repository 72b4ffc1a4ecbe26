/* What every app shares: checked CUDA calls, a seeded generator, comparison with one message per failure.
 *
 * Header only, host side only.  Not a test framework: an app is one program that prints PASS and returns 0, or prints the first
 * few things that were wrong and returns 1. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APPS_CHECK_H
#define APPS_CHECK_H

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

static int check_failures;

/* Of all bytes that blocking copies brought from the device, in order (FNV-1a).  With CHECK_DIGEST set in the environment,
 * check_done prints it, so that runs on several devices can be compared to the bit. */
static uint64_t check_digest = 14695981039346656037u;

static inline cudaError_t check_memcpy(void *dst, const void *src, size_t size, cudaMemcpyKind kind)
{
    cudaError_t error = cudaMemcpy(dst, src, size, kind);
    for (size_t i = 0; error == cudaSuccess && kind == cudaMemcpyDeviceToHost && i < size; i++)
        check_digest = (check_digest ^ ((const unsigned char *)dst)[i]) * 1099511628211u;
    return error;
}
#define cudaMemcpy(...) check_memcpy(__VA_ARGS__)

/* A CUDA call that must succeed; the program ends otherwise. */
#define CHECK(call)                                                                                         \
    do {                                                                                                    \
        cudaError_t check_err_ = (call);                                                                    \
        if (check_err_ != cudaSuccess) {                                                                    \
            std::printf("%s:%d: %s: %s (%d)\n", __FILE__, __LINE__, #call, cudaGetErrorName(check_err_),    \
                        (int)check_err_);                                                                   \
            std::exit(1);                                                                                   \
        }                                                                                                   \
    } while (0)

/* A CUDA call that must fail with just this error. */
#define CHECK_ERR(call, want)                                                                               \
    do {                                                                                                    \
        cudaError_t check_err_ = (call);                                                                    \
        if (check_err_ != (want)) {                                                                         \
            std::printf("%s:%d: %s: got %s, expected %s\n", __FILE__, __LINE__, #call,                      \
                        cudaGetErrorName(check_err_), #want);                                               \
            check_failures++;                                                                               \
        }                                                                                                   \
    } while (0)

/* A launch must have been accepted and must end well. */
#define CHECK_LAUNCH()                 \
    do {                               \
        CHECK(cudaGetLastError());     \
        CHECK(cudaDeviceSynchronize()); \
    } while (0)

#define EXPECT(cond, ...)                                                  \
    do {                                                                   \
        if (!(cond) && check_failures++ < 10) {                            \
            std::printf("%s:%d: %s: ", __FILE__, __LINE__, #cond);         \
            std::printf(__VA_ARGS__);                                      \
            std::printf("\n");                                             \
        }                                                                  \
    } while (0)

/* main's last line. */
static inline int check_done(void)
{
    if (check_failures) {
        std::printf("FAIL: %d checks\n", check_failures);
        return 1;
    }
    if (std::getenv("CHECK_DIGEST"))
        std::printf("digest %016llx\n", (unsigned long long)check_digest);
    std::printf("PASS\n");
    return 0;
}

/* xorshift64*: the same numbers on every machine. */
struct Rng {
    uint64_t state;
    explicit Rng(uint64_t seed) : state(seed * 2654435761u + 88172645463325252ull) {}
    uint64_t u64()
    {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return state * 2685821657736338717ull;
    }
    uint32_t u32() { return (uint32_t)(u64() >> 32); }
    uint32_t below(uint32_t n) { return u32() % n; }
    double unit() { return (double)(u64() >> 11) * (1.0 / 9007199254740992.0); }
    double range(double lo, double hi) { return lo + (hi - lo) * unit(); }
};

/* Device memory that frees itself and copies by element count. */
template <typename T> struct Dev {
    T *ptr;
    size_t n;
    explicit Dev(size_t count) : ptr(nullptr), n(count) { CHECK(cudaMalloc((void **)&ptr, count * sizeof(T))); }
    Dev(const T *host, size_t count) : Dev(count) { put(host); }
    ~Dev() { cudaFree(ptr); }
    Dev(const Dev &) = delete;
    Dev &operator=(const Dev &) = delete;
    void put(const T *host) const { CHECK(cudaMemcpy(ptr, host, n * sizeof(T), cudaMemcpyHostToDevice)); }
    void get(T *host) const { CHECK(cudaMemcpy(host, ptr, n * sizeof(T), cudaMemcpyDeviceToHost)); }
    /* What depends on the order of warps or blocks: in no digest. */
    void get_unordered(T *host) const { CHECK((cudaMemcpy)(host, ptr, n * sizeof(T), cudaMemcpyDeviceToHost)); }
    /* Done when it returns: cudaMemset need not be, and streams that do not wait for the default stream could overtake it. */
    void fill(int byte) const
    {
        CHECK(cudaMemset(ptr, byte, n * sizeof(T)));
        CHECK(cudaStreamSynchronize(0));
    }
    operator T *() const { return ptr; }
};

#endif
