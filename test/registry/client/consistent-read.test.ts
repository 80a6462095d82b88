import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openRegistryClient } from '../../../src/registry/client/client.ts'
import { readSnapshot } from '../../../src/registry/client/read-snapshot.ts'
import { startFakeRegistry, type Vendor } from '../../fakes/fake-registry.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'
import { row } from '../../fakes/registry-rows.ts'
import { brief, never, snapshotOf } from './snapshots.ts'

/** Numbers in the names are those of the list of edge cases that the registry part is held to. */
/** A hundred versions a subject, so that there are few settings to ask for. */
const many = (count: number) =>
  Array.from({ length: count }, (_, at) =>
    row(`s${String(Math.floor(at / 100)).padStart(2, '0')}`, (at % 100) + 1, at + 1),
  )

describe('a list in pages', () => {
  test('1: is read to its end by a server that gives less than asked for', async t => {
    const { snapshot, registry } = await snapshotOf(t, 'confluent', { rows: many(250), maxPage: 100 })
    assert.equal(snapshot.versions.length, 250)
    assert.deepEqual(
      registry.paths().filter(path => path.startsWith('/subjects/')),
      [],
    )
  })

  test('2: is read once from a server that gives all of it every time', async t => {
    const { snapshot, registry } = await snapshotOf(t, 'karapace', { rows: many(30) })
    assert.equal(snapshot.versions.length, 30)
    assert.ok(registry.paths().filter(path => path === '/schemas').length <= 8)
  })

  test('41: that loses a row before the place reached is read again until nothing is skipped', async t => {
    const rows = many(1100)
    let isDone = false
    const { snapshot } = await snapshotOf(t, 'confluent', {
      rows,
      before: ({ query }) => {
        // Everything after it moves up by one, so that the first row of the next page is passed over.
        if (query.get('offset') === '500' && !isDone) isDone = rows.splice(3, 1).length === 1
        return undefined
      },
    })
    assert.equal(isDone, true)
    assert.deepEqual(brief(snapshot.versions), brief(rows.map(each => ({ ...each, isDeleted: false }) as never)))
  })

  test('41: that gains a row between two pages holds it once, and no other twice', async t => {
    const rows = many(1100)
    const { snapshot } = await snapshotOf(t, 'confluent', {
      rows,
      before: ({ query }) => {
        if (query.get('offset') === '500' && rows.length === 1100) rows.unshift(row('a-new', 1, 5000))
        return undefined
      },
    })
    assert.equal(snapshot.versions.length, 1101)
    assert.equal(snapshot.versions[0]?.subject, 'a-new')
  })

  test('36: goes on where the server fails in the middle for a while', async t => {
    let failures = 2
    const { snapshot } = await snapshotOf(t, 'confluent', {
      rows: many(1100),
      before: ({ query }) =>
        query.get('offset') === '500' && failures-- > 0 ? { status: 502, text: 'bad' } : undefined,
    })
    assert.equal(snapshot.versions.length, 1100)
  })

  test('is asked for several pages at once after a full one, and few of them are behind its end', async t => {
    const { snapshot, registry } = await snapshotOf(t, 'confluent', { rows: many(6200) })
    assert.equal(snapshot.versions.length, 6200)
    const pages = registry.paths().filter(path => path === '/schemas').length
    // Twelve full ones, a short one and the end in each of two passes; eight at a time behind the first.
    assert.ok(pages >= 28 && pages <= 2 * (1 + 8 + 8 + 1), `${pages} pages`)
  })

  test('is whole where the pages behind a full one are shorter than asked for', async t => {
    const rows = many(3000)
    const { snapshot } = await snapshotOf(t, 'confluent', {
      rows,
      before: ({ path, query }) => {
        const offset = Number(query.get('offset') ?? 0)
        if (path !== '/schemas' || offset === 0) return undefined
        return { json: rows.slice(offset, offset + 300).map(each => ({ ...each, deleted: false })) }
      },
    })
    assert.equal(snapshot.versions.length, 3000)
  })

  test('that is refused when it is to tell what is live makes nothing look deleted', async t => {
    const { snapshot } = await snapshotOf(t, 'confluent-7', {
      rows: [row('a', 1, 1), row('b', 1, 2)],
      before: ({ path, query }) =>
        path === '/schemas' && query.get('deleted') === 'false'
          ? { status: 403, json: { error_code: 40301, message: 'forbidden' } }
          : undefined,
    })
    assert.deepEqual(brief(snapshot.versions), ['a@1#1', 'b@1#2'])
  })

  test('that lacks subjects which the registry has is not trusted: they are read one by one', async t => {
    const { snapshot } = await snapshotOf(t, 'confluent', {
      rows: [row('a', 1, 1), row('b', 1, 2)],
      before: ({ path, query }, rows) =>
        path === '/schemas' ? { json: query.get('offset') === '0' ? rows.slice(0, 1) : [] } : undefined,
    })
    assert.deepEqual(brief(snapshot.versions), ['a@1#1', 'b@1#2'])
  })
})

test('41: a registry that never stands still is given up with a clear error', async t => {
  const registry = await startFakeRegistry('confluent', {
    before: ({ path, query }, rows) => {
      if (path === '/schemas' && query.get('offset') === '0') rows.push(row(`n${rows.length}`, 1, rows.length + 1))
      return undefined
    },
  })
  t.after(() => registry.close())
  await assert.rejects(read(registry.url), { code: 'REGISTRY_CHANGING', message: /changed while it was read/ })
})

