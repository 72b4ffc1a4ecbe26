/* Litmus tests of PTX's memory model: two threads, two places in memory, and an outcome that fences or release and acquire
 * forbid.
 *
 * Many such pairs run at once, each on lines of its own.  The two threads of a pair are in blocks that follow each other (or
 * in two warps of a block), meet at a counter first, without waiting for ever, and then do their two accesses.  How often the
 * weak outcome comes without fences is told as well, and with the first thread's accesses the other way round, where it only
 * takes that the two meet: where neither ever does, the tests with fences prove little. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* THREADS: a power of two; a pair's bytes: the first word, the counter and the second word, 256 bytes apart from the next of
 * their kind. */
enum { THREADS = 256, STRIDE = 512 };

/* Which thread is which: `pair` and `role`, from ctaid c and tid t.  The second thread of a pair has another lane and warp
 * than the first. */
static const char across_blocks[] = "shr.u32 pair, c, 1;\nand.b32 role, c, 1;\n"
                                    "mad.lo.u32 at, t, 37, 11;\nand.b32 at, at, 255;\nsetp.eq.u32 second, role, 1;\nselp.u32 at, "
                                    "at, t, second;\nmad.lo.u32 pair, pair, 256, at;\n";
static const char in_a_block[] =
    "shr.u32 role, t, 7;\nand.b32 at, t, 127;\nmad.lo.u32 pair, c, 128, at;\nsetp.eq.u32 second, role, 1;\n";

/* %1$s to %4$s: which thread is which, the scope of the meeting, the first thread's accesses, the second's.  What they find is
 * in u and v, 9: nothing. */
