/* The status table's columns. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

static const struct {
    const char *name, *text;
    int cu, rt, hip;
} rows[AW_STATUS_COUNT] = {
#define AW_STATUS(id, text, cu, rt, hip) [AW_##id] = { #id, text, cu, rt, hip },
#include "base/status.def"
#undef AW_STATUS
};

static unsigned row_of(enum aw_status status)
{
    return (unsigned)status < AW_STATUS_COUNT ? (unsigned)status : AW_ERR_UNKNOWN;
}

const char *aw_status_text(enum aw_status status)
{
    return rows[row_of(status)].text;
}

const char *aw_status_name(enum aw_status status)
{
    return rows[row_of(status)].name;
}

int aw_status_to_cu(enum aw_status status)
{
    return rows[row_of(status)].cu;
}

int aw_status_to_cudart(enum aw_status status)
{
    return rows[row_of(status)].rt;
}

/* Several rows may share a HIP code; the last one is the plainest (see ERR_MISALIGNED before ERR_LAUNCH_FAILED). */
enum aw_status aw_status_from_hip(int hip_error)
{
    for (int i = AW_STATUS_COUNT - 1; i >= 0; i--)
        if (rows[i].hip == hip_error)
            return (enum aw_status)i;
    return AW_ERR_UNKNOWN;
}
