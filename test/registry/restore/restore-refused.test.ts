import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { KafkaBackupError } from '../../../src/errors.ts'
import { JournalBook } from '../../../src/registry/restore/journal.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { sampleRegistry } from './sample-registry.ts'
import { backUp, brief, essence, forced, never, openJournals, openStage, type Stage } from './schema-stage.ts'

const chain = snapshotOf([versionOf('a', 1, 5), versionOf('b', 1, 6, { refs: ['a@1'] })])

/** What somebody registers on the target. */
const foreign = {
  schemaType: 'AVRO',
  schema: '"int"',
  references: [],
  metadata: null,
  ruleSet: null,
  id: null,
  version: 0,
} as const

/** As a run of an earlier generation has left it. */
async function journalImport({ storage }: Stage, imported: string[]): Promise<void> {
  const parts = { storage, clock: new JumpingClock(), newRun: () => 'earlier' }
  const book = new JournalBook(parts, { backupId: 'b', registry: 'target' })
  const nothing = { settings: [], emptyContexts: [], createdSubjects: [], registered: [], fillers: [] }
  await book.write({ ...nothing, imported }, never)
  await book.close(never)
}

describe('a restore of schemas is refused before any write', () => {
  test('by a registry that is read-only as a whole (case 21)', async t => {
    const start = snapshotOf([], { global: { compatibility: 'FULL', mode: 'READONLY', config: null } })
    const stage = await openStage(t, await backUp(chain), { start })
    for (const options of [{}, forced]) {
      const { plan } = await stage.survey(options)
      const [message] = plan.conflicts.map(one => one.message)
      assert.equal(
        message,
        'the target registry is in mode READONLY, and takes no schemas; set its mode to READWRITE first',
      )
    }
    assert.deepEqual(stage.takeWrites(), [])
  })

  test('by an ID that another schema has, with both (case 24)', async t => {
    const stage = await openStage(t, await backUp(chain), {
      start: snapshotOf([versionOf('theirs', 1, 6, { schema: '"int"' })]),
    })
    const { plan } = await stage.survey(forced)
    const taken = plan.conflicts.find(({ kind }) => kind === 'id-taken')
    assert.match(
      taken?.message ?? '',
      /^schema ID 6 of version 1 of subject b is taken on the target by version 1 of subject theirs/,
    )
    assert.ok(plan.conflicts.some(({ kind }) => kind === 'not-empty'))
    assert.deepEqual(stage.takeWrites(), [])
  })

  test('by a reference that was not backed up, with the message of the specification (case 13)', async t => {
    const [, b] = (await backUp(chain)).versions
    const stage = await openStage(t, snapshotOf(b ? [b] : []))
    const { plan } = await stage.survey()
    const [message = ''] = plan.conflicts.map(one => one.message)
    assert.match(message, /^Reference to subject a not found: /)
    assert.match(message, /Include the subject in backup\.subjects and set backup\.include_references to true$/)
  })

  test('by an ID that only a lookup could find, with the message of the specification', async t => {
    const stage = await openStage(t, await backUp(chain))
    const { plan } = await stage.survey({ strategy: 'lookup' })
    const messages = plan.conflicts.map(one => one.message)
    assert.equal(messages.length, 2)
    for (const message of messages)
      assert.match(message, /^Schema ID [56] not found in target registry: .*restore\.enabled to true/)
  })

  test('by an ID of the mapping file that the registry does not have', async t => {
    const stage = await openStage(t, await backUp(chain))
    const { plan } = await stage.survey({ idOverrides: new Map([['5', 99]]) })
    assert.match(
      plan.conflicts[0]?.message ?? '',
      /^Schema ID 99 not found in target registry: restore\.id_mapping_file maps 5/,
    )
  })
})

