# Fails where a kernel's intermediate code has a fused multiply-add, flushes denormals, or takes a
# quotient or root that is not rounded correctly. Seen to fail with -fmad=true, with -ftz=true and
# with -prec-div=false.
string(REPLACE "|" ";" files "${PTX}")
list(LENGTH files count)
if(count LESS 5)
  message(FATAL_ERROR "${count} files of intermediate code: there is nothing to look at")
endif()
foreach(file ${files})
  file(READ ${file} code)
  string(REGEX MATCHALL
         "(fma\\.r|mad\\.f|mad\\.r)[a-z.0-9]*|[a-z]+[a-z.]*\\.(ftz|approx|full)\\.[a-z.0-9]*"
         found "${code}")
  if(found)
    list(REMOVE_DUPLICATES found)
    message(SEND_ERROR "${file}: ${found}")
  endif()
endforeach()
