// A plugin is refused in one sentence, at the line of `library:`, whatever is wrong with it.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "kimesh/objective/plugin_model.h"
#include "kimesh/util/aligned_buffer.h"

namespace kimesh::plugin_test {
namespace {

std::string library(const std::string& name) {
  return KIMESH_PLUGINS "/" + name + ".so";
}

Places places() {
  Places places("run.yaml");
  places.set("model", 2);
  places.set("model.library", 3);
  return places;
}

// Of a library that breaks where `broken` says.
PluginMesh mesh_of(const std::string& broken) {
  return {
      {library("broken_plugin"), {{"unknown", ""}, {"break", broken}}}, places(), {0.25, 0.75}, 7};
}

// What is said of a library, with its path as LIBRARY; empty: nothing.
std::string said_of(const std::string& path) {
  const auto opened = open_plugin(path, places());
  EXPECT_EQ(opened.ok(), opened.value != nullptr);
  if (opened.ok()) return "";
  EXPECT_EQ(opened.problems.size(), 1u);
  std::string text = to_string(opened.problems.front());
  for (std::size_t at; (at = text.find(path)) != std::string::npos;)
    text.replace(at, path.size(), "LIBRARY");
  return text;
}

std::string without_path(std::string text) {
  const std::string path = library("broken_plugin");
  for (std::size_t at; (at = text.find(path)) != std::string::npos;)
    text.replace(at, path.size(), "LIBRARY");
  return text;
}

// Two vectors for one part.
struct Bound {
  explicit Bound(Objective& part) : parameters(part.layout().size()), gradient(parameters.size()) {
    part.initialise(parameters.span());
    part.bind(parameters.span(), gradient.span());
  }
  AlignedBuffer parameters, gradient;
};

// Seen to fail: a library that is not looked for before it is loaded.
TEST(Plugin, ALibraryThatIsNotThereOrNoneIsRefused) {
  EXPECT_EQ(said_of(library("nowhere")),
            "run.yaml:3: there is no file LIBRARY, which model.library asks for. Build it, or name "
            "another; a relative path counts from the config file's folder.");
  EXPECT_EQ(said_of(KIMESH_PLUGINS),
            "run.yaml:3: there is no file LIBRARY, which model.library asks for. Build it, or name "
            "another; a relative path counts from the config file's folder.");
  const std::string text = KIMESH_PLUGINS "/no_library.so";
  std::ofstream(text) << "this is text, and long enough for the loader to look at its first bytes";
  EXPECT_EQ(
      said_of(text),
      "run.yaml:3: LIBRARY cannot be loaded: invalid ELF header. Build it as a shared library for "
      "this machine, with all that it needs.");
}

// Seen to fail: open_plugin that looks at neither version, nor functions, nor name.
TEST(Plugin, ALibraryThatExportsSomethingElseIsRefused) {
  EXPECT_EQ(said_of(library("no_symbol_plugin")),
            "run.yaml:3: LIBRARY exports no kimesh_model. Define `const kimesh_plugin "
            "kimesh_model` as kimesh/objective/plugin.h says.");
  EXPECT_EQ(
      said_of(library("other_abi_plugin")),
      "run.yaml:3: LIBRARY was built for version 4711 of plugin.h, and this kimesh has version "
      "1. Build it again with this kimesh's header.");
  EXPECT_EQ(said_of(library("no_gradient_plugin")),
            "run.yaml:3: LIBRARY leaves gradient empty in its kimesh_model. All functions but "
            "evaluate have to be there.");
  EXPECT_EQ(said_of(library("no_name_plugin")),
            "run.yaml:3: LIBRARY has no name in its kimesh_model. Give it one of 1 to 200 "
            "characters from '!' to '~'.");
  EXPECT_EQ(said_of(library("broken_plugin")), "");
}

TEST(Plugin, WhatTheLibraryRefusesOrGetsWrongIsSaidBeforeTheRun) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"describe", "it was told to break in describe"},
      {"silent", "it does not say why"},
      {"tensors", "it has no tensor to train"},
      {"name", "tensor 0 has no name of 1 to 200 characters from '!' to '~'"},
      {"same", "two tensors are called 'w'"},
      {"shape", "'w' has a dimension of 0"},
      {"huge", "with 'huge' the tensors have over 2147483648 elements"},
      {"first_point", "it was told to break in first_point"},
      {"nan_point", "its first point is nan in tensor 'b'"}};
  for (const auto& [broken, why] : expected) {
    const auto mesh = make_plugin_mesh(mesh_of(broken));
    ASSERT_FALSE(mesh.ok()) << broken;
    EXPECT_EQ(mesh.error().code, ErrorCode::kUserInput);
    EXPECT_EQ(without_path(mesh.error().message), "run.yaml:3: LIBRARY: " + why + ".");
  }
}

