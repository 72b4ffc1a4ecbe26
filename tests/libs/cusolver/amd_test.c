/* Calls of cuSOLVER on a card, for amd.py, which compares what a stand-in for rocSOLVER was asked. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../check.h"
#include "cusolver.h"

int main(void)
{
    cusolverDnHandle_t handle;
    void *m = NULL, *p = NULL;
    int host[64], *info = NULL;
    memset(host, 0x55, sizeof host);
    cudaMalloc(&m, 4096), cudaMalloc(&p, 4096), cudaMalloc((void **)&info, 64);
    check(cusolverDnCreate(&handle) == 0, "create");
    check(cusolverDnDpotrf(handle, CUBLAS_FILL_MODE_UPPER, 5, m, 6, NULL, 0, info) == 0, "potrf");
    cudaMemcpy(info, host, sizeof host[0], 1);
    check(cusolverDnCpotrs(handle, CUBLAS_FILL_MODE_LOWER, 5, 2, m, 6, p, 7, info) == 0, "potrs");
    cudaMemcpy(host, info, sizeof host[0], 2);
    check(host[0] == 0, "devInfo is %d", host[0]);
    check(cusolverDnDgetrf(handle, 4, 5, m, 6, NULL, p, info) == 0, "getrf");
    check(cusolverDnDgetrs(handle, CUBLAS_OP_T, 4, 3, m, 6, p, m, 4, info) == 0, "getrs");
    check(cusolverDnCgeqrf(handle, 4, 5, m, 6, p, NULL, 0, info) == 0, "geqrf");
    check(cusolverDnDormqr(handle, CUBLAS_SIDE_RIGHT, CUBLAS_OP_C, 4, 5, 2, m, 6, p, m, 7, NULL, 0, info) == 0, "ormqr");
    check(cusolverDnCunmqr(handle, CUBLAS_SIDE_LEFT, CUBLAS_OP_C, 4, 5, 2, m, 6, p, m, 7, NULL, 0, info) == 0, "unmqr");
    check(cusolverDnDpotrf(handle, 9, 5, m, 6, NULL, 0, info) == CUSOLVER_STATUS_INVALID_VALUE, "checked before");
    check(cusolverDnDestroy(handle) == 0, "destroy");
    return test_end("amd");
}
