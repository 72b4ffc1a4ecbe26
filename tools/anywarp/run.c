/* `anywarp run`: starts a program with our libraries in place of NVIDIA's, by environment alone, and becomes it.
 *
 * The environment is inherited, so what the program starts runs the same way. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "anywarp.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "locate.h"
#include "run.h"
#include "trace.h"
#include "usage.h"
#include "base/env.h"
#include "base/log.h"
#include "base/quirk.h"
#include "base/str.h"
#include "preload/preload.h"

#define AW_ROOM "run"

/* As env(1): the program was found but could not be run; it was not found. */
enum { EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

static const char run_help[] =
    "usage: anywarp run [options] [--] PROGRAM [argument...]\n\n"
    "Runs the program with anywarp's libraries in place of NVIDIA's; so runs whatever it starts.\n\n"
    "  --device=DEVICE    host, the processor; host:LEVEL, as x86-64, x86-64-v2, -v3 or -v4; hip, AMD's cards; or "
    "sim:CARD[,CARD...],\n"
    "                     simulated ones, such as sim:gfx1030.  Without it: hip where there is a card, else host\n"
    "  --stats[=FILE]     on a simulated card, count what kernels execute\n"
    "  --check=race       on a simulated card, look for races\n"
    "  --log=RULES        level[:room][,...]: err, fixme, warn, info or trace\n"
    "  --record=FILE      write down kernels and shapes of blocks, for `anywarp precompile --list`\n"
    "  --quiet            no line at the terminal while kernels compile\n\n"
    "Exit status: the program's; 2 wrong usage, or a file cannot be written; 126 it cannot be run; 127 it is not there.\n";

/* What the options ask for beyond variables of the environment. */
struct aw_run_wish {
    const char *sim; /* simulated cards, or NULL */
    bool stats, check;
};

/* What was asked for, "run" or a command that runs a program in its own way, and that with its surname. */
static const char *run_name = "run";
static char run_who[32] = "anywarp run";

static void aw_run_called(const char *name)
{
    static const char *const others[] = { "trace", "profile", "check" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(name, others[i]))
            run_name = others[i];
    snprintf(run_who, sizeof run_who, "anywarp %s", run_name);
}

static int aw_run_usage(const char *fmt, ...)
{
    char other[128];
    struct aw_buf text = { 0 };
    va_list ap;
    va_start(ap, fmt);
    aw_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    snprintf(other, sizeof other, "usage: anywarp %s [options] [options of anywarp run] PROGRAM [argument...]\n\n", run_name);
    aw_usage_wrong(run_name, strcmp(run_name, "run") ? other : run_help, "%s", text.ptr ? text.ptr : "");
    aw_buf_fini(&text);
    return 2;
}

/* Puts `first` before what the user has in a list variable, unless it is there. */
static bool aw_run_prepend(const char *variable, const char *first, char separator)
{
    const char *old = aw_env(variable);
    size_t n = strlen(first);
    if (!old || !*old)
        return setenv(variable, first, 1) == 0;
    /* Under an `anywarp run` already. */
    if (!strncmp(old, first, n) && (old[n] == '\0' || old[n] == separator))
        return true;
    char *joined = malloc(n + strlen(old) + 2);
    if (!joined)
        return false;
    sprintf(joined, "%s%c%s", first, separator, old);
    bool done = setenv(variable, joined, 1) == 0;
    free(joined);
    return done;
}

/* With an audit object the loader lays out thread-local storage before it knows the program's libraries, so those whose storage
 * must be static (ours, libgomp, allocators) live on its surplus of 512 bytes.  Give it more. */
static bool aw_run_tls_surplus(void)
{
    static const char name[] = "glibc.rtld.optional_static_tls", wanted[] = "glibc.rtld.optional_static_tls=16384";
    const char *old = aw_env("GLIBC_TUNABLES");
    return !aw_quirk_on(AW_QUIRK_STATIC_TLS) || (old && strstr(old, name)) || aw_run_prepend("GLIBC_TUNABLES", wanted, ':');
}

const char *aw_option_value(const char *name, int argc, char **argv, int *i)
{
    const char *arg = argv[*i];
    size_t n = strlen(name);
    if (strncmp(arg, name, n) != 0)
        return NULL;
    if (arg[n] == '=')
        return arg + n + 1;
    if (arg[n] != '\0')
        return NULL;
    return *i + 1 < argc ? argv[++*i] : "";
}

/* A level of x86-64; whether this machine has it, the host device says. */
static bool aw_run_is_level(const char *text)
{
    static const char *const levels[] = { "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4" };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (!strcmp(text, levels[i]))
            return true;
    return false;
}

static bool aw_run_device(const char *value, struct aw_run_wish *ret_wish)
{
    ret_wish->sim = NULL;
    if (!strncmp(value, "sim", 3) && (value[3] == '\0' || (value[3] == ':' && value[4]))) {
        ret_wish->sim = value[3] ? value + 4 : "gfx1030";
        return setenv("ANYWARP_DEVICE", "hip", 1) == 0;
    }
    if (!strncmp(value, "host:", 5) && aw_run_is_level(value + 5))
        return setenv("ANYWARP_DEVICE", "host", 1) == 0 && setenv("ANYWARP_HOST_CPU", value + 5, 1) == 0;
    if (!strcmp(value, "host") || !strcmp(value, "hip"))
        return setenv("ANYWARP_DEVICE", value, 1) == 0;
    aw_run_usage("--device is host, host:x86-64-v2, hip or sim:gfx1030, not '%s'", value);
    return false;
}

/* Sets a variable to an option's value, which must not be empty. */
static bool aw_run_set(const char *variable, const char *value, const char *complaint)
{
    if (!*value) {
        aw_run_usage("%s", complaint);
        return false;
    }
    return setenv(variable, value, 1) == 0;
}

/* The option at argv[*io_i], which is not "--"; *io_i is left at its last word.  False after a message. */
static bool aw_run_option(int argc, char **argv, int *io_i, struct aw_run_wish *ret_wish)
{
    const char *option = argv[*io_i], *value;
    if (!strcmp(option, "--help") || !strcmp(option, "-h")) {
        exit(aw_usage_help(run_help));
    }
    if (!strcmp(option, "--stats") || !strncmp(option, "--stats=", 8)) {
        ret_wish->stats = true;
        return setenv("ANYWARP_SIM_STATS", option[7] && option[8] ? option + 8 : "1", 1) == 0; /* 1: to standard error */
    }
    if (!strcmp(option, "--quiet"))
        return setenv("ANYWARP_QUIET", "1", 1) == 0;
    if ((value = aw_option_value("--device", argc, argv, io_i)))
        return aw_run_device(value, ret_wish);
    if ((value = aw_option_value("--log", argc, argv, io_i)))
        return aw_run_set("ANYWARP_LOG", value, "--log needs a level: err, fixme, warn, info or trace");
    if ((value = aw_option_value("--record", argc, argv, io_i))) {
        if (*value && !aw_trace_file(value, "ANYWARP_RECORD"))
            exit(2);
        if (!*value)
            aw_run_usage("--record needs a file");
        return *value;
    }
    if ((value = aw_option_value("--check", argc, argv, io_i))) {
        ret_wish->check = !strcmp(value, "race");
        if (!ret_wish->check)
            aw_run_usage("--check is race, not '%s'", value);
        return ret_wish->check && setenv("ANYWARP_SIM_CHECK", value, 1) == 0;
    }
    aw_run_usage("unknown option %s", option);
    return false;
}

/* Returns the index of the program in argv, or -1 with a message. */
static int aw_run_options(int argc, char **argv, struct aw_run_wish *ret_wish)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "--")) {
            i++;
            break;
        }
        if (!aw_run_option(argc, argv, &i, ret_wish))
            return -1;
    }
    if (ret_wish->stats && !ret_wish->sim) {
        aw_run_usage("--stats counts what a simulated card does: it needs --device=sim:gfx1030");
        return -1;
    }
    if (ret_wish->check && !ret_wish->sim) {
        aw_run_usage("--check watches what a simulated card does: it needs --device=sim:gfx1030");
        return -1;
    }
    return i;
}

