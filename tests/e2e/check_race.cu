// Kernels with a race in shared memory each, and the same in order: what tests/e2e/check_race.py has `anywarp check --race` look
// at on the host device, with those of races.cu, whose form these have.
// SPDX-License-Identifier: Apache-2.0
#include <cuda/barrier>
#include <cuda_fp16.h>

#define MORE                                                                                                                \
    X(lanes) X(one_place) X(warp_only) X(dynamic) X(generic) X(called) X(bytes) X(halves) X(vectors) X(initialised)         \
        X(handed_on) X(flagged) X(phases) X(shared_lock) X(shuffled) X(transposed) X(total) X(updated) X(groups) X(fragments) \
            X(other_half) X(volatile_data) X(folded) X(read_then_written) X(arrived) X(other_warp)
#define PAIRS_ONLY
#include "races.cu"
#undef PAIRS_ONLY

#define ALL 0xffffffffu
#define FENCE_IF(x) do { if (x) __threadfence_block(); } while (0)

// Lanes of one warp are no longer in step.
PAIR(lanes)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = p[t]; // LINE lanes_write
    if (ORDERED)
        __syncwarp();
    q[t] = s[t ^ 1]; // LINE lanes_read
}

// One instruction stores different values to one word; or the same.
PAIR(one_place)
{
    __shared__ int s[2];
    s[threadIdx.x & 1] = ORDERED ? blockIdx.x : threadIdx.x; // LINE one_place
    __syncthreads();
    q[threadIdx.x] = s[1];
}

PAIR(warp_only)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = p[t]; // LINE warp_write
    if (ORDERED)
        __syncthreads();
    else
        __syncwarp();
    q[t] = s[(t + 32) % N]; // LINE warp_read
}

PAIR(dynamic)
{
    extern __shared__ int d[];
    int t = threadIdx.x;
    d[t] = p[t]; // LINE dynamic_write
    SYNC_IF(ORDERED);
    q[t] = d[N - 1 - t]; // LINE dynamic_read
}

__device__ __noinline__ void put(int *to, int x)
{
    *to = x; // LINE put
}

__device__ __noinline__ int get(const int *from)
{
    return *from; // LINE get
}

// Addresses are generic: shared memory here, global there.
PAIR(generic)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    int *to = p[0] ? q + 2 * N : s;
    to[t] = t; // LINE generic_write
    SYNC_IF(ORDERED);
    q[t] = to[(t + 64) % N]; // LINE generic_read
}

PAIR(called)
{
    __shared__ int s[N];
    int t = threadIdx.x;
    put(s + t, p[t]);
    SYNC_IF(ORDERED);
    q[t] = get(s + (t + 32) % N);
}

// Each thread has a byte of its own, beside others'.
PAIR(bytes)
{
    __shared__ char s[N];
    int t = threadIdx.x;
    s[t] = (char)p[t]; // LINE bytes_write
    SYNC_IF(ORDERED);
    q[t] = s[N - 1 - t]; // LINE bytes_read
}

// Its own half of a word; or the other one's, by a lane of the same warp.
PAIR(halves)
{
    __shared__ __half s[N];
    int t = threadIdx.x;
    s[t] = __int2half_rn(p[t]); // LINE halves_write
    q[t] = __half2int_rn(s[ORDERED ? t : t ^ 1]); // LINE halves_read
}

PAIR(vectors)
{
    __shared__ int4 s[N];
    int t = threadIdx.x;
    s[t] = make_int4(p[t], t, t, t); // LINE vectors_write
    SYNC_IF(ORDERED);
    q[t] = ((int *)s)[(4 * t + 131) % (4 * N)]; // LINE vectors_read
}

// One thread says where others begin to count.
PAIR(initialised)
{
    __shared__ int count;
    if (threadIdx.x == 0)
        count = p[0]; // LINE initialised_write
    SYNC_IF(ORDERED);
    atomicAdd(&count, 1);
    __syncthreads();
    q[threadIdx.x] = count;
}

// Two warps fill what two others empty.  That it is empty again those have to say.
PAIR(handed_on)
{
    __shared__ int s[N / 2];
    int t = threadIdx.x, i = t % (N / 2);
    for (int round = 0; round < 2; round++) {
        if (t < N / 2) {
            if (ORDERED && round)
                asm volatile("bar.sync 3, 128;" ::: "memory");
            s[i] = p[t] + round; // LINE handed_write
            asm volatile("bar.arrive %0, 128;" ::"r"(round + 1) : "memory");
        } else {
            asm volatile("bar.sync %0, 128;" ::"r"(round + 1) : "memory");
            q[t + round] = s[N / 2 - 1 - i]; // LINE handed_read
            if (ORDERED && !round)
                asm volatile("bar.arrive 3, 128;" ::: "memory");
        }
    }
}

// A volatile word says that others are there: with fences on both sides.
PAIR(flagged)
{
    __shared__ int s, flag;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        s = p[0]; // LINE flagged_write
        FENCE_IF(ORDERED);
        *(volatile int *)&flag = 1;
    } else if (threadIdx.x == 64) {
        while (!*(volatile int *)&flag)
            ;
        FENCE_IF(ORDERED);
        q[0] = s; // LINE flagged_read
    }
}

// Arrived is not yet there.
PAIR(phases)
{
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ int s[N];
    __shared__ alignas(barrier) char room[sizeof(barrier)];
    barrier *b = reinterpret_cast<barrier *>(room);
    int t = threadIdx.x, x = 0;
    if (t == 0)
        init(b, N);
    __syncthreads();
    s[t] = p[t]; // LINE phases_write
    auto token = b->arrive();
    if (!ORDERED)
        x = s[(t + 32) % N]; // LINE phases_read
    b->wait(std::move(token));
    if (ORDERED)
        x = s[(t + 32) % N];
    q[t] = x;
}

