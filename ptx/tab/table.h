/* What the generated forms.c gives to tab.c; nobody else includes it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_TAB_TABLE_H
#define AW_PTX_TAB_TABLE_H

#include "tab/form.h"

extern const struct ptx_form ptx_form_table[]; /* sorted by mnemonic */
extern const size_t ptx_form_table_n;

#endif
