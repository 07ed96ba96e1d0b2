# Compiler options and output folders of all targets.

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

# No -DNDEBUG: the checks that run in tests also run for users. -g1 gives backtraces function names
# and lines; -g would make objects eight times as large and the build a quarter longer.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g1")
if(VERBENA_QUICK)
  set(CMAKE_CXX_FLAGS_RELEASE "-O2")
endif()

# Installed libraries and programs are built with LTO, because layers call each other many times per
# packet: it saves a fifth of the instructions. Tests are built without, because they are linked
# more often than they are run.
set(VERBENA_WHOLE_PROGRAM OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND
   NOT VERBENA_QUICK)
  set(VERBENA_WHOLE_PROGRAM ON)
endif()

# For C++ only: the assembler warns about options that it does not use.
function(verbena_compile_options)
  foreach(option IN LISTS ARGN)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:${option}>)
  endforeach()
endfunction()

verbena_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor
                        -Werror -Werror=switch)
if(VERBENA_QUICK)
  # The warnings of gcc depend on the optimisation level. The release build has them as errors.
  verbena_compile_options(-w)
endif()
if(VERBENA_UNITY)
  # A local name may also be a global one in another file of the unit. `make lint` compiles each
  # file alone and has this warning.
  verbena_compile_options(-Wno-shadow)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  verbena_compile_options(-Wthread-safety -Wshadow-field-in-constructor)
else()
  # False positives of gcc 12: -Wrestrict in string concatenation (gcc bug 105651), and the others
  # in some strings if <string> is precompiled.
  verbena_compile_options(-Wno-restrict)
  if(VERBENA_PRECOMPILED)
    verbena_compile_options(-Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
  endif()
endif()

if(VERBENA_DCHECK)
  add_compile_definitions(VERBENA_DCHECK=1 _GLIBCXX_ASSERTIONS)
endif()

if(VERBENA_SANITIZE)
  # -g1 is enough for the lines and names of reports; more debug information costs build time.
  verbena_compile_options(-O1 -g1 -fno-omit-frame-pointer -fsanitize=${VERBENA_SANITIZE}
                          -fno-sanitize-recover=all)
  # False positive of gcc 12 with sanitizers: deliberately uninitialised memory is reported as read.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # TSan does not support fences. No other thread of a test depends on the fences here.
    verbena_compile_options(-Wno-maybe-uninitialized -Wno-tsan)
  endif()
  add_link_options(-fsanitize=${VERBENA_SANITIZE})
  if(VERBENA_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Tests that count allocations define operator new, and so does clang's static TSan runtime.
    # The linker takes the first one, which is the test's.
    add_link_options(-Wl,-z,muldefs)
  endif()
endif()

if(VERBENA_COVERAGE)
  verbena_compile_options(-O0 --coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
