# One static library per folder of src/. A folder links only the layers in its DEPENDS, and
# tools/check_layers.py checks its includes against the same list.

# All layers, for programs that may use everything: tests, benchmarks, examples, fuzz targets.
add_library(verbena_layers INTERFACE)

# All test programs. The sanitizer presets build nothing else.
add_custom_target(verbena_tests)

# All unit test programs.
add_custom_target(verbena_units)

# Compiles every header alone, if "headers" is in VERBENA_PARTS.
add_custom_target(verbena_headers ALL)

include(GoogleTest)
if("tests" IN_LIST VERBENA_PARTS)
  find_package(GTest REQUIRED)
endif()

# Links the object code of the layers without LTO, which is faster to build.
function(verbena_link_without_lto target)
  if(VERBENA_WHOLE_PROGRAM)
    target_link_options(${target} PRIVATE -fno-lto -fno-use-linker-plugin)
  endif()
endfunction()

# verbena_unit_test(<name> PREFIX <prefix> SOURCES <file>... LIBRARIES <target>...
#                   [PRECOMPILED <header>...] [ON_DEMAND])
#
# bin/<name>, a GoogleTest program; ctest runs its tests as <prefix>.Suite.Name. With ON_DEMAND the
# program is built only as an explicit target, and ctest does not run it.
function(verbena_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "ON_DEMAND" "PREFIX" "SOURCES;LIBRARIES;PRECOMPILED")
  add_executable(${name} ${test_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${test_LIBRARIES} GTest::gmock_main)
  verbena_link_without_lto(${name})
  # Tests are compiled more often than they are run, so only the layers are optimised.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
  verbena_precompile_test(${name} ${test_PRECOMPILED})
  verbena_unity(${name} ${test_SOURCES})
  if(test_ON_DEMAND)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  add_dependencies(verbena_tests ${name})
  # A program with ASan starts slowly, so one ctest test runs all its tests. tools/run_tests.py
  # counts them from the XML report.
  if(VERBENA_SANITIZE MATCHES "address")
    add_test(NAME ${name} COMMAND ${name}
             --gtest_output=xml:${PROJECT_BINARY_DIR}/gtest/${name}.xml)
    set_tests_properties(${name} PROPERTIES TIMEOUT 600)
    return()
  endif()
  # PRE_TEST: a crash while listing the tests fails the test run, not the build.
  gtest_discover_tests(${name} TEST_PREFIX "${test_PREFIX}." DISCOVERY_MODE PRE_TEST
                       PROPERTIES SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
endfunction()

# Keeps the files that have a suite with threads: its name ends in Threads.
function(verbena_filter_threads list)
  set(kept)
  foreach(file IN LISTS ${list})
    file(STRINGS ${file} suites REGEX "^TEST.*Threads")
    if(suites)
      list(APPEND kept ${file})
    endif()
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()

# verbena_layer(<folder> [ON_TOP] [THREADED] [WITHOUT <regex>] [DEPENDS <folder>...]
#               [BESIDE <folder>...] [LIBRARIES <target>...] [TEST_LIBRARIES <target>...]
#               [PRECOMPILED <header>...] [TEST_PRECOMPILED <header>...])
#
# Builds verbena_<folder> from the files below the current folder, and <folder>_test from the
# *_test.cc files. A folder with headers only becomes an interface library. With "headers" in
# VERBENA_PARTS the build also compiles each header that has no source file alone.
#
#   ON_TOP            the layer uses the public library, and is not a part of verbena_layers
#   THREADED          all tests run under TSan, not only the suites whose name ends in Threads
#   WITHOUT           source files that match belong to another target; main.cc always does
#   DEPENDS           layers to link
#   BESIDE            layers whose headers may be included and whose shared library is linked, so
#                     that a process has the layer once
#   LIBRARIES         libraries of other projects
#   TEST_LIBRARIES    libraries of the test, which otherwise links this layer only
#   PRECOMPILED, TEST_PRECOMPILED    see VerbenaPrecompiled.cmake
function(verbena_layer folder)
  cmake_parse_arguments(PARSE_ARGV 1 layer "ON_TOP;THREADED" "WITHOUT"
                        "DEPENDS;BESIDE;LIBRARIES;TEST_LIBRARIES;PRECOMPILED;TEST_PRECOMPILED")
  if(layer_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "verbena_layer(${folder}): unknown arguments ${layer_UNPARSED_ARGUMENTS}")
  endif()

  file(GLOB_RECURSE headers CONFIGURE_DEPENDS *.h)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc *.S)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(layer_WITHOUT)
    list(FILTER sources EXCLUDE REGEX ${layer_WITHOUT})
  endif()
  if(VERBENA_ONLY_THREADS AND NOT layer_THREADED)
    verbena_filter_threads(tests)
  endif()
  set(on_demand)
  if(NOT "units" IN_LIST VERBENA_PARTS)
    set(on_demand ON_DEMAND)
  endif()

  if("headers" IN_LIST VERBENA_PARTS)
    set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
  set(target verbena_${folder})
  if(sources)
    set(scope PUBLIC)
    add_library(${target} STATIC ${sources})
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  if(sources)
    verbena_precompile(${target} ${layer_PRECOMPILED})
    verbena_unity(${target} ${sources})
  endif()
  if(sources AND VERBENA_WHOLE_PROGRAM)
    target_compile_options(${target} PRIVATE
                           "$<$<COMPILE_LANGUAGE:CXX>:-flto=auto;-ffat-lto-objects>")
  endif()
  # x.cc includes x.h first, which compiles x.h alone; only the other headers need a check.
  set(alone ${headers})
  list(TRANSFORM sources REPLACE "\\.cc$" ".h" OUTPUT_VARIABLE with_source)
  list(REMOVE_ITEM alone ${with_source})
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src
                                    FILES ${headers})
  if(alone)
    target_sources(${target} ${scope} FILE_SET alone TYPE HEADERS
                                      BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${alone})
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_HEADER_SETS_TO_VERIFY alone)
  endif()
  list(TRANSFORM layer_DEPENDS PREPEND verbena_)
  target_link_libraries(${target} ${scope} ${layer_DEPENDS} ${layer_BESIDE} ${layer_LIBRARIES})
  if(NOT layer_ON_TOP)
    target_link_libraries(verbena_layers INTERFACE ${target})
  endif()
  if(alone AND CMAKE_VERIFY_INTERFACE_HEADER_SETS)
    add_dependencies(verbena_headers ${target}_verify_interface_header_sets)
  endif()

  if(tests AND "tests" IN_LIST VERBENA_PARTS)
    verbena_unit_test(${folder}_test PREFIX ${folder} SOURCES ${tests}
                      LIBRARIES ${target} ${layer_TEST_LIBRARIES}
                      PRECOMPILED ${layer_TEST_PRECOMPILED} ${on_demand})
    add_dependencies(verbena_units ${folder}_test)
  endif()
endfunction()
