/* What the files of the cache's tests share: a folder that goes with the test, keys, and where the store puts a file.  Each has
 * its own folder. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CACHE_FOLDER_H
#define TESTS_CACHE_FOLDER_H

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cache/cache.h"

static char top[] = "/tmp/aw-cache-test-XXXXXX";

static void folder_make(void)
{
    cr_assert(mkdtemp(top));
}

static void folder_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", top, top);
    cr_assert_eq(system(command), 0);
}

static struct aw_hash128 key(uint64_t n)
{
    return aw_hash128(&n, sizeof n);
}

/* The form is part of what is promised: 2 hexadecimal digits, 30, kind. */
static const char *path_in(const char *dir, struct aw_hash128 k, enum aw_cache_kind kind)
{
    static char path[128];
    char hex[33];
    aw_hash128_hex(k, hex);
    snprintf(path, sizeof path, "%s/%.2s/%s.%c", dir, hex, hex + 2, (char)kind);
    return path;
}

#endif
