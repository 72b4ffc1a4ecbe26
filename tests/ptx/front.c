/* A driver for the golden tests of the compiler's front: parses, prints, checks and describes modules.
 *
 *     ptx_front print FILE...       the printed (n > 1: linked) module
 *     ptx_front check FILE...       messages of linking and checking, of every function too; exit 1 when there were any errors
 *     ptx_front roundtrip FILE...   each file alone: parse, print, parse, compare; then the same with the checked module
 *     ptx_front describe FILE...    kernels, closures and variables as the manifest has them
 *     ptx_front speed FILE...       parse and check times */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "module/module.h"

static struct aw_text *texts;
static int n_texts;

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool read_all(int n, char **paths)
{
    texts = calloc((size_t)n, sizeof *texts);
    for (int i = 0; i < n; i++) {
        char *bytes;
        size_t len;
        if (aw_file_read(paths[i], &bytes, &len) != AW_OK) {
            fprintf(stderr, "cannot read %s\n", paths[i]);
            return false;
        }
        texts[i] = (struct aw_text){ bytes, len, base_name(paths[i]) };
    }
    n_texts = n;
    return true;
}

static int show_diags(struct ptx_diags *diags)
{
    int failed = diags->n_errors > 0;

    if (diags->text.len)
        fputs(diags->text.ptr, stdout);
    ptx_diags_fini(diags);
    return failed;
}

static int cmd_print(void)
{
    struct ptx_diags diags = { 0 };
    struct ptx_module *m;
    struct aw_buf out = { 0 };

    if (n_texts == 1)
        ptx_parse(texts[0].ptr, texts[0].len, texts[0].name, &diags, &m);
    else
        ptx_open(texts, (size_t)n_texts, &diags, &m);
    if (m) {
        ptx_print(m, &out);
        fputs(out.ptr ? out.ptr : "", stdout);
    }
    aw_buf_fini(&out);
    ptx_module_destroy(m);
    return show_diags(&diags);
}

static int cmd_check(void)
{
    struct ptx_diags diags = { 0 };
    struct ptx_module *m;
    enum aw_status status = ptx_open(texts, (size_t)n_texts, &diags, &m);
    int failed = show_diags(&diags);

    printf("status: %s\n", aw_status_name(status));
    for (const struct ptx_func *f = m ? m->funcs : NULL; f; f = f->next) {
        printf("%.*s", AW_STR_ARG(f->errors));
        failed |= f->n_errors > 0;
    }
    ptx_module_destroy(m);
    return failed || status != AW_OK;
}

/* Prints `m`, parses that, compares. */
static bool compare_printed(const struct ptx_module *m, const char *name, const char *what)
{
    struct ptx_diags diags = { 0 };
    struct ptx_module *again = NULL;
    struct aw_buf out = { 0 };
    char why[512] = "cannot parse what was printed";
    bool ok = false;

    ptx_print(m, &out);
    if (ptx_parse(out.ptr, out.len, name, &diags, &again) == AW_OK)
        ok = ptx_equal(m, again, why, sizeof why);
    if (!ok)
        printf("%s (%s): %s\n%s", name, what, why, diags.text.ptr ? diags.text.ptr : "");
    ptx_module_destroy(again);
    ptx_diags_fini(&diags);
    aw_buf_fini(&out);
    return ok;
}

static int cmd_roundtrip(void)
{
    int failed = 0;

    for (int i = 0; i < n_texts; i++) {
        struct ptx_diags diags = { 0 };
        struct ptx_module *m;
        bool ok = ptx_parse(texts[i].ptr, texts[i].len, texts[i].name, &diags, &m) == AW_OK &&
                  compare_printed(m, texts[i].name, "parsed");
        if (ok && ptx_check(m, &diags) == AW_OK)
            ok = compare_printed(m, texts[i].name, "checked");
        failed |= show_diags(&diags) | !ok;
        printf("%s: %s\n", texts[i].name, ok ? "equal" : "FAILED");
        ptx_module_destroy(m);
    }
    return failed;
}

