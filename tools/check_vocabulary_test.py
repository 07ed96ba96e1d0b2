#!/usr/bin/env python3
"""What check_vocabulary.py takes for a definition, and which names it finds twice."""

import unittest

import check_vocabulary


class Definitions(unittest.TestCase):
    def names(self, text: str) -> list[str]:
        return [name for _, name in check_vocabulary.definitions(text)]

    def test_every_way_to_define_a_type(self):
        for text in ("class Qp {", "struct Qp : Base {", "struct Qp {};",
                     "enum class Qp : uint8_t {",
                     "enum class Qp : uint8_t { kA, kB };", "using Qp = StrongId<struct T, int>;",
                     "template <class T> class Qp {", "template <class T>\nclass Qp {",
                     "class Qp final : public Base {", "class Qp\n    : public Base {",
                     "class VERBENA_CAPABILITY(\"x\") Qp {", "struct alignas(64) Qp {"):
            with self.subTest(text):
                self.assertEqual(self.names(text), ["Qp"])

    def test_what_defines_none_at_namespace_level(self):
        for text in ("class Qp;", "  struct Qp {", "struct Qp::Impl {", "struct std::hash<Qp> {",
                     "using memory::Qp;", "// class Qp {", "using namespace x;"):
            with self.subTest(text):
                self.assertEqual(self.names(text), [])


class Findings(unittest.TestCase):
    def test_a_name_in_two_headers(self):
        headers = {"include/a.h": "\nstruct Sge {\n", "src/q/b.h": "struct Sge {\nclass Other {\n"}
        found = check_vocabulary.findings(headers, {})
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("include/a.h:2: Sge is defined in src/q/b.h, too"))

    def test_twice_in_one_header_is_for_the_compiler(self):
        self.assertEqual(check_vocabulary.findings({"a.h": "struct A {\nstruct A {\n"}, {}), [])

    def test_an_excuse_holds_while_it_is_needed(self):
        headers = {"a.h": "struct A {\n", "b.h": "struct A {\n"}
        self.assertEqual(check_vocabulary.findings(headers, {"A": "why"}), [])
        del headers["b.h"]
        self.assertIn("not defined twice", check_vocabulary.findings(headers, {"A": "why"})[0])


if __name__ == "__main__":
    unittest.main()
