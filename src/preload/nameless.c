/* A runtime without symbols: see nameless.h.  What is patched with what is found is redirect.c's to say. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/nameless.h"

#include <string.h>

/* ---- The unwind table: a header with the functions' addresses in order (LSB, "Exception Frames") */

struct aw_nameless_row {
    int32_t function, entry; /* from the header's address */
};

struct aw_nameless_table {
    uint64_t address;
    const struct aw_nameless_row *rows;
    uint32_t n;
};

static bool aw_nameless_table(const struct aw_elf *elf, struct aw_nameless_table *ret_table)
{
    /* Version 1; the frames' address as four bytes from here, a count of four bytes, rows as above: what all linkers write. */
    static const unsigned char head[4] = { 1, 0x1b, 0x03, 0x3b };
    for (size_t i = 0; i < elf->n_segments; i++) {
        const Elf64_Phdr *p = &elf->segments[i];
        const unsigned char *bytes = p->p_type == PT_GNU_EH_FRAME ? aw_elf_loaded(elf, p->p_vaddr, 12, 4) : NULL;
        if (!bytes || memcmp(bytes, head, sizeof head) != 0)
            continue;
        memcpy(&ret_table->n, bytes + 8, sizeof ret_table->n);
        ret_table->address = p->p_vaddr;
        ret_table->rows = aw_elf_loaded(elf, p->p_vaddr + 12, (uint64_t)ret_table->n * sizeof *ret_table->rows, 4);
        return ret_table->rows != NULL;
    }
    return false;
}

static uint64_t aw_nameless_start(const struct aw_nameless_table *table, size_t row)
{
    return table->address + (uint64_t)(int64_t)table->rows[row].function;
}

/* Bytes of the function in a row; 0 when its entry is of another form than compilers write. */
static uint64_t aw_nameless_size(const struct aw_elf *elf, const struct aw_nameless_table *table, size_t row)
{
    uint64_t at = table->address + (uint64_t)(int64_t)table->rows[row].entry;
    const uint32_t *entry = aw_elf_loaded(elf, at, 16, 4); /* length, the common part, begin from here, size */
    if (!entry || at + 8 + (uint64_t)(int64_t)(int32_t)entry[2] != aw_nameless_start(table, row))
        return 0;
    return aw_elf_code_segment(elf, aw_nameless_start(table, row), entry[3]) ? entry[3] : 0;
}

/* The last row whose function begins at `address` or before it; n when there is none. */
static size_t aw_nameless_row_of(const struct aw_nameless_table *table, uint64_t address)
{
    size_t low = 0, high = table->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (aw_nameless_start(table, mid) <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? low - 1 : table->n;
}

/* The function that this one calls first, or 0. */
static uint64_t aw_nameless_first_call(const struct aw_elf *elf, const struct aw_nameless_table *table, uint64_t start,
                                       uint64_t size)
{
    const unsigned char *code = aw_elf_loaded(elf, start, size, 1);
    for (uint64_t i = 0; code && i + 5 <= size; i++) {
        int32_t distance;
        memcpy(&distance, code + i + 1, sizeof distance);
        uint64_t target = start + i + 5 + (uint64_t)(int64_t)distance;
        size_t row = code[i] == 0xe8 ? aw_nameless_row_of(table, target) : table->n;
        if (row < table->n && aw_nameless_start(table, row) == target)
            return target;
    }
    return 0;
}

/* ---- Names */

static bool aw_nameless_in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The name of a runtime's function that begins at `address`, or NULL. */
static const char *aw_nameless_name(const struct aw_elf *elf, uint64_t address)
{
    enum { LONGEST = 64 };
    const char *text = aw_elf_loaded(elf, address, 5, 1);
    if (!text || memcmp(text, "cuda", 4) != 0 || text[4] < 'A' || text[4] > 'Z')
        return NULL;
    for (size_t n = 5; n < LONGEST; n++) {
        text = aw_elf_loaded(elf, address, n + 1, 1);
        if (!text || text[n] == '\0')
            return text;
        if (!aw_nameless_in_name(text[n])) /* a call in a message */
            return NULL;
    }
    return NULL;
}

/* The address that stands at `address` once the object is loaded at 0: in the file, or in a relocation, which linkers sort. */
static uint64_t aw_nameless_pointer(const struct aw_elf *elf, uint64_t address)
{
    const uint64_t *word = aw_elf_loaded(elf, address, sizeof *word, _Alignof(uint64_t));
    if (!word || *word || !elf->n_relatives)
        return word ? *word : 0;
    size_t low = 0, high = elf->n_relatives;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (elf->relatives[mid].r_offset == address)
            return (uint64_t)elf->relatives[mid].r_addend;
        if (elf->relatives[mid].r_offset < address)
            low = mid + 1;
        else
            high = mid;
    }
    return 0;
}

