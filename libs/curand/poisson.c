/* Poisson distributions: see poisson.h.  The cells are made by Vose's way to Walker's alias method. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "poisson.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/driver.h"
#include "curand_proto.h"

enum { LARGEST = 400000 };

/* Of `n` values from `shift` on: p[i] times n. */
static void weights(double lambda, unsigned shift, unsigned n, double *p)
{
    double sum = 0;
    for (unsigned i = 0; i < n; i++) {
        double k = (double)shift + i;
        p[i] = exp(k * log(lambda) - lambda - lgamma(k + 1));
        sum += p[i];
    }
    for (unsigned i = 0; i < n; i++)
        p[i] *= n / sum;
}

/* Cells below and above the average are paired until all are full. */
static void pair_cells(double *p, unsigned n, unsigned *work, double *V, unsigned *K)
{
    unsigned small = 0, large = n;
    for (unsigned i = 0; i < n; i++)
        if (p[i] < 1)
            work[small++] = i;
        else
            work[--large] = i;
    for (unsigned i = 0; i < n; i++) {
        V[i] = (i + 1.0) / n;
        K[i] = i;
    }
    while (small > 0 && large < n) {
        unsigned s = work[--small], l = work[large];
        V[s] = (s + p[s]) / n;
        K[s] = l;
        p[l] -= 1 - p[s];
        if (p[l] < 1) {
            work[small++] = l;
            large++;
        }
    }
}

curandStatus_t aw_rand_poisson_make(double lambda, struct aw_rand_poisson **ret_poisson, size_t *ret_size)
{
    if (!(lambda > 0) || lambda > LARGEST)
        return CURAND_STATUS_OUT_OF_RANGE;
    double reach = 12 * sqrt(lambda) + 30;
    unsigned shift = lambda > reach ? (unsigned)(lambda - reach) : 0, n = (unsigned)(lambda + reach) - shift + 1;
    *ret_size = sizeof(struct aw_rand_poisson) + (n + 1) * (sizeof(double) + sizeof(unsigned));
    struct aw_rand_poisson *d = calloc(1, *ret_size);
    double *p = malloc(n * sizeof *p);
    unsigned *work = malloc(n * sizeof *work);
    if (!d || !p || !work) {
        free(d), free(p), free(work);
        return CURAND_STATUS_ALLOCATION_FAILED;
    }
    double *V = d->cells;
    unsigned *K = (unsigned *)(void *)(d->cells + n + 1);
    weights(lambda, shift, n, p);
    pair_cells(p, n, work, V, K);
    V[n] = 0, K[n] = K[n - 1]; /* for the uniform number 1 */
    free(p), free(work);
    d->head = (struct curandDiscreteDistribution_st){ &d->head, NULL, &d->m2, sqrt(lambda), lambda, CURAND_M2, 0 };
    d->m2 = (curandDistributionM2Shift_st){ NULL, &d->histogram, shift, n, 0 };
    d->histogram = (curandHistogramM2_st){ NULL, V, NULL, K, 0 };
    *ret_poisson = d;
    return CURAND_STATUS_SUCCESS;
}

/* ---- For kernels: the same in the device's memory, with the addresses there. */

curandStatus_t awcurand_curandCreatePoissonDistribution(double lambda, curandDiscreteDistribution_t *ret_distribution)
{
    struct aw_rand_poisson *host, *image;
    size_t size;
    CUdeviceptr at;
    curandStatus_t status = ret_distribution ? aw_rand_poisson_make(lambda, &host, &size) : CURAND_STATUS_OUT_OF_RANGE;
    if (status != CURAND_STATUS_SUCCESS)
        return status;
    image = malloc(size);
    if (!image || cuMemAlloc_v2(&at, size) != CUDA_SUCCESS) {
        free(image), free(host);
        return CURAND_STATUS_ALLOCATION_FAILED;
    }
    ptrdiff_t away = (char *)(uintptr_t)at - (char *)host;
#define THERE(pointer) ((void *)((char *)(pointer) + away))
    memcpy(image, host, size);
    image->head.M2 = THERE(&host->m2);
    image->m2.histogram = THERE(&host->histogram);
    image->histogram.V = THERE(host->histogram.host_V);
    image->histogram.K = THERE(host->histogram.host_K);
#undef THERE
    CUresult result = cuMemcpy(at, (CUdeviceptr)(uintptr_t)image, size);
    free(image);
    if (result != CUDA_SUCCESS) {
        (void)cuMemFree_v2(at);
        free(host);
        return CURAND_STATUS_INITIALIZATION_FAILED;
    }
    *ret_distribution = (curandDiscreteDistribution_t)(uintptr_t)at;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t awcurand_curandDestroyDistribution(curandDiscreteDistribution_t distribution)
{
    struct curandDiscreteDistribution_st head;
    if (!distribution ||
        cuMemcpy((CUdeviceptr)(uintptr_t)&head, (CUdeviceptr)(uintptr_t)distribution, sizeof head) != CUDA_SUCCESS)
        return CURAND_STATUS_OUT_OF_RANGE;
    free(head.self_host_ptr);
    return cuMemFree_v2((CUdeviceptr)(uintptr_t)distribution) == CUDA_SUCCESS ? CURAND_STATUS_SUCCESS
                                                                              : CURAND_STATUS_INTERNAL_ERROR;
}