static void describe(const struct aw_manifest *mf)
{
    const char *base = (const char *)mf, *strings = base + mf->strings;
    const struct aw_manifest_kernel *k = (const void *)(base + mf->kernels);
    const struct aw_manifest_param *p = (const void *)(base + mf->params);
    const struct aw_manifest_var *v = (const void *)(base + mf->vars);
    const struct aw_manifest_reloc *r = (const void *)(base + mf->relocs);

    printf("ptx %u.%u sm %u arena %llu image %u\n", mf->ptx_major, mf->ptx_minor, mf->sm,
           (unsigned long long)mf->arena_size, mf->image_size);
    for (uint32_t i = 0; i < mf->n_kernels; i++, k++) {
        printf("kernel %s line %u params %u shared %u flags %u", strings + k->name, k->line, k->param_size, k->static_shared,
               k->flags);
        for (uint32_t j = 0; j < k->n_params; j++)
            printf(" %u:%u/%u", p[k->first_param + j].offset, p[k->first_param + j].size, p[k->first_param + j].align);
        printf(" maxntid %u,%u,%u reqntid %u,%u,%u\n", k->max_ntid[0], k->max_ntid[1], k->max_ntid[2], k->req_ntid[0],
               k->req_ntid[1], k->req_ntid[2]);
    }
    for (uint32_t i = 0; i < mf->n_vars; i++)
        printf("var %s space %u at %llu size %llu align %u\n", strings + v[i].name, v[i].space,
               (unsigned long long)v[i].offset, (unsigned long long)v[i].size, v[i].align);
    for (uint32_t i = 0; i < mf->n_relocs; i++)
        printf("reloc at %llu addend %lld size %u shift %u\n", (unsigned long long)r[i].at, (long long)r[i].addend, r[i].size,
               r[i].mask_shift);
}

static int cmd_describe(void)
{
    struct ptx_diags diags = { 0 };
    struct ptx_module *m;
    enum aw_status status = ptx_open(texts, (size_t)n_texts, &diags, &m);
    struct aw_manifest *mf = status == AW_OK ? ptx_manifest_build(m) : NULL;
    bool ok = mf && aw_manifest_check(mf, mf->size);

    if (ok)
        describe(mf);
    free(mf);
    ptx_module_destroy(m);
    return show_diags(&diags) | !ok;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int cmd_speed(void)
{
    for (int i = 0; i < n_texts; i++) {
        struct ptx_diags diags = { 0 };
        struct ptx_module *m;
        double start = now();
        if (ptx_parse(texts[i].ptr, texts[i].len, texts[i].name, &diags, &m) != AW_OK)
            return show_diags(&diags) | 1;
        double parsed = now();
        ptx_check(m, &diags);
        double checked = now();
        struct aw_manifest *mf = ptx_manifest_build(m);
        double mb = (double)texts[i].len / 1e6;
        printf("%s: %.1f MB, parse %.1f MB/s, check %.1f MB/s, manifest %.1f MB/s, tree %.1f MB\n", texts[i].name, mb,
               mb / (parsed - start), mb / (checked - parsed), mb / (now() - checked), (double)m->arena.total / 1e6);
        free(mf);
        ptx_module_destroy(m);
        ptx_diags_fini(&diags);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } commands[] = { { "print", cmd_print },       { "check", cmd_check }, { "roundtrip", cmd_roundtrip },
                     { "describe", cmd_describe }, { "speed", cmd_speed } };

    for (size_t i = 0; argc > 2 && i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        int result = read_all(argc - 2, argv + 2) ? commands[i].run() : 2;
        for (int t = 0; t < n_texts; t++)
            free((char *)texts[t].ptr);
        free(texts);
        return result;
    }
    fprintf(stderr, "usage: ptx_front print|check|roundtrip|describe|speed FILE...\n");
    return 2;
}
