/* hipBLASLt: see lt_amd.h.  Names, prototypes and numbers are those of its documentation; its data types have CUDA's numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cublasLt"
#include "lt_amd.h"

#include <pthread.h>
#include <stddef.h>

#include "base/dl.h"
#include "base/log.h"

enum { HIP_OP_N = 111 };
enum { LAYOUT_BATCH = 0, LAYOUT_STRIDE = 1, LAYOUT_ORDER = 3 };
enum {
    OPA = 0,
    OPB = 1,
    EPILOGUE = 2,
    BIAS = 3,
    BIAS_TYPE = 4,
    A_SCALE = 5,
    B_SCALE = 6,
    C_SCALE = 7,
    D_SCALE = 8,
    AUX_SCALE = 9,
    AUX = 10,
    AUX_LD = 11,
    AUX_STRIDE = 12,
    POINTER_MODE = 13,
    AMAX_D = 14,
    AUX_TYPE = 22,
    A_SCALE_MODE = 31,
    B_SCALE_MODE = 32
};
enum { WORKSPACE = 1 };
enum { MODE_HOST = 0, MODE_DEVICE = 1, MODE_VECTOR_BETA_HOST = 4, SCALE_VECTOR = 3 };
enum { DEVICES = 64 };

/* Its algorithm is 16 bytes and the size of a workspace, in later releases more: room for any. */
struct heuristic {
    uint64_t bytes[32];
};

static struct {
    pthread_once_t once;
    pthread_mutex_t lock; /* of the handles */
    void *library;
    void *handles[DEVICES];
    struct {
        int (*create)(void **handle);
        int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
        int (*layout_set)(void *layout, int attribute, const void *value, size_t size);
        int (*layout_destroy)(const void *layout);
        int (*desc_create)(void **desc, int compute, int scale);
        int (*desc_set)(void *desc, int attribute, const void *value, size_t size);
        int (*desc_destroy)(const void *desc);
        int (*preference_create)(void **preference);
        int (*preference_set)(void *preference, int attribute, const void *value, size_t size);
        int (*preference_destroy)(const void *preference);
        int (*heuristic)(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int requested,
                         struct heuristic *results, int *ret_count);
        int (*matmul)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout,
                      const void *beta, const void *c, void *c_layout, void *d, void *d_layout, const void *algo, void *workspace,
                      size_t size, void *stream);
    } f;
} hip = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static void open_library(void)
{
    static const char *const names[] = { "libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so", NULL };
    static const struct aw_dl_symbol symbols[] = {
        { "hipblasLtCreate", 0, true },
        { "hipblasLtMatrixLayoutCreate", 1 * sizeof(void *), true },
        { "hipblasLtMatrixLayoutSetAttribute", 2 * sizeof(void *), true },
        { "hipblasLtMatrixLayoutDestroy", 3 * sizeof(void *), true },
        { "hipblasLtMatmulDescCreate", 4 * sizeof(void *), true },
        { "hipblasLtMatmulDescSetAttribute", 5 * sizeof(void *), true },
        { "hipblasLtMatmulDescDestroy", 6 * sizeof(void *), true },
        { "hipblasLtMatmulPreferenceCreate", 7 * sizeof(void *), true },
        { "hipblasLtMatmulPreferenceSetAttribute", 8 * sizeof(void *), true },
        { "hipblasLtMatmulPreferenceDestroy", 9 * sizeof(void *), true },
        { "hipblasLtMatmulAlgoGetHeuristic", 10 * sizeof(void *), true },
        { "hipblasLtMatmul", 11 * sizeof(void *), true },
        { NULL, 0, false },
    };
    char why[256];
    hip.library = aw_dl_open(names, symbols, &hip.f, why, sizeof why);
    if (!hip.library)
        aw_say(NO_HIPBLASLT, why);
}

/* The calling thread's device's; NULL: there is none. */
static void *handle_get(void)
{
    CUdevice device;
    if (cuCtxGetDevice(&device) != CUDA_SUCCESS || device < 0 || device >= DEVICES)
        return NULL;
    pthread_mutex_lock(&hip.lock);
    if (!hip.handles[device] && hip.f.create(&hip.handles[device]) != 0)
        hip.handles[device] = NULL;
    void *handle = hip.handles[device];
    pthread_mutex_unlock(&hip.lock);
    return handle;
}

