/* cuDNN beside the operations themselves: order in streams, graphs, threads, status codes, versions, algorithm queries, and
 * that nothing is left behind.  Usage: seam_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"

int cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
int cudaStreamSynchronize(cudaStream_t stream);
int cudaStreamQuery(cudaStream_t stream);
int cudaStreamDestroy(cudaStream_t stream);
int cudaMemcpyAsync(void *dst, const void *src, size_t size, int kind, cudaStream_t stream);
int cudaLaunchHostFunc(cudaStream_t stream, void (*fn)(void *), void *user);
int cudaStreamBeginCapture(cudaStream_t stream, int mode);
int cudaStreamEndCapture(cudaStream_t stream, void **graph);
int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *exec, cudaStream_t stream);
int cudaGraphDestroy(void *graph);
int cudaGraphExecDestroy(void *exec);

static int quick;
static const int dim[] = { 2, 3, 4, 5 };

static void wait_for(void *flag)
{
    while (!__atomic_load_n((int *)flag, __ATOMIC_ACQUIRE))
        ;
}

/* Work behind a host function that waits must itself wait, in order, with the scalars and descriptors of the call. */
static void order(void)
{
    cudnnHandle_t handle;
    cudaStream_t stream, got;
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, dim);
    int flag = quick; /* HIP 5.2 waits for earlier work when it takes a callback */
    float factor = 2;
    check(cudnnCreate(&handle) == 0, "create");
    cudaStreamCreateWithFlags(&stream, 1);
    check(cudnnSetStream(handle, stream) == 0 && cudnnGetStream(handle, &got) == 0 && got == stream, "stream");
    cudaLaunchHostFunc(stream, wait_for, &flag);
    cudnnTensorDescriptor_t d;
    cudnnCreateTensorDescriptor(&d);
    cudnnSetTensorNdDescriptor(d, CUDNN_DATA_FLOAT, 4, x.dim, x.stride);
    for (int i = 0; i < 5; i++)
        check(cudnnScaleTensor(handle, d, x.device, &factor) == 0, "scale");
    factor = 5;
    check(cudnnSetTensor(handle, d, x.device, &factor) == 0, "set");
    factor = 3;
    check(cudnnScaleTensor(handle, d, x.device, &factor) == 0, "scale");
    factor = 100;
    cudnnDestroyTensorDescriptor(d);
    float now = 0;
    if (!quick) {
        memcpy(&now, x.device, 4); /* the host device's memory is the host's */
        check(now == (float)x.want[0], "work ran before its turn");
    }
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    cudaStreamSynchronize(stream);
    for (long i = 0; i < x.count; i++)
        x.want[i] = 15;
    tensor_is(&x, "order");
    cudnnDestroy(handle);
    cudaStreamDestroy(stream);
    tensor_drop(&x);
}

static void nap(void *ignored)
{
    usleep(50000);
}

/* The end of a handle waits for the device, the work of streams that it was not given included. */
static void ends_wait(void)
{
    cudnnHandle_t handle;
    cudaStream_t stream;
    check(cudnnCreate(&handle) == 0, "create");
    cudaStreamCreateWithFlags(&stream, 1);
    cudaLaunchHostFunc(stream, nap, NULL);
    check(cudnnDestroy(handle) == 0 && cudaStreamQuery(stream) == 0, "a handle's end does not wait for the device");
    cudaStreamDestroy(stream);
}

