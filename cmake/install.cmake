# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down for programs that use meshmem: library, headers, CMake package, pkg-config file.
# Every path in it is computed from the file's own place, so that the whole prefix can be moved.
# (The programs beside the library are installed by launcher/.)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/meshmem)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(TARGETS meshmem EXPORT meshmem_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

install(EXPORT meshmem_targets NAMESPACE meshmem:: FILE meshmemTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(cmake/meshmemConfig.cmake.in meshmemConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(meshmemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/meshmemConfig.cmake ${PROJECT_BINARY_DIR}/meshmemConfigVersion.cmake
        DESTINATION ${package_dir})

file(RELATIVE_PATH prefix_from_pkgconfig /${pkgconfig_dir} /)
configure_file(meshmem.pc.in meshmem.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/meshmem.pc DESTINATION ${pkgconfig_dir})
