/* cuBLAS beside the functions themselves: order in streams, device pointers for scalars, graphs, threads, status codes, settings,
 * the legacy interface, and that handles leave nothing behind.  Usage: seam_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"

int cudaMemcpyAsync(void *dst, const void *src, size_t size, int kind, void *stream);
int cudaMemsetAsync(void *ptr, int value, size_t size, void *stream);
int cudaStreamQuery(void *stream);
int cudaLaunchHostFunc(void *stream, void (*fn)(void *), void *user);

static int quick; /* on a simulated card, which is slow */

static void *device_copy(const void *from, size_t size)
{
    void *p = NULL;
    cudaMalloc(&p, size);
    cudaMemcpy(p, from, size, 1);
    return p;
}

static float read_float(const void *device)
{
    float v = 0;
    cudaMemcpy(&v, device, sizeof v, 2);
    return v;
}

static void wait_for(void *flag)
{
    while (!__atomic_load_n((int *)flag, __ATOMIC_ACQUIRE))
        ;
}

/* Work queued behind a host function that waits must itself wait, and be in the order given. */
static void order(void)
{
    cublasHandle_t handle;
    cudaStream_t got;
    void *stream;
    int flag = quick; /* HIP 5.2 waits for earlier work when it takes a callback */
    float values[4] = { 1, 2, 3, 4 }, alpha = 2, result = 0, *x = device_copy(values, sizeof values),
          *y = device_copy(values, sizeof values);
    cublasCreate_v2(&handle);
    cudaStreamCreateWithFlags(&stream, 1);
    check(cublasSetStream_v2(handle, stream) == 0 && cublasGetStream_v2(handle, &got) == 0 && got == stream, "stream");
    cudaLaunchHostFunc(stream, wait_for, &flag);
    for (int i = 0; i < 5; i++)
        check(cublasSscal_v2(handle, 4, &alpha, x, 1) == 0, "scal");
    alpha = 3; /* host values count as they were at the call */
    check(cublasSaxpy_v2(handle, 4, &alpha, x, 1, y, 1) == 0, "axpy");
    alpha = 100;
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    check(cublasSdot_v2(handle, 4, x, 1, y, 1, &result) == 0, "dot");
    /* x = 32 v, y = v + 96 v, v v = 30 */
    check(result == 32.0f * 97 * 30, "order: %g", result);
    check(read_float(y) == 97, "order: y is %g", read_float(y));
    cudaStreamSynchronize(stream);
    cudaFree(x);
    cudaFree(y);
    cublasDestroy_v2(handle);
    cudaStreamDestroy(stream);
}

static void nap(void *ignored)
{
    usleep(50000);
}

/* The end of a handle waits for the device: what was queued with it is there for all streams. */
static void ends_wait(void)
{
    cublasHandle_t handle;
    void *stream;
    float values[4] = { 1, 2, 3, 4 }, alpha = 2, *x = device_copy(values, sizeof values);
    cublasCreate_v2(&handle);
    cudaStreamCreateWithFlags(&stream, 1);
    cudaLaunchHostFunc(stream, nap, NULL);
    cublasSetStream_v2(handle, stream);
    check(cublasSscal_v2(handle, 4, &alpha, x, 1) == 0, "scal");
    check(cublasDestroy_v2(handle) == 0 && cudaStreamQuery(stream) == 0, "a handle's end does not wait for the device");
    check(read_float(x) == 2, "read after a handle's end: %g", read_float(x));
    cudaStreamDestroy(stream);
    cudaFree(x);
}

/* A result on the device is a scalar of the next call. */
static void device_scalars(void)
{
    cublasHandle_t handle;
    float values[3] = { 1, 2, 2 }, two = 2, zero = 0, one = 1, *x = device_copy(values, sizeof values),
          *norm = device_copy(&zero, sizeof zero);
    float *alpha = device_copy(&two, sizeof two), *unit = device_copy(&one, sizeof one), *c = device_copy(values, sizeof values);
    cublasPointerMode_t mode;
    cublasCreate_v2(&handle);
    check(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE) == 0 && cublasGetPointerMode_v2(handle, &mode) == 0 &&
          mode == CUBLAS_POINTER_MODE_DEVICE, "pointer mode");
    check(cublasSnrm2_v2(handle, 3, x, 1, norm) == 0, "nrm2");
    check(cublasSscal_v2(handle, 3, norm, x, 1) == 0, "scal");
    check(cublasSgemm_v2(handle, 0, 0, 1, 1, 3, alpha, x, 1, x, 3, unit, c, 1) == 0, "gemm");
    check(read_float(norm) == 3 && read_float(x) == 3, "norm %g, x %g", read_float(norm), read_float(x));
    check(read_float(c) == 2 * (9 + 36 + 36) + 1, "gemm with scalars on the device: %g", read_float(c));
    cudaFree(x), cudaFree(norm), cudaFree(alpha), cudaFree(unit), cudaFree(c);
    cublasDestroy_v2(handle);
}

