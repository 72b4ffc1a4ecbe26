/* A file becomes an image: see image.h.  libjpeg-turbo decodes; what it has no output for is made of its planes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "turbo.h"

static bool is_rgb(nvjpegOutputFormat_t format)
{
    return format >= NVJPEG_OUTPUT_RGB && format <= NVJPEG_OUTPUT_BGRI;
}

static bool same_factors(const struct aw_jpeg_info *info)
{
    for (unsigned i = 0; i < info->n_components; i++)
        if (info->component[i].h != info->h_max || info->component[i].v != info->v_max)
            return false;
    return true;
}

static bool format_fits(const struct aw_jpeg_info *info, const struct aw_jpeg_ask *ask)
{
    unsigned n = info->n_components;
    switch (ask->format) {
    case NVJPEG_OUTPUT_UNCHANGED: return n == 1 || n >= 3;
    case NVJPEG_OUTPUT_UNCHANGEDI: return same_factors(info);
    case NVJPEG_OUTPUT_YUV:
    case NVJPEG_OUTPUT_Y: return n == 1 || n == 3;
    case NVJPEG_OUTPUT_NV12: return aw_jpeg_subsampling(info) == NVJPEG_CSS_420;
    case NVJPEG_OUTPUT_YUY2: return aw_jpeg_subsampling(info) == NVJPEG_CSS_422;
    default: return is_rgb(ask->format) && (n == 1 || n == 3 || (n == 4 && ask->allow_cmyk));
    }
}

nvjpegStatus_t aw_jpeg_askable(const struct aw_jpeg_info *info, const struct aw_jpeg_ask *ask)
{
    if (ask->format < NVJPEG_OUTPUT_UNCHANGED || ask->format > NVJPEG_OUTPUT_UNCHANGEDI)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    if (info->sof > NVJPEG_ENCODING_PROGRESSIVE_DCT_HUFFMAN || info->precision != 8 || !format_fits(info, ask))
        return NVJPEG_STATUS_JPEG_NOT_SUPPORTED;
    bool turned = ask->orientation > NVJPEG_ORIENTATION_NORMAL, part = ask->width != -1;
    if (ask->scale != NVJPEG_SCALE_NONE || (turned && (part || ask->format == NVJPEG_OUTPUT_YUY2)))
        return NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED;
    return NVJPEG_STATUS_SUCCESS;
}

#ifndef AW_HAVE_LIBJPEG

nvjpegStatus_t aw_jpeg_decode(const uint8_t *data, size_t length, const struct aw_jpeg_ask *ask, struct aw_jpeg_image **ret_image)
{
    aw_turbo_open();
    return NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED;
}

nvjpegStatus_t aw_jpeg_tables(const uint8_t *data, size_t length, struct aw_jpeg_tables *ret_tables)
{
    return NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED;
}

#else

/* One file on its way.  Outside of the function that setjmp returns to twice, so that nothing in it is lost. */
struct work {
    struct jpeg_decompress_struct cinfo;
    struct aw_turbo_errors errors;
    struct aw_turbo_source source;
    const uint8_t *data;
    size_t length;
    const struct aw_jpeg_ask *ask;
    struct aw_jpeg_info info;
    bool made;
    struct aw_jpeg_image *image;
    uint8_t *rows; /* one line, or a row of blocks of each component */
    struct aw_jpeg_tables *tables; /* read_tables' result */
};

/* ---- Lines of pixels */

static void put_line(const struct aw_jpeg_image *image, unsigned y, const uint8_t *line)
{
    const struct aw_jpeg_plane *p = image->plane;
    size_t width = p->width;
    if (image->n_planes == 1) {
        memcpy(p->data + y * width * p->unit, line, width * p->unit);
        return;
    }
    for (size_t x = 0; x < width; x++)
        for (unsigned c = 0; c < 3; c++)
            p[c].data[y * width + x] = line[3 * x + c];
}

/* Ink taken away from white, as simply as can be.  Adobe's files have all of it inverted.  In place. */
static void cmyk_line(uint8_t *line, unsigned width, bool inverted, bool bgr)
{
    for (unsigned x = 0; x < width; x++) {
        const uint8_t *ink = line + 4 * (size_t)x;
        unsigned flip = inverted ? 0 : 255, black = ink[3] ^ flip, rgb[3];
        for (unsigned c = 0; c < 3; c++)
            rgb[c] = ((ink[c] ^ flip) * black + 127) / 255;
        for (unsigned c = 0; c < 3; c++)
            line[3 * (size_t)x + c] = (uint8_t)rgb[bgr ? 2 - c : c];
    }
}

