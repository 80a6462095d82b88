import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Deletion, deleteInOrder, indexReferences } from '../../../src/registry/restore/delete-in-order.ts'
import { referenceTo, snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { backUp, openStage } from './schema-stage.ts'

/** `a@1` is a version, `a` a subject. */
function step(place: string): Deletion {
  if (!place.includes('@')) return { type: 'delete-subject', subject: place }
  const { subject, version } = referenceTo(place)
  return { type: 'delete-version', subject, version, permanent: true }
}

interface Play {
  width?: number
  /** What the versions refer to. */
  references?: Record<string, string[]>
  failing?: string
}

/** What began and ended, in order. */
async function play(places: string[], { width = 8, references = {}, failing }: Play = {}) {
  const log: string[] = []
  const steps = places.map(step)
  const versions = Object.entries(references).map(([place, refs]) => ({
    ...referenceTo(place),
    references: refs.map(referenceTo),
  }))
  const failure = await deleteInOrder(steps, width, indexReferences(versions, steps), async removed => {
    const place = removed.type === 'delete-subject' ? removed.subject : `${removed.subject}@${removed.version}`
    log.push(`+${place}`)
    await turn()
    if (place === failing) throw new Error(place)
    log.push(`-${place}`)
  }).then(
    () => undefined,
    error => error,
  )
  return { log, failure }
}

describe('deletions in a row', () => {
  test('run side by side where no version refers to another, as many as are allowed', async () => {
    const { log } = await play(['a@1', 'b@1', 'c@1'], { width: 2 })
    assert.deepEqual(log.slice(0, 2), ['+a@1', '+b@1'])
    assert.ok(log.indexOf('+c@1') > log.indexOf('-a@1'))
  })

  test('keep the order of one subject', async () => {
    const { log } = await play(['a@2', 'a@1', 'a', 'b@1'])
    assert.deepEqual(
      log.filter(one => one.includes('a')),
      ['+a@2', '-a@2', '+a@1', '-a@1', '+a', '-a'],
    )
    assert.equal(log.indexOf('+b@1'), 1)
  })

  test('wait for the deletions of what refers to them, through several levels', async () => {
    const references = { 'c@1': ['b@1'], 'b@1': ['a@1'], 'd@1': ['a@1'] }
    const { log } = await play(['c@1', 'd@1', 'b@1', 'a@1', 'e@1'], { references })
    assert.ok(log.indexOf('+b@1') > log.indexOf('-c@1'))
    assert.ok(log.indexOf('+a@1') > Math.max(log.indexOf('-b@1'), log.indexOf('-d@1')))
    assert.equal(log.indexOf('+e@1'), 2)
  })

  test('of a whole subject wait for all that refers to one of its versions', async () => {
    const references = { 'a@1': [], 'a@2': [], 'b@1': ['a@2'], 'c@1': ['b@1'] }
    const { log } = await play(['c@1', 'b', 'a'], { references })
    assert.deepEqual(log, ['+c@1', '-c@1', '+b', '-b', '+a', '-a'])
  })

  test('begin nothing new after a failure, which is thrown when the others have ended', async () => {
    const { log, failure } = await play(['a@1', 'b@1', 'c@1', 'd@1'], { width: 2, failing: 'a@1' })
    assert.match(String(failure), /a@1/)
    assert.deepEqual(log, ['+a@1', '+b@1', '-b@1'])
  })
})

describe('a registry that answers slowly', () => {
  const WIDTH = 20

  /** Deletions are answered when `WIDTH` of them wait. */
  function holdDeletions() {
    const waiting: (() => void)[] = []
    const seen = { most: 0, count: 0 }
    const arrive = (method: string) => {
      if (method !== 'DELETE') return Promise.resolve()
      seen.count++
      return new Promise<void>(resolve => {
        waiting.push(resolve)
        seen.most = Math.max(seen.most, waiting.length)
        if (waiting.length === WIDTH) for (const answer of waiting.splice(0)) answer()
      })
    }
    return { seen, arrive }
  }

  test('gets as many deletions at a time as registrations, one for each version', { timeout: 30_000 }, async t => {
    const names = Array.from({ length: 2 * WIDTH }, (_, at) => `s${at}`)
    const versions = names.map((name, at) => versionOf(name, 1, at + 1, { isDeleted: true }))
    const stage = await openStage(t, await backUp(snapshotOf(versions)))
    const { seen, arrive } = holdDeletions()
    await stage.setProxy(async ({ method }) => {
      await arrive(method)
      return { kind: 'pass' }
    })
    await stage.restore()
    assert.deepEqual(seen, { most: WIDTH, count: versions.length })
    assert.ok((await stage.snapshot()).versions.every(({ isDeleted }) => isDeleted))
  })
})
