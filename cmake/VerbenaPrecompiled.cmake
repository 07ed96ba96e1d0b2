# Precompiled headers, which save a third of the build time. The lint build turns
# VERBENA_PRECOMPILED off, so that a file with a missing include fails.

set(VERBENA_COMMON_HEADERS
    <algorithm> <array> <atomic> <deque> <functional> <memory> <optional> <span> <string>
    <unordered_map> <variant> <vector> <tl/expected.hpp>)

# verbena_shared_headers(<target> <header>...)
#
# Compiles the headers once for all targets. The compiler accepts them only in targets with the same
# options, and warns otherwise (-Winvalid-pch).
function(verbena_shared_headers target)
  set(source ${PROJECT_BINARY_DIR}/${target}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// A target needs a source file.\n")
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${source})
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

# verbena_precompile_for(<shared> <target> <headers of shared> [<header>...])
#
# A target without additional headers reuses the precompiled headers of <shared>.
function(verbena_precompile_for shared target common)
  if(ARGN)
    target_precompile_headers(${target} PRIVATE ${common} ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${shared})
  endif()
endfunction()

# verbena_precompile(<target> [<header>...])
#
# Precompiles the common headers, and headers that most files of the target include and that are
# slow to compile.
function(verbena_precompile target)
  if(NOT VERBENA_PRECOMPILED)
    return()
  endif()
  if(NOT TARGET verbena_common_headers)
    verbena_shared_headers(verbena_common_headers ${VERBENA_COMMON_HEADERS})
  endif()
  verbena_precompile_for(verbena_common_headers ${target} "${VERBENA_COMMON_HEADERS}"
                         ${ARGN})
endfunction()

# verbena_precompile_test(<target> [<header>...])
#
# The same for a test, which needs other options: position-independent executable, not optimised.
function(verbena_precompile_test target)
  if(NOT VERBENA_PRECOMPILED)
    return()
  endif()
  set(common ${VERBENA_COMMON_HEADERS} <gtest/gtest.h>)
  if(NOT TARGET verbena_test_headers)
    verbena_shared_headers(verbena_test_headers ${common})
    set_target_properties(verbena_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(verbena_test_headers PRIVATE -fPIE -O0)
    target_link_libraries(verbena_test_headers PRIVATE GTest::gmock_main)
  endif()
  verbena_precompile_for(verbena_test_headers ${target} "${common}" ${ARGN})
endfunction()
