/* Lines of text, temporaries, guards, failures. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "sass/lift.h"

void sass_step(struct sass_lift *l, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    aw_buf_add(&l->body, "\t", 1);
    aw_buf_vprintf(&l->body, fmt, ap);
    aw_buf_add(&l->body, ";\n", 2);
    va_end(ap);
}

bool sass_guarded(const struct sass_insn *insn)
{
    return insn->guard != SASS_PT;
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
    va_start(ap, fmt);
    if (sass_guarded(l->at))
        aw_buf_printf(&l->body, "\t@%s%s ", l->at->guard_inv ? "!" : "", guard_name(l, l->at));
    else
        aw_buf_add(&l->body, "\t", 1);
    aw_buf_vprintf(&l->body, fmt, ap);
    aw_buf_add(&l->body, ";\n", 2);
    va_end(ap);
}

struct sass_text sass_format(const char *fmt, ...)
{
    struct sass_text t;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(t.s, sizeof t.s, fmt, ap);
    va_end(ap);
    return t;
}

struct sass_text sass_temp(struct sass_lift *l, char kind)
{
    static const char kinds[] = "twhq";
    unsigned which = (unsigned)(strchr(kinds, kind) - kinds);
    return sass_format("%%%c%u", kind, l->temps[which]++);
}

void sass_fail(struct sass_lift *l, const char *fmt, ...)
{
    if (l->status != AW_OK)
        return;
    l->status = AW_ERR_NOT_SUPPORTED;
    int n = snprintf(l->error, sizeof l->error, "%.*s+0x%x: %s: ", (int)(l->code->name.len < 120 ? l->code->name.len : 120), l->code->name.ptr,
                     l->at ? l->at->offset : 0, l->at ? sass_op_name((enum sass_op)l->at->op) : "?");
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(l->error + n, sizeof l->error - (size_t)n, fmt, ap);
    va_end(ap);
}

struct sass_text sass_condition(struct sass_lift *l, const struct sass_insn *insn)
{
    const struct sass_operand *s = &insn->opnd[SASS_S];
    bool always = s->kind == SASS_NONE || sass_is_true(s);
    if (!sass_guarded(insn))
        return always ? (struct sass_text){ "" } : sass_pred(l, s);
    struct sass_operand guard = { .kind = insn->guard_uniform ? SASS_UPRED : SASS_PRED, .reg = insn->guard, .inv = insn->guard_inv };
    if (always)
        return insn->guard_inv ? sass_format("!%s", guard_name(l, insn)) : sass_format("%s", guard_name(l, insn));
    struct sass_text a = sass_pred(l, &guard), b = sass_pred(l, s), q = sass_temp(l, 'q');
    sass_step(l, "and.pred %s, %s, %s", q.s, a.s, b.s);
    return q;
}
