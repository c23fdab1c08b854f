/* SPDX-License-Identifier: BSD-2-Clause */
/* checkpoint.c - stores and brings back the memory of a run. */
#define _GNU_SOURCE

#include "checkpoint.h"

#include <stdio.h>

#include "arena.h"

#if defined(__linux__) && defined(__GLIBC__) && !defined(NORBENCH_NO_CHECKPOINT)

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define TICKS 256u              /* calls between two looks at the clock */
#define PATH_ROOM 4096u

/* The program's variables, without the tables through which it calls libraries. */
extern char __data_start[], _end[];

struct head {
    char mark[8];
    uint64_t program, key;      /* which executable, and what it runs */
    uint64_t variables, variables_size, arena, arena_size;
};

static const char mark[8] = "NBCKPT1";

static struct state {
    bool active;
    char path[PATH_ROOM];
    uint32_t seconds;
    uint64_t key, at_call, calls;
    time_t last;
    ucontext_t here;
    volatile bool back;         /* brought back, and not just stored */
    int (*run)(void *context);
    void *context;
} state;

/* ---- the executable ------------------------------------------------------------------------------------- */

/* FNV-1a */
#define HASH_BEGIN 0xCBF29CE484222325u

static uint64_t hash_byte(uint64_t hash, int byte)
{
    return (hash ^ (uint64_t)byte) * 0x100000001B3u;
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = HASH_BEGIN;
    for (; *text != '\0'; text++) {
        hash = hash_byte(hash, (unsigned char)*text);
    }
    return hash;
}

/* Of its file: 0 where that cannot be read. */
static uint64_t program(void)
{
    uint64_t hash = HASH_BEGIN;
    FILE *file = fopen("/proc/self/exe", "rb");
    for (int byte; file != NULL && (byte = getc(file)) != EOF;) {
        hash = hash_byte(hash, byte);
    }
    if (file == NULL || fclose(file) != 0) {
        return 0;
    }
    return hash;
}

static struct head make_head(void)
{
    struct head head = {.program = program(), .key = state.key, .variables = (uintptr_t)__data_start, .variables_size = (uint64_t)(_end - __data_start),
                        .arena = (uintptr_t)arena_begin(), .arena_size = arena_used()};
    memcpy(head.mark, mark, sizeof(mark));
    return head;
}

/* ---- storing ------------------------------------------------------------------------------------------------ */

