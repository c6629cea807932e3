# SPDX-License-Identifier: Apache-2.0
# meshmem_device_sources(TARGET FILE...): the files become sources of TARGET that are compiled as device code, whatever
# the target of meshmem and the ending of their names are. Call it where TARGET is made. Without -fgpu-rdc: each file
# stands for itself, and there is no device link step.
# Included by the project's build and by the installed package; reads MESHMEM_TARGET.
function(meshmem_device_sources target)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(language CXX)
  if(MESHMEM_TARGET STREQUAL "cuda")
    set(language CUDA)
  endif()
  if(NOT language IN_LIST languages)
    message(FATAL_ERROR "meshmem_device_sources(${target}): the project has to enable ${language} for kernels: project(... LANGUAGES ${language})")
  endif()
  foreach(source IN LISTS ARGN)
    get_filename_component(source ${source} ABSOLUTE)
    if(MESHMEM_TARGET STREQUAL "hip")
      meshmem_compile_by_hipcc(${target} ${source})
    elseif(MESHMEM_TARGET STREQUAL "cuda")
      set_source_files_properties(${source} PROPERTIES LANGUAGE CUDA)
      target_sources(${target} PRIVATE ${source})
    else()
      set(options -xc++)
      if(source MATCHES "\\.cu$")
        list(APPEND options -include cuda_runtime.h)  # like nvcc, and like oshhip
      endif()
      set_source_files_properties(${source} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${options}")
      target_sources(${target} PRIVATE ${source})
      meshmem_compile_by_launches(${target})
    endif()
  endforeach()
  if(MESHMEM_TARGET STREQUAL "cuda")
    set_target_properties(${target} PROPERTIES CUDA_RUNTIME_LIBRARY Shared)  # one runtime for program and library
  else()
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
endfunction()

# Runs the target's compiler through meshmem-launches, which rewrites kernel<<<...>>> and similar syntax into C++ in
# sources that -xc++ marks. The installed package sets MESHMEM_LAUNCHES; the project's own sources do not need it.
function(meshmem_compile_by_launches target)
  get_target_property(launcher ${target} CXX_COMPILER_LAUNCHER)
  if(NOT launcher)
    set(launcher)
  endif()
  if(MESHMEM_LAUNCHES AND NOT MESHMEM_LAUNCHES IN_LIST launcher)
    list(INSERT launcher 0 ${MESHMEM_LAUNCHES})
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
  endif()
endfunction()

# The object is made by a command of its own, with TARGET's include directories and definitions. MESHMEM_HIPCC_OPTIONS
# has further options for it, and MESHMEM_HIPCC_LAUNCHER the command that runs hipcc, such as a cache.
function(meshmem_compile_by_hipcc target source)
  # By its path, as CMake's own objects: files of a target may have one name in several folders.
  file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR} ${source})
  string(REPLACE "../" "__/" name ${name})
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${target}.hip/${name}.o)
  get_filename_component(folder ${object} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  set(includes $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  set(definitions $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" kind)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS_${kind}}")
  list(TRANSFORM MESHMEM_HIP_ARCHITECTURES PREPEND --offload-arch= OUTPUT_VARIABLE architectures)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${MESHMEM_HIPCC_LAUNCHER} ${MESHMEM_HIPCC} ${architectures} -std=c++17 ${flags} ${MESHMEM_HIPCC_OPTIONS} -fPIC -fvisibility=hidden
            "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>" "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
            -MD -MF ${object}.d -x hip -c ${source} -o ${object}
    DEPENDS ${source}
    DEPFILE ${object}.d
    COMMENT "Building HIP object ${target}.hip/${name}.o"
    COMMAND_EXPAND_LISTS VERBATIM)
  target_sources(${target} PRIVATE ${object})
endfunction()
