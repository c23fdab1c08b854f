# SPDX-License-Identifier: BSD-2-Clause
# Where the core lies. This is the one place that names its folder: CMake, ESP-IDF and Zephyr include it. (library.json cannot
# include anything; tests/ports/test_dropin.py compares it with what is found here.)
#
# In:  NF2FS_CORE       1 or 2; where it is not set, nf2fs_core_default below, which the Makefile and tools/run_tests.py read, too
# Out: NF2FS_CORE_DIR   the folder
#      NF2FS_REPAIR_DIR the checker and repair of its format
#      NF2FS_INCLUDE    where its headers are looked for, in that order
#      NF2FS_SOURCES    its C files
set(nf2fs_core_default 1)
set(nf2fs_core_folder_1 src)    # format version 1
set(nf2fs_repair_folder_1 repair)
set(nf2fs_core_folder_2 core2)  # format version 2
set(nf2fs_repair_folder_2 repair2)
if(NOT DEFINED NF2FS_CORE OR NF2FS_CORE STREQUAL "")
  set(NF2FS_CORE ${nf2fs_core_default})
endif()
if(NOT DEFINED nf2fs_core_folder_${NF2FS_CORE})
  message(FATAL_ERROR "NF2FS_CORE is 1 or 2, not ${NF2FS_CORE}")
endif()
get_filename_component(NF2FS_CORE_DIR "${CMAKE_CURRENT_LIST_DIR}/../${nf2fs_core_folder_${NF2FS_CORE}}" ABSOLUTE)
get_filename_component(NF2FS_REPAIR_DIR "${CMAKE_CURRENT_LIST_DIR}/../${nf2fs_repair_folder_${NF2FS_CORE}}" ABSOLUTE)
get_filename_component(NF2FS_INCLUDE "${CMAKE_CURRENT_LIST_DIR}/../include" ABSOLUTE)
if(EXISTS "${NF2FS_CORE_DIR}/include") # headers of its own, which come first
  set(NF2FS_INCLUDE "${NF2FS_CORE_DIR}/include" "${NF2FS_INCLUDE}")
endif()
if(CMAKE_SCRIPT_MODE_FILE) # ESP-IDF asks for a component's needs in a script, before the project
  file(GLOB NF2FS_SOURCES "${NF2FS_CORE_DIR}/*.c")
else()
  file(GLOB NF2FS_SOURCES CONFIGURE_DEPENDS "${NF2FS_CORE_DIR}/*.c")
endif()
if(NOT NF2FS_SOURCES)
  message(FATAL_ERROR "no sources in ${NF2FS_CORE_DIR}")
endif()
