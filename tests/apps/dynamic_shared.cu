// Dynamic shared memory beside static, carved into typed parts, at sizes up to the opt-in limit, aliased extern declarations.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

extern __shared__ __align__(16) unsigned char pool[];

__global__ void carve(int n, double *out)
{
    __shared__ int fixed[37];
    double *d = (double *)pool;
    int *i = (int *)(d + n);
    char *c = (char *)(i + n);
    int t = threadIdx.x;
    if (t < 37)
        fixed[t] = t;
    for (int k = t; k < n; k += blockDim.x) {
        d[k] = k * 0.5;
        i[k] = -k;
        c[k] = (char)(k % 100);
    }
    __syncthreads();
    for (int k = t; k < n; k += blockDim.x)
        out[k] = d[n - 1 - k] + i[n - 1 - k] * 1000.0 + c[n - 1 - k] * 1e7 + fixed[k % 37] * 1e10;
}

template <typename T> __global__ void reverse(T *data)
{
    T *s = reinterpret_cast<T *>(pool);
    s[threadIdx.x] = data[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    data[blockIdx.x * blockDim.x + threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

__global__ void touch_all(unsigned bytes, unsigned *ret_bad)
{
    for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x)
        pool[i] = (unsigned char)(i * 7 + blockIdx.x);
    __syncthreads();
    unsigned size;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
    for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x)
        if (pool[bytes - 1 - i] != (unsigned char)((bytes - 1 - i) * 7 + blockIdx.x))
            atomicAdd(ret_bad, 1u);
    if (size != bytes)
        atomicAdd(ret_bad, 1000000u);
}

int main()
{
    const int n = 500;
    double out[n];
    Dev<double> d(n);
    carve<<<1, 64, n * (8 + 4 + 1)>>>(n, d);
    CHECK_LAUNCH();
    d.get(out);
    for (int k = 0; k < n; k++) {
        int r = n - 1 - k;
        double want = r * 0.5 - r * 1000.0 + r % 100 * 1e7 + k % 37 * 1e10;
        EXPECT(out[k] == want, "carve %d: %.17g, expected %.17g", k, out[k], want);
    }

    short s[96];
    long long l[96];
    for (int i = 0; i < 96; i++)
        s[i] = (short)i, l[i] = (long long)i << 33;
    Dev<short> ds(s, 96);
    Dev<long long> dl(l, 96);
    reverse<<<2, 48, 48 * sizeof(short)>>>(ds.ptr);
    reverse<<<2, 48, 48 * sizeof(long long)>>>(dl.ptr);
    CHECK_LAUNCH();
    ds.get(s);
    dl.get(l);
    for (int i = 0; i < 96; i++) {
        int from = i / 48 * 48 + 47 - i % 48;
        EXPECT(s[i] == from && l[i] == (long long)from << 33, "reverse %d: %d %llx", i, s[i], l[i]);
    }

    int standard, optin;
    CHECK(cudaDeviceGetAttribute(&standard, cudaDevAttrMaxSharedMemoryPerBlock, 0));
    CHECK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    EXPECT(standard >= 48 * 1024 && optin >= standard, "limits %d %d", standard, optin);
    /* The assembler, not optimising, counts a variable of another kernel to this one's own memory, too. */
    cudaFuncAttributes attr;
    CHECK(cudaFuncGetAttributes(&attr, touch_all));
    standard -= (int)attr.sharedSizeBytes, optin -= (int)attr.sharedSizeBytes;
    Dev<unsigned> bad(1);
    unsigned count;
    bad.fill(0);
    touch_all<<<3, 256, standard>>>(standard, bad);
    CHECK_LAUNCH();
    if (optin > standard) {
        touch_all<<<1, 32, optin>>>(optin, bad);
        CHECK_ERR(cudaGetLastError(), cudaErrorInvalidValue);
        CHECK(cudaFuncSetAttribute(touch_all, cudaFuncAttributeMaxDynamicSharedMemorySize, optin));
        touch_all<<<2, 256, optin>>>(optin, bad);
        CHECK_LAUNCH();
    }
    bad.get(&count);
    EXPECT(count == 0, "%u bytes of shared memory were wrong", count);
    return check_done();
}
