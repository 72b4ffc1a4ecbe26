/* Handles and their caches of plans.
 *
 * Making a plan takes no time here, so the cache holds which ones were made and no more: programs that write it, read it and
 * count its lines find what they expect.  No kernel is ever compiled, so the file of kernels is empty. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cutensor_proto.h"
#include "tensor.h"

enum { LINES = 64 }; /* of a new cache */

/* Begins a file; another version's keys may be others. */
struct file_head {
    char magic[16];
    uint32_t version, n;
};
static const char magic[16] = "anywarp cuTENSOR";

static bool cache_resize(struct aw_plan_cache *c, uint32_t lines)
{
    uint64_t *key = lines ? calloc(lines, sizeof *key) : NULL;
    if (lines && !key)
        return false;
    free(c->key);
    *c = (struct aw_plan_cache){ .capacity = lines, .key = key };
    return true;
}

cutensorStatus_t awcutensor_cutensorCreate(cutensorHandle_t *handle)
{
    if (!handle)
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "no place for the handle");
    struct cutensorHandle *h = calloc(1, sizeof *h);
    if (!h || !cache_resize(&h->cache, LINES)) {
        free(h);
        return CUTENSOR_STATUS_ALLOC_FAILED;
    }
    CUresult result = aw_lib_queue_init(&h->queue);
    if (result != CUDA_SUCCESS) {
        free(h->cache.key);
        free(h);
        return aw_tensor_status(result);
    }
    pthread_mutex_init(&h->lock, NULL);
    *handle = h;
    return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t awcutensor_cutensorDestroy(cutensorHandle_t handle)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    pthread_mutex_destroy(&handle->lock);
    free(handle->cache.key);
    free(handle);
    return CUTENSOR_STATUS_SUCCESS;
}

/* ---- The cache of plans */

cutensorStatus_t awcutensor_cutensorHandleResizePlanCache(cutensorHandle_t handle, uint32_t lines)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    pthread_mutex_lock(&handle->lock);
    bool good = cache_resize(&handle->cache, lines);
    pthread_mutex_unlock(&handle->lock);
    return good ? CUTENSOR_STATUS_SUCCESS : CUTENSOR_STATUS_ALLOC_FAILED;
}

static uint64_t key_of(const struct cutensorOperationDescriptor *op)
{
    struct aw_hasher h;
    const int32_t plain[] = { (int32_t)op->kind, op->compute, (int32_t)op->scalar, op->op_ab, op->op_abc, op->tag };
    aw_hasher_init(&h);
    aw_hasher_add(&h, plain, sizeof plain);
    for (int i = 0; i < AW_TENSOR_OPERANDS; i++) {
        const struct aw_operand *x = &op->x[i];
        if (!op->there[i])
            continue;
        const int32_t tensor[] = { i, (int32_t)x->t.n, (int32_t)x->t.alignment, (int32_t)x->t.type, x->op };
        aw_hasher_add(&h, tensor, sizeof tensor);
        aw_hasher_add(&h, x->t.extent, x->t.n * sizeof *x->t.extent);
        aw_hasher_add(&h, x->t.stride, x->t.n * sizeof *x->t.stride);
        aw_hasher_add(&h, x->mode, x->t.n * sizeof *x->mode);
    }
    return aw_hasher_end(&h).lo;
}

void aw_tensor_remember(struct cutensorHandle *handle, const struct cutensorOperationDescriptor *op)
{
    uint64_t key = key_of(op);
    pthread_mutex_lock(&handle->lock);
    struct aw_plan_cache *c = &handle->cache;
    uint32_t i = 0;
    while (i < c->n && c->key[i] != key)
        i++;
    if (i == c->n && c->n < c->capacity)
        c->n++;
    if (c->capacity) {
        i = i < c->n ? i : c->n - 1;
        memmove(c->key + 1, c->key, i * sizeof *c->key);
        c->key[0] = key;
    }
    pthread_mutex_unlock(&handle->lock);
}

