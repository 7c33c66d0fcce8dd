# COIN-OR linear programming solver (Debian: coinor-libclp-dev). Defines CLP::CLP.
find_path(CLP_INCLUDE_DIR Clp_C_Interface.h PATH_SUFFIXES coin)
find_library(CLP_LIBRARY Clp)
find_library(CLP_COINUTILS_LIBRARY CoinUtils)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CLP
  REQUIRED_VARS CLP_LIBRARY CLP_COINUTILS_LIBRARY CLP_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install coinor-libclp-dev")
if(CLP_FOUND AND NOT TARGET CLP::CLP)
  add_library(CLP::CLP UNKNOWN IMPORTED)
  set_target_properties(CLP::CLP PROPERTIES
    IMPORTED_LOCATION ${CLP_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${CLP_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES ${CLP_COINUTILS_LIBRARY})
endif()
