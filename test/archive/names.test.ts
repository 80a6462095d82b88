import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type * as z from 'zod'
import { accessFileSchema } from '../../src/archive/access-section.ts'
import { groupsFileSchema } from '../../src/archive/groups-section.ts'
import { clusterSchema, parseAs, topicSchema } from '../../src/archive/manifest.ts'
import { registrySettingsSchema, subjectMetadataSchema } from '../../src/archive/registry-section.ts'
import { decodeSnapshot, encodeSnapshot, type OffsetSnapshot } from '../../src/offsets/snapshot.ts'
import { encodeSegment, encodeSegmentLikeGo } from '../../src/registry/client/address.ts'
import { draftManifest, topicOf } from './sample-archive.ts'

/** What Kafka and registries accept as a name of a group, a principal or a subject, however strange. */
const legal = [
  '',
  ' ',
  'a/b',
  '../x',
  "it's",
  '$(id)',
  'line\nbreak',
  'nul\0',
  '\x1b[2J',
  '\u202e',
  '😀',
  'x'.repeat(32_767),
]
const tooLong = 'x'.repeat(32_768)
const broken = 'half \ud800'

const group = (name: string) => ({
  ...{ format: 'kafka-backup-groups', format_version: 1, left_out: [{ group: name, type: 'share' }] },
  groups: [
    {
      ...{ group: name, type: 'classic', state: 'Empty', members: 0, error: null },
      positions: [{ topic: 'a', partition: 0, offset: 1, leader_epoch: -1, metadata: name, lag: null }],
    },
  ],
})
const access = (name: string) => ({
  ...{ format: 'kafka-backup-access', format_version: 1 },
  acls: [
    {
      ...{ resource_type: 'GROUP', resource_name: name, pattern_type: 'LITERAL', principal: `${name}`, host: name },
      ...{ operation: 'READ', permission: 'ALLOW' },
    },
  ],
  quotas: [{ entity: [{ type: 'user', name }], key: 'request_percentage', value: '1' }],
  users: [{ user: name, mechanism: 'SCRAM-SHA-256', iterations: 4096 }],
})
const subject = (name: string) => ({
  ...{ subject: name, compatibility: null, mode: null, config: null },
  versions: [
    {
      ...{ version: 1, id: 1, schema_type: 'AVRO', references: [{ name, subject: name, version: 1 }] },
      ...{ metadata: null, rule_set: null, guid: null, deleted: false, pulled_in: false },
    },
  ],
})
const settings = (name: string) => ({
  ...{ format: 'kafka-backup-registry', format_version: 1, flavour: 'confluent', registry_version: null },
  ...{ schema_types: [], mode: null, contexts: [name], max_ids: { [name]: 1 }, skipped_deleted: 0, warnings: [] },
  context_settings: [{ context: name, compatibility: null, mode: null, config: null }],
})
const topic = (name: string) => ({ ...topicOf('orders', []), id: name, configs: { [`c${name}`.slice(0, 9)]: name } })

const read = (schema: z.ZodType, document: unknown) => parseAs(schema, JSON.stringify(document), 'key')
const kafkaDocuments: Record<string, (name: string) => unknown> = {
  'a groups file': name => read(groupsFileSchema, group(name)),
  'a file of access rules': name => read(accessFileSchema, access(name)),
  'a topic of a manifest': name => read(topicSchema, topic(name)),
  'the cluster of a manifest': name => read(clusterSchema, { id: name, brokers: 1 }),
  'an offset snapshot': name => decodeSnapshot(encodeSnapshot(snapshotOf(name)), 'key'),
}
const registryDocuments: Record<string, (name: string) => unknown> = {
  'the metadata of a subject': name => read(subjectMetadataSchema, subject(name)),
  'the settings of a registry': name => read(registrySettingsSchema, settings(name)),
}

function snapshotOf(name: string): OffsetSnapshot {
  const place = { topic: 'a', partition: 0, offset: 1n, leader_epoch: -1, metadata: name }
  return {
    ...{ format: 'kafka-backup-offset-snapshot', format_version: 1, tool_version: '0', snapshot_id: 's' },
    ...{ created_at: draftManifest([]).created_at, reason: 'snapshot', cluster_id: name },
    groups: [{ group: name, type: 'classic', state: name, members: 0, positions: [place], absent: [] }],
  }
}

for (const [what, readName] of Object.entries({ ...kafkaDocuments, ...registryDocuments })) {
  describe(`names in ${what}`, () => {
    test('are read where a server accepts them', () => {
      for (const name of legal) assert.doesNotThrow(() => readName(name), JSON.stringify(name.slice(0, 20)))
    })

    test('are refused where they are longer than any server allows', () => {
      assert.throws(() => readName(tooLong), { code: 'ARCHIVE_DAMAGED', message: /is longer than/ })
    })
  })
}

for (const [what, readName] of Object.entries(kafkaDocuments)) {
  test(`half a surrogate pair in ${what} is refused: Kafka would be sent another name`, () => {
    assert.throws(() => readName(broken), { code: 'ARCHIVE_DAMAGED', message: /is not valid Unicode/ })
  })
}

test('half a surrogate pair in the name of a subject is read, and fails with a code when a registry is to be asked', () => {
  assert.doesNotThrow(() => registryDocuments['the metadata of a subject']?.(broken))
  for (const encode of [encodeSegment, encodeSegmentLikeGo]) {
    assert.throws(() => encode(broken), { code: 'REGISTRY_PROTOCOL', message: /"half \\ud800" is not valid Unicode/ })
  }
})

test('an undecided partition of a group names a topic that Kafka allows', () => {
  const file = group('a')
  const undecided = [{ topic: 'x\nrm -rf', partition: 0 }]
  const hostile = { ...file, groups: file.groups.map(one => ({ ...one, undecided })) }
  assert.throws(() => read(groupsFileSchema, hostile), { code: 'ARCHIVE_DAMAGED', message: /not a valid topic name/ })
})
