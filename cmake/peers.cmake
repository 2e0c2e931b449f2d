# The peers that can only be reached at compile time, each used if found: Eigen (headers) and LIBXSMM (Debian ships a
# static library only). Peers with a shared library (OpenBLAS, MKL) are opened at run time and need nothing here.
add_library(tilewright_peers INTERFACE)
option(TILEWRIGHT_PEER_EIGEN "Compile Eigen as a peer of bench, which takes minutes" ON)
if(TILEWRIGHT_PEER_EIGEN AND EIGEN_INCLUDE_DIR)
  target_include_directories(tilewright_peers SYSTEM INTERFACE ${EIGEN_INCLUDE_DIR})
  target_compile_definitions(tilewright_peers INTERFACE TILEWRIGHT_PEER_EIGEN=1)
endif()
find_path(LIBXSMM_INCLUDE_DIR libxsmm.h)
find_library(LIBXSMM_LIBRARY NAMES libxsmm.a)
find_library(LIBXSMM_NOBLAS_LIBRARY NAMES libxsmmnoblas.a)
if(LIBXSMM_INCLUDE_DIR AND LIBXSMM_LIBRARY AND LIBXSMM_NOBLAS_LIBRARY)
  target_include_directories(tilewright_peers SYSTEM INTERFACE ${LIBXSMM_INCLUDE_DIR})
  target_compile_definitions(tilewright_peers INTERFACE TILEWRIGHT_PEER_LIBXSMM=1)
  target_link_libraries(tilewright_peers INTERFACE ${LIBXSMM_LIBRARY} ${LIBXSMM_NOBLAS_LIBRARY} Threads::Threads
                        ${CMAKE_DL_LIBS})
endif()
