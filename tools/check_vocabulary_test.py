#!/usr/bin/env python3
"""check_vocabulary.py recognises definitions, and reports names that are defined twice."""

import unittest

import check_vocabulary


class Definitions(unittest.TestCase):
    def names(self, text: str) -> list[str]:
        return [name for _, name in check_vocabulary.definitions(text)]

    def test_recognises_every_form_of_type_definition(self):
        for text in ("class Qp {", "struct Qp : Base {", "struct Qp {};",
                     "enum class Qp : uint8_t {",
                     "enum class Qp : uint8_t { kA, kB };", "using Qp = StrongId<struct T, int>;",
                     "template <class T> class Qp {", "template <class T>\nclass Qp {",
                     "class Qp final : public Base {", "class Qp\n    : public Base {",
                     "class VERBENA_CAPABILITY(\"x\") Qp {", "struct alignas(64) Qp {"):
            with self.subTest(text):
                self.assertEqual(self.names(text), ["Qp"])

    def test_ignores_lines_that_define_no_type_at_namespace_level(self):
        for text in ("class Qp;", "  struct Qp {", "struct Qp::Impl {", "struct std::hash<Qp> {",
                     "using memory::Qp;", "// class Qp {", "using namespace x;"):
            with self.subTest(text):
                self.assertEqual(self.names(text), [])


class Findings(unittest.TestCase):
    def test_reports_a_name_defined_in_two_headers(self):
        headers = {"include/a.h": "\nstruct Sge {\n", "src/q/b.h": "struct Sge {\nclass Other {\n"}
        found = check_vocabulary.findings(headers, {})
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("include/a.h:2: Sge is also defined in src/q/b.h"))

    def test_leaves_two_definitions_in_one_header_to_the_compiler(self):
        self.assertEqual(check_vocabulary.findings({"a.h": "struct A {\nstruct A {\n"}, {}), [])

    def test_reports_an_exception_that_is_no_longer_needed(self):
        headers = {"a.h": "struct A {\n", "b.h": "struct A {\n"}
        self.assertEqual(check_vocabulary.findings(headers, {"A": "why"}), [])
        del headers["b.h"]
        self.assertIn("not defined twice", check_vocabulary.findings(headers, {"A": "why"})[0])


if __name__ == "__main__":
    unittest.main()
