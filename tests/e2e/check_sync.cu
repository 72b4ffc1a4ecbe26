// Defects of synchronisation that tests/e2e/check_found.py has `anywarp check --sync` find, by number; number 0
// runs what is as close and sound.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#define ALL 0xffffffffu

__global__ void barrier_half(int *out, int n)
{
    if (threadIdx.x % 32 < n)
        __syncthreads(); // LINE barrier_half
    out[threadIdx.x] = 1;
}

__global__ void barrier_sides(int *out, int n)
{
    if (threadIdx.x % 32 < n)
        asm volatile("bar.sync 0;" ::: "memory"); // LINE barrier_sides
    else
        asm volatile("bar.sync 0;" ::: "memory"); // LINE barrier_sides_too
    out[threadIdx.x] = 1;
}

__global__ void barrier_warps(int *out, int n)
{
    if (threadIdx.x / 32 < n)
        __syncthreads(); // LINE barrier_warps
    out[threadIdx.x] = 1;
}

__global__ void barrier_loop(int *out)
{
    for (int i = 0; i < threadIdx.x % 4 + 1; i++)
        __syncthreads(); // LINE barrier_loop
    asm volatile("bar.sync 1;" ::: "memory");
    out[threadIdx.x] = 1;
}

__global__ void barrier_count(int *out, int threads)
{
    asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory"); // LINE barrier_count
    out[threadIdx.x] = 1;
}

__global__ void barrier_many(int *out, int threads)
{
    asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory"); // LINE barrier_many
    out[threadIdx.x] = 1;
}

__global__ void barrier_other(int *out, int n)
{
    if (threadIdx.x / 32 < n)
        asm volatile("bar.sync 1;" ::: "memory"); // LINE barrier_other
    else
        asm volatile("bar.sync 2;" ::: "memory");
    out[threadIdx.x] = 1;
}

__global__ void warp_stranger(int *out, unsigned mask)
{
    __syncwarp(mask); // LINE warp_stranger
    out[threadIdx.x] = 1;
}

__global__ void warp_missing(int *out, int n)
{
    if (threadIdx.x % 32 < n)
        __syncwarp(ALL); // LINE warp_missing
    out[threadIdx.x] = 1;
}

__global__ void shuffle_missing(int *out, int n)
{
    int v = threadIdx.x;
    if (threadIdx.x % 32 < n)
        v = __shfl_down_sync(ALL, v, 1); // LINE shuffle_missing
    out[threadIdx.x] = v;
}

__global__ void shuffle_stranger(int *out, unsigned mask)
{
    out[threadIdx.x] = __shfl_xor_sync(mask, threadIdx.x, 1); // LINE shuffle_stranger
}

__global__ void ballot_missing(unsigned *out, int n)
{
    unsigned v = 0;
    if (threadIdx.x % 2 < n)
        v = __ballot_sync(ALL, threadIdx.x > 3); // LINE ballot_missing
    out[threadIdx.x] = v;
}

__global__ void vote_loop(int *out)
{
    int n = 0;
    for (int i = 0; i < threadIdx.x % 8; i++)
        n += __any_sync(ALL, i > 2); // LINE vote_loop
    out[threadIdx.x] = n;
}

__global__ void match_missing(unsigned *out, int n)
{
    unsigned v = 0;
    if (threadIdx.x % 32 >= n)
        v = __match_any_sync(ALL, threadIdx.x / 2); // LINE match_missing
    out[threadIdx.x] = v;
}

__global__ void reduce_stranger(unsigned *out, unsigned mask)
{
    out[threadIdx.x] = __reduce_add_sync(mask, threadIdx.x); // LINE reduce_stranger
}

__global__ void all_missing(int *out, int n)
{
    int v = 0;
    if (out[threadIdx.x] == n) // data that all but one have
        v = __all_sync(ALL, threadIdx.x < 40); // LINE all_missing
    out[threadIdx.x] = v;
}

__global__ void masks_differ(int *out)
{
    int v = threadIdx.x;
    v = __shfl_sync(threadIdx.x % 32 < 16 ? ALL : 0xffff0000u, v, 17); // LINE masks_differ
    out[threadIdx.x] = v;
}

// ---- Sound

