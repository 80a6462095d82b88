import { realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** What stands for an image: this machine's file system with folders of the machine put into it, and what runs there. */
export interface KubeletImage {
  entrypoint: readonly string[]
  /** Follows the entry point where the container has neither command nor args. */
  cmd?: readonly string[]
  /** Folders of this machine, read-only, by their path in the container. */
  folders?: Record<string, string>
  env?: Record<string, string>
  /** The number of the image's user; root without it. */
  user?: number
  workingDir?: string
}

/** The project as its image has it, run by a user without rights. It needs the built `dist/`. */
export function kafkaBackupImage(): KubeletImage {
  const root = resolve(import.meta.dirname, '../..')
  return {
    entrypoint: ['/app/node_modules/node/bin/node', '/app/bin/kafka-backup.js'],
    folders: { '/app': root, '/app/node_modules': realpathSync(join(root, 'node_modules')) },
    env: { NODE_ENV: 'production' },
    user: 65_532,
    workingDir: '/app',
  }
}

/** Runs what the container says, with the programs of this machine. */
export const machineImage: KubeletImage = { entrypoint: [], cmd: ['/bin/sh'] }
