import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { isFull } from '../full.ts'
import { bucketFaults, faults, faultsOfStore, newRestoreFaults, restoreFaults } from './catalog.ts'
import { bitFlips, tornObjects, wrongObjects } from './damage.ts'
import { brokenPromises, type Fault, measureFault, seedOf } from './fault.ts'
import { type LabServers, type LabStore, type OpenLab, openLabAt, openLabServers } from './open-lab.ts'
import { twoWriters } from './two-writers.ts'

/**
 * The folder shows what the program does with another writer, and the contract of the store that one of two creates wins.
 * Damage is done to a copy of the backup in memory, whatever store it comes from.
 */
const inFolderOnly = [twoWriters, bitFlips, tornObjects, wrongObjects].map(({ run }) => run)
const ofBucket = isFull ? bucketFaults : bucketFaults.filter(({ run }) => !inFolderOnly.includes(run))

/** A round or a few of everything with fewer records, always the same; `make soak` does many, with all records. FAULT_SEED=… makes others. */
const labs: [what: string, store: LabStore, faults: readonly Fault[]][] = [
  ['a backup in a folder, read over TLS, stands', 'filesystem', faults],
  ['a backup in a bucket, read over TLS, stands', 's3', ofBucket],
  ['a restore stands', 'filesystem', [...restoreFaults, ...newRestoreFaults]],
]
if (isFull) {
  labs.push(['a backup in a container of Azure, read over TLS, stands', 'azure', faultsOfStore('Azure')])
  labs.push(['a backup in a bucket of Google Cloud stands', 'gcs', faultsOfStore('Google Cloud')])
}

let servers: LabServers
before(async () => {
  servers = await openLabServers(1)
})
after(() => servers?.[Symbol.asyncDispose]())

for (const [what, store, list] of labs) {
  describe(what, () => {
    let lab: OpenLab
    before(async () => {
      lab = await openLabAt(servers, store, isFull ? 1 : 0.25)
    })
    after(() => lab?.[Symbol.asyncDispose]())

    for (const fault of list.filter(({ rounds }) => rounds.test > 0)) {
      test(`${fault.name}: ${fault.promise}`, async () => {
        const rounds = Math.min(fault.rounds.soak, fault.rounds.test * (isFull ? 2 : 1))
        const result = await measureFault(fault, lab, { rounds, seed: seedOf(process.env) })
        assert.deepEqual(brokenPromises(result), [])
      })
    }
  })
}
