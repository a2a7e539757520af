#include "intercept/predicate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.hpp"

namespace kerncap::intercept {
namespace {

std::vector<Predicate> read(const char* text) { return read_predicates(Json::parse(text), "capture.control"); }

template <class T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

KernelDescription kernel(std::vector<KernelArgument> arguments) {
  KernelDescription description;
  description.arguments = std::move(arguments);
  return description;
}

const KernelDescription saxpy = kernel({{0, 8, "global_buffer", "", ""},
                                        {8, 8, "global_buffer", "", ""},
                                        {16, 4, "by_value", "", ""},
                                        {24, 8, "by_value", "", ""},
                                        {32, 4, "hidden_block_count_x", "", ""}});
constexpr const char* saxpy_name = "saxpy(float const*, __half*, int, unsigned long)";

TEST(ArgumentTypes, ComeFromTheDemangledNameWhereTheMetadataHasNone) {
  const auto arguments = arguments_of(saxpy, saxpy_name);
  ASSERT_EQ(arguments.size(), 4u);
  EXPECT_EQ(arguments[0].element, NumberType::F32);
  EXPECT_TRUE(arguments[0].to_constant);
  EXPECT_FALSE(arguments[1].to_constant);
  EXPECT_EQ(arguments[1].element, NumberType::F16);
  EXPECT_FALSE(arguments[0].number);
  EXPECT_EQ(arguments[2].number, NumberType::I32);
  EXPECT_EQ(arguments[3].number, NumberType::U64);
  EXPECT_EQ(list_of(arguments), "0: (float const*), 1: (__half*), 2: (int), 3: (unsigned long)");
  EXPECT_EQ(list_of({}), "none");
}

TEST(ArgumentTypes, MetadataComesFirst) {
  const auto arguments = arguments_of(kernel({{0, 4, "by_value", "n", "uint"}, {8, 8, "global_buffer", "p", "double*"}}), "k(int, float*)");
  EXPECT_EQ(arguments[0].number, NumberType::U32);
  EXPECT_EQ(arguments[1].element, NumberType::F64);
  EXPECT_EQ(arguments[1].label(), "p");
}

TEST(ArgumentTypes, NothingIsGuessed) {
  // No parameter list, another number of parameters, another size, no numbers.
  for (const char* name : {"plain_c", "k(int)", "k(long, S)", "k(double, float**)"}) {
    const auto arguments = arguments_of(kernel({{0, 4, "by_value", "", ""}, {8, 8, "global_buffer", "", ""}}), name);
    EXPECT_FALSE(arguments[0].number) << name;
    EXPECT_FALSE(arguments[1].element) << name;
  }
}

TEST(ArgumentTypes, Spellings) {
  EXPECT_EQ(spelled_number("HIP_vector_type<float, 4u>"), NumberType::F32);
  EXPECT_EQ(spelled_number("unsigned  char const"), NumberType::U8);
  EXPECT_EQ(spelled_number("__hip_bfloat16"), NumberType::BF16);
  EXPECT_EQ(spelled_number("Matrix"), std::nullopt);
  EXPECT_EQ(*parameters("void f<float, (int)3>(float const*, S<int, 2>*, int) [clone .kd]"),
            (std::vector<std::string>{"float const*", "S<int, 2>*", "int"}));
  EXPECT_EQ(parameters("no_list"), std::nullopt);
}

TEST(ArgumentTypes, Values) {
  EXPECT_EQ(value_of(NumberType::I8, bytes_of<std::int8_t>(-128)), -128.0L);
  EXPECT_EQ(value_of(NumberType::U16, bytes_of<std::uint16_t>(65535)), 65535.0L);
  EXPECT_EQ(value_of(NumberType::U64, bytes_of(~0ull)), 18446744073709551615.0L);
  EXPECT_EQ(value_of(NumberType::I64, bytes_of(-9007199254740993ll)), -9007199254740993.0L);
  EXPECT_EQ(value_of(NumberType::F16, bytes_of<std::uint16_t>(0xC000)), -2.0L);
  EXPECT_EQ(value_of(NumberType::F16, bytes_of<std::uint16_t>(0x0001)), std::ldexp(1.0L, -24));
  EXPECT_TRUE(std::isinf(value_of(NumberType::F16, bytes_of<std::uint16_t>(0x7C00))));
  EXPECT_TRUE(std::isnan(value_of(NumberType::F16, bytes_of<std::uint16_t>(0x7C01))));
  EXPECT_EQ(value_of(NumberType::BF16, bytes_of<std::uint16_t>(0x3FC0)), 1.5L);
  EXPECT_EQ(value_of(NumberType::F32, bytes_of(0.1f)), static_cast<long double>(0.1f));
}

TEST(ArgumentTypes, LiteralsAreRoundedToTheArgumentsType) {
  EXPECT_EQ(rounded_to(NumberType::F32, 0.1L), static_cast<long double>(0.1f));
  EXPECT_EQ(rounded_to(NumberType::F16, 0.1L), 1638.0L / 16384);  // 0x2E66
  EXPECT_EQ(rounded_to(NumberType::F16, 2049.0L), 2048.0L);        // a tie, to even
  EXPECT_TRUE(std::isinf(rounded_to(NumberType::F16, 65520.0L)));
  EXPECT_EQ(rounded_to(NumberType::BF16, 1.00390625L), 1.0L);      // 1 + 2^-8, a tie
  EXPECT_EQ(rounded_to(NumberType::I32, 2.5L), 2.5L);
}

TEST(Predicates, EveryKindIsRead) {
  const auto list = read(R"([
    {"text": "arg[3]>1000", "kind": "argument", "argument": 3, "type": null, "compare": ">", "value": 1000},
    {"text": "arg[n]:u8!=-1", "kind": "argument", "argument": "n", "type": "u8", "compare": "!=", "value": -1},
    {"text": "nan:f16", "kind": "nan", "type": "f16"}, {"text": "inf", "kind": "inf"},
    {"text": "slower-than=2x", "kind": "slower", "ratio": 2}, {"text": "slower-than=3ms", "kind": "slower", "ns": 3000000},
    {"text": "fault", "kind": "fault"}])");
  ASSERT_EQ(list.size(), 7u);
  EXPECT_EQ(std::get<std::size_t>(list[0].argument), 3u);
  EXPECT_EQ(list[0].comparison, Comparison::Greater);
  EXPECT_EQ(std::get<std::string>(list[1].argument), "n");
  EXPECT_EQ(list[1].type, NumberType::U8);
  EXPECT_EQ(list[1].value, -1.0L);
  EXPECT_EQ(list[2].kind, Predicate::Kind::Nan);
  EXPECT_EQ(list[2].type, NumberType::F16);
  EXPECT_EQ(list[3].kind, Predicate::Kind::Inf);
  EXPECT_EQ(list[4].ratio, 2.0);
  EXPECT_EQ(list[5].limit_ns, 3000000u);
  EXPECT_EQ(list[6].kind, Predicate::Kind::Fault);
}

TEST(Predicates, WhatIsNoneIsNamed) {
  for (const char* text :
       {R"({})", R"([1])", R"([{"text": "x", "kind": "later"}])", R"([{"text": "x", "kind": "nan", "type": "i32"}])",
        R"([{"text": "x", "kind": "nan", "type": "f8"}])", R"([{"text": "x", "kind": "slower"}])",
        R"([{"text": "x", "kind": "slower", "ratio": 2, "ns": 3}])", R"([{"text": "x", "kind": "slower", "ratio": 0}])",
        R"([{"text": "x", "kind": "argument", "argument": 0, "compare": "=", "value": 1}])",
        R"([{"text": "x", "kind": "argument", "argument": -1, "compare": ">", "value": 1}])",
        R"([{"text": "x", "kind": "argument", "argument": 0, "compare": ">", "value": "1"}])",
        R"([{"text": "x", "kind": "argument", "argument": 0, "compare": ">"}])"}) {
    EXPECT_THROW(read(text), Error) << text;
  }
}

Predicate on_argument(std::variant<std::size_t, std::string> which, Comparison comparison, long double value) {
  Predicate predicate;
  predicate.text = "typed";
  predicate.kind = Predicate::Kind::Argument;
  predicate.argument = std::move(which);
  predicate.comparison = comparison;
  predicate.value = value;
  return predicate;
}

TEST(Predicates, ArgumentsAreFoundAndCompared) {
  const auto arguments = arguments_of(saxpy, saxpy_name);
  const auto test = resolve(on_argument(2u, Comparison::GreaterOrEqual, 1000), 5, arguments, "saxpy");
  EXPECT_EQ(test.predicate, 5u);
  EXPECT_EQ(test.argument.offset, 16u);
  EXPECT_EQ(test.type, NumberType::I32);
  EXPECT_TRUE(test.holds(1000));
  EXPECT_FALSE(test.holds(-1));
  EXPECT_EQ(resolve(on_argument(0u, Comparison::Equal, 0), 0, arguments, "saxpy").type, NumberType::U64);
  const auto by = [&](Comparison comparison, long double actual) {
    return resolve(on_argument(2u, comparison, 3), 0, arguments, "saxpy").holds(actual);
  };
  EXPECT_TRUE(by(Comparison::Less, 2) && by(Comparison::LessOrEqual, 3) && by(Comparison::Equal, 3) && by(Comparison::NotEqual, 4));
  EXPECT_FALSE(by(Comparison::Less, 3) || by(Comparison::Greater, 3) || by(Comparison::Equal, 4) || by(Comparison::NotEqual, 3));
  const auto named = arguments_of(kernel({{0, 4, "by_value", "n", "float"}}), "k");
  EXPECT_TRUE(resolve(on_argument("n", Comparison::Equal, 0.1L), 0, named, "k").holds(static_cast<long double>(0.1f)));
  EXPECT_FALSE(resolve(on_argument("n", Comparison::Greater, 0), 0, named, "k").holds(std::nanl("")));
}

TEST(Predicates, ArgumentsThatAreNotThereOrNotNumbersAreRefused) {
  const auto refused = [](const Predicate& predicate, const std::vector<Argument>& arguments) -> std::string {
    try {
      resolve(predicate, 0, arguments, "saxpy");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "capture.predicate");
      return error.what();
    }
    return "accepted";
  };
  const auto arguments = arguments_of(saxpy, saxpy_name);
  EXPECT_NE(refused(on_argument(4u, Comparison::Less, 1), arguments).find("no such argument; arguments of saxpy: 0: (float const*)"), std::string::npos);
  EXPECT_NE(refused(on_argument("n", Comparison::Less, 1), arguments).find("no such argument"), std::string::npos);
  const auto unknown = arguments_of(kernel({{0, 4, "by_value", "", ""}}), "k");
  EXPECT_NE(refused(on_argument(0u, Comparison::Less, 1), unknown).find("0: (4 bytes of unknown type)"), std::string::npos);
  auto typed = on_argument(0u, Comparison::Less, 1);
  typed.type = NumberType::F64;
  EXPECT_NE(refused(typed, unknown).find("argument 0 has 4 bytes, f64 has 8"), std::string::npos);
  typed.type = NumberType::F32;
  EXPECT_EQ(refused(typed, unknown), "accepted");
}

