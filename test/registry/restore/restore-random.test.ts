import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type SchemaVersion, splitSubject } from '../../../src/archive/registry-model.ts'
import { randomRegistry } from '../../fakes/random-registry.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { backUp, essence, forced, openJournals, openStage } from './schema-stage.ts'

const seeds = Array.from({ length: 12 }, (_, seed) => seed)
const open = { compatibility: 'NONE', mode: 'READWRITE', config: null }

/** The plan's own tests have a model of a registry; this is one that others wrote, over HTTP. */
describe('any registry, through a server', () => {
  test('is wholly as it was after force_ids, and a second run writes nothing', async t => {
    for (const seed of seeds) {
      const backup = await backUp(randomRegistry(seed))
      const stage = await openStage(t, backup)
      await stage.restore(forced)
      assert.deepEqual(essence(await stage.snapshot()), essence(backup), `seed ${seed}`)
      stage.takeWrites()
      await stage.restore(forced)
      assert.deepEqual([stage.takeWrites(), openJournals(stage)], [[], []], `seed ${seed}`)
    }
  })

  test('can be read by mapped IDs where the server gives its own, and a second run finds the same ones', async t => {
    for (const seed of seeds) {
      const backup = await backUp(randomRegistry(seed))
      const stage = await openStage(t, backup, { start: snapshotOf([versionOf('z', 1, 500, { schema: '"string"' })]) })
      const { idMap } = await stage.restore({ setCompatibility: 'NONE' })
      for (const { subject, id, schema } of backup.versions) {
        const { context } = splitSubject(subject)
        const mapped = idMap.get(context, id) ?? 0
        assert.equal(stage.store.byId(mapped, `:${context}:`).schema, schema, `seed ${seed}, ${context} ${id}`)
      }
      stage.takeWrites()
      const again = await stage.restore({ setCompatibility: 'NONE' })
      assert.deepEqual([stage.takeWrites(), again.idMap.digest], [[], idMap.digest], `seed ${seed}`)
    }
  })

  test('replaces another one with overwrite', async t => {
    for (const seed of seeds) {
      const backup = await backUp({ ...randomRegistry(seed), global: open })
      const held = new Set(backup.versions.map(({ subject }) => subject))
      const others = randomRegistry(seed + 1000).versions.filter(
        ({ subject, references, isDeleted }) => held.has(subject) && references.length === 0 && !isDeleted,
      )
      const stage = await openStage(t, backup, { start: snapshotOf(others, { global: open, contexts: ['.', '.eu'] }) })
      await stage.restore({ strategy: 'overwrite', setCompatibility: 'NONE' })
      const { versions } = await stage.snapshot()
      assert.deepEqual(texts(versions), texts(backup.versions), `seed ${seed}`)
    }
  })
})

function texts(versions: readonly SchemaVersion[]): string[] {
  return [...new Set(versions.map(one => `${one.subject} ${one.schema}`))].sort()
}
