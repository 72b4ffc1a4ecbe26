/* The backend interface's descriptors: see backend.h.  What they are asked that is not an attribute kept as it was set is
 * answered in `answers`. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cudnn"
#include "backend.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cudnn_proto.h"

enum { MAGIC = 0x62646e6e };

/* ---- The table */

/* Types of the table's own, above cuDNN's. */
enum { ANY = 100, REAL, FRACTIONAL, SEED };
enum {
    TYPE_HANDLE = 0,
    TYPE_DATA_TYPE = 1,
    TYPE_BOOLEAN = 2,
    TYPE_INT64 = 3,
    TYPE_VOID_PTR = 6,
    TYPE_CONVOLUTION_MODE = 7,
    TYPE_DOUBLE = 5,
    TYPE_HEUR_MODE = 8,
    TYPE_KNOB_TYPE = 9,
    TYPE_NAN_PROPOGATION = 10,
    TYPE_NUMERICAL_NOTE = 11,
    TYPE_POINTWISE_MODE = 14,
    TYPE_BACKEND_DESCRIPTOR = 15,
    TYPE_GENSTATS_MODE = 16,
    TYPE_BN_FINALIZE_STATS_MODE = 17,
    TYPE_REDUCTION_OPERATOR_TYPE = 18,
    TYPE_BEHAVIOR_NOTE = 19,
    TYPE_TENSOR_REORDERING_MODE = 20,
    TYPE_RESAMPLE_MODE = 21,
    TYPE_PADDING_MODE = 22,
    TYPE_INT32 = 23,
    TYPE_CHAR = 24,
    TYPE_NORM_MODE = 27,
    TYPE_NORM_FWD_PHASE = 28,
    TYPE_RNG_DISTRIBUTION = 29,
    TYPE_RESHAPE_MODE = 31,
    TYPE_OPERATIONGRAPH_MODE = 32,
    TYPE_CUDA_GRAPH_RETENTION = 33,
    TYPE_ANY = ANY,
    TYPE_REAL = REAL,
    TYPE_FRACTIONAL = FRACTIONAL,
    TYPE_SEED = SEED,
};

static const struct row {
    int number, type; /* type -1: a descriptor, whose attributes follow */
    int64_t most;
    const char *name;
} rows[] = {
#define DESCRIPTOR(name, number) { number, -1, 0, #name },
#define ATTRIBUTE(name, number, type, most) { number, TYPE_##type, most, #name },
#include "backend.def"
#undef DESCRIPTOR
#undef ATTRIBUTE
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* The row of a descriptor (attribute -1) or of one of its attributes. */
static const struct row *row_find(int descriptor, int attribute)
{
    bool inside = false;
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].type < 0)
            inside = rows[i].number == descriptor;
        if (inside && (rows[i].type < 0 ? attribute < 0 : rows[i].number == attribute))
            return &rows[i];
    }
    return NULL;
}

static bool type_fits(int wanted, int type)
{
    switch (wanted) {
    case ANY: return type != AW_DNN_BACKEND_DESCRIPTOR;
    case REAL: return type == AW_DNN_FLOAT || type == AW_DNN_DOUBLE;
    case FRACTIONAL: return type == AW_DNN_INT64 || type == AW_DNN_FRACTION;
    case SEED: return type == AW_DNN_INT64 || type == AW_DNN_BACKEND_DESCRIPTOR;
    default: return type == wanted;
    }
}

size_t aw_dnn_backend_type_size(int type)
{
    switch (type) {
    case AW_DNN_BOOLEAN:
    case AW_DNN_CHAR: return 1;
    case AW_DNN_HANDLE:
    case AW_DNN_INT64:
    case AW_DNN_DOUBLE:
    case AW_DNN_VOID_PTR:
    case AW_DNN_BACKEND_DESCRIPTOR: return 8;
    case AW_DNN_FRACTION: return sizeof(cudnnFraction_t);
    default: return 4; /* enumerations, float, int32 */
    }
}

/* ---- Attributes */

const struct aw_dnn_attribute *aw_dnn_attribute(const struct aw_dnn_descriptor *d, int name)
{
    for (const struct aw_dnn_attribute *a = d ? d->attributes : NULL; a; a = a->next)
        if (a->name == name)
            return a;
    return NULL;
}

