/* Changes PTX text so that what comes out is often still PTX: opcodes are rewritten from the instruction table, operands from the
 * registers, labels and symbols that the text has, statements are copied, moved and taken out, numbers go to where lengths,
 * shifts and layouts go wrong.  Offered as libFuzzer's custom mutator and to driver.c.
 *
 * It is no parser: it looks for statements by their `;`, and text that is no PTX at all is changed like PTX.  What it does
 * follows from the seed and from what was crossed last. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "syntax/syntax.h"
#include "tab/form.h"

#pragma weak aw_fuzz_accepts

enum { MAX_FAMILIES = 24, MAX_OPERANDS = 12, LONGEST_RUN = 2048 };

struct span {
    size_t at, n;
};

/* .reg .TYPE NAME<RANGE>; */
struct family {
    struct span name;
    enum ptx_type type;
    unsigned range;
};

struct mutator {
    char *s;
    size_t len, max;
    uint64_t rng;
    struct aw_str donor; /* where lines are copied from; the text itself when there is no other */
    struct family families[MAX_FAMILIES];
    unsigned n_families;
};

static uint64_t rnd(struct mutator *m, uint64_t below)
{
    m->rng ^= m->rng << 13;
    m->rng ^= m->rng >> 7;
    m->rng ^= m->rng << 17;
    return (m->rng * 2685821657736338717u >> 11) % below;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '%' || c == '$' || c == '.';
}

/* Puts `n` bytes in the place of `old`; false, with nothing changed, when that would be too long. */
static bool splice(struct mutator *m, struct span old, const char *bytes, size_t n)
{
    if (m->len - old.n + n > m->max || n > LONGEST_RUN)
        return false;
    char copy[LONGEST_RUN]; /* the bytes may be of the text itself */
    memcpy(copy, bytes, n);
    memmove(m->s + old.at + n, m->s + old.at + old.n, m->len - old.at - old.n);
    memcpy(m->s + old.at, copy, n);
    m->len += n - old.n;
    return true;
}

static bool splice_buf(struct mutator *m, struct span old, struct aw_buf *buf)
{
    bool done = !buf->failed && splice(m, old, buf->ptr ? buf->ptr : "", buf->len);
    aw_buf_fini(buf);
    return done;
}

/* ---- Finding things */

/* The word around a random place, or the next one. */
static struct span random_word(struct mutator *m)
{
    size_t at = rnd(m, m->len), end;
    while (at < m->len && !is_word(m->s[at]))
        at++;
    while (at > 0 && is_word(m->s[at - 1]))
        at--;
    for (end = at; end < m->len && is_word(m->s[end]); end++)
        ;
    return (struct span){ at, end - at };
}

/* A word that begins as a register ('%'), a directive ('.'), a number ('0') or a name ('a'); any word when there seems to be
 * none. */
static struct span word_of_kind(struct mutator *m, char kind)
{
    struct span w = { 0 };
    for (int tries = 0; tries < 24; tries++) {
        w = random_word(m);
        char c = w.n ? m->s[w.at] : ' ';
        bool name = isalpha((unsigned char)c) || c == '_' || c == '$';
        if (kind == '0' ? isdigit((unsigned char)c) : kind == 'a' ? name : c == kind)
            break;
    }
    return w;
}

/* The next `name:` after a random place; nothing found: n is 0. */
static struct span random_label(struct mutator *m)
{
    size_t start = rnd(m, m->len);
    for (size_t i = 0; i < m->len; i++) {
        size_t at = (start + i) % m->len, n = 0;
        if (m->s[at] != ':' || at == 0)
            continue;
        while (n < at && is_word(m->s[at - n - 1]))
            n++;
        if (n && (at + 1 >= m->len || m->s[at + 1] != ':'))
            return (struct span){ at - n, n };
    }
    return (struct span){ 0 };
}

