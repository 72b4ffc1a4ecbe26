/* Finding and opening AMD's HIP runtime, and choosing which of its devices we serve and with what code.
 * Structures whose layout changed between HIP's versions are not used, with one exception that is read by searching
 * (aw_hip_arch_read). */
/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dl.h"
#include "base/env.h"
#include "base/log.h"
#include "provider/hip/internal.h"

/* HIP's version as one number. */
#define VERSION(major, minor) ((major) * 10000000 + (minor) * 100000)

static const struct aw_dl_symbol symbols[] = {
#define AW_HIP(name, required, params) { #name, offsetof(struct aw_hip_api, name), required },
#include "provider/hip/hip.def"
#undef AW_HIP
    { NULL, 0, false },
};

/* ---- The library */

/* Tries one file.  What is wrong with a file that is there is worth more words than that others are not there. */
static bool library_try(const char *name)
{
    const char *one[] = { name, NULL };
    char reason[300];
    aw_hip.library = aw_dl_open(one, symbols, &aw_hip.api, reason, sizeof reason);
    if (aw_hip.library) {
        aw_hip.library_found = true;
        snprintf(aw_hip.library_name, sizeof aw_hip.library_name, "%s", name);
        return true;
    }
    /* The loader's reason begins with what it could not open: a path, when it found something, or what the file needs.  Its words
     * depend on the program's language. */
    size_t n = strlen(name);
    bool absent = strchr(name, '/') ? access(name, F_OK) != 0 : strncmp(reason, name, n) == 0 && reason[n] == ':';
    if (!absent && !aw_hip.library_found) {
        aw_hip.library_found = true;
        snprintf(aw_hip.library_name, sizeof aw_hip.library_name, "%s", name);
        snprintf(aw_hip.why, sizeof aw_hip.why, "%.200s cannot be used: %s", name, reason);
        aw_hip.why[strcspn(aw_hip.why, "\n")] = '\0';
    }
    return false;
}

static bool library_try_in(const char *folder)
{
    static const char *const names[] = { "libamdhip64.so.10", "libamdhip64.so.9", "libamdhip64.so.8", "libamdhip64.so.7",
                                         "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so" };
    char path[512];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *name = names[i];
        if (folder) {
            if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
                return false;
            name = path;
        }
        if (library_try(name))
            return true;
    }
    return false;
}

/* $ROCM_PATH is a user's word and goes first, then the loader's own search, then where AMD's packages put it.  The library's
 * handle is kept for the process. */
bool aw_hip_library_open(void)
{
    const char *rocm = aw_env("ROCM_PATH");
    char folder[480];
    if (aw_hip.library)
        return true;
    aw_hip.library_found = false;
    aw_hip.library_name[0] = '\0';
    snprintf(aw_hip.why, sizeof aw_hip.why,
             "libamdhip64.so (HIP 5 or later) is not installed: neither the loader nor $ROCM_PATH/lib nor /opt/rocm/lib has it");
    if (rocm && *rocm && (size_t)snprintf(folder, sizeof folder, "%s/lib", rocm) < sizeof folder && library_try_in(folder))
        return true;
    return library_try_in(NULL) || library_try_in("/opt/rocm/lib");
}

/* ---- Architectures */

static const struct {
    const char *name;
    uint8_t major, version;
    bool sramecc, xnack;
    const char *generic;
} gfxs[] = {
#define AW_GFX(name, major, version, sramecc, xnack, generic) { name, major, version, sramecc, xnack, generic },
#include "base/gfx.def"
#undef AW_GFX
};

/* The generic family of a card that came after this program: those of one family differ in nothing that matters to it. */
static const struct {
    const char *prefix, *generic;
} families[] = {
    { "gfx94", "gfx9-4-generic" },   { "gfx95", "gfx9-4-generic" },   { "gfx101", "gfx10-1-generic" },
    { "gfx103", "gfx10-3-generic" }, { "gfx110", "gfx11-generic" },   { "gfx115", "gfx11-generic" },
    { "gfx120", "gfx12-generic" },
};

