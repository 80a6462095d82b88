import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Vendor } from '../../fakes/fake-registry.ts'
import { reference, row } from '../../fakes/registry-rows.ts'
import { brief, snapshotOf } from './snapshots.ts'

/** Numbers in the names are those of the list of edge cases that the registry part is held to. */
const vendors: Vendor[] = ['confluent', 'confluent-7', 'axonops', 'karapace', 'redpanda', 'apicurio']

for (const vendor of vendors) {
  describe(`a registry like ${vendor}`, () => {
    const flavour = vendor === 'confluent-7' ? 'confluent' : vendor

    test('is known by what it answers', async t => {
      const { snapshot } = await snapshotOf(t, vendor, {})
      assert.equal(snapshot.flavour, flavour)
      const confluent = { confluent: '8.1.0', 'confluent-7': '7.6.0' }
      const others = { axonops: '1.2.0', apicurio: '3.0.9', karapace: '6.2.0', redpanda: null }
      assert.equal(snapshot.registryVersion, { ...confluent, ...others }[vendor])
      assert.equal(snapshot.takenAt, '2026-01-02T03:04:05.000Z')
    })

    test('42: that is empty gives an empty snapshot', async t => {
      const { snapshot } = await snapshotOf(t, vendor, {})
      assert.deepEqual(snapshot.versions, [])
      assert.deepEqual(snapshot.warnings, [])
      assert.equal(snapshot.global.compatibility, 'BACKWARD')
    })

    test('1: of more than a thousand versions and of more subjects than a page has is read as a whole', async t => {
      const rows = Array.from({ length: 1203 }, (_, at) =>
        row(`s${String(Math.floor(at / 40)).padStart(2, '0')}`, (at % 40) + 1, at + 1),
      )
      const { snapshot } = await snapshotOf(t, vendor, { rows, maxPage: 10 })
      assert.equal(snapshot.versions.length, 1203)
      assert.equal(new Set(snapshot.versions.map(({ id }) => id)).size, 1203)
    })

    test('3, 4, 6, 8, 9: keeps sparse numbers, and what is soft-deleted stays so', async t => {
      const rows = [
        row('all-gone', 1, 9, { deleted: true }),
        row('late', 2, 4),
        row('sparse', 1, 1, { deleted: true }),
        row('sparse', 3, 1),
        row('sparse', 7, 2, { deleted: true }),
      ]
      const { snapshot } = await snapshotOf(t, vendor, { rows })
      assert.deepEqual(brief(snapshot.versions), [
        'all-gone@1#9-',
        'late@2#4',
        'sparse@1#1-',
        'sparse@3#1',
        'sparse@7#2-',
      ])
      assert.equal(snapshot.skippedDeleted, 0)
    })

    test('5, 7: one id under many subjects and two ids of one text are all kept', async t => {
      const same = Array.from({ length: 50 }, (_, at) =>
        row(`s${String(at).padStart(2, '0')}`, 1, 5, { schema: '"int"' }),
      )
      const { snapshot } = await snapshotOf(t, vendor, { rows: [...same, row('t', 1, 6, { schema: '"int"' })] })
      assert.equal(snapshot.versions.filter(({ id }) => id === 5).length, 50)
      assert.equal(snapshot.versions.filter(({ id }) => id === 6).length, 1)
    })

    test('14, 15: asks for subjects with any characters by their own names', async t => {
      const slashed = ['google/protobuf/x.proto', 'ünï/✓', '../x']
      const odd = [
        'a b',
        '100%',
        'a+b',
        'a?b#c',
        ':.odd',
        'x'.repeat(300),
        '..',
        'com.acme.Outer$Inner',
        "!'()*@=&:,;~",
      ]
      // AxonOps cannot be asked for a name with a slash.
      const names = vendor === 'axonops' ? odd : [...odd, ...slashed]
      const configs = Object.fromEntries(names.map(name => [name, { compatibilityLevel: 'FULL' }]))
      const rows = names.map((name, at) => row(name, 1, at + 1))
      const { snapshot } = await snapshotOf(t, vendor, { rows, configs })
      assert.deepEqual(new Set(snapshot.versions.map(({ subject }) => subject)), new Set(names))
      for (const name of names) assert.equal(snapshot.subjects.get(name)?.compatibility, 'FULL', name)
    })

    test('16, 17: gives the text of a schema as it is', async t => {
      const texts = [
        '{"type":"record","name":"A","doc":"\\u0000 😀","fields":[{"name":"n","type":"long","default":9223372036854775807}]}',
        'syntax = "proto2";\n// comment\nmessage A { optional int32 a = 1 [deprecated = true]; }\n',
        `{ "$id": "https://example.com/a.json",  "x": "${'y'.repeat(1_000_000)}" }`,
      ]
      const types = ['AVRO', 'PROTOBUF', 'JSON'] as const
      const rows = texts.map((schema, at) => row(`s${at}`, 1, at + 1, { schema, schemaType: types[at] ?? 'AVRO' }))
      const { snapshot } = await snapshotOf(t, vendor, { rows })
      assert.deepEqual(
        snapshot.versions.map(({ schema }) => schema),
        texts,
      )
      assert.deepEqual(
        snapshot.versions.map(({ schemaType }) => schemaType),
        types,
      )
    })

    test('18: what is not set for a subject stays unset', async t => {
      const rows = [row('none', 1, 1), row('unset', 1, 2)]
      const configs = { '': { compatibilityLevel: 'FULL' }, none: { compatibilityLevel: 'NONE' } }
      const { snapshot } = await snapshotOf(t, vendor, { rows, configs })
      assert.deepEqual(snapshot.global.compatibility, 'FULL')
      assert.deepEqual(snapshot.subjects.get('none'), { compatibility: 'NONE', mode: null, config: null })
      assert.deepEqual(snapshot.subjects.get('unset'), { compatibility: null, mode: null, config: null })
    })

    test('12: reads references with their exact versions', async t => {
      const rows = [
        row('a', 1, 1),
        row('a', 2, 3, { references: [reference('b', 1)] }),
        row('b', 1, 2, { references: [reference('a', 1, 'a/b.proto')] }),
      ]
      const { snapshot } = await snapshotOf(t, vendor, { rows })
      assert.deepEqual(
        snapshot.versions.map(({ references }) => references),
        [[], [{ name: 'b', subject: 'b', version: 1 }], [{ name: 'a/b.proto', subject: 'a', version: 1 }]],
      )
    })
  })
}

