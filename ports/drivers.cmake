# SPDX-License-Identifier: BSD-2-Clause
# nf2fs::spinor: the driver for JEDEC serial NOR chips, and the selftest. In another project it is built where it is linked.
add_library(nf2fs_spinor STATIC)
add_library(nf2fs::spinor ALIAS nf2fs_spinor)
foreach(name spinor spinor_command spinor_maker spinor_sfdp spinor_start selftest)
  target_sources(nf2fs_spinor PRIVATE "${CMAKE_CURRENT_LIST_DIR}/spinor/${name}.c")
endforeach()
target_include_directories(nf2fs_spinor PUBLIC "$<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/spinor>")
target_link_libraries(nf2fs_spinor PUBLIC nf2fs)
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(nf2fs_spinor PRIVATE -Wall -Wextra -Wconversion -Wshadow -Werror)
else()
  set_target_properties(nf2fs_spinor PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
