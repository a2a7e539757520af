#include "intercept/selection.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "intercept/mangled_name.hpp"

namespace kerncap::intercept {
namespace {

TEST(BaseName, SurvivesScopesTemplatesOperatorsAndLambdas) {
  const std::pair<const char*, const char*> cases[] = {
      {"vector_add(float const*, float const*, float*, int)", "vector_add"},
      {"plain", "plain"},
      {"void scale<float, 4>(float*, int)", "scale"},
      {"void ns::(anonymous namespace)::scale<float>(float*)", "scale"},
      {"(anonymous namespace)::work(int)", "work"},
      {"void outer<(anonymous namespace)::Tag>(int) [clone .x]", "outer"},
      {"void apply<main::{lambda(int)#1}>(main::{lambda(int)#1}, int)", "apply"},
      {"std::vector<int> make<int>(std::map<int, char>)", "make"},
      {"Foo::operator()(int) const", "operator()"},
      {"ns::operator<<(ns::A&, int)", "operator<<"},
      {"Foo::operator()(int) const::{lambda(int)#1}::operator()(int) const", "operator()"},
      {"void kernel<(E)3, (bool)1>(int)", "kernel"},
      {"void f<&(g(int))>(int)", "f"},
  };
  for (const auto& [demangled, base] : cases) EXPECT_EQ(base_name(demangled), base) << demangled;
}

TEST(QualifiedName, KeepsScopesAndTemplateArguments) {
  EXPECT_EQ(qualified_name("void ns::scale<float, 4>(float*, int)"), "ns::scale<float, 4>");
  EXPECT_EQ(qualified_name("ns::(anonymous namespace)::work(int)"), "ns::(anonymous namespace)::work");
}

TEST(BaseName, SurvivesConstraints) {
  EXPECT_EQ(base_name("void ns::clause<float>(float*) requires is_small<float>"), "clause");
  EXPECT_EQ(qualified_name("void ns::S::k<float>(float*) requires tr<float>::v&&(is_small<float>)"), "ns::S::k<float>");
}

TEST(NameOfMangled, SkipsTemplateArguments) {
  const std::pair<const char*, const char*> cases[] = {
      {"_Z10global_oneITk2isfEvPT_", "global_one<...>"},
      {"_ZN2ns11abbreviatedITk2isfEEvPT_", "ns::abbreviated<...>"},
      {"_ZN2ns1S6memberITkN3std8integralEiEEvPT_", "ns::S::member<...>"},
      {"_ZN2ns1SIiLi3ELb1ELNS_1EE2EE6memberITkSt8integraliEEvPT_", "ns::S<...>::member<...>"},
      {"_ZN12_GLOBAL__N_11kITk2isZ4mainEUlvE_EEvT_", nullptr},  // a local name: not understood
      {"_ZN12_GLOBAL__N_11kITk2isNS_3FooIJfA4_dEEEEEvT_", "(anonymous namespace)::k<...>"},
      {"_ZN2nsL1kITk2isN1A1bMUlvE0_EEEvT_", "ns::k<...>"},
      {"_ZN2ns1kIXsr2isIiE1vEEEvv", nullptr},
      {"_ZN2ns1kI", nullptr},
      {"_ZN2ns99kIfEEvv", nullptr},
      {"_ZN99999999999999999999999999999999999k", nullptr},
      {"_ZNE", nullptr},
      {"_Z", nullptr},
      {"plain", nullptr},
  };
  for (const auto& [mangled, name] : cases) {
    EXPECT_EQ(name_of_mangled(mangled), name == nullptr ? std::nullopt : std::optional<std::string>(name)) << mangled;
  }
}

class Auto : public testing::Test {
 protected:
  static bool matches(const char* pattern, const std::string& mangled, MatchMode mode = MatchMode::Auto) {
    return KernelSelector(pattern, mode).matches(mangled, demangle(mangled));
  }
  const std::string mangled = "_ZN2ns5scaleIfEEvPT_i";  // void ns::scale<float>(float*, int)
};

TEST_F(Auto, TriesMangledExactBaseThenGlob) {
  EXPECT_TRUE(matches("_ZN2ns5scaleIfEEvPT_i", mangled));
  EXPECT_TRUE(matches("void ns::scale<float>(float*, int)", mangled));
  EXPECT_TRUE(matches("scale", mangled));
  EXPECT_TRUE(matches("ns::scale", mangled));
  EXPECT_TRUE(matches("ns::scale<float>", mangled));
  EXPECT_TRUE(matches("sc*", mangled));
  EXPECT_TRUE(matches("*scale<float>*", mangled));
  EXPECT_FALSE(matches("scal", mangled));
  EXPECT_FALSE(matches("scale2", mangled));
  EXPECT_FALSE(matches("ns", mangled));
}

TEST_F(Auto, EachModeAlone) {
  EXPECT_FALSE(matches("scale", mangled, MatchMode::Exact));
  EXPECT_FALSE(matches("scale", mangled, MatchMode::Mangled));
  EXPECT_TRUE(matches("scale<f", mangled, MatchMode::Regex));
  EXPECT_TRUE(matches("^void ns::", mangled, MatchMode::Regex));
  EXPECT_FALSE(matches("^scale$", mangled, MatchMode::Regex));
  EXPECT_FALSE(matches("sc", mangled, MatchMode::Glob));
}

TEST_F(Auto, ConstrainedTemplatesByTheirName) {
  // Of clang 21; not every C++ runtime demangles the first.
  for (const char* constrained : {"_ZN2ns5scaleITk2isfEEvPT_", "_ZN2ns5scaleIfQ2isIT_EEEvPS1_", "_ZN2ns5scaleIfEEvPT_Q2isIS1_E"}) {
    EXPECT_TRUE(matches("scale", constrained)) << demangle(constrained);
    EXPECT_TRUE(matches("ns::scale", constrained)) << demangle(constrained);
    EXPECT_TRUE(matches("scale*", constrained)) << demangle(constrained);
    EXPECT_TRUE(matches(constrained, constrained));
    EXPECT_FALSE(matches("is", constrained)) << demangle(constrained);
    EXPECT_FALSE(matches("ns", constrained)) << demangle(constrained);
  }
}

TEST_F(Auto, NothingMatchesWithoutPattern) { EXPECT_FALSE(KernelSelector(std::nullopt, MatchMode::Auto).matches("a", "a")); }

TEST(Selector, RefusesWhatDoesNotCompile) {
  EXPECT_THROW(KernelSelector("a(", MatchMode::Regex), Error);
  EXPECT_THROW(parse_match_mode("fuzzy"), Error);
}

TEST(LaunchFilter, ComparesOnlyWhatWasAskedFor) {
  const LaunchFilter any;
  EXPECT_TRUE(any.accepts({1, 2, 3}, {4, 5, 6}));
  const LaunchFilter grid{Dim3{1024, 1, 1}, std::nullopt};
  EXPECT_TRUE(grid.accepts({1024, 1, 1}, {64, 1, 1}));
  EXPECT_FALSE(grid.accepts({512, 1, 1}, {64, 1, 1}));
}

}  // namespace
}  // namespace kerncap::intercept
