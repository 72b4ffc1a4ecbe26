/* CUPTI's numbers of functions; made from cbid.tab by cbid.py. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUPTI_CBID_H
#define AW_LIBS_CUPTI_CBID_H

#include <stddef.h>

struct aw_cupti_cbid {
    const char *name; /* as exported; sorted by bytes */
    unsigned number;
};

extern const struct aw_cupti_cbid aw_cupti_driver[], aw_cupti_runtime[];
extern const size_t aw_cupti_n_driver, aw_cupti_n_runtime;
/* By number, as CUPTI calls them; NULL where there is none. */
extern const char *const aw_cupti_driver_names[], *const aw_cupti_runtime_names[];
extern const size_t aw_cupti_driver_size, aw_cupti_runtime_size;

#endif
