import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { memoryFolder } from '../../test-environment.ts'
import { makeGuardedFolder } from '../guard.ts'
import { mustRun } from '../run-command.ts'

export interface BuildahOptions {
  /** Of images and layers. */
  store: string
  /** Another store, which is only read. */
  bases?: string
}

/**
 * Runs buildah with a store of its own: in a mount namespace, because it leaves mounts behind, and without the machine's
 * settings, so that no registry is asked for anything.
 */
export async function runBuildah(
  { store, bases }: BuildahOptions,
  command: string,
  args: readonly string[],
): Promise<void> {
  const folder = await makeGuardedFolder('buildah', memoryFolder())
  try {
    const policy = join(folder.path, 'policy.json')
    await writeFile(policy, JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }))
    await mkdir(store, { recursive: true })
    const stores = ['--root', store, '--runroot', join(folder.path, 'run'), '--storage-driver', 'overlay']
    const shared = bases === undefined ? [] : ['--storage-opt', `overlay.imagestore=${bases}`]
    const buildah = ['buildah', ...stores, ...shared, command, '--signature-policy', policy, ...args]
    const env = { ...process.env, XDG_RUNTIME_DIR: folder.path, TMPDIR: folder.path }
    await mustRun('unshare', ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', ...buildah], { env })
  } finally {
    await folder.remove()
  }
}

/** Builds an image from a Dockerfile whose base images are in one of the stores. */
export function buildWithBuildah(
  options: BuildahOptions,
  name: string,
  { file, context, args = {}, volumes = [] }: BuildahInput,
): Promise<void> {
  const local = ['--pull-never', '--runtime', 'runc', '--network', 'host', '--quiet']
  const values = Object.entries(args).flatMap(([arg, value]) => ['--build-arg', `${arg}=${value}`])
  const mounts = volumes.flatMap(volume => ['--volume', volume])
  return runBuildah(options, 'build', [...local, ...values, ...mounts, '--file', file, '--tag', name, context])
}

export interface BuildahInput {
  file: string
  context: string
  args?: Record<string, string>
  volumes?: readonly string[]
}

/** Writes an image to an archive that containerd imports. */
export function saveImage(options: BuildahOptions, name: string, file: string): Promise<void> {
  return runBuildah(options, 'push', ['--disable-compression', '--quiet', name, `docker-archive:${file}:${name}`])
}
