# One static library per folder of src/. Its link line is the layer table: what a folder does not
# name in DEPENDS it cannot link, and tools/check_layers.py holds the includes to the same line.

# Every layer, for the programs that may use anything: tests, benchmarks, examples, fuzz targets.
add_library(verbena_layers INTERFACE)

# Every test program; the sanitizer builds want nothing else.
add_custom_target(verbena_tests)

# Of these, those beside the code.
add_custom_target(verbena_units)

# Every header, compiled alone; part of the build when "headers" is in VERBENA_PARTS.
add_custom_target(verbena_headers ALL)

include(GoogleTest)
if("tests" IN_LIST VERBENA_PARTS)
  find_package(GTest REQUIRED)
endif()

# A program of the tests takes the machine code of each layer as it is.
function(verbena_link_in_parts target)
  if(VERBENA_WHOLE_PROGRAM)
    target_link_options(${target} PRIVATE -fno-lto -fno-use-linker-plugin)
  endif()
endfunction()

# verbena_unit_test(<name> PREFIX <prefix> SOURCES <file>... LIBRARIES <target>...
#                   [PRECOMPILED <header>...])
#
# bin/<name>, a GoogleTest program; its tests are known to ctest as <prefix>.Suite.Name. ON_DEMAND:
# it is built only by its name, and ctest does not know it.
function(verbena_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "ON_DEMAND" "PREFIX" "SOURCES;LIBRARIES;PRECOMPILED")
  add_executable(${name} ${test_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${test_LIBRARIES} GTest::gmock_main)
  verbena_link_in_parts(${name})
  # A test is compiled more often than it is run: the layers are optimised, the tests are not.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
  verbena_precompile_test(${name} ${test_PRECOMPILED})
  verbena_unite(${name} ${test_SOURCES})
  if(test_ON_DEMAND)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  add_dependencies(verbena_tests ${name})
  # A program under ASan takes a while to start: there its tests are run at once, and
  # tools/run_tests.py counts them by what it says of each.
  if(VERBENA_SANITIZE MATCHES "address")
    add_test(NAME ${name} COMMAND ${name}
             --gtest_output=xml:${PROJECT_BINARY_DIR}/gtest/${name}.xml)
    set_tests_properties(${name} PROPERTIES TIMEOUT 600)
    return()
  endif()
  # Listed when ctest starts, so that a crash while listing fails the run and not the build.
  gtest_discover_tests(${name} TEST_PREFIX "${test_PREFIX}." DISCOVERY_MODE PRE_TEST
                       PROPERTIES SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
endfunction()

# Keeps the tests that have a suite with threads, known by its name.
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
# From all files below the current folder: verbena_<folder>, which links the layers in DEPENDS and
# the outside LIBRARIES, and <folder>_test from the *_test.cc files, which links that layer only,
# besides TEST_LIBRARIES. A folder that has only headers becomes an interface library. With
# "headers" in VERBENA_PARTS the build also compiles each header alone that has no source file.
# Of a folder in BESIDE it includes headers, and links the shared library of that name, so that a
# process has the layer once. main.cc is left to a program, and what WITHOUT matches to another
# target of the folder. See VerbenaPrecompiled.cmake for the headers of the last two. ON_TOP is for
# those that use the public library: what links all layers does not get it. THREADED has threads of
# its own: all its tests are run for data races, not only those of a suite with threads.
function(verbena_layer folder)
  cmake_parse_arguments(PARSE_ARGV 1 layer "ON_TOP;THREADED" "WITHOUT"
                        "DEPENDS;BESIDE;LIBRARIES;TEST_LIBRARIES;PRECOMPILED;TEST_PRECOMPILED")
  if(layer_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "verbena_layer(${folder}): what is ${layer_UNPARSED_ARGUMENTS}?")
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
  set(unlisted)
  if(NOT "units" IN_LIST VERBENA_PARTS)
    set(unlisted ON_DEMAND)
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
    verbena_unite(${target} ${sources})
  endif()
  if(sources AND VERBENA_WHOLE_PROGRAM)
    target_compile_options(${target} PRIVATE
                           "$<$<COMPILE_LANGUAGE:CXX>:-flto=auto;-ffat-lto-objects>")
  endif()
  # A header with a source file of its name is compiled alone there: it is included first.
  set(alone ${headers})
  list(TRANSFORM sources REPLACE "\\.cc$" ".h" OUTPUT_VARIABLE seconded)
  list(REMOVE_ITEM alone ${seconded})
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
                      PRECOMPILED ${layer_TEST_PRECOMPILED} ${unlisted})
    add_dependencies(verbena_units ${folder}_test)
  endif()
endfunction()
