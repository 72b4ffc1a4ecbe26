/* rocSOLVER: see amd.h.  Names, prototypes and numbers are those of its documentation. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusolver"
#include "amd.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/dl.h"
#include "base/log.h"

static struct {
    pthread_once_t once;
    pthread_mutex_t lock; /* of the handles */
    void *library;
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
} roc = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

/* Handles are rocBLAS's, which rocSOLVER depends on: its names are found through it. */
static void open_library(void)
{
    static const char *const names[] = { "librocsolver.so.0", "librocsolver.so.1", "librocsolver.so", NULL };
    static const struct aw_dl_symbol symbols[] = {
        { "rocblas_create_handle", 0, true },
        { "rocblas_destroy_handle", sizeof(void *), true },
        { "rocblas_set_stream", 2 * sizeof(void *), true },
        { NULL, 0, false },
    };
    char why[256];
    roc.library = aw_dl_open(names, symbols, &roc.create, why, sizeof why);
    if (!roc.library)
        aw_say(NO_ROCSOLVER, why);
}

static cusolverStatus_t status_of(int roc_status)
{
    switch (roc_status) {
    case 0:
    case 7: return CUSOLVER_STATUS_SUCCESS; /* 7: slower than it could be */
    case 1: return CUSOLVER_STATUS_NOT_INITIALIZED;
    case 2:
    case 14: return CUSOLVER_STATUS_NOT_SUPPORTED;
    case 5: return CUSOLVER_STATUS_ALLOC_FAILED;
    case 3:
    case 4:
    case 11: return CUSOLVER_STATUS_INVALID_VALUE;
    case 15: return CUSOLVER_STATUS_ARCH_MISMATCH;
    default: return CUSOLVER_STATUS_INTERNAL_ERROR;
    }
}

/* All arguments are integers or addresses: in registers and slots of eight bytes on the processors there are, so that one
 * prototype with as many as any function takes calls them all. */
typedef int (*function)(void *, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                        uint64_t, uint64_t);

static function find(char t, const char *name)
{
    const char *bar = strchr(name, '|');
    const char *from = bar && aw_solver_complex(t) ? bar + 1 : name;
    char full[48];
    snprintf(full, sizeof full, "rocsolver_%c%.*s", t, bar && from == name ? (int)(bar - name) : (int)strlen(from), from);
    return (function)dlsym(roc.library, full);
}

bool aw_amd_solver(cusolverDnHandle_t handle, char t, const char *name, const uint64_t a[AW_AMD_ARGS], int *clear,
                   cusolverStatus_t *ret_status)
{
    void *stream;
    function f;
    if (handle->queue.place != AW_LIB_CARD)
        return false;
    pthread_once(&roc.once, open_library);
    if (!roc.library || !(f = find(t, name)))
        return false;
    if (aw_lib_queue_enter(&handle->queue) != CUDA_SUCCESS || aw_abi_stream_native(handle->queue.stream, &stream) != CUDA_SUCCESS)
        return false;
    pthread_mutex_lock(&roc.lock);
    int status = handle->amd ? 0 : roc.create(&handle->amd);
    if (status == 0)
        status = roc.set_stream(handle->amd, stream);
    if (status == 0)
        status = f(handle->amd, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]);
    pthread_mutex_unlock(&roc.lock);
    *ret_status = status_of(status);
    if (*ret_status == CUSOLVER_STATUS_SUCCESS && clear)
        *ret_status = aw_solver_status(cuMemsetD32Async((CUdeviceptr)(uintptr_t)clear, 0, 1, handle->queue.stream));
    return true;
}

void aw_amd_solver_drop(cusolverDnHandle_t handle)
{
    if (!handle->amd)
        return;
    pthread_mutex_lock(&roc.lock);
    (void)roc.destroy(handle->amd);
    handle->amd = NULL;
    pthread_mutex_unlock(&roc.lock);
}