static void graph(void)
{
    cublasHandle_t handle;
    void *stream;
    void *g = NULL, *exec = NULL;
    float values[4] = { 1, 2, 3, 4 }, ident[4] = { 0, 1, 1, 0 }, one = 1, zero = 0;
    float *a = device_copy(values, sizeof values), *p = device_copy(ident, sizeof ident), *c = device_copy(values, sizeof values);
    cublasCreate_v2(&handle);
    cudaStreamCreateWithFlags(&stream, 1);
    cublasSetStream_v2(handle, stream);
    check(cudaStreamBeginCapture(stream, 0) == 0, "begin");
    check(cublasSgemm_v2(handle, 0, 0, 2, 2, 2, &one, a, 2, p, 2, &zero, c, 2) == 0, "gemm while capturing");
    check(cublasSaxpy_v2(handle, 4, &one, c, 1, a, 1) == 0, "axpy while capturing");
    check(cudaStreamEndCapture(stream, &g) == 0 && g, "end");
    check(read_float(a) == 1, "capturing computes nothing");
    one = 55;
    check(cudaGraphInstantiate(&exec, g, 0) == 0, "instantiate");
    check(cudaGraphDestroy(g) == 0, "destroy");
    cublasDestroy_v2(handle); /* what was captured does not need it */
    for (int i = 0; i < 3; i++)
        check(cudaGraphLaunch(exec, stream) == 0, "launch");
    cudaStreamSynchronize(stream);
    /* each launch: c = a with columns swapped, a += c: (1, 3) (4, 4) (8, 8) */
    check(read_float(a) == 16 && read_float(c) == 8, "graph: a %g, c %g", read_float(a), read_float(c));
    cudaGraphExecDestroy(exec);
    cudaStreamDestroy(stream);
    cudaFree(a), cudaFree(p), cudaFree(c);
}

static void *one_thread(void *arg)
{
    cublasHandle_t handle;
    void *stream;
    int n = 24, rounds = quick ? 3 : 200;
    float *host = malloc((size_t)(n * n) * sizeof *host), alpha = 1, beta = 1;
    for (int i = 0; i < n * n; i++)
        host[i] = 1;
    float *a = device_copy(host, (size_t)(n * n) * 4), *c = device_copy(host, (size_t)(n * n) * 4), *shared = arg;
    cudaStreamCreateWithFlags(&stream, (unsigned)((uintptr_t)arg >> 4) & 1);
    check(cublasCreate_v2(&handle) == 0 && cublasSetStream_v2(handle, stream) == 0, "thread's handle");
    for (int i = 0; i < rounds; i++) {
        cublasSgemm_v2(handle, 0, 0, n, n, n, &alpha, a, n, a, n, &beta, c, n);
        /* All threads add to one cell in the default stream, which keeps their order. */
        cublasSetStream_v2(handle, NULL);
        cublasSaxpy_v2(handle, 1, &alpha, a, 1, shared, 1);
        cublasSetStream_v2(handle, stream);
    }
    cudaStreamSynchronize(stream);
    check(read_float(c) == 1 + (float)(rounds * n), "thread: %g", read_float(c));
    cublasDestroy_v2(handle);
    cudaStreamDestroy(stream);
    cudaFree(a), cudaFree(c);
    free(host);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[4];
    float zero = 0, *shared = device_copy(&zero, sizeof zero);
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, one_thread, shared);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    cudaDeviceSynchronize();
    check(read_float(shared) == 4 * (quick ? 3 : 200), "threads on one cell: %g", read_float(shared));
    cudaFree(shared);
}

