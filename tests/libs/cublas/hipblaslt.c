/* Stands in for hipBLASLt: records what it is given, with AMD's prototypes.  It has no algorithm for double. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>

#include "../record.h"

EXPORT int hipblasLtCreate(void **handle);
EXPORT int hipblasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
EXPORT int hipblasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t size);
EXPORT int hipblasLtMatrixLayoutDestroy(const void *layout);
EXPORT int hipblasLtMatmulDescCreate(void **desc, int compute, int scale);
EXPORT int hipblasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t size);
EXPORT int hipblasLtMatmulDescDestroy(const void *desc);
EXPORT int hipblasLtMatmulPreferenceCreate(void **preference);
EXPORT int hipblasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value, size_t size);
EXPORT int hipblasLtMatmulPreferenceDestroy(const void *preference);
EXPORT int hipblasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference,
                                           int requested, void *results, int *ret_count);
EXPORT int hipblasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *la, const void *b, void *lb,
                           const void *beta, const void *c, void *lc, void *d, void *ld, const void *algo, void *workspace,
                           size_t size, void *stream);

struct object {
    int type;
};
static int alive;

static int make(void **ret, int type)
{
    struct object *o = malloc(sizeof *o);
    *ret = o;
    o->type = type;
    alive++;
    return 0;
}

static int end(const void *object)
{
    free((void *)(uintptr_t)object);
    alive--;
    return 0;
}

static void value_of(const char *what, int attribute, const void *value, size_t size)
{
    int64_t v = 0;
    memcpy(&v, value, size);
    record(" %s%d=%s", what, attribute, size == 8 && v > 1000000 ? "address" : "");
    if (size != 8 || v <= 1000000)
        record("%lld", (long long)v);
}

int hipblasLtCreate(void **handle)
{
    *handle = &alive;
    return 0;
}

int hipblasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
    record(" [%d %dx%d %d]", type, (int)rows, (int)cols, (int)ld);
    return make(layout, type);
}

int hipblasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t size)
{
    value_of("l", attribute, value, size);
    return 0;
}

int hipblasLtMatrixLayoutDestroy(const void *layout)
{
    return end(layout);
}

int hipblasLtMatmulDescCreate(void **desc, int compute, int scale)
{
    record("compute %d %d", compute, scale);
    return make(desc, scale);
}

int hipblasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t size)
{
    value_of("", attribute, value, size);
    return 0;
}

int hipblasLtMatmulDescDestroy(const void *desc)
{
    return end(desc);
}

int hipblasLtMatmulPreferenceCreate(void **preference)
{
    return make(preference, 0);
}

int hipblasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value, size_t size)
{
    value_of("p", attribute, value, size);
    return 0;
}

int hipblasLtMatmulPreferenceDestroy(const void *preference)
{
    return end(preference);
}

int hipblasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int requested,
                                    void *results, int *ret_count)
{
    *ret_count = ((struct object *)a)->type == 1 ? 0 : 1;
    memset(results, 0x5a, 64);
    if (!*ret_count)
        record(" none\n");
    return 0;
}

int hipblasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *la, const void *b, void *lb,
                    const void *beta, const void *c, void *lc, void *d, void *ld, const void *algo, void *workspace, size_t size,
                    void *stream)
{
    record(" alpha %g beta %g %s workspace %d stream %s alive %d\n", *(const float *)alpha, *(const float *)beta,
           c == d ? "in place" : "apart", (int)size, stream ? "set" : "NULL", alive);
    return *(const unsigned char *)algo == 0x5a ? 0 : 1;
}
