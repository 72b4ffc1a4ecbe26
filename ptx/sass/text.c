/* Lines of text, temporaries, guards, failures. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "sass/lift.h"

void sass_step(struct sass_lift *l, const char *fmt, ...)
{
    va_list ap;
    aw_buf_add(&l->body, "\t", 1);
    va_start(ap, fmt);
    bool done = aw_buf_vprintf_once(&l->body, fmt, ap);
    va_end(ap);
    if (!done) {
        va_start(ap, fmt);
        aw_buf_vprintf(&l->body, fmt, ap);
        va_end(ap);
    }
    aw_buf_add(&l->body, ";\n", 2);
}

static const char *guard_name(struct sass_lift *l, const struct sass_insn *insn)
{
    static const char *const names[2][8] = {
        { "%p0", "%p1", "%p2", "%p3", "%p4", "%p5", "%p6", "%p7" },
        { "%up0", "%up1", "%up2", "%up3", "%up4", "%up5", "%up6", "%up7" },
    };
    if (l->guard_copy)
        return "%guard";
    (insn->guard_uniform ? l->upreds : l->preds)[insn->guard & 7] = 1;
    return names[insn->guard_uniform][insn->guard & 7];
}

void sass_do(struct sass_lift *l, const char *fmt, ...)
{
    va_list ap;
    if (sass_guarded(l->at) && !l->deferring)
        aw_buf_printf(&l->body, "\t@%s%s ", l->at->guard_inv ? "!" : "", guard_name(l, l->at));
    else
        aw_buf_add(&l->body, "\t", 1);
    va_start(ap, fmt);
    bool done = aw_buf_vprintf_once(&l->body, fmt, ap);
    va_end(ap);
    if (!done) {
        va_start(ap, fmt);
        aw_buf_vprintf(&l->body, fmt, ap);
        va_end(ap);
    }
    aw_buf_add(&l->body, ";\n", 2);
}

struct sass_text sass_format(const char *fmt, ...)
{
    struct sass_text t;
    va_list ap;
    va_start(ap, fmt);
    char *end = aw_print(t.s, t.s + sizeof t.s - 1, fmt, ap);
    va_end(ap);
    if (end) {
        *end = 0;
        return t;
    }
    va_start(ap, fmt);
    int n = vsnprintf(t.s, sizeof t.s, fmt, ap);
    va_end(ap);
    return n < 0 || (size_t)n >= sizeof t.s ? (struct sass_text){ "?" } : t; /* never a part of a name: PTX has no such word */
}

struct sass_text sass_numbered(const char *name, uint32_t n)
{
    struct sass_text t;
    char digits[AW_DIGITS];
    size_t at = 0;
    for (; name[at] && at < sizeof t.s - AW_DIGITS - 1; at++)
        t.s[at] = name[at];
    for (unsigned k = aw_digits(digits, n); k < AW_DIGITS; k++)
        t.s[at++] = digits[k];
    t.s[at] = 0;
    return t;
}

static void temps_name(struct sass_temps *temps, char kind)
{
    temps->next = sass_numbered((const char[]){ '%', kind, 0 }, temps->n);
    temps->last = (uint8_t)(strlen(temps->next.s) - 1);
}

void sass_temps_begin(struct sass_lift *l)
{
    for (unsigned k = 0; k < SASS_TEMPS; k++)
        temps_name(&l->temps[k], sass_temp_kinds[k]);
}

/* A number's bits behind "0f" or "0d", as PTX writes them. */
struct sass_text sass_float_bits(uint64_t bits, bool wide)
{
    struct sass_text t = { .s = { '0', wide ? 'd' : 'f' } };
    unsigned digits = wide ? 16 : 8;
    for (unsigned k = 0; k < digits; k++)
        t.s[2 + k] = "0123456789ABCDEF"[bits >> 4 * (digits - 1 - k) & 15];
    return t;
}

struct sass_text sass_temp(struct sass_lift *l, char kind)
{
    unsigned k = 0;
    while (k < SASS_TEMPS - 1 && sass_temp_kinds[k] != kind)
        k++;
    struct sass_temps *temps = &l->temps[k];
    struct sass_text name = temps->next;
    if (++temps->n % 10)
        temps->next.s[temps->last]++;
    else
        temps_name(temps, sass_temp_kinds[k]);
    return name;
}

