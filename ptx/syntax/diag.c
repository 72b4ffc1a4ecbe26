/* Messages of the front, and the spellings that all its parts use. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "syntax/syntax.h"

#include <stdio.h>

void ptx_diags_fini(struct ptx_diags *diags)
{
    aw_buf_fini(&diags->text);
    *diags = (struct ptx_diags){ 0 };
}

static void add_message(struct ptx_diags *diags, struct aw_str file, struct ptx_loc loc, const char *severity, const char *fmt,
                        va_list ap)
{
    if (!file.len)
        file = AW_STR("<ptx>");
    if (loc.line)
        aw_buf_printf(&diags->text, "%.*s:%u:%u: %s: ", AW_STR_ARG(file), loc.line, loc.column, severity);
    else
        aw_buf_printf(&diags->text, "%.*s: %s: ", AW_STR_ARG(file), severity);
    char text[1024]; /* names in broken input can be as long as the input */
    vsnprintf(text, sizeof text, fmt, ap);
    aw_buf_str(&diags->text, aw_str_from(text));
    aw_buf_add(&diags->text, "\n", 1);
}

static uint32_t limit_of(const struct ptx_diags *diags)
{
    return diags->limit ? diags->limit : PTX_MAX_ERRORS;
}

void ptx_error(struct ptx_diags *diags, struct aw_str file, struct ptx_loc loc, const char *fmt, ...)
{
    va_list ap;

    if (diags->n_errors++ >= limit_of(diags)) {
        if (diags->n_errors == limit_of(diags) + 1)
            aw_buf_printf(&diags->text, "%.*s: error: too many errors; the rest is not shown\n", AW_STR_ARG(file));
        return;
    }
    va_start(ap, fmt);
    add_message(diags, file, loc, "error", fmt, ap);
    va_end(ap);
}

void ptx_warning(struct ptx_diags *diags, struct aw_str file, struct ptx_loc loc, const char *fmt, ...)
{
    va_list ap;

    if (diags->n_warnings++ >= limit_of(diags))
        return;
    va_start(ap, fmt);
    add_message(diags, file, loc, "warning", fmt, ap);
    va_end(ap);
}

const char *ptx_space_name(enum ptx_space space)
{
    static const char *const names[] = { "", "reg", "const", "global", "local", "param", "shared", "tex" };

    return (unsigned)space < sizeof names / sizeof names[0] ? names[space] : "";
}

static const struct {
    const char *name;
    uint8_t len;
    uint8_t type;
} sreg_table[PTX_SREG_COUNT] = {
#define PTX_SREG(id, spelling, type) [PTX_SREG_##id] = { spelling, sizeof(spelling) - 1, PTX_##type },
#include "tab/sreg.def"
#undef PTX_SREG
};

const char *ptx_sreg_name(enum ptx_sreg sreg)
{
    return (unsigned)sreg < PTX_SREG_COUNT && sreg_table[sreg].name ? sreg_table[sreg].name : "";
}

enum ptx_type ptx_sreg_type(enum ptx_sreg sreg)
{
    return (unsigned)sreg < PTX_SREG_COUNT ? (enum ptx_type)sreg_table[sreg].type : PTX_NONE;
}

enum ptx_sreg ptx_sreg_from(struct aw_str name)
{
    for (unsigned i = 1; i < PTX_SREG_COUNT; i++)
        if (sreg_table[i].len == name.len && memcmp(sreg_table[i].name, name.ptr, name.len) == 0)
            return (enum ptx_sreg)i;
    return PTX_SREG_NONE;
}

const char *ptx_instr_name(const struct ptx_instr *in, char *buf, size_t size)
{
    size_t at = (size_t)snprintf(buf, size, "%.*s", AW_STR_ARG(in->mnemonic));

    for (uint32_t i = 0; i < in->n_mods && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%.*s", AW_STR_ARG(in->mods[i]));
    return buf;
}