for (const vendor of ['confluent', 'redpanda', 'apicurio'] as const) {
  test(`13: of ${vendor}, what patterns select and what that refers to is taken, and no more is asked for`, async t => {
    const rows = [
      row('common-address', 1, 1, { references: [reference('common-city', 1)] }),
      row('common-address', 2, 2),
      row('common-city', 1, 3, { deleted: true }),
      row('orders-value', 1, 4, { references: [reference('common-address', 1)] }),
      row('users-value', 1, 5),
    ]
    const selection = { subjects: ['orders-*'], includeSoftDeleted: false }
    const { snapshot, registry } = await snapshotOf(t, vendor, { rows }, selection)
    assert.deepEqual(brief(snapshot.versions), ['common-address@1#1+', 'common-city@1#3-+', 'orders-value@1#4'])
    assert.deepEqual([...snapshot.subjects.keys()], ['common-address', 'common-city', 'orders-value'])
    assert.deepEqual(
      registry.paths().filter(path => path.includes('users-value')),
      [],
    )
  })
}

for (const vendor of ['confluent', 'confluent-7', 'axonops'] as const) {
  test(`33: the same id in two contexts of ${vendor} is two schemas`, async t => {
    const rows = [row(':.eu:orders', 1, 1, { schema: '"int"' }), row('orders', 1, 1, { schema: '"long"' })]
    const modes = { ':.eu:orders': 'READONLY' }
    const configs = { ':.eu:': { compatibilityLevel: 'FULL' } }
    const { snapshot } = await snapshotOf(t, vendor, { rows, modes, configs, contexts: ['.', '.eu'], maxId: 8 })
    assert.deepEqual(snapshot.contexts, ['.', '.eu'])
    assert.deepEqual(
      snapshot.versions.map(({ subject, schema }) => [subject, schema]),
      [
        [':.eu:orders', '"int"'],
        ['orders', '"long"'],
      ],
    )
    assert.equal(snapshot.subjects.get(':.eu:orders')?.mode, 'READONLY')
    assert.equal(snapshot.contextSettings.get('.eu')?.compatibility, 'FULL')
    assert.deepEqual([...snapshot.maxIds].sort(), [
      ['.', 8],
      ['.eu', 1],
    ])
  })

  test(`31: metadata and rule sets of ${vendor} are exact, without what the registry adds of its own`, async t => {
    const metadata = { tags: { '**.ssn': ['PII'] }, properties: { owner: 'me' } }
    const ruleSet = { domainRules: [{ name: 'r', kind: 'CONDITION', type: 'CEL', expr: 'true' }] }
    const rows = [row('a', 1, 1, { metadata, ruleSet }), row('b', 1, 2)]
    const { snapshot } = await snapshotOf(t, vendor, { rows })
    assert.deepEqual(snapshot.versions[0]?.metadata, metadata)
    assert.deepEqual(snapshot.versions[0]?.ruleSet, ruleSet)
    assert.equal(snapshot.versions[1]?.metadata, null)
    assert.equal(snapshot.versions[1]?.ruleSet, null)
  })
}