/* -1: hipBLASLt has no such epilogue. */
static int epilogue_of(unsigned product)
{
    static const struct {
        unsigned product;
        int hip;
    } all[] = { { 0, 1 },
                { AW_PRODUCT_RELU, 2 },
                { AW_PRODUCT_BIAS, 4 },
                { AW_PRODUCT_RELU | AW_PRODUCT_BIAS, 6 },
                { AW_PRODUCT_GELU, 32 },
                { AW_PRODUCT_GELU | AW_PRODUCT_BIAS, 36 },
                { AW_PRODUCT_GELU | AW_PRODUCT_AUX, 160 },
                { AW_PRODUCT_GELU | AW_PRODUCT_AUX | AW_PRODUCT_BIAS, 164 },
                { AW_PRODUCT_DGELU, 192 },
                { AW_PRODUCT_DGELU | AW_PRODUCT_BIAS_GRAD, 208 },
                { AW_PRODUCT_BIAS_GRAD_A, 256 },
                { AW_PRODUCT_BIAS_GRAD_B, 512 } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].product == product)
            return all[i].hip;
    return -1;
}

static int compute_of(const struct aw_product *p)
{
    enum { COMPUTE_16F = 0, COMPUTE_32F = 2, COMPUTE_64F = 7, COMPUTE_32I = 9 };
    return p->calc == 'i'                     ? COMPUTE_32I
           : p->calc == 'd' || p->calc == 'z' ? COMPUTE_64F
           : p->scale == CUDA_R_16F           ? COMPUTE_16F
                                              : COMPUTE_32F;
}

/* ---- What hipBLASLt is told; `good` falls when it does not take something. */

static void tell(void *desc, int attribute, const void *value, size_t size, bool *good)
{
    *good = *good && hip.f.desc_set(desc, attribute, value, size) == 0;
}

static void tell_int(void *desc, int attribute, int32_t value, bool *good)
{
    tell(desc, attribute, &value, sizeof value, good);
}

static void tell_address(void *desc, int attribute, const struct aw_lib_span *s, bool *good)
{
    if (s->at)
        tell(desc, attribute, &s->at, sizeof s->at, good);
}

static void *layout_make(const struct aw_product_matrix *m, int64_t batch, bool *good)
{
    void *layout = NULL;
    int32_t count = (int32_t)batch, order = m->by_rows;
    *good = *good && hip.f.layout_create(&layout, (int)m->type, (uint64_t)m->rows, (uint64_t)m->cols, m->ld) == 0;
    if (*good && batch > 1)
        *good = hip.f.layout_set(layout, LAYOUT_BATCH, &count, sizeof count) == 0 &&
                hip.f.layout_set(layout, LAYOUT_STRIDE, &m->stride, sizeof m->stride) == 0;
    if (*good && order)
        *good = hip.f.layout_set(layout, LAYOUT_ORDER, &order, sizeof order) == 0;
    return layout;
}

static void *desc_make(const struct aw_product *p, int epilogue, bool *good)
{
    const struct aw_lib_span *s = p->job.spans;
    void *desc = NULL;
    *good = hip.f.desc_create(&desc, compute_of(p), (int)p->scale) == 0;
    if (!*good)
        return NULL;
    tell_int(desc, OPA, HIP_OP_N + (int)p->opa, good);
    tell_int(desc, OPB, HIP_OP_N + (int)p->opb, good);
    tell_int(desc, EPILOGUE, epilogue, good);
    if (p->device || p->alpha_vector)
        tell_int(desc, POINTER_MODE, p->alpha_vector ? MODE_VECTOR_BETA_HOST : MODE_DEVICE, good);
    if (s[AW_PRODUCT_BIAS_AT].at)
        tell_int(desc, BIAS_TYPE, (int32_t)p->bias_type, good);
    if (s[AW_PRODUCT_AUX_AT].at) {
        tell_int(desc, AUX_TYPE, (int32_t)p->aux_type, good);
        tell(desc, AUX_LD, &p->aux_ld, sizeof p->aux_ld, good);
        tell(desc, AUX_STRIDE, &p->aux_stride, sizeof p->aux_stride, good);
    }
    if (p->a_scales)
        tell_int(desc, A_SCALE_MODE, SCALE_VECTOR, good);
    if (p->b_scales)
        tell_int(desc, B_SCALE_MODE, SCALE_VECTOR, good);
    tell_address(desc, BIAS, &s[AW_PRODUCT_BIAS_AT], good);
    tell_address(desc, AUX, &s[AW_PRODUCT_AUX_AT], good);
    tell_address(desc, A_SCALE, &s[AW_PRODUCT_SCALE_A], good);
    tell_address(desc, B_SCALE, &s[AW_PRODUCT_SCALE_B], good);
    tell_address(desc, C_SCALE, &s[AW_PRODUCT_SCALE_C], good);
    tell_address(desc, D_SCALE, &s[AW_PRODUCT_SCALE_D], good);
    tell_address(desc, AUX_SCALE, &s[AW_PRODUCT_SCALE_AUX], good);
    tell_address(desc, AMAX_D, &s[AW_PRODUCT_AMAX_D], good);
    return desc;
}