static int gfx_find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof gfxs / sizeof *gfxs; i++)
        if (strlen(gfxs[i].name) == len && memcmp(gfxs[i].name, name, len) == 0)
            return (int)i;
    return -1;
}

/* The processor and those of the card's settings that the compiler can be told for it. */
static void target_write(int row, const char *features, char *ret_target, size_t size)
{
    snprintf(ret_target, size, "%s", gfxs[row].name);
    while (*features == ':') {
        size_t n = strcspn(features + 1, ":"), used = strlen(ret_target);
        bool known = (gfxs[row].sramecc && n == 8 && strncmp(features + 1, "sramecc", 7) == 0) ||
                     (gfxs[row].xnack && n == 6 && strncmp(features + 1, "xnack", 5) == 0);
        if (known && (features[n] == '+' || features[n] == '-') && used + n + 2 < size)
            snprintf(ret_target + used, size - used, ":%.*s", (int)n, features + 1);
        features += n + 1;
    }
}

bool aw_hip_target_choose(const char *arch, int version, char *ret_target, size_t size, int *ret_object_version, char *ret_why)
{
    size_t len = strcspn(arch, ":");
    int row = gfx_find(arch, len);
    const char *generic = NULL;
    for (size_t i = 0; row < 0 && !generic && i < sizeof families / sizeof *families; i++)
        if (len == strlen(families[i].prefix) + 1 && strncmp(arch, families[i].prefix, len - 1) == 0)
            generic = families[i].generic;
    if (row >= 0) {
        *ret_object_version = version >= VERSION(6, 0) ? 5 : 4;
    } else if (!generic) {
        snprintf(ret_why, 160, "%.40s is no architecture that anywarp compiles for", arch);
        return false;
    } else if (version < VERSION(6, 4)) {
        snprintf(ret_why, 160, "%.40s would run code for %s, which HIP before 6.4 does not load", arch, generic);
        return false;
    } else {
        row = gfx_find(generic, strlen(generic));
        *ret_object_version = 6;
    }
    target_write(row, arch + len, ret_target, size);
    return true;
}

/* Finds the architecture's name ("gfx90a:sramecc+:xnack-") in the property structure.  Its place differs between versions, so
 * it is searched for behind the device's name, which takes the first 256 bytes in all of them. */
bool aw_hip_arch_read(int ordinal, char ret_arch[64])
{
    enum { PROPERTIES = 64 << 10, NAME = 256 };
    int (*get)(void *, int) = aw_hip.api.hipGetDevicePropertiesR0600 ? aw_hip.api.hipGetDevicePropertiesR0600
                                                                     : aw_hip.api.hipGetDeviceProperties;
    char *prop = get ? calloc(1, PROPERTIES) : NULL;
    bool found = false;
    if (!prop || get(prop, ordinal) != 0) {
        free(prop);
        return false;
    }
    for (size_t i = NAME; i < PROPERTIES - 64 && !found; i++) {
        size_t n = 3;
        if (memcmp(prop + i, "gfx", 3) != 0)
            continue;
        while (n < 16 && isxdigit((unsigned char)prop[i + n]))
            n++;
        if (n < 6 || n == 16 || (prop[i + n] != '\0' && prop[i + n] != ':'))
            continue;
        while (n < 63 && (isalnum((unsigned char)prop[i + n]) || strchr(":+-", prop[i + n]) != NULL) && prop[i + n])
            n++;
        memcpy(ret_arch, prop + i, n);
        ret_arch[n] = '\0';
        found = true;
    }
    free(prop);
    return found;
}

/* ---- Devices */

