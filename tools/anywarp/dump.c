/* `anywarp dump`: what CUDA code is inside a file: containers, entries, and in PTX and cubins the kernels; extracts PTX, lists
 * machine code.  The PTX of one kernel is dump_kernel.c's.  It reads ELF files, static libraries, bare fatbins, cubins and
 * PTX. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <anywarp/fatbin.h>

#include "anywarp.h"
#include "base/demangle.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "dump_kernel.h"
#include "preload/redirect.h"
#include "sass/sass.h"
#include "syntax/syntax.h"
#include "tab/form.h"
#include "usage.h"

struct dump {
    bool extract;        /* PTX instead of a listing */
    bool code;           /* list machine code, too */
    uint32_t arch;       /* only this one; 0 = all */
    const char *out_dir; /* NULL = standard output */
    const char *file;    /* as named by the user */
    const void *base;    /* its bytes */
    unsigned n_containers, n_ptx, n_cubins;
    struct aw_dump_search search; /* with extract: for one kernel */
    bool failed;
};

__attribute__((format(printf, 2, 3))) static void complain(struct dump *dump, const char *fmt, ...)
{
    struct aw_buf text = { 0 };
    va_list ap;
    fflush(stdout);
    va_start(ap, fmt);
    aw_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    aw_tell("anywarp", DUMP_FILE, dump->file, text.ptr ? text.ptr : "");
    aw_buf_fini(&text);
    dump->failed = true;
}

/* ---- PTX ---- */

static uint64_t var_size(const struct ptx_var *var)
{
    uint64_t size = (ptx_type_bits(var->type) + 7) / 8 * (var->vec ? var->vec : 1);
    for (uint32_t i = 0; i < var->n_dims && i < 8; i++)
        if (__builtin_mul_overflow(size, var->dims[i], &size))
            return UINT64_MAX;
    return size;
}

/* Ends a kernel's line: with what its name is in the source, where that is another. */
static void name_tell(struct aw_str name)
{
    char *mangled = strndup(name.ptr, name.len), *plain = mangled ? aw_demangle_text(mangled) : NULL;
    printf(")%s%s\n", plain ? "  " : "", plain ? plain : "");
    free(plain);
    free(mangled);
}

static void list_kernel(const struct ptx_func *func)
{
    unsigned n_params = 0;
    for (const struct ptx_var *p = func->params; p; p = p->next)
        n_params++;
    printf("       kernel    %.*s  (%u parameter%s, line %u", AW_STR_ARG(func->name), n_params, n_params == 1 ? "" : "s",
           func->loc.line);
    if (func->req_ntid[0])
        printf(", reqntid %ux%ux%u", func->req_ntid[0], func->req_ntid[1] ? func->req_ntid[1] : 1,
               func->req_ntid[2] ? func->req_ntid[2] : 1);
    if (func->max_ntid[0])
        printf(", maxntid %ux%ux%u", func->max_ntid[0], func->max_ntid[1] ? func->max_ntid[1] : 1,
               func->max_ntid[2] ? func->max_ntid[2] : 1);
    name_tell(func->name);
}

static void list_variable(const struct ptx_var *var)
{
    uint64_t size = var_size(var);
    printf("       variable  %.*s  (.%s%s%s, ", AW_STR_ARG(var->name), ptx_space_name(var->space),
           var->managed ? " managed" : "", var->linkage == PTX_EXTERN ? " extern" : "");
    if (size)
        printf("%llu bytes)\n", (unsigned long long)size);
    else
        puts("unsized)");
}

static void list_ptx(struct dump *dump, const char *text, size_t len)
{
    struct ptx_diags diags = { .limit = 5 };
    struct ptx_module *module = NULL;
    enum aw_status status = ptx_parse(text, len, dump->file, &diags, &module);
    for (const struct ptx_func *f = module ? module->funcs : NULL; f; f = f->next)
        if (f->is_entry && !f->is_prototype)
            list_kernel(f);
    for (const struct ptx_var *v = module ? module->vars : NULL; v; v = v->next)
        list_variable(v);
    if (status != AW_OK)
        complain(dump, "%s\n%.*s", aw_status_text(status), AW_STR_ARG(aw_buf_view(&diags.text)));
    ptx_module_destroy(module);
    ptx_diags_fini(&diags);
}

