/* Which spellings a row admits: types, modifiers, spaces, vector widths.  Whether the checker takes them shows when they are
 * parsed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/harness.h"

#include <stdio.h>
#include <stdlib.h>

#include "syntax/syntax.h"

/* Rows with more combinations than this (ld has millions) are sampled. */
enum { MANY = 600, SAMPLES = 100 };

static const char *alternative_name(const struct ptx_group *group, uint16_t alternative, char *buf, size_t size)
{
    switch (group->kind) {
    case PTX_GROUP_TYPE: return ptx_type_name((enum ptx_type)alternative);
    case PTX_GROUP_VEC: snprintf(buf, size, "v%u", alternative); return buf;
    case PTX_GROUP_MOD: return ptx_mod_name((enum ptx_mod)alternative);
    case PTX_GROUP_SPACE:
        return alternative < 256 ? ptx_space_name(PTX_ALT_SPACE(alternative))
                                 : ptx_mod_name((enum ptx_mod)(alternative / 256u - 1));
    }
    return "";
}

static char *spell(const struct oracle_combo *c)
{
    struct aw_buf name = { 0 };
    char buf[8];

    aw_buf_printf(&name, "%s", c->form->mnemonic);
    for (unsigned g = 0; g < c->form->n_groups; g++)
        if (c->choice[g])
            aw_buf_printf(
                &name, ".%s",
                alternative_name(&c->form->groups[g], c->form->groups[g].alternatives[c->choice[g] - 1], buf, sizeof buf));
    if (name.failed) {
        aw_buf_fini(&name);
        return NULL;
    }
    return name.ptr;
}

bool oracle_combo_has(const struct oracle_combo *c, const char *modifier)
{
    char buf[8];
    for (unsigned g = 0; g < c->form->n_groups; g++)
        if (c->choice[g] &&
            !strcmp(alternative_name(&c->form->groups[g], c->form->groups[g].alternatives[c->choice[g] - 1], buf, sizeof buf),
                    modifier))
            return true;
    return false;
}

/* What follows from the choices. */
static bool settle(struct oracle_combo *c)
{
    c->n_types = 0;
    c->vec = 1;
    c->space = PTX_SPACE_NONE;
    for (unsigned g = 0; g < c->form->n_groups; g++) {
        const struct ptx_group *group = &c->form->groups[g];
        if (!c->choice[g])
            continue;
        uint16_t alternative = group->alternatives[c->choice[g] - 1];
        if (group->kind == PTX_GROUP_TYPE && c->n_types < PTX_MAX_TYPES)
            c->types[c->n_types++] = (enum ptx_type)alternative;
        else if (group->kind == PTX_GROUP_VEC)
            c->vec = alternative;
        else if (group->kind == PTX_GROUP_SPACE && !c->space)
            c->space = PTX_ALT_SPACE(alternative);
    }
    c->cache_hint = oracle_combo_has(c, "L2::cache_hint");
    c->name = spell(c);
    return c->name != NULL;
}

static bool same_choice(const struct oracle_combo *a, const struct oracle_combo *b)
{
    return a->form == b->form && memcmp(a->choice, b->choice, sizeof a->choice) == 0;
}

static bool push(struct oracle_combos *combos, size_t first, const struct ptx_form *form, const uint16_t *choice)
{
    struct oracle_combo c = { .form = form };
    memcpy(c.choice, choice, form->n_groups * sizeof *choice);
    for (size_t i = first; i < combos->list.n; i++)
        if (same_choice(&combos->list.at[i], &c))
            return true;
    if (!settle(&c))
        return false;
    if (aw_vec_push(&combos->list, c))
        return true;
    free(c.name);
    return false;
}

/* The next choice in the order of an odometer; only groups in `free_groups` turn. */
static bool advance(const struct ptx_form *form, uint16_t *choice, uint32_t free_groups)
{
    for (unsigned g = form->n_groups; g-- > 0;) {
        if (!(free_groups >> g & 1))
            continue;
        if (choice[g] < form->groups[g].n) {
            choice[g]++;
            return true;
        }
        choice[g] = form->groups[g].optional ? 0 : 1;
    }
    return false;
}

static void start(const struct ptx_form *form, uint16_t *choice)
{
    for (unsigned g = 0; g < form->n_groups; g++)
        choice[g] = form->groups[g].optional ? 0 : 1;
}

/* Every type; every alternative of every group, the others as plain as can be, with a few of the types in turn; and random
 * ones. */
