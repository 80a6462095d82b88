import { verifyBackup } from '../../src/archive/verify.ts'
import { hasCode } from '../../src/errors.ts'
import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'
import { backUp } from '../e2e/backup-job.ts'
import { createRandom } from '../fakes/faulty-storage.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { Count, type Fault, type FaultOptions, type Outcome } from './fault.ts'
import { type Journal, type JournalEntry, journalFiles, type Luck, replayCut } from './journaled-files.ts'
import { copyBase, type Lab, makePlace, openPlace, type Place, prepareSubject } from './lab.ts'

const never = new AbortController().signal

export const powerCut: Fault = {
  name: 'the power is cut (model of a file system)',
  inject:
    'after every file call of a run, everything that was not flushed is dropped, or a random part of it, or everything except names',
  promise: 'the last reported commit or a newer one exists and verifies',
  rounds: { test: 3, soak: 12 },
  only: 'filesystem',
  run: cutPower,
}

/** The first two rounds are the extremes, the others are chance. */
async function cutPower(lab: Lab, { rounds, seed }: FaultOptions): Promise<Outcome> {
  const random = createRandom(seed)
  const lucks: Luck[] = [() => false, effect => effect.kind === 'name', () => random() < 0.5]
  const count = new Count('unreadable', 'went back')
  const subject = await prepareSubject(lab, { partitions: 2, records: 400, valueBytes: 100 })
  for (const place of [await makePlace(lab, subject.topic), await copyBase(lab, subject)]) {
    const root = String(place.spec.storage?.path)
    const before = await readFiles(place, root)
    const { entries } = await runJournaled(place, root)
    count.saw('file calls of the runs', entries.length)
    for (let round = 0; round < rounds; round++) {
      for (let cut = 0; cut <= entries.length; cut++) {
        const luck = lucks[Math.min(round, lucks.length - 1)] as Luck
        const found = await readGeneration(replayCut(before, entries, cut, luck), root)
        count.injected++
        count.add({
          unreadable: found === undefined ? 1 : 0,
          'went back': (found ?? 0) < reported(before, entries, cut) ? 1 : 0,
        })
      }
    }
  }
  return count.outcome
}

async function runJournaled(place: Place, root: string): Promise<Journal> {
  const journal = journalFiles()
  await backUp(place.spec, {
    decorateStorage: () => openFilesystemStorage({ path: root }, journal.files),
    onProgress: event => {
      if (event.type === 'committed') journal.entries.push({ kind: 'note', generation: event.generation })
    },
  })
  return journal
}

async function readFiles(place: Place, root: string): Promise<Map<string, Buffer>> {
  const storage = openPlace(place)
  const files = new Map<string, Buffer>()
  for await (const { key } of storage.list('', never)) files.set(`${root}/${key}`, await storage.read(key, never))
  return files
}

/** The newest generation, 0 where there is none; undefined where it is not whole. */
async function readGeneration(files: ReadonlyMap<string, Buffer>, root: string): Promise<number | undefined> {
  const memory = openMemoryStorage()
  for (const [path, body] of files) {
    if (!path.includes('/.tmp-')) memory.objects.set(path.slice(root.length + 1), body)
  }
  try {
    const report = await verifyBackup(memory, 'b1', { deep: true, onProgress: () => undefined }, never)
    return report.ok ? report.generation : undefined
  } catch (error) {
    if (hasCode(error, 'BACKUP_NOT_FOUND')) return 0
    if (hasCode(error, 'ARCHIVE_DAMAGED')) return undefined
    throw error
  }
}

/** The newest generation that the run had told of, or that was there before it. */
function reported(before: ReadonlyMap<string, Buffer>, entries: readonly JournalEntry[], cut: number): number {
  const told = entries.slice(0, cut).map(entry => (entry.kind === 'note' ? entry.generation : 0))
  return Math.max(before.size > 0 ? 1 : 0, ...told)
}