/* A convolution captured into a graph runs at each launch, with what is in memory then. */
static void capture(void)
{
    static const int wd[] = { 2, 3, 1, 1 }, yd[] = { 2, 2, 4, 5 };
    cudnnHandle_t handle;
    cudaStream_t stream;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t conv;
    void *graph, *exec;
    float one = 1;
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, dim), w = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, wd),
                  y = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, yd);
    cudnnCreate(&handle);
    cudaStreamCreateWithFlags(&stream, 1);
    cudnnSetStream(handle, stream);
    cudnnCreateFilterDescriptor(&filter);
    cudnnCreateConvolutionDescriptor(&conv);
    cudnnSetFilterNdDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 4, wd);
    cudnnSetConvolution2dDescriptor(conv, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    check(cudaStreamBeginCapture(stream, 2) == 0, "capture");
    check(cudnnConvolutionForward(handle, &one, x.desc, x.device, filter, w.device, conv, 0, NULL, 0, &one, y.desc, y.device) ==
              0,
          "captured");
    check(cudaStreamEndCapture(stream, &graph) == 0 && cudaGraphInstantiate(&exec, graph, 0) == 0, "end of capture");
    cudnnDestroyFilterDescriptor(filter);
    cudnnDestroyConvolutionDescriptor(conv);
    cudnnDestroy(handle);
    tensor_is(&y, "before the launch");
    for (int launch = 0; launch < 3; launch++) {
        check(cudaGraphLaunch(exec, stream) == 0, "launch");
        cudaStreamSynchronize(stream);
        for (long i = 0; i < y.count; i++)
            for (int c = 0; c < 3; c++)
                y.want[i] += x.want[(i / 40 * 3 + c) * 20 + i % 20] * w.want[i / 20 % 2 * 3 + c];
        tensor_is(&y, "after a launch");
        for (long i = 0; i < x.count; i++)
            x.want[i] = any();
        tensor_put(&x);
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    tensor_drop(&x), tensor_drop(&w), tensor_drop(&y);
}

/* Each thread with a handle, a stream and memory of its own. */
static void *thread(void *arg)
{
    cudnnHandle_t handle;
    cudaStream_t stream;
    cudnnTensorDescriptor_t d;
    void *x;
    float host[120], factor = 2;
    int rounds = quick ? 5 : 200;
    cudnnCreate(&handle);
    cudaStreamCreateWithFlags(&stream, 1);
    cudnnSetStream(handle, stream);
    cudnnCreateTensorDescriptor(&d);
    cudnnSetTensor4dDescriptor(d, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 2, 3, 4, 5);
    cudaMalloc(&x, sizeof host);
    long wrong = 0;
    for (int i = 0; i < rounds; i++) {
        float value = (float)(i + *(int *)arg * 1000);
        cudnnSetTensor(handle, d, x, &value);
        cudnnScaleTensor(handle, d, x, &factor);
        cudaMemcpyAsync(host, x, sizeof host, 2, stream);
        cudaStreamSynchronize(stream);
        for (int k = 0; k < 120; k++)
            wrong += host[k] != 2 * value;
    }
    cudaFree(x);
    cudnnDestroyTensorDescriptor(d);
    cudnnDestroy(handle);
    cudaStreamDestroy(stream);
    return (void *)wrong;
}

static void threads(void)
{
    pthread_t t[4];
    int number[4];
    for (int i = 0; i < 4; i++) {
        number[i] = i;
        pthread_create(&t[i], NULL, thread, &number[i]);
    }
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(t[i], &wrong);
        check(wrong == NULL, "thread %d: %ld values are wrong", i, (long)wrong);
    }
}