TEST(Plugin, ANodeThatTheLibraryRefusesIsSaid) {
  const auto mesh = make_plugin_mesh(mesh_of("create"));
  ASSERT_TRUE(mesh.ok()) << mesh.error().message;
  EXPECT_TRUE((*mesh)->part(0).ok());
  const auto part = (*mesh)->part(1);
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().code, ErrorCode::kUserInput);
  EXPECT_EQ(without_path(part.error().message),
            "run.yaml:3: LIBRARY: it was told to break in create.");
}

// Seen to fail: a gradient that is not looked at.
TEST(Plugin, AGradientThatFailsOrIsNotFiniteIsAnError) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"gradient", "LIBRARY: it was told to break in gradient"},
      {"nan_gradient", "the gradient of tensor 'b' is nan"},
      {"nan_loss", "the plugin's loss is nan"},
      {"samples", "LIBRARY: a batch of no sample"}};
  for (const auto& [broken, why] : expected) {
    const auto mesh = make_plugin_mesh(mesh_of(broken));
    ASSERT_TRUE(mesh.ok()) << mesh.error().message;
    const auto part = (*mesh)->part(0);
    ASSERT_TRUE(part.ok()) << part.error().message;
    const Bound bound(**part);
    const auto gradient = (*part)->gradient(3);
    ASSERT_FALSE(gradient.ok()) << broken;
    EXPECT_EQ(without_path(gradient.error().message), why);
  }
}

TEST(Plugin, AnEvaluationOfMoreCorrectSamplesThanThereAreIsAnError) {
  const auto mesh = make_plugin_mesh(mesh_of("correct"));
  ASSERT_TRUE(mesh.ok()) << mesh.error().message;
  const auto part = (*mesh)->part(0);
  ASSERT_TRUE(part.ok()) << part.error().message;
  const Bound bound(**part);
  const auto numbers = (*part)->evaluate();
  ASSERT_FALSE(numbers.ok());
  EXPECT_EQ(without_path(numbers.error().message),
            "LIBRARY: an evaluation with 4 of 3 samples correct");
}

TEST(Plugin, GivesWhatTheLibraryGives) {
  const auto mesh = make_plugin_mesh(mesh_of("nothing"));
  ASSERT_TRUE(mesh.ok()) << mesh.error().message;
  const Layout& layout = (*mesh)->layout();
  ASSERT_EQ(layout.layers.size(), 2u);
  EXPECT_EQ(layout.layers[0].name, "w");
  EXPECT_EQ(layout.layers[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(layout.layers[1].offset, 6u);
  EXPECT_EQ(layout.size(), 8u);
  EXPECT_EQ((*mesh)->weights(), (std::vector<double>{0.25, 0.75}));
  EXPECT_TRUE((*mesh)->has_test_set());
  EXPECT_EQ((*mesh)->canonical(), "plugin broken\n");
  const auto part = (*mesh)->part(1);
  ASSERT_TRUE(part.ok()) << part.error().message;
  Bound bound(**part);
  EXPECT_THAT(bound.parameters.span(), testing::ElementsAre(7, 8, 9, 10, 11, 12, 13, 14));
  const auto gradient = (*part)->gradient(0);
  ASSERT_TRUE(gradient.ok()) << gradient.error().message;
  EXPECT_EQ(gradient->loss, 5);
  EXPECT_EQ(gradient->samples, 4u);
  EXPECT_THAT(bound.gradient.span(), testing::ElementsAre(14, 16, 18, 20, 22, 24, 26, 28));
  const EvaluationNumbers numbers = (*part)->evaluate().value();
  EXPECT_EQ(numbers.correct, 2u);
  EXPECT_EQ(numbers.samples, 3u);
  EXPECT_EQ(numbers.loss_sum, 1.5);
}

// Programs that bring their own agree on the parameters alone, and on no name. Seen to fail: the
// name told to them, too.
TEST(Plugin, BesideProgramsOfOnesOwnItsNameIsNotAgreedOn) {
  PluginMesh own = mesh_of("nothing");
  own.only_parameters = true;
  const auto mesh = make_plugin_mesh(std::move(own));
  ASSERT_TRUE(mesh.ok()) << mesh.error().message;
  EXPECT_EQ((*mesh)->canonical(), "");
}

}  // namespace
}  // namespace kimesh::plugin_test
