/* SPDX-License-Identifier: BSD-2-Clause */
/* test_rp2040.cpp - NF2FS as an fs::FS of the RP2040, over memory that behaves like flash. */
#include <NF2FS.h>

#include <hardware/flash.h>

#include "check.h"

/* ---- the board: 1 MiB of flash, of which the files have the second half ---------------------- */

uint8_t xip[1024 * 1024];
RP2040 rp2040;
static bool interrupted = true, parked;
static unsigned long changes;

void noInterrupts() { interrupted = false; }
void interrupts() { interrupted = true; }
void RP2040::idleOtherCore() { parked = true; }
void RP2040::resumeOtherCore() { parked = false; }

void flash_range_program(uint32_t offset, const uint8_t *data, size_t length)
{
    CHECK(offset % 256 == 0 && length % 256 == 0 && offset >= 512 * 1024 &&
          offset + length <= sizeof(xip));
    CHECK(!interrupted && parked);
    CHECK(data < xip || data >= xip + sizeof(xip)); /* the flash can't be read meanwhile */
    changes++;
    for (size_t i = 0; i < length; i++) {
        xip[offset + i] &= data[i];
    }
}

void flash_range_erase(uint32_t offset, size_t length)
{
    CHECK(offset % 4096 == 0 && length % 4096 == 0 && offset >= 512 * 1024 &&
          offset + length <= sizeof(xip));
    CHECK(!interrupted && parked);
    changes++;
    memset(xip + offset, 0xFF, length);
}

static void start(int fill)
{
    memset(xip, 0xA5, sizeof(xip) / 2);
    memset(xip + sizeof(xip) / 2, fill, sizeof(xip) / 2);
    changes = 0;
}

