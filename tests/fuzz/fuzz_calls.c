/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_calls.c - lists of calls, cuts and mounts on a small volume, each compared with the model (tests/harness/session.h). A fuzzer chooses
 * the list; what fails is written down as text that the torture program repeats.
 *
 * An input is: the number of a base (a chip, and what is on it), flags, then calls: a byte for what, then its parameters.
 */
#include <stdlib.h>
#include <string.h>

#include "explore.h"
#include "fuzz/fuzz_count.h"

#define CALLS_MAX 40u
#define BASES 6u
#define INPUT_MAX 96u

static const char *const base_chips[BASES] = { "tiny128k", "tiny128k", "tiny128k", "tinyecc16", "tinyecc16", "tiny512" };

struct base {
    struct explorer explorer;
    struct snapshot *start;
    struct tally tally;
};

static struct base bases[BASES];

/* ---- from bytes to calls --------------------------------------------------------------------------- */

struct reader {
    const uint8_t *data;
    size_t size, at;
    struct call call[CALLS_MAX];
    char cut[CALLS_MAX][24];
    unsigned count;
};

static uint32_t byte(struct reader *reader)
{
    return reader->at < reader->size ? reader->data[reader->at++] : 0;
}

static const char *const names[] = {
    "a", "b", "c", "d/e", "d/f", "d/g/h", "d", "d/g", "log", "log.tmp", "file 0001", "file 0002",
    "a name that is long enough that four of them fill a page of the small kind, or nearly so, with what else there is",
    "d/another one of that length, so that the directory has to be split sooner than with the short names that are above",
    "x", "file 0003"
};
#define NAMES ((uint32_t)(sizeof names / sizeof names[0]))

static char *name(struct reader *reader)
{
    return (char *)(uintptr_t)names[byte(reader) % NAMES];
}

/* Lengths that matter: small ones, around a page, around a block, a few blocks. */
static int64_t length(struct reader *reader)
{
    static const uint16_t some[] = { 255, 256, 257, 511, 512, 513, 700, 1000, 2000, 4095, 4096, 4097, 5000, 8192, 9000, 16384 };
    uint32_t code = byte(reader);

    return code < 200 ? (int64_t)code : code < 248 ? some[code % 16] : (int64_t)(code - 247) * 3000;
}

static void add_cut(struct reader *reader, struct call *call)
{
    uint32_t when = byte(reader), how = byte(reader), where = byte(reader);
    char *text = reader->cut[reader->count];

    snprintf(text, sizeof reader->cut[0], "%lu,%02lX,%d,%d", (unsigned long)(how & 8 ? UINT32_MAX : where + 256 * (how >> 7)), (unsigned long)(where * 37 & 0xFF),
             how >> 4 & 1, (int)((how & 7) % 6));
    *call = (struct call){ .op = OP_CUT, .handle = (int)(how >> 5 & 1), .number = when % 24, .extra = when * 256 + where, .path = text };
}

static void add_call(struct reader *reader)
{
    static const int flags[] = {
        NF2_O_WRONLY | NF2_O_CREAT | NF2_O_TRUNC, NF2_O_RDWR | NF2_O_CREAT, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND,
        NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND | NF2_O_SYNC, NF2_O_RDWR, NF2_O_RDONLY, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_EXCL,
        NF2_O_RDWR | NF2_O_CREAT | NF2_O_SYNC
    };
    static const uint32_t budgets[] = { 100, 5000, 60000, 10000000 };
    uint32_t what = byte(reader), more = what >> 5, handle = more & 3;
    struct call *call = &reader->call[reader->count];

    *call = (struct call){ .handle = (int)handle };
    switch (what & 31) {
    case 0: case 1: case 2: case 3: case 4:
        call->op = OP_OPEN;
        call->path = name(reader);
        call->number = flags[byte(reader) % 8];
        break;
    case 5: case 6: case 7: case 8: case 9: case 10:
        call->op = OP_WRITE;
        call->number = length(reader);
        call->extra = (uint32_t)reader->at;
        break;
    case 11: case 12: call->op = OP_SYNC; break;
    case 13: case 14: call->op = OP_CLOSE; break;
    case 15: case 16:
        call->op = OP_SEEK;
        call->number = length(reader) * (int64_t)(1 + more / 4);
        call->extra = NF2_SEEK_SET;
        break;
    case 17: call->op = OP_TRUNCATE; call->number = length(reader); break;
    case 18: call->op = OP_READ; call->number = length(reader); break;
    case 19: call->op = OP_REMOVE; call->path = name(reader); break;
    case 20: case 21: call->op = OP_RENAME; call->path = name(reader); call->path2 = name(reader); break;
    case 22: call->op = OP_MKDIR; call->path = name(reader); break;
    case 23: call->op = OP_MAINTAIN; call->handle = 0; call->number = budgets[more & 3]; break;
    case 24: call->op = OP_PREALLOCATE; call->number = length(reader); break;
    case 25: call->op = more & 1 ? OP_UNMOUNT : OP_ABANDON; call->handle = 0; break;
    case 26: call->op = more & 1 ? OP_STAT : OP_LOOK; call->path = more & 1 ? name(reader) : NULL; call->handle = 0; break;
    case 27: call->op = OP_MOUNT; call->handle = 0; break;
    case 28: call->op = more & 1 ? OP_OPENDIR : OP_READDIR; call->handle = (int)(handle % MODEL_LISTS); call->number = 3;
        call->path = more & 1 ? name(reader) : NULL;
        break;
    default: add_cut(reader, call); break;
    }
    reader->count++;
}

