import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodeRun } from '../fakes/batches.ts'
import { fakeTopic } from '../fakes/fake-cluster.ts'
import { withFakeTarget } from './fake-target.ts'

const two = () => [fakeTopic('audit', [[encodeRun(0n, 4)]]), fakeTopic('orders', [[encodeRun(0n, 7)]])]
const stages = (notes: ReadonlyMap<string, { metadata: string }>) =>
  Object.fromEntries([...notes].map(([key, { metadata }]) => [key, JSON.parse(metadata).d]))

describe('a restore as a whole', () => {
  test('fills what it makes, and is complete then', () =>
    withFakeTarget(two(), async target => {
      assert.equal((await target.restore()).wasComplete, false)
      assert.deepEqual([target.log('audit'), target.log('orders')], [[[0, 4]], [[0, 7]]])
      assert.deepEqual(stages(target.notes), { 'audit/0': 2, 'orders/0': 2 })
      assert.equal((await target.restore()).wasComplete, true)
    }))

  test('of which one topic was deleted since fills that one again, and leaves those in use alone', () =>
    withFakeTarget(two(), async target => {
      await target.restore()
      target.append('orders', encodeRun(0n, 3, { producerId: 9n }))
      const { state } = target.fake
      state.topics = state.topics.filter(({ name }) => name !== 'audit')
      target.notes.delete('audit/0')
      const { topics } = await target.restore()
      assert.deepEqual(
        topics.map(({ target: name, records }) => [name, records]),
        [
          ['audit', 4],
          ['orders', 0],
        ],
      )
      assert.deepEqual(target.log('audit'), [[0, 4]])
      assert.equal(target.log('orders').length, 2)
      assert.deepEqual(stages(target.notes), { 'audit/0': 2, 'orders/0': 2 })
    }))
})
