#include "export_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "kimesh/mesh/keys.h"

namespace kimesh::cli {
namespace {

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
{user}  stop_grace_period: 30s
  # A node that dies is started again with all others, and they go on from their newest checkpoint.
  restart: on-failure:5
  read_only: true
  tmpfs: ["/run/kimesh:size=1m,mode=1777"]
  cap_drop: [ALL]
  security_opt: ["no-new-privileges:true"]
  mem_limit: "${{KIMESH_MEMORY:-4g}}"
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
{make_secret}#   kubectl apply -f kubernetes.yaml
# A pod that has trained stays until it is deleted, and trains no more where it is started anew:
# `kubectl cp kimesh-0:/kimesh/runs runs` fetches what it left.
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
# Nodes talk to each other, and to whom knows their names.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: kimesh
spec:
  podSelector: {{matchLabels: {{app: kimesh}}}}
  policyTypes: [Ingress, Egress]
  ingress:
  - from: [{{podSelector: {{matchLabels: {{app: kimesh}}}}}}]
    ports: [{{port: {port}}}]
  egress:
  - to: [{{podSelector: {{matchLabels: {{app: kimesh}}}}}}]
    ports: [{{port: {port}}}]
  - ports: [{{port: 53, protocol: UDP}}, {{port: 53, protocol: TCP}}]
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
        seccompProfile: {{type: RuntimeDefault}}
      containers:
      - name: kimesh
        image: {image}
        imagePullPolicy: IfNotPresent
        env:
        # Pod kimesh-0 is the first of these, and so on.
        - {{name: KIMESH_NODES, value: "{nodes}"}}
        - {{name: KIMESH_TOPOLOGY, value: mesh/topology.yaml}}
        - {{name: KIMESH_CONFIG, value: mesh/config.yaml}}
{keys_environment}        # A node that fails is started again, and goes on from its checkpoint.
        - {{name: KIMESH_RESTARTED, value: "1"}}
        # Kubernetes would start a pod anew that has come to its end.
        - {{name: KIMESH_STAY, value: "1"}}
        ports:
        - {{name: mesh, containerPort: {port}}}
        resources:
          requests: {{cpu: 500m, memory: 512Mi}}
          limits: {{memory: 4Gi, ephemeral-storage: 256Mi}}
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
        configMap: {{name: kimesh}}
      - name: health
        emptyDir: {{medium: Memory, sizeLimit: 1Mi}}
{keys_volume}  volumeClaimTemplates:
  - metadata:
      name: runs
    spec:
      accessModes: [ReadWriteOnce]
      resources:
        requests: {{storage: 1Gi}}
)";

constexpr const char* kMakeSecret = "#   kubectl create secret generic kimesh --from-file=keys\n";
constexpr const char* kKeysEnvironment = R"(        - {name: KIMESH_KEYS, value: /kimesh/keys}
        - name: KIMESH_POD
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
)";
// A pod sees the folder of its own name only.
constexpr const char* kKeysMount =
    "        - {name: keys, mountPath: /kimesh/keys, subPathExpr: $(KIMESH_POD), readOnly: true}\n";
constexpr const char* kKeysVolume = R"(      - name: keys
        secret:
          secretName: kimesh
          defaultMode: 256  # 0400: its owner is root, and the pod's group may read it
          items:
)";

std::string keys_volume(const std::vector<std::string>& nodes) {
  std::string text = kKeysVolume;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const std::string& file : {secret_key_file(nodes[i]), std::string(kPublicKeysFile)})
      text += fmt::format("          - {{key: \"{0}\", path: \"kimesh-{1}/{0}\"}}\n", file, i);
  return text;
}

}  // namespace

std::string compose_text(const ExportedMesh& mesh) {
  using fmt::arg;
  std::string text =
      fmt::format(kComposeHead, arg("image", quoted(mesh.image, true)),
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
  std::string text = fmt::format(kKubernetesService, arg("port", kExportPort),
                                 arg("make_secret", mesh.is_encrypted ? kMakeSecret : ""));
  for (const ExportedFile& file : mesh.files)
    text += fmt::format("  {}: |2\n{}", file.name, indented(file.text, 4));
  return text + fmt::format(kKubernetesSet, arg("replicas", mesh.nodes.size()),
                            arg("user", kImageUser), arg("image", quoted(mesh.image, false)),
                            arg("nodes", fmt::join(mesh.nodes, " ")), arg("port", kExportPort),
                            arg("keys_environment", mesh.is_encrypted ? kKeysEnvironment : ""),
                            arg("keys_mount", mesh.is_encrypted ? kKeysMount : ""),
                            arg("keys_volume", mesh.is_encrypted ? keys_volume(mesh.nodes) : ""));
}

}  // namespace kimesh::cli
