import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type SubjectFilter, selectSubjects } from '../../../src/registry/restore/select-subjects.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { openStage } from './schema-stage.ts'

const record = (name: string) => ({ schema: JSON.stringify({ type: 'record', name, fields: [] }) })
const backup = snapshotOf(
  [
    versionOf('address', 1, 1, record('Address')),
    versionOf('address', 2, 2, record('Address2')),
    versionOf('person', 1, 3, { ...record('Person'), refs: ['address@1'] }),
    versionOf('orders-value', 1, 4, { ...record('Order'), refs: ['person@1'] }),
    versionOf('payments-value', 1, 5, record('Payment')),
    versionOf(':.eu:orders-value', 1, 1, record('Order')),
  ],
  {
    contexts: ['.', '.eu', '.unused'],
    subjects: {
      pay: { config: { alias: 'payments-value' } },
      ':.eu:orders-value': { compatibility: 'FULL' },
    },
  },
)

const selected = (filter: Partial<SubjectFilter>) => selectSubjects(backup, { subjects: ['*'], exclude: [], ...filter })
const subjectsOf = (filter: Partial<SubjectFilter>) => [
  ...new Set(selected(filter).snapshot.versions.map(({ subject }) => subject)),
]

describe('the filter of a restore of schemas', () => {
  test('changes nothing without patterns', () => {
    assert.deepEqual(selected({}), { snapshot: backup, conflicts: [], notes: [] })
  })

  test('takes subjects that match, by whole names', () => {
    assert.deepEqual(subjectsOf({ subjects: ['payments-*'] }), ['payments-value'])
    assert.deepEqual(subjectsOf({ subjects: [':.eu:*'] }), [':.eu:orders-value'])
    assert.deepEqual(subjectsOf({ exclude: ['orders-*', 'pay*', 'person'] }), ['address', ':.eu:orders-value'])
  })

  test('takes along what a selected subject refers to, with all its versions, and reports it', () => {
    const { snapshot, notes } = selected({ subjects: ['orders-*'], exclude: ['address'] })
    assert.deepEqual(
      snapshot.versions.map(({ subject, version }) => `${subject}@${version}`),
      ['address@1', 'address@2', 'person@1', 'orders-value@1'],
    )
    assert.deepEqual(
      notes.map(({ kind, message }) => [kind, message]),
      [
        [
          'hint',
          'subject person is restored although the filter leaves it out, because subject orders-value refers to it',
        ],
        ['hint', 'subject address is restored although the filter leaves it out, because subject person refers to it'],
        [
          'hint',
          '3 subjects (:.eu:orders-value, …) are left out by enterprise.schema_registry.restore.subjects and exclude, with 2 versions: ' +
            'unknown_ids decides what happens to records with their schema IDs',
        ],
      ],
    )
  })

  test('leaves out a context whose subjects are all left out, with its settings', () => {
    assert.deepEqual(selected({ exclude: [':.eu:*'] }).snapshot.contexts, ['.', '.unused'])
    assert.ok(!selected({ exclude: [':.eu:*'] }).snapshot.subjects.has(':.eu:orders-value'))
  })

  test('reports an alias of a subject that is left out', () => {
    const { notes } = selected({ exclude: ['payments-value'] })
    assert.match(
      notes.map(({ message }) => message).join(),
      /subject pay is an alias of payments-value, which the filter/,
    )
  })

  const refused: [sentence: string, filter: Partial<SubjectFilter>, message: RegExp][] = [
    [
      'a name that the backup does not hold',
      { subjects: ['order-value', '*'] },
      /restore\.subjects names .*"order-value"/,
    ],
    ['an excluded name that the backup does not hold', { exclude: ['adress'] }, /restore\.exclude names .*"adress"/],
    [
      'a filter that selects nothing',
      { subjects: ['x*'] },
      /restore\.subjects \(x\*\) .* select no subject of the backup/,
    ],
  ]
  for (const [sentence, filter, message] of refused) {
    test(`refuses ${sentence}`, () => {
      const { conflicts } = selected(filter)
      assert.deepEqual([conflicts.length, conflicts[0]?.kind], [1, 'filter'])
      assert.match(conflicts[0]?.message ?? '', message)
    })
  }

  test('restores the rest where a registry cannot take one subject, and writes nothing in a second run', async t => {
    const bad = versionOf('bad-value', 1, 9, { schema: '{"type":"record"' })
    const whole = snapshotOf([...backup.versions, bad], { contexts: ['.', '.eu'] })
    const stage = await openStage(t, whole)
    await assert.rejects(stage.restore(), /bad-value/)
    const filter = { subjects: ['*'], exclude: ['bad-*'] }
    const { report } = await stage.restore({ filter })
    assert.equal(report.versions.register + report.versions.keep, 6)
    assert.ok((await stage.snapshot()).versions.every(({ subject }) => subject !== 'bad-value'))
    stage.takeWrites()
    await stage.restore({ filter })
    assert.deepEqual(stage.takeWrites(), [])
  })

  test('writes nothing where it has a slip', async t => {
    const stage = await openStage(t, backup)
    const { plan } = await stage.survey({ filter: { subjects: ['*'], exclude: ['adress'] } })
    assert.deepEqual([plan.steps, plan.conflicts.length], [[], 1])
  })
})