static double element(const struct aw_dnn_attribute *a, int64_t i)
{
    switch (a->type) {
    case AW_DNN_INT64: return (double)((const int64_t *)a->data)[i];
    case AW_DNN_DOUBLE: return ((const double *)a->data)[i];
    case AW_DNN_FLOAT: return ((const float *)a->data)[i];
    case AW_DNN_BOOLEAN: return a->data[i];
    default: return ((const int32_t *)a->data)[i];
    }
}

int64_t aw_dnn_attribute_int(const struct aw_dnn_descriptor *d, int name, int64_t otherwise)
{
    const struct aw_dnn_attribute *a = aw_dnn_attribute(d, name);
    return !a || !a->n ? otherwise : a->type == AW_DNN_INT64 ? *(const int64_t *)a->data : (int64_t)element(a, 0);
}

double aw_dnn_attribute_real(const struct aw_dnn_descriptor *d, int name, double otherwise)
{
    const struct aw_dnn_attribute *a = aw_dnn_attribute(d, name);
    return a && a->n ? element(a, 0) : otherwise;
}

const struct aw_dnn_descriptor *aw_dnn_attribute_descriptor(const struct aw_dnn_descriptor *d, int name, int i)
{
    const struct aw_dnn_attribute *a = aw_dnn_attribute(d, name);
    return a && a->type == AW_DNN_BACKEND_DESCRIPTOR && i < a->n ? ((struct aw_dnn_descriptor *const *)a->data)[i] : NULL;
}

int aw_dnn_attribute_ints(const struct aw_dnn_descriptor *d, int name, int64_t to[], int most)
{
    const struct aw_dnn_attribute *a = aw_dnn_attribute(d, name);
    int n = a ? (int)a->n : 0;
    if (n > most)
        return -1;
    for (int i = 0; i < n; i++) {
        if (a->type == AW_DNN_FRACTION) {
            const cudnnFraction_t *f = (const cudnnFraction_t *)a->data + i;
            if (f->denominator == 0 || f->numerator % f->denominator)
                return -1;
            to[i] = f->numerator / f->denominator;
        } else {
            to[i] = ((const int64_t *)a->data)[i];
        }
    }
    return n;
}

/* ---- Descriptors' lives */

static void descriptor_unref(struct aw_dnn_descriptor *d);

static void attributes_drop(struct aw_dnn_descriptor *d)
{
    for (struct aw_dnn_attribute *a = d->attributes, *next; a; a = next) {
        next = a->next;
        for (int64_t i = 0; a->type == AW_DNN_BACKEND_DESCRIPTOR && i < a->n; i++)
            descriptor_unref(((struct aw_dnn_descriptor **)a->data)[i]);
        free(a);
    }
    d->attributes = NULL;
    aw_dnn_graph_unref(d->graph);
    d->graph = NULL;
    d->finalized = false;
}

static void descriptor_unref(struct aw_dnn_descriptor *d)
{
    if (!d || __atomic_sub_fetch(&d->refs, 1, __ATOMIC_ACQ_REL))
        return;
    attributes_drop(d);
    d->magic = 0;
    free(d);
}

static struct aw_dnn_descriptor *descriptor_of(cudnnBackendDescriptor_t handle)
{
    struct aw_dnn_descriptor *d = handle;
    return d && d->magic == MAGIC ? d : NULL;
}

static struct aw_dnn_graph *graph_ref(struct aw_dnn_graph *graph)
{
    if (graph)
        __atomic_add_fetch(&graph->refs, 1, __ATOMIC_RELAXED);
    return graph;
}

cudnnStatus_t awcudnn_cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *ret)
{
    if (!ret)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!row_find(type, -1)) {
        aw_say(CUDNN_DESCRIPTOR, type);
        return aw_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "this kind of backend descriptor is not implemented");
    }
    struct aw_dnn_descriptor *d = calloc(1, sizeof *d);
    if (!d)
        return CUDNN_STATUS_ALLOC_FAILED;
    d->magic = MAGIC;
    d->refs = 1;
    d->type = type;
    *ret = d;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    struct aw_dnn_descriptor *d = descriptor_of(descriptor);
    if (descriptor && !d)
        return CUDNN_STATUS_BAD_PARAM;
    descriptor_unref(d);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor)
{
    struct aw_dnn_descriptor *d = descriptor_of(descriptor);
    if (!d)
        return CUDNN_STATUS_BAD_PARAM;
    attributes_drop(d);
    return CUDNN_STATUS_SUCCESS;
}

