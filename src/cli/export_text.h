// The texts of the files that `kimesh export` writes. Pure.
#pragma once

#include <string>
#include <vector>

namespace kimesh::cli {

inline constexpr int kExportPort = 7101;  // of every node, each in its own container

struct ExportedFile {
  std::string name, text;
};
struct ExportedMesh {
  std::string image;
  std::vector<std::string> nodes;
  std::vector<ExportedFile> files;  // topology.yaml, config.yaml and what they name
};

// docker-compose.yml, for docker-compose 1.29 and compose 2, in a folder that holds `files` too.
[[nodiscard]] std::string compose_text(const ExportedMesh& mesh);
// kubernetes.yaml: a service by which pods find each other, a ConfigMap of `files`, and a
// StatefulSet whose pod number i is node i.
[[nodiscard]] std::string kubernetes_text(const ExportedMesh& mesh);

}  // namespace kimesh::cli
