/* simgpu-ops: one wave driven from standard input, instruction by instruction, for the tests of the rows.  It assembles with
 * LLVM, sets and reads registers, LDS and a piece of memory.  No dispatch, no schedule.  Commands, one a line, numbers in hex
 * without 0x:
 *
 *   asm TEXT adds a line to the program (labels and directives too, they count as no instruction's number when TEXT ends in ':')
 *   ready               assembles; answers "ready N", or "error TEXT" and forgets the program
 *   clear               forgets the program
 *   wave 20|40          32 or 64 lanes from now on; forgets the program
 *   vgprs N             N + 1 vector registers are the wave's, of the 256
 *   s REG VALUE         sets a scalar register (number, vcc, exec: 64 bits; m0, scc, mode)
 *   v REG V0 V1 ... sets a vector register's lanes; one value: all lanes a REG ... likewise an accumulation register
 *   lds OFFSET W0 ...   sets words of LDS         mem ADDRESS W0 ...   sets words of memory
 *   run K executes instruction K only go K from K to the end, a stop, a barrier or 100 million instructions
 *   get s|v|a REG get lds|mem OFFSET COUNT get state|text K|stats answers one line; `text` is what K was decoded to
 *
 *   simgpu-ops --list   names all rows instead: name, signature, class, cards
 *   simgpu-ops --card NAME --decode OBJECT... decodes all instructions of code objects instead: a line "TEXT | WHY" for each kind
 *   that the
 *                       card does not know, then how many instructions and kinds there were; exit status 1 when one was not
 *                       known */
/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <inttypes.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../core/decode.h"

enum { MEMORY_BYTES = 64 << 10, CODE_BYTES = 16 << 20, LDS_BYTES = 64 << 10, SCRATCH_BYTES = 4096, REGISTERS = 256,
       GO_LIMIT = 100 << 20 };
#define MEMORY_AT 0x100000000ull
#define CODE_AT 0x200000000ull
#define SCRATCH_AT 0x0000800000000000ull

static const struct sim_card *card;
static struct sim_wave wave;
static struct sim_group group;
static uint8_t *code, *memory;
static char *program;        /* the assembler's text so far */
static size_t program_size, program_room;
static uint64_t *places;     /* of the instructions */
static size_t n_lines, n_places;

static void die(const char *what)
{
    fprintf(stderr, "simgpu-ops: %s\n", what);
    exit(2);
}

static void *need(void *p)
{
    if (!p)
        die("out of memory");
    return p;
}

/* ---- The wave ---- */

static void reset_wave(unsigned lanes)
{
    struct sim_wave fresh = { .lanes = lanes, .counts = true, .n_vgprs = REGISTERS, .card = card, .group = &group,
                              .scratch_bytes = SCRATCH_BYTES,
                              .scratch_base = SCRATCH_AT };
    fresh.v = need(calloc((size_t)REGISTERS * lanes, sizeof *fresh.v));
    fresh.a = card->agprs ? need(calloc((size_t)REGISTERS * lanes, sizeof *fresh.a)) : NULL;
    fresh.scratch = need(calloc(lanes, SCRATCH_BYTES));
    free(wave.v);
    free(wave.a);
    free(wave.scratch);
    wave = fresh;
    sim_set_exec(&wave, ~0ull);
    wave.mode = 0xf0; /* denormals kept, round to nearest even */
    group.waves = &wave;
    group.n_waves = 1;
    group.lds_size = LDS_BYTES;
}

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void start(const char *name, unsigned lanes)
{
    card = sim_card_find(name);
    if (!card)
        die("no such card");
    code = need(map(CODE_BYTES));
    memory = need(map(MEMORY_BYTES));
    group.lds = need(map(LDS_BYTES));
    if (!sim_map_add(MEMORY_AT, memory, MEMORY_BYTES, 1) || !sim_map_add(CODE_AT, code, CODE_BYTES, 1))
        die("cannot map the memory");
    reset_wave(lanes);
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
}

/* ---- Assembling ---- */

static void add_text(const char *text)
{
    size_t n = strlen(text);
    if (program_size + n + 1 > program_room) {
        program_room = 2 * (program_size + n + 1);
        program = need(realloc(program, program_room));
    }
    memcpy(program + program_size, text, n + 1);
    program_size += n;
}