/* Appends a copy of `n` elements, taking references, in place of what was there. */
static cudnnStatus_t attribute_set(struct aw_dnn_descriptor *d, int name, int type, int64_t n, const void *data)
{
    size_t size = (size_t)n * aw_dnn_backend_type_size(type);
    struct aw_dnn_attribute *a = malloc(sizeof *a + size);
    if (!a)
        return CUDNN_STATUS_ALLOC_FAILED;
    *a = (struct aw_dnn_attribute){ .name = name, .type = type, .n = n };
    if (size)
        memcpy(a->data, data, size);
    for (int64_t i = 0; type == AW_DNN_BACKEND_DESCRIPTOR && i < n; i++)
        __atomic_add_fetch(&((struct aw_dnn_descriptor **)a->data)[i]->refs, 1, __ATOMIC_RELAXED);
    for (struct aw_dnn_attribute **at = &d->attributes; *at; at = &(*at)->next)
        if ((*at)->name == name) {
            struct aw_dnn_attribute *old = *at;
            *at = old->next;
            old->next = NULL;
            struct aw_dnn_descriptor holder = { .attributes = old };
            attributes_drop(&holder);
            break;
        }
    a->next = d->attributes;
    d->attributes = a;
    return CUDNN_STATUS_SUCCESS;
}

/* Only finalised descriptors can be parts of others. */
static cudnnStatus_t parts_check(int64_t n, const void *data)
{
    for (int64_t i = 0; i < n; i++) {
        struct aw_dnn_descriptor *part = descriptor_of(((const cudnnBackendDescriptor_t *)data)[i]);
        if (!part)
            return CUDNN_STATUS_BAD_PARAM;
        if (!part->finalized)
            return aw_dnn_fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                               "a descriptor is set as an attribute before it is finalized");
    }
    return CUDNN_STATUS_SUCCESS;
}

/* Attributes whose values can only be told, never followed. */
static bool refused(int name)
{
    return name == AW_DNN_ATTRIBUTE_EXECUTION_PLAN_KERNEL_CACHE ||
           name == AW_DNN_ATTRIBUTE_DEVICEPROP_JSON_REPRESENTATION || name == AW_DNN_ATTRIBUTE_VARIANT_PACK_OVERRIDE_UNIQUE_IDS ||
           name == AW_DNN_ATTRIBUTE_VARIANT_PACK_OVERRIDE_SHAPES || name == AW_DNN_ATTRIBUTE_VARIANT_PACK_OVERRIDE_STRIDES ||
           name == AW_DNN_ATTRIBUTE_OPERATION_NORM_FWD_PEER_STAT_DESCS ||
           name == AW_DNN_ATTRIBUTE_OPERATION_NORM_BWD_PEER_STAT_DESCS;
}

static cudnnStatus_t refuse(const struct row *row)
{
    aw_say(CUDNN_ATTRIBUTE, row->name);
    return aw_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "a backend attribute is not implemented");
}

cudnnStatus_t awcudnn_cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                               cudnnBackendAttributeType_t type, int64_t n, const void *data)
{
    struct aw_dnn_descriptor *d = descriptor_of(descriptor);
    if (!d || n < 0 || (n && !data))
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (d->finalized)
        return aw_dnn_fail(CUDNN_STATUS_NOT_INITIALIZED, "a finalized descriptor cannot be changed");
    const struct row *row = row_find(d->type, name);
    if (!row) {
        aw_say(CUDNN_ATTRIBUTE_NUMBER, name);
        return aw_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "the descriptor has no such attribute here");
    }
    if (!type_fits(row->type, type))
        return aw_dnn_fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, row->name);
    if (n > row->most)
        return aw_dnn_fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, row->name);
    if (refused(name) && n)
        return refuse(row);
    cudnnStatus_t status = type == AW_DNN_BACKEND_DESCRIPTOR ? parts_check(n, data) : CUDNN_STATUS_SUCCESS;
    return status == CUDNN_STATUS_SUCCESS ? attribute_set(d, name, type, n, data) : status;
}

/* ---- Finalising: what must be there, and what follows from it. */

