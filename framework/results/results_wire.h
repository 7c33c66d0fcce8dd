#pragma once

// The content of a results file, and its bytes between the process that reads the file and the one
// that asks. The asking process trusts no byte: FromWire() checks every size, tag and count.
// Internal to framework/results.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "framework/results/results_file.h"

namespace emplace::internal {

/// Rows one after another; more than 0 columns.
struct IntMatrix {
  std::uint64_t columns = 1;
  std::vector<std::int64_t> values;
};

/// The values of a dataset.
using StoredValues = std::variant<std::vector<std::int64_t>,
                                  std::vector<double>,
                                  std::vector<std::string>,
                                  IntMatrix,
                                  std::vector<TableColumn>>;

/// Datasets in the order of StoredValues; kOther stands for kinds that ResultsFile does not write.
enum class StoredKind : std::uint8_t {
  kInts,
  kDoubles,
  kTexts,
  kIntMatrix,
  kTable,
  kGroup,
  kOther
};

struct StoredAttribute {
  std::string name;
  std::variant<std::int64_t, double, std::string, std::monostate>
      value;  ///< the last: another kind
};

/// A group or dataset.
struct StoredObject {
  std::string path;  ///< "/" or "/problem/seeds"
  StoredKind kind = StoredKind::kOther;
  std::vector<StoredAttribute> attributes;
  std::vector<StoredValues>
      values;  ///< of a dataset of few numbers: one; otherwise: none, ask for them
};

template <class W>
void Parts(W& wire, IntMatrix& matrix) {
  wire(matrix.columns), wire(matrix.values);
}
template <class W>
void Parts(W& wire, TableColumn& column) {
  wire(column.name), wire(column.values);
}
template <class W>
void Parts(W& wire, StoredAttribute& attribute) {
  wire(attribute.name), wire(attribute.value);
}
template <class W>
void Parts(W& wire, StoredObject& object) {
  wire(object.path), wire(object.kind), wire(object.attributes), wire(object.values);
}

/// Writes values as bytes, or reads them back. After a failure it reads zeros and empty lists.
class Wire {
 public:
  Wire() = default;
  explicit Wire(std::string_view bytes) : left_(bytes), reads_(true) {}

  template <class T>
  void operator()(T& part) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      Copy(&part, sizeof part);
    } else {
      Parts(*this, part);
    }
  }
  void operator()(std::string& text) { List(text); }
  template <class T>
  void operator()(std::vector<T>& list) {
    List(list);
  }
  template <class... Ts>
  void operator()(std::variant<Ts...>& value) {
    auto tag = static_cast<std::uint8_t>(value.index());
    (*this)(tag);
    if (tag >= sizeof...(Ts)) return Fail();
    std::uint8_t index = 0;
    if (reads_) ((index++ == tag ? void(value.template emplace<Ts>()) : void()), ...);
    std::visit(*this, value);
  }
  void operator()(std::monostate&) {}

  /// Returns all that was written.
  std::string Take() { return std::move(written_); }
  /// Returns whether all bytes were read, and every size and tag was right.
  bool IsWhole() const { return !failed_ && left_.empty(); }

 private:
  template <class Elements>
  void List(Elements& list) {
    using Element = typename Elements::value_type;
    constexpr size_t kLeast = std::min<size_t>(sizeof(Element), 8);  // bytes of an element, or more
    std::uint64_t size = list.size();
    (*this)(size);
    if (reads_) {
      if (size > left_.size() / kLeast) return Fail();
      list.resize(size);
    }
    if constexpr (std::is_arithmetic_v<Element>) {
      Copy(list.data(), size * sizeof(Element));
    } else {
      for (Element& element : list) (*this)(element);
    }
  }

  void Copy(void* data, size_t size) {
    if (!reads_) {
      written_.append(static_cast<const char*>(data), size);
    } else if (size > left_.size()) {
      std::memset(data, 0, size);
      Fail();
    } else {
      if (size > 0) std::memcpy(data, left_.data(), size);
      left_.remove_prefix(size);
    }
  }

  void Fail() {
    failed_ = true;
    left_ = {};
  }

  std::string written_;
  std::string_view left_;
  bool reads_ = false, failed_ = false;
};

template <class T>
std::string ToWire(T value) {
  Wire wire;
  wire(value);
  return wire.Take();
}

/// Returns nothing if the bytes do not form a T.
template <class T>
std::optional<T> FromWire(std::string_view bytes) {
  Wire wire(bytes);
  T value;
  wire(value);
  return wire.IsWhole() ? std::optional<T>(std::move(value)) : std::nullopt;
}

}  // namespace emplace::internal