void aw_run_find(const char *program, char ret_path[PATH_MAX])
{
    const char *path = strchr(program, '/') ? NULL : aw_env("PATH");
    ret_path[0] = '\0';
    if (!path) {
        snprintf(ret_path, PATH_MAX, "%s", program);
        return;
    }
    for (const char *p = path;; p++) {
        size_t n = strcspn(p, ":");
        int len = n ? snprintf(ret_path, PATH_MAX, "%.*s/%s", (int)n, p, program) : snprintf(ret_path, PATH_MAX, "%s", program);
        if (len > 0 && len < PATH_MAX && access(ret_path, X_OK) == 0)
            return;
        ret_path[0] = '\0';
        p += n;
        if (!*p)
            return;
    }
}

uint64_t aw_run_segments_end(const Elf64_Phdr *segments, size_t n)
{
    uint64_t end = 0;
    for (size_t i = 0; i < n; i++) {
        const Elf64_Phdr *s = &segments[i];
        uint64_t its = s->p_filesz <= UINT64_MAX - s->p_offset ? s->p_offset + s->p_filesz : UINT64_MAX;
        if (s->p_type == PT_LOAD && its > end)
            end = its;
    }
    return end;
}

/* The beginning of a program's file. */
struct aw_run_head {
    union {
        Elf64_Ehdr header;
        unsigned char bytes[8192];
    };
    size_t n;          /* of `bytes` */
    uint64_t file_size;
};