static bool put(int file, const void *data, size_t size)
{
    const char *bytes = data;
    while (size > 0) {
        ssize_t done = write(file, bytes, size < (1u << 30) ? size : (1u << 30));
        if (done <= 0) {
            return false;
        }
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}

/* Pieces that hold nothing but zeros become holes of the file. */
static bool put_sparse(int file, const char *bytes, size_t size)
{
    static const char zeros[65536];
    for (size_t at = 0; at < size; at += sizeof(zeros)) {
        size_t length = size - at < sizeof(zeros) ? size - at : sizeof(zeros);
        bool empty = memcmp(bytes + at, zeros, length) == 0;
        if (empty ? lseek(file, (off_t)length, SEEK_CUR) < 0 : !put(file, bytes + at, length)) {
            return false;
        }
    }
    off_t end = lseek(file, 0, SEEK_CUR);
    return end >= 0 && ftruncate(file, end) == 0;
}

static bool store(void)
{
    char unfinished[PATH_ROOM + 16];
    struct head head = make_head();
    snprintf(unfinished, sizeof(unfinished), "%s.unfinished", state.path);
    int file = open(unfinished, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0) {
        return false;
    }
    bool good = put(file, &head, sizeof(head)) && put(file, __data_start, head.variables_size) && put_sparse(file, arena_begin(), head.arena_size);
    good = fsync(file) == 0 && good;
    good = close(file) == 0 && good;
    return good && rename(unfinished, state.path) == 0;
}

/* Comes out of getcontext twice: when it was stored, and in the process that brings it back. */
static void take(void)
{
    state.back = false;
    getcontext(&state.here);
    if (state.back) {
        state.back = false;
        state.at_call = 0;
    } else if (!store()) {
        fprintf(stderr, "norbench-cell: %s cannot be written: the run goes on\n", state.path);
    } else if (state.at_call != 0) {
        _exit(CHECKPOINT_STOPPED);
    }
    state.last = time(NULL);
}

void checkpoint_tick(void)
{
    if (!state.active) {
        return;
    }
    state.calls++;
    bool late = state.calls % TICKS == 0 && time(NULL) - state.last >= (time_t)state.seconds;
    if (state.at_call != 0 ? state.calls == state.at_call : late) {
        take();
    }
}

/* ---- bringing back ---------------------------------------------------------------------------------------------- */

static bool get(int file, void *data, size_t size)
{
    char *bytes = data;
    while (size > 0) {
        ssize_t done = read(file, bytes, size < (1u << 30) ? size : (1u << 30));
        if (done <= 0) {
            return false;
        }
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}

/* The C library is this process's: its streams, whose names may be variables of the program, stay. */
static bool bring(int file, const struct head *head)
{
    FILE *const streams[3] = {stdin, stdout, stderr};
    bool good = get(file, __data_start, head->variables_size) && get(file, arena_begin(), head->arena_size);
    stdin = streams[0];
    stdout = streams[1];
    stderr = streams[2];
    return good;
}

static const char *check(const struct head *found, off_t size)
{
    struct head ours = make_head();
    if (memcmp(found->mark, mark, sizeof(mark)) != 0) {
        return "this is no stored run";
    }
    if (found->program != ours.program || ours.program == 0 || found->variables != ours.variables || found->variables_size != ours.variables_size ||
        found->arena != ours.arena) {
        return "it is of another executable";
    }
    if (found->key != ours.key) {
        return "it is of another run";
    }
    return (uint64_t)size == sizeof(*found) + found->variables_size + found->arena_size ? NULL : "it ends early";
}

static int go_on(int file)
{
    struct head head;
    off_t size = lseek(file, 0, SEEK_END);
    const char *fault = lseek(file, 0, SEEK_SET) != 0 || !get(file, &head, sizeof(head)) ? "this is no stored run" : check(&head, size);
    if (fault != NULL) {
        fprintf(stderr, "norbench-cell: %s: %s\n", state.path, fault);
        return 2;
    }
    char path[PATH_ROOM];
    memcpy(path, state.path, sizeof(path));
    if (!bring(file, &head)) {
        _exit(2);               /* half of it is overwritten */
    }
    (void)close(file);
    memcpy(state.path, path, sizeof(path));
    state.back = true;
    setcontext(&state.here);
    _exit(2);
}

/* ---- the run -------------------------------------------------------------------------------------------------------- */

static void on_own_stack(void)
{
    state.active = true;
    int code = state.run(state.context);
    state.active = false;
    (void)unlink(state.path);
    exit(code);
}

int checkpoint_run(const struct checkpoint_plan *plan, int (*run)(void *context), void *context)
{
    if (strlen(plan->path) >= PATH_ROOM || !arena_is_open()) {
        fprintf(stderr, "norbench-cell: %s: runs cannot be stored on this computer\n", plan->path);
        return 2;
    }
    memcpy(state.path, plan->path, strlen(plan->path) + 1);
    state.key = hash_text(plan->key);
    int file = open(plan->path, O_RDONLY);
    if (file >= 0) {
        return go_on(file);
    }
    state.seconds = plan->seconds;
    state.at_call = plan->at_call;
    state.last = time(NULL);
    state.run = run;
    state.context = context;
    static ucontext_t begin;
    getcontext(&begin);
    begin.uc_stack.ss_sp = arena_begin();
    begin.uc_stack.ss_size = ARENA_STACK;
    begin.uc_link = NULL;
    makecontext(&begin, on_own_stack, 0);
    setcontext(&begin);
    return 2;
}

#else

int checkpoint_run(const struct checkpoint_plan *plan, int (*run)(void *context), void *context)
{
    (void)run, (void)context;
    fprintf(stderr, "norbench-cell: %s: runs can be stored with Linux and glibc, and without sanitizers, only\n", plan->path);
    return 2;
}

void checkpoint_tick(void)
{
}

#endif
