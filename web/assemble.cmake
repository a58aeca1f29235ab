# Puts style, programs and the core into page.html: one file that needs nothing beside itself.
file(READ ${SOURCE}/page.html page)
foreach(part page.css page.js worker.js)
  file(READ ${SOURCE}/${part} text)
  string(REPLACE "@${part}@" "${text}" page "${page}")
endforeach()
# Packed, a third as large; browsers unpack it (DecompressionStream).
execute_process(COMMAND gzip -9nc ${CORE} COMMAND base64 -w 0 OUTPUT_VARIABLE core COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "@core.js@" "${core}" page "${page}")
file(WRITE ${PAGE} "${page}")
