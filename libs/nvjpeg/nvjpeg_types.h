/* The types in the table of nvJPEG.  Numbers of enumerations and shapes of structures are nvJPEG's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NVJPEG_TYPES_H
#define AW_LIBS_NVJPEG_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "common/types.h"

enum { NVJPEG_MAX_COMPONENT = 4 };

typedef enum {
    NVJPEG_STATUS_SUCCESS = 0,
    NVJPEG_STATUS_NOT_INITIALIZED = 1,
    NVJPEG_STATUS_INVALID_PARAMETER = 2,
    NVJPEG_STATUS_BAD_JPEG = 3,
    NVJPEG_STATUS_JPEG_NOT_SUPPORTED = 4,
    NVJPEG_STATUS_ALLOCATOR_FAILURE = 5,
    NVJPEG_STATUS_EXECUTION_FAILED = 6,
    NVJPEG_STATUS_ARCH_MISMATCH = 7,
    NVJPEG_STATUS_INTERNAL_ERROR = 8,
    NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED = 9,
    NVJPEG_STATUS_INCOMPLETE_BITSTREAM = 10,
} nvjpegStatus_t;

/* EXIF's own numbers: what is to be done with the stored image to see it upright. */
typedef enum {
    NVJPEG_ORIENTATION_UNKNOWN = 0,
    NVJPEG_ORIENTATION_NORMAL = 1,
    NVJPEG_ORIENTATION_FLIP_HORIZONTAL = 2,
    NVJPEG_ORIENTATION_ROTATE_180 = 3,
    NVJPEG_ORIENTATION_FLIP_VERTICAL = 4,
    NVJPEG_ORIENTATION_TRANSPOSE = 5,
    NVJPEG_ORIENTATION_ROTATE_90 = 6,
    NVJPEG_ORIENTATION_TRANSVERSE = 7,
    NVJPEG_ORIENTATION_ROTATE_270 = 8,
} nvjpegExifOrientation_t;

typedef enum {
    NVJPEG_CSS_444 = 0,
    NVJPEG_CSS_422 = 1,
    NVJPEG_CSS_420 = 2,
    NVJPEG_CSS_440 = 3,
    NVJPEG_CSS_411 = 4,
    NVJPEG_CSS_410 = 5,
    NVJPEG_CSS_GRAY = 6,
    NVJPEG_CSS_410V = 7,
    NVJPEG_CSS_UNKNOWN = -1,
} nvjpegChromaSubsampling_t;

typedef enum {
    NVJPEG_OUTPUT_UNCHANGED = 0,
    NVJPEG_OUTPUT_YUV = 1,
    NVJPEG_OUTPUT_Y = 2,
    NVJPEG_OUTPUT_RGB = 3,
    NVJPEG_OUTPUT_BGR = 4,
    NVJPEG_OUTPUT_RGBI = 5,
    NVJPEG_OUTPUT_BGRI = 6,
    NVJPEG_OUTPUT_UNCHANGEDI_U16 = 7,
    NVJPEG_OUTPUT_NV12 = 8,
    NVJPEG_OUTPUT_YUY2 = 9,
    NVJPEG_OUTPUT_UNCHANGEDI = 10,
} nvjpegOutputFormat_t;

typedef enum {
    NVJPEG_INPUT_YUV = 1,
    NVJPEG_INPUT_RGB = 3,
    NVJPEG_INPUT_BGR = 4,
    NVJPEG_INPUT_RGBI = 5,
    NVJPEG_INPUT_BGRI = 6,
    NVJPEG_INPUT_NV12 = 8,
} nvjpegInputFormat_t;

typedef enum {
    NVJPEG_BACKEND_DEFAULT = 0,
    NVJPEG_BACKEND_HYBRID = 1,
    NVJPEG_BACKEND_GPU_HYBRID = 2,
    NVJPEG_BACKEND_HARDWARE = 3,
    NVJPEG_BACKEND_GPU_HYBRID_DEVICE = 4,
    NVJPEG_BACKEND_HARDWARE_DEVICE = 5,
    NVJPEG_BACKEND_LOSSLESS_JPEG = 6,
} nvjpegBackend_t;

typedef enum {
    NVJPEG_ENC_BACKEND_DEFAULT = 0,
    NVJPEG_ENC_BACKEND_GPU = 1,
    NVJPEG_ENC_BACKEND_HARDWARE = 2,
} nvjpegEncBackend_t;

/* The markers that begin a frame. */
typedef enum {
    NVJPEG_ENCODING_UNKNOWN = 0,
    NVJPEG_ENCODING_BASELINE_DCT = 0xc0,
    NVJPEG_ENCODING_EXTENDED_SEQUENTIAL_DCT_HUFFMAN = 0xc1,
    NVJPEG_ENCODING_PROGRESSIVE_DCT_HUFFMAN = 0xc2,
    NVJPEG_ENCODING_LOSSLESS_HUFFMAN = 0xc3,
} nvjpegJpegEncoding_t;

typedef enum {
    NVJPEG_SCALE_NONE = 0,
    NVJPEG_SCALE_1_BY_2 = 1,
    NVJPEG_SCALE_1_BY_4 = 2,
    NVJPEG_SCALE_1_BY_8 = 3,
} nvjpegScaleFactor_t;

enum { NVJPEG_FLAGS_BITSTREAM_STRICT = 1 << 2, NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION = 1 << 5 };

typedef struct nvjpegHandle *nvjpegHandle_t;
typedef struct nvjpegJpegState *nvjpegJpegState_t;
typedef struct nvjpegJpegDecoder *nvjpegJpegDecoder_t;
typedef struct nvjpegJpegStream *nvjpegJpegStream_t;
typedef struct nvjpegDecodeParams *nvjpegDecodeParams_t;
typedef struct nvjpegEncoderState *nvjpegEncoderState_t;
typedef struct nvjpegEncoderParams *nvjpegEncoderParams_t;
typedef struct nvjpegBufferDevice *nvjpegBufferDevice_t;
typedef struct nvjpegBufferPinned *nvjpegBufferPinned_t;

/* Planes of device memory, pitches in bytes. */
typedef struct {
    unsigned char *channel[NVJPEG_MAX_COMPONENT];
    size_t pitch[NVJPEG_MAX_COMPONENT];
} nvjpegImage_t;

/* Memory by the program's functions, which return 0 when it went well. */
typedef struct {
    int (*dev_malloc)(void **ptr, size_t size);
    int (*dev_free)(void *ptr);
} nvjpegDevAllocator_t;
typedef struct {
    int (*pinned_malloc)(void **ptr, size_t size, unsigned flags);
    int (*pinned_free)(void *ptr);
} nvjpegPinnedAllocator_t;
typedef struct {
    int (*dev_malloc)(void *ctx, void **ptr, size_t size, cudaStream_t stream);
    int (*dev_free)(void *ctx, void *ptr, size_t size, cudaStream_t stream);
    void *dev_ctx;
} nvjpegDevAllocatorV2_t;
typedef struct {
    int (*pinned_malloc)(void *ctx, void **ptr, size_t size, cudaStream_t stream);
    int (*pinned_free)(void *ctx, void *ptr, size_t size, cudaStream_t stream);
    void *pinned_ctx;
} nvjpegPinnedAllocatorV2_t;

#endif
