/* String slices and a growing text buffer.  Not an encoding library: bytes in, bytes out. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_STR_H
#define AW_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct aw_arena;

/* A borrowed run of bytes; not NUL-terminated unless its maker says so.  ptr may be NULL when len is 0. */
struct aw_str {
    const char *ptr;
    size_t len;
};

#define AW_STR(literal) ((struct aw_str){ (literal), sizeof(literal) - 1 })
/* For printf's "%.*s". */
#define AW_STR_ARG(s) (int)(s).len, (s).ptr

static inline struct aw_str aw_str_from(const char *cstr)
{
    return (struct aw_str){ cstr, cstr ? strlen(cstr) : 0 };
}

static inline bool aw_str_eq(struct aw_str a, struct aw_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool aw_str_is(struct aw_str a, const char *cstr)
{
    return aw_str_eq(a, aw_str_from(cstr));
}

static inline bool aw_str_starts(struct aw_str a, const char *prefix)
{
    size_t n = strlen(prefix);
    return a.len >= n && memcmp(a.ptr, prefix, n) == 0;
}

/* Byte-wise order, as memcmp; a prefix sorts first. */
int aw_str_cmp(struct aw_str a, struct aw_str b);

/* A growing buffer, always NUL-terminated once something was added.  Owned by its user; zero-initialised is empty.
 * After a failed allocation `failed` is set and later calls do nothing, so one check at the end suffices. */
struct aw_buf {
    char *ptr;
    size_t len;
    size_t cap;
    bool failed;
};

void aw_buf_fini(struct aw_buf *buf);
void aw_buf_grow(struct aw_buf *buf, const void *bytes, size_t len); /* aw_buf_add where there may be no room */
/* What is added most often is short, of a length that the compiler knows. */
static inline void aw_buf_add(struct aw_buf *buf, const void *bytes, size_t len)
{
    if (buf->failed || len >= buf->cap - buf->len) {
        aw_buf_grow(buf, bytes, len);
        return;
    }
    if (len)
        memcpy(buf->ptr + buf->len, bytes, len);
    buf->len += len;
    buf->ptr[buf->len] = 0;
}
void aw_buf_str(struct aw_buf *buf, struct aw_str s);
void aw_buf_printf(struct aw_buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void aw_buf_vprintf(struct aw_buf *buf, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* As aw_buf_vprintf; false where that would look at `ap` twice, for lack of room or for a conversion that aw_print does not
 * know.  Then nothing has been added, and the caller begins `ap` anew and calls aw_buf_vprintf.  Copying what va_start has just
 * written takes as long as a short line of text. */
bool aw_buf_vprintf_once(struct aw_buf *buf, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Formats from `at` on, without a NUL: returns where that ends.  NULL where it ends behind `end`, or where the format has
 * anything but %s, %.*s, %c, %u, %d, %lu, %ld and %%; then anything may be written up to `end`. */
char *aw_print(char *at, char *end, const char *fmt, va_list ap) __attribute__((format(printf, 3, 0)));
/* As vsnprintf, and several times as fast where the format has nothing else than that. */
int aw_vsnprintf(char *to, size_t size, const char *fmt, va_list ap) __attribute__((format(printf, 3, 0)));
int aw_snprintf(char *to, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Writes a number's digits to the end of `to`; returns where they begin. */
enum { AW_DIGITS = 20 };
static inline unsigned aw_digits(char to[AW_DIGITS], uint64_t n)
{
    unsigned first = AW_DIGITS;
    do
        to[--first] = (char)('0' + n % 10);
    while (n /= 10);
    return first;
}

static inline struct aw_str aw_buf_view(const struct aw_buf *buf)
{
    return (struct aw_str){ buf->ptr, buf->len };
}

#endif
