# Install rules: library, tool, headers, wisdom, the CMake package and the pkg-config file. All paths inside the
# installed tree are relative, so the tree can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)
file(RELATIVE_PATH BIN_TO_LIB ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH PKGCONFIG_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" PKGCONFIG_TO_PREFIX "${PKGCONFIG_TO_PREFIX}")

set_target_properties(tilewright tilewright_tune tilewright_blas PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS tilewright tilewright_tune tilewright_blas tilewright_scalapack tilewright_small EXPORT tilewright-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET tilewright_cli)
  set_target_properties(tilewright_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${BIN_TO_LIB}")
  install(TARGETS tilewright_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tilewright DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN *.hpp PATTERN *.h)
# The pages that `tilewright` alone names; what they are made from (results/) stays in the sources.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DATADIR}/tilewright
        FILES_MATCHING PATTERN *.md PATTERN *.svg)
if(EXISTS ${PROJECT_SOURCE_DIR}/wisdom)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/wisdom DESTINATION ${CMAKE_INSTALL_DATADIR}/tilewright
          FILES_MATCHING PATTERN *.jsonl)
endif()

if(HAS_GPU)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/kernel DESTINATION ${CMAKE_INSTALL_DATADIR}/tilewright
          FILES_MATCHING PATTERN *.cuh PATTERN *config.hpp)
endif()

# What a program needs to link a static library; a shared one keeps its parts to itself.
set(STATIC_DEPENDENCIES "")
set(STATIC_REQUIRES "")
set(STATIC_LIBS "")
if(LIBRARY_KIND STREQUAL STATIC)
  set(STATIC_DEPENDENCIES "include(CMakeFindDependencyMacro)
foreach(part fmt spdlog OpenMP SQLite3 ZLIB PkgConfig)
  find_dependency(\${part})
endforeach()
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(NETTLE REQUIRED IMPORTED_TARGET nettle)")
  set(STATIC_REQUIRES "Requires: fmt spdlog hwloc libhwy nettle sqlite3 zlib")
  set(STATIC_LIBS "${OpenMP_CXX_FLAGS} -ldl -lstdc++ -lm")
endif()
install(EXPORT tilewright-targets NAMESPACE tilewright:: DESTINATION ${PACKAGE_DIR})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tilewright-config.cmake.in
                              ${PROJECT_BINARY_DIR}/tilewright-config.cmake INSTALL_DESTINATION ${PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tilewright-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tilewright-config.cmake ${PROJECT_BINARY_DIR}/tilewright-config-version.cmake
        DESTINATION ${PACKAGE_DIR})
foreach(package tilewright tilewright-tune tilewright-blas)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
