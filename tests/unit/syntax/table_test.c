/* Unit tests of the instruction table as generated: what every row must satisfy. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "front_test.h"
#include "tab/form.h"

Test(table, rows_are_sound_and_found)
{
    size_t n, of;
    const struct ptx_form *forms = ptx_forms(&n);

    cr_assert_gt(n, 0u);
    for (size_t i = 0; i < n; i++) {
        const struct ptx_form *f = &forms[i], *first = ptx_forms_of(aw_str_from(f->mnemonic), &of);
        cr_assert(first && first <= f && f < first + of, "%s is not among the forms of %s", f->id, f->mnemonic);
        cr_assert(i == 0 || strcmp(forms[i - 1].mnemonic, f->mnemonic) <= 0, "%s is out of order", f->id);
        cr_assert(f->isa >= 10 && f->isa < 100 && f->sm >= 10 && f->lowering < PTX_LOWERING_COUNT, "%s", f->id);
        cr_assert(*f->section >= '1' && *f->section <= '9', "%s has no section", f->id);
        unsigned types = 0;
        for (unsigned g = 0; g < f->n_groups; g++)
            types += f->groups[g].kind == PTX_GROUP_TYPE;
        cr_assert_eq(types, f->n_types, "%s", f->id);
    }
    cr_assert_null(ptx_forms_of(AW_STR("frobnicate"), &of));
    cr_assert_eq(of, 0u);
}

Test(table, modifiers_and_types_by_name)
{
    enum ptx_mod mod;
    enum ptx_type type;

    for (unsigned i = 0; i < PTX_MOD_COUNT; i++)
        cr_assert(ptx_mod_from(aw_str_from(ptx_mod_name((enum ptx_mod)i)), &mod) && mod == i, "%s",
                  ptx_mod_name((enum ptx_mod)i));
    cr_assert(!ptx_mod_from(AW_STR("frob"), &mod));
    for (unsigned i = 1; i < PTX_TYPE_COUNT; i++)
        cr_assert(ptx_type_from(aw_str_from(ptx_type_name((enum ptx_type)i)), &type) && type == i);
    cr_assert(!ptx_type_from(AW_STR("u33"), &type));
    cr_assert(ptx_type_bits(PTX_B128) == 128 && ptx_type_class(PTX_BF16) == 'F' && ptx_type_bits(PTX_PRED) == 1);
    for (unsigned i = 1; i < PTX_SREG_COUNT; i++)
        cr_assert_eq(ptx_sreg_from(aw_str_from(ptx_sreg_name((enum ptx_sreg)i))), i);
}
