/* Serving compile requests on a socket.  Not for other rooms: the other side is src/core/jit.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_COMPILER_SERVE_H
#define AW_TOOLS_COMPILER_SERVE_H

/* Says hello and answers requests until the client closes.  0 at a clean end, 1 with a message on standard error when the
 * client breaks the protocol or goes away in the middle. */
int aw_compiler_serve(int socket);

/* The client has gone.  Waits for what is being made all the same, for `seconds` of processor time at most, and no longer than
 * ten times as long.  Called in another thread than serves. */
void aw_compiler_serve_rest(unsigned seconds);

#endif
