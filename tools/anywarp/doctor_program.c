/* `anywarp doctor PROGRAM`: which CUDA runtime it has, which libraries it needs, what code is in it, and which kernels will
 * not compile.
 *
 * The program is not started: the loader lists its libraries, with our own in place of NVIDIA's as `anywarp run` has them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/demangle.h"
#include "core/device.h"
#include "findings.h"
#include "kernels.h"
#include "needs.h"
#include "preload/redirect.h"
#include "run.h"

enum { KERNELS_MOST = 200, DETAILS_MOST = 20 };

struct program {
    const struct aw_parts *parts;
    char path[PATH_MAX];
    struct aw_elf elf;
    bool elf_open, script, code_alone;
    bool shared_object; /* a library, not a program */
    struct aw_kernel_list kernels;
    struct aw_needs needs;
};

/* ---- The file. */

/* The value of a flag word of the dynamic section, 0 when it has none. */
static uint64_t dynamic_value(const struct aw_elf *elf, int64_t tag)
{
    const Elf64_Phdr *segment = aw_needs_segment(elf, PT_DYNAMIC);
    for (uint64_t at = 0; segment && at + sizeof(Elf64_Dyn) <= segment->p_filesz; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn d;
        memcpy(&d, elf->bytes + segment->p_offset + at, sizeof d);
        if (d.d_tag == tag)
            return d.d_un.d_val;
    }
    return 0;
}

/* No ELF file: a script, or device code alone. */
static enum aw_grade check_other(struct program *p)
{
    char head[2] = "";
    FILE *f = fopen(p->path, "rb");
    p->script = f && fread(head, 1, 2, f) == 2 && !memcmp(head, "#!", 2);
    if (f)
        fclose(f);
    if (p->script)
        return aw_find(AW_NOTE, "program", "look at the programs and libraries that it starts and loads, one by one",
                       "%s is a script", p->path);
    p->code_alone = aw_core_init() == AW_OK && aw_kernel_list_add(&p->kernels, p->path);
    if (p->code_alone)
        return aw_find(AW_GOOD, "program", NULL, "%s is device code, which programs load", p->path);
    return aw_find(AW_BAD, "program", NULL, "%s is no 64-bit x86 program or library, and holds no CUDA code", p->path);
}

static enum aw_grade check_file(struct program *p)
{
    struct stat st;
    if (stat(p->path, &st) != 0)
        return aw_find(AW_BAD, "program", NULL, "%s: %s", p->path, strerror(errno));
    p->elf_open = aw_elf_open(&p->elf, p->path);
    if (!p->elf_open)
        return check_other(p);
    uint64_t end = aw_run_segments_end(p->elf.segments, p->elf.n_segments);
    if (end > p->elf.size)
        return aw_find(AW_BAD, "program", "copy or build it again",
                       "%s is cut off: it has %llu bytes, and its segments take %llu", p->path, (unsigned long long)p->elf.size,
                       (unsigned long long)end);
    const Elf64_Phdr *interp = aw_needs_segment(&p->elf, PT_INTERP);
    p->shared_object = !interp && p->elf.header->e_type == ET_DYN && !(dynamic_value(&p->elf, DT_FLAGS_1) & DF_1_PIE);
    if (!interp && !p->shared_object)
        return aw_find(AW_BAD, "program", "link it with the C library as a shared one (no `-static`)",
                       "%s is linked statically as a whole (no dynamic loader), so anywarp has no way into it", p->path);
    if (st.st_mode & (S_ISUID | S_ISGID))
        return aw_find(AW_NOTE, "program", "the loader ignores anywarp for other users: run it as the user who owns it",
                       "%s runs with other rights than its user's (setuid or setgid)", p->path);
    return aw_find(AW_GOOD, "program", NULL, "%s is a %s", p->path, p->shared_object ? "library" : "program for x86-64");
}

