/* nvJPEG against libjpeg itself: files of all samplings to all formats, damaged and foreign files, parts and turned images,
 * phases, batches, graphs, and encoding.  Usage: jpeg_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "nvjpeg.h"
#include "verdict.h"

int cudaMemset(void *dst, int value, size_t size);

enum { W = 83, H = 54, ROOM = 4 * W * H, GUARD = 0xa5 };
static nvjpegHandle_t handle;
static nvjpegJpegState_t state;
static cudaStream_t stream;
static unsigned char *device; /* four planes of ROOM bytes */
static unsigned char host[4 * ROOM];

/* ---- Files and references by libjpeg */

struct file {
    unsigned char *data;
    unsigned long length;
};

struct kind {
    nvjpegChromaSubsampling_t css;
    int h, v, progressive, restart, components;
};

static void picture(unsigned char *rgb, int n)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int c = 0; c < n; c++)
                rgb[(y * W + x) * n + c] = (unsigned char)(x * (3 + c) + y * (5 - c) + ((x / 7 + y / 5 + c) % 3) * 40);
}

static struct file make(struct kind k)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    struct file f = { NULL, 0 };
    static unsigned char pixels[ROOM];
    picture(pixels, k.components);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &f.data, &f.length);
    c.image_width = W, c.image_height = H, c.input_components = k.components;
    c.in_color_space = k.components == 1 ? JCS_GRAYSCALE : k.components == 4 ? JCS_CMYK : JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 90, TRUE);
    c.comp_info[0].h_samp_factor = k.h, c.comp_info[0].v_samp_factor = k.v;
    c.restart_interval = (unsigned)k.restart;
    if (k.progressive)
        jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < H) {
        JSAMPROW row = pixels + c.next_scanline * (unsigned)(W * k.components);
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return f;
}

/* All pixels in a colour space, chrominance repeated or interpolated. */
static void read_as(const unsigned char *data, unsigned long length, J_COLOR_SPACE space, int fancy, unsigned char *out)
{
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    c.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, data, length);
    jpeg_read_header(&c, TRUE);
    c.out_color_space = space;
    c.do_fancy_upsampling = fancy;
    jpeg_start_decompress(&c);
    while (c.output_scanline < c.output_height) {
        JSAMPROW row = out + c.output_scanline * c.output_width * (unsigned)c.output_components;
        jpeg_read_scanlines(&c, &row, 1);
    }
    jpeg_finish_decompress(&c);
    jpeg_destroy_decompress(&c);
}

/* ---- Decoding */

static nvjpegImage_t target(void)
{
    nvjpegImage_t image;
    for (int i = 0; i < 4; i++) {
        image.channel[i] = device + i * ROOM;
        image.pitch[i] = 3 * W + 5;
    }
    return image;
}
enum { PITCH = 3 * W + 5 };

static void clear(void) { cudaMemset(device, GUARD, 4 * ROOM); }
static void fetch(void)
{
    cudaStreamSynchronize(stream);
    cudaMemcpy(host, device, 4 * ROOM, 2);
}
static int at(int plane, int x, int y) { return host[plane * ROOM + y * PITCH + x]; }

static int untouched(void)
{
    fetch();
    for (int i = 0; i < 4 * ROOM; i++)
        if (host[i] != GUARD)
            return 0;
    return 1;
}

static nvjpegStatus_t decode(const struct file *f, nvjpegOutputFormat_t format)
{
    nvjpegImage_t image = target();
    clear();
    nvjpegStatus_t status = nvjpegDecode(handle, state, f->data, f->length, format, &image, stream);
    fetch();
    return status;
}

/* Four formats of colour, and luminance. */
static void check_colours(const struct file *f, const struct kind *k)
{
    static unsigned char rgb[ROOM], ycc[ROOM];
    read_as(f->data, f->length, JCS_RGB, 0, rgb);
    read_as(f->data, f->length, k->components == 1 ? JCS_GRAYSCALE : JCS_YCbCr, 0, ycc);
    for (int format = NVJPEG_OUTPUT_RGB; format <= NVJPEG_OUTPUT_BGRI; format++) {
        int bgr = format == NVJPEG_OUTPUT_BGR || format == NVJPEG_OUTPUT_BGRI, inter = format >= NVJPEG_OUTPUT_RGBI, good = 1;
        check(decode(f, (nvjpegOutputFormat_t)format) == 0, "format %d of %d: status", format, k->css);
        for (int i = 0; i < W * H * 3; i++) {
            int c = bgr ? 2 - i % 3 : i % 3, x = i / 3 % W, y = i / 3 / W;
            good &= rgb[i] == (inter ? at(0, 3 * x + c, y) : at(c, x, y));
        }
        check(good, "format %d of sampling %d: pixels", format, k->css);
        check(at(0, PITCH - 1, 0) == GUARD && at(0, inter ? 3 * W : W, 0) == GUARD && at(0, 0, H) == GUARD, "wrote between rows");
    }
    check(decode(f, NVJPEG_OUTPUT_Y) == 0, "Y: status");
    int good = 1, n = k->components;
    for (int i = 0; i < W * H; i++)
        good &= at(0, i % W, i / W) == ycc[i * n];
    check(good, "Y of sampling %d", k->css);
}

