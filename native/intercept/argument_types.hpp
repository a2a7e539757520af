// What the arguments of a kernel are: numbers of which type, pointers to what. In: the code object's description of the kernel and
// its demangled name (HIP's compiler writes no `.type_name`, but the mangled name of a C++ kernel spells every parameter).
// Out: one entry for each argument that is not hidden. Called by conditions.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/code_object.hpp"

namespace kerncap::intercept {

enum class NumberType { I8, U8, I16, U16, I32, U32, I64, U64, F16, BF16, F32, F64 };

std::size_t size_of(NumberType type) noexcept;
bool is_float(NumberType type) noexcept;
// "i32", "bf16", ...; nothing for a word that is none of them.
std::optional<NumberType> number_type(std::string_view word) noexcept;
std::string_view word_of(NumberType type) noexcept;

// As it is spelled in C++, OpenCL C or HIP: "unsigned int", "uint", "_Float16", "HIP_vector_type<float, 4u>" (its elements).
std::optional<NumberType> spelled_number(std::string_view type);

// The parameter types of a demangled function; nothing when the text holds no parameter list.
std::optional<std::vector<std::string>> parameters(std::string_view demangled);

struct Argument {
  std::size_t index = 0;  // among those that are not hidden, from 0
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  bool pointer = false;
  std::string name;                   // empty: the compiler left it out
  std::string type;                   // as spelled; empty: nobody knows
  std::optional<NumberType> number;   // by value: its type. A pointer compares as an address.
  std::optional<NumberType> element;  // pointer: what it points to, when that is numbers
  bool to_constant = false;           // pointer: that may not be stored through it

  std::string label() const;  // "n" or "argument 3"
};

std::vector<Argument> arguments_of(const KernelDescription& kernel, std::string_view demangled);

// "0: a (float*), 1: n (int)", for messages.
std::string list_of(const std::vector<Argument>& arguments);

// Exact for every type here: a long double has 64 bits of mantissa.
long double value_of(NumberType type, std::span<const std::byte> bytes);
// The number that a literal is in that type: 0.1 is not the same in all of them. Integers are compared with the literal itself.
long double rounded_to(NumberType type, long double literal);

}  // namespace kerncap::intercept
