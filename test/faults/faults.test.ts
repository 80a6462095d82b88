import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { bucketFaults, faults } from './catalog.ts'
import { brokenPromises, type Fault, measureFault, seedOf } from './fault.ts'
import { type LabOptions, type OpenLab, openLab } from './open-lab.ts'

/** A few rounds of everything; `make soak` does many. FAULT_SEED=… repeats a run. */
const labs: [store: LabOptions['store'], faults: readonly Fault[]][] = [
  ['filesystem', faults],
  ['s3', bucketFaults],
]

for (const [store, list] of labs) {
  describe(`a backup in ${store === 's3' ? 'a bucket' : 'a folder'}, read over TLS, stands`, () => {
    let lab: OpenLab
    before(async () => {
      lab = await openLab({ brokers: 1, store })
    })
    after(() => lab?.[Symbol.asyncDispose]())

    for (const fault of list.filter(({ rounds }) => rounds.test > 0)) {
      test(`${fault.name}: ${fault.promise}`, async () => {
        const result = await measureFault(fault, lab, { rounds: fault.rounds.test, seed: seedOf(process.env) })
        assert.deepEqual(brokenPromises(result), [])
      })
    }
  })
}