/* Components as they are: what libjpeg repeats for each pixel. */
static void check_components(const struct file *f, const struct kind *k)
{
    static unsigned char ycc[ROOM];
    int n = 0, widths[4] = { 0 }, heights[4] = { 0 };
    nvjpegChromaSubsampling_t css = NVJPEG_CSS_UNKNOWN;
    check(nvjpegGetImageInfo(handle, f->data, f->length, &n, &css, widths, heights) == 0 && n == k->components && css == k->css,
          "info: %d components, sampling %d, not %d", n, css, k->css);
    read_as(f->data, f->length, n == 1 ? JCS_GRAYSCALE : JCS_YCbCr, 0, ycc);
    for (int format = NVJPEG_OUTPUT_UNCHANGED; format <= NVJPEG_OUTPUT_YUV; format++) {
        check(decode(f, (nvjpegOutputFormat_t)format) == 0, "components of %d: status", k->css);
        for (int c = 0; c < n; c++) {
            int xs = c ? k->h : 1, ys = c ? k->v : 1, good = 1;
            check(widths[c] == (W + xs - 1) / xs && heights[c] == (H + ys - 1) / ys, "size of component %d of %d", c, k->css);
            for (int i = 0; i < W * H; i++)
                good &= at(c, i % W / xs, i / W / ys) == ycc[i * n + c];
            check(good && at(c, widths[c], 0) == GUARD, "component %d of sampling %d", c, k->css);
        }
    }
    for (int c = n; c < 4; c++)
        check(widths[c] == 0 && heights[c] == 0, "absent components have no size");
}

static void check_packed(const struct file *f, const struct kind *k)
{
    static unsigned char ycc[ROOM];
    int good = 1;
    nvjpegStatus_t nv12 = decode(f, NVJPEG_OUTPUT_NV12), yuy2;
    read_as(f->data, f->length, k->components == 1 ? JCS_GRAYSCALE : JCS_YCbCr, 0, ycc);
    check(nv12 == (k->css == NVJPEG_CSS_420 ? 0 : NVJPEG_STATUS_JPEG_NOT_SUPPORTED), "NV12 of %d is %d", k->css, nv12);
    for (int i = 0; nv12 == 0 && i < W * H; i++) {
        int x = i % W, y = i / W;
        good &= at(0, x, y) == ycc[3 * i] && at(1, x / 2 * 2, y / 2) == ycc[3 * i + 1] &&
                at(1, x / 2 * 2 + 1, y / 2) == ycc[3 * i + 2];
    }
    yuy2 = decode(f, NVJPEG_OUTPUT_YUY2);
    check(yuy2 == (k->css == NVJPEG_CSS_422 ? 0 : NVJPEG_STATUS_JPEG_NOT_SUPPORTED), "YUY2 of %d is %d", k->css, yuy2);
    for (int i = 0; yuy2 == 0 && i < W * H; i++) {
        int x = i % W, y = i / W, quad = x / 2 * 4;
        good &= at(0, quad + x % 2 * 2, y) == ycc[3 * i] && at(0, quad + 1, y) == ycc[3 * i + 1] &&
                at(0, quad + 3, y) == ycc[3 * i + 2];
    }
    check(good, "packed formats of %d", k->css);
}

