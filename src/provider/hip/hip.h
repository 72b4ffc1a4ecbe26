/* libamdhip64's functions as a table, and the provider's inner hook for tests.  Not for other rooms: they use
 * aw_provider_hip. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_HIP_HIP_H
#define AW_HIP_HIP_H

#include <stddef.h>

#include <anywarp/provider.h>

struct aw_hip_api {
#define AW_HIP(name, required, params) int(*name) params;
#include "provider/hip/hip.def"
#undef AW_HIP
};

/* Makes the provider's next open() use `api` (borrowed, static) in place of a library; NULL: a library again.  Forgets what an
 * earlier open found.  For tests; not thread-safe. */
void aw_hip_inject(const struct aw_hip_api *api);

#endif
