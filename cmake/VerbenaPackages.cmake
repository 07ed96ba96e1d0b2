# The Debian packages of `make deb`, one for each component of VerbenaInstall.cmake.

set(VERBENA_PACKAGE_OF_runtime libverbena${PROJECT_VERSION_MAJOR})
set(VERBENA_PACKAGE_OF_development libverbena-dev)
set(VERBENA_PACKAGE_OF_command verbena)
set(this_runtime "${VERBENA_PACKAGE_OF_runtime} (= ${PROJECT_VERSION})")

# verbena_package(<component> <section> <text>)
macro(verbena_package component section text)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${VERBENA_PACKAGE_OF_${component}})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION
      "RDMA verbs on any machine: no RDMA card, no kernel module, no root, no
pinned memory. ${text}")
endmacro()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL runtime development command)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
# There is no mailing list: the domain .invalid (RFC 2606) says so. A distribution that ships the
# packages puts its own address here and into packaging/changelog.
set(CPACK_PACKAGE_CONTACT "Verbena maintainers <maintainers@verbena.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "software RDMA channel adapter in user space")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE verbena)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_STRIP_FILES ON)

verbena_package(runtime libs "This package contains the library for programs
on the C++ API.")
verbena_package(development libdevel "This package contains the headers of the
C++ API and its CMake and pkg-config files.")
verbena_package(command net "This package contains the command 'verbena'.
'verbena run' starts unmodified libibverbs programs on the adapter; all other
programs keep using the system's libibverbs.")

# The headers include tl/expected.hpp.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${this_runtime}, libexpected-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "${this_runtime}")
set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS "ibverbs-utils, perftest")
configure_file(${PROJECT_SOURCE_DIR}/packaging/shlibs.in ${PROJECT_BINARY_DIR}/shlibs @ONLY)
# The last two files do not exist. Naming them keeps CPack from writing maintainer scripts that call
# ldconfig, which the trigger already does.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA
    "${PROJECT_BINARY_DIR}/shlibs;${PROJECT_SOURCE_DIR}/packaging/triggers"
    ${PROJECT_BINARY_DIR}/none/postinst ${PROJECT_BINARY_DIR}/none/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
