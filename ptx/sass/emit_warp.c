/* Warps, barriers, special registers, and what has no effect here.  Operations of a warp are those of the lanes that run them
 * together. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass/lift.h"

#define ALL_LANES "-1"

/* Its member mask.  May add a line.  All operations of lanes that are there together name the same, so that what one finds holds
 * for the next. */
static struct sass_text lanes(struct sass_lift *l, const struct sass_insn *i)
{
    uint32_t k = i->offset / SASS_INSN_SIZE;
    if (l->mask_of[k])
        return sass_format("%%mask%u", l->mask_of[k] - 1);
    if (!l->here[k] || l->members[k])
        return sass_format(ALL_LANES);
    if (!sass_guarded(i) && l->here_mask.s[0])
        return l->here_mask;
    struct sass_text t = sass_temp(l, 't');
    sass_do(l, "activemask.b32 %s", t.s);
    if (!sass_guarded(i))
        l->here_mask = t;
    return t;
}

/* Right before each operation that waits for the lanes of its mask, wherever they are. */
static void members(struct sass_lift *l, const struct sass_insn *i)
{
    if (l->members[i->offset / SASS_INSN_SIZE])
        sass_step(l, ".pragma \"anywarp members\"");
}

void sass_emit_vote(struct sass_lift *l, const struct sass_insn *i)
{
    struct sass_text s = sass_pred(l, &i->opnd[SASS_S]);
    unsigned fn = sass_mod(l, SASS_F_FN);
    struct sass_text mask = lanes(l, i);
    if (sass_writes(&i->opnd[SASS_P])) {
        struct sass_text q = sass_temp(l, 'q');
        members(l, i);
        sass_do(l, "vote.sync.%s.pred %s, %s, %s", fn == SASS_FN_ALL ? "all" : fn == SASS_FN_EQ ? "uni" : "any", q.s, s.s,
                mask.s);
        if (sass_writes(&i->opnd[SASS_D])) {
            members(l, i);
            sass_do(l, "vote.sync.ballot.b32 %s, %s, %s", sass_dest(l, &i->opnd[SASS_D], 0).s, s.s, mask.s);
        }
        sass_put_pred(l, SASS_P, q.s);
    } else if (sass_writes(&i->opnd[SASS_D])) {
        bool own = l->mask_of[i->offset / SASS_INSN_SIZE] || l->members[i->offset / SASS_INSN_SIZE];
        members(l, i);
        if (!sass_is_true(&i->opnd[SASS_S]) || own)
            sass_do(l, "vote.sync.ballot.b32 %s, %s, %s", sass_dest(l, &i->opnd[SASS_D], 0).s, s.s, mask.s);
        else if (strcmp(mask.s, ALL_LANES) != 0)
            sass_do(l, "mov.b32 %s, %s", sass_dest(l, &i->opnd[SASS_D], 0).s, mask.s);
        else
            sass_do(l, "activemask.b32 %s", sass_dest(l, &i->opnd[SASS_D], 0).s);
    }
}

void sass_emit_shfl(struct sass_lift *l, const struct sass_insn *i)
{
    static const char *const modes[] = {
        [SASS_MODE_IDX] = "idx", [SASS_MODE_UP] = "up", [SASS_MODE_DOWN] = "down", [SASS_MODE_BFLY] = "bfly"
    };
    const struct sass_operand *o = i->opnd;
    unsigned mode = sass_mod(l, SASS_F_MODE);
    if (mode >= sizeof modes / sizeof *modes || !modes[mode]) {
        sass_fail(l, "mode %u", mode);
        return;
    }
    if (sass_quad_shfl(l, i))
        return;
    struct sass_text a = sass_raw(l, &o[SASS_A]), b = sass_raw(l, &o[SASS_B]), c = sass_raw(l, &o[SASS_C]),
                     d = sass_dest(l, &o[SASS_D], 0);
    a = sass_in_register(l, a, 't');
    struct sass_text mask = lanes(l, i);
    members(l, i);
    if (sass_writes(&o[SASS_P]))
        sass_do(l, "shfl.sync.%s.b32 %s|%s, %s, %s, %s, %s", modes[mode], d.s, sass_dest(l, &o[SASS_P], 0).s, a.s, b.s, c.s,
                mask.s);
    else
        sass_do(l, "shfl.sync.%s.b32 %s, %s, %s, %s, %s", modes[mode], d.s, a.s, b.s, c.s, mask.s);
}

