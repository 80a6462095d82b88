import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openRegistryClient } from '../../../src/registry/client/client.ts'
import { identifySource } from '../../../src/registry/client/read-snapshot.ts'
import { startFakeRegistry, type Vendor } from '../../fakes/fake-registry.ts'
import type { ScriptedAnswer, SeenRequest } from '../../fakes/http-script.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'
import { startRegistryProxy } from '../../fakes/registry-proxy.ts'
import { row } from '../../fakes/registry-rows.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { startVendor } from '../../fakes/vendors/start-vendor.ts'
import type { VendorName } from '../../fakes/vendors/vendor-script.ts'
import { brief, readServer } from '../restore/schema-stage.ts'
import { never, snapshotOf as read } from './snapshots.ts'

const start = snapshotOf([versionOf('a', 1, 5), versionOf(':.eu:b', 1, 1)], { contexts: ['.', '.eu'] })

/** A registry whose access rules keep one path from the user who reads it. */
async function readWithout(t: TestContext, vendor: VendorName, path: string) {
  const server = await startVendor(vendor, { start, onRequest: () => undefined })
  t.after(() => server.close())
  const proxy = await startRegistryProxy(server.url, ({ target }) =>
    target.split('?')[0] === path
      ? { kind: 'answer', status: 403, json: { error_code: 40301, message: 'denied' } }
      : { kind: 'pass' },
  )
  t.after(() => proxy.close())
  return readServer(proxy.url)
}

describe('a registry that keeps an answer back', () => {
  for (const path of ['/contexts', '/contexts/.eu/subjects']) {
    test(`to ${path} is not read without its contexts, where only that shows them`, async t => {
      await assert.rejects(readWithout(t, 'axonops', path), /answered 403, error code 40301: denied$/)
    })

    test(`to ${path} is read as a whole, where another list shows it`, async t => {
      const found = await readWithout(t, 'confluent', path)
      assert.deepEqual(brief(found), [':.eu:b@1 #1', 'a@1 #5'])
      const hidden = [/^contexts cannot be listed, so their levels and modes are left out: /, /^aliases are left out, /]
      const told = path === '/contexts' ? hidden : []
      assert.equal(found.warnings.length, told.length)
      for (const [at, pattern] of told.entries()) assert.match(found.warnings[at] ?? '', pattern)
    })
  }

  for (const vendor of ['axonops', 'confluent'] as const) {
    test(`to /mode is read without modes, and that is a warning, as by ${vendor}`, async t => {
      const { warnings, versions } = await readWithout(t, vendor, '/mode')
      assert.equal(versions.length, 2)
      assert.match(warnings.join(), /^modes cannot be read and are left out: .* answered 403/)
    })
  }
})

describe('a page of a proxy in place of an answer', () => {
  const page = { text: '<html><title>Portal</title></html>', headers: { 'content-type': 'text/html' } }
  const rows = [row('a', 1, 1)]

  for (const vendor of ['axonops', 'confluent'] as const) {
    for (const answer of [page, { status: 404, text: 'not found' }]) {
      test(`leaves out modes with a warning, as by ${vendor}: ${answer.text}`, async t => {
        const before = ({ path }: SeenRequest) => (path === '/mode' ? answer : undefined)
        const { snapshot } = await read(t, vendor, { rows, before })
        assert.match(snapshot.warnings.join(), /^modes cannot be read and are left out: /)
      })
    }

    test(`leaves out the highest ID with a warning, as by ${vendor}`, async t => {
      const before = ({ path, query }: SeenRequest) =>
        path.startsWith('/schemas/ids/') && query.get('fetchMaxId') === 'true' ? page : undefined
      const { snapshot } = await read(t, vendor, { rows, before, maxId: 9 })
      assert.equal(snapshot.maxIds.size, 0)
      assert.match(snapshot.warnings.join(), /^the highest schema ID of the context \. cannot be read: .*Portal/)
    })
  }
})

