/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NF2FS_rp2040.h - included by NF2FS.h. The size of the file system is chosen in the board's menu
 * ("Flash Size"); it needs 128 KiB at least. As with LittleFS, call it from one core and one task.
 *
 * After a write that returned 0 on a full volume, flush() and close() save nothing of what came
 * since the last flush(), until a later write succeeds; write(data, 0) says that what was taken is
 * enough, as it is for a log.
 */
#ifndef NF2FS_RP2040_H
#define NF2FS_RP2040_H

#include <FS.h>
#include <FSImpl.h>

/*
 * NF2FS.setConfig(NF2FSConfig(false)) keeps begin() from formatting flash that is blank;
 * NF2FSConfig().setFormatForeign() lets it also format flash that holds something else.
 */
class NF2FSConfig : public fs::FSConfig {
public:
    static constexpr uint32_t FSId = 0x4e463246;
    NF2FSConfig(bool autoFormat = true) : fs::FSConfig(FSId, autoFormat) { }

    NF2FSConfig &setFormatForeign(bool value = true)
    {
        formatForeign = value;
        return *this;
    }

    bool formatForeign = false;
};

/*
 * NF2FS.begin(), end(), open(), openDir(), exists(), remove(), rename(), mkdir(), rmdir(), stat()
 * and info() are those of fs::FS. open() makes the directories that a new file needs. gc() does
 * idle work for up to 100 ms; check() reads the whole volume.
 */
extern fs::FS NF2FS;

/*
 * Why the last NF2FS.begin() or format() failed, or a flush() or close() since then, which have no
 * result of their own: 0 or an error for nf2_error_text().
 */
int NF2FSError();

#endif
