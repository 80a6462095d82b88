import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mustRun } from '../run-command.ts'

/** What a kubelet and its helpers change for the whole machine: settings of the kernel, and folders. */
const settings = ['vm/overcommit_memory', 'kernel/panic', 'kernel/panic_on_oops', 'net/ipv4/ip_forward']
const folders = [
  ...['/var/lib/kubelet', '/var/lib/cni', '/var/lib/containerd', '/var/log/pods', '/var/log/containers'],
  ...['/run/containerd', '/run/containerd.sock', '/run/pod-addresses', '/run/runc', '/run/netns'],
]

export async function readMachineState(): Promise<string[]> {
  const values = settings.map(async name => `${name} = ${(await readFile(`/proc/sys/${name}`, 'utf8')).trim()}`)
  return [...(await Promise.all(values)), ...folders.filter(path => existsSync(path))]
}

/** Everything on this machine that has one of the names, and what differs from the state before. */
export async function findTraces(names: readonly string[], before: readonly string[]): Promise<string[]> {
  const lists = [
    await readFile('/proc/mounts', 'utf8'),
    await mustRun('iptables', ['--wait', '--table', 'nat', '--list-rules']),
    await mustRun('ip', ['-oneline', 'link']),
    await mustRun('ps', ['-eo', 'pid,args']),
    (await listCgroups()).join('\n'),
  ]
  const named = lists.flatMap(text => text.split('\n')).filter(line => names.some(name => line.includes(name)))
  return [...named, ...(await readMachineState()).filter(line => !before.includes(line))]
}

/** Those of the first and second level, where a hierarchy of version 1 and of version 2 has those of a node. */
async function listCgroups(): Promise<string[]> {
  const root = '/sys/fs/cgroup'
  const top = (await readdir(root)).map(name => join(root, name))
  const below = top.map(async path => (await readdir(path).catch(() => [])).map(name => join(path, name)))
  return [...top, ...(await Promise.all(below)).flat()]
}