static void write_ptx(struct dump *dump, const char *text, size_t len, const char *suffix)
{
    if (!dump->out_dir) {
        if (dump->n_ptx > 0)
            puts("\n// ----------------------------------------------------------------");
        fwrite(text, 1, len, stdout);
        return;
    }
    const char *slash = strrchr(dump->file, '/'), *name = slash ? slash + 1 : dump->file;
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s.%s.ptx", dump->out_dir, name, suffix);
    if (n < 0 || (size_t)n >= sizeof path) {
        complain(dump, "the path of the output is too long");
        return;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool done = fd >= 0 && aw_fd_write_all(fd, text, len);
    if (fd >= 0 && close(fd) != 0)
        done = false;
    if (done)
        puts(path);
    else
        complain(dump, "cannot write %s: %s", path, strerror(errno));
}

/* ---- Cubins ---- */

static void list_machine_kernel(const struct dump *dump, const struct sass_cubin *cubin, uint32_t index)
{
    struct sass_kernel_info info;
    sass_kernel_info(cubin, index, &info);
    printf("       kernel    %.*s  (%u parameter%s, %u instructions, %u registers", AW_STR_ARG(info.name), info.n_params,
           info.n_params == 1 ? "" : "s", info.code_size / 16, info.registers);
    if (info.shared_size)
        printf(", %u bytes of shared memory", info.shared_size);
    if (info.local_size)
        printf(", %u bytes of local memory", info.local_size);
    if (info.req_ntid[0])
        printf(", reqntid %ux%ux%u", info.req_ntid[0], info.req_ntid[1], info.req_ntid[2]);
    if (info.max_ntid[0])
        printf(", maxntid %ux%ux%u", info.max_ntid[0], info.max_ntid[1], info.max_ntid[2]);
    name_tell(info.name);
    if (!dump->code)
        return;
    struct aw_buf text = { 0 };
    uint32_t unknown = sass_list(cubin, index, &text);
    fwrite(text.ptr, 1, text.len, stdout);
    if (unknown)
        printf("       %u instruction%s of it not known\n", unknown, unknown == 1 ? " is" : "s are");
    aw_buf_fini(&text);
}

static void list_cubin(struct dump *dump, const void *bytes, size_t size)
{
    struct sass_cubin *cubin;
    const char *why;
    dump->n_cubins++;
    enum aw_status status = sass_open(bytes, size, &cubin, &why);
    if (status == AW_ERR_NO_BINARY) { /* no damage: of another generation */
        printf("       %s\n", why);
        return;
    }
    if (status != AW_OK) {
        complain(dump, "cubin: %s", why);
        return;
    }
    for (uint32_t i = 0; i < sass_kernel_count(cubin); i++)
        list_machine_kernel(dump, cubin, i);
    sass_close(cubin);
}

/* ---- Containers ---- */

static void list_entry(const struct aw_fatbin_entry *e, unsigned number)
{
    static const char *const compressions[] = { "", " lz4", " zstd", " compressed in a way not known" };
    const char *kind = e->kind == AW_FATBIN_PTX ? "PTX" : e->kind == AW_FATBIN_ELF ? "cubin" : e->kind == AW_FATBIN_NVVM ? "LTO"
                                                                                              : NULL;
    printf("  %3u  ", number);
    if (kind)
        printf("%-5s ", kind);
    else
        printf("kind %d ", (int)e->kind);
    char suffix[2] = { e->sm_suffix, 0 };
    printf("%s_%u%s", e->kind == AW_FATBIN_ELF ? "sm" : "compute", e->sm, suffix);
    printf("  %s %u.%u  %zu bytes", e->kind == AW_FATBIN_PTX ? "ISA" : "version", e->isa_major, e->isa_minor, e->payload_size);
    if (e->compression != AW_FATBIN_RAW)
        printf("%s, %zu uncompressed", compressions[e->compression], e->size);
    if (e->identifier)
        printf("  from %.*s", (int)e->identifier_len, e->identifier);
    if (e->options && e->options_len)
        printf("  options \"%.*s\"", (int)e->options_len, e->options);
    printf("  flags 0x%llx\n", (unsigned long long)e->flags);
}

static void dump_entry(struct dump *dump, const struct aw_fatbin_entry *entry, unsigned number)
{
    if (dump->arch && entry->sm != dump->arch)
        return;
    if (!dump->extract)
        list_entry(entry, number);
    bool cubin = entry->kind == AW_FATBIN_ELF && (!dump->extract || dump->search.wanted);
    if (entry->kind != AW_FATBIN_PTX && !cubin)
        return;
    char *text;
    size_t len;
    int error = aw_fatbin_extract(entry, &text, &len);
    if (error != AW_FATBIN_OK) {
        complain(dump, "fatbin %u, entry %u: %s", dump->n_containers, number, aw_fatbin_error_text(error));
        return;
    }
    if (dump->search.wanted) {
        aw_dump_search_add(&dump->search, entry, true, (struct aw_str){ text, len });
        free(text);
        return;
    }
    if (cubin) {
        list_cubin(dump, text, len);
        free(text);
        return;
    }
    if (dump->extract) {
        char suffix[64], lock[2] = { entry->sm_suffix, 0 };
        snprintf(suffix, sizeof suffix, "%u.%u.compute_%u%s", dump->n_containers, number, entry->sm, lock);
        write_ptx(dump, text, len, suffix);
    } else {
        list_ptx(dump, text, len);
    }
    dump->n_ptx++;
    free(text);
}

static bool dump_container(void *user, const void *container, size_t size)
{
    struct dump *dump = user;
    struct aw_fatbin_iter iter = { 0 };
    struct aw_fatbin_entry entry;
    unsigned number = 0;
    int error;
    dump->n_containers++;
    if (!dump->extract) {
        char text[512];
        aw_fatbin_describe(container, size, text, sizeof text);
        printf("fatbin %u at 0x%zx, %zu bytes: %s\n", dump->n_containers,
               (size_t)((const char *)container - (const char *)dump->base), size, text);
    }
    while (aw_fatbin_next(container, size, &iter, &entry, &error))
        dump_entry(dump, &entry, ++number);
    if (error != AW_FATBIN_OK)
        complain(dump, "fatbin %u, after entry %u: %s", dump->n_containers, number, aw_fatbin_error_text(error));
    return true;
}

/* ---- Files ---- */

/* Says what would keep a program from running. */
static void foresee(struct dump *dump)
{
    static struct aw_redirect_plan plan;
    struct aw_elf elf;
    if (dump->extract || !aw_elf_open(&elf, dump->file))
        return;
    aw_redirect_plan(&elf, &plan);
    if (aw_redirect_hindrance(plan.kind))
        printf("note: `anywarp run` will fail: %s %s\n", dump->file, aw_redirect_hindrance(plan.kind));
    aw_elf_close(&elf);
}

static bool starts(const char *bytes, size_t size, const char *magic, size_t len)
{
    return size >= len && memcmp(bytes, magic, len) == 0;
}

/* PTX begins with .version, after comments and blanks. */
static bool is_ptx(const char *p, size_t size)
{
    const char *end = p + size;
    for (;;) {
        while (p < end && strchr(" \t\r\n", *p) && *p)
            p++;
        if (end - p >= 2 && p[0] == '/' && p[1] == '/') {
            p = memchr(p, '\n', (size_t)(end - p));
        } else if (end - p >= 2 && p[0] == '/' && p[1] == '*') {
            p = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
            p = p ? p + 2 : NULL;
        } else {
            return starts(p, (size_t)(end - p), ".version", 8);
        }
        if (!p)
            return false;
    }
}

/* Looks for the kernel in a file that is one image. */
static void search_file(struct dump *dump, enum aw_fatbin_kind kind, const char *bytes, size_t size)
{
    struct aw_fatbin_entry entry = { .kind = kind, .payload = bytes, .payload_size = size };
    aw_dump_search_add(&dump->search, &entry, false, (struct aw_str){ bytes, size });
}

static void dump_elf(struct dump *dump, const char *bytes, size_t size)
{
    enum { EM_CUDA_MACHINE = 190 };
    /* What a linker of ours made is PTX under a cubin's name. */
    bool ours = aw_fatbin_elf_size(bytes, size) != 0;
    if (!ours && size >= 20 && (unsigned char)bytes[18] == EM_CUDA_MACHINE && bytes[19] == 0) {
        if (dump->search.wanted)
            search_file(dump, AW_FATBIN_ELF, bytes, size);
        else if (dump->extract)
            complain(dump, "is a cubin: code for one NVIDIA architecture, with no PTX in it");
        else
            list_cubin(dump, bytes, size);
        return;
    }
    int error = aw_fatbin_each_in_elf(bytes, size, dump_container, dump);
    if (error != AW_FATBIN_OK)
        complain(dump, "%s", aw_fatbin_error_text(error));
}

/* A static library: 60-byte headers with sizes as decimal text, members on even offsets. */
static void dump_archive(struct dump *dump, const char *bytes, size_t size)
{
    for (size_t at = 8; at < size;) {
        char digits[11] = { 0 }, *end;
        if (size - at < 60 || bytes[at + 58] != '`' || bytes[at + 59] != '\n') {
            complain(dump, "the archive is damaged at 0x%zx", at);
            return;
        }
        memcpy(digits, bytes + at + 48, 10);
        unsigned long long len = strtoull(digits, &end, 10);
        at += 60;
        if (end == digits || len > size - at) {
            complain(dump, "the archive is cut short at 0x%zx", at);
            return;
        }
        if (starts(bytes + at, (size_t)len, "\177ELF", 4))
            dump_elf(dump, bytes + at, (size_t)len);
        at += (size_t)len + (len & 1);
    }
}

static bool is_nvidias(const char *file);

/* Writes the PTX of the kernel that was looked for. */
static void write_kernel(struct dump *dump)
{
    struct aw_buf text = { 0 }, why = { 0 };
    const struct aw_dump_kernel *kernel = aw_dump_search_end(&dump->search, &why);
    if (kernel && !kernel->is_ptx && is_nvidias(dump->file))
        complain(dump, "is a library of NVIDIA's, whose machine code its licence does not let us lift");
    else if (kernel && aw_dump_kernel_text(kernel, &text, &why))
        write_ptx(dump, text.ptr, text.len, "kernel");
    else
        complain(dump, "%s", why.ptr ? why.ptr : aw_status_text(AW_ERR_OUT_OF_MEMORY));
    aw_buf_fini(&text);
    aw_buf_fini(&why);
}

static void dump_bytes(struct dump *dump, const char *bytes, size_t size)
{
    uint32_t magic = 0;
    dump->base = bytes;
    if (size >= 4)
        memcpy(&magic, bytes, 4);
    if (starts(bytes, size, "\177ELF", 4)) {
        dump_elf(dump, bytes, size);
        foresee(dump);
    } else if (magic == AW_FATBIN_MAGIC) {
        dump_container(dump, bytes, size);
    } else if (starts(bytes, size, "!<arch>\n", 8)) {
        dump_archive(dump, bytes, size);
    } else if (is_ptx(bytes, size) && dump->search.wanted) {
        search_file(dump, AW_FATBIN_PTX, bytes, size);
    } else if (is_ptx(bytes, size)) {
        dump->n_ptx++;
        if (dump->extract)
            write_ptx(dump, bytes, size, "0");
        else
            list_ptx(dump, bytes, size);
        return;
    } else {
        complain(dump, size == 0 ? "is empty" : "is neither an ELF file, a static library, a fatbin nor PTX");
        return;
    }
    if (dump->failed)
        return;
    if (dump->search.wanted)
        write_kernel(dump);
    else if (dump->n_containers == 0 && dump->n_cubins == 0)
        complain(dump, "holds no CUDA code");
    else if (dump->extract && dump->n_ptx == 0)
        complain(dump, "holds no PTX%s", dump->arch ? " for this architecture" : "");
}

/* NVIDIA's libraries may not be disassembled, by their licence. */
static bool is_nvidias(const char *file)
{
    static const char *const names[] = { "libcublas",   "libcudnn", "libcufft",  "libcurand", "libcusolver", "libcusparse",
                                         "libcutensor", "libnpp",   "libnccl",   "libnvjpeg", "libnvrtc",    "libnvJitLink",
                                         "libnvinfer",  "libcuda.", "libcudart", "libcupti" };
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static int dump_file(struct dump *dump)
{
    struct stat st;
    if (dump->code && is_nvidias(dump->file)) {
        complain(dump, "is a library of NVIDIA's, whose machine code its licence does not let us list");
        return 1;
    }
    int fd = open(dump->file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        complain(dump, "%s", strerror(errno));
    } else if (S_ISDIR(st.st_mode)) {
        complain(dump, "is a directory");
    } else if (S_ISREG(st.st_mode) && st.st_size > 0) {
        /* mapped: libraries of several GB, of which little is read */
        void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED) {
            complain(dump, "cannot be mapped: %s", strerror(errno));
        } else {
            dump_bytes(dump, bytes, (size_t)st.st_size);
            munmap(bytes, (size_t)st.st_size);
        }
    } else {
        char *bytes;
        size_t size;
        enum aw_status status = aw_file_read(dump->file, &bytes, &size);
        if (status == AW_OK) {
            dump_bytes(dump, bytes, size);
            free(bytes);
        } else {
            complain(dump, "%s", aw_status_text(status));
        }
    }
    if (fd >= 0)
        close(fd);
    return dump->failed ? 1 : 0;
}

static const char help[] =
    "usage: anywarp dump [options] FILE...\n"
    "       anywarp dump --ptx [options] KERNEL FILE...\n\n"
          "Shows what CUDA code is inside programs, libraries, fatbins, cubins and PTX files.\n\n"
          "  --ptx        write the PTX instead of a listing; and where the first FILE is no file but a part of a\n"
          "               kernel's name, mangled or not, without the other kernels, lifted if it is machine code\n"
          "  --code       list the machine code of cubins, too\n"
          "  --arch N     only what is for this architecture: 80, sm_80 or compute_80\n"
          "  -o DIR       with --ptx: one file per PTX into DIR\n\n"
    "Exit status: 0; 1 a file cannot be read, or holds no CUDA code; 2 wrong usage.\n";

static bool parse_arch(const char *text, uint32_t *ret_arch)
{
    char *end;
    if (strncmp(text, "sm_", 3) == 0)
        text += 3;
    else if (strncmp(text, "compute_", 8) == 0)
        text += 8;
    unsigned long value = strtoul(text, &end, 10);
    if (end == text || *text == '-' || (*end && *end != 'a' && *end != 'f') || value == 0 || value > 9999)
        return false;
    *ret_arch = (uint32_t)value;
    return true;
}

int aw_cmd_dump(int argc, char **argv)
{
    static const struct option options[] = {
        { "ptx", no_argument, NULL, 'p' }, { "arch", required_argument, NULL, 'a' },
        { "output", required_argument, NULL, 'o' }, { "code", no_argument, NULL, 'c' }, { "help", no_argument, NULL, 'h' }, { 0 },
    };
    struct dump all = { 0 };
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":ho:", options, NULL)) != -1;) {
        if (c == 'p')
            all.extract = true;
        else if (c == 'c')
            all.code = true;
        else if (c == 'o')
            all.out_dir = optarg;
        else if (c == 'h')
            return aw_usage_help(help);
        else if (c != 'a')
            return aw_usage_option("dump", help, c, argv);
        else if (!parse_arch(optarg, &all.arch)) {
            aw_tell("anywarp", DUMP_ARCH, optarg);
            return 2;
        }
    }
    if (optind >= argc)
        return aw_usage_wrong("dump", help, "no file given");
    if ((all.out_dir && !all.extract) || (all.code && all.extract))
        return aw_usage_wrong("dump", help, all.code ? "--ptx or --code, not both" : "-o is for --ptx");
    if (all.out_dir && mkdir(all.out_dir, 0777) != 0 && errno != EEXIST) {
        aw_tell("anywarp", DUMP_FOLDER, all.out_dir, strerror(errno));
        return 1;
    }
    /* whoever has a file with a kernel's name can say ./NAME */
    if (all.extract && argc - optind > 1 && access(argv[optind], F_OK) != 0 && !strchr(argv[optind], '/'))
        all.search.wanted = argv[optind++];
    int result = 0;
    for (int i = optind; i < argc; i++) {
        struct dump dump = all;
        dump.file = argv[i];
        if (argc - optind > 1 && !all.extract)
            printf("%s%s:\n", i > optind ? "\n" : "", dump.file);
        result |= dump_file(&dump);
        aw_dump_search_fini(&dump.search);
    }
    return result;
}
