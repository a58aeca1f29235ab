# add_room(<name> [LINK_PUBLIC <targets>] [LINK_PRIVATE <targets>])
# One static library per room; its folders add their sources with target_sources(<name> PRIVATE …).
function(add_room name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "LINK_PUBLIC;LINK_PRIVATE")
  add_library(${name} STATIC)
  add_library(hexaplan::${name} ALIAS ${name})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(
    ${name}
    PUBLIC ${ARG_LINK_PUBLIC}
    PRIVATE ${ARG_LINK_PRIVATE} project_warnings)
  precompile_headers(${name} room)
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
