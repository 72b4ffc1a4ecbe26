/* Whether the device nodes of NVIDIA's driver exist: yes, where a program asks libc and they are not there.
 *
 * JAX asks for /dev/nvidiactl before it loads anything of CUDA's, and goes on without a GPU where there is none.  Who opens one
 * is told the truth, as is who lists /dev.  Part of the preload object: the functions below stand before libc's and go on to the
 * next ones.  Calls from before this object's constructor go to the kernel, as the loader cannot be asked so early. */
/* SPDX-License-Identifier: Apache-2.0 */
#undef _FILE_OFFSET_BITS /* it would give stat the name of stat64 */
#include "preload/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/quirk.h"

#define EXPORT __attribute__((visibility("default")))

enum { NVIDIA_MAJOR = 195, CONTROL = 255, NODE_MODE = S_IFCHR | 0666 };

static const struct node {
    const char *path;
    unsigned minor;
} nodes[] = { { "/dev/nvidiactl", CONTROL }, { "/dev/nvidia0", 0 } };

/* The next functions of each name; NULL before the constructor has run, and where libc has none of the name. */
static int (*next_stat)(const char *, struct stat *), (*next_lstat)(const char *, struct stat *);
static int (*next_fstatat)(int, const char *, struct stat *, int);
static int (*next_statx)(int, const char *, int, unsigned, struct statx *);
static int (*next_xstat)(int, const char *, struct stat *), (*next_lxstat)(int, const char *, struct stat *);
static int (*next_fxstatat)(int, int, const char *, struct stat *, int);
static int (*next_access)(const char *, int), (*next_faccessat)(int, const char *, int, int);
static bool answering;

__attribute__((constructor)) static void nodes_init(void)
{
    next_stat = (__typeof__(next_stat))dlsym(RTLD_NEXT, "stat");
    next_lstat = (__typeof__(next_lstat))dlsym(RTLD_NEXT, "lstat");
    next_fstatat = (__typeof__(next_fstatat))dlsym(RTLD_NEXT, "fstatat");
    next_statx = (__typeof__(next_statx))dlsym(RTLD_NEXT, "statx");
    next_xstat = (__typeof__(next_xstat))dlsym(RTLD_NEXT, "__xstat");
    next_lxstat = (__typeof__(next_lxstat))dlsym(RTLD_NEXT, "__lxstat");
    next_fxstatat = (__typeof__(next_fxstatat))dlsym(RTLD_NEXT, "__fxstatat");
    next_access = (__typeof__(next_access))dlsym(RTLD_NEXT, "access");
    next_faccessat = (__typeof__(next_faccessat))dlsym(RTLD_NEXT, "faccessat");
    answering = aw_quirk_on(AW_QUIRK_DEVICE_FILES);
}

/* The node that `path` names, where the call that ended with `status` did not find it; else NULL. */
static const struct node *missing(int status, const char *path)
{
    if (status == 0 || errno != ENOENT || !answering || strncmp(path, "/dev/nvidia", 11) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        if (!strcmp(path, nodes[i].path))
            return &nodes[i];
    return NULL;
}

static int answer(int status, const char *path, struct stat *ret)
{
    const struct node *node = missing(status, path);
    if (!node)
        return status;
    memset(ret, 0, sizeof *ret);
    ret->st_mode = NODE_MODE;
    ret->st_nlink = 1;
    ret->st_blksize = 4096;
    ret->st_rdev = makedev(NVIDIA_MAJOR, node->minor);
    return 0;
}

static int stat_at(int dir, const char *path, struct stat *ret, int flags)
{
    int status = next_fstatat ? next_fstatat(dir, path, ret, flags) : (int)syscall(SYS_newfstatat, dir, path, ret, flags);
    return answer(status, path, ret);
}

EXPORT int stat(const char *restrict path, struct stat *restrict ret)
{
    return next_stat ? answer(next_stat(path, ret), path, ret) : stat_at(AT_FDCWD, path, ret, 0);
}

EXPORT int lstat(const char *restrict path, struct stat *restrict ret)
{
    return next_lstat ? answer(next_lstat(path, ret), path, ret) : stat_at(AT_FDCWD, path, ret, AT_SYMLINK_NOFOLLOW);
}

EXPORT int fstatat(int dir, const char *restrict path, struct stat *restrict ret, int flags)
{
    return stat_at(dir, path, ret, flags);
}

/* Programs linked with glibc before 2.33 have these; the version says nothing on x86-64. */
EXPORT int __xstat(int version, const char *path, struct stat *ret);
EXPORT int __xstat(int version, const char *path, struct stat *ret)
{
    return next_xstat ? answer(next_xstat(version, path, ret), path, ret) : stat_at(AT_FDCWD, path, ret, 0);
}

EXPORT int __lxstat(int version, const char *path, struct stat *ret);
EXPORT int __lxstat(int version, const char *path, struct stat *ret)
{
    return next_lxstat ? answer(next_lxstat(version, path, ret), path, ret) : stat_at(AT_FDCWD, path, ret, AT_SYMLINK_NOFOLLOW);
}

EXPORT int __fxstatat(int version, int dir, const char *path, struct stat *ret, int flags);
EXPORT int __fxstatat(int version, int dir, const char *path, struct stat *ret, int flags)
{
    return next_fxstatat ? answer(next_fxstatat(version, dir, path, ret, flags), path, ret) : stat_at(dir, path, ret, flags);
}

/* Both structures are one on x86-64. */
EXPORT int stat64(const char *, struct stat64 *) __attribute__((alias("stat")));
EXPORT int lstat64(const char *, struct stat64 *) __attribute__((alias("lstat")));
EXPORT int fstatat64(int, const char *, struct stat64 *, int) __attribute__((alias("fstatat")));
EXPORT int __xstat64(int, const char *, struct stat64 *) __attribute__((alias("__xstat")));
EXPORT int __lxstat64(int, const char *, struct stat64 *) __attribute__((alias("__lxstat")));
EXPORT int __fxstatat64(int, int, const char *, struct stat64 *, int) __attribute__((alias("__fxstatat")));

EXPORT int statx(int dir, const char *restrict path, int flags, unsigned mask, struct statx *restrict ret)
{
    int status = next_statx ? next_statx(dir, path, flags, mask, ret) : (int)syscall(SYS_statx, dir, path, flags, mask, ret);
    const struct node *node = missing(status, path);
    if (!node)
        return status;
    memset(ret, 0, sizeof *ret);
    ret->stx_mask = STATX_TYPE | STATX_MODE | STATX_NLINK;
    ret->stx_mode = NODE_MODE;
    ret->stx_nlink = 1;
    ret->stx_blksize = 4096;
    ret->stx_rdev_major = NVIDIA_MAJOR;
    ret->stx_rdev_minor = node->minor;
    return 0;
}

static int answer_access(int status, const char *path, int mode)
{
    if (!missing(status, path))
        return status;
    if (!(mode & X_OK))
        return 0;
    errno = EACCES;
    return -1;
}

EXPORT int access(const char *path, int mode)
{
    return answer_access(next_access ? next_access(path, mode) : (int)syscall(SYS_access, path, mode), path, mode);
}

EXPORT int faccessat(int dir, const char *path, int mode, int flags)
{
    int status = next_faccessat ? next_faccessat(dir, path, mode, flags) : (int)syscall(SYS_faccessat2, dir, path, mode, flags);
    return answer_access(status, path, mode);
}