/* The name whose address the instruction at `code` takes, NULL when it is another instruction: lea of the name itself, or a load
 * (movq to an SSE register, mov) of a word that points to it; all relative to the next instruction. */
static const char *aw_nameless_named(const struct aw_elf *elf, const unsigned char *code, uint64_t left, uint64_t address)
{
    bool lea = left >= 7 && (code[0] & 0xfb) == 0x48 && code[1] == 0x8d;
    bool mov = left >= 7 && (code[0] & 0xfb) == 0x48 && code[1] == 0x8b;
    bool movq = left >= 8 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x7e;
    unsigned at = movq ? 3 : 2;
    if ((!lea && !mov && !movq) || (code[at] & 0xc7) != 0x05)
        return NULL;
    int32_t distance;
    memcpy(&distance, code + at + 1, sizeof distance);
    uint64_t target = address + at + 5 + (uint64_t)(int64_t)distance;
    return aw_nameless_name(elf, lea ? target : aw_nameless_pointer(elf, target));
}

struct aw_nameless_candidate {
    const char *name;
    uint64_t start, size, first_call;
};

struct aw_nameless_list {
    const struct aw_elf *elf;
    struct aw_nameless_table table;
    size_t n;
    struct aw_nameless_candidate items[4096];
};

/* False when there are too many. */
static bool aw_nameless_add(struct aw_nameless_list *list, const char *name, uint64_t address)
{
    size_t row = aw_nameless_row_of(&list->table, address);
    uint64_t size = row < list->table.n ? aw_nameless_size(list->elf, &list->table, row) : 0;
    struct aw_nameless_candidate c = { name, size ? aw_nameless_start(&list->table, row) : 0, size, 0 };
    if (!size || address - c.start >= size)
        return true;
    for (size_t i = list->n; i > 0 && list->items[i - 1].start == c.start; i--)
        if (list->items[i - 1].name == name)
            return true;
    if (list->n == sizeof list->items / sizeof *list->items)
        return false;
    c.first_call = aw_nameless_first_call(list->elf, &list->table, c.start, size);
    list->items[list->n++] = c;
    return true;
}

static bool aw_nameless_collect(struct aw_nameless_list *list)
{
    for (size_t s = 0; s < list->elf->n_segments; s++) {
        const Elf64_Phdr *p = &list->elf->segments[s];
        const unsigned char *code = p->p_type == PT_LOAD && (p->p_flags & PF_X) ?
                                        aw_elf_loaded(list->elf, p->p_vaddr, p->p_filesz, 1) :
                                        NULL;
        for (uint64_t i = 0; code && i < p->p_filesz; i++) {
            if ((code[i] & 0xfb) != 0x48 && code[i] != 0xf3)
                continue;
            const char *name = aw_nameless_named(list->elf, code + i, p->p_filesz - i, p->p_vaddr + i);
            if (name && !aw_nameless_add(list, name, p->p_vaddr + i))
                return false;
        }
    }
    return true;
}

/* How many of those that call `callee` first there are, by their names. */
static size_t aw_nameless_callers(const struct aw_nameless_list *list, uint64_t callee)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        bool fresh = list->items[i].first_call == callee;
        for (size_t k = 0; k < i && fresh; k++)
            fresh = list->items[k].first_call != callee || strcmp(list->items[i].name, list->items[k].name) != 0;
        n += fresh;
    }
    return n;
}

/* Each function of the API calls one that makes the runtime ready before all else.  A program's own functions may have the
 * name of one in a message and call something else first: thousands of them, as a rule with few names, the function that is
 * named. */
static uint64_t aw_nameless_common_call(const struct aw_nameless_list *list)
{
    uint64_t common = 0;
    size_t most = 0;
    for (size_t i = 0; i < list->n; i++) {
        uint64_t callee = list->items[i].first_call;
        bool seen = !callee;
        for (size_t k = 0; k < i && !seen; k++)
            seen = list->items[k].first_call == callee;
        size_t n = seen ? 0 : aw_nameless_callers(list, callee);
        if (n > most) {
            most = n;
            common = callee;
        }
    }
    return common;
}

/* Drops what is not of the API.  False when a name could be several functions, or a function have several names. */
static bool aw_nameless_sift(struct aw_nameless_list *list, uint64_t common)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].first_call == common)
            list->items[n++] = list->items[i];
    list->n = n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (list->items[i].start == list->items[k].start || !strcmp(list->items[i].name, list->items[k].name))
                return false;
    return true;
}

/* ---- What nvcc's host code calls */

/* What a function calls first. */
enum aw_nameless_first {
    READY, /* the API's common function */
    OWN,   /* another one, the same for all of these */
    ANY
};