/* The graph behind the part under `name`. */
static cudnnStatus_t inherit(struct aw_dnn_descriptor *d, int name)
{
    const struct aw_dnn_descriptor *part = aw_dnn_attribute_descriptor(d, name, 0);
    if (!part || !part->graph)
        return aw_dnn_fail(CUDNN_STATUS_BAD_PARAM, "no operation graph behind the descriptor");
    d->graph = graph_ref(part->graph);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t finalize_engine(struct aw_dnn_descriptor *d)
{
    if (aw_dnn_attribute_int(d, AW_DNN_ATTRIBUTE_ENGINE_GLOBAL_INDEX, -1) != 0)
        return aw_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "there is one engine, whose index is 0");
    return inherit(d, AW_DNN_ATTRIBUTE_ENGINE_OPERATION_GRAPH);
}

static cudnnStatus_t config_of(const struct aw_dnn_descriptor *graph, struct aw_dnn_descriptor *to);

/* A plan of a configuration, or of what another plan told. */
static cudnnStatus_t finalize_plan(struct aw_dnn_descriptor *d)
{
    const struct aw_dnn_attribute *text = aw_dnn_attribute(d, AW_DNN_ATTRIBUTE_EXECUTION_PLAN_JSON_REPRESENTATION);
    cudnnBackendDescriptor_t graph = NULL, config = NULL;
    if (!text || aw_dnn_attribute(d, AW_DNN_ATTRIBUTE_EXECUTION_PLAN_ENGINE_CONFIG))
        return inherit(d, AW_DNN_ATTRIBUTE_EXECUTION_PLAN_ENGINE_CONFIG);
    cudnnStatus_t status = aw_dnn_graph_read((const char *)text->data, (size_t)text->n, &graph);
    if (status == CUDNN_STATUS_SUCCESS)
        status = awcudnn_cudnnBackendCreateDescriptor(AW_DNN_DESCRIPTOR_ENGINECFG, &config);
    if (status == CUDNN_STATUS_SUCCESS)
        status = config_of(graph, config);
    if (status == CUDNN_STATUS_SUCCESS)
        status = attribute_set(d, AW_DNN_ATTRIBUTE_EXECUTION_PLAN_ENGINE_CONFIG, AW_DNN_BACKEND_DESCRIPTOR, 1, &config);
    descriptor_unref(graph);
    descriptor_unref(config);
    return status == CUDNN_STATUS_SUCCESS ? inherit(d, AW_DNN_ATTRIBUTE_EXECUTION_PLAN_ENGINE_CONFIG) : status;
}

static cudnnStatus_t finalize_pack(const struct aw_dnn_descriptor *d)
{
    const struct aw_dnn_attribute *uids = aw_dnn_attribute(d, AW_DNN_ATTRIBUTE_VARIANT_PACK_UNIQUE_IDS);
    const struct aw_dnn_attribute *pointers = aw_dnn_attribute(d, AW_DNN_ATTRIBUTE_VARIANT_PACK_DATA_POINTERS);
    return (uids ? uids->n : 0) == (pointers ? pointers->n : 0) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t awcudnn_cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
    struct aw_dnn_descriptor *d = descriptor_of(descriptor);
    struct aw_dnn_shape shape;
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    if (!d)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (d->finalized)
        return CUDNN_STATUS_SUCCESS;
    switch (d->type) {
    case AW_DNN_DESCRIPTOR_TENSOR: status = aw_dnn_graph_shape(d, &shape); break;
    case AW_DNN_DESCRIPTOR_OPERATIONGRAPH: status = aw_dnn_graph_build(d, &d->graph); break;
    case AW_DNN_DESCRIPTOR_ENGINE: status = finalize_engine(d); break;
    case AW_DNN_DESCRIPTOR_ENGINECFG: status = inherit(d, AW_DNN_ATTRIBUTE_ENGINECFG_ENGINE); break;
    case AW_DNN_DESCRIPTOR_ENGINEHEUR: status = inherit(d, AW_DNN_ATTRIBUTE_ENGINEHEUR_OPERATION_GRAPH); break;
    case AW_DNN_DESCRIPTOR_EXECUTION_PLAN: status = finalize_plan(d); break;
    case AW_DNN_DESCRIPTOR_VARIANT_PACK: status = finalize_pack(d); break;
    default: break;
    }
    d->finalized = status == CUDNN_STATUS_SUCCESS;
    return status;
}

/* ---- Asking */

