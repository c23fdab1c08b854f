/* SPDX-License-Identifier: BSD-2-Clause */
/* bound.c - the bound of random overwrites. */
#include "bound.h"

#include <math.h>

/*
 * The root w in (-1, 0) of w exp(w) = x, for x in (-1/e, 0): W's upper branch, which is where greedy cleaning works. The
 * function grows there, so halving the interval finds it; near -1/e, where Newton's steps get lost, too.
 */
static double lambert(double x)
{
    double low = -1.0, high = 0.0;
    for (int i = 0; i < 200; i++) {
        double middle = (low + high) / 2;
        if (middle * exp(middle) < x) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

double bound_amplification(double fill)
{
    double a = 1 / fill;
    return a / (a + lambert(-a * exp(-a)));
}

#define SPLITS 400

double bound_amplification_skewed(double fill, uint32_t hot)
{
    double writes = hot / 100.0, hot_data = (1 - writes) * fill, cold_data = writes * fill, best = bound_amplification(fill);
    for (int i = 1; i < SPLITS; i++) {
        double spare = (1 - fill) * i / SPLITS;
        double sum = writes * bound_amplification(hot_data / (hot_data + spare)) +
                     (1 - writes) * bound_amplification(cold_data / (cold_data + 1 - fill - spare));
        best = sum < best ? sum : best;
    }
    return best;
}

double bound_overwrite_kib_s(const struct vflash_chip *chip, double fill, uint32_t access, uint32_t hot)
{
    double best = 0, amplified = bound_amplification_skewed(fill, hot);
    for (int i = 0; i < 3 && chip->erase_sizes[i] != 0; i++) {
        double pages = chip->erase_sizes[i] / chip->page_size;
        double seconds = (pages * chip->program_page_us + chip->erase_us[i]) / 1e6;
        double amplification = access >= chip->erase_sizes[i] ? 1 : amplified;
        double speed = chip->erase_sizes[i] / 1024.0 / seconds / amplification;
        best = speed > best ? speed : best;
    }
    return best;
}
