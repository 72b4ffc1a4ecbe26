/* Fatbin containers: walking the entries, choosing the PTX, describing.  It decompresses nothing (extract.c) and looks
 * into no file (elf.c).  Headers are copied out before use, as containers may lie at any address. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <anywarp/fatbin.h>

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "fatbin/internal.h"

/* What stands before the entries. */
struct container_head {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size; /* of what follows the header */
};

/* The part of an entry's header that all known forms share; its own length H says where the payload begins. */
struct entry_head {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t payload_size;    /* with padding: the next entry begins at header_size + payload_size */
    uint32_t compressed_size; /* 0 = not compressed */
    uint32_t options;         /* offset of the option record, 0 = none */
    uint16_t isa_minor, isa_major;
    uint32_t sm;
    uint32_t identifier, identifier_len;
    uint64_t flags;
    uint64_t hash;
    uint64_t size; /* uncompressed; 0 when not compressed */
};
_Static_assert(sizeof(struct container_head) == 16, "as in the file");
_Static_assert(sizeof(struct entry_head) == 64, "as in the file");

/* Where the options' text stands, both from the entry's first byte. */
struct option_record {
    uint32_t offset, len;
};

enum {
    FLAG_LZ4 = 0x2000,
    FLAG_ZSTD = 0x8000,
    FLAG_LTO = 0x10000,
    FLAG_SUFFIX_A = 0x100000,
    FLAG_SUFFIX_F = 0x200000,
};

const char *aw_fatbin_error_text(int error)
{
    switch (error) {
    case AW_FATBIN_OK: return "no error";
    case AW_FATBIN_BAD_MAGIC: return "not a fatbin";
    case AW_FATBIN_TRUNCATED: return "fatbin is truncated";
    case AW_FATBIN_CORRUPT: return "fatbin is corrupt";
    case AW_FATBIN_NO_MEMORY: return "out of memory";
    case AW_FATBIN_UNSUPPORTED: return "fatbin has a form that is not known";
    default: return "unknown fatbin error";
    }
}

/* Checks the head against `available`; *ret_head is what it says. */
static int read_head(const void *container, size_t available, struct container_head *ret_head)
{
    uint32_t magic;
    if (available < sizeof magic)
        return AW_FATBIN_TRUNCATED;
    memcpy(&magic, container, sizeof magic);
    if (magic != AW_FATBIN_MAGIC)
        return AW_FATBIN_BAD_MAGIC;
    if (available < sizeof *ret_head)
        return AW_FATBIN_TRUNCATED;
    memcpy(ret_head, container, sizeof *ret_head);
    if (ret_head->version != 1 || ret_head->header_size < sizeof *ret_head)
        return AW_FATBIN_UNSUPPORTED;
    if (ret_head->header_size > available || ret_head->size > available - ret_head->header_size)
        return AW_FATBIN_TRUNCATED;
    return AW_FATBIN_OK;
}

size_t aw_fatbin_size(const void *container, size_t available)
{
    struct container_head head;
    return read_head(container, available, &head) == AW_FATBIN_OK ? head.header_size + (size_t)head.size : 0;
}

static size_t trimmed(const char *text, size_t len)
{
    while (len > 0 && text[len - 1] == '\0')
        len--;
    return len;
}

/* The options kept with PTX; other kinds keep blobs there that mean nothing to us. */
static int read_options(const char *at, const struct entry_head *head, struct aw_fatbin_entry *entry)
{
    if (head->kind != AW_FATBIN_PTX || head->options == 0)
        return AW_FATBIN_OK;
    struct option_record record;
    if (head->options > head->header_size || head->header_size - head->options < sizeof record)
        return AW_FATBIN_TRUNCATED;
    memcpy(&record, at + head->options, sizeof record);
    if (record.len == 0)
        return AW_FATBIN_OK;
    if (record.offset > head->header_size || head->header_size - record.offset < record.len)
        return AW_FATBIN_TRUNCATED;
    entry->options = at + record.offset;
    entry->options_len = trimmed(entry->options, record.len);
    return AW_FATBIN_OK;
}

