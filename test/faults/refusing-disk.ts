import { chmod, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createRandom } from '../fakes/faulty-storage.ts'
import { cli, type Ended, runBackup, startProcess } from './command.ts'
import { compare, examine, snapshot } from './examine.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import { copyBase, emptyStore, type Lab, type Place, prepareSubject, type Subject } from './lab.ts'
import { runOnFullDisk, runReadOnly } from './small-disk.ts'

export const refusingDisk: Fault = {
  name: 'the disk refuses',
  inject:
    'no space left, a limit on file sizes, a read-only mount, folders without permission; then the limit is removed',
  promise:
    'it exits with 1, or with 4 if a part was committed, and reports the cause; earlier backups verify; the next run is exact',
  rounds: { test: 4, soak: 40 },
  only: 'filesystem',
  run: refuse,
}

interface Refusal {
  name: string
  /** What the message must say. */
  says: RegExp
  run(place: Place, share: number, subject: Subject): Promise<Ended>
}

const refusals: Refusal[] = [
  { name: 'no space left', says: /no space .*is left on the device/, run: runOnFullDisk },
  { name: 'file size limit', says: /exceeds a size limit/, run: runWithSizeLimit },
  { name: 'read-only', says: /read-only/, run: runReadOnly },
  { name: 'permission denied', says: /permission denied/, run: runWithoutPermission },
]

async function refuse(lab: Lab, { rounds, seed }: FaultOptions): Promise<Outcome> {
  const random = createRandom(seed)
  const count = new Count('unreadable', 'changed', 'lost', 'duplicated', 'wrong', 'other exit codes', 'unclear')
  const subject = await prepareSubject(lab, { partitions: 4, records: 8000, valueBytes: 1000 })
  for (let round = 0; round < rounds; round++) {
    const refusal = refusals[round % refusals.length] as Refusal
    const place = await copyBase(lab, subject)
    const before = await snapshot(place)
    const { code, stderr } = await refusal.run(place, random(), subject)
    if (code !== 0) count.injected++
    count.saw(code === 0 ? `${refusal.name}: it sufficed` : `${refusal.name}: exit ${code}`)
    count.add({
      ...(await examine(place, before)),
      'other exit codes': [0, 1, 4].includes(code ?? -1) ? 0 : 1,
      unclear: code === 0 || refusal.says.test(stderr) ? 0 : 1,
    })
    await runBackup(place.config)
    count.add({ ...(await compare(place, subject)) })
    await emptyStore(place)
  }
  return count.outcome
}

/** From a few kilobytes, which stop an index, to a megabyte, which stops a segment. */
function runWithSizeLimit({ config }: Place, share: number): Promise<Ended> {
  const blocks = Math.ceil(2 ** (1 + 10 * share))
  const script = `ulimit -f ${blocks}; exec "$@"`
  return startProcess('sh', ['-c', script, 'sh', process.execPath, cli, 'backup', '--config', config]).ended
}

/** Half of the time all folders are closed, otherwise only that of the commit. */
async function runWithoutPermission(place: Place, share: number): Promise<Ended> {
  const root = join(pathOf(place), 'b1')
  const folders = share < 0.5 ? await foldersBelow(root) : [join(root, 'manifests')]
  for (const folder of folders) await chmod(folder, 0o555)
  try {
    return await startBound([process.execPath, cli, 'backup', '--config', place.config]).ended
  } finally {
    for (const folder of folders) await chmod(folder, 0o755)
  }
}

/** Permissions bind everybody but root, and root too without two of its capabilities. */
function startBound(command: readonly string[]) {
  const dropped = '-dac_override,-dac_read_search'
  const drop = ['setpriv', `--bounding-set=${dropped}`, `--inh-caps=${dropped}`]
  const [program = '', ...args] = process.getuid?.() === 0 ? [...drop, ...command] : command
  return startProcess(program, args)
}

async function foldersBelow(root: string): Promise<string[]> {
  await mkdir(root, { recursive: true })
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  return [root, ...entries.filter(entry => entry.isDirectory()).map(entry => join(entry.parentPath, entry.name))]
}

export function pathOf(place: Place): string {
  return String(place.spec.storage?.path)
}