static const struct aw_nameless_place {
    const char *name;
    uint32_t least, most; /* bytes */
    enum aw_nameless_first first;
} cuda_12[] = {
    { "cudaGetExportTable", 74, 74, ANY },
    { "__cudaRegisterFatBinary", 43, 43, READY },
    { "__cudaRegisterFatBinaryEnd", 34, 34, READY },
    { "__cudaUnregisterFatBinary", 55, 55, READY },
    { "__cudaRegisterVar", 123, 123, READY },
    { "__cudaRegisterManagedVar", 123, 123, READY },
    { "__cudaRegisterHostVar", 56, 56, READY },
    { "__cudaRegisterFunction", 105, 105, READY },
    { "__cudaInitModule", 190, 225, READY },
    { "__cudaPushCallConfiguration", 130, 160, OWN },
    { "__cudaPopCallConfiguration", 155, 190, OWN },
    { "__cudaGetKernel", 100, 260, ANY },
    { "__cudaLaunchKernel", 10, 10, ANY },
    { "__cudaLaunchKernel_ptsz", 10, 10, ANY },
    { "__cudaRegisterUnifiedTable", 74, 74, READY },
}, cuda_11[] = {
    { "cudaGetExportTable", 76, 76, ANY },
    { "__cudaRegisterFatBinary", 40, 40, READY },
    { "__cudaRegisterFatBinaryEnd", 21, 21, READY },
    { "__cudaUnregisterFatBinary", 34, 34, READY },
    { "__cudaRegisterVar", 111, 111, READY },
    { "__cudaRegisterManagedVar", 111, 111, READY },
    { "__cudaRegisterHostVar", 57, 57, READY },
    { "__cudaRegisterTexture", 95, 95, READY },
    { "__cudaRegisterSurface", 89, 89, READY },
    { "__cudaRegisterFunction", 97, 97, READY },
    { "__cudaInitModule", 190, 225, READY },
    { "__cudaPushCallConfiguration", 130, 160, OWN },
    { "__cudaPopCallConfiguration", 180, 220, OWN },
};

/* Functions that follow each other in this order, without another between them. */
static const struct aw_nameless_layout {
    const struct aw_nameless_place *places;
    size_t n;
} layouts[] = { { cuda_12, sizeof cuda_12 / sizeof *cuda_12 }, { cuda_11, sizeof cuda_11 / sizeof *cuda_11 } };

/* Do the functions from `row` on lie as the layout says? */
static bool aw_nameless_is_layout(const struct aw_nameless_list *list, size_t row, const struct aw_nameless_layout *layout,
                                  uint64_t common)
{
    uint64_t own = 0;
    if (layout->n > list->table.n - row)
        return false;
    for (size_t k = 0; k < layout->n; k++) {
        const struct aw_nameless_place *place = &layout->places[k];
        uint64_t size = aw_nameless_size(list->elf, &list->table, row + k);
        if (size < place->least || size > place->most)
            return false;
        uint64_t call = aw_nameless_first_call(list->elf, &list->table, aw_nameless_start(&list->table, row + k), size);
        if (place->first == OWN && own == 0)
            own = call;
        if ((place->first == READY && call != common) || (place->first == OWN && (call == common || call != own)))
            return false;
    }
    return true;
}

/* The layout that the object has, and the row where it begins; NULL when it has none, or more than one. */
static const struct aw_nameless_layout *aw_nameless_layout(const struct aw_nameless_list *list, uint64_t common, size_t *ret_row)
{
    const struct aw_nameless_layout *found = NULL;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        for (size_t row = 0; row < list->table.n; row++) {
            if (!aw_nameless_is_layout(list, row, &layouts[i], common))
                continue;
            if (found)
                return NULL;
            found = &layouts[i];
            *ret_row = row;
        }
    return found;
}

bool aw_nameless_find(const struct aw_elf *elf, aw_nameless_found *found, void *arg)
{
    static struct aw_nameless_list list;
    list.elf = elf;
    list.n = 0;
    if (!aw_nameless_table(elf, &list.table) || !aw_nameless_collect(&list))
        return false;
    uint64_t common = aw_nameless_common_call(&list);
    if (!common || !aw_nameless_sift(&list, common))
        return false;
    size_t row = 0;
    const struct aw_nameless_layout *layout = aw_nameless_layout(&list, common, &row);
    if (!layout)
        return false;
    for (size_t i = 0; i < list.n; i++)
        found(arg, list.items[i].name, list.items[i].start, list.items[i].size);
    for (size_t k = 0; k < layout->n; k++)
        found(arg, layout->places[k].name, aw_nameless_start(&list.table, row + k), aw_nameless_size(elf, &list.table, row + k));
    return true;
}
