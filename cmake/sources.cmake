# Lists the files of each library, one room after the other and one family at a time. Files that need the toolkit's
# headers (driver and run-time compiler are opened at run time) are listed separately, and left out without them.

# sources_of(VARIABLE FOLDER ROOM...): the .cpp files that lie directly in these rooms of a folder of the tree.
function(sources_of variable folder)
  set(all)
  foreach(room ${ARGN})
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/${room}/*.cpp)
    list(APPEND all ${found})
  endforeach()
  set(${variable} ${all} PARENT_SCOPE)
endfunction()

# without(VARIABLE FOLDER FILE...): takes these files of the folder out of the list.
function(without variable folder)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/${folder}/)
  set(left ${${variable}})
  list(REMOVE_ITEM left ${ARGN})
  set(${variable} ${left} PARENT_SCOPE)
endfunction()

# The sources of the library that programs call.
sources_of(TILEWRIGHT_SOURCES src core core/host core/input core/product device kernel/jit kernel/gemm_small_cpu kernel/gemm_small kernel/gemm_large kernel/layout
           wisdom plan gemm gemm/run gemm/cpu_small gemm/sums gemm/device gemm/hybrid gemm/hybrid/split gemm/hybrid/stream lu)
sources_of(DOOR_SOURCES doors c cpp)
without(DOOR_SOURCES doors c/c_tune.cpp)  # belongs to the tuner's library
sources_of(FACTOR_SOURCES src kernel/factor_cpu factor)
list(APPEND TILEWRIGHT_SOURCES ${DOOR_SOURCES} ${FACTOR_SOURCES})
# Xbyak has the registers of x86-64 there alone; the other CPUs have kernel/gemm_small_cpu/other_cpus_space.cpp.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(FILTER TILEWRIGHT_SOURCES EXCLUDE REGEX "/gemm_small_cpu/columns[^/]*$")
endif()
# The sources for work on several processes.
if(HAS_MULTINODE)
  sources_of(MULTINODE_SOURCES extras multinode)
  if(NOT HAS_GPU)
    without(MULTINODE_SOURCES extras multinode/cyclic.cpp multinode/mp_library.cpp)
  endif()
  list(APPEND TILEWRIGHT_SOURCES ${MULTINODE_SOURCES})
endif()
sources_of(GPU_SOURCES src device/gpu kernel/factor_gpu kernel/factor_gpu_large kernel/gemm_thin kernel/scale kernel/lu_panel kernel/lu_rows lu/device)
# GPU files in rooms that every build has: loading and launching.
set(GPU_FILES kernel/jit/stencil.cpp kernel/gemm_small/loader.cpp kernel/gemm_large/loader.cpp kernel/layout/loader.cpp
    factor/gpu_batches.cpp factor/gpu_halves.cpp factor/gpu_large.cpp factor/gpu_small.cpp gemm/device/machine.cpp
    gemm/device/operands.cpp gemm/hybrid/stream/cuda_device.cpp gemm/run/converted.cpp gemm/run/cublas.cpp
    gemm/run/device.cpp gemm/run/device_timer.cpp gemm/run/large.cpp gemm/run/small.cpp gemm/run/small_kernels.cpp gemm/run/thin.cpp)

# The sources of the tuner's library: measuring and tuning.
sources_of(MEASURE_SOURCES src measure tune tune/calibrate tune/family tune/lu tune/strategy)
sources_of(GPU_MEASURE_SOURCES src measure/gpu tune/gpu kernel/probe)
set(GPU_TUNE_FILES tune/family/gemm_small.cpp tune/family/gemm_large.cpp tune/calibrate/gpu_experiments.cpp)
# The analysis of recorded sweeps, the layout of text for people, and the benches of every family with their peers
# (tools/bench/peers).
sources_of(ANALYZE_SOURCES tools analyze)
sources_of(BENCH_SOURCES tools people bench bench/factor bench/lu)
sources_of(GPU_BENCH_SOURCES tools bench/gpu)

if(HAS_GPU)
  list(APPEND TILEWRIGHT_SOURCES ${GPU_SOURCES})
  list(APPEND MEASURE_SOURCES ${GPU_MEASURE_SOURCES})
  without(BENCH_SOURCES tools bench/without_gpu.cpp)
  list(APPEND BENCH_SOURCES ${GPU_BENCH_SOURCES})
else()
  without(TILEWRIGHT_SOURCES src ${GPU_FILES})
  without(MEASURE_SOURCES src ${GPU_TUNE_FILES})
endif()
