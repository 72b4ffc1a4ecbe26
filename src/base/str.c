/* The growing text buffer and string order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

int aw_str_cmp(struct aw_str a, struct aw_str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.ptr, b.ptr, n) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

void aw_buf_fini(struct aw_buf *buf)
{
    free(buf->ptr);
    *buf = (struct aw_buf){ 0 };
}

/* Room for `more` bytes and the NUL. */
static bool buf_reserve(struct aw_buf *buf, size_t more)
{
    if (buf->failed || more > SIZE_MAX / 2 - buf->len - 1) {
        buf->failed = true;
        return false;
    }
    size_t need = buf->len + more + 1;
    if (need <= buf->cap)
        return true;
    size_t cap = buf->cap ? buf->cap : 64;
    while (cap < need)
        cap *= 2;
    char *ptr = realloc(buf->ptr, cap);
    if (!ptr) {
        buf->failed = true;
        return false;
    }
    buf->ptr = ptr;
    buf->cap = cap;
    return true;
}

void aw_buf_add(struct aw_buf *buf, const void *bytes, size_t len)
{
    if (!buf_reserve(buf, len))
        return;
    if (len)
        memcpy(buf->ptr + buf->len, bytes, len);
    buf->len += len;
    buf->ptr[buf->len] = 0;
}

void aw_buf_str(struct aw_buf *buf, struct aw_str s)
{
    aw_buf_add(buf, s.ptr, s.len);
}

void aw_buf_vprintf(struct aw_buf *buf, const char *fmt, va_list ap)
{
    va_list again;

    va_copy(again, ap);
    int len = vsnprintf(NULL, 0, fmt, ap);
    if (len < 0)
        buf->failed = true;
    else if (buf_reserve(buf, (size_t)len)) {
        vsnprintf(buf->ptr + buf->len, (size_t)len + 1, fmt, again);
        buf->len += (size_t)len;
    }
    va_end(again);
}

void aw_buf_printf(struct aw_buf *buf, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    aw_buf_vprintf(buf, fmt, ap);
    va_end(ap);
}
