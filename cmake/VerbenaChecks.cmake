# What is checked about the tree itself, as tests.

function(verbena_check name script)
  add_test(NAME check.${name} COMMAND Python3::Interpreter tools/${script} ${ARGN}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

function(verbena_checks)
  verbena_check(layers check_layers.py)
  verbena_check(layers_self check_layers_test.py)
  verbena_check(border check_border.py)
  verbena_check(border_self check_border_test.py)
  verbena_check(tidy check_tidy.py)
  verbena_check(tidy_self check_tidy_test.py)
  verbena_check(vocabulary check_vocabulary.py)
  verbena_check(vocabulary_self check_vocabulary_test.py)
  verbena_check(words check_words.py)
  verbena_check(words_self check_words_test.py)
  verbena_check(docs check_docs.py)
  verbena_check(docs_self check_docs_test.py)
  verbena_check(docs_pages_self docs_test.py)
  verbena_check(mutants mutants.py --check)
  verbena_check(format format.py --check)
endfunction()
