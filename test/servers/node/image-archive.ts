import { join } from 'node:path'
import { mustRun } from '../run-command.ts'

export interface ImageConfig {
  User: string
  Entrypoint: string[]
  Cmd: string[]
  Labels: Record<string, string>
}

export interface ImageFile {
  path: string
  /** As `ls` prints it. */
  mode: string
  /** `uid/gid`. */
  owner: string
}

/** What an archive of an image has: its settings, and the files that its last layer adds to the base. */
export async function readImageArchive(archive: string): Promise<{ config: ImageConfig; files: ImageFile[] }> {
  const extract = (name: string) => mustRun('tar', ['--extract', '--to-stdout', '--file', archive, name])
  const [manifest] = JSON.parse(await extract('manifest.json')) as { Config: string; Layers: string[] }[]
  if (manifest === undefined) throw new Error(`${archive} has no image`)
  const { config } = JSON.parse(await extract(manifest.Config)) as { config: ImageConfig }
  const script = 'tar --extract --to-stdout --file "$1" "$2" | tar --list --verbose --numeric-owner'
  const list = await mustRun('sh', ['-c', script, 'sh', archive, manifest.Layers.at(-1) ?? ''])
  return { config, files: list.trim().split('\n').map(parseLine) }
}

function parseLine(line: string): ImageFile {
  const [mode = '', owner = '', , , , ...path] = line.split(/\s+/)
  return { mode, owner, path: join('/', path.join(' ').replace(/ (->|link to) .*/, '')) }
}
