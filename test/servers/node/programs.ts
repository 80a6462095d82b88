import { systemFile, systemProgram } from '../system-program.ts'

/** Folder of Debian's plugins for networks of pods. */
export const networkPlugins = '/usr/lib/cni'

/** Name and Debian package of every program that a node and its image need. */
const programs = [
  ['containerd', 'containerd'],
  ['ctr', 'containerd'],
  ['runc', 'runc'],
  ['buildah', 'buildah'],
  ['iptables', 'iptables'],
  ['ip', 'iproute2'],
  ['nsenter', 'util-linux'],
  ['dpkg-deb', 'dpkg'],
] as const

/** Finds all of them; where that is permitted, installs them. */
export async function nodePrograms(): Promise<void> {
  for (const [name, debianPackage] of programs) await systemProgram(name, debianPackage)
  await systemFile(`${networkPlugins}/bridge`, 'containernetworking-plugins')
}
