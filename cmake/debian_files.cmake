# SPDX-License-Identifier: Apache-2.0
# Called by CPack between installing and packing: compresses manual pages and changelogs of Debian packages.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
file(GLOB_RECURSE pages ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/*)
file(GLOB_RECURSE files ${CPACK_TEMPORARY_DIRECTORY}/*/changelog)
foreach(page IN LISTS pages)
  if(IS_SYMLINK ${page})  # the page of another routine
    file(READ_SYMLINK ${page} other)
    file(CREATE_LINK ${other}.gz ${page}.gz SYMBOLIC)
    file(REMOVE ${page})
  else()
    list(APPEND files ${page})
  endif()
endforeach()
execute_process(COMMAND gzip -9n ${files} COMMAND_ERROR_IS_FATAL ANY)