static bool aw_run_read_head(const char *path, struct aw_run_head *ret)
{
    struct stat st;
    int fd = path[0] ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd >= 0 && fstat(fd, &st) == 0 ? read(fd, ret->bytes, sizeof ret->bytes) : -1;
    if (fd >= 0)
        close(fd);
    if (n < (ssize_t)sizeof ret->header || memcmp(ret->header.e_ident, ELFMAG, SELFMAG) != 0)
        return false; /* a script, say: its interpreter inherits the environment */
    ret->n = (size_t)n;
    ret->file_size = (uint64_t)st.st_size;
    return true;
}

/* Says what keeps a program from running or from being helped: the loader maps what a file that is cut off does not have, has no
 * part in one that is linked statically as a whole, and ignores us in one with privileges. */
static void aw_run_warn(const char *program)
{
    enum { SEGMENTS_MOST = 64 };
    char path[PATH_MAX];
    struct aw_run_head head = { 0 };
    Elf64_Phdr segments[SEGMENTS_MOST];
    aw_run_find(program, path);
    if (!aw_run_read_head(path, &head))
        return;
    const Elf64_Ehdr *h = &head.header;
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != EM_X86_64) {
        aw_say(PROGRAM_NOT_X86, path);
        return;
    }
    if (h->e_phnum > SEGMENTS_MOST || h->e_phoff > head.n || h->e_phnum * sizeof *segments > head.n - h->e_phoff)
        return; /* the headers lie further on: nothing is known */
    memcpy(segments, head.bytes + h->e_phoff, h->e_phnum * sizeof *segments);
    bool interpreter = false;
    for (size_t i = 0; i < h->e_phnum; i++)
        interpreter |= segments[i].p_type == PT_INTERP;
    uint64_t end = aw_run_segments_end(segments, h->e_phnum);
    if (end > head.file_size)
        aw_say(PROGRAM_CUT, path, (unsigned long long)head.file_size, (unsigned long long)end);
    else if (!interpreter)
        aw_say(PROGRAM_STATIC, path);
}

/* Programs that start NVIDIA's assembler look for it here before PATH.  What the user has set stays. */
static const struct aw_run_tool {
    const char *variable, *program;
} run_tools[] = {
    { "TRITON_PTXAS_PATH", "ptxas" },
    { "TRITON_PTXAS_BLACKWELL_PATH", "ptxas" },
    { "TRITON_CUOBJDUMP_PATH", "cuobjdump" },
};

static bool aw_run_toolkit(const char *dir)
{
    char path[PATH_MAX + 16];
    for (size_t i = 0; i < sizeof run_tools / sizeof *run_tools && aw_quirk_on(AW_QUIRK_TRITON_TOOLS); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, run_tools[i].program);
        if (setenv(run_tools[i].variable, path, 0) != 0)
            return false;
    }
    return aw_run_prepend("PATH", dir, ':');
}

bool aw_run_environment(const struct aw_parts *parts)
{
    /* Who only asks the loader what it would find can do without these. */
    bool told = !aw_parts_loadable(parts) || (aw_run_prepend("LD_PRELOAD", aw_parts_preload(parts), ':') &&
                                              aw_run_prepend("LD_AUDIT", parts->audit, ':'));
    return told && aw_run_prepend("LD_LIBRARY_PATH", parts->lib_dir, ':') &&
           aw_run_tls_surplus() && setenv(AW_PRELOAD_DIR_VARIABLE, parts->lib_dir, 1) == 0 &&
           (!parts->toolkit[0] || aw_run_toolkit(parts->toolkit));
}

/* ROCr 5.2, which the simulated driver is made for, knows no later cards: they come with a HIP of their own. */
static bool aw_run_own_hip(const char *cards)
{
    return strstr(cards, "gfx11") || strstr(cards, "gfx12") || strstr(cards, "gfx94");
}

