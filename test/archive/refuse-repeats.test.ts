import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { indexRefsOf, readIndex } from '../../src/archive/indexes.ts'
import type { Manifest, ManifestTopic } from '../../src/archive/manifest.ts'
import { refuseRepeatedGroups, refuseRepeatsOf } from '../../src/archive/refuse-repeats.ts'
import { emptyPartition } from '../../src/archive/summary.ts'
import { encodeRun } from '../fakes/batches.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'
import { draftManifest, never, storeBackup, topicOf } from './sample-archive.ts'

const manifestOf = (topics: ManifestTopic[]): Manifest => ({
  format: 'kafka-backup',
  format_version: 1,
  ...draftManifest(topics),
})
const refused = (topics: ManifestTopic[], message: RegExp) =>
  assert.throws(() => refuseRepeatsOf(manifestOf(topics), 'the key'), { code: 'ARCHIVE_DAMAGED', message })

describe('a manifest', () => {
  const orders = topicOf('orders', [emptyPartition(0, 0n), emptyPartition(1, 0n)])

  test('may list incarnations that were replaced under the name of another topic', () => {
    const replaced = { ...orders, id: 'id-old', state: 'replaced' } as const
    const truncated = { ...orders, incarnation: 2 }
    refuseRepeatsOf(manifestOf([replaced, { ...orders, state: 'replaced' }, truncated, topicOf('audit', [])]), 'key')
  })

  test('that lists a topic twice is refused with its name', () => {
    refused([orders, { ...orders, id: 'id-other' }], /^the key is damaged: it lists topic orders twice$/)
    refused([orders, { ...orders, id: 'id-other', state: 'absent' }], /it lists topic orders twice/)
  })

  test('that lists one incarnation twice is refused with its ID, whatever the names are', () => {
    refused([orders, { ...orders, state: 'replaced' }], /it lists topic orders with the ID id-orders twice/)
    refused([orders, topicOf('audit', [], { id: orders.id })], /it lists the topic ID id-orders twice/)
  })

  test('that lists a partition twice is refused with topic and number', () => {
    const twice = topicOf('orders', [emptyPartition(3, 0n), emptyPartition(3, 0n)])
    refused([twice], /it lists of topic orders partition 3 twice/)
  })
})

test('a file of groups that lists a group or one of its offsets twice is refused with the name', () => {
  const position = { topic: 'orders', partition: 0 }
  const group = (name: string, positions: (typeof position)[] = []) => ({ group: name, positions })
  refuseRepeatedGroups([group('a', [position]), group('b', [position])], 'key')
  assert.throws(() => refuseRepeatedGroups([group('a\n'), group('a\n')], 'key'), {
    code: 'ARCHIVE_DAMAGED',
    message: 'key is damaged: it lists group "a\\n" twice',
  })
  assert.throws(() => refuseRepeatedGroups([group('a', [position, position])], 'key'), {
    message: 'key is damaged: it lists of group "a" the offset of orders/0 twice',
  })
})

test('an index of another topic, incarnation or partition is refused with both names', async () => {
  const storage = openMemoryStorage()
  const [ref] = indexRefsOf(await storeBackup(storage, [[encodeRun(0n, 3)]]))
  assert.ok(ref)
  assert.equal((await readIndex(storage, ref, never)).segments.length, 1)
  for (const change of [{ topic: 'audit' }, { topicId: 'id-other' }, { partition: 1 }]) {
    const other = { ...ref, owner: { ...ref.owner, ...change } }
    await assert.rejects(readIndex(storage, other, never), {
      code: 'ARCHIVE_DAMAGED',
      message: /belongs to orders\/0 with the topic ID id-orders, and the manifest names it for /,
    })
  }
})
