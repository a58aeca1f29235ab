# What is tested is optimised and watched for undefined behaviour, not the tests: compiling them is half of a build.
set(test_options -O0 $<$<CONFIG:Debug>:-fno-sanitize=undefined>)

# add_unit_test(<name> ROOM <folder> [TIER unit|property|golden|text|gate|gpu] [CASES <n>] SOURCES <files…> LINK <targets…>)
# `ctest -R '^costmodel\.'` picks a room, `ctest -L unit` picks a tier.
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
  elseif(ARG_CASES)
    set(cases ${ARG_CASES})
  else()
    set(cases 5000)
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
    PROPERTIES LABELS ${ARG_TIER} COST ${cost} ENVIRONMENT "RC_PARAMS=seed=2024 max_success=${cases} max_discard_ratio=50")
endfunction()
