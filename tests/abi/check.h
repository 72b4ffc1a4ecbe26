/* What the sample programs of these tests check with: a failure is printed and counted, and the program goes on. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TESTS_ABI_CHECK_H
#define AW_TESTS_ABI_CHECK_H

#include <stdio.h>

static int failures;

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);   \
            failures++;                                                        \
        }                                                                      \
    } while (0)

/* Compares two integers and shows both. */
#define EQUAL(got, want)                                                                                      \
    do {                                                                                                      \
        long long got_ = (long long)(got), want_ = (long long)(want);                                         \
        if (got_ != want_) {                                                                                  \
            printf("%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, got_, want_);                   \
            failures++;                                                                                       \
        }                                                                                                     \
    } while (0)

#endif
