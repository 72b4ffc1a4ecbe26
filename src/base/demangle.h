/* Names of C++ as their source has them, for messages: scale<int>(float*, int) for _Z5scaleIiEvPfi. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_DEMANGLE_H
#define AW_BASE_DEMANGLE_H

/* A copy of the text (heap, the caller's) in which every word that is a mangled name of C++ is what it stands for; NULL where
 * there is none, where the machine has no C++ runtime (libstdc++.so.6, which does it), or without memory.  Any thread; not in
 * signal handlers. */
char *aw_demangle_text(const char *text);

#endif