/* Whole lines, at most `most`, from a random one on. */
static struct aw_str random_lines(struct mutator *m, struct aw_str text, uint64_t most)
{
    size_t at = rnd(m, text.len), end;
    uint64_t n = 1 + rnd(m, most);
    while (at > 0 && text.ptr[at - 1] != '\n')
        at--;
    for (end = at; end < text.len && n > 0; end++)
        n -= text.ptr[end] == '\n';
    return (struct aw_str){ text.ptr + at, end - at };
}

/* A statement with its `;`, without a label before it. */
struct statement {
    struct span all, opcode;
    struct span operands[MAX_OPERANDS];
    unsigned n_operands;
};

static void find_operands(const struct mutator *m, struct statement *st, size_t from, size_t end)
{
    int depth = 0;
    size_t begin = from;
    for (size_t i = from; i <= end && st->n_operands < MAX_OPERANDS; i++) {
        char c = m->s[i];
        depth += (c == '{' || c == '(' || c == '[') - (c == '}' || c == ')' || c == ']');
        if (i < end && (c != ',' || depth > 0))
            continue;
        while (begin < i && isspace((unsigned char)m->s[begin]))
            begin++;
        if (i > begin)
            st->operands[st->n_operands++] = (struct span){ begin, i - begin };
        begin = i + 1;
    }
}

static bool random_statement(struct mutator *m, struct statement *ret)
{
    size_t end = rnd(m, m->len), at, i;
    while (end < m->len && m->s[end] != ';')
        end++;
    if (end == m->len)
        return false;
    for (at = end; at > 0 && m->s[at - 1] != ';' && m->s[at - 1] != '\n'; at--)
        ;
    while (at < end && (isspace((unsigned char)m->s[at]) || m->s[at] == '{' || m->s[at] == '}'))
        at++;
    *ret = (struct statement){ .all = { at, end + 1 - at } };
    i = at;
    if (m->s[i] == '@')
        while (i < end && !isspace((unsigned char)m->s[i]))
            i++;
    while (i < end && isspace((unsigned char)m->s[i]))
        i++;
    ret->opcode.at = i;
    while (i < end && (is_word(m->s[i]) || m->s[i] == ':'))
        i++;
    ret->opcode.n = i - ret->opcode.at;
    find_operands(m, ret, i, end);
    return ret->opcode.n > 0;
}

static void find_families(struct mutator *m)
{
    static const char reg[] = ".reg";
    for (size_t i = 0; i + sizeof reg < m->len && m->n_families < MAX_FAMILIES; i++) {
        struct family f = { .range = 1 };
        if (m->s[i] != '.' || memcmp(m->s + i, reg, sizeof reg - 1) != 0)
            continue;
        for (i += sizeof reg - 1; i < m->len && m->s[i] != '.' && m->s[i] != ';'; i++)
            ;
        size_t type = ++i;
        while (i < m->len && is_word(m->s[i]))
            i++;
        if (i >= m->len || !ptx_type_from((struct aw_str){ m->s + type, i - type }, &f.type))
            continue;
        while (i < m->len && isspace((unsigned char)m->s[i]))
            i++;
        for (f.name.at = i; i < m->len && is_word(m->s[i]); i++)
            f.name.n++;
        if (i + 1 < m->len && m->s[i] == '<')
            for (f.range = 0, i++; i < m->len && isdigit((unsigned char)m->s[i]) && f.range < 1000; i++)
                f.range = f.range * 10 + (unsigned)(m->s[i] - '0');
        if (f.name.n && f.name.n < 64)
            m->families[m->n_families++] = f;
    }
}

