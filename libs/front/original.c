/* Finds and opens NVIDIA's library that ours stands in front of: see original.h.
 *
 * The file is, in this order: what an environment variable names; what the program asked the loader for by path when it got ours
 * (the audit object keeps it); what the loader would have found from any loaded object, ours left out; a toolkit's; a wheel's. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "front"
#include "front/original.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/env.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"

struct search {
    char found[PATH_MAX]; /* "" until something is */
    struct stat own;      /* of the library this code is part of */
};

/* Takes dir/soname, or `path` itself where `name` is NULL, when it is a file and not ours. */
static bool search_try(struct search *s, const char *dir, const char *name)
{
    struct stat st;
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, name ? "%s/%s" : "%s", dir, name);
    if (n <= 0 || n >= (int)sizeof path || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    if (st.st_dev == s->own.st_dev && st.st_ino == s->own.st_ino)
        return false;
    strcpy(s->found, path);
    return true;
}

static bool search_named(struct search *s)
{
    const char *named = aw_env(aw_front_variable);
    if (!named || !*named)
        return false;
    if (search_try(s, named, NULL) || search_try(s, named, aw_front_soname))
        return true;
    aw_say(ORIGINAL_NAMED, aw_front_variable, named, aw_front_soname);
    return false;
}

/* The preload object, where it is there, knows what was asked for. */
static bool search_asked(struct search *s)
{
    const char *(*asked)(const char *) = (const char *(*)(const char *))dlsym(RTLD_DEFAULT, "aw_preload_asked");
    const char *path = asked ? asked(aw_front_soname) : NULL;
    return path && search_try(s, path, NULL);
}

/* The folders in which the loader looks for what one object asks for. */
static bool search_along(struct search *s, const char *object)
{
    Dl_serinfo head, *all = NULL;
    bool done = false;
    void *handle = dlopen(object[0] ? object : NULL, RTLD_LAZY | RTLD_NOLOAD);
    if (handle && dlinfo(handle, RTLD_DI_SERINFOSIZE, &head) == 0)
        all = malloc(head.dls_size);
    if (all && dlinfo(handle, RTLD_DI_SERINFOSIZE, all) == 0 && dlinfo(handle, RTLD_DI_SERINFO, all) == 0)
        for (unsigned i = 0; i < all->dls_cnt && !done; i++)
            done = search_try(s, all->dls_serpath[i].dls_name, aw_front_soname);
    free(all);
    if (handle)
        dlclose(handle);
    return done;
}

/* Where Python's packages lie beside the object, the folders that NVIDIA's wheels have in common. */
static bool search_wheels(struct search *s, const char *object)
{
    static const char *const roots[] = { "/site-packages/", "/dist-packages/" };
    static const char *const folders[] = { "nvidia/cuda_nvrtc/lib", "nvidia/nvjitlink/lib", "nvidia/cu13/lib",
                                           "nvidia/cu12/lib" };
    char dir[PATH_MAX];
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        const char *at = strstr(object, roots[i]);
        for (size_t k = 0; at && k < sizeof folders / sizeof *folders; k++) {
            int n = snprintf(dir, sizeof dir, "%.*s%s", (int)(at - object) + (int)strlen(roots[i]), object, folders[k]);
            if (n > 0 && n < (int)sizeof dir && search_try(s, dir, aw_front_soname))
                return true;
        }
    }
    return false;
}

/* Names of the loaded objects, each ended by NUL: dlopen must not be called from within dl_iterate_phdr. */
static int object_name(struct dl_phdr_info *info, size_t size, void *user)
{
    const char *name = info->dlpi_name ? info->dlpi_name : "";
    aw_buf_add(user, name, strlen(name) + 1);
    return 0;
}

static bool search_objects(struct search *s, bool (*each)(struct search *, const char *))
{
    struct aw_buf names = { 0 };
    bool done = false;
    dl_iterate_phdr(object_name, &names);
    for (size_t at = 0; !names.failed && at < names.len && !done; at += strlen(names.ptr + at) + 1)
        done = each(s, names.ptr + at);
    aw_buf_fini(&names);
    return done;
}

static bool search_toolkits(struct search *s)
{
    static const char *const variables[] = { "CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX" };
    static const char *const below[] = { "lib64", "lib", "targets/x86_64-linux/lib" };
    const char *major = strstr(aw_front_soname, ".so.");
    char plain[64];
    snprintf(plain, sizeof plain, "/usr/local/cuda-%.2s", major ? major + 4 : "");
    const char *roots[] = { NULL, NULL, NULL, "/usr/local/cuda", plain, "/opt/cuda" };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        roots[i] = aw_env(variables[i]);
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        for (size_t k = 0; roots[i] && *roots[i] && k < sizeof below / sizeof *below; k++) {
            char dir[PATH_MAX];
            int n = snprintf(dir, sizeof dir, "%s/%s", roots[i], below[k]);
            if (n > 0 && n < (int)sizeof dir && search_try(s, dir, aw_front_soname))
                return true;
        }
    return false;
}

/* A path for the same file that nobody has asked for: under the one that was asked for, the loader knows ours. */
static void unasked(char path[PATH_MAX])
{
    char other[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int n = slash ? snprintf(other, sizeof other, "%.*s/./%s", (int)(slash - path), path, slash + 1) : 0;
    if (n > 0 && n < (int)sizeof other)
        strcpy(path, other);
}

static void *original;
static pthread_once_t original_once = PTHREAD_ONCE_INIT;

static void original_open(void)
{
    static struct search s;
    char self[PATH_MAX]; /* not by dladdr: the loader may know ours under the original's name */
    if (!aw_self_file((void *)(uintptr_t)original_open, self, sizeof self) || stat(self, &s.own) != 0)
        return;
    if (!search_named(&s) && !search_asked(&s) && !search_objects(&s, search_along) && !search_toolkits(&s) &&
        !search_objects(&s, search_wheels)) {
        return;
    }
    unasked(s.found);
    int flags = RTLD_NOW | RTLD_LOCAL;
#ifndef __SANITIZE_ADDRESS__ /* which refuses it */
    flags |= RTLD_DEEPBIND;  /* its own functions before ours of the same names */
#endif
    original = dlopen(s.found, flags);
    if (!original)
        aw_say(ORIGINAL_OPEN, aw_front_soname, dlerror());
    else
        aw_say(ORIGINAL_FOUND, aw_front_soname, s.found);
}

bool aw_original_there(void)
{
    pthread_once(&original_once, original_open);
    return original != NULL;
}

void *aw_original_function(void **cache, const char *name)
{
    void *function = __atomic_load_n(cache, __ATOMIC_ACQUIRE);
    if (!function && !aw_original_there()) {
        static bool said;
        if (!__atomic_test_and_set(&said, __ATOMIC_RELAXED))
            aw_say(ORIGINAL_MISSING, aw_front_soname, aw_front_advice, aw_front_variable);
    } else if (!function) {
        function = dlsym(original, name);
        if (!function)
            aw_say(ORIGINAL_FUNCTION, aw_front_soname, name);
        __atomic_store_n(cache, function, __ATOMIC_RELEASE);
    }
    return function;
}