static J_COLOR_SPACE space_of(const struct work *w)
{
    bool bgr = w->ask->format == NVJPEG_OUTPUT_BGR || w->ask->format == NVJPEG_OUTPUT_BGRI;
    if (w->ask->format == NVJPEG_OUTPUT_Y)
        return JCS_GRAYSCALE;
    return w->info.n_components == 4 ? JCS_CMYK : bgr ? JCS_EXT_BGR : JCS_EXT_RGB;
}

static nvjpegStatus_t decode_lines(struct work *w)
{
    struct jpeg_decompress_struct *cinfo = &w->cinfo;
    nvjpegOutputFormat_t format = w->ask->format;
    bool planar = format == NVJPEG_OUTPUT_RGB || format == NVJPEG_OUTPUT_BGR;
    struct aw_jpeg_plane plane = { NULL, w->info.width, w->info.height, planar || format == NVJPEG_OUTPUT_Y ? 1 : 3, 1, 1 };
    w->image = aw_jpeg_image_create(planar ? 3 : 1, (struct aw_jpeg_plane[]){ plane, plane, plane });
    w->rows = malloc(4 * (size_t)w->info.width);
    if (!w->image || !w->rows)
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    cinfo->out_color_space = space_of(w);
    aw_turbo.jpeg_start_decompress(cinfo);
    while (cinfo->output_scanline < cinfo->output_height) {
        unsigned y = cinfo->output_scanline;
        JSAMPROW row = w->rows;
        aw_turbo.jpeg_read_scanlines(cinfo, &row, 1);
        if (w->info.n_components == 4)
            cmyk_line(w->rows, w->info.width, cinfo->saw_Adobe_marker,
                      format == NVJPEG_OUTPUT_BGR || format == NVJPEG_OUTPUT_BGRI);
        put_line(w->image, y, w->rows);
    }
    return NVJPEG_STATUS_SUCCESS;
}

/* ---- Components as they are */

/* Where libjpeg puts a row of blocks. */
struct strip {
    uint8_t *at;
    size_t pitch;
    unsigned rows;
};

static bool strips_make(struct work *w, struct strip strips[])
{
    size_t size = 0;
    for (int c = 0; c < w->cinfo.num_components; c++) {
        const jpeg_component_info *info = &w->cinfo.comp_info[c];
        strips[c].pitch = (size_t)info->width_in_blocks * DCTSIZE;
        strips[c].rows = (unsigned)info->v_samp_factor * DCTSIZE;
        size += strips[c].pitch * strips[c].rows;
    }
    uint8_t *at = w->rows = malloc(size);
    for (int c = 0; at && c < w->cinfo.num_components; c++) {
        strips[c].at = at;
        at += strips[c].pitch * strips[c].rows;
    }
    return w->rows;
}

static struct aw_jpeg_image *components_make(const struct work *w)
{
    const struct aw_jpeg_info *info = &w->info;
    struct aw_jpeg_plane plane[NVJPEG_MAX_COMPONENT];
    for (unsigned c = 0; c < info->n_components; c++) {
        unsigned h = info->component[c].h, v = info->component[c].v;
        plane[c] = (struct aw_jpeg_plane){ NULL, aw_jpeg_samples(info->width, h, info->h_max),
                                           aw_jpeg_samples(info->height, v, info->v_max), 1,
                                           info->h_max % h ? 0 : info->h_max / h,
                                           info->v_max % v ? 0 : info->v_max / v };
    }
    return aw_jpeg_image_create(info->n_components, plane);
}

static void read_strips(struct work *w, const struct strip strips[])
{
    JSAMPROW rows[NVJPEG_MAX_COMPONENT][MAX_SAMP_FACTOR * DCTSIZE];
    JSAMPARRAY arrays[NVJPEG_MAX_COMPONENT];
    for (unsigned c = 0; c < w->info.n_components; c++) {
        arrays[c] = rows[c];
        for (unsigned r = 0; r < strips[c].rows; r++)
            rows[c][r] = strips[c].at + r * strips[c].pitch;
    }
    for (unsigned i = 0; w->cinfo.output_scanline < w->cinfo.output_height; i++) {
        aw_turbo.jpeg_read_raw_data(&w->cinfo, arrays, (JDIMENSION)w->cinfo.max_v_samp_factor * DCTSIZE);
        for (unsigned c = 0; c < w->info.n_components; c++) {
            const struct aw_jpeg_plane *p = &w->image->plane[c];
            for (unsigned r = 0, y = i * strips[c].rows; r < strips[c].rows && y < p->height; r++, y++)
                memcpy(p->data + (size_t)y * p->width, rows[c][r], p->width);
        }
    }
}

/* One plane of elements that are bytes of several: `from[i % n]`'s next each. */
static void interleave(const struct aw_jpeg_plane *to, const struct aw_jpeg_plane from[], unsigned n)
{
    size_t count = (size_t)to->width * to->height;
    for (size_t i = 0; i < count; i++)
        for (unsigned c = 0; c < n; c++)
            to->data[i * n + c] = from[c].data[i];
}

