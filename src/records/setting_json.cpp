#include "setting_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kimesh/compress/codecs.h"

namespace kimesh {
namespace {

bool is_flag(const ChoiceValue& field) {
  return field.names.size() == 2 && field.names[0] == "false" && field.names[1] == "true";
}

struct ToJson {
  Json operator()(const NumberValue& field) const { return number(field.value); }
  Json operator()(const WholeValue& field) const { return field.value; }
  Json operator()(const WholeListValue& field) const { return field.value; }
  Json operator()(const ChoiceValue& field) const {
    if (is_flag(field)) return field.index == 1;
    return std::string(field.names[field.index]);
  }
  template <typename Other>
  Json operator()(const Other&) const {
    check_failed(__FILE__, __LINE__, "key", "a number, a choice or a list of whole numbers");
  }
};

// Visits the keys of a setting, which has no sections and no maps.
class FlatKeys : public Keys {
 public:
  void section(Key, const std::function<void(Keys&)>&) override {}
  void word_or_section(Key, std::size_t&, const std::vector<std::string_view>&, std::string_view,
                       const std::function<void(Keys&)>&) override {}

 protected:
  void visit_entries(const Key&, const MapEntries&) override {}
};

// Writes all keys that are set.
class JsonWriter final : public FlatKeys {
 public:
  Json json;

 protected:
  void visit(const Key& key, const KeyValue& value, bool& is_set) override {
    if (is_set) json[std::string(key.name)] = std::visit(ToJson{}, value);
  }
  void visit_kind(const Key& key, const KindChoice& choice) override {
    json[std::string(key.name)] = choice.names[*choice.chosen];
    choice.describe(*choice.chosen, *this);
  }
};

// Fills a field from the object's value of this name, if there is one.
struct FromJson {
  FieldReader& fields;
  const char* name;

  void operator()(const NumberValue& field) const {
    double value = 0;
    fields.read(name, value);
    keep(field.range.holds(value), value, field.value);
  }
  void operator()(const WholeValue& field) const {
    std::uint64_t value = 0;
    fields.read(name, value);
    keep(field.range.holds(static_cast<double>(value)), static_cast<std::int64_t>(value),
         field.value);
  }
  void operator()(const WholeListValue& field) const {
    std::vector<std::uint32_t> values;
    fields.read(name, values);
    keep(values.size() <= field.count_max, {values.begin(), values.end()}, field.value);
  }
  void operator()(const ChoiceValue& field) const {
    if (is_flag(field)) {
      bool value = false;
      fields.read(name, value);
      field.index = value ? 1 : 0;
      return;
    }
    std::string text;
    fields.read(name, text);
    const auto found = std::ranges::find(field.names, text);
    if (found == field.names.end())
      return fields.complain(fmt::format("'{}' is no '{}'", text, name));
    field.index = static_cast<std::size_t>(found - field.names.begin());
  }
  template <typename Other>
  void operator()(const Other&) const {
    fields.complain(fmt::format("'{}' is of a kind that no decision has", name));
  }

 private:
  template <typename T>
  void keep(bool holds, T value, T& field) const {
    if (!fields.ok()) return;
    if (!holds) return fields.complain(fmt::format("'{}' is out of its range", name));
    field = std::move(value);
  }
};

class JsonReader final : public FlatKeys {
 public:
  explicit JsonReader(FieldReader& fields) : fields_(fields) {}
  bool is_given(std::string_view name) const override {
    return fields_.has(std::string(name).c_str());
  }

 protected:
  void visit(const Key& key, const KeyValue& value, bool& is_set) override {
    const std::string name(key.name);
    if (!fields_.has(name.c_str())) return;
    std::visit(FromJson{fields_, name.c_str()}, value);
    is_set = true;
  }
  void visit_kind(const Key& key, const KindChoice& choice) override {
    std::string text;
    fields_.read(std::string(key.name).c_str(), text);
    if (!fields_.ok()) return;
    const auto found = std::ranges::find(choice.names, text);
    if (found == choice.names.end())
      return fields_.complain(fmt::format("'{}' is no {}", text, key.name));
    const auto index = static_cast<std::size_t>(found - choice.names.begin());
    choice.choose(index);
    choice.describe(index, *this);
  }

 private:
  FieldReader& fields_;
};

Json written(Setting setting) {
  JsonWriter writer;
  describe(setting, writer);
  return std::move(writer.json);
}

}  // namespace

void put_setting(Json& json, const Setting& setting) {
  const Json all = written(setting);
  Setting fresh;
  if (setting.codec != nullptr) {
    fresh.codec = codecs().make(setting.codec->kind_name());
    fresh.budget = Budget::own();
  }
  const Json defaults = written(fresh);
  for (const auto& [name, value] : all.items())
    if (name == "compressor" || !defaults.contains(name) || defaults[name] != value)
      json[name] = value;
}

Setting read_setting(FieldReader& fields, std::span<const LayerSlice> layers) {
  Setting setting;
  JsonReader reader(fields);
  describe(setting, reader);
  if (!fields.ok()) return setting;
  std::vector<std::uint32_t> sizes;
  for (const LayerSlice& layer : layers) sizes.push_back(static_cast<std::uint32_t>(layer.size));
  if (std::string wrong = complaint_about(setting, sizes); !wrong.empty())
    fields.complain(std::move(wrong));
  return setting;
}

}  // namespace kimesh
