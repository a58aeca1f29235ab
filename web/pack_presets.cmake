# Copies the presets that answer questions from FROM to TO, JSON without blanks.
file(REMOVE_RECURSE ${TO})
file(GLOB_RECURSE files RELATIVE ${FROM} ${FROM}/models/*.json ${FROM}/gpus/*.json ${FROM}/clusters/*.json ${FROM}/frameworks/*.json
     ${FROM}/calibration/*.json ${FROM}/published/*.json)
foreach(file ${files})
  file(READ ${FROM}/${file} text)
  # Blanks at the beginnings of lines: none stands inside a string, which cannot hold a line's end.
  string(REGEX REPLACE "\n[ ]+" "\n" text "${text}")
  file(WRITE ${TO}/${file} "${text}")
endforeach()
