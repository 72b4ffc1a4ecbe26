/* Races in shared memory, for ANYWARP_HOST_CHECK=race: what tells the detector (race.c) of blocks and barriers.  Without, and for
 * kernels without shared memory, run->block.race is NULL, and only start and end may be called with the run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_HOST_RACE_H
#define AW_HOST_RACE_H

#include "host.h"

void aw_host_race_init(void);                         /* from now on */
bool aw_host_race_start(struct aw_host_run *run);     /* for a launch's block; false: no memory */
void aw_host_race_finish(struct aw_host_run *run);    /* the launch's last block has ended, or was given up */
void aw_host_race_end(struct aw_host_run *run);       /* frees */
/* Warps come to a barrier, where they wait or not; and those who wait go on: all that live, by `all`. */
void aw_host_race_come(struct aw_host_run *run, uint32_t id, uint32_t warp, uint32_t warps, bool waits);
void aw_host_race_meet(struct aw_host_run *run, uint32_t id, bool all);
void aw_host_race_meet_all(struct aw_host_run *run);  /* likewise, and nothing was told of who came */

#endif
