import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { KafkaBackupError } from '../../../src/errors.ts'
import { noLessons, printHeld } from '../../../src/registry/restore/plan/lessons.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { plan } from './plan/restore-stage.ts'
import { backUp, brief, forced, openJournals, openStage, type Stage } from './schema-stage.ts'

async function levelOf(stage: Stage, subject: string): Promise<string | null | undefined> {
  return (await stage.snapshot()).subjects.get(subject)?.compatibility
}

/** Refuses to give subject `a` the level FULL, as long as `isRefusing` says so. */
async function refuseFull(stage: Stage, status: number, isRefusing: () => boolean): Promise<void> {
  await stage.setProxy(({ method, target, body }) => {
    const isFull = method === 'PUT' && target.startsWith('/config/a') && body.includes('FULL')
    const answer = { kind: 'answer', status, json: { error_code: status * 100, message: 'no' } } as const
    return isFull && isRefusing() ? answer : { kind: 'pass' }
  })
}

describe('what an earlier run has learned of versions that are held as one', () => {
  const backup = snapshotOf([versionOf('a', 1, 11), versionOf('a', 2, 12)])
  const [first, second] = backup.versions
  assert.ok(first && second)
  const lessons = { ...noLessons, heldAs: new Map([['a@2', { version: 1, print: printHeld(second, first) }]]) }

  test('maps the ID of the one to the other', () => {
    const { knownIds } = plan(backup, snapshotOf([{ ...first, id: 50 }]), { lessons })
    assert.deepEqual(
      [...knownIds],
      [
        ['11', 50],
        ['12', 50],
      ],
    )
  })

  test('does not map an ID to another schema that is there now', () => {
    const { knownIds } = plan(backup, snapshotOf([versionOf('a', 1, 50, { schema: '"int"' })]), { lessons })
    assert.equal(knownIds.get('12'), undefined)
  })

  test('does not map the ID of another schema of that name, as with another mapping of subjects', () => {
    const other = snapshotOf([first, { ...second, schema: '"int"' }])
    const { knownIds } = plan(other, snapshotOf([{ ...first, id: 50 }]), { lessons })
    assert.equal(knownIds.get('12'), undefined)
  })
})

test('a version of another writer that took a number does not show what the registry drops', async t => {
  const metadata = { properties: { owner: 'me' } }
  const ours = [versionOf('a', 1, 11, { metadata }), versionOf('a', 2, 12, { metadata })]
  const start = snapshotOf([], { global: { compatibility: 'NONE', mode: 'READWRITE', config: null } })
  const stage = await openStage(t, await backUp(snapshotOf(ours)), { start })
  let isFirst = true
  stage.onRequest = ({ method, target }) => {
    if (!isFirst || method !== 'POST' || !target.startsWith('/subjects/a/versions')) return
    isFirst = false
    const content = { schemaType: 'AVRO', schema: '"int"', references: [], metadata: null, ruleSet: null } as const
    stage.store.register('a', { ...content, id: null, version: 0 })
  }
  const { report } = await stage.restore()
  const held = (await stage.snapshot()).versions.filter(({ schema }) => schema !== '"int"')
  assert.deepEqual(
    held.map(one => one.metadata),
    [metadata, metadata],
  )
  const lost = report.notes.flatMap(note => (note.kind === 'lossy' ? note.loss : []))
  assert.deepEqual(lost, ['version_number', 'version_number'])
})

test('an ID of the mapping file has to be one of the context that it is for', () => {
  const backup = snapshotOf([versionOf(':.eu:a', 1, 5), versionOf('b', 1, 6)], { contexts: ['.', '.eu'] })
  const target = snapshotOf([versionOf('z', 1, 7), versionOf(':.eu:z', 1, 8)], { contexts: ['.', '.eu'] })
  const kindsOf = (key: string, id: number) =>
    plan(backup, target, { idOverrides: new Map([[key, id]]) }).conflicts.map(({ kind }) => kind)
  assert.deepEqual([kindsOf(':.eu:5', 7), kindsOf(':.eu:5', 8)], [['id-not-found'], []])
  assert.deepEqual([kindsOf('6', 8), kindsOf('6', 7)], [['id-not-found'], []])
})

