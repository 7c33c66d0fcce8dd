# Scotch static mapper (Debian: libscotch-dev). Defines Scotch::Scotch.
find_path(Scotch_INCLUDE_DIR scotch.h PATH_SUFFIXES scotch scotch-int64 scotch-int32)
find_library(Scotch_LIBRARY scotch)
find_library(Scotch_ERROR_LIBRARY scotcherr)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Scotch
  REQUIRED_VARS Scotch_LIBRARY Scotch_ERROR_LIBRARY Scotch_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libscotch-dev")
if(Scotch_FOUND AND NOT TARGET Scotch::Scotch)
  add_library(Scotch::Scotch UNKNOWN IMPORTED)
  set_target_properties(Scotch::Scotch PROPERTIES
    IMPORTED_LOCATION ${Scotch_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${Scotch_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES ${Scotch_ERROR_LIBRARY})
endif()
