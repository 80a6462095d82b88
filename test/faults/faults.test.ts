import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { useKafka } from '../e2e/use-kafka.ts'
import { faults } from './catalog.ts'
import { brokenPromises, measureFault, seedOf } from './fault.ts'
import { makeLab } from './lab.ts'

/** A few rounds of everything; `make soak` does many. FAULT_SEED=… repeats a run. */
describe('a backup stands', () => {
  const kafka = useKafka()
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-backup-faults-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  for (const fault of faults) {
    test(`${fault.name}: ${fault.promise}`, async () => {
      const lab = makeLab(kafka.server, kafka.driver, folder)
      const result = await measureFault(fault, lab, { rounds: fault.rounds.test, seed: seedOf(process.env) })
      assert.deepEqual(brokenPromises(result), [])
    })
  }
})