static void end()
{
    NF2FS.end();
    CHECK(interrupted && !parked);
    for (size_t i = 0; i < sizeof(xip) / 2; i++) {
        if (xip[i] != 0xA5) {
            CHECK(false); /* the program's part of the flash */
            break;
        }
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(begins)
{
    start(0xFF);
    CHECK(!NF2FS.setConfig(fs::FSConfig(0x4c495454)));      /* that of LittleFS */
    CHECK(NF2FS.setConfig(NF2FSConfig(false)));
    CHECK(!NF2FS.begin() && NF2FSError() == NF2_ERR_BLANK && changes == 0);
    CHECK(!NF2FS.exists("/a") && !NF2FS.open("/a", "w") && !NF2FS.openDir("/").next());
    CHECK(NF2FS.setConfig(NF2FSConfig()));
    CHECK(NF2FS.begin() && NF2FSError() == NF2_OK);
    CHECK(NF2FS.begin());
    CHECK(!NF2FS.setConfig(NF2FSConfig()));                 /* it is mounted */
    CHECK(NF2FS.mkdir("/d"));
    NF2FS.end();
    CHECK(!NF2FS.exists("/d") && NF2FS.begin() && NF2FS.exists("/d"));
    CHECK(NF2FS.format() && !NF2FS.exists("/d") && NF2FS.mkdir("/e"));
    end();

    start(0x5A);                                            /* as if LittleFS were there */
    CHECK(!NF2FS.begin() && NF2FSError() == NF2_ERR_FOREIGN && changes == 0);
    CHECK(NF2FS.format() && !NF2FS.exists("/e") && NF2FS.begin());
    end();
    start(0x5A);
    CHECK(NF2FS.setConfig(NF2FSConfig().setFormatForeign()));
    CHECK(NF2FS.begin());
    end();
    memset(xip + 512 * 1024 + 3 * 4096, 0, 388000);         /* damaged, but for the super blocks: never formatted */
    changes = 0;
    CHECK(!NF2FS.begin() && NF2FSError() == NF2_ERR_CORRUPT && changes == 0);
    CHECK(NF2FS.setConfig(NF2FSConfig()));
}

TEST(files)
{
    uint8_t text[16] = {0};
    start(0xFF);
    CHECK(NF2FS.begin());
    CHECK(!NF2FS.open("/a.txt", "r") && !NF2FS.open("/a.txt", "x") && !NF2FS.open("", "w"));
    File file = NF2FS.open("/log/2026/a.txt", "w");         /* with its directories */
    CHECK(file && file.isFile() && !file.isDirectory());
    CHECK_TEXT(file.name(), "a.txt");
    CHECK_TEXT(file.fullName(), "/log/2026/a.txt");
    CHECK_EQ(file.println("hello"), 7);
    CHECK(!NF2FS.open("/log/2026/a.txt", "a"));             /* another one writes it */
    CHECK(!NF2FS.remove("/log/2026/a.txt"));
    file.flush();
    File reader = NF2FS.open("/log/2026/a.txt", "r");
    CHECK_EQ(reader.size(), 7);
    CHECK_EQ(reader.available(), 7);
    CHECK_EQ(reader.peek(), 'h');
    CHECK_EQ(reader.read(), 'h');
    CHECK(reader.read(text, 16) == 6 && memcmp(text, "ello\r\n", 6) == 0);
    CHECK_EQ(reader.read(), -1);
    CHECK(reader.seek(2) && reader.position() == 2 && reader.seek(3, SeekCur) &&
          reader.position() == 5);
    CHECK(!reader.seek(8) && reader.position() == 5);
    CHECK(reader.seek((uint32_t)-7, SeekEnd) && reader.position() == 0);
    CHECK_EQ(reader.write('x'), 0);
    CHECK(!reader.truncate(1));
    reader.close();
    CHECK(!reader && reader.size() == 0);
    file.close();
    file = NF2FS.open("/log/2026/a.txt", "a+");
    CHECK(file.println(42L) == 4 && file.seek(0) && file.read() == 'h');
    CHECK(file.truncate(9));
    file.close();
    file = NF2FS.open("/log/2026/a.txt", "r+");
    CHECK(file.size() == 9 && file.write('H') == 1);
    file.close();
    fs::FSStat stat;
    CHECK(NF2FS.stat("/log/2026/a.txt", &stat) && stat.size == 9 && !stat.isDir && stat.ctime == 0);
    CHECK(NF2FS.stat("/log", &stat) && stat.isDir && stat.size == 0 && !NF2FS.stat("/x", &stat));

    /* What is not closed when the volume goes is lost, and its handle is of no use, but harmless. */
    File left = NF2FS.open("/left", "w");
    CHECK_EQ(left.print("x"), 1);
    NF2FS.end();
    CHECK(left.print("x") == 0 && left.read() == -1 && left.size() == 0);
    CHECK(NF2FS.begin() && !NF2FS.exists("/left"));
    left.close();

    /* A full volume: the write is refused as a whole. */
    static uint8_t much[64 * 1024];
    file = NF2FS.open("/much", "w");
    size_t taken = 0;
    while (file.write(much, sizeof(much)) == sizeof(much)) {
        taken += sizeof(much);
    }
    CHECK(taken >= 256 * 1024 && taken < 512 * 1024 && file.size() == taken);
    file.close();
    CHECK(!NF2FS.exists("/much"));          /* a part of what was meant: it was never synced */

    /* A write of 0 bytes says that what was taken is enough. */
    file = NF2FS.open("/much", "w");
    taken = 0;
    while (file.write(much, sizeof(much)) == sizeof(much)) {
        taken += sizeof(much);
    }
    CHECK(taken >= 256 * 1024 && file.write(much, 0) == 0);
    file.close();
    FSInfo info;
    CHECK(NF2FS.info(info) && info.totalBytes == 512 * 1024 && info.usedBytes > taken
          && info.usedBytes <= info.totalBytes && info.blockSize == 4096 && info.pageSize == 256);
    CHECK(NF2FS.remove("/much") && NF2FS.gc() && NF2FS.check());
    end();
}

TEST(names)
{
    start(0xFF);
    CHECK(NF2FS.begin());
    CHECK(NF2FS.mkdir("/d") && !NF2FS.mkdir("/d") && !NF2FS.mkdir("/x/y"));
    static const char *const paths[] = {"/d/apple", "/d/apricot", "/d/banana", "/top"};
    for (const char *path : paths) {
        NF2FS.open(path, "w").close();
    }
    CHECK(NF2FS.mkdir("/d/sub"));
    String all;
    Dir dir = NF2FS.openDir("/d");
    for (int i = 0; i < 2; i++) {
        while (dir.next()) {
            all += dir.fileName().c_str()[0];
            CHECK_EQ(dir.isDirectory(), dir.fileName() == "sub");
            CHECK_EQ(dir.isFile(), !dir.isDirectory());
        }
        CHECK(dir.rewind());
    }
    CHECK_TEXT(all.c_str(), "aabsaabs");
    int found = 0;
    for (dir = NF2FS.openDir("/d/ap"); dir.next(); found++) {
        CHECK(dir.openFile("r").size() == dir.fileSize());
    }
    CHECK_EQ(found, 2);
    found = 0;
    for (dir = NF2FS.openDir("/t"); dir.next(); found++) { }
    CHECK_EQ(found, 1);
    found = 0;
    for (dir = NF2FS.openDir("/"); dir.next(); found++) { }
    CHECK_EQ(found, 2);
    CHECK(!NF2FS.openDir("/none/x").next());

    File folder = NF2FS.open("/d", "r");
    CHECK(folder && folder.isDirectory() && !folder.isFile() && folder.read() == -1);
    CHECK(!NF2FS.open("/d", "w"));
    found = 0;
    for (File file = folder.openNextFile(); file; file = folder.openNextFile()) {
        found += file.isDirectory() ? 10 : 1;
    }
    CHECK_EQ(found, 13);

    CHECK(NF2FS.rename("/d/apple", "/top") && !NF2FS.exists("/d/apple") && NF2FS.exists("/top"));
    CHECK(!NF2FS.rename("/none", "/top") && !NF2FS.remove("/d") && !NF2FS.rmdir("/d") &&
          !NF2FS.rmdir("/top"));
    CHECK(NF2FS.rmdir("/d/sub") && NF2FS.remove("/top") && !NF2FS.remove("/top"));
    end();
}

/* flush() and close() have no result: an error stays where NF2FSError() finds it. */
TEST(close_that_fails)
{
    start(0xFF);
    CHECK(NF2FS.begin() && NF2FSError() == NF2_OK);
    File file = NF2FS.open("/a", "w");
    CHECK_EQ(file.print("kept"), 4);
    file.close();
    CHECK_EQ(NF2FSError(), NF2_OK);
    file = NF2FS.open("/a", "w");
    CHECK_EQ(file.print("lost"), 4);
    NF2FS.end();
    file.close();
    CHECK_EQ(NF2FSError(), NF2_ERR_BADF);
    CHECK(NF2FS.begin() && NF2FSError() == NF2_OK && NF2FS.open("/a", "r").read() == 'k');
    end();
}

static const char *image;

TEST(uploaded_image)
{
    start(0xFF);
    FILE *file = fopen(image, "rb");
    CHECK(file != nullptr &&
          fread(xip + sizeof(xip) / 2, 1, sizeof(xip) / 2, file) == sizeof(xip) / 2 &&
          fgetc(file) == EOF);
    fclose(file);
    CHECK(NF2FS.setConfig(NF2FSConfig(false)) && NF2FS.begin());
    CHECK_EQ(NF2FS.open("/web/page", "r").read(), 'h');
    CHECK(NF2FS.mkdir("/new") && NF2FS.check());
    end();
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        image = argv[1];
        RUN(uploaded_image);
        return check_done();
    }
    RUN(begins);
    RUN(files);
    RUN(names);
    RUN(close_that_fails);
    return check_done();
}
