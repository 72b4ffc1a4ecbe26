// Several translation units with relocatable device code: functions, variables and a constant defined in another unit, a kernel
// declared here and defined there.
// sources: rdc_multi_other.cu
// needs: -rdc=true
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

extern __device__ int shared_counter;
extern __constant__ float shared_factors[4];
extern __device__ float other_scale(float x, int which);
extern __device__ double other_line(double x);
typedef int (*Step)(int);
extern __device__ Step other_step;
extern __global__ void other_kernel(int *out);
static __device__ int same_name = 1;

__device__ int called_from_other(int x)
{
    return x * 2 + same_name;
}

__global__ void here(float *out, double *line)
{
    int t = threadIdx.x;
    line[t] = other_line(t);
    out[t] = other_scale((float)t, t % 4) + shared_factors[(t + 1) % 4] + other_step(t);
    atomicAdd(&shared_counter, 1);
}

int main()
{
    Dev<float> d(64);
    Dev<double> l(64);
    double line[64];
    Dev<int> e(64);
    float out[64];
    int ints[64], count;
    const float factors[4] = {0.5f, 1, 2, -4};
    here<<<1, 64>>>(d, l);
    other_kernel<<<1, 64>>>(e);
    CHECK_LAUNCH();
    d.get(out);
    l.get(line);
    e.get(ints);
    for (int t = 0; t < 64; t++) {
        EXPECT(out[t] == t * factors[t % 4] + factors[(t + 1) % 4] + (t * 3 + 1), "here %d: %g", t, out[t]);
        EXPECT(line[t] == fma(t, 0.1234567890123, 9.87654321e-5), "line %d: %g", t, line[t]);
        EXPECT(ints[t] == t * 2 + 1 + 50 + 164, "there %d: %d", t, ints[t]);
    }
    CHECK(cudaMemcpyFromSymbol(&count, shared_counter, sizeof count));
    EXPECT(count == 100 + 64, "counter %d", count);
    return check_done();
}