describe('a context that is listed and not shown', () => {
  const answers: [string, ScriptedAnswer, string][] = [
    ['refused', { status: 403, json: { error_code: 40301, message: 'denied' } }, 'REGISTRY_AUTH'],
    ['not found by a proxy', { status: 404, text: 'not found' }, 'REGISTRY_NOT_FOUND'],
    [
      'a page',
      { text: '<html><title>Portal</title></html>', headers: { 'content-type': 'text/html' } },
      'REGISTRY_PROTOCOL',
    ],
    ['empty', { text: '' }, 'REGISTRY_PROTOCOL'],
  ]
  const rows = [row('a', 1, 1), row(':.eu:b', 1, 1)]
  /** Also the list of all subjects has none of it. */
  const hide = (answer: ScriptedAnswer) => (request: SeenRequest) => {
    const path = decodeURIComponent(request.path)
    if (path.startsWith('/contexts/.eu/') || path.includes(':.eu:')) return answer
    return path === '/subjects' ? { json: ['a'] } : undefined
  }

  for (const vendor of ['confluent', 'axonops'] as const) {
    for (const [name, answer, code] of answers) {
      test(`fails the backup with its name, as ${vendor} answers: ${name}`, async t => {
        const options = { rows, contexts: ['.', '.eu'], before: hide(answer) }
        await assert.rejects(read(t, vendor, options), {
          code,
          message: /^the registry \S+ does not show what is in the context \.eu, which it has: /,
          help: /':\.eu:\*'/,
        })
      })
    }

    test(`is left out where the job does not select it, as by ${vendor}`, async t => {
      const denied = answers[0]?.[1] ?? {}
      for (const selection of [{ exclude: [':.eu:*'] }, { exclude: [':.*'] }, { subjects: ['a*'] }]) {
        const options = { rows, contexts: ['.', '.eu'], before: hide(denied) }
        const { snapshot } = await read(t, vendor, options, selection)
        assert.deepEqual(
          snapshot.versions.map(({ subject }) => subject),
          ['a'],
        )
      }
      const options = { rows, contexts: ['.', '.eu'], before: hide(denied) }
      for (const selection of [{ exclude: [':.eu:b'] }, { subjects: ['*b'] }, { exclude: ['b*'] }]) {
        await assert.rejects(read(t, vendor, options, selection), /in the context \.eu/)
      }
    })
  }

  test('without the list of contexts, where no other list shows them, fails the backup', async t => {
    const before = ({ path }: SeenRequest) => (path === '/contexts' ? answers[0]?.[1] : undefined)
    await assert.rejects(read(t, 'axonops', { rows, before }), {
      code: 'REGISTRY_AUTH',
      message: /does not show which contexts it has/,
      help: /':\.\*'/,
    })
    const { snapshot } = await read(t, 'axonops', { rows: rows.slice(0, 1), before }, { exclude: [':.*'] })
    assert.equal(snapshot.versions.length, 1)
  })

  const unknown: [string, Vendor, ScriptedAnswer][] = [
    ['an unrecognized registry behind a list of allowed paths', 'redpanda', answers[0]?.[1] ?? {}],
    ['AxonOps in a version without contexts', 'axonops', { status: 404, text: '404 page not found' }],
  ]
  for (const [name, vendor, answer] of unknown) {
    const hideList = ({ path }: SeenRequest) => {
      const isHidden =
        path === '/contexts' || (vendor === 'redpanda' && !/^\/(subjects|schemas|config|mode)/.test(path))
      return isHidden ? answer : undefined
    }

    test(`that may have none, as of ${name}, is a warning`, async t => {
      const { snapshot } = await read(t, vendor, { rows: rows.slice(0, 1), before: hideList })
      assert.deepEqual([snapshot.flavour, snapshot.versions.length], [vendor === 'redpanda' ? 'other' : vendor, 1])
      assert.match(
        snapshot.warnings[0] ?? '',
        /^contexts cannot be listed, so those other than the default one are left/,
      )
    })

    test(`that may have none, as of ${name}, fails the job that names one, and where a listed subject is in one`, async t => {
      const refused = /does not show which contexts it has|lists subject ":\.eu:b", but does not give it/
      const named = { subjects: ['a', ':.eu:*'] }
      await assert.rejects(read(t, vendor, { rows: rows.slice(0, 1), before: hideList }, named), refused)
      const before = (request: SeenRequest) =>
        request.path === '/subjects' ? { json: ['a', ':.eu:b'] } : hideList(request)
      await assert.rejects(read(t, vendor, { rows, before }), refused)
      const { snapshot } = await read(t, vendor, { rows, before }, { exclude: [':.*'] })
      assert.equal(snapshot.versions.length, 1)
    })

    test(`that may have none, as of ${name}, is judged alike by a check`, async t => {
      const registry = await startFakeRegistry(vendor, { rows: [...rows], before: hideList })
      t.after(() => registry.close())
      const client = await openRegistryClient({ urls: [registry.url] }, { clock: new JumpingClock() })
      t.after(() => client.close())
      await assert.rejects(identifySource(client, { subjects: [':.eu:*'] }, never), /which contexts it has/)
      registry.rows.splice(1)
      assert.equal((await identifySource(client, {}, never)).contexts.length, 1)
    })
  }

  test('without the list of contexts, is found by its subjects, and a warning says what is missing', async t => {
    const before = ({ path }: SeenRequest) => (path === '/contexts' ? { status: 404, text: 'not found' } : undefined)
    const { snapshot } = await read(t, 'confluent', { rows, before })
    assert.equal(snapshot.versions.length, 2)
    assert.match(snapshot.warnings.join(), /^contexts cannot be listed/)
  })
})