/* `to`, which the caller made, becomes what `from` is. */
static cudnnStatus_t descriptor_copy(cudnnBackendDescriptor_t to_handle, const struct aw_dnn_descriptor *from)
{
    struct aw_dnn_descriptor *to = descriptor_of(to_handle);
    if (!to || to->type != from->type)
        return CUDNN_STATUS_BAD_PARAM;
    attributes_drop(to);
    for (const struct aw_dnn_attribute *a = from->attributes; a; a = a->next) {
        cudnnStatus_t status = attribute_set(to, a->name, a->type, a->n, a->data);
        if (status != CUDNN_STATUS_SUCCESS)
            return status;
    }
    to->graph = graph_ref(from->graph);
    to->finalized = true;
    return CUDNN_STATUS_SUCCESS;
}

/* The one engine's configuration for the graph. */
static cudnnStatus_t config_of(const struct aw_dnn_descriptor *graph, struct aw_dnn_descriptor *to)
{
    cudnnBackendDescriptor_t engine = NULL;
    const int64_t zero = 0;
    attributes_drop(to);
    cudnnStatus_t status = awcudnn_cudnnBackendCreateDescriptor(AW_DNN_DESCRIPTOR_ENGINE, &engine);
    if (status == CUDNN_STATUS_SUCCESS)
        status = attribute_set(engine, AW_DNN_ATTRIBUTE_ENGINE_OPERATION_GRAPH, AW_DNN_BACKEND_DESCRIPTOR, 1, &graph);
    if (status == CUDNN_STATUS_SUCCESS)
        status = attribute_set(engine, AW_DNN_ATTRIBUTE_ENGINE_GLOBAL_INDEX, AW_DNN_INT64, 1, &zero);
    if (status == CUDNN_STATUS_SUCCESS)
        status = awcudnn_cudnnBackendFinalize(engine);
    if (status == CUDNN_STATUS_SUCCESS)
        status = attribute_set(to, AW_DNN_ATTRIBUTE_ENGINECFG_ENGINE, AW_DNN_BACKEND_DESCRIPTOR, 1, &engine);
    if (status == CUDNN_STATUS_SUCCESS)
        status = awcudnn_cudnnBackendFinalize(to);
    descriptor_unref(engine);
    return status;
}

/* The same, into the caller's descriptor. */
static cudnnStatus_t heuristics_result(const struct aw_dnn_descriptor *d, cudnnBackendDescriptor_t config)
{
    struct aw_dnn_descriptor *to = descriptor_of(config);
    if (!to || to->type != AW_DNN_DESCRIPTOR_ENGINECFG)
        return CUDNN_STATUS_BAD_PARAM;
    return config_of(aw_dnn_attribute_descriptor(d, AW_DNN_ATTRIBUTE_ENGINEHEUR_OPERATION_GRAPH, 0), to);
}

/* The plan's graph as text, as far as there is room for it. */
static cudnnStatus_t plan_tell(const struct aw_dnn_descriptor *plan, int64_t requested, int64_t *ret_n, void *data)
{
    const struct aw_dnn_descriptor *config = aw_dnn_attribute_descriptor(plan, AW_DNN_ATTRIBUTE_EXECUTION_PLAN_ENGINE_CONFIG, 0);
    const struct aw_dnn_descriptor *engine = aw_dnn_attribute_descriptor(config, AW_DNN_ATTRIBUTE_ENGINECFG_ENGINE, 0);
    const struct aw_dnn_descriptor *graph = aw_dnn_attribute_descriptor(engine, AW_DNN_ATTRIBUTE_ENGINE_OPERATION_GRAPH, 0);
    size_t n = 0;
    char *text = graph ? aw_dnn_graph_tell(graph, &n) : NULL;
    if (!text)
        return graph ? CUDNN_STATUS_ALLOC_FAILED : CUDNN_STATUS_BAD_PARAM;
    if (ret_n)
        *ret_n = (int64_t)n;
    if (data)
        memcpy(data, text, (int64_t)n < requested ? n : (size_t)requested);
    free(text);
    return CUDNN_STATUS_SUCCESS;
}

enum { NOTE_GRAPHS = 3 }; /* CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API */

/* Numbers that are asked for and never set: no memory is needed, there is one engine, it has no knobs and can be part of
 * graphs. */
