/* The quirks of base/quirk.def, and which of them ANYWARP_QUIRKS switches off: words with commas between, -NAME off and NAME on,
 * `-all` and `all`; the last word on one counts.  Any thread. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_QUIRK_H
#define AW_BASE_QUIRK_H

#include <stdbool.h>

#include "base/str.h"

enum aw_quirk {
#define AW_QUIRK(id, name, who, what) AW_QUIRK_##id,
#include "base/quirk.def"
#undef AW_QUIRK
    AW_QUIRK_COUNT
};

/* Static. */
const struct aw_quirk_row {
    const char *name, *who, *what;
} *aw_quirk_row(enum aw_quirk quirk);

/* Reads the setting each time: not for every launch. */
bool aw_quirk_on(enum aw_quirk quirk);

/* The first word of the setting that names no quirk, borrowed until the environment changes; false: there is none. */
bool aw_quirk_unknown(struct aw_str *ret_word);

#endif
