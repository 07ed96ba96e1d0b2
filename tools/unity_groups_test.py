#!/usr/bin/env python3
"""unity_groups.py finds declared names, and separates files that declare the same name."""

import unittest

import unity_groups


class NamesTest(unittest.TestCase):
    def test_finds_declarations_at_namespace_scope(self):
        text = """
#define ROWS 3
namespace {
using Info = std::unique_ptr<int>;
using memory::AccessKind;
constexpr uint64_t kPage = 4096, kSize = 2 * kPage;
const std::vector<Row>& Rows() {
  const int local = 1;
}
struct Row {
  int member = 0;
};
enum class Kind { kOne };
Mutex update_mutex;
std::byte* At(int place);
template <class T>
T Twice(T value) { return 2 * value; }
TEST_F(PageTest, IsLarge) {
"""
        self.assertEqual(unity_groups.names_of(text),
                         {"ROWS", "Info", "AccessKind", "kPage", "kSize", "Rows", "Row", "Kind",
                          "update_mutex", "At", "Twice"})


class GroupTest(unittest.TestCase):
    def test_separates_files_that_declare_the_same_name(self):
        files = [("a", {"kPage"}), ("b", {"kPage", "At"}), ("c", {"Make"}), ("d", {"At"})]
        self.assertEqual(unity_groups.group(files, 8), [["a", "c", "d"], ["b"]])

    def test_limits_the_size_of_a_group(self):
        files = [(str(i), set()) for i in range(5)]
        self.assertEqual([len(group) for group in unity_groups.group(files, 2)], [2, 2, 1])


if __name__ == "__main__":
    unittest.main()