static enum aw_grade check_runtime(struct program *p)
{
    static struct aw_redirect_plan plan;
    aw_redirect_plan(&p->elf, &plan);
    const char *hindrance = aw_redirect_hindrance(plan.kind);
    if (hindrance)
        return aw_find(AW_BAD, "runtime", NULL, "it %s", hindrance);
    if (plan.kind == AW_REDIRECT_STATIC)
        return aw_find(AW_GOOD, "runtime", NULL, "CUDA's runtime is linked into it; calls of its %zu functions go to our %s",
                       plan.n, aw_redirect_soname(plan.runtime));
    for (size_t i = 0; i < p->needs.list.n; i++)
        if (!strncmp(p->needs.list.at[i].name, "libcudart.so", 12))
            return aw_find(AW_GOOD, "runtime", NULL, "shared: %s", p->needs.list.at[i].name);
    for (size_t i = 0; i < p->needs.list.n; i++)
        if (!strncmp(p->needs.list.at[i].name, "libcuda.so", 10))
            return aw_find(AW_GOOD, "runtime", NULL, "none: it uses the driver's interface, %s", p->needs.list.at[i].name);
    return aw_find(AW_NOTE, "runtime", "if it opens libraries by itself as it runs, look at those, too",
                   "it names neither CUDA's runtime nor its driver");
}

/* ---- Its libraries. */

static enum aw_grade check_libraries(struct program *p)
{
    struct aw_buf ours = { 0 }, missing = { 0 }, foreign = { 0 };
    enum aw_grade grade = AW_GOOD;
    for (size_t i = 0; i < p->needs.list.n; i++) {
        const struct aw_need *l = &p->needs.list.at[i];
        struct aw_buf *list = !l->path                             ? &missing
                              : !aw_need_is_cudas(l->name)         ? NULL
                              : aw_need_is_ours(p->parts, l->path) ? &ours
                                                                   : &foreign;
        if (list)
            aw_buf_printf(list, "%s%s", list->len ? " " : "", l->name);
    }
    if (ours.len)
        aw_find(AW_GOOD, "ours", NULL, "%s", ours.ptr);
    if (foreign.len)
        grade = aw_find(
            AW_NOTE, "theirs",
            "anywarp has no library in their place: calls that ask NVIDIA's driver for more than CUDA's interface fail", "%s",
            foreign.ptr);
    if (missing.len)
        grade = aw_find(AW_BAD, "missing", "install the packages that have them, or name their folders in LD_LIBRARY_PATH",
                        "%s: not found", missing.ptr);
    aw_buf_fini(&ours);
    aw_buf_fini(&missing);
    aw_buf_fini(&foreign);
    return grade;
}

/* ---- Its kernels. */

static void problem_find(const char *title, const char *text)
{
    char *plain = aw_demangle_text(title);
    aw_find_detail("%s", plain ? plain : title);
    free(plain);
    for (const char *line = text; line && *line;) {
        size_t n = strcspn(line, "\n");
        char *one = n ? strndup(line, n) : NULL, *known = one ? aw_demangle_text(one) : NULL;
        if (one)
            aw_find_detail("  %s", known ? known : one);
        free(known);
        free(one);
        line += n + (line[n] == '\n');
    }
}

static unsigned kernels_report(const struct aw_kernel_list *list, struct aw_kernel_job *jobs, size_t n, size_t total)
{
    unsigned failed = 0, shown = 0;
    for (size_t i = 0; i < n; i++)
        failed += jobs[i].status != AW_OK;
    if (failed)
        aw_find(AW_BAD, "kernels", "what launches them gets an error; what does not use them runs",
                "%u of %zu kernels will not compile", failed, total);
    else if (n < total)
        aw_find(AW_NOTE, "kernels", "--all compiles every one", "%zu kernels, more than %d: not compiled here", total,
                KERNELS_MOST);
    else if (total)
        aw_find(AW_GOOD, "kernels", NULL, total == 1 ? "the one kernel compiles" : "all %zu compile", total);
    for (size_t i = 0; i < n; i++) {
        if (jobs[i].status == AW_OK || shown++ >= DETAILS_MOST)
            continue;
        char title[4096];
        snprintf(title, sizeof title, "%s: %s", aw_kernel_list_name(jobs[i].image, jobs[i].index),
                 aw_status_text(jobs[i].status));
        problem_find(title, jobs[i].text);
    }
    if (shown > DETAILS_MOST)
        aw_find_detail("and %u more", shown - DETAILS_MOST);
    for (size_t i = 0; i < list->problems.n; i++) {
        aw_find(AW_BAD, "image", NULL, "code in %s cannot be used: %s", list->problems.at[i].file,
                aw_status_text(list->problems.at[i].status));
        problem_find("the reason:", list->problems.at[i].text);
    }
    return failed + (unsigned)list->problems.n;
}

