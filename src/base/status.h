/* What can go wrong, and the diagnostic a user can act on. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_STATUS_H
#define AW_BASE_STATUS_H

#include "base/str.h"

enum aw_status {
#define AW_STATUS(id, text, cu, rt, hip) AW_##id,
#include "base/status.def"
#undef AW_STATUS
    AW_STATUS_COUNT
};

/* Static text for any value, known or not. */
const char *aw_status_text(enum aw_status status);
/* The enumerator's name, "ERR_NO_DEVICE". */
const char *aw_status_name(enum aw_status status);
/* Columns of status.def. */
int aw_status_to_cu(enum aw_status status);
int aw_status_to_cudart(enum aw_status status);
enum aw_status aw_status_from_hip(int hip_error);

/* One message with a place.  `file` and `text` are owned by the arena or buffer that the maker names. */
struct aw_diag {
    struct aw_str file;
    uint32_t line, column; /* 1-based; 0 = unknown */
    struct aw_str text;
};

#endif
