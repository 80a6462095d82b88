import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { RegisterStep } from '../../../src/registry/restore/plan/restore-step.ts'
import { registerInOrder } from '../../../src/registry/restore/registration.ts'
import { referenceTo } from '../../fakes/registry-snapshots.ts'

function step(place: string, ...refs: string[]): RegisterStep {
  const { subject, version } = referenceTo(place)
  const content = { schemaType: 'AVRO', schema: '"int"', metadata: null, ruleSet: null } as const
  const references = refs.map(referenceTo)
  return {
    type: 'register',
    purpose: 'schema',
    subject,
    key: place,
    version,
    id: null,
    ...content,
    references,
    force: false,
    lift: null,
    sourceIds: [],
  }
}

/** What began and ended, in order. */
async function play(
  steps: RegisterStep[],
  width: number,
  failing = '',
  refused = '',
): Promise<{ log: string[]; failure: unknown }> {
  const log: string[] = []
  const failure = await registerInOrder(steps, width, async ({ subject, version }) => {
    const place = `${subject}@${version}`
    log.push(`+${place}`)
    await turn()
    if (place === failing) throw new Error(place)
    log.push(`-${place}`)
    return place !== refused
  }).then(
    () => undefined,
    error => error,
  )
  return { log, failure }
}

describe('registrations in a row', () => {
  test('go side by side where they do not need each other', async () => {
    const { log } = await play([step('a@1'), step('b@1'), step('c@1')], 8)
    assert.deepEqual(log, ['+a@1', '+b@1', '+c@1', '-a@1', '-b@1', '-c@1'])
  })

  test('wait for what they refer to, and for the version before theirs', async () => {
    const { log } = await play([step('a@1'), step('b@1', 'a@1'), step('a@2'), step(':.eu:b@1', 'a@1')], 8)
    assert.ok(log.indexOf('+b@1') > log.indexOf('-a@1'))
    assert.ok(log.indexOf('+a@2') > log.indexOf('-a@1'))
    // Its own context has no `a`: that one is there already.
    assert.equal(log.indexOf('+:.eu:b@1'), 1)
  })

  test('are no more at a time than is asked for', async () => {
    const { log } = await play(
      ['a', 'b', 'c', 'd', 'e'].map(subject => step(`${subject}@1`)),
      2,
    )
    let running = 0
    const most = Math.max(...log.map(line => (running += line.startsWith('+') ? 1 : -1)))
    assert.equal(most, 2)
  })

  test('leave out what needs a refused version, and continue with the others', async () => {
    const steps = [step('a@1'), step('b@1', 'a@1'), step('a@2'), step('c@1'), step('d@1', 'b@1')]
    assert.deepEqual((await play(steps, 1, '', 'a@1')).log, ['+a@1', '-a@1', '+c@1', '-c@1'])
    // With IDs and numbers of the source the next version does not take the number of the refused one.
    const imported = steps.map((one, at) => ({ ...one, id: at + 1 }))
    assert.deepEqual(
      (await play(imported, 1, '', 'a@1')).log.filter(line => line.startsWith('+')),
      ['+a@1', '+c@1', '+a@2'],
    )
  })

  test('begin nothing after a failure, which is thrown when what runs has ended', async () => {
    const { log, failure } = await play([step('a@1'), step('b@1'), step('c@1', 'a@1'), step('a@2')], 8, 'a@1')
    assert.equal((failure as Error).message, 'a@1')
    assert.deepEqual(log, ['+a@1', '+b@1', '-b@1'])
  })
})
