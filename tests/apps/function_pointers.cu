// Device function pointers: from a table in device memory, from a __device__ pointer variable, chosen per lane (divergent
// targets), passed as an argument, and fetched by the host and handed to another kernel.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

typedef int (*Op)(int, int);

__device__ __noinline__ int op_add(int a, int b) { return a + b; }
__device__ __noinline__ int op_sub(int a, int b) { return a - b; }
__device__ __noinline__ int op_mul(int a, int b) { return a * b; }
__device__ __noinline__ int op_pow(int a, int b)
{
    int r = 1;
    for (int i = 0; i < (b & 7); i++)
        r *= a;
    return r;
}

__device__ Op ops[4] = {op_add, op_sub, op_mul, op_pow};
__constant__ Op constant_ops[2] = {op_mul, op_add};
__device__ Op chosen = op_sub;

__device__ __noinline__ int apply(Op f, int a, int b)
{
    return f ? f(a, b) : -1;
}

__global__ void by_table(int *out)
{
    int t = threadIdx.x;
    out[t] = ops[t % 4](t, 3);
    out[64 + t] = constant_ops[t & 1](t, 5);
    out[128 + t] = apply(t % 3 ? chosen : nullptr, t, 7);
}

__global__ void by_argument(Op f, int *out)
{
    out[threadIdx.x] = f(threadIdx.x, 2);
}

__global__ void compare(int *out)
{
    out[0] = ops[1] == chosen;
    out[1] = ops[0] == ops[2];
    out[2] = ops[3] == op_pow;
}

static int host_op(int which, int a, int b)
{
    int r = 1;
    switch (which) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    }
    for (int i = 0; i < (b & 7); i++)
        r *= a;
    return r;
}

int main()
{
    Dev<int> d(192);
    int out[192];
    by_table<<<1, 64>>>(d);
    CHECK_LAUNCH();
    d.get(out);
    for (int t = 0; t < 64; t++) {
        EXPECT(out[t] == host_op(t % 4, t, 3), "table t=%d: %d", t, out[t]);
        EXPECT(out[64 + t] == host_op(t & 1 ? 0 : 2, t, 5), "constant t=%d: %d", t, out[64 + t]);
        EXPECT(out[128 + t] == (t % 3 ? t - 7 : -1), "apply t=%d: %d", t, out[128 + t]);
    }
    Op fetched[4];
    CHECK(cudaMemcpyFromSymbol(fetched, ops, sizeof fetched));
    for (int which = 0; which < 4; which++) {
        by_argument<<<1, 33>>>(fetched[which], d);
        CHECK_LAUNCH();
        d.get(out);
        for (int t = 0; t < 33; t++)
            EXPECT(out[t] == host_op(which, t, 2), "argument %d t=%d: %d", which, t, out[t]);
    }
    CHECK(cudaMemcpyToSymbol(chosen, &fetched[2], sizeof(Op)));
    compare<<<1, 1>>>(d);
    CHECK_LAUNCH();
    d.get(out);
    EXPECT(out[0] == 0 && out[1] == 0 && out[2] == 1, "compare %d %d %d", out[0], out[1], out[2]);
    return check_done();
}