static const struct kind kinds[] = {
    { NVJPEG_CSS_420, 2, 2, 0, 0, 3 }, { NVJPEG_CSS_444, 1, 1, 0, 0, 3 }, { NVJPEG_CSS_422, 2, 1, 1, 0, 3 },
    { NVJPEG_CSS_GRAY, 1, 1, 0, 3, 1 }, { NVJPEG_CSS_440, 1, 2, 0, 2, 3 }, { NVJPEG_CSS_411, 4, 1, 0, 0, 3 },
    { NVJPEG_CSS_410, 4, 2, 1, 0, 3 }, { NVJPEG_CSS_410V, 2, 4, 0, 0, 3 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- Four components */

static void check_cmyk(void)
{
    static unsigned char ink[ROOM];
    struct file f = make((struct kind){ NVJPEG_CSS_UNKNOWN, 1, 1, 0, 0, 4 });
    nvjpegDecodeParams_t params;
    nvjpegJpegDecoder_t decoder;
    nvjpegJpegStream_t parsed;
    nvjpegImage_t image = target();
    int good = 1, cannot = 0;
    read_as(f.data, f.length, JCS_CMYK, 0, ink);
    check(decode(&f, NVJPEG_OUTPUT_RGB) == NVJPEG_STATUS_JPEG_NOT_SUPPORTED && untouched(), "CMYK to RGB unasked");
    check(decode(&f, NVJPEG_OUTPUT_UNCHANGED) == 0, "CMYK as it is: status");
    for (int i = 0; i < W * H * 4; i++)
        good &= at(i % 4, i / 4 % W, i / 4 / W) == ink[i];
    check(good, "CMYK as it is");
    check(!nvjpegDecodeParamsCreate(handle, &params) && !nvjpegDecoderCreate(handle, NVJPEG_BACKEND_DEFAULT, &decoder) &&
              !nvjpegJpegStreamCreate(handle, &parsed) && !nvjpegJpegStreamParse(handle, f.data, f.length, 0, 1, parsed),
          "objects");
    nvjpegDecodeParamsSetOutputFormat(params, NVJPEG_OUTPUT_RGBI);
    check(!nvjpegDecoderJpegSupported(decoder, parsed, params, &cannot) && cannot, "CMYK to RGB is said to be decodable");
    nvjpegDecodeParamsSetAllowCMYK(params, 1);
    check(!nvjpegDecoderJpegSupported(decoder, parsed, params, &cannot) && !cannot, "CMYK to RGB, allowed");
    check(!nvjpegDecodeJpeg(handle, decoder, state, parsed, &image, params, stream), "CMYK to RGB: status");
    fetch();
    for (int i = 0; i < W * H * 3; i++) { /* libjpeg's files say that they are Adobe's: inverted */
        double want = ink[i / 3 * 4 + i % 3] * (double)ink[i / 3 * 4 + 3] / 255, got = at(0, i % (3 * W), i / (3 * W));
        good &= got - want <= 0.5 && want - got <= 0.5;
    }
    check(good, "CMYK to RGB");
    nvjpegJpegStreamDestroy(parsed);
    nvjpegDecoderDestroy(decoder);
    nvjpegDecodeParamsDestroy(params);
    free(f.data);
}

/* ---- Files that are not whole, and those that are others' */

static void check_truncated(const struct file *f, int progressive)
{
    struct file part = { malloc(f->length), 0 }; /* of its own, so that a read behind it is seen */
    for (unsigned long n = 1; n < f->length - 2; n += n < 700 ? 23 : 211) {
        part.data = realloc(part.data, n);
        part.length = n;
        memcpy(part.data, f->data, n);
        nvjpegStatus_t status = decode(&part, NVJPEG_OUTPUT_RGB);
        check(status == NVJPEG_STATUS_INCOMPLETE_BITSTREAM || (n < 2 && status == NVJPEG_STATUS_BAD_JPEG),
              "cut at %lu of %lu (progressive %d): status %d", n, f->length, progressive, status);
        check(untouched(), "a part was written");
    }
    free(part.data);
}

/* Bytes changed at random: any status, nothing outside, and nothing written unless it is success. */
static void check_damaged(const struct file *f)
{
    struct file bad = { malloc(f->length), f->length };
    unsigned seed = 1, good = 0, failed = 0;
    for (int i = 0; i < 300; i++) {
        memcpy(bad.data, f->data, f->length);
        for (int j = 0; j < 1 + i % 4; j++) {
            seed = seed * 1664525u + 1013904223u;
            bad.data[(seed >> 8) % f->length] = (unsigned char)seed;
        }
        int n, widths[4], heights[4];
        nvjpegChromaSubsampling_t css;
        nvjpegStatus_t status = nvjpegGetImageInfo(handle, bad.data, bad.length, &n, &css, widths, heights);
        if (status == 0 && (widths[0] > W || heights[0] > H))
            continue; /* larger than the target, which cannot be known */
        status = decode(&bad, NVJPEG_OUTPUT_RGB);
        check(status != NVJPEG_STATUS_EXECUTION_FAILED && status != NVJPEG_STATUS_INTERNAL_ERROR, "damaged: status %d", status);
        check(status == 0 || untouched(), "a damaged file was written");
        status == 0 ? good++ : failed++;
    }
    check(good && failed, "%u damaged files were decoded and %u were not", good, failed);
    free(bad.data);
}

static unsigned char *frame_of(struct file *f)
{
    for (unsigned long i = 2; i + 1 < f->length; i += 2 + (f->data[i + 2] << 8 | f->data[i + 3]))
        if (f->data[i + 1] >= 0xc0 && f->data[i + 1] <= 0xc2)
            return f->data + i;
    abort();
}

static void check_foreign(void)
{
    struct file f = make(kinds[0]);
    unsigned char *frame = frame_of(&f), sof = frame[1];
    nvjpegJpegStream_t parsed;
    unsigned precision = 0;
    nvjpegJpegEncoding_t encoding;
    nvjpegJpegStreamCreate(handle, &parsed);
    for (int marker = 0xc3; marker <= 0xcb; marker += 2) { /* lossless, differential, arithmetic */
        frame[1] = (unsigned char)marker;
        check(decode(&f, NVJPEG_OUTPUT_RGB) == NVJPEG_STATUS_JPEG_NOT_SUPPORTED && untouched(), "frames of %x", marker);
    }
    frame[1] = 0xc3;
    check(!nvjpegJpegStreamParseHeader(handle, f.data, f.length, parsed) && !nvjpegJpegStreamGetJpegEncoding(parsed, &encoding) &&
              encoding == NVJPEG_ENCODING_LOSSLESS_HUFFMAN, "the encoding");
    frame[1] = 0xc1;
    frame[4] = 12;
    check(decode(&f, NVJPEG_OUTPUT_RGB) == NVJPEG_STATUS_JPEG_NOT_SUPPORTED, "12 bits");
    check(!nvjpegJpegStreamParse(handle, f.data, f.length, 0, 0, parsed) &&
              !nvjpegJpegStreamGetSamplePrecision(parsed, &precision) && precision == 12,
          "the precision");
    frame[1] = sof, frame[4] = 8;
    check(decode(&f, NVJPEG_OUTPUT_UNCHANGEDI_U16) == NVJPEG_STATUS_JPEG_NOT_SUPPORTED, "sixteen bits");
    check(decode(&f, (nvjpegOutputFormat_t)11) == NVJPEG_STATUS_INVALID_PARAMETER, "a format that is none");
    memset(f.data, 7, 100);
    check(decode(&f, NVJPEG_OUTPUT_RGB) == NVJPEG_STATUS_BAD_JPEG, "no JPEG at all");
    nvjpegJpegStreamDestroy(parsed);
    free(f.data);
}

/* ---- Handles and the order of phases */

static void check_handles(void)
{
    nvjpegHandle_t other;
    unsigned engines = 9, cores = 9;
    int value = 0;
    check(nvjpegCreateEx(NVJPEG_BACKEND_HARDWARE, NULL, NULL, 0, &other) == NVJPEG_STATUS_ARCH_MISMATCH, "there is no hardware");
    check(!nvjpegGetHardwareDecoderInfo(handle, &engines, &cores) && !engines && !cores, "engines");
    check(!nvjpegGetProperty(MAJOR_VERSION, &value) && value == 12, "major version %d", value);
    check(nvjpegCreateSimple(NULL) == NVJPEG_STATUS_INVALID_PARAMETER, "no place for the handle");
    check(nvjpegJpegStateCreate(NULL, &state) == NVJPEG_STATUS_INVALID_PARAMETER, "no handle");
}

static void check_buffers(void)
{
    nvjpegBufferDevice_t buffer;
    size_t size = 1;
    void *ptr = &size;
    check(!nvjpegBufferDeviceCreate(handle, NULL, &buffer) && !nvjpegBufferDeviceRetrieve(buffer, &size, &ptr) && !size && !ptr,
          "a buffer begins empty");
    check(!nvjpegBufferDeviceResize(buffer, 1000, stream) && !nvjpegBufferDeviceRetrieve(buffer, &size, &ptr) && size >= 1000 &&
              ptr,
          "a buffer has a size");
    check(!cudaMemset(ptr, 0, size), "and memory");
    check(!nvjpegStateAttachDeviceBuffer(state, buffer) && !nvjpegBufferDeviceDestroy(buffer), "attach, destroy");
}

static void check_phases(const struct file *f)
{
    static unsigned char rgb[ROOM];
    nvjpegDecodeParams_t params;
    nvjpegJpegDecoder_t decoder;
    nvjpegJpegState_t own;
    nvjpegJpegStream_t parsed;
    nvjpegImage_t image = target();
    int good = 1;
    nvjpegDecodeParamsCreate(handle, &params);
    nvjpegDecoderCreate(handle, NVJPEG_BACKEND_HYBRID, &decoder);
    nvjpegDecoderStateCreate(handle, decoder, &own);
    nvjpegJpegStreamCreate(handle, &parsed);
    nvjpegDecodeParamsSetOutputFormat(params, NVJPEG_OUTPUT_RGBI);
    check(nvjpegDecodeJpegDevice(handle, decoder, own, &image, stream) == NVJPEG_STATUS_INVALID_PARAMETER,
          "the third phase first");
    check(nvjpegDecodeJpegHost(handle, decoder, own, params, parsed) == NVJPEG_STATUS_INVALID_PARAMETER, "a stream of nothing");
    unsigned char *copy = malloc(f->length);
    memcpy(copy, f->data, f->length);
    nvjpegJpegStreamParse(handle, copy, f->length, 0, 1, parsed);
    free(copy);
    nvjpegDecodeParamsSetROI(params, 8, 6, 20, 10);
    check(!nvjpegDecodeJpegHost(handle, decoder, own, params, parsed) &&
              !nvjpegDecodeJpegTransferToDevice(handle, decoder, own, parsed, stream), "two phases");
    clear();
    check(!nvjpegDecodeJpegDevice(handle, decoder, own, &image, stream), "the third phase");
    read_as(f->data, f->length, JCS_RGB, 0, rgb);
    fetch();
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 60; x++)
            good &= at(0, x, y) == rgb[((y + 6) * W + 8) * 3 + x];
    check(good && at(0, 60, 0) == GUARD && at(0, 0, 10) == GUARD, "a part of the image");
    nvjpegDecodeParamsSetROI(params, 80, 0, 20, 10);
    check(nvjpegDecodeJpegHost(handle, decoder, own, params, parsed) == NVJPEG_STATUS_INVALID_PARAMETER, "a part outside");
    nvjpegDecodeParamsSetROI(params, 0, 0, -1, -1);
    nvjpegDecodeParamsSetScaleFactor(params, NVJPEG_SCALE_1_BY_2);
    check(nvjpegDecodeJpegHost(handle, decoder, own, params, parsed) == NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED, "scaled");
    nvjpegJpegStreamDestroy(parsed);
    nvjpegJpegStateDestroy(own);
    nvjpegDecoderDestroy(decoder);
    nvjpegDecodeParamsDestroy(params);
}

/* EXIF's orientation is told, and done only when asked: a pixel of each corner. */
static void check_orientation(const struct file *f)
{
    static const unsigned char exif[] = { 0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1,
                                          0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0 };
    /* where the stored corner at the upper left comes to lie, and that at the upper right: 1 right, 2 below */
    static const int corner[9][2] = { { 0, 1 }, { 0, 1 }, { 1, 0 }, { 3, 2 }, { 2, 3 }, { 0, 2 }, { 1, 3 }, { 3, 1 }, { 2, 0 } };
    static unsigned char rgb[ROOM];
    struct file turned = { malloc(f->length + sizeof exif), f->length + sizeof exif };
    nvjpegDecodeParams_t params;
    nvjpegJpegDecoder_t decoder;
    nvjpegJpegStream_t parsed;
    nvjpegExifOrientation_t told = NVJPEG_ORIENTATION_UNKNOWN;
    nvjpegImage_t image = target();
    memcpy(turned.data, f->data, 2);
    memcpy(turned.data + 2, exif, sizeof exif);
    memcpy(turned.data + 2 + sizeof exif, f->data + 2, f->length - 2);
    nvjpegDecodeParamsCreate(handle, &params);
    nvjpegDecoderCreate(handle, NVJPEG_BACKEND_DEFAULT, &decoder);
    nvjpegJpegStreamCreate(handle, &parsed);
    check(!nvjpegJpegStreamParse(handle, turned.data, turned.length, 1, 0, parsed) &&
              !nvjpegJpegStreamGetExifOrientation(parsed, &told) && told == NVJPEG_ORIENTATION_ROTATE_90, "orientation %d", told);
    nvjpegDecodeParamsSetOutputFormat(params, NVJPEG_OUTPUT_RGB);
    read_as(f->data, f->length, JCS_RGB, 0, rgb);
    for (int o = 0; o <= 8; o++) {
        int w = o >= 5 ? H : W, h = o >= 5 ? W : H;
        const int *c = corner[o];
        nvjpegDecodeParamsSetExifOrientation(params, (nvjpegExifOrientation_t)o);
        clear();
        check(!nvjpegDecodeJpeg(handle, decoder, state, parsed, &image, params, stream), "turned by %d: status", o);
        fetch();
        check(at(1, c[0] % 2 * (w - 1), c[0] / 2 * (h - 1)) == rgb[1] &&
                  at(1, c[1] % 2 * (w - 1), c[1] / 2 * (h - 1)) == rgb[(W - 1) * 3 + 1] && at(1, w, 0) == GUARD &&
                  at(1, 0, h) == GUARD,
              "turned by %d", o);
    }
    nvjpegJpegStreamDestroy(parsed);
    nvjpegDecoderDestroy(decoder);
    nvjpegDecodeParamsDestroy(params);
    free(turned.data);
}

static void check_batch(void)
{
    enum { N = 3 };
    static unsigned char rgb[ROOM];
    struct file f[N];
    const unsigned char *data[N];
    size_t lengths[N];
    nvjpegImage_t images[N];
    clear();
    for (int i = 0; i < N; i++) {
        f[i] = make(kinds[i]);
        data[i] = f[i].data, lengths[i] = f[i].length;
        images[i] = (nvjpegImage_t){ { device + i * ROOM }, { PITCH } };
    }
    check(nvjpegDecodeBatched(handle, state, data, lengths, images, stream) == NVJPEG_STATUS_INVALID_PARAMETER, "not begun");
    check(!nvjpegDecodeBatchedInitialize(handle, state, N, 1, NVJPEG_OUTPUT_RGBI), "begun");
    lengths[1] /= 2;
    check(nvjpegDecodeBatched(handle, state, data, lengths, images, stream) == NVJPEG_STATUS_INCOMPLETE_BITSTREAM && untouched(),
          "one of the batch is cut");
    lengths[1] = f[1].length;
    check(!nvjpegDecodeBatched(handle, state, data, lengths, images, stream), "the batch");
    fetch();
    for (int i = 0; i < N; i++) {
        int good = 1;
        read_as(f[i].data, f[i].length, JCS_RGB, 0, rgb);
        for (int j = 0; j < W * H * 3; j++)
            good &= at(i, j % (3 * W), j / (3 * W)) == rgb[j];
        check(good, "file %d of the batch", i);
        free(f[i].data);
    }
}

static void check_graph(const struct file *f)
{
    static unsigned char rgb[ROOM];
    nvjpegImage_t image = target();
    int good = 1;
    check(!cudaStreamBeginCapture(stream, 0), "capture");
    check(!nvjpegDecode(handle, state, f->data, f->length, NVJPEG_OUTPUT_RGBI, &image, stream), "decoding into a graph");
    void *exec = test_captured(stream);
    read_as(f->data, f->length, JCS_RGB, 0, rgb);
    for (int i = 0; i < 2; i++) {
        clear();
        check(!cudaGraphLaunch(exec, stream), "launch");
        fetch();
        for (int j = 0; j < W * H * 3; j++)
            good &= at(0, j % (3 * W), j / (3 * W)) == rgb[j];
    }
    check(good, "decoded by a graph, twice");
    cudaGraphExecDestroy(exec);
}

static void check_interpolated(const struct file *f)
{
    static unsigned char rgb[ROOM];
    nvjpegHandle_t plain = handle;
    int good = 1;
    check(!nvjpegCreateEx(NVJPEG_BACKEND_DEFAULT, NULL, NULL, NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION, &handle), "a handle");
    check(decode(f, NVJPEG_OUTPUT_RGBI) == 0, "interpolated: status");
    read_as(f->data, f->length, JCS_RGB, 1, rgb);
    for (int j = 0; j < W * H * 3; j++)
        good &= at(0, j % (3 * W), j / (3 * W)) == rgb[j];
    check(good, "interpolated");
    nvjpegDestroy(handle);
    handle = plain;
}

/* A file without its last marker has all its pixels; who wants files to be strictly right is told of it, and of others' bytes. */
static void check_strict(const struct file *f)
{
    nvjpegHandle_t plain = handle;
    enum { MORE = 40 };
    struct file cut = { f->data, f->length - 2 }, more = { malloc(f->length + MORE), f->length + MORE };
    memcpy(more.data, f->data, f->length - 2);
    memset(more.data + f->length - 2, 0x11, MORE); /* before the last marker */
    memcpy(more.data + f->length - 2 + MORE, "\xff\xd9", 2);
    check(decode(&cut, NVJPEG_OUTPUT_RGB) == 0 && decode(&more, NVJPEG_OUTPUT_RGB) == 0,
          "without the last marker, and with bytes more");
    check(!nvjpegCreateEx(NVJPEG_BACKEND_DEFAULT, NULL, NULL, NVJPEG_FLAGS_BITSTREAM_STRICT, &handle), "a strict handle");
    check(decode(f, NVJPEG_OUTPUT_RGB) == 0, "strict: a file that is right");
    check(decode(&cut, NVJPEG_OUTPUT_RGB) == NVJPEG_STATUS_INCOMPLETE_BITSTREAM && untouched(),
          "strict: without the last marker");
    nvjpegStatus_t status = decode(&more, NVJPEG_OUTPUT_RGB);
    check(status == NVJPEG_STATUS_BAD_JPEG && untouched(), "strict: bytes more are %d", status);
    nvjpegDestroy(handle);
    handle = plain;
    free(more.data);
}

/* ---- Encoding: the bytes are libjpeg's for the same settings, but for the quality, which is 90 in make(). */

static struct file encoded(nvjpegEncoderState_t encoder, int on_device)
{
    struct file f = { NULL, 0 };
    size_t length = 0, less;
    check(!nvjpegEncodeRetrieveBitstream(handle, encoder, NULL, &length, stream) && length > 100, "the length");
    f.data = malloc(length);
    f.length = length;
    less = length - 1;
    check(nvjpegEncodeRetrieveBitstream(handle, encoder, f.data, &less, stream) == NVJPEG_STATUS_INVALID_PARAMETER, "too small");
    if (on_device) {
        check(!nvjpegEncodeRetrieveBitstreamDevice(handle, encoder, device, &length, stream), "to the device");
        cudaStreamSynchronize(stream);
        cudaMemcpy(f.data, device, length, 2);
    } else {
        check(!nvjpegEncodeRetrieveBitstream(handle, encoder, f.data, &length, stream), "to the host");
    }
    return f;
}

static void check_encoded(const struct kind *k, nvjpegInputFormat_t format, nvjpegEncoderState_t encoder, nvjpegEncoderParams_t p)
{
    static unsigned char pixels[ROOM];
    struct file want = make(*k);
    nvjpegImage_t image = target();
    int bgr = format == NVJPEG_INPUT_BGR || format == NVJPEG_INPUT_BGRI, inter = format >= NVJPEG_INPUT_RGBI;
    picture(pixels, 3);
    memset(host, 0, sizeof host);
    for (int i = 0; i < W * H * 3; i++) {
        int c = bgr ? 2 - i % 3 : i % 3, x = i / 3 % W, y = i / 3 / W;
        host[inter ? y * PITCH + 3 * x + c : c * ROOM + y * PITCH + x] = pixels[i];
    }
    cudaMemcpy(device, host, sizeof host, 1);
    nvjpegEncoderParamsSetQuality(p, 90, stream);
    nvjpegEncoderParamsSetSamplingFactors(p, k->css, stream);
    nvjpegEncoderParamsSetEncoding(p, k->progressive ? NVJPEG_ENCODING_PROGRESSIVE_DCT_HUFFMAN : NVJPEG_ENCODING_BASELINE_DCT,
                                   stream);
    nvjpegEncoderParamsSetRestartInterval(p, (unsigned)k->restart, stream);
    check(!nvjpegEncodeImage(handle, encoder, p, &image, format, W, H, stream), "encode %d: status", k->css);
    struct file got = encoded(encoder, format == NVJPEG_INPUT_RGB);
    check(got.length == want.length && !memcmp(got.data, want.data, got.length), "encoded format %d to sampling %d", format,
          k->css);
    free(got.data);
    free(want.data);
}

/* Components in, the same components out, when they are quantised by 1. */
static void check_yuv(const struct kind *k, nvjpegEncoderState_t encoder, nvjpegEncoderParams_t p)
{
    static unsigned char before[sizeof host];
    struct file f = make(*k);
    nvjpegImage_t image = target();
    size_t most = 0;
    check(decode(&f, NVJPEG_OUTPUT_YUV) == 0, "components");
    memcpy(before, host, sizeof host);
    nvjpegEncoderParamsSetQuality(p, 100, stream);
    nvjpegEncoderParamsSetSamplingFactors(p, k->css, stream);
    nvjpegEncoderParamsSetRestartInterval(p, 0, stream);
    nvjpegEncoderParamsSetOptimizedHuffman(p, 1, stream);
    check(!nvjpegEncodeYUV(handle, encoder, p, &image, k->css, W, H, stream), "encode components: status");
    struct file got = encoded(encoder, 0);
    check(!nvjpegEncodeGetBufferSize(handle, p, W, H, &most) && got.length <= most, "the most that it can be");
    check(decode(&got, NVJPEG_OUTPUT_YUV) == 0, "decode again");
    int worst = 0;
    for (size_t i = 0; i < sizeof host; i++)
        worst = abs(host[i] - before[i]) > worst ? abs(host[i] - before[i]) : worst;
    check(worst <= 2, "components of sampling %d differ by %d", k->css, worst);
    nvjpegEncoderParamsSetOptimizedHuffman(p, 0, stream);
    free(got.data);
    free(f.data);
}

/* A file's own quantisation in place of a quality gives the file that the quality of that file gives, until a quality is set. */
static void check_tables(nvjpegEncoderState_t encoder, nvjpegEncoderParams_t p)
{
    static unsigned char pixels[ROOM];
    const struct kind k = { NVJPEG_CSS_444, 1, 1, 0, 0, 3 };
    struct file want = make(k), got[2];
    nvjpegImage_t image = target();
    nvjpegJpegStream_t parsed;
    picture(pixels, 3);
    for (int y = 0; y < H; y++)
        memcpy(host + y * PITCH, pixels + y * 3 * W, 3 * W);
    cudaMemcpy(device, host, sizeof host, 1);
    nvjpegJpegStreamCreate(handle, &parsed);
    check(nvjpegEncoderParamsCopyQuantizationTables(p, parsed, stream) == NVJPEG_STATUS_INVALID_PARAMETER, "tables of no file");
    nvjpegJpegStreamParse(handle, want.data, want.length, 0, 0, parsed);
    nvjpegEncoderParamsSetQuality(p, 20, stream);
    nvjpegEncoderParamsSetSamplingFactors(p, NVJPEG_CSS_444, stream);
    nvjpegEncoderParamsSetEncoding(p, NVJPEG_ENCODING_BASELINE_DCT, stream);
    check(!nvjpegEncoderParamsCopyQuantizationTables(p, parsed, stream), "tables of a file");
    for (int i = 0; i < 2; i++) {
        check(!nvjpegEncodeImage(handle, encoder, p, &image, NVJPEG_INPUT_RGBI, W, H, stream), "encode: status");
        got[i] = encoded(encoder, 0);
        nvjpegEncoderParamsSetQuality(p, 20, stream);
    }
    check(got[0].length == want.length && !memcmp(got[0].data, want.data, want.length), "encoded with a file's tables");
    check(got[1].length < want.length, "encoded with a quality again");
    nvjpegJpegStreamDestroy(parsed);
    free(got[0].data), free(got[1].data), free(want.data);
}

/* The picture by libjpeg with another's codes and remarks. */
static struct file make_after(const char *remark, const unsigned char *exif, unsigned exif_length, int optimised)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    struct file f = { NULL, 0 };
    static unsigned char pixels[ROOM];
    picture(pixels, 3);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &f.data, &f.length);
    c.image_width = W, c.image_height = H, c.input_components = 3, c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 90, TRUE);
    c.comp_info[0].h_samp_factor = c.comp_info[0].v_samp_factor = 1;
    c.optimize_coding = optimised;
    jpeg_start_compress(&c, TRUE);
    if (exif_length)
        jpeg_write_marker(&c, JPEG_APP0 + 1, exif, exif_length);
    if (remark)
        jpeg_write_marker(&c, JPEG_COM, (const JOCTET *)remark, (unsigned)strlen(remark));
    for (int y = 0; y < H; y++) {
        JSAMPROW row = pixels + y * 3 * W;
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return f;
}

