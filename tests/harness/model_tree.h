/* SPDX-License-Identifier: BSD-2-Clause */
/* model_tree.h - the parts of the model that its own files share: bytes, nodes, look-up of paths. */
#ifndef MODEL_TREE_H
#define MODEL_TREE_H

#include "model.h"

void bytes_resize(struct bytes *bytes, uint32_t size);  /* new bytes are zeros */
void bytes_copy(struct bytes *to, const struct bytes *from);
void bytes_free(struct bytes *bytes);

struct node *node_new(struct model *model, enum nf2_type type, const char *name);
void node_attach(struct model *model, struct node *parent, struct node *node);
void node_detach(struct model *model, struct node *node);
void node_free(struct model *model, struct node *node);     /* with all below; detached before */
struct node *node_child(const struct node *parent, const char *name);
bool node_inside(const struct node *node, const struct node *ancestor); /* or the same */

/* What a path leads to. */
struct place {
    struct node *node;          /* NULL: missing */
    struct node *parent;        /* of the last name; NULL where the path does not end in a name, or leads nowhere */
    char name[NF2_NAME_MAX + 1];
    int errors[4];              /* where it leads nowhere: the codes that are right (several may apply) */
    unsigned error_count;
};

void place_find(struct model *model, const char *path, struct place *place);

#endif
