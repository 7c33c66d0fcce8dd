#include "experiments/console/man_page.h"

#include <fmt/format.h>

namespace emplace {
namespace {

// Escapes what roff would interpret: backslashes, hyphens, and a control character at the begin of
// a line.
std::string Roff(const std::string& text) {
  std::string roff;
  for (const char c : text) {
    const bool begins_line = roff.empty() || roff.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) roff += "\\&";
    roff += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return roff;
}

std::string RoffArgument(const ArgumentHelp& argument) {
  const std::string value = argument.value.empty() ? "" : " " + argument.value;
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n",
                     Roff(fmt::format("{}", fmt::join(argument.names, ", "))),
                     Roff(value),
                     Roff(argument.help));
}

// Appends the sections of a command and of those below it. @param name  "emplace graph info"
void AddSections(const CommandHelp& command, const std::string& name, std::string& page) {
  if (command.commands.empty()) {
    page += fmt::format(".SS {}\n{}\n", Roff(name), Roff(command.sentence));
    for (const ArgumentHelp& argument : command.arguments) {
      if (argument.names[0] != "--help") page += RoffArgument(argument);
    }
  }
  for (const CommandHelp& below : command.commands) {
    AddSections(below, name + " " + below.name, page);
  }
}

}  // namespace

std::string ManPage(const CommandHelp& program, const std::string& version) {
  std::string page = fmt::format(".TH EMPLACE 1 \"\" \"{}\"\n.SH NAME\n{} \\- {}\n",
                                 Roff(version.substr(0, version.find('\n'))),
                                 program.name,
                                 Roff(program.sentence));
  page += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR COMMAND [OPTIONS]\n.SH COMMANDS\n", program.name);
  AddSections(program, program.name, page);
  page += fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", Roff(program.footer));
  return page;
}

}  // namespace emplace
