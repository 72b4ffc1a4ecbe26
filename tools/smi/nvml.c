/* Finds NVML at run time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "smi_calls.h"

#define SMI_DEFINE(name) __typeof__(&name) smi_##name;
SMI_NVML(SMI_DEFINE)
#undef SMI_DEFINE

int smi_exit_code(nvmlReturn_t result)
{
    switch (result) {
    case NVML_SUCCESS: return SMI_FINE;
    case NVML_ERROR_NOT_SUPPORTED: return SMI_UNSUPPORTED;
    case NVML_ERROR_INVALID_ARGUMENT:
    case NVML_ERROR_NOT_FOUND: return SMI_NOT_FOUND;
    case NVML_ERROR_DRIVER_NOT_LOADED: return SMI_NO_DRIVER;
    default: return SMI_OTHER;
    }
}

/* Under `anywarp run` the loader knows it; else it is where this program was installed. */
static void *library_open(void)
{
    static const char *const places[] = { "../../../lib/anywarp", "../../libs" };
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    char self[PATH_MAX], path[PATH_MAX + 64];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (lib || len <= 0)
        return lib;
    self[len] = 0;
    *strrchr(self, '/') = 0;
    for (size_t i = 0; !lib && i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s/%s/libnvidia-ml.so.1", self, places[i]);
        lib = dlopen(path, RTLD_NOW);
    }
    return lib;
}

int smi_open(void)
{
    void *lib = library_open();
    bool complete = lib != NULL;
#define SMI_FIND(name) complete = complete && (smi_##name = (__typeof__(smi_##name))dlsym(lib, #name)) != NULL;
    SMI_NVML(SMI_FIND)
#undef SMI_FIND
    if (!complete) {
        aw_tell("nvidia-smi", SMI_NVML, dlerror() ?: "");
        return SMI_NO_NVML;
    }
    nvmlReturn_t result = smi_nvmlInit_v2();
    if (result != NVML_SUCCESS)
        aw_tell("nvidia-smi", SMI_START, smi_nvmlErrorString(result));
    return smi_exit_code(result);
}
