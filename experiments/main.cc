#include "experiments/program.h"

int main(int argc, char** argv) {
  return emplace::RunProgram(argc, argv);
}
