/* Writing JSON: see json.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

/* Bytes of the UTF-8 sequence at `s`, of at most `left`; 0: it is none (RFC 3629, section 4). */
static size_t utf8_length(const unsigned char *s, size_t left)
{
    static const struct {
        unsigned char first, last, low, high; /* of the first byte, of the second */
        size_t length;
    } forms[] = {
        { 0x00, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
        { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t n = forms[i].length;
        if (s[0] < forms[i].first || s[0] > forms[i].last)
            continue;
        bool fits = n <= left && (n == 1 || (s[1] >= forms[i].low && s[1] <= forms[i].high));
        for (size_t k = 2; fits && k < n; k++)
            fits = (s[k] & 0xc0) == 0x80;
        return fits ? n : 0;
    }
    return 0;
}

void aw_json_str(struct aw_buf *buf, struct aw_str s)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    aw_buf_add(buf, "\"", 1);
    for (size_t i = 0, n; i < s.len; i += n) {
        n = utf8_length(p + i, s.len - i);
        if (n == 0) {
            aw_buf_add(buf, "\xef\xbf\xbd", 3);
            n = 1;
        } else if (p[i] == '"' || p[i] == '\\') {
            aw_buf_printf(buf, "\\%c", p[i]);
        } else if (p[i] < 0x20) {
            aw_buf_printf(buf, "\\u%04x", p[i]);
        } else {
            aw_buf_add(buf, p + i, n);
        }
    }
    aw_buf_add(buf, "\"", 1);
}

void aw_json_cstr(struct aw_buf *buf, const char *s)
{
    aw_json_str(buf, aw_str_from(s));
}