static void read_input(struct reader *reader, const uint8_t *data, size_t size)
{
    reader->data = data;
    reader->size = size;
    reader->at = 2;
    reader->count = 0;
    while (reader->at < size && reader->count < CALLS_MAX) {
        add_call(reader);
    }
}

/* ---- bases ----------------------------------------------------------------------------------------- */

static bool on_failure(void *context, struct explorer *explorer)
{
    (void)context;
    fprintf(stderr, "a base cannot be made: %s\n", explorer->session.rig.failure);
    abort();
}

static void make_base(unsigned number)
{
    struct base *base = &bases[number];

    base->explorer.failed = on_failure;
    base->explorer.deepest = 3;
    explorer_begin(&base->explorer, &base->tally, vflash_chip_find(base_chips[number]), number % 3 ? NF2_FORMAT_QUICK : NF2_FORMAT_ERASE, 77 + number);
    if (number % 3 != 0) {
        explorer_go_on(&base->explorer, 60 + 200 * (number % 3), 6);
        explorer_arm(&base->explorer, 0);
    }
    struct call again = { .op = number % 2 ? OP_UNMOUNT : OP_ABANDON };
    explorer_do(&base->explorer, &again);
    base->start = explorer_take(&base->explorer);
    base->tally = (struct tally){ 0 };
}

static void print_failure(const struct base *base, const struct reader *reader, unsigned failed)
{
    const struct explorer *explorer = &base->explorer;

    fprintf(stderr, "# chip %s%s: %s\n", explorer->chip->name, explorer->format_flags & NF2_FORMAT_ERASE ? ", erased" : "",
            explorer->session.rig.failure);
    for (unsigned i = 0; i < explorer->list.count; i++) {
        call_print(stderr, &explorer->list.call[i]);
    }
    for (unsigned i = 0; i < reader->count && i <= failed; i++) {
        call_print(stderr, &reader->call[i]);
    }
}

/* ---- one input ------------------------------------------------------------------------------------- */

static bool do_calls(struct base *base, struct reader *reader, unsigned flags, unsigned *at)
{
    static const struct call endings[] = {
        { .op = OP_CUT }, { .op = OP_UNMOUNT }, { .op = OP_VERIFY }, { .op = OP_CHECK }, { .op = OP_EMPTY }
    };
    const unsigned count = flags % 32 == 15 ? 5 : flags % 2 ? 4 : 3;    /* checking and emptying take longer than most of the calls */
    struct session *session = &base->explorer.session;

    for (*at = 0; *at < reader->count; ++*at) {
        if (session_call(session, &reader->call[*at]) != RIG_OK) {
            return false;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        if (session_call(session, &endings[i]) != RIG_OK) {
            return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct reader reader;
    struct base *base = &bases[size > 0 ? data[0] % BASES : 0];
    unsigned failed;

    if (base->start == NULL) {
        make_base((unsigned)(base - bases));
    }
    read_input(&reader, data, size < INPUT_MAX ? size : INPUT_MAX);
    explorer_back(&base->explorer, base->start);
    base->explorer.session.quick = size < 2 || data[1] % 8 != 7; 
    if (!do_calls(base, &reader, size > 1 ? data[1] : 0, &failed)) {
        print_failure(base, &reader, failed);
        abort();
    }
    fuzz_count(base->tally.calls, base->tally.cuts);
    base->tally = (struct tally){ 0 };
    return 0;
}

#ifdef NF2_FUZZ_MAIN
#include "fuzz/fuzz_lines.h"

/* fuzz_calls [--lines FILE] [--runs N] [--seed N]: inputs that were kept, then generated ones. */
int main(int count, char **argument)
{
    unsigned long runs = 0;
    uint64_t random = 1;

    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(argument[i], "--lines") == 0) {
            long lines = fuzz_lines(argument[i + 1], LLVMFuzzerTestOneInput);

            if (lines < 0) {
                return 2;
            }
            printf("%ld inputs of %s\n", lines, argument[i + 1]);
        } else if (strcmp(argument[i], "--runs") == 0) {
            runs = strtoul(argument[i + 1], NULL, 0);
        } else if (strcmp(argument[i], "--seed") == 0) {
            random = strtoull(argument[i + 1], NULL, 0);
        } else {
            fprintf(stderr, "unknown option %s\n", argument[i]);
            return 2;
        }
    }
    for (unsigned long i = 0; i < runs; i++) {
        uint8_t input[INPUT_MAX];
        uint32_t size = random_number(&random, INPUT_MAX + 1);

        for (uint32_t k = 0; k < size; k++) {
            input[k] = (uint8_t)random_number(&random, 256);
        }
        (void)LLVMFuzzerTestOneInput(input, size);
    }
    printf("%lu generated inputs: all as the model\n", runs);
    return 0;
}
#endif
