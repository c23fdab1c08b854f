/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * count.c - a QEMU plugin that counts the instructions of a file system, operation by operation.
 *
 * Arguments: table=FILE out=FILE, and profile=on where a row is to be profiled, which takes longer.
 * The table (made by tools/target_run.py) has a line for each
 *   F begin end public   function of the file system: only these are counted; its number is its
 *                        place in the table; `public` is 1 where the rows call it
 *   C address next       call in one of them: where the instruction lies, and where the next does
 *   M name address       mark, see `marks`
 * Addresses are hexadecimal. For each row `out` gets
 *   R                            a row begins
 *   O instructions call f        an operation: its instructions, those of its longest call, and the
 *                                function that was called
 * and, where the mark `profile` was reached in it, profiles of the whole row (S) and of its dearest
 * operation (W):
 *   S f calls self all reads programs erases      a function: `self` is its own instructions; `all`
 *                                                 and the rest count what it calls, too
 *   SE f g calls all reads programs erases        calls of g by f
 *   B address length times                        a block of instructions in the whole row
 *
 * An instruction whose condition does not hold counts as one. A block counts when it begins.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What this uses of QEMU's interface for plugins; distributions do not ship its header. */
#ifndef PLUGIN_VERSION
#define PLUGIN_VERSION 1
#endif
typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;
typedef void translated(plugin_id id, struct qemu_plugin_tb *block);
typedef void executed(unsigned cpu, void *data);
typedef void finished(plugin_id id, void *data);
enum { NO_REGISTERS = 0, ADD = 0 };
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, translated *call);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, executed *call,
                                                 int flags, void *data);
#if PLUGIN_VERSION == 1
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int operation,
                                                     void *data, uint64_t value);
#endif
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *at, executed *call,
                                                   int flags, void *data);
extern void qemu_plugin_register_atexit_cb(plugin_id id, finished *call, void *data);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block,
                                                        size_t index);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
#define EXPORTED __attribute__((visibility("default")))
EXPORTED extern int qemu_plugin_version;
EXPORTED int qemu_plugin_version = PLUGIN_VERSION;
EXPORTED int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int count,
                                 char **arguments);

#define NONE UINT32_MAX
#define FRAMES_MAX 1024u

enum { INSTRUCTIONS, READS, PROGRAMS, ERASES, KINDS };

struct range {
    uint64_t begin, end;
    bool public;
};
struct call {
    uint64_t at, next;
};

struct block { /* a translated block of instructions */
    uint64_t begin;
    uint64_t after_call; /* it ends in a call, which comes back here; 0: it does not */
    uint32_t length;     /* instructions */
    uint32_t function;
    uint64_t count; /* how often it ran in the operations of the profiled row */
    struct block *next;
};

struct profile {
    uint64_t calls, self;
    uint64_t all[KINDS];
};

struct edge {
    uint32_t from, to;
    struct profile sum[3]; /* as function_sum */
};

struct frame {
    uint32_t function, edge;
    bool tail; /* entered by a jump: returns with the frame below */
    uint64_t back;
    uint64_t at[KINDS];
};

enum { ROW, OPERATION, DEAREST, SUMS };

static FILE *out;
static struct range *functions;
static struct call *calls;
static uint32_t function_count, call_count;
static uint64_t now[KINDS]; /* since the start */
static bool inside;         /* between enter and enter_end */
static uint64_t operation_at, call_at, call_most;
static uint32_t call_root, call_most_root;
static bool follows;                 /* profile=on */
static bool profiling, in_operation; /* this row; between op_begin and op_end */

static struct profile *sums[SUMS];
static uint32_t *active; /* frames of a function on the stack */
static struct edge *edges;
static uint32_t edge_count, edge_room;
static uint32_t *edge_first, *edge_next_of; /* lists of the edges from a function */
static struct frame frames[FRAMES_MAX];
static uint32_t depth;
static struct block *last, *blocks;
static uint64_t dearest;

static void stop(const char *text)
{
    fprintf(stderr, "count: %s\n", text);
    exit(1);
}

static void *grown(void *memory, size_t bytes)
{
    void *result = realloc(memory, bytes);
    if (!result)
        stop("out of memory");
    return result;
}

/* ---- profile of a row ----------------------------------------------------------------------- */

static uint32_t edge_of(uint32_t from, uint32_t to)
{
    for (uint32_t i = edge_first[from]; i != NONE; i = edge_next_of[i])
        if (edges[i].to == to)
            return i;
    if (edge_count == edge_room) {
        edge_room = edge_room ? edge_room * 2 : 1024;
        edges = grown(edges, edge_room * sizeof *edges);
        edge_next_of = grown(edge_next_of, edge_room * sizeof *edge_next_of);
    }
    edges[edge_count] = (struct edge){.from = from, .to = to};
    edge_next_of[edge_count] = edge_first[from];
    edge_first[from] = edge_count;
    return edge_count++;
}

