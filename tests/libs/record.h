/* What stand-ins for AMD's libraries share: a text of the calls they were given, which the test reads. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TEST_LIBS_RECORD_H
#define AW_TEST_LIBS_RECORD_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT extern char standin_record[8192];
char standin_record[8192];

__attribute__((format(printf, 1, 2))) static inline void record(const char *fmt, ...)
{
    size_t used = strlen(standin_record);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(standin_record + used, sizeof standin_record - used, fmt, ap);
    va_end(ap);
}

#endif
