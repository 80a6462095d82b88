import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openRegistryClient, type RegistryCall, type RegistryClient } from '../../../src/registry/client/client.ts'
import type { LeftBehind } from '../../../src/registry/probe/clear-scope.ts'
import { featureChecks, probeRegistry } from '../../../src/registry/probe/probe-registry.ts'
import { ProbeScope } from '../../../src/registry/probe/probe-scope.ts'
import { openRegistryServer } from '../../../src/registry/serve/open-registry-server.ts'
import { RegistryFault } from '../../../src/registry/serve/registry-fault.ts'
import { RegistryStore } from '../../../src/registry/serve/registry-store.ts'
import { JumpingClock } from '../../fakes/jumping-clock.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { SimulatedTime } from '../../fakes/simulated-time.ts'
import { startVendor, type VendorRegistry } from '../../fakes/vendors/start-vendor.ts'
import type { VendorName } from '../../fakes/vendors/vendor-script.ts'

const start = snapshotOf([versionOf('theirs', 1, 7), versionOf('gone', 1, 8, { isDeleted: true })])

interface ProbeWish {
  isWriting?: boolean
  signal?: AbortSignal
  onWrite?: (place: string) => void
  onLeftBehind?: (left: readonly LeftBehind[]) => void
}

async function probe(t: TestContext, url: string, wish: ProbeWish = {}) {
  const { isWriting = true, signal = new AbortController().signal } = wish
  const { onWrite = () => undefined, onLeftBehind = () => undefined } = wish
  const client = await openRegistryClient({ urls: [url] }, { clock: new JumpingClock() })
  t.after(() => client.close())
  return probeRegistry(client, { isWriting, onWrite, onLeftBehind }, signal)
}

async function vendor(
  t: TestContext,
  name: VendorName,
  onRequest?: (call: { method: string; target: string }) => void,
) {
  const registry = await startVendor(name, { start, ...(onRequest && { onRequest }) })
  t.after(() => registry.close())
  return registry
}

/** What the registry holds, of its own and of the probe. */
function held({ store }: Pick<VendorRegistry, 'store'>): string[] {
  return store.subjects({ prefix: ':*:', including: 'all', offset: 0, limit: 0 })
}

const lacks: Record<VendorName, string[]> = {
  confluent: ['rule_sets', 'import_contracts'],
  karapace: [
    ...['contexts', 'exact_texts', 'json_references', 'metadata', 'rule_sets', 'deleted_chains', 'forced_registration'],
    ...['settings', 'settings_without_level', 'modes', 'import'],
  ],
  axonops: [
    ...['unset_context_settings', 'avro_docs', 'slashes_in_names', 'numbers_restart', 'forced_registration'],
    ...['settings_without_level', 'import_contracts', 'import_twins', 'import_deleted_references'],
  ],
}

