// Implements framework/ranks/communicator.h with MPI, and the entry of the module
// (framework/ranks/mpi_module.h).

#include <climits>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <mpi.h>

#include "framework/base/error.h"
#include "framework/ranks/communicator.h"
#include "framework/ranks/mpi_module.h"

namespace emplace {
namespace {

void Check(int result, const char* what) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw RunError(std::string("MPI: ") + what + ": " + std::string(text, length));
}

int RequireInt(std::uint64_t bytes) {
  if (bytes <= INT_MAX) return static_cast<int>(bytes);
  throw RunError("MPI: a message of " + std::to_string(bytes) + " bytes; at most " +
                 std::to_string(INT_MAX));
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    // One thread at a time calls collectives, but not always the same thread.
    int provided = MPI_THREAD_SINGLE;
    Check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "beginning");
    if (provided < MPI_THREAD_SERIALIZED) throw RunError("MPI: it allows one thread only");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    Check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "asking for the rank");
    Check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "asking for the size");
  }
  ~MpiCommunicator() override { MPI_Finalize(); }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void Broadcast(std::vector<std::byte>& bytes) override {
    std::uint64_t length = bytes.size();
    Check(MPI_Bcast(&length, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD), "a broadcast");
    const int count = RequireInt(length);  // the same on all ranks
    bytes.resize(length);
    Check(MPI_Bcast(bytes.data(), count, MPI_BYTE, 0, MPI_COMM_WORLD), "a broadcast");
  }

  // Gathers the lengths first, then that number of bytes.
  Gathered AllGather(std::span<const std::byte> mine) override {
    const std::uint64_t length = mine.size();
    std::vector<std::uint64_t> lengths(size_);
    Check(MPI_Allgather(&length, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD),
          "gathering");
    Gathered all{{}, {0}};
    std::vector<int> counts, begins;
    for (const std::uint64_t theirs : lengths) {
      begins.push_back(RequireInt(all.begin.back()));
      all.begin.push_back(all.begin.back() + theirs);
      RequireInt(all.begin.back());
      counts.push_back(RequireInt(theirs));
    }
    all.bytes.resize(all.begin.back());
    Check(MPI_Allgatherv(mine.data(),
                         counts[rank_],
                         MPI_BYTE,
                         all.bytes.data(),
                         counts.data(),
                         begins.data(),
                         MPI_BYTE,
                         MPI_COMM_WORLD),
          "gathering");
    return all;
  }

 private:
  int rank_ = 0, size_ = 1;
};

std::unique_ptr<Communicator> JoinMpi() {
  return std::make_unique<MpiCommunicator>();
}

}  // namespace
}  // namespace emplace

extern "C" const emplace::MpiModule* EmplaceMpiModule() {
  static const emplace::MpiModule module = {emplace::kRanksStamp, &emplace::JoinMpi};
  return &module;
}