/* AMD's runtime takes the simulated card's driver library in place of its own because it comes first on the search path. */
static bool aw_run_simulated(const struct aw_parts *parts, const char *cards)
{
    char own[sizeof parts->sim_dir + 8];
    snprintf(own, sizeof own, "%s/hip", parts->sim_dir);
    if (aw_run_own_hip(cards))
        return setenv("ANYWARP_SIM", cards, 1) == 0 && aw_run_prepend("LD_LIBRARY_PATH", own, ':');
    /* Without this ROCr cuts small allocations from large ones, and a wild access may fall into one that is not its own. */
    if (aw_quirk_on(AW_QUIRK_ROCR_FRAGMENTS) && !aw_env("HSA_DISABLE_FRAGMENT_ALLOCATOR") &&
        setenv("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1", 1) != 0)
        return false;
    return setenv("ANYWARP_SIM", cards, 1) == 0 && aw_run_prepend("LD_LIBRARY_PATH", parts->sim_dir, ':');
}

bool aw_run_is_here(const char *name)
{
    struct stat st;
    return !strchr(name, '/') && stat(name, &st) == 0 && S_ISREG(st.st_mode) && access(name, X_OK) == 0;
}

/* gdb is told of kernels by a file of ours that comes before its own words, and kernels are compiled for it; its settings stay as
 * they are. */
static bool aw_run_is_gdb(const char *program)
{
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
    return !strcmp(name, "gdb") || !strcmp(name, "gdb-multiarch") || !strcmp(name, "rocgdb");
}

/* What is to be started; NULL without memory. */
static char **aw_run_words(int argc, char **argv, const struct aw_parts *parts)
{
    char **words = calloc((size_t)argc + 3, sizeof *words);
    int n = 0;
    if (!words)
        return NULL;
    words[n++] = argv[0];
    if (aw_run_is_gdb(argv[0]) && setenv("ANYWARP_HOST_DEBUG", "1", 0) == 0 && parts->gdb[0]) {
        words[n++] = (char *)(uintptr_t)"-ix";
        words[n++] = (char *)(uintptr_t)parts->gdb;
    }
    for (int i = 1; i < argc; i++)
        words[n++] = argv[i];
    return words;
}

int aw_run_child(int argc, char **argv)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(aw_cmd_run(argc, argv));
    if (pid < 0) {
        aw_run_called(argv[0]);
        aw_tell(run_who, RUN_CHILD, strerror(errno));
        return EXIT_CANNOT_RUN;
    }
    /* What the terminal sends goes to the program as well; its end is waited for. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int aw_cmd_run(int argc, char **argv)
{
    struct aw_parts parts;
    struct aw_run_wish wish = { 0 };
    aw_run_called(argv[0]);
    int program = aw_run_options(argc, argv, &wish);
    if (program < 0)
        return 2;
    if (program >= argc)
        return aw_run_usage("no program given");
    if (!aw_parts_locate(&parts)) {
        aw_tell(run_who, RUN_INSTALLATION, parts.program_dir, parts.lib_dir[0] ? "" : "libcudart.so.13 ",
                parts.preload[0] && parts.audit[0] ? ""
                                                   : "libanywarp-preload.so and "
                                                     "libanywarp-audit.so ",
                "not found");
        return EXIT_CANNOT_RUN;
    }
    if (!aw_parts_loadable(&parts)) {
        aw_tell(run_who, RUN_PATH, parts.preload);
        return EXIT_CANNOT_RUN;
    }
    if (wish.sim && !parts.sim_dir[0]) {
        aw_tell(run_who, RUN_SIMULATED);
        return EXIT_CANNOT_RUN;
    }
    if (!aw_run_environment(&parts) || (wish.sim && !aw_run_simulated(&parts, wish.sim))) {
        aw_tell(run_who, RUN_ENVIRONMENT, strerror(errno));
        return EXIT_CANNOT_RUN;
    }
    aw_run_warn(argv[program]);
    char **words = aw_run_words(argc - program, argv + program, &parts);
    if (words)
        execvp(words[0], words);
    int err = errno;
    free(words);
    aw_tell(run_who, RUN_EXEC, argv[program], strerror(err), aw_run_is_here(argv[program]) ? "; did you mean ./" : "",
            aw_run_is_here(argv[program]) ? argv[program] : "");
    return err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}