describe('a registry that does not let modes be changed', () => {
  test('assigns its own IDs to schemas (case 22)', async t => {
    const stage = await openStage(t, await backUp(chain), { areModesMutable: false, firstId: 50 })
    await stage.restore()
    assert.deepEqual(brief(await stage.snapshot()), ['a@1 #50', 'b@1 #51'])
  })

  test('refuses force_ids at the first request with a solution, and leaves nothing to resume (case 22)', async t => {
    const stage = await openStage(t, await backUp(chain), { areModesMutable: false })
    await assert.rejects(stage.restore(forced), (error: KafkaBackupError) => {
      assert.match(
        error.message,
        /^the target registry does not put itself into mode IMPORT: .*Mode changes are not allowed/,
      )
      assert.match(error.help, /force_ids to false/)
      return true
    })
    assert.deepEqual(brief(await stage.snapshot()), [])
    assert.deepEqual(openJournals(stage), [])
  })

  test('does not make a restore forget what an earlier run that died has left', async t => {
    const stage = await openStage(t, await backUp(chain), { areModesMutable: false })
    const parts = { storage: stage.storage, clock: new JumpingClock(), newRun: () => 'earlier' }
    const book = new JournalBook(parts, { backupId: 'b', registry: 'target' })
    const original = { scope: { kind: 'global' }, compatibility: 'FULL', mode: 'READWRITE', config: null } as const
    const nothing = { emptyContexts: [], createdSubjects: [], registered: [], fillers: [], imported: [] }
    await book.write({ ...nothing, settings: [original] }, never)
    const before = openJournals(stage)
    await assert.rejects(stage.restore(forced), /does not put itself into mode/)
    assert.deepEqual([before.length, openJournals(stage)], [1, before])
  })

  test('and has none to set refuses force_ids at the first request as well', async t => {
    const stage = await openStage(t, await backUp(chain))
    await stage.setProxy(({ method, target }) => {
      const isMode = method === 'PUT' && target.startsWith('/mode')
      return isMode ? { kind: 'answer', status: 405, json: {} } : { kind: 'pass' }
    })
    await assert.rejects(
      stage.restore(forced),
      /^KafkaBackupError: the target registry does not put itself into mode IMPORT/,
    )
    assert.deepEqual([stage.takeWrites(), openJournals(stage)], [[], []])
  })

  test('loses nothing to an overwrite with force_ids, which removes before it imports (case 22)', async t => {
    const stage = await openStage(t, await backUp(chain), { areModesMutable: false })
    stage.store.register('a', foreign)
    await journalImport(stage, ['a@1#1'])
    const before = await stage.snapshot()
    await assert.rejects(stage.restore({ ...forced, strategy: 'overwrite' }), /does not put itself into mode READWRITE/)
    assert.deepEqual(essence(await stage.snapshot()), essence(before))
  })
})

describe('force_ids', () => {
  test('deletes and imports nothing where the registry holds what this restore did not write', async t => {
    const start = snapshotOf([versionOf('a', 1, 70), versionOf('theirs', 1, 71, { isDeleted: true })])
    const stage = await openStage(t, await backUp(chain), { start })
    for (const strategy of ['preserve', 'overwrite', 'skip'] as const) {
      await assert.rejects(
        stage.restore({ ...forced, strategy }),
        /restore\.force_ids needs an empty target registry: it holds 2 versions that no journal/,
      )
    }
    assert.deepEqual(stage.takeWrites(), [])
    assert.deepEqual(brief(await stage.snapshot()), brief(start))
  })

  test('writes nothing in a second run, with any strategy, also where others have registered something since', async t => {
    const stage = await openStage(t, await backUp(chain))
    await stage.restore(forced)
    stage.takeWrites()
    for (const strategy of ['preserve', 'overwrite', 'skip'] as const) await stage.restore({ ...forced, strategy })
    stage.store.register('theirs', foreign)
    await stage.restore(forced)
    assert.deepEqual(stage.takeWrites(), [])
  })

  test('brings back what is missing of what it has written, and nothing once others use the registry', async t => {
    const stage = await openStage(t, await backUp(chain))
    await stage.restore(forced)
    for (const permanent of [false, true]) stage.store.deleteVersion('b', 1, permanent)
    await stage.restore(forced)
    assert.deepEqual(brief(await stage.snapshot()), ['a@1 #5', 'b@1 #6'])
    for (const permanent of [false, true]) stage.store.deleteVersion('b', 1, permanent)
    stage.store.register('theirs', foreign)
    await assert.rejects(
      stage.restore(forced),
      /it holds 1 version that no journal of this restore lists, such as version 1 of subject theirs/,
    )
  })
})

