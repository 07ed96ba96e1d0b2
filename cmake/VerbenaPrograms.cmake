# The programs around the libraries. Each may use every layer; LIBRARIES names what else it links.

if("bench" IN_LIST VERBENA_PARTS)
  find_package(benchmark REQUIRED)
endif()

# verbena_program(<target> <source> [<library>...])
function(verbena_program target source)
  add_executable(${target} ${source})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE verbena_layers ${ARGN})
  verbena_link_in_parts(${target})
endfunction()

# The same, optimised as a whole as what users run is: for what is measured.
function(verbena_measured_program target source)
  add_executable(${target} ${source})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE verbena_layers ${ARGN})
  if(VERBENA_WHOLE_PROGRAM)
    target_compile_options(${target} PRIVATE -flto=auto)
    target_link_options(${target} PRIVATE -flto=auto)
  endif()
endfunction()

# verbena_example(<name> [LIBRARIES <target>...])
#
# examples/<name>.cc -> bin/<name>. The test example.<name> runs it: an example that fails is worse
# than none.
function(verbena_example name)
  cmake_parse_arguments(PARSE_ARGV 1 example "" "" "LIBRARIES")
  verbena_program(${name} ${name}.cc ${example_LIBRARIES})
  add_test(NAME example.${name} COMMAND ${name})
endfunction()

# verbena_bench(<name> [LIBRARIES <target>...])
#
# bench/<name>_bench.cc -> bin/<name>_bench with Google Benchmark, which brings main(). In the
# release build the test bench.<name>.smoke runs each case for an instant.
function(verbena_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 bench "" "" "LIBRARIES")
  verbena_measured_program(${name}_bench ${name}_bench.cc ${bench_LIBRARIES}
                           benchmark::benchmark_main)
  if("checks" IN_LIST VERBENA_PARTS)
    add_test(NAME bench.${name}.smoke COMMAND ${name}_bench --benchmark_min_time=0.01)
    set_tests_properties(bench.${name}.smoke PROPERTIES TIMEOUT 300)
  endif()
endfunction()

# What the build preset of the fuzz targets builds: they need a few of the layers only.
add_custom_target(verbena_fuzzers)

# verbena_fuzz(<name> [LIBRARIES <target>...])
#
# fuzz/<name>_fuzz.cc -> bin/<name>_fuzz with libFuzzer, and the test fuzz.<name>: a short run from
# a fixed seed and a copy of fuzz/corpus/<name>/. Clang's address sanitizer build has them too, with
# the target alone instrumented for coverage: that tries what is kept, and `make test` need not
# build all layers once more. Other builds only compile the file.
function(verbena_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 fuzz "" "" "LIBRARIES")
  if(NOT VERBENA_SANITIZE MATCHES "fuzzer|address" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_library(${name}_fuzz OBJECT ${name}_fuzz.cc)
    target_link_libraries(${name}_fuzz PRIVATE ${fuzz_LIBRARIES})
    return()
  endif()
  add_executable(${name}_fuzz ${name}_fuzz.cc)
  target_include_directories(${name}_fuzz PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name}_fuzz PRIVATE -fsanitize=fuzzer-no-link)
  target_link_libraries(${name}_fuzz PRIVATE ${fuzz_LIBRARIES} -fsanitize=fuzzer)
  add_dependencies(verbena_fuzzers ${name}_fuzz)
  add_test(NAME fuzz.${name}
           COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/run_fuzz.py
                   --build ${PROJECT_BINARY_DIR} --seconds 15 --seed 1 ${name})
endfunction()

# verbena_each(<command> <suffix>)
#
# Calls verbena_<command>(<name>) for every <name><suffix> in the current folder.
function(verbena_each command suffix)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *${suffix})
  foreach(source IN LISTS sources)
    string(REGEX REPLACE "${suffix}$" "" name ${source})
    cmake_language(CALL verbena_${command} ${name} ${ARGN})
  endforeach()
endfunction()
