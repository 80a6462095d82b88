import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * A plugin for the network of pods, called after the one that connects a pod with the bridge: TCP to 127.0.0.1 from inside
 * of the pod goes to the gateway, which is this machine's 127.0.0.1. Kafka and others advertise that address. Root is
 * excepted, because port-forwarding enters the pod as root to reach the pod's own listeners.
 */
const { CNI_COMMAND = '', CNI_NETNS = '', CNI_IFNAME = '' } = process.env
const version = '1.0.0'

if (CNI_COMMAND === 'VERSION') print({ cniVersion: version, supportedVersions: [version] })
if (CNI_COMMAND === 'ADD') {
  const { prevResult, gateway } = JSON.parse(readFileSync(0, 'utf8')) as { prevResult: object; gateway: string }
  const script = `set -e
echo 1 > /proc/sys/net/ipv4/conf/$1/route_localnet
iptables -w -t nat -A OUTPUT -d 127.0.0.1 -p tcp -m owner ! --uid-owner 0 -j DNAT --to-destination "$2"
iptables -w -t nat -A POSTROUTING -s 127.0.0.1 -o "$1" -j MASQUERADE`
  const enter = [`--net=${CNI_NETNS}`, 'sh', '-c', script, 'sh', CNI_IFNAME, gateway]
  const { status, stderr } = spawnSync('nsenter', enter, { encoding: 'utf8' })
  if (status === 0) print(prevResult)
  else {
    print({ cniVersion: version, code: 100, msg: `the loopback address could not be redirected: ${stderr}` })
    process.exitCode = 1
  }
}

function print(answer: object): void {
  process.stdout.write(JSON.stringify(answer))
}