static enum aw_grade compile_all(const struct aw_kernel_list *list, bool all)
{
    AW_VEC(struct aw_kernel_job) jobs = { 0 };
    size_t total = 0, n = 0;
    for (size_t i = 0; i < list->images.n; i++)
        for (uint32_t k = 0; k < list->images.at[i].manifest->n_kernels; k++) {
            const struct aw_kernel_image *image = &list->images.at[i];
            struct aw_kernel_job job = { .image = image, .index = k };
            aw_kernel_usual_shape(aw_kernel_list_at(image, k), job.block);
            if (!aw_kernel_list_toolkits(aw_kernel_list_name(image, k)) && ++total && !aw_vec_push(&jobs, job))
                return AW_BAD;
        }
    for (size_t i = 0; i < jobs.n; i++) /* of too many, those whose text is known to be wrong */
        if (all || total <= KERNELS_MOST || (aw_kernel_list_at(jobs.at[i].image, jobs.at[i].index)->flags & AW_KERNEL_BROKEN))
            jobs.at[n++] = jobs.at[i];
    aw_kernel_jobs_run(jobs.at, n, aw_device_find(0), NULL, NULL);
    unsigned failed = kernels_report(list, jobs.at, n, total);
    for (size_t i = 0; i < n; i++)
        free(jobs.at[i].text);
    aw_vec_fini(&jobs);
    return failed ? AW_BAD : AW_GOOD;
}

static enum aw_grade check_code(struct program *p, bool all)
{
    struct aw_kernel_list *list = &p->kernels;
    if (aw_core_init() != AW_OK || !aw_device_find(0))
        return aw_find(AW_BAD, "code", NULL, "no device: its kernels were not looked at");
    bool found = p->code_alone || aw_kernel_list_add(list, p->path);
    for (size_t i = 0; i < p->needs.list.n; i++) /* neither our own nor NVIDIA's */
        if (p->needs.list.at[i].path && !aw_need_is_cudas(p->needs.list.at[i].name) &&
            !aw_need_is_ours(p->parts, p->needs.list.at[i].path))
            found |= aw_kernel_list_add(list, p->needs.list.at[i].path);
    if (!found)
        return aw_find(AW_NOTE, "code", "what it makes as it runs, or has in libraries that it opens by itself, is not seen here",
                       "no kernels in it");
    const char *only = list->n_machine && !list->n_ptx
                           ? "machine code of NVIDIA's alone, which is lifted to PTX (docs/lifting.md)"
                       : list->n_machine
                           ? "PTX, and machine code of NVIDIA's where there is none, which is lifted (docs/lifting.md)"
                           : "PTX";
    aw_find(list->n_machine ? AW_NOTE : AW_GOOD, "code", NULL, "%s; %zu image%s in %zu file%s", only, list->images.n,
            list->images.n == 1 ? "" : "s", list->files.n, list->files.n == 1 ? "" : "s");
    return compile_all(list, all);
}

static void program_fini(struct program *p)
{
    aw_kernel_list_fini(&p->kernels);
    if (p->elf_open)
        aw_elf_close(&p->elf);
    aw_needs_fini(&p->needs);
}

bool aw_doctor_program(const struct aw_parts *parts, const char *path, bool all)
{
    struct program p = { .parts = parts };
    char verdict[PATH_MAX + 256];
    bool here = access(path, F_OK) == 0; /* as `dump` takes it; else as `run` does */
    if (!here)
        aw_run_find(path, p.path);
    if (!p.path[0])
        snprintf(p.path, sizeof p.path, "%s%s", here && !strchr(path, '/') ? "./" : "", path);
    bool starts = check_file(&p) != AW_BAD, sound = true;
    if (starts && p.elf_open) {
        if (!aw_needs_list(p.parts, &p.elf, p.path, &p.needs))
            aw_find(AW_NOTE, "libraries", NULL, "the loader does not list them");
        starts = check_runtime(&p) != AW_BAD;
        starts &= check_libraries(&p) != AW_BAD;
    }
    if (p.elf_open || p.code_alone)
        sound = check_code(&p, all) != AW_BAD;
    snprintf(verdict, sizeof verdict,
             !starts                           ? "%s cannot run: see FAIL above."
             : !sound                          ? "Not all of the code in %s can be used: see FAIL above."
             : p.shared_object || p.code_alone ? "Programs that load %s can run: anywarp run PROGRAM"
                                               : "It can run: anywarp run %s",
             p.path);
    aw_findings_end(starts && sound, verdict);
    program_fini(&p);
    return starts && sound;
}