static const struct answer {
    int name, n;
    int64_t value;
} answers[] = {
    { AW_DNN_ATTRIBUTE_EXECUTION_PLAN_WORKSPACE_SIZE, 1, 0 },
    { AW_DNN_ATTRIBUTE_ENGINECFG_WORKSPACE_SIZE, 1, 0 },
    { AW_DNN_ATTRIBUTE_ENGINECFG_SHARED_MEMORY_USED, 1, 0 },
    { AW_DNN_ATTRIBUTE_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, 1, 1 },
    { AW_DNN_ATTRIBUTE_ENGINE_KNOB_INFO, 0, 0 },
    { AW_DNN_ATTRIBUTE_ENGINE_NUMERICAL_NOTE, 0, 0 },
    { AW_DNN_ATTRIBUTE_ENGINE_BEHAVIOR_NOTE, 1, NOTE_GRAPHS },
    { AW_DNN_ATTRIBUTE_ENGINE_LAYOUT_INFO, 0, 0 },
    { AW_DNN_ATTRIBUTE_ENGINECFG_INTERMEDIATE_INFO, 0, 0 },
    { AW_DNN_ATTRIBUTE_EXECUTION_PLAN_COMPUTED_INTERMEDIATE_UIDS, 0, 0 },
    { AW_DNN_ATTRIBUTE_EXECUTION_PLAN_RUN_ONLY_INTERMEDIATE_UIDS, 0, 0 },
};

static const struct answer *answer_find(int name)
{
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        if (answers[i].name == name)
            return &answers[i];
    return NULL;
}

/* An attribute as it was set. */
static cudnnStatus_t attribute_get(const struct aw_dnn_attribute *a, int type, int64_t requested, int64_t *ret_n, void *data)
{
    int64_t n = !a ? 0 : a->n;
    if (a && a->type != type)
        return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
    if (ret_n)
        *ret_n = n;
    if (n > requested)
        n = requested;
    if (!data || !n)
        return CUDNN_STATUS_SUCCESS;
    if (type != AW_DNN_BACKEND_DESCRIPTOR) {
        memcpy(data, a->data, (size_t)n * aw_dnn_backend_type_size(type));
        return CUDNN_STATUS_SUCCESS;
    }
    for (int64_t i = 0; i < n; i++) {
        cudnnStatus_t status = descriptor_copy(((cudnnBackendDescriptor_t *)data)[i],
                                               ((struct aw_dnn_descriptor *const *)a->data)[i]);
        if (status != CUDNN_STATUS_SUCCESS)
            return status;
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                               cudnnBackendAttributeType_t type, int64_t requested, int64_t *ret_n, void *data)
{
    struct aw_dnn_descriptor *d = descriptor_of(descriptor);
    if (!d || requested < 0)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!d->finalized)
        return aw_dnn_fail(CUDNN_STATUS_NOT_INITIALIZED, "a descriptor is asked before it is finalized");
    const struct row *row = row_find(d->type, name);
    if (!row)
        return aw_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "the descriptor has no such attribute here");
    if (!type_fits(row->type, type))
        return aw_dnn_fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, row->name);
    if (refused(name))
        return refuse(row);
    const struct answer *answer = answer_find(name);
    if (answer) {
        if (ret_n)
            *ret_n = answer->n;
        if (data && requested && answer->n && type == AW_DNN_INT64)
            *(int64_t *)data = answer->value;
        else if (data && requested && answer->n)
            *(int32_t *)data = (int32_t)answer->value;
        return CUDNN_STATUS_SUCCESS;
    }
    if (name == AW_DNN_ATTRIBUTE_ENGINEHEUR_RESULTS) {
        if (ret_n)
            *ret_n = 1;
        return data && requested ? heuristics_result(d, *(cudnnBackendDescriptor_t *)data) : CUDNN_STATUS_SUCCESS;
    }
    if (name == AW_DNN_ATTRIBUTE_EXECUTION_PLAN_JSON_REPRESENTATION)
        return plan_tell(d, requested, ret_n, data);
    return attribute_get(aw_dnn_attribute(d, name), type, requested, ret_n, data);
}

