#include "export_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "kimesh/mesh/keys.h"
#include "kimesh/round/core.h"

namespace kimesh::cli {
namespace {

// The memory that a pod requests of its machine. Most models need less than the pod's limit.
constexpr std::uint64_t kRequestedMebibytes = 512;
// From the word to stop to the kill.
constexpr std::int64_t kGraceSeconds = std::chrono::ceil<std::chrono::seconds>(kTimeToStop).count();

// As compose's files have them for a container. The kernel counts the threads of a user on a
// machine, and not those in a pod: there is room for 16 pods, so that none fails for others.
constexpr int kDescriptorsMax = 8192;
constexpr int kThreadsMax = 16 * 512;

// Rounds up.
std::uint64_t mebibytes(std::uint64_t bytes) {
  constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
  return (bytes + kMebibyte - 1) / kMebibyte;
}

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
{user}  stop_grace_period: {grace}s
  # A node that dies is started again with all others, and they go on from their newest checkpoint.
  restart: on-failure:5
  read_only: true
  tmpfs: ["/run/kimesh:size=1m,mode=1777"]
  cap_drop: [ALL]
  security_opt: ["no-new-privileges:true"]
  mem_limit: "${{KIMESH_MEMORY:-{memory}m}}"
  pids_limit: 512
  ulimits: {{nofile: 8192, core: 0}}
  logging: {{driver: json-file, options: {{max-size: 10m, max-file: "3"}}}}

x-environment: &environment
  KIMESH_TOPOLOGY: mesh/topology.yaml
  KIMESH_CONFIG: mesh/config.yaml
  KIMESH_RESTARTED: "1"
{keys}
services:
)";
constexpr const char* kComposeService = R"(  "{name}":
    <<: *node
    environment: {{<<: *environment, KIMESH_NODE: "{name}"}}
{secrets}    volumes:
{files}    - "runs-{name}:/kimesh/runs"
)";

constexpr const char* kKubernetesService = R"(# Written by `kimesh export kubernetes`. Start it with
{make_secret}#   kubectl apply --server-side -f kubernetes.yaml
# A pod that has trained stays until it is deleted, and trains no more where it is started anew:
# `kubectl cp {name}-0:/kimesh/runs runs` fetches what it left.
apiVersion: v1
kind: Service
metadata:
  name: {name}
spec:
  clusterIP: None
  # Nodes find each other before any of them is ready.
  publishNotReadyAddresses: true
  selector: {{app: {name}}}
  ports:
  - {{name: mesh, port: {port}}}
---
# Nodes talk to each other, and to whom knows their names.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {name}
spec:
  podSelector: {{matchLabels: {{app: {name}}}}}
  policyTypes: [Ingress, Egress]
  ingress:
  - from: [{{podSelector: {{matchLabels: {{app: {name}}}}}}}]
    ports: [{{port: {port}}}]
  egress:
  - to: [{{podSelector: {{matchLabels: {{app: {name}}}}}}}]
    ports: [{{port: {port}}}]
  - ports: [{{port: 53, protocol: UDP}}, {{port: 53, protocol: TCP}}]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
)";
constexpr const char* kKubernetesSet = R"(---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {name}
spec:
  serviceName: {name}
  replicas: {replicas}
  # All at once: each waits for the others.
  podManagementPolicy: Parallel
  selector:
    matchLabels: {{app: {name}}}
  template:
    metadata:
      labels: {{app: {name}}}
    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: {grace}
      securityContext:
        runAsNonRoot: true
        runAsUser: {user}
        runAsGroup: {user}
        fsGroup: {user}
        seccompProfile: {{type: RuntimeDefault}}
      containers:
      - name: kimesh
        image: {image}
        imagePullPolicy: IfNotPresent
        env:
        # Pod {name}-0 is the first of these, and so on.
        - {{name: KIMESH_NODES, value: "{nodes}"}}
        - {{name: KIMESH_TOPOLOGY, value: mesh/topology.yaml}}
        - {{name: KIMESH_CONFIG, value: mesh/config.yaml}}
{keys_environment}        # A node that fails is started again, and goes on from its checkpoint.
        - {{name: KIMESH_RESTARTED, value: "1"}}
        # Kubernetes would start a pod anew that has come to its end.
        - {{name: KIMESH_STAY, value: "1"}}
        # The entrypoint lowers its limits to these: descriptors of a process, and threads of all
        # pods of this user on a machine. Only the kubelet limits the threads of one pod
        # (podPidsLimit; 512 are enough) and the size of its log.
        - {{name: KIMESH_DESCRIPTORS, value: "{descriptors}"}}
        - {{name: KIMESH_THREADS, value: "{threads}"}}
        ports:
        - {{name: mesh, containerPort: {port}}}
        resources:
          requests: {{cpu: 500m, memory: {requested}Mi}}
          limits: {{memory: {memory}Mi, ephemeral-storage: 256Mi}}
        # By progress: what the node waits for, and how long that may take.
        livenessProbe:
          exec: {{command: [healthy.sh]}}
          initialDelaySeconds: 10
          periodSeconds: 10
          timeoutSeconds: 5
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {{drop: [ALL]}}
        volumeMounts:
        - {{name: mesh, mountPath: /kimesh/mesh, readOnly: true}}
        - {{name: runs, mountPath: /kimesh/runs}}
        - {{name: health, mountPath: /run/kimesh}}
{keys_mount}      volumes:
      - name: mesh
        configMap: {{name: {name}}}
      - name: health
        emptyDir: {{medium: Memory, sizeLimit: 1Mi}}
{keys_volume}  volumeClaimTemplates:
  - metadata:
      name: runs
    spec:
      accessModes: [ReadWriteOnce]
      resources:
        requests: {{storage: {disk}Mi}}
)";

