/* mbarrier objects: words of shared memory that count arrivals, whose form the assembler's code knows.
 *
 * Before sm_90 the high word has in its low 31 bits 2^31 less the arrivals that are pending, and the phase above them; the low
 * word has what is counted from in each phase, less 2^30.  From sm_90 on a number of 64 bits has from bit 1 on 2^20 less the
 * arrivals of each phase, from bit 43 on 2^20 less those that are pending, and the phase above them.  Code knows as much; the
 * bits between, and the lowest one, are ours: how many bytes or copies are to come yet (22 bits), and whether nothing else is. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "sass/access.h"

enum { EXPECTED = 1, BYTES = 21, PENDING = 43, COUNT_MASK = 0xfffff, BYTES_MASK = 0x3fffff };

struct arrival {
    struct sass_text at;    /* what stands in brackets */
    struct sass_text count; /* how many; "" for none */
    struct sass_text bytes; /* that are to come yet, or copies; "" for none */
    bool came;              /* no: that have come */
    bool drops;             /* as many are expected less from the next phase on */
};

/* A temporary with the result of an operation of two operands. */
static struct sass_text made(struct sass_lift *l, const char *op, char kind, const char *a, const char *b)
{
    struct sass_text t = sass_temp(l, kind);
    sass_step(l, "%s %s, %s, %s", op, t.s, a, b);
    return t;
}

static struct sass_text number(uint64_t value)
{
    return sass_format("%" PRIu64, value);
}

/* ---- Before sm_90 */

static struct sass_text arrived_before_90(struct sass_lift *l, const char *before)
{
    struct sass_text low, high, full = sass_temp(l, 'q'), after = sass_temp(l, 't'), whole = sass_temp(l, 'w');
    sass_split(l, before, &low, &high);
    struct sass_text rest = made(l, "and.b32", 't', high.s, "0x7fffffff"), sum = made(l, "add.u32", 't', rest.s, "1");
    struct sass_text more = made(l, "add.u32", 't', high.s, "1"), other = sass_temp(l, 't');
    sass_step(l, "setp.lt.s32 %s, %s, 0", full.s, sum.s);
    sass_step(l, "not.b32 %s, %s", other.s, high.s);
    struct sass_text phase = made(l, "and.b32", 't', other.s, "0x80000000");
    struct sass_text up = made(l, "add.u32", 't', low.s, "0x40000000"), from = made(l, "and.b32", 't', up.s, "0x7fffffff");
    struct sass_text next = made(l, "or.b32", 't', phase.s, from.s);
    sass_step(l, "selp.b32 %s, %s, %s, %s", after.s, next.s, more.s, full.s);
    sass_step(l, "mov.b64 %s, {%s, %s}", whole.s, low.s, after.s);
    return whole;
}

/* ---- From sm_90 on */

static struct sass_text field_of(struct sass_lift *l, const char *object, unsigned at, uint64_t mask)
{
    struct sass_text down = made(l, "shr.u64", 'w', object, number(at).s);
    return made(l, "and.b64", 'w', down.s, number(mask).s);
}

/* The fields in their places, beside `more`. */
static struct sass_text object_of(struct sass_lift *l, const char *more, const char *expected, unsigned at, const char *other)
{
    struct sass_text e = made(l, "shl.b64", 'w', expected, number(EXPECTED).s), o = made(l, "shl.b64", 'w', other, number(at).s);
    struct sass_text both = made(l, "or.b64", 'w', e.s, o.s);
    return made(l, "or.b64", 'w', both.s, more);
}

static struct sass_text picked(struct sass_lift *l, struct sass_text yes, struct sass_text no, struct sass_text q)
{
    struct sass_text w = sass_temp(l, 'w');
    sass_step(l, "selp.b64 %s, %s, %s, %s", w.s, yes.s, no.s, q.s);
    return w;
}

/* All have arrived: another phase begins, or where something is to come yet that is noted. */
static struct sass_text complete(struct sass_lift *l, const char *before, struct sass_text expected, struct sass_text bytes)
{
    struct sass_text other = sass_temp(l, 'w'), none = sass_temp(l, 'q');
    sass_step(l, "not.b64 %s, %s", other.s, before);
    struct sass_text next = made(l, "and.b64", 'w', other.s, "0x8000000000000000");
    struct sass_text same = made(l, "and.b64", 'w', before, "0x8000000000000000"), noted = made(l, "or.b64", 'w', same.s, "1");
    sass_step(l, "setp.eq.u64 %s, %s, 0", none.s, bytes.s);
    return picked(l, object_of(l, next.s, expected.s, PENDING, expected.s), object_of(l, noted.s, expected.s, BYTES, bytes.s),
                  none);
}

