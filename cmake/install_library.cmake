# find_package(hexaplan): the rooms without main() as static libraries, their headers below include/hexaplan, and the package's
# description (docs/library.md). `cmake --install … --component library` installs these alone.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/hexaplan)

# The executor is a component of its own: planning does without it.
install(
  TARGETS costmodel charts presets planner report
  EXPORT hexaplan-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(
  TARGETS validator
  EXPORT hexaplan-validator-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
foreach(set hexaplan-targets hexaplan-validator-targets)
  install(EXPORT ${set} NAMESPACE hexaplan:: DESTINATION ${package_folder} COMPONENT library)
endforeach()

# Headers as they are when they are installed; install(DIRECTORY) would leave the folders that have none. Kernels and the CUDA
# module need Eigen and CUDA's headers, and no header of the library includes them.
install(
  CODE "
  foreach(room costmodel charts presets planner report validator)
    file(GLOB_RECURSE headers RELATIVE \"${PROJECT_SOURCE_DIR}\" \"${PROJECT_SOURCE_DIR}/\${room}/*.h\")
    list(FILTER headers EXCLUDE REGEX \"/device/(cuda/|cpu/kernels/exponentials)\")
    foreach(header \${headers})
      cmake_path(GET header PARENT_PATH folder)
      file(INSTALL \"${PROJECT_SOURCE_DIR}/\${header}\"
           DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/hexaplan/\${folder}\")
    endforeach()
  endforeach()"
  COMPONENT library)

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/hexaplanConfig.cmake.in ${PROJECT_BINARY_DIR}/hexaplanConfig.cmake
  INSTALL_DESTINATION ${package_folder}
  PATH_VARS CMAKE_INSTALL_DATADIR CMAKE_INSTALL_INCLUDEDIR)
# 0.x: a new minor version may change any interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hexaplanConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/hexaplanConfig.cmake ${PROJECT_BINARY_DIR}/hexaplanConfigVersion.cmake
        ${PROJECT_SOURCE_DIR}/presets/catalog/built_in_folders.cpp
  DESTINATION ${package_folder}
  COMPONENT library)
