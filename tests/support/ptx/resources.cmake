# cmake -DPTXAS=<ptxas> -DPTX=<file.ptx> -DOUT=<path> -P resources.cmake: compiles for Hopper; leaves OUT.cubin, and in
# OUT.txt what ptxas says of every kernel, behind the line of its release.
cmake_path(GET OUT PARENT_PATH folder)
file(MAKE_DIRECTORY ${folder})
execute_process(COMMAND ${PTXAS} --version OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCH "release [0-9.]+" version "${version}")
execute_process(COMMAND ${PTXAS} -arch=sm_90 -v -o ${OUT}.cubin ${PTX} OUTPUT_VARIABLE said ERROR_VARIABLE said
                COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${OUT}.txt "${version}\n${said}")
