# What the five doors say of bad arguments, beside what they said when it was recorded (tests/golden/messages). The lines are those of
# one processor's kernels and of a build with GPUs in it; sanitizers end a program that asks for more than all memory.
if(HAS_GPU AND HAS_MULTINODE AND NOT TILEWRIGHT_SANITIZE AND NOT TILEWRIGHT_BUNDLE AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(GOLDEN ${CMAKE_CURRENT_LIST_DIR})
  # golden_program(NAME SOURCE...): linked with the libraries as programs are.
  function(golden_program name)
    list(TRANSFORM ARGN PREPEND ${GOLDEN}/)
    add_executable(${name} ${GOLDEN}/recorder.cpp ${ARGN})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/tests)
    target_compile_options(${name} PRIVATE ${TILEWRIGHT_WARNINGS})
  endfunction()
  golden_program(golden_messages messages.cpp spoiled_options.cpp cpp_products.cpp cpp_sums.cpp cpp_plans.cpp cpp_lu.cpp cpp_layouts.cpp
                 cpp_device.cpp c_products.cpp c_batches.cpp c_plans.cpp c_lu.cpp c_factor.cpp)
  target_link_libraries(golden_messages PRIVATE tilewright tilewright_tune)
  golden_program(golden_blas_messages blas_messages.cpp)
  target_link_libraries(golden_blas_messages PRIVATE tilewright_blas)
  # Its xerbla is the one that the library calls.
  set_target_properties(golden_blas_messages PROPERTIES ENABLE_EXPORTS ON)

  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(GOLDEN_PYTHON)
  if(TARGET tilewright_python)
    set(GOLDEN_PYTHON --python ${Python_EXECUTABLE} --python-path ${PROJECT_BINARY_DIR}/python)
  endif()
  add_test(NAME golden.messages
           COMMAND ${Python3_EXECUTABLE} ${GOLDEN}/messages_test.py --program $<TARGET_FILE:golden_messages>
                   --blas-program $<TARGET_FILE:golden_blas_messages> --tool $<TARGET_FILE:tilewright_cli> ${GOLDEN_PYTHON})
  set_tests_properties(golden.messages PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
endif()
