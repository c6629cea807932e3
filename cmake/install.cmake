# SPDX-License-Identifier: Apache-2.0
# `cmake --install` lays down these for programs that use meshmem: library, headers, CMake package, pkg-config file.
# Every path in it is computed from the file's own place, so that the whole prefix can be moved.
# (The programs beside the library are installed by launcher/, the libraries of networks by src/transport/.)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/meshmem)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(libraries meshmem meshmem_hip meshmem_device_code meshmem_device meshmem_kernel_checks meshmem_nvshmem_names
    meshmem_rocshmem_names)
if(MESHMEM_TARGET STREQUAL "cpu")
  set_target_properties(meshmem_hip_on_cpu PROPERTIES EXPORT_NAME hip_on_cpu)
  list(APPEND libraries meshmem_hip_on_cpu)
endif()
install(TARGETS ${libraries} EXPORT meshmem_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

# The headers that kernels include, and HIP's headers where the target has none.
set(device_include_dir ${CMAKE_INSTALL_INCLUDEDIR}/meshmem/device)
install(DIRECTORY device/ DESTINATION ${device_include_dir}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.def" PATTERN "hip_on_*" EXCLUDE PATTERN kernels EXCLUDE PATTERN launch.hpp EXCLUDE)
if(NOT MESHMEM_TARGET STREQUAL "hip")
  set(names device/hip_on_${MESHMEM_TARGET}/hip)
  if(MESHMEM_TARGET STREQUAL "cpu")
    list(APPEND names device/hip_on_cpu/cuda)
  endif()
  install(DIRECTORY ${names} DESTINATION ${device_include_dir}/hip_on_${MESHMEM_TARGET})
endif()

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/meshmem COMPONENT license)

# Reports that valgrind and ThreadSanitizer should suppress.
install(FILES src/valgrind.supp src/tsan.supp DESTINATION ${CMAKE_INSTALL_DATADIR}/meshmem)

install(EXPORT meshmem_targets NAMESPACE meshmem:: FILE meshmemTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(cmake/meshmemConfig.cmake.in meshmemConfig.cmake
                              INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(meshmemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/meshmemConfig.cmake ${PROJECT_BINARY_DIR}/meshmemConfigVersion.cmake
        cmake/meshmemDeviceSources.cmake cmake/meshmemHip.cmake
        DESTINATION ${package_dir})

file(RELATIVE_PATH prefix_from_pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(meshmem.pc.in meshmem.pc @ONLY)
# For kernels, with the options of oshhip; nvcc has a spelling of its own for those of the linker.
set(device_cflags "-I\${includedir} -I\${includedir}/meshmem")
set(device_libs "-L\${libdir} -Wl,-rpath,\${libdir} -lmeshmem")
if(MESHMEM_TARGET STREQUAL "cuda")
  string(APPEND device_cflags " -I\${includedir}/meshmem/device/hip_on_cuda")
  set(device_libs "-L\${libdir} -Xlinker -rpath,\${libdir} -cudart shared -lmeshmem")
elseif(MESHMEM_TARGET STREQUAL "cpu")
  foreach(folder hip_on_cpu hip_on_cpu/cuda)
    string(APPEND device_cflags " -I\${includedir}/meshmem/device/${folder}")
  endforeach()
  string(APPEND device_cflags " -std=c++17 -pthread -DMESHMEM_HIP_ON_CPU=1 -DHIP_ON_CPU_WAVE=${MESHMEM_CPU_WAVE}")
  string(PREPEND device_libs "-pthread ")
  string(APPEND device_libs " -lmeshmem_hip_cpu")
else()
  string(APPEND device_cflags " -std=c++17")
endif()
configure_file(meshmem_device.pc.in meshmem_device.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/meshmem.pc ${PROJECT_BINARY_DIR}/meshmem_device.pc DESTINATION ${pkgconfig_dir})
