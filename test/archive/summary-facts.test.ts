import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { emptyPartition } from '../../src/archive/summary.ts'
import { failedSectionsOf, foundGapsOf, oldSchemasOf } from '../../src/archive/summary-facts.ts'
import { topicOf } from './sample-archive.ts'

const stored = { taken_at: '2026-01-01T00:00:00Z', key: 'k', size: 1, blake3: 'a'.repeat(64) }

describe('the summary of a generation', () => {
  test('names what its run could not read', () => {
    const { taken_at } = stored
    const groups = { ...stored, state: 'taken', groups: 5, positions: 9, errors: 0 } as const
    const [off, taken, failed] = [
      { state: 'off' },
      { state: 'taken', count: 1 },
      { state: 'failed', error: 'denied' },
    ] as const
    const access = { ...stored, acls: taken, quotas: off, users: taken }
    assert.deepEqual(failedSectionsOf({}), [])
    assert.deepEqual(failedSectionsOf({ consumer_groups: off, access }), [])
    assert.deepEqual(
      failedSectionsOf({ consumer_groups: groups, access: { ...access, acls: failed, users: failed } }),
      [
        { section: 'acls', error: 'denied' },
        { section: 'users', error: 'denied' },
      ],
    )
    assert.deepEqual(failedSectionsOf({ consumer_groups: { ...failed, taken_at } }), [
      { section: 'consumer_groups', error: 'denied' },
    ])
    assert.deepEqual(failedSectionsOf({ consumer_groups: { ...groups, errors: 2 } }), [
      { section: 'consumer_groups', error: '2 groups of 5 could not be read' },
    ])
  })

  test('has the time of schemas that its run did not read, where it has read everything else', () => {
    const none = { file: 'f', size: 1, blake3: 'a'.repeat(64) }
    const schema_registry = {
      ...{ schema_registry_version: '1', backup_timestamp: '2026-01-01T00:00:00Z', settings: none, global: none },
      ...{ subjects: [], id_mapping: {} },
    }
    assert.equal(oldSchemasOf({ schema_registry }), null)
    const carried = { schema_registry, carried_sections: ['schema_registry' as const] }
    assert.equal(oldSchemasOf(carried), '2026-01-01T00:00:00Z')
    const between = { ...carried, topic_settings_at: '2026-01-01T00:00:00Z' }
    assert.equal(oldSchemasOf(between), null, 'a round that reads records only')
  })

  test('counts gaps by the time at which they were found', () => {
    const gap = (found_at: string) => ({ from: 0n, to: 1n, reason: 'retention' as const, found_at })
    const [first, second] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']
    const one = { ...emptyPartition(0, 0n), gaps: [gap(first), gap(second)] }
    const other = { ...emptyPartition(1, 0n), gaps: [gap(first)] }
    assert.deepEqual(foundGapsOf([topicOf('a', [one]), topicOf('b', [other])]), [
      { found_at: second, gaps: 1 },
      { found_at: first, gaps: 2 },
    ])
  })
})
