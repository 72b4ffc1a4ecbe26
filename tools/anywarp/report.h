/* The tests of `anywarp doctor --report`: each runs one or a few of our own kernels through the driver library, as a program
 * would, in a process of its own. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_REPORT_H
#define AW_TOOLS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the tests call, by the name in the library. */
#define REPORT_CUDA(X)                                                                                                          \
    X(cuInit, (unsigned))                                                                                                       \
    X(cuDriverGetVersion, (int *))                                                                                              \
    X(cuDeviceGetCount, (int *))                                                                                                \
    X(cuDeviceGet, (int *, int))                                                                                                \
    X(cuDeviceGetName, (char *, int, int))                                                                                      \
    X(cuDeviceGetAttribute, (int *, int, int))                                                                                  \
    X(cuDeviceTotalMem_v2, (size_t *, int))                                                                                     \
    X(cuDevicePrimaryCtxRetain, (void **, int))                                                                                 \
    X(cuCtxSetCurrent, (void *))                                                                                                \
    X(cuCtxSynchronize, (void))                                                                                                 \
    X(cuCtxSetLimit, (int, size_t))                                                                                             \
    X(cuCtxEnablePeerAccess, (void *, unsigned))                                                                                \
    X(cuDeviceCanAccessPeer, (int *, int, int))                                                                                 \
    X(cuModuleLoadData, (void **, const void *))                                                                                \
    X(cuModuleGetFunction, (void **, void *, const char *))                                                                     \
    X(cuMemAlloc_v2, (uint64_t *, size_t))                                                                                      \
    X(cuMemAllocManaged, (uint64_t *, size_t, unsigned))                                                                        \
    X(cuMemHostAlloc, (void **, size_t, unsigned))                                                                              \
    X(cuMemHostGetDevicePointer_v2, (uint64_t *, void *, unsigned))                                                             \
    X(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t))                                                                        \
    X(cuMemcpyDtoH_v2, (void *, uint64_t, size_t))                                                                              \
    X(cuMemcpyDtoD_v2, (uint64_t, uint64_t, size_t))                                                                            \
    X(cuMemcpyPeer, (uint64_t, void *, uint64_t, void *, size_t))                                                               \
    X(cuMemsetD32_v2, (uint64_t, unsigned, size_t))                                                                             \
    X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)) \
    X(cuLaunchCooperativeKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **))

struct report_cuda {
#define X(name, params) int (*name) params;
    REPORT_CUDA(X)
#undef X
};

enum report_verdict { REPORT_NONE /* it did not come to an end */, REPORT_OK, REPORT_WRONG, REPORT_LEFT_OUT };

/* What a test's process leaves behind, in memory shared with it. */
struct report_result {
    enum report_verdict verdict;
    char text[400];          /* measurements, or what is wrong */
    double first_ms, ms;     /* the first launch, which compiles, and the latest one, until they were waited for; 0: none */
};

struct report_test {
    struct report_cuda cu;
    struct report_result *result;
    void *context, *module;
    int device;
    bool simulated;          /* a card that takes its time */
};

/* A test: true when all is as it must be.  It has said so, or what is wrong, by report_say and report_fail. */
typedef bool report_fn(struct report_test *t);

struct report_row {
    const char *name;
    report_fn *fn;
    const char *needs;       /* in what the process prints, NULL: anything */
};
extern const struct report_row report_rows[];
extern const size_t report_n_rows;

void report_say(struct report_test *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Likewise; returns false. */
bool report_fail(struct report_test *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* return on failure, with the function's name and CUDA's code. */
#define TRY(t, name, ...)                                                       \
    do {                                                                        \
        int error_ = (t)->cu.name(__VA_ARGS__);                                 \
        if (error_)                                                             \
            return report_fail(t, "%s: CUDA error %d", #name, error_);          \
    } while (0)

/* Takes `text` for the module whose kernels are launched. */
bool report_load(struct report_test *t, const char *text);
/* Launches and waits; all of the kernel's n parameters are 64-bit. */
bool report_launch(struct report_test *t, const char *kernel, unsigned blocks, unsigned threads, const uint64_t *args);
/* The same, and what waiting gave as it is. */
bool report_launch_error(struct report_test *t, const char *kernel, unsigned blocks, unsigned threads, const uint64_t *args,
                         int *ret_error);
/* `bytes` of zeroes on the device. */
bool report_memory(struct report_test *t, size_t bytes, uint64_t *ret_address);
double report_now(void); /* ms */

struct aw_parts;
/* Writes the report to the file, NULL: to standard output.  The tool's exit status. */
int aw_report(const struct aw_parts *parts, const char *path);

extern const char report_kernels[] __attribute__((visibility("hidden"))); /* PTX: report_kernels.ptx */
/* Of report_litmus.c: everything about one test of the memory model. */
report_fn report_litmus_passing, report_litmus_passing_words, report_litmus_buffering, report_litmus_coherence,
    report_litmus_block;

#endif