void sass_fail(struct sass_lift *l, const char *fmt, ...)
{
    if (l->status != AW_OK)
        return;
    l->status = AW_ERR_NOT_SUPPORTED;
    const struct sass_code_part *part = l->at ? sass_part_of(l, l->at->offset / SASS_INSN_SIZE) : NULL;
    char why[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    struct aw_str name = l->code->name, function = part ? part->code->name : name;
    bool own = !part || part->code == l->code;
    aw_buf_printf(&l->error, "%.*s%s%.*s+0x%x: %s: %s", AW_STR_ARG(name), own ? "" : ": ", own ? 0 : (int)function.len,
                  function.ptr, part ? l->at->offset - part->first * SASS_INSN_SIZE : 0,
                  l->at ? sass_op_name((enum sass_op)l->at->op) : "?", why);
}

struct sass_text sass_condition(struct sass_lift *l, const struct sass_insn *insn)
{
    const struct sass_operand *s = &insn->opnd[SASS_S];
    bool always = s->kind == SASS_NONE || sass_is_true(s);
    if (!sass_guarded(insn))
        return always ? (struct sass_text){ "" } : sass_pred(l, s);
    struct sass_operand guard = { .kind = insn->guard_uniform ? SASS_UPRED : SASS_PRED,
                                  .reg = insn->guard,
                                  .inv = insn->guard_inv };
    if (always)
        return insn->guard_inv ? sass_format("!%s", guard_name(l, insn)) : sass_format("%s", guard_name(l, insn));
    struct sass_text a = sass_pred(l, &guard), b = sass_pred(l, s), q = sass_temp(l, 'q');
    sass_step(l, "and.pred %s, %s, %s", q.s, a.s, b.s);
    return q;
}

struct sass_text sass_where(struct sass_lift *l, struct sass_text q, const struct sass_text *condition)
{
    bool not = condition->s[0] == '!';
    if (!condition->s[0])
        return q;
    struct sass_text both = sass_temp(l, 'q'), own = sass_temp(l, 'q');
    sass_step(l, not ? "not.pred %s, %s" : "mov.pred %s, %s", own.s, condition->s + not);
    sass_step(l, "and.pred %s, %s, %s", both.s, q.s, own.s);
    return both;
}

/* ---- Instructions with guards that only compute */

bool sass_defers(const struct sass_insn *i)
{
    switch (i->op) {
    case SASS_IADD3: case SASS_IMAD: case SASS_IMAD_WIDE: case SASS_IMAD_HI: case SASS_LOP3: case SASS_SHF: case SASS_LEA:
    case SASS_MOV: case SASS_SEL:
    case SASS_PRMT: case SASS_IMNMX: case SASS_SGXT: case SASS_BMSK: case SASS_IABS: case SASS_POPC: case SASS_FLO:
    case SASS_FADD: case SASS_FMUL:
    case SASS_FFMA: case SASS_FMNMX: case SASS_FSEL: case SASS_MUFU: case SASS_DADD: case SASS_DMUL: case SASS_DFMA:
    case SASS_I2F: case SASS_F2I:
    case SASS_F2F: case SASS_HADD2: case SASS_HMUL2: case SASS_HFMA2: case SASS_S2R: case SASS_CS2R:
        return sass_guarded(i);
    default:
        return false;
    }
}

void sass_defer_begin(struct sass_lift *l, const struct sass_insn *i)
{
    l->deferring = sass_defers(i);
    l->n_late = 0;
}

void sass_defer_end(struct sass_lift *l, const struct sass_insn *i)
{
    if (!l->deferring)
        return;
    l->deferring = false;
    for (unsigned k = 0; k < l->n_late; k++) {
        const struct sass_operand *o = &l->late[k].to;
        bool pred = o->kind == SASS_PRED || o->kind == SASS_UPRED;
        sass_do(l, "mov.%s %s, %s", pred ? "pred" : "b32", sass_dest(l, o, 0).s, l->late[k].value.s);
    }
    sass_known_after(l, i);
    for (unsigned k = 0; k < l->n_late && !l->guard_copy; k++)
        if (l->n_known < sizeof l->known / sizeof *l->known &&
            (l->late[k].to.kind == SASS_REG || l->late[k].to.kind == SASS_UREG)) {
            l->known[l->n_known] = l->late[k];
            l->known[l->n_known].guard = i->guard;
            l->known[l->n_known].guard_inv = i->guard_inv;
            l->known[l->n_known++].guard_uniform = i->guard_uniform;
        }
    l->n_late = 0;
}

void sass_known_forget(struct sass_lift *l)
{
    l->n_known = l->n_turns = 0;
}

static bool changes(const struct sass_insn *i, const struct sass_late *k)
{
    uint8_t pred = k->guard_uniform ? SASS_UPRED : SASS_PRED;
    for (int s = SASS_P; s <= SASS_Q; s++)
        if (i->opnd[s].kind == pred && i->opnd[s].reg == k->guard)
            return true;
    for (int s = 0; s < 2; s++) {
        const struct sass_operand *d = &i->opnd[s ? SASS_D2 : SASS_D];
        unsigned n = d->regs ? d->regs : 1;
        if (d->kind == k->to.kind && k->to.reg >= d->reg && k->to.reg < d->reg + n)
            return true;
    }
    return false;
}

void sass_known_after(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned n = 0;
    if (i->op == SASS_CALL || sass_writes_predicates(i))
        l->n_known = 0;
    for (unsigned k = 0; k < l->n_known; k++) {
        if (changes(i, &l->known[k]))
            continue;
        if (n != k)
            l->known[n] = l->known[k];
        n++;
    }
    l->n_known = n;
}

const char *sass_known(const struct sass_lift *l, const struct sass_operand *o, unsigned word)
{
    const struct sass_insn *i = l->at;
    if (!sass_guarded(i) || l->guard_copy)
        return NULL;
    for (unsigned k = 0; k < l->n_known; k++) {
        const struct sass_late *known = &l->known[k];
        if (known->to.kind == o->kind && known->to.reg == o->reg + word && known->guard == i->guard &&
            known->guard_inv == i->guard_inv && known->guard_uniform == i->guard_uniform)
            return known->value.s;
    }
    return NULL;
}
