/* What nvJPEG's handles are. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NVJPEG_HANDLE_H
#define AW_LIBS_NVJPEG_HANDLE_H

#include "common/queue.h"
#include "image.h"

struct nvjpegHandle {
    struct aw_lib_queue queue;
    unsigned flags;
    size_t device_padding, pinned_padding; /* kept, and of no effect */
};

/* A file that was looked at.  Its bytes are the program's, or a copy. */
struct nvjpegJpegStream {
    struct aw_jpeg_info info;
    bool parsed;
    const uint8_t *data; /* NULL: of the header alone */
    uint8_t *copy;
    size_t length;
    uint8_t *tables;
    size_t tables_length;
};

/* The handle's queue on a stream. */
struct aw_lib_queue aw_jpeg_queue(const struct nvjpegHandle *handle, cudaStream_t stream);
nvjpegStatus_t aw_jpeg_driver_status(CUresult result);
/* A copy of the bytes in place of what *at had. */
nvjpegStatus_t aw_jpeg_keep(const uint8_t *data, size_t length, uint8_t **at, size_t *at_length);

#endif
