set(HEXAPLAN_UNITY_BATCH 6 CACHE STRING "Sources compiled at a time with HEXAPLAN_UNITY")
option(HEXAPLAN_UNITY "Compile the sources of a room several at a time: half the time of a build from nothing" OFF)

option(HEXAPLAN_COVERAGE "Let rooms record which of their lines and branches run (scripts/coverage.sh)" OFF)

# gather_sources(<target>): names that are a file's own have to be its own in the whole room.
function(gather_sources target)
  if(HEXAPLAN_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${HEXAPLAN_UNITY_BATCH})
  endif()
endfunction()

# compile_quickly(<target>): what reads files, words answers and draws runs for milliseconds. -O1 compiles it in 60 % of -O3's time.
function(compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# link_into_modules(<target>): what the Python module is made of is position-independent; programs and tests stay as they are.
function(link_into_modules target)
  if(HEXAPLAN_PYTHON)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
endfunction()

# add_room(<name> [LINK_PUBLIC <targets>] [LINK_PRIVATE <targets>])
# One static library per room; its folders add their sources with target_sources(<name> PRIVATE …).
function(add_room name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "LINK_PUBLIC;LINK_PRIVATE")
  add_library(${name} STATIC)
  add_library(hexaplan::${name} ALIAS ${name})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME hexaplan_${name})
  # "costmodel/spec/layout.h" in the tree and, for users of the installed package, below include/hexaplan.
  target_include_directories(
    ${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/hexaplan>)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(
    ${name}
    PUBLIC ${ARG_LINK_PUBLIC}
    PRIVATE ${ARG_LINK_PRIVATE} $<BUILD_INTERFACE:project_warnings>)
  if(HEXAPLAN_COVERAGE)
    target_compile_options(${name} PRIVATE --coverage)
    target_link_options(${name} PUBLIC --coverage)
  endif()
  precompile_headers(${name} room)
  gather_sources(${name})
  link_into_modules(${name})
  cmake_language(EVAL CODE "cmake_language(DEFER CALL fill_empty_room [[${name}]])")
endfunction()

# A room that has no sources yet still links.
function(fill_empty_room name)
  get_target_property(sources ${name} SOURCES)
  if(NOT sources)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp "")
    target_sources(${name} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp)
  endif()
endfunction()
