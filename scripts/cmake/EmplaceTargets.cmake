# Functions that declare the targets of emplace.

include(CheckCXXSourceCompiles)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

# With ccache, a clone in another folder compiles what has changed: no object has the path of its folder (emplace_define).
find_program(EMPLACE_CCACHE ccache)
if(EMPLACE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${EMPLACE_CCACHE})
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>")

# Release: -O2; folders that compute use more, folders of commands less (emplace_optimise).
# Position-independent (CMakePresets.json): program and Python package are linked from the same objects, whose functions
# are not replaced at run time.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG -fno-semantic-interposition")
# "checked": optimised, all assertions on (DCHECK, libstdc++'s bounds checks), debug symbols.
set(CMAKE_CXX_FLAGS_CHECKED "-O1 -g1 -D_GLIBCXX_ASSERTIONS")
if(EMPLACE_SANITIZE)  # -O1 where time is spent
  set(CMAKE_CXX_FLAGS_CHECKED "-Og -g1 -D_GLIBCXX_ASSERTIONS")
endif()

# One instruction set for everything that we compile, so that inline functions of libraries are the same in
# every object. "auto": the best level of this machine; the program checks at its start that it may run.
set(EMPLACE_ARCH "auto" CACHE STRING "Instruction set: auto, native, x86-64, x86-64-v3, x86-64-v4, ... (-march)")
set(EMPLACE_ARCH_FLAG ${EMPLACE_ARCH})
if(EMPLACE_ARCH STREQUAL "auto")
  set(EMPLACE_ARCH_FLAG "")
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo cpu_flags REGEX "^flags" LIMIT_COUNT 1)
    string(REGEX MATCHALL "avx2|fma|bmi2|avx512f|avx512dq|avx512bw|avx512vl" cpu_features "${cpu_flags} ")
    list(REMOVE_DUPLICATES cpu_features)
    list(LENGTH cpu_features num_features)
    if(num_features EQUAL 7)
      set(EMPLACE_ARCH_FLAG x86-64-v4)
    elseif("avx2" IN_LIST cpu_features AND "fma" IN_LIST cpu_features AND "bmi2" IN_LIST cpu_features)
      set(EMPLACE_ARCH_FLAG x86-64-v3)
    endif()
  endif()
endif()
message(STATUS "Instruction set: ${EMPLACE_ARCH_FLAG}")

add_library(emplace_flags INTERFACE)
if(EMPLACE_ARCH_FLAG)
  target_compile_options(emplace_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=${EMPLACE_ARCH_FLAG}>)
endif()
# Products and sums are not contracted: costs and times must not depend on the instruction set. GCC 12 takes
# the undefined registers of its own AVX-512 functions, which Eigen calls, for errors (GCC bug 105593).
target_compile_options(emplace_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off -Wno-uninitialized -Wno-maybe-uninitialized>)
# -Wno-psabi: vectors wider than the processor's registers are passed between inline functions only.
target_compile_options(emplace_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers -Wno-psabi
  -Wno-restrict)  # GCC 12 reports it for "literal" + std::string (GCC bug 105651)
# GCC collects its garbage after every few megabytes, which is a tenth of its time here.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(emplace_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-expand=300 --param ggc-min-heapsize=400000>")
endif()
if(EMPLACE_WERROR)
  target_compile_options(emplace_flags INTERFACE -Werror)
