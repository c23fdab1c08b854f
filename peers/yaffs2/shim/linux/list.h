/* SPDX-License-Identifier: BSD-2-Clause */
/* list.h - rings of members that are linked both ways, under the names that YAFFS2 uses. */
#ifndef SHIM_LINUX_LIST_H
#define SHIM_LINUX_LIST_H

#include <stddef.h>

struct list_head {
    struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(ring) {&(ring), &(ring)}
#define LIST_HEAD(ring) struct list_head ring = LIST_HEAD_INIT(ring)
#define INIT_LIST_HEAD(ring) ((ring)->next = (ring)->prev = (ring))

static inline void list_put_between(struct list_head *member, struct list_head *before, struct list_head *after)
{
    member->prev = before;
    member->next = after;
    before->next = member;
    after->prev = member;
}

static inline void list_add(struct list_head *member, struct list_head *ring)
{
    list_put_between(member, ring, ring->next);
}

static inline void list_add_tail(struct list_head *member, struct list_head *ring)
{
    list_put_between(member, ring->prev, ring);
}

static inline void list_del(struct list_head *member)
{
    member->prev->next = member->next;
    member->next->prev = member->prev;
}

static inline void list_del_init(struct list_head *member)
{
    list_del(member);
    INIT_LIST_HEAD(member);
}

static inline int list_empty(const struct list_head *ring)
{
    return ring->next == ring;
}

#define list_entry(member, type, name) ((type *)(void *)((char *)(member) - offsetof(type, name)))
#define list_for_each(at, ring) for ((at) = (ring)->next; (at) != (ring); (at) = (at)->next)
#define list_for_each_safe(at, following, ring) \
    for ((at) = (ring)->next, (following) = (at)->next; (at) != (ring); (at) = (following), (following) = (at)->next)

#endif
