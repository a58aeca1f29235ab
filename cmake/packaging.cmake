# `cmake --install build/release` and `cmake --workflow --preset package` (.deb and .tar.gz in build/release).
if(TARGET hexaplan)
  install(TARGETS hexaplan RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/presets/
  DESTINATION ${CMAKE_INSTALL_DATADIR}/hexaplan/presets
  FILES_MATCHING
  PATTERN "*.json")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_PACKAGE_NAME hexaplan)
set(CPACK_PACKAGE_VENDOR "Hexaplan")
set(CPACK_PACKAGE_CONTACT "Hexaplan maintainers")
set(CPACK_PACKAGE_FILE_NAME "hexaplan-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "Hexaplan maintainers")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(DPKG_SHLIBDEPS)
if(DPKG_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
