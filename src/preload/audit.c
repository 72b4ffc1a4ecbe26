/* The LD_AUDIT object: sends the loader to our libcudart and libcuda whatever path it was asked for, and has the preload
 * object look at each object that is loaded, before its constructors run.
 *
 * It lives in a namespace of its own with its own libc; the loader calls it with its lock held.  It never opens anything
 * itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/quirk.h"
#include "preload/object.h"
#include "preload/preload.h"

#define EXPORT __attribute__((visibility("default")))
#define OURS "libanywarp" /* how the libraries that ours need begin */

/* Objects that were loaded and not yet looked at. */
enum { PENDING_MAX = 4096 };
static struct link_map *pending[PENDING_MAX];
static size_t n_pending;
static const struct link_map *preload_map;
static char lib_dir[PATH_MAX];
static char preload_path[PATH_MAX]; /* beside this object */
static bool verbose;

static struct aw_audit_library {
    const char *soname;
    char path[PATH_MAX]; /* of ours; "" when it is not there */
    char asked[PATH_MAX]; /* what it took the place of when it was first asked for by path; "": nothing */
    char found[PATH_MAX]; /* the same, where a search along directories found it last: the loader gives that name to ours */
    const struct link_map *loaded; /* in the program's own namespace; NULL: not yet */
} *aw_audit_find(const char *asked);

static struct aw_audit_library libraries[] = {
    { .soname = "libcudart.so.11.0" }, { .soname = "libcudart.so.12" }, { .soname = "libcudart.so.13" },
    { .soname = "libcuda.so.1" },
#define AW_LIBRARY(name) { .soname = name },
#include "library_names.inc" /* those of libs/ */
#include "front_names.inc"   /* those of libs/ in front of NVIDIA's own */
#undef AW_LIBRARY
};
enum { LIBRARIES = sizeof libraries / sizeof libraries[0] };

static const char *aw_audit_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Does a name's end from ".so" on say the SONAME's version, or a file's full one (.so.12.9.79)?  CUDA 11's runtime keeps .11.0
 * throughout; its NVRTC has .11.2 from that version on, and .11.0 and .11.1 are others.  cuFile's files have its release
 * (libcufile.so.1.15.1), its SONAME has not (libcufile.so.0). */
static bool aw_audit_version(const char *tail, const char *soname, const char *ext)
{
    int minor, patch;
    if (!strcmp(soname, "libcufile.so.0") && sscanf(tail, ".so.1.%d.%d", &minor, &patch) == 2)
        return true;
    if (!strcmp(ext, ".so.11.2") && sscanf(tail, ".so.11.%d.%d", &minor, &patch) == 2)
        return minor >= 2;
    size_t n = !strcmp(ext, ".so.11.0") ? strlen(".so.11") : strlen(ext);
    return !strncmp(tail, ext, n) && (tail[n] == '\0' || tail[n] == '.');
}

/* Python wheels rename a library to libcudart-0123abcd.so.11.0, or libcudart.0123abcd.so.13: take the part from ".so" on.  What
 * stands between is a digest, not another library's name such as libnvrtc-builtins. */
static bool aw_audit_names(const char *asked, const char *soname)
{
    const char *ext = strstr(soname, ".so"), *tail = strstr(asked, ".so");
    size_t stem = (size_t)(ext - soname), n = tail ? (size_t)(tail - asked) : 0;
    if (!tail || !aw_audit_version(tail, soname, ext) || n < stem || memcmp(asked, soname, stem) != 0)
        return false;
    if (n > stem && !aw_quirk_on(AW_QUIRK_WHEEL_NAMES))
        return false;
    return n == stem || ((asked[stem] == '-' || asked[stem] == '.') && n > stem + 1 &&
                         strspn(asked + stem + 1, "0123456789abcdef") == n - stem - 1);
}

/* Is it the development link of one of ours, "libcudart.so" say? */
static bool aw_audit_stem(const char *name)
{
    for (size_t i = 0; i < LIBRARIES; i++)
        if (!strncmp(libraries[i].soname, name, strlen(name)))
            return true;
    return false;
}

/* What a development link leads to: a file with a version in its name, or, as wheels have no links, a copy with one inside. */
static const char *aw_audit_behind(const char *link, char real[static PATH_MAX])
{
    struct aw_elf elf;
    if (!realpath(link, real))
        return aw_audit_basename(link);
    const char *name = aw_audit_basename(real);
    if (strcmp(name, aw_audit_basename(link)) != 0 || !aw_elf_open(&elf, real))
        return name;
    const char *soname = aw_elf_soname(&elf);
    if (*soname && strlen(soname) < PATH_MAX)
        name = strcpy(real, soname);
    aw_elf_close(&elf);
    return name;
}

static bool aw_audit_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The release of CUDA from which on a library has a SONAME, where its version is not the release's. */
static const struct {
    const char *soname;
    int release;
} aw_audit_releases[] = {
    { "libcudnn.so.8", 11 },  { "libcudnn.so.9", 12 },     { "libcufft.so.10", 11 },      { "libcufft.so.11", 12 },
    { "libcufft.so.12", 13 }, { "libcusolver.so.12", 13 }, { "libcusolverMg.so.12", 13 },
};

