# How tests start MPI: as root, too (containers); on more ranks than processors; no search for fabrics; libraries that
# MPI brings leak.
set(mpi_test_environment
    "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_btl=self,vader,tcp;OMPI_MCA_rmaps_base_oversubscribe=1;ASAN_OPTIONS=detect_leaks=0"
)

# add_mpi_test(<name> RANKS <n> COMMAND <target> [arguments…] [EXPECT <regex in the output>])
# Runs a program under mpirun. Without EXPECT the exit code decides; 77 skips.
function(add_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "RANKS;EXPECT" "COMMAND")
  list(POP_FRONT ARG_COMMAND program)
  add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe ${MPIEXEC_NUMPROC_FLAG} ${ARG_RANKS}
                                $<TARGET_FILE:${program}> ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "unit;mpi" TIMEOUT 120 SKIP_RETURN_CODE 77 PROCESSORS 2 ENVIRONMENT
                                          "${mpi_test_environment}")
  if(ARG_EXPECT)
    set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION "${ARG_EXPECT}")
  endif()
endfunction()

# add_mpi_script_test(<name> <script> [arguments…]): a script that starts mpirun itself.
function(add_mpi_script_test name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS "text;mpi" TIMEOUT 180 PROCESSORS 2 ENVIRONMENT
                                          "${mpi_test_environment}")
endfunction()
