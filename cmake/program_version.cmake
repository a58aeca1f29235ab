# The program's version as people read it: "0.1.0", "0.1.0 (4f2c1aa)" when the source is a checkout. Looked up when CMake
# configures.
find_package(Git QUIET)
set(program_version ${PROJECT_VERSION})
if(GIT_FOUND)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} rev-parse --short HEAD
    OUTPUT_VARIABLE commit
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(commit)
    string(APPEND program_version " (${commit})")
  endif()
endif()

# define_version(<source>): HEXAPLAN_VERSION, in this source alone: a new commit compiles nothing else again.
function(define_version source)
  set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS "HEXAPLAN_VERSION=\"${program_version}\"")
endfunction()
