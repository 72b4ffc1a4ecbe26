/* What the tests of cuBLAS share beside ../check.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TEST_CUBLAS_CHECK_H
#define AW_TEST_CUBLAS_CHECK_H

#include "../check.h"
#include "cublas.h"

/* The function of a type: name has ? for its letter. */
static inline void *function(const char *name, char t)
{
    char full[64];
    snprintf(full, sizeof full, "cublas%s", name);
    char *mark = strchr(full, '?');
    if (mark)
        *mark = mark > full + 6 && mark[-1] == 'I' ? t : upper(t);
    void *f = dlsym(RTLD_DEFAULT, full);
    check(f != NULL, "%s is not there", full);
    return f;
}

#endif
