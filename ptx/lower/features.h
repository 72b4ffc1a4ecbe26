/* What lowering asks of a target, so that it knows nothing of what finishes its code. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_FEATURES_H
#define AW_PTX_LOWER_FEATURES_H

#include <stdint.h>

/* What the lowering may use directly. */
enum ptx_target_feature {
    PTX_TARGET_NATIVE_F16 = 1, /* half arithmetic incl. fma without library calls or double rounding */
    PTX_TARGET_ATOMIC_128 = 2, /* loads and stores of 16 aligned bytes in one piece */
    PTX_TARGET_ROUNDING = 4,   /* aw.round.*: directed rounding in one operation */
    PTX_TARGET_FTZ = 8,        /* a mode in which all f32 arithmetic of a kernel flushes subnormals */
    PTX_TARGET_CHEAP_SHUFFLE = 16, /* aw.shfl.idx of lanes known when compiling costs no more than arithmetic */
    PTX_TARGET_DOT4 = 32,          /* aw.dot4.* */
    PTX_TARGET_TILES = 64,         /* aw.tile.* may be asked for */
    PTX_TARGET_FTZ_APPROX = 128,   /* aw.*.ftz.f32 */
    PTX_TARGET_ROUND_KNOWN = 256,  /* aw.round.fma.known.f32 */
    PTX_TARGET_BLOCKS = 512,       /* aw.block.texel */
    PTX_TARGET_LOOKS = 2048,       /* it can look at accesses, and is told which ones are not the program's: PTX_OWN_READ */
    PTX_TARGET_CHECK_SYNC = 1024,  /* aw.check.sync: barriers and operations with member masks say who comes to them */
    PTX_TARGET_DEBUG = 4096,       /* aw.line: code of different lines stays apart */
    PTX_TARGET_SHARED_NAMES = 8192, /* the module says where its shared variables lie (PTX_SHARED_NAMES) */
};

struct ptx_lower_target {
    const char *name;        /* "amdgpu", "host" */
    const char *triple;      /* of the SIMT IR; static */
    const char *data_layout; /* of the SIMT IR; sizes of ptr addrspace(0, 3, 5), alloca space 5 */
    uint32_t features;       /* enum ptx_target_feature */
};

#endif