TEST(Predicates, MedianOfEarlierTimes) {
  Durations times;
  for (const std::uint64_t ns : {90u, 10u, 20u, 30u}) times.add(ns);
  EXPECT_EQ(times.median(), std::nullopt);
  times.add(40);
  EXPECT_EQ(times.median(), 30u);
  for (int i = 0; i < 1000; ++i) times.add(7);  // the first ones are forgotten
  EXPECT_EQ(times.median(), 7u);
}

TEST(Predicates, WhatCameClosest) {
  Closest most, least, nearest;
  for (const long double value : {5.0L, 9.0L, -2.0L, std::nanl("")}) {
    most.add(on_argument(0u, Comparison::Greater, 10), value);
    least.add(on_argument(0u, Comparison::Less, -10), value);
    nearest.add(on_argument(0u, Comparison::Equal, 6), value);
  }
  EXPECT_EQ(most.value(), 9.0L);
  EXPECT_EQ(least.value(), -2.0L);
  EXPECT_EQ(nearest.value(), 5.0L);
  EXPECT_EQ(Closest().value(), std::nullopt);
  EXPECT_EQ(number_json(-3.0L).dump(), "-3");
  EXPECT_EQ(number_json(18446744073709551615.0L).dump(), "18446744073709551615");
  EXPECT_EQ(number_json(0.5L).dump(), "0.5");
  EXPECT_EQ(number_json(-INFINITY).dump(), "\"-inf\"");
}

}  // namespace
}  // namespace kerncap::intercept