static const char shell[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry litmus(.param .u64 mem, .param .u64 out)\n{\n"
    ".reg .b32 c, t, pair, role, at, n, u, v, w;\n.reg .b64 x, y, m, o;\n.reg .pred second, p, q;\n"
    "ld.param.u64 x, [mem];\nld.param.u64 o, [out];\nmov.u32 c, %%ctaid.x;\nmov.u32 t, %%tid.x;\n%1$s"
    "mul.wide.u32 m, pair, 512;\nadd.u64 x, x, m;\nadd.u64 y, x, 256;\nadd.u64 m, x, 128;\n"
    "mul.wide.u32 o, pair, 8;\nmov.u32 u, 9;\nmov.u32 v, 9;\nmov.u32 n, 0;\n"
    "atom.add.relaxed.%2$s.global.u32 w, [m], 1;\n"
    "meet:\nld.relaxed.%2$s.global.u32 w, [m];\nadd.u32 n, n, 1;\nsetp.lt.u32 p, w, 2;\nsetp.lt.u32 q, n, 1000;\nand.pred p, p, "
    "q;\n@p bra meet;\n"
    "@second bra other;\n%3$sbra done;\nother:\n%4$sdone:\n"
    "ld.param.u64 m, [out];\nadd.u64 o, o, m;\n"
    "setp.ne.u32 p, u, 9;\n@p st.global.u32 [o], u;\nsetp.ne.u32 p, v, 9;\n@p st.global.u32 [o+4], v;\nret;\n}\n";

struct litmus {
    const char *name;          /* of the way of ordering */
    const char *first, *second;
    bool forbidden;            /* is the weak outcome? */
};

typedef bool weak_fn(uint32_t u, uint32_t v);

/* Runs one; counts the weak outcomes. */
static bool count(struct report_test *t, const struct litmus *l, bool blocks, weak_fn *weak, uint64_t *ret_weak,
                  uint64_t *ret_all)
{
    unsigned pairs = blocks ? 32 : 64, rounds = t->simulated ? 2 : 50, n = pairs * (blocks ? THREADS : THREADS / 2);
    static char text[4096];
    uint64_t mem, out;
    uint32_t *have = malloc((size_t)n * 8);
    if (!have)
        return report_fail(t, "out of memory");
    const char *scope = blocks ? "gpu" : "cta", *which = blocks ? across_blocks : in_a_block;
    snprintf(text, sizeof text, shell, which, scope, l->first, l->second);
    bool done = report_load(t, text) && report_memory(t, (size_t)n * STRIDE, &mem) && report_memory(t, (size_t)n * 8, &out);
    for (unsigned round = 0; done && round < rounds; round++) {
        done = !t->cu.cuMemsetD32_v2(mem, 0, (size_t)n * STRIDE / 4) &&
               report_launch(t, "litmus", blocks ? 2 * pairs : pairs, THREADS, (uint64_t[]){ mem, out }) &&
               !t->cu.cuMemcpyDtoH_v2(have, out, (size_t)n * 8);
        for (unsigned i = 0; done && i < n; i++)
            *ret_weak += weak(have[2 * i], have[2 * i + 1]);
        *ret_all += done ? n : 0;
    }
    free(have);
    return done || (*t->result->text ? false : report_fail(t, "%s: a copy failed", l->name));
}

static bool run(struct report_test *t, const struct litmus *tests, size_t n, bool blocks, weak_fn *weak)
{
    char line[sizeof t->result->text] = "";
    bool right = true;
    for (size_t i = 0; i < n; i++) {
        uint64_t seen = 0, all = 0;
        if (!count(t, &tests[i], blocks, weak, &seen, &all))
            return false;
        size_t used = strlen(line);
        bool wrong = tests[i].forbidden && seen;
        snprintf(line + used, sizeof line - used, "%s%s %s%llu", used ? ", " : "", tests[i].name, wrong ? "FORBIDDEN " : "",
                 (unsigned long long)seen);
        if (i == n - 1)
            snprintf(line + strlen(line), sizeof line - strlen(line), " of %llu", (unsigned long long)all);
        right = right && !wrong;
    }
    report_say(t, "weak outcomes: %s", line);
    return right;
}

/* ---- One thread writes x, then y; the other reads y, then x: new and then old? */

#define X1(scope) "st.relaxed." scope ".global.u32 [x], 1;\n"
#define Y1(scope) "st.relaxed." scope ".global.u32 [y], 1;\n"
#define UY(scope) "ld.relaxed." scope ".global.u32 u, [y];\n"
#define VX(scope) "ld.relaxed." scope ".global.u32 v, [x];\n"
#define PASSING(scope, name, fence, forbidden) { name, X1(scope) fence Y1(scope), UY(scope) fence VX(scope), forbidden }
#define COUNT(tests) (sizeof tests / sizeof *tests)

static bool new_then_old(uint32_t u, uint32_t v)
{
    return u == 1 && v == 0;
}

bool report_litmus_passing(struct report_test *t)
{
    static const struct litmus tests[] = {
        { "the other way round", Y1("gpu") X1("gpu"), UY("gpu") VX("gpu"), false },
        PASSING("gpu", "no fence", "", false),
        PASSING("gpu", "fence.acq_rel.gpu", "fence.acq_rel.gpu;\n", true),
        PASSING("gpu", "fence.sc.gpu", "fence.sc.gpu;\n", true),
        PASSING("gpu", "membar.gl", "membar.gl;\n", true),
        PASSING("sys", "membar.sys", "membar.sys;\n", true),
        { "release, acquire", X1("gpu") "st.release.gpu.global.u32 [y], 1;\n", "ld.acquire.gpu.global.u32 u, [y];\n" VX("gpu"),
          true },
    };
    return run(t, tests, COUNT(tests), true, new_then_old);
}

/* Four plain words instead of one. */
#define WORDS4 "mov.u32 w, 1;\nst.global.v4.u32 [x], { w, w, w, w };\nst.global.u32 [x+60], w;\n"
#define READ4                                                                                                          \
    "ld.global.v4.u32 { v, w, n, at }, [x];\nand.b32 v, v, w;\nand.b32 v, v, n;\nand.b32 v, v, at;\nld.global.u32 w, " \
    "[x+60];\nand.b32 v, v, w;\n"

bool report_litmus_passing_words(struct report_test *t)
{
    static const struct litmus tests[] = {
        { "release, acquire", WORDS4 "st.release.gpu.global.u32 [y], 1;\n", "ld.acquire.gpu.global.u32 u, [y];\n" READ4, true },
        { "__threadfence", WORDS4 "membar.gl;\nst.volatile.global.u32 [y], 1;\n",
          "ld.volatile.global.u32 u, [y];\nmembar.gl;\n" READ4, true },
        { "atomics", WORDS4 "atom.release.gpu.global.exch.b32 w, [y], 1;\n", "atom.acquire.gpu.global.add.u32 u, [y], 0;\n" READ4,
          true },
    };
    return run(t, tests, COUNT(tests), true, new_then_old);
}

/* ---- Each writes its own and reads the other's: both old? */

#define UX(scope) "ld.relaxed." scope ".global.u32 u, [x];\n"
#define VY(scope) "ld.relaxed." scope ".global.u32 v, [y];\n"
#define BUFFERING(scope, name, fence, forbidden) { name, X1(scope) fence VY(scope), Y1(scope) fence UX(scope), forbidden }

static bool both_old(uint32_t u, uint32_t v)
{
    return u == 0 && v == 0;
}

bool report_litmus_buffering(struct report_test *t)
{
    static const struct litmus tests[] = {
        BUFFERING("gpu", "no fence", "", false),
        BUFFERING("gpu", "fence.acq_rel.gpu", "fence.acq_rel.gpu;\n", false),
        BUFFERING("gpu", "fence.sc.gpu", "fence.sc.gpu;\n", true),
        BUFFERING("gpu", "membar.gl", "membar.gl;\n", true),
        BUFFERING("sys", "membar.sys", "membar.sys;\n", true),
    };
    return run(t, tests, COUNT(tests), true, both_old);
}

/* ---- One word written twice and read twice: does it go back? */

static bool goes_back(uint32_t u, uint32_t v)
{
    return v < u;
}

bool report_litmus_coherence(struct report_test *t)
{
    static const struct litmus tests[] = {
        { "relaxed", X1("gpu") "st.relaxed.gpu.global.u32 [x], 2;\n", UX("gpu") VX("gpu"), true },
        { "volatile", "st.volatile.global.u32 [x], 1;\nst.volatile.global.u32 [x], 2;\n",
          "ld.volatile.global.u32 u, [x];\nld.volatile.global.u32 v, [x];\n", true },
    };
    return run(t, tests, COUNT(tests), true, goes_back);
}

bool report_litmus_block(struct report_test *t)
{
    static const struct litmus tests[] = {
        { "the other way round", Y1("cta") X1("cta"), UY("cta") VX("cta"), false },
        PASSING("cta", "no fence", "", false),
        PASSING("cta", "fence.acq_rel.cta", "fence.acq_rel.cta;\n", true),
        PASSING("cta", "membar.cta", "membar.cta;\n", true),
        { "release, acquire", X1("cta") "st.release.cta.global.u32 [y], 1;\n", "ld.acquire.cta.global.u32 u, [y];\n" VX("cta"),
          true },
    };
    return run(t, tests, COUNT(tests), false, new_then_old);
}
