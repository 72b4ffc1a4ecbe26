/* Writing JSON (RFC 8259) into a text buffer; not reading it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_JSON_H
#define AW_BASE_JSON_H

#include "base/str.h"

/* Appends the string in quotes; what is not UTF-8 becomes U+FFFD, as JSON cannot carry it. */
void aw_json_str(struct aw_buf *buf, struct aw_str s);
void aw_json_cstr(struct aw_buf *buf, const char *s);

#endif
