# The target "portable": a folder that runs on another Linux of the same processor family with this glibc
# or a newer one. GPUs need CUDA's own libraries there; everything else runs without them.
#   emplace-portable/bin      emplace, the tests of profilers and simulator, and emplace_bench
#                   /lib      every shared library they need except glibc's and CUDA's; the CUDA modules
#                   /configs  /scripts  /licences
# and the same as emplace-portable.tar.gz. No variable needs to be set: programs search ../lib, then the usual
# folders of CUDA; scripts/gpu_checklist searches others as well.

set(portable_cuda_folders /usr/local/cuda/lib64 /usr/local/cuda/lib)
set(portable_programs emplace)
foreach(program profilers_test profilers_cpu_test profilers_cuda_test profilers_executor_test simulator_test
    emplace_bench)
  if(TARGET ${program})
    list(APPEND portable_programs ${program})
  endif()
endforeach()
set(portable_modules "")
foreach(module emplace_cuda emplace_simulator_cuda)
  if(TARGET ${module})
    list(APPEND portable_modules ${module})
  endif()
endforeach()
# An RPATH also applies to the libraries of libraries; a RUNPATH would not.
foreach(program ${portable_programs} ${portable_modules})
  target_link_options(${program} PRIVATE LINKER:--disable-new-dtags)
endforeach()
list(JOIN portable_cuda_folders ":" portable_rpath)
# Each folder of an RPATH is searched for every library, so a program's RPATH has no folder of CUDA. It is the
# same in the build, because CMake would otherwise pad it with ":", each of which means the current folder.
set_target_properties(${portable_programs} ${portable_modules} PROPERTIES
  INSTALL_RPATH "$ORIGIN/../lib" INSTALL_RPATH_USE_LINK_PATH ON BUILD_WITH_INSTALL_RPATH ON)
foreach(target profilers_cuda_test ${portable_modules})
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib:${portable_rpath}")
  endif()
endforeach()

install(TARGETS ${portable_programs} ${portable_modules} RUNTIME_DEPENDENCY_SET portable_libraries
  RUNTIME DESTINATION bin COMPONENT portable EXCLUDE_FROM_ALL
  LIBRARY DESTINATION lib COMPONENT portable EXCLUDE_FROM_ALL)
# glibc comes from the machine, because it belongs to its kernel and loader; CUDA's libraries too, because
# they belong to its driver and are large.
set(machine_libraries "^libcu(da|dart|blas|blasLt|dnn[a-z_]*|pti)\\.so" "^libnvidia-"
  "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util|anl|nsl|BrokenLocale|mvec)\\.so")
install(RUNTIME_DEPENDENCY_SET portable_libraries
  PRE_EXCLUDE_REGEXES ${machine_libraries}
  DESTINATION lib COMPONENT portable EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION . COMPONENT portable EXCLUDE_FROM_ALL)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/scripts/gpu_checklist DESTINATION scripts COMPONENT portable EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE
    ${PROJECT_SOURCE_DIR}/scripts/lib/third_party_notices.md
  DESTINATION . COMPONENT portable EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/experiments/report/page/d3_licence.txt
  DESTINATION licences COMPONENT portable EXCLUDE_FROM_ALL)
install(CODE "set(library_folder lib)\nset(licence_folder licences)" COMPONENT portable EXCLUDE_FROM_ALL)
install(SCRIPT ${PROJECT_SOURCE_DIR}/scripts/cmake/Licences.cmake COMPONENT portable EXCLUDE_FROM_ALL)

set(portable_folder ${PROJECT_BINARY_DIR}/emplace-portable)
add_custom_target(portable
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${portable_folder}
  COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --component portable
    --prefix ${portable_folder} --strip
  COMMAND ${CMAKE_COMMAND} -E chdir ${PROJECT_BINARY_DIR}
    ${CMAKE_COMMAND} -E tar czf emplace-portable.tar.gz emplace-portable
  COMMENT "Gathering ${portable_folder}"
  VERBATIM)
add_dependencies(portable ${portable_programs} ${portable_modules})
