/* Markers of JPEG (ITU-T T.81, annex B) and EXIF's orientation: see scan.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "scan.h"

#include <stdbool.h>
#include <string.h>

enum { SOF0 = 0xc0, DHT = 0xc4, JPG = 0xc8, DAC = 0xcc, SOF15 = 0xcf, RST0 = 0xd0, SOI = 0xd8, EOI = 0xd9, SOS = 0xda, TEM = 0x01,
       APP0 = 0xe0, APP1 = 0xe1, APP14 = 0xee, APP15 = 0xef, COM = 0xfe };

static unsigned big16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

/* ---- EXIF: a TIFF file in APP1. */

struct tiff {
    const uint8_t *at;
    size_t length;
    bool big;
};

/* Of `bytes` (2 or 4) at an offset; 0 beyond the end. */
static uint32_t tiff_number(const struct tiff *t, size_t offset, unsigned bytes)
{
    uint32_t value = 0;
    if (offset > t->length || t->length - offset < bytes)
        return 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | t->at[offset + (t->big ? i : bytes - 1 - i)];
    return value;
}

static nvjpegExifOrientation_t exif_orientation(const uint8_t *segment, size_t length)
{
    enum { HEAD = 6, ENTRY = 12, ORIENTATION = 0x112, SHORT = 3 };
    if (length < HEAD + 8 || memcmp(segment, "Exif\0\0", HEAD))
        return NVJPEG_ORIENTATION_UNKNOWN;
    struct tiff t = { segment + HEAD, length - HEAD, segment[HEAD] == 'M' };
    size_t directory = tiff_number(&t, 4, 4);
    unsigned n = tiff_number(&t, directory, 2);
    for (unsigned i = 0; i < n; i++) {
        size_t entry = directory + 2 + (size_t)i * ENTRY;
        if (tiff_number(&t, entry, 2) != ORIENTATION || tiff_number(&t, entry + 2, 2) != SHORT)
            continue;
        uint32_t value = tiff_number(&t, entry + 8, 2);
        return value <= NVJPEG_ORIENTATION_ROTATE_270 ? (nvjpegExifOrientation_t)value : NVJPEG_ORIENTATION_UNKNOWN;
    }
    return NVJPEG_ORIENTATION_UNKNOWN;
}

/* ---- The frame. */

static bool begins_frame(unsigned marker)
{
    return marker >= SOF0 && marker <= SOF15 && marker != DHT && marker != JPG && marker != DAC;
}

static nvjpegStatus_t read_frame(unsigned marker, const uint8_t *p, size_t length, struct aw_jpeg_info *info)
{
    enum { HEAD = 6, COMPONENT = 3 };
    if (length < HEAD || length < HEAD + COMPONENT * (size_t)p[5])
        return NVJPEG_STATUS_BAD_JPEG;
    info->sof = (uint8_t)marker;
    info->precision = p[0];
    info->height = big16(p + 1);
    info->width = big16(p + 3);
    info->n_components = p[5];
    if (!info->width || !info->n_components)
        return NVJPEG_STATUS_BAD_JPEG;
    if (!info->height || info->n_components > NVJPEG_MAX_COMPONENT)
        return NVJPEG_STATUS_JPEG_NOT_SUPPORTED;
    for (unsigned i = 0; i < info->n_components; i++) {
        unsigned h = p[HEAD + COMPONENT * i + 1] >> 4, v = p[HEAD + COMPONENT * i + 1] & 15;
        if (!h || h > 4 || !v || v > 4)
            return NVJPEG_STATUS_BAD_JPEG;
        info->component[i].h = (uint8_t)h;
        info->component[i].v = (uint8_t)v;
        info->h_max = h > info->h_max ? (uint8_t)h : info->h_max;
        info->v_max = v > info->v_max ? (uint8_t)v : info->v_max;
    }
    return NVJPEG_STATUS_SUCCESS;
}

/* The marker at *at, whose place becomes what is behind it; 0 where the data ends, 1 where there is none. */
static unsigned next_marker(const uint8_t *data, size_t length, size_t *at)
{
    if (*at >= length)
        return 0;
    if (data[*at] != 0xff)
        return 1;
    while (*at < length && data[*at] == 0xff)
        ++*at;
    return *at < length ? data[(*at)++] : 0;
}

