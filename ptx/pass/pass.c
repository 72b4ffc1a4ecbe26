/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/pass.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* instcombine can abort when it has not reached its fixed point in one round, hence the option. */
#define IC "instcombine<no-verify-fixpoint>"

#define LANE PTX_PASS_LANE
#define STRUCTURE PTX_PASS_STRUCTURE
#define VECTOR PTX_PASS_VECTOR
#define MACHINE PTX_PASS_MACHINE
#define HOST PTX_PASS_HOST
#define AMD PTX_PASS_AMD
#define QUICK PTX_PASS_QUICK
#define AVX2 PTX_PASS_AVX2
#define AVX512 PTX_PASS_AVX512
#define BMI2 PTX_PASS_BMI2
#define GATHERS PTX_PASS_GATHERS
#define NO_AVX2 PTX_PASS_NO_AVX2
#define NO_AVX512 PTX_PASS_NO_AVX512
#define LLVM(pipeline) PTX_PASS_LLVM, pipeline
#define OWN PTX_PASS_OWN, NULL
#define INNER PTX_PASS_INNER, NULL
#define NEEDED PTX_PASS_NEEDED
#define DISABLE PTX_PASS_DISABLE
#define FORCE PTX_PASS_FORCE
#define AW_PASS(ID, name, stage, on, ...) ROW(name, stage, on, __VA_ARGS__)
#define ROW(name, stage, on, how, pipeline, may, needs, changes, what, test) \
    { #name, stage, on, how, pipeline, may, needs, changes, what, #test },
static const struct ptx_pass_info passes[PTX_PASS_COUNT] = {
#include "pass/pass.def"
};
#undef AW_PASS

/* The functions of the OWN ones. */
#define AW_PASS(ID, name, stage, on, how, ...) [PTX_PASS_##ID] = BODY_##how(name),
#define BODY_OWN(name) ptx_run_##name
#define BODY_INNER(name) NULL
#define BODY_NOTHING(name) NULL
#define BODY_LLVM(pipeline) BODY_NOTHING
static int (*const bodies[PTX_PASS_COUNT])(struct ptx_pipeline *pipe) = {
#include "pass/pass.def"
};
#undef AW_PASS

const struct ptx_pass_info *ptx_pass_info(enum ptx_pass pass)
{
    return &passes[pass];
}

static const struct ptx_threshold_info thresholds[PTX_THRESHOLD_COUNT] = {
#define AW_THRESHOLD(ID, name, value, pass, candidates, rows, what) { #name, value, PTX_PASS_##pass, candidates, rows, what },
#include "pass/threshold.def"
#undef AW_THRESHOLD
};

const struct ptx_threshold_info *ptx_threshold_info(enum ptx_threshold id)
{
    return &thresholds[id];
}

/* ---- What is asked for */

static int pass_find(struct aw_str name)
{
    for (int i = 0; i < PTX_PASS_COUNT; i++)
        if (strlen(passes[i].name) == name.len && !memcmp(passes[i].name, name.ptr, name.len))
            return i;
    return -1;
}

enum verb { PRINT, STOP, LEAVE_OUT, DO_ALWAYS };

static const char *refusal(enum verb verb, const struct ptx_pass_info *pass)
{
    if (verb == LEAVE_OUT && pass->may == PTX_PASS_NEEDED)
        return "is needed for right code and cannot be left out";
    if (verb == DO_ALWAYS && pass->may != PTX_PASS_FORCE)
        return "has no choice that could be forced";
    if (verb == STOP && pass->how == PTX_PASS_INNER)
        return "is a step inside another pass; use --print-after";
    return NULL;
}

static int wish_add(enum verb verb, struct aw_str name, struct ptx_pass_wishes *ret, struct aw_buf *diags)
{
    if (verb == PRINT && aw_str_eq(name, aw_str_from("all"))) {
        memset(ret->print, true, sizeof ret->print);
        return AW_OK;
    }
    int id = pass_find(name);
    const char *why = id < 0 ? "is not known; `anywarp compile --passes` lists them" : refusal(verb, &passes[id]);
    if (why) {
        aw_buf_printf(diags, "<options>:0:0: error: pass '%.*s' %s\n", (int)name.len, name.ptr, why);
        return AW_ERR_INVALID_VALUE;
    }
    if (verb == STOP)
        ret->stop = 1 + id;
    else
        (verb == PRINT ? ret->print : verb == LEAVE_OUT ? ret->disabled : ret->forced)[id] = true;
    return AW_OK;
}

/* "NAME,NAME" */
static int wishes_add(enum verb verb, const char *text, size_t len, struct ptx_pass_wishes *ret, struct aw_buf *diags)
{
    int status = AW_OK;
    for (size_t at = 0, n; at <= len && status == AW_OK; at += n + 1) {
        const char *comma = memchr(text + at, ',', len - at);
        n = comma ? (size_t)(comma - text) - at : len - at;
        status = wish_add(verb, (struct aw_str){ text + at, n }, ret, diags);
    }
    return status;
}

/* "NAME=VALUE" */
static int threshold_set(struct aw_str text, struct ptx_pass_wishes *ret, struct aw_buf *diags)
{
    const char *is = memchr(text.ptr, '=', text.len);
    struct aw_str name = { text.ptr, is ? (size_t)(is - text.ptr) : text.len };
    int id = 0;
    while (id < PTX_THRESHOLD_COUNT && !aw_str_eq(name, aw_str_from(thresholds[id].name)))
        id++;
    char *end = NULL;
    long value = is ? strtol(is + 1, &end, 10) : 0;
    if (id < PTX_THRESHOLD_COUNT && value > 0 && value <= INT_MAX && end == text.ptr + text.len) {
        ret->set[id] = (int)value;
        return AW_OK;
    }
    aw_buf_printf(
        diags, "<options>:0:0: error: '%.*s' is no threshold with a value from 1 on; `anywarp compile --thresholds` lists them\n",
        (int)text.len, text.ptr);
    return AW_ERR_INVALID_VALUE;
}

static int word_read(const char *word, size_t len, struct ptx_pass_wishes *ret, struct aw_buf *diags)
{
    static const struct {
        const char *name;
        enum verb verb;
    } verbs[] = { { "print-after=", PRINT }, { "stop-after=", STOP }, { "disable=", LEAVE_OUT }, { "force=", DO_ALWAYS } };
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        size_t n = strlen(verbs[i].name);
        if (len >= n && !memcmp(word, verbs[i].name, n))
            return wishes_add(verbs[i].verb, word + n, len - n, ret, diags);
    }
    struct aw_str w = { word, len };
    if (len > 4 && !memcmp(word, "set=", 4))
        return threshold_set((struct aw_str){ word + 4, len - 4 }, ret, diags);
    ret->verify |= aw_str_eq(w, aw_str_from("verify-each"));
    ret->times |= aw_str_eq(w, aw_str_from("times"));
    if (aw_str_eq(w, aw_str_from("verify-each")) || aw_str_eq(w, aw_str_from("times")))
        return AW_OK;
    aw_buf_printf(diags, "<options>:0:0: error: '%.*s' is nothing that can be asked of passes\n", (int)len, word);
    return AW_ERR_INVALID_VALUE;
}

