# The CUDA toolkit, cuDNN and NCCL, for what is loaded at run time (validator/executor/device/cuda, validator/executor/communicator/nccl).
# Hints: CUDACXX or CUDA_HOME, CUDNN_HOME, NCCL_HOME. Without cuDNN or NCCL their part is left out with one message.
include(CheckLanguage)
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(HEXAPLAN_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  if(HEXAPLAN_NVCC)
    set(CMAKE_CUDA_COMPILER ${HEXAPLAN_NVCC})
  endif()
endif()
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "No CUDA compiler found (install the CUDA toolkit, or set CUDACXX or CUDA_HOME): "
                      "HEXAPLAN_CUDA needs one; preset `release` builds everything else without it")
endif()

# A100, H100/H200, B200, and PTX for what comes after.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100-real 90-virtual)
endif()
enable_language(CUDA)
# CMake 3.25.1 knows no C++20 flag for nvcc, which has taken it since 12.0, and CUDA_STANDARD inherits
# CMAKE_CXX_STANDARD.
if(NOT "cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.0)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_COMPILE_FEATURES cuda_std_20)
  list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
find_package(CUDAToolkit REQUIRED)

# hexaplan_find_cuda_library(<target> <header> <library> <variable of its home>)
# An imported target `<target>`, or one message.
function(hexaplan_find_cuda_library target header library home)
  string(TOUPPER ${library} name)
  find_path(${name}_INCLUDE_DIR ${header} HINTS ${${home}} ENV ${home} ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
  # The wheels of Python carry libcudnn.so.9 and libnccl.so.2 alone.
  find_library(
    ${name}_LIBRARY
    NAMES ${library} lib${library}.so.9 lib${library}.so.2
    HINTS ${${home}} ENV ${home} ${CUDAToolkit_LIBRARY_DIR}
    PATH_SUFFIXES lib lib64)
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  if(NOT ${name}_INCLUDE_DIR OR NOT ${name}_LIBRARY)
    message(STATUS "${header} or lib${library} not found (set ${home}): what needs it is left out")
    return()
  endif()
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${name}_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES
                                                                                 ${${name}_INCLUDE_DIR})
  message(STATUS "Found ${library}: ${${name}_LIBRARY}")
endfunction()
hexaplan_find_cuda_library(CUDNN::cudnn cudnn.h cudnn CUDNN_HOME)
hexaplan_find_cuda_library(NCCL::nccl nccl.h nccl NCCL_HOME)

# add_cuda_module(<name> SOURCES <files…> LINK <targets…>)
# What the program loads from lib/hexaplan beside it (validator/executor/backends/module.h). The CUDA runtime is linked in, so that
# a module starts where only the driver and the libraries that it names are installed.
function(add_cuda_module name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LINK")
  add_library(${name} MODULE ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} CUDA::cudart_static project_warnings)
  # Every module has a CUDA runtime of its own; they share the driver's context.
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
  set_target_properties(
    ${name}
    PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/hexaplan INSTALL_RPATH_USE_LINK_PATH ON)
  add_dependencies(modules ${name})
  install(TARGETS ${name} LIBRARY DESTINATION lib/hexaplan)
endfunction()