cudnnStatus_t awcudnn_cudnnGetExecutionPlanWorkspaceSize(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                                         cudnnBackendDescriptor_t pack, size_t *size)
{
    struct aw_dnn_descriptor *d = descriptor_of(plan);
    AW_DNN_NEED(handle, d && size && d->type == AW_DNN_DESCRIPTOR_EXECUTION_PLAN);
    *size = 0;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- Running */

static void *pack_pointer(const struct aw_dnn_attribute *uids, const struct aw_dnn_attribute *pointers, int64_t uid)
{
    for (int64_t i = 0; uids && i < uids->n; i++)
        if (((const int64_t *)uids->data)[i] == uid)
            return ((void *const *)pointers->data)[i];
    return NULL;
}

cudnnStatus_t awcudnn_cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_handle,
                                          cudnnBackendDescriptor_t pack_handle)
{
    struct aw_dnn_descriptor *plan = descriptor_of(plan_handle), *pack = descriptor_of(pack_handle);
    AW_DNN_NEED(handle,
                plan && pack && plan->type == AW_DNN_DESCRIPTOR_EXECUTION_PLAN && pack->type == AW_DNN_DESCRIPTOR_VARIANT_PACK);
    if (!plan->finalized || !pack->finalized)
        return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    const struct aw_dnn_attribute *uids = aw_dnn_attribute(pack, AW_DNN_ATTRIBUTE_VARIANT_PACK_UNIQUE_IDS);
    const struct aw_dnn_attribute *given = aw_dnn_attribute(pack, AW_DNN_ATTRIBUTE_VARIANT_PACK_DATA_POINTERS);
    const struct aw_dnn_program *p = plan->graph->program;
    void **pointers = calloc((size_t)p->n_tensors + 1, sizeof *pointers);
    cudnnStatus_t status = pointers ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
    for (int i = 0; i < p->n_tensors && status == CUDNN_STATUS_SUCCESS; i++) {
        if (p->tensors[i].storage != AW_DNN_USER && p->tensors[i].storage != AW_DNN_VALUE)
            continue;
        pointers[i] = pack_pointer(uids, given, plan->graph->uids[i]);
        if (!pointers[i])
            status = aw_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the variant pack has no memory for a tensor of the graph");
    }
    if (status == CUDNN_STATUS_SUCCESS)
        status = aw_dnn_program_submit(&handle->queue, plan->graph->program, pointers, AW_LIB_QUEUED);
    free(pointers);
    return status;
}

/* ---- As part of a graph */

/* What a plan's execution gives a stream becomes nodes of the graph. */
static cudnnStatus_t populate(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack, CUgraph graph)
{
    CUstream own = handle->queue.stream, stream;
    CUgraph whole;
    if (aw_lib_queue_enter(&handle->queue) != CUDA_SUCCESS || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        return CUDNN_STATUS_ALLOC_FAILED;
    cudnnStatus_t status = CUDNN_STATUS_BAD_PARAM;
    if (cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS) {
        handle->queue.stream = stream;
        status = awcudnn_cudnnBackendExecute(handle, plan, pack);
        handle->queue.stream = own;
        if (cuStreamEndCapture(stream, &whole) != CUDA_SUCCESS && status == CUDNN_STATUS_SUCCESS)
            status = CUDNN_STATUS_EXECUTION_FAILED;
    }
    (void)cuStreamDestroy_v2(stream);
    return status;
}

cudnnStatus_t awcudnn_cudnnBackendPopulateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                                    cudnnBackendDescriptor_t pack, cudaGraph_t graph)
{
    AW_DNN_NEED(handle, graph);
    return populate(handle, plan, pack, graph);
}

/* The graph is one that was populated, of which nobody else has nodes. */
cudnnStatus_t awcudnn_cudnnBackendUpdateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                                  cudnnBackendDescriptor_t pack, cudaGraph_t graph)
{
    AW_DNN_NEED(handle, graph);
    size_t n = 0;
    if (cuGraphGetNodes(graph, NULL, &n) != CUDA_SUCCESS)
        return CUDNN_STATUS_BAD_PARAM;
    CUgraphNode *nodes = calloc(n + 1, sizeof *nodes);
    if (!nodes)
        return CUDNN_STATUS_ALLOC_FAILED;
    bool gone = cuGraphGetNodes(graph, nodes, &n) == CUDA_SUCCESS;
    for (size_t i = 0; i < n && gone; i++)
        gone = cuGraphDestroyNode(nodes[i]) == CUDA_SUCCESS;
    free(nodes);
    return gone ? populate(handle, plan, pack, graph) : CUDNN_STATUS_INTERNAL_ERROR;
}
