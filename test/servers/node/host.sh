#!/bin/bash
# Runs a node until standard input ends, then removes everything that it has outside its namespaces. The process that starts
# it holds the other end of the input, so the node ends with it, however it ends.
#
# NODE_NAME names the bridge and the cgroups, GATEWAY is the bridge's address, NODE_FOLDER has the configuration.
set -u

nat() { iptables --wait --table nat "$1" PREROUTING --in-interface "$NODE_NAME" --protocol tcp "${@:2}"; }
api_server=(--destination "$API_ADDRESS" --dport 443 --jump DNAT --to-destination "127.0.0.1:$API_PORT")
loopback=(--destination "$GATEWAY" --jump DNAT --to-destination 127.0.0.1)
hierarchies() { if [ -d /sys/fs/cgroup/memory ]; then echo /sys/fs/cgroup/*/; else echo /sys/fs/cgroup/; fi; }

# Servers of the tests listen on 127.0.0.1 only: pods reach them through the address of the bridge.
create() {
  ip link add "$NODE_NAME" type bridge && ip address add "$GATEWAY/24" dev "$NODE_NAME" && ip link set "$NODE_NAME" up || return
  echo 1 > "/proc/sys/net/ipv4/conf/$NODE_NAME/route_localnet" || return
  nat --append "${api_server[@]}" && nat --append "${loopback[@]}" || return
  for each in $(hierarchies); do mkdir -p "$each$NODE_NAME" || return; done
  local cpuset=/sys/fs/cgroup/cpuset
  [ ! -d $cpuset ] || for each in cpus mems; do cat "$cpuset/cpuset.$each" > "$cpuset/$NODE_NAME/cpuset.$each" || return; done
}

# Processes that were killed leave their cgroups a moment later.
remove() {
  nat --delete "${api_server[@]}"
  nat --delete "${loopback[@]}"
  ip link delete "$NODE_NAME"
  for each in $(hierarchies); do
    for try in $(seq 100); do
      [ -d "$each$NODE_NAME" ] || break
      find "$each$NODE_NAME" -depth -type d -exec rmdir {} + 2> /dev/null && break
      sleep 0.1
    done
  done
}

trap remove EXIT
create || { echo 'the network or the cgroups of the node could not be created' >&2; exit 1; }
here=$(dirname "$0")
unshare --mount --pid --fork --kill-child --mount-proc --propagation private bash "$here/machine.sh" < /dev/null &
node=$!
echo started
cat > /dev/null
kill -KILL "$node"
wait "$node"
