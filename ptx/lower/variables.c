/* .debug_info of nvcc -G, as far as it says where variables are: see variables.h.
 *
 * The section is written as lines of numbers, with names of labels where addresses go.  What is not as expected ends the reading:
 * then there are fewer variables, or none. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/variables.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_PARAMETER = 0x05, TAG_POINTER = 0x0f, TAG_TYPEDEF = 0x16, TAG_BASE = 0x24, TAG_CONST = 0x26, TAG_FUNCTION = 0x2e,
       TAG_VARIABLE = 0x34, TAG_VOLATILE = 0x35 };
enum { AT_LOCATION = 0x02, AT_NAME = 0x03, AT_SIZE = 0x0b, AT_ENCODING = 0x3e, AT_TYPE = 0x49, AT_MANGLED = 0x2007 };
enum { OP_ADDRESS = 0x03, OP_REGISTER = 0x90 };
enum { CODES = 256, DEPTH = 16, HEADER = 11 };

/* ---- The sections' bytes. */

struct label {
    size_t at;
    struct aw_str name;
};

struct bytes {
    AW_VEC(unsigned char) data;
    AW_VEC(struct label) labels; /* names that stand for a number at `at` */
    bool failed;
};

static void number_add(struct bytes *b, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        b->failed |= !aw_vec_push(&b->data, (unsigned char)(value >> 8 * i));
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '.' ||
           c == '%' || c == '+';
}

/* One line: ".b8 2, 47" or ".b64 $L__func_begin0". */
static void line_read(struct bytes *b, const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (end - p < 4 || p[0] != '.' || p[1] != 'b')
        return;
    unsigned size = (unsigned)strtoul(p + 2, NULL, 10) / 8;
    for (p += 2; p < end && *p >= '0' && *p <= '9';)
        p++;
    while (p < end && size && size <= 8) {
        const char *begin = p;
        while (p < end && !is_name(*p) && *p != '-' && *p != '/')
            p++;
        if (p == end || *p == '/')
            return;
        for (begin = p++; p < end && is_name(*p);)
            p++;
        if (*begin == '-' || (*begin >= '0' && *begin <= '9')) {
            number_add(b, (uint64_t)strtoll(begin, NULL, 0), size);
        } else {
            struct label label = { b->data.n, { begin, (size_t)(p - begin) } };
            b->failed |= !aw_vec_push(&b->labels, label);
            number_add(b, 0, size);
        }
    }
}

/* All parts of the section, and two zeros, so that whoever reads a text meets its end. */
static bool section_read(const struct ptx_module *text, const char *name, struct bytes *ret)
{
    for (const struct ptx_section *s = text->sections; s; s = s->next) {
        const char *p = s->text.ptr, *end = p + s->text.len;
        for (const char *line = p; aw_str_is(s->name, name) && line < end; line = p + 1) {
            p = memchr(line, '\n', (size_t)(end - line));
            p = p ? p : end;
            line_read(ret, line, p);
        }
    }
    bool any = ret->data.n > 0;
    number_add(ret, 0, 2);
    return any && !ret->failed;
}

static void bytes_fini(struct bytes *b)
{
    aw_vec_fini(&b->data);
    aw_vec_fini(&b->labels);
}

/* ---- Entries. */

struct variable_reader {
    struct aw_arena *arena;
    struct bytes info, abbreviations, locations;
    size_t codes[CODES];   /* where a code's tag is; 0: there is no such code */
    size_t at, unit;       /* in info */
    bool failed;
};

static uint64_t fixed(struct variable_reader *r, unsigned size)
{
    uint64_t value = 0;
    if (r->at + size > r->info.data.n) {
        r->failed = true;
        return 0;
    }
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)r->info.data.at[r->at + i] << 8 * i;
    r->at += size;
    return value;
}

static uint64_t uleb(const struct bytes *b, size_t *io_at, bool *failed)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (*io_at >= b->data.n) {
            *failed = true;
            return 0;
        }
        unsigned char byte = b->data.at[(*io_at)++];
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    return value;
}

static void codes_read(struct variable_reader *r)
{
    const struct bytes *b = &r->abbreviations;
    size_t at = 0;
    for (uint64_t code; !r->failed && (code = uleb(b, &at, &r->failed)) != 0;) {
        if (code < CODES)
            r->codes[code] = at + 1;
        uleb(b, &at, &r->failed);
        at++;
        for (uint64_t attribute = 1, form = 1; (attribute || form) && !r->failed;) {
            attribute = uleb(b, &at, &r->failed);
            form = uleb(b, &at, &r->failed);
        }
    }
}

