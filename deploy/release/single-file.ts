import { execFile } from 'node:child_process'
import { createReadStream, createWriteStream } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

interface LockedPackage {
  dev?: boolean
}

/**
 * Writes one executable file with Node.js, the program and its packages: a shell script that unpacks what follows it to a folder of
 * the user at its first start, and starts the program from there. docs/adr/0027-single-file-executable.md explains why.
 */
export async function writeSingleFile(root: string, version: string, folder: string): Promise<void> {
  const staged = await mkdtemp(join(tmpdir(), 'kafka-backup-single-'))
  try {
    const archive = join(staged, 'program.tar.gz')
    await stage(root, join(staged, 'program'))
    const tar = ['--create', '--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mtime=@0', '--file=-']
    await run('bash', [
      '-c',
      `tar ${tar.join(' ')} --directory "$0" . | gzip --fast --no-name > "$1"`,
      join(staged, 'program'),
      archive,
    ])
    const { stdout } = await run('sha256sum', [archive])
    const file = join(folder, `kafka-backup-${version}-linux-${process.arch}`)
    await writeFile(file, header(version, stdout.slice(0, 64)))
    await pipeline(createReadStream(archive), createWriteStream(file, { flags: 'a' }))
    await chmod(file, 0o755)
  } finally {
    await rm(staged, { recursive: true, force: true })
  }
}

/** The program as npm would install it, with the Node.js of the checkout. */
async function stage(root: string, to: string): Promise<void> {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>
  }
  for (const name of ['bin', 'dist', 'package.json', 'LICENSE', 'docs/job.schema.json'])
    await copy(join(root, name), join(to, name))
  for (const [path, { dev }] of Object.entries(packages)) {
    if (path === '' || dev) continue
    // Packages of other platforms are in the lock file and are not installed.
    await copy(join(root, path), join(to, path)).catch(ignoreMissing)
  }
  await copy(join(root, 'node_modules/node/bin/node'), join(to, 'node'))
}

async function copy(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  // Packages inside of a package are copied under their own names.
  const nested = join(from, 'node_modules')
  await cp(from, to, { recursive: true, dereference: true, filter: path => path !== nested && !path.endsWith('.map') })
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
}

/** What is unpacked has the hash in its path: another version, or a damaged file, never starts what is there. */
function header(version: string, hash: string): string {
  const script = `#!/bin/sh
# kafka-backup ${version} with Node.js for Linux: unpacks itself to KAFKA_BACKUP_HOME, or to the cache folder of the user.
set -eu
home=\${KAFKA_BACKUP_HOME:-\${XDG_CACHE_HOME:-\${HOME:-/tmp}/.cache}/kafka-backup}
program=$home/${version}-${hash.slice(0, 16)}
if [ ! -e "$program/.complete" ]; then
  mkdir -p "$home"
  staged=$(mktemp -d "$home/unpacking.XXXXXX")
  trap 'rm -rf "$staged"' EXIT
  tail -n +@LINE@ "$0" > "$staged/archive"
  if [ "$(sha256sum < "$staged/archive")" != "${hash}  -" ]; then
    echo "error: $0 is damaged: its checksum is wrong; download it again" >&2
    exit 1
  fi
  tar -xzf "$staged/archive" -C "$staged" --no-same-owner
  rm "$staged/archive"
  touch "$staged/.complete"
  # Another start may have been faster.
  mv -T "$staged" "$program" 2>/dev/null || [ -e "$program/.complete" ]
  rm -rf "$staged"
  trap - EXIT
fi
exec "$program/node" "$program/bin/kafka-backup.js" "$@"
`
  return script.replace('@LINE@', String(script.split('\n').length))
}
