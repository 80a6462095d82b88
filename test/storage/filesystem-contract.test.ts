import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFilesystemStorage } from '../../src/storage/filesystem.ts'
import { type StorageCall, withObservation } from '../../src/storage/observed.ts'
import { withRetries } from '../../src/storage/retrying.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { createRandom, type Fault, withFaults } from '../fakes/faulty-storage.ts'
import { type OpenedStorage, storageSuite } from '../suites/storage-suite.ts'

/** All but the write of a writer, which is not repeated by contract. */
const notWrite = [
  'create',
  'replace',
  'openWriter',
  'commit',
  'read',
  'readRange',
  'stat',
  'list',
  'listFolders',
  'remove',
] as const
const policy = { attempts: 12, baseDelayMs: 0, maxDelayMs: 0 }

storageSuite('filesystem', () => openIn(path => openFilesystemStorage({ path })))

storageSuite('filesystem with a prefix', () => openIn(path => openFilesystemStorage({ path, prefix: 'team/a' })))

storageSuite('retrying filesystem', () => openIn(path => withRetries(openFilesystemStorage({ path }), policy)))

storageSuite('observed filesystem', () => {
  const calls: StorageCall[] = []
  return openIn(path => withObservation(openFilesystemStorage({ path }), call => calls.push(call)))
})

storageSuite('retrying filesystem that loses one call in ten, before or after it took effect', () => {
  const faults: Fault[] = [
    { on: notWrite, probability: 0.05, effect: { kind: 'throw-before' } },
    { on: notWrite, probability: 0.05, effect: { kind: 'throw-after' } },
  ]
  return openIn(path => {
    const faulty = withFaults(openFilesystemStorage({ path }), faults, { seed: 7 })
    const retrying = withRetries(faulty, policy, { random: createRandom(7) })
    return {
      ...retrying,
      close: async () => {
        await retrying.close()
        faulty.verifyAllFaultsExercised()
      },
    }
  })
})

async function openIn(open: (path: string) => Storage): Promise<OpenedStorage> {
  const folder = await mkdtemp(join(tmpdir(), 'kafka-backup-storage-'))
  const storage = open(join(folder, 'made', 'by first write'))
  return {
    storage,
    close: async () => {
      await storage.close()
      rmSync(folder, { recursive: true })
    },
  }
}
