# Finds Open MPI for the module that uses it (framework/ranks/mpi). If it is missing,
# EMPLACE_WITHOUT_MPI gives the reason.
set(EMPLACE_WITHOUT_MPI "EMPLACE_MPI is off")
if(EMPLACE_MPI)
  set(EMPLACE_WITHOUT_MPI "")
  find_package(MPI QUIET COMPONENTS C)
  if(NOT MPI_C_FOUND)
    set(EMPLACE_WITHOUT_MPI "no Open MPI")
  endif()
endif()