constexpr const char* kKeysEnvironment = R"(        - {name: KIMESH_KEYS, value: /kimesh/keys}
        - name: KIMESH_POD
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
)";
// A pod sees the folder of its own name only.
constexpr const char* kKeysMount =
    "        - {name: keys, mountPath: /kimesh/keys, subPathExpr: $(KIMESH_POD), readOnly: true}\n";
constexpr const char* kKeysVolume = R"(      - name: keys
        secret:
          secretName: {name}
          defaultMode: 256  # 0400: its owner is root, and the pod's group may read it
          items:
)";

std::string keys_volume(const ExportedMesh& mesh) {
  std::string text = fmt::format(kKeysVolume, fmt::arg("name", mesh.name));
  for (std::size_t i = 0; i < mesh.nodes.size(); ++i)
    for (const std::string& file : {secret_key_file(mesh.nodes[i]), std::string(kPublicKeysFile)})
      text +=
          fmt::format("          - {{key: \"{0}\", path: \"{1}-{2}/{0}\"}}\n", file, mesh.name, i);
  return text;
}

}  // namespace

std::string compose_text(const ExportedMesh& mesh) {
  using fmt::arg;
  std::string text =
      fmt::format(kComposeHead, arg("image", quoted(mesh.image, true)),
                  arg("memory", mebibytes(mesh.memory_bytes)), arg("grace", kGraceSeconds),
                  arg("user", mesh.user.empty() ? "" : fmt::format("  user: \"{}\"\n", mesh.user)),
                  arg("keys", mesh.is_encrypted ? "  KIMESH_KEYS: /run/secrets\n" : ""));
  std::string files;
  for (const ExportedFile& file : mesh.files)
    files += fmt::format("    - \"./{0}:/kimesh/mesh/{0}:ro\"\n", file.name);
  for (const std::string& name : mesh.nodes) {
    const std::string secrets =
        fmt::format("    secrets: [\"{}\", {}]\n", secret_key_file(name), kPublicKeysFile);
    text += fmt::format(kComposeService, arg("name", name), arg("files", files),
                        arg("secrets", mesh.is_encrypted ? secrets : ""));
  }
  text += "\nvolumes:\n";
  for (const std::string& name : mesh.nodes) text += fmt::format("  \"runs-{}\":\n", name);
  if (!mesh.is_encrypted) return text;
  text += "\nsecrets:\n";
  for (const std::string& name : mesh.nodes)
    text += fmt::format("  \"{0}\": {{file: \"{1}/{0}\"}}\n", secret_key_file(name), kExportKeys);
  return text + fmt::format("  {0}: {{file: {1}/{0}}}\n", kPublicKeysFile, kExportKeys);
}

std::string kubernetes_text(const ExportedMesh& mesh) {
  using fmt::arg;
  const std::string make_secret =
      fmt::format("#   kubectl create secret generic {} --from-file={}\n", mesh.name, kExportKeys);
  std::string text =
      fmt::format(kKubernetesService, arg("name", mesh.name), arg("port", kExportPort),
                  arg("make_secret", mesh.is_encrypted ? make_secret : ""));
  for (const ExportedFile& file : mesh.files)
    text += fmt::format("  {}: |2\n{}", file.name, indented(file.text, 4));
  return text +
         fmt::format(kKubernetesSet, arg("name", mesh.name), arg("replicas", mesh.nodes.size()),
                     arg("user", kImageUser), arg("grace", kGraceSeconds),
                     arg("image", quoted(mesh.image, false)), arg("descriptors", kDescriptorsMax),
                     arg("threads", kThreadsMax), arg("nodes", fmt::join(mesh.nodes, " ")),
                     arg("port", kExportPort), arg("memory", mebibytes(mesh.memory_bytes)),
                     arg("requested", std::min(mebibytes(mesh.memory_bytes), kRequestedMebibytes)),
                     arg("disk", mebibytes(mesh.disk_bytes)),
                     arg("keys_environment", mesh.is_encrypted ? kKeysEnvironment : ""),
                     arg("keys_mount", mesh.is_encrypted ? kKeysMount : ""),
                     arg("keys_volume", mesh.is_encrypted ? keys_volume(mesh) : ""));
}

}  // namespace kimesh::cli
