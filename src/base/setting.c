/* Settings in the environment: see setting.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/setting.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "base/str.h"

#define AW_ROOM "base"

/* Is this the first time that the setting is complained of?  By its name's address: a second copy of a name warns once more. */
static bool first(const char *name)
{
    enum { SETTINGS = 32 };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const char *said[SETTINGS];
    int i = 0;
    pthread_mutex_lock(&lock);
    while (i < SETTINGS && said[i] && said[i] != name)
        i++;
    bool ret = i < SETTINGS && !said[i];
    if (ret)
        said[i] = name;
    pthread_mutex_unlock(&lock);
    return ret;
}

int aw_setting_word(const char *name, const char *const *words, int usual)
{
    const char *text = aw_env(name);
    if (!text || !*text)
        return usual;
    for (int i = 0; words[i]; i++)
        if (!strcmp(words[i], text))
            return i;
    if (!first(name))
        return usual;
    struct aw_buf known = { 0 };
    for (int i = 0; words[i]; i++)
        aw_buf_printf(&known, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " and ", words[i]);
    aw_say(SETTING_WORD, name, text, AW_STR_ARG(aw_buf_view(&known)), words[usual]);
    aw_buf_fini(&known);
    return usual;
}

unsigned long aw_setting_number(const char *name, unsigned long min, unsigned long max, unsigned long usual)
{
    const char *text = aw_env(name);
    char *end;
    if (!text || !*text)
        return usual;
    unsigned long value = strtoul(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && value >= min && value <= max)
        return value;
    if (first(name))
        aw_say(SETTING_NUMBER, name, text, min, max, usual);
    return usual;
}