endif()
if(EMPLACE_SANITIZE)
  # Leaves out the checks that double the code and those that AddressSanitizer (pointers) or x86 (alignment) make as
  # well.
  target_compile_options(emplace_flags INTERFACE
    -fsanitize=${EMPLACE_SANITIZE} -fno-sanitize=null,object-size,vptr,alignment,pointer-overflow
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(emplace_flags INTERFACE -fsanitize=${EMPLACE_SANITIZE})
endif()
if(EMPLACE_FUZZ)
  target_compile_options(emplace_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# emplace_define(SOURCE MACRO=VALUE...): defines macros in one source of this folder, which is compiled alone. Paths of
# folders are defined so, because ccache finds other sources again in another folder.
function(emplace_define source)
  cmake_path(ABSOLUTE_PATH source)
  set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS "${ARGN}" SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# emplace_optimise(TARGET LEVEL): sets the optimisation of Release: "-O3" for code that takes time, "-Og" for code whose
# compilation would take longer than its runs. GCC compiles fastest with -Og, so the other configurations use it there
# as well.
function(emplace_optimise target level)
  if(NOT level STREQUAL "-Og")
    set(level "$<IF:$<CONFIG:Release>,${level},-O1>")
  endif()
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${level}>)
endfunction()

# The sources of a folder are compiled together, a few at a time: they share their headers and templates, which are most
# of the work. So names in unnamed namespaces are unique within a folder (tests/check_names.py). If it is off, every
# source is compiled alone, as tools for single files need it.
option(EMPLACE_UNITY "Compile the sources of a folder together" ON)

# emplace_unity(TARGET [APART regex] [FILES number]): compiles at most so many files of a folder together (default 8: an
# edit of one is built again in seconds), and never files of two folders, so that a new folder changes no other unit.
# Files that match APART are compiled alone.
function(emplace_unity target)
  cmake_parse_arguments(arg "" "APART;FILES" "" ${ARGN})
  if(NOT EMPLACE_UNITY)
    return()
  endif()
  if(NOT arg_FILES)
    set(arg_FILES 8)
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(FILTER sources EXCLUDE REGEX "^${PROJECT_BINARY_DIR}/")
  if(arg_APART)
    list(FILTER sources EXCLUDE REGEX "${arg_APART}")
  endif()
  list(SORT sources)
  set(folder "")
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE source_folder)
    cmake_path(GET source_folder PARENT_PATH source_folder)
    if(NOT source_folder STREQUAL folder)
      set(folder ${source_folder})
      file(RELATIVE_PATH unit ${PROJECT_SOURCE_DIR} ${folder})
      string(MAKE_C_IDENTIFIER ${unit} unit)
      set(size 0)
    endif()
    math(EXPR part "${size} / ${arg_FILES}")
    math(EXPR size "${size} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit}_${part})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# emplace_library(NAME LINK library... PRIVATE_LINK library... EXCLUDE regex OPTIMISE level FILES number
# SELDOM regex): all sources of this folder and the folders below it (except CUDA and files that match EXCLUDE), and
# checks that each header compiles alone. PRIVATE_LINK is not used in headers. FILES as for emplace_unity. Files that
# match SELDOM run a few times per run and are compiled at -Og.
function(emplace_library name)
  cmake_parse_arguments(arg "" "EXCLUDE" "" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS *.h)
  list(FILTER sources EXCLUDE REGEX "/cuda/|main\\.cc$")
  list(FILTER headers EXCLUDE REGEX "/cuda/")
  if(arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${arg_EXCLUDE}")
    list(FILTER headers EXCLUDE REGEX "${arg_EXCLUDE}")
  endif()
  emplace_library_of(${name} "${sources}" "${headers}" ${arg_UNPARSED_ARGUMENTS})
endfunction()

# The same from given lists of sources and headers.
function(emplace_library_of name sources headers)
  cmake_parse_arguments(arg "" "OPTIMISE;FILES;SELDOM" "LINK;PRIVATE_LINK" ${ARGN})
  if(arg_SELDOM)
    set(seldom ${sources})
    list(FILTER seldom INCLUDE REGEX ${arg_SELDOM})
    list(REMOVE_ITEM sources ${seldom})
    add_library(${name}_seldom OBJECT ${seldom})
    target_link_libraries(${name}_seldom PRIVATE emplace_flags ${arg_LINK} ${arg_PRIVATE_LINK})
    target_include_directories(${name}_seldom PRIVATE ${PROJECT_SOURCE_DIR}
      $<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>)
    target_compile_definitions(${name}_seldom PRIVATE $<TARGET_PROPERTY:${name},COMPILE_DEFINITIONS>)
    emplace_optimise(${name}_seldom -Og)
    emplace_unity(${name}_seldom FILES ${arg_FILES})
    list(APPEND sources $<TARGET_OBJECTS:${name}_seldom>)
  endif()
  add_library(${name} STATIC ${sources})
  target_sources(${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE emplace_flags ${arg_PRIVATE_LINK})
  if(arg_OPTIMISE)
    emplace_optimise(${name} ${arg_OPTIMISE})
  endif()
  emplace_unity(${name} FILES ${arg_FILES})
endfunction()

# emplace_embed(TARGET FILE NAME): the text of FILE, in the program so that it needs no other file. The source that
# reads it declares `extern const std::string_view NAME;` in emplace::internal.
function(emplace_embed target file name)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  set(script ${PROJECT_SOURCE_DIR}/scripts/cmake/embed_text.cmake)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DFILE=${CMAKE_CURRENT_SOURCE_DIR}/${file} -DOUTPUT=${source} -DNAME=${name} -P ${script}
    DEPENDS ${file} ${script}
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
endfunction()
