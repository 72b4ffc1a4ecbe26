/* Stands for our libcudart of one version: says which, and checks that arguments arrive. */
/* SPDX-License-Identifier: Apache-2.0 */
#define EXPORT __attribute__((visibility("default")))
#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

EXPORT void **__cudaRegisterFatBinary(void *wrapper);
EXPORT const char *cudaGetErrorString(int code);
EXPORT int cudaMemcpy2D(void *a, long b, const void *c, long d, long e, long f, int kind);
EXPORT int cudaDeviceSynchronize(void);
EXPORT int cudaThreadExit(void);

void **__cudaRegisterFatBinary(void *wrapper)
{
    return (void **)("ours" TEXT(MAJOR));
}

const char *cudaGetErrorString(int code)
{
    return code == 7 ? "ours" TEXT(MAJOR) : "wrong argument";
}

int cudaMemcpy2D(void *a, long b, const void *c, long d, long e, long f, int kind)
{
    return a == c ? (int)(b + 10 * d + 100 * e + 1000 * f + 10000 * kind) : -2;
}

int cudaDeviceSynchronize(void)
{
    return 0;
}

int cudaThreadExit(void)
{
    return MAJOR;
}