struct entry {
    unsigned tag;       /* 0: an end of children */
    bool has_children;
    struct aw_str name, mangled, location; /* the last NULL: it is a list of them */
    size_t location_at; /* in info */
    uint64_t size, encoding, type; /* of the unit; 0: none */
};

static struct aw_str block(struct variable_reader *r, uint64_t size)
{
    struct aw_str s = { NULL, 0 };
    if (r->at > r->info.data.n || size > r->info.data.n - r->at)
        r->failed = true;
    else
        s = (struct aw_str){ (const char *)r->info.data.at + r->at, size };
    r->at += s.len;
    return s;
}

/* Of a form: a number, or bytes. */
static uint64_t form_read(struct variable_reader *r, uint64_t form, struct aw_str *ret)
{
    switch (form) {
    case 0x01: case 0x07: return fixed(r, 8);                 /* addr, data8 */
    case 0x05: return fixed(r, 2);
    case 0x06: case 0x13: case 0x0e: case 0x17: return fixed(r, 4); /* data4, ref4, strp, sec_offset */
    case 0x0b: case 0x0c: return fixed(r, 1);                 /* data1, flag */
    case 0x0d: case 0x0f: return uleb(&r->info, &r->at, &r->failed);
    case 0x03: *ret = block(r, fixed(r, 2)); return 0;
    case 0x04: *ret = block(r, fixed(r, 4)); return 0;
    case 0x0a: *ret = block(r, fixed(r, 1)); return 0;
    case 0x08: {
        const void *end = r->at < r->info.data.n ? memchr(r->info.data.at + r->at, 0, r->info.data.n - r->at) : NULL;
        *ret = block(r, end ? (uint64_t)((const unsigned char *)end - r->info.data.at - r->at) : UINT64_MAX);
        r->at++;
        return 0;
    }
    default: r->failed = true; return 0;
    }
}

static struct entry entry_read(struct variable_reader *r)
{
    struct entry e = { 0 };
    const struct bytes *b = &r->abbreviations;
    uint64_t code = uleb(&r->info, &r->at, &r->failed);
    if (!code || r->failed)
        return e;
    if (code >= CODES || !r->codes[code]) {
        r->failed = true;
        return e;
    }
    size_t at = r->codes[code] - 1;
    e.tag = (unsigned)uleb(b, &at, &r->failed);
    e.has_children = b->data.at[at++];
    for (;;) {
        uint64_t attribute = uleb(b, &at, &r->failed), form = uleb(b, &at, &r->failed);
        if ((!attribute && !form) || r->failed)
            return e;
        struct aw_str s = { NULL, 0 };
        uint64_t value = form_read(r, form, &s);
        switch (attribute) {
        case AT_NAME: e.name = s; break;
        case AT_MANGLED: e.mangled = s; break;
        case AT_LOCATION:
            e.location = s;
            e.location_at = r->at - s.len;
            break;
        case AT_SIZE: e.size = value; break;
        case AT_ENCODING: e.encoding = value; break;
        case AT_TYPE: e.type = value; break;
        default: break;
        }
    }
}

/* ---- Variables. */

/* Of the type at an offset of the unit; false: it is no number and no address. */
static bool type_read(struct variable_reader *r, uint64_t type, struct ptx_variable *v)
{
    size_t back = r->at;
    bool found = false;
    for (int depth = 0; depth < DEPTH && type && !found && !r->failed; depth++) {
        r->at = r->unit + type;
        struct entry e = entry_read(r);
        type = e.tag == TAG_TYPEDEF || e.tag == TAG_CONST || e.tag == TAG_VOLATILE ? e.type : 0;
        found = e.tag == TAG_POINTER || (e.tag == TAG_BASE && e.size && e.size <= 8);
        v->bytes = e.tag == TAG_POINTER ? 8 : (uint32_t)e.size;
        v->encoding = e.tag == TAG_POINTER ? 0 : (uint32_t)e.encoding;
    }
    r->at = back;
    return found;
}

/* What stands for a number there; empty: nothing. */
static struct aw_str label_at(const struct bytes *b, size_t at)
{
    for (size_t i = 0; i < b->labels.n; i++)
        if (b->labels.at[i].at == at)
            return b->labels.at[i].name;
    return (struct aw_str){ NULL, 0 };
}

