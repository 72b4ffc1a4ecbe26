// Kernels that never end end with their program, and with their context: by a return from main, exit() in another thread than the
// one that waits, cudaDeviceReset and cuCtxDestroy, also beside another context; spinning or computing.  After a reset the device
// works, and what a kernel that ends was to print is printed.
// link: -lcuda
// variants: shared
// devices: host
// A card that hangs is the driver's affair.  One variant: what is stopped has 10 seconds to end by itself.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cuda.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void spins(volatile unsigned *p)
{
    while (!*p)
        ;
}

__global__ void meets(volatile unsigned *p)
{
    while (!*p)
        __syncthreads();
}

__global__ void computes(volatile unsigned *p)
{
    unsigned x = threadIdx.x;
    while (x != 2)
        x = (x * 1664525u + 1013904223u) | 1;
    p[0] = x;
}

__global__ void ends(unsigned *p)
{
    p[threadIdx.x] = threadIdx.x + 7;
}

static void (*const kernels[])(volatile unsigned *) = { spins, meets, computes };
enum { KERNELS = sizeof kernels / sizeof *kernels, GOOD = 3, WAYS = 6 };

static void *leaves(void *)
{
    usleep(200000);
    std::exit(GOOD);
}

static unsigned *launched(int which)
{
    unsigned *p;
    CHECK(cudaMalloc(&p, 4096));
    CHECK(cudaMemset(p, 0, 4096));
    kernels[which]<<<5, 64>>>(p);
    ends<<<1, 32>>>(p);
    usleep(20000);
    return p;
}

static int works(void)
{
    unsigned *p, host[32];
    CHECK(cudaMalloc(&p, sizeof host));
    ends<<<1, 32>>>(p);
    CHECK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    return host[31] == 38 ? GOOD : 1;
}

#if CUDA_VERSION >= 13000
#define CREATE(ret, flags, device) cuCtxCreate(ret, nullptr, flags, device)
#else
#define CREATE cuCtxCreate
#endif
static int in_context(int which)
{
    CUcontext ctx;
    CUdevice dev;
    if (cuInit(0) || cuDeviceGet(&dev, 0) || CREATE(&ctx, 0, dev))
        return 1;
    launched(which);
    if (cuCtxDestroy(ctx))
        return 1;
    return works();
}

// The other's memory is as it was, and what it has in the stream that both share runs when the endless kernel has been ended.
static int beside(int which, bool reset)
{
    CUcontext ctx;
    CUdevice dev;
    unsigned *p, host[32];
    CHECK(cudaMalloc(&p, sizeof host));
    CHECK(cudaMemset(p, 0, sizeof host));
    if (cuInit(0) || cuDeviceGet(&dev, 0) || CREATE(&ctx, 0, dev))
        return 1;
    if (reset) {
        CUdeviceptr mine, got = 0;
        if (cuMemAlloc(&mine, 4) || cuMemsetD32(mine, 5, 1) || cuCtxPopCurrent(&ctx))
            return 1;
        CHECK(cudaSetDevice(0));
        launched(which);
        CHECK(cudaDeviceReset());
        if (cuCtxPushCurrent(ctx) || cuMemcpyDtoH(&got, mine, 4) || got != 5)
            return 1;
        return works();
    }
    launched(which);
    CHECK(cudaSetDevice(0));
    ends<<<1, 32>>>(p);
    if (cuCtxDestroy(ctx))
        return 1;
    CHECK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    return host[31] == 38 ? works() : 1;
}

static int child(int how, int which)
{
    pthread_t thread;
    switch (how) {
    case 0:
        launched(which);
        return GOOD;
    case 1:
        pthread_create(&thread, nullptr, leaves, nullptr);
        launched(which);
        cudaDeviceSynchronize();
        for (;;) /* the work was stopped as the other thread ends the program */
            pause();
    case 2:
        launched(which);
        CHECK(cudaDeviceReset());
        return works();
    case 3:
        return in_context(which);
    default:
        return beside(which, how == 5);
    }
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return child(std::atoi(argv[1]), std::atoi(argv[2]));
    pid_t pids[WAYS][KERNELS];
    for (int how = 0; how < WAYS; how++)
        for (int which = 0; which < KERNELS; which++) {
            char how_text[2] = { (char)('0' + how), 0 }, which_text[2] = { (char)('0' + which), 0 };
            std::fflush(stdout);
            pids[how][which] = fork();
            if (pids[how][which] == 0) {
                alarm(60);
                execl("/proc/self/exe", argv[0], how_text, which_text, (char *)nullptr);
                _exit(1);
            }
        }
    for (int how = 0; how < WAYS; how++)
        for (int which = 0; which < KERNELS; which++) {
            int status = 0;
            waitpid(pids[how][which], &status, 0);
            EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == GOOD, "way %d, kernel %d: status %x", how, which, status);
        }
    return check_done();
}