describe('a registration that a registry refuses', () => {
  test('ends the restore with the message of the specification and what helps', async t => {
    const record = (type: string) => `{"type":"record","name":"r","fields":[{"name":"f","type":"${type}"}]}`
    const first = versionOf('a', 1, 5, { schema: record('int') })
    const backup = await backUp(snapshotOf([first, versionOf('a', 2, 6, { schema: record('string') })]))
    // Somebody uses the subject: its level counts.
    const stage = await openStage(t, backup, { start: snapshotOf([first]) })
    await assert.rejects(stage.restore(), (error: KafkaBackupError) => {
      assert.match(error.message, /^Schema registration failed for subject a: version 2: POST .* error code 40901/)
      assert.match(
        error.message,
        /set restore\.set_compatibility to NONE, or restore\.force_register to true \(dangerous\)$/,
      )
      return true
    })
    await stage.restore({ setCompatibility: 'NONE' })
    const after = await stage.snapshot()
    assert.deepEqual([brief(after).length, after.subjects.get('a')?.compatibility ?? null], [2, null])
    assert.deepEqual(openJournals(stage), [])
  })

  test('does not hold up a history that breaks its own level, in a subject that has nothing (case 28)', async t => {
    const record = (type: string) => `{"type":"record","name":"r","fields":[{"name":"f","type":"${type}"}]}`
    const versions = [1, 2].map(at => versionOf('a', at, at, { schema: record(at === 1 ? 'int' : 'string') }))
    const stage = await openStage(t, await backUp(snapshotOf(versions)), { firstId: 50 })
    await stage.restore()
    const after = await stage.snapshot()
    assert.deepEqual([brief(after).length, after.subjects.get('a')?.compatibility ?? null], [2, null])
  })

  test('is made again where a follower does not know yet what it refers to (case 37)', async t => {
    const stage = await openStage(t, await backUp(chain), { firstId: 50 })
    let refusals = 3
    await stage.setProxy(({ method, target }) => {
      const isLate = method === 'POST' && target === '/subjects/b/versions' && refusals-- > 0
      const json = { error_code: 42201, message: 'No schema reference found for subject "a" and version 1' }
      return isLate ? { kind: 'answer', status: 422, json } : { kind: 'pass' }
    })
    await stage.restore()
    assert.deepEqual(brief(await stage.snapshot()), ['a@1 #50', 'b@1 #51'])
    assert.ok(refusals < 0)
  })

  test('is not blamed for a reference that the registry took and does not hold', async t => {
    const stage = await openStage(t, await backUp(chain))
    await stage.setProxy(({ method, target }) => {
      // It says that it has taken what it does not have.
      if (method === 'POST' && target === '/subjects/a/versions')
        return { kind: 'answer', status: 200, json: { id: 1 } }
      return { kind: 'pass' }
    })
    await assert.rejects(
      stage.restore(),
      /^KafkaBackupError: .* it was asked to register version 1 of subject a, answered with success, and does not show the change$/,
    )
  })
})

