import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const cgroups = '/sys/fs/cgroup'
/** Those that the kubelet and runc set limits with. */
const controllers = ['cpu', 'cpuset', 'memory', 'pids']

/** Why this machine cannot run a Kubernetes node; undefined where it can. It changes nothing. */
export function findNodeObstacle(): string | undefined {
  if (process.platform !== 'linux') return `it needs Linux, and this is ${process.platform}`
  if (process.getuid?.() !== 0) return 'it needs root'
  if (!existsSync('/usr/bin/apt-get')) return 'it needs apt-get, which its programs and base images come from'
  return findCgroupObstacle() ?? findNamespaceObstacle()
}

/** Whether controllers are in hierarchies of their own (version 1), instead of in one (version 2). */
export function hasCgroups1(): boolean {
  return existsSync(join(cgroups, 'memory'))
}

function findCgroupObstacle(): string | undefined {
  const folders = hasCgroups1() ? [...controllers, 'devices', 'freezer'].map(name => join(cgroups, name)) : [cgroups]
  for (const folder of folders) {
    try {
      accessSync(folder, constants.W_OK)
    } catch {
      return `it needs to write to ${folder}`
    }
  }
  if (hasCgroups1()) return undefined
  try {
    const given = readFileSync(join(cgroups, 'cgroup.subtree_control'), 'utf8').trim().split(' ')
    const missing = controllers.filter(name => !given.includes(name))
    return missing.length === 0 ? undefined : `${cgroups} does not delegate ${missing.join(', ')}`
  } catch {
    return `it needs ${cgroups}`
  }
}

function findNamespaceObstacle(): string | undefined {
  try {
    execFileSync('unshare', ['--mount', '--pid', '--net', '--fork', '--mount-proc', 'true'], { stdio: 'ignore' })
    return undefined
  } catch {
    return 'it needs permission to create mount, process and network namespaces'
  }
}
