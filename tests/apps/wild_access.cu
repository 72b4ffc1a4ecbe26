// Wild accesses end the kernel, not the process: each case in a child of its own, as the error is sticky.  Every call after it
// reports cudaErrorIllegalAddress, the parent's own context is untouched, and a healthy kernel runs afterwards.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

__global__ void store_to(int *p, int lane)
{
    if ((int)threadIdx.x == lane)
        p[0] = 1;
}

__global__ void load_from(const int *p, int *out)
{
    out[threadIdx.x] = p[threadIdx.x];
}

__global__ void add_to(int *p)
{
    atomicAdd(p, 1);
}

__global__ void after_barrier(int *p)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    p[s[63 - threadIdx.x]] = 2;
}

__global__ void healthy(int *out)
{
    out[threadIdx.x] = threadIdx.x + 1;
}

__global__ void traps()
{
    if (threadIdx.x == 3)
        __trap();
}

static int child(int which)
{
    int *wild = (int *)(uintptr_t)0x40, *high = (int *)(uintptr_t)0x7fff12345678f000ull;
    Dev<int> out(64);
    switch (which) {
    case 0: store_to<<<1, 64>>>(wild, 40); break;
    case 1: load_from<<<3, 64>>>(high, out); break;
    case 2: add_to<<<1, 1>>>(wild); break;
    case 3: after_barrier<<<2, 64>>>(wild); break;
    case 4: store_to<<<1, 32>>>(nullptr, 0); break;
    case 5: load_from<<<1, 33>>>(wild + 3, out); break;
    default: traps<<<1, 32>>>(); break;
    }
    CHECK(cudaGetLastError());
    cudaError_t err = cudaDeviceSynchronize();
    if (which == 6) {
        EXPECT(err == cudaErrorLaunchFailure || err == cudaErrorIllegalInstruction, "trap gave %s", cudaGetErrorName(err));
        return check_failures != 0;
    }
    EXPECT(err == cudaErrorIllegalAddress, "case %d gave %s", which, cudaGetErrorName(err));
    void *p;
    CHECK_ERR(cudaMalloc(&p, 4), cudaErrorIllegalAddress);
    healthy<<<1, 64>>>(out);
    CHECK_ERR(cudaGetLastError(), cudaErrorIllegalAddress);
    CHECK_ERR(cudaMemcpy(&err, out, 4, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
    return check_failures != 0;
}

// Who ends as soon as a call that waits for nothing tells of a fault has been told by then what it was (on the host device).
static void check_told_before_seen()
{
    int ends[2];
    EXPECT(pipe(ends) == 0, "no pipe");
    pid_t pid = fork();
    if (pid == 0) {
        cudaDeviceProp prop;
        dup2(ends[1], STDERR_FILENO);
        CHECK(cudaGetDeviceProperties(&prop, 0));
        store_to<<<1, 64>>>((int *)(uintptr_t)0x40, 40);
        for (cudaError_t seen = cudaGetLastError(); seen == cudaSuccess || seen == cudaErrorNotReady;)
            seen = cudaStreamQuery(nullptr);
        _exit(std::strstr(prop.name, "host device") ? 1 : 0);
    }
    close(ends[1]);
    char text[4096];
    size_t n = 0;
    for (ssize_t part; n < sizeof text - 1 && (part = read(ends[0], text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)part;
    text[n] = '\0';
    close(ends[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT(!WEXITSTATUS(status) || std::strstr(text, "store_to"), "the fault was seen before it was told: %s", text);
}

int main()
{
    for (int i = 0; i < 8; i++)
        check_told_before_seen();
    for (int which = 0; which < 7; which++) {
        pid_t pid = fork();
        if (pid == 0) {
            int failed = child(which);
            std::fflush(stdout);
            _exit(failed);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "case %d: status %x", which, status);
    }
    Dev<int> out(64);
    int host[64];
    healthy<<<1, 64>>>(out);
    CHECK_LAUNCH();
    out.get(host);
    for (int i = 0; i < 64; i++)
        EXPECT(host[i] == i + 1, "healthy %d: %d", i, host[i]);
    return check_done();
}