describe('a registry that does not do what it says', () => {
  test('and ignores IDs is found out at the first answer, and nothing is left behind (case 32)', async t => {
    const stage = await openStage(t, await backUp(sampleRegistry()), { firstId: 900 })
    const before = await stage.snapshot()
    await stage.setProxy(call => {
      const isMode = call.method === 'PUT' && call.target.startsWith('/mode')
      if (isMode) return { kind: 'answer', status: 200, json: JSON.parse(call.body) }
      if (call.method !== 'POST') return { kind: 'pass' }
      const { id: _, version: __, ...rest } = JSON.parse(call.body)
      return { kind: 'send', body: JSON.stringify(rest) }
    })
    await assert.rejects(stage.restore(forced), (error: KafkaBackupError) => {
      assert.match(
        error.message,
        /^the target registry ignores IDs: version 1 of subject .* should have ID \d+ and has 900$/,
      )
      assert.match(error.help, /force_ids to false; rewrite_ids/)
      return true
    })
    assert.equal(stage.takeWrites().filter(({ method }) => method === 'POST').length, 1)
    assert.deepEqual({ ...essence(await stage.snapshot()), maxIds: 0 }, { ...essence(before), maxIds: 0 })
    assert.deepEqual(openJournals(stage), [])
  })

  test('and ignores IDs, and does not let that be undone, leaves the journal open and is reported', async t => {
    for (const refused of ['mode', 'version'] as const) {
      const stage = await openStage(t, await backUp(chain), { firstId: 900 })
      let [mode, isStuck, hasRegistered] = ['READWRITE', true, false]
      await stage.setProxy(call => {
        const undoes = refused === 'mode' ? ['PUT', '/mode'] : ['DELETE', '/subjects/']
        const isUndoing = call.method === undoes[0] && call.target.startsWith(undoes[1] ?? '')
        if (isStuck && hasRegistered && isUndoing) {
          return { kind: 'answer', status: 403, json: { error_code: 40301, message: 'not allowed' } }
        }
        if (call.target.startsWith('/mode?') || call.target === '/mode') {
          if (call.method === 'PUT') mode = JSON.parse(call.body).mode
          return { kind: 'answer', status: 200, json: { mode } }
        }
        if (call.method !== 'POST') return { kind: 'pass' }
        hasRegistered = true
        const { id: _, version: __, ...rest } = JSON.parse(call.body)
        return { kind: 'send', body: JSON.stringify(rest) }
      })
      await assert.rejects(stage.restore(forced), /the target registry ignores IDs/)
      assert.deepEqual([mode, openJournals(stage).length], [refused === 'mode' ? 'IMPORT' : 'READWRITE', 1])
      const what = refused === 'mode' ? 'restore the mode of the whole registry' : 'remove version 1 of subject a'
      assert.ok(
        stage.warnings.some(message => message.includes(`could not ${what}`)),
        `${stage.warnings}`,
      )
      isStuck = false
      if (refused === 'version') for (const permanent of [false, true]) stage.store.deleteVersion('a', 1, permanent)
      await assert.rejects(stage.restore(forced), /the target registry ignores IDs/)
      assert.deepEqual([mode, openJournals(stage), brief(await stage.snapshot())], ['READWRITE', [], []])
    }
  })

  test('and adds metadata of its own is never a success', async t => {
    const stage = await openStage(t, await backUp(chain))
    stage.store.updateConfig(':.:', { defaultMetadata: { properties: { owner: 'theirs' } } })
    await assert.rejects(stage.restore(), { code: 'REGISTRY_UNFAITHFUL' })
  })

  test('and drops metadata and rule sets is found out at the first answer, and reported as lossy (case 31)', async t => {
    for (const options of [{ setCompatibility: 'NONE' }, forced]) {
      const stage = await openStage(t, await backUp(sampleRegistry()))
      await stage.setProxy(call => {
        if (call.method !== 'POST') return { kind: 'pass' }
        const { metadata: _, ruleSet: __, ...rest } = JSON.parse(call.body)
        return { kind: 'send', body: JSON.stringify(rest) }
      })
      const { report } = await stage.restore(options)
      const lost = report.notes.filter(({ subject }) => subject === 'contract').map(({ message }) => message)
      assert.deepEqual(lost, [
        'the target registry (confluent) does not keep the metadata of contract',
        'the target registry (confluent) does not keep the rule sets of contract',
      ])
      assert.deepEqual(openJournals(stage), [])
      stage.takeWrites()
      const again = await stage.restore(options)
      assert.deepEqual([stage.takeWrites(), again.report.notes], [[], report.notes])
    }
  })
})
