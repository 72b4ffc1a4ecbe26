/* Block-sparse tensors and their contractions: see blocks.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks.h"

#include <stdlib.h>
#include <string.h>

#include "common/convert.h"
#include "cutensor_proto.h"

enum { BLOCK_MODES = 32 }; /* as cuTENSOR has it */

struct cutensorBlockSparseTensorDescriptor {
    int refs; /* atomic */
    uint32_t n;
    int64_t blocks;
    cudaDataType type;
    uint32_t sections[BLOCK_MODES];
    int64_t *extent[BLOCK_MODES]; /* of each mode's sections; within `memory` */
    const int32_t *place;         /* n sections for each block; likewise */
    int64_t *stride;              /* n for each block; likewise */
    void *memory;                 /* owned */
};

static void tensor_unref(struct cutensorBlockSparseTensorDescriptor *t)
{
    if (!t || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL))
        return;
    free(t->memory);
    free(t);
}

static int64_t block_extent(const struct cutensorBlockSparseTensorDescriptor *t, int64_t block, uint32_t mode)
{
    return t->extent[mode][t->place[block * t->n + mode]];
}

/* Room for extents, places and strides, with the program's extents and places in it. */
static bool tensor_fill(struct cutensorBlockSparseTensorDescriptor *t, const int64_t *extent, const int32_t *place)
{
    size_t sections = 0, cells = (size_t)t->blocks * t->n;
    for (uint32_t i = 0; i < t->n; i++)
        sections += t->sections[i];
    t->memory = malloc((sections + cells) * sizeof(int64_t) + cells * sizeof(int32_t) + 1);
    if (!t->memory)
        return false;
    int64_t *at = t->memory;
    if (sections)
        memcpy(at, extent, sections * sizeof *at);
    for (uint32_t i = 0; i < t->n; at += t->sections[i++])
        t->extent[i] = at;
    t->stride = at;
    t->place = (const int32_t *)(at + cells);
    if (cells)
        memcpy(at + cells, place, cells * sizeof *place);
    return true;
}

/* Places are within the sections, no two blocks at the same one, extents and strides greater than 0. */
static bool tensor_check(struct cutensorBlockSparseTensorDescriptor *t, const int64_t *stride)
{
    for (uint32_t i = 0; i < t->n; i++)
        for (uint32_t k = 0; k < t->sections[i]; k++)
            if (t->extent[i][k] <= 0)
                return false;
    for (int64_t b = 0; b < t->blocks; b++) {
        int64_t next = 1;
        for (uint32_t i = 0; i < t->n; i++) {
            int64_t cell = b * t->n + i;
            if (t->place[cell] < 0 || (uint32_t)t->place[cell] >= t->sections[i])
                return false;
            t->stride[cell] = stride ? stride[cell] : next;
            if (t->stride[cell] <= 0 || __builtin_mul_overflow(next, block_extent(t, b, i), &next))
                return false;
        }
        for (int64_t other = 0; other < b && t->n; other++)
            if (!memcmp(t->place + b * t->n, t->place + other * t->n, t->n * sizeof *t->place))
                return false;
    }
    return t->n || t->blocks <= 1;
}