/* A register's name is written as a number, its first letter in the highest byte that is not 0. */
static bool place_read(struct variable_reader *r, const struct bytes *b, size_t at, size_t len, struct ptx_variable *v)
{
    unsigned op = len ? b->data.at[at++] : 0;
    if (op == OP_REGISTER) {
        uint64_t value = uleb(b, &at, &r->failed);
        char name[9];
        size_t n = 0;
        for (int i = 7; i >= 0; i--)
            if (value >> 8 * i & 255)
                name[n++] = (char)(value >> 8 * i & 255);
        v->place = aw_arena_str(r->arena, (struct aw_str){ name, n });
        return v->place.ptr && n;
    }
    v->place = op == OP_ADDRESS && len == 9 ? aw_arena_str(r->arena, label_at(b, at)) : (struct aw_str){ NULL, 0 };
    v->is_parameter = true;
    return v->place.len;
}

static struct ptx_variable *variable_new(struct variable_reader *r, const struct ptx_variable *like,
                                         struct ptx_variable ***io_end)
{
    struct ptx_variable *v = AW_NEW(r->arena, struct ptx_variable);
    if (!v)
        return NULL;
    *v = *like;
    **io_end = v;
    *io_end = &v->next;
    return v;
}

/* A list: between which labels, how many bytes, and these; two zeros end it. */
static void list_read(struct variable_reader *r, size_t at, struct ptx_variable *v, struct ptx_variable ***io_end)
{
    const struct bytes *b = &r->locations;
    for (size_t len; at + 18 <= b->data.n; at += 18 + len) {
        len = b->data.at[at + 16] | (size_t)b->data.at[at + 17] << 8;
        v->from = label_at(b, at);
        v->to = label_at(b, at + 8);
        if (!v->from.len || !v->to.len || len > b->data.n - at - 18)
            return;
        if (!place_read(r, b, at + 18, len, v) || v->is_parameter)
            continue;
        v->from = aw_arena_str(r->arena, v->from);
        v->to = aw_arena_str(r->arena, v->to);
        if (variable_new(r, v, io_end))
            v->same = true;
    }
}

static void variable_add(struct variable_reader *r, const struct entry *e, struct ptx_variable ***io_end)
{
    struct ptx_variable v = { .name = aw_arena_str(r->arena, e->name) };
    struct aw_str list = e->location.ptr ? (struct aw_str){ NULL, 0 } : label_at(&r->info, e->location_at - 4);
    if (!v.name.len || !e->location_at || !type_read(r, e->type, &v))
        return;
    if (aw_str_starts(list, ".debug_loc"))
        list_read(r, list.len > 11 ? (size_t)strtoull(list.ptr + 11, NULL, 10) : 0, &v, io_end);
    else if (place_read(r, &r->info, e->location_at, e->location.len, &v))
        variable_new(r, &v, io_end);
}

/* Goes through a unit's entries; those within the function are its. */
static void unit_read(struct variable_reader *r, size_t end, struct aw_str function, struct ptx_variable ***io_end)
{
    int depth = 0, inside = -1;
    while (r->at < end && !r->failed) {
        struct entry e = entry_read(r);
        if (!e.tag) {
            depth--;
            inside = depth <= inside ? -1 : inside;
            continue;
        }
        if (e.tag == TAG_FUNCTION && e.has_children && aw_str_eq(e.mangled.len ? e.mangled : e.name, function))
            inside = depth;
        else if (inside >= 0 && (e.tag == TAG_VARIABLE || e.tag == TAG_PARAMETER))
            variable_add(r, &e, io_end);
        depth += e.has_children;
    }
}

struct ptx_variable *ptx_variables_read(struct aw_arena *arena, const struct ptx_module *text, struct aw_str function)
{
    struct variable_reader r = { .arena = arena };
    struct ptx_variable *first = NULL, **end = &first;
    if (section_read(text, ".debug_info", &r.info) && section_read(text, ".debug_abbrev", &r.abbreviations)) {
        section_read(text, ".debug_loc", &r.locations);
        codes_read(&r);
        while (r.at + HEADER < r.info.data.n && !r.failed) {
            r.unit = r.at;
            size_t size = (size_t)fixed(&r, 4), unit_end = r.at + size < r.info.data.n ? r.at + size : r.info.data.n - 2;
            r.at = r.unit + HEADER;
            unit_read(&r, unit_end, function, &end);
            r.at = unit_end;
        }
    }
    bytes_fini(&r.info);
    bytes_fini(&r.abbreviations);
    bytes_fini(&r.locations);
    return first;
}
