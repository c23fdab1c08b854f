/* SPDX-License-Identifier: BSD-2-Clause */
/* table.c - the table: what each row of the benchmark does. */
#include "workload.h"

#define GC_CHIP "is25-16m"
#define CHIP_16M "w25q128"
#define SENSING_CHIP "is25le01g"

#define OVERWRITE(access, bytes, percent, text, ...) \
    {"ow" access "-" #percent, "overwrite", "durable", "synced random overwrites of " text ", file of " #percent "% of the chip, steady state", \
     START_MOUNTED, overwrite_prepare, overwrite_run, .chip = CHIP_16M, .size = bytes, .fill = percent, .slow = true, __VA_ARGS__}
#define LIFE_ROUND(text) "32 MiB half full of cold files, worn to a mean: " text ", removed"
#define MIXED(percent) \
    {"mixed" #percent, "latency", "durable", "5,000 operations of all kinds after 5,000 others, chip filled to " #percent "%", \
     START_MOUNTED, mixed_prepare, mixed_run, \
     .chip = CHIP_16M, .count = 5000, .fill = percent, .slow = true}
#define DIRECTORY(suffix, entries, text, ...) \
    {"dir" suffix, "directory", "durable", "a directory of " text ": create, look up, list, rename, remove", START_MOUNTED, NULL, dir_run, \
     .count = entries, __VA_ARGS__}

#define SENSING(suffix, bytes, text, ...) \
    {"streamin" suffix, "sensing", "batched", text " written in chunks of 256 B", START_MOUNTED, NULL, stream_in_run, .chip = SENSING_CHIP, .options = "total", .size = bytes}, \
    {"condense" suffix, "sensing", "batched", text " read in chunks of 256 B, half of each written to a second file", START_REMOUNTED, stream_prepare, \
     stream_condense_run, .chip = SENSING_CHIP, .options = "total", .size = bytes}, \
    {"condense" suffix "p", "sensing", "batched", text ": the same, each fourth chunk before the three in front of it", START_REMOUNTED, stream_prepare, \
     stream_condense_run, .chip = SENSING_CHIP, .options = "total", .size = bytes, .variant = VARIANT_BACKWARD}, \
    {"streamout" suffix, "sensing", "batched", text " read in chunks of 256 B", START_REMOUNTED, stream_prepare, stream_out_run, .chip = SENSING_CHIP, .options = "total", \
     .size = bytes}, \
    {"streamout" suffix "p", "sensing", "batched", text ": the same, each fourth chunk before the three in front of it", START_REMOUNTED, stream_prepare, \
     stream_out_run, .chip = SENSING_CHIP, .options = "total", .size = bytes, .variant = VARIANT_BACKWARD}
#define MOUNT_FILL(percent) \
    {"mountfill" #percent, "mountfill", "batched", "mount after an unmount, chip filled to " #percent "% with files of 64 KiB", START_UNMOUNTED, \
     mount_fill_prepare, mount_run, .chip = SENSING_CHIP, .count = 1, .fill = percent}, \
    {"mountfillu" #percent, "mountfill", "batched", "the same without an unmount before", START_CUT, mount_fill_prepare, mount_run, .chip = SENSING_CHIP, \
     .count = 1, .fill = percent}
#define READS(access, bytes, number, text) \
    {"rdseq" access, "reads", "batched", "reads of " text " from front to back of an open file of half the chip", START_REMOUNTED, read_prepare, read_run, \
     .chip = CHIP_16M, .size = bytes, .count = number, .fill = 50}, \
    {"rdrand" access, "reads", "batched", "reads of " text " at random multiples of that in an open file of half the chip", START_REMOUNTED, read_prepare, \
     read_run, .chip = CHIP_16M, .size = bytes, .count = number, .fill = 50, .variant = VARIANT_SHUFFLED}
