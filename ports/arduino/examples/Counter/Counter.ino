/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the starts of the board in a file, for the ESP32 family and the RP2040. */
#include <NF2FS.h>

void setup() {
  Serial.begin(115200);
#if defined(ARDUINO_ARCH_ESP32)
  bool mounted = NF2FS.begin(true); // formats a partition that is blank
#else
  bool mounted = NF2FS.begin();
#endif
  if (!mounted) {
    // It holds something else, or is damaged. NF2FS.format() makes a new volume, and what there was is lost.
    Serial.println("no volume");
    return;
  }

  long count = 0;
  File file = NF2FS.open("/starts", "r");
  if (file) {
    count = file.parseInt();
    file.close();
  }

  // A power cut from here on leaves the old count or the new one.
  file = NF2FS.open("/starts", "w");
  file.println(count + 1);
  file.close();
  Serial.print("start ");
  Serial.println(count + 1);

  NF2FS.end(); // before the power goes: the next start is faster, and the flash wears less
}

void loop() {}
