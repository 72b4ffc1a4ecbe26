/* Encoding by libjpeg-turbo: an image of the program's becomes a file, which stays with the encoder's state until the next.  The
 * call waits for the stream, as a file's length is known only then. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "nvjpeg_proto.h"
#include "turbo.h"

struct nvjpegEncoderState {
    uint8_t *file;
    size_t length; /* 0: there is none */
};

struct nvjpegEncoderParams {
    int quality, optimized;
    nvjpegJpegEncoding_t encoding;
    nvjpegChromaSubsampling_t subsampling;
    unsigned restart;
    bool own_tables; /* in place of the quality's */
    bool own_codes;  /* in place of the standard's, where none are made for the picture */
    struct aw_jpeg_tables tables;
    uint8_t *metadata; /* markers of another file, owned */
    size_t metadata_length;
};

/* ---- States and parameters */

static nvjpegStatus_t state_create(nvjpegHandle_t handle, nvjpegEncoderState_t *encoder_state)
{
    if (!handle || !encoder_state)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    struct nvjpegEncoderState *s = calloc(1, sizeof *s);
    if (!s)
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    *encoder_state = s;
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t awnvjpeg_nvjpegEncoderStateCreate(nvjpegHandle_t handle, nvjpegEncoderState_t *encoder_state, cudaStream_t stream)
{
    return state_create(handle, encoder_state);
}

nvjpegStatus_t awnvjpeg_nvjpegEncoderStateCreateWithBackend(nvjpegHandle_t handle, nvjpegEncoderState_t *encoder_state,
                                                            nvjpegEncBackend_t backend, cudaStream_t stream)
{
    if (backend < NVJPEG_ENC_BACKEND_DEFAULT || backend > NVJPEG_ENC_BACKEND_HARDWARE)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    return backend == NVJPEG_ENC_BACKEND_HARDWARE ? NVJPEG_STATUS_ARCH_MISMATCH : state_create(handle, encoder_state);
}

nvjpegStatus_t awnvjpeg_nvjpegEncoderStateDestroy(nvjpegEncoderState_t encoder_state)
{
    if (!encoder_state)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    free(encoder_state->file);
    free(encoder_state);
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t awnvjpeg_nvjpegEncoderParamsCreate(nvjpegHandle_t handle, nvjpegEncoderParams_t *encoder_params,
                                                  cudaStream_t stream)
{
    if (!handle || !encoder_params)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    struct nvjpegEncoderParams *p = malloc(sizeof *p);
    if (!p)
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    *p = (struct nvjpegEncoderParams){ .quality = 70, .encoding = NVJPEG_ENCODING_BASELINE_DCT, .subsampling = NVJPEG_CSS_444 };
    *encoder_params = p;
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t awnvjpeg_nvjpegEncoderParamsDestroy(nvjpegEncoderParams_t encoder_params)
{
    if (!encoder_params)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    free(encoder_params->metadata);
    free(encoder_params);
    return NVJPEG_STATUS_SUCCESS;
}

#define PARAMETER(Name, Type, arg, good, member)                                                                     \
    nvjpegStatus_t awnvjpeg_nvjpegEncoderParamsSet##Name(nvjpegEncoderParams_t encoder_params, Type arg,             \
                                                         cudaStream_t stream)                                        \
    {                                                                                                                \
        (void)stream;                                                                                                \
        if (!encoder_params || !(good))                                                                              \
            return NVJPEG_STATUS_INVALID_PARAMETER;                                                                  \
        encoder_params->member = arg;                                                                                \
        return NVJPEG_STATUS_SUCCESS;                                                                                \
    }
PARAMETER(OptimizedHuffman, const int, optimized, true, optimized)
PARAMETER(Encoding, nvjpegJpegEncoding_t, etype,
          etype == NVJPEG_ENCODING_BASELINE_DCT || etype == NVJPEG_ENCODING_PROGRESSIVE_DCT_HUFFMAN, encoding)
PARAMETER(SamplingFactors, const nvjpegChromaSubsampling_t, chroma_subsampling,
          chroma_subsampling >= NVJPEG_CSS_444 && chroma_subsampling <= NVJPEG_CSS_410V, subsampling)
PARAMETER(RestartInterval, unsigned int, restart_interval, restart_interval <= 65535, restart)

/* The last of the two counts: a quality, or another file's tables. */
nvjpegStatus_t awnvjpeg_nvjpegEncoderParamsSetQuality(nvjpegEncoderParams_t encoder_params, const int quality,
                                                      cudaStream_t stream)
{
    if (!encoder_params || quality < 1 || quality > 100)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    encoder_params->quality = quality;
    encoder_params->own_tables = false;
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t awnvjpeg_nvjpegEncoderParamsCopyQuantizationTables(nvjpegEncoderParams_t encode_params,
                                                                  nvjpegJpegStream_t jpeg_stream, cudaStream_t stream)
{
    struct aw_jpeg_tables tables;
    if (!encode_params || !jpeg_stream || !jpeg_stream->data)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    nvjpegStatus_t status = aw_jpeg_tables(jpeg_stream->data, jpeg_stream->length, &tables);
    if (status != NVJPEG_STATUS_SUCCESS)
        return status;
    memcpy(encode_params->tables.quantisation, tables.quantisation, sizeof tables.quantisation);
    encode_params->own_tables = true;
    return status;
}

/* Codes that lack one for what the picture has are an error when it is encoded. */
nvjpegStatus_t awnvjpeg_nvjpegEncoderParamsCopyHuffmanTables(nvjpegEncoderState_t encoder_state,
                                                             nvjpegEncoderParams_t encode_params,
                                                             nvjpegJpegStream_t jpeg_stream, cudaStream_t stream)
{
    struct aw_jpeg_tables tables;
    if (!encode_params || !jpeg_stream || !jpeg_stream->data)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    nvjpegStatus_t status = aw_jpeg_tables(jpeg_stream->data, jpeg_stream->length, &tables);
    if (status == NVJPEG_STATUS_SUCCESS && !tables.has_codes)
        status = NVJPEG_STATUS_JPEG_NOT_SUPPORTED;
    if (status != NVJPEG_STATUS_SUCCESS)
        return status;
    memcpy(encode_params->tables.dc, tables.dc, sizeof tables.dc);
    memcpy(encode_params->tables.ac, tables.ac, sizeof tables.ac);
    encode_params->own_codes = true;
    return status;
}

nvjpegStatus_t awnvjpeg_nvjpegEncoderParamsCopyMetadata(nvjpegEncoderState_t encoder_state, nvjpegEncoderParams_t encode_params,
                                                        nvjpegJpegStream_t jpeg_stream, cudaStream_t stream)
{
    if (!encode_params || !jpeg_stream || !jpeg_stream->data)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    size_t length = 0;
    nvjpegStatus_t status = aw_jpeg_metadata(jpeg_stream->data, jpeg_stream->length, NULL, &length);
    uint8_t *metadata = status == NVJPEG_STATUS_SUCCESS ? malloc(length + 1) : NULL;
    if (!metadata)
        return status == NVJPEG_STATUS_SUCCESS ? NVJPEG_STATUS_ALLOCATOR_FAILURE : status;
    aw_jpeg_metadata(jpeg_stream->data, jpeg_stream->length, metadata, &length);
    free(encode_params->metadata);
    encode_params->metadata = metadata;
    encode_params->metadata_length = length;
    return NVJPEG_STATUS_SUCCESS;
}

enum { LONGEST_SIDE = 65500 };

static bool size_fits(int width, int height)
{
    return width > 0 && height > 0 && width <= LONGEST_SIDE && height <= LONGEST_SIDE;
}

nvjpegStatus_t awnvjpeg_nvjpegEncodeGetBufferSize(nvjpegHandle_t handle, const nvjpegEncoderParams_t encoder_params,
                                                  int image_width, int image_height, size_t *max_stream_length)
{
    enum { BLOCK = 32, HEADER = 4096, BYTES = 8 };
    if (!handle || !encoder_params || !max_stream_length || !size_fits(image_width, image_height))
        return NVJPEG_STATUS_INVALID_PARAMETER;
    size_t w = ((size_t)image_width + BLOCK - 1) & ~(size_t)(BLOCK - 1),
           h = ((size_t)image_height + BLOCK - 1) & ~(size_t)(BLOCK - 1);
    *max_stream_length = w * h * BYTES + HEADER;
    return NVJPEG_STATUS_SUCCESS;
}

#ifdef AW_HAVE_LIBJPEG

/* ---- The job: lines of three bytes a pixel to libjpeg */

struct encode_job {
    struct aw_lib_job job;
    struct nvjpegEncoderParams params;
    nvjpegInputFormat_t format;
    unsigned width, height;
    unsigned x_step, y_step; /* pixels for one sample of chrominance, in YUV and NV12; 0: there is none */
    struct aw_turbo_sink *sink;
};

/* One encoding, outside of the function that setjmp returns to twice. */
struct encoding {
    struct jpeg_compress_struct cinfo;
    struct aw_turbo_errors errors;
    bool made;
    uint8_t *line;
};

static bool is_rgb(nvjpegInputFormat_t format)
{
    return format >= NVJPEG_INPUT_RGB && format <= NVJPEG_INPUT_BGRI;
}

static const uint8_t *row_of(const struct encode_job *j, unsigned plane, unsigned y)
{
    return (const uint8_t *)j->job.spans[plane].at + y * j->job.spans[plane].pitch;
}

static void make_line(const struct encode_job *j, unsigned y, uint8_t *line)
{
    const uint8_t *row[3] = { row_of(j, 0, y) };
    unsigned chroma = j->y_step ? y / j->y_step : y, step = 1, x_step = j->x_step ? j->x_step : 1;
    if (j->format == NVJPEG_INPUT_NV12) {
        row[1] = row_of(j, 1, chroma);
        row[2] = row[1] + 1;
        step = 2;
    } else {
        row[1] = row_of(j, 1, chroma);
        row[2] = row_of(j, 2, chroma);
    }
    for (unsigned x = 0; x < j->width; x++) {
        line[3 * (size_t)x] = row[0][x];
        line[3 * (size_t)x + 1] = row[1][x / x_step * step];
        line[3 * (size_t)x + 2] = row[2][x / x_step * step];
    }
}

static void write_lines(const struct encode_job *j, struct encoding *e)
{
    bool as_is = j->job.n_spans == 1;
    for (unsigned y = 0; y < j->height; y++) {
        JSAMPROW row = as_is ? (JSAMPROW)(uintptr_t)row_of(j, 0, y) : e->line;
        if (!as_is)
            make_line(j, y, e->line);
        aw_turbo.jpeg_write_scanlines(&e->cinfo, &row, 1);
    }
}

static J_COLOR_SPACE input_space(const struct encode_job *j)
{
    bool bgr = j->format == NVJPEG_INPUT_BGR || j->format == NVJPEG_INPUT_BGRI;
    if (is_rgb(j->format))
        return bgr ? JCS_EXT_BGR : JCS_EXT_RGB;
    return j->job.n_spans == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
}

static bool is_gray(const struct encode_job *j)
{
    return j->params.subsampling == NVJPEG_CSS_GRAY || input_space(j) == JCS_GRAYSCALE;
}

static void write_code(JHUFF_TBL *table, const struct aw_jpeg_code *code)
{
    memcpy(table->bits, code->bits, sizeof code->bits);
    memcpy(table->huffval, code->values, sizeof code->values);
}

/* Another file's markers, in its order.  What libjpeg says itself, of the colours and in the JFIF header, it says of this
 * file. */
static void write_metadata(const struct encode_job *j, struct encoding *e)
{
    const uint8_t *at = j->params.metadata, *end = at + j->params.metadata_length;
    for (unsigned size; at < end; at += 1 + size) {
        size = (unsigned)at[1] << 8 | at[2];
        aw_turbo.jpeg_write_marker(&e->cinfo, at[0], at + 3, size - 2);
    }
}

static void set_up(const struct encode_job *j, struct encoding *e)
{
    struct jpeg_compress_struct *c = &e->cinfo;
    unsigned h = 1, v = 1;
    c->image_width = j->width;
    c->image_height = j->height;
    c->in_color_space = input_space(j);
    c->input_components = c->in_color_space == JCS_GRAYSCALE ? 1 : 3;
    aw_turbo.jpeg_set_defaults(c);
    bool gray = is_gray(j);
    aw_turbo.jpeg_set_colorspace(c, gray ? JCS_GRAYSCALE : JCS_YCbCr);
    aw_turbo.jpeg_set_quality(c, j->params.quality, TRUE);
    for (int i = 0; j->params.own_tables && i < 2; i++)
        for (int k = 0; k < AW_JPEG_QUANT; k++)
            c->quant_tbl_ptrs[i]->quantval[k] = j->params.tables.quantisation[i][k];
    for (int i = 0; j->params.own_codes && i < 2; i++) {
        write_code(c->dc_huff_tbl_ptrs[i], &j->params.tables.dc[i]);
        write_code(c->ac_huff_tbl_ptrs[i], &j->params.tables.ac[i]);
    }
    if (!gray)
        aw_jpeg_ratio(j->params.subsampling, &h, &v);
    c->comp_info[0].h_samp_factor = (int)h;
    c->comp_info[0].v_samp_factor = (int)v;
    c->dct_method = JDCT_ISLOW;
    c->optimize_coding = j->params.optimized != 0;
    c->restart_interval = j->params.restart;
    if (j->params.encoding == NVJPEG_ENCODING_PROGRESSIVE_DCT_HUFFMAN)
        aw_turbo.jpeg_simple_progression(c);
}

static nvjpegStatus_t encode(const struct encode_job *j, struct encoding *e)
{
    struct jpeg_compress_struct *c = &e->cinfo;
    aw_turbo_errors_init(&e->errors);
    c->err = &e->errors.base;
    if (setjmp(e->errors.jump)) {
        nvjpegStatus_t status = aw_turbo_status(&e->errors);
        return status == NVJPEG_STATUS_BAD_JPEG ? NVJPEG_STATUS_EXECUTION_FAILED : status;
    }
    aw_turbo.jpeg_CreateCompress(c, JPEG_LIB_VERSION, sizeof *c);
    e->made = true;
    c->dest = &j->sink->base;
    set_up(j, e);
    aw_turbo.jpeg_start_compress(c, TRUE);
    if (j->params.metadata)
        write_metadata(j, e);
    write_lines(j, e);
    aw_turbo.jpeg_finish_compress(c);
    return NVJPEG_STATUS_SUCCESS;
}

static nvjpegStatus_t encode_once(const struct encode_job *j)
{
    struct encoding e = { .line = malloc(3 * (size_t)j->width) };
    nvjpegStatus_t status = e.line ? encode(j, &e) : NVJPEG_STATUS_ALLOCATOR_FAILURE;
    if (e.made)
        aw_turbo.jpeg_destroy_compress(&e.cinfo);
    free(e.line);
    return status;
}

/* Has `in` a code for whatever `of` has one for? */
static bool has_codes(const struct aw_jpeg_code *in, const struct aw_jpeg_code *of)
{
    bool there[256] = { false };
    unsigned n = 0, wanted = 0;
    for (int i = 1; i <= 16; i++) {
        n += in->bits[i];
        wanted += of->bits[i];
    }
    for (unsigned i = 0; i < n && i < 256; i++)
        there[in->values[i]] = true;
    for (unsigned i = 0; i < wanted && i < 256; i++)
        if (!there[of->values[i]])
            return false;
    return true;
}

/* libjpeg-turbo writes nothing where a code is missing, and says nothing.  What a picture needs is what is in the codes that are
 * made for it alone. */
static nvjpegStatus_t codes_suffice(const struct encode_job *j)
{
    struct encode_job trial = *j;
    struct aw_turbo_sink sink;
    struct aw_jpeg_tables needed;
    aw_turbo_sink_init(&sink);
    trial.sink = &sink;
    trial.params.optimized = 1;
    nvjpegStatus_t status = encode_once(&trial);
    if (status == NVJPEG_STATUS_SUCCESS)
        status = aw_jpeg_tables(sink.data, sink.length, &needed);
    free(sink.data);
    for (int i = 0; status == NVJPEG_STATUS_SUCCESS && i < (is_gray(j) ? 1 : 2); i++)
        if (!has_codes(&j->params.tables.dc[i], &needed.dc[i]) || !has_codes(&j->params.tables.ac[i], &needed.ac[i]))
            status = NVJPEG_STATUS_EXECUTION_FAILED;
    return status;
}

static void encode_run(struct aw_lib_job *job)
{
    const struct encode_job *j = (const struct encode_job *)job;
    bool with_own = j->params.own_codes && !j->params.optimized && j->params.encoding == NVJPEG_ENCODING_BASELINE_DCT;
    nvjpegStatus_t status = with_own ? codes_suffice(j) : NVJPEG_STATUS_SUCCESS;
    job->status = (int)(status == NVJPEG_STATUS_SUCCESS ? encode_once(j) : status);
}

/* ---- What the program gives */

static unsigned input_planes(const struct encode_job *j)
{
    switch (j->format) {
    case NVJPEG_INPUT_RGBI:
    case NVJPEG_INPUT_BGRI: return 1;
    case NVJPEG_INPUT_NV12: return 2;
    case NVJPEG_INPUT_YUV: return j->x_step ? 3 : 1;
    default: return 3;
    }
}

static nvjpegStatus_t spans_of(struct encode_job *j, const nvjpegImage_t *source)
{
    j->job.n_spans = (uint8_t)input_planes(j);
    for (unsigned i = 0; i < j->job.n_spans; i++) {
        size_t width = j->width, rows = j->height;
        if (i && !is_rgb(j->format)) {
            width = aw_jpeg_samples(j->width, 1, j->x_step) * (j->format == NVJPEG_INPUT_NV12 ? 2u : 1u);
            rows = aw_jpeg_samples(j->height, 1, j->y_step);
        } else if (is_rgb(j->format) && j->job.n_spans == 1) {
            width *= 3;
        }
        if (!source->channel[i] || source->pitch[i] < width)
            return NVJPEG_STATUS_INVALID_PARAMETER;
        j->job.spans[i] = (struct aw_lib_span){ .at = source->channel[i], .width = width, .rows = rows, .pitch = source->pitch[i],
                                                .count = 1, .dir = AW_LIB_IN };
    }
    return NVJPEG_STATUS_SUCCESS;
}

/* The layout of the chrominance that comes in; false: it has none such. */
static bool input_layout(struct encode_job *j, nvjpegChromaSubsampling_t input)
{
    if (is_rgb(j->format))
        return true;
    if (j->format == NVJPEG_INPUT_NV12)
        input = NVJPEG_CSS_420;
    else if (j->format != NVJPEG_INPUT_YUV)
        return false;
    return input == NVJPEG_CSS_GRAY || aw_jpeg_ratio(input, &j->x_step, &j->y_step);
}

static nvjpegStatus_t submit(nvjpegHandle_t handle, nvjpegEncoderState_t state, struct encode_job *j, cudaStream_t stream)
{
    struct aw_turbo_sink sink;
    struct aw_lib_queue queue = aw_jpeg_queue(handle, stream);
    int status = 0;
    aw_turbo_sink_init(&sink);
    j->sink = &sink;
    nvjpegStatus_t result = aw_jpeg_driver_status(aw_lib_submit(&queue, &j->job, AW_LIB_DONE, &status));
    result = result == NVJPEG_STATUS_SUCCESS ? (nvjpegStatus_t)status : result;
    if (result != NVJPEG_STATUS_SUCCESS) {
        free(sink.data);
        return result;
    }
    state->file = sink.data;
    state->length = sink.length;
    return result;
}

static nvjpegStatus_t give(nvjpegHandle_t handle, nvjpegEncoderState_t state, const nvjpegEncoderParams_t params,
                           const nvjpegImage_t *source, nvjpegChromaSubsampling_t input, nvjpegInputFormat_t format, int width,
                           int height, cudaStream_t stream)
{
    if (!handle || !state || !params || !source || !size_fits(width, height))
        return NVJPEG_STATUS_INVALID_PARAMETER;
    struct encode_job j = { .job = { .run = encode_run, .size = sizeof j }, .params = *params, .format = format,
                            .width = (unsigned)width, .height = (unsigned)height };
    if (!input_layout(&j, input))
        return NVJPEG_STATUS_INVALID_PARAMETER;
    nvjpegStatus_t status = spans_of(&j, source);
    if (status != NVJPEG_STATUS_SUCCESS)
        return status;
    free(state->file);
    *state = (struct nvjpegEncoderState){ 0 };
    return submit(handle, state, &j, stream);
}

#else

static nvjpegStatus_t give(nvjpegHandle_t handle, nvjpegEncoderState_t state, const nvjpegEncoderParams_t params,
                           const nvjpegImage_t *source, nvjpegChromaSubsampling_t input, nvjpegInputFormat_t format, int width,
                           int height, cudaStream_t stream)
{
    return NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED;
}

#endif

nvjpegStatus_t awnvjpeg_nvjpegEncodeImage(nvjpegHandle_t handle, nvjpegEncoderState_t encoder_state,
                                          const nvjpegEncoderParams_t encoder_params, const nvjpegImage_t *source,
                                          nvjpegInputFormat_t input_format, int image_width, int image_height,
                                          cudaStream_t stream)
{
    if (input_format < NVJPEG_INPUT_RGB || input_format > NVJPEG_INPUT_BGRI)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    return give(handle, encoder_state, encoder_params, source, NVJPEG_CSS_444, input_format, image_width, image_height, stream);
}

nvjpegStatus_t awnvjpeg_nvjpegEncodeYUV(nvjpegHandle_t handle, nvjpegEncoderState_t encoder_state,
                                        const nvjpegEncoderParams_t encoder_params, const nvjpegImage_t *source,
                                        nvjpegChromaSubsampling_t chroma_subsampling, int image_width, int image_height,
                                        cudaStream_t stream)
{
    return give(handle, encoder_state, encoder_params, source, chroma_subsampling, NVJPEG_INPUT_YUV, image_width, image_height,
                stream);
}

nvjpegStatus_t awnvjpeg_nvjpegEncode(nvjpegHandle_t handle, nvjpegEncoderState_t encoder_state,
                                     const nvjpegEncoderParams_t encoder_params, const nvjpegImage_t *source,
                                     nvjpegChromaSubsampling_t input_subsampling, nvjpegInputFormat_t input_format,
                                     int image_width, int image_height, cudaStream_t stream)
{
    return give(handle, encoder_state, encoder_params, source, input_subsampling, input_format, image_width, image_height,
                stream);
}

/* ---- The file to the program */

/* Its length, where `data` is NULL; else *length is the room there is, and becomes what was written. */
static nvjpegStatus_t room_for(nvjpegHandle_t handle, nvjpegEncoderState_t state, const unsigned char *data, size_t *length)
{
    if (!handle || !state || !length || !state->length || (data && *length < state->length))
        return NVJPEG_STATUS_INVALID_PARAMETER;
    *length = state->length;
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t awnvjpeg_nvjpegEncodeRetrieveBitstream(nvjpegHandle_t handle, nvjpegEncoderState_t encoder_state,
                                                      unsigned char *data, size_t *length, cudaStream_t stream)
{
    nvjpegStatus_t status = room_for(handle, encoder_state, data, length);
    if (status == NVJPEG_STATUS_SUCCESS && data)
        memcpy(data, encoder_state->file, *length);
    return status;
}

struct file_job {
    struct aw_lib_job job;
    uint8_t *file;
};

static void file_run(struct aw_lib_job *job)
{
    memcpy(job->spans[0].at, ((struct file_job *)job)->file, job->spans[0].width);
}

static void file_forget(struct aw_lib_job *job)
{
    free(((struct file_job *)job)->file);
}

nvjpegStatus_t awnvjpeg_nvjpegEncodeRetrieveBitstreamDevice(nvjpegHandle_t handle, nvjpegEncoderState_t encoder_state,
                                                            unsigned char *data, size_t *length, cudaStream_t stream)
{
    nvjpegStatus_t status = room_for(handle, encoder_state, data, length);
    if (status != NVJPEG_STATUS_SUCCESS || !data)
        return status;
    struct file_job j = { .job = { .run = file_run, .forget = file_forget, .size = sizeof j, .n_spans = 1 } };
    struct aw_lib_queue queue = aw_jpeg_queue(handle, stream);
    size_t copied;
    int ran;
    status = aw_jpeg_keep(encoder_state->file, *length, &j.file, &copied);
    if (status != NVJPEG_STATUS_SUCCESS)
        return status;
    j.job.spans[0] = (struct aw_lib_span){
        .at = data, .width = *length, .rows = 1, .pitch = *length, .count = 1, .dir = AW_LIB_OUT
    };
    return aw_jpeg_driver_status(aw_lib_submit(&queue, &j.job, AW_LIB_SMALL, &ran));
}
