# Installation. Each file belongs to one of three components, which are the Debian packages of
# VerbenaPackages.cmake:
#   runtime      lib/libverbena.so.0, for programs on the C++ API
#   development  headers and CMake and pkg-config files, to build such programs
#   command      bin/verbena, and the drop-in libraries in a folder of their own, where only
#                `verbena run` finds them

# Debian's multiarch folder, also below /usr/local, which Debian's loader searches too. CMake uses
# it for the prefix /usr only; otherwise it sets "lib", possibly in the cache of an older build
# folder.
if(CMAKE_LIBRARY_ARCHITECTURE AND EXISTS /etc/debian_version AND
   (NOT DEFINED CMAKE_INSTALL_LIBDIR OR CMAKE_INSTALL_LIBDIR STREQUAL "lib"))
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE} CACHE PATH "Libraries" FORCE)
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(VERBENA_PRIVATE_LIBDIR ${CMAKE_INSTALL_LIBDIR}/verbena)
set(VERBENA_PACKAGING ${PROJECT_SOURCE_DIR}/packaging)

# Debian policy: manual pages and changelogs are compressed, without name and timestamp (gzip -9n).
function(verbena_install_compressed file destination name component)
  set(compressed ${PROJECT_BINARY_DIR}/compressed/${component}/${name}.gz)
  get_filename_component(folder ${compressed} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND gzip -9n -c ${file} OUTPUT_FILE ${compressed} COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  install(FILES ${compressed} DESTINATION ${destination} COMPONENT ${component})
endfunction()

# The RPATH is relative, so that a program finds libverbena under any prefix. In /usr the loader
# finds it anyway, and Debian policy forbids an RPATH.
function(verbena_install_programs)
  foreach(program IN ITEMS verbena_command verbena-sim)
    if(NOT TARGET ${program})
      continue()
    endif()
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    install(TARGETS ${program} RUNTIME COMPONENT command)
    install(CODE "if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
  file(RPATH_REMOVE FILE \"\$ENV{DESTDIR}/usr/bin/$<TARGET_FILE_NAME:${program}>\")
endif()" COMPONENT command)
  endforeach()
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.1)
  foreach(page IN LISTS pages)
    get_filename_component(name ${page} NAME)
    verbena_install_compressed(${page} ${CMAKE_INSTALL_MANDIR}/man1 ${name} command)
  endforeach()
  install(FILES ${VERBENA_PACKAGING}/verbena.bash RENAME verbena COMPONENT command
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endfunction()

# The C++ API: library, headers, CMake and pkg-config files.
function(verbena_install_api)
  install(TARGETS verbena EXPORT verbena LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/verbena TYPE INCLUDE COMPONENT development)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/verbena)
  install(EXPORT verbena NAMESPACE verbena:: FILE verbena-targets.cmake DESTINATION ${package}
          COMPONENT development)
  configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/verbena-config.cmake.in
    ${PROJECT_BINARY_DIR}/verbena-config.cmake INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/verbena-config-version.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/verbena-config.cmake
                ${PROJECT_BINARY_DIR}/verbena-config-version.cmake
          DESTINATION ${package} COMPONENT development)
  # The prefix is relative: packages and `cmake --install --prefix` install under another prefix
  # than the configured one.
  file(RELATIVE_PATH prefix_from_here /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/verbena.pc.in ${PROJECT_BINARY_DIR}/verbena.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/verbena.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT development)
endfunction()

function(verbena_install)
  verbena_install_programs()
  verbena_install_api()
  install(TARGETS ibverbs rdmacm verbena_files verbena_sockets
          LIBRARY DESTINATION ${VERBENA_PRIVATE_LIBDIR} COMPONENT command NAMELINK_SKIP)
  foreach(component IN ITEMS runtime development command)
    set(folder ${CMAKE_INSTALL_DATADIR}/doc/${VERBENA_PACKAGE_OF_${component}})
    install(FILES ${VERBENA_PACKAGING}/copyright DESTINATION ${folder} COMPONENT ${component})
    verbena_install_compressed(${VERBENA_PACKAGING}/changelog ${folder} changelog ${component})
  endforeach()
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P
                    ${PROJECT_SOURCE_DIR}/cmake/VerbenaUninstall.cmake
                    WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()
