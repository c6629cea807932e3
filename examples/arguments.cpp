// SPDX-License-Identifier: Apache-2.0
//
// The command lines of the examples, by CLI11 (Debian: libcli11-dev). It is a file of its own so
// that CLI11, which takes long to compile, is compiled once.
#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <utility>

namespace examples {

Arguments::Arguments(const std::string& what_the_program_does)
    : app_(std::make_unique<CLI::App>(what_the_program_does)) {}

Arguments::~Arguments() = default;

void Arguments::add_number(const std::string& name, const std::string& otherwise, long least,
                           long most, const std::string& what, std::function<void(long)> set) {
  app_->add_option_function<long>(name, std::move(set), what)
      ->check(CLI::Range(least, most))
      ->default_str(otherwise)
      ->type_name("N");
}

void Arguments::number_or_none(const std::string& name, long& value, long least, long most,
                               const std::string& what) {
  add_number(name, "", least, most, what, [&value](long given) { value = given; });
}

void Arguments::text(const std::string& name, std::string& value, const std::string& what) {
  app_->add_option(name, value, what)->capture_default_str()->type_name("TEXT");
}

void Arguments::flag(const std::string& name, bool& value, const std::string& what) {
  app_->add_flag(name, value, what);
}

void Arguments::files(std::vector<std::string>& paths, const std::string& what) {
  app_->add_option("FILE", paths, what)->type_name("");
}

void Arguments::parse(int argc, char** argv) {
  const std::string path = argv[0];
  program_name = path.substr(path.rfind('/') + 1);
  app_->name(program_name);
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    if (shmem_my_pe() == 0) std::printf("%s", app_->help().c_str());
    throw Stop{0};
  } catch (const CLI::ParseError& error) {
    refuse(error.what());
  }
}

}  // namespace examples
