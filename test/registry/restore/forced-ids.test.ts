import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { backUp, brief, forced, openStage } from './schema-stage.ts'

const text = (name: string) => `{"type":"fixed","name":"${name}","size":4}`

describe('force_ids leaves the IDs in records as they are, so that it is refused', () => {
  const ours = () => snapshotOf([versionOf('a', 1, 5, { schema: text('ours') })])

  test('where the target has the schema under another ID, and the ID of the backup is that of another schema', async t => {
    const theirs = [versionOf('a', 1, 7, { schema: text('ours') }), versionOf('b', 1, 5, { schema: text('theirs') })]
    const stage = await openStage(t, ours(), { start: snapshotOf(theirs) })
    const { plan } = await stage.survey({ ...forced, strategy: 'skip' })
    assert.deepEqual([plan.steps, plan.conflicts.map(({ kind }) => kind)], [[], ['not-empty', 'id-taken']])
    assert.match(
      plan.conflicts[1]?.message ?? '',
      /^schema ID 5 of version 1 of subject a is 7 on the target, where version 1 of subject b has the ID 5;/,
    )
  })

  test('where the target has it under another ID alone', async t => {
    const stage = await openStage(t, ours(), { start: snapshotOf([versionOf('a', 1, 7, { schema: text('ours') })]) })
    const { plan } = await stage.survey({ ...forced, strategy: 'skip' })
    assert.match(plan.conflicts[1]?.message ?? '', /^schema ID 5 of version 1 of subject a is 7 on the target; set/)
  })

  test('and not where it has both IDs for it', async t => {
    const both = [versionOf('a', 1, 7, { schema: text('ours') }), versionOf('b', 1, 5, { schema: text('ours') })]
    const backup = snapshotOf([...ours().versions, versionOf('b', 1, 5, { schema: text('ours') })])
    const stage = await openStage(t, backup, { start: snapshotOf(both) })
    const { plan } = await stage.survey({ ...forced, strategy: 'skip' })
    assert.deepEqual([plan.steps, plan.conflicts], [[], []])
  })

  test('where any of several versions under an ID of the target is another schema', async t => {
    const holders = [versionOf('b', 1, 5, { schema: text('theirs') }), versionOf('c', 1, 5, { schema: text('ours') })]
    const stage = await openStage(t, ours(), { start: snapshotOf(holders) })
    const { plan } = await stage.survey(forced)
    assert.deepEqual(
      plan.conflicts.map(({ kind }) => kind),
      ['not-empty', 'id-taken'],
    )
  })
})

describe('a version that is registered between the plan and the restore', () => {
  const backup = () => backUp(snapshotOf([versionOf('a', 1, 5), versionOf('b', 1, 6)]))

  for (const vendor of ['confluent', 'axonops'] as const) {
    test(`ends force_ids before anything is registered in ${vendor}, and stays as it is`, async t => {
      const stage = await openStage(t, await backup(), { vendor, start: snapshotOf([versionOf('b', 1, 6)]) })
      stage.onRequest = ({ method, target }) => {
        if (method !== 'PUT' || !target.startsWith('/mode')) return
        stage.onRequest = undefined
        stage.store.register('a', { ...content('theirs'), id: null, version: 0 })
      }
      await assert.rejects(stage.restore(forced), {
        code: 'RESTORE_REFUSED',
        message: /^the target registry has changed since it was read: it has version 1 of subject a \(ID 7\) now/,
      })
      assert.deepEqual(brief(await stage.snapshot()), ['a@1 #7', 'b@1 #6'])
      assert.equal((await stage.snapshot()).subjects.get('a')?.mode, null)
      assert.deepEqual(
        stage.takeWrites().filter(({ method }) => method === 'POST'),
        [],
      )
    })
  }

  test('is no conflict where it is the planned one, which a lagging follower had not shown', async t => {
    const [planned, other] = [versionOf('a', 1, 7), versionOf('b', 1, 6)]
    const stage = await openStage(t, await backUp(snapshotOf([planned, other])), { start: snapshotOf([other]) })
    stage.onRequest = ({ method, target }) => {
      if (method !== 'PUT' || !target.startsWith('/mode')) return
      stage.onRequest = undefined
      stage.store.register('a', { ...planned, id: null, version: 0 })
    }
    await stage.restore(forced)
    assert.equal(stage.onRequest, undefined)
    assert.deepEqual(brief(await stage.snapshot()), ['a@1 #7', 'b@1 #6'])
  })

  test('under another ID than the one asked for, what refers to it is not registered', async t => {
    const versions = [versionOf('a', 1, 5), versionOf('b', 1, 6), versionOf('c', 1, 7, { refs: ['b@1'] })]
    const stage = await openStage(t, await backUp(snapshotOf(versions)))
    await stage.setProxy(({ method, target }) =>
      method === 'POST' && target.startsWith('/subjects/b/versions')
        ? { kind: 'answer', status: 200, json: { id: 900 } }
        : { kind: 'pass' },
    )
    await assert.rejects(stage.restore(forced), /version 1 of subject b should have ID 6 and has 900/)
    assert.deepEqual(brief(await stage.snapshot()), ['a@1 #5'])
    assert.ok(!stage.calls.some(({ method, target }) => method === 'POST' && target.startsWith('/subjects/c/')))
  })
})

function content(name: string) {
  return { schemaType: 'AVRO' as const, schema: text(name), references: [], metadata: null, ruleSet: null }
}