/* Codes that libjpeg made for this very picture, and what a camera and a person said of it, from one file to the next: the bytes
 * are the same.  The codes of one grey are none for a picture. */
static void check_copies(nvjpegEncoderState_t encoder)
{
    static const unsigned char exif[] = "Exif\0\0MM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1\0\6\0\0\0\0\0";
    struct file from = make_after("as it was", exif, sizeof exif, 1), plain = make_after("as it was", exif, sizeof exif, 0),
                smooth = make((struct kind){ NVJPEG_CSS_444, 1, 1, 1, 0, 3 });
    nvjpegImage_t image = target();
    nvjpegJpegStream_t parsed;
    nvjpegEncoderParams_t p;
    nvjpegJpegStreamCreate(handle, &parsed);
    nvjpegEncoderParamsCreate(handle, &p, stream);
    nvjpegEncoderParamsSetQuality(p, 90, stream);
    check(nvjpegEncoderParamsCopyHuffmanTables(encoder, p, parsed, stream) == NVJPEG_STATUS_INVALID_PARAMETER,
          "codes of no file");
    check(nvjpegEncoderParamsCopyMetadata(encoder, p, parsed, stream) == NVJPEG_STATUS_INVALID_PARAMETER, "remarks of no file");
    nvjpegJpegStreamParse(handle, smooth.data, smooth.length, 0, 0, parsed);
    check(nvjpegEncoderParamsCopyHuffmanTables(encoder, p, parsed, stream) == NVJPEG_STATUS_JPEG_NOT_SUPPORTED,
          "codes of a progressive file");
    nvjpegJpegStreamParse(handle, from.data, from.length, 0, 0, parsed);
    for (int i = 0; i < 2; i++) {
        const struct file *want = i ? &from : &plain;
        check(!nvjpegEncoderParamsCopyMetadata(encoder, p, parsed, stream), "remarks of a file");
        check(!i || !nvjpegEncoderParamsCopyHuffmanTables(encoder, p, parsed, stream), "codes of a file");
        check(!nvjpegEncodeImage(handle, encoder, p, &image, NVJPEG_INPUT_RGBI, W, H, stream), "encode: status");
        struct file got = encoded(encoder, 0);
        check(got.length == want->length && !memcmp(got.data, want->data, want->length), "encoded with a file's %s",
              i ? "codes" : "remarks");
        free(got.data);
    }
    nvjpegEncoderParamsSetSamplingFactors(p, NVJPEG_CSS_GRAY, stream);
    check(!nvjpegEncodeImage(handle, encoder, p, &image, NVJPEG_INPUT_RGBI, W, H, stream), "one component, one kind of codes");
    nvjpegEncoderParamsSetSamplingFactors(p, NVJPEG_CSS_444, stream);
    memset(host, 0, sizeof host);
    for (int i = 0; i < PITCH * H; i++)
        host[i] = (unsigned char)(i * 2654435761u >> 24); /* has other differences */
    cudaMemcpy(device, host, sizeof host, 1);
    nvjpegStatus_t status = nvjpegEncodeImage(handle, encoder, p, &image, NVJPEG_INPUT_RGBI, W, H, stream);
    check(status == NVJPEG_STATUS_EXECUTION_FAILED, "codes that are not there: %d", status);
    nvjpegJpegStreamDestroy(parsed);
    nvjpegEncoderParamsDestroy(p);
    free(from.data), free(plain.data), free(smooth.data);
}