cutensorStatus_t awcutensor_cutensorCreateBlockSparseTensorDescriptor(cutensorHandle_t handle,
                                                                      cutensorBlockSparseTensorDescriptor_t *desc, uint32_t n,
                                                                      uint64_t blocks, const uint32_t *sections,
                                                                      const int64_t *extent, const int32_t *place,
                                                                      const int64_t *stride, cudaDataType type)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    if (!desc || (n && (!sections || !extent || (blocks && !place))) || blocks > INT32_MAX)
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "no place for the descriptor, or no sections or blocks");
    if (n > BLOCK_MODES || (type != CUDA_R_32F && type != CUDA_R_64F && type != CUDA_C_32F && type != CUDA_C_64F))
        return aw_tensor_refuse(CUTENSOR_STATUS_NOT_SUPPORTED, "more than 32 modes, or blocks of this type");
    struct cutensorBlockSparseTensorDescriptor *t = calloc(1, sizeof *t);
    if (!t)
        return CUTENSOR_STATUS_ALLOC_FAILED;
    *t = (struct cutensorBlockSparseTensorDescriptor){ .refs = 1, .n = n, .blocks = (int64_t)blocks, .type = type };
    if (n)
        memcpy(t->sections, sections, n * sizeof *sections);
    bool filled = tensor_fill(t, extent, place);
    if (!filled || !tensor_check(t, stride)) {
        tensor_unref(t);
        return filled ? aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "sections, blocks or strides that are none") :
                        CUTENSOR_STATUS_ALLOC_FAILED;
    }
    *desc = t;
    return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t awcutensor_cutensorDestroyBlockSparseTensorDescriptor(cutensorBlockSparseTensorDescriptor_t desc)
{
    tensor_unref(desc);
    return CUTENSOR_STATUS_SUCCESS;
}

/* ---- Which blocks meet */

enum { A, B, C, SIDES };

struct meeting {
    int32_t a, b; /* blocks */
};

struct aw_blocks {
    int refs; /* atomic */
    struct cutensorBlockSparseTensorDescriptor *t[SIDES]; /* counted */
    int32_t mode[SIDES][BLOCK_MODES];
    int64_t *first;          /* the first meeting of each block of C, and behind the last one's end; owned */
    struct meeting *meeting; /* owned */
    int64_t n, room;
};

void aw_blocks_ref(struct aw_blocks *b)
{
    if (b)
        __atomic_add_fetch(&b->refs, 1, __ATOMIC_RELAXED);
}

void aw_blocks_unref(struct aw_blocks *b)
{
    if (!b || __atomic_sub_fetch(&b->refs, 1, __ATOMIC_ACQ_REL))
        return;
    for (int i = 0; i < SIDES; i++)
        tensor_unref(b->t[i]);
    free(b->first);
    free(b->meeting);
    free(b);
}

/* Are two blocks in the same sections of all modes that both tensors have? */
static bool meet(const struct aw_blocks *b, int x, int64_t in_x, int y, int64_t in_y)
{
    const struct cutensorBlockSparseTensorDescriptor *s = b->t[x], *t = b->t[y];
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = 0; k < t->n; k++)
            if (b->mode[x][i] == b->mode[y][k] && s->place[in_x * s->n + i] != t->place[in_y * t->n + k])
                return false;
    return true;
}

static bool add(struct aw_blocks *b, int64_t in_a, int64_t in_b)
{
    if (b->n == b->room) {
        int64_t room = b->room ? 2 * b->room : 64;
        struct meeting *more = realloc(b->meeting, (size_t)room * sizeof *more);
        if (!more)
            return false;
        b->meeting = more;
        b->room = room;
    }
    b->meeting[b->n++] = (struct meeting){ (int32_t)in_a, (int32_t)in_b };
    return true;
}

static bool meetings_find(struct aw_blocks *b)
{
    b->first = malloc((size_t)(b->t[C]->blocks + 1) * sizeof *b->first);
    if (!b->first)
        return false;
    for (int64_t c = 0; c < b->t[C]->blocks; c++) {
        b->first[c] = b->n;
        for (int64_t i = 0; i < b->t[A]->blocks; i++)
            for (int64_t k = 0; meet(b, A, i, C, c) && k < b->t[B]->blocks; k++)
                if (meet(b, B, k, C, c) && meet(b, A, i, B, k) && !add(b, i, k))
                    return false;
    }
    b->first[b->t[C]->blocks] = b->n;
    return true;
}

/* A mode has the same sections in all tensors, appears once in each, and those of C are A's or B's. */
static bool sections_agree(const struct aw_blocks *b, int x, int y)
{
    const struct cutensorBlockSparseTensorDescriptor *s = b->t[x], *t = b->t[y];
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = 0; k < t->n; k++) {
            if (b->mode[x][i] != b->mode[y][k] || (x == y && i == k))
                continue;
            if (x == y || s->sections[i] != t->sections[k] ||
                memcmp(s->extent[i], t->extent[k], s->sections[i] * sizeof *s->extent[i]) != 0)
                return false;
        }
    return true;
}

