# Install rules and packages: libraries, tool, headers, wisdom, pages, licences, the CMake package and the pkg-config files.
# All paths inside the installed tree are relative, so the tree can be moved. A distribution splits it by the install
# components runtime, tune, blas, scalapack, development, tune_development, tool and documentation (cmake/packages.cmake).
include(CMakePackageConfigHelpers)

set(PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)
file(RELATIVE_PATH BIN_TO_LIB ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH PKGCONFIG_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" PKGCONFIG_TO_PREFIX "${PKGCONFIG_TO_PREFIX}")

# install_library(TARGET COMPONENT NAMELINK): installs a library with a set of targets of its own in the CMake
# package, which is left out if the component is not installed. NAMELINK is the component of lib*.so.
function(install_library target component namelink)
  install(TARGETS ${target} EXPORT ${target}-targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT ${namelink}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(EXPORT ${target}-targets NAMESPACE tilewright:: DESTINATION ${PACKAGE_DIR} COMPONENT ${namelink})
endfunction()
set_target_properties(tilewright tilewright_tune tilewright_blas PROPERTIES INSTALL_RPATH "$ORIGIN")
install_library(tilewright runtime development)
install_library(tilewright_tune tune tune_development)
# These libraries are preloaded by the name of the link.
install_library(tilewright_blas blas blas)
if(HAS_MULTINODE)
  install_library(tilewright_scalapack scalapack scalapack)
else()
  set(WITHOUT_MULTINODE PATTERN *multinode* EXCLUDE)
endif()
install(TARGETS tilewright_small EXPORT tilewright_small-targets)
install(EXPORT tilewright_small-targets NAMESPACE tilewright:: DESTINATION ${PACKAGE_DIR} COMPONENT development)
if(TARGET tilewright_cli)
  set_target_properties(tilewright_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${BIN_TO_LIB}")
  install(TARGETS tilewright_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
  # Man pages and completions, which the tool writes from its own declarations.
  install(DIRECTORY ${PROJECT_BINARY_DIR}/pages/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT tool OPTIONAL)
  foreach(shell bash-completion zsh fish)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/pages/${shell} DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT tool OPTIONAL)
  endforeach()
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tilewright DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN *.hpp PATTERN *.h ${WITHOUT_MULTINODE})
if(EXISTS ${PROJECT_SOURCE_DIR}/wisdom)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/wisdom DESTINATION ${CMAKE_INSTALL_DATADIR}/tilewright COMPONENT runtime
          FILES_MATCHING PATTERN *.jsonl)
endif()
if(HAS_GPU)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/kernel DESTINATION ${CMAKE_INSTALL_DATADIR}/tilewright COMPONENT runtime
          FILES_MATCHING PATTERN *.cuh PATTERN *config.hpp)
endif()

# Install the pages that `tilewright` alone names, with the examples and licences that they link to. The licences are
# always installed with the libraries.
set(STAGED_DOCS ${PROJECT_BINARY_DIR}/installed_docs)
# Two concurrent installations would overwrite each other's staged files.
install(CODE "file(LOCK \"${STAGED_DOCS}.lock\" GUARD PROCESS TIMEOUT 300)
execute_process(COMMAND \"${CMAKE_COMMAND}\" \"-DSOURCE=${PROJECT_SOURCE_DIR}\" \"-DOUTPUT=${STAGED_DOCS}\"
  \"-DDOCS=${CMAKE_INSTALL_FULL_DOCDIR}\" \"-DINCLUDE=${CMAKE_INSTALL_FULL_INCLUDEDIR}\" \"-DDATA=${CMAKE_INSTALL_FULL_DATADIR}\"
  -P \"${PROJECT_SOURCE_DIR}/cmake/install_docs.cmake\" RESULT_VARIABLE failed)
if(NOT failed STREQUAL \"0\")
  message(FATAL_ERROR \"The pages could not be staged\")
endif()" ALL_COMPONENTS)
install(DIRECTORY ${STAGED_DOCS}/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation
        PATTERN LICENSE EXCLUDE PATTERN NOTICE EXCLUDE PATTERN licences EXCLUDE)
install(DIRECTORY ${STAGED_DOCS}/licences DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(FILES ${STAGED_DOCS}/LICENSE ${STAGED_DOCS}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

# A program needs these to link a static library; a shared one keeps its parts private.
set(STATIC_DEPENDENCIES "")
set(STATIC_REQUIRES "")
set(STATIC_LIBS "")
if(LIBRARY_KIND STREQUAL STATIC)
  set(STATIC_DEPENDENCIES "include(CMakeFindDependencyMacro)
foreach(part fmt spdlog OpenMP SQLite3 ZLIB PkgConfig)
  find_dependency(\${part})
endforeach()
pkg_check_modules(HWLOC IMPORTED_TARGET hwloc)
pkg_check_modules(HWY IMPORTED_TARGET libhwy)
pkg_check_modules(NETTLE IMPORTED_TARGET nettle)
foreach(part HWLOC HWY NETTLE)
  if(NOT \${part}_FOUND)
    set(tilewright_FOUND FALSE)
    set(tilewright_NOT_FOUND_MESSAGE \"\${part}, which the static library needs, was not found by pkg-config\")
    return()
  endif()
endforeach()")
  set(STATIC_REQUIRES "Requires: fmt spdlog hwloc libhwy nettle sqlite3 zlib")
  set(STATIC_LIBS "${OpenMP_CXX_FLAGS} -ldl -lstdc++ -lm")
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tilewright-config.cmake.in
                              ${PROJECT_BINARY_DIR}/tilewright-config.cmake INSTALL_DESTINATION ${PACKAGE_DIR})
math(EXPR POINTER_BITS "8 * ${CMAKE_SIZEOF_VOID_P}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/tilewright-config-version.cmake.in
               ${PROJECT_BINARY_DIR}/tilewright-config-version.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tilewright-config.cmake ${PROJECT_BINARY_DIR}/tilewright-config-version.cmake
        DESTINATION ${PACKAGE_DIR} COMPONENT development)
foreach(name LIBDIR INCLUDEDIR)
  set(PKGCONFIG_${name} "\${prefix}/${CMAKE_INSTALL_${name}}")
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${name}}")
    set(PKGCONFIG_${name} ${CMAKE_INSTALL_${name}})
  endif()
endforeach()
foreach(package tilewright tilewright-tune tilewright-blas)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()

# The module is a source, for the user's own compiler.
install(FILES ${PROJECT_SOURCE_DIR}/doors/fortran/tilewright.f90 DESTINATION ${CMAKE_INSTALL_DATADIR}/tilewright/fortran
        COMPONENT development)

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
                    VERBATIM)
  include(cmake/packages.cmake)
endif()
