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

static void complain(const char *name, const char *text, const char *const *words, int usual)
{
    struct aw_buf known = { 0 };
    if (!first(name))
        return;
    for (int i = 0; words[i]; i++)
        aw_buf_printf(&known, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " and ", words[i]);
    aw_say(SETTING_WORD, name, text, AW_STR_ARG(aw_buf_view(&known)), words[usual]);
    aw_buf_fini(&known);
}

/* The number of the word that the first `n` bytes are; -1: none. */
static int word_of(const char *text, size_t n, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (!strncmp(words[i], text, n) && !words[i][n])
            return i;
    return -1;
}

int aw_setting_word(const char *name, const char *const *words, int usual)
{
    const char *text = aw_env(name);
    int word = text && *text ? word_of(text, strlen(text), words) : usual;
    if (word < 0)
        complain(name, text, words, usual);
    return word < 0 ? usual : word;
}

unsigned aw_setting_words(const char *name, const char *const *words)
{
    const char *text = aw_env(name);
    unsigned bits = 0;
    for (const char *p = text ? text : ""; *p; p += *p == ',') {
        size_t n = strcspn(p, ",");
        int word = word_of(p, n, words);
        if (word < 0) {
            complain(name, text, words, 0);
            return 0;
        }
        bits |= word ? 1u << (word - 1) : 0;
        p += n;
    }
    return bits;
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
