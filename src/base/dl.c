/* dlopen with a table of symbols. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static bool fill_table(void *handle, const struct aw_dl_symbol symbols[], void *table, char *why, size_t size)
{
    for (; symbols->name; symbols++) {
        void *address = dlsym(handle, symbols->name);
        if (!address && symbols->required) {
            snprintf(why, size, "it lacks %s", symbols->name);
            return false;
        }
        memcpy((char *)table + symbols->offset, &address, sizeof address);
    }
    return true;
}

void *aw_dl_open(const char *const names[], const struct aw_dl_symbol symbols[], void *table, char *ret_why, size_t why_size)
{
    snprintf(ret_why, why_size, "no library name given");
    for (; *names; names++) {
        void *handle = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            const char *reason = dlerror();
            snprintf(ret_why, why_size, "%s", reason ? reason : "cannot be loaded");
            continue;
        }
        if (fill_table(handle, symbols, table, ret_why, why_size))
            return handle;
        dlclose(handle);
    }
    return NULL;
}
