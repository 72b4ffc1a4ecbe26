/* In what order the warps of a launch run, where they need not wait for each other: chosen here once, with what is done when it
 * comes to nothing. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include "simt/schedule/schedule.h"

void simt_schedule_choose(struct simt *u, enum simt_form form)
{
    if (u->options->races)
        return;
    if (simt_step(u, PTX_PASS_BLOCK_ROWS) && simt_block_rows(u))
        u->schedule = SIMT_BLOCK_ROWS;
    else if (simt_step(u, PTX_PASS_INTERLEAVE) && simt_warps_alike(u, form))
        u->schedule = SIMT_INTERLEAVED;
    else if (simt_step(u, PTX_PASS_ABREAST) && simt_abreast(u, form))
        u->schedule = SIMT_ABREAST;
}

void simt_schedule_march(struct simt *u, enum simt_form form)
{
    bool may = !u->options->races && u->schedule == SIMT_IN_TURN && u->options->block[0] && !u->options->plain;
    if (may && simt_step(u, PTX_PASS_MARCH) && simt_marches(u, form))
        u->schedule = simt_rows_are_warps(u) ? SIMT_MARCH_ROWS : SIMT_MARCH;
}

bool simt_schedule_failed(const struct simt *u, bool cut)
{
    return (u->schedule == SIMT_INTERLEAVED && !u->jammed) || (u->schedule == SIMT_ABREAST && !cut);
}
