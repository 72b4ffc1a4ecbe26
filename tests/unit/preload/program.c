/* Stands for a CUDA program with its runtime linked in: the runtime's functions say "inner", and a constructor registers, as
 * nvcc's does.  With -DPROGRAM_MAIN it has a main; otherwise it is a library with one entry. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

/* As in a real static runtime: hidden, compiled apart (callers assume nothing of the code), and of some length. */
#define INNER(type, name, args, value)                                              \
    __attribute__((noipa, visibility("hidden"))) type name args;                    \
    __attribute__((noipa, visibility("hidden"))) type name args                     \
    {                                                                               \
        __asm__ volatile(".skip 24, 0x90");                                         \
        return value;                                                               \
    }

INNER(void **, __cudaRegisterFatBinary, (void *wrapper), (void **)"inner")
INNER(const char *, cudaGetErrorString, (int code), "inner")
INNER(int, cudaMemcpy2D, (void *a, long b, const void *c, long d, long e, long f, int kind), -1)
INNER(int, cudaDeviceSynchronize, (void), -1)
INNER(int, cudaNotInTheTable, (int x), x + 1)
#ifdef VERSION_12
INNER(int, cudaThreadExit, (void), -1)
INNER(int, cudaGetDeviceProperties_v2, (void *prop, int device), -1)
#else
INNER(int, __cudaGetProcAddress, (const char *name, void **ret, unsigned long long flags), -1)
#endif

/* As an empty container begins. */
__attribute__((section(".nv_fatbin"), used, aligned(8))) static const unsigned device_code[4] = { 0xba55ed50u, 16u << 16 | 1, 0,
                                                                                                  0 };

static void **registered;

__attribute__((constructor)) static void on_load(void)
{
    registered = __cudaRegisterFatBinary((void *)device_code);
}

__attribute__((visibility("default"))) int program_report(const char *who);
int program_report(const char *who)
{
    static char buffer[64];
    int sum = cudaMemcpy2D(buffer, 1, buffer, 2, 3, 4, 5);
    printf("%s: registered %s, text %s, sum %d, other %d\n", who, (const char *)registered, cudaGetErrorString(7), sum,
           cudaNotInTheTable(1));
#ifdef VERSION_12
    printf("%s: exit %d\n", who, cudaThreadExit());
#endif
    fflush(stdout);
    return cudaDeviceSynchronize() < 0;
}

#ifdef PROGRAM_MAIN
int main(void)
{
    program_report("program");
    return 0;
}
#endif
