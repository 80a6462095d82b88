import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changesSince } from '../../src/backup/tally.ts'
import { storeGenerations } from '../copy/sample-history.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const none = { topics: false, schemas: false, consumerGroups: false, access: false }

test('records alone are no change of anything else; a schema, an offset or a setting is', async () => {
  const [first, second] = await storeGenerations(openMemoryStorage(), 2)
  if (!first || !second) assert.fail()
  assert.deepEqual(changesSince(first, second), { ...none, schemas: true, consumerGroups: true })
  const { schema_registry, consumer_groups } = first
  if (!schema_registry || consumer_groups?.state !== 'taken') assert.fail()
  const later = '2027-01-01T00:00:00.000Z'
  const same = {
    ...second,
    schema_registry: { ...schema_registry, backup_timestamp: later },
    consumer_groups: { ...consumer_groups, taken_at: later },
  }
  assert.deepEqual(changesSince(first, same), none)
  const [topic] = same.topics
  if (!topic) assert.fail()
  const configs = { 'retention.ms': '1' }
  assert.deepEqual(changesSince(first, { ...same, topics: [{ ...topic, configs }] }), { ...none, topics: true })
})

test('everything of a first backup is new', async () => {
  const [first] = await storeGenerations(openMemoryStorage(), 1)
  if (!first) assert.fail()
  assert.deepEqual(changesSince(undefined, first), { ...none, topics: true, schemas: true, consumerGroups: true })
})
