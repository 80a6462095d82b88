import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Note } from '../../../src/registry/restore/plan/restore-step.ts'
import { isOfWrite } from '../../../src/registry/restore/schema-report.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { backUp, brief, forced, openJournals, openStage, type Stage } from './schema-stage.ts'

const record = (name: string, doc?: string, extra = 'x') =>
  JSON.stringify({ type: 'record', name, ...(doc && { doc }), fields: [{ name: extra, type: 'int' }] })

/** Restores, and proves that a second run writes nothing and reports the same. */
async function restoreTwice(stage: Stage, options: Parameters<Stage['restore']>[0] = {}) {
  const { report } = await stage.restore(options)
  stage.takeWrites()
  const again = await stage.restore(options)
  assert.deepEqual([stage.takeWrites(), openJournals(stage)], [[], []])
  // What was deleted is lost by the run that did it.
  const lasting = (note: Note) => note.kind === 'lossy' && !isOfWrite(note)
  assert.deepEqual(again.report.notes.filter(lasting), report.notes.filter(lasting))
  assert.deepEqual(again.report.ids, report.ids)
  const losses = report.notes.flatMap(note => (note.kind === 'lossy' ? [`${note.loss} ${note.subject}`] : []))
  return { report, losses, after: await stage.snapshot() }
}

const places = ({ versions }: { versions: Parameters<typeof brief>[0]['versions'] }) =>
  brief({ ...snapshotOf([]), versions }).map(line => line.split(' ')[0])

describe("Confluent's community server", () => {
  const rules = { domainRules: [{ name: 'r', kind: 'CONDITION', mode: 'WRITE', type: 'CEL', expr: 'true' }] }
  const backup = snapshotOf([
    versionOf('a', 1, 1, { ruleSet: rules, metadata: { properties: { owner: 'me' } } }),
    versionOf('b', 1, 2),
  ])

  test('takes rule sets and drops them: they are reported as lost, and the rest is restored', async t => {
    for (const options of [{}, forced]) {
      const stage = await openStage(t, await backUp(backup), { vendor: 'confluent', firstId: 10 })
      const { losses, after } = await restoreTwice(stage, options)
      assert.deepEqual(
        losses.filter(loss => !loss.startsWith('metadata_inherited')),
        ['rule_set a'],
      )
      assert.deepEqual(after.versions[0]?.metadata, { properties: { owner: 'me' } })
      assert.equal(after.versions.length, 2)
    }
  })

  test('is compared with by the IDs that the restore has mapped, though rule sets are dropped', async t => {
    const stage = await openStage(t, await backUp(backup), { vendor: 'confluent', firstId: 10 })
    const { report } = await stage.restore()
    const { plan } = await stage.surveyRestored()
    assert.deepEqual(
      [...plan.knownIds].map(([source, target]) => [Number(source), target]).sort(),
      report.ids.map(({ source, target }) => [source, target]).sort(),
    )
  })

  test('has versions that differ in their rule sets alone once, and both IDs lead to it', async t => {
    const twice = snapshotOf([
      versionOf('a', 1, 1, { schema: record('A') }),
      versionOf('a', 2, 2, { schema: record('A'), ruleSet: rules }),
      versionOf('a', 3, 3, { schema: record('B', undefined, 'y') }),
    ])
    const stage = await openStage(t, await backUp(twice), { vendor: 'confluent', firstId: 10 })
    const { report, losses, after } = await restoreTwice(stage)
    assert.ok(losses.includes('version_merged a'), losses.join())
    const target = new Map(report.ids.map(one => [one.source, one.target]))
    assert.equal(target.get(1), target.get(2))
    assert.deepEqual(after.versions.map(({ schema }) => schema).sort(), [record('A'), record('B', undefined, 'y')])
  })
})

