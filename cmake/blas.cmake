# libtilewright_blas: BLAS and LAPACK names over the library, to be linked before another BLAS or preloaded. It is shared in
# every build, for it stands in front of other libraries.
sources_of(BLAS_SOURCES doors blas)
add_library(tilewright_blas SHARED ${BLAS_SOURCES})
add_library(tilewright::blas ALIAS tilewright_blas)
target_include_directories(tilewright_blas PRIVATE doors src include INTERFACE
                           $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_options(tilewright_blas PRIVATE ${TILEWRIGHT_WARNINGS})
target_compile_definitions(tilewright_blas PRIVATE TILEWRIGHT_VERSION="${PROJECT_VERSION}")
build_from_nothing(tilewright_blas)
target_link_libraries(tilewright_blas PRIVATE tilewright fmt::fmt nlohmann_json::nlohmann_json OpenMP::OpenMP_CXX
                      ${CMAKE_DL_LIBS})
if(LIBRARY_KIND STREQUAL SHARED)
  # libtilewright hides these sources, so this library has a copy of its own.
  foreach(source env new_file problem problem_text quantity record_log
                 input/failure input/json_text input/printable host/fork_gate host/stack)
    target_sources(tilewright_blas PRIVATE src/core/${source}.cpp)
  endforeach()
endif()

# The exported names are made from the one list of them.
set(BLAS_MAP ${PROJECT_BINARY_DIR}/tilewright_blas.map)
add_custom_command(OUTPUT ${BLAS_MAP}
  COMMAND ${CMAKE_CXX_COMPILER} -E -P -x c++ -I ${PROJECT_SOURCE_DIR}/doors ${PROJECT_SOURCE_DIR}/cmake/tilewright_blas.map.in
          -o ${BLAS_MAP}
  DEPENDS cmake/tilewright_blas.map.in doors/blas/names.hpp VERBATIM)
add_custom_target(tilewright_blas_map DEPENDS ${BLAS_MAP})
add_dependencies(tilewright_blas tilewright_blas_map)
target_link_options(tilewright_blas PRIVATE LINKER:--version-script=${BLAS_MAP} LINKER:-z,nodelete)
set_target_properties(tilewright_blas PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${TILEWRIGHT_SOVERSION} EXPORT_NAME blas
                      LINK_DEPENDS ${BLAS_MAP} CXX_VISIBILITY_PRESET hidden)
if(NOT TILEWRIGHT_INSTALL)
  set_target_properties(tilewright_blas PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
