# Installing, and the archives of a release.
#
#   cmake --install build/release --prefix P
#     P/bin/emplace
#     P/lib                      the CUDA modules, if they were built
#     P/share/emplace/configs    the menus, which an installed program finds relative to itself
#     P/share/man/man1           the manual page; P/share/bash-completion, zsh, fish: completion of command lines
#     P/share/doc/emplace        README.md, every page that it links to with pictures and examples, LICENSE, third-party
#                                notices and licences
#
#   cpack (in the build folder)
#     emplace-VERSION-Linux-x86_64.tar.gz   that and, in lib/, every shared library it needs except glibc's; runs in
#                                           the folder where it is unpacked, on this glibc or a newer one
#     emplace_VERSION_amd64.deb             that below /usr, depending on the distribution's packages: they are smaller
#                                           to fetch, and their security updates come by themselves
#
# Neither archive has the CUDA modules, because no package of the distribution has their libraries. Machines with GPUs
# need the bundle of the target "portable". scripts/release makes both for any x86-64-v3 processor and tries them.

install(TARGETS emplace RUNTIME_DEPENDENCY_SET release_libraries RUNTIME DESTINATION bin COMPONENT program)
if(portable_modules)
  install(TARGETS ${portable_modules} LIBRARY DESTINATION lib COMPONENT cuda)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION share/emplace COMPONENT program)
set(completions ${PROJECT_SOURCE_DIR}/experiments/console/completions)
install(FILES ${completions}/emplace.bash DESTINATION share/bash-completion/completions RENAME emplace COMPONENT program)
install(FILES ${completions}/emplace.zsh DESTINATION share/zsh/site-functions RENAME _emplace COMPONENT program)
install(FILES ${completions}/emplace.fish DESTINATION share/fish/vendor_completions.d COMPONENT program)
set(manual ${CMAKE_CURRENT_BINARY_DIR}/emplace.1)
install(CODE "execute_process(COMMAND $<TARGET_FILE:emplace> manual OUTPUT_FILE ${manual} COMMAND_ERROR_IS_FATAL ANY)"
  COMPONENT program)
install(FILES ${manual} DESTINATION share/man/man1 COMPONENT program)
set(rooms framework simulator agents profilers experiments configs tests scripts)
list(TRANSFORM rooms APPEND "/*.md" OUTPUT_VARIABLE page_patterns)
list(TRANSFORM page_patterns PREPEND ${PROJECT_SOURCE_DIR}/)
file(GLOB_RECURSE pages RELATIVE ${PROJECT_SOURCE_DIR} ${page_patterns} ${PROJECT_SOURCE_DIR}/agents/*.svg
  ${PROJECT_SOURCE_DIR}/scripts/emplace/examples/*.py ${PROJECT_SOURCE_DIR}/scripts/emplace/examples/*.ipynb)
foreach(page README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md LICENSE ${pages})
  cmake_path(GET page PARENT_PATH page_folder)
  install(FILES ${PROJECT_SOURCE_DIR}/${page} DESTINATION share/doc/emplace/${page_folder} COMPONENT program)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/scripts/lib/third_party_notices.md DESTINATION share/doc/emplace COMPONENT program)
install(FILES ${PROJECT_SOURCE_DIR}/experiments/report/page/d3_licence.txt
  DESTINATION share/doc/emplace/licences COMPONENT program)

install(RUNTIME_DEPENDENCY_SET release_libraries
  PRE_EXCLUDE_REGEXES ${machine_libraries}
  DESTINATION lib COMPONENT libraries EXCLUDE_FROM_ALL)
# After the libraries.
install(CODE "set(library_folder lib)\nset(licence_folder share/doc/emplace/licences)"
  COMPONENT licences EXCLUDE_FROM_ALL)
install(SCRIPT ${PROJECT_SOURCE_DIR}/scripts/cmake/Licences.cmake COMPONENT licences EXCLUDE_FROM_ALL)

# Archives need the program only and not the tests.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(CPACK_GENERATOR "TGZ;DEB")
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/scripts/cmake/ReleaseArchive.cmake)
set(CPACK_PACKAGE_NAME emplace)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_VENDOR "the emplace authors")
set(CPACK_PACKAGE_CONTACT "the emplace authors")
set(CPACK_PACKAGE_FILE_NAME emplace-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS graphviz)  # `dot` draws the graph of a report
include(CPack)