static int aw_audit_release(const char *soname)
{
    int version = 0;
    for (size_t i = 0; i < sizeof aw_audit_releases / sizeof *aw_audit_releases; i++)
        if (!strcmp(aw_audit_releases[i].soname, soname))
            return aw_audit_releases[i].release;
    sscanf(strstr(soname, ".so"), ".so.%d", &version);
    return version;
}

/* The release of the one runtime that the program has loaded; 0: it has none, or several. */
static int aw_audit_runtime(void)
{
    int release = 0, n = 0;
    for (size_t i = 0; i < LIBRARIES; i++)
        if (libraries[i].loaded && !strncmp(libraries[i].soname, "libcudart.", 10)) {
            release = aw_audit_release(libraries[i].soname);
            n++;
        }
    return n == 1 ? release : 0;
}

/* A development link of ours leads to the newest of a library's versions.  A program with an older runtime wants the one that
 * belongs to that: cuDNN 9 lacks functions of cuDNN 8, say. */
static struct aw_audit_library *aw_audit_of_release(struct aw_audit_library *newest)
{
    struct aw_audit_library *best = newest;
    int release = aw_audit_runtime();
    size_t stem = (size_t)(strstr(newest->soname, ".so") - newest->soname) + strlen(".so.");
    for (size_t i = 0; i < LIBRARIES && release; i++) {
        struct aw_audit_library *l = &libraries[i];
        bool same = !strncmp(l->soname, newest->soname, stem) && l->path[0];
        int of = aw_audit_release(l->soname), bests = aw_audit_release(best->soname);
        if (same && of <= release && (bests > release || of > bests))
            best = l;
    }
    return best;
}

/* Which of our libraries stands for the file asked for, or NULL. */
static struct aw_audit_library *aw_audit_find(const char *asked)
{
    const char *name = aw_audit_basename(asked);
    char real[PATH_MAX];
    size_t n = strlen(name);
    bool link = n > 3 && !strcmp(name + n - 3, ".so") && aw_audit_stem(name) && strchr(asked, '/');
    /* The driver's file is named by the driver's version: libcuda.so.580.65.06. */
    if (!strncmp(name, "libcuda.so", 10) && (name[10] == '\0' || (name[10] == '.' && aw_quirk_on(AW_QUIRK_DRIVER_FILES))))
        name = "libcuda.so.1";
    /* The development link says nothing of its version; what it leads to does. */
    if (link)
        name = aw_audit_behind(asked, real);
    for (size_t i = 0; i < LIBRARIES; i++)
        if (aw_audit_names(name, libraries[i].soname))
            return link && aw_audit_same_file(asked, libraries[i].path) ? aw_audit_of_release(&libraries[i]) : &libraries[i];
    return NULL;
}

static bool aw_audit_path(struct aw_audit_library *l, const char *below)
{
    int n = snprintf(l->path, sizeof l->path, "%s%s/%s", lib_dir, below, l->soname);
    return n > 0 && n < (int)sizeof l->path && access(l->path, R_OK) == 0;
}

