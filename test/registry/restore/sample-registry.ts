import type { RegistrySnapshot, SchemaVersion } from '../../../src/archive/registry-model.ts'
import { referenceTo, snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'

const record = (name: string, ...fields: string[]) =>
  JSON.stringify({ type: 'record', name, fields: fields.map(type => ({ name: `f${type}`, type })) })

/** References by the name of the Avro type, which is that of the subject. */
const refs = (...some: string[]) => some.map(text => ({ ...referenceTo(text), name: text.split('@')[0] ?? '' }))

const point = 'syntax = "proto3";\npackage geo;\nmessage Point {\n  int32 x = 1;\n}\n'
const address = '{"type":"object", "title":"ü \\u0041 😀","properties":{"n":{"const":9223372036854775807}}}'
const path = 'syntax = "proto3";\npackage geo;\nimport "geo/point.proto";\nmessage Path {\n  Point from = 1;\n}\n'

/**
 * One of everything: references five deep and a diamond, subjects that refer to each other by their versions, three types,
 * sparse and deleted versions, one schema twice in a subject and one under two, contexts with the same IDs, an alias,
 * levels, modes, data contracts, and IDs that were given and are held by nothing.
 */
export function sampleRegistry(): RegistrySnapshot {
  return snapshotOf([...avro(), ...others(), ...history(), ...european()].sort(byPlace), {
    contexts: ['.', '.eu', '.us'],
    subjects: {
      Chain1: { compatibility: 'FULL' },
      closed: { mode: 'READONLY', compatibility: 'NONE' },
      nick: { config: { alias: 'Chain1' } },
      tuned: { compatibility: 'FORWARD', config: { normalize: true } },
      ':.eu:orders': { compatibility: 'NONE' },
    },
    contextSettings: new Map([['.eu', { compatibility: 'FULL', mode: null, config: null }]]),
    global: { compatibility: 'FULL', mode: 'READWRITE', config: null },
    maxIds: new Map([
      ['.', 400],
      ['.eu', 11],
      ['.us', 7],
    ]),
  })
}

function avro(): SchemaVersion[] {
  const one = (subject: string, version: number, id: number, schema: string, ...references: string[]) =>
    versionOf(subject, version, id, { schema, references: refs(...references) })
  return [
    one('Chain5', 1, 15, record('Chain5', 'int')),
    one('Chain4', 1, 14, record('Chain4', 'Chain5'), 'Chain5@1'),
    one('Chain3', 1, 13, record('Chain3', 'Chain4'), 'Chain4@1'),
    one('Chain2', 1, 12, record('Chain2', 'Chain3'), 'Chain3@1'),
    one('Chain1', 1, 11, record('Chain1', 'Chain2'), 'Chain2@1'),
    one('Left', 1, 21, record('Left', 'Chain5'), 'Chain5@1'),
    one('Right', 1, 22, record('Right', 'Chain5'), 'Chain5@1'),
    one('Diamond', 1, 20, record('Diamond', 'Left', 'Right'), 'Left@1', 'Right@1'),
    one('Ping', 1, 31, record('Ping', 'int')),
    one('Pong', 1, 32, record('Pong', 'Ping'), 'Ping@1'),
    // Of its own subject by way of another: a circle of subjects, not of versions.
    one(
      'Ping',
      2,
      33,
      JSON.stringify({ type: 'record', name: 'Ping2', fields: [{ name: 'p', type: 'Pong' }] }),
      'Pong@1',
    ),
  ]
}

function others(): SchemaVersion[] {
  const metadata = { properties: { owner: 'sales' }, tags: { '**.name': ['PII'] } }
  const rules = { domainRules: [{ name: 'r', kind: 'CONDITION', mode: 'WRITE', type: 'CEL', expr: 'true' }] }
  const json = '{"type":"object","properties":{"a":{"$ref":"address.json"}}}'
  return [
    versionOf('geo/point.proto', 1, 41, { schemaType: 'PROTOBUF', schema: point }),
    versionOf('path', 1, 42, { schemaType: 'PROTOBUF', schema: path, refs: ['geo/point.proto@1'] }),
    versionOf('address.json', 1, 43, { schemaType: 'JSON', schema: address }),
    versionOf('person', 1, 44, { schemaType: 'JSON', schema: json, refs: ['address.json@1'] }),
    versionOf('contract', 1, 45, { metadata, ruleSet: rules }),
    versionOf('closed', 1, 46),
    versionOf('tuned', 1, 47),
  ]
}

/** Versions 1, 3 and 7; what is deleted; one schema at several places. */
function history(): SchemaVersion[] {
  const gone = { isDeleted: true } as const
  return [
    versionOf('sparse', 1, 51),
    versionOf('sparse', 3, 52),
    versionOf('sparse', 7, 53),
    versionOf('late', 2, 54),
    versionOf('half', 1, 55, gone),
    versionOf('half', 2, 56),
    versionOf('half', 3, 57, gone),
    versionOf('whole', 1, 58, gone),
    versionOf('whole', 2, 59, { ...gone, refs: ['whole@1'] }),
    versionOf('again', 1, 60, gone),
    versionOf('again', 2, 61),
    versionOf('again', 3, 60),
    versionOf('alike-a', 1, 62),
    versionOf('alike-b', 1, 62),
    versionOf('other-id', 1, 63, { schema: versionOf('', 0, 62).schema }),
    versionOf('Hidden', 1, 64, { ...gone, schema: record('Hidden', 'int') }),
    versionOf('sees', 1, 65, { schema: record('Sees', 'Hidden'), references: refs('Hidden@1') }),
  ]
}

/** The same IDs as elsewhere, of other schemas; a reference within the context, and one to another. */
function european(): SchemaVersion[] {
  return [
    versionOf(':.eu:Chain5', 1, 11, { schema: record('Chain5', 'string') }),
    versionOf(':.eu:orders', 1, 2, { schema: record('Orders', 'Chain5'), references: refs('Chain5@1') }),
    versionOf(':.eu:visits', 1, 3, {
      schema: record('Visits', 'Chain5'),
      references: [{ name: 'Chain5', subject: ':.us:Chain5', version: 1 }],
    }),
    versionOf(':.us:Chain5', 1, 7, { schema: record('Chain5', 'long') }),
  ]
}

function byPlace(a: SchemaVersion, b: SchemaVersion): number {
  return a.subject < b.subject ? -1 : a.subject > b.subject ? 1 : a.version - b.version
}
