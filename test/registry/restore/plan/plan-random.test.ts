import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RegistrySnapshot, SchemaVersion } from '../../../../src/archive/registry-model.ts'
import { randomRegistry } from '../../../fakes/random-registry.ts'
import { RegistryModel } from '../../../fakes/registry-model.ts'
import { snapshotOf, versionOf } from '../../../fakes/registry-snapshots.ts'
import { numbersToTry } from '../../../full.ts'
import { forced, listVersions, plan, restore } from './restore-stage.ts'

const sorted = (versions: readonly SchemaVersion[]) => listVersions(versions).sort()
const withoutReserve = (versions: readonly SchemaVersion[]) =>
  versions.filter(({ subject }) => !subject.startsWith('kafka-backup.'))

describe('any registry', () => {
  test('is wholly as it was after force_ids, also when the run dies on the way', () => {
    for (const seed of numbersToTry(100)) {
      const backup = randomRegistry(seed)
      const { after } = restore(backup, undefined, forced)
      assert.deepEqual(sorted(withoutReserve(after.versions)), sorted(backup.versions), `seed ${seed}`)
      assert.deepEqual(after.global, backup.global)
      for (const [subject, settings] of backup.subjects) assert.deepEqual(after.subjects.get(subject), settings)
    }
  })

  test('can be read by mapped IDs where the registry gives its own, also when the run dies on the way', () => {
    for (const seed of numbersToTry(100)) {
      const backup = randomRegistry(seed)
      const target = snapshotOf([versionOf('z', 1, 1, { schema: '"z"' })])
      const { after, model, plan } = restore(backup, target, { setCompatibility: 'NONE' })
      for (const { subject, id, schema } of backup.versions) {
        const context = subject.startsWith(':')
        const key = `${context ? ':.eu:' : ''}${id}`
        const mapped = model.ids.get(key) ?? plan.knownIds.get(key)
        const found = after.versions.find(one => one.id === mapped && one.subject.startsWith(':') === context)
        assert.equal(found?.schema, schema, `seed ${seed}, ID ${key}`)
      }
    }
  })

  test('replaces another one with overwrite, also when the run dies on the way', () => {
    for (const seed of numbersToTry(100)) {
      const open = { global: { compatibility: 'NONE', mode: 'READWRITE', config: null } }
      const backup = { ...randomRegistry(seed), ...open }
      const target = { ...randomRegistry(seed + 1000), ...open }
      const held = new Set(backup.versions.map(({ subject }) => subject))
      const versions = target.versions.filter(
        ({ subject, references, isDeleted }) => held.has(subject) && references.length === 0 && !isDeleted,
      )
      const { after } = restore(backup, snapshotOf(versions, open), { strategy: 'overwrite' })
      const texts = (some: readonly SchemaVersion[]) =>
        [...new Set(some.map(one => `${one.subject} ${one.schema}`))].sort()
      assert.deepEqual(texts(after.versions), texts(backup.versions), `seed ${seed}`)
    }
  })

  test('is added to a part of itself with every strategy, or refused before any write', () => {
    const outcomes = { written: 0, refused: 0 }
    for (const seed of numbersToTry(100)) {
      const backup = { ...randomRegistry(seed), global: snapshotOf([]).global }
      const registers = plan(backup, undefined, { setCompatibility: 'NONE' }).steps.filter(
        ({ type }) => type === 'register',
      )
      const part = new RegistryModel(snapshotOf([], { global: { ...backup.global, compatibility: 'NONE' } }))
      const target = part.run(registers.slice(0, seed % registers.length)).snapshot
      for (const strategy of ['preserve', 'overwrite', 'skip'] as const) {
        const options = { strategy, setCompatibility: 'NONE' }
        if (plan(backup, target, options).conflicts.length > 0) outcomes.refused++
        else {
          restore(backup, target, options)
          outcomes.written++
        }
      }
    }
    assert.ok(outcomes.written > 2 * numbersToTry(100).length, JSON.stringify(outcomes))
  })
})

describe('a run that died', () => {
  const wishes = [
    {},
    forced,
    { strategy: 'overwrite' },
    { strategy: 'overwrite', ...forced },
    { strategy: 'skip' },
  ] as const
  const targets = [snapshotOf([]), snapshotOf([versionOf('z', 1, 500), versionOf('a', 1, 501, { schema: '"0"' })])]

  test('is gone on with by one with another strategy, or that one is refused: nothing passing stays', () => {
    const ends = { done: 0, refused: 0 }
    for (let seed = 5; seed < 10; seed++) {
      const backup = { ...randomRegistry(seed), global: targets[0]?.global ?? assert.fail() }
      for (const target of targets) {
        for (const wish of wishes) {
          const { steps } = plan(backup, target, wish)
          for (let at = 1; at < steps.length; at += 4) {
            for (const other of wishes) ends[goOn(backup, new RegistryModel(target).run(steps.slice(0, at)), other)]++
          }
        }
      }
    }
    assert.ok(ends.done > 300 && ends.refused > 100, JSON.stringify(ends))
  })

  function goOn(backup: RegistrySnapshot, model: RegistryModel, wish: (typeof wishes)[number]): 'done' | 'refused' {
    const next = plan(backup, model.snapshot, { ...wish, unfinished: model.journal })
    if (next.conflicts.length > 0) return 'refused'
    const after = model.run(next.steps).snapshot
    const { steps, conflicts } = plan(backup, after, wish)
    assert.deepEqual([steps, conflicts], [[], []], 'a second run has nothing to do')
    const modes = [after.global, ...after.subjects.values()].map(({ mode }) => mode)
    assert.equal(modes.includes('IMPORT'), false)
    assert.equal(
      after.versions.some(({ schema }) => schema.includes('filler')),
      false,
    )
    return 'done'
  }
})