nvjpegStatus_t aw_jpeg_scan(const uint8_t *data, size_t length, struct aw_jpeg_info *ret_info)
{
    struct aw_jpeg_info info = { 0 };
    size_t at = 2;
    if (length < 2 || data[0] != 0xff || data[1] != SOI)
        return NVJPEG_STATUS_BAD_JPEG;
    for (;;) {
        unsigned marker = next_marker(data, length, &at);
        if (!marker)
            return NVJPEG_STATUS_INCOMPLETE_BITSTREAM;
        if (marker == TEM + 0u || (marker >= RST0 && marker <= SOS))
            return NVJPEG_STATUS_BAD_JPEG; /* none of these comes before the frame */
        if (length - at < 2)
            return NVJPEG_STATUS_INCOMPLETE_BITSTREAM;
        size_t size = big16(data + at);
        if (size < 2)
            return NVJPEG_STATUS_BAD_JPEG;
        if (size > length - at)
            return NVJPEG_STATUS_INCOMPLETE_BITSTREAM;
        if (marker == APP1 && info.orientation == NVJPEG_ORIENTATION_UNKNOWN)
            info.orientation = exif_orientation(data + at + 2, size - 2);
        if (begins_frame(marker)) {
            nvjpegStatus_t status = read_frame(marker, data + at + 2, size - 2, &info);
            if (status == NVJPEG_STATUS_SUCCESS)
                *ret_info = info;
            return status;
        }
        at += size;
    }
}

/* ---- What is not about the picture. */

static bool is_metadata(unsigned marker, const uint8_t *held, size_t length)
{
    if (marker != COM && (marker < APP0 || marker > APP15))
        return false;
    return !(marker == APP0 && length >= 5 && !memcmp(held, "JFIF", 5)) &&
           !(marker == APP14 && length >= 5 && !memcmp(held, "Adobe", 5));
}

nvjpegStatus_t aw_jpeg_metadata(const uint8_t *data, size_t length, uint8_t *to, size_t *ret_length)
{
    size_t at = 2, made = 0;
    if (length < 2 || data[0] != 0xff || data[1] != SOI)
        return NVJPEG_STATUS_BAD_JPEG;
    for (;;) {
        unsigned marker = next_marker(data, length, &at);
        if (!marker || length - at < 2)
            return NVJPEG_STATUS_INCOMPLETE_BITSTREAM;
        if (marker == SOS)
            break;
        size_t size = big16(data + at);
        if (marker == TEM + 0u || (marker >= RST0 && marker <= EOI) || size < 2)
            return NVJPEG_STATUS_BAD_JPEG;
        if (size > length - at)
            return NVJPEG_STATUS_INCOMPLETE_BITSTREAM;
        if (is_metadata(marker, data + at + 2, size - 2)) {
            if (to) {
                to[made] = (uint8_t)marker;
                memcpy(to + made + 1, data + at, size);
            }
            made += 1 + size;
        }
        at += size;
    }
    *ret_length = made;
    return NVJPEG_STATUS_SUCCESS;
}

/* ---- Names of sampling. */

static const struct {
    nvjpegChromaSubsampling_t name;
    uint8_t x, y;
} ratios[] = { { NVJPEG_CSS_444, 1, 1 }, { NVJPEG_CSS_422, 2, 1 }, { NVJPEG_CSS_420, 2, 2 }, { NVJPEG_CSS_440, 1, 2 },
               { NVJPEG_CSS_411, 4, 1 }, { NVJPEG_CSS_410, 4, 2 }, { NVJPEG_CSS_410V, 2, 4 } };
enum { RATIOS = sizeof ratios / sizeof *ratios };

nvjpegChromaSubsampling_t aw_jpeg_subsampling(const struct aw_jpeg_info *info)
{
    if (info->n_components == 1)
        return NVJPEG_CSS_GRAY;
    unsigned h = info->component[0].h, v = info->component[0].v, ch = info->component[1].h, cv = info->component[1].v;
    if (info->n_components != 3 || ch != info->component[2].h || cv != info->component[2].v)
        return NVJPEG_CSS_UNKNOWN;
    for (unsigned i = 0; i < RATIOS; i++)
        if (h == ratios[i].x * ch && v == ratios[i].y * cv)
            return ratios[i].name;
    return NVJPEG_CSS_UNKNOWN;
}

int aw_jpeg_ratio(nvjpegChromaSubsampling_t subsampling, unsigned *ret_x, unsigned *ret_y)
{
    for (unsigned i = 0; i < RATIOS; i++)
        if (ratios[i].name == subsampling) {
            *ret_x = ratios[i].x;
            *ret_y = ratios[i].y;
            return 1;
        }
    return 0;
}