static void wrong_arguments(void)
{
    cudnnHandle_t handle;
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, dim),
                  y = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, (const int[]){ 2, 3, 4, 6 });
    cudnnTensorDescriptor_t d;
    cudnnConvolutionDescriptor_t conv;
    cudnnFilterDescriptor_t filter;
    float one = 1, zero = 0;
    int bad[] = { 1, 0, 2, 2 }, n;
    cudnnCreate(&handle);
    cudnnCreateTensorDescriptor(&d);
    cudnnCreateConvolutionDescriptor(&conv);
    cudnnCreateFilterDescriptor(&filter);
    check(cudnnCreate(NULL) == CUDNN_STATUS_BAD_PARAM, "create without a place");
    check(cudnnScaleTensor(NULL, x.desc, x.device, &one) == CUDNN_STATUS_NOT_INITIALIZED, "no handle");
    check(cudnnSetTensorNdDescriptor(d, CUDNN_DATA_FLOAT, 4, bad, bad) == CUDNN_STATUS_BAD_PARAM, "a dimension of 0");
    check(cudnnSetTensorNdDescriptor(d, CUDNN_DATA_FLOAT, 9, dim, dim) == CUDNN_STATUS_NOT_SUPPORTED, "nine dimensions");
    check(cudnnSetTensor4dDescriptor(d, CUDNN_TENSOR_NCHW_VECT_C, CUDNN_DATA_INT8x4, 1, 4, 2, 2) == CUDNN_STATUS_NOT_SUPPORTED,
          "vectors of channels");
    check(cudnnTransformTensor(handle, &one, x.desc, x.device, &zero, y.desc, y.device) == CUDNN_STATUS_BAD_PARAM,
          "sizes that differ");
    check(cudnnTransformTensor(handle, &one, x.desc, NULL, &zero, x.desc, x.device) == CUDNN_STATUS_BAD_PARAM, "no memory");
    check(cudnnSetConvolution2dDescriptor(conv, -1, 0, 1, 1, 1, 1, 1, 0) == CUDNN_STATUS_BAD_PARAM, "a padding below 0");
    check(cudnnSetConvolution2dDescriptor(conv, 0, 0, 1, 1, 1, 1, 1, 0) == 0, "a convolution");
    cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 3, 2, 1, 1);
    check(cudnnConvolutionForward(handle, &one, x.desc, x.device, filter, x.device, conv, 0, NULL, 0, &zero, x.desc, x.device) ==
              CUDNN_STATUS_BAD_PARAM,
          "channels that do not fit");
    char text[200];
    cudnnGetLastErrorString(text, sizeof text);
    check(strstr(text, "convolution") != NULL, "what was said: %s", text);
    check(cudnnGetTensor4dDescriptor(x.desc, NULL, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == 0 && n == 2,
          "asked for one thing");
    check(cudnnIm2Col(handle, x.desc, x.device, filter, conv, y.device) == CUDNN_STATUS_NOT_SUPPORTED, "a stub");
    cudnnDestroyTensorDescriptor(d);
    cudnnDestroyConvolutionDescriptor(conv);
    cudnnDestroyFilterDescriptor(filter);
    cudnnDestroy(handle);
    tensor_drop(&x), tensor_drop(&y);
}

static void versions(void)
{
    int major, minor;
    check(cudnnGetProperty(MAJOR_VERSION, &major) == 0 && cudnnGetProperty(MINOR_VERSION, &minor) == 0, "property");
    check(major == 9 && cudnnGetVersion() / 10000 == 9 && cudnnGetVersion() / 100 % 100 == (size_t)minor, "version %zu",
          cudnnGetVersion());
    check(!strcmp(cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM), "CUDNN_STATUS_BAD_PARAM"), "names of codes");
    check(cudnnOpsVersionCheck() == 0 && cudnnCnnVersionCheck() == 0 && cudnnAdvVersionCheck() == 0 &&
              cudnnGraphVersionCheck() == 0,
          "sublibraries");
    /* Version 8's codes have other numbers. */
    void *eight = dlopen("libcudnn.so.8", RTLD_NOW | RTLD_LOCAL);
    if (!check(eight != NULL, "libcudnn.so.8: %s", dlerror()))
        return;
    int (*create)(void *) = (int (*)(void *))dlsym(eight, "cudnnCreate");
    const char *(*name)(int) = (const char *(*)(int))dlsym(eight, "cudnnGetErrorString");
    size_t (*version)(void) = (size_t(*)(void))dlsym(eight, "cudnnGetVersion");
    int (*stub)(void) = (int (*)(void))dlsym(eight, "cudnnSetPersistentRNNPlan");
    check(version() / 1000 == 8 && create(NULL) == 3 && stub() == 9, "codes of version 8: %d %d", create(NULL), stub());
    check(!strcmp(name(3), "CUDNN_STATUS_BAD_PARAM") && !strcmp(name(9), "CUDNN_STATUS_NOT_SUPPORTED"),
          "names of version 8's codes");
    dlclose(eight);
}

