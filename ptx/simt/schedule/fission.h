/* Shared by fission.c, which says how a body can be cut at its barriers, fission_cut.c, which does it, and unroll_jam.c, which
 * joins warps afterwards; for nobody else. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SIMT_SCHEDULE_FISSION_H
#define AW_PTX_SIMT_SCHEDULE_FISSION_H

#include "simt/ir.h"

/* Parameters of a kernel's vector body; see entries.c. */
enum { BODY_BLOCK, BODY_STATE, BODY_WARP, BODY_LANES, BODY_KERNARG, BODY_CTAID, BODY_TID = BODY_CTAID + 3 };

/* What lies between two places where all warps of a block meet.  It is entered at one block, its head, and left for one or two
 * other regions, or the kernel ends with it. */
struct region {
    int head;
    int to[2], n_to;  /* heads of the regions that follow, in the order of the branch that chooses */
    int chooser;      /* the block with that branch, or -1 */
    bool ends;
    bool common;      /* all that it does is the same for all warps, and done once */
    /* fission_cut.c's */
    LLVMBasicBlockRef first, before, latch, after;
    LLVMValueRef note;   /* the store that tells the runtime which warp is at hand */
    LLVMValueRef own[5]; /* warp, lanes, tid x y z of the warp at hand; NULL: not needed yet */
};

/* One body. */
struct regions {
    struct simt *u;
    LLVMValueRef fn;
    struct simt_fn f;         /* its graph */
    struct aw_ptrmap differs; /* values that need not be the same for all warps of a block */
    bool *head;               /* by block: does a region begin here? */
    bool *parted;             /* by block: some warps may come here while others do not, or not as often */
    bool divided;             /* parted[] is known */
    bool *joins;              /* by block: warps that have parted meet here */
    struct aw_ptrmap stays;   /* phi of a head -> the value that is kept where the phi is: from its definition on, the phi is done
                               * with */
    struct aw_ptrmap stayed;  /* the other way round */
    int *owner;               /* by block: the head of its region */
    int *pdom;                /* by block: its nearest post-dominator; -1 for the last block */
    int stamp;                /* of the last search */
    int last;                 /* the block that returns */
    struct region **region;   /* by block: the region that it heads */
    uint32_t warps;           /* of a block; 0: known at launch */
    /* fission_cut.c's */
    LLVMValueRef n_warps;
    LLVMBasicBlockRef entry;
    struct aw_ptrmap places;  /* basic block -> region */
    struct aw_ptrmap anchors; /* basic block -> the instruction before which more is put */
    struct aw_ptrmap slots;   /* value -> where it is kept */
    struct aw_ptrmap origin;  /* what stands for a value somewhere -> that value */
    struct aw_map here;       /* value and basic block -> what stands for it there */
};

/* ---- fission.c */
/* A call of the runtime before `x`: `service` is its place in struct aw_host_services, the first argument the block. */
LLVMValueRef simt_service_before(struct simt *u, LLVMValueRef x, size_t service, LLVMTypeRef type, LLVMValueRef *args,
                                 unsigned n);
bool simt_region_differs(const struct regions *r, LLVMValueRef v);
/* May the instruction, the same for all warps, be executed once before them, and though none of them comes to it? */
bool simt_region_hoists(LLVMValueRef x);
/* Cheaper to compute again for each region than to keep? */
bool simt_region_cheap(const struct regions *r, LLVMValueRef x);
bool simt_region_scratch(LLVMValueRef alloca);
LLVMValueRef simt_meet_begin(struct simt *u, LLVMValueRef x); /* what its sum begins with */
LLVMValueRef simt_meet_add(struct simt *u, LLVMValueRef x, LLVMValueRef old);

/* ---- fission_scratch.c */
/* Makes scratch areas whose content a later region reads variables of each warp; false: there are none, or u->status is set. */
bool simt_scratch_hold(struct regions *r);

/* ---- fission_hazard.c */
#define SIMT_MAX_HAZARDS 16
/* Has warps meet behind reads of shared memory that others write next: puts the meetings there and into `ret`, returns how many.
 * The graph is to be built anew then.  u->status may be set. */
unsigned simt_hazards(const struct regions *r, LLVMValueRef ret[SIMT_MAX_HAZARDS]);
/* The same in a body that is not cut: warps let the others go on before writes to what those may be about to read.  Of the
 * analysis it needs the graph and what differs.  u->status may be set. */
void simt_hazard_turns(const struct regions *r);

/* ---- fission_cut.c */
bool simt_fission_cut(struct regions *r); /* false: u->status is set */

/* ---- unroll_jam.c */
void simt_unroll_jam(struct regions *r, struct region *g); /* several warps at once in the region's loop, where it pays; of a
                                                            * block with so many */

#endif
