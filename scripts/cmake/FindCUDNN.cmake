# NVIDIA cuDNN 9. Defines CUDNN::cudnn. Searches the CUDA Toolkit, then CUDNN_ROOT, then the
# site-packages of Python (nvidia-cudnn-cu13 and similar).
file(GLOB CUDNN_PIP_FOLDERS
  /usr/lib/python3*/site-packages/nvidia/cudnn /usr/local/lib/python3*/dist-packages/nvidia/cudnn
  /usr/local/lib/python3*/site-packages/nvidia/cudnn)
find_path(CUDNN_INCLUDE_DIR cudnn.h
  HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${CUDNN_PIP_FOLDERS} PATH_SUFFIXES include)
find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9
  HINTS ${CUDAToolkit_LIBRARY_DIR} PATHS ${CUDNN_PIP_FOLDERS} PATH_SUFFIXES lib lib64)
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)
if(CUDNN_INCLUDE_DIR AND EXISTS ${CUDNN_INCLUDE_DIR}/cudnn_version.h)
  file(STRINGS ${CUDNN_INCLUDE_DIR}/cudnn_version.h CUDNN_VERSION_LINES
    REGEX "^#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) +[0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" CUDNN_VERSION "${CUDNN_VERSION_LINES}")
  string(REPLACE ";" "." CUDNN_VERSION "${CUDNN_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDNN
  REQUIRED_VARS CUDNN_LIBRARY CUDNN_INCLUDE_DIR VERSION_VAR CUDNN_VERSION
  REASON_FAILURE_MESSAGE "set CUDNN_ROOT to where cuDNN 9 lies")
if(CUDNN_FOUND AND NOT TARGET CUDNN::cudnn)
  add_library(CUDNN::cudnn UNKNOWN IMPORTED GLOBAL)
  set_target_properties(CUDNN::cudnn PROPERTIES
    IMPORTED_LOCATION ${CUDNN_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${CUDNN_INCLUDE_DIR})
endif()
