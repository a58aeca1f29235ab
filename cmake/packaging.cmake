# `cmake --install build/release`, `scripts/packages.sh` and `cmake --workflow --preset package` (.deb and .tar.gz in build/release).
if(TARGET hexaplan)
  install(TARGETS hexaplan RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)  # the preset `gui` builds no command
  # The program knows its own manual page and completions.
  foreach(page "man|man/man1/hexaplan.1" "completion bash|bash-completion/completions/hexaplan"
               "completion zsh|zsh/site-functions/_hexaplan" "completion fish|fish/vendor_completions.d/hexaplan.fish")
    string(REGEX REPLACE "\\|.*" "" arguments "${page}")
    string(REGEX REPLACE ".*\\|" "" file "${page}")
    install(CODE "
      set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${file}\")
      cmake_path(GET file PARENT_PATH folder)
      if(EXISTS \"$<TARGET_FILE:hexaplan>\")
        file(MAKE_DIRECTORY \"\${folder}\")
        execute_process(COMMAND \"$<TARGET_FILE:hexaplan>\" ${arguments} OUTPUT_FILE \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)
        message(STATUS \"Installing: \${file}\")
      endif()")
  endforeach()
endif()
install_presets(${CMAKE_INSTALL_DATADIR}/hexaplan/presets)
install_oracle(${CMAKE_INSTALL_DATADIR}/hexaplan/oracle)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The program with the libraries that it needs beside glibc, which finds its presets from where it lies: a folder for machines
# of any distribution (`cmake --install build/release --component portable`, scripts/packages.sh).
if(TARGET hexaplan)
  set_target_properties(hexaplan PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/hexaplan")
  install(
    TARGETS hexaplan
    RUNTIME_DEPENDENCY_SET program_libraries
    RUNTIME DESTINATION bin COMPONENT portable EXCLUDE_FROM_ALL)
  install(
    RUNTIME_DEPENDENCY_SET program_libraries
    PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread)[.]so"
    LIBRARY DESTINATION lib/hexaplan COMPONENT portable EXCLUDE_FROM_ALL)
  install_presets(share/hexaplan/presets COMPONENT portable EXCLUDE_FROM_ALL)
  install_oracle(share/hexaplan/oracle COMPONENT portable EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/hexaplan COMPONENT portable EXCLUDE_FROM_ALL)
endif()

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