__global__ void sound_early(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int v = __shfl_down_sync(ALL, i, 1);
    __syncwarp();
    __syncthreads();
    out[i] = v;
}

__global__ void sound_sides(int *out)
{
    unsigned low = threadIdx.x % 32 < 16;
    int v = threadIdx.x;
    if (low)
        v = __shfl_xor_sync(0x0000ffffu, v, 1);
    else
        v = __shfl_xor_sync(0xffff0000u, v, 2);
    __syncwarp();
    v += __reduce_max_sync(low ? 0x0000ffffu : 0xffff0000u, v);
    unsigned group = __match_any_sync(ALL, threadIdx.x % 3);
    v += __popc(__ballot_sync(group, threadIdx.x & 1));
    out[threadIdx.x] = v;
}

__global__ void sound_loops(int *out, int n)
{
    __shared__ int sum[256];
    int t = threadIdx.x;
    sum[t] = t;
    for (int i = blockDim.x / 2; i > 0; i /= 2) {
        __syncthreads();
        if (t < i)
            sum[t] += sum[t + i];
    }
    for (int i = t; i < n; i += 8) {
        unsigned here = __activemask();
        out[t] += __shfl_sync(here, t, 0);
    }
    __syncthreads();
    out[t] += sum[0];
}

__global__ void sound_done(int *out, int n)
{
    for (int i = 0; ; i++) {
        if (threadIdx.x / 32 < i)
            return;
        __syncthreads();
        out[threadIdx.x] += __any_sync(ALL, i > n);
        if (i == n)
            return;
    }
}

__global__ void sound_named(int *out)
{
    if (threadIdx.x < 32) {
        out[threadIdx.x] = 5;
        asm volatile("bar.arrive 3, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 3, 64;" ::: "memory");
        out[threadIdx.x] = out[threadIdx.x - 32];
    }
    if (threadIdx.x % 32 < 7)
        asm volatile("barrier.sync 1;" ::: "memory");
    else
        asm volatile("barrier.sync 1;" ::: "memory");
    __syncthreads();
}

static void sound(int *out)
{
    sound_early<<<2, 100>>>(out, 117);
    sound_sides<<<1, 64>>>(out);
    sound_loops<<<1, 256>>>(out, 50);
    sound_done<<<1, 128>>>(out, 2);
    sound_named<<<1, 64>>>(out);
    barrier_half<<<1, 64>>>(out, 32);
    barrier_count<<<1, 64>>>(out, 64);
    warp_stranger<<<1, 64>>>(out, ALL);
}

static void run(int which, int *out)
{
    switch (which) {
    case 0: sound(out); break;
    case 1: barrier_half<<<1, 64>>>(out, 16); break;
    case 2: barrier_sides<<<1, 64>>>(out, 16); break;
    case 3: barrier_warps<<<1, 64>>>(out, 1); break;
    case 4: barrier_loop<<<1, 64>>>(out); break;
    case 5: barrier_count<<<1, 64>>>(out, 48); break;
    case 6: barrier_many<<<1, 64>>>(out, 96); break;
    case 7: barrier_other<<<1, 64>>>(out, 1); break;
    case 8: warp_stranger<<<1, 32>>>(out, 0xffu); break;
    case 9: warp_missing<<<1, 32>>>(out, 16); break;
    case 10: shuffle_missing<<<1, 64>>>(out, 16); break;
    case 11: shuffle_stranger<<<1, 32>>>(out, 0x0fffffffu); break;
    case 12: ballot_missing<<<1, 32>>>((unsigned *)out, 1); break;
    case 13: vote_loop<<<1, 32>>>(out); break;
    case 14: match_missing<<<1, 32>>>((unsigned *)out, 8); break;
    case 15: reduce_stranger<<<1, 32>>>((unsigned *)out, 0xfffffffeu); break;
    case 16:
        cudaMemset(out, 0, 4096);
        cudaMemset(out, 1, 4);
        all_missing<<<1, 32>>>(out, 0);
        break;
    case 17: masks_differ<<<1, 32>>>(out); break;
    }
}

int main(int argc, char **argv)
{
    int *out;
    cudaMalloc(&out, 4096);
    cudaMemset(out, 0, 4096);
    for (int i = 1; i < argc; i++) {
        run(atoi(argv[i]), out);
        printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    }
    cudaFree(out);
    return 0;
}