static void push(uint32_t function, uint64_t back, bool tail)
{
    if (depth == FRAMES_MAX)
        stop("the calls are too deep");
    struct frame *frame = &frames[depth];
    frame->function = function;
    frame->edge = depth ? edge_of(frames[depth - 1].function, function) : NONE;
    frame->back = back;
    frame->tail = tail;
    memcpy(frame->at, now, sizeof now);
    sums[OPERATION][function].calls++;
    if (frame->edge != NONE)
        edges[frame->edge].sum[OPERATION].calls++;
    active[function]++;
    depth++;
}

static void pop(void)
{
    struct frame *frame = &frames[--depth];
    bool outermost = --active[frame->function] == 0;
    for (int kind = 0; kind < KINDS; kind++) {
        uint64_t spent = now[kind] - frame->at[kind];
        if (outermost)
            sums[OPERATION][frame->function].all[kind] += spent;
        if (frame->edge != NONE)
            edges[frame->edge].sum[OPERATION].all[kind] += spent;
    }
}

/* The block begins: was its function called, returned to, jumped to, or does it go on? */
static void follow(const struct block *block)
{
    if (!depth)
        push(block->function, 0, false);
    else if (last && last->after_call && block->begin != last->after_call)
        push(block->function, last->after_call, false);
    else if (last && !last->after_call) {
        uint32_t at = depth;
        while (at > 1 && frames[at - 1].tail)
            at--;
        if (frames[at - 1].back == block->begin)
            while (depth >= at)
                pop();
        else if (frames[depth - 1].function != block->function)
            push(block->function, 0, true);
    }
}

static void on_block(unsigned cpu, void *data)
{
    (void)cpu;
    struct block *block = data;
    if (inside) {
        if (call_root == NONE)
            call_root = block->function;
        if (profiling && in_operation) {
            follow(block);
            sums[OPERATION][block->function].self += block->length;
            block->count++;
        }
    }
    now[INSTRUCTIONS] += block->length;
    last = block;
}

#if PLUGIN_VERSION == 1
/* Where nothing is profiled: a function that the rows may have called begins. */
static void on_public(unsigned cpu, void *data)
{
    (void)cpu;
    const struct block *block = data;
    if (inside && call_root == NONE)
        call_root = block->function;
}
#endif

static void add(struct profile *to, const struct profile *from)
{
    to->calls += from->calls;
    to->self += from->self;
    for (int kind = 0; kind < KINDS; kind++)
        to->all[kind] += from->all[kind];
}

/* Adds the profile of the operation to the row's; keeps it where it is the dearest one. */
static void end_profile(uint64_t cost)
{
    bool keep = cost > dearest;
    if (keep)
        dearest = cost;
    for (uint32_t i = 0; i < function_count; i++) {
        add(&sums[ROW][i], &sums[OPERATION][i]);
        if (keep)
            sums[DEAREST][i] = sums[OPERATION][i];
        sums[OPERATION][i] = (struct profile){0};
    }
    for (uint32_t i = 0; i < edge_count; i++) {
        add(&edges[i].sum[ROW], &edges[i].sum[OPERATION]);
        if (keep)
            edges[i].sum[DEAREST] = edges[i].sum[OPERATION];
        edges[i].sum[OPERATION] = (struct profile){0};
    }
}

static void print_profile(int which, char letter)
{
    for (uint32_t i = 0; i < function_count; i++) {
        const struct profile *sum = &sums[which][i];
        if (sum->calls || sum->self)
            fprintf(out,
                    "%c %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                    "\n",
                    letter, i, sum->calls, sum->self, sum->all[INSTRUCTIONS], sum->all[READS],
                    sum->all[PROGRAMS], sum->all[ERASES]);
    }
    for (uint32_t i = 0; i < edge_count; i++) {
        const struct profile *sum = &edges[i].sum[which];
        if (sum->calls)
            fprintf(out, "%cE %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                    letter, edges[i].from, edges[i].to, sum->calls, sum->all[INSTRUCTIONS],
                    sum->all[READS], sum->all[PROGRAMS], sum->all[ERASES]);
    }
}

/* ---- marks ---------------------------------------------------------------------------------- */

static void on_row_begin(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    fprintf(out, "R\n");
}

static void on_row_end(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    if (profiling) {
        print_profile(ROW, 'S');
        print_profile(DEAREST, 'W');
        for (const struct block *block = blocks; block; block = block->next)
            if (block->count)
                fprintf(out, "B %" PRIx64 " %u %" PRIu64 "\n", block->begin, block->length,
                        block->count);
    }
    profiling = false;
    fflush(out);
}

static void on_profile(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    profiling = true;
}

static void on_op_begin(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    operation_at = now[INSTRUCTIONS];
    call_most = 0;
    call_most_root = NONE;
    in_operation = true;
}

static void on_op_end(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    uint64_t cost = now[INSTRUCTIONS] - operation_at;
    in_operation = false;
    fprintf(out, "O %" PRIu64 " %" PRIu64 " %d\n", cost, call_most, (int)call_most_root);
    if (profiling)
        end_profile(cost);
}

static void on_enter(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    inside = true;
    call_at = now[INSTRUCTIONS];
    call_root = NONE;
    depth = 0;
    last = NULL;
}

