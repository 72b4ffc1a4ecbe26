/* libjpeg-turbo: see turbo.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "nvjpeg"
#include "turbo.h"

#include "base/log.h"

#ifndef AW_HAVE_LIBJPEG

bool aw_turbo_open(void)
{
    aw_say(NO_LIBJPEG, "anywarp was built without its headers");
    return false;
}

#else

#include <pthread.h>
#include <stdlib.h>

#include <jerror.h>

#include "base/dl.h"

struct aw_turbo_calls aw_turbo;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool there;

static void open_library(void)
{
    static const char *const names[] = { JPEG_LIB_VERSION >= 80 ? "libjpeg.so.8" : "libjpeg.so.62", NULL };
#define ROW(name) { #name, __builtin_offsetof(struct aw_turbo_calls, name), true },
    static const struct aw_dl_symbol symbols[] = { AW_TURBO_CALLS(ROW){ NULL, 0, false } };
#undef ROW
    char why[256];
    there = aw_dl_open(names, symbols, &aw_turbo, why, sizeof why);
    if (!there)
        aw_say(NO_LIBJPEG, why);
}

bool aw_turbo_open(void)
{
    pthread_once(&once, open_library);
    return there;
}

/* ---- Errors */

static void error_exit(j_common_ptr cinfo)
{
    longjmp(((struct aw_turbo_errors *)cinfo->err)->jump, 1);
}

static void emit_message(j_common_ptr cinfo, int level)
{
    struct aw_turbo_errors *e = (struct aw_turbo_errors *)cinfo->err;
    if (level >= 0)
        return;
    e->odd = true;
    switch (e->base.msg_code) {
    case JWRN_HIT_MARKER: e->starved = true; break;
    case JWRN_HUFF_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_BOGUS_PROGRESSION: e->corrupt = true; break;
    default: break;
    }
}

static void output_message(j_common_ptr cinfo)
{
}

void aw_turbo_errors_init(struct aw_turbo_errors *errors)
{
    aw_turbo.jpeg_std_error(&errors->base);
    errors->base.error_exit = error_exit;
    errors->base.emit_message = emit_message;
    errors->base.output_message = output_message;
    errors->corrupt = errors->starved = errors->odd = false;
}

nvjpegStatus_t aw_turbo_status(const struct aw_turbo_errors *errors)
{
    switch (errors->base.msg_code) {
    case JERR_OUT_OF_MEMORY: return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    case JERR_BAD_LIB_VERSION:
    case JERR_BAD_STRUCT_SIZE: return NVJPEG_STATUS_INTERNAL_ERROR;
    case JERR_SOF_UNSUPPORTED:
    case JERR_BAD_PRECISION:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_NOT_COMPILED: return NVJPEG_STATUS_JPEG_NOT_SUPPORTED;
    default: return NVJPEG_STATUS_BAD_JPEG;
    }
}

/* ---- Memory read */

static void source_begin(j_decompress_ptr cinfo)
{
}

/* Behind the end there is the marker of the end, as often as it is asked for. */
static boolean source_fill(j_decompress_ptr cinfo)
{
    static const JOCTET eoi[2] = { 0xff, JPEG_EOI };
    ((struct aw_turbo_source *)cinfo->src)->ended = true;
    cinfo->src->next_input_byte = eoi;
    cinfo->src->bytes_in_buffer = sizeof eoi;
    return TRUE;
}

static void source_skip(j_decompress_ptr cinfo, long bytes)
{
    struct jpeg_source_mgr *s = cinfo->src;
    if (bytes <= 0)
        return;
    if ((size_t)bytes > s->bytes_in_buffer) {
        source_fill(cinfo);
        return;
    }
    s->next_input_byte += bytes;
    s->bytes_in_buffer -= (size_t)bytes;
}

void aw_turbo_source_init(struct aw_turbo_source *source, const uint8_t *data, size_t length)
{
    *source = (struct aw_turbo_source){ .base = { .next_input_byte = data, .bytes_in_buffer = length, .init_source = source_begin,
                                                  .fill_input_buffer = source_fill, .skip_input_data = source_skip,
                                                  .resync_to_restart = aw_turbo.jpeg_resync_to_restart,
                                                  .term_source = source_begin } };
}

/* ---- Memory written */

enum { FIRST = 1 << 16 };

static void sink_room(j_compress_ptr cinfo, size_t capacity)
{
    struct aw_turbo_sink *s = (struct aw_turbo_sink *)cinfo->dest;
    uint8_t *data = realloc(s->data, capacity);
    if (!data) {
        cinfo->err->msg_code = JERR_OUT_OF_MEMORY;
        cinfo->err->error_exit((j_common_ptr)cinfo);
    }
    s->base.next_output_byte = data + s->capacity;
    s->base.free_in_buffer = capacity - s->capacity;
    s->data = data;
    s->capacity = capacity;
}

static void sink_begin(j_compress_ptr cinfo)
{
    sink_room(cinfo, FIRST);
}

static boolean sink_full(j_compress_ptr cinfo)
{
    sink_room(cinfo, ((struct aw_turbo_sink *)cinfo->dest)->capacity * 2);
    return TRUE;
}

static void sink_end(j_compress_ptr cinfo)
{
    struct aw_turbo_sink *s = (struct aw_turbo_sink *)cinfo->dest;
    s->length = s->capacity - s->base.free_in_buffer;
}

void aw_turbo_sink_init(struct aw_turbo_sink *sink)
{
    *sink = (struct aw_turbo_sink){ .base = { .init_destination = sink_begin, .empty_output_buffer = sink_full,
                                              .term_destination = sink_end } };
}

#endif