/* ---- Making things */
static void add_number(struct mutator *m, struct aw_buf *out)
{
    static const uint64_t numbers[] = { 0,          1,          2,          3,          4,          7,          8,
                                        15,         16,         31,         32,         33,         63,         64,
                                        65,         127,        128,        255,        256,        1024,       65535,
                                        65536,      0x3f800000, 0x7f800000, 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 32,
                                        1ull << 62, INT64_MAX,  1ull << 63, UINT64_MAX };
    static const char *const forms[] = { "%lld", "%llu", "0x%llx", "-%lld", "%lluU", "0f%08llX", "0d%016llX", "0%llo" };
    unsigned long long number = numbers[rnd(m, sizeof numbers / sizeof *numbers)];
    const char *form = forms[rnd(m, 3) ? rnd(m, 2) : rnd(m, sizeof forms / sizeof *forms)];
    if (form[1] == 'f')
        number &= 0xffffffff;
    aw_buf_printf(out, form, number);
}

static void add_register(struct mutator *m, struct aw_buf *out, enum ptx_type type)
{
    const struct family *f = NULL;
    for (int tries = 0; tries < 16 && m->n_families; tries++) {
        f = &m->families[rnd(m, m->n_families)];
        bool fits = type == PTX_PRED ? f->type == PTX_PRED : f->type != PTX_PRED && ptx_type_bits(f->type) == ptx_type_bits(type);
        if (fits || (type == PTX_NONE && f->type != PTX_PRED))
            break;
    }
    if (!f) {
        aw_buf_printf(out, "%%r%u", (unsigned)rnd(m, 4));
        return;
    }
    aw_buf_add(out, m->s + f->name.at, f->name.n);
    if (f->range > 1)
        aw_buf_printf(out, "%u", (unsigned)(1 + rnd(m, rnd(m, 32) ? f->range - 1 : f->range)));
}

static void add_name(struct mutator *m, struct aw_buf *out, struct span name)
{
    if (name.n && name.n < 256)
        aw_buf_add(out, m->s + name.at, name.n);
    else
        aw_buf_printf(out, "_");
}

static void add_source(struct mutator *m, struct aw_buf *out, enum ptx_type type)
{
    switch (rnd(m, 16)) {
    case 0: case 1: case 2:
        add_number(m, out);
        break;
    case 3:
        aw_buf_printf(out, "%s", ptx_sreg_name((enum ptx_sreg)(1 + rnd(m, PTX_SREG_COUNT - 1))));
        break;
    case 4:
        add_name(m, out, word_of_kind(m, 'a'));
        break;
    default:
        add_register(m, out, type);
    }
}

static void add_vector(struct mutator *m, struct aw_buf *out, enum ptx_type type, unsigned n)
{
    aw_buf_printf(out, "{");
    for (unsigned i = 0; i < n; i++) {
        aw_buf_printf(out, i ? ", " : "");
        if (rnd(m, 8))
            add_register(m, out, type);
        else if (rnd(m, 2))
            aw_buf_printf(out, "_");
        else
            add_source(m, out, type);
    }
    aw_buf_printf(out, "}");
}

static void add_address(struct mutator *m, struct aw_buf *out)
{
    aw_buf_printf(out, "[");
    if (rnd(m, 3))
        add_register(m, out, rnd(m, 8) ? PTX_B64 : PTX_B32);
    else if (rnd(m, 4))
        add_name(m, out, word_of_kind(m, 'a'));
    else
        add_number(m, out);
    if (rnd(m, 3) == 0) {
        aw_buf_printf(out, "+");
        add_number(m, out);
    }
    aw_buf_printf(out, "]");
}

/* An operand that may be anything, for calls and for forms whose lowering checks. */
static void add_any(struct mutator *m, struct aw_buf *out)
{
    static const enum ptx_type types[] = { PTX_NONE, PTX_B16, PTX_B32, PTX_B64, PTX_F32, PTX_F64, PTX_PRED };
    enum ptx_type type = types[rnd(m, sizeof types / sizeof *types)];
    switch (rnd(m, 10)) {
    case 0:
        add_address(m, out);
        break;
    case 1:
        add_vector(m, out, type, 1 + (unsigned)rnd(m, 8));
        break;
    case 2:
        add_name(m, out, word_of_kind(m, 'a'));
        break;
    case 3:
        add_name(m, out, random_label(m));
        break;
    case 4:
        aw_buf_printf(out, "(");
        add_register(m, out, type);
        aw_buf_printf(out, ")");
        break;
    case 5:
        add_register(m, out, type);
        aw_buf_printf(out, "|");
        add_register(m, out, PTX_PRED);
        break;
    case 6:
        aw_buf_printf(out, rnd(m, 2) ? "!" : "-");
        add_register(m, out, type);
        break;
    default:
        add_source(m, out, type);
    }
}

