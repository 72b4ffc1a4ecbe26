// Asynchronous copies of which a part, or all, is zeros: by a size that varies, a size of nothing or all by a condition, a
// condition to leave the source alone, and each of them where some threads copy nothing.  As machine code these are other forms
// of the instruction.
// needs: -arch=sm_80
// variants: shared debug sm_80 sm_86 sm_89 sm_90
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

enum { THREADS = 64, FORMS = 8, WORDS = 4 };

#define COPY(form, text, ...) asm volatile(text :: "r"(to + 16 * THREADS * form), "l"(in + WORDS * t), ##__VA_ARGS__ : "memory")

__global__ void copies(const uint32_t *in, const uint32_t *sizes, uint32_t *out)
{
    __shared__ __align__(16) uint32_t s[FORMS][THREADS][WORDS];
    uint32_t t = threadIdx.x, size = sizes[t], to = (uint32_t)__cvta_generic_to_shared(s[0][t]);
    for (int f = 0; f < FORMS; f++)
        for (int w = 0; w < WORDS; w++)
            s[f][t][w] = ~0u;
    __syncthreads();
    COPY(0, "cp.async.cg.shared.global [%0], [%1], 16, %2;", "r"(size));
    COPY(1, "cp.async.ca.shared.global [%0], [%1], 8, %2;", "r"(size / 2));
    COPY(2, "cp.async.ca.shared.global [%0], [%1], 4, %2;", "r"(size / 4));
    COPY(3, "cp.async.cg.shared.global [%0], [%1], 16, %2;", "r"(size > 7 ? 16 : 0));
    COPY(4, "{ .reg .pred p; setp.lt.u32 p, %2, 8; cp.async.cg.shared.global [%0], [%1], 16, p; }", "r"(size));
    if (size & 1)
        COPY(5, "cp.async.cg.shared.global [%0], [%1], 16, %2;", "r"(size > 7 ? 16 : 0));
    COPY(6, "cp.async.ca.shared.global [%0], [%1], 16, 12;");
    COPY(7, "cp.async.ca.shared.global [%0], [%1], 16, 0;");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int f = 0; f < FORMS; f++)
        for (int w = 0; w < WORDS; w++)
            out[(f * THREADS + t) * WORDS + w] = s[f][t][w];
}

/* The bytes that a form copies and those that it writes at all. */
static void form(int f, uint32_t size, uint32_t *copied, uint32_t *written)
{
    const uint32_t all = size > 7 ? 16 : 0;
    const uint32_t n[FORMS] = { size, size / 2, size / 4, all, all, all, 12, 0 },
                   of[FORMS] = { 16, 8, 4, 16, 16, size & 1 ? 16u : 0u, 16, 16 };
    *copied = n[f];
    *written = of[f];
}

int main()
{
    std::vector<uint32_t> in(THREADS * WORDS), sizes(THREADS), out(FORMS * in.size());
    for (size_t i = 0; i < in.size(); i++)
        in[i] = 0x01020304u * (uint32_t)(i + 1) | 0x80808080u;
    for (uint32_t t = 0; t < THREADS; t++)
        sizes[t] = t % 17;
    uint32_t *d_in, *d_sizes, *d_out;
    CHECK(cudaMalloc(&d_in, 4 * in.size()));
    CHECK(cudaMalloc(&d_sizes, 4 * sizes.size()));
    CHECK(cudaMalloc(&d_out, 4 * out.size()));
    CHECK(cudaMemcpy(d_in, in.data(), 4 * in.size(), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_sizes, sizes.data(), 4 * sizes.size(), cudaMemcpyHostToDevice));
    copies<<<1, THREADS>>>(d_in, d_sizes, d_out);
    CHECK(cudaMemcpy(out.data(), d_out, 4 * out.size(), cudaMemcpyDeviceToHost));
    for (int f = 0; f < FORMS; f++)
        for (uint32_t b = 0; b < THREADS * WORDS * 4; b++) {
            uint32_t copied, written, at = b % 16;
            form(f, sizes[b / 16], &copied, &written);
            uint8_t expected = at >= written ? 0xff : at >= copied ? 0 : ((const uint8_t *)in.data())[b];
            uint8_t got = ((const uint8_t *)out.data())[f * THREADS * 16 + b];
            EXPECT(got == expected, "form %d, byte %u of thread %u: %u instead of %u", f, at, b / 16, got, expected);
        }
    return check_done();
}
