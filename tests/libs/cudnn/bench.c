/* How long convolutions of ResNet-18 take through cuDNN on the host device, beside oneDNN called directly on the same memory
 * (float, NCHW, with the layouts that oneDNN likes and the reorders to them).  A command of its own: `ninja cudnn_bench`, then
 * `anywarp run cudnn_bench [BATCH]`. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <oneapi/dnnl/dnnl.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static const struct shape {
    int c, size, k, window, stride;
} shapes[] = {
    { 3, 224, 64, 7, 2 },   { 64, 56, 64, 3, 1 },   { 64, 56, 128, 3, 2 },  { 64, 56, 128, 1, 2 },
    { 128, 28, 128, 3, 1 }, { 128, 28, 256, 3, 2 }, { 128, 28, 256, 1, 2 }, { 256, 14, 256, 3, 1 },
    { 256, 14, 512, 3, 2 }, { 256, 14, 512, 1, 2 }, { 512, 7, 512, 3, 1 },
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct direct {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t conv, reorder[3];
    dnnl_memory_t user[3], used[3];
};

static void direct_make(struct direct *d, const dnnl_dims_t dims[3], void *const at[3], const struct shape *s)
{
    static const dnnl_format_tag_t tags[] = { dnnl_nchw, dnnl_oihw, dnnl_nchw };
    static const dnnl_query_t queries[] = { dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md };
    dnnl_memory_desc_t given[3], any_md[3];
    dnnl_convolution_desc_t conv;
    dnnl_primitive_desc_t pd, rd;
    dnnl_dims_t stride = { s->stride, s->stride }, pad = { s->window / 2, s->window / 2 };
    for (int i = 0; i < 3; i++) {
        dnnl_memory_desc_init_by_tag(&given[i], 4, dims[i], dnnl_f32, tags[i]);
        dnnl_memory_desc_init_by_tag(&any_md[i], 4, dims[i], dnnl_f32, dnnl_format_tag_any);
        dnnl_memory_create(&d->user[i], &given[i], d->engine, at[i]);
        d->used[i] = d->user[i];
        d->reorder[i] = NULL;
    }
    dnnl_convolution_forward_desc_init(&conv, dnnl_forward_inference, dnnl_convolution_auto, &any_md[0], &any_md[1], NULL,
                                       &any_md[2], stride, pad, pad);
    dnnl_primitive_desc_create(&pd, &conv, NULL, d->engine, NULL);
    for (int i = 0; i < 3; i++) {
        const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, queries[i], 0);
        if (dnnl_memory_desc_equal(md, &given[i]))
            continue;
        dnnl_memory_create(&d->used[i], md, d->engine, DNNL_MEMORY_ALLOCATE);
        dnnl_reorder_primitive_desc_create(&rd, i == 2 ? md : &given[i], d->engine, i == 2 ? &given[i] : md, d->engine, NULL);
        dnnl_primitive_create(&d->reorder[i], rd);
    }
    dnnl_primitive_create(&d->conv, pd);
}

static void direct_run(struct direct *d)
{
    for (int i = 0; i < 2; i++) {
        dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, d->user[i] }, { DNNL_ARG_TO, d->used[i] } };
        if (d->reorder[i])
            dnnl_primitive_execute(d->reorder[i], d->stream, 2, args);
    }
    dnnl_exec_arg_t args[] = { { DNNL_ARG_SRC, d->used[0] }, { DNNL_ARG_WEIGHTS, d->used[1] }, { DNNL_ARG_DST, d->used[2] } };
    dnnl_primitive_execute(d->conv, d->stream, 3, args);
    dnnl_exec_arg_t back[] = { { DNNL_ARG_FROM, d->used[2] }, { DNNL_ARG_TO, d->user[2] } };
    if (d->reorder[2])
        dnnl_primitive_execute(d->reorder[2], d->stream, 2, back);
    dnnl_stream_wait(d->stream);
}

int main(int argc, char **argv)
{
    int batch = argc > 1 ? atoi(argv[1]) : 1;
    cudnnHandle_t handle;
    struct direct d;
    double total[2] = { 0, 0 };
    float one = 1, zero = 0;
    cudnnCreate(&handle);
    dnnl_engine_create(&d.engine, dnnl_cpu, 0);
    dnnl_stream_create(&d.stream, d.engine, dnnl_stream_default_flags);
    printf("%-24s %10s %10s %8s\n", "channels size filters", "cuDNN ms", "oneDNN ms", "ratio");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const struct shape *s = &shapes[i];
        int xd[] = { batch, s->c, s->size, s->size }, wd[] = { s->k, s->c, s->window, s->window }, yd[4];
        dnnl_dims_t dims[3];
        cudnnFilterDescriptor_t filter;
        cudnnConvolutionDescriptor_t conv;
        cudnnCreateFilterDescriptor(&filter);
        cudnnCreateConvolutionDescriptor(&conv);
        cudnnSetFilterNdDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 4, wd);
        cudnnSetConvolution2dDescriptor(conv, s->window / 2, s->window / 2, s->stride, s->stride, 1, 1, CUDNN_CROSS_CORRELATION,
                                        CUDNN_DATA_FLOAT);
        struct tensor x = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, xd), w = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, wd);
        cudnnGetConvolutionNdForwardOutputDim(conv, x.desc, filter, 4, yd);
        struct tensor y = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, yd);
        for (int k = 0; k < 4; k++)
            dims[0][k] = xd[k], dims[1][k] = wd[k], dims[2][k] = yd[k];
        direct_make(&d, (const dnnl_dims_t *)dims, (void *const[]){ x.device, w.device, y.device }, s);
        double best[2] = { 1e9, 1e9 };
        /* One after the other, with a rest: each has threads of its own, which look for work a while before they sleep. */
        for (int which = 0; which < 2; which++) {
            usleep(100000);
            for (int round = 0; round < 40; round++) {
                double begin = now();
                if (which) {
                    direct_run(&d);
                } else {
                    cudnnConvolutionForward(handle, &one, x.desc, x.device, filter, w.device, conv, 1, NULL, 0, &zero, y.desc,
                                            y.device);
                    cudaDeviceSynchronize();
                }
                best[which] = fmin(best[which], now() - begin);
            }
        }
        printf("%4d %4d %4d %dx%d/%d %15.3f %10.3f %8.2f\n", s->c, s->size, s->k, s->window, s->window, s->stride, best[0] * 1e3,
               best[1] * 1e3, best[1] / best[0]);
        total[0] += best[0], total[1] += best[1];
        tensor_drop(&x), tensor_drop(&w), tensor_drop(&y);
    }
    printf("all of them %22.3f %10.3f %8.2f\n", total[0] * 1e3, total[1] * 1e3, total[1] / total[0]);
    return 0;
}
