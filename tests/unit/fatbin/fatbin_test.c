/* Fatbin containers: made ones of every form, broken ones, and real ones where nvcc is at hand. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <anywarp/fatbin.h>

#include "base/file.h"
#include "make_fatbin.h"

static const char ptx[] = "\n\n.version 9.0\n.target sm_80\n.address_size 64\n\n.visible .entry k()\n{\n\tret;\n}\n"
                          "// some text that repeats, some text that repeats, some text that repeats, so that it packs\n";

static struct aw_buf one(struct make_entry entry)
{
    struct aw_buf out = { 0 };
    if (!entry.text) {
        entry.text = ptx;
        entry.len = sizeof ptx;
    }
    make_begin(&out);
    make_add(&out, &entry);
    make_end(&out, 0);
    return out;
}

/* Walks and extracts everything; the number of entries, or the error. */
static int walk(const void *bytes, size_t size)
{
    struct aw_fatbin_iter iter = { 0 };
    struct aw_fatbin_entry entry;
    int error, n = 0;
    while (aw_fatbin_next(bytes, size, &iter, &entry, &error)) {
        char *text;
        size_t len;
        int e = aw_fatbin_extract(&entry, &text, &len);
        if (e != AW_FATBIN_OK)
            return e;
        cr_assert(text[len] == '\0');
        free(text);
        n++;
    }
    return error != AW_FATBIN_OK ? error : n;
}

Test(fatbin, every_header_length_and_compression)
{
    static const unsigned compressions[] = { MAKE_RAW, MAKE_LZ4, MAKE_ZSTD };
    for (uint32_t header = 64; header <= 144; header += 8)
        for (int c = 0; c < 3; c++) {
            struct aw_buf fb = one((struct make_entry){ .kind = 1, .sm = 80, .compression = compressions[c], .header = header });
            struct aw_fatbin_iter iter = { 0 };
            struct aw_fatbin_entry e;
            int error;
            char *text;
            size_t len;
            cr_assert(aw_fatbin_next(fb.ptr, fb.len, &iter, &e, &error));
            cr_assert_eq(e.kind, AW_FATBIN_PTX);
            cr_assert_eq(e.sm, 80);
            cr_assert_eq(e.isa_major, 9);
            cr_assert_eq(e.compression, (unsigned)c, "compression %d", c);
            cr_assert_null(e.options);
            cr_assert_null(e.identifier);
            cr_assert_eq(aw_fatbin_extract(&e, &text, &len), AW_FATBIN_OK);
            cr_assert_eq(len, strlen(ptx), "%zu", len);
            cr_assert_str_eq(text, ptx);
            cr_assert(!aw_fatbin_next(fb.ptr, fb.len, &iter, &e, &error) && error == AW_FATBIN_OK);
            cr_assert_eq(aw_fatbin_size(fb.ptr, fb.len), fb.len);
            cr_assert_eq(aw_fatbin_size(fb.ptr, SIZE_MAX), fb.len);
            free(text);
            aw_buf_fini(&fb);
        }
}

Test(fatbin, options_and_identifier)
{
    for (uint32_t gap = 0; gap <= 8; gap += 8) {
        struct aw_buf fb = one((struct make_entry){ .kind = 1, .sm = 75, .compression = MAKE_ZSTD,
                                                    .options = " -maxrregcount=40 ",
                                                    .identifier = "dir/source.cu", .options_gap = gap });
        struct aw_fatbin_iter iter = { 0 };
        struct aw_fatbin_entry e;
        int error;
        cr_assert(aw_fatbin_next(fb.ptr, fb.len, &iter, &e, &error));
        cr_assert(e.options_len == 18 && memcmp(e.options, " -maxrregcount=40 ", 18) == 0);
        cr_assert(e.identifier_len == 13 && memcmp(e.identifier, "dir/source.cu", 13) == 0);
        aw_buf_fini(&fb);
    }
    /* of a cubin the record is a blob, even one that makes no sense */
    struct aw_buf fb = one((struct make_entry){ .kind = 2, .sm = 100, .options = "blob" });
    memset(fb.ptr + 16 + 64, 0xff, 8);
    cr_assert_eq(walk(fb.ptr, fb.len), 1);
    aw_buf_fini(&fb);
}

