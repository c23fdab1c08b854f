# SPDX-License-Identifier: BSD-2-Clause
# A partition's image as a part of the build. ESP-IDF reads this file for every project that has the component.
#
#   nf2_create_partition_image(<partition> <directory> [FLASH_IN_PROJECT] [FREE <size>] [DEPENDS <files or targets>...])
#
#   FLASH_IN_PROJECT  `idf.py flash` writes it, too; else `idf.py <partition>-flash`
#   FREE              so much must be left for file data: 65536, 64K
#   DEPENDS           what the build makes and the image holds
#
# The build fails where the directory does not fit. It is made by the command `nf2` (`pip install .` in the sources of NF2FS), which is
# looked for in the PATH, or named by -DNF2_COMMAND=... on the command line of idf.py.
set(nf2fs_image_cmake "${CMAKE_CURRENT_LIST_DIR}/cmake/Nf2Image.cmake") # in a component that make_component.py made
if(NOT EXISTS "${nf2fs_image_cmake}")
  set(nf2fs_image_cmake "${CMAKE_CURRENT_LIST_DIR}/../../../cmake/Nf2Image.cmake")
endif()
include("${nf2fs_image_cmake}")

# The geometry that nf2_esp.c gives to such a partition.
function(nf2_write_partition_chip file name size offset)
  math(EXPR beyond_large "${offset} % 65536")
  if(beyond_large EQUAL 0)
    set(erases "erase_sizes = 4096, 65536\nerase_us = 50000, 200000\n")
  else()
    set(erases "block_size = 4096\nerase_us = 50000\n")
  endif()
  math(EXPR bytes "${size} / 4096 * 4096")
  set(text "name = partition\ndescription = ${name}\nsize = ${bytes}\npage_size = 256\n${erases}read_page_us = 20\nprogram_page_us = 500\n")
  set(before "")
  if(EXISTS "${file}")
    file(READ "${file}" before)
  endif()
  if(NOT before STREQUAL text)
    file(WRITE "${file}" "${text}")
  endif()
endfunction()

function(nf2_create_partition_image partition directory)
  cmake_parse_arguments(PARSE_ARGV 2 arg "FLASH_IN_PROJECT" "FREE" "DEPENDS")
  set(target "nf2_${partition}_bin")
  partition_table_get_partition_info(size "--partition-name ${partition}" "size")
  partition_table_get_partition_info(offset "--partition-name ${partition}" "offset")
  if(NOT size OR NOT offset)
    fail_at_build_time(${target} "There is no partition \"${partition}\" in the partition table, so no NF2FS image can be made for it.")
    return()
  endif()

  set(image "${CMAKE_BINARY_DIR}/${partition}.bin")
  set(chip "${CMAKE_BINARY_DIR}/${partition}.chip")
  nf2_write_partition_chip("${chip}" "${partition}" "${size}" "${offset}")
  set(free "")
  if(arg_FREE)
    set(free FREE ${arg_FREE})
  endif()
  nf2_add_image(${target} DIRECTORY "${directory}" CHIP "${chip}" OUTPUT "${image}" ${free} DEPENDS "${chip}" ${arg_DEPENDS})

  if(COMMAND esp_partition_register_target) # from ESP-IDF 6.1 on
    set(flash "")
    if(arg_FLASH_IN_PROJECT)
      set(flash FLASH_IN_PROJECT)
    endif()
    esp_partition_register_target(${partition} "${image}" DEPENDS ${target} ${flash})
  else()
    idf_component_get_property(main_args esptool_py FLASH_ARGS)
    idf_component_get_property(sub_args esptool_py FLASH_SUB_ARGS)
    esptool_py_flash_target(${partition}-flash "${main_args}" "${sub_args}" ALWAYS_PLAINTEXT)
    esptool_py_flash_to_partition(${partition}-flash "${partition}" "${image}")
    add_dependencies(${partition}-flash ${target})
    if(arg_FLASH_IN_PROJECT)
      esptool_py_flash_to_partition(flash "${partition}" "${image}")
      add_dependencies(flash ${target})
    endif()
  endif()
endfunction()
