// SPDX-License-Identifier: Apache-2.0
// Tests how meshmem-launches rewrites CUDA's launches, shared memory and casts, and which sources
// it leaves alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "launches/edits.hpp"
#include "launches/tokens.hpp"

namespace {

using meshmem::launches::rewrite;

// The rewritten source, with KERNEL(its name) for each kernel_of(...); "" if nothing is rewritten.
std::string rewritten(const std::string& source) {
  std::string text = rewrite(source).value_or("");
  const std::string begin = "::hip_on_cpu::kernel_of(\"", end = "(hip_on_cpu_each...); })";
  for (std::size_t at; (at = text.find(begin)) != std::string::npos;) {
    const std::size_t name = at + begin.size();
    const std::string kernel = text.substr(name, text.find("\", [&]", name) - name);
    text.replace(at, text.find(end, at) + end.size() - at, "KERNEL(" + kernel + ")");
  }
  return text;
}

void expect_unchanged(const std::string& source) { EXPECT_EQ(rewritten(source), "") << source; }

TEST(Launches, HaveTwoToFourValuesOfTheirShape) {
  EXPECT_EQ(rewritten("k<<<1, 2>>>(p);"), " KERNEL(k).on(1, 2)(p);");
  EXPECT_EQ(rewritten("k<<<1, 2, 3>>>();"), " KERNEL(k).on(1, 2, 3)();");
  EXPECT_EQ(rewritten("k <<< 1, 2, 3, s >>> (p, q);"), " KERNEL(k).on( 1, 2, 3, s ) (p, q);");
}

TEST(Launches, AreExpressions) {
  EXPECT_EQ(rewritten("if (a) k<<<1, 2>>>(); else k<<<3, 4>>>();"),
            "if (a)  KERNEL(k).on(1, 2)(); else  KERNEL(k).on(3, 4)();");
  EXPECT_EQ(rewritten("a ? k<<<1, 2>>>() : b(), k<<<3, 4>>>(); label:k<<<5, 6>>>();"),
            "a ?  KERNEL(k).on(1, 2)() : b(),  KERNEL(k).on(3, 4)(); label: KERNEL(k).on(5, 6)();");
  EXPECT_EQ(rewritten("return (void)k<<<1, 2>>>();"), "return (void) KERNEL(k).on(1, 2)();");
}

TEST(Launches, TakeKernelsHoweverTheyAreNamed) {
  for (const char* kernel : {"k<int>",
                             "::k",
                             "a::k",
                             "::a::b::k<A, B>",
                             "k<A<B<C>>>",
                             "k<(1 > 2)>",
                             "k<1 << 3>",
                             "a<B>::template k<C>",
                             "this->f",
                             "o.f",
                             "p->q.f[3]",
                             "f[i][j]",
                             "(f)",
                             "(*f)",
                             "f(x)",
                             "f<T>(x)",
                             "(a ? b : c)",
                             "decltype(x)::k",
                             "k<decltype(x), sizeof(T)>",
                             "f(x)(y)",
                             "k<&S::m, 'c'>",
                             "k<[]{ return 1; }()>"}) {
    const std::string name = kernel;
    EXPECT_EQ(rewritten("if (x) " + name + "<<<1, 2>>>(p);"),
              "if (x)  KERNEL(" + name + ").on(1, 2)(p);");
    EXPECT_EQ(rewritten("{ return " + name + "<<<1, 2>>>(p); }"),
              "{ return  KERNEL(" + name + ").on(1, 2)(p); }");
  }
}

TEST(Launches, TellTemplatesInTheirShapeFromComparisons) {
  for (const char* shape :
       {"a < b ? 1 : 2, 3", "n >> 2, 3", "n>>2, 3", "f<g<h<int>>>(x), 3", "f<a, b>::value, c",
        "dim3(a, b), dim3{c, d}", "(a >> b), sizeof(T)", "1, f<A>", "n < 4, m", "x, y < z, 0, s",
        "1, std::min<std::size_t>(a, b)", "A<B<C>>::value, 1 << 4", "[&] { return a > b; }(), 3"}) {
    EXPECT_EQ(rewritten("k<<<" + std::string(shape) + ">>>(p);"),
              " KERNEL(k).on(" + std::string(shape) + ")(p);");
  }
}

TEST(Launches, LeaveTheirArgumentsAlone) {
  const std::string arguments =
      "(a >> 2, [=](int i) { return b<c>(i) << d; }, \"k<<<1, 2>>>(x)\", {1, 2}, f<g<h<i>>>(j))";
  EXPECT_EQ(rewritten("k<<<1, 2>>>" + arguments + ";"), " KERNEL(k).on(1, 2)" + arguments + ";");
  EXPECT_EQ(rewritten("k<<<1, 2>>>([] { l<<<3, 4>>>(); });"),
            " KERNEL(k).on(1, 2)([] {  KERNEL(l).on(3, 4)(); });");
}

TEST(Launches, AreNeitherTextNorOperators) {
  expect_unchanged(R"raw(s = "k<<<1, 2>>>(p)"; c = '<'; d = L"\"k<<<1, 2>>>(p)";)raw");
  expect_unchanged("s = R\"x(\" k<<<1, 2>>>(p) )\" )x\";");
  expect_unchanged("// k<<<1, 2>>>(p)\n/* k<<<1, 2>>>(p)\n */");
  expect_unchanged("# 3 \"a<<<b>>>(c).cu\"\n#pragma k<<<1, 2>>>(p)\n");
  expect_unchanged("operator<<<char>(a, b); std::operator<< <char>(a); a << b << c; a <<= b;");
  expect_unchanged("a<b<c<d>>>(e); a << b < c; x = a >>> b;");
  EXPECT_EQ(rewritten("n = 1'000; k<<<1, 2>>>(1'0, 'a');"),
            "n = 1'000;  KERNEL(k).on(1, 2)(1'0, 'a');");
}

TEST(Launches, KeepLinesAndMarkers) {
  const std::string source = "ns::\n  k\n# 7 \"b.h\" 3\n<<<1,\n# 9 \"a.cu\"\n2>>>\n(p,\nq);\n";
  const std::string result = rewrite(source).value();
  EXPECT_EQ(std::count(result.begin(), result.end(), '\n'),
            std::count(source.begin(), source.end(), '\n'));
  EXPECT_NE(result.find("\n# 7 \"b.h\" 3\n"), std::string::npos);
  EXPECT_NE(result.find("\n# 9 \"a.cu\"\n"), std::string::npos);
}

TEST(Launches, EscapeTheNamesOfKernels) {
  const std::string result = rewrite("f(\"a\\\"\")<<<1, 2>>>();").value();
  EXPECT_NE(result.find(R"raw(kernel_of("f(\"a\\\"\")", )raw"), std::string::npos) << result;
}

TEST(Launches, SurviveWhatIsNotClosed) {
  for (const char* source : {"k<<<",
                             "k<<<1, 2>>>",
                             "<<<1, 2>>>(p)",
                             "k<<<(1, 2>>>(p)",
                             "k<<<1, 2;>>>(p)",
                             "k<int<<<1",
                             "\"k<<<1, 2>>>(p)",
                             "R\"x(k<<<1, 2>>>(p)",
                             "/* k<<<1, 2>>>(p)",
                             "'",
                             ">>>(",
                             ")>>>(",
                             "\\",
                             "return<<<1, 2>>>(p)",
                             "]<<<1, 2>>>(p)",
                             "}<<<1, 2>>>(p)",
                             "::<<<1, 2>>>(p)",
                             "#",
                             "# 1 \"",
                             "extern static thread_local",
                             "extern static thread_local int x[",
                             "(const void*)",
                             "__attribute__(())",
                             "static thread_local int x[3]",
                             "hipLaunchKernel(",
                             "u8R\"",
                             ""})
    expect_unchanged(source);
  EXPECT_EQ(rewritten("char c = \"\n;k<<<1, 2>>>(p);"), "char c = \"\n; KERNEL(k).on(1, 2)(p);");
  EXPECT_EQ(rewritten("f(]; k<<<1, 2>>>(p);"), "f(];  KERNEL(k).on(1, 2)(p);");
}

// The rewritten source without the blanks that removed words leave.
std::string declared(const std::string& source) {
  std::string text = rewrite(source).value_or("");
  for (std::size_t at; (at = text.find("  ")) != std::string::npos;) text.erase(at, 1);
  return text;
}

TEST(SharedArrays, BecomeReferences) {
  const std::string value = " = ::hip_on_cpu::DynamicShared()";
  EXPECT_EQ(declared("extern static thread_local float s[];"),
            "[[maybe_unused]] static thread_local float (&s)[]" + value + ";");
  EXPECT_EQ(declared("f() { static thread_local extern T s[][32], *t[]; }"),
            "f() { [[maybe_unused]] static thread_local T (&s)[][32]" + value + ", *(&t)[]" +
                value + "; }");
  EXPECT_EQ(declared("f(); extern __attribute__((aligned(16))) static thread_local volatile "
                     "unsigned char s[];"),
            "f(); [[maybe_unused]] __attribute__((aligned(16))) static thread_local volatile "
            "unsigned char (&s)[]" +
                value + ";");
  EXPECT_EQ(declared("} extern std::complex<float> static thread_local s[];"),
            "} [[maybe_unused]] std::complex<float> static thread_local (&s)[]" + value + ";");
}

TEST(SharedArrays, OfOneSizeStay) {
  expect_unchanged("void f() { static thread_local int s[4]; extern int t[]; }");
  expect_unchanged("extern int t[]; static thread_local int s[4];");
  expect_unchanged("extern static thread_local int s;");
}

const std::string kKernel = "__attribute__(()) void k(int* p); using ::hip_on_cpu::noted_cast; ";

TEST(Casts, OfKernelsAreNoted) {
  for (const char* cast : {"(const void*)", "(void*)", "(void *)", "(void const*)"}) {
    const std::string type = std::string(cast).substr(1, std::string(cast).size() - 2);
    for (const char* kernel :
         {"k", "&k", "ns::k", "k<int, 3>", "&ns::k<A<B>>", "(k)", "(&k<int>)"}) {
      EXPECT_EQ(rewritten(kKernel + "f(" + cast + kernel + ", 1)"),
                kKernel + "f(::hip_on_cpu::noted_cast<" + type + ">(" + kernel + "), 1)");
    }
  }
  EXPECT_EQ(rewritten(kKernel + "p = reinterpret_cast<const void*>(&k<T>);"),
            kKernel + "p = ::hip_on_cpu::noted_cast<const void*>(&k<T>);");
  EXPECT_EQ(rewritten(kKernel + "(char*)(void*)k;"),
            kKernel + "(char*)::hip_on_cpu::noted_cast<void*>(k);");
}

TEST(Casts, ByAnotherTypeOfFunctionAreNotNoted) {
  expect_unchanged(kKernel + "p = (const void*)((void (*)())k);");
  expect_unchanged(kKernel + "p = reinterpret_cast<void*>((void (*)(int))k);");
}

TEST(Casts, FindKernelsBehindTheirSpecifiers) {
  for (const char* declaration :
       {"static __attribute__(()) void k();", "void __attribute__(()) k();",
        "__attribute__(()) static void __attribute__((noinline)) k() {}",
        "template <typename T> __attribute__(()) void k(T);",
        "template <> __attribute__(()) void ns::k<int, 2>(int);",
        "extern \"C\" __attribute__(()) void k() {}"}) {
    EXPECT_EQ(rewritten(std::string(declaration) + "x = (void*)k;"),
              std::string(declaration) + "x = ::hip_on_cpu::noted_cast<void*>(k);");
  }
}

TEST(Casts, OfWhatIsLaunchedAreNoted) {
  for (const char* launch : {"hipLaunchKernel", "cudaLaunchCooperativeKernel"}) {
    EXPECT_EQ(rewritten(std::string(launch) + "((const void*)f<A, B>, g((void*)x), (void*)y)"),
              std::string(launch) +
                  "(::hip_on_cpu::noted_cast<const void*>(f<A, B>), g((void*)x), (void*)y)");
  }
}

TEST(Casts, OfOtherNamesAreNotedWhereSomethingElseIsRewritten) {
  const std::string source = "p = (void*)variable; q = (void*)f(x); r = (void*)(y + z);";
  expect_unchanged("using ::hip_on_cpu::noted_cast; " + source);
  EXPECT_EQ(
      rewritten(kKernel + "(void*)k; " + source),
      kKernel +
          "::hip_on_cpu::noted_cast<void*>(k); p = ::hip_on_cpu::noted_cast<void*>(variable);" +
          source.substr(source.find(" q")));
  const std::string header = "\n# 1 \"a.h\" 1 3\np = (void*)variable;\n";
  EXPECT_EQ(rewritten(kKernel + "(void*)k;" + header),
            kKernel + "::hip_on_cpu::noted_cast<void*>(k);" + header);
}

TEST(Casts, AreNotTypesOfFunctions) {
  const std::string functions =
      "void f(void*) noexcept; int (*g)(void*); F<void(void*)> h; sizeof(void*); void i(void*) "
      "const; auto j = [](void*) {}; void* operator()(void*) override;";
  EXPECT_EQ(rewritten(kKernel + "(void*)k; " + functions),
            kKernel + "::hip_on_cpu::noted_cast<void*>(k); " + functions);
}

}  // namespace