describe('a level of the target that the restore has lifted', () => {
  for (const status of [403, 422, 500]) {
    test(`and that is refused with ${status} afterwards ends the run, and the next one puts it back`, async t => {
      const versions = [versionOf('a', 1, 11), versionOf('a', 2, 12)]
      const backup = await backUp(snapshotOf(versions, { subjects: { a: { compatibility: 'BACKWARD' } } }))
      const start = snapshotOf(versions.slice(0, 1), { subjects: { a: { compatibility: 'FULL' } } })
      const stage = await openStage(t, backup, { start })
      let isRefusing = true
      await refuseFull(stage, status, () => isRefusing)
      const acceptLoss = ['compatibility', 'config'] as const
      await assert.rejects(
        stage.restore({ setCompatibility: 'NONE', acceptLoss }),
        /^KafkaBackupError: the target registry refuses to set the level FULL of subject a: /,
      )
      assert.match(stage.warnings.at(-2) ?? '', /could not restore the level of subject a: .+/)
      assert.match(stage.warnings.at(-1) ?? '', /1 change could not be undone: run the same command again/)
      assert.equal(openJournals(stage).length, 1)

      isRefusing = false
      await stage.restore({ setCompatibility: 'NONE', acceptLoss })
      assert.deepEqual([await levelOf(stage, 'a'), openJournals(stage)], ['FULL', []])
    })
  }

  test('and that is ignored afterwards is reported, though it is none of the backup', async t => {
    const versions = [versionOf('a', 1, 11), versionOf('a', 2, 12)]
    const backup = await backUp(snapshotOf(versions, { subjects: { a: { compatibility: 'BACKWARD' } } }))
    const start = snapshotOf(versions.slice(0, 1), { subjects: { a: { compatibility: 'FULL' } } })
    const stage = await openStage(t, backup, { start })
    await refuseFull(stage, 200, () => true)
    const { report } = await stage.restore({ setCompatibility: 'NONE' })
    assert.deepEqual(
      report.notes.map(({ message }) => message),
      [
        'the target registry (confluent) does not keep the level FULL of subject a: it answers with success, and does not ' +
          'change it',
      ],
    )
  })
})

describe('a level of the backup', () => {
  for (const status of [403, 500]) {
    test(`that is refused with ${status} is tried again by the next run`, async t => {
      const backup = await backUp(snapshotOf([versionOf('a', 1, 11)], { subjects: { a: { compatibility: 'FULL' } } }))
      const stage = await openStage(t, backup)
      let isRefusing = true
      await refuseFull(stage, status, () => isRefusing)
      await assert.rejects(stage.restore(), (error: KafkaBackupError) => {
        assert.equal(error.code, 'REGISTRY_REFUSED')
        assert.match(error.message, /refuses to set the level FULL of subject a: .*: no$/)
        assert.match(error.help, /run the command again/)
        return true
      })
      assert.deepEqual(stage.warnings, ['everything else is restored'])
      isRefusing = false
      const { report } = await stage.restore()
      assert.deepEqual([await levelOf(stage, 'a'), report.notes, openJournals(stage)], ['FULL', [], []])
    })
  }

  test('that access rules forbid is a loss where the job accepts it, in a second run as well', async t => {
    const backup = await backUp(snapshotOf([versionOf('a', 1, 11)], { subjects: { a: { compatibility: 'FULL' } } }))
    const stage = await openStage(t, backup)
    await refuseFull(stage, 403, () => true)
    const acceptLoss = ['compatibility'] as const
    const { report } = await stage.restore({ acceptLoss })
    assert.deepEqual(
      report.notes.flatMap(note => (note.kind === 'lossy' ? note.loss : [])),
      ['compatibility'],
    )
    const again = await stage.restore({ acceptLoss })
    assert.deepEqual([again.report.notes, openJournals(stage)], [report.notes, []])
  })
})

describe('a part of a backup that is restored with its IDs', () => {
  const both = [versionOf('a', 1, 11), versionOf('b', 1, 12, { schemaType: 'JSON', schema: '{}' })]
  for (const [way, part] of [
    ['subjects', { filter: { subjects: ['a'], exclude: [] } }],
    ['schema types', { schemaTypes: ['AVRO'] }],
  ] as const) {
    test(`by its ${way} leaves the IDs of the rest free, and to the rest alone`, async t => {
      const stage = await openStage(t, await backUp(snapshotOf(both)))
      await stage.restore({ ...forced, ...part })
      assert.deepEqual(brief(await stage.snapshot()), ['a@1 #11', '-kafka-backup.reserved-ids@1 #13'])
      await stage.restore(forced)
      const whole = ['a@1 #11', 'b@1 #12', '-kafka-backup.reserved-ids@1 #13']
      assert.deepEqual(brief(await stage.snapshot()), whole)
      stage.takeWrites()
      await stage.restore({ ...forced, ...part })
      assert.deepEqual(stage.takeWrites(), [])
    })
  }

  for (const vendor of [undefined, 'confluent', 'axonops'] as const) {
    test(`frees the ID behind those of the rest for a later schema, in ${vendor ?? 'the registry of this program'}`, async t => {
      const part = { filter: { subjects: ['a'], exclude: [] } }
      const first = await openStage(t, await backUp(snapshotOf(both)), { ...(vendor && { vendor }) })
      await first.restore({ ...forced, ...part })
      const later = [
        versionOf('a', 2, 13, { schema: '"long"' }),
        versionOf('b', 2, 14, { schemaType: 'JSON', schema: '1' }),
      ]
      for (const [count, rest] of [
        [1, []],
        [2, ['-kafka-backup.reserved-ids@2 #15']],
      ] as const) {
        const backup = await backUp(snapshotOf([...both, ...later.slice(0, count)]))
        const start = await first.snapshot()
        const next = await openStage(t, backup, { start, ...(vendor && { vendor }) })
        const { report } = await next.restore({ ...forced, ...part }, { journalIn: first.storage })
        assert.deepEqual(brief(await next.snapshot()), ['a@1 #11', 'a@2 #13', ...rest])
        assert.deepEqual(
          report.notes.filter(({ kind }) => kind !== 'hint'),
          [],
        )
      }
    })
  }
})