static struct sass_text arrived_from_90(struct sass_lift *l, const struct arrival *a, const char *before)
{
    struct sass_text expected = field_of(l, before, EXPECTED, COUNT_MASK), bytes = field_of(l, before, BYTES, BYTES_MASK);
    struct sass_text pending = field_of(l, before, PENDING, COUNT_MASK), noted = made(l, "shl.b64", 'w', before, "20");
    struct sass_text all = made(l, "and.b64", 'w', noted.s, number(COUNT_MASK + 1).s), count = { "0" };
    if (a->count.s[0])
        count = sass_widen(l, a->count.s);
    if (a->drops)
        expected = made(l, "add.u64", 'w', expected.s, count.s);
    if (a->bytes.s[0]) {
        bytes = made(l, a->came ? "sub.u64" : "add.u64", 'w', bytes.s, sass_widen(l, a->bytes.s).s);
        bytes = made(l, "and.b64", 'w', bytes.s, number(BYTES_MASK).s);
    }
    struct sass_text now = made(l, "add.u64", 'w', pending.s, count.s), full = sass_temp(l, 'q');
    struct sass_text any = made(l, "or.b64", 'w', now.s, all.s);
    sass_step(l, "setp.gt.u64 %s, %s, %u", full.s, any.s, (unsigned)COUNT_MASK);
    struct sass_text phase = made(l, "and.b64", 'w', before, "0x8000000000000000");
    struct sass_text with = made(l, "shl.b64", 'w', bytes.s, number(BYTES).s), more = made(l, "or.b64", 'w', phase.s, with.s);
    return picked(l, complete(l, before, expected, bytes), object_of(l, more.s, expected.s, PENDING, now.s), full);
}

/* ---- An arrival */

/* The words before, in a number of 64 bits: of the lanes of the guard. */
static struct sass_text arrive(struct sass_lift *l, const struct sass_insn *i, const struct arrival *a)
{
    struct sass_text before = sass_temp(l, 'w'), was = sass_temp(l, 'w'), again = sass_temp(l, 'q');
    uint32_t label = l->n_objects++;
    struct sass_text guard = sass_condition(l, i);
    if (guard.s[0] == '!')
        sass_step(l, "@%s bra $O%" PRIu32, guard.s + 1, label);
    else if (guard.s[0])
        sass_step(l, "@!%s bra $O%" PRIu32, guard.s, label);
    aw_buf_printf(&l->body, "$M%" PRIu32 ":\n", label);
    sass_step(l, "ld.relaxed.cta.shared.b64 %s, [%s]", before.s, a->at.s);
    struct sass_text after = l->cubin->arch < 90 ? arrived_before_90(l, before.s) : arrived_from_90(l, a, before.s);
    sass_step(l, "atom.acq_rel.cta.shared.cas.b64 %s, [%s], %s, %s", was.s, a->at.s, before.s, after.s);
    sass_step(l, "setp.ne.b64 %s, %s, %s", again.s, was.s, before.s);
    sass_step(l, "@%s bra $M%" PRIu32, again.s, label);
    if (guard.s[0])
        aw_buf_printf(&l->body, "$O%" PRIu32 ":\n", label);
    return before;
}

static struct sass_text object_at(struct sass_lift *l, const struct sass_insn *i, int64_t word)
{
    const struct sass_operand *m = &i->opnd[SASS_M];
    return sass_plus(sass_shared_address(l, m).s, m->value + word);
}

/* ATOMS.ARRIVE */
void sass_mbarrier_arrive(struct sass_lift *l, const struct sass_insn *i)
{
    struct arrival one = { .at = object_at(l, i, 0) };
    struct sass_text before = arrive(l, i, &one);
    sass_put64(l, SASS_D, before.s);
}

/* The copies are done when the lane comes here. */
void sass_emit_arrives(struct sass_lift *l, const struct sass_insn *i)
{
    struct arrival a = { .at = object_at(l, i, 0), .came = true };
    if (sass_mod(l, SASS_F_COUNTS) == SASS_COUNTS_TRANSCNT)
        a.bytes = sass_format("1");
    else
        a.count = sass_format("1");
    sass_do(l, "cp.async.wait_all");
    (void)arrive(l, i, &a);
}

