/* The types in the table of CUPTI.  Numbers are CUPTI's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUPTI_TYPES_H
#define AW_LIBS_CUPTI_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    CUPTI_SUCCESS = 0,
    CUPTI_ERROR_INVALID_PARAMETER = 1,
    CUPTI_ERROR_INVALID_DEVICE = 2,
    CUPTI_ERROR_INVALID_CONTEXT = 3,
    CUPTI_ERROR_INVALID_OPERATION = 7,
    CUPTI_ERROR_OUT_OF_MEMORY = 8,
    CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT = 10,
    CUPTI_ERROR_MAX_LIMIT_REACHED = 12,
    CUPTI_ERROR_NOT_COMPATIBLE = 14,
    CUPTI_ERROR_NOT_INITIALIZED = 15,
    CUPTI_ERROR_QUEUE_EMPTY = 18,
    CUPTI_ERROR_INVALID_STREAM = 20,
    CUPTI_ERROR_INVALID_KIND = 21,
    CUPTI_ERROR_NOT_SUPPORTED = 27,
    CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
    CUPTI_ERROR_UNKNOWN = 999,
} CUptiResult;

typedef int CUpti_ActivityKind, CUpti_ActivityAttribute, CUpti_ActivityThreadIdType, CUpti_CallbackDomain,
    CUpti_ClockControl_Mode;
typedef int CUpti_DeviceAttribute, CUpti_DeviceVirtualizationMode, CUpti_EventAttribute, CUpti_EventCollectionMode;
typedef int CUpti_EventDomainAttribute, CUpti_EventGroupAttribute, CUpti_ExternalCorrelationKind, CUpti_MetricAttribute;
typedef int CUpti_ReadEventFlags, CUdevice;
typedef uint32_t CUpti_CallbackId, CUpti_EventDomainID, CUpti_EventID, CUpti_MetricID, CUpti_MetricPropertyID;
typedef CUpti_CallbackDomain *CUpti_DomainTable;
typedef void *CUpti_EventGroup;

typedef struct CUpti_Activity CUpti_Activity;
typedef struct CUpti_ActivityAutoBoostState CUpti_ActivityAutoBoostState;
typedef struct CUpti_ActivityConfig CUpti_ActivityConfig;
typedef struct CUpti_ActivityPCSamplingConfig CUpti_ActivityPCSamplingConfig;
typedef struct CUpti_ActivityUnifiedMemoryCounterConfig CUpti_ActivityUnifiedMemoryCounterConfig;
typedef struct CUpti_ClockControl_Status CUpti_ClockControl_Status;
typedef struct CUpti_EventGroupSet CUpti_EventGroupSet;
typedef struct CUpti_EventGroupSets CUpti_EventGroupSets;
typedef union CUpti_MetricValue CUpti_MetricValue;

typedef struct CUctx_st *CUcontext;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUstream_st *CUstream;

typedef struct aw_cupti_subscriber *CUpti_SubscriberHandle;
typedef void (*CUpti_CallbackFunc)(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);
/* Asks the program for a buffer, and hands a filled one back. */
typedef void (*CUpti_BuffersCallbackRequestFunc)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*CUpti_BuffersCallbackCompleteFunc)(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
typedef void (*CUpti_BuffersCallbackRequestFunc_v2)(uint8_t **buffer, size_t *size, void *params);
typedef void (*CUpti_BuffersCallbackCompleteFunc_v2)(uint8_t *buffer, size_t size, size_t valid, void *params);
typedef uint64_t (*CUpti_TimestampCallbackFunc)(void);
typedef void (*CUpti_ComputeCrcCallbackFunc)(const void *cubin, size_t size, uint64_t *crc);
typedef void (*CUpti_KernelReplayUpdateFunc)(const char *kernel, int replays, void *user);

#endif
