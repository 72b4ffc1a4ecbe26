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

void aw_buf_grow(struct aw_buf *buf, const void *bytes, size_t len)
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

/* Each returns where what it writes ends; NULL where that is behind `end`. */
static inline char *out_text(char *at, const char *end, const char *text)
{
    for (text = text ? text : "(null)"; *text; text++) { /* it is short: a call of strlen would take longer */
        if (at == end)
            return NULL;
        *at++ = *text;
    }
    return at;
}

static inline char *out_bytes(char *at, const char *end, const char *bytes, size_t n)
{
    if ((size_t)(end - at) < n)
        return NULL;
    memcpy(at, bytes, n);
    return at + n;
}

static inline char *out_number(char *at, const char *end, uint64_t n)
{
    char digits[AW_DIGITS];
    unsigned first = aw_digits(digits, n);
    if (end - at < (ptrdiff_t)(AW_DIGITS - first))
        return NULL;
    while (first < AW_DIGITS)
        *at++ = digits[first++];
    return at;
}

static inline char *out_signed(char *at, const char *end, long n)
{
    if (n < 0 && at < end)
        *at++ = '-';
    else if (n < 0)
        return NULL;
    return out_number(at, end, n < 0 ? -(uint64_t)n : (uint64_t)n);
}

char *aw_print(char *at, char *end, const char *fmt, va_list ap)
{
    for (; at && *fmt; fmt++) {
        if (*fmt != '%') {
            if (at == end)
                return NULL;
            *at++ = *fmt;
            continue;
        }
        if (*++fmt == 's') { /* what most of them are */
            at = out_text(at, end, va_arg(ap, const char *));
            continue;
        }
        switch (*fmt) {
        case '.': {
            if (fmt[1] != '*' || fmt[2] != 's')
                return NULL;
            fmt += 2;
            int most = va_arg(ap, int);
            const char *text = va_arg(ap, const char *);
            text = text ? text : "(null)";
            at = out_bytes(at, end, text, most < 0 ? strlen(text) : strnlen(text, (size_t)most));
            break;
        }
        case 'u': at = out_number(at, end, va_arg(ap, unsigned)); break;
        case 'd': at = out_signed(at, end, va_arg(ap, int)); break;
        case 'c': at = out_bytes(at, end, &(char){ (char)va_arg(ap, int) }, 1); break;
        case '%': at = out_bytes(at, end, "%", 1); break;
        case 'l':
            if (*++fmt == 'u')
                at = out_number(at, end, va_arg(ap, unsigned long));
            else if (*fmt == 'd')
                at = out_signed(at, end, va_arg(ap, long));
            else
                return NULL;
            break;
        default: return NULL;
        }
    }
    return at;
}

int aw_vsnprintf(char *to, size_t size, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    char *end = size ? aw_print(to, to + size - 1, fmt, ap) : NULL;
    int n = end && end - to <= INT_MAX ? (int)(end - to) : vsnprintf(to, size, fmt, again);
    va_end(again);
    if (end)
        *end = 0;
    return n;
}

static void buf_vprintf_any(struct aw_buf *buf, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int len = vsnprintf(NULL, 0, fmt, ap);
    if (len < 0)
        buf->failed = true;
    if (len >= 0 && buf_reserve(buf, (size_t)len)) {
        vsnprintf(buf->ptr + buf->len, (size_t)len + 1, fmt, again);
        buf->len += (size_t)len;
    }
    va_end(again);
}

bool aw_buf_vprintf_once(struct aw_buf *buf, const char *fmt, va_list ap)
{
    if (buf->failed || !buf->cap)
        return false;
    char *begin = buf->ptr + buf->len, *end = aw_print(begin, buf->ptr + buf->cap - 1, fmt, ap);
    buf->len += end ? (size_t)(end - begin) : 0;
    buf->ptr[buf->len] = 0; /* as it was, where that was not all */
    return end;
}

void aw_buf_vprintf(struct aw_buf *buf, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    if (!aw_buf_vprintf_once(buf, fmt, ap))
        buf_vprintf_any(buf, fmt, again);
    va_end(again);
}

void aw_buf_printf(struct aw_buf *buf, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    bool done = aw_buf_vprintf_once(buf, fmt, ap);
    va_end(ap);
    if (done)
        return;
    va_start(ap, fmt);
    buf_vprintf_any(buf, fmt, ap);
    va_end(ap);
}

int aw_snprintf(char *to, size_t size, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int len = aw_vsnprintf(to, size, fmt, ap);
    va_end(ap);
    return len;
}
