/* Whole files, paths, and where the running library itself lies. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_FILE_H
#define AW_BASE_FILE_H

#include "base/status.h"

/* Reads a whole file into a heap buffer (owned by the caller, free()), NUL-terminated beyond its length. */
enum aw_status aw_file_read(const char *path, char **ret_bytes, size_t *ret_len);
/* The same of what a program names to load: AW_ERR_INVALID_IMAGE for devices and pipes, which may have no end. */
enum aw_status aw_file_read_regular(const char *path, char **ret_bytes, size_t *ret_len);
/* Full read or write on a descriptor, over EINTR and short counts; false on error or early end. */
bool aw_fd_read_all(int fd, void *bytes, size_t len);
bool aw_fd_write_all(int fd, const void *bytes, size_t len);
/* The file that is mapped at `address`, as the kernel says (/proc/self/maps), whatever name the loader has for it; false when
 * there is none or it would be cut. */
bool aw_self_file(const void *address, char *ret_path, size_t size);
/* Directory that holds the object containing `address` (dladdr); false when unknown or cut. */
bool aw_self_dir(const void *address, char *ret_path, size_t size);

#endif
