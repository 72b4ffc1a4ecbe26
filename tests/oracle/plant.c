/* Planted errors: kernels whose instruction is another than the one the reference is asked about, as a wrong lowering would make
 * it.  Each must be found. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/harness.h"

#include <stdio.h>

static const struct {
    const char *asked, *planted;
    bool part;
} plants[] = {
    { "add.s32", "sub.s32", false },
    { "add.sat.s32", "add.s32", false },
    { "add.cc.u32", "add.u32", false },            /* the carry is lost */
    { "addc.u32", "add.u32", false },
    { "subc.u32", "sub.u32", false },
    { "mul.hi.u32", "mul.hi.s32", false },
    { "mul.hi.u64", "mul.hi.s64", false },
    { "mad.hi.sat.s32", "mad.hi.s32", false },
    { "div.s32", "div.u32", false },
    { "min.s16", "min.u16", false },
    { "bfe.s32", "bfe.u32", false },
    { "bfind.shiftamt.u32", "bfind.u32", false },
    { "szext.wrap.s32", "szext.clamp.s32", false },
    { "dp4a.s32.u32", "dp4a.s32.s32", false },
    { "shr.s64", "shr.u64", false },
    { "shf.l.wrap.b32", "shf.l.clamp.b32", false },
    { "prmt.b32.ecl", "prmt.b32.ecr", false },
    { "setp.lt.s32", "setp.lt.u32", false },
    { "setp.eq.and.s32", "setp.eq.or.s32", false },
    { "slct.b32.f32", "slct.b32.s32", false },     /* -0 and NaN */
    { "add.rn.f32", "add.rz.f32", false },
    { "add.rn.f32", "add.rn.ftz.f32", false },
    { "mul.rn.ftz.f32", "mul.rn.f32", false },
    { "fma.rn.sat.f32", "fma.rn.f32", false },
    { "min.f32", "min.NaN.f32", false },
    { "add.rn.f16x2", "add.rn.sat.f16x2", false },
    { "cvt.rni.s32.f32", "cvt.rzi.s32.f32", false },
    { "cvt.u8.s32", "cvt.s8.s32", false },         /* what is above the byte in the register */
    { "ld.global.u8", "ld.global.s8", false },
    { "st.global.b16", "st.global.b32", false },   /* bytes behind the value; the checker is not asked */
    { "atom.global.max.u32", "atom.global.max.s32", false },
    { "atom.global.inc.u32", "atom.global.add.u32", false },
    { "shfl.sync.up.b32", "shfl.sync.down.b32", false },
    { "vote.sync.any.pred", "vote.sync.all.pred", false },
    { "match.any.sync.b32", "redux.sync.or.b32", false },
    { "redux.sync.min.s32", "redux.sync.min.u32", false },
    /* Not the result: what else is touched. */
    { "add.s32", "st.global.b8 [%out2], 7;\nadd.s32", false },
    { "xor.b32", "mov.b32 %c, 0;\nxor.b32", true }, /* the guard guards something else: all lanes execute */
    { "ld.global.b64", "st.global.b8 [%mem+15], 7;\nld.global.b64", false },
};

static bool caught(const struct oracle_options *options, const char *asked, const char *planted, bool part)
{
    struct oracle_combos combos = { 0 };
    uint8_t state = ORACLE_WAITING;
    bool found = false;

    if (oracle_combine(&combos, asked, options->seed) == 1 && combos.list.n == 1) {
        for (uint16_t variant = 0; variant < 9 && !found; variant++) {
            struct oracle_instance instance = { .variant = variant, .part = part };
            struct oracle_plan plan;
            if (oracle_plan(combos.list.at, &instance, &plan) &&
                oracle_job_run(options, combos.list.at, &instance, 1, &state, planted))
                found = state == ORACLE_FAILED;
        }
    }
    if (!found)
        printf("NOT FOUND: %s in place of %s%s\n", planted, asked,
               state == ORACLE_REFUSED ? ": it was refused" : state == ORACLE_NO_REFERENCE ? ": no reference" : "");
    oracle_combos_fini(&combos);
    return found;
}

int oracle_plants(const struct oracle_options *given)
{
    struct oracle_options options = *given;
    unsigned passed = 0, n = sizeof plants / sizeof *plants;
    char name[256];

    options.quiet = true;
    if (!oracle_device_open(name, sizeof name))
        return 2;
    for (unsigned i = 0; i < n; i++)
        passed += caught(&options, plants[i].asked, plants[i].planted, plants[i].part);
    printf("%u planted errors, %u found\n%u passed, %u failed\n", n, passed, passed, n - passed);
    return passed != n;
}
