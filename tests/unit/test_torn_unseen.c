/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_torn_unseen.c - a program that is cut may read as blank, and show its weak bits later. So what it was asked to program is
 * not programmed again before an erase, but with the same bytes, or with zeros. The chip here keeps count of that, also for units
 * of a byte: each cut leaves no trace at all.
 */
#include <stdlib.h>

#include "api_volume.h"
#include "calls.h"
#include "check.h"

#define FILES 6u
#define NAMES 40u               /* in each of two directories: more than a leaf takes */

static const struct nf2_flash *real;
static int *asked;              /* of each byte of the chip: what a cut program was to leave there, -1: nothing */
static unsigned left;           /* programs and erases until power goes; 0: it is gone */
static unsigned torn, again;
static const char *wrong;

static int read_on(void *context, uint32_t address, void *data, uint32_t length)
{
    return left == 0 ? -1 : real->read(context, address, data, length);
}

static int program(void *context, uint32_t address, const void *data, uint32_t length)
{
    const uint8_t *bytes = data;

    if (left == 0 || --left == 0) {
        torn += left == 0 && bytes != NULL;
        for (uint32_t i = 0; i < length; i++) {
            asked[address + i] = bytes[i] != 0xFF ? bytes[i] : asked[address + i];
        }
        return -1;
    }
    for (uint32_t i = 0; i < length; i++) {
        int before = asked[address + i];
        again += before >= 0;
        if (before >= 0 && bytes[i] != before && bytes[i] != 0) {
            wrong = "a byte that a cut may have torn is programmed with another value";
        }
        if (before >= 0 && bytes[i] == before) {
            asked[address + i] = -1;    /* it is whole now */
        }
    }
    return real->program(context, address, data, length);
}

static int erase(void *context, uint32_t address, uint32_t length)
{
    if (left == 0 || --left == 0) {
        return -1;              /* nothing was erased; what was torn stays so */
    }
    for (uint32_t i = 0; i < length; i++) {
        asked[address + i] = -1;
    }
    return real->erase(context, address, length);
}

/* A name goes from one directory to the other: a change of two leaves. */
static int move(struct volume *volume, uint32_t number)
{
    char from[16], to[16];

    (void)snprintf(from, sizeof from, "a/%u", (unsigned)number);
    (void)snprintf(to, sizeof to, "b/%u", (unsigned)number);
    int result = nf2_rename(&volume->fs, from, to);
    return result == NF2_ERR_NOENT ? nf2_rename(&volume->fs, to, from) : result;
}

/* A line at the end of a log, or a small file anew. */
static int change(struct volume *volume, unsigned number, uint32_t session)
{
    char name[16];
    uint8_t line[32];

    (void)snprintf(name, sizeof name, "%s%u", number < FILES / 2 ? "log" : "set", number);
    if (number >= FILES / 2) {
        return put(volume, name, 30 + session % 60, session);
    }
    memset(line, (int)session, sizeof line);
    int result = nf2_open(&volume->fs, &volume->file, name, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND, volume->page);
    if (result == NF2_OK) {
        int wrote = nf2_write(&volume->fs, &volume->file, line, sizeof line), closed = nf2_close(&volume->fs, &volume->file);
        result = wrote < 0 ? wrote : closed;
    }
    return result;
}

/* Logs are begun anew before they fill the volume. */
static int trim(struct volume *volume)
{
    uint32_t size = 0;

    for (unsigned i = 0; i < FILES / 2; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "log%u", i);
        if (size_of(volume, name, &size) == NF2_OK && size > 6000) {
            int result = nf2_rename(&volume->fs, name, "old");
            if (result != NF2_OK) {
                return result;
            }
        }
    }
    return NF2_OK;
}

/* Returns in how many sessions something was torn. */
static unsigned sessions(const char *chip, uint64_t seed, uint32_t count)
{
    static struct volume volume;
    struct nf2_flash driver;

    torn = again = 0;
    wrong = NULL;
    volume_up(&volume, chip);
    CHECK_EQ(nf2_mkdir(&volume.fs, "a"), NF2_OK);
    CHECK_EQ(nf2_mkdir(&volume.fs, "b"), NF2_OK);
    for (unsigned i = 0; i < NAMES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "a/%u", i);
        CHECK_EQ(put(&volume, name, 150, i), NF2_OK);
    }
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    real = volume.config.flash;
    driver = *real;
    driver.read = read_on;
    driver.program = program;
    driver.erase = erase;
    asked = malloc(real->chip_size * sizeof *asked);
    if (!CHECK(asked != NULL)) {
        return 0;
    }
    memset(asked, 0xFF, real->chip_size * sizeof *asked);
    volume.config.flash = &driver;
    for (uint32_t session = 0; session < count && wrong == NULL; session++) {
        /* files differ in how often they are written: some rest for many sessions */
        unsigned number = random_number(&seed, 1u << random_number(&seed, FILES)) % FILES;
        bool quiet = random_number(&seed, 4) == 0, between = random_number(&seed, 4) == 0;
        left = between ? 100000u : 1u + random_number(&seed, 7);
        int result = nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR);
        result = result == NF2_OK ? trim(&volume) : result;
        result = result != NF2_OK ? result :
                 random_number(&seed, 5) == 0 ? move(&volume, random_number(&seed, NAMES)) : change(&volume, number, session);
        bool alive = left > 0;
        result = result == NF2_OK && quiet ? nf2_unmount(&volume.fs) : result;
        if (!CHECK(result == NF2_OK || result == NF2_ERR_NOSPC || !alive || left == 0)) {
            printf("  %s, session %u: %d\n", chip, (unsigned)session, result);
            break;
        }
    }
    if (!CHECK(wrong == NULL)) {
        printf("  %s: %s\n", chip, wrong);
    }
    left = 1000000;
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    printf("%s: %u programs were cut without a trace, %u bytes of them programmed again\n", chip, torn, again);
    CHECK(vflash_violation(volume.flash) == NULL);
    unsigned found = torn;
    volume.config.flash = real;
    volume_down(&volume, false);
    free(asked);
    return found;
}

TEST(nothing_is_programmed_over)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        CHECK(sessions("tiny256k", seed, 3000) > 500);
    }
    CHECK(sessions("tinyecc16", 5, 3000) > 500);
    CHECK(sessions("tiny512", 6, 3000) > 500);
}

int main(void)
{
    RUN(nothing_is_programmed_over);
    return check_done();
}
