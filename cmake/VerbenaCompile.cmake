# How every file of the project is compiled and where the results go.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

# No -DNDEBUG: what holds in a test holds for users, too. Lines and names make a field report
# readable; more would make objects eight times as large, and the build a quarter longer.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g1")
if(VERBENA_QUICK)
  set(CMAKE_CXX_FLAGS_RELEASE "-O2")
endif()

# The layers call each other many times per packet. What users run is optimised as a whole, which
# takes a fifth of the instructions off; tests are not, because they are linked more often than run.
set(VERBENA_WHOLE_PROGRAM OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND
   NOT VERBENA_QUICK)
  set(VERBENA_WHOLE_PROGRAM ON)
endif()

# For C++ only: the assembler would complain about options that it does not use.
function(verbena_compile_options)
  foreach(option IN LISTS ARGN)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:${option}>)
  endforeach()
endfunction()

verbena_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor
                        -Werror -Werror=switch)
if(VERBENA_QUICK)
  # What gcc takes for a mistake depends on the level; the release build is the judge.
  verbena_compile_options(-w)
endif()
if(VERBENA_UNITY)
  # A local name is no mistake because another file has it, too. `make lint` checks each file alone.
  verbena_compile_options(-Wno-shadow)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  verbena_compile_options(-Wthread-safety)
else()
  # gcc 12 sees overlaps in every sum of strings (its bug 105651), and lengths beyond all bounds in
  # some where the strings' header is precompiled.
  verbena_compile_options(-Wno-restrict)
  if(VERBENA_PRECOMPILED)
    verbena_compile_options(-Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
  endif()
endif()

if(VERBENA_DCHECK)
  add_compile_definitions(VERBENA_DCHECK=1 _GLIBCXX_ASSERTIONS)
endif()

if(VERBENA_SANITIZE)
  # -g1: lines and names for the reports, and no more, which is a good part of the build's time.
  verbena_compile_options(-O1 -g1 -fno-omit-frame-pointer -fsanitize=${VERBENA_SANITIZE}
                          -fno-sanitize-recover=all)
  # gcc 12 takes memory that is left uninitialised on purpose for memory that is read, but only
  # with the sanitizers' own code in between.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # TSan does not see fences; where we have one, no other thread of a test depends on it.
    verbena_compile_options(-Wno-maybe-uninitialized -Wno-tsan)
  endif()
  add_link_options(-fsanitize=${VERBENA_SANITIZE})
  if(VERBENA_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Tests that count allocations have an operator new, and so has clang's runtime, which is
    # linked statically: the linker takes that of the test, which comes first.
    add_link_options(-Wl,-z,muldefs)
  endif()
endif()

if(VERBENA_COVERAGE)
  verbena_compile_options(-O0 --coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
