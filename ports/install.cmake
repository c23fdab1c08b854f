# SPDX-License-Identifier: BSD-2-Clause
# cmake --install: library, headers, package config (find_package(nf2fs)), pkg-config (nf2fs.pc).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Lists of the sources and include directories, for those who compile them some other way (ports/amalgamate.py).
string(REPLACE ";" "\n" nf2fs_source_lines "${NF2FS_SOURCES}")
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/nf2fs-sources.txt" "${nf2fs_source_lines}\n")
string(REPLACE ";" "\n" nf2fs_include_lines "${NF2FS_INCLUDE}")
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/nf2fs-includes.txt" "${nf2fs_include_lines}\n")

# Installed, the headers are in one place.
set(nf2fs_build_include ${NF2FS_INCLUDE})
list(TRANSFORM nf2fs_build_include PREPEND "$<BUILD_INTERFACE:")
list(TRANSFORM nf2fs_build_include APPEND ">")
set_target_properties(nf2fs PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
  "${nf2fs_build_include};$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")

set(nf2fs_drivers "${CMAKE_INSTALL_INCLUDEDIR}/nf2fs/ports")
set(nf2fs_package "${CMAKE_INSTALL_LIBDIR}/cmake/nf2fs")
install(TARGETS nf2fs EXPORT nf2fs-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library)
if(PROJECT_IS_TOP_LEVEL)
  set_target_properties(nf2fs_spinor PROPERTIES EXPORT_NAME spinor)
  install(TARGETS nf2fs_spinor EXPORT nf2fs-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library
          INCLUDES DESTINATION "${nf2fs_drivers}")
  install(FILES "${CMAKE_CURRENT_LIST_DIR}/spinor/spinor.h" "${CMAKE_CURRENT_LIST_DIR}/spinor/selftest.h"
          DESTINATION "${nf2fs_drivers}" COMPONENT library)
endif()
install(EXPORT nf2fs-targets NAMESPACE nf2fs:: FILE nf2fs-targets.cmake DESTINATION "${nf2fs_package}" COMPONENT library)
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/nf2fs-config.cmake" [=[
include("${CMAKE_CURRENT_LIST_DIR}/nf2fs-targets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/Nf2Image.cmake")
]=])
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/nf2fs-config.cmake" "${CMAKE_CURRENT_LIST_DIR}/../cmake/Nf2Image.cmake"
        DESTINATION "${nf2fs_package}" COMPONENT library)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/nf2fs-config-version.cmake"
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/nf2fs-config-version.cmake" DESTINATION "${nf2fs_package}" COMPONENT library)
foreach(header nf2fs.h flash.h private.h attributes.h)
  foreach(place ${NF2FS_INCLUDE})
    if(EXISTS "${place}/nf2fs/${header}")
      install(FILES "${place}/nf2fs/${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/nf2fs" COMPONENT library)
      break()
    endif()
  endforeach()
endforeach()

set(nf2fs_cflags "")
set(nf2fs_libs "")
if(PROJECT_IS_TOP_LEVEL)
  set(nf2fs_cflags " -I\${prefix}/${nf2fs_drivers}")
  set(nf2fs_libs " -lnf2fs_spinor")
endif()
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/nf2fs.pc.in" [=[prefix=${pcfiledir}/@nf2fs_prefix@
Name: nf2fs
Description: @nf2fs_description@
Version: @PROJECT_VERSION@
Cflags: -I${prefix}/@CMAKE_INSTALL_INCLUDEDIR@@nf2fs_cflags@
Libs: -L${prefix}/@CMAKE_INSTALL_LIBDIR@@nf2fs_libs@ -lnf2fs
]=])
set(nf2fs_description "A file system for raw serial NOR flash on microcontrollers")
file(RELATIVE_PATH nf2fs_prefix "/x/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/x")
configure_file("${CMAKE_CURRENT_BINARY_DIR}/nf2fs.pc.in" "${CMAKE_CURRENT_BINARY_DIR}/nf2fs.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/nf2fs.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT library)
