/* Images of planes, cut and turned: see image.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <stdlib.h>
#include <string.h>

struct aw_jpeg_image *aw_jpeg_image_ref(struct aw_jpeg_image *image)
{
    __atomic_add_fetch(&image->refs, 1, __ATOMIC_RELAXED);
    return image;
}

void aw_jpeg_image_unref(struct aw_jpeg_image *image)
{
    if (image && !__atomic_sub_fetch(&image->refs, 1, __ATOMIC_ACQ_REL))
        free(image);
}

struct aw_jpeg_image *aw_jpeg_image_create(unsigned n_planes, const struct aw_jpeg_plane planes[])
{
    size_t size = sizeof(struct aw_jpeg_image);
    for (unsigned i = 0; i < n_planes; i++)
        size += (size_t)planes[i].width * planes[i].height * planes[i].unit;
    struct aw_jpeg_image *image = malloc(size);
    if (!image)
        return NULL;
    *image = (struct aw_jpeg_image){ .refs = 1, .n_planes = n_planes };
    uint8_t *at = (uint8_t *)(image + 1);
    for (unsigned i = 0; i < n_planes; i++) {
        image->plane[i] = planes[i];
        image->plane[i].data = at;
        at += (size_t)planes[i].width * planes[i].height * planes[i].unit;
    }
    return image;
}

/* ---- Cutting */

/* The part of a plane; false: it does not begin at an element, or leaves the plane. */
static bool part_of(const struct aw_jpeg_plane *from, const struct aw_jpeg_ask *ask, struct aw_jpeg_plane *ret_part)
{
    unsigned xs = from->x_step, ys = from->y_step;
    if (!xs || !ys || ask->x < 0 || ask->y < 0 || ask->width <= 0 || ask->height <= 0)
        return false;
    unsigned x = (unsigned)ask->x, y = (unsigned)ask->y;
    if (x % xs || y % ys)
        return false;
    unsigned w = aw_jpeg_samples((unsigned)ask->width, 1, xs), h = aw_jpeg_samples((unsigned)ask->height, 1, ys);
    if (x / xs >= from->width || w > from->width - x / xs || y / ys >= from->height || h > from->height - y / ys)
        return false;
    *ret_part = *from;
    ret_part->width = w;
    ret_part->height = h;
    return true;
}

static nvjpegStatus_t cut(struct aw_jpeg_image *image, const struct aw_jpeg_ask *ask, struct aw_jpeg_image **ret_image)
{
    struct aw_jpeg_plane part[NVJPEG_MAX_COMPONENT] = { 0 };
    for (unsigned i = 0; i < image->n_planes; i++)
        if (!part_of(&image->plane[i], ask, &part[i]))
            return NVJPEG_STATUS_INVALID_PARAMETER;
    struct aw_jpeg_image *made = aw_jpeg_image_create(image->n_planes, part);
    if (!made)
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    for (unsigned i = 0; i < image->n_planes; i++) {
        const struct aw_jpeg_plane *from = &image->plane[i], *to = &made->plane[i];
        size_t row = (size_t)to->width * to->unit, pitch = (size_t)from->width * from->unit;
        const uint8_t *at = from->data + (unsigned)ask->y / from->y_step * pitch +
                            (size_t)((unsigned)ask->x / from->x_step) * to->unit;
        for (unsigned y = 0; y < to->height; y++)
            memcpy(to->data + y * row, at + y * pitch, row);
    }
    *ret_image = made;
    return NVJPEG_STATUS_SUCCESS;
}

/* ---- Turning: where an element of the result comes from. */

static void turn_plane(const struct aw_jpeg_plane *from, const struct aw_jpeg_plane *to, nvjpegExifOrientation_t o)
{
    bool swap = o >= NVJPEG_ORIENTATION_TRANSPOSE;
    /* EXIF's numbers: along the stored rows backwards in 2, 3, 7 and 8; along the columns in 3, 4, 6 and 7 */
    bool back_x = o == 2 || o == 3 || o == 7 || o == 8, back_y = o == 3 || o == 4 || o == 6 || o == 7;
    for (unsigned y = 0; y < to->height; y++)
        for (unsigned x = 0; x < to->width; x++) {
            unsigned sx = swap ? y : x, sy = swap ? x : y;
            sx = back_x ? from->width - 1 - sx : sx;
            sy = back_y ? from->height - 1 - sy : sy;
            memcpy(to->data + ((size_t)y * to->width + x) * to->unit, from->data + ((size_t)sy * from->width + sx) * to->unit,
                   to->unit);
        }
}

static nvjpegStatus_t turn(struct aw_jpeg_image *image, nvjpegExifOrientation_t o, struct aw_jpeg_image **ret_image)
{
    struct aw_jpeg_plane turned[NVJPEG_MAX_COMPONENT] = { 0 };
    for (unsigned i = 0; i < image->n_planes; i++) {
        turned[i] = image->plane[i];
        if (o >= NVJPEG_ORIENTATION_TRANSPOSE) {
            turned[i].width = image->plane[i].height;
            turned[i].height = image->plane[i].width;
        }
    }
    struct aw_jpeg_image *made = aw_jpeg_image_create(image->n_planes, turned);
    if (!made)
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    for (unsigned i = 0; i < image->n_planes; i++)
        turn_plane(&image->plane[i], &made->plane[i], o);
    *ret_image = made;
    return NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t aw_jpeg_image_shape(struct aw_jpeg_image *image, const struct aw_jpeg_ask *ask, struct aw_jpeg_image **ret_image)
{
    struct aw_jpeg_image *made = image;
    nvjpegStatus_t status = NVJPEG_STATUS_SUCCESS;
    if (ask->width != -1)
        status = cut(image, ask, &made);
    else if (ask->orientation > NVJPEG_ORIENTATION_NORMAL)
        status = turn(image, ask->orientation, &made);
    if (made != image || status != NVJPEG_STATUS_SUCCESS)
        aw_jpeg_image_unref(image);
    if (status == NVJPEG_STATUS_SUCCESS)
        *ret_image = made;
    return status;
}
