// Fused products of one half of a register, of half and bfloat16, in every place where machine code has a sign: what is lifted
// from it takes each sign for the operand that it belongs to.
// needs: -arch=sm_80
// variants: shared sm_80
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum { FUSED = 8 };

// Products of one half of a register, with what is added in a parameter, in the instruction, in a register.
template <class P, class H> __global__ void plain(const P *in, H *out, H c)
{
    P v = in[threadIdx.x];
    H a = v.x, b = v.y, one = H(1.0f), *to = out + FUSED * threadIdx.x;
    to[0] = __hfma(a, b, c);
    to[1] = __hfma(b, a, one);
    to[2] = __hfma(a, one, __hneg(c));
}

// And with negated factors.
template <class P, class H> __global__ void negated(const P *in, H *out, H c, P two)
{
    P v = in[threadIdx.x];
    H a = v.x, b = v.y, one = H(1.0f), *to = out + FUSED * threadIdx.x;
    to[3] = __hfma(a, __hneg(b), c);
    to[4] = __hfma(b, __hneg(a), one);
    to[5] = __hfma(two.x, __hneg(b), two.y);
    to[6] = __hfma(__hneg(b), __habs(a), c);
    to[7] = __hfma(b, b, __hneg(a));
}

// Small numbers, so that all results are exact.
template <class P, class H> static void check_fused(const char *name)
{
    enum { N = 64 };
    P in[N], *device_in, two;
    H out[N * FUSED], *device_out;
    for (int i = 0; i < N; i++)
        in[i].x = H((float)(i % 8 - 3)), in[i].y = H((float)(i / 8 - 4) * 0.5f);
    two.x = H(3.0f), two.y = H(-0.5f);
    CHECK(cudaMalloc(&device_in, sizeof in));
    CHECK(cudaMalloc(&device_out, sizeof out));
    CHECK(cudaMemcpy(device_in, in, sizeof in, cudaMemcpyHostToDevice));
    plain<P, H><<<1, N>>>(device_in, device_out, H(2.5f));
    CHECK_LAUNCH();
    negated<P, H><<<1, N>>>(device_in, device_out, H(2.5f), two);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(out, device_out, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        float a = (float)(i % 8 - 3), b = (float)(i / 8 - 4) * 0.5f;
        const float want[FUSED] = { a * b + 2.5f, a * b + 1, a - 2.5f, -a * b + 2.5f, -a * b + 1, -3 * b - 0.5f,
                                    -b * std::fabs(a) + 2.5f, b * b - a };
        for (int k = 0; k < FUSED; k++)
            EXPECT((float)out[FUSED * i + k] == want[k], "%s fused %d of %g and %g: %g, not %g", name, k, a, b,
                   (float)out[FUSED * i + k], want[k]);
    }
    CHECK(cudaFree(device_in));
    CHECK(cudaFree(device_out));
}

int main()
{
    check_fused<__half2, __half>("half");
    check_fused<__nv_bfloat162, __nv_bfloat16>("bfloat16");
    return check_done();
}
