/* hipFFT: see amd.h.  Names, prototypes and numbers are those of its documentation; its types and results have cuFFT's numbers.
 * */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cufft"
#include "amd.h"

#include <pthread.h>
#include <stddef.h>

#include "base/dl.h"
#include "base/log.h"

typedef long long int ll;

static struct {
    pthread_once_t once;
    pthread_mutex_t lock; /* of the plans, which have one stream each at a time */
    void *library;
    struct {
        int (*create)(void **plan);
        int (*destroy)(void *plan);
        int (*make)(void *plan, int rank, ll *n, ll *inembed, ll istride, ll idist, int in, ll *onembed, ll ostride, ll odist,
                    int out, ll batch, size_t *size, int exec);
        int (*exec)(void *plan, void *in, void *out, int direction);
        int (*set_stream)(void *plan, void *stream);
    } f;
} hip = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static void open_library(void)
{
    static const char *const names[] = { "libhipfft.so.0", "libhipfft.so", NULL };
    static const struct aw_dl_symbol symbols[] = {
        { "hipfftCreate", 0, true },
        { "hipfftDestroy", sizeof(void *), true },
        { "hipfftXtMakePlanMany", 2 * sizeof(void *), true },
        { "hipfftXtExec", 3 * sizeof(void *), true },
        { "hipfftSetStream", 4 * sizeof(void *), true },
        { NULL, 0, false },
    };
    char why[256];
    hip.library = aw_dl_open(names, symbols, &hip.f, why, sizeof why);
    if (!hip.library)
        aw_say(NO_HIPFFT, why);
}

/* AMD's plan stands for: there is none. */
static char none;

static void *plan_make(const struct aw_fft_shape *shape)
{
    void *plan = NULL;
    ll n[AW_FFT_RANKS], in[AW_FFT_RANKS], out[AW_FFT_RANKS];
    size_t size = 0;
    for (int i = 0; i < shape->rank; i++)
        n[i] = shape->n[i], in[i] = shape->in.embed[i], out[i] = shape->out.embed[i];
    int exec = shape->kind == AW_FFT_R2C ? (int)shape->out.type : (int)shape->in.type;
    int result = hip.f.create(&plan);
    if (result == CUFFT_SUCCESS) {
        result = hip.f.make(plan, shape->rank, n, shape->basic ? NULL : in, shape->in.stride, shape->in.dist, (int)shape->in.type,
                            shape->basic ? NULL : out, shape->out.stride, shape->out.dist, (int)shape->out.type, shape->batch,
                            &size, exec);
        if (result != CUFFT_SUCCESS)
            (void)hip.f.destroy(plan);
    }
    if (result == CUFFT_SUCCESS)
        return plan;
    aw_say(HIPFFT_PLAN, result);
    return &none;
}

bool aw_amd_fft_exec(const struct aw_fft_plan *plan, void *in, void *out, int direction, cufftResult *ret_result)
{
    struct aw_fft_shape *shape = plan->shape;
    void *stream;
    pthread_once(&hip.once, open_library);
    if (!hip.library || aw_lib_queue_enter(&plan->queue) != CUDA_SUCCESS ||
        aw_abi_stream_native(plan->queue.stream, &stream) != CUDA_SUCCESS)
        return false;
    pthread_mutex_lock(&hip.lock);
    if (!shape->amd)
        shape->amd = plan_make(shape);
    bool good = shape->amd != &none;
    int result = CUFFT_SUCCESS;
    if (good)
        result = hip.f.set_stream(shape->amd, stream);
    if (good && result == CUFFT_SUCCESS)
        result = hip.f.exec(shape->amd, in, out, direction);
    pthread_mutex_unlock(&hip.lock);
    *ret_result = (cufftResult)result;
    return good;
}

void aw_amd_fft_drop(struct aw_fft_shape *shape)
{
    if (!shape->amd || shape->amd == &none)
        return;
    pthread_mutex_lock(&hip.lock);
    (void)hip.f.destroy(shape->amd);
    pthread_mutex_unlock(&hip.lock);
}
