# Several source files as one translation unit, which takes almost half of the time: what they
# include is read and instantiated once. Not in the debug build, where a changed file should be
# compiled soon, and not in that of the linter, where each file is compiled alone (VERBENA_UNITY).

# So many files at most: two processors both have something to do, and a changed file does not take
# the whole folder with it.
set(VERBENA_UNITY_SIZE 8)

# verbena_unite(<target> <file>...)
#
# The files that belong together are found by tools/unity_groups.py: helpers of the same name in two
# files keep these apart.
function(verbena_unite target)
  if(NOT VERBENA_UNITY)
    return()
  endif()
  set(files ${ARGN})
  list(FILTER files INCLUDE REGEX "\\.cc$")
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/unity_groups.py
            ${VERBENA_UNITY_SIZE} ${files}
    OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^(-?[0-9]+) (.*)$" matched "${line}")
    if(CMAKE_MATCH_1 GREATER_EQUAL 0)
      set_property(SOURCE ${CMAKE_MATCH_2} PROPERTY UNITY_GROUP "${target}_${CMAKE_MATCH_1}")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
