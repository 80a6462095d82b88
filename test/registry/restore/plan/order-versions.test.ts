import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeOf, orderVersions } from '../../../../src/registry/restore/plan/order-versions.ts'

const node = (key: string, id: number, ...needs: string[]) => {
  const [subject = '', version] = key.split('@')
  return nodeOf({ subject, version: Number(version), id }, needs)
}
const orderOf = (...nodes: ReturnType<typeof node>[]) => orderVersions(nodes).order.map(({ key }) => key)

test('what is needed comes first, whatever the IDs', () => {
  assert.deepEqual(orderOf(node('a@1', 1, 'b@1'), node('b@1', 2, 'c@1'), node('c@1', 3)), ['c@1', 'b@1', 'a@1'])
})

test('of what could come next the lowest ID does, then the subject and the number decide', () => {
  const nodes = [node('b@1', 5), node('a@2', 5), node('a@1', 5), node('z@1', 1), node('c@1', 9)]
  const expected = ['z@1', 'a@1', 'a@2', 'b@1', 'c@1']
  assert.deepEqual(orderOf(...nodes), expected)
  assert.deepEqual(orderOf(...nodes.toReversed()), expected)
})

test('the versions of a subject ascend, unless one needs a later one', () => {
  assert.deepEqual(orderOf(node('a@1', 9), node('a@2', 1)), ['a@1', 'a@2'])
  assert.deepEqual(orderOf(node('a@1', 1, 'a@2'), node('a@2', 2), node('b@1', 3)), ['b@1', 'a@2', 'a@1'])
})

test('a row of many is in the order of their IDs', () => {
  const ids = Array.from({ length: 500 }, (_, i) => (i * 7919) % 500)
  const { order } = orderVersions(ids.map(id => node(`s${id}@1`, id)))
  assert.deepEqual(
    order.map(({ id }) => id),
    ids.toSorted((a, b) => a - b),
  )
})

test('what needs itself is told apart, and what is not among the nodes does not count', () => {
  const { order, circular } = orderVersions([node('a@1', 1, 'b@1'), node('b@1', 2, 'a@1'), node('c@1', 3, 'x@1')])
  assert.deepEqual([order.map(({ key }) => key), circular.map(({ key }) => key)], [['c@1'], ['a@1', 'b@1']])
})