cutensorStatus_t awcutensor_cutensorHandleWritePlanCacheToFile(cutensorHandle_t handle, const char *name)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    if (!name)
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "no name of a file");
    pthread_mutex_lock(&handle->lock);
    const struct aw_plan_cache *c = &handle->cache;
    cutensorStatus_t status = c->capacity ? CUTENSOR_STATUS_SUCCESS : CUTENSOR_STATUS_INVALID_VALUE;
    FILE *file = c->capacity ? fopen(name, "wb") : NULL;
    if (file) {
        struct file_head head = { .version = (uint32_t)awcutensor_cutensorGetVersion(), .n = c->n };
        memcpy(head.magic, magic, sizeof magic);
        bool good = fwrite(&head, sizeof head, 1, file) == 1 && fwrite(c->key, sizeof *c->key, c->n, file) == c->n;
        good = fclose(file) == 0 && good;
        status = good ? CUTENSOR_STATUS_SUCCESS : CUTENSOR_STATUS_IO_ERROR;
    } else if (c->capacity) {
        status = CUTENSOR_STATUS_IO_ERROR;
    }
    pthread_mutex_unlock(&handle->lock);
    return status;
}

/* Into an own array, so that a file that ends too early changes nothing. */
static cutensorStatus_t cache_read(struct aw_plan_cache *c, FILE *file, uint32_t *ret_n)
{
    struct file_head head;
    if (fread(&head, sizeof head, 1, file) != 1 || memcmp(head.magic, magic, sizeof magic) != 0 ||
        head.version != awcutensor_cutensorGetVersion())
        return CUTENSOR_STATUS_INVALID_VALUE;
    *ret_n = head.n;
    if (head.n > c->capacity)
        return CUTENSOR_STATUS_INSUFFICIENT_WORKSPACE;
    uint64_t *key = calloc(c->capacity ? c->capacity : 1, sizeof *key);
    if (!key)
        return CUTENSOR_STATUS_ALLOC_FAILED;
    if (fread(key, sizeof *key, head.n, file) != head.n) {
        free(key);
        return CUTENSOR_STATUS_IO_ERROR;
    }
    free(c->key);
    c->key = key;
    c->n = head.n;
    return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t awcutensor_cutensorHandleReadPlanCacheFromFile(cutensorHandle_t handle, const char *name, uint32_t *ret_lines)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    if (!name || !ret_lines)
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "no name of a file, or no place for the number of lines");
    FILE *file = fopen(name, "rb");
    if (!file)
        return aw_tensor_refuse(CUTENSOR_STATUS_IO_ERROR, "the file cannot be opened");
    pthread_mutex_lock(&handle->lock);
    cutensorStatus_t status = cache_read(&handle->cache, file, ret_lines);
    pthread_mutex_unlock(&handle->lock);
    fclose(file);
    return status;
}

/* ---- The cache of compiled kernels */

cutensorStatus_t awcutensor_cutensorWriteKernelCacheToFile(cutensorHandle_t handle, const char *name)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    FILE *file = name ? fopen(name, "wb") : NULL;
    if (!file)
        return aw_tensor_refuse(name ? CUTENSOR_STATUS_IO_ERROR : CUTENSOR_STATUS_INVALID_VALUE, "the file cannot be opened");
    return fclose(file) == 0 ? CUTENSOR_STATUS_SUCCESS : CUTENSOR_STATUS_IO_ERROR;
}

cutensorStatus_t awcutensor_cutensorReadKernelCacheFromFile(cutensorHandle_t handle, const char *name)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    FILE *file = name ? fopen(name, "rb") : NULL;
    if (!file)
        return aw_tensor_refuse(name ? CUTENSOR_STATUS_IO_ERROR : CUTENSOR_STATUS_INVALID_VALUE, "the file cannot be opened");
    bool empty = fgetc(file) == EOF;
    fclose(file);
    return empty ? CUTENSOR_STATUS_SUCCESS :
                   aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "kernels of another cuTENSOR");
}