int ptx_pass_wishes_parse(const char *text, struct ptx_pass_wishes *ret, struct aw_buf *diags)
{
    int status = AW_OK;
    memset(ret, 0, sizeof *ret);
    for (size_t n; *text && status == AW_OK; text += n) {
        n = strcspn(text, " ");
        if (n)
            status = word_read(text, n, ret, diags);
        n += strspn(text + n, " ");
    }
    return status;
}

/* ---- Running */

bool ptx_pass_enabled(const struct ptx_pipeline *p, enum ptx_pass pass)
{
    return !p || !p->wishes || !p->wishes->disabled[pass];
}

bool ptx_pass_forced(const struct ptx_pipeline *p, enum ptx_pass pass)
{
    return p && p->wishes && p->wishes->forced[pass];
}

int ptx_threshold(const struct ptx_pipeline *p, enum ptx_threshold id)
{
    return p && p->wishes && p->wishes->set[id] ? p->wishes->set[id] : thresholds[id].value;
}

void ptx_pass_done(const struct ptx_pipeline *p, enum ptx_pass pass, LLVMModuleRef module)
{
    if (!p || !p->wishes || !p->wishes->print[pass])
        return;
    char *text = LLVMPrintModuleToString(module);
    aw_buf_printf(p->diags, "; %s\n%s\n", passes[pass].name, text);
    LLVMDisposeMessage(text);
}

