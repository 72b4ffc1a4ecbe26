/* What NVIDIA's assembler looks like from outside: its version, which is CUDA's, and the words of its messages.  Other programs
 * read both. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_PTXAS_H
#define AW_BASE_PTXAS_H

#include "base/str.h"

/* 1000 times the major plus 10 times the minor version of CUDA that we pass for; ANYWARP_DRIVER_VERSION says another. */
int aw_cuda_version(void);

/* Appends `diags`, lines of "file:line:column: error: text", as ptxas words them: "ptxas FILE, line N; error : text".  Returns
 * the number of errors.  With `file` NULL each keeps the name it has. */
size_t aw_ptxas_words(const char *diags, const char *file, struct aw_buf *out);

#endif
