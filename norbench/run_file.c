/* SPDX-License-Identifier: BSD-2-Clause */
/* run_file.c - whole runs in files: of this program on this machine, as the structures lie in memory. */
#include "run_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX 256u

struct head {
    char mark[8];
    char key[KEY_MAX];
    struct pcg32 streams[5];
    struct dumb dumb;
    uint64_t pages_consumed;
    uint32_t touched_bytes, nodes;
};

static const char mark[8] = "NBRUN01";

static int refuse(char *message, size_t size, const char *text)
{
    snprintf(message, size, "%s", text);
    return -1;
}

static uint32_t touched_bytes(const struct bench *bench)
{
    return bench->tap.driver.chip_size / bench->tap.driver.page_size / 8 + 1;
}

/* ---- the model: directories by the length of their paths, so that parents come first ----------------- */

static bool put_node(const struct model_node *node, FILE *file)
{
    uint32_t facts[4] = {(uint32_t)strlen(node->path), node->directory, node->uncertain, node->size};
    return fwrite(facts, sizeof(facts), 1, file) == 1 && fwrite(node->path, facts[0], 1, file) == 1 &&
           (node->size == 0 || node->directory || fwrite(node->data, node->size, 1, file) == 1);
}

static uint32_t count_nodes(const struct bench *bench)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < MODEL_BUCKETS; i++) {
        for (const struct model_node *node = bench->model.buckets[i]; node != NULL; node = node->next) {
            count++;
        }
    }
    return count;
}

static bool put_nodes(const struct bench *bench, FILE *file)
{
    bool good = true;
    for (size_t length = 1, left = count_nodes(bench); left > 0 && length < VFS_PATH_MAX; length++) {
        for (uint32_t i = 0; i < MODEL_BUCKETS; i++) {
            for (const struct model_node *node = bench->model.buckets[i]; node != NULL; node = node->next) {
                if (strlen(node->path) == length) {
                    good = put_node(node, file) && good;
                    left--;
                }
            }
        }
    }
    return good;
}

static bool get_node(struct bench *bench, FILE *file)
{
    uint32_t facts[4];
    char path[VFS_PATH_MAX];
    if (fread(facts, sizeof(facts), 1, file) != 1 || facts[0] == 0 || facts[0] >= sizeof(path) || fread(path, facts[0], 1, file) != 1) {
        return false;
    }
    path[facts[0]] = '\0';
    struct model_node *node = model_add(&bench->model, path, facts[1] != 0);
    if (node == NULL || (facts[1] == 0 && model_resize(node, facts[3]) != 0)) {
        return false;
    }
    node->uncertain = facts[2] != 0;
    return facts[1] != 0 || facts[3] == 0 || fread(node->data, facts[3], 1, file) == 1;
}

/* ---- the file ------------------------------------------------------------------------------------------- */

int run_file_store(const struct bench *bench, const char *path, const char *key, char *message, size_t message_size)
{
    struct head head;
    char unfinished[4096];
    memset(&head, 0, sizeof(head));
    memcpy(head.mark, mark, sizeof(mark));
    snprintf(head.key, sizeof(head.key), "%s", key);
    const struct pcg32 streams[5] = {bench->bytes, bench->offsets, bench->sizes, bench->names, bench->picks};
    memcpy(head.streams, streams, sizeof(streams));
    head.dumb = bench->tap.dumb;
    head.pages_consumed = bench->tap.pages_consumed;
    head.touched_bytes = touched_bytes(bench);
    head.nodes = count_nodes(bench);
    snprintf(unfinished, sizeof(unfinished), "%s.unfinished", path);
    FILE *file = fopen(unfinished, "wb");
    if (file == NULL) {
        return refuse(message, message_size, "the file cannot be written");
    }
    bool good = fwrite(&head, sizeof(head), 1, file) == 1 && vflash_store(bench->chip, file, message, message_size) == 0 &&
                fwrite(bench->tap.touched, head.touched_bytes, 1, file) == 1 && put_nodes(bench, file);
    good = fclose(file) == 0 && good && rename(unfinished, path) == 0;
    return good ? 0 : refuse(message, message_size, "the file cannot be written");
}

static int load(struct bench *bench, FILE *file, const char *key, char *message, size_t message_size)
{
    struct head head;
    if (fread(&head, sizeof(head), 1, file) != 1 || memcmp(head.mark, mark, sizeof(mark)) != 0) {
        return refuse(message, message_size, "this is no stored run");
    }
    if (strncmp(head.key, key, sizeof(head.key)) != 0 || head.touched_bytes != touched_bytes(bench)) {
        return refuse(message, message_size, "it is of another run: another file system, version, chip, state or seed");
    }
    if (vflash_load(bench->chip, file, message, message_size) != 0) {
        return -1;
    }
    bool good = fread(bench->tap.touched, head.touched_bytes, 1, file) == 1;
    for (uint32_t i = 0; good && i < head.nodes; i++) {
        good = get_node(bench, file);
    }
    if (!good) {
        return refuse(message, message_size, "it ends early, or memory is short");
    }
    struct pcg32 *streams[5] = {&bench->bytes, &bench->offsets, &bench->sizes, &bench->names, &bench->picks};
    for (unsigned i = 0; i < 5; i++) {
        *streams[i] = head.streams[i];
    }
    bench->tap.dumb = head.dumb;
    bench->tap.pages_consumed = head.pages_consumed;
    return 0;
}

int run_file_load(struct bench *bench, const char *path, const char *key, char *message, size_t message_size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return refuse(message, message_size, "the file cannot be opened");
    }
    int result = load(bench, file, key, message, message_size);
    fclose(file);
    return result;
}
