/* What went wrong last, for ncclGetLastError and the log. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NCCL_STATUS_H
#define AW_LIBS_NCCL_STATUS_H

/* One for all communicators, as in NCCL.  Not read or written as a whole when threads fail at once: the text is for people. */
void aw_nccl_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
