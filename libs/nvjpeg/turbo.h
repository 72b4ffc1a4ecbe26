/* libjpeg-turbo, opened at run time: its errors as nvJPEG's statuses, and memory that it reads and writes.
 *
 * Its headers fix the layout of its structures, so the library opened is the one that they belong to; where anywarp was built
 * without them, nothing is decoded or encoded. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NVJPEG_TURBO_H
#define AW_LIBS_NVJPEG_TURBO_H

#include <stdbool.h>

#include "nvjpeg_types.h"

/* Is it there?  What to install has been said once where not.  Thread-safe. */
bool aw_turbo_open(void);

#ifdef AW_HAVE_LIBJPEG

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

/* What is called of the library. */
#define AW_TURBO_CALLS(X)                                                                                                        \
    X(jpeg_std_error) X(jpeg_resync_to_restart) X(jpeg_CreateDecompress) X(jpeg_destroy_decompress) X(jpeg_read_header)          \
        X(jpeg_start_decompress) X(jpeg_read_scanlines) X(jpeg_read_raw_data) X(jpeg_finish_decompress) X(jpeg_CreateCompress)   \
            X(jpeg_destroy_compress) X(jpeg_set_defaults) X(jpeg_set_colorspace) X(jpeg_set_quality) X(jpeg_simple_progression)  \
                X(jpeg_start_compress) X(jpeg_write_marker) X(jpeg_write_scanlines) X(jpeg_finish_compress)

struct aw_turbo_calls {
#define AW_TURBO_MEMBER(name) __typeof__(&name) name;
    AW_TURBO_CALLS(AW_TURBO_MEMBER)
#undef AW_TURBO_MEMBER
};
extern struct aw_turbo_calls aw_turbo; /* once aw_turbo_open said true */

/* Where libjpeg says what is wrong.  It begins with libjpeg's own, which finds it from there. */
struct aw_turbo_errors {
    struct jpeg_error_mgr base;
    jmp_buf jump;          /* where errors go */
    bool corrupt, starved; /* warnings: codes that are none; bits that are missing */
    bool odd;              /* any warning at all */
};
void aw_turbo_errors_init(struct aw_turbo_errors *errors);
/* Of the error that was jumped with. */
nvjpegStatus_t aw_turbo_status(const struct aw_turbo_errors *errors);

/* Memory as a file. */
struct aw_turbo_source {
    struct jpeg_source_mgr base;
    bool ended; /* more was asked for than there is */
};
void aw_turbo_source_init(struct aw_turbo_source *source, const uint8_t *data, size_t length);

/* A file that grows in memory; `data` is the owner's to free, after errors too. */
struct aw_turbo_sink {
    struct jpeg_destination_mgr base;
    uint8_t *data;
    size_t length, capacity;
};
void aw_turbo_sink_init(struct aw_turbo_sink *sink);

#endif
#endif
