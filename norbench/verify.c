/* SPDX-License-Identifier: BSD-2-Clause */
/* verify.c - the whole volume against the model. */
#include "verify.h"

#include <stdlib.h>
#include <string.h>

static int by_path(const void *a, const void *b)
{
    const struct model_node *const *left = a;
    const struct model_node *const *right = b;
    return strcmp((*left)->path, (*right)->path);
}

static uint32_t count_nodes(const struct model *model)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < MODEL_BUCKETS; i++) {
        for (const struct model_node *node = model->buckets[i]; node != NULL; node = node->next) {
            count++;
        }
    }
    return count;
}

/* All nodes in the order of their paths, so that a run is repeatable on every computer. */
static const struct model_node **sorted_nodes(const struct model *model, uint32_t count)
{
    const struct model_node **nodes = malloc((count + 1) * sizeof(*nodes));
    uint32_t filled = 0;
    for (uint32_t i = 0; i < MODEL_BUCKETS && nodes != NULL; i++) {
        for (const struct model_node *node = model->buckets[i]; node != NULL; node = node->next) {
            nodes[filled++] = node;
        }
    }
    if (nodes != NULL) {
        qsort(nodes, count, sizeof(*nodes), by_path);
    }
    return nodes;
}

static void verify_node(struct bench *bench, const struct model_node *node)
{
    if (node->directory) {
        bench_list(bench, node->path, NULL);
        return;
    }
    if (node->uncertain) {
        return;
    }
    bench_stat(bench, node->path);
    bench_get(bench, node->path, BENCH_PIECE_MAX);
}

void verify_all(struct bench *bench)
{
    uint32_t count = count_nodes(&bench->model);
    const struct model_node **nodes = sorted_nodes(&bench->model, count);
    if (nodes == NULL) {
        bench_fail(bench, "no memory on this computer");
        return;
    }
    bench_list(bench, "/", NULL);
    for (uint32_t i = 0; i < count && bench_ok(bench); i++) {
        verify_node(bench, nodes[i]);
    }
    free(nodes);
}