static void add_shape(struct mutator *m, struct aw_buf *out, const struct ptx_shape *shape, const enum ptx_type *types,
                      unsigned vec)
{
    enum ptx_type type = shape->type_group >= 0 ? types[shape->type_group] : (enum ptx_type)shape->type;
    switch (shape->kind) {
    case PTX_SHAPE_DST:
        add_register(m, out, type);
        break;
    case PTX_SHAPE_SRC:
        add_source(m, out, type);
        break;
    case PTX_SHAPE_DSTVEC: case PTX_SHAPE_SRCVEC:
        if (vec > 1 || rnd(m, 8) == 0)
            add_vector(m, out, type, vec > 1 ? vec : 2);
        else
            add_register(m, out, type);
        break;
    case PTX_SHAPE_MEM:
        add_address(m, out);
        break;
    case PTX_SHAPE_PRED_DST: case PTX_SHAPE_PRED_SRC:
        aw_buf_printf(out, shape->kind == PTX_SHAPE_PRED_SRC && rnd(m, 3) == 0 ? "!" : "");
        add_register(m, out, PTX_PRED);
        break;
    case PTX_SHAPE_LABEL:
        add_name(m, out, random_label(m));
        break;
    default:
        add_any(m, out);
    }
    if (shape->pair && rnd(m, 2)) {
        aw_buf_printf(out, "|");
        add_register(m, out, PTX_PRED);
    }
}

static const struct ptx_form *random_form(struct mutator *m, struct aw_str mnemonic)
{
    size_t n = 0;
    const struct ptx_form *forms = mnemonic.len ? ptx_forms_of(mnemonic, &n) : NULL;
    if (!forms)
        forms = ptx_forms(&n);
    return &forms[rnd(m, n)];
}

static void add_opcode(struct mutator *m, struct aw_buf *out, const struct ptx_form *form, enum ptx_type *types,
                       unsigned *ret_vec)
{
    unsigned n = 0;
    *ret_vec = 1;
    aw_buf_printf(out, "%s", form->mnemonic);
    for (unsigned i = 0; i < form->n_groups; i++) {
        const struct ptx_group *g = &form->groups[i];
        if (g->optional && rnd(m, 4))
            continue;
        unsigned choice = g->alternatives[rnd(m, g->n)];
        if (g->kind == PTX_GROUP_TYPE) {
            types[n++] = (enum ptx_type)choice;
            aw_buf_printf(out, ".%s", ptx_type_name((enum ptx_type)choice));
        } else if (g->kind == PTX_GROUP_VEC) {
            *ret_vec = choice;
            aw_buf_printf(out, ".v%u", choice);
        } else if (g->kind == PTX_GROUP_SPACE && choice < 256) {
            aw_buf_printf(out, ".%s", ptx_space_name((enum ptx_space)choice));
        } else {
            unsigned mod = g->kind == PTX_GROUP_SPACE ? choice / 256 - 1 : choice;
            aw_buf_printf(out, ".%s", ptx_mod_name((enum ptx_mod)mod));
        }
    }
}

/* ---- Changes.  Each returns false when it found no place. */