void sass_emit_match(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    bool wide = sass_mod(l, SASS_F_U64), all = o[SASS_P].kind != SASS_NONE;
    struct sass_text a = wide ? sass_raw64(l, &o[SASS_A]) : sass_raw(l, &o[SASS_A]), d = sass_dest(l, &o[SASS_D], 0);
    struct sass_text mask = lanes(l, i);
    members(l, i);
    if (all && sass_writes(&o[SASS_P]))
        sass_do(l, "match.all.sync.b%u %s|%s, %s, %s", wide ? 64u : 32u, d.s, sass_dest(l, &o[SASS_P], 0).s, a.s, mask.s);
    else
        sass_do(l, "match.%s.sync.b%u %s, %s, %s", all ? "all" : "any", wide ? 64u : 32u, d.s, a.s, mask.s);
}

void sass_emit_redux(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    bool sign = sass_mod(l, SASS_F_TYPE) == SASS_TYPE_S32;
    const char *op;
    switch (sass_mod(l, SASS_F_FN)) {
    case SASS_FN_OR: op = "or.b32"; break;
    case SASS_FN_XOR: op = "xor.b32"; break;
    case SASS_FN_SUM: op = sign ? "add.s32" : "add.u32"; break;
    case SASS_FN_MIN: op = sign ? "min.s32" : "min.u32"; break;
    case SASS_FN_MAX: op = sign ? "max.s32" : "max.u32"; break;
    default: op = "and.b32"; break;
    }
    struct sass_text mask = lanes(l, i), a = sass_raw(l, &o[SASS_A]);
    members(l, i);
    sass_do(l, "redux.sync.%s %s, %s, %s", op, sass_dest(l, &o[SASS_D], 0).s, a.s, mask.s);
}

void sass_emit_elect(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    struct sass_text mask = lanes(l, i);
    members(l, i);
    sass_do(l, "elect.sync %s|%s, %s", sass_dest(l, &o[SASS_D], 0).s, sass_dest(l, &o[SASS_P], 0).s, mask.s);
}

/* Their own condition beside the guard: never seen. */
static void no_condition(struct sass_lift *l, const struct sass_insn *i)
{
    if (i->opnd[SASS_S].kind != SASS_NONE && !sass_is_true(sass_look(l, SASS_S)))
        sass_fail(l, "a condition beside the guard");
}

/* For an operation behind it, it only says the mask: where that serves lanes, and with .COLLECTIVE. */
void sass_emit_warpsync(struct sass_lift *l, const struct sass_insn *i)
{
    uint32_t k = i->offset / SASS_INSN_SIZE;
    bool collective = i->opnd[SASS_J].kind != SASS_NONE, named = i->opnd[SASS_B].kind != SASS_NONE; /* .ALL has no operand */
    no_condition(l, i);
    if (collective && (sass_guarded(i) || !sass_collective_end(l, k)))
        sass_fail(l, "for lanes that go elsewhere");
    if (collective)
        (void)sass_look(l, SASS_J);
    (void)sass_mod(l, SASS_F_EXCLUSIVE); /* how lanes wait, not which */
    struct sass_text mask = named ? sass_raw(l, &i->opnd[SASS_B]) : sass_format(ALL_LANES);
    if (collective || (l->serves[k] && sass_waits_for_operation(l, k)))
        return;
    members(l, i);
    sass_do(l, "bar.warp.sync %s", mask.s);
}

/* ptxas leaves a nop where lanes that are together wait for each other, and says so in a table: memory is ordered there.  And one
 * is what WARPSYNC.COLLECTIVE does where lanes only wait. */
void sass_emit_nop(struct sass_lift *l, const struct sass_insn *i)
{
    uint32_t k = i->offset / SASS_INSN_SIZE;
    if (!l->members[k] && (!sass_nop_waits(l, i) || l->passed[k]))
        return;
    members(l, i);
    sass_do(l, "bar.warp.sync %s", l->members[k] ? lanes(l, i).s : ALL_LANES);
}

void sass_emit_nothing(struct sass_lift *l, const struct sass_insn *i)
{
    (void)i;
    sass_look_all(l);
}

void sass_emit_nanosleep(struct sass_lift *l, const struct sass_insn *i)
{
    no_condition(l, i);
    (void)sass_mod(l, SASS_F_WARP);
    (void)sass_mod(l, SASS_F_SYNCS); /* a wait that may end at any time: who asked looks again */
    sass_do(l, "nanosleep.u32 %s", sass_raw(l, &i->opnd[SASS_B]).s);
}

