/* Which x86-64 machine: the target string's CPU and features.  Not code generation. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include <stdlib.h>
#include <string.h>

/* Words of ours among the features, of which LLVM 22 knows nothing: AVX2's masked stores are microcode, as on AMD's processors
 * before Zen 4; rows of a picture are not followed, as on those from Zen 4 on. */
#define SLOW_MASKED_STORES "slow-masked-stores"
#define ASK_ROWS "ask-rows"
#define CHECK_ACCESSES "check-accesses"
#define CHECK_MEMORY "check-memory"
#define CHECK_INIT "check-init"
#define CHECK_SYNC "check-sync"
#define CHECK_RACE "check-race"
#define DEBUG "debug"
#define COUNT "count"
#define QUICK "quick"

/* LLVM's names; it has no C call to ask.  Level: of the x86-64 psABI, which says what vectors there are. */
static const struct cpu {
    const char *name;
    int level;
    bool slow_masked_stores;
} cpus[] = {
    { "x86-64", 1 }, { "x86-64-v2", 2 }, { "x86-64-v3", 3 }, { "x86-64-v4", 4 }, { "nocona", 1 }, { "core2", 1 }, { "penryn", 1 },
    { "k8", 1 }, { "opteron", 1 }, { "athlon64", 1 }, { "k8-sse3", 1 }, { "amdfam10", 1 }, { "barcelona", 1 },
    { "btver1", 1 }, { "btver2", 2 }, { "bonnell", 1 }, { "atom", 1 }, { "silvermont", 2 }, { "slm", 2 }, { "goldmont", 2 },
    { "goldmont-plus", 2 }, { "tremont", 2 }, { "nehalem", 2 }, { "corei7", 2 }, { "westmere", 2 }, { "sandybridge", 2 },
    { "corei7-avx", 2 }, { "ivybridge", 2 }, { "core-avx-i", 2 }, { "bdver1", 2 }, { "bdver2", 2 }, { "bdver3", 2 },
    { "bdver4", 3, true }, { "haswell", 3 }, { "core-avx2", 3 }, { "broadwell", 3 }, { "skylake", 3 }, { "znver1", 3, true },
    { "znver2", 3, true }, { "znver3", 3, true }, { "alderlake", 3 }, { "raptorlake", 3 }, { "meteorlake", 3 },
    { "gracemont", 3 },
    { "arrowlake", 3 }, { "arrowlake-s", 3 }, { "lunarlake", 3 }, { "pantherlake", 3 }, { "sierraforest", 3 },
    { "grandridge", 3 }, { "clearwaterforest", 3 }, { "skylake-avx512", 4 }, { "skx", 4 }, { "cascadelake", 4 },
    { "cooperlake", 4 }, { "cannonlake", 4 }, { "icelake-client", 4 }, { "icelake-server", 4 }, { "rocketlake", 4 },
    { "tigerlake", 4 }, { "sapphirerapids", 4 }, { "emeraldrapids", 4 }, { "graniterapids", 4 }, { "graniterapids-d", 4 },
    { "diamondrapids", 4 }, { "znver4", 4 }, { "znver5", 4 },
};

static const struct cpu *find_cpu(const char *name)
{
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++)
        if (!strcmp(cpus[i].name, name))
            return &cpus[i];
    return NULL;
}

/* Is the last mention of a feature a "+"?  `otherwise` when there is none. */
static bool has_feature(const char *features, const char *name, bool otherwise)
{
    size_t n = strlen(name);
    for (const char *p = features; *p;) {
        size_t len = strcspn(p, ",");
        if (len == n + 1 && !memcmp(p + 1, name, n))
            otherwise = *p == '+';
        p += len + (p[len] == ',');
    }
    return otherwise;
}

static bool well_formed(const char *features)
{
    for (const char *p = features; *p;) {
        size_t len = strcspn(p, ",");
        if (len < 2 || (*p != '+' && *p != '-'))
            return false;
        for (size_t i = 1; i < len; i++)
            if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789.-", p[i]))
                return false;
        p += len + (p[len] == ',');
    }
    return true;
}

/* "+name" or "-name", `len` long? */
static bool is_feature(const char *p, size_t len, const char *name)
{
    return len == strlen(name) + 1 && !memcmp(p + 1, name, len - 1);
}

