# SPDX-License-Identifier: Apache-2.0
# `./mesh package` calls CPack for Debian packages and a tarball that works in any folder. A part of the install is
# a component, and each component is a Debian package.
set(package_of_runtime libmeshmem${meshmem_soversion})
set(package_of_dev libmeshmem-dev)
set(package_of_tools meshmem-tools)
set(package_of_doc meshmem-doc)
set(summary_of_runtime "${PROJECT_DESCRIPTION}, shared libraries")
set(summary_of_dev "${PROJECT_DESCRIPTION}, for compiling programs")
set(summary_of_tools "${PROJECT_DESCRIPTION}, launcher and tools")
set(summary_of_doc "${PROJECT_DESCRIPTION}, documentation")
# The section, and in a field of its own whether packages for several processors may be installed together (same), or one
# may serve all of them (foreign). The programs of libmeshmem-dev forbid both. CPack 3.25 has no variable for the field.
set(section_of_runtime "libs\nMulti-Arch: same")
set(section_of_dev libdevel)
set(section_of_tools "utils\nMulti-Arch: foreign")
set(section_of_doc "doc\nMulti-Arch: foreign")
set(same_version "(= ${PROJECT_VERSION})")
set(depends_of_dev "${package_of_runtime} ${same_version}")
set(depends_of_tools "${package_of_runtime} ${same_version}, python3:any")
set(components runtime dev tools doc)

set(CPACK_PACKAGE_NAME meshmem)
set(CPACK_PACKAGE_VENDOR meshmem)
set(CPACK_PACKAGE_CONTACT "The authors of meshmem <meshmem@localhost>" CACHE STRING "Who publishes the packages")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGE_FILE_NAME meshmem-${PROJECT_VERSION}-${MESHMEM_TARGET}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian_files.cmake)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# Other files that Debian asks of each package; only packages have them. SOURCE_DATE_EPOCH may set the date.
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(component IN LISTS components)
  string(TOUPPER ${component} name)
  set(package ${package_of_${component}})
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${name}_PACKAGE_SECTION ${section_of_${component}})
  set(CPACK_DEBIAN_${name}_PACKAGE_DEPENDS "${depends_of_${component}}")
  set(CPACK_DEBIAN_${name}_DESCRIPTION "${summary_of_${component}}
 The PEs of a job share symmetric memory, on one machine or on
 several. C and C++ programs, and kernels, put into and get from
 each other's memory.")
  configure_file(cmake/debian_copyright.in packages/${package}/copyright @ONLY)
  configure_file(cmake/debian_changelog.in packages/${package}/changelog @ONLY)
  configure_file(cmake/debian_overrides.in packages/${package}/overrides @ONLY)
  set(folder ${PROJECT_BINARY_DIR}/packages/${package})
  install(FILES ${folder}/copyright ${folder}/changelog DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${folder}/overrides RENAME ${package} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
set(folder ${PROJECT_BINARY_DIR}/packages/${package_of_runtime})
file(WRITE ${folder}/triggers "activate-noawait ldconfig\n")
set(shlibs)
foreach(library meshmem meshmem_accesses meshmem_hip_cpu)
  set(version ${same_version})
  if(library STREQUAL "meshmem")  # whose ABI stays (docs/abi.md)
    set(version "(>= ${PROJECT_VERSION})")
  endif()
  string(APPEND shlibs "lib${library} ${meshmem_soversion} ${package_of_runtime} ${version}\n")
endforeach()
file(WRITE ${folder}/shlibs "${shlibs}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${folder}/triggers ${folder}/shlibs)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "meshmem-doc, meshmem-tools")
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package_of_doc} COMPONENT doc EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN "*.md" PATTERN measurements EXCLUDE PATTERN site EXCLUDE PATTERN man EXCLUDE PATTERN images EXCLUDE)
include(CPack)
