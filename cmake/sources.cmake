# Which files make up which library: room by room, a family at a time. What needs the toolkit's headers (driver and
# run-time compiler are opened at run time) is named as such, and left out where there are none.

# sources_of(VARIABLE ROOM...): the .cpp files that lie directly in these folders of src.
function(sources_of variable)
  set(all)
  foreach(room ${ARGN})
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.cpp)
    list(APPEND all ${found})
  endforeach()
  set(${variable} ${all} PARENT_SCOPE)
endfunction()

# without(VARIABLE FILE...): takes these files of src out of the list.
function(without variable)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/src/)
  set(left ${${variable}})
  list(REMOVE_ITEM left ${ARGN})
  set(${variable} ${left} PARENT_SCOPE)
endfunction()

# The library that programs call.
sources_of(TILEWRIGHT_SOURCES core core/host core/input device kernel/jit kernel/gemm_small_cpu kernel/gemm_small kernel/gemm_large kernel/layout
           wisdom gemm gemm/run gemm/small gemm/sums gemm/chain gemm/device gemm/hybrid gemm/hybrid/batch gemm/hybrid/device lu distributed)
file(GLOB API_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/api/*.cpp)
list(APPEND TILEWRIGHT_SOURCES ${API_SOURCES})
sources_of(GPU_SOURCES device/gpu kernel/scale kernel/lu_panel kernel/lu_rows lu/device)
# Of rooms that every build has: loading and launching.
set(GPU_FILES kernel/jit/stencil.cpp kernel/gemm_small/loader.cpp kernel/gemm_small/total.cpp kernel/gemm_large/loader.cpp kernel/layout/loader.cpp
    gemm/device/conversion.cpp gemm/device/machine.cpp gemm/device/operands.cpp gemm/device/reduce.cpp gemm/hybrid/device/cuda_device.cpp gemm/run/cublas.cpp
    gemm/run/hybrid_gpus.cpp gemm/run/device.cpp gemm/run/large.cpp gemm/run/scale_device.cpp gemm/run/small.cpp gemm/run/small_kernels.cpp)
# Of the same rooms, but for benches and tests alone.
set(DEVELOPERS_FILES kernel/jit/sass.cpp kernel/gemm_large/ladder.cpp)
without(TILEWRIGHT_SOURCES ${DEVELOPERS_FILES})

# The learning half: measuring, tuning, analysing.
sources_of(MEASURE_SOURCES measure tune tune/calibrate tune/family tune/lu tune/strategy analyze)
sources_of(GPU_MEASURE_SOURCES measure/gpu tune/gpu kernel/probe)
set(GPU_TUNE_FILES tune/family/gemm_small.cpp tune/family/gemm_large.cpp tune/calibrate/gpu_experiments.cpp)
# Benches of every family, with the peers (bench/peers) beside ours.
sources_of(BENCH_SOURCES bench bench/lu)
sources_of(GPU_BENCH_SOURCES bench/gpu)
list(TRANSFORM DEVELOPERS_FILES PREPEND ${PROJECT_SOURCE_DIR}/src/ OUTPUT_VARIABLE DEVELOPERS_SOURCES)
list(APPEND MEASURE_SOURCES ${DEVELOPERS_SOURCES})

if(HAS_GPU)
  list(APPEND TILEWRIGHT_SOURCES ${GPU_SOURCES})
  list(APPEND MEASURE_SOURCES ${GPU_MEASURE_SOURCES})
  without(BENCH_SOURCES bench/without_gpu.cpp)
  list(APPEND BENCH_SOURCES ${GPU_BENCH_SOURCES})
else()
  without(TILEWRIGHT_SOURCES ${GPU_FILES})
  without(MEASURE_SOURCES ${GPU_TUNE_FILES})
endif()
