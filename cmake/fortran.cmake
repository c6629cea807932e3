# SPDX-License-Identifier: Apache-2.0
# shmem.f90, the module for programs in Fortran. A Python script makes it from the tables of include/shmem, as it makes
# the manual pages; without Python there is no module.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(NOT Python3_Interpreter_FOUND)
  message(STATUS "The module for Fortran is not made: there is no Python")
  return()
endif()
set(module ${PROJECT_BINARY_DIR}/fortran/shmem.f90)
add_custom_command(
  OUTPUT ${module}
  COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/cmake/make_fortran_module.py ${PROJECT_SOURCE_DIR}/include
          ${CMAKE_C_COMPILER} ${PROJECT_VERSION} ${module}
  DEPENDS cmake/make_fortran_module.py docs/man/make_pages.py include/shmem/ops.h include/shmem/types.h
          include/shmem/deprecated.h include/shmem/constants.h
  COMMENT "Making the module for Fortran")
add_custom_target(meshmem_fortran ALL DEPENDS ${module})
# As a source, since each compiler has a format of its own for compiled modules.
install(FILES ${module} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
