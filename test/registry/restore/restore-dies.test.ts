import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { RegistrySnapshot } from '../../../src/archive/registry-model.ts'
import { KafkaBackupError } from '../../../src/errors.ts'
import type { SchemaOptions } from '../../../src/registry/restore/survey-target.ts'
import { withFaults } from '../../fakes/faulty-storage.ts'
import { isWrite } from '../../fakes/registry-proxy.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { numbersToTry } from '../../full.ts'
import { backUp, essence, forced, openJournals, openStage, type Stage } from './schema-stage.ts'

/** What is hard to resume: references, numbers with holes, what is marked as deleted, a history that breaks its level, modes, an alias. */
function awkward(): RegistrySnapshot {
  return snapshotOf(
    [
      versionOf(':.eu:a', 1, 3),
      versionOf('a', 1, 2),
      versionOf('a', 3, 5, { refs: ['b@1'] }),
      versionOf('b', 1, 4, { refs: ['a@1'] }),
      versionOf('closed', 1, 6),
      versionOf('gone', 1, 7, { isDeleted: true }),
      versionOf('history', 1, 8),
      versionOf('history', 2, 9),
    ],
    {
      contexts: ['.', '.eu'],
      subjects: {
        a: { compatibility: 'FULL' },
        closed: { mode: 'READONLY', config: { normalize: true } },
        nick: { config: { alias: 'a' } },
      },
      global: { compatibility: 'FULL', mode: 'READWRITE', config: null },
      maxIds: new Map([['.', 20]]),
    },
  )
}

/** Something else is there under two of its names, with settings of its own. */
const occupied = snapshotOf([versionOf('a', 1, 100), versionOf('a', 2, 101), versionOf('z', 1, 102)], {
  subjects: { a: { compatibility: 'BACKWARD_TRANSITIVE', mode: 'READONLY' }, z: { compatibility: 'NONE' } },
})

const ways: { name: string; options: Partial<SchemaOptions>; start?: RegistrySnapshot }[] = [
  { name: 'with force_ids', options: forced },
  { name: 'into a registry that gives its own IDs', options: { setCompatibility: 'NONE' } },
  { name: 'under the levels of the registry', options: {} },
  { name: 'with overwrite', options: { strategy: 'overwrite', setCompatibility: 'NONE' }, start: occupied },
]

for (const { name, options, start } of ways) {
  describe(`a restore of schemas ${name}`, () => {
    const open = (t: TestContext, backup: RegistrySnapshot) =>
      openStage(t, backup, { firstId: 200, ...(start && { start }) })

    test('is brought to its end by the next run when it dies at any of its writes (case 26)', async t => {
      const backup = await backUp(awkward())
      const whole = await open(t, backup)
      await whole.restore(options)
      const expected = comparable(await whole.snapshot(), options)
      const writes = whole.takeWrites().length
      assert.ok(writes > 10)
      for (const nth of numbersToTry(writes)) {
        const stage = await open(t, backup)
        await dieAt(stage, nth, options)
        const { idMap } = await stage.restore(options)
        assert.deepEqual(comparable(await stage.snapshot(), options), expected, `died at write ${nth}`)
        assert.deepEqual(openJournals(stage), [], `died at write ${nth}`)
        stage.takeWrites()
        const again = await stage.restore(options)
        assert.deepEqual(stage.takeWrites(), [], `died at write ${nth}`)
        assert.equal(again.idMap.digest, idMap.digest)
      }
    })

    test('makes every request again whose answer is lost (case 37)', async t => {
      const backup = await backUp(awkward())
      const whole = await open(t, backup)
      await whole.restore(options)
      const stage = await open(t, backup)
      const lost = new Set<string>()
      await stage.setProxy(({ method, target, body }) => {
        const key = `${method} ${target} ${body}`
        if (lost.has(key)) return { kind: 'pass' }
        lost.add(key)
        return { kind: 'cut-after' }
      })
      await stage.restore(options)
      assert.deepEqual(comparable(await stage.snapshot(), options), comparable(await whole.snapshot(), options))
      assert.deepEqual(openJournals(stage), [])
    })
  })
}

describe('the journal of a restore of schemas', () => {
  test('is durable before the first write, and closed after the last', async t => {
    const stage = await openStage(t, await backUp(awkward()))
    const open: number[] = []
    stage.onRequest = call => {
      if (isWrite(call)) open.push(openJournals(stage).length)
    }
    await stage.restore(forced)
    assert.deepEqual(new Set(open), new Set([1]))
    assert.deepEqual(openJournals(stage), [])
  })

  test('is closed by the next run where only that was left to do', async t => {
    const stage = await openStage(t, await backUp(awkward()))
    const dying = withFaults(stage.storage, [{ on: 'create', key: /\.done$/, effect: { kind: 'throw-before' } }])
    await assert.rejects(stage.restore(forced, { journalIn: dying }))
    assert.equal(openJournals(stage).length, 1)
    stage.takeWrites()
    await stage.restore(forced)
    assert.deepEqual(stage.takeWrites(), [])
    assert.deepEqual(openJournals(stage), [])
  })

  test('that cannot be written keeps the registry from being touched, and the error says what helps', async t => {
    const stage = await openStage(t, await backUp(awkward()))
    const error = () => new KafkaBackupError('STORAGE_DENIED', 'no')
    const denied = withFaults(stage.storage, [{ on: 'create', effect: { kind: 'throw-before', error } }])
    await assert.rejects(stage.restore(forced, { journalIn: denied }), (thrown: KafkaBackupError) => {
      assert.equal(thrown.code, 'STORAGE_DENIED')
      assert.match(thrown.message, /^the journal of the schemas' restore cannot be written: no/)
      assert.match(thrown.help, /enterprise\.schema_registry\.restore\.journal/)
      return true
    })
    assert.deepEqual(stage.takeWrites(), [])
  })
})

/** Which IDs a registry gives hangs on how often it was asked for some; guids hang on nothing but the schema. */
function comparable(snapshot: RegistrySnapshot, { forceIds }: Partial<SchemaOptions>): object {
  const modes = [snapshot.global, ...snapshot.subjects.values(), ...snapshot.contextSettings.values()]
  assert.ok(modes.every(({ mode }) => mode !== 'IMPORT'))
  const all = essence(snapshot) as { versions: { id: number }[]; maxIds: object }
  if (forceIds) return all
  return { ...all, versions: all.versions.map(({ id: _, ...rest }) => rest), maxIds: {} }
}

/**
 * The process ends while its nth write is under way. That one takes effect, and no answer of it arrives; nothing that comes
 * after it does. To die before a write is to die after the one before it.
 */
async function dieAt(stage: Stage, nth: number, options: Partial<SchemaOptions>): Promise<void> {
  const death = new AbortController()
  let writes = 0
  stage.onRequest = call => {
    if (death.signal.aborted) throw new Error('nobody asks any more')
    if (isWrite(call) && ++writes === nth) death.abort(new Error('died'))
  }
  await assert.rejects(stage.restore(options, { signal: death.signal }), /died/)
  stage.onRequest = undefined
}
