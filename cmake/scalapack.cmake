# libtilewright_scalapack: a few names of ScaLAPACK, to be preloaded or linked before it (docs/distributed.md). It is
# linked with no other library: the functions that it calls are looked up in the program, so neither MPI nor ScaLAPACK
# is needed to build it.
sources_of(SCALAPACK_SOURCES extras/multinode scalapack)
foreach(name host/fork_gate input/printable)
  list(APPEND SCALAPACK_SOURCES ${PROJECT_SOURCE_DIR}/src/core/${name}.cpp)
endforeach()
add_library(tilewright_scalapack SHARED ${SCALAPACK_SOURCES})
add_library(tilewright::scalapack ALIAS tilewright_scalapack)
# Uses headers of the C interface alone: the library is not linked.
target_include_directories(tilewright_scalapack PRIVATE extras/multinode src include)
target_compile_options(tilewright_scalapack PRIVATE ${TILEWRIGHT_WARNINGS})
target_compile_definitions(tilewright_scalapack PRIVATE TILEWRIGHT_LIBRARY="libtilewright.so.${TILEWRIGHT_SOVERSION}")
# libtilewright, which computes whole factorizations on GPUs, is opened from the same folder when it is needed.
target_link_libraries(tilewright_scalapack PRIVATE fmt::fmt ${CMAKE_DL_LIBS})
set(SCALAPACK_MAP ${PROJECT_SOURCE_DIR}/cmake/tilewright_scalapack.map)
target_link_options(tilewright_scalapack PRIVATE LINKER:--version-script=${SCALAPACK_MAP} LINKER:-z,nodelete)
set_target_properties(tilewright_scalapack PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${TILEWRIGHT_SOVERSION} EXPORT_NAME scalapack
                      BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN"
                      LINK_DEPENDS ${SCALAPACK_MAP} CXX_VISIBILITY_PRESET hidden)
