/* cuSOLVER beside the functions themselves: streams, graphs, threads.  Usage: seam_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../streams.h"
#include "cusolver.h"

static float *half; /* a Cholesky factor of one row */
static int *info;

/* By a factor of a half, whose square divides. */
static void step(test_stream stream, float *x)
{
    cusolverDnHandle_t handle = NULL;
    cudaStream_t got = NULL;
    cusolverDnParams_t params = NULL;
    check(cusolverDnCreate(&handle) == 0 && cusolverDnSetStream(handle, stream) == 0, "handle");
    check(cusolverDnGetStream(handle, &got) == 0 && got == stream, "stream");
    check(cusolverDnCreateParams(&params) == 0 && cusolverDnDestroyParams(params) == 0, "params");
    check(cusolverDnSpotrs(handle, 0, 1, 1, half, 1, x, 1, info) == 0, "potrs");
    check(cusolverDnDestroy(handle) == 0, "destroy");
}

int main(int argc, char **argv)
{
    int quick = argc > 1 && !strcmp(argv[1], "quick");
    half = float_on_device(0.5f);
    info = (int *)float_on_device(7);
    test_order(step, quick);
    test_graph(step);
    check(float_of_device((float *)info) == 0, "devInfo");
    test_threads(step, quick ? 2 : 50);
    test_leaks(step, quick ? 200 : 10000);
    cudaFree(half), cudaFree(info);
    return test_end("seam");
}