for (const vendor of ['redpanda', 'axonops', 'apicurio'] as const) {
  test(`41: a version that appears while ${vendor} is read subject by subject is in the snapshot`, async t => {
    let isDone = false
    const { snapshot } = await snapshotOf(t, vendor, {
      rows: [row('a', 1, 1), row('b', 1, 2)],
      before: ({ path }, rows) => {
        if (path.endsWith('/subjects/b/versions/1') && !isDone) isDone = rows.push(row('a', 2, 3)) > 0
        return undefined
      },
    })
    assert.deepEqual(brief(snapshot.versions), ['a@1#1', 'a@2#3', 'b@1#2'])
  })
}

test('a live version that is listed but not given fails the read as a whole, and is named', async t => {
  const registry = await startFakeRegistry('redpanda', {
    rows: [row('a', 1, 1), row('b', 1, 2)],
    before: ({ path }) =>
      path === '/subjects/b/versions/1' ? { status: 404, json: { error_code: 40402, message: 'no' } } : undefined,
  })
  t.after(() => registry.close())
  await assert.rejects(read(registry.url), {
    code: 'REGISTRY_PROTOCOL',
    message: /lists version 1 of subject "b", but/,
  })
})

test('an answer for a subject of another context is not taken for the one asked for', async t => {
  const registry = await startFakeRegistry('redpanda', {
    rows: [row('a', 1, 1)],
    before: ({ path }) => (path === '/subjects/a/versions/1' ? { json: row(':.other:a', 1, 7) } : undefined),
  })
  t.after(() => registry.close())
  await assert.rejects(read(registry.url), { code: 'REGISTRY_PROTOCOL' })
})

describe('8: a subject of Apicurio that is deleted as a whole', () => {
  const rows = () => [row('gone', 1, 1, { deleted: true }), row('gone', 2, 2, { deleted: true }), row('live', 1, 2)]
  const hide = ({ path }: { path: string }) =>
    /\/gone\/versions\/\d$/.test(path) && path.startsWith('/apis/ccompat')
      ? { status: 404, json: { error_code: 40401, message: 'no' } }
      : undefined

  test('is read by the ids of its schemas', async t => {
    const { snapshot } = await snapshotOf(t, 'apicurio', { rows: rows(), before: hide })
    assert.deepEqual(brief(snapshot.versions), ['gone@1#1-', 'gone@2#2-', 'live@1#2'])
    assert.deepEqual(snapshot.warnings, [])
  })

  test('is told where its native API is out of reach', async t => {
    const { snapshot } = await snapshotOf(t, 'apicurio', { rows: rows(), before: hide, hidesNative: true })
    assert.equal(snapshot.flavour, 'apicurio')
    assert.deepEqual(brief(snapshot.versions), ['live@1#2'])
    assert.deepEqual(snapshot.warnings.slice(0, 2).sort(), [
      'version 1 of subject "gone" is soft-deleted, and the registry does not show it',
      'version 2 of subject "gone" is soft-deleted, and the registry does not show it',
    ])
  })
})

test('1: a list of subjects that Apicurio may have cut is refused where its native API is out of reach', async t => {
  const rows = Array.from({ length: 1100 }, (_, at) => row(`s${at}`, 1, at + 1))
  const registry = await startFakeRegistry('apicurio', { rows, hidesNative: true })
  t.after(() => registry.close())
  await assert.rejects(read(registry.url), {
    code: 'REGISTRY_PROTOCOL',
    message: /shows 1000 subjects and may have more/,
  })
})

test('1: versions beyond the 500 that Apicurio lists are found', async t => {
  const rows = Array.from({ length: 620 }, (_, at) => row('long', at + 1, at + 1)).filter(
    ({ version }) => version !== 610,
  )
  Object.assign(rows[600] ?? {}, { deleted: true })
  const { snapshot } = await snapshotOf(t, 'apicurio', {
    rows,
    before: ({ path }) =>
      path.endsWith('/subjects/long/versions') ? { json: rows.slice(0, 500).map(({ version }) => version) } : undefined,
  })
  assert.equal(snapshot.versions.length, 619)
  assert.deepEqual(
    snapshot.versions.filter(({ isDeleted }) => isDeleted).map(({ version }) => version),
    [601],
  )
})

describe('36: a registry that cannot be read', () => {
  const faults: [string, Vendor, Parameters<typeof startFakeRegistry>[1], RegExp][] = [
    [
      'is forbidden',
      'confluent',
      { before: () => ({ status: 403, json: { error_code: 403, message: 'no' } }) },
      /AUTH/,
    ],
    ['is a web page', 'confluent', { before: () => ({ text: '<html></html>' }) }, /PROTOCOL/],
    ['is another service', 'confluent', { before: () => ({ json: { status: 'UP' } }) }, /PROTOCOL/],
    ['has another base path', 'confluent', { before: () => ({ status: 404, text: 'nothing here' }) }, /NOT_FOUND/],
    ['cuts every connection', 'confluent', { before: () => 'reset' }, /UNREACHABLE/],
    [
      'forbids the settings of a subject',
      'confluent',
      {
        rows: [row('a', 1, 1)],
        before: ({ path }) => (path === '/config/a' ? { status: 403, json: { error_code: 403 } } : undefined),
      },
      /AUTH/,
    ],
  ]
  for (const [what, vendor, options, code] of faults) {
    test(`since it ${what} fails with the address`, async t => {
      const registry = await startFakeRegistry(vendor, options)
      t.after(() => registry.close())
      await assert.rejects(read(registry.url), (error: Error & { code?: string }) => {
        assert.match(error.code ?? '', code)
        assert.ok(error.message.includes(registry.url), error.message)
        return true
      })
    })
  }
})

async function read(url: string) {
  const client = await openRegistryClient({ urls: [url] }, { clock: new JumpingClock() })
  try {
    return await readSnapshot(client, {}, never)
  } finally {
    client.close()
  }
}
