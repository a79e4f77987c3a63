// The texts of the files that `kimesh export` writes. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kimesh::cli {

inline constexpr int kExportPort = 7101;            // of every node, each in its own container
inline constexpr int kImageUser = 10001;            // `kimesh` of docker/Dockerfile
inline constexpr const char* kExportKeys = "keys";  // folder of the keys, beside the files

struct ExportedFile {
  std::string name, text;
};
struct ExportedMesh {
  std::string name = "kimesh";  // of Kubernetes' objects
  std::string image;
  std::uint64_t memory_bytes = 0, disk_bytes = 0;  // limits of a node
  std::vector<std::string> nodes;
  std::vector<ExportedFile> files;  // topology.yaml, config.yaml and what they name
  std::vector<std::string> inputs;  // paths of the user's files that those are made of
  bool is_encrypted = true;         // a container sees its own secret key and the list
  std::string user;  // UID:GID of compose's containers, who reads the keys; empty: the image's
};

// docker-compose.yml, for docker-compose 1.29 and compose 2, in a folder that holds `files` too.
[[nodiscard]] std::string compose_text(const ExportedMesh& mesh);
// kubernetes.yaml: a service by which pods find each other, a ConfigMap of `files`, and a
// StatefulSet whose pod number i is node i. The keys are in a Secret that kubectl makes of their
// folder: the text may go where secrets must not.
[[nodiscard]] std::string kubernetes_text(const ExportedMesh& mesh);

}  // namespace kimesh::cli
