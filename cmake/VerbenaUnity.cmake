# Unity builds: several source files as one translation unit, which includes and instantiates
# everything once and saves almost half of the build time. The debug build has none, so that a
# changed file compiles soon, and neither has the lint build (VERBENA_UNITY).

# Files per unit at most. Larger units would leave a processor idle, and recompile more after a
# change.
set(VERBENA_UNITY_SIZE 8)

# verbena_unity(<target> <file>...)
#
# tools/unity_groups.py forms the groups. It separates files that define helpers of the same name.
function(verbena_unity target)
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
