# Writes OUTPUT, linker options of a program that opens MODULE. They define and export every
# undefined name of the project in the module, as listed by NM.
execute_process(COMMAND ${NM} --dynamic --undefined-only ${MODULE}
  OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "_Z[^ \n]*7emplace[^ \n]*" names "${names}")
list(SORT names)
set(options "")
foreach(name ${names})
  string(REGEX REPLACE "@.*" "" name ${name})
  string(APPEND options "--require-defined=${name}\n--export-dynamic-symbol=${name}\n")
endforeach()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${options}" @ONLY)
