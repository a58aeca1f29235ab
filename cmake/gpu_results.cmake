# `cmake --workflow --preset gpu`: the same as scripts/gpu.sh, which says what it does. Stops before anything is built where
# there is no GPU.
option(HEXAPLAN_GPU_RESULTS "Have the target gpu_results: test, calibrate and validate on this machine's GPU" OFF)
if(HEXAPLAN_GPU_RESULTS)
  execute_process(
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/gpu.sh --check
    RESULT_VARIABLE no_gpu
    ERROR_VARIABLE reason)
  if(no_gpu)
    message(FATAL_ERROR "${reason}")
  endif()
  # The script stops its watch for the build that CMake does.
  add_custom_target(
    gpu_results
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/gpu.sh --prebuilt ${PROJECT_BINARY_DIR}
    DEPENDS hexaplan gpu_tests
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    USES_TERMINAL VERBATIM)
endif()