/* A container with PTX of these architectures, in order; a letter of `suffixes` each, '-' for none, '#' for a cubin. */
static struct aw_buf several(const uint32_t sms[], const char *suffixes)
{
    struct aw_buf out = { 0 };
    make_begin(&out);
    for (size_t i = 0; suffixes[i]; i++) {
        struct make_entry e = { .kind = suffixes[i] == '#' ? 2 : 1, .sm = sms[i], .text = ptx, .len = sizeof ptx,
                                .flags = suffixes[i] == 'a' ? 0x100000 : suffixes[i] == 'f' ? 0x200000 : 0 };
        make_add(&out, &e);
    }
    make_end(&out, 0);
    return out;
}

Test(fatbin, choice)
{
    static const struct {
        uint32_t sms[4];
        const char *suffixes;
        uint32_t max, expected;
    } cases[] = {
        { { 75, 90, 80 }, "---", 0, 90 },  { { 75, 90, 80 }, "---", 86, 80 }, { { 75, 90, 80 }, "---", 60, 75 },
        { { 90, 80, 90 }, "a-#", 0, 80 },  { { 90, 100 }, "af", 0, 100 },     { { 90, 100 }, "af", 95, 90 },
        { { 120, 90 }, "-a", 80, 120 },    { { 80, 90 }, "##", 0, 0 },        { { 0 }, "", 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct aw_buf fb = several(cases[i].sms, cases[i].suffixes);
        struct aw_fatbin_entry e = { 0 };
        int error;
        bool found = aw_fatbin_choose_ptx(fb.ptr, fb.len, cases[i].max, &e, &error);
        cr_assert_eq(error, AW_FATBIN_OK);
        cr_assert_eq(found, cases[i].expected != 0, "case %zu", i);
        cr_assert_eq(found ? e.sm : 0u, cases[i].expected, "case %zu: %u", i, e.sm);
        aw_buf_fini(&fb);
    }
}

Test(fatbin, choice_passes_over_what_cannot_be_extracted)
{
    struct aw_buf out = { 0 };
    make_begin(&out);
    make_add(&out, &(struct make_entry){ .kind = 1, .sm = 80, .text = ptx, .len = sizeof ptx });
    size_t second = out.len;
    make_add(&out, &(struct make_entry){ .kind = 1, .sm = 90, .text = ptx, .len = sizeof ptx, .compression = MAKE_LZ4 });
    make_end(&out, 0);
    uint64_t flags = 0x11;
    memcpy(out.ptr + second + 40, &flags, 8); /* compressed, by nothing known */
    struct aw_fatbin_entry e;
    int error;
    cr_assert(aw_fatbin_choose_ptx(out.ptr, out.len, 0, &e, &error) && e.sm == 80);
    uint16_t kind = 2;
    memcpy(out.ptr + 16, &kind, 2);
    cr_assert(!aw_fatbin_choose_ptx(out.ptr, out.len, 0, &e, &error));
    cr_assert_eq(error, AW_FATBIN_UNSUPPORTED);
    aw_buf_fini(&out);
}

Test(fatbin, description)
{
    char text[128];
    struct aw_buf fb = several((uint32_t[]){ 75, 80, 90, 100 }, "##-f");
    aw_fatbin_describe(fb.ptr, fb.len, text, sizeof text);
    cr_assert_str_eq(text, "sm_75 sm_80 (cubin), compute_90 compute_100f (PTX)");
    aw_fatbin_describe(fb.ptr, fb.len, text, 9);
    cr_assert_str_eq(text, "sm_75 sm");
    aw_fatbin_describe(fb.ptr, fb.len - 1, text, sizeof text);
    cr_assert_str_eq(text, "fatbin is truncated");
    aw_buf_fini(&fb);
    fb = several(NULL, "");
    aw_fatbin_describe(fb.ptr, fb.len, text, sizeof text);
    cr_assert_str_eq(text, "no images");
    text[0] = 'x';
    aw_fatbin_describe(fb.ptr, fb.len, text, 0);
    cr_assert_eq(text[0], 'x');
    aw_buf_fini(&fb);
}

/* ---- Broken ones ---- */

static struct aw_buf mixed(void)
{
    struct aw_buf out = { 0 };
    make_begin(&out);
    make_add(&out, &(struct make_entry){ .kind = 2, .sm = 80, .text = ptx, .len = sizeof ptx, .compression = MAKE_ZSTD });
    make_add(&out, &(struct make_entry){ .kind = 1, .sm = 75, .text = ptx, .len = sizeof ptx, .compression = MAKE_LZ4,
                                         .options = " -g ", .identifier = "a.cu" });
    make_add(&out, &(struct make_entry){ .kind = 1, .sm = 80, .text = ptx, .len = sizeof ptx });
    make_end(&out, 0);
    return out;
}

Test(fatbin, cut_at_every_byte)
{
    struct aw_buf fb = mixed();
    cr_assert_eq(walk(fb.ptr, fb.len), 3);
    for (size_t size = 0; size < fb.len; size++) {
        char *cut = malloc(size ? size : 1); /* exact, for the sanitizers */
        memcpy(cut, fb.ptr, size);
        int n = walk(cut, size);
        cr_assert_eq(n, AW_FATBIN_TRUNCATED, "cut to %zu of %zu: %d", size, fb.len, n);
        cr_assert_eq(aw_fatbin_size(cut, size), 0);
        struct aw_fatbin_entry e;
        int error;
        cr_assert(!aw_fatbin_choose_ptx(cut, size, 0, &e, &error) && error == AW_FATBIN_TRUNCATED);
        free(cut);
    }
    aw_buf_fini(&fb);
}

/* The container's own size made shorter: the cut runs through headers and payloads. */
Test(fatbin, short_inside)
{
    struct aw_buf fb = mixed();
    int errors = 0;
    for (uint64_t size = 0; size < fb.len - 16; size++) {
        char *cut = malloc(16 + size);
        memcpy(cut, fb.ptr, 16 + size);
        memcpy(cut + 8, &size, 8);
        errors += walk(cut, 16 + size) == AW_FATBIN_TRUNCATED;
        free(cut);
    }
    /* sound only between entries: 0 and after each of the first two */
    cr_assert_eq(errors, (int)fb.len - 16 - 3, "%d of %zu", errors, fb.len - 16);
    aw_buf_fini(&fb);
}

Test(fatbin, changed_bytes)
{
    struct aw_buf fb = mixed();
    unsigned random = 12345;
    for (size_t at = 0; at < fb.len; at++)
        for (int k = 0; k < 8; k++) {
            char *copy = malloc(fb.len);
            memcpy(copy, fb.ptr, fb.len);
            random = random * 1103515245 + 12345;
            copy[at] ^= (char)(k < 4 ? 1u << (random >> 16 & 7) : random >> 16);
            walk(copy, fb.len); /* whatever it says */
            char text[64];
            aw_fatbin_describe(copy, fb.len, text, sizeof text);
            free(copy);
        }
    aw_buf_fini(&fb);
}

Test(fatbin, not_a_fatbin)
{
    char bytes[64] = "not a fatbin";
    cr_assert_eq(walk(bytes, sizeof bytes), AW_FATBIN_BAD_MAGIC);
    struct aw_buf fb = one((struct make_entry){ .kind = 1 });
    fb.ptr[4] = 2;
    cr_assert_eq(walk(fb.ptr, fb.len), AW_FATBIN_UNSUPPORTED);
    fb.ptr[4] = 1;
    fb.ptr[6] = 8;
    cr_assert_eq(walk(fb.ptr, fb.len), AW_FATBIN_UNSUPPORTED);
    fb.ptr[6] = 16;
    fb.ptr[16 + 4] = 56;
    cr_assert_eq(walk(fb.ptr, fb.len), AW_FATBIN_UNSUPPORTED);
    aw_buf_fini(&fb);
}

static void set_size(struct aw_buf *fb, uint64_t size)
{
    memcpy(fb->ptr + 16 + 56, &size, 8);
}

Test(fatbin, decompression_claims)
{
    static const unsigned compressions[] = { MAKE_LZ4, MAKE_ZSTD };
    static const uint64_t sizes[] = { 0, 1, sizeof ptx - 1, sizeof ptx + 1, 1 << 20, 1ull << 30, (1ull << 30) + 1, 1ull << 40,
                                      UINT64_MAX };
    for (int c = 0; c < 2; c++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct aw_buf fb = one((struct make_entry){ .kind = 1, .compression = compressions[c] });
            set_size(&fb, sizes[i]);
            cr_assert_eq(walk(fb.ptr, fb.len), AW_FATBIN_CORRUPT, "size %llu", (unsigned long long)sizes[i]);
            aw_buf_fini(&fb);
        }
}

/* 100 MB of zeros pack into some KB: refused before any memory is asked for. */
Test(fatbin, bomb)
{
    size_t len = 100 << 20;
    char *zeros = calloc(1, len);
    struct aw_buf fb = one((struct make_entry){ .kind = 1, .compression = MAKE_ZSTD, .text = zeros, .len = len });
    cr_assert_lt(fb.len, 20000);
    cr_assert_eq(walk(fb.ptr, fb.len), AW_FATBIN_CORRUPT);
    aw_buf_fini(&fb);
    free(zeros);
}

/* ---- Wrappers ---- */

static uint64_t in_data[64] = { 1 }; /* a container in this object's own data, 512 bytes */

Test(fatbin, wrappers)
{
    struct aw_buf a = several((uint32_t[]){ 80 }, "-"), b = several((uint32_t[]){ 90, 75 }, "--"), none = several(NULL, "");
    const void *extra[] = { a.ptr, b.ptr, NULL };
    struct aw_fatbin_wrapper v1 = { AW_FATBIN_WRAPPER_MAGIC, 1, a.ptr, extra },
                             v2 = { AW_FATBIN_WRAPPER_MAGIC, 2, none.ptr, extra };
    const void *container;
    size_t size;
    int error;
    struct aw_fatbin_wrapper_iter iter = { 0 };
    cr_assert(aw_fatbin_wrapper_next(&v1, &iter, &container, &size, &error) && container == a.ptr && size == a.len);
    cr_assert(!aw_fatbin_wrapper_next(&v1, &iter, &container, &size, &error) && error == 0);
    iter = (struct aw_fatbin_wrapper_iter){ 0 };
    cr_assert(aw_fatbin_wrapper_next(&v2, &iter, &container, &size, &error) && container == none.ptr && size == none.len);
    cr_assert(aw_fatbin_wrapper_next(&v2, &iter, &container, &size, &error) && container == a.ptr);
    cr_assert(aw_fatbin_wrapper_next(&v2, &iter, &container, &size, &error) && container == b.ptr && size == b.len);
    cr_assert(!aw_fatbin_wrapper_next(&v2, &iter, &container, &size, &error) && error == 0);

    struct aw_fatbin_wrapper bad[] = { { 1, 1, a.ptr, NULL }, { AW_FATBIN_WRAPPER_MAGIC, 3, a.ptr, NULL },
                                       { AW_FATBIN_WRAPPER_MAGIC, 1, NULL, NULL }, { AW_FATBIN_WRAPPER_MAGIC, 1, ptx, NULL } };
    int expected[] = { AW_FATBIN_BAD_MAGIC, AW_FATBIN_UNSUPPORTED, AW_FATBIN_BAD_MAGIC, AW_FATBIN_BAD_MAGIC };
    for (int i = 0; i < 4; i++) {
        iter = (struct aw_fatbin_wrapper_iter){ 0 };
        cr_assert(!aw_fatbin_wrapper_next(&bad[i], &iter, &container, &size, &error));
        cr_assert_eq(error, expected[i], "%d: %d", i, error);
    }
    aw_buf_fini(&a);
    aw_buf_fini(&b);
    aw_buf_fini(&none);
}

/* A header in a loaded object that claims more than the object has. */
Test(fatbin, trust_ends_with_the_mapping)
{
    struct aw_buf fb = several((uint32_t[]){ 80 }, "-");
    cr_assert_leq(fb.len, sizeof in_data);
    memcpy(in_data, fb.ptr, fb.len);
    cr_assert_lt(aw_fatbin_mapped(in_data), (size_t)1 << 30);
    cr_assert_eq(aw_fatbin_mapped(fb.ptr), SIZE_MAX);
    struct aw_fatbin_wrapper wrapper = { AW_FATBIN_WRAPPER_MAGIC, 1, in_data, NULL };
    struct aw_fatbin_wrapper_iter iter = { 0 };
    const void *container;
    size_t size;
    int error;
    cr_assert(aw_fatbin_wrapper_next(&wrapper, &iter, &container, &size, &error));
    cr_assert_eq(walk(in_data, SIZE_MAX), 1);
    in_data[1] = (uint64_t)1 << 40;
    iter = (struct aw_fatbin_wrapper_iter){ 0 };
    cr_assert(!aw_fatbin_wrapper_next(&wrapper, &iter, &container, &size, &error));
    cr_assert_eq(error, AW_FATBIN_TRUNCATED);
    cr_assert_eq(walk(in_data, SIZE_MAX), AW_FATBIN_TRUNCATED);
    aw_buf_fini(&fb);
}

/* ---- ELF ---- */

struct seen {
    unsigned n, stop_after;
    size_t bytes;
};

static bool see(void *user, const void *container, size_t size)
{
    struct seen *seen = user;
    cr_assert_gt(walk(container, size), 0);
    seen->bytes += size;
    return ++seen->n != seen->stop_after;
}

/* An ELF file: head, one segment with `data`, and, when asked for, a section table that names it `name`. */
static struct aw_buf elf_with(const struct aw_buf *data, const char *name)
{
    struct aw_buf out = { 0 };
    Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_DYN,
                      .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_phoff = sizeof eh, .e_ehsize = sizeof eh,
                      .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1, .e_shentsize = sizeof(Elf64_Shdr) };
    size_t at = sizeof eh + sizeof(Elf64_Phdr);
    Elf64_Phdr ph = {
        .p_type = PT_LOAD, .p_offset = at, .p_vaddr = at, .p_filesz = data->len, .p_memsz = data->len, .p_align = 8
    };
    char names[32] = { 0 };
    size_t names_at = (at + data->len + 7) & ~(size_t)7;
    if (name) {
        snprintf(names + 1, sizeof names - 1, "%s", name);
        eh.e_shoff = names_at + sizeof names;
        eh.e_shnum = 3;
        eh.e_shstrndx = 2;
    }
    aw_buf_add(&out, &eh, sizeof eh);
    aw_buf_add(&out, &ph, sizeof ph);
    aw_buf_add(&out, data->ptr, data->len);
    aw_buf_add(&out, "\0\0\0\0\0\0\0", names_at - at - data->len);
    if (name) {
        Elf64_Shdr sh[3] = { { 0 },
                             { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = at, .sh_size = data->len },
                             { .sh_name = 0, .sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof names } };
        aw_buf_add(&out, names, sizeof names);
        aw_buf_add(&out, sh, sizeof sh);
    }
    return out;
}

