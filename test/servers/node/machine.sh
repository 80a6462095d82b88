#!/bin/bash
# The node itself, as the first process of its own mount and process namespaces: everything in them ends with it. It is not the
# kubelet that is first, which would not collect the processes that others leave to it.
set -eu
cd "$NODE_FOLDER"

# Volumes that the kubelet mounts later must appear in containers that run already.
mount --make-rshared /
for each in /run /var/lib /var/log; do mount -t tmpfs -o mode=755 tmpfs "$each"; done
mkdir -p /var/lib/cni

# The kubelet and the network plugin set these for the whole machine; here they write to files.
for each in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1 net/ipv4/ip_forward=1; do
  file=/run/$(basename "${each%=*}")
  echo "${each#*=}" > "$file"
  mount --bind "$file" "/proc/sys/${each%=*}"
done

containerd --config containerd.toml > containerd.log 2>&1 &
until ctr --address /run/containerd.sock version > /dev/null 2>&1; do sleep 0.1; done
for each in $IMAGE_ARCHIVES; do ctr --address /run/containerd.sock --namespace k8s.io images import "$each" > /dev/null; done
"$KUBELET" --config=kubelet.json --kubeconfig=kubeconfig --root-dir=/var/lib/kubelet --cert-dir=/var/lib/kubelet/pki \
  --hostname-override="$NODE_ADDRESS" --v=2 > kubelet.log 2>&1 &
echo $! > kubelet.pid
wait
