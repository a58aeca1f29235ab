# What is tested is optimised and watched for undefined behaviour, not the tests: compiling them is half of a build.
set(test_options -O0 $<$<CONFIG:Debug>:-fno-sanitize=undefined>)

# Programs that scripts/check.sh builds and runs under AddressSanitizer and UndefinedBehaviorSanitizer at every change: those
# of the code that places tensors in memory by itself (executor, kernels, messages, the caching allocator), that reads
# what strangers wrote, and laws over random scenarios. scripts/nightly.sh runs all programs under them.
set(sanitized_programs
    # costmodel, of which validator's programs run the rest
    caching_allocator_test program_laws_test
    # presets
    allocator_oracle_test chrome_trace_test config_errors_test hostile_input_test hostile_runs_test import_plan_test
    import_trainers_test imported_cluster_test kineto_trace_test presets_json_test presets_runs_test presets_scenario_test
    presets_truth_test read_model_config_test round_trip_test run_program_test token_file_test weights_test
    # validator
    checkpoint_test communicator_test cuda_kernels_step_test device_conformance_test expert_capacity_step_test
    multi_token_prediction_step_test validator_kernels_test validator_memory_test validator_parallel_test validator_proofs_test
    validator_step_test validator_store_test validator_streams_test)
add_custom_target(sanitized_programs)

set(HEXAPLAN_CASES 2000 CACHE STRING "Random cases of a property test in an optimised build (scripts/nightly.sh draws 20000)")

# add_unit_test(<name> ROOM <folder> [TIER unit|property|golden|text|gate|gpu] [CASES <n>] SOURCES <files…> LINK <targets…>)
# `ctest -R '^costmodel\.'` picks a room, `ctest -L unit` picks a tier, `ctest -L sanitized` the programs above.
function(add_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "ROOM;TIER;CASES" "SOURCES;LINK")
  if(NOT ARG_TIER)
    set(ARG_TIER unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  if(ARG_TIER STREQUAL gpu)
    if(NOT name MATCHES "^gpu_")
      message(FATAL_ERROR "${name}: scripts/gpu.sh finds tests of the GPU by their names, gpu_…_test")
    endif()
    add_dependencies(gpu_tests ${name})
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest_main project_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests HEXAPLAN_UNOPTIMISED ON)
  target_compile_options(${name} PRIVATE ${test_options})
  if(NOT "${ARG_LINK}" MATCHES "gui|Qt")  # Qt's targets bring flags of their own
    precompile_headers(${name} test)
  endif()
  target_compile_definitions(${name} PRIVATE HEXAPLAN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # Property tests draw the same cases every time; RC_PARAMS="seed=… max_success=…" on the program itself explores.
  if(CMAKE_BUILD_TYPE STREQUAL Debug)
    set(cases 200)
  elseif(ARG_CASES)  # of a test whose cases take long: of 2,000 of the others
    math(EXPR cases "${HEXAPLAN_CASES} * ${ARG_CASES} / 2000")
  else()
    set(cases ${HEXAPLAN_CASES})
  endif()
  # One label for both: gtest_discover_tests passes no list on.
  set(label ${ARG_TIER})
  if(name IN_LIST sanitized_programs)
    add_dependencies(sanitized_programs ${name})
    string(APPEND label "-sanitized")
  endif()
  # Long ones first, so that none of them runs alone at the end.
  if(ARG_TIER MATCHES "property|golden")
    set(cost 10)
  else()
    set(cost 1)
  endif()
  gtest_discover_tests(
    ${name}
    TEST_PREFIX ${ARG_ROOM}.
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${label} COST ${cost} ENVIRONMENT "RC_PARAMS=seed=2024 max_success=${cases} max_discard_ratio=50")
endfunction()
