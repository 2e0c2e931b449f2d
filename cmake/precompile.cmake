# The headers that most files read first, compiled once per target: they are half of a file's time. A compiler cache
# keeps no files that use them, so it is one or the other.
option(TILEWRIGHT_PRECOMPILE "Precompile headers where no compiler cache is used" ON)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(TILEWRIGHT_PRECOMPILE OFF)
endif()
set(COMMON_HEADERS <fmt/format.h> <nlohmann/json.hpp> <algorithm> <array> <complex> <cstdint> <filesystem> <fstream>
    <functional> <map> <memory> <mutex> <optional> <random> <span> <string> <tuple> <unordered_map> <vector>)

# precompile(TARGET [HEADER...]): the common headers and these. Targets compiled with other options than TARGET cannot
# share them.
function(precompile target)
  if(TILEWRIGHT_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${COMMON_HEADERS} ${ARGN})
  endif()
endfunction()

# precompiled_as(TARGET OTHER): what OTHER has.
function(precompiled_as target other)
  if(TILEWRIGHT_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()