static int read_identifier(const char *at, const struct entry_head *head, struct aw_fatbin_entry *entry)
{
    if (head->identifier == 0 || head->identifier_len == 0)
        return AW_FATBIN_OK;
    if (head->identifier > head->header_size || head->header_size - head->identifier < head->identifier_len)
        return AW_FATBIN_TRUNCATED;
    entry->identifier = at + head->identifier;
    entry->identifier_len = trimmed(entry->identifier, head->identifier_len);
    return AW_FATBIN_OK;
}

/* Both compressed sizes come from the header; whether they are true, extracting shows. */
static int read_compression(const struct entry_head *head, struct aw_fatbin_entry *entry)
{
    entry->payload_size = head->payload_size;
    entry->size = head->payload_size;
    entry->compression = AW_FATBIN_RAW;
    if (head->compressed_size == 0)
        return AW_FATBIN_OK;
    if (head->compressed_size > head->payload_size)
        return AW_FATBIN_TRUNCATED;
    entry->payload_size = head->compressed_size;
    entry->size = head->size;
    if (head->flags & FLAG_LTO)
        entry->compression = AW_FATBIN_OTHER;
    else if (head->flags & FLAG_ZSTD)
        entry->compression = AW_FATBIN_ZSTD;
    else if (head->flags & FLAG_LZ4)
        entry->compression = AW_FATBIN_LZ4;
    else
        entry->compression = AW_FATBIN_OTHER;
    return AW_FATBIN_OK;
}

/* Reads the entry at `at`, of which `left` bytes may be read; *ret_len is its whole length. */
static int read_entry(const char *at, size_t left, struct aw_fatbin_entry *ret_entry, size_t *ret_len)
{
    struct entry_head head;
    if (left < sizeof head)
        return AW_FATBIN_TRUNCATED;
    memcpy(&head, at, sizeof head);
    if (head.header_size < sizeof head)
        return AW_FATBIN_UNSUPPORTED;
    if (head.header_size > left || head.payload_size > left - head.header_size)
        return AW_FATBIN_TRUNCATED;
    struct aw_fatbin_entry entry = {
        .kind = (enum aw_fatbin_kind)head.kind,
        .sm = head.sm,
        .sm_suffix = head.flags & FLAG_SUFFIX_A ? 'a' : head.flags & FLAG_SUFFIX_F ? 'f' : 0,
        .isa_major = head.isa_major,
        .isa_minor = head.isa_minor,
        .flags = head.flags,
        .payload = at + head.header_size,
    };
    int error = read_compression(&head, &entry);
    if (error == AW_FATBIN_OK)
        error = read_options(at, &head, &entry);
    if (error == AW_FATBIN_OK)
        error = read_identifier(at, &head, &entry);
    if (error != AW_FATBIN_OK)
        return error;
    *ret_entry = entry;
    *ret_len = head.header_size + (size_t)head.payload_size;
    return AW_FATBIN_OK;
}

