import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Resource } from '../../src/operator/crd/resource.ts'
import type { KubeWrite, WriteFault } from '../servers/kube-fault-proxy.ts'
import type { KubeObject, ObjectRef } from '../servers/kube-object.ts'
import type { Operator } from '../servers/operator.ts'
import { waitFor } from '../servers/use-kube.ts'
import { seedOf } from './fault.ts'
import { countWrites, leftOf, nameOf, type OperatorLab, openOperatorLab, plainSpec, RECORDS } from './operator-lab.ts'

/** Writes of a run; the numbers above them strike nothing. */
const WRITES = 8
const seed = seedOf(process.env)
const isThorough = process.env.OPERATOR_ROUNDS === 'all'

const faults: Record<string, WriteFault> = {
  conflict: { moment: 'before', answer: { status: 409 } },
  throttled: { moment: 'before', answer: { status: 429, retryAfterSeconds: 1 } },
  broken: { moment: 'before', answer: { status: 500 } },
  brokenafter: { moment: 'after', answer: { status: 500 } },
  away: { moment: 'before', answer: { status: 503 } },
  cut: { moment: 'before', answer: 'cut' },
  cutafter: { moment: 'after', answer: 'cut' },
  hang: { moment: 'before', answer: 'hang' },
}

describe('the operator and an API server that fails', () => {
  let lab: OperatorLab
  let operator: Operator

  before(async () => {
    lab = await openOperatorLab()
    operator = await lab.startAlone()
  })
  after(() => lab?.stop())

  /** Each write of a run with each of the faults, a resource for each pair; a third of the pairs unless all are wanted. */
  function planRounds(kinds: readonly string[]): { name: string; nth: number; kind: string }[] {
    const pairs = Array.from({ length: WRITES }, (_, at) => kinds.map(kind => ({ nth: at + 1, kind }))).flat()
    const chosen = pairs.filter((_, at) => isThorough || at % 3 === seed % 3)
    return chosen.map(({ nth, kind }) => ({ name: nameOf(nth, kind), nth, kind }))
  }

  function strike(
    rounds: readonly { name: string; nth: number }[],
    fault: (write: KubeWrite, name: string) => WriteFault,
  ) {
    const count = countWrites()
    const wanted = new Map(rounds.map(({ name, nth }) => [name, nth]))
    const struck = new Set<string>()
    lab.stage.proxy.onWrite = write => {
      const { subject, nth } = count(write)
      if (wanted.get(subject) !== nth) return undefined
      struck.add(subject)
      return fault(write, subject)
    }
    return struck
  }

  test('a write that fails once, in any way, is made good: one Job, one end', async t => {
    const rounds = planRounds(Object.keys(faults))
    const kindOf = (name: string) => name.replace(/^f\d+x/, '')
    const struck = strike(rounds, (_, name) => faults[kindOf(name)] ?? { moment: 'before', answer: 'cut' })
    const refs = await Promise.all(rounds.map(({ name }) => lab.stage.apply('backup', name, plainSpec)))
    for (const ref of refs) {
      const status = await lab.stage.untilPhase(ref, 'Completed', 90_000)
      assert.deepEqual([status.records, status.history?.length], [RECORDS, 1], ref.name)
      assert.deepEqual(lab.jobsOf(ref.name), ['once/whole'])
    }
    t.diagnostic(`${struck.size} of ${rounds.length} faults struck`)
    assert.ok(struck.size >= rounds.length / 2)
    for (const { name } of refs) {
      await operator.untilSample('kafka_backup_backups_total', { backup_name: name, outcome: 'success' }, 1)
    }
  })

  test('a resource that is deleted in the middle of its run, at any write, leaves nothing', async t => {
    const rounds = planRounds(['goneearly', 'gonelate'])
    const { api } = lab.stage.kube
    const refs = new Map<string, ObjectRef>()
    const struck = strike(rounds, (_, name) => {
      const ref = refs.get(name)
      const act = async () => {
        if (ref) await api.delete(ref)
      }
      return { moment: name.endsWith('early') ? 'before' : 'after', answer: { status: 500 }, act }
    })
    for (const { name } of rounds) refs.set(name, { ...backupRef(lab), name })
    await Promise.all(rounds.map(({ name }) => lab.stage.apply('backup', name, plainSpec)))
    for (const { name } of rounds) {
      const ref = { ...backupRef(lab), name }
      await waitFor(`the end of ${name}`, async () => {
        const found = await api.find<Resource & KubeObject>(ref)
        return found === undefined || found.status?.phase === 'Completed'
      })
      // Those whose run has fewer writes are still there.
      await api.delete(ref).catch(() => undefined)
      await api.waitGone(ref)
    }
    for (const { name } of rounds) {
      await waitFor(
        `nothing left of ${name}`,
        async () => (await leftOf(lab.stage, { ...backupRef(lab), name })).length === 0,
      )
      await waitFor(`no series of ${name}`, async () => !(await operator.metrics()).includes(`"${name}"`))
    }
    t.diagnostic(`${struck.size} of ${rounds.length} were deleted in the middle`)
    assert.ok(struck.size > 0)
  })

  test('all that failed was tried again with pauses, and the operator lives', async () => {
    const { status, body } = await operator.probe('/healthz')
    assert.deepEqual([status, (body as { status: string }).status], [200, 'ok'])
    assert.equal((await operator.probe('/readyz')).status, 200)
    const retries = await operator.sample('kafka_backup_operator_workqueue_retries_total', { controller: 'backup' })
    assert.ok(retries !== undefined && retries > 0)
  })
})

function backupRef({ stage }: OperatorLab): Omit<ObjectRef, 'name'> {
  return { apiVersion: 'kafka-backup.dev/v1alpha1', kind: 'KafkaBackup', namespace: stage.namespace }
}
