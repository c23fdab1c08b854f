# SPDX-License-Identifier: BSD-2-Clause
# Flash images as a part of a build.
#
#   nf2_add_image(<target>
#     DIRECTORY <directory> | MANIFEST <file.toml>
#     [CHIP <name or chip file>] [SMALLEST] [FREE <size>] [OUTPUT <file>]
#     [DEPENDS <files or targets>...] [EXCLUDE_FROM_ALL])
#
#   DIRECTORY, MANIFEST  what the image holds (see `nf2 pack --help`)
#   CHIP                 without it the smallest chip that holds the directory
#   SMALLEST             only as large as the directory needs, with the chip's geometry
#   FREE                 so much must be left for file data: 65536, 64K, 2M
#   OUTPUT               else <target>.img in the current binary directory
#   DEPENDS              what the build makes and the image holds
#
# Makes a target that builds the image, anew whenever a file or directory that it was made of
# changes. The image's path is the target's property NF2_IMAGE. The build fails where the content
# does not fit.
#
# NF2_COMMAND is the command `nf2`: found in the PATH or the active Python environment, else to be
# set by -DNF2_COMMAND=...

include_guard(GLOBAL)
cmake_minimum_required(VERSION 3.21)

function(nf2_find_command)
  find_program(NF2_COMMAND nf2 HINTS ENV VIRTUAL_ENV PATH_SUFFIXES bin Scripts
    DOC "the command nf2, which makes images")
  if(NOT NF2_COMMAND)
    message(FATAL_ERROR "The command nf2 was not found: install it (`pip install .` or `make tools` in the "
                        "sources of NF2FS), or name it with -DNF2_COMMAND=...")
  endif()
endfunction()

function(nf2_add_image target)
  cmake_parse_arguments(PARSE_ARGV 1 arg
    "SMALLEST;EXCLUDE_FROM_ALL" "DIRECTORY;MANIFEST;CHIP;FREE;OUTPUT" "DEPENDS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "nf2_add_image(${target}): unknown: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if((arg_DIRECTORY AND arg_MANIFEST) OR NOT (arg_DIRECTORY OR arg_MANIFEST))
    message(FATAL_ERROR "nf2_add_image(${target}): give one of DIRECTORY and MANIFEST")
  endif()
  nf2_find_command()

  set(source "${arg_DIRECTORY}${arg_MANIFEST}")
  cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  set(output "${arg_OUTPUT}")
  if(NOT output)
    set(output "${target}.img")
  endif()
  cmake_path(ABSOLUTE_PATH output BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" NORMALIZE)

  set(options --force --depfile "${output}.d")
  if(arg_CHIP)
    list(APPEND options --chip "${arg_CHIP}")
  endif()
  if(arg_SMALLEST)
    list(APPEND options --smallest)
  endif()
  if(arg_FREE)
    list(APPEND options --free "${arg_FREE}")
  endif()

  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${NF2_COMMAND}" pack ${options} "${source}" "${output}"
    DEPENDS "${source}" ${arg_DEPENDS}
    DEPFILE "${output}.d"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "Flash image ${target}"
    VERBATIM)
  if(arg_EXCLUDE_FROM_ALL)
    add_custom_target(${target} DEPENDS "${output}")
  else()
    add_custom_target(${target} ALL DEPENDS "${output}")
  endif()
  set_target_properties(${target} PROPERTIES NF2_IMAGE "${output}")
endfunction()
