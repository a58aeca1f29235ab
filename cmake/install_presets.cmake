# install_presets(<destination> [<further arguments of install(DIRECTORY)>]): the presets that come with Hexaplan, folder by folder.
function(install_presets destination)
  file(GLOB folders LIST_DIRECTORIES true CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/presets/*)
  foreach(folder ${folders})
    file(GLOB_RECURSE files ${folder}/*.json)
    if(files)
      install(DIRECTORY ${folder} DESTINATION ${destination} ${ARGN} FILES_MATCHING PATTERN "*.json" PATTERN "*.steps")
    endif()
  endforeach()
endfunction()

# install_oracle(<destination> [<further arguments of install(FILES)>]): the scripts of `hexaplan oracle`, beside the presets.
function(install_oracle destination)
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/scripts/oracle/*.py)
  list(FILTER scripts EXCLUDE REGEX "/(oracle|answers).py$") # what tests have recorded
  install(FILES ${scripts} ${PROJECT_SOURCE_DIR}/scripts/oracle/requirements.txt DESTINATION ${destination} ${ARGN})
endfunction()