/* One of HIP's devices into the next free place; false when it cannot be served, and aw_hip.why says why. */
static bool device_open(int ordinal)
{
    struct aw_hip_device d = { .ordinal = ordinal, .lock = PTHREAD_MUTEX_INITIALIZER, .null_stream = { .dev = aw_hip.count },
                               .print_bytes = AW_HIP_PRINT_DEFAULT, .heap_bytes = AW_HIP_HEAP_DEFAULT,
                               .stack_bytes = AW_HIP_STACK_DEFAULT };
    char why[160];
    if (aw_hip.api.hipDeviceGetName(d.name, sizeof d.name, ordinal) != 0)
        d.name[0] = '\0';
    d.name[sizeof d.name - 1] = '\0';
    if (!aw_hip_arch_read(ordinal, d.arch)) {
        snprintf(aw_hip.why, sizeof aw_hip.why, "HIP does not tell the architecture of device %d", ordinal);
        return false;
    }
    if (!aw_hip_target_choose(d.arch, aw_hip.version, d.target, sizeof d.target, &d.object_version, why)) {
        snprintf(aw_hip.why, sizeof aw_hip.why, "device %d (%s) cannot be used: %s", ordinal, *d.name ? d.name : d.arch, why);
        return false;
    }
    aw_hip.dev[aw_hip.count++] = d;
    return true;
}

static bool devices_open(void)
{
    int count = 0, error = aw_hip.api.hipInit(0);
    aw_hip.version = aw_hip.count = 0;
    if (error == 0)
        error = aw_hip.api.hipGetDeviceCount(&count);
    if (error != 0 || count <= 0) {
        enum aw_status status = aw_status_from_hip(error);
        bool plain = status == AW_OK || status == AW_ERR_NO_DEVICE || status == AW_ERR_INVALID_DEVICE;
        snprintf(aw_hip.why, sizeof aw_hip.why, "HIP has no device%s%s", plain ? "; `anywarp doctor` looks for the reason" : ": ",
                 plain ? "" : aw_status_text(status));
        return false;
    }
    if (aw_hip.api.hipRuntimeGetVersion(&aw_hip.version) != 0 || aw_hip.version < VERSION(5, 0)) {
        snprintf(aw_hip.why, sizeof aw_hip.why, "HIP is older than version 5, or does not tell its version (%d)", aw_hip.version);
        return false;
    }
    aw_hip.major = aw_hip.version / VERSION(1, 0);
    for (int i = 0; i < count && aw_hip.count < AW_HIP_MAX_DEVICES; i++)
        if (!device_open(i) && count > 1)
            aw_say(CARD_LEFT_OUT, aw_hip.why);
    return aw_hip.count > 0;
}

int aw_hip_open(const char **ret_why)
{
    int status = AW_OK;
    pthread_mutex_lock(&aw_hip.lock);
    if (!aw_hip.opened) {
        bool ready = true;
        if (aw_hip.injected) {
            aw_hip.api = *aw_hip.injected;
        } else {
            ready = aw_hip_library_open();
            if (ready)
                aw_hip_faults_early(aw_hip.library);
        }
        if (ready && devices_open()) {
            if (!aw_hip.injected)
                aw_hip_faults_init();
            aw_hip.opened = true;
        } else {
            status = AW_ERR_NO_DEVICE;
        }
    }
    pthread_mutex_unlock(&aw_hip.lock);
    if (status != AW_OK && ret_why)
        *ret_why = aw_hip.why;
    return status;
}

/* For tests: forgets all that HIP gave, without giving it back. */
void aw_hip_inject(const struct aw_hip_api *api)
{
    pthread_mutex_lock(&aw_hip.lock);
    for (int i = 0; i < aw_hip.count; i++) {
        aw_hip_env_fini(i);
        aw_hip_stage_fini(i);
    }
    aw_hip_ranges_forget(-1);
    aw_hip.injected = api;
    memset(&aw_hip.api, 0, sizeof aw_hip.api);
    aw_hip.library = NULL;
    aw_hip.opened = false;
    aw_hip.count = 0;
    pthread_mutex_unlock(&aw_hip.lock);
}
