# The target "portable": a folder that runs on another Linux of the same processor family with this glibc
# or a newer one, and CUDA's own libraries if it was built with CUDA:
#   emplace-portable/bin      emplace and the tests of the profilers
#                   /lib      every shared library they need but glibc's and CUDA's
#                   /configs  /scripts
# and the same as emplace-portable.tar.gz. Nothing needs to be set: programs look in ../lib, then where
# CUDA usually lies; scripts/gpu_checklist looks further.

set(portable_cuda_folders /usr/local/cuda/lib64 /usr/local/cuda/lib)
set(portable_programs emplace)
foreach(program profilers_test profilers_cpu_test profilers_cuda_test profilers_executor_test)
  if(TARGET ${program})
    list(APPEND portable_programs ${program})
  endif()
endforeach()
# An RPATH holds for the libraries of libraries too, a RUNPATH would not.
foreach(program ${portable_programs})
  target_link_options(${program} PRIVATE LINKER:--disable-new-dtags)
endforeach()
list(JOIN portable_cuda_folders ":" portable_rpath)
set_target_properties(${portable_programs} PROPERTIES
  INSTALL_RPATH "$ORIGIN/../lib:${portable_rpath}")

install(TARGETS ${portable_programs} RUNTIME_DEPENDENCY_SET portable_libraries
  RUNTIME DESTINATION bin COMPONENT portable)
# glibc comes from the machine, because it belongs to its kernel and loader; CUDA's libraries too, because
# they belong to its driver and are large.
install(RUNTIME_DEPENDENCY_SET portable_libraries
  PRE_EXCLUDE_REGEXES "^libcu(da|dart|blas|blasLt|dnn[a-z_]*|pti)\\.so" "^libnvidia-"
    "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util|anl|nsl|BrokenLocale|mvec)\\.so"
  DESTINATION lib COMPONENT portable)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION . COMPONENT portable)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/scripts/gpu_checklist DESTINATION scripts COMPONENT portable)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION . COMPONENT portable)

set(portable_folder ${PROJECT_BINARY_DIR}/emplace-portable)
add_custom_target(portable
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${portable_folder}
  COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --component portable
    --prefix ${portable_folder} --strip
  COMMAND ${CMAKE_COMMAND} -E chdir ${PROJECT_BINARY_DIR}
    ${CMAKE_COMMAND} -E tar czf emplace-portable.tar.gz emplace-portable
  COMMENT "Gathering ${portable_folder}"
  VERBATIM)
add_dependencies(portable ${portable_programs})
