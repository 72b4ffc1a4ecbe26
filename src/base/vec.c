/* Growth of the generic vector. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <stdint.h>

bool aw_vec_grow_(void **at, size_t *cap, size_t n, size_t more, size_t size)
{
    size_t need, bytes;

    if (__builtin_add_overflow(n, more, &need))
        return false;
    if (need <= *cap)
        return true;
    size_t grown = *cap ? *cap * 2 : 8;
    if (grown < need)
        grown = need;
    if (__builtin_mul_overflow(grown, size, &bytes))
        return false;
    void *p = realloc(*at, bytes);
    if (!p)
        return false;
    *at = p;
    *cap = grown;
    return true;
}
