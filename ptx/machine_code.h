/* Machine code among the texts that a module is made of. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_MACHINE_H
#define AW_PTX_MACHINE_H

#include <anywarp/compiler.h>

#include "base/status.h"
#include "module/module.h"

/* The texts, with PTX in the place of each cubin: one text of its variables and one for each of its kernels.  A kernel that
 * cannot be lifted becomes an entry whose body is an error that says why. */
struct ptx_machine_texts {
    struct aw_text *at; /* what PTX was handed in is borrowed */
    size_t n;
    char **owned;
    size_t n_owned;
};

/* AW_OK; AW_ERR_INVALID_IMAGE, AW_ERR_NO_BINARY, AW_ERR_NOT_SUPPORTED (a line of *diags says what of which text);
 * AW_ERR_OUT_OF_MEMORY. */
enum aw_status ptx_machine_texts(const struct aw_text texts[], size_t n, struct ptx_machine_texts *ret, struct aw_buf *diags);
void ptx_machine_texts_fini(struct ptx_machine_texts *texts);

/* ---- A module that is one cubin.  Its kernels are lifted when they are compiled, each with the variables alone: a cubin may
 * hold hundreds, of which a program uses one. */
struct ptx_machine;

bool ptx_is_machine_code(const struct aw_text *text);
/* Copies the text.  Errors as of ptx_machine_texts. */
enum aw_status ptx_machine_open(const struct aw_text *text, struct ptx_machine **ret_machine, struct aw_buf *diags);
void ptx_machine_close(struct ptx_machine *machine); /* NULL is fine */
/* The cubin as it was handed in; borrowed until close. */
struct aw_text ptx_machine_image(const struct ptx_machine *machine);

/* Opens what the manifest is made of: variables, and kernels without their code.  Errors as of ptx_open. */
enum aw_status ptx_machine_outline(const struct ptx_machine *machine, struct ptx_diags *diags, struct ptx_module **ret_module);
/* Opens one kernel and the variables, which lie in the arena where the outline has them; `places` as of sass_lift.  Errors as of
 * ptx_open, and AW_ERR_NOT_FOUND (no such kernel), AW_ERR_NOT_SUPPORTED or AW_ERR_INVALID_IMAGE (it cannot be lifted; a line of
 * *diags says why). */
enum aw_status ptx_machine_kernel(const struct ptx_machine *machine, const char *kernel, bool places, struct ptx_diags *diags,
                                  struct ptx_module **ret_module);
/* Puts the hash of the image and of its own name into each kernel's `closure`. */
void ptx_machine_hash(const struct ptx_machine *machine, struct aw_manifest *manifest);

#endif
