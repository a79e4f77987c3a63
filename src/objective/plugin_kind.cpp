// kind: plugin, as a config names it.
#include "kimesh/config/keys.h"
#include "kimesh/objective/model_kind.h"
#include "kimesh/objective/plugin_model.h"

namespace kimesh {
namespace {

constexpr ListRule kOptions{0, 100, "texts by name", "{rows: 20}"};

class PluginKind final : public ModelKind {
 public:
  void describe(Keys& keys) override {
    keys.require("library", "library: with the path of a shared library, such as ./mine.so");
    keys.path("library", plugin_.library,
              "shared library that exports what kimesh/objective/plugin.h says");
    keys.text_pairs("options", plugin_.options, kOptions, "what the library is told");
  }

  [[nodiscard]] const PluginOptions* plugin() const override { return &plugin_; }

  [[nodiscard]] std::shared_ptr<NeuralNetwork> make_network(const SampleShape&) const override {
    KIMESH_CHECK(false, "a library computes, and there is no network");
    return nullptr;
  }

 private:
  PluginOptions plugin_;
};

}  // namespace

void add_plugin_model() {
  static const bool once = [] {
    model_kinds().add({"plugin",
                       "a shared library of one's own, which brings model, data and gradients",
                       make_options<PluginKind, ModelKind>});
    return true;
  }();
  (void)once;
}

}  // namespace kimesh
