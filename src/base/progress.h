/* The status line: one line on a terminal while a program waits for kernels to be compiled, gone when the waiting ends.
 *
 * There is none where standard error is no terminal or another's, or ANYWARP_QUIET is set (`anywarp run --quiet`), and none
 * before a program has waited for half a second in all. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_PROGRESS_H
#define AW_BASE_PROGRESS_H

/* Waiting for `what` ("compiling kernel k (m.cu)") begins; copied.  Each begin has its end, on the same thread.  Any thread. */
void aw_progress_begin(const char *what);
void aw_progress_end(void);

/* Called again and again between the two: draws the line when it is time.  Returns the milliseconds until the next call should
 * come,
 * -1: none needed.  Any thread. */
int aw_progress_tick(void);

/* Takes the line away before something else is written to standard error; the next tick brings it back.  Any thread. */
void aw_progress_hide(void);

#endif
