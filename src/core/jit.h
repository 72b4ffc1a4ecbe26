/* The client of the compiler process: texts in, manifests and code objects out, through the cache on disk.
 *
 * It starts compiler processes as needed, several at once, and survives any of them dying.  Nothing here maps LLVM.
 * Thread-safe.  A child made by fork() starts processes of its own.
 *
 * Environment: ANYWARP_COMPILER, the compiler program (else libexec/anywarp/anywarp-compiler beside the library);
 * ANYWARP_COMPILE_TIMEOUT, seconds one request may take, 0 = for ever, else 600. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_JIT_H
#define AW_CORE_JIT_H

#include <anywarp/compiler.h>

#include "base/status.h"

struct aw_jit_module;

/* Makes a module of `n` PTX texts (n > 1: linked together).  The texts are copied.  Blocks until the manifest is there:
 * from the cache, or from a compiler process.  On failure *ret_diags tells why (heap, caller frees; may be NULL):
 * AW_ERR_INVALID_PTX, AW_ERR_UNSUPPORTED_PTX, AW_ERR_NOT_FOUND (unresolved extern), AW_ERR_JIT_NOT_FOUND (no compiler
 * program), AW_ERR_LAUNCH_FAILED never; AW_ERR_OS (the process died or broke the protocol), AW_ERR_OUT_OF_MEMORY. */
enum aw_status aw_jit_open(const struct aw_text texts[], size_t n, struct aw_jit_module **ret_module, char **ret_diags);
void aw_jit_close(struct aw_jit_module *module); /* NULL is fine */

/* Borrowed until close; checked. */
const struct aw_manifest *aw_jit_manifest(const struct aw_jit_module *module);

/* Compiles kernel number `kernel` of the manifest, or takes it from the cache.  *ret_bytes is heap, caller frees.
 * Concurrent calls for one kernel and options compile once and get the same bytes.  The target should name the
 * processor: objects for plain "host" are not kept on disk, which machines that differ may share, nor those with AW_LINES_ALL or
 * AW_LINES_TOLD.  Errors as of aw_jit_open, and AW_ERR_NOT_SUPPORTED: an instruction that cannot be lowered, named in *ret_diags;
 * AW_ERR_INVALID_VALUE: kernel or options. */
enum aw_status aw_jit_compile(struct aw_jit_module *module, uint32_t kernel, const struct aw_compile_options *options,
                              char **ret_bytes, size_t *ret_size, char **ret_diags);

/* Only what the cache has of that, with no message. */
bool aw_jit_find(struct aw_jit_module *module, uint32_t kernel, const struct aw_compile_options *options, char **ret_bytes,
                 size_t *ret_size);

/* What this thread has compiled from now on nobody waits for: should the program end meanwhile, the compiler's process goes on
 * for a while, and puts it into the cache. */
void aw_jit_in_background(void);

/* Notes what has not been begun: one of the compiler's processes does it after aw_jit_shutdown, for a while, and puts it into the
 * cache.  By one thread, before that call. */
void aw_jit_leave(struct aw_jit_module *module, uint32_t kernel, const struct aw_compile_options *options);

/* Ends all compiler processes started by this process, but for those at work in the background, and one for what was left; called
 * at exit. */
void aw_jit_shutdown(void);

#endif
