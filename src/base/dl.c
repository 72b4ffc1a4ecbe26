/* dlopen with a table of symbols. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char why[512];

static bool fill_table(void *handle, const struct aw_dl_symbol symbols[], void *table)
{
    for (; symbols->name; symbols++) {
        void *address = dlsym(handle, symbols->name);
        if (!address && symbols->required) {
            snprintf(why, sizeof why, "it lacks %s", symbols->name);
            return false;
        }
        memcpy((char *)table + symbols->offset, &address, sizeof address);
    }
    return true;
}

void *aw_dl_open(const char *const names[], const struct aw_dl_symbol symbols[], void *table, const char **ret_why)
{
    snprintf(why, sizeof why, "no library name given");
    for (; *names; names++) {
        void *handle = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            const char *reason = dlerror();
            snprintf(why, sizeof why, "%s", reason ? reason : "cannot be loaded");
            continue;
        }
        if (fill_table(handle, symbols, table))
            return handle;
        dlclose(handle);
    }
    *ret_why = why;
    return NULL;
}
