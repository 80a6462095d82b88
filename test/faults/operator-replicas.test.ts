import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Lease, leaseKind } from '../../src/operator/leader/lease-claim.ts'
import { isFull } from '../full.ts'
import type { KubeObject } from '../servers/kube-object.ts'
import type { Operator } from '../servers/operator.ts'
import { waitFor } from '../servers/use-kube.ts'
import { nameOf, type OperatorLab, openOperatorLab, plainSpec, RECORDS } from './operator-lab.ts'

describe('of two operators one leads', () => {
  let lab: OperatorLab
  const replicas: Operator[] = []

  before(async () => {
    lab = await openOperatorLab()
    replicas.push(await lab.stage.start({ podName: 'operator-a', throughProxy: true }))
    await waitFor('a leader', () => leads(replicas[0]))
    replicas.push(await lab.stage.start({ podName: 'operator-b' }))
  })
  after(() => lab?.stop())

  const leads = async (operator: Operator | undefined) => {
    const { body } = (await operator?.probe('/readyz').catch(() => undefined)) ?? {}
    return (body as { leader?: boolean } | undefined)?.leader === true
  }
  /** Who holds the lease of the operators; empty where it was given back. */
  const holder = async () => {
    const { kube, namespace } = lab.stage
    const [lease] = await kube.api.list<Lease & KubeObject>({ ...leaseKind, namespace })
    return lease?.spec?.holderIdentity ?? ''
  }
  const run = async (name: string) => {
    const ref = await lab.stage.apply('backup', name, plainSpec)
    const status = await lab.stage.untilPhase(ref, 'Completed')
    assert.deepEqual([status.records, status.history?.length], [RECORDS, 1])
    assert.deepEqual(lab.jobsOf(name), ['once/whole'])
  }

  test('only the leader works, and both are ready', async () => {
    const [a, b] = replicas
    await run(nameOf(1, 'two'))
    assert.deepEqual([await leads(a), await leads(b)], [true, false])
    assert.equal((await b?.probe('/readyz'))?.status, 200)
  })

  const many = isFull ? 200 : 40
  test(`${many} resources at once each get one Job and come to their end`, async t => {
    const started = performance.now()
    const names = Array.from({ length: many }, (_, at) => nameOf(at, 'many'))
    const refs = await Promise.all(names.map(name => lab.stage.apply('backup', name, plainSpec)))
    for (const ref of refs) await lab.stage.untilPhase(ref, 'Completed', 120_000)
    t.diagnostic(`${((performance.now() - started) / 1000).toFixed(1)} s`)
    for (const name of names) assert.deepEqual(lab.jobsOf(name), ['once/whole'])
    const [a] = replicas
    await waitFor('an empty queue', async () => {
      const depth = await a?.sample('kafka_backup_operator_workqueue_depth', { controller: 'backup' })
      return depth === 0
    })
  })

  test('a leader that is cut off in the middle of a run stops, and the other takes over', async () => {
    const [a, b] = replicas
    const name = nameOf(2, 'cutoff')
    lab.stage.proxy.onWrite = ({ path, body }) => {
      if (!/\/jobs$/.test(path) || !body.includes(name)) return undefined
      lab.stage.proxy.weather = 'cut off'
      return { moment: 'after', answer: 'hang' }
    }
    const ref = await lab.stage.apply('backup', name, plainSpec)
    const status = await lab.stage.untilPhase(ref, 'Completed')
    assert.equal(status.history?.length, 1)
    assert.deepEqual(lab.jobsOf(name), ['once/whole'])
    assert.equal(await leads(b), true)
    lab.stage.proxy.onWrite = () => undefined
    lab.stage.proxy.weather = 'fine'
    lab.stage.proxy.cut()
    await run(nameOf(3, 'healed'))
    assert.equal(await leads(a), false)
  })

  test('a leader that is killed is followed by the other, and one that is stopped at once', async () => {
    const [a, b] = replicas
    await b?.kill()
    await run(nameOf(4, 'killed'))
    assert.equal(await leads(a), true)
    const c = await lab.stage.start({ podName: 'operator-c' })
    assert.match(await holder(), /^operator-a/)
    assert.equal(await a?.stop(), 0)
    assert.doesNotMatch(await holder(), /^operator-a/, 'the lease was given back')
    await run(nameOf(5, 'stopped'))
    assert.equal(await leads(c), true)
  })
})
