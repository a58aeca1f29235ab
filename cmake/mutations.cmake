# Places that can be made wrong one at a time (costmodel/units/mutation.h); scripts/mutate.sh builds with them.
option(HEXAPLAN_MUTATIONS "Let HEXAPLAN_MUTANT=ID make one place of the program wrong; for scripts/mutate.sh" OFF)
if(HEXAPLAN_MUTATIONS)
  add_compile_definitions(HEXAPLAN_MUTATIONS)
endif()