/* Does it run on this machine?  Bits that only say what it must not have are no bits of the machine's. */
static bool runs_on(const struct ptx_pass_info *pass, uint32_t machine)
{
    uint32_t finisher = PTX_PASS_HOST | PTX_PASS_AMD | PTX_PASS_QUICK;
    return pass->how != PTX_PASS_INNER && pass->on & machine & finisher && !(pass->on & ~machine & ~finisher);
}

static enum aw_phase phase_of(const struct ptx_pass_info *pass)
{
    static const enum aw_phase of[] = { [PTX_PASS_LANE] = AW_PHASE_OPTIMISE,
                                        [PTX_PASS_STRUCTURE] = AW_PHASE_STRUCTURE,
                                        [PTX_PASS_VECTOR] = AW_PHASE_VECTORISE,
                                        [PTX_PASS_MACHINE] = AW_PHASE_CLEAN_UP };
    return pass->on & PTX_PASS_AMD ? AW_PHASE_OPTIMISE : of[pass->stage];
}

static int pass_run(struct ptx_pipeline *p, enum ptx_pass id)
{
    const struct ptx_pass_info *pass = &passes[id];
    double begin = ptx_thread_ms();
    ptx_phase(phase_of(pass));
    LLVMTargetMachineRef machine = pass->stage == PTX_PASS_MACHINE ? *p->machine : NULL;
    int status = pass->how == PTX_PASS_LLVM ? ptx_passes_run(*p->module, machine, pass->pipeline, p->diags) : bodies[id](p);
    if (p->wishes && p->wishes->times)
        aw_buf_printf(p->diags, "%10.2f ms %s\n", ptx_thread_ms() - begin, pass->name);
    if (status == AW_OK)
        ptx_pass_done(p, id, *p->module);
    return status == AW_OK && p->wishes && p->wishes->verify ? ptx_verify(*p->module, pass->name, p->kernel, p->diags) : status;
}

int ptx_pipeline_run(struct ptx_pipeline *p)
{
    int status = AW_OK;
    for (int i = 0; i < PTX_PASS_COUNT && status == AW_OK && !p->stopped; i++) {
        if (!runs_on(&passes[i], p->on))
            continue;
        if (ptx_pass_enabled(p, (enum ptx_pass)i))
            status = pass_run(p, (enum ptx_pass)i);
        p->stopped = p->wishes && p->wishes->stop == 1 + i;
    }
    return status;
}

/* ---- The list */

static void on_print(uint32_t on, struct aw_buf *out)
{
    static const char *const names[] = { "host", "amd", "avx2", "avx512", "bmi2", "gathers", "no avx2", "no avx512", "quick" };
    const char *comma = "";
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (on & 1u << i) {
            aw_buf_printf(out, "%s%s", comma, names[i]);
            comma = ", ";
        }
}

void ptx_pass_list(struct aw_buf *out)
{
    static const char *const stages[] = { "lane", "structure", "vector", "machine" };
    static const char *const may[] = { "", " [disable]", " [disable, force]" };
    for (int i = 0; i < PTX_PASS_COUNT; i++) {
        const struct ptx_pass_info *p = &passes[i];
        aw_buf_printf(out, "%s%-14s %-10s %s (", p->how == PTX_PASS_INNER ? "  " : "", p->name, stages[p->stage], p->what);
        on_print(p->on, out);
        aw_buf_printf(out, ")%s\n", may[p->may]);
    }
}

void ptx_threshold_list(struct aw_buf *out)
{
    for (int i = 0; i < PTX_THRESHOLD_COUNT; i++) {
        const struct ptx_threshold_info *t = &thresholds[i];
        aw_buf_printf(out, "%s\t%d\t%s\t%s\t%s: %s\n", t->name, t->value, t->candidates, t->rows, passes[t->pass].name, t->what);
    }
}