PAIR(shared_lock)
{
    __shared__ int s, lock;
    if (threadIdx.x == 0)
        s = lock = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (ORDERED && atomicCAS(&lock, 0, 1))
            ;
        FENCE_IF(ORDERED);
        s += p[threadIdx.x] + 1; // LINE lock_update
        FENCE_IF(ORDERED);
        if (ORDERED)
            atomicExch(&lock, 0);
    }
    __syncthreads();
    q[threadIdx.x] = s;
}

// What lanes of a warp meet at orders them.
PAIR(shuffled)
{
    __shared__ int s[N];
    int t = threadIdx.x, x = 0;
    s[t] = p[t]; // LINE shuffled_write
    if (ORDERED)
        x = __shfl_xor_sync(ALL, p[t] + t, 1);
    q[t] = s[t ^ 3] + x; // LINE shuffled_read
}

PAIR(transposed)
{
    __shared__ int s[16][9];
    int x = threadIdx.x % 8, y = threadIdx.x / 8;
    s[y][x] = p[threadIdx.x]; // LINE transposed_write
    SYNC_IF(ORDERED);
    q[threadIdx.x] = s[threadIdx.x % 16][threadIdx.x / 16]; // LINE transposed_read
}

// A sum of the block, twice: the second begins before all have the first.
PAIR(total)
{
    __shared__ int s[4];
    int t = threadIdx.x, sum = 0;
    for (int round = 0; round < 2; round++) {
        int x = __reduce_add_sync(ALL, p[t] + round);
        if (t % 32 == 0)
            s[t / 32] = x; // LINE total_write
        __syncthreads();
        sum += s[0] + s[1] + s[2] + s[3]; // LINE total_read
        SYNC_IF(ORDERED);
    }
    q[t] = sum;
}

// A plain read before a compare-and-swap is only a guess; a plain store is none.
PAIR(updated)
{
    __shared__ int s;
    if (threadIdx.x == 0)
        s = 0;
    __syncthreads();
    int old = s, seen; // LINE updated_read
    if (ORDERED) {
        while ((seen = atomicCAS(&s, old, old + 1)) != old)
            old = seen;
    } else {
        s = old + p[threadIdx.x] + threadIdx.x; // LINE updated_write
    }
    __syncthreads();
    q[threadIdx.x] = s;
}

// Halves of a block meet by themselves.
PAIR(groups)
{
    __shared__ int s[N];
    int t = threadIdx.x, half = t / 64;
    s[t] = p[t]; // LINE groups_write
    asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
    q[t] = s[ORDERED ? half * 64 + (t + 32) % 64 : N - 1 - t]; // LINE groups_read
}

PAIR(fragments)
{
    __shared__ __align__(16) int s[4][32];
    int t = threadIdx.x, r;
    s[t / 32][t % 32] = p[t]; // LINE fragments_write
    SYNC_IF(ORDERED);
    unsigned row = (unsigned)__cvta_generic_to_shared(&s[3 - t / 32][t % 8 * 4]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(row)); // LINE fragments_read
    q[t] = r;
}

// Sides of a branch within a warp.
PAIR(other_half)
{
    __shared__ int s[16];
    int t = threadIdx.x;
    if (t < 16)
        s[t] = p[t]; // LINE half_write
    if (ORDERED)
        __syncwarp();
    if (t >= 16 && t < 32)
        q[t] = s[t - 16]; // LINE half_read
}

// Volatile accesses do not race with each other; with others they do.
PAIR(volatile_data)
{
    __shared__ int s;
    int x;
    if (threadIdx.x == 0)
        *(volatile int *)&s = p[0]; // LINE volatile_write
    if (threadIdx.x != 96)
        return;
    if (ORDERED)
        x = *(volatile int *)&s;
    else
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"((unsigned)__cvta_generic_to_shared(&s))); // LINE volatile_read
    q[0] = x;
}

// As one_place, by lanes half a warp apart.
PAIR(folded)
{
    __shared__ int s[16];
    s[threadIdx.x % 16] = ORDERED ? (int)(blockIdx.x + threadIdx.x % 16) : (int)threadIdx.x; // LINE folded
    __syncthreads();
    q[threadIdx.x] = s[threadIdx.x / 8];
}

// The writer has read, too, and before the others.
PAIR(read_then_written)
{
    __shared__ int s;
    if (threadIdx.x >= 32)
        return;
    int x = s; // LINE read_first
    if (ORDERED)
        __syncwarp();
    if (threadIdx.x == 0)
        s = p[0] + 1; // LINE written_then
    q[threadIdx.x] = x;
}

// Who only arrives has not heard that the others have read.
PAIR(arrived)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 64) {
        q[t] = s[t]; // LINE arrived_read
        asm volatile("bar.sync 1, 128;" ::: "memory");
    } else if (t < 96 || !ORDERED) {
        asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory");
    }
    if (t >= 96)
        s[t - 96] = p[t] + 1; // LINE arrived_write
}

// A warp that has met is not in order with another one.
PAIR(other_warp)
{
    __shared__ int s[32];
    int t = threadIdx.x;
    if (t < 32)
        s[t] = p[t]; // LINE warp_first
    SYNC_IF(ORDERED);
    if (t >= 32) {
        __syncwarp();
        q[t] = s[t % 32]; // LINE warp_second
    }
}

#include "races.cu"