static void forget(void)
{
    program_size = n_lines = 0;
}

/* Before each instruction a symbol, so that the object says where it lies. */
static void add_line(const char *text)
{
    char symbol[40];
    size_t n = strlen(text);
    if (!n || text[n - 1] != ':') {
        snprintf(symbol, sizeof symbol, "op%zu_:\n", n_lines++);
        add_text(symbol);
    }
    add_text(text);
    add_text("\n");
}

static char problem[512];

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *unused)
{
    (void)unused;
    char *text = LLVMGetDiagInfoDescription(info);
    if (!problem[0])
        snprintf(problem, sizeof problem, "%s", text);
    LLVMDisposeMessage(text);
    for (char *p = problem; *p; p++)
        if (*p == '\n')
            *p = ' ';
}

/* The place of the code's section and of each symbol op<N>_ in it. */
static bool read_object(const char *data, size_t size)
{
    const Elf64_Ehdr *header = (const void *)data;
    if (size < sizeof *header || header->e_shoff + (uint64_t)header->e_shnum * sizeof(Elf64_Shdr) > size)
        return false;
    const Elf64_Shdr *section = (const void *)(data + header->e_shoff), *text = NULL, *symbols = NULL;
    const char *names = data + section[header->e_shstrndx].sh_offset;
    for (unsigned k = 0; k < header->e_shnum; k++) {
        if (strcmp(names + section[k].sh_name, ".text") == 0)
            text = &section[k];
        if (section[k].sh_type == SHT_SYMTAB)
            symbols = &section[k];
    }
    if (!text || !symbols || text->sh_size + 64 > CODE_BYTES)
        return false;
    memset(code, 0, CODE_BYTES < 2 * text->sh_size + 4096 ? CODE_BYTES : 2 * text->sh_size + 4096);
    memcpy(code, data + text->sh_offset, text->sh_size);
    places = need(realloc(places, (n_lines + 1) * sizeof *places));
    n_places = 0;
    const Elf64_Sym *symbol = (const void *)(data + symbols->sh_offset);
    const char *strings = data + section[symbols->sh_link].sh_offset;
    for (size_t k = 0; k < symbols->sh_size / sizeof *symbol; k++) {
        size_t number;
        if (sscanf(strings + symbol[k].st_name, "op%zu_", &number) == 1 && number < n_lines) {
            places[number] = CODE_AT + symbol[k].st_value;
            n_places++;
        }
    }
    sim_decode_epoch();
    return n_places == n_lines;
}

static bool assemble(void)
{
    static const char triple[] = "amdgcn-amd-amdhsa";
    LLVMTargetRef target;
    char *message = NULL;
    LLVMMemoryBufferRef object = NULL;
    const char *features = !card->wave32      ? ""
                           : wave.lanes == 32 ? "+wavefrontsize32,-wavefrontsize64"
                                              : "+wavefrontsize64,-wavefrontsize32";
    problem[0] = 0;
    if (LLVMGetTargetFromTriple(triple, &target, &message))
        die(message);
    LLVMContextRef context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(context, on_diagnostic, NULL);
    LLVMTargetMachineRef machine = LLVMCreateTargetMachine(target, triple, card->name, features, LLVMCodeGenLevelNone,
                                                           LLVMRelocPIC, LLVMCodeModelDefault);
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("ops", context);
    LLVMSetTarget(module, triple);
    LLVMSetModuleInlineAsm2(module, program ? program : "", program_size);
    bool failed = LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &message, &object);
    if (failed && !problem[0])
        snprintf(problem, sizeof problem, "%s", message);
    LLVMDisposeMessage(message);
    bool ok = !failed && !problem[0] && read_object(LLVMGetBufferStart(object), LLVMGetBufferSize(object));
    if (!ok && !problem[0])
        snprintf(problem, sizeof problem, "the object does not hold all instructions");
    if (object)
        LLVMDisposeMemoryBuffer(object);
    LLVMDisposeModule(module);
    LLVMDisposeTargetMachine(machine);
    LLVMContextDispose(context);
    return ok;
}

static void ready(void)
{
    if (assemble())
        printf("ready %zx\n", n_places);
    else
        printf("error %s\n", problem);
    forget();
    fflush(stdout);
}