describe('a registry that was upgraded since the restore', () => {
  const rules = { domainRules: [{ name: 'r', kind: 'CONDITION', mode: 'WRITE', type: 'CEL', expr: 'true' }] }
  const backup = snapshotOf([versionOf('a', 1, 1, { ruleSet: rules }), versionOf('b', 1, 2)])
  const ruleSetOf = async (stage: Stage) =>
    (await stage.snapshot()).versions.find(({ subject }) => subject === 'a')?.ruleSet

  /** The registry reports this version, and drops rule sets or keeps them. */
  async function serveAs(stage: Stage, version: string, keeps: boolean): Promise<void> {
    await stage.setProxy(({ method, target, body }) => {
      if (target === '/v1/metadata/version')
        return { kind: 'edit', edit: answer => JSON.stringify({ ...JSON.parse(answer), version }) }
      if (method !== 'POST' || keeps) return { kind: 'pass' }
      const { ruleSet: _, ...rest } = JSON.parse(body)
      return { kind: 'send', body: JSON.stringify(rest) }
    })
  }

  test('is given the rule sets that the version before it dropped', async t => {
    const stage = await openStage(t, await backUp(backup), { firstId: 10 })
    await serveAs(stage, '8.0.0', false)
    const { losses } = await restoreTwice(stage)
    assert.deepEqual([losses, await ruleSetOf(stage)], [['rule_set a'], null])

    await serveAs(stage, '8.1.0', true)
    for (const permanent of [false, true]) stage.store.deleteSubject('a', permanent)
    const upgraded = await restoreTwice(stage)
    assert.deepEqual([upgraded.losses, await ruleSetOf(stage)], [[], rules])
  })

  test('keeps what it has under its IDs, and what it lacks is still reported as lost', async t => {
    const stage = await openStage(t, await backUp(backup), { firstId: 10 })
    await serveAs(stage, '8.0.0', false)
    const { report } = await restoreTwice(stage)
    await serveAs(stage, '8.1.0', true)
    const upgraded = await restoreTwice(stage)
    assert.deepEqual(upgraded.report.ids, report.ids)
    assert.ok(upgraded.losses.length > 0)
    assert.ok(
      upgraded.losses.every(loss => loss.endsWith(' a')),
      upgraded.losses.join(),
    )
  })

  test('that still drops them is found out again, and a second run writes nothing', async t => {
    const stage = await openStage(t, await backUp(backup), { firstId: 10 })
    await serveAs(stage, '8.0.0', false)
    await restoreTwice(stage)
    await serveAs(stage, '8.0.1', false)
    for (const permanent of [false, true]) stage.store.deleteSubject('a', permanent)
    const { losses } = await restoreTwice(stage)
    assert.deepEqual([losses, await ruleSetOf(stage)], [['rule_set a'], null])
  })
})

describe('Karapace', () => {
  test('keeps a deleted version live that a deleted one refers to, and levels and fillers are put right', async t => {
    const gone = { isDeleted: true } as const
    const backup = snapshotOf(
      [
        versionOf('A', 1, 1, { ...gone, schema: record('A') }),
        versionOf('B', 1, 2, { ...gone, schema: record('B'), refs: ['A@1'] }),
        versionOf('c', 1, 3, { schema: record('C') }),
        versionOf('c', 3, 4, { schema: record('C', undefined, 'other') }),
      ],
      { subjects: { c: { compatibility: 'FULL' } } },
    )
    const stage = await openStage(t, await backUp(backup), { vendor: 'karapace' })
    const { losses, after } = await restoreTwice(stage)
    assert.deepEqual(losses, ['deleted_version_live A'])
    assert.deepEqual(places(after), ['A@1', '-B@1', 'c@1', 'c@3'])
    const levels = [...after.subjects].filter(([, { compatibility }]) => compatibility !== null)
    assert.deepEqual(
      levels.map(([subject, { compatibility }]) => [subject, compatibility]),
      [['c', 'FULL']],
    )
  })
})

