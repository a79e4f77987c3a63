// nlohmann's JSON without exceptions. Private to the layer.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "kimesh/records/parse_json.h"

namespace kimesh {

using Json = nlohmann::ordered_json;

// A number as JSON, which has no infinite numbers and no NaN: these become null.
inline Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}
inline Json number_or_null(const std::optional<double>& value) {
  return value ? number(*value) : Json(nullptr);
}

// The JSON as text, in which bytes that are not UTF-8 are replaced: error texts of a system may
// hold any bytes.
inline std::string text_of(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Reads the fields of an object and notes the first one that is missing or of another type.
class FieldReader {
 public:
  explicit FieldReader(const Json& object) : object_(object) {
    if (!object.is_object()) complaint_ = "it is no JSON object";
  }

  [[nodiscard]] bool ok() const { return complaint_.empty(); }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  void complain(std::string text) {
    if (ok()) complaint_ = std::move(text);
  }
  [[nodiscard]] bool has(const char* name) const {
    return object_.is_object() && object_.contains(name) && !object_.at(name).is_null();
  }

  void read(const char* name, std::string& out) {
    if (const Json* value = field(name, &Json::is_string)) out = value->get<std::string>();
  }
  void read(const char* name, bool& out) {
    if (const Json* value = field(name, &Json::is_boolean)) out = value->get<bool>();
  }
  void read(const char* name, double& out) {
    if (!has(name)) return complain(std::string("'") + name + "' is missing");
    const Json& value = object_.at(name);
    if (!value.is_number()) return complain(std::string("'") + name + "' is no number");
    out = value.get<double>();
  }
  // A number of which null says that it is unknown or was not finite: NaN. So do the texts that
  // earlier versions wrote.
  void read_or_nan(const char* name, double& out) {
    const bool there = object_.is_object() && object_.contains(name);
    if (!there || object_.at(name).is_number()) return read(name, out);
    const Json& value = object_.at(name);
    const bool is_unknown = value.is_null() || value == "nan" || value == "inf" || value == "-inf";
    if (!is_unknown) return complain(std::string("'") + name + "' is no number");
    out = std::numeric_limits<double>::quiet_NaN();
  }
  template <typename T>
  requires std::unsigned_integral<T>
  void read(const char* name, T& out) {
    const Json* value = field(name, &Json::is_number_unsigned);
    if (value == nullptr) return;
    const auto wide = value->get<std::uint64_t>();
    if (wide > std::numeric_limits<T>::max()) return complain(std::string(name) + " is too large");
    out = static_cast<T>(wide);
  }
  template <typename T>
  void read(const char* name, std::vector<T>& out) {
    const Json* value = field(name, &Json::is_array);
    if (value == nullptr) return;
    for (const Json& item : *value) {
      const bool fits =
          item.is_number_unsigned() && item.get<std::uint64_t>() <= std::numeric_limits<T>::max();
      if (!fits) return complain(std::string("'") + name + "' holds what is no such number");
      out.push_back(item.get<T>());
    }
  }
  // The text of an object field.
  [[nodiscard]] std::string text_of_object(const char* name) {
    const Json* value = field(name, &Json::is_object);
    return value == nullptr ? std::string() : text_of(*value);
  }
  // A field that is null or absent leaves `out` empty.
  template <typename T>
  void read(const char* name, std::optional<T>& out) {
    if (has(name)) read(name, out.emplace());
  }
  void read(const char* name, std::optional<double>& out) {
    if (!has(name)) return;
    read_or_nan(name, out.emplace());
    if (std::isnan(*out)) out.reset();
  }
  // Null where the field is missing or no list.
  [[nodiscard]] const Json* list(const char* name) { return field(name, &Json::is_array); }

 private:
  using Kind = bool (Json::*)() const noexcept;
  const Json* field(const char* name, Kind is_kind) {
    if (!ok()) return nullptr;
    if (has(name) && (object_.at(name).*is_kind)()) return &object_.at(name);
    complain(std::string("'") + name + "' is missing or of another kind");
    return nullptr;
  }

  const Json& object_;
  std::string complaint_;
};

}  // namespace kimesh
