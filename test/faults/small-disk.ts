import { mkdir } from 'node:fs/promises'
import { toKafkaBackupError } from '../../src/errors.ts'
import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'
import { backUp } from '../e2e/backup-job.ts'
import { mustRun, runCommand } from '../servers/run-command.ts'
import { recordFiles, systemError } from '../storage/recorded-files.ts'
import { cli, type Ended, startProcess } from './command.ts'
import type { Place, Subject } from './lab.ts'

/**
 * Real refusals of the kernel, in a mount namespace that ends with the process. Where the system grants none (hardened
 * containers), the same error comes from the file calls instead, so that the test is never left out.
 */
export async function runOnFullDisk(place: Place, share: number, subject: Subject): Promise<Ended> {
  const path = String(place.spec.storage?.path)
  const namespace = await findNamespace()
  if (namespace === undefined) return runRefused(place, 'ENOSPC', Math.ceil(share * 20))
  const base = Number((await mustRun('du', ['-sk', path])).split('\t')[0])
  // The second half is compressed to about a third; the limit is anywhere between nothing and most of it.
  const roomKb = Math.floor((share * subject.records * 1000) / 2 / 4 / 1024)
  await mkdir(`${path}.disk`, { recursive: true })
  const script = `set -e
    mount -t tmpfs -o size=${base + roomKb}k none "$1.disk"
    cp -a "$1/." "$1.disk"
    mount --bind "$1.disk" "$1"
    shift 1
    set +e; "$@"; code=$?; set -e
    umount "${path}"; cp -a "${path}.disk/." "${path}"
    exit $code`
  return inNamespace(namespace, script, place)
}

export async function runReadOnly(place: Place): Promise<Ended> {
  const namespace = await findNamespace()
  if (namespace === undefined) return runRefused(place, 'EROFS', 0)
  const script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift 1 && exec "$@"'
  return inNamespace(namespace, script, place)
}

function inNamespace(namespace: readonly string[], script: string, place: Place): Promise<Ended> {
  const [program = '', ...args] = namespace
  const command = [process.execPath, cli, 'backup', '--config', place.config]
  const path = String(place.spec.storage?.path)
  return startProcess(program, [...args, 'sh', '-c', script, 'sh', path, ...command]).ended
}

let found: Promise<string[] | undefined> | undefined

function findNamespace(): Promise<string[] | undefined> {
  found ??= (async () => {
    for (const flags of ['-m', '-rm']) {
      const trial = await runCommand('unshare', [flags, 'mount', '-t', 'tmpfs', 'none', '/mnt']).catch(() => undefined)
      if (trial?.exitCode === 0) return ['unshare', flags]
    }
    return undefined
  })()
  return found
}

/** Refuses every write from the nth on. */
async function runRefused(place: Place, errno: string, nth: number): Promise<Ended> {
  const path = String(place.spec.storage?.path)
  let writes = 0
  const { files } = recordFiles(call => {
    if (/^(writev|link|mkdir|rename|open \.tmp)/.test(call) && ++writes > nth) throw systemError(errno)
    return undefined
  })
  try {
    await backUp(place.spec, { decorateStorage: () => openFilesystemStorage({ path }, files) })
    return { code: 0, signal: null, stdout: '', stderr: '' }
  } catch (error) {
    const { exitCode, message } = toKafkaBackupError(error)
    return { code: exitCode, signal: null, stdout: '', stderr: message }
  }
}
