/* How warps and blocks go together: the loops around bodies, barrier fission, unroll and jam, marching. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SIMT_SCHEDULE_SCHEDULE_H
#define AW_PTX_SIMT_SCHEDULE_SCHEDULE_H

#include "simt/ir.h"

/* ---- schedule.c */
void simt_schedule_choose(struct simt *u, enum simt_form form); /* what the kernel as it is allows */
void simt_schedule_march(struct simt *u, enum simt_form form);  /* once versions have been made: where nothing else was chosen */
/* chosen for nothing: to be made anew, plain; `cut`: regions were made */
bool simt_schedule_failed(const struct simt *u, bool cut);

/* ---- march.c */
bool simt_march_split(struct simt_fn *f);
/* Calls the body for a warp that begins, as number `i`, with `n` arguments and room for two more: the number for the next one,
 * which is the same when this one has ended. */
LLVMValueRef simt_march_begin(struct simt *u, LLVMValueRef body, LLVMValueRef *args, unsigned n, LLVMValueRef frames,
                              LLVMValueRef i);
LLVMValueRef simt_march_turns(struct simt *u, LLVMValueRef body);
unsigned simt_march_most(const struct simt *u);     /* warps at once */
uint32_t simt_march_stride(const struct simt *u);   /* bytes from frame to frame, a multiple of 64 */

/* ---- fission.c */
void simt_together_dissolve(struct simt *u); /* it is `cond` */
/* Settles them.  True: each body now runs all warps of a block.  False: a body runs a warp, and calls the runtime where it has to
 * wait. */
bool simt_fission(struct simt *u, LLVMValueRef *bodies, int n);

/* ---- entries.c */
LLVMTypeRef simt_body_type(struct simt *u);                               /* of a kernel's vector body */
LLVMTypeRef simt_device_type(struct simt *u, LLVMValueRef src);           /* of a device function's */
bool simt_rows_are_warps(const struct simt *u); /* has a block several rows, each of which is a warp? */
bool simt_block_rows(struct simt *u); /* do warps of neighbouring blocks run in turn? */
LLVMValueRef simt_warp_of_part(struct simt *u, LLVMValueRef part);        /* the warp that a vector is of */
/* `whole`: a body runs all warps of a block. */
bool simt_entries_emit(struct simt *u, LLVMValueRef rows, LLVMValueRef any, LLVMValueRef fixed, bool whole);

#endif