static bool has_mode(const struct aw_blocks *b, int x, int32_t mode)
{
    for (uint32_t i = 0; i < b->t[x]->n; i++)
        if (b->mode[x][i] == mode)
            return true;
    return false;
}

static bool modes_agree(const struct aw_blocks *b)
{
    for (int x = 0; x < SIDES; x++)
        for (int y = x; y < SIDES; y++)
            if (!sections_agree(b, x, y))
                return false;
    for (uint32_t i = 0; i < b->t[C]->n; i++)
        if (!has_mode(b, A, b->mode[C][i]) && !has_mode(b, B, b->mode[C][i]))
            return false;
    return true;
}

static cutensorStatus_t blocks_create(struct cutensorBlockSparseTensorDescriptor *const t[], const int32_t *const mode[],
                                      struct aw_blocks **ret)
{
    struct aw_blocks *b = calloc(1, sizeof *b);
    if (!b)
        return CUTENSOR_STATUS_ALLOC_FAILED;
    b->refs = 1;
    for (int i = 0; i < SIDES; i++) {
        b->t[i] = t[i];
        __atomic_add_fetch(&t[i]->refs, 1, __ATOMIC_RELAXED);
        if (t[i]->n)
            memcpy(b->mode[i], mode[i], t[i]->n * sizeof *mode[i]);
    }
    cutensorStatus_t status = !modes_agree(b)      ? CUTENSOR_STATUS_INVALID_VALUE
                              : !meetings_find(b) ? CUTENSOR_STATUS_ALLOC_FAILED
                                                  : CUTENSOR_STATUS_SUCCESS;
    if (status == CUTENSOR_STATUS_SUCCESS)
        *ret = b;
    else
        aw_blocks_unref(b);
    return status;
}

static char calc_of(cudaDataType type)
{
    return type == CUDA_R_32F ? 's' : type == CUDA_R_64F ? 'd' : type == CUDA_C_32F ? 'c' : 'z';
}

static bool types_fit(const struct cutensorBlockSparseTensorDescriptor *a, const struct cutensorBlockSparseTensorDescriptor *b,
                      const struct cutensorBlockSparseTensorDescriptor *c, int compute)
{
    bool wide = a->type == CUDA_R_64F || a->type == CUDA_C_64F;
    return a->type == b->type && a->type == c->type && compute == (wide ? AW_TENSOR_64F : AW_TENSOR_32F);
}

cutensorStatus_t awcutensor_cutensorCreateBlockSparseContraction(
    cutensorHandle_t handle, cutensorOperationDescriptor_t *desc, cutensorBlockSparseTensorDescriptor_t a, const int32_t *ma,
    cutensorOperator_t opa, cutensorBlockSparseTensorDescriptor_t b, const int32_t *mb, cutensorOperator_t opb,
    cutensorBlockSparseTensorDescriptor_t c, const int32_t *mc, cutensorOperator_t opc, cutensorBlockSparseTensorDescriptor_t d,
    const int32_t *md, cutensorComputeDescriptor_t compute)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    if (!desc || !a || !b || !c || !d || !compute || (a->n && !ma) || (b->n && !mb) || (c->n && (!mc || !md)))
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "a tensor without descriptor or modes");
    if (c != d || (c->n && memcmp(mc, md, c->n * sizeof *mc) != 0))
        return aw_tensor_refuse(CUTENSOR_STATUS_NOT_SUPPORTED, "the output is another tensor than what is added to it");
    if (opa != CUTENSOR_OP_IDENTITY || opb != CUTENSOR_OP_IDENTITY || opc != CUTENSOR_OP_IDENTITY ||
        !types_fit(a, b, c, compute->number))
        return aw_tensor_refuse(CUTENSOR_STATUS_NOT_SUPPORTED,
                                "an operator, or a combination of types that cuTENSOR's manual does not have");
    struct cutensorOperationDescriptor *op = calloc(1, sizeof *op);
    if (!op)
        return CUTENSOR_STATUS_ALLOC_FAILED;
    *op = (struct cutensorOperationDescriptor){ .kind = AW_TENSOR_BLOCKS, .compute = compute->number, .calc = calc_of(a->type),
                                                .scalar = a->type, .op_ab = CUTENSOR_OP_ADD, .op_abc = CUTENSOR_OP_ADD };
    cutensorStatus_t status = blocks_create((struct cutensorBlockSparseTensorDescriptor *[]){ a, b, c },
                                            (const int32_t *[]){ ma, mb, mc }, &op->blocks);
    if (status != CUTENSOR_STATUS_SUCCESS) {
        free(op);
        return aw_tensor_refuse(status, "modes or sections that do not fit together");
    }
    *desc = op;
    return CUTENSOR_STATUS_SUCCESS;
}