/* A new instruction of the table, before a statement. */
static bool insert_instruction(struct mutator *m)
{
    struct statement st;
    struct aw_buf out = { 0 };
    enum ptx_type types[PTX_MAX_TYPES + 1] = { 0 };
    unsigned vec;
    if (!random_statement(m, &st))
        return false;
    const struct ptx_form *form = random_form(m, (struct aw_str){ 0 });
    if (rnd(m, 8) == 0) {
        aw_buf_printf(&out, rnd(m, 2) ? "@" : "@!");
        add_register(m, &out, PTX_PRED);
        aw_buf_printf(&out, " ");
    }
    add_opcode(m, &out, form, types, &vec);
    bool first = true;
    for (unsigned i = 0; i < form->n_shapes; i++) {
        if (form->shapes[i].optional && rnd(m, 2))
            continue;
        aw_buf_printf(&out, first ? " " : ", ");
        first = false;
        add_shape(m, &out, &form->shapes[i], types, vec);
    }
    aw_buf_printf(&out, ";\n");
    return splice_buf(m, (struct span){ st.all.at, 0 }, &out);
}

/* Another opcode of the same mnemonic, with the operands there are. */
static bool change_opcode(struct mutator *m)
{
    struct statement st;
    struct aw_buf out = { 0 };
    enum ptx_type types[PTX_MAX_TYPES + 1] = { 0 };
    unsigned vec;
    if (!random_statement(m, &st))
        return false;
    const char *dot = memchr(m->s + st.opcode.at, '.', st.opcode.n);
    size_t n = dot ? (size_t)(dot - (m->s + st.opcode.at)) : st.opcode.n;
    add_opcode(m, &out, random_form(m, (struct aw_str){ m->s + st.opcode.at, rnd(m, 8) ? n : 0 }), types, &vec);
    return splice_buf(m, st.opcode, &out);
}

/* One modifier more, less or another. */
static bool change_modifier(struct mutator *m)
{
    struct statement st;
    struct span parts[16];
    unsigned n = 0;
    if (!random_statement(m, &st))
        return false;
    for (size_t i = st.opcode.at, end = i + st.opcode.n; i < end && n < 16; i++) {
        if (m->s[i] == '.')
            parts[n++] = (struct span){ i, 0 };
        if (n)
            parts[n - 1].n++;
    }
    struct span part = n ? parts[rnd(m, n)] : (struct span){ st.opcode.at + st.opcode.n, 0 };
    struct aw_buf out = { 0 };
    uint64_t what = rnd(m, 4);
    if (what != 0) /* 0: taken out */
        aw_buf_printf(&out, ".%s", rnd(m, 2) ? ptx_type_name((enum ptx_type)(1 + rnd(m, PTX_TYPE_COUNT - 1)))
                                             : ptx_mod_name((enum ptx_mod)rnd(m, PTX_MOD_COUNT)));
    if (what == 1)
        part.n = 0;
    return splice_buf(m, part, &out);
}

static bool change_operand(struct mutator *m)
{
    struct statement st, other;
    struct aw_buf out = { 0 };
    if (!random_statement(m, &st) || !st.n_operands)
        return false;
    struct span place = st.operands[rnd(m, st.n_operands)];
    if (rnd(m, 2) && random_statement(m, &other) && other.n_operands) {
        struct span from = other.operands[rnd(m, other.n_operands)];
        return splice(m, place, m->s + from.at, from.n);
    }
    switch (rnd(m, 6)) {
    case 0: /* one more */
        place.n = 0;
        add_any(m, &out);
        aw_buf_printf(&out, ", ");
        break;
    case 1: /* component, offset or element of it */
        place = (struct span){ place.at + place.n, 0 };
        aw_buf_printf(&out, rnd(m, 2) ? ".%c" : "[%c]", rnd(m, 2) ? 'x' : '1');
        break;
    default:
        add_any(m, &out);
    }
    return splice_buf(m, place, &out);
}

static bool change_number(struct mutator *m)
{
    struct span w = word_of_kind(m, '0');
    struct aw_buf out = { 0 };
    add_number(m, &out);
    return splice_buf(m, w, &out);
}