static bool all_zero(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

bool aw_fatbin_next(const void *container, size_t size, struct aw_fatbin_iter *iter, struct aw_fatbin_entry *ret_entry,
                    int *ret_error)
{
    /* The mapping is asked once per walk: the size in the head, found good then, bounds every later step. */
    if (size == SIZE_MAX && iter->offset == 0)
        size = aw_fatbin_mapped(container);
    struct container_head head;
    *ret_error = read_head(container, size, &head);
    if (*ret_error != AW_FATBIN_OK)
        return false;
    size_t end = head.header_size + (size_t)head.size;
    if (iter->offset == 0)
        iter->offset = head.header_size;
    if (iter->offset >= end)
        return false;
    const char *at = (const char *)container + iter->offset;
    size_t left = end - iter->offset, len;
    if (left < sizeof(struct entry_head) && all_zero(at, left)) /* padding */
        return false;
    *ret_error = read_entry(at, left, ret_entry, &len);
    if (*ret_error != AW_FATBIN_OK)
        return false;
    iter->offset += len;
    return true;
}

/* True when `a` suits a device with `max_sm` better than `b`.  Equals keep the first. */
static bool better(const struct aw_fatbin_entry *a, const struct aw_fatbin_entry *b, uint32_t max_sm)
{
    if ((a->sm_suffix == 0) != (b->sm_suffix == 0))
        return a->sm_suffix == 0;
    bool a_fits = max_sm == 0 || a->sm <= max_sm, b_fits = max_sm == 0 || b->sm <= max_sm;
    if (a_fits != b_fits)
        return a_fits;
    return a_fits ? a->sm > b->sm : a->sm < b->sm;
}

bool aw_fatbin_choose_ptx(const void *container, size_t size, uint32_t max_sm, struct aw_fatbin_entry *ret_entry,
                          int *ret_error)
{
    struct aw_fatbin_iter iter = { 0 };
    struct aw_fatbin_entry entry, best;
    bool found = false, skipped = false;
    while (aw_fatbin_next(container, size, &iter, &entry, ret_error)) {
        if (entry.kind != AW_FATBIN_PTX)
            continue;
        if (entry.compression == AW_FATBIN_OTHER) {
            skipped = true;
            continue;
        }
        if (!found || better(&entry, &best, max_sm))
            best = entry;
        found = true;
    }
    if (found)
        *ret_entry = best;
    else if (skipped && *ret_error == AW_FATBIN_OK)
        *ret_error = AW_FATBIN_UNSUPPORTED;
    return found;
}

bool aw_fatbin_choose_cubin(const void *container, size_t size, uint32_t sm, struct aw_fatbin_entry *ret_entry, int *ret_error)
{
    enum { FIRST_SM = 70, LAST_SM = 90 };
    struct aw_fatbin_iter iter = { 0 };
    struct aw_fatbin_entry entry;
    bool found = false;
    while (aw_fatbin_next(container, size, &iter, &entry, ret_error)) {
        if (entry.kind != AW_FATBIN_ELF || entry.compression == AW_FATBIN_OTHER || entry.sm_suffix || entry.sm < FIRST_SM ||
            entry.sm > LAST_SM || entry.sm > sm || (found && entry.sm <= ret_entry->sm))
            continue;
        *ret_entry = entry;
        found = true;
    }
    return found;
}

/* Byte by byte, as far as it looks like one: a shorter image says no size and may end anywhere. */
static bool is_cubin(const unsigned char *ident)
{
    enum { OSABI_12 = 0x33, OSABI_13 = 0x41 };
    static const unsigned char want[] = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT };
    for (size_t i = 0; i < sizeof want; i++)
        if (ident[i] != want[i])
            return false;
    return ident[EI_OSABI] == OSABI_12 || ident[EI_OSABI] == OSABI_13;
}

size_t aw_fatbin_cubin_size(const void *elf, size_t available)
{
    Elf64_Ehdr head;
    if (available < sizeof head || !is_cubin(elf))
        return 0;
    memcpy(&head, elf, sizeof head);
    uint64_t sections = head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize;
    uint64_t segments = head.e_phoff + (uint64_t)head.e_phnum * head.e_phentsize;
    uint64_t end = sections > segments ? sections : segments;
    if (head.e_shoff > INT64_MAX || head.e_phoff > INT64_MAX || end > available)
        return 0;
    return end > sizeof head ? (size_t)end : sizeof head;
}

/* Appends to a text of fixed size; what does not fit is cut. */
struct cut_text {
    char *at;
    size_t size, len;
};

__attribute__((format(printf, 2, 3))) static void cut_printf(struct cut_text *text, const char *fmt, ...)
{
    if (text->len >= text->size)
        return;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text->at + text->len, text->size - text->len, fmt, ap);
    va_end(ap);
    if (n > 0)
        text->len += (size_t)n;
}

