/* What the programs of waits.py have in common: ways to look at a word that another thread writes, and to write it, and the frame
 * around a kernel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <unistd.h>

#include <cuda_runtime.h>

typedef uint32_t u32;
enum { CELLS = 1 << 16, SECONDS = 100 };

static const char *running;

static void too_long(int)
{
    char text[200];
    int n = snprintf(text, sizeof text, "%s does not end\nFAIL\n", running);
    (void)!write(1, text, (size_t)n);
    _exit(1);
}

/* NVIDIA's assembler moves the wait of the warp that belongs to a vote or a barrier up past stores, also past the one for which
 * other lanes of the warp wait: such machine code ends nowhere.  It moves nothing past a nap. */
#ifdef MACHINE_CODE
#define AFTER_PUT __nanosleep(0);
#else
#define AFTER_PUT
#endif

/* Of generic addresses. */
__device__ inline u32 look_volatile(u32 *p) { return *(volatile u32 *)p; }
__device__ inline u32 look_add(u32 *p) { return atomicAdd(p, 0); }
__device__ inline u32 look_or(u32 *p) { return atomicOr(p, 0); }
__device__ inline u32 look_swap(u32 *p) { return atomicCAS(p, ~0u, ~0u); }
__device__ inline u32 look_acquire(u32 *p)
{
    u32 v;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ inline u32 look_relaxed(u32 *p)
{
    u32 v;
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ inline void put_volatile(u32 *p, u32 v) { __threadfence(); *(volatile u32 *)p = v; AFTER_PUT }
__device__ inline void put_exchange(u32 *p, u32 v) { __threadfence(); atomicExch(p, v); AFTER_PUT }
__device__ inline void put_release(u32 *p, u32 v)
{
    asm volatile("st.release.gpu.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory");
    AFTER_PUT
}
/* What is guarded: read and written past what the compiler knows. */
__device__ inline u32 get(u32 *p) { return *(volatile u32 *)p; }
__device__ inline void set(u32 *p, u32 v) { *(volatile u32 *)p = v; }
#define BARRIER(what, id) asm volatile("bar." what " %0, 64;" :: "r"(id) : "memory")

/* Runs it and compares all cells that `host` changed, or none. */
static bool run(const char *name, void (*kernel)(u32 *), void (*host)(u32 *), u32 blocks, u32 threads)
{
    static u32 want[CELLS];
    std::vector<u32> got(CELLS);
    u32 *cells;
    memset(want, 0, sizeof want);
    host(want);
    running = name;
    alarm(SECONDS);
    if (cudaMalloc((void **)&cells, sizeof want) || cudaMemset(cells, 0, sizeof want))
        return false;
    kernel<<<blocks, threads>>>(cells);
    cudaError_t error = cudaGetLastError();
    error = error ? error : cudaDeviceSynchronize();
    if (error || cudaMemcpy(got.data(), cells, sizeof want, cudaMemcpyDeviceToHost)) {
        printf("%s: %s\n", name, cudaGetErrorName(error));
        return false;
    }
    alarm(0);
    cudaFree(cells);
    for (u32 i = 0, shown = 0; i < CELLS; i++)
        if (want[i] != got[i] && shown++ < 5)
            printf("%s: cell %u is %u, expected %u\n", name, i, got[i], want[i]);
    return memcmp(want, got.data(), sizeof want) == 0;
}
