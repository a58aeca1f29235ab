# Warnings travel through an interface target, so that third parties never see them.
option(HEXAPLAN_WERROR "Treat warnings as errors (on in every preset but release)" OFF)
add_library(project_warnings INTERFACE)
target_compile_options(
  project_warnings
  INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow;-Wno-missing-field-initializers>
            $<$<AND:$<BOOL:${HEXAPLAN_WERROR}>,$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>>:-Werror>)
# g++ 12 finds overlapping copies in "text" + std::string where there are none (gcc.gnu.org/PR105651).
target_compile_options(project_warnings INTERFACE $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
# With several sources in one compilation GCC finds more of the same, and shadows of names that other sources have.
target_compile_options(project_warnings INTERFACE $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<BOOL:${HEXAPLAN_UNITY}>>:-Wno-shadow;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-array-bounds;-Wno-subobject-linkage>)
# Release binaries read untrusted files: keep the cheap guards in. The first of them needs an optimiser.
set(guards "$<AND:$<CONFIG:Release,RelWithDebInfo>,$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>>")
target_compile_options(
  project_warnings
  INTERFACE $<$<AND:${guards},$<NOT:$<BOOL:$<TARGET_PROPERTY:HEXAPLAN_UNOPTIMISED>>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>
            $<${guards}:-D_GLIBCXX_ASSERTIONS;-fstack-protector-strong>)
