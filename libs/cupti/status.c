/* CUPTI's version, the names of its results, and numbers of graphs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/driver.h"
#include "cupti_proto.h"

/* Of the releases that the table was taken from: those of CUDA 12.9 and 13.0. */
CUptiResult awcupti_cuptiGetVersion_12(uint32_t *version)
{
    if (!version)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *version = 28;
    return CUPTI_SUCCESS;
}

CUptiResult awcupti_cuptiGetVersion_13(uint32_t *version)
{
    if (!version)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *version = 130001;
    return CUPTI_SUCCESS;
}

static const struct { int result; const char *name; } names[] = {
    { 0, "CUPTI_SUCCESS" },
    { 1, "CUPTI_ERROR_INVALID_PARAMETER" },
    { 2, "CUPTI_ERROR_INVALID_DEVICE" },
    { 3, "CUPTI_ERROR_INVALID_CONTEXT" },
    { 4, "CUPTI_ERROR_INVALID_EVENT_DOMAIN_ID" },
    { 5, "CUPTI_ERROR_INVALID_EVENT_ID" },
    { 6, "CUPTI_ERROR_INVALID_EVENT_NAME" },
    { 7, "CUPTI_ERROR_INVALID_OPERATION" },
    { 8, "CUPTI_ERROR_OUT_OF_MEMORY" },
    { 9, "CUPTI_ERROR_HARDWARE" },
    { 10, "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT" },
    { 11, "CUPTI_ERROR_API_NOT_IMPLEMENTED" },
    { 12, "CUPTI_ERROR_MAX_LIMIT_REACHED" },
    { 13, "CUPTI_ERROR_NOT_READY" },
    { 14, "CUPTI_ERROR_NOT_COMPATIBLE" },
    { 15, "CUPTI_ERROR_NOT_INITIALIZED" },
    { 16, "CUPTI_ERROR_INVALID_METRIC_ID" },
    { 17, "CUPTI_ERROR_INVALID_METRIC_NAME" },
    { 18, "CUPTI_ERROR_QUEUE_EMPTY" },
    { 19, "CUPTI_ERROR_INVALID_HANDLE" },
    { 20, "CUPTI_ERROR_INVALID_STREAM" },
    { 21, "CUPTI_ERROR_INVALID_KIND" },
    { 22, "CUPTI_ERROR_INVALID_EVENT_VALUE" },
    { 23, "CUPTI_ERROR_DISABLED" },
    { 24, "CUPTI_ERROR_INVALID_MODULE" },
    { 25, "CUPTI_ERROR_INVALID_METRIC_VALUE" },
    { 26, "CUPTI_ERROR_HARDWARE_BUSY" },
    { 27, "CUPTI_ERROR_NOT_SUPPORTED" },
    { 28, "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED" },
    { 29, "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE" },
    { 31, "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS" },
    { 32, "CUPTI_ERROR_CDP_TRACING_NOT_SUPPORTED" },
    { 33, "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED" },
    { 34, "CUPTI_ERROR_CUDA_COMPILER_NOT_COMPATIBLE" },
    { 35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" },
    { 36, "CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED" },
    { 37, "CUPTI_ERROR_OPENACC_UNDEFINED_ROUTINE" },
    { 38, "CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED" },
    { 39, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" },
    { 40, "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES" },
    { 41, "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED" },
    { 42, "CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED" },
    { 43, "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED" },
    { 44, "CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED" },
    { 45, "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED" },
    { 46, "CUPTI_ERROR_INVALID_CHIP_NAME" },
    { 47, "CUPTI_ERROR_HES_TRACE_NOT_SUPPORTED_ON_MPS" },
    { 999, "CUPTI_ERROR_UNKNOWN" },
    { 0, "CUPTI_ERROR_FORCE_INT" },
};

CUptiResult awcupti_cuptiGetResultString(CUptiResult result, const char **str)
{
    if (!str)
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].result == (int)result) {
            *str = names[i].name;
            return CUPTI_SUCCESS;
        }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

/* ---- Graphs: the driver's numbers. */

CUptiResult awcupti_cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
    return cuGraphGetId(graph, id) == CUDA_SUCCESS ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult awcupti_cuptiGetGraphExecId(CUgraphExec graph, uint32_t *id)
{
    return cuGraphExecGetId(graph, id) == CUDA_SUCCESS ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult awcupti_cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
    unsigned long long number;
    if (!id || cuGraphNodeGetToolsId(node, &number) != CUDA_SUCCESS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *id = number;
    return CUPTI_SUCCESS;
}