describe('AxonOps', () => {
  const documented = snapshotOf([
    versionOf('a', 1, 1, { schema: record('A', 'first') }),
    versionOf('a', 2, 2, { schema: record('A', 'second') }),
    versionOf('b', 1, 3, { schema: record('A', 'third') }),
  ])

  test('has versions once that differ in their documentation alone, and all IDs lead to it', async t => {
    const stage = await openStage(t, await backUp(documented), { vendor: 'axonops' })
    const { report, losses, after } = await restoreTwice(stage)
    // Which of two subjects has the text of the other hangs on which came first.
    assert.match(losses.join(), /^version_merged a,documentation [ab]$/)
    assert.equal(new Set(report.ids.map(({ target }) => target)).size, 1)
    assert.equal(report.ids.length, 3)
    assert.deepEqual(places(after), ['a@2', 'b@1'])
  })

  test('is refused by force_ids before any write where an ID would be lost by that', async t => {
    const stage = await openStage(t, await backUp(documented), { vendor: 'axonops' })
    const { plan } = await stage.survey(forced)
    assert.deepEqual(
      plan.conflicts.map(({ kind, subject }) => [kind, subject]),
      [['unsupported', 'a']],
    )
    assert.match(
      plan.conflicts[0]?.message ?? '',
      /keeps one of the IDs 1 and 2 for both; set restore\.force_ids to false/,
    )
    assert.deepEqual(stage.takeWrites(), [])
  })

  test('takes with force_ids what it can, and leaves no mode behind', async t => {
    const gone = { isDeleted: true } as const
    const backup = snapshotOf(
      [
        versionOf('Hidden', 1, 5, { ...gone, schema: record('Hidden') }),
        versionOf('sees', 1, 6, { schema: record('Sees'), refs: ['Hidden@1'] }),
        versionOf('twice', 1, 7, { ...gone, schema: record('T') }),
        versionOf('twice', 3, 7, { schema: record('T') }),
        versionOf('whole', 1, 8, { ...gone, schema: record('W') }),
      ],
      { subjects: { nick: { config: { alias: 'sees' } } } },
    )
    const read = await backUp(backup)
    // As registries read it that fill in no level.
    const bare = { compatibility: null, mode: null, config: { alias: 'sees' } }
    const subjects = new Map([...read.subjects, ['nick', bare] as const])
    const stage = await openStage(t, { ...read, subjects }, { vendor: 'axonops' })
    const { losses, after } = await restoreTwice(stage, forced)
    assert.deepEqual(losses.sort(), ['compatibility nick', 'deleted_version_live Hidden', 'version_merged twice'])
    assert.deepEqual(brief(after), ['Hidden@1 #5', 'sees@1 #6', 'twice@3 #7', '-whole@1 #8'])
    assert.deepEqual([after.global.mode, stage.store.config('nick', false).alias], ['READWRITE', 'sees'])
  })

  test('takes no name with a slash: that is a conflict, once a subject', async t => {
    const versions = [1, 2].map(at => versionOf('geo/point', at, at))
    const stage = await openStage(t, await backUp(snapshotOf(versions)), { vendor: 'axonops' })
    for (const options of [{}, forced]) {
      const { plan } = await stage.survey(options)
      assert.deepEqual(
        plan.conflicts.map(({ subject }) => subject),
        ['geo/point'],
      )
      assert.match(plan.conflicts[0]?.message ?? '', /no subject with a slash .* restore\.subject_mapping/)
    }
    assert.deepEqual(stage.takeWrites(), [])
  })

  test('resumes a force_ids run that was refused in the middle, by the same command', async t => {
    const versions = ['a', 'b', 'c', 'd'].map((subject, at) => versionOf(subject, 1, at + 5))
    const stage = await openStage(t, await backUp(snapshotOf(versions)), { vendor: 'axonops' })
    let isRefusing = true
    await stage.setProxy(({ method, target }) => {
      const isRefused = isRefusing && method === 'POST' && target.startsWith('/subjects/c/versions')
      return isRefused
        ? { kind: 'answer', status: 500, json: { error_code: 50001, message: 'oops' } }
        : { kind: 'pass' }
    })
    await assert.rejects(stage.restore(forced), /answered 500/)
    const between = await stage.snapshot()
    assert.deepEqual([places(between), between.global.mode], [['a@1', 'b@1', 'd@1'], 'READWRITE'])
    isRefusing = false
    const { after } = await restoreTwice(stage, forced)
    assert.deepEqual(brief(after), ['a@1 #5', 'b@1 #6', 'c@1 #7', 'd@1 #8'])
  })

  test('gives numbers again to a subject that overwrite replaces as a whole, in one run', async t => {
    const start = snapshotOf([versionOf('a', 1, 1, { schema: '"int"' }), versionOf('a', 2, 2, { schema: '"long"' })])
    const backup = await backUp(
      snapshotOf([
        versionOf('a', 1, 8, { schema: record('A') }),
        versionOf('b', 1, 9, { schema: record('B'), refs: ['a@1'] }),
      ]),
    )
    const stage = await openStage(t, backup, { vendor: 'axonops', start })
    const { losses, after } = await restoreTwice(stage, { strategy: 'overwrite' })
    const deleted = ['target_version_deleted a', 'target_version_deleted a']
    assert.deepEqual([losses, places(after)], [deleted, ['a@1', 'b@1']])
  })

  test('renumbers what follows a common beginning with overwrite, in one run, and reports it', async t => {
    const first = versionOf('a', 1, 1, { schema: '"int"' })
    const start = snapshotOf([first, versionOf('a', 2, 2, { schema: '"long"' })])
    const backup = await backUp(
      snapshotOf([
        first,
        versionOf('a', 2, 8, { schema: record('A') }),
        versionOf('b', 1, 9, { schema: record('B'), refs: ['a@2'] }),
      ]),
    )
    const stage = await openStage(t, backup, { vendor: 'axonops', start })
    const { report, losses, after } = await restoreTwice(stage, { strategy: 'overwrite', setCompatibility: 'NONE' })
    assert.deepEqual(
      [losses, places(after)],
      [
        ['target_version_deleted a', 'version_number a'],
        ['a@1', 'a@3', 'b@1'],
      ],
    )
    const [, note] = report.notes.filter(({ kind }) => kind === 'lossy')
    assert.equal(note?.message, 'version 2 of subject a is version 3 on the target; references follow')
    assert.deepEqual(
      after.versions.at(-1)?.references.map(({ version }) => version),
      [3],
    )
  })
})
