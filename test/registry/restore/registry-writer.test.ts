import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openRegistryClient } from '../../../src/registry/client/client.ts'
import type { RegisterStep } from '../../../src/registry/restore/plan/restore-step.ts'
import { RegistryWriter } from '../../../src/registry/restore/registry-writer.ts'
import { type ProxiedCall, startRegistryProxy, type Treatment } from '../../fakes/registry-proxy.ts'

const never = new AbortController().signal
const content = { schemaType: 'AVRO', schema: '"int"', references: [], metadata: null, ruleSet: null } as const
const plain: RegisterStep = {
  type: 'register',
  purpose: 'schema',
  subject: 'a',
  key: 'a@3',
  version: 3,
  id: null,
  ...content,
  force: false,
  lift: null,
  sourceIds: [],
}
const missing = { kind: 'answer', status: 404, json: { error_code: 40401, message: 'no' } } as const

describe('a registration', () => {
  test('sends no ID, no number and no empty part that the registry has to judge', async t => {
    const { writer, calls } = await scripted(t, () => ok({ id: 7 }))
    assert.equal(await writer.register(plain, never), 7)
    assert.deepEqual(JSON.parse(calls[0]?.body ?? ''), { schema: '"int"' })
  })

  test('sends ID and number together, the type, references and contracts where there are any', async t => {
    const { writer, calls } = await scripted(t, () => ok({ id: 7 }))
    const references = [{ name: 'x.proto', subject: 'x', version: 1 }]
    const contract = { metadata: { properties: { a: 'b' } }, ruleSet: { domainRules: [] } }
    await writer.register({ ...plain, id: 7, schemaType: 'PROTOBUF', references, ...contract }, never)
    const { schema, ...rest } = JSON.parse(calls[0]?.body ?? '')
    assert.deepEqual(rest, { schemaType: 'PROTOBUF', references, ...contract, id: 7, version: 3 })
  })

  test('encodes what a subject may be called (cases 14, 15)', async t => {
    const { writer, calls } = await scripted(t, () => ok({ id: 7 }))
    await writer.register({ ...plain, subject: ':.eu:geo/a b%+?#ü.proto' }, never)
    assert.equal(calls[0]?.target, '/subjects/%3A.eu%3Ageo%2Fa%20b%25%2B%3F%23%C3%BC.proto/versions')
  })

  test('names what it refers to in full where a registry has no contexts', async t => {
    const { writer, calls } = await scripted(t, () => ok({ id: 7 }), false)
    const references = ['a', ':.:a', ':.us:a'].map(subject => ({ name: 'A', subject, version: 1 }))
    await writer.register({ ...plain, subject: ':.eu:b', references }, never)
    const sent: { references: { subject: string }[] } = JSON.parse(calls[0]?.body ?? '')
    assert.deepEqual(
      sent.references.map(({ subject }) => subject),
      [':.eu:a', 'a', ':.us:a'],
    )
  })

  test('without an ID in the answer is a fault of the protocol', async t => {
    const { writer } = await scripted(t, () => ok({}))
    await assert.rejects(writer.register(plain, never), { code: 'REGISTRY_PROTOCOL' })
  })
})

describe('a deletion', () => {
  test('marks before it removes', async t => {
    const { writer, calls } = await scripted(t, () => ok(3))
    await writer.deleteVersion('a', 3, true, never)
    assert.deepEqual(
      calls.map(({ method, target }) => `${method} ${target}`),
      ['DELETE /subjects/a/versions/3', 'DELETE /subjects/a/versions/3?permanent=true'],
    )
  })

  test('takes what is gone or marked already for done', async t => {
    for (const json of [
      missing.json,
      { error_code: 40404, message: 'marked' },
      { error_code: 40406, message: 'marked' },
    ]) {
      const { writer } = await scripted(t, () => ({ ...missing, json }))
      await writer.deleteVersion('a', 3, true, never)
    }
  })

  test('that the registry refuses is an error', async t => {
    const refusal = { kind: 'answer', status: 422, json: { error_code: 42206, message: 'referenced' } } as const
    const { writer } = await scripted(t, () => refusal)
    await assert.rejects(writer.deleteVersion('a', 3, false, never), { code: 'REGISTRY_REFUSED' })
  })
})

describe('a configuration', () => {
  const scope = { kind: 'subject', subject: 'a' } as const

  test('is taken away before it is set, so that nothing of the old one stays (case 19)', async t => {
    const { writer, calls } = await scripted(t, () => ok({}))
    await writer.setConfig(scope, { compatibility: 'FULL', config: { normalize: true }, clears: true }, never)
    assert.deepEqual(
      calls.map(({ method, body }) => `${method} ${body}`),
      ['DELETE ', 'PUT {"compatibility":"FULL","normalize":true}'],
    )
  })

  test('is set also where an old registry cannot take one away', async t => {
    const { writer, calls } = await scripted(t, ({ method }) =>
      method === 'DELETE' ? { kind: 'answer', status: 405, json: {} } : ok({}),
    )
    await writer.setConfig({ kind: 'global' }, { compatibility: 'FULL', config: null, clears: true }, never)
    assert.equal(calls.at(-1)?.body, '{"compatibility":"FULL"}')
  })

  test('that an old registry cannot take away becomes the level in force', async t => {
    const { writer, calls } = await scripted(t, ({ method }) =>
      method === 'DELETE' ? { kind: 'answer', status: 405, json: {} } : ok({ compatibilityLevel: 'FULL' }),
    )
    await writer.deleteConfig(scope, never)
    assert.deepEqual(
      calls.map(({ method, target, body }) => `${method} ${target} ${body}`),
      ['DELETE /config/a ', 'GET /config ', 'PUT /config/a {"compatibility":"FULL"}'],
    )
  })
})

function ok(json: unknown): Treatment {
  return { kind: 'answer', status: 200, json }
}

async function scripted(t: TestContext, answer: (call: ProxiedCall) => Treatment, hasContexts = true) {
  const calls: ProxiedCall[] = []
  const server = await startRegistryProxy('http://127.0.0.1:1', call => {
    calls.push(call)
    return answer(call)
  })
  const client = await openRegistryClient({ urls: [server.url], attempts: 1 })
  t.after(async () => {
    client.close()
    await server.close()
  })
  const identity = { flavour: 'confluent', version: '8.0.0', contexts: ['.'] } as const
  return { calls, writer: new RegistryWriter(client, identity, { keepsConfigs: true, hasContexts }) }
}