/* ---- Commands ---- */

/* The next number of the line; false at its end. */
static bool next_number(char **at, uint64_t *ret)
{
    char *end;
    *ret = strtoull(*at, &end, 16);
    if (end == *at)
        return false;
    *at = end;
    return true;
}

static uint64_t number(char **at)
{
    uint64_t value;
    if (!next_number(at, &value))
        die("a number is missing");
    return value;
}

static bool skip(char **at, const char *text)
{
    size_t n = strlen(text);
    while (**at == ' ')
        ++*at;
    if (strncmp(*at, text, n) != 0 || ((*at)[n] && (*at)[n] != ' '))
        return false;
    *at += n;
    return true;
}

/* The scalar that the line names next, and whether it is a pair. */
static uint32_t *scalar(char **at, bool *ret_pair)
{
    static const struct {
        const char *name;
        uint16_t reg;
        bool pair;
    } named[] = {
        { "vcc", SIM_VCC, true }, { "exec", SIM_EXEC, true }, { "m0", SIM_M0, false }, { "flat_scratch", SIM_FLAT_SCRATCH, true }
    };
    *ret_pair = false;
    if (skip(at, "scc"))
        return &wave.scc;
    if (skip(at, "mode"))
        return &wave.mode;
    for (size_t k = 0; k < sizeof named / sizeof *named; k++)
        if (skip(at, named[k].name)) {
            *ret_pair = named[k].pair;
            return &wave.s[named[k].reg];
        }
    uint64_t reg = number(at);
    if (reg >= SIM_SGPRS)
        die("no such scalar register");
    return &wave.s[reg];
}

static uint32_t *lanes_of(uint32_t *file, char **at)
{
    uint64_t reg = number(at);
    if (!file || reg >= REGISTERS)
        die("no such vector register");
    return file + reg * wave.lanes;
}

static void set_lanes(uint32_t *file, char *at)
{
    uint32_t *to = lanes_of(file, &at);
    uint64_t value;
    unsigned n = 0;
    while (n < wave.lanes && next_number(&at, &value))
        to[n++] = (uint32_t)value;
    if (n == 1)
        for (; n < wave.lanes; n++)
            to[n] = to[0];
    if (n != wave.lanes)
        die("too few lanes");
}

static uint8_t *words(char **at, bool lds, size_t bytes)
{
    uint64_t from = number(at) - (lds ? 0 : MEMORY_AT), size = lds ? LDS_BYTES : MEMORY_BYTES;
    if (from > size || bytes > size - from)
        die("outside of the memory");
    return (lds ? group.lds : memory) + from;
}

static void set_words(char *at, bool lds)
{
    uint8_t *end = lds ? group.lds + LDS_BYTES : memory + MEMORY_BYTES;
    uint64_t value;
    for (uint8_t *to = words(&at, lds, 0); next_number(&at, &value); to += 4) {
        if (to + 4 > end)
            die("outside of the memory");
        memcpy(to, &(uint32_t){ (uint32_t)value }, 4);
    }
}

static void set_scalar(char *at)
{
    bool pair;
    uint32_t *to = scalar(&at, &pair);
    uint64_t value = number(&at);
    to[0] = (uint32_t)value;
    if (pair)
        to[1] = (uint32_t)(value >> 32);
}

static void execute(char *at, unsigned budget)
{
    uint64_t k = number(&at);
    if (k >= n_places)
        die("no such instruction");
    wave.state = SIM_RUNNING;
    wave.report.text[0] = 0;
    sim_jump(&wave, places[k]);
    sim_wave_run(&wave, budget);
    for (; budget > 1 && wave.state == SIM_ASLEEP; budget--) {
        wave.state = SIM_RUNNING;
        sim_wave_run(&wave, budget);
    }
}

static void print_words(const void *from, size_t count)
{
    const uint8_t *p = from;
    for (size_t k = 0; k < count; k++) {
        uint32_t word;
        memcpy(&word, p + 4 * k, 4);
        printf("%s%x", k ? " " : "", word);
    }
    putchar('\n');
}

