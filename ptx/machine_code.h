/* Machine code among the texts that a module is made of. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_MACHINE_H
#define AW_PTX_MACHINE_H

#include <anywarp/compiler.h>

#include "base/status.h"

/* The texts, with PTX in the place of each cubin: one text of its variables and one for each of its kernels.  A kernel that cannot be lifted
 * becomes an entry whose body is an error that says why. */
struct ptx_machine_texts {
    struct aw_text *at; /* what PTX was handed in is borrowed */
    size_t n;
    char **owned;
    size_t n_owned;
};

/* AW_OK; AW_ERR_INVALID_IMAGE, AW_ERR_NO_BINARY, AW_ERR_NOT_SUPPORTED (a line of *diags says what of which text); AW_ERR_OUT_OF_MEMORY. */
enum aw_status ptx_machine_texts(const struct aw_text texts[], size_t n, struct ptx_machine_texts *ret, struct aw_buf *diags);
void ptx_machine_texts_fini(struct ptx_machine_texts *texts);

#endif
