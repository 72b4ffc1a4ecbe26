// Lanes that take a lock in turn, one for all that have one key, and call a function that has variables of its own and may end
// the thread: it is inlined into code that waits for lanes.
// needs: -arch=sm_80
// variants: shared debug sm_80
// bytes: vary, which lanes are there is left open
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

enum { BLOCKS = 2, THREADS = 96, KEYS = 5, N = 500 };

__device__ int lock;

__device__ __noinline__ int chosen(const int *table, int n)
{
    volatile int own[18];
    for (int i = 0; i < 18; i++)
        own[i] = table[i & 3] + i;
    if (n < 0)
        asm volatile("exit;");
    return own[n % 18];
}

__global__ void count(int *counts, int *out, const int *table, const int *keys)
{
    volatile int mine[2];
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < N; i += blockDim.x * gridDim.x) {
        int lane = threadIdx.x & 31;
        unsigned same = __match_any_sync(__activemask(), keys[i]);
        mine[0] = __popc(same);
        mine[1] = i;
        if (__ffs(same) - 1 == lane) {
            while (atomicExch(&lock, 1))
                ;
            __threadfence();
            *(volatile int *)&counts[keys[i]] += mine[0];
            out[i] += chosen(table, mine[1]);
            __threadfence();
            atomicExch(&lock, 0);
        }
        __syncwarp(same);
        out[i] += mine[lane & 1] ? chosen(table, i + 1) : 0;
    }
}

static int want(int n)
{
    return (n % 18 & 3) * 10 + n % 18;
}

int main()
{
    static const int table[4] = { 0, 10, 20, 30 };
    static int keys[N], counts[KEYS], out[N], many[KEYS];
    for (int i = 0; i < N; i++)
        many[keys[i] = i * 7 % KEYS]++;
    Dev<int> dtable(table, 4), dkeys(keys, N), dcounts(KEYS), dout(N);
    dcounts.fill(0);
    dout.fill(0);
    count<<<BLOCKS, THREADS>>>(dcounts, dout, dtable, dkeys);
    CHECK_LAUNCH();
    dcounts.get(counts);
    dout.get(out);
    for (int k = 0; k < KEYS; k++)
        EXPECT(counts[k] == many[k], "key %d: %d, not %d", k, counts[k], many[k]);
    for (int i = 0; i < N; i++) {
        int after = want(i + 1);
        bool first = out[i] == after + want(i), other = out[i] == after;
        EXPECT(first || other, "element %d: %d", i, out[i]);
    }
    return check_done();
}
