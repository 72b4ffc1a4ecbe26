// Clusters of one block: what the launch says of them, what a kernel sees, and barriers of the cluster; larger ones are refused.
// needs: -arch=sm_90
// variants: shared static debug rdc sm_90
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cooperative_groups.h>
#include <vector>

namespace cg = cooperative_groups;

__device__ void step(unsigned *out, unsigned *cell, int rounds)
{
    cg::cluster_group cluster = cg::this_cluster();
    unsigned t = threadIdx.x, n = blockDim.x, sum = 0;
    for (int i = 0; i < rounds; i++) {
        cell[t] = t * 3 + i;
        cluster.sync();
        sum += cell[(t + 7) % n];
        auto token = cluster.barrier_arrive();
        sum += i;
        cluster.barrier_wait(std::move(token));
    }
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    out[blockIdx.x * n + t] = sum * 16 + cluster.num_blocks() * 8 + cluster.block_rank() * 4 +
                              (cluster.num_threads() == n && cluster.thread_rank() == t) * 2 +
                              (cluster.dim_blocks().x * cluster.dim_blocks().y * cluster.dim_blocks().z == 1 &&
                               !cluster.block_index().x);
}

__global__ void plain(unsigned *out, int rounds)
{
    extern __shared__ unsigned cell[];
    step(out, cell, rounds);
}

__global__ void __cluster_dims__(1, 1, 1) declared(unsigned *out, int rounds)
{
    extern __shared__ unsigned cell[];
    step(out, cell, rounds);
}

__global__ void __cluster_dims__(2, 1, 1) pairs(unsigned *out, int rounds)
{
    extern __shared__ unsigned cell[];
    step(out, cell, rounds);
}

/* Threads that end early have arrived. */
__global__ void early(unsigned *out)
{
    if (threadIdx.x / 32 % 2)
        return;
    for (int i = 0; i < 3; i++)
        asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
    out[threadIdx.x] = 5;
}

static cudaError_t launch(void (*kernel)(unsigned *, int), unsigned *out, int blocks, int n, int rounds, int cluster)
{
    cudaLaunchAttribute attr = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(n);
    config.dynamicSmemBytes = n * sizeof(unsigned);
    attr.id = cudaLaunchAttributeClusterDimension;
    attr.val.clusterDim.x = cluster;
    attr.val.clusterDim.y = attr.val.clusterDim.z = 1;
    config.attrs = &attr;
    config.numAttrs = cluster ? 1 : 0;
    int size = -1, most = -1;
    if (cluster < 2) {
        CHECK(cudaOccupancyMaxPotentialClusterSize(&size, kernel, &config));
        CHECK(cudaOccupancyMaxActiveClusters(&most, kernel, &config));
        EXPECT(size == 1 && most > 0, "clusters of %d, at most %d", size, most);
    }
    return cudaLaunchKernelEx(&config, kernel, out, rounds);
}

int main()
{
    Dev<unsigned> out(4 * 256);
    std::vector<unsigned> got(out.n);
    for (int n : { 32, 100, 256 })
        for (int form = 0; form < 4; form++) {
            out.fill(0);
            CHECK(launch(form < 2 ? plain : declared, out, 4, n, 5, form & 1));
            CHECK_LAUNCH();
            out.get(got.data());
            for (int t = 0; t < 4 * n; t++) {
                unsigned sum = 0;
                for (int i = 0; i < 5; i++)
                    sum += (t % n + 7) % n * 3 + 2 * i;
                EXPECT(got[t] == sum * 16 + 8 + 3, "form %d, %d threads, thread %d: %u, expected %u", form, n, t, got[t],
                       sum * 16 + 11);
            }
        }
    out.fill(0);
    early<<<1, 160>>>(out);
    CHECK_LAUNCH();
    out.get(got.data());
    for (int t = 0; t < 160; t++)
        EXPECT(got[t] == (t / 32 % 2 ? 0u : 5u), "early, thread %d: %u", t, got[t]);
    CHECK_ERR(launch(plain, out, 4, 64, 1, 2), cudaErrorInvalidClusterSize);
    CHECK_ERR(cudaGetLastError(), cudaErrorInvalidClusterSize);
    CHECK_ERR(launch(pairs, out, 4, 64, 1, 0), cudaErrorInvalidClusterSize);
    CHECK_ERR(cudaGetLastError(), cudaErrorInvalidClusterSize);
    CHECK(cudaDeviceSynchronize());
    return check_done();
}
