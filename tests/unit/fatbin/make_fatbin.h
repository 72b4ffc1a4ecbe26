/* Makes fatbin containers for tests and fuzz seeds: every header length, compression and record the field has shown.
 * The layout is written down a second time here on purpose: a test that used the reader's structs could not see them
 * wrong. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TESTS_MAKE_FATBIN_H
#define AW_TESTS_MAKE_FATBIN_H

#include <lz4.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/str.h"

enum { MAKE_RAW = 0, MAKE_LZ4 = 0x2000, MAKE_ZSTD = 0x8000 };

struct make_entry {
    uint16_t kind;
    uint32_t sm;
    uint64_t flags;           /* beside the compression's */
    unsigned compression;
    uint32_t header;          /* least header length; grows for the records */
    const char *text;
    size_t len;               /* of text, with its NUL where it has one */
    const char *options, *identifier;
    uint32_t options_gap;     /* zero bytes before the record, as nvcc 12.4 writes */
};

static inline void make_put(char *at, size_t offset, const void *value, size_t size)
{
    memcpy(at + offset, value, size);
}

static inline void make_begin(struct aw_buf *out)
{
    uint32_t magic = 0xba55ed50;
    uint16_t version = 1, header = 16;
    uint64_t size = 0;
    aw_buf_add(out, &magic, 4);
    aw_buf_add(out, &version, 2);
    aw_buf_add(out, &header, 2);
    aw_buf_add(out, &size, 8);
}

/* Sets the container's size once its entries are there. */
static inline void make_end(struct aw_buf *out, size_t begin)
{
    uint64_t size = out->len - begin - 16;
    make_put(out->ptr, begin + 8, &size, 8);
}

static inline uint32_t make_compress(const struct make_entry *e, char *packed, size_t room)
{
    if (e->compression == MAKE_LZ4)
        return (uint32_t)LZ4_compress_default(e->text, packed, (int)e->len, (int)room);
    if (e->compression == MAKE_ZSTD)
        return (uint32_t)ZSTD_compress(packed, room, e->text, e->len, 3);
    memcpy(packed, e->text, e->len);
    return 0;
}

static inline void make_add(struct aw_buf *out, const struct make_entry *e)
{
    static const char zeros[256];
    size_t room = e->len * 2 + 256;
    char head[512] = { 0 }, *packed = calloc(1, room);
    uint32_t compressed = make_compress(e, packed, room), header = e->header < 64 ? 64 : e->header, at = 64;
    uint16_t version = 0x0101, minor = 0, major = 9;
    if (e->options) {
        uint32_t record = at + e->options_gap, len = (uint32_t)strlen(e->options), text = record + 8;
        make_put(head, 20, &record, 4);
        make_put(head, record, &text, 4);
        make_put(head, record + 4, &len, 4);
        make_put(head, text, e->options, len);
        at = (text + len + 7) & ~7u;
    }
    if (e->identifier) {
        uint32_t len = (uint32_t)strlen(e->identifier);
        make_put(head, 32, &at, 4);
        make_put(head, 36, &len, 4);
        make_put(head, at, e->identifier, len);
        at = (at + len + 7) & ~7u;
    }
    header = at > header ? at : header;
    size_t stored = compressed ? compressed : e->len;
    uint64_t padded = (stored + 7) & ~(uint64_t)7, flags = 0x11 | e->flags | e->compression, size = compressed ? e->len : 0;
    make_put(head, 0, &e->kind, 2);
    make_put(head, 2, &version, 2);
    make_put(head, 4, &header, 4);
    make_put(head, 8, &padded, 8);
    make_put(head, 16, &compressed, 4);
    make_put(head, 24, &minor, 2);
    make_put(head, 26, &major, 2);
    make_put(head, 28, &e->sm, 4);
    make_put(head, 40, &flags, 8);
    make_put(head, 56, &size, 8);
    aw_buf_add(out, head, header);
    aw_buf_add(out, packed, stored);
    aw_buf_add(out, zeros, padded - stored);
    free(packed);
}

#endif
