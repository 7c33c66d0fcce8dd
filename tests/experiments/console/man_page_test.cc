#include "experiments/console/man_page.h"

#include <doctest/doctest.h>

namespace emplace {
namespace {

TEST_CASE("man page: sections of the commands, with roff's characters escaped") {
  const ArgumentHelp file{{"file"}, "FILE", ".json or a \\ path", true};
  const ArgumentHelp help{{"--help", "-h"}, "", "help", false};
  const CommandHelp info{"info", "Describes it", "", {help, file}, {}};
  const CommandHelp graph{"graph", "Reads", "", {}, {info}};
  const CommandHelp program{"painter", "Draws - well", "'exit' codes", {}, {graph}};
  CHECK(ManPage(program, "painter 1.2\nbuilt today") ==
        ".TH EMPLACE 1 \"\" \"painter 1.2\"\n"
        ".SH NAME\npainter \\- Draws \\- well\n"
        ".SH SYNOPSIS\n\\fBpainter\\fR COMMAND [OPTIONS]\n"
        ".SH COMMANDS\n"
        ".SS painter graph info\nDescribes it\n"
        ".TP\n\\fBfile\\fR FILE\n\\&.json or a \\e path\n"
        ".SH NOTES\n.nf\n\\&'exit' codes\n.fi\n");
}

}  // namespace
}  // namespace emplace
