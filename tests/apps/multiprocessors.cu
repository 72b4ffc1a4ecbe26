// Which multiprocessor a block runs on: %smid is the same for all its threads and indexes arrays of multiProcessorCount elements,
// as programs that keep something for each multiprocessor have them; every kernel calls one by the same number.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <set>
#include <vector>

struct Where {
    unsigned smid, nsmid;
};

__device__ Where where()
{
    Where w;
    asm volatile("mov.u32 %0, %smid;" : "=r"(w.smid));
    asm volatile("mov.u32 %0, %nsmid;" : "=r"(w.nsmid));
    return w;
}

__global__ void ask(Where *out)
{
    __shared__ unsigned first;
    Where w = where();
    if (threadIdx.x == blockDim.x - 1)
        first = w.smid;
    __syncthreads();
    if (w.smid != first)
        w.smid = ~0u;
    out[blockIdx.x * blockDim.x + threadIdx.x] = w;
}

/* A queue for each multiprocessor, as persistent kernels have them. */
__global__ void count(int *blocks, int n, int *wrong)
{
    unsigned smid = where().smid;
    if (threadIdx.x)
        return;
    if (smid < (unsigned)n)
        atomicAdd(&blocks[smid], 1);
    else
        atomicAdd(wrong, 1);
}

int main()
{
    const int blocks = 64, threads = 96;
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    const int n = prop.multiProcessorCount;
    Dev<Where> out(blocks * threads);
    std::vector<Where> got(out.n);
    std::set<unsigned> asked, counted;
    ask<<<blocks, threads>>>(out);
    CHECK_LAUNCH();
    out.get_unordered(got.data());
    for (int i = 0; i < blocks * threads; i++) {
        EXPECT(got[i].smid < got[i].nsmid && got[i].smid < (unsigned)n, "block %d, thread %d: %u of %u, %d", i / threads,
               i % threads, got[i].smid, got[i].nsmid, n);
        asked.insert(got[i].smid);
    }
    Dev<int> on(n + 1);
    std::vector<int> each(on.n);
    on.fill(0);
    count<<<blocks, threads>>>(on, n, (int *)on + n);
    CHECK_LAUNCH();
    on.get_unordered(each.data());
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += each[i];
        if (each[i])
            counted.insert(i);
    }
    EXPECT(sum == blocks && each[n] == 0, "%d blocks counted, %d without a place", sum, each[n]);
    if (strstr(prop.name, "Simulated")) { /* blocks go round its units, whichever host thread runs them */
        EXPECT(asked.size() > 1 && asked == counted, "%zu multiprocessors seen by one kernel, %zu by another", asked.size(),
               counted.size());
        for (unsigned i : counted)
            EXPECT(each[i] == blocks / (int)counted.size(), "%d of %d blocks on %u", each[i], blocks, i);
    }
    return check_done();
}
