/* The OpenCL version of a benchmark: the first device of the platform "Portable Computing Language" (PoCL), one queue in order.
 * A .cl file is read twice: by OpenCL's compiler for its kernels, and by the C compiler for run(), which launches them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPENCL_H
#define OPENCL_H
#define DEVICE "pocl"
#define CL_TARGET_OPENCL_VERSION 120
#include "bench.h"
#include <CL/cl.h>

#define CHECK(call) opencl_check(call, #call)
#define OPENCL_KERNELS 8

static struct opencl {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    struct { const char *name; cl_kernel kernel; } kernels[OPENCL_KERNELS];
} opencl;

struct opencl_arg {
    const void *value;
    size_t size;
};

/* Arguments of LAUNCH: a buffer by its number, any scalar by its value, local memory by its size in bytes. */
#define BUF(id) ((struct opencl_arg){&bench.buffers[id].device, sizeof(cl_mem)})
#define VAL(x) ((struct opencl_arg){(__typeof__(x)[]){x}, sizeof(x)})
#define LOCAL(bytes) ((struct opencl_arg){NULL, bytes})
/* A kernel over gx * gy * gz work items, all in whole groups of bx * by * bz. */
#define LAUNCH(name, gx, gy, gz, bx, by, bz, ...)                                                                       \
    opencl_launch(name, (const size_t[3]){ (size_t)(gx), (size_t)(gy), (size_t)(gz) }, (const size_t[3]){ bx, by, bz }, \
                  (const struct opencl_arg[]){ __VA_ARGS__ },                                                           \
                  sizeof((struct opencl_arg[]){ __VA_ARGS__ }) / sizeof(struct opencl_arg))
#define LAUNCH1(name, count, size, ...) LAUNCH(name, ROUND(count, size), 1, 1, size, 1, 1, __VA_ARGS__)
#define ROUND(count, size) (((long)(count) + (size) - 1) / (size) * (size))

static void opencl_check(cl_int status, const char *call)
{
    if (status != CL_SUCCESS) {
        fprintf(stderr, "%s: %.60s: OpenCL error %d\n", ROW, call, status);
        exit(1);
    }
}

static cl_kernel opencl_kernel(const char *name)
{
    int i = 0;

    for (; i < OPENCL_KERNELS && opencl.kernels[i].name; i++)
        if (!strcmp(opencl.kernels[i].name, name))
            return opencl.kernels[i].kernel;
    if (i == OPENCL_KERNELS)
        bench_fail("too many kernels");
    cl_int status;
    opencl.kernels[i].name = name;
    opencl.kernels[i].kernel = clCreateKernel(opencl.program, name, &status);
    CHECK(status);
    return opencl.kernels[i].kernel;
}

BENCH_MAYBE void opencl_launch(const char *name, const size_t *grid, const size_t *block, const struct opencl_arg *args,
                               size_t count)
{
    cl_kernel kernel = opencl_kernel(name);

    for (cl_uint i = 0; i < count; i++)
        CHECK(clSetKernelArg(kernel, i, args[i].size, args[i].value));
    CHECK(clEnqueueNDRangeKernel(opencl.queue, kernel, 3, NULL, grid, block, 0, NULL, NULL));
}

static cl_device_id opencl_device(void)
{
    cl_platform_id platforms[16];
    cl_uint count = 0;
    char name[256];
    cl_device_id device;

    CHECK(clGetPlatformIDs(16, platforms, &count));
    for (cl_uint i = 0; i < count && i < 16; i++) {
        CHECK(clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL));
        if (strcmp(name, "Portable Computing Language"))
            continue;
        CHECK(clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL));
        return device;
    }
    bench_fail("PoCL is not here");
    return NULL;
}

/* The .cl file, whose path is SOURCE. */
static char *opencl_source(void)
{
    FILE *f = fopen(SOURCE, "rb");
    char *text = (char *)calloc(1, 1 << 16);

    if (!f || !text || !fread(text, 1, (1 << 16) - 1, f))
        bench_fail("cannot read " SOURCE);
    fclose(f);
    return text;
}

static void opencl_build(cl_device_id device)
{
    char *text = opencl_source(), log[8192] = "";
    cl_int status;

    opencl.program = clCreateProgramWithSource(opencl.context, 1, (const char *[]){text}, NULL, &status);
    CHECK(status);
    if (clBuildProgram(opencl.program, 1, &device, "-cl-std=CL1.2", NULL, NULL) != CL_SUCCESS) {
        clGetProgramBuildInfo(opencl.program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        bench_fail(log);
    }
    free(text);
}

static void device_open(void)
{
    cl_device_id device = opencl_device();
    cl_int status;

    opencl.context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    opencl.queue = clCreateCommandQueue(opencl.context, device, 0, &status);
    CHECK(status);
    opencl_build(device);
    for (int i = 0; i < bench.count; i++) {
        struct bench_buffer *b = &bench.buffers[i];
        b->device = clCreateBuffer(opencl.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, b->bytes, b->host, &status);
        CHECK(status);
    }
}

static void device_restore(void)
{
    for (int i = 0; i < bench.count; i++) {
        struct bench_buffer *b = &bench.buffers[i];
        if (b->role == INOUT)
            CHECK(clEnqueueWriteBuffer(opencl.queue, (cl_mem)b->device, CL_TRUE, 0, b->bytes, b->first, 0, NULL, NULL));
    }
}

static void device_wait(void)
{
    CHECK(clFinish(opencl.queue));
}

static void device_fetch(void)
{
    for (int i = 0; i < bench.count; i++) {
        struct bench_buffer *b = &bench.buffers[i];
        if (b->role != IN)
            CHECK(clEnqueueReadBuffer(opencl.queue, (cl_mem)b->device, CL_TRUE, 0, b->bytes, b->host, 0, NULL, NULL));
    }
}
#endif
