/* Texel formats of buffers and images: packed memory to 32-bit channels (f32, or integers) and back. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMAT_H
#define FORMAT_H

#include <stdbool.h>
#include <stdint.h>

enum format_number { FORMAT_UNORM, FORMAT_SNORM, FORMAT_USCALED, FORMAT_SSCALED, FORMAT_UINT, FORMAT_SINT, FORMAT_FLOAT,
                     FORMAT_SRGB };

struct format {
    uint8_t n;          /* channels; 0: none */
    uint8_t bytes;      /* of a texel */
    uint8_t bits[4];    /* of the channels, from the lowest */
    uint8_t number;     /* enum format_number */
};

/* The format of gfx10's number (buffers and images), of gfx9's pair of numbers in a buffer.  False when it is reserved or not
 * modelled. */
bool format_gfx10(unsigned code, struct format *ret);
bool format_gfx9(unsigned data, unsigned number, struct format *ret);

/* Channels that the format lacks become 0, the fourth 1. */
void format_unpack(const struct format *f, const void *from, uint32_t ret[4]);
/* Normalised values are clamped and rounded to nearest even, integers clamped; NaN is 0 there. */
void format_pack(const struct format *f, const uint32_t from[4], void *ret);

/* Are the channels integers? */
static inline bool format_integer(const struct format *f)
{
    return f->number == FORMAT_UINT || f->number == FORMAT_SINT;
}

/* IEEE half to single and back, to nearest even. */
uint32_t format_from_half(uint16_t half);
uint16_t format_to_half(uint32_t bits);

#endif
