// Device printf: every conversion, widths, strings, 64-bit values, more than 32 arguments' worth of bytes, return value, and
// order within a thread.  The runner compares the output with printf.golden.
// expect-stdout: printf.golden
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

__device__ const char *names[3] = {"zero", "one", "two"};

__global__ void formats(int *ret)
{
    ret[0] = printf("plain text, 100%%\n");
    ret[1] = printf("%d %i %u %x %X %o %c|\n", -5, 7, 4000000000u, 0xbeef, 0xbeef, 8, 'q');
    printf("%5d|%-5d|%05d|%+d|% d|\n", 42, 42, 42, 42, 42);
    printf("%lld %llu %llx %ld\n", -1234567890123LL, 18446744073709551615ULL, 0x123456789abcdefULL, -9L);
    printf("%f %.3f %10.2f| %e %g %G %a\n", 1.5, 3.14159265, -2.0 / 3, 12345.678, 1e-10, 1e20, 1.0);
    printf("%s and %s, %8s|%-8s|%.2s|\n", "literal", names[1], "right", "left", "cut");
    printf("%hd %hu %lu %li\n", (short)-3, (unsigned short)65535, 12ul, -13l);
    printf("%*d|%-*d|\n", 6, 12, 6, 12);
    printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
           15, 16, 17, 18, 19, 20);
    printf("float promotes: %.6f\n", 0.1f);
    printf("%p is null\n", (void *)0);
}

__global__ void lanes(int only)
{
    if ((int)threadIdx.x == only)
        for (int i = 0; i < 3; i++)
            printf("block %d thread %d line %d name %s\n", blockIdx.x, threadIdx.x, i, names[i]);
}

__global__ void count(int *sum)
{
    if (threadIdx.x % 2)
        *sum = 1;
    printf(".");
}

int main()
{
    Dev<int> d(2);
    int ret[2];
    formats<<<1, 1>>>(d);
    CHECK_LAUNCH();
    d.get(ret);
    EXPECT(ret[0] == 0 && ret[1] == 7, "printf returned %d and %d, expected the argument counts", ret[0], ret[1]);
    lanes<<<1, 40>>>(37);
    CHECK(cudaDeviceSynchronize());
    lanes<<<1, 4>>>(2);
    CHECK(cudaDeviceSynchronize());
    count<<<2, 30>>>(d);
    CHECK(cudaDeviceSynchronize());
    std::printf("\n");
    return check_done();
}
