/* The line number program of an ELF file's .debug_line, run until it reaches an address, or to its end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/linetable.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

struct cursor {
    const unsigned char *at, *end;
    bool bad; /* read past the end: what was read is 0 */
};

static uint64_t fixed(struct cursor *c, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t)(c->end - c->at) < bytes) {
        c->bad = true;
        c->at = c->end;
        return 0;
    }
    memcpy(&value, c->at, bytes); /* little endian, as every machine of ours */
    c->at += bytes;
    return value;
}

static uint64_t uleb(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; !c->bad; shift += 7) {
        uint64_t byte = fixed(c, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

static int64_t sleb(struct cursor *c)
{
    uint64_t value = 0, byte = 0;
    unsigned shift = 0;
    do {
        byte = fixed(c, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) && !c->bad);
    if (shift < 64 && (byte & 0x40))
        value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

/* A string of the table; NULL when it does not end in it. */
static const char *string(struct cursor *c)
{
    const unsigned char *nul = memchr(c->at, 0, (size_t)(c->end - c->at));
    const char *text = (const char *)c->at;
    if (!nul) {
        c->bad = true;
        return NULL;
    }
    c->at = nul + 1;
    return text;
}

static bool skip(struct cursor *c, uint64_t bytes)
{
    if (bytes > (uint64_t)(c->end - c->at))
        return false;
    c->at += bytes;
    return true;
}

/* ---- One unit. */

struct unit {
    struct cursor directories, files, program;
    uint64_t min_length;
    int line_base;
    unsigned line_range, opcode_base;
    const unsigned char *lengths; /* of standard opcodes 1 .. opcode_base - 1 */
};

struct row {
    uint64_t address, file;
    int64_t line;
    uint64_t column;
    bool valid;
};

/* Takes the next unit off the section; false at a broken end. */
static bool unit_next(struct cursor *c, struct cursor *ret_unit, unsigned *ret_offset_size)
{
    uint64_t length = fixed(c, 4);
    *ret_offset_size = 4;
    if (length == 0xffffffff) {
        length = fixed(c, 8);
        *ret_offset_size = 8;
    }
    *ret_unit = (struct cursor){ c->at, c->at, false };
    if (c->bad || !skip(c, length))
        return false;
    ret_unit->end = c->at;
    return true;
}

/* Reads the head; false for a unit of another version, or a broken one. */
static bool unit_open(struct cursor all, unsigned offset_size, struct unit *u)
{
    uint64_t version = fixed(&all, 2), header = fixed(&all, offset_size);
    u->program = all;
    if (version < 2 || version > 4 || !skip(&u->program, header))
        return false;
    all.end = u->program.at;
    u->min_length = fixed(&all, 1);
    if (version == 4)
        (void)fixed(&all, 1); /* operations per instruction: of VLIW machines */
    (void)fixed(&all, 1);     /* whether rows are statements */
    u->line_base = (int8_t)fixed(&all, 1);
    u->line_range = (unsigned)fixed(&all, 1);
    u->opcode_base = (unsigned)fixed(&all, 1);
    u->lengths = all.at - 1;
    if (!u->line_range || !u->opcode_base || !skip(&all, u->opcode_base - 1))
        return false;
    u->directories = all;
    for (const char *d = string(&all); d && *d; d = string(&all))
        ;
    u->files = all;
    return !all.bad;
}

/* ---- The program. */

struct walk {
    bool (*told)(void *user, const struct aw_line_row *row);
    void *user;
    const unsigned char *begin; /* of the section */
};

struct machine {
    const struct unit *unit;
    struct row now, last; /* last: the row before, in the same sequence */
    uint64_t target;
    const struct walk *walk; /* instead of the target: who hears of each row */
    size_t sequence;         /* as in struct aw_line_row */
    struct row found;     /* line 0: not found, or code that belongs to no line */
};

static void row_reset(struct row *r)
{
    *r = (struct row){ .file = 1, .line = 1 };
}

/* A row says where the code from its address to the next row's comes from.  Code of no line is said to be where the code
 * before it is. */
static bool row_add(struct machine *m, bool end)
{
    bool reaches = m->last.valid && m->last.address < m->now.address;
    bool hit = reaches && !m->walk && m->target >= m->last.address && m->target < m->now.address;
    if (reaches && m->walk && m->found.line > 0 && m->found.line <= UINT32_MAX) {
        struct aw_line_row row = { m->sequence, m->last.address, m->now.address, m->found.file,
                                   (size_t)(m->unit->files.at - m->walk->begin), (uint32_t)m->found.line, m->unit };
        hit = !m->walk->told(m->walk->user, &row);
    }
    if (hit)
        return true;
    if (m->now.line > 0 && m->now.file)
        m->found = m->now;
    m->last = m->now;
    m->last.valid = !end;
    return false;
}

static bool extended(struct machine *m, struct cursor *c)
{
    uint64_t length = uleb(c);
    struct cursor body = { c->at, c->at, false };
    if (!length || !skip(c, length)) {
        c->bad = true;
        return false;
    }
    body.end = c->at;
    bool hit = false;
    switch (fixed(&body, 1)) {
    case 1: /* end of the sequence */
        hit = row_add(m, true);
        if (!hit) {
            row_reset(&m->now);
            m->last.valid = false;
            m->found = (struct row){ 0 };
        }
        break;
    case 2:
        m->sequence = m->walk ? (size_t)(body.at - m->walk->begin) : 0;
        m->now.address = fixed(&body, body.end - body.at == 4 ? 4 : 8);
        break;
    default: /* a file made on the way, a discriminator, and what is newer */
        break;
    }
    return hit;
}

static bool standard(struct machine *m, struct cursor *c, unsigned opcode)
{
    const struct unit *u = m->unit;
    switch (opcode) {
    case 1: return row_add(m, false);
    case 2: m->now.address += uleb(c) * u->min_length; break;
    case 3: m->now.line += sleb(c); break;
    case 4: m->now.file = uleb(c); break;
    case 5: m->now.column = uleb(c); break;
    case 8: m->now.address += (255 - u->opcode_base) / u->line_range * u->min_length; break;
    case 9: m->now.address += fixed(c, 2); break;
    default:
        for (unsigned i = 0; i < u->lengths[opcode]; i++)
            (void)uleb(c);
    }
    return false;
}

static bool unit_run(const struct unit *u, uint64_t target, const struct walk *walk, struct row *ret_row)
{
    struct machine m = { .unit = u, .target = target, .walk = walk };
    struct cursor c = u->program;
    row_reset(&m.now);
    bool hit = false;
    while (!hit && c.at < c.end && !c.bad) {
        unsigned opcode = (unsigned)fixed(&c, 1);
        if (opcode >= u->opcode_base) {
            unsigned n = opcode - u->opcode_base;
            m.now.address += n / u->line_range * u->min_length;
            m.now.line += u->line_base + (int)(n % u->line_range);
            hit = row_add(&m, false);
        } else {
            hit = opcode ? standard(&m, &c, opcode) : extended(&m, &c);
        }
    }
    *ret_row = m.found;
    return hit && m.found.line > 0 && m.found.line <= UINT32_MAX;
}

/* ---- Names. */

static const char *directory_at(const struct unit *u, uint64_t index)
{
    struct cursor c = u->directories;
    const char *d = index ? string(&c) : NULL;
    while (d && *d && --index)
        d = string(&c);
    return d && *d ? d : NULL;
}

static bool file_name(const struct unit *u, uint64_t file, char ret[AW_PLACE_FILE])
{
    struct cursor c = u->files;
    const char *name = string(&c);
    uint64_t directory = uleb(&c);
    for (uint64_t i = 1; i < file && name && *name; i++) {
        (void)uleb(&c); /* time and size */
        (void)uleb(&c);
        name = string(&c);
        directory = uleb(&c);
    }
    if (!name || !*name || c.bad)
        return false;
    const char *path = *name == '/' ? NULL : directory_at(u, directory);
    size_t all = strlen(name) + (path ? strlen(path) + 1 : 0), room = AW_PLACE_FILE - 1, cut = all > room ? all - room : 0;
    if (path && cut < strlen(path))
        snprintf(ret, AW_PLACE_FILE, "%s/%s", path + cut, name);
    else
        snprintf(ret, AW_PLACE_FILE, "%s", name + (strlen(name) > room ? strlen(name) - room : 0));
    return true;
}

static bool place_make(const struct unit *u, const struct row *row, struct aw_place *ret)
{
    ret->line = (uint32_t)row->line;
    ret->column = row->column <= UINT32_MAX ? (uint32_t)row->column : 0;
    return file_name(u, row->file, ret->file);
}

void aw_place_text(const struct aw_place *place, char *ret_text, size_t size)
{
    bool code = strncmp(place->file, AW_LINES_OF_CODE, sizeof AW_LINES_OF_CODE - 1) == 0;
    snprintf(ret_text, size, code ? "%s+0x%x" : "%s:%u", place->file, place->line);
}

bool aw_linetable_file(const struct aw_line_row *row, char ret_file[AW_PLACE_FILE])
{
    return file_name(row->unit, row->file, ret_file);
}

void aw_linetable_walk(const void *section, size_t size, bool (*told)(void *user, const struct aw_line_row *row), void *user)
{
    struct walk walk = { told, user, section };
    struct cursor c = { section, (const unsigned char *)section + size, false }, bytes;
    unsigned offset_size;
    while (c.at < c.end && unit_next(&c, &bytes, &offset_size)) {
        struct unit unit;
        struct row row;
        if (unit_open(bytes, offset_size, &unit) && unit_run(&unit, 0, &walk, &row))
            return; /* told to */
    }
}

/* ---- ELF. */

static bool section_find(const char *elf, size_t size, const char *name, Elf64_Shdr *ret)
{
    Elf64_Ehdr head;
    Elf64_Shdr names;
    if (size < sizeof head)
        return false;
    memcpy(&head, elf, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shstrndx >= head.e_shnum ||
        head.e_shoff > size || (size - head.e_shoff) / sizeof(Elf64_Shdr) < head.e_shnum)
        return false;
    memcpy(&names, elf + head.e_shoff + head.e_shstrndx * sizeof names, sizeof names);
    if (names.sh_offset > size || names.sh_size > size - names.sh_offset)
        return false;
    for (unsigned i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr s;
        memcpy(&s, elf + head.e_shoff + i * sizeof s, sizeof s);
        if (s.sh_type == SHT_NOBITS || s.sh_offset > size || s.sh_size > size - s.sh_offset || (s.sh_flags & SHF_COMPRESSED) ||
            s.sh_name >= names.sh_size || names.sh_size - s.sh_name <= strlen(name))
            continue;
        if (memcmp(elf + names.sh_offset + s.sh_name, name, strlen(name) + 1) == 0) {
            *ret = s;
            return true;
        }
    }
    return false;
}

bool aw_linetable_find(const void *elf, size_t size, uint64_t address, struct aw_place *ret_place)
{
    Elf64_Shdr section;
    if (!section_find(elf, size, ".debug_line", &section))
        return false;
    const unsigned char *begin = (const unsigned char *)elf + section.sh_offset;
    struct cursor c = { begin, begin + section.sh_size, false };
    while (c.at < c.end) {
        struct cursor bytes;
        struct unit unit;
        struct row row;
        unsigned offset_size;
        if (!unit_next(&c, &bytes, &offset_size))
            return false;
        if (unit_open(bytes, offset_size, &unit) && unit_run(&unit, address, NULL, &row))
            return place_make(&unit, &row, ret_place);
    }
    return false;
}

bool aw_linetable_fits(const void *elf, size_t size, const void *base)
{
    Elf64_Shdr text;
    return section_find(elf, size, ".text", &text) && text.sh_size > 0 &&
           memcmp((const char *)elf + text.sh_offset, (const char *)base + text.sh_addr, text.sh_size) == 0;
}