/* Two containers with padding between them. */
static struct aw_buf two_containers(void)
{
    struct aw_buf out = mixed(), b = several((uint32_t[]){ 90 }, "-");
    aw_buf_add(&out, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    aw_buf_add(&out, b.ptr, b.len);
    aw_buf_fini(&b);
    return out;
}

Test(fatbin, in_elf)
{
    static const char *const names[] = { ".nv_fatbin", "__nv_relfatbin", ".rodata", NULL };
    struct aw_buf data = two_containers();
    for (int i = 0; i < 4; i++) {
        struct aw_buf elf = elf_with(&data, names[i]);
        /* read-only, as files are mapped */
        char *map = mmap(NULL, elf.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(map, elf.ptr, elf.len);
        mprotect(map, elf.len, PROT_READ);
        struct seen seen = { 0 };
        cr_assert_eq(aw_fatbin_each_in_elf(map, elf.len, see, &seen), AW_FATBIN_OK);
        cr_assert_eq(seen.n, 2, "%s: %u", names[i] ? names[i] : "no sections", seen.n);
        cr_assert_eq(seen.bytes, data.len - 16);
        seen = (struct seen){ .stop_after = 1 };
        cr_assert_eq(aw_fatbin_each_in_elf(map, elf.len, see, &seen), AW_FATBIN_OK);
        cr_assert_eq(seen.n, 1);
        munmap(map, elf.len);
        aw_buf_fini(&elf);
    }
    aw_buf_fini(&data);
}

Test(fatbin, cut_elf)
{
    struct aw_buf data = two_containers();
    struct aw_buf elf = elf_with(&data, ".nv_fatbin");
    size_t begin = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), last = begin + data.len;
    for (size_t size = 0; size < elf.len; size++) {
        char *cut = malloc(size ? size : 1);
        memcpy(cut, elf.ptr, size);
        struct seen seen = { 0 };
        int error = aw_fatbin_each_in_elf(cut, size, see, &seen);
        if (size < 4)
            cr_assert_eq(error, AW_FATBIN_BAD_MAGIC);
        else if (size >= last)
            cr_assert(error == AW_FATBIN_OK && seen.n == 2, "cut to %zu: %d, %u", size, error, seen.n);
        else if (size >= begin + 16 && size < begin + data.len - 16 && seen.n == 0)
            cr_assert_eq(error, AW_FATBIN_TRUNCATED, "cut to %zu: %d", size, error);
        free(cut);
    }
    aw_buf_fini(&elf);
    aw_buf_fini(&data);
}

Test(fatbin, not_elf)
{
    struct seen seen = { 0 };
    cr_assert_eq(aw_fatbin_each_in_elf("text", 4, see, &seen), AW_FATBIN_BAD_MAGIC);
    cr_assert_eq(aw_fatbin_each_in_elf("", 0, see, &seen), AW_FATBIN_BAD_MAGIC);
    struct aw_buf empty = { 0 };
    aw_buf_add(&empty, "data", 4);
    struct aw_buf elf = elf_with(&empty, ".rodata");
    cr_assert_eq(aw_fatbin_each_in_elf(elf.ptr, elf.len, see, &seen), AW_FATBIN_OK);
    elf.ptr[EI_DATA] = ELFDATA2MSB;
    cr_assert_eq(aw_fatbin_each_in_elf(elf.ptr, elf.len, see, &seen), AW_FATBIN_UNSUPPORTED);
    cr_assert_eq(seen.n, 0);
    aw_buf_fini(&elf);
    aw_buf_fini(&empty);
}

/* ---- Real ones ---- */

struct real {
    unsigned n_ptx, n_cubin, n_options;
    uint32_t registers;
    bool compressed;
};

static void take_registers(void *user, const char *name, uint32_t registers)
{
    uint32_t *taken = user;
    if (strcmp(name, "real_kernel") == 0)
        *taken = registers;
}

/* What a whole cubin says of real_kernel, if it has it, and that one with damage is read no further than it goes. */
static uint32_t look_at_registers(char *cubin, size_t size)
{
    uint32_t whole = 0, taken;
    cr_assert_eq(aw_fatbin_cubin_registers(cubin, size, take_registers, &whole), AW_FATBIN_OK);
    for (size_t cut = 0; cut < size; cut += cut < 128 ? 1 : 61)
        aw_fatbin_cubin_registers(cubin, cut, take_registers, &taken);
    for (size_t at = 4; at < size; at += at < 64 ? 1 : 37) {
        cubin[at] ^= 0x5a;
        aw_fatbin_cubin_registers(cubin, size, take_registers, &taken);
        cubin[at] ^= 0x5a;
    }
    cr_assert_eq(aw_fatbin_cubin_registers("no ELF file", 11, take_registers, &taken), AW_FATBIN_BAD_MAGIC);
    return whole;
}

static bool look(void *user, const void *container, size_t size)
{
    struct real *real = user;
    struct aw_fatbin_iter iter = { 0 };
    struct aw_fatbin_entry e;
    int error;
    while (aw_fatbin_next(container, size, &iter, &e, &error)) {
        char *bytes;
        size_t len;
        cr_assert_eq(aw_fatbin_extract(&e, &bytes, &len), AW_FATBIN_OK);
        if (e.kind == AW_FATBIN_PTX) {
            cr_assert(strstr(bytes, ".visible .entry real_kernel"));
            cr_assert_eq(strlen(bytes), len);
            real->n_ptx++;
            real->compressed |= e.compression != AW_FATBIN_RAW;
            real->n_options += e.options && memmem(e.options, e.options_len, "-maxrregcount=40", 16);
        } else {
            cr_assert(len > 4 && memcmp(bytes, "\177ELF", 4) == 0);
            uint32_t registers = look_at_registers(bytes, len);
            real->registers = registers ? registers : real->registers;
            real->n_cubin++;
        }
        free(bytes);
    }
    cr_assert_eq(error, AW_FATBIN_OK);
    return true;
}

Test(fatbin, made_by_nvcc, .timeout = 120)
{
    if (system("nvcc --version >/dev/null 2>&1") != 0)
        cr_skip_test("nvcc is not on PATH");
    char dir[] = "/tmp/aw-fatbin-test-XXXXXX", command[1024];
    cr_assert(mkdtemp(dir));
    snprintf(command, sizeof command,
             "cd %s && echo 'extern \"C\" __global__ void real_kernel(int *p) { *p = 1; }' >a.cu && "
             "for mode in '--no-compress' '' '--compress-mode=speed' '--compress-mode=size'; do "
             "nvcc $mode -maxrregcount=40 -gencode arch=compute_80,code=[sm_80,compute_80] -gencode "
             "arch=compute_90,code=compute_90 -w "
             "-shared -Xcompiler=-fPIC -o \"a$mode.so\" a.cu || case $mode in --compress-mode*) ;; *) exit 1;; esac; done",
             dir);
    cr_assert_eq(system(command), 0);
    static const char *const files[] = { "a--no-compress.so", "a.so", "a--compress-mode=speed.so", "a--compress-mode=size.so" };
    for (int i = 0; i < 4; i++) {
        char path[128], *bytes;
        size_t size;
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        if (i >= 2 && access(path, R_OK) != 0) /* an nvcc that has no such option */
            continue;
        cr_assert_eq(aw_file_read(path, &bytes, &size), AW_OK);
        struct real real = { 0 };
        cr_assert_eq(aw_fatbin_each_in_elf(bytes, size, look, &real), AW_FATBIN_OK);
        cr_assert_eq(real.n_ptx, 2, "%s: %u", files[i], real.n_ptx);
        cr_assert_eq(real.n_options, 2, "%s: %u", files[i], real.n_options);
        cr_assert_geq(real.n_cubin, 1);
        cr_assert(real.registers >= 4 && real.registers <= 40, "%s: %u registers", files[i], real.registers);
        cr_assert_eq(real.compressed, i > 0, "%s", files[i]);
        free(bytes);
    }
    snprintf(command, sizeof command, "rm -rf %s", dir);
    cr_assert_eq(system(command), 0);
}