/* The first algorithm that fits the program's workspace. */
static bool choose(const struct aw_product *p, void *handle, void *desc, void *const layouts[4], struct heuristic *ret)
{
    void *preference = NULL;
    uint64_t size = p->workspace_size;
    int count = 0;
    bool good = hip.f.preference_create(&preference) == 0;
    if (good && size)
        good = hip.f.preference_set(preference, WORKSPACE, &size, sizeof size) == 0;
    if (good)
        good = hip.f.heuristic(handle, desc, layouts[0], layouts[1], layouts[2], layouts[3], preference, 1, ret, &count) == 0 &&
               count > 0;
    if (preference)
        (void)hip.f.preference_destroy(preference);
    return good;
}

/* What it has no words for stays on the processor. */
static bool expressible(const struct aw_product *p)
{
    const struct aw_lib_span *s = p->job.spans;
    return !p->pointers && !p->beta_vector && !(p->alpha_vector && (p->device || p->alpha_stride || p->beta_zero)) &&
           p->bias_stride == 0 && !s[AW_PRODUCT_AMAX_AUX].at && p->k > 0;
}

bool aw_amd_product(const struct aw_product *p, const struct aw_lib_queue *queue, cublasStatus_t *ret_status)
{
    const struct aw_product_matrix *m[4] = { &p->a, &p->b, &p->c, &p->d };
    const struct aw_lib_span *s = p->job.spans;
    void *stream, *layouts[4] = { NULL }, *handle;
    int epilogue = epilogue_of(p->epilogue);
    struct heuristic found;
    bool good = true;
    pthread_once(&hip.once, open_library);
    if (!hip.library || epilogue < 0 || aw_product_tiled(p) || !expressible(p) || aw_lib_queue_enter(queue) != CUDA_SUCCESS ||
        aw_abi_stream_native(queue->stream, &stream) != CUDA_SUCCESS || !(handle = handle_get()))
        return false;
    void *desc = desc_make(p, epilogue, &good);
    for (int i = 0; i < 4; i++)
        layouts[i] = good ? layout_make(m[i], p->batch, &good) : NULL;
    good = good && choose(p, handle, desc, layouts, &found);
    if (good) {
        const void *alpha = p->device || p->alpha_vector ? s[AW_PRODUCT_SCALARS].at : (const void *)p->alpha;
        const void *beta = p->device ? s[AW_PRODUCT_BETA].at : (const void *)p->beta;
        /* Without C, D stands for it: beta is 0. */
        const void *c = s[AW_PRODUCT_C].at ? s[AW_PRODUCT_C].at : s[AW_PRODUCT_D].at;
        int status = hip.f.matmul(handle, desc, alpha, s[AW_PRODUCT_A].at, layouts[0], s[AW_PRODUCT_B].at, layouts[1], beta, c,
                                  layouts[2], s[AW_PRODUCT_D].at, layouts[3], &found, p->workspace, p->workspace_size, stream);
        *ret_status = status == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
    }
    for (int i = 0; i < 4; i++)
        if (layouts[i])
            (void)hip.f.layout_destroy(layouts[i]);
    if (desc)
        (void)hip.f.desc_destroy(desc);
    return good;
}
