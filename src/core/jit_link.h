/* A just-in-time link (CUlinkState): inputs that hold PTX, collected, then put into one image that a module can be loaded from.
 *
 * The compiler does the linking, when the image is opened; completing opens it once, so that what is wrong is told there. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_JIT_LINK_H
#define AW_CORE_JIT_LINK_H

#include "core/module.h"

struct aw_link; /* opaque */

/* As CUjitInputType numbers them. */
enum aw_link_input { AW_LINK_CUBIN, AW_LINK_PTX, AW_LINK_FATBIN, AW_LINK_OBJECT, AW_LINK_LIBRARY, AW_LINK_NVVM };

/* A link for `ctx`'s device, owned by the caller.  One thread at a time. */
enum aw_status aw_link_create(struct aw_ctx *ctx, unsigned opt_level, struct aw_link **ret_link);
/* Adds one input; the bytes are copied where they are needed later.  PTX is parsed at once.  What is wrong, and warnings, are
 * appended to `log`.  AW_ERR_INVALID_PTX, AW_ERR_UNSUPPORTED_PTX; AW_ERR_INVALID_IMAGE: not what `kind` says;
 * AW_ERR_NO_BINARY: no PTX in it; AW_ERR_NOT_SUPPORTED: NVVM; AW_ERR_INVALID_VALUE; AW_ERR_ILLEGAL_STATE: completed already. */
enum aw_status aw_link_add(struct aw_link *link, enum aw_link_input kind, const void *bytes, size_t size, const char *name,
                           struct aw_buf *log);
/* Links.  The result is the link's until it is destroyed; cuModuleLoadData and aw_link_add (as a cubin) take it.
 * AW_ERR_UNKNOWN: undefined or multiply defined symbols, in the log; or what opening and compiling give. */
enum aw_status aw_link_complete(struct aw_link *link, void **ret_image, size_t *ret_size, struct aw_buf *log);
void aw_link_destroy(struct aw_link *link); /* NULL is fine */

#endif
