/* Looking at why HIP can or cannot serve; see diagnose.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/hip/diagnose.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "provider/hip/internal.h"

const char *aw_hip_verdict_text(enum aw_hip_verdict verdict)
{
    switch (verdict) {
    case AW_HIP_USABLE: return "usable";
    case AW_HIP_LIBRARY_MISSING: return "library missing";
    case AW_HIP_LIBRARY_BROKEN: return "library broken";
    case AW_HIP_NO_KFD: return "no /dev/kfd";
    case AW_HIP_KFD_DENIED: return "no permission";
    case AW_HIP_NO_DEVICE: return "no device";
    case AW_HIP_UNSUPPORTED: return "unsupported architecture";
    case AW_HIP_FAILED: break;
    }
    return "HIP failed";
}

/* ---- Device files */

static bool group_held(gid_t gid)
{
    gid_t groups[NGROUPS_MAX < 1024 ? NGROUPS_MAX : 1024];
    int n = getgroups((int)(sizeof groups / sizeof *groups), groups);
    if (getegid() == gid)
        return true;
    for (int i = 0; i < n; i++)
        if (groups[i] == gid)
            return true;
    return false;
}

/* Whether the file may be opened; the first that may not is kept. */
static bool file_allowed(struct aw_hip_diagnosis *d, const char *path)
{
    struct stat st;
    struct group entry, *found = NULL;
    char names[4096];
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        return true;
    }
    if ((errno == EACCES || errno == EPERM) && !*d->denied) {
        snprintf(d->denied, sizeof d->denied, "%s", path);
        if (stat(path, &st) == 0) {
            d->group_member = group_held(st.st_gid);
            if (getgrgid_r(st.st_gid, &entry, names, sizeof names, &found) == 0 && found)
                snprintf(d->group, sizeof d->group, "%s", found->gr_name);
            else
                snprintf(d->group, sizeof d->group, "%u", (unsigned)st.st_gid);
        }
    }
    return false;
}

static void files_look(struct aw_hip_diagnosis *d)
{
    d->kfd_present = access("/dev/kfd", F_OK) == 0;
    d->kfd_allowed = d->kfd_present && file_allowed(d, "/dev/kfd");
    DIR *dri = opendir("/dev/dri");
    struct dirent *entry;
    char path[300];
    while (dri && (entry = readdir(dri))) {
        if (strncmp(entry->d_name, "renderD", 7) != 0)
            continue;
        snprintf(path, sizeof path, "/dev/dri/%s", entry->d_name);
        d->render_present++;
        d->render_allowed += file_allowed(d, path);
    }
    if (dri)
        closedir(dri);
}

/* ---- Atomics on host memory */

/* The number behind `name ` in a file of such lines; -1: not there. */
static long property(const char *path, const char *name)
{
    char line[160];
    size_t n = strlen(name);
    long value = -1;
    FILE *f = fopen(path, "re");
    while (f && value < 0 && fgets(line, sizeof line, f))
        if (strncmp(line, name, n) == 0 && line[n] == ' ')
            value = strtol(line + n, NULL, 10);
    if (f)
        fclose(f);
    return value;
}

/* A card is a node with SIMDs.  Its links to nodes without say in their flags, as the driver numbers them (kfd_topology.h's
 * CRAT_IOLINK_FLAGS), what does not pass. */
int aw_hip_no_atomics(const char *nodes)
{
    enum { NODES = 64, NO_32 = 4, NO_64 = 8 };
    int cards = 0, without = 0;
    char path[400];
    for (int n = 0; n < NODES; n++) {
        snprintf(path, sizeof path, "%.300s/%d/properties", nodes, n);
        if (property(path, "simd_count") <= 0)
            continue;
        cards++;
        for (int link = 0; link < NODES; link++) {
            snprintf(path, sizeof path, "%.300s/%d/io_links/%d/properties", nodes, n, link);
            long to = property(path, "node_to"), flags = property(path, "flags");
            if (to < 0)
                break;
            snprintf(path, sizeof path, "%.300s/%ld/properties", nodes, to);
            if (property(path, "simd_count") == 0 && flags > 0 && flags & (NO_32 | NO_64)) {
                without++;
                break;
            }
        }
    }
    return cards ? without : -1;
}

