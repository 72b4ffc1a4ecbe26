/* Records of devices' work for `anywarp profile`, among the calls' (base/calltrace.h, form "records"). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_ABI_PROFILE_H
#define AW_ABI_PROFILE_H

#include "base/activity.h"

/* Writes what has ended.  Everything is handed to `fn` as well, if there is one: libs/cupti's.  Any thread. */
void aw_profile_drain(void (*fn)(void *user, const struct aw_activity_record *record), void *user);

#endif