static void make_yuy2(const struct aw_jpeg_plane *to, const struct aw_jpeg_plane from[])
{
    for (unsigned y = 0; y < to->height; y++)
        for (unsigned x = 0; x < to->width; x++) {
            uint8_t *out = to->data + ((size_t)y * to->width + x) * 4;
            const uint8_t *luma = from[0].data + (size_t)y * from[0].width;
            size_t chroma = (size_t)y * from[1].width + x;
            out[0] = luma[2 * x];
            out[1] = from[1].data[chroma];
            out[2] = luma[2 * x + (2 * x + 1 < from[0].width)];
            out[3] = from[2].data[chroma];
        }
}

/* Of the components, what has fewer planes. */
static nvjpegStatus_t pack(struct work *w)
{
    nvjpegOutputFormat_t format = w->ask->format;
    struct aw_jpeg_image *from = w->image;
    struct aw_jpeg_plane plane[2] = { from->plane[0], from->plane[1] };
    if (format == NVJPEG_OUTPUT_UNCHANGED || format == NVJPEG_OUTPUT_YUV)
        return NVJPEG_STATUS_SUCCESS;
    if (format == NVJPEG_OUTPUT_NV12)
        plane[1].unit = 2;
    else if (format == NVJPEG_OUTPUT_YUY2)
        plane[0] = (struct aw_jpeg_plane){ NULL, from->plane[1].width, from->plane[0].height, 4, 2, 1 };
    else
        plane[0].unit = w->info.n_components;
    w->image = aw_jpeg_image_create(format == NVJPEG_OUTPUT_NV12 ? 2 : 1, plane);
    if (w->image && format == NVJPEG_OUTPUT_NV12) {
        interleave(&w->image->plane[0], from->plane, 1);
        interleave(&w->image->plane[1], from->plane + 1, 2);
    } else if (w->image && format == NVJPEG_OUTPUT_YUY2) {
        make_yuy2(&w->image->plane[0], from->plane);
    } else if (w->image) {
        interleave(&w->image->plane[0], from->plane, w->info.n_components);
    }
    aw_jpeg_image_unref(from);
    return w->image ? NVJPEG_STATUS_SUCCESS : NVJPEG_STATUS_ALLOCATOR_FAILURE;
}

static nvjpegStatus_t decode_components(struct work *w)
{
    struct strip strips[NVJPEG_MAX_COMPONENT];
    nvjpegOutputFormat_t format = w->ask->format;
    bool yuv = format != NVJPEG_OUTPUT_UNCHANGED && format != NVJPEG_OUTPUT_UNCHANGEDI;
    if (yuv && w->cinfo.jpeg_color_space != JCS_YCbCr && w->cinfo.jpeg_color_space != JCS_GRAYSCALE)
        return NVJPEG_STATUS_JPEG_NOT_SUPPORTED;
    w->cinfo.raw_data_out = TRUE;
    w->cinfo.out_color_space = w->cinfo.jpeg_color_space;
    aw_turbo.jpeg_start_decompress(&w->cinfo);
    w->image = components_make(w);
    if (!w->image || !strips_make(w, strips))
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    read_strips(w, strips);
    return pack(w);
}

/* ---- The whole */

/* libjpeg's header is the one that was looked at before. */
static bool header_agrees(const struct work *w)
{
    const struct jpeg_decompress_struct *c = &w->cinfo;
    if (c->image_width != w->info.width || c->image_height != w->info.height || c->num_components != w->info.n_components)
        return false;
    for (int i = 0; i < c->num_components; i++)
        if (c->comp_info[i].h_samp_factor != w->info.component[i].h || c->comp_info[i].v_samp_factor != w->info.component[i].v)
            return false;
    return true;
}

/* What the file lacked: nothing that is made up is given out. */
static nvjpegStatus_t verdict(struct work *w)
{
    struct jpeg_decompress_struct *c = &w->cinfo;
    bool scans = c->progressive_mode || c->comps_in_scan < c->num_components; /* which may be missing without a trace */
    if (w->source.ended && (w->errors.starved || scans || w->ask->strict))
        return NVJPEG_STATUS_INCOMPLETE_BITSTREAM;
    if (w->errors.starved || w->errors.corrupt)
        return NVJPEG_STATUS_BAD_JPEG;
    if (!w->ask->strict)
        return NVJPEG_STATUS_SUCCESS;
    aw_turbo.jpeg_finish_decompress(c);
    return w->source.ended ? NVJPEG_STATUS_INCOMPLETE_BITSTREAM : w->errors.odd ? NVJPEG_STATUS_BAD_JPEG : NVJPEG_STATUS_SUCCESS;
}

