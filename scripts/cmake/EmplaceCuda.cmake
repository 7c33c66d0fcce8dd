# Common settings of the modules that use CUDA (framework/base/module.h).

# CUDA needs compiler and Toolkit; if one is missing, EMPLACE_WITHOUT_CUDA names it.
set(EMPLACE_WITHOUT_CUDA "EMPLACE_CUDA is off")
if(EMPLACE_CUDA)
  set(EMPLACE_WITHOUT_CUDA "")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    find_package(CUDAToolkit 12.5 QUIET)
  endif()
  if(NOT CMAKE_CUDA_COMPILER)
    set(EMPLACE_WITHOUT_CUDA "no CUDA compiler")
  elseif(NOT CUDAToolkit_FOUND)
    set(EMPLACE_WITHOUT_CUDA "no CUDA Toolkit 12.5 or newer")
  endif()
endif()
if(NOT EMPLACE_WITHOUT_CUDA)
  enable_language(CUDA)
  # CMake 3.25 does not know that this nvcc speaks C++20.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
  endif()
endif()

# emplace_cuda_target(TARGET): sets the compilation of CUDA sources. The kernels need compute capability 8.0
# only, so one pass of the compiler serves all GPUs.
function(emplace_cuda_target target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CUDA_STANDARD 20 CUDA_ARCHITECTURES OFF CUDA_RUNTIME_LIBRARY Static)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:-gencode=arch=compute_80,code=[compute_80,sm_80,sm_90]>")
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()

# emplace_source_stamp(TARGET NAME HEADER FOLDER...): adds the stamp NAME, which HEADER declares, to a library:
# flags and a checksum of the folders' sources, computed at every build by the target TARGET_stamp.
# TARGET_STAMP is its file, for the module.
function(emplace_source_stamp target name header)
  set(stamp ${CMAKE_CURRENT_BINARY_DIR}/source_stamp.cc)
  list(JOIN ARGN "," folders)
  add_custom_target(${target}_stamp
    BYPRODUCTS ${stamp}
    COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} "-DFOLDERS=${folders}"
      -DNAME=${name} -DHEADER=${header} -DOUTPUT=${stamp}
      "-DFLAGS=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${EMPLACE_ARCH_FLAG}"
      -P ${PROJECT_SOURCE_DIR}/scripts/cmake/source_stamp.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${stamp})
  add_dependencies(${target} ${target}_stamp)
  set(${target}_STAMP ${stamp} PARENT_SCOPE)
endfunction()
