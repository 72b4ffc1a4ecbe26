/* Lookups in the generated tables: types, modifiers, forms by mnemonic.  Holds no table of its own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tab/table.h"

#include <stdlib.h>

static const struct {
    const char *name;
    uint8_t len;
    uint8_t bits;
    char class;
} type_table[PTX_TYPE_COUNT] = {
#define TYPE_CLASS_B 'B'
#define TYPE_CLASS_U 'U'
#define TYPE_CLASS_S 'S'
#define TYPE_CLASS_F 'F'
#define TYPE_CLASS_P 'P'
#define TYPE_CLASS_O 'O'
#define PTX_TYPE(id, spelling, bits, class) [PTX_##id] = { spelling, sizeof(spelling) - 1, bits, TYPE_CLASS_##class },
#include "tab/type.def"
#undef PTX_TYPE
};

static const struct aw_str mod_table[] = {
#define PTX_MOD(id, spelling) [PTX_MOD_##id] = { spelling, sizeof(spelling) - 1 },
#include "tab/mods.inc"
#undef PTX_MOD
};

const char *ptx_type_name(enum ptx_type type)
{
    return (unsigned)type < PTX_TYPE_COUNT && type_table[type].name ? type_table[type].name : "none";
}

unsigned ptx_type_bits(enum ptx_type type)
{
    return (unsigned)type < PTX_TYPE_COUNT ? type_table[type].bits : 0;
}

char ptx_type_class(enum ptx_type type)
{
    return (unsigned)type < PTX_TYPE_COUNT ? type_table[type].class : 0;
}

bool ptx_type_from(struct aw_str s, enum ptx_type *ret_type)
{
    for (unsigned i = 1; i < PTX_TYPE_COUNT; i++) {
        if (type_table[i].len == s.len && memcmp(type_table[i].name, s.ptr, s.len) == 0) {
            *ret_type = (enum ptx_type)i;
            return true;
        }
    }
    return false;
}

const char *ptx_mod_name(enum ptx_mod mod)
{
    return (unsigned)mod < PTX_MOD_COUNT ? mod_table[mod].ptr : "";
}

bool ptx_mod_from(struct aw_str s, enum ptx_mod *ret_mod)
{
    size_t low = 0, high = PTX_MOD_COUNT;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = aw_str_cmp(mod_table[middle], s);
        if (order == 0) {
            *ret_mod = (enum ptx_mod)middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

const struct ptx_form *ptx_forms(size_t *ret_n)
{
    *ret_n = ptx_form_table_n;
    return ptx_form_table;
}

const struct ptx_form *ptx_forms_of(struct aw_str mnemonic, size_t *ret_n)
{
    size_t low = 0, high = ptx_form_table_n;
    while (low < high) { /* the first row not below the mnemonic */
        size_t middle = low + (high - low) / 2;
        if (aw_str_cmp(aw_str_from(ptx_form_table[middle].mnemonic), mnemonic) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < ptx_form_table_n && aw_str_is(mnemonic, ptx_form_table[end].mnemonic))
        end++;
    *ret_n = end - low;
    return end > low ? ptx_form_table + low : NULL;
}