static void check_encoding(void)
{
    nvjpegEncoderState_t encoder;
    nvjpegEncoderParams_t p;
    nvjpegImage_t image = target();
    size_t length;
    check(!nvjpegEncoderStateCreate(handle, &encoder, stream) && !nvjpegEncoderParamsCreate(handle, &p, stream), "objects");
    check(nvjpegEncodeRetrieveBitstream(handle, encoder, NULL, &length, stream) == NVJPEG_STATUS_INVALID_PARAMETER,
          "no file yet");
    check(nvjpegEncoderParamsSetQuality(p, 0, stream) == NVJPEG_STATUS_INVALID_PARAMETER &&
              nvjpegEncoderParamsSetQuality(p, 101, stream) == NVJPEG_STATUS_INVALID_PARAMETER, "quality");
    check(nvjpegEncodeImage(handle, encoder, p, &image, NVJPEG_INPUT_YUV, W, H, stream) == NVJPEG_STATUS_INVALID_PARAMETER,
          "YUV");
    image.pitch[2] = W - 1;
    check(nvjpegEncodeImage(handle, encoder, p, &image, NVJPEG_INPUT_RGB, W, H, stream) == NVJPEG_STATUS_INVALID_PARAMETER,
          "pitch");
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].components == 3)
            check_encoded(&kinds[i], (nvjpegInputFormat_t)(NVJPEG_INPUT_RGB + i % 4), encoder, p);
    for (int i = 0; i < KINDS; i++)
        check_yuv(&kinds[i], encoder, p);
    check_tables(encoder, p);
    check_copies(encoder);
    nvjpegEncoderParamsDestroy(p);
    nvjpegEncoderStateDestroy(encoder);
}