describe('a registry that does not say what it is', () => {
  const hidden = ({ path }: { path: string }) =>
    path.startsWith('/v1/') ? { status: 404, json: { error_code: 404, message: 'HTTP 404 Not Found' } } : undefined

  test('is known by the guids of its schemas as one of Confluent', async t => {
    const rows = [row('a', 1, 1, { guid: 'g1' }), row('a', 2, 2, { guid: 'g2', deleted: true })]
    const { snapshot, registry } = await snapshotOf(t, 'confluent', { rows, before: hidden })
    assert.equal(snapshot.flavour, 'confluent')
    assert.equal(snapshot.registryVersion, null)
    assert.deepEqual(
      snapshot.versions.map(({ guid }) => guid),
      ['g1', 'g2'],
    )
    assert.ok(!registry.paths().includes('/subjects/a/versions'))
  })

  test('is otherwise read subject by subject, whatever its list of schemas says', async t => {
    const rows = [row('a', 1, 1), row('a', 2, 2, { deleted: true })]
    const { snapshot, registry } = await snapshotOf(t, 'confluent-7', { rows, before: hidden })
    assert.equal(snapshot.flavour, 'other')
    assert.deepEqual(brief(snapshot.versions), ['a@1#1', 'a@2#2-'])
    assert.ok(registry.paths().includes('/subjects/a/versions/2'))
  })
})

test('a registry without a version is known by its cluster', async t => {
  const noVersion = ({ path }: { path: string }) =>
    path === '/v1/metadata/version' ? { status: 404, json: { error_code: 404, message: 'no' } } : undefined
  const { snapshot } = await snapshotOf(t, 'confluent-7', { before: noVersion })
  assert.equal(snapshot.flavour, 'confluent')
  const bare = ({ path }: { path: string }) =>
    path === '/v1/metadata/version' ? { json: { version: 'dev' } } : undefined
  assert.equal((await snapshotOf(t, 'axonops', { before: bare })).snapshot.flavour, 'axonops')
})

test('18: a config holds all that it says, of whatever kind', async t => {
  const config = { alias: 'orders', normalize: true, defaultRuleSet: { domainRules: [] } }
  const { snapshot } = await snapshotOf(t, 'confluent', { rows: [row('a', 1, 1)], configs: { a: config } })
  assert.deepEqual(snapshot.subjects.get('a'), { compatibility: null, mode: null, config })
})

test('a subject that the list of schemas shows later than that of subjects costs no alias', async t => {
  const before = { ...row('a', 1, 1), deleted: false, aliases: ['short'] }
  let lists = 0
  const { snapshot, registry } = await snapshotOf(t, 'confluent', {
    rows: [row('a', 1, 1), row('comes', 1, 2)],
    aliases: { a: ['short'] },
    configs: { short: { alias: 'a' } },
    before: ({ path, query }) => {
      if (path !== '/schemas' || query.get('deleted') !== 'true') return undefined
      if (query.get('offset') === '0' && query.get('limit') !== '1') lists++
      return lists <= 2 ? { json: query.get('offset') === '0' ? [before] : [] } : undefined
    },
  })
  assert.deepEqual([brief(snapshot.versions), snapshot.warnings], [['a@1#1', 'comes@1#2'], []])
  assert.deepEqual(snapshot.subjects.get('short')?.config, { alias: 'a' })
  assert.ok(!registry.paths().some(path => path.endsWith('/versions')))
})

test('34: the settings of an alias are taken though it has no versions', async t => {
  const configs = { short: { alias: 'orders-value' } }
  const options = { rows: [row('orders-value', 1, 1)], aliases: { 'orders-value': ['short'] }, configs }
  const { snapshot } = await snapshotOf(t, 'confluent', options)
  assert.deepEqual(snapshot.subjects.get('short')?.config, { alias: 'orders-value' })
  assert.deepEqual(brief(snapshot.versions), ['orders-value@1#1'])
})

test('35: metadata that is marked as sensitive is left out and named', async t => {
  const metadata = { properties: { key: 's3cret', owner: 'me' }, sensitive: ['key'] }
  const { snapshot } = await snapshotOf(t, 'confluent', { rows: [row('a', 1, 1, { metadata })] })
  assert.deepEqual(snapshot.versions[0]?.metadata, { properties: { owner: 'me' }, sensitive: ['key'] })
  assert.deepEqual(snapshot.warnings, [
    'metadata of version 1 of subject "a" that is marked as sensitive is left out: key',
  ])
})
