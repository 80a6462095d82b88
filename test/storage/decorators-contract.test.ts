import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'
import { withObservation } from '../../src/storage/observed.ts'
import { withRetries } from '../../src/storage/retrying.ts'
import { createRandom, type Fault, withFaults } from '../fakes/faulty-storage.ts'
import { storageSuite, variantSizes } from '../suites/storage-suite.ts'
import { openTemporary } from './temporary-storage.ts'

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

storageSuite(
  'retrying filesystem',
  () => openTemporary(path => withRetries(openFilesystemStorage({ path }), policy)),
  variantSizes,
)

storageSuite(
  'observed filesystem',
  () => openTemporary(path => withObservation(openFilesystemStorage({ path }), () => {})),
  variantSizes,
)

storageSuite(
  'retrying filesystem that loses one call in ten, before or after it took effect',
  () => {
    const faults: Fault[] = [
      { on: notWrite, probability: 0.05, effect: { kind: 'throw-before' } },
      { on: notWrite, probability: 0.05, effect: { kind: 'throw-after' } },
    ]
    return openTemporary(path => {
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
  },
  variantSizes,
)