static void print_state(void)
{
    static const char *const names[] = { [SIM_RUNNING] = "running", [SIM_AT_BARRIER] = "barrier", [SIM_ASLEEP] = "asleep",
                                         [SIM_AT_GWS] = "gws", [SIM_ENDED] = "ended" };
    if (wave.state == SIM_STOPPED)
        printf("stopped %s\n", wave.report.text);
    else
        printf("%s\n", names[wave.state]);
}

static void print_stats(void)
{
    const struct sim_stats *s = &wave.stats;
    for (int k = 0; k < SIM_CLASS_COUNT; k++)
        printf("%" PRIx64 " ", s->executed[k]);
    printf("lanes %" PRIx64 " %" PRIx64 " bytes %" PRIx64 " %" PRIx64 " lines %" PRIx64 " scalar %" PRIx64 " lds %" PRIx64
           " %" PRIx64 " taken %" PRIx64 "\n",
           s->vector_lanes, s->vector_slots, s->loaded, s->stored, s->lines, s->scalar_loaded, s->lds_accesses, s->lds_conflicts,
           s->taken);
}

static void print_text(char *at)
{
    uint64_t k = number(&at);
    struct sim_wave probe = wave;
    const struct sim_inst *i = k < n_places ? sim_decode(&probe, places[k]) : NULL;
    printf("%s | %s%s%s\n", i ? i->text : probe.report.text, i ? i->op->name : "", i && i->why ? ": " : "",
           i && i->why ? i->why : "");
}

static void get(char *at)
{
    bool pair;
    if (skip(&at, "state")) {
        print_state();
    } else if (skip(&at, "stats")) {
        print_stats();
    } else if (skip(&at, "text")) {
        print_text(at);
    } else if (skip(&at, "s")) {
        uint32_t *from = scalar(&at, &pair);
        if (pair)
            printf("%" PRIx64 "\n", from[0] | (uint64_t)from[1] << 32);
        else
            print_words(from, 1);
    } else if (skip(&at, "v") || skip(&at, "a")) {
        print_words(lanes_of(at[-1] == 'v' ? wave.v : wave.a, &at), wave.lanes);
    } else if (skip(&at, "lds") || skip(&at, "mem")) {
        bool lds = at[-1] == 's';
        char *count = at;
        number(&count);
        uint64_t n = number(&count);
        print_words(words(&at, lds, n <= MEMORY_BYTES / 4 ? 4 * n : SIZE_MAX), n);
    } else {
        die("get what?");
    }
    fflush(stdout);
}

static void command(char *at)
{
    if (skip(&at, "asm"))
        add_line(at + (*at == ' '));
    else if (skip(&at, "ready"))
        ready();
    else if (skip(&at, "clear"))
        forget();
    else if (skip(&at, "wave")) {
        uint64_t lanes = number(&at);
        if (lanes != 64 && (lanes != 32 || !card->wave32))
            die("the card has no waves of that size");
        forget();
        reset_wave((unsigned)lanes);
    } else if (skip(&at, "vgprs"))
        wave.n_vgprs = (unsigned)(number(&at) & 0xff) + 1;
    else if (skip(&at, "s"))
        set_scalar(at);
    else if (skip(&at, "v"))
        set_lanes(wave.v, at);
    else if (skip(&at, "a"))
        set_lanes(wave.a, at);
    else if (skip(&at, "lds"))
        set_words(at, true);
    else if (skip(&at, "mem"))
        set_words(at, false);
    else if (skip(&at, "run"))
        execute(at, 1);
    else if (skip(&at, "go"))
        execute(at, GO_LIMIT);
    else if (skip(&at, "get"))
        get(at);
    else if (*at)
        die("unknown command");
}

static int list(void)
{
    static const char *const classes[] = {
#define X(name, text) #name,
        SIM_CLASSES(X)
#undef X
    };
    const struct sim_op *op;
    for (size_t k = 0; (op = sim_op_at(k)); k++)
        printf("%s\t%s\t%s\t%x\n", op->name, op->sig, classes[op->cls], op->cards);
    if (sim_op_problem())
        fprintf(stderr, "simgpu-ops: %s\n", sim_op_problem());
    return sim_op_problem() ? 1 : 0;
}

/* ---- Whole objects ---- */

/* The mnemonics that were decoded, each once. */
static struct {
    char name[48];
    bool unknown;
} kinds[4096];
static size_t n_kinds, n_unknown, n_instructions;

