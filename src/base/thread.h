/* Threads of ours in a program that does not know of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_THREAD_H
#define AW_BASE_THREAD_H

#include <pthread.h>

/* As pthread_create, with all signals blocked: the program's are for the program's threads.  0, or an error number. */
int aw_thread_create(pthread_t *ret_thread, const pthread_attr_t *attr, void *(*fn)(void *user), void *user);
/* The same of a thread that nobody joins; `attr` may be NULL. */
int aw_thread_detached(const pthread_attr_t *attr, void *(*fn)(void *user), void *user);

#endif