float aw_blocks_bytes(const struct aw_blocks *b)
{
    double bytes = 0;
    for (int x = 0; x < SIDES; x++)
        for (int64_t k = 0; k < b->t[x]->blocks; k++) {
            double count = x == C ? 2 : 1;
            for (uint32_t i = 0; i < b->t[x]->n; i++)
                count *= (double)block_extent(b->t[x], k, i);
            bytes += count * (double)aw_type_size(b->t[x]->type);
        }
    return (float)bytes;
}

/* ---- The work */

static void operand_of(const struct aw_blocks *b, int x, int64_t block, struct aw_operand *ret)
{
    const struct cutensorBlockSparseTensorDescriptor *t = b->t[x];
    ret->t.n = t->n;
    ret->t.type = t->type;
    ret->op = CUTENSOR_OP_IDENTITY;
    for (uint32_t i = 0; i < t->n; i++) {
        ret->mode[i] = b->mode[x][i];
        ret->t.extent[i] = block_extent(t, block, i);
        ret->t.stride[i] = t->stride[block * t->n + i];
    }
}

cutensorStatus_t aw_blocks_execute(struct cutensorHandle *handle, const struct cutensorOperationDescriptor *op,
                                   struct aw_tensor_scalars scalars, const void *const a[], const void *const b[],
                                   const void *const c[], void *const d[], cudaStream_t stream)
{
    _Static_assert((int)A == (int)AW_TENSOR_A && (int)B == (int)AW_TENSOR_B && (int)C == (int)AW_TENSOR_C, "the same places");
    const struct aw_blocks *all = op->blocks;
    struct cutensorOperationDescriptor one = { .kind = AW_TENSOR_BLOCKS, .calc = op->calc, .there = { true, true, true } };
    cutensorStatus_t status = CUTENSOR_STATUS_SUCCESS;
    for (int64_t k = 0; k < all->t[C]->blocks; k++) {
        struct aw_tensor_scalars s = scalars;
        const void *added = c ? c[k] : NULL;
        bool none = all->first[k] == all->first[k + 1];
        operand_of(all, C, k, &one.x[C]);
        if (none)
            s.a = 0;
        for (int64_t m = all->first[k]; (m < all->first[k + 1] || none) && status == CUTENSOR_STATUS_SUCCESS; m++) {
            void *at[AW_TENSOR_ADDRESSES] = { [AW_TENSOR_C] = (void *)(uintptr_t)added, [AW_TENSOR_D] = d[k] };
            if (!none) {
                at[A] = (void *)(uintptr_t)a[all->meeting[m].a];
                at[B] = (void *)(uintptr_t)b[all->meeting[m].b];
                operand_of(all, A, all->meeting[m].a, &one.x[A]);
                operand_of(all, B, all->meeting[m].b, &one.x[B]);
            }
            one.work = aw_tensor_work(&one);
            status = aw_tensor_execute(handle, &one, s, at, stream);
            added = d[k];
            s.c = 1;
            if (none)
                break;
        }
    }
    return status;
}
