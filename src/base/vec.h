/* A growing array on the heap: AW_VEC(int) v = {0}; aw_vec_push(&v, 3).  Not thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_VEC_H
#define AW_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define AW_VEC(T)      \
    struct {           \
        T *at;         \
        size_t n, cap; \
    }

/* Makes room for `more` further elements; false when memory is out (the vector is unchanged). */
bool aw_vec_grow_(void **at, size_t *cap, size_t n, size_t more, size_t size);
#define aw_vec_reserve(v, more) aw_vec_grow_((void **)&(v)->at, &(v)->cap, (v)->n, (more), sizeof *(v)->at)
/* True on success. */
#define aw_vec_push(v, ...) (aw_vec_reserve((v), 1) ? ((v)->at[(v)->n++] = (__VA_ARGS__), true) : false)
#define aw_vec_fini(v) (free((v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)

#endif
