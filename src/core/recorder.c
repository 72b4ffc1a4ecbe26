/* What a capture registers: see recorder.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/recorder.h"

const struct aw_recorder *aw_recorder;
int aw_capture_count;
_Thread_local int aw_capture_paused;
