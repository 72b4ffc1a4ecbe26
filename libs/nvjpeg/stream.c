/* Files that were looked at (nvjpegJpegStream), and the question for one's sizes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "handle.h"
#include "nvjpeg_proto.h"

nvjpegStatus_t awnvjpeg_nvjpegJpegStreamCreate(nvjpegHandle_t handle, nvjpegJpegStream_t *jpeg_stream)
{
    if (!handle || !jpeg_stream)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    struct nvjpegJpegStream *s = calloc(1, sizeof *s);
    if (!s)
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    *jpeg_stream = s;
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t awnvjpeg_nvjpegJpegStreamDestroy(nvjpegJpegStream_t jpeg_stream)
{
    if (!jpeg_stream)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    free(jpeg_stream->copy);
    free(jpeg_stream->tables);
    free(jpeg_stream);
    return NVJPEG_STATUS_SUCCESS;
}

/* What was known of another file goes, tables excepted. */
static nvjpegStatus_t parse(nvjpegHandle_t handle, const unsigned char *data, size_t length, nvjpegJpegStream_t s)
{
    struct aw_jpeg_info info;
    if (!handle || !data || !length || !s)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    free(s->copy);
    s->copy = NULL;
    s->data = NULL;
    s->parsed = false;
    nvjpegStatus_t status = aw_jpeg_scan(data, length, &info);
    if (status == NVJPEG_STATUS_SUCCESS) {
        s->info = info;
        s->parsed = true;
    }
    return status;
}

/* Metadata is of use to encoders alone, which take none (nvjpegEncoderParamsCopyMetadata). */
nvjpegStatus_t awnvjpeg_nvjpegJpegStreamParse(nvjpegHandle_t handle, const unsigned char *data, size_t length, int save_metadata,
                                              int save_stream, nvjpegJpegStream_t jpeg_stream)
{
    nvjpegStatus_t status = parse(handle, data, length, jpeg_stream);
    if (status != NVJPEG_STATUS_SUCCESS)
        return status;
    jpeg_stream->data = data;
    jpeg_stream->length = length;
    if (save_stream) {
        status = aw_jpeg_keep(data, length, &jpeg_stream->copy, &jpeg_stream->length);
        jpeg_stream->data = jpeg_stream->copy;
    }
    return status;
}

nvjpegStatus_t awnvjpeg_nvjpegJpegStreamParseHeader(nvjpegHandle_t handle, const unsigned char *data, size_t length,
                                                    nvjpegJpegStream_t jpeg_stream)
{
    return parse(handle, data, length, jpeg_stream);
}

nvjpegStatus_t awnvjpeg_nvjpegJpegStreamParseTables(nvjpegHandle_t handle, const unsigned char *data, size_t length,
                                                    nvjpegJpegStream_t jpeg_stream)
{
    if (!handle || !data || !length || !jpeg_stream)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    return aw_jpeg_keep(data, length, &jpeg_stream->tables, &jpeg_stream->tables_length);
}

/* ---- Questions */

#define QUESTION(Name, Type, arg, value)                                                            \
    nvjpegStatus_t awnvjpeg_nvjpegJpegStreamGet##Name(nvjpegJpegStream_t jpeg_stream, Type *arg)    \
    {                                                                                               \
        if (!jpeg_stream || !arg || !jpeg_stream->parsed)                                           \
            return NVJPEG_STATUS_INVALID_PARAMETER;                                                 \
        *arg = (value);                                                                             \
        return NVJPEG_STATUS_SUCCESS;                                                               \
    }
QUESTION(JpegEncoding, nvjpegJpegEncoding_t, jpeg_encoding,
         jpeg_stream->info.sof <= NVJPEG_ENCODING_LOSSLESS_HUFFMAN ? (nvjpegJpegEncoding_t)jpeg_stream->info.sof
                                                                   : NVJPEG_ENCODING_UNKNOWN)
QUESTION(ComponentsNum, unsigned int, components_num, jpeg_stream->info.n_components)
QUESTION(ExifOrientation, nvjpegExifOrientation_t, orientation_flag, jpeg_stream->info.orientation)
QUESTION(SamplePrecision, unsigned int, precision, jpeg_stream->info.precision)
QUESTION(ChromaSubsampling, nvjpegChromaSubsampling_t, chroma_subsampling, aw_jpeg_subsampling(&jpeg_stream->info))

nvjpegStatus_t awnvjpeg_nvjpegJpegStreamGetFrameDimensions(nvjpegJpegStream_t jpeg_stream, unsigned int *width,
                                                           unsigned int *height)
{
    if (!jpeg_stream || !width || !height || !jpeg_stream->parsed)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    *width = jpeg_stream->info.width;
    *height = jpeg_stream->info.height;
    return NVJPEG_STATUS_SUCCESS;
}

static void dimensions(const struct aw_jpeg_info *info, unsigned c, unsigned *ret_width, unsigned *ret_height)
{
    *ret_width = aw_jpeg_samples(info->width, info->component[c].h, info->h_max);
    *ret_height = aw_jpeg_samples(info->height, info->component[c].v, info->v_max);
}

nvjpegStatus_t awnvjpeg_nvjpegJpegStreamGetComponentDimensions(nvjpegJpegStream_t jpeg_stream, unsigned int component,
                                                               unsigned int *width, unsigned int *height)
{
    if (!jpeg_stream || !width || !height || !jpeg_stream->parsed || component >= jpeg_stream->info.n_components)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    dimensions(&jpeg_stream->info, component, width, height);
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t awnvjpeg_nvjpegGetImageInfo(nvjpegHandle_t handle, const unsigned char *data, size_t length, int *nComponents,
                                           nvjpegChromaSubsampling_t *subsampling, int *widths, int *heights)
{
    struct aw_jpeg_info info;
    if (!handle || !data || !length || !nComponents || !subsampling || !widths || !heights)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    nvjpegStatus_t status = aw_jpeg_scan(data, length, &info);
    if (status != NVJPEG_STATUS_SUCCESS)
        return status;
    *nComponents = info.n_components;
    *subsampling = aw_jpeg_subsampling(&info);
    for (unsigned c = 0; c < NVJPEG_MAX_COMPONENT; c++) {
        unsigned width = 0, height = 0;
        if (c < info.n_components)
            dimensions(&info, c, &width, &height);
        widths[c] = (int)width;
        heights[c] = (int)height;
    }
    return NVJPEG_STATUS_SUCCESS;
}
