// What the sanitizers are there for, once each: were one not at work, all other tests would pass
// and say nothing.

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

int Race() {
  int count = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) ++count;
  });
  for (int i = 0; i < 1000; ++i) ++count;
  other.join();
  return count;
}

int Overflow(int number) {
  return number + INT_MAX;
}

int ReadPastTheEnd(int size) {
  volatile char* bytes = static_cast<char*>(std::calloc(size, 1));
  const char beyond = bytes[size];
  std::free(const_cast<char*>(bytes));
  return beyond;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int result = 0;
  if (std::strcmp(argv[1], "race") == 0) result = Race();
  if (std::strcmp(argv[1], "overflow") == 0) result = Overflow(argc);
  if (std::strcmp(argv[1], "past_the_end") == 0) result = ReadPastTheEnd(argc);
  std::printf("not noticed: %d\n", result);
}