int main(int argc, char **argv)
{
    int quick = argc > 1 && !strcmp(argv[1], "quick");
    if (!check(!nvjpegCreateSimple(&handle) && !nvjpegJpegStateCreate(handle, &state), "nvjpegCreateSimple"))
        return test_end("nvjpeg");
    cudaStreamCreateWithFlags((void **)&stream, 0);
    cudaMalloc((void **)&device, 4 * ROOM);
    check_handles();
    check_buffers();
    for (int i = 0; i < (quick ? 4 : KINDS); i++) {
        struct file f = make(kinds[i]);
        check_colours(&f, &kinds[i]);
        check_components(&f, &kinds[i]);
        check_packed(&f, &kinds[i]);
        if (!quick && (i == 0 || i == 2)) {
            check_truncated(&f, kinds[i].progressive);
            check_damaged(&f);
        }
        free(f.data);
    }
    struct file f = make(kinds[0]);
    check_phases(&f);
    check_orientation(&f);
    check_graph(&f);
    check_interpolated(&f);
    check_strict(&f);
    free(f.data);
    check_batch();
    check_cmyk();
    check_foreign();
    check_encoding();
    cudaFree(device);
    nvjpegJpegStateDestroy(state);
    nvjpegDestroy(handle);
    return test_end("nvjpeg");
}
