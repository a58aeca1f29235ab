cmake_minimum_required(VERSION 3.25)
# Fails when a room includes a room it may not know (docs/architecture.md). Run: cmake -DROOT=<repo> -P include_direction.cmake
set(costmodel_may_include costmodel)
set(charts_may_include costmodel charts)
set(presets_may_include costmodel presets)
set(planner_may_include costmodel planner)
set(report_may_include costmodel charts presets planner report)
set(validator_may_include costmodel validator)
set(cli_may_include costmodel charts presets planner report validator cli)
# The window and Python read the commands' options as data.
set(gui_may_include costmodel charts presets planner report validator cli gui)
set(python_may_include costmodel charts presets planner report validator cli python)
set(broken "")
foreach(room costmodel charts presets planner report validator cli gui python)
  file(GLOB_RECURSE sources ${ROOT}/${room}/*.h ${ROOT}/${room}/*.cpp ${ROOT}/${room}/*.cu ${ROOT}/${room}/*.cuh)
  foreach(source ${sources})
    file(STRINGS ${source} includes REGEX "^#include \"(costmodel|charts|presets|planner|report|validator|cli|gui|python|tests)/")
    foreach(line ${includes})
      string(REGEX REPLACE "^#include \"([a-z]+)/.*" "\\1" target "${line}")
      if(NOT target IN_LIST ${room}_may_include)
        string(APPEND broken "\n  ${source}: ${line}")
      endif()
    endforeach()
    # costmodel and charts are pure: no files, no printing, no JSON, no Qt, no CUDA. A page is text; others write it.
    if(room MATCHES "^(costmodel|charts|report)$")
      file(STRINGS ${source} impure REGEX "^#include <(fstream|iostream|cstdio|filesystem|nlohmann|CLI|Q[A-Z]|cuda|nccl)")
      foreach(line ${impure})
        string(APPEND broken "\n  ${source}: ${line} (${room} is pure)")
      endforeach()
    endif()
  endforeach()
endforeach()

# Walls inside rooms: "room: its folders from the lowest up". A folder includes itself and those before it; folders joined
# by "+" stand side by side and never include each other. Every folder that has sources stands in the row of its room.
set(walls
    # what units are | the question | the step described | what it costs | a step put together
    "costmodel: units spec parameters+schedule memory program calibrate communication+compute step simulate+posttrain"
    # "json" holds the words of enums as well, which every format shares
    "presets: json catalog+runs+tokens+trace+weights calibration+frameworks+gpus+models clusters machines+scenario launch+oracle+posttrain+truth+validation import+published"
    "planner: explain+problem fitting+refine search"
    "validator: executor measure"
    "validator/measure: accuracy+compare+store sweep fit runs"
    "gui: models plot app")

foreach(wall ${walls})
  string(REGEX REPLACE ":.*" "" room "${wall}")
  string(REGEX REPLACE ".*: " "" row "${wall}")
  string(REPLACE " " ";" floors "${row}")
  set(below "")
  set(known "")
  foreach(floor ${floors})
    string(REPLACE "+" ";" folders "${floor}")
    foreach(folder ${folders})
      list(APPEND known ${folder})
      file(GLOB_RECURSE sources ${ROOT}/${room}/${folder}/*.h ${ROOT}/${room}/${folder}/*.cpp ${ROOT}/${room}/${folder}/*.cu
           ${ROOT}/${room}/${folder}/*.cuh)
      if(NOT sources)
        string(APPEND broken "\n  ${room}/${folder} stands in the list of walls and has no sources")
      endif()
      foreach(source ${sources})
        file(STRINGS ${source} includes REGEX "^#include \"${room}/[^/\"]+/")
        foreach(line ${includes})
          string(REGEX REPLACE "^#include \"${room}/([^/\"]+)/.*" "\\1" target "${line}")
          if(NOT target STREQUAL folder AND NOT target IN_LIST below)
            string(APPEND broken "\n  ${source}: ${line} (${room}/${folder} may include: ${below})")
          endif()
        endforeach()
      endforeach()
    endforeach()
    list(APPEND below ${folders})
  endforeach()
  file(GLOB children RELATIVE ${ROOT}/${room} ${ROOT}/${room}/*)
  foreach(child ${children})
    file(GLOB_RECURSE sources ${ROOT}/${room}/${child}/*.h ${ROOT}/${room}/${child}/*.cpp)
    if(sources AND NOT child IN_LIST known)
      string(APPEND broken "\n  ${room}/${child} stands in no list of walls")
    endif()
  endforeach()
endforeach()
if(broken)
  message(FATAL_ERROR "includes that cross rooms the wrong way:${broken}")
endif()
