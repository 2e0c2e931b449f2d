# What halves a build from nothing. The headers that most files read first are compiled once per target, and the files
# of a target are compiled several at a time, so that what they share is read and instantiated once. A compiler cache
# keeps neither well, and serves those who change one file at a time: it is one or the other.
option(TILEWRIGHT_FROM_NOTHING "Precompile headers and join files where no compiler cache is used" ON)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(TILEWRIGHT_FROM_NOTHING OFF)
endif()
set(COMMON_HEADERS <fmt/format.h> ${PROJECT_SOURCE_DIR}/src/core/json.hpp <algorithm> <array> <complex> <cstdint> <filesystem> <fstream>
    <functional> <map> <memory> <mutex> <optional> <random> <span> <string> <tuple> <unordered_map> <vector>)
set(JOINED_FILES 8)

# build_from_nothing(TARGET [HEADER...]): with the common headers and these. Targets compiled with other options than
# TARGET cannot share them.
function(build_from_nothing target)
  if(TILEWRIGHT_FROM_NOTHING)
    target_precompile_headers(${target} PRIVATE ${COMMON_HEADERS} ${ARGN})
    join_files(${target})
  endif()
endfunction()

# build_as(TARGET OTHER): from nothing as well, with the headers that OTHER has precompiled, whose options it must have.
function(build_as target other)
  if(TILEWRIGHT_FROM_NOTHING)
    precompiled_as(${target} ${other})
    join_files(${target})
  endif()
endfunction()

function(join_files target)
  if(TILEWRIGHT_FROM_NOTHING)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${JOINED_FILES})
    # What joining brings about by itself: a file's own names are seen by those after it, and seem to come from a header.
    target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# precompiled_as(TARGET OTHER): what OTHER has.
function(precompiled_as target other)
  if(TILEWRIGHT_FROM_NOTHING)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()

# optimised_less(TARGET): in builds that are made to be tested, what is waited for by nobody.
function(optimised_less target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
endfunction()