/* Lists all entries of one kind: "sm_75 sm_80 (cubin)".  Returns the error that ended the walk. */
static int describe_kind(const void *container, size_t size, int kind, struct cut_text *text)
{
    struct aw_fatbin_iter iter = { 0 };
    struct aw_fatbin_entry entry;
    int error;
    unsigned n = 0;
    while (aw_fatbin_next(container, size, &iter, &entry, &error)) {
        bool named = entry.kind == AW_FATBIN_PTX || entry.kind == AW_FATBIN_ELF || entry.kind == AW_FATBIN_NVVM;
        if (kind ? (int)entry.kind != kind : named)
            continue;
        char suffix[2] = { entry.sm_suffix, 0 };
        cut_printf(text, "%s%s_%u%s", n++ ? " " : text->len ? ", " : "", entry.kind == AW_FATBIN_ELF ? "sm" : "compute",
                   entry.sm, suffix);
    }
    if (n > 0)
        cut_printf(text, " (%s)", kind == AW_FATBIN_ELF ? "cubin" : kind == AW_FATBIN_PTX ? "PTX"
                                : kind == AW_FATBIN_NVVM ? "LTO" : "unknown kind");
    return error;
}

void aw_fatbin_describe(const void *container, size_t size, char *ret_text, size_t text_size)
{
    if (text_size == 0)
        return;
    ret_text[0] = '\0';
    struct cut_text text = { ret_text, text_size, 0 };
    describe_kind(container, size, AW_FATBIN_ELF, &text);
    describe_kind(container, size, AW_FATBIN_PTX, &text);
    describe_kind(container, size, AW_FATBIN_NVVM, &text);
    int error = describe_kind(container, size, 0, &text);
    if (error != AW_FATBIN_OK)
        cut_printf(&text, "%s%s", text.len ? "; then: " : "", aw_fatbin_error_text(error));
    else if (text.len == 0)
        cut_printf(&text, "no images");
}

/* ---- Registered wrappers ---- */

struct mapped_query {
    uintptr_t address;
    size_t left;
};

static int mapped_in_object(struct dl_phdr_info *info, size_t size, void *user)
{
    struct mapped_query *query = user;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_type != PT_LOAD || query->address < begin || query->address - begin >= ph->p_memsz)
            continue;
        query->left = ph->p_memsz - (query->address - begin);
        return 1;
    }
    return 0;
}

size_t aw_fatbin_mapped(const void *address)
{
    struct mapped_query query = { (uintptr_t)address, SIZE_MAX };
    dl_iterate_phdr(mapped_in_object, &query);
    return query.left;
}

bool aw_fatbin_wrapper_next(const struct aw_fatbin_wrapper *wrapper, struct aw_fatbin_wrapper_iter *iter,
                            const void **ret_container, size_t *ret_size, int *ret_error)
{
    *ret_error = AW_FATBIN_OK;
    const void *container = NULL;
    if (iter->index == 0) {
        if (wrapper->magic != AW_FATBIN_WRAPPER_MAGIC)
            *ret_error = AW_FATBIN_BAD_MAGIC;
        else if (wrapper->version != 1 && wrapper->version != 2)
            *ret_error = AW_FATBIN_UNSUPPORTED;
        else if (!wrapper->data)
            *ret_error = AW_FATBIN_BAD_MAGIC;
        container = wrapper->data;
    } else if (wrapper->version == 2 && wrapper->extra) {
        container = ((const void *const *)wrapper->extra)[iter->index - 1];
    }
    if (*ret_error != AW_FATBIN_OK || !container)
        return false;
    size_t available = aw_fatbin_mapped(container);
    struct container_head head;
    *ret_error = read_head(container, available, &head);
    if (*ret_error != AW_FATBIN_OK)
        return false;
    iter->index++;
    *ret_container = container;
    *ret_size = head.header_size + (size_t)head.size;
    return true;
}