#define OVERWRITE_IN_ORDER(access, bytes, text) \
    {"owseq" access, "overwrite", "durable", "synced overwrites of " text " from front to back of a file of half the chip, steady state", START_MOUNTED, \
     overwrite_prepare, overwrite_run, .chip = CHIP_16M, .size = bytes, .fill = 50, .slow = true, .variant = VARIANT_IN_ORDER}

static const struct workload workloads[] = {
    {"format", "mount", "batched", "format the chip", START_UNMOUNTED, NULL, format_run},
    {"mountblank", "mount", "batched", "mount an empty volume", START_UNMOUNTED, NULL, mount_run, .count = 1},
    {"mountclean", "mount", "batched", "mount after an unmount: Busybox tree, 100 small files, 2 MiB with 20 updates, 128 KiB log", START_UNMOUNTED,
     mount_prepare_full, mount_run, .count = 1},
    {"mountused", "mount", "batched", "mount after an unmount: 100 small files, 2 MiB, 128 KiB log", START_UNMOUNTED, mount_prepare_small, mount_run,
     .count = 1},
    {"mountrepeat", "mount", "batched", "ten times mount and unmount of mountclean's volume", START_UNMOUNTED, mount_prepare_full, mount_run, .count = 10},
    {"mountfirstwrite", "mount", "batched", "mount mountclean's volume, then one new file of 32 B", START_UNMOUNTED, mount_prepare_full, .run = mount_write_run},
    {"unclean", "mount", "batched", "mount mountused's volume that was never unmounted", START_CUT, mount_prepare_small, mount_run, .count = 1},
    {"uncleanwrite", "mount", "batched", "the same, then one new file of 32 B", START_CUT, mount_prepare_small, .run = mount_write_run},

    {"create", "small", "durable", "100 new empty files, each closed", START_MOUNTED, NULL, .run = create_run},
    {"create32", "small", "batched", "100 new files of 32 B, each closed", START_MOUNTED, NULL, create_run, .size = 32},
    {"create32s", "small", "durable", "100 new files, synced while empty, then 32 B written and closed", START_MOUNTED, NULL, create_synced_run, .size = 32},
    {"read32", "small", "batched", "open, read, close 100 files of 32 B in creation order", START_REMOUNTED, small_files_prepare, small_files_read, .size = 32},
    {"read32r", "small", "batched", "the same in random order", START_REMOUNTED, small_files_prepare, small_files_read_random, .size = 32},
    {"delete32", "small", "durable", "remove 100 files of 32 B", START_REMOUNTED, small_files_prepare, small_files_delete, .size = 32},
    {"smallio", "small", "durable", "files of 2, 4 .. 1024 B; those up to 256 B overwritten 100 times, synced each; all read 100 times", START_MOUNTED, NULL,
     smallio_run, .count = 100},
    {"config", "small", "batched", "40 settings files of 20 to 400 B replaced atomically 2,000 times, Zipf", START_REMOUNTED, config_prepare, config_run,
     .count = 2000},
    {"dirs", "small", "durable", "five nested directories with ten files of 2 .. 1024 B, overwritten ten times, synced each, read ten times", START_MOUNTED,
     NULL, dirs_run, .count = 10},

    {"seqio", "stream", "batched", "ten files of 2, 4 .. 20 KB in units of 1 KB", START_MOUNTED, NULL, .run = seqio_run},
    {"seqread", "stream", "batched", "those ten files read in units of 1 KB", START_REMOUNTED, seqio_run, .run = seqread_run},
    {"swrite", "stream", "batched", "a 2 MiB file in 512 x 4 KiB", START_MOUNTED, NULL, .run = swrite_run},
    {"swrited", "stream", "durable", "the same, synced after each 4 KiB", START_MOUNTED, NULL, .run = swrite_durable_run},
    {"rread", "stream", "batched", "20 reads of 1 KiB at random offsets of the 2 MiB file", START_REMOUNTED, big_file_prepare, random_read_run, .count = 20},
    {"rwrite20", "rwrite", "durable", "20 updates of 1 KiB at random offsets of the 2 MiB file, synced each", START_REMOUNTED, big_file_prepare,
     random_write_run, .count = 20},
    {"rwrite200", "rwrite", "durable", "200 such updates", START_REMOUNTED, big_file_prepare, random_write_run, .count = 200, .window = 100},
    {"rwrite2000", "rwrite", "durable", "2,000 such updates", START_REMOUNTED, big_file_prepare, random_write_run, .count = 2000, .window = 100},
    {"tinyml", "stream", "batched", "a 300 KiB model read from front to back 50 times, 1 KiB at a time", START_REMOUNTED, model_file_prepare, model_file_read,
     .size = 300 * KIB, .count = 50},

    {"log16", "logging", "batched", "16,384 appends of 16 B", START_MOUNTED, NULL, log_run, .size = 16},
    {"log32", "logging", "batched", "16,384 appends of 32 B", START_MOUNTED, NULL, log_run, .size = 32},
    {"log64", "logging", "batched", "16,384 appends of 64 B", START_MOUNTED, NULL, log_run, .size = 64},
    {"logmix", "logging", "batched", "16,384 appends of 16 to 64 B", START_MOUNTED, NULL, .run = log_run},
    {"log16d", "logging", "durable", "16,384 appends of 16 B, synced each", START_MOUNTED, NULL, log_run, .size = 16, .count = 1},
    {"log32d", "logging", "durable", "16,384 appends of 32 B, synced each", START_MOUNTED, NULL, log_run, .size = 32, .count = 1},
    {"log64d", "logging", "durable", "16,384 appends of 64 B, synced each", START_MOUNTED, NULL, log_run, .size = 64, .count = 1},
    {"logmixd", "logging", "durable", "16,384 appends of 16 to 64 B, synced each", START_MOUNTED, NULL, log_run, .count = 1},
    {"health1", "health", "durable", "100,000 samples of 12 B, synced each", START_MOUNTED, NULL, health_run, .size = 12, .count = 1},
    {"health10", "health", "durable", "100,000 samples of 12 B, every tenth synced", START_MOUNTED, NULL, health_run, .size = 12, .count = 10},
    {"health100", "health", "durable", "100,000 samples of 12 B, every hundredth synced", START_MOUNTED, NULL, health_run, .size = 12, .count = 100},

    {"flight", "logging", "durable", "16,384 rows of 22 B, every fiftieth synced: a flight log of 50 rows a second", START_MOUNTED, NULL, log_run,
     .size = 22, .count = 50},
    {"rotate", "rotate", "durable", "16,384 appends of 32 B, synced each, to a log of 8 KiB of which twenty old files are kept", START_MOUNTED, NULL,
     rotate_run, .size = 32, .count = 16384, .logs = 20, .options = "size,count,logs"},
    {"copy1", "copy", "batched", "one file of 10,000 KiB copied to the volume, unmount, mount, read back", START_MOUNTED, NULL, copy_run, .size = 10000, .count = 1},
    {"copy35", "copy", "batched", "35 files of 5,400 KiB in all copied to the volume, unmount, mount, read back", START_MOUNTED, NULL, copy_run,
     .size = 5400, .count = 35, .options = "size,count"},

    {"ota2m", "ota", "durable", "a manifest, then 20 chunks of 4 KiB at random offsets of a 2 MiB binary, synced each", START_REMOUNTED, ota_prepare, ota_run,
     .size = 2 * MIB, .count = 20},
    {"ota2mal", "ota", "durable", "the same at aligned offsets", START_REMOUNTED, ota_prepare, ota_aligned_run, .size = 2 * MIB, .count = 20},
    {"ota4m", "ota", "durable", "40 chunks of a 4 MiB binary", START_REMOUNTED, ota_prepare, ota_run, .size = 4 * MIB, .count = 40},
    {"ota2mrewrite", "ota", "batched", "a manifest, then the binary read and written anew, the old one removed, the new one renamed", START_REMOUNTED,
     ota_prepare, ota_rewrite_run, .size = 2 * MIB},

    {"bbburn", "busybox", "batched", "6 directories, 400 files: one binary of 2,675,216 B, the rest 7 to 17 B", START_MOUNTED, NULL, .run = busybox_burn},
    {"bbtraverse", "busybox", "batched", "the tree listed recursively, each entry with stat", START_REMOUNTED, busybox_burn, .run = busybox_traverse},
    {"bbreadall", "busybox", "batched", "the tree listed recursively, each file read", START_REMOUNTED, busybox_burn, .run = busybox_read_all},

    {"gcfill", "gc", "batched", "2,000 times a file of 16 KiB written and removed", START_MOUNTED, NULL, gcfill_run, .chip = GC_CHIP, .count = 2000},
    {"gc55", "gc", "batched", "after 55% were written and removed: files of 16 KiB until there is no space", START_MOUNTED, gc55_prepare, gc55_run, .chip = GC_CHIP},
    {"gc32", "gc", "durable", "2,000 times a file of 32 B created and removed, then 2 MiB and 40 synced random updates of 1 KiB", START_MOUNTED, NULL,
     gc32_run, .count = 2000},

    SENSING("1k", KIB, "1 KiB"), SENSING("64k", 64 * KIB, "64 KiB"), SENSING("512k", 512 * KIB, "512 KiB"), SENSING("4m", 4 * MIB, "4 MiB"),
    MOUNT_FILL(0), MOUNT_FILL(10), MOUNT_FILL(20), MOUNT_FILL(30), MOUNT_FILL(40), MOUNT_FILL(50), MOUNT_FILL(60), MOUNT_FILL(70), MOUNT_FILL(80),
    MOUNT_FILL(90),
    READS("16", 16, 20000, "16 B"), READS("64", 64, 20000, "64 B"), READS("256", 256, 20000, "256 B"), READS("1k", KIB, 8192, "1 KiB"),
    READS("4k", 4 * KIB, 2048, "4 KiB"), READS("16k", 16 * KIB, 512, "16 KiB"),
    OVERWRITE_IN_ORDER("256", 256, "256 B"), OVERWRITE_IN_ORDER("512", 512, "512 B"), OVERWRITE_IN_ORDER("1k", KIB, "1 KiB"),
    OVERWRITE_IN_ORDER("4k", 4 * KIB, "4 KiB"), OVERWRITE_IN_ORDER("16k", 16 * KIB, "16 KiB"),
    OVERWRITE("512", 512, 50, "512 B", .variant = VARIANT_PLAIN),
    OVERWRITE("4k", 4 * KIB, 25, "4 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("4k", 4 * KIB, 50, "4 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("4k", 4 * KIB, 75, "4 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("4k", 4 * KIB, 90, "4 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("16k", 16 * KIB, 50, "16 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("1k", KIB, 50, "1 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("256", 256, 50, "256 B", .variant = VARIANT_PLAIN),
    OVERWRITE("256u", 256, 50, "256 B at any byte", .variant = VARIANT_UNALIGNED),
    OVERWRITE("16k", 16 * KIB, 25, "16 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("16k", 16 * KIB, 75, "16 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("16k", 16 * KIB, 90, "16 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("1k", KIB, 25, "1 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("1k", KIB, 75, "1 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("1k", KIB, 90, "1 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("256", 256, 25, "256 B", .variant = VARIANT_PLAIN),
    OVERWRITE("256", 256, 75, "256 B", .variant = VARIANT_PLAIN),
    OVERWRITE("256", 256, 90, "256 B", .variant = VARIANT_PLAIN),
    OVERWRITE("256u", 256, 25, "256 B at any byte", .variant = VARIANT_UNALIGNED),
    OVERWRITE("256u", 256, 75, "256 B at any byte", .variant = VARIANT_UNALIGNED),
    OVERWRITE("256u", 256, 90, "256 B at any byte", .variant = VARIANT_UNALIGNED),
    OVERWRITE("4k", 4 * KIB, 80, "4 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("4k", 4 * KIB, 85, "4 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("1k", KIB, 80, "1 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("1k", KIB, 85, "1 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("4ks", 4 * KIB, 50, "4 KiB, four of five in a scattered fifth", .variant = VARIANT_SKEWED, .hot = 80),
    OVERWRITE("4ks", 4 * KIB, 75, "4 KiB, four of five in a scattered fifth", .variant = VARIANT_SKEWED, .hot = 80),
    OVERWRITE("4kh", 4 * KIB, 50, "4 KiB, nineteen of twenty in a scattered twentieth", .variant = VARIANT_SKEWED, .hot = 95),
    OVERWRITE("4kh", 4 * KIB, 75, "4 KiB, nineteen of twenty in a scattered twentieth", .variant = VARIANT_SKEWED, .hot = 95),
    OVERWRITE("4kh", 4 * KIB, 90, "4 KiB, nineteen of twenty in a scattered twentieth", .variant = VARIANT_SKEWED, .hot = 95),
    OVERWRITE("4k", 4 * KIB, 95, "4 KiB", .variant = VARIANT_PLAIN),
    OVERWRITE("1ks", KIB, 50, "1 KiB, four of five in a scattered fifth", .variant = VARIANT_SKEWED, .hot = 80),
    OVERWRITE("256s", 256, 50, "256 B, four of five in a scattered fifth", .variant = VARIANT_SKEWED, .hot = 80),
    OVERWRITE("256m", 256, 50, "256 B, every fifth 4 KiB", .variant = VARIANT_MIXED),
    OVERWRITE("1km", KIB, 50, "1 KiB, every fifth 4 KiB", .variant = VARIANT_MIXED),
    OVERWRITE("1kr", KIB, 50, "1 KiB, all in 128 KiB of it", .variant = VARIANT_RANGE),
    OVERWRITE("256r", 256, 50, "256 B, all in 128 KiB of it", .variant = VARIANT_RANGE),
    OVERWRITE("1kf", KIB, 50, "1 KiB, files of 64 KiB in place of one", .variant = VARIANT_FILES),
    OVERWRITE("256f", 256, 50, "256 B, files of 64 KiB in place of one", .variant = VARIANT_FILES),
    {"owread", "overwrite", "durable", "after 256 B overwrites of half the chip: 1,000 random reads of 1 KiB, then the file from front to back",
     START_REMOUNTED, overwrite_prepare, overwrite_read_run, .chip = CHIP_16M, .size = 256, .count = 1000, .fill = 50, .slow = true},

    {"lifelog", "lifespan", "batched", LIFE_ROUND("16,384 appends of 32 B"), START_MOUNTED, lifespan_prepare, lifespan_run, .count = 16384},
    {"lifelogd", "lifespan", "durable", LIFE_ROUND("16,384 appends of 32 B, synced each"), START_MOUNTED, lifespan_prepare, lifespan_run,
     .count = 16384, .variant = VARIANT_SYNCED, .slow = true},
    {"lifesmall", "lifespan", "batched", LIFE_ROUND("a file of 32 B"), START_MOUNTED, lifespan_prepare, lifespan_run, .count = 1,
     .slow = true},
    {"lifesmalls", "lifespan", "durable", LIFE_ROUND("a file synced while empty, then 32 B"), START_MOUNTED, lifespan_prepare, lifespan_run,
     .count = 1, .variant = VARIANT_SYNCED, .slow = true},

    MIXED(25), MIXED(50), MIXED(75), MIXED(90), MIXED(95),
    {"mixedshort", "latency", "durable", "500 such operations after 500 others, chip filled to 25%", START_MOUNTED, mixed_prepare, mixed_run,
     .chip = CHIP_16M, .count = 500, .fill = 25},

    {"wake", "wake", "durable", "20,000 wakes: mount, append 32 B to a log, close, lose power", START_UNMOUNTED, wake_prepare, wake_run,
     .size = 32, .count = 20000, .fill = 12, .logs = 1, .end = END_CUT, .options = "size,count,fill,cold,logs,end", .slow = true},
    {"wear", "wear", "durable", "files, logs and overwrites beside cold files, until blocks were erased 100 times in the mean", START_MOUNTED,
     wear_prepare, wear_run, .chip = "w25q256/1M", .fill = 75, .cold = 75, .options = "fill,cold,load,end", .slow = true},
    {"age", "age", "durable", "700,000 mixed operations at 75% of the space offered; then measured: some more, beside as many on fresh copies", START_MOUNTED,
     age_prepare, age_run, .chip = "w25q256/1M", .count = 700000, .fill = 75, .options = "count,fill,load", .slow = true},
    {"retire", "retire", "durable", "records of 16 B, synced each, in a ring of files, while blocks fail that were erased --limit times; until a tenth failed",
     START_MOUNTED, NULL, retire_run, .chip = "w25q80", .size = 16, .fill = 30, .options = "size,fill", .slow = true},
    {"firstwrite", "firstwrite", "durable", "1,000 power cuts inside overwrites of a file; then measured: mount, and a file of 32 B replaced", START_MOUNTED,
     cut_prepare, cut_run, .chip = CHIP_16M, .count = 1000, .fill = 50, .options = "count,fill", .slow = true},
    {"phase", "phase", "durable", "a file of half the chip overwritten in pieces of 256 B, once its capacity; then measured: in pieces of 4 KiB",
     START_MOUNTED, phase_size_prepare, phase_size_run, .chip = CHIP_16M, .fill = 50, .options = "fill", .slow = true},
    {"phasemany", "phase", "durable", "half the chip used by files of 100 B; then measured: all removed, one file in synced pieces of 4 KiB", START_MOUNTED,
     phase_many_prepare, phase_many_run, .chip = CHIP_16M, .fill = 50, .options = "fill", .slow = true},
    {"phaseempty", "phase", "durable", "files of 4 KiB until one is refused, ten more refusals, all removed, a quarter made anew", START_MOUNTED, NULL,
     phase_empty_run, .chip = CHIP_16M, .slow = true},

    DIRECTORY("10", 10, "10 entries", .variant = VARIANT_PLAIN),
    DIRECTORY("100", 100, "100 entries", .variant = VARIANT_PLAIN),
    DIRECTORY("1000", 1000, "1,000 entries", .variant = VARIANT_PLAIN),
    DIRECTORY("10000", 10000, "10,000 entries", .variant = VARIANT_PLAIN),
    DIRECTORY("10000r", 10000, "10,000 entries created in random order", .variant = VARIANT_SHUFFLED),
    DIRECTORY("10000n", 10000, "10,000 entries with names of 64 B", .variant = VARIANT_LONG_NAMES),

    {"calls", "calls", "durable", "2,000 times what no other row calls: truncate, preallocate, save, load, discard, health, idle time", START_MOUNTED, calls_prepare,
     calls_run, .chip = CHIP_16M, .count = 2000},
    {"calls90", "calls", "durable", "the same, chip filled to 90%", START_MOUNTED, calls_prepare, calls_run, .chip = CHIP_16M, .count = 2000, .fill = 90},

    {"trace", "trace", "as recorded", "the calls of a recorded application, from the file of --trace", START_MOUNTED, trace_prepare, trace_run, .slow = true},

    {"space100", "space", "batched", "files of 100 B, 1,000 in a directory, until there is no space; idle time, and again", START_MOUNTED, NULL,
     .run = space_small_run, .chip = CHIP_16M, .size = 100, .count = 1000, .slow = true},
    {"spacelarge", "space", "batched", "one file until there is no space", START_MOUNTED, NULL, .run = space_large_run},
};

const struct workload *workload_at(unsigned index)
{
    return index < sizeof(workloads) / sizeof(workloads[0]) ? &workloads[index] : NULL;
}