static void note(const struct sim_inst *i)
{
    size_t length = strcspn(i->text, " "), k = 0;
    n_instructions++;
    if (length >= sizeof kinds->name)
        length = sizeof kinds->name - 1;
    while (k < n_kinds &&
           (strncmp(kinds[k].name, i->text, length) != 0 || kinds[k].name[length] || (i->why && !kinds[k].unknown)))
        k++;
    if (k < n_kinds)
        return;
    if (k == sizeof kinds / sizeof *kinds)
        die("too many kinds of instructions");
    memcpy(kinds[n_kinds].name, i->text, length);
    kinds[n_kinds++].unknown = i->why != NULL;
    if (i->why) {
        n_unknown++;
        printf("%s | %s\n", i->text, i->why);
    }
}

/* The bytes of the section .text, NULL when the file is no object with one. */
static const uint8_t *text_section(const uint8_t *data, size_t size, size_t *ret_size)
{
    const Elf64_Ehdr *header = (const void *)data;
    if (size < sizeof *header || memcmp(data, ELFMAG, SELFMAG) != 0 || header->e_shstrndx >= header->e_shnum ||
        header->e_shoff > size || header->e_shnum * sizeof(Elf64_Shdr) > size - header->e_shoff)
        return NULL;
    const Elf64_Shdr *section = (const void *)(data + header->e_shoff), *names = &section[header->e_shstrndx];
    for (unsigned k = 0; k < header->e_shnum; k++) {
        uint64_t name = names->sh_offset + section[k].sh_name;
        if (name + 6 > size || memcmp(data + name, ".text", 6) != 0)
            continue;
        *ret_size = section[k].sh_size;
        return section[k].sh_offset <= size && *ret_size <= size - section[k].sh_offset ? data + section[k].sh_offset : NULL;
    }
    return NULL;
}

static void decode_object(const char *file)
{
    static uint8_t data[CODE_BYTES];
    FILE *f = fopen(file, "rb");
    size_t n = f ? fread(data, 1, sizeof data, f) : 0, size = 0;
    const uint8_t *text = text_section(data, n, &size);
    if (f)
        fclose(f);
    if (!text || size + 64 > CODE_BYTES)
        die("a file that is no code object");
    memset(code + size, 0, 64);
    memcpy(code, text, size);
    sim_decode_epoch();
    for (uint64_t pc = CODE_AT; pc < CODE_AT + size;) {
        const struct sim_inst *i = sim_decode(&wave, pc);
        if (!i)
            die(wave.report.text);
        /* Padding behind kernels. */
        if (strcmp(i->text, "s_code_end") != 0)
            note(i);
        pc += i->size;
    }
}

static int decode_objects(int count, char **files)
{
    for (int k = 0; k < count; k++)
        decode_object(files[k]);
    printf("%zu objects, %zu instructions of %zu kinds, %zu unknown\n", (size_t)count, n_instructions, n_kinds - n_unknown,
           n_unknown);
    return n_unknown ? 1 : 0;
}

int main(int argc, char **argv)
{
    int objects = 0;
    const char *name = "gfx1030";
    unsigned lanes = 0;
    if (argc == 2 && strcmp(argv[1], "--list") == 0)
        return list();
    for (int k = 1; k < argc; k++) {
        if (k + 1 < argc && strcmp(argv[k], "--card") == 0)
            name = argv[++k];
        else if (k + 1 < argc && strcmp(argv[k], "--wave") == 0)
            lanes = (unsigned)strtoul(argv[++k], NULL, 10);
        else if (k + 1 < argc && strcmp(argv[k], "--decode") == 0 && (objects = k + 1))
            break;
        else
            die("usage: simgpu-ops [--list] [--card NAME] [--wave 32|64] [--decode OBJECT...]");
    }
    const struct sim_card *wanted = sim_card_find(name);
    if (!lanes)
        lanes = wanted && wanted->wave32 ? 32 : 64;
    if (lanes != 64 && (lanes != 32 || !wanted || !wanted->wave32))
        die("the card has no waves of that size");
    start(name, lanes);
    if (objects)
        return decode_objects(argc - objects, argv + objects);
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\n")] = 0;
        command(line);
    }
    free(line);
    return 0;
}
