#!/usr/bin/env bash
# Builds the image. `./dev image` is this.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

base=debian:bookworm-slim
tag=kimesh:latest
program=
certificates=/usr/local/share/ca-certificates

help() {
  cat <<'TEXT'
usage: ./dev image [--tag NAME] [--program FILE] [--certificates FOLDER]

builds the image and, where there are none, the keys of docker-compose.yml's nodes in docker/keys

  --tag NAME             name of the image (kimesh:latest)
  --program FILE         pack this kimesh, built on Debian 12, with the LibTorch that it loads,
                         instead of compiling in the image: seconds in place of minutes
  --certificates FOLDER  its *.crt are authorities that the image's build trusts, for networks that
                         look into TLS (/usr/local/share/ca-certificates, which may be empty)
TEXT
}

say() { printf 'image: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
refuse() { say "$*"; exit 2; }  # a wrong word, before anything is done

# What a registry would have given, from Debian itself. Interrupted, it leaves a temporary folder.
make_base() {
  [[ $(id -u) == 0 ]] && command -v debootstrap >/dev/null ||
    die "$base is not here and cannot be pulled. As root, with Debian's package debootstrap" \
      "installed, this script makes it."
  say "$base cannot be pulled: making it with debootstrap (about a minute)"
  local folder
  folder=$(mktemp -d)
  trap "rm -rf --one-file-system '$folder'" EXIT
  # A mirror may be away for a moment.
  debootstrap --variant=minbase bookworm "$folder/root" >&2 ||
    { sleep 10 && debootstrap --variant=minbase bookworm "$folder/again" >&2 &&
      rm -rf --one-file-system "$folder/root" && mv "$folder/again" "$folder/root"; } ||
    die "debootstrap failed twice; see above"
  rm -rf "$folder"/root/var/cache/apt/archives/*.deb "$folder"/root/var/lib/apt/lists/*
  tar -C "$folder/root" -c . | docker import -c 'CMD ["bash"]' - "$base" >/dev/null
  rm -rf --one-file-system "$folder"
}

have_base() {
  docker image inspect "$base" >/dev/null 2>&1 || docker pull --quiet "$base" >/dev/null 2>&1 ||
    make_base
}

build_from_source() {
  local extra
  extra=$(cat "$certificates"/*.crt 2>/dev/null || true)
  docker build --file docker/Dockerfile --tag "$tag" --build-arg "CERTIFICATES=$extra" . >&2
}

# The context is what the runtime stage copies, and nothing else.
build_around() {
  local context
  context=$(mktemp -d)
  trap "rm -rf '$context'" EXIT
  cp -r --parents dev configs docker/{Dockerfile,topologies} docker/*.sh "$context"
  docker/collect.sh "$1" "$context/image"
  docker build --file "$context/docker/Dockerfile" --tag "$tag" --build-arg PROGRAM=packed \
    "$context" >&2
  # Each build leaves its first stage with a copy of LibTorch. One that is going on elsewhere may
  # still need its own, so only old ones go.
  docker image prune --force --filter label=kimesh.program=packed --filter until=1h >/dev/null
}

# The keys of docker-compose.yml's nodes, once. The image makes them, and its user owns the secrets:
# compose mounts them as they are.
make_keys() {
  [[ ! -e docker/keys/public.yaml ]] || return 0
  mkdir -p docker/keys
  docker run --rm --network none --user root --entrypoint sh --volume "$PWD/docker/keys:/keys" \
    "$tag" -c 'kimesh keygen topologies/ring4.yaml --out /keys && chown kimesh /keys/*.secret' >&2
}

while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) help; exit 0 ;;
    --tag | --program | --certificates)
      [[ -n ${2:-} ]] || refuse "$1 lacks its value"
      [[ $1 != --program || -f $2 ]] || refuse "--program: there is no file $2"
      [[ $1 != --certificates || -d $2 ]] || refuse "--certificates: there is no folder $2"
      declare "${1#--}=$2"
      shift 2
      ;;
    *) say "there is no option $1"; help >&2; exit 2 ;;
  esac
done
docker info >/dev/null 2>&1 || die "\`docker info\` fails: install a container engine (Debian's" \
  "package docker.io), start it, and see that you may use it"
have_base
if [[ -n $program ]]; then build_around "$program"; else build_from_source; fi
make_keys
say "$tag: $(($(docker image inspect --format '{{.Size}}' "$tag") / 1000000)) MB"