static void statuses(void)
{
    cublasHandle_t handle;
    float a = 1, *x = device_copy(&a, sizeof a);
    int version = 0, value = 0;
    check(cublasCreate_v2(NULL) == CUBLAS_STATUS_INVALID_VALUE, "create NULL");
    check(cublasSgemm_v2(NULL, 0, 0, 1, 1, 1, &a, x, 1, x, 1, &a, x, 1) == CUBLAS_STATUS_NOT_INITIALIZED, "no handle");
    check(cublasDestroy_v2(NULL) == CUBLAS_STATUS_NOT_INITIALIZED, "destroy NULL");
    cublasCreate_v2(&handle);
#define INVALID(call) check((call) == CUBLAS_STATUS_INVALID_VALUE, #call)
    INVALID(cublasSgemm_v2(handle, 7, 0, 1, 1, 1, &a, x, 1, x, 1, &a, x, 1));
    INVALID(cublasSgemm_v2(handle, 0, 0, -1, 1, 1, &a, x, 1, x, 1, &a, x, 1));
    INVALID(cublasSgemm_v2(handle, 0, 0, 2, 1, 1, &a, x, 1, x, 1, &a, x, 2));
    INVALID(cublasSgemm_v2(handle, 0, 0, 1, 1, 2, &a, x, 1, x, 1, &a, x, 1));
    INVALID(cublasSgemm_v2(handle, 0, 0, 1, 1, 1, &a, x, 1, x, 1, &a, x, 0));
    INVALID(cublasSgemm_v2(handle, 0, 0, 1, 1, 1, NULL, x, 1, x, 1, &a, x, 1));
    INVALID(cublasSgemv_v2(handle, 0, 1, 1, &a, x, 1, x, 0, &a, x, 1));
    INVALID(cublasStrsm_v2(handle, 0, 5, 0, 0, 1, 1, &a, x, 1, x, 1));
    INVALID(cublasSetPointerMode_v2(handle, 2));
    INVALID(cublasGetVersion_v2(handle, NULL));
    INVALID(cublasSetVector(1, 0, &a, 1, x, 1));
    INVALID(cublasSetWorkspace_v2(handle, (char *)x + 4, 16));
    check(cublasSgemm_v2(handle, 0, 0, 0, 1, 1, &a, NULL, 1, NULL, 1, &a, NULL, 1) == 0, "nothing to do");
    check(cublasSetBackdoor() == CUBLAS_STATUS_NOT_SUPPORTED, "a stub");
    check(cublasGetVersion_v2(handle, &version) == 0 && version / 10000 == 12, "version %d", version);
    check(cublasGetProperty(MAJOR_VERSION, &value) == 0 && value == 12, "property %d", value);
    check(!strcmp(cublasGetStatusName(CUBLAS_STATUS_INVALID_VALUE), "CUBLAS_STATUS_INVALID_VALUE"), "status name");
    check(read_float(x) == 1, "x is %g", read_float(x));
    cublasDestroy_v2(handle);
    cudaFree(x);
}

static void legacy(void)
{
    float values[4] = { 1, 2, 3, 4 }, out[4] = { 0 }, *a = NULL, *c = NULL;
    cuComplex z[2] = { { 1, 2 }, { 3, -1 } }, *dz = NULL;
    check(cublasInit() == 0, "init");
    check(cublasAlloc(4, 4, (void **)&a) == 0 && cublasAlloc(4, 4, (void **)&c) == 0 && cublasAlloc(2, 8, (void **)&dz) == 0,
          "alloc");
    check(cublasSetMatrix(2, 2, 4, values, 2, a, 2) == 0 && cublasSetVector(2, 8, z, 1, dz, 1) == 0, "set");
    cublasSgemm('t', 'N', 2, 2, 2, 2.0f, a, 2, a, 2, 0.0f, c, 2);
    check(cublasGetError() == 0, "legacy gemm");
    check(cublasGetMatrix(2, 2, 4, c, 2, out, 2) == 0, "get");
    check(out[0] == 10 && out[1] == 22 && out[2] == 22 && out[3] == 50, "legacy gemm: %g %g %g %g", out[0], out[1], out[2],
          out[3]);
    check(cublasSdot(4, a, 1, a, 1) == 30 && cublasIsamax(4, a, 1) == 4, "legacy dot, amax");
    cuComplex d = cublasCdotc(2, dz, 1, dz, 1);
    check(d.x == 15 && d.y == 0, "legacy dotc: %g %g", d.x, d.y);
    cublasSgemm('x', 'n', 2, 2, 2, 1.0f, a, 2, a, 2, 0.0f, c, 2);
    check(cublasGetError() == CUBLAS_STATUS_INVALID_VALUE && cublasGetError() == 0, "legacy error");
    check(cublasFree(a) == 0 && cublasFree(c) == 0 && cublasFree(dz) == 0 && cublasShutdown() == 0, "shutdown");
    check(cublasShutdown() == CUBLAS_STATUS_NOT_INITIALIZED, "shutdown twice");
}

/* Handles, queued calls and captured graphs without growth. */
static void leaks(void)
{
    size_t before = 0;
    float a = 1, *x = device_copy(&a, sizeof a);
    void *stream;
    cudaStreamCreateWithFlags(&stream, 1);
    for (int i = 0; i < (quick ? 200 : 10000); i++) {
        cublasHandle_t handle;
        void *g = NULL;
        if (i == 100) {
            cudaDeviceSynchronize();
            before = mallinfo2().uordblks;
        }
        cublasCreate_v2(&handle);
        cublasSetStream_v2(handle, stream);
        cublasSscal_v2(handle, 1, &a, x, 1);
        if (i % 10 == 0) {
            cudaStreamBeginCapture(stream, 0);
            cublasSscal_v2(handle, 1, &a, x, 1);
            cudaStreamEndCapture(stream, &g);
            cudaGraphDestroy(g);
        }
        cublasDestroy_v2(handle);
    }
    cudaDeviceSynchronize();
    size_t after = mallinfo2().uordblks;
    check(after < before + 65536, "10,000 handles: %zu bytes, then %zu", before, after);
    cudaStreamDestroy(stream);
    cudaFree(x);
}

int main(int argc, char **argv)
{
    quick = argc > 1 && !strcmp(argv[1], "quick");
    order();
    ends_wait();
    device_scalars();
    graph();
    threads();
    statuses();
    legacy();
    leaks();
    return test_end("seam");
}
