# `cpack` makes one archive of the tree; `cpack -G DEB` Debian packages for library, development, BLAS names, tool and
# pages. DEBFULLNAME and DEBEMAIL name the maintainer, as for Debian's own tools, and SOURCE_DATE_EPOCH the time of all files.
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_CONTACT "tilewright authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_RESOURCE_FILE_README ${PROJECT_SOURCE_DIR}/README.md)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/deb/prepare.cmake)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/packaging/deb/options.cmake)
set(CPACK_TILEWRIGHT_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_TILEWRIGHT_MARCH ${TILEWRIGHT_MARCH})

# deb_package(GROUP NAME SECTION DEPENDS DESCRIPTION COMPONENT...): one package of these install components.
function(deb_package group name section depends description)
  string(TOUPPER ${group} GROUP)
  foreach(component ${ARGN})
    string(TOUPPER ${component} COMPONENT)
    set(CPACK_COMPONENT_${COMPONENT}_GROUP ${group} PARENT_SCOPE)
  endforeach()
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${ARGN} PARENT_SCOPE)
  set(CPACK_TILEWRIGHT_PACKAGES ${CPACK_TILEWRIGHT_PACKAGES} ${group}=${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${GROUP}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${GROUP}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${GROUP}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${GROUP}_DESCRIPTION "${description}" PARENT_SCOPE)
endfunction()
set(RUNTIME_PACKAGE libtilewright${TILEWRIGHT_SOVERSION})
set(SAME "(= ${PROJECT_VERSION})")
set(CPACK_COMPONENTS_ALL "")
set(MULTINODE_COMPONENT "")
if(HAS_MULTINODE)
  set(MULTINODE_COMPONENT scalapack)
endif()
deb_package(runtime ${RUNTIME_PACKAGE} libs "" "matrix products tuned by measuring, shared libraries
 Batches of small matrices and single large ones on CPUs and NVIDIA GPUs, with
 shipped wisdom and the tuner's library." runtime tune)
deb_package(dev libtilewright-dev libdevel "${RUNTIME_PACKAGE} ${SAME}, libtilewright-blas ${SAME}" "matrix products tuned by measuring, development files
 Headers of the C and C++ interfaces, the Fortran module, CMake package and
 pkg-config files." development tune_development)
deb_package(blas libtilewright-blas libs "${RUNTIME_PACKAGE} ${SAME}" "matrix products tuned by measuring, BLAS names
 Libraries with BLAS, LAPACK and ScaLAPACK names, to be linked before another
 BLAS or preloaded under programs that cannot be changed." blas ${MULTINODE_COMPONENT})
if(TARGET tilewright_cli)
  deb_package(tool tilewright math "${RUNTIME_PACKAGE} ${SAME}" "matrix products tuned by measuring, command-line tool
 Tunes, benchmarks and explains products on the machine it runs on." tool)
endif()
deb_package(doc tilewright-doc doc "" "matrix products tuned by measuring, documentation
 Pages by task, and example programs." documentation)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DOC_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
foreach(group RUNTIME BLAS)
  set(CPACK_DEBIAN_${group}_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/deb/triggers)
endforeach()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
