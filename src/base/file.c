/* Whole-file reads and full reads and writes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads to the end: works for pipes and /proc too, whose size is not known. */
static enum aw_status fd_read_whole(int fd, size_t hint, char **ret_bytes, size_t *ret_len)
{
    size_t cap = hint + 1, len = 0;
    char *bytes = malloc(cap + 1);

    while (bytes) {
        ssize_t n = read(fd, bytes + len, cap - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            free(bytes);
            return AW_ERR_OS;
        }
        if (n == 0) {
            bytes[len] = 0;
            *ret_bytes = bytes;
            *ret_len = len;
            return AW_OK;
        }
        len += (size_t)n;
        if (len == cap) {
            cap *= 2;
            char *grown = realloc(bytes, cap + 1);
            if (!grown)
                free(bytes);
            bytes = grown;
        }
    }
    return AW_ERR_OUT_OF_MEMORY;
}

enum aw_status aw_file_read(const char *path, char **ret_bytes, size_t *ret_len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return errno == ENOENT ? AW_ERR_FILE_NOT_FOUND : AW_ERR_OS;
    size_t hint = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
    enum aw_status status = fd_read_whole(fd, hint < 64 ? 64 : hint, ret_bytes, ret_len);
    close(fd);
    return status;
}

enum aw_status aw_file_read_regular(const char *path, char **ret_bytes, size_t *ret_len)
{
    /* A pipe would be waited for, and opening it alone would wait for its writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return errno == ENOENT ? AW_ERR_FILE_NOT_FOUND : AW_ERR_OS;
    enum aw_status status = fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) ? AW_OK : AW_ERR_INVALID_IMAGE;
    if (status == AW_OK)
        status = fd_read_whole(fd, st.st_size < 64 ? 64 : (size_t)st.st_size, ret_bytes, ret_len);
    close(fd);
    return status;
}

bool aw_fd_read_all(int fd, void *bytes, size_t len)
{
    for (char *p = bytes; len;) {
        ssize_t n = read(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

bool aw_fd_write_all(int fd, const void *bytes, size_t len)
{
    for (const char *p = bytes; len;) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

bool aw_self_file(const void *address, char *ret_path, size_t size)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t room = 0;
    bool found = false;

    while (maps && !found && getline(&line, &room, maps) > 0) {
        uintptr_t begin, end;
        char *path = strchr(line, '/');
        if (!path || sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2 || (uintptr_t)address < begin ||
            (uintptr_t)address >= end)
            continue;
        path[strcspn(path, "\n")] = '\0';
        found = strlen(path) < size;
        if (found)
            strcpy(ret_path, path);
    }
    free(line);
    if (maps)
        fclose(maps);
    return found;
}

bool aw_self_dir(const void *address, char *ret_path, size_t size)
{
    Dl_info info;

    if (!dladdr(address, &info) || !info.dli_fname)
        return false;
    char *real = realpath(info.dli_fname, NULL);
    if (!real)
        return false;
    char *slash = strrchr(real, '/');
    int n = slash ? snprintf(ret_path, size, "%.*s", (int)(slash - real), real) : -1;
    free(real);
    return n >= 0 && (size_t)n < size;
}
