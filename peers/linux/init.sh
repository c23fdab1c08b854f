#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause
# The first program of the virtual machine: runs /jobs/run, whose output goes to the second serial line, and switches the machine off.
export PATH=/bin
busybox mount -t proc proc /proc
busybox mount -t sysfs sysfs /sys
busybox mount -t devtmpfs devtmpfs /dev
busybox mount -t tmpfs tmpfs /tmp
busybox stty -F /dev/ttyS1 raw
sh /jobs/run >/dev/ttyS1 2>&1
busybox poweroff -f
