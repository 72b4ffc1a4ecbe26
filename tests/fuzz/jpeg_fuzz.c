/* Any bytes as a JPEG file, to any format of nvJPEG's: what is decoded is as large as the header says, and all of it is there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "image.h"

#ifdef AW_HAVE_LIBJPEG
#include <stdio.h>

#include <jpeglib.h>
#endif

static volatile unsigned sink;

/* Pixels beyond this only cost time. */
enum { MOST = 1 << 16 };

static void ask_for(const uint8_t *data, size_t size, struct aw_jpeg_ask ask)
{
    struct aw_jpeg_image *image = NULL;
    nvjpegStatus_t status = aw_jpeg_decode(data, size, &ask, &image);
    if ((status == NVJPEG_STATUS_SUCCESS) != (image != NULL))
        abort();
    for (unsigned i = 0; image && i < image->n_planes; i++) {
        const struct aw_jpeg_plane *p = &image->plane[i];
        for (size_t j = 0; j < (size_t)p->width * p->height * p->unit; j++)
            sink += p->data[j];
    }
    aw_jpeg_image_unref(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct aw_jpeg_info info;
    uint64_t digest = aw_fuzz_digest(data, size);
    struct aw_jpeg_ask ask = AW_JPEG_ASK((nvjpegOutputFormat_t)(digest % (NVJPEG_OUTPUT_UNCHANGEDI + 1)));
    if (aw_jpeg_scan(data, size, &info) != NVJPEG_STATUS_SUCCESS)
        return 0;
    if ((uint64_t)info.width * info.height > MOST)
        return 0;
    ask.allow_cmyk = digest >> 8 & 1;
    ask.strict = digest >> 9 & 1;
    ask.interpolate = digest >> 10 & 1;
    ask.orientation = digest >> 11 & 7;
    if (digest >> 14 & 1) {
        ask.x = (int)(digest >> 16 & 15);
        ask.y = (int)(digest >> 20 & 15);
        ask.width = (int)(digest >> 24 & 63);
        ask.height = (int)(digest >> 30 & 63);
        ask.orientation = NVJPEG_ORIENTATION_UNKNOWN;
    }
    ask_for(data, size, ask);
    return 0;
}

#ifndef AW_HAVE_LIBJPEG

unsigned aw_fuzz_seeds(struct aw_fuzz_seed *ret_seeds, unsigned max)
{
    static const char start[] = { '\xff', '\xd8', '\xff', '\xc0', 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0 };
    ret_seeds[0] = (struct aw_fuzz_seed){ malloc(sizeof start), sizeof start };
    memcpy(ret_seeds[0].bytes, start, sizeof start);
    return max ? 1 : 0;
}

#else

static struct aw_fuzz_seed make(int components, int h, int v, int progressive, int restart)
{
    enum { W = 37, H = 21 };
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL, row[W * 4];
    unsigned long length = 0;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &bytes, &length);
    c.image_width = W, c.image_height = H, c.input_components = components;
    c.in_color_space = components == 1 ? JCS_GRAYSCALE : components == 4 ? JCS_CMYK : JCS_RGB;
    jpeg_set_defaults(&c);
    c.comp_info[0].h_samp_factor = h, c.comp_info[0].v_samp_factor = v;
    c.restart_interval = (unsigned)restart;
    if (progressive)
        jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < H) {
        JSAMPROW at = row;
        for (int i = 0; i < W * components; i++)
            row[i] = (unsigned char)(i * 5 + c.next_scanline * 11);
        jpeg_write_scanlines(&c, &at, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return (struct aw_fuzz_seed){ (char *)bytes, length };
}

unsigned aw_fuzz_seeds(struct aw_fuzz_seed *ret_seeds, unsigned max)
{
    static const int kinds[][5] = {
        { 3, 2, 2, 0, 0 }, { 3, 2, 1, 1, 0 }, { 1, 1, 1, 0, 2 }, { 4, 1, 1, 0, 0 }, { 3, 1, 1, 1, 3 }
    };
    unsigned n = 0;
    for (; n < sizeof kinds / sizeof *kinds && n < max; n++)
        ret_seeds[n] = make(kinds[n][0], kinds[n][1], kinds[n][2], kinds[n][3], kinds[n][4]);
    return n;
}

#endif
