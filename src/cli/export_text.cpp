#include "export_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

namespace kimesh::cli {
namespace {

// The user `kimesh` of docker/Dockerfile.
constexpr int kImageUser = 10001;

// A YAML string in quotes. Only the name of the image comes from the user. Compose takes $ for the
// beginning of a variable.
std::string quoted(const std::string& text, bool for_compose) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '$' && for_compose) out += '$';
    out += c;
  }
  return out + "\"";
}

std::string indented(const std::string& text, std::size_t columns) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    out += (line.empty() ? "" : std::string(columns, ' ') + line) + "\n";
  return out;
}

// Names are in quotes, since one may be `no` or `1`.
constexpr const char* kComposeHead = R"(# Written by `kimesh export compose`. Start it with
#   docker-compose up
# Each node leaves its files in a volume: `docker cp CONTAINER:/kimesh/runs .` fetches them.
x-node: &node
  image: {image}
  stop_grace_period: 30s

x-environment: &environment
  KIMESH_TOPOLOGY: mesh/topology.yaml
  KIMESH_CONFIG: mesh/config.yaml

services:
)";
constexpr const char* kComposeService = R"(  "{name}":
    <<: *node
    environment: {{<<: *environment, KIMESH_NODE: "{name}"}}
    volumes: [".:/kimesh/mesh:ro", "runs-{name}:/kimesh/runs"]
)";

constexpr const char* kKubernetesService = R"(# Written by `kimesh export kubernetes`. Start it with
#   kubectl apply -f kubernetes.yaml
# A pod that has trained stays until it is deleted: `kubectl cp kimesh-0:/kimesh/runs runs` fetches
# what it left.
apiVersion: v1
kind: Service
metadata:
  name: kimesh
spec:
  clusterIP: None
  # Nodes find each other before any of them is ready.
  publishNotReadyAddresses: true
  selector: {{app: kimesh}}
  ports:
  - {{name: mesh, port: {port}}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: kimesh
data:
)";
constexpr const char* kKubernetesSet = R"(---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: kimesh
spec:
  serviceName: kimesh
  replicas: {replicas}
  # All at once: each waits for the others.
  podManagementPolicy: Parallel
  selector:
    matchLabels: {{app: kimesh}}
  template:
    metadata:
      labels: {{app: kimesh}}
    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 30
      securityContext:
        runAsNonRoot: true
        runAsUser: {user}
        runAsGroup: {user}
        fsGroup: {user}
      containers:
      - name: kimesh
        image: {image}
        imagePullPolicy: IfNotPresent
        env:
        # Pod kimesh-0 is the first of these, and so on.
        - {{name: KIMESH_NODES, value: "{nodes}"}}
        - {{name: KIMESH_TOPOLOGY, value: mesh/topology.yaml}}
        - {{name: KIMESH_CONFIG, value: mesh/config.yaml}}
        # Kubernetes would start a pod anew that has come to its end.
        - {{name: KIMESH_STAY, value: "1"}}
        ports:
        - {{name: mesh, containerPort: {port}}}
        resources:
          requests: {{cpu: 500m, memory: 512Mi}}
        securityContext:
          allowPrivilegeEscalation: false
          capabilities: {{drop: [ALL]}}
        volumeMounts:
        - {{name: mesh, mountPath: /kimesh/mesh, readOnly: true}}
        - {{name: runs, mountPath: /kimesh/runs}}
      volumes:
      - name: mesh
        configMap: {{name: kimesh}}
  volumeClaimTemplates:
  - metadata:
      name: runs
    spec:
      accessModes: [ReadWriteOnce]
      resources:
        requests: {{storage: 1Gi}}
)";

}  // namespace

std::string compose_text(const ExportedMesh& mesh) {
  using fmt::arg;
  std::string text = fmt::format(kComposeHead, arg("image", quoted(mesh.image, true)));
  for (const std::string& name : mesh.nodes)
    text += fmt::format(kComposeService, arg("name", name));
  text += "\nvolumes:\n";
  for (const std::string& name : mesh.nodes) text += fmt::format("  \"runs-{}\":\n", name);
  return text;
}

std::string kubernetes_text(const ExportedMesh& mesh) {
  using fmt::arg;
  std::string text = fmt::format(kKubernetesService, arg("port", kExportPort));
  for (const ExportedFile& file : mesh.files)
    text += fmt::format("  {}: |2\n{}", file.name, indented(file.text, 4));
  return text + fmt::format(kKubernetesSet, arg("replicas", mesh.nodes.size()),
                            arg("user", kImageUser), arg("image", quoted(mesh.image, false)),
                            arg("nodes", fmt::join(mesh.nodes, " ")), arg("port", kExportPort));
}

}  // namespace kimesh::cli