describe('a probe that may write', () => {
  for (const name of ['confluent', 'karapace', 'axonops'] as const) {
    test(`finds what ${name} lacks, and leaves the registry as it was`, async t => {
      const registry = await vendor(t, name)
      const places: string[] = []
      const before = held(registry)
      const { features, leftBehind, registrations } = await probe(t, registry.url, { onWrite: one => places.push(one) })
      assert.deepEqual(
        features.filter(({ has }) => has === false).map(one => one.name),
        lacks[name],
      )
      const untried = name === 'karapace' ? ['unset_context_settings', ...importOnly] : []
      assert.deepEqual(
        features.filter(({ has }) => has === null).map(one => one.name),
        untried,
      )
      assert.deepEqual([leftBehind, held(registry)], [[], before])
      assert.ok(registrations > 10)
      assert.match(
        places.join(),
        name === 'karapace' ? /^subjects that begin with kafka-backup-/ : /^the context \.kafka-/,
      )
    })
  }

  test('finds every feature in the embedded registry', async t => {
    const server = await openRegistryServer({ store: new RegistryStore({}, start), host: '127.0.0.1', port: 0 })
    t.after(() => server.close())
    const { features } = await probe(t, server.url)
    assert.deepEqual(
      features.filter(({ has }) => has !== true),
      [],
    )
    assert.equal(features.length, featureChecks.length)
  })

  test('removes what it wrote also when it is interrupted', async t => {
    const stop = new AbortController()
    let writes = 0
    const registry = await vendor(t, 'confluent', ({ method }) => {
      if (method === 'POST' && ++writes === 12) stop.abort(new Error('stopped'))
    })
    const before = held(registry)
    await assert.rejects(probe(t, registry.url, { signal: stop.signal }), /stopped/)
    assert.deepEqual(held(registry), before)
  })

  test('fails where the registry refuses every schema, instead of showing every feature as missing', async t => {
    const server = await openRegistryServer({
      store: new RegistryStore({ isReadOnly: true }, start),
      ...{ host: '127.0.0.1', port: 0 },
    })
    t.after(() => server.close())
    await assert.rejects(probe(t, server.url), { code: 'REGISTRY_REFUSED', message: /refuses the first test schema/ })
  })

  test('names what may be left where it fails and the registry does not answer any more', async t => {
    let writes = 0
    const registry = await vendor(t, 'confluent', ({ method }) => {
      if (method === 'POST') writes++
      if (writes >= 5) throw new RegistryFault(50301, 'not now')
    })
    const left: LeftBehind[] = []
    await assert.rejects(probe(t, registry.url, { onLeftBehind: some => left.push(...some) }), /not now/)
    assert.deepEqual(
      left.map(({ subject, parts }) => `${subject.split(':').at(-1)} ${parts}`),
      ['odd $+@=&:,; name', 'docs', 'text', 'first'].map(name => `${name.split(':').at(-1)} versions`),
    )
    assert.ok(left.every(({ reason }) => reason?.includes('not now')))
  })

  test('does not try for long to remove what it wrote where the registry is slow', async () => {
    const time = new SimulatedTime()
    const isSettled = async () => {
      for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
      return result !== undefined
    }
    const call = (_: RegistryCall, signal: AbortSignal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const client = { name: 'r', clock: time.clock(), call } as unknown as RegistryClient
    const identity = { flavour: 'confluent', version: null, contexts: ['.'] } as const
    const scope = new ProbeScope(client, { identity, hasContexts: false, name: 'p' }, new AbortController().signal)
    scope.subject('a')
    let result: LeftBehind[] | undefined
    void scope.clear().then(left => {
      result = left
    })
    assert.equal(await isSettled(), false)
    await time.pass(60_000)
    assert.ok(await isSettled())
    assert.deepEqual(result, [{ subject: 'p-a', parts: ['versions'], reason: 'not finished within 60 s' }])
  })

  test('names what it could not remove', async t => {
    const registry = await vendor(t, 'confluent')
    const { store } = registry
    const deleteSubject = store.deleteSubject.bind(store)
    store.deleteSubject = (subject, isPermanent) =>
      subject.endsWith(':text') ? [] : deleteSubject(subject, isPermanent)
    const { leftBehind } = await probe(t, registry.url)
    const [left, ...others] = leftBehind
    assert.deepEqual([left?.parts, left?.reason, others], [['versions'], null, []])
    assert.match(left?.subject ?? '', /^:\.kafka-backup-probe-\w+:text$/)
  })

  test('tries to remove everything after a refusal, and reports each refusal with what is left', async t => {
    const registry = await vendor(t, 'confluent', ({ method, target }) => {
      if (method === 'DELETE' && /\/(subjects|config)\/[^/]*%3A(text|early|level)(\?|$)/.test(target))
        throw new RegistryFault(40301, 'no deletions for this user')
    })
    const before = held(registry)
    const { leftBehind } = await probe(t, registry.url)
    assert.deepEqual(
      leftBehind.map(({ subject, parts }) => [subject.split(':').at(-1), parts]),
      [
        ['early', ['level']],
        ['level', ['versions', 'level']],
        ['text', ['versions']],
      ],
    )
    for (const { reason } of leftBehind) assert.match(reason ?? '', /no deletions for this user/)
    const names = leftBehind.filter(({ parts }) => parts.includes('versions')).map(({ subject }) => subject)
    assert.deepEqual(held(registry).toSorted(), [...before, ...names].toSorted())
  })
})

const importOnly = ['import_contracts', 'import_twins', 'import_deleted_references']

describe('a probe that may not write', () => {
  for (const name of ['confluent', 'karapace', 'axonops'] as const) {
    test(`sends ${name} nothing but reads, and says what was not tried`, async t => {
      const methods = new Set<string>()
      const registry = await vendor(t, name, ({ method }) => methods.add(method))
      const { features, registrations } = await probe(t, registry.url, { isWriting: false })
      assert.deepEqual([...methods], ['GET'])
      assert.equal(registrations, 0)
      const tried = features.filter(({ has }) => has !== null).map(one => one.name)
      const byReading = ['schema_list', 'schema_types', 'contexts', 'unset_settings', 'highest_id']
      assert.deepEqual(
        tried.filter(one => one !== 'unset_context_settings'),
        byReading,
      )
      assert.match(features.at(-1)?.detail ?? '', /--write/)
    })
  }
})
