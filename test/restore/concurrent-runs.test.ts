import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { StoredGroup } from '../../src/archive/groups-section.ts'
import { encodeRun } from '../fakes/batches.ts'
import { API, type BrokerRequest } from '../fakes/fake-broker.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { backUpTopics, type FakeTarget, withFakeTarget } from './fake-target.ts'

const source = () => [fakeTopic('orders', [[encodeRun(0n, 7)]])]
const group: StoredGroup = {
  ...{ group: 'billing', type: 'classic', state: 'Empty', members: 0, error: null },
  positions: [{ topic: 'orders', partition: 0, offset: 2n, leader_epoch: 0, metadata: '', lag: 0n }],
}

async function withGroup(work: (target: FakeTarget) => Promise<void>): Promise<void> {
  const storage = openMemoryStorage()
  await withFakeTarget(
    source(),
    async target => {
      await backUpTopics(storage, source(), undefined, [group])
      target.carry = { exclude: [], mapping: new Map() }
      await work(target)
    },
    storage,
  )
}

/** Holds up the first such request of a run that has begun by then; `reached` resolves when it came. */
function holdUp(target: FakeTarget, isWanted: (request: BrokerRequest) => boolean) {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isOver = false
  const earlier = target.before
  target.before = async request => {
    if (!isOver && isWanted(request)) {
      isOver = true
      reached.resolve()
      await released.promise
      return undefined
    }
    return earlier(request) as Promise<undefined>
  }
  return { reached: reached.promise, release: () => released.resolve() }
}

const readOn = (target: FakeTarget) =>
  target.groups.set('billing', new Map([['orders/0', { offset: 6n, metadata: '' }]]))

describe('a run of a restore that began while an earlier one completed it', () => {
  for (const stage of ['fills', 'completes'] as const) {
    test(`ends without replacing its progress (while the earlier one ${stage} it)`, () =>
      withGroup(async target => {
        const at = stage === 'fills' ? API.produce : API.incrementalAlterConfigs
        const first = holdUp(target, ({ key }) => key === at)
        const earlier = target.restore()
        await first.reached
        const second = holdUp(target, ({ key }) => key === API.initProducerId)
        const later = target.restore()
        await second.reached
        first.release()
        assert.equal((await earlier).consumerGroups.totals.committed, 1)
        target.append('orders', encodeRun(0n, 2))
        readOn(target)
        const { before } = target
        let reads = 0
        target.before = request => {
          if (request.key === API.offsetFetch) reads++
          return before(request)
        }
        second.release()
        await assert.rejects(later, {
          code: 'KAFKA_NOT_READY',
          message: /an earlier run .* ended after this run had read its progress/,
        })
        assert.equal(reads, 1, 'what it notes stays the same, so it does not try again')
        const { wasComplete, consumerGroups } = await target.restore()
        assert.deepEqual([wasComplete, consumerGroups.totals.kept], [true, 1])
      }))
  }
})

test('a run does not take offsets for those of something else that another one gave since its survey', () =>
  withGroup(async target => {
    const { carry } = target
    target.carry = { ...carry, include: [] }
    await target.restore()
    target.carry = carry
    // Its survey is over by the time it compares records.
    const held = holdUp(target, ({ key }) => key === API.fetch)
    const later = target.restore({ verify: true })
    await held.reached
    assert.equal((await target.restore()).consumerGroups.totals.committed, 1)
    readOn(target)
    held.release()
    assert.deepEqual((await later).consumerGroups.totals, { groups: 1, committed: 0, kept: 1, failed: 0 })
  }))