/* A directive for another one of its kind. */
static bool change_directive(struct mutator *m)
{
    static const char *const kinds[][8] = {
        { ".visible", ".extern", ".weak", ".common" },
        { ".global", ".const", ".shared", ".local", ".param", ".reg", ".tex" },
        { ".entry", ".func" },
        { ".maxntid", ".reqntid", ".minnctapersm", ".maxnreg", ".maxnctapersm", ".reqnctapercluster", ".maxclusterrank",
          ".noreturn" },
        { ".v2", ".v4", ".v8" },
        { ".branchtargets", ".calltargets", ".callprototype" },
        { ".attribute(.managed)", ".align 16", ".align 1", ".ptr .global", ".unified", ".explicitcluster" },
    };
    const unsigned n_kinds = sizeof kinds / sizeof *kinds;
    struct span w = word_of_kind(m, '.');
    struct aw_str word = { m->s + w.at, w.n };
    unsigned kind = (unsigned)rnd(m, n_kinds), n = 0;
    enum ptx_type type;
    if (w.n > 1 && ptx_type_from((struct aw_str){ word.ptr + 1, word.len - 1 }, &type)) {
        const char *name = ptx_type_name((enum ptx_type)(1 + rnd(m, PTX_TYPE_COUNT - 1)));
        return splice(m, (struct span){ w.at + 1, w.n - 1 }, name, strlen(name));
    }
    for (unsigned k = 0; k < n_kinds; k++)
        for (unsigned i = 0; i < 8 && kinds[k][i]; i++)
            if (aw_str_is(word, kinds[k][i]))
                kind = k;
    while (n < 8 && kinds[kind][n])
        n++;
    const char *text = kinds[kind][rnd(m, n)];
    if (rnd(m, 8) == 0) { /* one more */
        w.n = 0;
        return splice(m, w, " ", 1) && splice(m, w, text, strlen(text));
    }
    return splice(m, w, text, strlen(text));
}

/* A label and a branch to it (or to another one), somewhere each: loops, and ways into the middle of them. */
static bool insert_branch(struct mutator *m)
{
    struct statement at, from;
    struct aw_buf out = { 0 };
    unsigned number = (unsigned)rnd(m, 64);
    if (!random_statement(m, &from))
        return false;
    struct span old = random_label(m);
    bool fresh = !old.n || rnd(m, 2);
    if (rnd(m, 4)) {
        aw_buf_printf(&out, rnd(m, 2) ? "@" : "@!");
        add_register(m, &out, PTX_PRED);
    }
    aw_buf_printf(&out, " bra ");
    if (fresh)
        aw_buf_printf(&out, "$X%u", number);
    else
        add_name(m, &out, old);
    aw_buf_printf(&out, ";\n");
    if (!splice_buf(m, (struct span){ from.all.at, 0 }, &out) || !fresh || !random_statement(m, &at))
        return false;
    aw_buf_printf(&out, "$X%u:\n", number);
    return splice_buf(m, (struct span){ at.all.at, 0 }, &out);
}

static bool copy_lines(struct mutator *m)
{
    struct aw_str own = { m->s, m->len }, from = random_lines(m, rnd(m, 4) ? m->donor : own, rnd(m, 8) ? 3 : 12);
    struct aw_str to = random_lines(m, own, 1);
    struct span place = { (size_t)(to.ptr - m->s), rnd(m, 3) ? 0 : to.len };
    return from.len <= LONGEST_RUN && splice(m, place, from.ptr, from.len);
}

static bool remove_lines(struct mutator *m)
{
    struct aw_str lines = random_lines(m, (struct aw_str){ m->s, m->len }, rnd(m, 4) ? 1 : 12);
    return splice(m, (struct span){ (size_t)(lines.ptr - m->s), lines.len }, "", 0);
}