/* ---- HIP */

/* What HIP shows, through its own calls: the provider leaves out what it cannot serve.  Called once HIP was started. */
static void devices_look(struct aw_hip_diagnosis *d)
{
    int count = 0;
    if (!aw_hip.api.hipGetDeviceCount || aw_hip.api.hipGetDeviceCount(&count) != 0 || count < 0)
        return;
    d->n_devices = count;
    for (int i = 0; i < count && i < AW_HIP_DIAGNOSE_DEVICES; i++) {
        struct aw_hip_device_facts *f = &d->devices[i];
        int version;
        if (aw_hip.api.hipDeviceGetName(f->name, sizeof f->name, i) != 0)
            f->name[0] = '\0';
        f->name[sizeof f->name - 1] = '\0';
        if (!aw_hip_arch_read(i, f->arch))
            snprintf(f->why, sizeof f->why, "HIP does not tell its architecture");
        else if (!aw_hip_target_choose(f->arch, aw_hip.version, f->target, sizeof f->target, &version, f->why))
            f->target[0] = '\0';
    }
}

static void denied_text(struct aw_hip_diagnosis *d)
{
    if (d->group_member)
        snprintf(d->text, sizeof d->text,
                 "%s may not be opened though this process is in group %s (its mode, or a container's rules)", d->denied,
                 d->group);
    else
        snprintf(d->text, sizeof d->text, "%s may not be opened: this process is not in group %s", d->denied, d->group);
}

/* Why there is no device, when HIP itself works. */
static void no_device(struct aw_hip_diagnosis *d)
{
    if (d->n_devices > 0) {
        d->verdict = AW_HIP_UNSUPPORTED;
        snprintf(d->text, sizeof d->text, "%s: %s", *d->devices[0].name ? d->devices[0].name : "the card",
                 *d->devices[0].why ? d->devices[0].why : "not supported");
    } else if (!d->kfd_present) {
        d->verdict = AW_HIP_NO_KFD;
        snprintf(d->text, sizeof d->text, "there is no /dev/kfd: no AMD card, no amdgpu driver, or a container without it");
    } else if (*d->denied && (!d->kfd_allowed || d->render_allowed < d->render_present)) {
        d->verdict = AW_HIP_KFD_DENIED;
        denied_text(d);
    } else {
        d->verdict = AW_HIP_NO_DEVICE;
        snprintf(d->text, sizeof d->text, "HIP works and shows no device (%s)",
                 d->render_present ? "the card may be one that this HIP does not support" : "no /dev/dri/renderD* either");
    }
}

void aw_hip_diagnose(struct aw_hip_diagnosis *ret)
{
    struct aw_hip_diagnosis d = { .verdict = AW_HIP_USABLE };
    const char *why = NULL;
    files_look(&d);
    d.no_atomics = aw_hip_no_atomics("/sys/class/kfd/kfd/topology/nodes");
    int status = aw_hip_open(&why);
    pthread_mutex_lock(&aw_hip.lock);
    snprintf(d.library, sizeof d.library, "%s", aw_hip.library_name);
    d.version = aw_hip.version;
    if (aw_hip.api.hipInit)
        devices_look(&d);
    if (status == AW_OK) {
        snprintf(d.text, sizeof d.text, "HIP %d.%d with %d device%s", d.version / 10000000, d.version / 100000 % 100,
                 aw_hip.count, aw_hip.count == 1 ? "" : "s");
    } else if (!aw_hip.api.hipInit) {
        d.verdict = aw_hip.library_found ? AW_HIP_LIBRARY_BROKEN : AW_HIP_LIBRARY_MISSING;
        snprintf(d.text, sizeof d.text, "%s", why);
    } else if (strncmp(why, "HIP has no device:", 18) == 0 || strstr(why, "version")) {
        d.verdict = AW_HIP_FAILED;
        snprintf(d.text, sizeof d.text, "%s", why);
    } else {
        no_device(&d);
    }
    pthread_mutex_unlock(&aw_hip.lock);
    *ret = d;
}
