/* Who can change what the store holds.  Its objects are executed, and their hashes keep out damage, not other users: so
 * everything from the root directory to the file must be ours or root's, and nobody else's to write. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cache/internal.h"

const char *aw_cache_distrust(const struct stat *st)
{
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return "belongs to another user";
    if (S_ISLNK(st->st_mode)) /* its mode says nothing, and only its folder's writers can replace it */
        return NULL;
    if (st->st_mode & S_IWOTH)
        return "can be written by everybody";
    if (st->st_mode & S_IWGRP)
        return "can be written by a group";
    return NULL;
}

/* A directory on the way.  Whoever owns the root directory owns the machine: in a user namespace without root that is nobody's
 * number. In a sticky one (/tmp) everybody may write, but touch only their own: what comes next decides. */
static const char *distrust_ancestor(const struct stat *st, uid_t machine)
{
    struct stat as_ours = *st;
    if (st->st_uid == machine)
        as_ours.st_uid = 0;
    if (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX))
        as_ours.st_mode &= ~(mode_t)(S_IWGRP | S_IWOTH);
    return aw_cache_distrust(&as_ours);
}

/* Puts a link's target in the place of the first `at` bytes of `path`; false when it does not fit or cannot be read. */
static bool follow(char *path, size_t size, size_t at)
{
    char target[4096], whole[4096];
    size_t parent = at;
    char kept = path[at];
    path[at] = '\0';
    ssize_t n = readlink(path, target, sizeof target - 1);
    path[at] = kept;
    if (n <= 0)
        return false;
    target[n] = '\0';
    while (parent > 0 && path[parent - 1] != '/')
        parent--;
    int len = snprintf(whole, sizeof whole, "%.*s%s%s", target[0] == '/' ? 0 : (int)parent, path, target, path + at);
    if (len < 0 || (size_t)len >= sizeof whole || (size_t)len >= size)
        return false;
    memcpy(path, whole, (size_t)len + 1);
    return true;
}

/* The length of the path up to the end of its next name, after `at` bytes; 0 when there is none. */
static size_t next_name(const char *path, size_t at)
{
    size_t begin = at + strspn(path + at, "/");
    return path[begin] ? begin + strcspn(path + begin, "/") : 0;
}

enum aw_cache_trust aw_cache_trust(const char *dir, char *ret_why, size_t size)
{
    enum { LINKS = 40 };
    char path[4096];
    struct stat st;
    int links = 0;
    *ret_why = '\0';
    if (stat("/", &st) != 0 || (size_t)snprintf(path, sizeof path, "%s", dir) >= sizeof path) {
        snprintf(ret_why, size, "%.200s cannot be examined", dir);
        return AW_CACHE_REFUSED;
    }
    uid_t machine = st.st_uid;
    const char *why = distrust_ancestor(&st, machine);
    size_t at = why ? 1 : 0;
    size_t end;
    while (!why && (end = next_name(path, at)) != 0) {
        char kept = path[end];
        bool last = next_name(path, end) == 0;
        path[end] = '\0';
        int error = lstat(path, &st) == 0 ? 0 : errno;
        path[end] = kept;
        if (error == ENOENT)
            return AW_CACHE_MISSING;
        at = end;
        if (error)
            why = strerror(error);
        else if (S_ISLNK(st.st_mode) && !(why = distrust_ancestor(&st, machine)))
            why = links++ < LINKS && follow(path, sizeof path, end) ? NULL : "is a link that cannot be followed",
            at = why ? end : 0;
        else if (!why && !S_ISDIR(st.st_mode))
            why = "is not a directory";
        else if (!why)
            why = last ? aw_cache_distrust(&st) : distrust_ancestor(&st, machine);
    }
    if (!why)
        return AW_CACHE_TRUSTED;
    snprintf(ret_why, size, "%.*s %s", (int)at, path, why);
    return AW_CACHE_REFUSED;
}
