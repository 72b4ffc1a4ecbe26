/* Settings in the environment that are a number or one of a few words.  What is neither is said, once a process, and counts as
 * not set. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_SETTING_H
#define AW_BASE_SETTING_H

#include <stddef.h>

/* The number of the word that the variable `name` (static) is set to, `usual` where it is not set or empty.  words[] ends with
 * NULL.  Any thread. */
int aw_setting_word(const char *name, const char *const *words, int usual);

/* Likewise several of the words, with commas between, in any order: bit i stands for words[i + 1].  words[0] is what says none of
 * them, as does a variable that is not set or empty. */
unsigned aw_setting_words(const char *name, const char *const *words);

/* Likewise a decimal number from `min` to `max`. */
unsigned long aw_setting_number(const char *name, unsigned long min, unsigned long max, unsigned long usual);

#endif
