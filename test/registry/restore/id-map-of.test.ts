import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RegistrySnapshot } from '../../../src/archive/registry-model.ts'
import { idMapOf, provisionalIdMap } from '../../../src/registry/restore/id-map-of.ts'
import { planRegistryRestore } from '../../../src/registry/restore/plan/plan-restore.ts'
import { traitsOf } from '../../../src/registry/restore/plan/target-traits.ts'
import { nothingJournaled } from '../../../src/registry/restore/survey-target.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { usual } from './schema-stage.ts'

const guid = (byte: string) =>
  `${byte.repeat(4)}-${byte.repeat(2)}-${byte.repeat(2)}-${byte.repeat(2)}-${byte.repeat(6)}`
const hex = (byte: string) => byte.repeat(16)
const backup = snapshotOf([versionOf('a', 1, 1, { guid: guid('0a') }), versionOf('b', 1, 2, { guid: guid('0b') })])

function maps(target: RegistrySnapshot) {
  const traits = traitsOf(target.flavour, target.registryVersion)
  const plan = planRegistryRestore(backup, target, {
    ...usual,
    ...nothingJournaled,
    traits,
    sameTexts: new Set(),
    modesNotRead: new Set(),
  })
  return { final: idMapOf(plan, backup, target), foreseen: provisionalIdMap(plan, backup, target) }
}

test('a GUID of the backup is unknown on a target that gives none', () => {
  const { final, foreseen } = maps(snapshotOf([versionOf('a', 1, 1)], { flavour: 'apicurio' }))
  for (const map of [final, foreseen]) {
    assert.deepEqual([map.isUnknownGuid(hex('0a'), true), map.isUnknownGuid(hex('0b'), true)], [true, true])
  }
})

test('a GUID is known that the target has, of whichever subject, and one that it is about to give', () => {
  const target = snapshotOf([versionOf('a', 1, 1, { guid: guid('0a') }), versionOf('x', 1, 9, { guid: guid('0c') })])
  const { final, foreseen } = maps(target)
  const unknown = (map: typeof final) => ['0a', '0b', '0c', '0d'].map(byte => map.isUnknownGuid(hex(byte), true))
  assert.deepEqual(unknown(foreseen), [false, false, false, true])
  assert.deepEqual(unknown(final), [false, true, false, true], 'b was not registered')
  assert.deepEqual(final.digest, maps(snapshotOf([versionOf('a', 1, 1, { guid: guid('0a') })])).final.digest)
})