static void algorithms(void)
{
    static const int wd[] = { 2, 3, 3, 3 }, yd[] = { 2, 2, 4, 5 };
    cudnnHandle_t handle;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t conv;
    cudnnConvolutionFwdAlgoPerf_t perf[8];
    cudnnConvolutionBwdDataAlgoPerf_t data[8];
    int n = 0, most = 0;
    size_t size = 1;
    float one = 1, zero = 0;
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, dim), w = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, wd),
                  y = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, yd);
    cudnnCreate(&handle);
    cudnnCreateFilterDescriptor(&filter);
    cudnnCreateConvolutionDescriptor(&conv);
    cudnnSetFilterNdDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 4, wd);
    cudnnSetConvolution2dDescriptor(conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    check(cudnnGetConvolutionForwardAlgorithmMaxCount(handle, &most) == 0 && most >= 1, "count");
    check(cudnnGetConvolutionForwardAlgorithm_v7(handle, x.desc, filter, conv, y.desc, 8, &n, perf) == 0 && n == most &&
              perf[0].status == 0,
          "get");
    check(cudnnFindConvolutionForwardAlgorithm(handle, x.desc, filter, conv, y.desc, 8, &n, perf) == 0 && n == most &&
              perf[0].time > 0,
          "find");
    check(cudnnFindConvolutionBackwardDataAlgorithmEx(handle, filter, w.device, y.desc, y.device, conv, x.desc, x.device, 1, &n,
                                                      data, NULL, 0) == 0 &&
              n == 1 && data[0].time > 0,
          "find with memory");
    check(cudnnGetConvolutionForwardWorkspaceSize(handle, x.desc, filter, conv, y.desc, perf[0].algo, &size) == 0 &&
              size == perf[0].memory,
          "workspace");
    for (int algo = 0; algo < 8; algo++)
        check(cudnnConvolutionForward(handle, &one, x.desc, x.device, filter, w.device, conv, algo, NULL, 0, &zero, y.desc,
                                      y.device) == 0,
              "algorithm %d", algo);
    cudaDeviceSynchronize();
    cudnnDestroyFilterDescriptor(filter);
    cudnnDestroyConvolutionDescriptor(conv);
    cudnnDestroy(handle);
    tensor_drop(&x), tensor_drop(&w), tensor_drop(&y);
}

/* Makes one of everything, uses it, and destroys it. */
static void round_trip(struct tensor *x)
{
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t t;
    cudnnActivationDescriptor_t a;
    cudnnRNNDescriptor_t r;
    cudnnRNNDataDescriptor_t rd;
    cudnnBackendDescriptor_t b;
    int lengths[] = { 2, 1 };
    float one = 1, zero = 0;
    cudnnCreate(&handle);
    cudnnCreateTensorDescriptor(&t);
    cudnnSetTensorNdDescriptor(t, CUDNN_DATA_FLOAT, 4, x->dim, x->stride);
    cudnnCreateActivationDescriptor(&a);
    cudnnSetActivationDescriptor(a, CUDNN_ACTIVATION_RELU, 0, 0);
    cudnnActivationForward(handle, a, &one, t, x->device, &zero, t, x->device);
    cudnnCreateRNNDescriptor(&r);
    cudnnCreateRNNDataDescriptor(&rd);
    cudnnSetRNNDataDescriptor(rd, CUDNN_DATA_FLOAT, 0, 2, 2, 3, lengths, NULL);
    cudnnSetRNNDataDescriptor(rd, CUDNN_DATA_FLOAT, 0, 2, 2, 4, lengths, NULL);
    cudnnBackendCreateDescriptor(17, &b);
    int64_t dims[] = { 1, 2, 3 };
    cudnnBackendSetAttribute(b, 902, 3, 3, dims);
    cudnnBackendSetAttribute(b, 902, 3, 2, dims);
    cudnnBackendDestroyDescriptor(b);
    cudnnDestroyRNNDataDescriptor(rd);
    cudnnDestroyRNNDescriptor(r);
    cudnnDestroyActivationDescriptor(a);
    cudnnDestroyTensorDescriptor(t);
    cudnnDestroy(handle);
}

static void leaks(void)
{
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, dim);
    int rounds = quick ? 100 : 10000;
    for (int i = 0; i < rounds / 10; i++)
        round_trip(&x);
    cudaDeviceSynchronize();
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < rounds; i++)
        round_trip(&x);
    cudaDeviceSynchronize();
    size_t after = mallinfo2().uordblks;
    check(after < before + 65536, "%d rounds left %zd bytes", rounds, after - before);
    tensor_drop(&x);
}

int main(int argc, char **argv)
{
    quick = argc > 1 && !strcmp(argv[1], "quick");
    order();
    ends_wait();
    capture();
    threads();
    wrong_arguments();
    versions();
    algorithms();
    leaks();
    return done();
}
