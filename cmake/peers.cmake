# The peers that can only be reached at compile time: Eigen (headers) and LIBXSMM (Debian ships a static library
# only). Peers with a shared library (OpenBLAS, MKL) are opened at run time and need nothing here. For a peer that is
# left out, `bench` prints the reason that configuring found.
add_library(tilewright_peers INTERFACE)
feature(TILEWRIGHT_PEER_EIGEN ON "Compile Eigen as a peer of bench, which takes minutes")
decide(HAS_PEER_EIGEN TILEWRIGHT_PEER_EIGEN "")
feature(TILEWRIGHT_PEER_LIBXSMM AUTO "Compile LIBXSMM as a peer of bench")
set(LIBXSMM_MISSING "")
if(NOT TILEWRIGHT_PEER_LIBXSMM STREQUAL OFF)
  find_path(LIBXSMM_INCLUDE_DIR libxsmm.h)
  find_library(LIBXSMM_LIBRARY NAMES libxsmm.a)
  find_library(LIBXSMM_NOBLAS_LIBRARY NAMES libxsmmnoblas.a)
  if(LIBXSMM_INCLUDE_DIR AND LIBXSMM_LIBRARY AND LIBXSMM_NOBLAS_LIBRARY)
    # Some of these names no longer exist in 2.0 and later.
    probe(LIBXSMM_MISSING "#include <libxsmm.h>
int main() {
  void* used[] = {(void*)libxsmm_init, (void*)libxsmm_dmmdispatch, (void*)libxsmm_mmbatch, (void*)libxsmm_dispatch_pgemm};
  return used[0] == used[3];
}" -I ${LIBXSMM_INCLUDE_DIR} ${LIBXSMM_LIBRARY}
          ${LIBXSMM_NOBLAS_LIBRARY} -pthread -ldl -lm)
    if(LIBXSMM_MISSING)
      set(LIBXSMM_MISSING "LIBXSMM in ${LIBXSMM_INCLUDE_DIR} cannot be used: ${LIBXSMM_MISSING}")
    endif()
  else()
    set(LIBXSMM_MISSING "LIBXSMM was not found (libxsmm.h, libxsmm.a, libxsmmnoblas.a)")
  endif()
endif()
decide(HAS_PEER_LIBXSMM TILEWRIGHT_PEER_LIBXSMM "${LIBXSMM_MISSING}")
if(HAS_PEER_EIGEN)
  target_include_directories(tilewright_peers SYSTEM INTERFACE ${EIGEN_INCLUDE_DIR})
  target_compile_definitions(tilewright_peers INTERFACE TILEWRIGHT_PEER_EIGEN=1)
endif()
if(HAS_PEER_LIBXSMM)
  target_include_directories(tilewright_peers SYSTEM INTERFACE ${LIBXSMM_INCLUDE_DIR})
  target_compile_definitions(tilewright_peers INTERFACE TILEWRIGHT_PEER_LIBXSMM=1)
  target_link_libraries(tilewright_peers INTERFACE ${LIBXSMM_LIBRARY} ${LIBXSMM_NOBLAS_LIBRARY} Threads::Threads
                        ${CMAKE_DL_LIBS})
endif()
part_report("Eigen in bench" HAS_PEER_EIGEN "${EIGEN_INCLUDE_DIR}, compiled for ${TILEWRIGHT_MARCH}")
part_report("LIBXSMM in bench" HAS_PEER_LIBXSMM "${LIBXSMM_LIBRARY}")
