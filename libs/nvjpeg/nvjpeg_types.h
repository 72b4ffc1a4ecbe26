/* The types in the table of nvJPEG. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NVJPEG_TYPES_H
#define AW_LIBS_NVJPEG_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef int nvjpegStatus_t, nvjpegBackend_t, nvjpegChromaSubsampling_t, nvjpegEncBackend_t, nvjpegExifOrientation_t,
    nvjpegInputFormat_t;
typedef int nvjpegJpegEncoding_t, nvjpegOutputFormat_t, nvjpegScaleFactor_t, libraryPropertyType;
typedef struct nvjpegHandle *nvjpegHandle_t;
typedef struct nvjpegJpegState *nvjpegJpegState_t;
typedef struct nvjpegJpegDecoder *nvjpegJpegDecoder_t;
typedef struct nvjpegJpegStream *nvjpegJpegStream_t;
typedef struct nvjpegDecodeParams *nvjpegDecodeParams_t;
typedef struct nvjpegEncoderState *nvjpegEncoderState_t;
typedef struct nvjpegEncoderParams *nvjpegEncoderParams_t;
typedef struct nvjpegBufferDevice *nvjpegBufferDevice_t;
typedef struct nvjpegBufferPinned *nvjpegBufferPinned_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct nvjpegImage nvjpegImage_t;
typedef struct nvjpegDevAllocator nvjpegDevAllocator_t;
typedef struct nvjpegDevAllocatorV2 nvjpegDevAllocatorV2_t;
typedef struct nvjpegPinnedAllocator nvjpegPinnedAllocator_t;
typedef struct nvjpegPinnedAllocatorV2 nvjpegPinnedAllocatorV2_t;

#endif
