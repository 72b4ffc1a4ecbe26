/* Shared by the unit tests of the compiler's front. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TESTS_FRONT_TEST_H
#define AW_TESTS_FRONT_TEST_H

#include <criterion/criterion.h>

#include "module/module.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

/* Parses text that must be sound. */
static inline struct ptx_module *parse_ok(const char *text)
{
    struct ptx_diags diags = { 0 };
    struct ptx_module *m;
    enum aw_status status = ptx_parse(text, strlen(text), "t", &diags, &m);

    cr_assert_eq(status, AW_OK, "%s", diags.text.ptr ? diags.text.ptr : "no message");
    ptx_diags_fini(&diags);
    return m;
}

/* Opens n texts as one module; *ret_diags is the caller's to fini. */
static inline enum aw_status open_texts(const char *const texts[], size_t n, struct ptx_diags *ret_diags, struct ptx_module **ret)
{
    struct aw_text t[8];

    *ret_diags = (struct ptx_diags){ 0 };
    for (size_t i = 0; i < n; i++)
        t[i] = (struct aw_text){ texts[i], strlen(texts[i]), i == 0 ? "a" : i == 1 ? "b" : "c" };
    return ptx_open(t, n, ret_diags, ret);
}

static inline struct ptx_module *open_ok(const char *text)
{
    struct ptx_diags diags;
    struct ptx_module *m;
    enum aw_status status = open_texts(&text, 1, &diags, &m);

    cr_assert_eq(status, AW_OK, "%s", diags.text.ptr ? diags.text.ptr : "no message");
    ptx_diags_fini(&diags);
    return m;
}

#endif
