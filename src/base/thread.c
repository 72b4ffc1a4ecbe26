/* Starting threads. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <signal.h>

int aw_thread_create(pthread_t *ret_thread, const pthread_attr_t *attr, void *(*fn)(void *user), void *user)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = pthread_create(ret_thread, attr, fn, user);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

int aw_thread_detached(const pthread_attr_t *attr, void *(*fn)(void *user), void *user)
{
    pthread_t thread;
    int error = aw_thread_create(&thread, attr, fn, user);
    if (!error)
        pthread_detach(thread);
    return error;
}
