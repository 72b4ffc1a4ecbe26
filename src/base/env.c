/* The environment, and behind it the user's file of settings: see env.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"

#include <string.h>
#include <sys/auxv.h>

#include "base/config.h"

/* A setting of ours that the environment does not have; a privileged program reads nobody's file. */
static const char *configured(const char *name)
{
    return !strncmp(name, "ANYWARP_", 8) && !getauxval(AT_SECURE) ? aw_config_value(name) : NULL;
}

const char *aw_env(const char *name)
{
    const char *value = secure_getenv(name);
    return value ? value : configured(name);
}

const char *aw_env_harmless(const char *name)
{
    const char *value = getenv(name);
    return value ? value : configured(name);
}
