/* The header of a JPEG file: what the frame is, without decoding anything. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NVJPEG_SCAN_H
#define AW_LIBS_NVJPEG_SCAN_H

#include "nvjpeg_types.h"

struct aw_jpeg_info {
    uint8_t sof; /* the marker that begins the frame: 0xc0 to 0xcf */
    uint8_t precision, n_components;
    uint8_t h_max, v_max;
    unsigned width, height;
    struct {
        uint8_t h, v; /* sampling factors, 1 to 4 */
    } component[NVJPEG_MAX_COMPONENT];
    nvjpegExifOrientation_t orientation; /* UNKNOWN where no EXIF says */
};

/* Reads up to the frame's header.  BAD_JPEG, JPEG_NOT_SUPPORTED (components, a height that comes later) or INCOMPLETE_BITSTREAM;
 * *ret_info is then untouched. */
nvjpegStatus_t aw_jpeg_scan(const uint8_t *data, size_t length, struct aw_jpeg_info *ret_info);

/* The segments of applications and comments before the first scan, each as its marker, a length of two bytes and what it holds;
 * without those that say how this file's colours are coded (JFIF, Adobe).  `to` has room for *ret_length bytes; NULL: only their
 * length is told. */
nvjpegStatus_t aw_jpeg_metadata(const uint8_t *data, size_t length, uint8_t *to, size_t *ret_length);

nvjpegChromaSubsampling_t aw_jpeg_subsampling(const struct aw_jpeg_info *info);
/* Samples of a component along an axis of `size` pixels: its factor of the largest, rounded up. */
static inline unsigned aw_jpeg_samples(unsigned size, unsigned factor, unsigned max)
{
    return (unsigned)(((uint64_t)size * factor + max - 1) / max);
}

/* Luminance's samples for one of chrominance, along both axes.  False: not one of nvJPEG's names for colour. */
int aw_jpeg_ratio(nvjpegChromaSubsampling_t subsampling, unsigned *ret_x, unsigned *ret_y);

#endif
