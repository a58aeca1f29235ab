# Standard headers, fmt and, for tests, GoogleTest are read once instead of by every file: a third of the time of a
# build from nothing. Off by default: files must name what they use, and compiler caches work better without.
option(HEXAPLAN_PCH "Precompile the headers that most files include" OFF)

set(common_headers
    <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <numeric> <optional> <set>
    <span> <string> <string_view> <utility> <variant> <vector>)
set(test_headers <fstream> <sstream> <thread> <gmock/gmock.h> <gtest/gtest.h>)

# precompile_headers(<target> room|test|window_test): all targets of a kind share one compilation, so their flags must be the same.
function(precompile_headers target kind)
  if(NOT HEXAPLAN_PCH)
    return()
  endif()
  set(shared precompiled_${kind}_headers)
  if(NOT TARGET ${shared})
    file(WRITE ${PROJECT_BINARY_DIR}/${shared}.cpp "")
    add_library(${shared} OBJECT ${PROJECT_BINARY_DIR}/${shared}.cpp)
    set_target_properties(${shared} PROPERTIES AUTOMOC OFF)
    target_link_libraries(${shared} PRIVATE project_warnings)
    if(kind MATCHES test)
      set_target_properties(${shared} PROPERTIES HEXAPLAN_UNOPTIMISED ON)
      target_compile_options(${shared} PRIVATE ${test_options})
    endif()
    if(kind STREQUAL test)
      target_link_libraries(${shared} PRIVATE GTest::gmock)
      target_precompile_headers(${shared} PRIVATE ${common_headers} ${test_headers})
    elseif(kind STREQUAL window_test)
      target_link_libraries(${shared} PRIVATE Qt6::Test Qt6::Widgets)
      target_precompile_headers(${shared} PRIVATE ${common_headers} <QTest> <QtWidgets>)
    else()
      link_into_modules(${shared})
      target_link_libraries(${shared} PRIVATE fmt::fmt)
      target_precompile_headers(${shared} PRIVATE ${common_headers} <fmt/format.h>)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
endfunction()
