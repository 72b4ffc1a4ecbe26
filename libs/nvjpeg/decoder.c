/* Decoding: states, parameters, one file, batches, and the phases of the decoupled interface.
 *
 * A file is decoded in the call that gives its bytes (the host's phase), so what is wrong with it is that call's status; the
 * result goes to the program's memory in the stream's order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "nvjpeg_proto.h"
#include "turbo.h"

struct nvjpegDecodeParams {
    struct aw_jpeg_ask ask;
};

struct nvjpegJpegDecoder {
    nvjpegBackend_t backend;
};

struct nvjpegJpegState {
    struct aw_jpeg_image *image; /* of the host's phase, or NULL */
    int batch;                   /* files of a batch; 0: not begun */
    nvjpegOutputFormat_t batch_format;
    uint8_t *tables;
    size_t tables_length;
};

/* ---- States */

nvjpegStatus_t awnvjpeg_nvjpegJpegStateCreate(nvjpegHandle_t handle, nvjpegJpegState_t *jpeg_handle)
{
    if (!handle || !jpeg_handle)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    struct nvjpegJpegState *s = calloc(1, sizeof *s);
    if (!s)
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    *jpeg_handle = s;
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t awnvjpeg_nvjpegDecoderStateCreate(nvjpegHandle_t nvjpeg_handle, nvjpegJpegDecoder_t decoder_handle,
                                                 nvjpegJpegState_t *decoder_state)
{
    return decoder_handle ? awnvjpeg_nvjpegJpegStateCreate(nvjpeg_handle, decoder_state) : NVJPEG_STATUS_INVALID_PARAMETER;
}

nvjpegStatus_t awnvjpeg_nvjpegJpegStateDestroy(nvjpegJpegState_t jpeg_handle)
{
    if (!jpeg_handle)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    aw_jpeg_image_unref(jpeg_handle->image);
    free(jpeg_handle->tables);
    free(jpeg_handle);
    return NVJPEG_STATUS_SUCCESS;
}

/* Of a program's buffers none is needed. */
nvjpegStatus_t awnvjpeg_nvjpegStateAttachDeviceBuffer(nvjpegJpegState_t decoder_state, nvjpegBufferDevice_t device_buffer)
{
    return decoder_state && device_buffer ? NVJPEG_STATUS_SUCCESS : NVJPEG_STATUS_INVALID_PARAMETER;
}

nvjpegStatus_t awnvjpeg_nvjpegStateAttachPinnedBuffer(nvjpegJpegState_t decoder_state, nvjpegBufferPinned_t pinned_buffer)
{
    return decoder_state && pinned_buffer ? NVJPEG_STATUS_SUCCESS : NVJPEG_STATUS_INVALID_PARAMETER;
}

nvjpegStatus_t awnvjpeg_nvjpegDecoderCreate(nvjpegHandle_t nvjpeg_handle, nvjpegBackend_t implementation,
                                            nvjpegJpegDecoder_t *decoder_handle)
{
    if (!nvjpeg_handle || !decoder_handle || implementation < NVJPEG_BACKEND_DEFAULT ||
        implementation > NVJPEG_BACKEND_LOSSLESS_JPEG)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    if (implementation == NVJPEG_BACKEND_HARDWARE || implementation == NVJPEG_BACKEND_HARDWARE_DEVICE)
        return NVJPEG_STATUS_ARCH_MISMATCH;
    if (implementation == NVJPEG_BACKEND_LOSSLESS_JPEG)
        return NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED;
    struct nvjpegJpegDecoder *d = malloc(sizeof *d);
    if (!d)
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    d->backend = implementation;
    *decoder_handle = d;
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t awnvjpeg_nvjpegDecoderDestroy(nvjpegJpegDecoder_t decoder_handle)
{
    if (!decoder_handle)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    free(decoder_handle);
    return NVJPEG_STATUS_SUCCESS;
}

/* ---- Parameters */

nvjpegStatus_t awnvjpeg_nvjpegDecodeParamsCreate(nvjpegHandle_t handle, nvjpegDecodeParams_t *decode_params)
{
    if (!handle || !decode_params)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    struct nvjpegDecodeParams *p = malloc(sizeof *p);
    if (!p)
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    p->ask = AW_JPEG_ASK(NVJPEG_OUTPUT_UNCHANGED);
    *decode_params = p;
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t awnvjpeg_nvjpegDecodeParamsDestroy(nvjpegDecodeParams_t decode_params)
{
    if (!decode_params)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    free(decode_params);
    return NVJPEG_STATUS_SUCCESS;
}

#define PARAMETER(Name, Type, arg, good, member)                                                               \
    nvjpegStatus_t awnvjpeg_nvjpegDecodeParamsSet##Name(nvjpegDecodeParams_t decode_params, Type arg)          \
    {                                                                                                          \
        if (!decode_params || !(good))                                                                         \
            return NVJPEG_STATUS_INVALID_PARAMETER;                                                            \
        decode_params->ask.member = arg;                                                                       \
        return NVJPEG_STATUS_SUCCESS;                                                                          \
    }
PARAMETER(OutputFormat, nvjpegOutputFormat_t, output_format,
          output_format >= NVJPEG_OUTPUT_UNCHANGED && output_format <= NVJPEG_OUTPUT_UNCHANGEDI, format)
PARAMETER(AllowCMYK, int, allow_cmyk, true, allow_cmyk)
PARAMETER(ScaleFactor, nvjpegScaleFactor_t, scale_factor,
          scale_factor >= NVJPEG_SCALE_NONE && scale_factor <= NVJPEG_SCALE_1_BY_8, scale)
PARAMETER(ExifOrientation, nvjpegExifOrientation_t, orientation,
          orientation >= NVJPEG_ORIENTATION_UNKNOWN && orientation <= NVJPEG_ORIENTATION_ROTATE_270, orientation)

nvjpegStatus_t awnvjpeg_nvjpegDecodeParamsSetROI(nvjpegDecodeParams_t decode_params, int offset_x, int offset_y, int roi_width,
                                                 int roi_height)
{
    bool whole = roi_width == -1 && roi_height == -1;
    if (!decode_params || offset_x < 0 || offset_y < 0 || (!whole && (roi_width <= 0 || roi_height <= 0)))
        return NVJPEG_STATUS_INVALID_PARAMETER;
    struct aw_jpeg_ask *a = &decode_params->ask;
    a->x = offset_x;
    a->y = offset_y;
    a->width = roi_width;
    a->height = roi_height;
    return NVJPEG_STATUS_SUCCESS;
}

/* ---- What is decodable: 0 is yes */

static nvjpegStatus_t supported(nvjpegJpegStream_t stream, const struct aw_jpeg_ask *ask, int *is_supported)
{
    if (!stream || !stream->parsed || !is_supported)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    *is_supported = aw_jpeg_askable(&stream->info, ask) != NVJPEG_STATUS_SUCCESS;
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t awnvjpeg_nvjpegDecoderJpegSupported(nvjpegJpegDecoder_t decoder_handle, nvjpegJpegStream_t jpeg_stream,
                                                   nvjpegDecodeParams_t decode_params, int *is_supported)
{
    if (!decoder_handle || !decode_params)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    return supported(jpeg_stream, &decode_params->ask, is_supported);
}

/* Batches have no files of four components. */
static nvjpegStatus_t batch_supported(nvjpegHandle_t handle, nvjpegJpegStream_t stream, const struct aw_jpeg_ask *ask,
                                      int *is_supported)
{
    nvjpegStatus_t status = handle ? supported(stream, ask, is_supported) : NVJPEG_STATUS_INVALID_PARAMETER;
    if (status == NVJPEG_STATUS_SUCCESS && stream->info.n_components > 3)
        *is_supported = 1;
    return status;
}

nvjpegStatus_t awnvjpeg_nvjpegDecodeBatchedSupported(nvjpegHandle_t handle, nvjpegJpegStream_t jpeg_stream, int *is_supported)
{
    return batch_supported(handle, jpeg_stream, &AW_JPEG_ASK(NVJPEG_OUTPUT_UNCHANGED), is_supported);
}

nvjpegStatus_t awnvjpeg_nvjpegDecodeBatchedSupportedEx(nvjpegHandle_t handle, nvjpegJpegStream_t jpeg_stream,
                                                       nvjpegDecodeParams_t decode_params, int *is_supported)
{
    if (!decode_params)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    return batch_supported(handle, jpeg_stream, &decode_params->ask, is_supported);
}

/* ---- To the program's memory */

struct copy_job {
    struct aw_lib_job job;
    struct aw_jpeg_image *image;
};

static void copy_run(struct aw_lib_job *job)
{
    const struct aw_jpeg_image *image = ((struct copy_job *)job)->image;
    for (unsigned i = 0; i < image->n_planes; i++) {
        const struct aw_jpeg_plane *p = &image->plane[i];
        size_t row = (size_t)p->width * p->unit;
        for (unsigned y = 0; y < p->height; y++)
            memcpy((char *)job->spans[i].at + y * job->spans[i].pitch, p->data + y * row, row);
    }
}

static void copy_forget(struct aw_lib_job *job)
{
    aw_jpeg_image_unref(((struct copy_job *)job)->image);
}

static bool holds(const nvjpegImage_t *destination, const struct aw_jpeg_image *image)
{
    for (unsigned i = 0; i < image->n_planes; i++)
        if (!destination->channel[i] || destination->pitch[i] < (size_t)image->plane[i].width * image->plane[i].unit)
            return false;
    return true;
}

static nvjpegStatus_t put(nvjpegHandle_t handle, struct aw_jpeg_image *image, const nvjpegImage_t *destination,
                          cudaStream_t stream)
{
    struct copy_job job = {
        .job = { .run = copy_run, .forget = copy_forget, .size = sizeof job, .n_spans = (uint8_t)image->n_planes }
    };
    struct aw_lib_queue queue = aw_jpeg_queue(handle, stream);
    int status;
    if (!holds(destination, image))
        return NVJPEG_STATUS_INVALID_PARAMETER;
    for (unsigned i = 0; i < image->n_planes; i++)
        job.job.spans[i] = (struct aw_lib_span){ .at = destination->channel[i],
                                                 .width = (size_t)image->plane[i].width * image->plane[i].unit,
                                                 .rows = image->plane[i].height, .pitch = destination->pitch[i], .count = 1,
                                                 .dir = AW_LIB_OUT };
    job.image = aw_jpeg_image_ref(image);
    return aw_jpeg_driver_status(aw_lib_submit(&queue, &job.job, AW_LIB_SMALL, &status));
}

/* ---- One file */

static nvjpegStatus_t decode(nvjpegHandle_t handle, const unsigned char *data, size_t length, struct aw_jpeg_ask ask,
                             struct aw_jpeg_image **ret_image)
{
    ask.strict = handle->flags & NVJPEG_FLAGS_BITSTREAM_STRICT;
    ask.interpolate = handle->flags & NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION;
    return aw_jpeg_decode(data, length, &ask, ret_image);
}

nvjpegStatus_t awnvjpeg_nvjpegDecode(nvjpegHandle_t handle, nvjpegJpegState_t jpeg_handle, const unsigned char *data,
                                     size_t length, nvjpegOutputFormat_t output_format, nvjpegImage_t *destination,
                                     cudaStream_t stream)
{
    struct aw_jpeg_image *image = NULL;
    if (!handle || !jpeg_handle || !data || !length || !destination)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    nvjpegStatus_t status = decode(handle, data, length, AW_JPEG_ASK(output_format), &image);
    if (status == NVJPEG_STATUS_SUCCESS)
        status = put(handle, image, destination, stream);
    aw_jpeg_image_unref(image);
    return status;
}

/* ---- Phases.  The second has nothing to do: what the host decoded goes to the device in the third. */

nvjpegStatus_t awnvjpeg_nvjpegDecodeJpegHost(nvjpegHandle_t handle, nvjpegJpegDecoder_t decoder, nvjpegJpegState_t decoder_state,
                                             nvjpegDecodeParams_t decode_params, nvjpegJpegStream_t jpeg_stream)
{
    struct aw_jpeg_image *image = NULL;
    if (!handle || !decoder || !decoder_state || !decode_params || !jpeg_stream || !jpeg_stream->data)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    struct aw_jpeg_ask ask = decode_params->ask;
    ask.tables = jpeg_stream->tables;
    ask.tables_length = jpeg_stream->tables_length;
    nvjpegStatus_t status = decode(handle, jpeg_stream->data, jpeg_stream->length, ask, &image);
    aw_jpeg_image_unref(decoder_state->image);
    decoder_state->image = image;
    return status;
}

nvjpegStatus_t awnvjpeg_nvjpegDecodeJpegTransferToDevice(nvjpegHandle_t handle, nvjpegJpegDecoder_t decoder,
                                                         nvjpegJpegState_t decoder_state, nvjpegJpegStream_t jpeg_stream,
                                                         cudaStream_t stream)
{
    bool good = handle && decoder && decoder_state && jpeg_stream && decoder_state->image;
    return good ? NVJPEG_STATUS_SUCCESS : NVJPEG_STATUS_INVALID_PARAMETER;
}

nvjpegStatus_t awnvjpeg_nvjpegDecodeJpegDevice(nvjpegHandle_t handle, nvjpegJpegDecoder_t decoder,
                                               nvjpegJpegState_t decoder_state, nvjpegImage_t *destination, cudaStream_t stream)
{
    if (!handle || !decoder || !decoder_state || !decoder_state->image || !destination)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    return put(handle, decoder_state->image, destination, stream);
}

nvjpegStatus_t awnvjpeg_nvjpegDecodeJpeg(nvjpegHandle_t handle, nvjpegJpegDecoder_t decoder, nvjpegJpegState_t decoder_state,
                                         nvjpegJpegStream_t jpeg_bitstream, nvjpegImage_t *destination,
                                         nvjpegDecodeParams_t decode_params, cudaStream_t stream)
{
    nvjpegStatus_t status = awnvjpeg_nvjpegDecodeJpegHost(handle, decoder, decoder_state, decode_params, jpeg_bitstream);
    return status == NVJPEG_STATUS_SUCCESS ? awnvjpeg_nvjpegDecodeJpegDevice(handle, decoder, decoder_state, destination, stream)
                                           : status;
}

/* ---- Batches: all files are decoded before the first result is written. */

nvjpegStatus_t awnvjpeg_nvjpegDecodeBatchedInitialize(nvjpegHandle_t handle, nvjpegJpegState_t jpeg_handle, int batch_size,
                                                      int max_cpu_threads, nvjpegOutputFormat_t output_format)
{
    if (!handle || !jpeg_handle || batch_size <= 0 || max_cpu_threads < 0 || output_format < NVJPEG_OUTPUT_UNCHANGED ||
        output_format > NVJPEG_OUTPUT_UNCHANGEDI)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    jpeg_handle->batch = batch_size;
    jpeg_handle->batch_format = output_format;
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t awnvjpeg_nvjpegDecodeBatchedPreAllocate(nvjpegHandle_t handle, nvjpegJpegState_t jpeg_handle, int batch_size,
                                                       int width, int height, nvjpegChromaSubsampling_t chroma_subsampling,
                                                       nvjpegOutputFormat_t output_format)
{
    bool good = handle && jpeg_handle && batch_size > 0 && width > 0 && height > 0;
    return good ? NVJPEG_STATUS_SUCCESS : NVJPEG_STATUS_INVALID_PARAMETER;
}

nvjpegStatus_t awnvjpeg_nvjpegDecodeBatchedParseJpegTables(nvjpegHandle_t handle, nvjpegJpegState_t jpeg_handle,
                                                           const unsigned char *data, const size_t length)
{
    if (!handle || !jpeg_handle || !data || !length)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    return aw_jpeg_keep(data, length, &jpeg_handle->tables, &jpeg_handle->tables_length);
}

static nvjpegStatus_t batch_file(nvjpegHandle_t handle, nvjpegJpegState_t state, const unsigned char *data, size_t length,
                                 nvjpegDecodeParams_t params, struct aw_jpeg_image **ret_image)
{
    struct aw_jpeg_info info;
    struct aw_jpeg_ask ask = params ? params->ask : AW_JPEG_ASK(state->batch_format);
    if (!data || !length)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    ask.format = state->batch_format;
    ask.tables = state->tables;
    ask.tables_length = state->tables_length;
    nvjpegStatus_t status = aw_jpeg_scan(data, length, &info);
    if (status == NVJPEG_STATUS_SUCCESS && info.n_components > 3)
        status = NVJPEG_STATUS_JPEG_NOT_SUPPORTED;
    return status == NVJPEG_STATUS_SUCCESS ? decode(handle, data, length, ask, ret_image) : status;
}

nvjpegStatus_t awnvjpeg_nvjpegDecodeBatchedEx(nvjpegHandle_t handle, nvjpegJpegState_t jpeg_handle,
                                              const unsigned char *const *data, const size_t *lengths,
                                              nvjpegImage_t *destinations, nvjpegDecodeParams_t *decode_params,
                                              cudaStream_t stream)
{
    if (!handle || !jpeg_handle || !jpeg_handle->batch || !data || !lengths || !destinations)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    int n = jpeg_handle->batch;
    struct aw_jpeg_image **images = calloc((size_t)n, sizeof *images);
    nvjpegStatus_t status = images ? NVJPEG_STATUS_SUCCESS : NVJPEG_STATUS_ALLOCATOR_FAILURE;
    for (int i = 0; i < n && status == NVJPEG_STATUS_SUCCESS; i++)
        status = batch_file(handle, jpeg_handle, data[i], lengths[i], decode_params ? decode_params[i] : NULL, &images[i]);
    for (int i = 0; i < n && status == NVJPEG_STATUS_SUCCESS; i++)
        status = put(handle, images[i], &destinations[i], stream);
    for (int i = 0; images && i < n; i++)
        aw_jpeg_image_unref(images[i]);
    free(images);
    return status;
}

nvjpegStatus_t awnvjpeg_nvjpegDecodeBatched(nvjpegHandle_t handle, nvjpegJpegState_t jpeg_handle,
                                            const unsigned char *const *data, const size_t *lengths, nvjpegImage_t *destinations,
                                            cudaStream_t stream)
{
    return awnvjpeg_nvjpegDecodeBatchedEx(handle, jpeg_handle, data, lengths, destinations, NULL, stream);
}
