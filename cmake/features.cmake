# The optional parts of a build. Each is an option ON, OFF or AUTO; AUTO takes the part if it is found and a probe
# compiles with it, and a part that is left out is named with the reason at the end of configuring. Probes run in
# every configuration and are never cached, so a part that was removed, or repaired, is noticed.

# Forgets results of an earlier configuration at paths that are gone: find_*() would keep them for ever.
if(PROJECT_IS_TOP_LEVEL)
  get_cmake_property(CACHED CACHE_VARIABLES)
  foreach(name ${CACHED})
    get_property(type CACHE ${name} PROPERTY TYPE)
    if(type MATCHES "^(FILE)?PATH$" AND NOT name MATCHES "^CMAKE_" AND IS_ABSOLUTE "${${name}}" AND NOT EXISTS "${${name}}")
      unset(${name} CACHE)
    endif()
  endforeach()
endif()

# feature(NAME DEFAULT HELP): declares the option NAME and checks its value.
function(feature name default help)
  get_property(type CACHE ${name} PROPERTY TYPE)
  if(type STREQUAL BOOL AND ${name})
    unset(${name} CACHE)  # remains from a version in which ON was the default and required nothing
  endif()
  set(${name} ${default} CACHE STRING "${help}: ON, OFF, or AUTO (where it is found)")
  set_property(CACHE ${name} PROPERTY STRINGS AUTO ON OFF)
  string(TOUPPER "${${name}}" value)
  if(value MATCHES "^(1|YES|TRUE|Y)$")
    set(value ON)
  elseif(value MATCHES "^(0|NO|FALSE|N)$")
    set(value OFF)
  elseif(NOT value MATCHES "^(ON|OFF|AUTO)$")
    message(FATAL_ERROR "${name} = '${${name}}' is not ON, OFF or AUTO")
  endif()
  set(${name} ${value} PARENT_SCOPE)
endfunction()

# decide(VARIABLE NAME MISSING): sets VARIABLE to ON unless the option NAME is OFF or MISSING, the reason why the part
# cannot be used, is not empty; VARIABLE_WHY_NOT holds the reason. An option that is ON fails here with that reason.
function(decide variable name missing)
  set(used ON)
  set(why "")
  if(${name} STREQUAL OFF)
    set(used OFF)
    set(why "${name}=OFF")
  elseif(NOT missing STREQUAL "")
    if(${name} STREQUAL ON)
      message(FATAL_ERROR "${name}=ON, but ${missing}")
    endif()
    set(used OFF)
    set(why "${missing}")
  endif()
  set(${variable} ${used} PARENT_SCOPE)
  set(${variable}_WHY_NOT "${why}" PARENT_SCOPE)
endfunction()

# probe(VARIABLE SOURCE ARGUMENT...): gives SOURCE and the arguments to the compiler; VARIABLE is empty if it
# succeeds, and the first error otherwise.
function(probe variable source)
  set(folder ${PROJECT_BINARY_DIR}/probes)
  file(WRITE ${folder}/probe.cpp "${source}\n")
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_COMPILER_ARG1} ${CMAKE_CXX_FLAGS}")
  if(CMAKE_SYSROOT)
    list(APPEND flags --sysroot=${CMAKE_SYSROOT})
  endif()
  if(CMAKE_CXX_COMPILER_TARGET)
    list(APPEND flags --target=${CMAKE_CXX_COMPILER_TARGET})
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${PROBE_LAUNCHER} ${CMAKE_CXX_COMPILER} ${flags} -std=c++20 -w
                          ${folder}/probe.cpp ${ARGN} -o ${folder}/probe.out
                  WORKING_DIRECTORY ${folder} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  set(reason "")
  if(NOT failed STREQUAL "0")
    string(REGEX MATCH "[^\n]*(error|cannot find|not found|No such file|undefined reference)[^\n]*" reason "${said}")
    if(reason STREQUAL "")
      string(REGEX MATCH "[^\n]+" reason "${said}")
    endif()
    if(reason STREQUAL "")
      set(reason "it ends with status '${failed}'")
    endif()
    string(REGEX REPLACE "^.*(fatal error|error): (#error )?" "" reason "${reason}")
    string(REGEX REPLACE "[\"\\;$]" "" reason "${reason}")  # it becomes a string literal of the program
  endif()
  set(${variable} "${reason}" PARENT_SCOPE)
