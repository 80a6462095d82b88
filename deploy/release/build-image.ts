import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const MAX_OUTPUT_BYTES = 64 << 20

/** Runs buildah; tests pass one with its own store of images. */
export type RunBuildah = (command: string, args: readonly string[]) => Promise<void>

export const runBuildah: RunBuildah = async (command, args) => {
  try {
    await promisify(execFile)('buildah', [command, ...args], { maxBuffer: MAX_OUTPUT_BYTES })
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')) throw cause
    throw new Error('buildah is not installed: install it, or leave the image out with RELEASE_IMAGE=0', { cause })
  }
}

/** Builds the image of the Dockerfile from its pinned base images; answers with its name in buildah's store. */
export async function buildImage(root: string, version: string, buildah: RunBuildah): Promise<string> {
  const name = `localhost/kafka-backup:${version}`
  const file = join(root, 'deploy/Dockerfile')
  await buildah('build', ['--format', 'oci', '--file', file, '--build-arg', `VERSION=${version}`, '--tag', name, root])
  return name
}

/** Writes an image as an archive of the OCI layout, which `skopeo copy oci-archive:` and `crane push` take to a registry. */
export async function saveImage(name: string, version: string, folder: string, buildah: RunBuildah): Promise<void> {
  const file = join(folder, `kafka-backup-image-${version}.oci.tar`)
  await buildah('push', ['--quiet', '--format', 'oci', name, `oci-archive:${file}:${version}`])
}