void sass_emit_syncs_arrive(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned mode = sass_mod(l, SASS_F_MODE);
    struct arrival a = { .at = object_at(l, i, 0), .drops = sass_mod(l, SASS_F_OPTOUT), .came = mode == SASS_MODE_A0TX };
    (void)sass_mod(l, SASS_F_RED); /* no result, or memory of the cluster, which is the block's */
    struct sass_text value = sass_raw(l, sass_look(l, SASS_B));
    if (mode == SASS_MODE_A1T0 || mode == SASS_MODE_A1TR)
        a.count = sass_format("1");
    else if (mode == SASS_MODE_ART0)
        a.count = value;
    if (mode == SASS_MODE_A0T1)
        a.bytes = sass_format("1");
    else if (mode == SASS_MODE_A1TR || mode == SASS_MODE_A0TR || mode == SASS_MODE_A0TX)
        a.bytes = value;
    struct sass_text before = arrive(l, i, &a), low, high;
    if (!sass_mod(l, SASS_F_NOCOMPLETE)) {
        sass_put64(l, SASS_D, before.s);
        return;
    }
    /* The machine arrives once for all lanes.  Their mask is the low word, and the code behind reckons of the words before that
     * which each had.  Here a lane arrives by itself, after none. */
    sass_split(l, before.s, &low, &high);
    sass_put64(l, SASS_D, sass_join(l, "0", high.s).s);
}

/* Is there an arrival of that kind before, on the same straight way? */
static bool follows_arrivals(const struct sass_lift *l, const struct sass_insn *i)
{
    for (uint32_t k = i->offset / SASS_INSN_SIZE; k && !l->leader[k]; k--)
        if (l->insns[k - 1].op == SASS_SYNCS_ARRIVE)
            return l->insns[k - 1].mod[SASS_F_NOCOMPLETE];
    return false;
}

/* What such code keeps of the words, in two places, and takes again. */
void sass_emit_syncs_kept(struct sass_lift *l, const struct sass_insn *i)
{
    enum { HIGH = 0x80 };
    unsigned place = (unsigned)sass_look(l, SASS_L)->value;
    if (!follows_arrivals(l, i) || (place && place != HIGH) || sass_guarded(i))
        sass_fail(l, "words of several lanes");
    l->keeps = true;
    struct sass_text kept = sass_format("%%kept%u", place ? 1u : 0u);
    if (i->op == SASS_SYNCS_PUT)
        sass_step(l, "mov.b32 %s, %s", kept.s, sass_raw(l, sass_look(l, SASS_B)).s);
    else
        sass_put(l, SASS_D, kept.s);
}

/* Whether the phase has ended that the register's highest bit says. */
void sass_emit_syncs_phasechk(struct sass_lift *l, const struct sass_insn *i)
{
    struct sass_text high = sass_temp(l, 't'), differs = sass_temp(l, 't'), q = sass_temp(l, 'q');
    (void)sass_mod(l, SASS_F_TRYWAIT); /* may wait a while before it answers */
    sass_do(l, "ld.acquire.cta.shared.b32 %s, [%s]", high.s, object_at(l, i, 4).s);
    sass_step(l, "xor.b32 %s, %s, %s", differs.s, high.s, sass_raw(l, &i->opnd[SASS_B]).s);
    sass_step(l, "setp.lt.s32 %s, %s, 0", q.s, differs.s);
    sass_put_pred(l, SASS_P, q.s);
}

/* How an object begins. */
void sass_emit_syncs_exch(struct sass_lift *l, const struct sass_insn *i)
{
    int64_t offset = sass_look(l, SASS_L)->value;
    struct sass_text at = sass_sum(l, false, sass_format("%s", sass_shared_base(l)), sass_raw(l, &i->opnd[SASS_A]));
    struct sass_text value = sass_in_register(l, sass_raw64(l, &i->opnd[SASS_B]), 'w');
    if (sass_writes(&i->opnd[SASS_D]) || offset >> 23)
        sass_fail(l, "an exchange with a result");
    sass_do(l, "st.relaxed.cta.shared.b64 [%s], %s", sass_plus(at.s, offset).s, value.s);
}