endfunction()

# probe_headers(VARIABLE FOLDERS HEADER...): checks that the headers, and all that they include, are present.
function(probe_headers variable folders)
  list(TRANSFORM ARGN REPLACE "(.+)" "#include <\\1>")
  list(JOIN ARGN "\n" source)
  set(flags "")
  foreach(folder ${folders})
    list(APPEND flags -I ${folder})
  endforeach()
  probe(reason "${source}" -E ${flags})
  set(${variable} "${reason}" PARENT_SCOPE)
endfunction()

# report(PART USED DETAIL): a line of the summary.
function(report part used detail)
  string(LENGTH "${part}" length)
  math(EXPR spaces "26 - ${length}")
  string(REPEAT " " ${spaces} gap)
  string(SUBSTRING "${used}  " 0 4 used)
  string(STRIP "  ${part}${gap}${used} ${detail}" line)
  set_property(GLOBAL APPEND_STRING PROPERTY TILEWRIGHT_SUMMARY "--   ${line}\n")
endfunction()

# part_report(PART VARIABLE DETAIL): a line for a part that decide() decided.
function(part_report part variable detail)
  if(${variable})
    report("${part}" ON "${detail}")
  else()
    report("${part}" OFF "${${variable}_WHY_NOT}")
  endif()
endfunction()

# Use a compiler cache: the user's own launcher, or ccache if it works.
feature(TILEWRIGHT_CCACHE AUTO "Compile through ccache")
set(CCACHE_MISSING "")
if(CMAKE_CXX_COMPILER_LAUNCHER AND TILEWRIGHT_CCACHE STREQUAL AUTO)
  set(CCACHE_MISSING "CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER} is used")
elseif(NOT TILEWRIGHT_CCACHE STREQUAL OFF)
  find_program(CCACHE ccache)
  if(CCACHE)
    set(PROBE_LAUNCHER ${CCACHE})
    probe(CCACHE_MISSING "int main() {}" -c)
    unset(PROBE_LAUNCHER)
    if(CCACHE_MISSING)
      set(CCACHE_MISSING "${CCACHE} does not compile: ${CCACHE_MISSING}")
    endif()
  else()
    set(CCACHE_MISSING "ccache was not found")
  endif()
endif()
decide(HAS_CCACHE TILEWRIGHT_CCACHE "${CCACHE_MISSING}")
if(HAS_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
part_report("compiler cache" HAS_CCACHE "${CCACHE}")

# The GPU sources need only the toolkit's headers: driver and compiler are opened at run time. nvrtc.h comes with a
# toolkit only; cuda.h also lies in folders of drivers.
feature(TILEWRIGHT_GPU AUTO "Include the GPU sources")
set(CUDA_MISSING "")
if(NOT TILEWRIGHT_GPU STREQUAL OFF)
  find_path(CUDA_INCLUDE_DIR nvrtc.h PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda /opt/cuda PATH_SUFFIXES include)
  if(CUDA_INCLUDE_DIR)
    probe(CUDA_MISSING "#include <cuda.h>
#include <nvrtc.h>
#if CUDA_VERSION < 12000
#error they are older than CUDA 12.0
#endif" -E -I ${CUDA_INCLUDE_DIR})
    if(CUDA_MISSING)
      set(CUDA_MISSING "the CUDA headers in ${CUDA_INCLUDE_DIR} cannot be used: ${CUDA_MISSING}")
    endif()
  else()
    set(CUDA_MISSING "no CUDA headers (cuda.h, nvrtc.h) were found")
  endif()
endif()
decide(HAS_GPU TILEWRIGHT_GPU "${CUDA_MISSING}")
part_report("GPU sources" HAS_GPU "CUDA headers in ${CUDA_INCLUDE_DIR}")
