# The requirements of the Python package: an interpreter with its headers, nanobind and NumPy. PYTHON_MISSING names
# the part that is missing or does not work.
set(PYTHON_VENV ${PROJECT_SOURCE_DIR}/build/venv/bin/python)  # scripts/python_venv
if(NOT DEFINED Python_EXECUTABLE AND EXISTS ${PYTHON_VENV})
  set(Python_EXECUTABLE ${PYTHON_VENV})
endif()
if(CMAKE_CROSSCOMPILING)
  # The interpreter is the build machine's; Debian's headers are those of every architecture whose package is installed.
  find_program(Python_EXECUTABLE python3)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import sysconfig as s; print(s.get_path('include'), s.get_config_var('SOABI'), sep=';')"
                  OUTPUT_VARIABLE FOUND OUTPUT_STRIP_TRAILING_WHITESPACE)
  list(GET FOUND 0 Python_INCLUDE_DIR)
  list(GET FOUND 1 SOABI)
endif()
find_package(Python 3.10 COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS ${SKBUILD_SABI_COMPONENT})
if(NOT Python_FOUND)
  set(PYTHON_MISSING "no Python 3.10 or newer with its headers was found")
  return()
endif()
execute_process(COMMAND ${Python_EXECUTABLE} -c "import nanobind as b, numpy as n; print(b.cmake_dir(), n.get_include(), b.__version__, n.__version__, sep=';')"
                OUTPUT_VARIABLE FOUND OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
list(LENGTH FOUND FOUND_COUNT)
if(NOT FOUND_COUNT EQUAL 4)
  set(PYTHON_MISSING "${Python_EXECUTABLE} has no nanobind or no numpy (scripts/python_venv)")
  return()
endif()
list(GET FOUND 0 NANOBIND_FOLDER)
list(GET FOUND 1 NUMPY_INCLUDE)
list(GET FOUND 2 NANOBIND_VERSION)
list(GET FOUND 3 NUMPY_VERSION)
if(NANOBIND_VERSION VERSION_LESS 3.0 OR NUMPY_VERSION VERSION_LESS 2.0)  # the versions in pyproject.toml
  set(PYTHON_MISSING "${Python_EXECUTABLE} has nanobind ${NANOBIND_VERSION} and NumPy ${NUMPY_VERSION} (3.0 and 2.0 or newer are needed)")
  return()
endif()
if(CMAKE_CROSSCOMPILING)
  string(REGEX REPLACE "[^-]+-linux-gnu$" "${CMAKE_LIBRARY_ARCHITECTURE}" Python_SOABI "${SOABI}")  # nanobind's suffix
endif()
find_package(nanobind CONFIG QUIET PATHS ${NANOBIND_FOLDER} NO_DEFAULT_PATH)
if(NOT nanobind_FOUND)
  set(PYTHON_MISSING "nanobind in ${NANOBIND_FOLDER} is incomplete")
  return()
endif()
probe_headers(PYTHON_MISSING "${Python_INCLUDE_DIRS};${NUMPY_INCLUDE}" Python.h numpy/arrayobject.h)