/* Convergence barriers hold no values here: what is saved of them is only ever put back. */
void sass_emit_bmov(struct sass_lift *l, const struct sass_insn *i)
{
    sass_look_all(l);
    sass_quad_bmov(l, i);
    if (i->opnd[SASS_D].kind == SASS_REG)
        sass_put(l, SASS_D, "0");
}

void sass_emit_r2ur(struct sass_lift *l, const struct sass_insn *i)
{
    if (sass_writes(&i->opnd[SASS_P])) {
        /* Whether a lane differs from the one of which the number is, which no lane here does; else only a branch that we do not
         * take asks (flow.c, member masks). */
        if (!l->is_mask[i->offset / SASS_INSN_SIZE] && l->cubin->arch < 90)
            sass_fail(l, "predicate result");
        l->true_pred = true;
        if (!sass_mod(l, SASS_F_OR))
            sass_put_pred(l, SASS_P, "%never");
        (void)sass_look(l, SASS_P);
    }
    sass_put(l, SASS_D, sass_raw(l, &i->opnd[SASS_A]).s);
}

void sass_emit_bpt(struct sass_lift *l, const struct sass_insn *i)
{
    (void)sass_look(l, SASS_B);
    if (sass_mod(l, SASS_F_MODE) != SASS_MODE_TRAP)
        sass_fail(l, "a stop that is no trap");
    sass_do(l, "trap");
}

/* The address of an instruction is its offset: returns compare with that. */
void sass_emit_lepc(struct sass_lift *l, const struct sass_insn *i)
{
    bool behind = i->opnd[SASS_L].kind == SASS_IMM;
    sass_put64(l, SASS_D,
               sass_format("%u", behind ? i->offset + SASS_INSN_SIZE + (uint32_t)sass_look(l, SASS_L)->value : i->offset).s);
}

/* ---- Barriers */

/* Where both are in one register: the barrier's number in the low 4 bits, that of its threads in 12 bits from the 16th on. */
static void unpack_barrier(struct sass_lift *l, struct sass_text *a, struct sass_text *b)
{
    struct sass_text number = sass_temp(l, 't'), threads = sass_temp(l, 't');
    sass_step(l, "and.b32 %s, %s, 15", number.s, a->s);
    sass_step(l, "bfe.u32 %s, %s, 16, 12", threads.s, b->s);
    *a = number;
    *b = threads;
}

void sass_emit_bar(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    struct sass_text a = sass_raw(l, &o[SASS_A]), b = sass_raw(l, &o[SASS_B]);
    bool counted = o[SASS_B].kind != SASS_NONE && !sass_is_zero(&o[SASS_B]);
    if (counted && o[SASS_A].kind == SASS_REG && o[SASS_B].kind == SASS_REG && o[SASS_A].reg == o[SASS_B].reg)
        unpack_barrier(l, &a, &b);
    const char *comma = counted ? ", " : "", *n = counted ? b.s : "";
    unsigned red = sass_mod(l, SASS_F_RED);
    bool aligned = sass_mod(l, SASS_F_DEFER_BLOCKING) && !l->apart[i->offset / SASS_INSN_SIZE] && !l->flat;
    if (red) {
        struct sass_text s = sass_pred(l, &o[SASS_S]);
        l->calls = true;
        if (red == SASS_RED_POPC) {
            sass_do(l, "barrier.red.popc.u32 %%barrier_count, %s%s%s, %s", a.s, comma, n, s.s);
        } else {
            sass_do(l, "barrier.red.%s.pred %%barrier_pred, %s%s%s, %s", red == SASS_RED_AND ? "and" : "or", a.s, comma, n, s.s);
        }
        return;
    }
    if (sass_mod(l, SASS_F_FN) == SASS_FN_SCAN)
        sass_fail(l, ".SCAN");

    /* ptxas marks barriers that all lanes of a warp come to together, from sm_80 on. */
    sass_do(l, "barrier.%s%s %s%s%s", sass_mod(l, SASS_F_FN) == SASS_FN_ARV ? "arrive" : "sync", aligned ? ".aligned" : "", a.s,
            comma, n);
}

void sass_emit_b2r(struct sass_lift *l, const struct sass_insn *i)
{
    l->calls = true;
    if (sass_writes(&i->opnd[SASS_D]))
        sass_put(l, SASS_D, "%barrier_count");
    if (sass_writes(&i->opnd[SASS_P]))
        sass_put_pred(l, SASS_P, "%barrier_pred");
}

