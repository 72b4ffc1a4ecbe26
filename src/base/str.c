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

/* By value, with the length beside it, so that both stay in registers: characters that are stored could be any memory's. */
struct out {
    char *at;
    size_t size;
};

/* Each returns the length with what it adds, which counts on where `size` ends. */
static inline size_t out_char(struct out out, size_t len, char c)
{
    if (len < out.size)
        out.at[len] = c;
    return len + 1;
}

/* What is printed is short: a call of memcpy would take longer than its bytes. */
static inline size_t out_text(struct out out, size_t len, const char *text, int most)
{
    text = text ? text : "(null)";
    for (; most && *text; text++, most--)
        len = out_char(out, len, *text);
    return len;
}

static inline size_t out_number(struct out out, size_t len, uint64_t n)
{
    char digits[AW_DIGITS];
    for (unsigned at = aw_digits(digits, n); at < AW_DIGITS; at++)
        len = out_char(out, len, digits[at]);
    return len;
}

static inline size_t out_signed(struct out out, size_t len, long n)
{
    if (n >= 0)
        return out_number(out, len, (uint64_t)n);
    return out_number(out, out_char(out, len, '-'), -(uint64_t)n);
}

/* The length; SIZE_MAX where the format has other conversions than these. */
static size_t plain(struct out out, const char *fmt, va_list ap)
{
    size_t len = 0;
    for (; *fmt; fmt++) {
        int most = -1;
        if (*fmt != '%') {
            len = out_char(out, len, *fmt);
            continue;
        }
        switch (*++fmt) {
        case '.':
            if (fmt[1] != '*' || fmt[2] != 's')
                return SIZE_MAX;
            fmt += 2;
            most = va_arg(ap, int); /* fall through */
        case 's': len = out_text(out, len, va_arg(ap, const char *), most); break;
        case 'u': len = out_number(out, len, va_arg(ap, unsigned)); break;
        case 'd': len = out_signed(out, len, va_arg(ap, int)); break;
        case 'c': len = out_char(out, len, (char)va_arg(ap, int)); break;
        case '%': len = out_char(out, len, '%'); break;
        case 'l':
            if (*++fmt == 'u')
                len = out_number(out, len, va_arg(ap, unsigned long));
            else if (*fmt == 'd')
                len = out_signed(out, len, va_arg(ap, long));
            else
                return SIZE_MAX;
            break;
        default: return SIZE_MAX;
        }
    }
    return len;
}

int aw_vsnprintf(char *to, size_t size, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    size_t len = plain((struct out){ to, size ? size - 1 : 0 }, fmt, ap);
    int n = len == SIZE_MAX ? vsnprintf(to, size, fmt, again) : len <= INT_MAX ? (int)len : -1;
    va_end(again);
    if (size && len != SIZE_MAX)
        to[len < size ? len : size - 1] = 0;
    return n;
}

/* What has no room yet, or other conversions. */
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

void aw_buf_vprintf(struct aw_buf *buf, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    size_t room = buf->failed ? 0 : buf->cap - buf->len;
    size_t len = room ? plain((struct out){ buf->ptr + buf->len, room - 1 }, fmt, ap) : SIZE_MAX;
    if (len < room)
        buf->len += len;
    if (room)
        buf->ptr[buf->len] = 0; /* as it was, where that was not all */
    if (len >= room)
        buf_vprintf_any(buf, fmt, again);
    va_end(again);
}

void aw_buf_printf(struct aw_buf *buf, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    aw_buf_vprintf(buf, fmt, ap);
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