/* Does `act` with a decompressor of libjpeg's, whose errors lead back to here. */
static nvjpegStatus_t with_decompressor(struct work *w, nvjpegStatus_t (*act)(struct work *w))
{
    struct jpeg_decompress_struct *c = &w->cinfo;
    aw_turbo_errors_init(&w->errors);
    c->err = &w->errors.base;
    if (setjmp(w->errors.jump))
        return w->source.ended ? NVJPEG_STATUS_INCOMPLETE_BITSTREAM : aw_turbo_status(&w->errors);
    aw_turbo.jpeg_CreateDecompress(c, JPEG_LIB_VERSION, sizeof *c);
    w->made = true;
    c->src = &w->source.base;
    return act(w);
}

static nvjpegStatus_t decode(struct work *w)
{
    struct jpeg_decompress_struct *c = &w->cinfo;
    if (w->ask->tables) {
        aw_turbo_source_init(&w->source, w->ask->tables, w->ask->tables_length);
        if (aw_turbo.jpeg_read_header(c, FALSE) != JPEG_HEADER_TABLES_ONLY)
            return NVJPEG_STATUS_BAD_JPEG;
    }
    aw_turbo_source_init(&w->source, w->data, w->length);
    aw_turbo.jpeg_read_header(c, TRUE);
    if (!header_agrees(w))
        return NVJPEG_STATUS_BAD_JPEG;
    c->dct_method = JDCT_ISLOW;
    c->do_fancy_upsampling = w->ask->interpolate;
    c->do_block_smoothing = FALSE;
    bool lines = is_rgb(w->ask->format) || w->ask->format == NVJPEG_OUTPUT_Y;
    nvjpegStatus_t status = lines ? decode_lines(w) : decode_components(w);
    return status == NVJPEG_STATUS_SUCCESS ? verdict(w) : status;
}

nvjpegStatus_t aw_jpeg_decode(const uint8_t *data, size_t length, const struct aw_jpeg_ask *ask, struct aw_jpeg_image **ret_image)
{
    struct work w = { .data = data, .length = length, .ask = ask };
    nvjpegStatus_t status = aw_jpeg_scan(data, length, &w.info);
    if (status == NVJPEG_STATUS_SUCCESS)
        status = aw_jpeg_askable(&w.info, ask);
    if (status == NVJPEG_STATUS_SUCCESS && !aw_turbo_open())
        status = NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED;
    if (status != NVJPEG_STATUS_SUCCESS)
        return status;
    status = with_decompressor(&w, decode);
    if (w.made)
        aw_turbo.jpeg_destroy_decompress(&w.cinfo);
    free(w.rows);
    if (status == NVJPEG_STATUS_SUCCESS)
        return aw_jpeg_image_shape(w.image, ask, ret_image);
    aw_jpeg_image_unref(w.image);
    return status;
}

/* ---- Tables for encoders */

static bool read_code(JHUFF_TBL *const tables[], int number, struct aw_jpeg_code *ret_code)
{
    if (number < 0 || number >= NUM_HUFF_TBLS || !tables[number])
        return false;
    memcpy(ret_code->bits, tables[number]->bits, sizeof ret_code->bits);
    memcpy(ret_code->values, tables[number]->huffval, sizeof ret_code->values);
    return true;
}

static nvjpegStatus_t read_tables(struct work *w)
{
    struct jpeg_decompress_struct *c = &w->cinfo;
    w->tables->has_codes = true;
    aw_turbo_source_init(&w->source, w->data, w->length);
    aw_turbo.jpeg_read_header(c, TRUE);
    for (int i = 0; i < 2; i++) {
        const jpeg_component_info *of = &c->comp_info[i && c->num_components > 1];
        int number = of->quant_tbl_no;
        if (number < 0 || number >= NUM_QUANT_TBLS || !c->quant_tbl_ptrs[number])
            return NVJPEG_STATUS_BAD_JPEG;
        for (int j = 0; j < AW_JPEG_QUANT; j++)
            w->tables->quantisation[i][j] = c->quant_tbl_ptrs[number]->quantval[j];
        w->tables->has_codes &= read_code(c->dc_huff_tbl_ptrs, of->dc_tbl_no, &w->tables->dc[i]) &&
                                read_code(c->ac_huff_tbl_ptrs, of->ac_tbl_no, &w->tables->ac[i]);
    }
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t aw_jpeg_tables(const uint8_t *data, size_t length, struct aw_jpeg_tables *ret_tables)
{
    struct work w = { .data = data, .length = length, .tables = ret_tables };
    if (!aw_turbo_open())
        return NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED;
    nvjpegStatus_t status = with_decompressor(&w, read_tables);
    if (w.made)
        aw_turbo.jpeg_destroy_decompress(&w.cinfo);
    return status;
}

#endif
