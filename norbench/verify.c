/* SPDX-License-Identifier: BSD-2-Clause */
/* verify.c - the whole volume against the model. */
#include "verify.h"

#include <stdlib.h>

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
    uint32_t count;
    const struct model_node **nodes = model_sorted(&bench->model, &count);
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
