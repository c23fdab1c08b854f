/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NF2FS.h - NF2FS for sketches: LittleFS.open(...) becomes NF2FS.open(...).
 *
 *     #include <NF2FS.h>
 *
 *     void setup() {
 *         if (NF2FS.begin()) {         on the ESP32: NF2FS.begin(true), to format a blank partition
 *             File log = NF2FS.open("/log.txt", "a");
 *             log.println("started");
 *             log.close();             only now it is there for sure
 *         }
 *     }
 *
 * On the ESP32 family and on the RP2040 and RP2350 (with Earle Philhower's core) it is an fs::FS
 * over the flash that LittleFS would use. On other boards there is no fs::FS: use nf2fs/nf2fs.h,
 * and spinor.h for a flash chip of your own.
 *
 * What is different from LittleFS:
 *   - begin() formats flash that is blank, and nothing else. What LittleFS left there is no NF2FS
 *     volume: call NF2FS.format() once, and it is lost.
 *   - One File at a time may write a file: open() fails where another one writes it. An open file
 *     can be neither removed nor replaced.
 *   - A write is taken whole or not at all: where there is no room it returns 0.
 *   - Changes set no time, so getLastWrite() returns 0. On the ESP32 it tells the time of a file
 *     that came with an image and was not changed since.
 */
#ifndef NF2FS_ARDUINO_H
#define NF2FS_ARDUINO_H

#include "nf2fs/nf2fs.h"

#if defined(ARDUINO_ARCH_ESP32)
#include "NF2FS_esp32.h"
#elif defined(ARDUINO_ARCH_RP2040)
#include "NF2FS_rp2040.h"
#endif

#endif
