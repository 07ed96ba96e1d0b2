# Where things go when they are installed, and the Debian package.
#
# The libraries that take the place of the system's lie in a folder of their own, where no program
# finds them but by `verbena run`.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(VERBENA_PRIVATE_LIBDIR ${CMAKE_INSTALL_LIBDIR}/verbena)

function(verbena_install_programs)
  foreach(program IN ITEMS verbena_command verbena-sim)
    if(TARGET ${program})
      set_target_properties(${program} PROPERTIES INSTALL_RPATH
                                                  "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
      install(TARGETS ${program} RUNTIME)
    endif()
  endforeach()
  install(FILES ${PROJECT_SOURCE_DIR}/docs/verbena.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endfunction()

# For programs on the C++ API: the library, its headers, and how to find them.
function(verbena_install_api)
  install(TARGETS verbena EXPORT verbena LIBRARY)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/verbena TYPE INCLUDE)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/verbena)
  install(EXPORT verbena NAMESPACE verbena:: FILE verbena-targets.cmake DESTINATION ${package})
  configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/verbena-config.cmake.in
    ${PROJECT_BINARY_DIR}/verbena-config.cmake INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/verbena-config-version.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/verbena-config.cmake
                ${PROJECT_BINARY_DIR}/verbena-config-version.cmake DESTINATION ${package})
  # The package and `cmake --install --prefix` put it elsewhere than was configured.
  file(RELATIVE_PATH prefix_from_here /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/verbena.pc.in ${PROJECT_BINARY_DIR}/verbena.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/verbena.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

function(verbena_install)
  verbena_install_programs()
  verbena_install_api()
  install(TARGETS ibverbs verbena_files LIBRARY DESTINATION ${VERBENA_PRIVATE_LIBDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE TYPE DOC RENAME copyright)
endfunction()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_CONTACT "The Verbena authors <verbena@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_DESCRIPTION
    "RDMA verbs on any machine: no RDMA card, no kernel module, no root, no pinned memory.
Unmodified programs run on it by 'verbena run'; the system's own libibverbs stays in charge of
all others.")
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "ibverbs-utils, perftest, libexpected-dev")
set(CPACK_STRIP_FILES ON)
include(CPack)
