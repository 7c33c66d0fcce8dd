# Run by installations (Portable.cmake, Release.cmake) and by scripts/wheel, after the libraries are in place. Collects for the
# libraries in library_folder, in licence_folder (both below the prefix):
#   PACKAGE.copyright   the Debian copyright file of every package that a library there comes from, and of what
#                       scripts/lib/third_party_notices.md names under "Libraries": headers leave no library
#   common/             the licences under /usr/share/common-licenses that these refer to
# Fails if a library belongs to no package or a package has no such file.
set(bundle $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX})
set(licences ${bundle}/${licence_folder})
get_filename_component(scripts ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)

file(MAKE_DIRECTORY ${licences}/common)
set(texts "")
file(GLOB libraries RELATIVE ${bundle}/${library_folder} ${bundle}/${library_folder}/*.so*)
list(FILTER libraries EXCLUDE REGEX "^libemplace")
foreach(library ${libraries})
  if(IS_SYMLINK ${bundle}/${library_folder}/${library})
    continue()  # to a library that is checked
  endif()
  # A library in a wheel has eight digits of its checksum in its name.
  string(REGEX REPLACE "-[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]\\." "." packaged ${library})
  execute_process(COMMAND dpkg-query --search "*/${packaged}"
    OUTPUT_VARIABLE owners RESULT_VARIABLE status ERROR_QUIET)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${library} belongs to no Debian package: its licence is not known")
  endif()
  string(REGEX MATCHALL "[^\n]+" owners "${owners}")
  list(FILTER owners EXCLUDE REGEX "^diversion ")
  foreach(owner ${owners})
    string(REGEX REPLACE "[:,].*" "" package "${owner}")
    list(APPEND texts /usr/share/doc/${package}/copyright)
  endforeach()
endforeach()

file(READ ${scripts}/lib/third_party_notices.md page)
string(REGEX MATCH "\n## Libraries\n.*\n## CUDA\n" page "${page}")
string(REGEX MATCHALL "/usr/share/doc/[^`]+/copyright" named "${page}")
foreach(pattern ${named})
  file(GLOB found ${pattern})
  if(NOT found)
    message(FATAL_ERROR "${pattern} does not exist: the bundle would lack a licence")
  endif()
  list(APPEND texts ${found})
endforeach()

list(REMOVE_DUPLICATES texts)
set(common "")
foreach(text ${texts})
  if(NOT EXISTS ${text})
    message(FATAL_ERROR "${text} does not exist: the bundle would lack a licence")
  endif()
  get_filename_component(package ${text} DIRECTORY)
  get_filename_component(package ${package} NAME)
  file(READ ${text} content)
  file(COPY_FILE ${text} ${licences}/${package}.copyright)
  string(REGEX MATCHALL "/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9+]" referred "${content}")
  list(APPEND common ${referred})
endforeach()
list(REMOVE_DUPLICATES common)
foreach(text ${common})
  if(EXISTS ${text})
    get_filename_component(name ${text} NAME)
    file(COPY_FILE ${text} ${licences}/common/${name})
  endif()
endforeach()
