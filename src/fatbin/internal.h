/* What the files of this room share.  Not for other rooms: theirs is <anywarp/fatbin.h>. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_FATBIN_INTERNAL_H
#define AW_FATBIN_INTERNAL_H

#include <stdarg.h>
#include <stdint.h>

/* An entry's claimed size beyond which we do not even try: the largest PTX seen in the field is near 30 MB. */
#define AW_FATBIN_MAX_SIZE ((size_t)1 << 30)

#endif
