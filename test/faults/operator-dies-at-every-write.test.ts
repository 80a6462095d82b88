import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ResourceSpec } from '../../src/operator/crd/resource.ts'
import type { ObjectRef } from '../servers/kube-object.ts'
import { trueCondition } from '../servers/kube-object.ts'
import type { Operator } from '../servers/operator.ts'
import { waitFor } from '../servers/use-kube.ts'
import { seedOf } from './fault.ts'
import { countWrites, leftOf, nameOf, type OperatorLab, openOperatorLab, plainSpec, RECORDS } from './operator-lab.ts'

const seed = seedOf(process.env)
/** A few of them in `make test`; OPERATOR_ROUNDS=all takes every write at both moments. */
const isThorough = process.env.OPERATOR_ROUNDS === 'all'

describe('the operator dies at every write, and another goes on', () => {
  let lab: OperatorLab
  let operator: Operator
  let round = 0

  before(async () => {
    lab = await openOperatorLab()
    operator = await lab.startAlone()
  })
  after(() => lab?.stop())

  /** Kills the operator at the nth write about the resource; the one that follows it is not disturbed. */
  const killAt = (name: string, nth: number, moment: 'before' | 'after') => {
    const count = countWrites()
    let isStruck = false
    const died = Promise.withResolvers<void>()
    lab.stage.proxy.onWrite = write => {
      const at = count(write)
      if (isStruck || at.subject !== name || at.nth !== nth) return undefined
      isStruck = true
      const act = async () => {
        await operator.kill()
        died.resolve()
      }
      return { moment, answer: 'cut', act }
    }
    return { died: died.promise, isStruck: () => isStruck }
  }

  /** Lets the operator live until it is killed or all is done, and starts another in its place. */
  const survive = async ({ died, isStruck }: ReturnType<typeof killAt>, done: Promise<unknown>) => {
    await Promise.race([died, done])
    if (!isStruck()) return
    await died
    operator = await lab.startAlone()
  }

  /** The event is the last that is written of a run. */
  const hasTold = async (ref: ObjectRef) => {
    const isEnd = ({ reason }: { reason: string }) => /Complete|Succe/.test(reason)
    await waitFor('the event of the end', async () => (await lab.stage.events(ref)).some(isEnd))
  }

  /** One round for each write of a run, until one is asked for that the run does not have. */
  async function dieAtEveryWrite(what: string, spec: ResourceSpec, check: (ref: ObjectRef) => Promise<void>) {
    const struck: string[] = []
    for (let nth = 1; ; nth++) {
      const moments = (['before', 'after'] as const).filter((_, at) => isThorough || (at + nth + seed) % 2 === 0)
      for (const moment of moments) {
        const name = nameOf(++round, what)
        const kill = killAt(name, nth, moment)
        const ref = await lab.stage.apply('backup', name, spec)
        await survive(kill, ignored(check(ref).then(() => hasTold(ref))))
        await check(ref)
        if (!kill.isStruck()) return struck
        struck.push(`${nth} ${moment}`)
      }
    }
  }

  test('of a run: there is one Job, and the run ends once', async t => {
    const struck = await dieAtEveryWrite('run', plainSpec, async ref => {
      const status = await lab.stage.untilPhase(ref, 'Completed', 30_000)
      assert.equal(status.records, RECORDS)
      assert.deepEqual(
        status.history?.map(({ run, phase }) => `${run} ${phase}`),
        ['once Completed'],
      )
      assert.deepEqual(lab.jobsOf(ref.name), ['once/whole'])
    })
    t.diagnostic(`killed at: ${struck.join(', ')}`)
    assert.ok(struck.length >= 4, `the run has more writes than ${struck}`)
  })

  test('of a whole life with shards, a verification and a deletion: each Job once, and nothing is left', async t => {
    const spec: ResourceSpec = { ...plainSpec, parallelism: 2, verify: {}, deletionPolicy: 'Delete' }
    const live = async (ref: ObjectRef) => {
      await lab.stage.until(ref, 'verified', ({ lastVerifyTime }) => lastVerifyTime !== undefined, 40_000)
      await lab.stage.kube.api.delete(ref)
      await lab.stage.kube.api.waitGone(ref, 40_000)
    }
    const lives = isThorough ? Array.from({ length: 40 }, (_, at) => at + 1) : [2, 9, 14].map(at => at + (seed % 3))
    const struck: string[] = []
    for (const nth of lives) {
      const name = nameOf(++round, 'life')
      const kill = killAt(name, nth, nth % 2 === 0 ? 'before' : 'after')
      const ref = await lab.stage.apply('backup', name, spec)
      const lived = live(ref)
      await survive(kill, ignored(lived))
      await lived
      if (kill.isStruck()) struck.push(`${nth}`)
      const jobs = lab.jobsOf(name)
      assert.deepEqual(new Set(jobs).size, jobs.length, `more than one Job for a step: ${jobs}`)
      assert.equal(jobs.length, 4, `${jobs}`)
      await waitFor(`nothing left of ${name}`, async () => (await leftOf(lab.stage, ref)).length === 0)
    }
    t.diagnostic(`killed at: ${struck.join(', ')}`)
    assert.ok(struck.length > 0)
  })

  test('and a Job that ends while there is no operator is found ended', async () => {
    const name = nameOf(++round, 'down')
    const { died } = killAt(name, 2, 'after')
    const ref = await lab.stage.apply('backup', name, plainSpec)
    await died
    await waitFor('the end of the Job', async () => {
      const [job] = await lab.stage.jobs(ref)
      return job !== undefined && trueCondition(job, 'Complete') !== undefined
    })
    assert.notEqual((await lab.stage.status(ref)).phase, 'Completed')
    operator = await lab.startAlone()
    const status = await lab.stage.untilPhase(ref, 'Completed')
    assert.equal(status.records, RECORDS)
    assert.deepEqual(lab.jobsOf(name), ['once/whole'])
    await operator.untilSample('kafka_backup_backups_total', { backup_name: name, outcome: 'success' }, 1)
  })
})

/** A failure of it is told by another. */
function ignored(work: Promise<unknown>): Promise<unknown> {
  return work.catch(() => new Promise(() => {}))
}
