# SPDX-License-Identifier: BSD-2-Clause
# Where the core lies. This is the one place that names its folder: CMake, ESP-IDF and Zephyr include it. (library.json cannot
# include anything; tests/ports/test_dropin.py compares it with what is found here.)
#
# Out: NF2FS_CORE_DIR   the folder
#      NF2FS_REPAIR_DIR the checker and repair
#      NF2FS_INSPECT    what tools and tests ask of a volume beyond its public calls
#      NF2FS_INCLUDE    where its headers are looked for
#      NF2FS_SOURCES    its C files
get_filename_component(NF2FS_CORE_DIR "${CMAKE_CURRENT_LIST_DIR}/../src" ABSOLUTE)
get_filename_component(NF2FS_REPAIR_DIR "${CMAKE_CURRENT_LIST_DIR}/../repair" ABSOLUTE)
get_filename_component(NF2FS_INSPECT "${CMAKE_CURRENT_LIST_DIR}/../inspect/inspect.c" ABSOLUTE)
get_filename_component(NF2FS_INCLUDE "${CMAKE_CURRENT_LIST_DIR}/../include" ABSOLUTE)
if(CMAKE_SCRIPT_MODE_FILE) # ESP-IDF asks for a component's needs in a script, before the project
  file(GLOB NF2FS_SOURCES "${NF2FS_CORE_DIR}/*.c")
else()
  file(GLOB NF2FS_SOURCES CONFIGURE_DEPENDS "${NF2FS_CORE_DIR}/*.c")
endif()
