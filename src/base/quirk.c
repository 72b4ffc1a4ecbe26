/* Quirks and their switch.  Part of the preloaded objects too, so it says nothing itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quirk.h"

#include <string.h>

#include "base/env.h"

static const struct aw_quirk_row rows[] = {
#define AW_QUIRK(id, name, who, what) { name, who, what },
#include "base/quirk.def"
#undef AW_QUIRK
};

const struct aw_quirk_row *aw_quirk_row(enum aw_quirk quirk)
{
    return &rows[quirk];
}

/* Takes the next word off *rest. */
static bool next_word(const char **rest, bool *ret_on, struct aw_str *ret_name)
{
    const char *p = *rest + strspn(*rest, ", ");
    size_t n = strcspn(p, ", ");
    *rest = p + n;
    *ret_on = *p != '-';
    *ret_name = (struct aw_str){ p + !*ret_on, n - !*ret_on };
    return n > 0;
}

bool aw_quirk_on(enum aw_quirk quirk)
{
    const char *rest = aw_env("ANYWARP_QUIRKS");
    struct aw_str name;
    bool on = true, word_on;
    while (rest && next_word(&rest, &word_on, &name))
        if (aw_str_is(name, "all") || aw_str_is(name, rows[quirk].name))
            on = word_on;
    return on;
}

bool aw_quirk_unknown(struct aw_str *ret_word)
{
    const char *rest = aw_env("ANYWARP_QUIRKS");
    struct aw_str name;
    bool on;
    while (rest && next_word(&rest, &on, &name)) {
        bool known = aw_str_is(name, "all");
        for (int i = 0; i < AW_QUIRK_COUNT; i++)
            known |= aw_str_is(name, rows[i].name);
        if (!known) {
            *ret_word = name;
            return true;
        }
    }
    return false;
}
