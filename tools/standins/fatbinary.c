/* fatbinary: one fat binary of the PTX in its images.  Not the C text that nvcc embeds. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include <anywarp/fatbin.h>

#include "standins.h"

#define TOOL "fatbinary"

enum { HELP = 1, VERSION, CREATE, IMAGE, EMBED };

static const struct standin_option options[] = {
    { "help", "h", STANDIN_FLAG, HELP },
    { "version", "V", STANDIN_FLAG, VERSION },
    { "create", "create", STANDIN_VALUE, CREATE },
    { "image", "image", STANDIN_VALUE, IMAGE },
    { "image3", "image3", STANDIN_VALUE, IMAGE },
    { "embedded-fatbin", "embedded-fatbin", STANDIN_VALUE, EMBED },
    { "64", "64", STANDIN_FLAG, 0 },
    { "cmdline", "cmdline", STANDIN_VALUE, 0 },
    { "compress", "compress", STANDIN_BOOL, 0 },
    { "compress-all", "compress-all", STANDIN_FLAG, 0 },
    { "compress-mode", "compress-mode", STANDIN_VALUE, 0 },
    { "ident", "ident", STANDIN_VALUE, 0 },
    { "link", "link", STANDIN_FLAG, 0 },
    { "debug", "g", STANDIN_FLAG, 0 },
    { "cuda", "cuda", STANDIN_FLAG, 0 },
    { NULL, NULL, STANDIN_FLAG, 0 },
};

/* "profile=sm_80,file=x" or "kind=ptx,sm=80,file=x": file comes last. */
static bool image_read(const char *image, struct standin_texts *texts)
{
    const char *file = !strncmp(image, "file=", 5) ? image : strstr(image, ",file=");
    if (!file) {
        standin_fatal(TOOL, "Value '%s' is not defined for option 'image'", image);
        return false;
    }
    return standin_read(TOOL, strchr(file, '=') + 1, texts);
}

static bool container_add(void *user, const void *container, size_t size)
{
    /* Its head of 16 bytes aside, a container is its entries one after the other. */
    aw_buf_add(user, (const char *)container + 16, size - 16);
    return true;
}

static int create(const char *output, const struct standin_texts *texts)
{
    AW_VEC(struct aw_fatbin_text) entries = { 0 };
    struct aw_buf bytes = { 0 };
    uint64_t all[2] = { AW_FATBIN_MAGIC | 1ull << 32 | 16ull << 48, 0 };
    size_t size;
    bool good = true;
    for (size_t i = 0; i < texts->list.n && good; i++) {
        const struct standin_text *t = &texts->list.at[i];
        good = aw_vec_push(&entries, (struct aw_fatbin_text){ t->text, t->len, t->name, t->sm, t->debug });
    }
    char *image = good ? aw_fatbin_write(entries.at, entries.n, &size) : NULL;
    aw_buf_add(&bytes, all, sizeof all);
    good = image && aw_fatbin_each_in_elf(image, size, container_add, &bytes) == 0 && !bytes.failed;
    if (good) {
        all[1] = bytes.len - sizeof all;
        memcpy(bytes.ptr, all, sizeof all);
    }
    good = good ? standin_write(TOOL, output, bytes.ptr, bytes.len) : standin_fatal(TOOL, "out of memory") == 0;
    free(image);
    aw_buf_fini(&bytes);
    aw_vec_fini(&entries);
    return good ? 0 : STANDIN_FAILED;
}

int standin_fatbinary(int argc, char **argv)
{
    struct standin_parser p = { .tool = TOOL, .options = options, .argc = argc, .argv = argv, .next = 1 };
    struct standin_texts texts = { 0 };
    const char *output = NULL;
    int status = 0;
    for (int id; !status && (id = standin_next(&p)) != STANDIN_END;)
        switch (id) {
        case STANDIN_BAD: status = STANDIN_FAILED; break;
        case STANDIN_INPUT: status = standin_fatal(TOOL, "Unexpected argument '%s'", p.value); break;
        case HELP: standin_help(TOOL, "[options]", options); return 0;
        case VERSION: standin_version(TOOL, "fat binary constructor"); return 0;
        case CREATE: output = p.value; break;
        case IMAGE: status = image_read(p.value, &texts) ? 0 : STANDIN_FAILED; break;
        case EMBED: status = standin_fatal(TOOL, "Option 'embedded-fatbin' is not supported by this stand-in"); break;
        }
    if (!status && !output)
        status = standin_fatal(TOOL, "Option 'create' is missing");
    if (!status && !texts.list.n)
        status = standin_fatal(TOOL, texts.machine_code ? "The images hold machine code and no PTX" : "No image");
    if (!status)
        status = create(output, &texts);
    standin_texts_fini(&texts);
    return status;
}