static void print_for_llvm(struct aw_buf *out, const char *features)
{
    for (const char *p = features; *p;) {
        size_t len = strcspn(p, ",");
        if (!is_feature(p, len, SLOW_MASKED_STORES) && !is_feature(p, len, ASK_ROWS) && !is_feature(p, len, CHECK_ACCESSES) &&
            !is_feature(p, len, CHECK_MEMORY) && !is_feature(p, len, CHECK_INIT) && !is_feature(p, len, CHECK_SYNC) &&
            !is_feature(p, len, CHECK_RACE) && !is_feature(p, len, DEBUG) && !is_feature(p, len, COUNT) &&
            !is_feature(p, len, QUICK))
            aw_buf_printf(out, ",%.*s", (int)len, p);
        p += len + (p[len] == ',');
    }
}

static void finish(struct ptx_host_machine *m, const char *given, int level, bool slow_masked_stores)
{
    struct aw_buf all = { 0 };
    m->avx2 = has_feature(given, "avx2", level >= 3);
    m->avx512 = has_feature(given, "avx512f", level >= 4) && has_feature(given, "avx512bw", level >= 4) &&
                has_feature(given, "avx512dq", level >= 4) && has_feature(given, "avx512vl", level >= 4);
    m->byte_shuffles = has_feature(given, "ssse3", level >= 2);
    m->byte_permutes = m->avx512 && has_feature(given, "avx512vbmi", false);
    m->bmi2 = has_feature(given, "bmi2", level >= 3);
    m->gathers = m->avx512 || (m->avx2 && has_feature(given, "fast-gather", false));
    m->slow_masked_stores = !m->avx512 && has_feature(given, SLOW_MASKED_STORES, slow_masked_stores);
    m->ask_rows = m->avx512 && has_feature(given, ASK_ROWS, !strncmp(m->cpu, "znver", strlen("znver")));
    m->count = has_feature(given, COUNT, false);
    m->debug = has_feature(given, DEBUG, false);
    m->sync = has_feature(given, CHECK_SYNC, false);
    m->init = has_feature(given, CHECK_INIT, false);
    m->race = has_feature(given, CHECK_RACE, false);
    m->shadow = m->sync || m->init || m->race || has_feature(given, CHECK_MEMORY, false);
    m->checks = m->shadow || has_feature(given, CHECK_ACCESSES, false);
    m->quick = has_feature(given, QUICK, false) && !m->count && !m->debug && !m->checks;
    /* A warp is two full registers; LLVM's caution about clock speed costs more than it saves here.  Every processor of the last
     * fifteen years compares and swaps 16 bytes, though the oldest name does not say so. */
    aw_buf_printf(&all, "+cx16");
    print_for_llvm(&all, given);
    aw_buf_printf(&all, "%s", m->avx512 ? ",-prefer-256-bit" : "");
    m->features = LLVMCreateMessage(all.ptr ? all.ptr : "");
    aw_buf_fini(&all);
}

bool ptx_host_machine_parse(const char *target, struct ptx_host_machine *ret)
{
    struct ptx_host_machine m = { 0 };
    if (!strcmp(target, "host")) {
        char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
        bool fits = strlen(cpu) < sizeof m.cpu;
        if (fits) {
            const struct cpu *known = find_cpu(cpu);
            strcpy(m.cpu, cpu);
            finish(&m, features, 0, known && known->slow_masked_stores);
            *ret = m;
        }
        LLVMDisposeMessage(cpu);
        LLVMDisposeMessage(features);
        return fits;
    }
    if (strncmp(target, "host:", 5) != 0)
        return false;
    const char *name = target + 5;
    size_t len = strcspn(name, ",");
    if (len == 0 || len >= sizeof m.cpu)
        return false;
    memcpy(m.cpu, name, len);
    const struct cpu *cpu = find_cpu(m.cpu);
    const char *features = name[len] ? name + len + 1 : "";
    if (!cpu || !well_formed(features))
        return false;
    finish(&m, features, cpu->level, cpu->slow_masked_stores);
    *ret = m;
    return true;
}

void ptx_host_machine_fini(struct ptx_host_machine *machine)
{
    LLVMDisposeMessage(machine->features);
}
