# COIN-OR solver of mixed-integer programmes, by its C interface (Debian: coinor-libcbc-dev). Defines CBC::CBC.
find_path(CBC_INCLUDE_DIR Cbc_C_Interface.h PATH_SUFFIXES coin)
find_library(CBC_LIBRARY Cbc)
find_library(CBC_SOLVER_LIBRARY CbcSolver)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CBC
  REQUIRED_VARS CBC_LIBRARY CBC_SOLVER_LIBRARY CBC_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install coinor-libcbc-dev")
if(CBC_FOUND AND NOT TARGET CBC::CBC)
  add_library(CBC::CBC UNKNOWN IMPORTED)
  set_target_properties(CBC::CBC PROPERTIES
    IMPORTED_LOCATION ${CBC_SOLVER_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${CBC_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES ${CBC_LIBRARY})
endif()
