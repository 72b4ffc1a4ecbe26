/* What a program registers through __cudaRegister*: fat binaries, kernels by host address, variables by host address.
 *
 * Registering appends to arrays and does nothing else: tens of thousands of calls precede main in large programs.  Tables by
 * address are built when first asked, and a fat binary is opened at the first use of something in it.  All functions are
 * thread-safe; finding a kernel takes no lock once it was found before. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_REGISTRY_H
#define AW_CORE_REGISTRY_H

#include "core/module.h"

struct aw_registered_fatbin; /* opaque; its address serves as the void ** handle of the ABI */

/* `wrapper` is the 24-byte struct aw_fatbin_wrapper in the program, borrowed until unregistered.  NULL when memory is out. */
struct aw_registered_fatbin *aw_registry_fatbin(const void *wrapper);
/* Ends registration of the fat binary: __cudaRegisterFatBinaryEnd. */
void aw_registry_fatbin_end(struct aw_registered_fatbin *fatbin);
/* Forgets it and what was registered with it, and unloads its modules.  Unknown handles are ignored. */
void aw_registry_unregister(struct aw_registered_fatbin *fatbin);

/* Names are borrowed until unregistered.  Failure (memory) is logged and shows as an unknown symbol later. */
void aw_registry_function(struct aw_registered_fatbin *fatbin, const void *host, const char *name);
enum aw_registered_var_kind { AW_REGISTERED_VAR, AW_REGISTERED_CONST, AW_REGISTERED_MANAGED, AW_REGISTERED_TEXTURE,
                              AW_REGISTERED_SURFACE };
/* For a managed variable `host` is the pointer that receives the storage's address (void **).  For a texture reference `size`
 * says whether integers are read as fractions: 0 or 1. */
void aw_registry_var(struct aw_registered_fatbin *fatbin, const void *host, const char *name, size_t size,
                     enum aw_registered_var_kind kind);

/* The kernel that stands behind a host function; its handle is a valid CUkernel for the life of the fat binary.
 * AW_ERR_INVALID_DEVFUNC when nothing is registered there. Opens nothing. */
enum aw_status aw_registry_kernel(const void *host, struct aw_kernel **ret_kernel);
/* A registered variable's address in `ctx` and its size.  AW_ERR_INVALID_SYMBOL.  Outputs may be NULL. */
enum aw_status aw_registry_symbol(struct aw_ctx *ctx, const void *host, uintptr_t *ret_address, size_t *ret_size);
/* The cell of a registered texture or surface reference in `ctx`, and what its `size` was.  AW_ERR_INVALID_SYMBOL. */
enum aw_status aw_registry_reference(struct aw_ctx *ctx, const void *host, enum aw_registered_var_kind kind, uintptr_t *ret_cell,
                                     bool *ret_normalized);
/* __cudaInitModule: allocates the fat binary's managed variables and stores their addresses in the host pointers. */
enum aw_status aw_registry_init_managed(struct aw_registered_fatbin *fatbin, struct aw_ctx *ctx);
/* The same for every fat binary that has managed variables; the runtime calls it when a primary context begins. */
enum aw_status aw_registry_init_all_managed(struct aw_ctx *ctx);

/* Why the image behind a kernel could not be used: for the log; "" when it can. */
const char *aw_registry_log(const void *host);

#endif