static void on_enter_end(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    while (depth)
        pop();
    inside = false;
    if (now[INSTRUCTIONS] - call_at >= call_most) {
        call_most = now[INSTRUCTIONS] - call_at;
        call_most_root = call_root;
    }
}

static void on_read(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    now[READS]++;
}

static void on_program(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    now[PROGRAMS]++;
}

static void on_erase(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    now[ERASES]++;
}

static struct mark {
    const char *name;
    executed *call;
    uint64_t address;
} marks[] = {{"row_begin", on_row_begin, 0}, {"row_end", on_row_end, 0}, {"profile", on_profile, 0},
             {"op_begin", on_op_begin, 0},   {"op_end", on_op_end, 0},   {"enter", on_enter, 0},
             {"enter_end", on_enter_end, 0}, {"read", on_read, 0},       {"program", on_program, 0},
             {"erase", on_erase, 0}};
#define MARKS (sizeof marks / sizeof marks[0])

/* ---- translation ---------------------------------------------------------------------------- */

static uint32_t function_at(uint64_t address)
{
    uint32_t low = 0, high = function_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (functions[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < function_count && functions[low].begin <= address ? low : NONE;
}

static uint64_t after_call(uint64_t address)
{
    uint32_t low = 0, high = call_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (calls[middle].at < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < call_count && calls[low].at == address ? calls[low].next : 0;
}

/*
 * Counts a block whenever it runs: in the generated code itself, where nothing else is asked and
 * QEMU can.
 */
static void watch(struct qemu_plugin_tb *translation, struct block *block)
{
#if PLUGIN_VERSION == 1
    if (!follows) {
        qemu_plugin_register_vcpu_tb_exec_inline(translation, ADD, &now[INSTRUCTIONS],
                                                 block->length);
        if (functions[block->function].public && functions[block->function].begin == block->begin)
            qemu_plugin_register_vcpu_tb_exec_cb(translation, on_public, NO_REGISTERS, block);
        return;
    }
#endif
    qemu_plugin_register_vcpu_tb_exec_cb(translation, on_block, NO_REGISTERS, block);
}

static void on_translated(plugin_id id, struct qemu_plugin_tb *translation)
{
    (void)id;
    size_t length = qemu_plugin_tb_n_insns(translation);
    for (size_t i = 0; i < length; i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(translation, i);
        uint64_t address = qemu_plugin_insn_vaddr(instruction);
        for (size_t k = 0; k < MARKS; k++)
            if (marks[k].address == address)
                qemu_plugin_register_vcpu_insn_exec_cb(instruction, marks[k].call, NO_REGISTERS,
                                                       NULL);
    }
    uint64_t begin = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(translation, 0));
    uint32_t function = function_at(begin);
    if (function == NONE)
        return;
    struct block *block = grown(NULL, sizeof *block);
    block->begin = begin;
    block->after_call =
        after_call(qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(translation, length - 1)));
    block->length = (uint32_t)length;
    block->function = function;
    block->count = 0;
    block->next = blocks;
    blocks = block;
    watch(translation, block);
}

/* ---- start ---------------------------------------------------------------------------------- */

static void set_mark(const char *name, uint64_t address)
{
    for (size_t k = 0; k < MARKS; k++)
        if (!strcmp(marks[k].name, name))
            marks[k].address = address;
}

static void read_table(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[128], name[32];
    uint64_t a, b;
    unsigned public;
    if (!file)
        stop("no table");
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "F %" SCNx64 " %" SCNx64 " %u", &a, &b, &public) == 3) {
            functions = grown(functions, (function_count + 1) * sizeof *functions);
            functions[function_count++] = (struct range){a, b, public != 0};
        } else if (sscanf(line, "C %" SCNx64 " %" SCNx64, &a, &b) == 2) {
            calls = grown(calls, (call_count + 1) * sizeof *calls);
            calls[call_count++] = (struct call){a, b};
        } else if (sscanf(line, "M %31s %" SCNx64, name, &a) == 2) {
            set_mark(name, a);
        }
    }
    fclose(file);
    for (int i = 0; i < SUMS; i++)
        sums[i] = calloc(function_count, sizeof *sums[i]);
    active = calloc(function_count, sizeof *active);
    edge_first = grown(NULL, function_count * sizeof *edge_first);
    for (uint32_t i = 0; i < function_count; i++)
        edge_first[i] = NONE;
}

static void on_exit_of_target(plugin_id id, void *data)
{
    (void)id, (void)data;
    fclose(out);
}

int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int count, char **arguments)
{
    (void)info;
    const char *table = NULL;
    for (int i = 0; i < count; i++) {
        if (!strncmp(arguments[i], "table=", 6))
            table = arguments[i] + 6;
        else if (!strncmp(arguments[i], "out=", 4))
            out = fopen(arguments[i] + 4, "w");
        else if (!strcmp(arguments[i], "profile=on"))
            follows = true;
    }
    if (!table || !out)
        return -1;
    read_table(table);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
    qemu_plugin_register_atexit_cb(id, on_exit_of_target, NULL);
    return 0;
}
