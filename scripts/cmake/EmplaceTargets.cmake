# How every target of emplace is declared.

include(CheckCXXSourceCompiles)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

find_program(EMPLACE_CCACHE ccache)
if(EMPLACE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${EMPLACE_CCACHE})
endif()

# "checked": optimised, all assertions on (DCHECK, libstdc++'s bounds checks), debug symbols.
set(CMAKE_CXX_FLAGS_CHECKED "-O1 -g1 -D_GLIBCXX_ASSERTIONS")

add_library(emplace_flags INTERFACE)
target_compile_options(emplace_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers
  -Wno-restrict)  # GCC 12 reports it for "literal" + std::string (GCC bug 105651)
if(EMPLACE_WERROR)
  target_compile_options(emplace_flags INTERFACE -Werror)
endif()
if(EMPLACE_SANITIZE)
  target_compile_options(emplace_flags INTERFACE
    -fsanitize=${EMPLACE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(emplace_flags INTERFACE -fsanitize=${EMPLACE_SANITIZE})
endif()

# emplace_library(NAME LINK library... PRIVATE_LINK library...): all sources of this folder and the
# folders below it (CUDA apart), the headers checked to compile alone. PRIVATE_LINK stays out of headers.
function(emplace_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS *.h)
  list(FILTER sources EXCLUDE REGEX "/cuda/|main\\.cc$")
  list(FILTER headers EXCLUDE REGEX "/cuda/")
  emplace_library_of(${name} "${sources}" "${headers}" ${ARGN})
endfunction()

# The same from given lists of sources and headers.
function(emplace_library_of name sources headers)
  cmake_parse_arguments(arg "" "" "LINK;PRIVATE_LINK" ${ARGN})
  add_library(${name} STATIC ${sources})
  target_sources(${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE emplace_flags ${arg_PRIVATE_LINK})
endfunction()
