/* The growing text buffer and string order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <limits.h>
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

/* ---- Formats.  Text by the megabyte is made of a handful of conversions, for which the C library's printf takes most of the
 * time. */

struct out {
    char *at;
    size_t size, len; /* `len` counts on where `size` ends */
};

static void out_add(struct out *out, const char *bytes, size_t len)
{
    if (out->len < out->size) {
        size_t room = out->size - out->len;
        memcpy(out->at + out->len, bytes, len < room ? len : room);
    }
    out->len += len;
}

static void out_number(struct out *out, uint64_t n, bool minus)
{
    char digits[21];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    if (minus)
        digits[--at] = '-';
    out_add(out, digits + at, sizeof digits - at);
}

static void out_signed(struct out *out, long n)
{
    out_number(out, n < 0 ? -(uint64_t)n : (uint64_t)n, n < 0);
}

/* `most` bytes of it; all where that is negative. */
static void out_text(struct out *out, const char *text, int most)
{
    text = text ? text : "(null)";
    out_add(out, text, most < 0 ? strlen(text) : strnlen(text, (size_t)most));
}

/* Bytes of the conversion at `at`; 0: not one of those below. */
static size_t conversion(const char *at)
{
    switch (at[1]) {
    case 's': case 'u': case 'd': case 'c': case '%':
        return 2;
    case 'l':
        return at[2] == 'u' || at[2] == 'd' ? 3 : 0;
    case '.':
        return at[2] == '*' && at[3] == 's' ? 4 : 0;
    }
    return 0;
}

static bool is_plain(const char *fmt)
{
    while (*fmt) {
        size_t n = *fmt == '%' ? conversion(fmt) : 1;
        if (!n)
            return false;
        fmt += n;
    }
    return true;
}

static void plain(struct out *out, const char *fmt, va_list ap)
{
    for (const char *end; *fmt; fmt = end) {
        for (end = fmt; *end && *end != '%'; end++)
            ;
        if (end > fmt) {
            out_add(out, fmt, (size_t)(end - fmt));
            continue;
        }
        end = fmt + conversion(fmt);
        switch (fmt[1] == 'l' ? fmt[2] - 'a' + 'A' : fmt[1]) {
        case 's':
            out_text(out, va_arg(ap, const char *), -1);
            break;
        case '.': {
            int len = va_arg(ap, int);
            out_text(out, va_arg(ap, const char *), len);
            break;
        }
        case 'u':
            out_number(out, va_arg(ap, unsigned), false);
            break;
        case 'U':
            out_number(out, va_arg(ap, unsigned long), false);
            break;
        case 'd':
            out_signed(out, va_arg(ap, int));
            break;
        case 'D':
            out_signed(out, va_arg(ap, long));
            break;
        case 'c':
            out_add(out, &(char){ (char)va_arg(ap, int) }, 1);
            break;
        default:
            out_add(out, "%", 1);
            break;
        }
    }
}

int aw_vsnprintf(char *to, size_t size, const char *fmt, va_list ap)
{
    if (!is_plain(fmt))
        return vsnprintf(to, size, fmt, ap);
    struct out out = { to, size ? size - 1 : 0, 0 };
    plain(&out, fmt, ap);
    if (size)
        to[out.len < size ? out.len : size - 1] = 0;
    return out.len <= INT_MAX ? (int)out.len : -1;
}

void aw_buf_vprintf(struct aw_buf *buf, const char *fmt, va_list ap)
{
    va_list again;

    va_copy(again, ap);
    size_t room = buf->failed ? 0 : buf->cap - buf->len;
    int len = aw_vsnprintf(room ? buf->ptr + buf->len : NULL, room, fmt, ap);
    if (len < 0) {
        buf->failed = true;
        if (room)
            buf->ptr[buf->len] = 0;
    } else if ((size_t)len < room) {
        buf->len += (size_t)len;
    } else {
        if (room)
            buf->ptr[buf->len] = 0; /* as it was, should memory be out */
        if (buf_reserve(buf, (size_t)len)) {
            aw_vsnprintf(buf->ptr + buf->len, (size_t)len + 1, fmt, again);
            buf->len += (size_t)len;
        }
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
