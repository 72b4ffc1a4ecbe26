/* rocBLAS: see amd.h.  Names, prototypes and numbers are those of its documentation. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cublas"
#include "amd.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>

#include "base/dl.h"
#include "base/log.h"
#include "handle.h"

enum { ROC_OP_N = 111, ROC_UPPER = 121, ROC_LOWER = 122, ROC_NON_UNIT = 131, ROC_UNIT = 132, ROC_LEFT = 141, ROC_RIGHT = 142 };

static struct {
    pthread_once_t once;
    pthread_mutex_t lock; /* of the handles */
    void *library;
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
    int (*set_pointer_mode)(void *handle, int mode);
} roc = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static void open_library(void)
{
    static const char *const names[] = { "librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so.0",
                                         "librocblas.so", NULL };
    static const struct aw_dl_symbol symbols[] = {
        { "rocblas_create_handle", 0, true },
        { "rocblas_destroy_handle", sizeof(void *), true },
        { "rocblas_set_stream", 2 * sizeof(void *), true },
        { "rocblas_set_pointer_mode", 3 * sizeof(void *), true },
        { NULL, 0, false },
    };
    char why[256];
    roc.library = aw_dl_open(names, symbols, &roc.create, why, sizeof why);
    if (!roc.library)
        aw_say(NO_ROCBLAS, why);
}

static cublasStatus_t status_of(int roc_status)
{
    switch (roc_status) {
    case 0:
    case 7: return CUBLAS_STATUS_SUCCESS; /* 7: slower than it could be */
    case 1: return CUBLAS_STATUS_NOT_INITIALIZED;
    case 2:
    case 14: return CUBLAS_STATUS_NOT_SUPPORTED;
    case 5: return CUBLAS_STATUS_ALLOC_FAILED;
    case 3:
    case 4:
    case 11: return CUBLAS_STATUS_INVALID_VALUE;
    case 15: return CUBLAS_STATUS_ARCH_MISMATCH;
    default: return CUBLAS_STATUS_INTERNAL_ERROR;
    }
}

static uint64_t value_of(uint8_t kind, union aw_blas_value v)
{
    switch (kind) {
    case AW_BLAS_OP:
    case AW_BLAS_OP_T:
    case AW_BLAS_OP_C: return (uint64_t)(ROC_OP_N + v.i);
    case AW_BLAS_UPLO: return v.i == CUBLAS_FILL_MODE_UPPER ? ROC_UPPER : ROC_LOWER;
    case AW_BLAS_DIAG: return v.i == CUBLAS_DIAG_UNIT ? ROC_UNIT : ROC_NON_UNIT;
    case AW_BLAS_SIDE: return v.i == CUBLAS_SIDE_LEFT ? ROC_LEFT : ROC_RIGHT;
    default: return kind >= AW_BLAS_SCALAR ? (uint64_t)(uintptr_t)v.p : (uint64_t)v.i;
    }
}

/* Is there an integer that rocblas_int, of 32 bits, does not hold?  Strides have 64. */
static bool too_large(const struct aw_blas_function *f, const union aw_blas_value v[])
{
    size_t n = strlen(f->amd);
    if (n > 3 && !strcmp(f->amd + n - 3, "_64"))
        return false;
    for (unsigned i = 0; i < f->row->n_args; i++) {
        uint8_t kind = f->row->args[i].kind;
        if (kind >= AW_BLAS_SIZE && kind < AW_BLAS_SCALAR && kind != AW_BLAS_STRIDE && (v[i].i > INT_MAX || v[i].i < INT_MIN))
            return true;
    }
    return false;
}

/* All arguments are integers or addresses: in registers and slots of eight bytes on the processors there are, so that one
 * prototype with as many as any function takes calls them all. */
typedef int (*function)(void *, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                        uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static int invoke(void *at, void *roc_handle, const uint64_t a[AW_BLAS_ARGS])
{
    return ((function)at)(roc_handle, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
                          a[14], a[15], a[16], a[17]);
}

static void *find(struct aw_blas_function *f)
{
    static char none; /* stands for: looked for, not there */
    void *at = __atomic_load_n(&f->amd_at, __ATOMIC_ACQUIRE);
    if (!at) {
        /* Up to ROCm 5 the plain name of trmm works in place, and has fewer arguments. */
        char older[64];
        snprintf(older, sizeof older, "%s_outofplace", f->amd);
        at = dlsym(roc.library, older);
        at = at ? at : dlsym(roc.library, f->amd);
        if (!at) {
            aw_say(ROCBLAS_FUNCTION, f->amd, f->name);
            at = &none;
        }
        __atomic_store_n(&f->amd_at, at, __ATOMIC_RELEASE);
    }
    return at == &none ? NULL : at;
}

bool aw_amd_blas_call(struct aw_blas_function *f, cublasHandle_t handle, const union aw_blas_value v[],
                      cublasStatus_t *ret_status)
{
    void *at, *stream;
    uint64_t args[AW_BLAS_ARGS] = { 0 };
    pthread_once(&roc.once, open_library);
    if (!roc.library || too_large(f, v) || !(at = find(f)))
        return false;
    if (aw_lib_queue_enter(&handle->queue) != CUDA_SUCCESS || aw_abi_stream_native(handle->queue.stream, &stream) != CUDA_SUCCESS)
        return false;
    for (unsigned i = 0; i < f->row->n_args; i++)
        args[i] = value_of(f->row->args[i].kind, v[i]);
    pthread_mutex_lock(&roc.lock);
    int status = handle->amd ? 0 : roc.create(&handle->amd);
    if (status == 0)
        status = roc.set_stream(handle->amd, stream);
    if (status == 0)
        status = roc.set_pointer_mode(handle->amd, handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE);
    if (status == 0)
        status = invoke(at, handle->amd, args);
    pthread_mutex_unlock(&roc.lock);
    *ret_status = status_of(status);
    return true;
}

void aw_amd_blas_drop(cublasHandle_t handle)
{
    if (!handle->amd)
        return;
    pthread_mutex_lock(&roc.lock);
    (void)roc.destroy(handle->amd);
    handle->amd = NULL;
    pthread_mutex_unlock(&roc.lock);
}
