#!/usr/bin/env python3
"""Tests unity_groups.py: which names it finds, and that files with one in common stay apart."""

import unittest

import unity_groups


class NamesTest(unittest.TestCase):
    def test_finds_what_is_declared_at_namespace_scope(self):
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
    def test_files_with_a_name_in_common_stay_apart(self):
        files = [("a", {"kPage"}), ("b", {"kPage", "At"}), ("c", {"Make"}), ("d", {"At"})]
        self.assertEqual(unity_groups.group(files, 8), [["a", "c", "d"], ["b"]])

    def test_a_group_has_at_most_the_given_size(self):
        files = [(str(i), set()) for i in range(5)]
        self.assertEqual([len(group) for group in unity_groups.group(files, 2)], [2, 2, 1])


if __name__ == "__main__":
    unittest.main()