/* Two statements, or a block of { } around some. */
static bool move_statements(struct mutator *m)
{
    struct statement a, b;
    if (!random_statement(m, &a) || !random_statement(m, &b))
        return false;
    if (rnd(m, 4) == 0) {
        size_t first = a.all.at < b.all.at ? a.all.at : b.all.at, last = a.all.at < b.all.at ? b.all.at : a.all.at;
        return splice(m, (struct span){ last, 0 }, "}\n", 2) && splice(m, (struct span){ first, 0 }, "{\n", 2);
    }
    return splice(m, (struct span){ a.all.at, rnd(m, 2) ? a.all.n : 0 }, m->s + b.all.at, b.all.n);
}

static bool change_name(struct mutator *m)
{
    char kind = rnd(m, 2) ? 'a' : '%';
    struct span to = word_of_kind(m, kind), from = word_of_kind(m, kind);
    return splice(m, to, m->s + from.at, from.n);
}

static bool change(struct mutator *m)
{
    static bool (*const changes[])(struct mutator *) = {
        insert_instruction, insert_instruction, insert_instruction, change_opcode, change_opcode, change_modifier, change_operand,
        change_operand,     change_number,      change_number,      change_directive, insert_branch, copy_lines,   copy_lines,
        remove_lines,       move_statements,    change_name,
    };
    m->n_families = 0; /* places have moved */
    find_families(m);
    return changes[rnd(m, sizeof changes / sizeof *changes)](m);
}

/* Some changes; where the target says what it accepts, most that it does not are taken back. */
static size_t mutate(struct mutator *m)
{
    struct aw_str lent = m->donor;
    uint64_t n = 1 + rnd(m, 4);
    bool choosy = aw_fuzz_accepts && rnd(m, 16) != 0;
    size_t old_len = 0;
    char *old = choosy ? malloc(m->max) : NULL;
    for (int tries = 0; n > 0 && tries < 16 && m->len > 0; tries++) {
        if (old)
            memcpy(old, m->s, old_len = m->len);
        m->donor = lent.len ? lent : (struct aw_str){ m->s, m->len };
        bool done = change(m);
        if (old && done && !aw_fuzz_accepts((const uint8_t *)m->s, m->len)) {
            memcpy(m->s, old, m->len = old_len);
            done = false;
        }
        n -= done;
    }
    free(old);
    return m->len;
}

bool aw_fuzz_deep(uint64_t digest)
{
    static uint64_t rate;
    if (!rate) {
        const char *said = getenv("AW_FUZZ_RATE");
        rate = said ? strtoull(said, NULL, 10) : 1;
        rate += !rate;
    }
    return (digest >> 32) % rate == 0;
}

/* ---- libFuzzer's hooks */
static struct aw_str donor; /* what was crossed last lends its lines */

static struct mutator mutator_of(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    struct mutator m = { .s = (char *)data, .len = size, .max = max, .rng = (uint64_t)seed * 2 + 1, .donor = donor };
    for (int i = 0; i < 4; i++) /* nearby seeds differ little in their first numbers */
        rnd(&m, 2);
    return m;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    if (size == 0 || seed % (aw_fuzz_accepts ? 256 : 8) == 0)
        return LLVMFuzzerMutate(data, size, max);
    struct mutator m = mutator_of(data, size, max, seed);
    return mutate(&m);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len, uint8_t *out, size_t max,
                                 unsigned seed)
{
    static char kept[1 << 16];
    size_t n = a_len < max ? a_len : max;
    memcpy(out, a, n);
    if (b_len && b_len <= sizeof kept) {
        memcpy(kept, b, b_len);
        donor = (struct aw_str){ kept, b_len };
    }
    struct mutator m = mutator_of(out, n, max, seed);
    for (uint64_t k = 1 + rnd(&m, 4); donor.len && k > 0 && m.len > 0; k--) {
        if (copy_lines(&m) && aw_fuzz_accepts && rnd(&m, 16) && !aw_fuzz_accepts(out, m.len)) {
            memcpy(out, a, n); /* what went before is lost as well: there is always another turn */
            m.len = n;
        }
    }
    return m.len;
}