static bool sample(struct oracle_combos *combos, size_t first, const struct ptx_form *form, uint64_t seed)
{
    uint16_t choice[ORACLE_MAX_GROUPS] = { 0 };
    uint32_t types = 0;
    struct oracle_rng rng = { oracle_hash(seed, form->id) };
    bool ok = true;

    for (unsigned g = 0; g < form->n_groups; g++)
        types |= (uint32_t)(form->groups[g].kind == PTX_GROUP_TYPE) << g;
    start(form, choice);
    do
        ok = ok && push(combos, first, form, choice);
    while (ok && advance(form, choice, types));
    for (unsigned g = 0; g < form->n_groups && ok; g++) {
        for (unsigned i = 0; i < form->groups[g].n * 3u && ok && !(types >> g & 1); i++) {
            start(form, choice);
            choice[g] = (uint16_t)(1 + i / 3);
            for (unsigned t = 0; t < form->n_groups; t++)
                if (types >> t & 1)
                    choice[t] = (uint16_t)(1 + oracle_below(&rng, form->groups[t].n));
            ok = push(combos, first, form, choice);
        }
    }
    for (unsigned i = 0; i < SAMPLES && ok; i++) {
        for (unsigned g = 0; g < form->n_groups; g++) {
            unsigned optional = form->groups[g].optional;
            choice[g] = (uint16_t)(oracle_below(&rng, form->groups[g].n + optional) + !optional);
        }
        ok = push(combos, first, form, choice);
    }
    return ok;
}

static double count(const struct ptx_form *form)
{
    double n = 1;
    for (unsigned g = 0; g < form->n_groups; g++)
        n *= form->groups[g].n + form->groups[g].optional;
    return n;
}

static bool has_row(const struct oracle_combos *combos, const struct ptx_form *form)
{
    for (size_t i = 0; i < combos->list.n; i++)
        if (combos->list.at[i].form == form)
            return true;
    return false;
}

static bool add_row(struct oracle_combos *combos, const struct ptx_form *form, uint64_t seed)
{
    uint16_t choice[ORACLE_MAX_GROUPS] = { 0 };
    size_t first = combos->list.n;
    double n = count(form);
    struct oracle_combo c;

    if (form->n_groups > ORACLE_MAX_GROUPS)
        return false;
    if (n > MANY) {
        if (!sample(combos, first, form, seed))
            return false;
        combos->n_cut += (size_t)(n - (double)(combos->list.n - first));
        return true;
    }
    start(form, choice);
    do {
        c = (struct oracle_combo){ .form = form };
        memcpy(c.choice, choice, sizeof choice);
        if (!settle(&c))
            return false;
        if (!aw_vec_push(&combos->list, c)) {
            free(c.name);
            return false;
        }
    } while (advance(form, choice, UINT32_MAX));
    return true;
}

static bool selects(const char *wanted, const struct ptx_form *form)
{
    size_t n = strlen(wanted);
    if (!strcmp(wanted, form->id) || !strcmp(wanted, form->mnemonic))
        return true;
    return wanted[0] >= '0' && wanted[0] <= '9' && !strncmp(wanted, form->section, n) &&
           (!form->section[n] || form->section[n] == '.');
}

/* The alternative of a group that is spelled `word`, from 1; 0 when none is. */
static uint16_t alternative_of(const struct ptx_group *group, const char *word, size_t len)
{
    char buf[8];
    for (uint16_t i = 0; i < group->n; i++) {
        const char *name = alternative_name(group, group->alternatives[i], buf, sizeof buf);
        if (strlen(name) == len && !memcmp(name, word, len))
            return (uint16_t)(i + 1);
    }
    return 0;
}

/* A spelling, with its modifiers in any order, as choices of a row. */
static bool choose(const char *wanted, const struct ptx_form *form, uint16_t *choice)
{
    size_t n = strlen(form->mnemonic);

    if (strncmp(wanted, form->mnemonic, n) != 0 || (wanted[n] && wanted[n] != '.'))
        return false;
    for (const char *p = wanted + n; *p;) {
        size_t len = strcspn(p + 1, ".");
        uint16_t found = 0;
        for (unsigned g = 0; g < form->n_groups && !found; g++)
            if (!choice[g])
                choice[g] = found = alternative_of(&form->groups[g], p + 1, len);
        if (!found)
            return false;
        p += 1 + len;
    }
    for (unsigned g = 0; g < form->n_groups; g++)
        if (!choice[g] && !form->groups[g].optional)
            return false;
    return true;
}

size_t oracle_combine(struct oracle_combos *combos, const char *wanted, uint64_t seed)
{
    size_t n, rows = 0;
    const struct ptx_form *forms = ptx_forms(&n);

    for (size_t i = 0; i < n; i++) {
        if (!wanted || selects(wanted, &forms[i])) {
            rows++;
            if (!has_row(combos, &forms[i]) && !add_row(combos, &forms[i], seed))
                return 0;
        }
    }
    for (size_t i = 0; i < n && !rows; i++) {
        uint16_t choice[ORACLE_MAX_GROUPS] = { 0 };
        if (forms[i].n_groups <= ORACLE_MAX_GROUPS && choose(wanted, &forms[i], choice))
            return push(combos, 0, &forms[i], choice);
    }
    return rows;
}

void oracle_combos_fini(struct oracle_combos *combos)
{
    for (size_t i = 0; i < combos->list.n; i++)
        free(combos->list.at[i].name);
    aw_vec_fini(&combos->list);
}