void sass_emit_ucgabar(struct sass_lift *l, const struct sass_insn *i)
{
    if (sass_guarded(i))
        sass_fail(l, "a guard of which kind is not known");
    sass_do(l, "barrier.cluster.%s", i->op == SASS_UCGABAR_ARV ? "arrive" : "wait");
}

void sass_emit_dependent(struct sass_lift *l, const struct sass_insn *i)
{
    sass_do(l, "griddepcontrol.%s", i->op == SASS_ACQBULK ? "wait" : "launch_dependents");
}

/* ---- Special registers */

static const char *sreg_name(unsigned sreg)
{
    switch (sreg) {
    case SASS_SR_LANEID: return "%laneid";
    case SASS_SR_TID_X: return "%tid.x";
    case SASS_SR_TID_Y: return "%tid.y";
    case SASS_SR_TID_Z: return "%tid.z";
    case SASS_SR_CTAID_X: return "%ctaid.x";
    case SASS_SR_CTAID_Y: return "%ctaid.y";
    case SASS_SR_CTAID_Z: return "%ctaid.z";
    case SASS_SR_EQMASK: return "%lanemask_eq";
    case SASS_SR_LTMASK: return "%lanemask_lt";
    case SASS_SR_LEMASK: return "%lanemask_le";
    case SASS_SR_GTMASK: return "%lanemask_gt";
    case SASS_SR_GEMASK: return "%lanemask_ge";
    case SASS_SR_SMEMSZ: return "%total_smem_size";
    case SASS_SR_VIRTUALSMID: return "%smid";
    case SASS_SR_CLOCKLO: return "%clock";
    case SASS_SR_CLOCKHI: return "%clock_hi";
    case SASS_SR_GLOBALTIMERLO: return "%globaltimer_lo";
    case SASS_SR_GLOBALTIMERHI: return "%globaltimer_hi";
    default: return NULL;
    }
}

/* Of these words code reads the number that begins at bit 8. */
static void put_second_byte(struct sass_lift *l, const char *name)
{
    struct sass_text value = sass_temp(l, 't'), word = sass_temp(l, 't');
    sass_step(l, "mov.u32 %s, %s", value.s, name);
    sass_step(l, "shl.b32 %s, %s, 8", word.s, value.s);
    sass_put(l, SASS_D, word.s);
}

void sass_emit_s2r(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned sreg = (unsigned)sass_look(l, SASS_A)->value;
    const char *name = sreg_name(sreg);
    if (sreg == SASS_SRZ || sreg == SASS_SR_CGACTAID) /* clusters have one block */
        sass_put(l, SASS_D, "0");
    else if (sreg == SASS_SR_SWINLO) /* of the window of shared memory, which is whole words high: assemblers before 12 read it */
        sass_put(l, SASS_D, "0");
    else if (sreg == SASS_SR_LMEMHIOFF) /* where the stack ends: code to debug asks that R1 is not below it */
        sass_put(l, SASS_D, "0");
    else if (sreg == SASS_SR_SWINHI)
        sass_put(l, SASS_D, sass_format("%u", SASS_SHARED_WINDOW).s);
    else if (sreg == SASS_SR_VIRTID || sreg == SASS_SR_VIRTCFG)
        put_second_byte(l, sreg == SASS_SR_VIRTID ? "%warpid" : "%nwarpid");
    else if (name)
        sass_do(l, "mov.u32 %s, %s", sass_dest(l, &i->opnd[SASS_D], 0).s, name);
    else
        sass_fail(l, "special register 0x%x", sreg);
}

void sass_emit_cs2r(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned sreg = (unsigned)sass_look(l, SASS_A)->value;
    if (i->opnd[SASS_D].regs == 1) {
        sass_emit_s2r(l, i);
        return;
    }
    const char *name = sreg == SASS_SR_CLOCKLO ? "%clock64" : sreg == SASS_SR_GLOBALTIMERLO ? "%globaltimer" : NULL;
    if (sreg == SASS_SRZ) {
        sass_put64(l, SASS_D, "0");
    } else if (name) {
        struct sass_text w = sass_temp(l, 'w');
        sass_step(l, "mov.u64 %s, %s", w.s, name);
        sass_put64(l, SASS_D, w.s);
    } else {
        sass_fail(l, "special register 0x%x", sreg);
    }
}