/* `anywarp run` names the preload object without its folder where that has a blank, at which the loader would split the list. */
static void aw_audit_find_preload(void)
{
    Dl_info info;
    const char *slash = dladdr((void *)aw_audit_find_preload, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    int n = slash ? snprintf(preload_path, sizeof preload_path, "%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname,
                             AW_PRELOAD_SONAME)
                  : -1;
    if (n < 0 || n >= (int)sizeof preload_path)
        preload_path[0] = '\0';
}

static void aw_audit_find_dir(void)
{
    aw_audit_find_preload();
    aw_preload_settings((void *)aw_audit_find_dir, lib_dir, sizeof lib_dir, &verbose);
    for (size_t i = 0; i < LIBRARIES; i++) {
        struct aw_audit_library *l = &libraries[i];
        /* All in one directory, or the rooms of a build tree. */
        if (!aw_audit_path(l, "") && !aw_audit_path(l, "/../../libs"))
            l->path[0] = '\0';
    }
}

EXPORT unsigned int la_version(unsigned int version)
{
    aw_audit_find_dir();
    /* Everything used here has been there since version 1; a loader older than our headers is fine. */
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

static bool aw_audit_is(const struct aw_audit_library *l, const struct link_map *map)
{
    const char *name = map->l_name;
    if (l->loaded == map)
        return true;
    return name && *name && (!strcmp(name, l->path) || !strcmp(name, l->found)); /* the program's own is "" */
}

/* Which of our libraries this object is, or NULL. */
static struct aw_audit_library *aw_audit_ours(const struct link_map *map)
{
    for (size_t i = 0; i < LIBRARIES; i++)
        if (map && aw_audit_is(&libraries[i], map))
            return &libraries[i];
    return NULL;
}

/* What one of ours needs lies beside it.  The loader does not know where that is when it has given ours the name of the file that
 * it found: then $ORIGIN is that file's directory. */
static char *aw_audit_beside(const struct aw_audit_library *ours, const char *name)
{
    static char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%.*s/%s", (int)(strrchr(ours->path, '/') - ours->path), ours->path, name);
    return n > 0 && n < (int)sizeof path && access(path, R_OK) == 0 ? path : (char *)name;
}

/* Whoever needs a library under a wheel's name asks for its symbols' versions under that name too, and the loader ends the
 * program (_dl_check_map_versions) where no object has it.  A path handed out at once gives a new object the name asked for,
 * but not one that is loaded already; what a search along directories finds does. */
static bool aw_audit_needs_search(const struct aw_audit_library *l, const char *name, unsigned int flag)
{
    return flag == LA_SER_ORIG && l->loaded && !strchr(name, '/') && strcmp(name, l->soname) != 0;
}

EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag)
{
    if (!strcmp(name, AW_PRELOAD_SONAME) && preload_path[0])
        return preload_path;
    struct aw_audit_library *l = aw_audit_find(name), *ours = aw_audit_ours((const struct link_map *)*cookie);
    if (ours && !strncmp(name, OURS, sizeof OURS - 1))
        return aw_audit_beside(ours, name);
    /* One of ours that asks wants the one that it stands in front of. */
    if (!l || !l->path[0] || ours || aw_audit_needs_search(l, name, flag))
        return (char *)name;
    bool path = strchr(name, '/') && strlen(name) < sizeof l->asked;
    if (path && !l->asked[0] && access(name, R_OK) == 0)
        strcpy(l->asked, name);
    if (path && flag != LA_SER_ORIG)
        strcpy(l->found, name);
    return l->path;
}

EXPORT unsigned int la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
    *cookie = (uintptr_t)map;
    if (lmid != LM_ID_BASE)
        return 0;
    struct aw_audit_library *ours = aw_audit_ours(map);
    if (ours)
        ours->loaded = map;
    if (map->l_name && !strcmp(aw_audit_basename(map->l_name), AW_PRELOAD_SONAME))
        preload_map = map;
    else if (n_pending < PENDING_MAX)
        pending[n_pending++] = map;
    return 0;
}

EXPORT unsigned int la_objclose(uintptr_t *cookie)
{
    const struct link_map *map = (const struct link_map *)*cookie;
    for (size_t i = 0; i < n_pending; i++)
        if (pending[i] == map)
            pending[i] = pending[--n_pending];
    struct aw_audit_library *ours = aw_audit_ours(map);
    if (ours && ours->loaded == map)
        ours->loaded = NULL;
    if (map == preload_map)
        preload_map = NULL;
    return 0;
}

/* The preload object's hook, by its dynamic symbol table; NULL until that object is relocated. */
static const struct aw_preload_hook *aw_audit_hook(void)
{
    const ElfW(Sym) *syms = NULL;
    const ElfW(Word) *hash = NULL;
    const char *strings = NULL;
    for (const ElfW(Dyn) *d = preload_map ? preload_map->l_ld : NULL; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            syms = (const void *)d->d_un.d_ptr;
        else if (d->d_tag == DT_STRTAB)
            strings = (const void *)d->d_un.d_ptr;
        else if (d->d_tag == DT_HASH)
            hash = (const void *)d->d_un.d_ptr;
    }
    for (ElfW(Word) i = 0; syms && strings && hash && i < hash[1]; i++) {
        if (syms[i].st_shndx == SHN_UNDEF || strcmp(strings + syms[i].st_name, AW_PRELOAD_HOOK) != 0)
            continue;
        const struct aw_preload_hook *hook = (const void *)(preload_map->l_addr + syms[i].st_value);
        return hook->self == hook ? hook : NULL;
    }
    return NULL;
}

static void aw_audit_look(void)
{
    const struct aw_preload_hook *hook = aw_audit_hook();
    if (!hook)
        return;
    hook->configure(lib_dir, verbose);
    for (size_t i = 0; i < LIBRARIES; i++)
        if (libraries[i].asked[0])
            hook->asked(libraries[i].soname, libraries[i].asked);
    for (size_t i = 0; i < n_pending; i++) {
        const char *name = pending[i]->l_name;
        struct aw_audit_library *l = name ? aw_audit_find(name) : NULL;
        /* The vDSO has a name without a file.  What a search along directories found keeps the name found, though the loader
         * opened the file we sent it to: that is ours, and nothing to look at. */
        if (name && (name[0] == '\0' || strchr(name, '/')) && !(l && l->path[0]))
            hook->scan(name, pending[i]->l_addr);
    }
    n_pending = 0;
}

EXPORT void la_activity(uintptr_t *cookie, unsigned int flag)
{
    if (flag == LA_ACT_CONSISTENT)
        aw_audit_look();
}

/* Where the loader announces consistency before it relocates, this is the last moment before the program's constructors. */
EXPORT void la_preinit(uintptr_t *cookie)
{
    aw_audit_look();
}
