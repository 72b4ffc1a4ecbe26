/* Decoded images in the host's memory, and how a file becomes one.  Nothing here calls a function of CUDA. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NVJPEG_IMAGE_H
#define AW_LIBS_NVJPEG_IMAGE_H

#include <stdbool.h>

#include "scan.h"

/* A row is `width` elements of `unit` bytes, without gaps. */
struct aw_jpeg_plane {
    uint8_t *data;
    unsigned width, height, unit;
    unsigned x_step, y_step; /* pixels of the image for one element; 0: not a whole number */
};

/* Counted, as work in streams and graphs outlives the decoder's state; does not change once made. */
struct aw_jpeg_image {
    int refs;
    unsigned n_planes;
    struct aw_jpeg_plane plane[NVJPEG_MAX_COMPONENT];
};

struct aw_jpeg_image *aw_jpeg_image_ref(struct aw_jpeg_image *image);
void aw_jpeg_image_unref(struct aw_jpeg_image *image);
/* Memory for planes whose sizes are given and whose data is not; NULL: out of it. */
struct aw_jpeg_image *aw_jpeg_image_create(unsigned n_planes, const struct aw_jpeg_plane planes[]);

/* What a file is to become. */
struct aw_jpeg_ask {
    nvjpegOutputFormat_t format;
    bool allow_cmyk, strict, interpolate;
    int x, y, width, height; /* of the pixels to have; width -1: all */
    nvjpegExifOrientation_t orientation;
    nvjpegScaleFactor_t scale;
    const uint8_t *tables; /* a file of tables that precedes, or NULL */
    size_t tables_length;
};
#define AW_JPEG_ASK(fmt) ((struct aw_jpeg_ask){ .format = (fmt), .width = -1, .height = -1 })

/* Could a file with this header become that?  Says which status it is where not. */
nvjpegStatus_t aw_jpeg_askable(const struct aw_jpeg_info *info, const struct aw_jpeg_ask *ask);
/* *ret_image is the caller's, and untouched on failure. */
nvjpegStatus_t aw_jpeg_decode(const uint8_t *data, size_t length, const struct aw_jpeg_ask *ask,
                              struct aw_jpeg_image **ret_image);

/* A file's tables for luminance and for chrominance (the same where there is none). */
enum { AW_JPEG_QUANT = 64 };
struct aw_jpeg_code {
    uint8_t bits[17]; /* codes of each length, from 1 on */
    uint8_t values[256];
};
struct aw_jpeg_tables {
    uint16_t quantisation[2][AW_JPEG_QUANT]; /* in the order of rows */
    bool has_codes;                          /* all that a file of one scan needs come before the first */
    struct aw_jpeg_code dc[2], ac[2];
};
nvjpegStatus_t aw_jpeg_tables(const uint8_t *data, size_t length, struct aw_jpeg_tables *ret_tables);

/* `image`, whose reference is taken over, cut and turned as asked. */
nvjpegStatus_t aw_jpeg_image_shape(struct aw_jpeg_image *image, const struct aw_jpeg_ask *ask, struct aw_jpeg_image **ret_image);

#endif
