import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request as plainRequest } from 'node:http'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { hasCode } from '../../../src/errors.ts'
import {
  openRegistryServer,
  type RegistryServer,
  type RegistryServerOptions,
} from '../../../src/registry/serve/open-registry-server.ts'
import { RegistryStore } from '../../../src/registry/serve/registry-store.ts'
import { makeIdentity } from '../../servers/certificates.ts'
import { avroRecord, RegistryClient } from '../../suites/registry-client.ts'

const opened: RegistryServer[] = []
after(async () => {
  for (const server of opened) await server.close()
})

async function open(options: Partial<RegistryServerOptions> = {}): Promise<RegistryServer> {
  const server = await openRegistryServer({ store: new RegistryStore(), host: '127.0.0.1', port: 0, ...options })
  opened.push(server)
  return server
}

test('an empty registry answers every question (case 42)', async () => {
  const registry = new RegistryClient((await open()).url)
  assert.deepEqual(await registry.get('/'), {})
  assert.deepEqual(await registry.get('/subjects?deleted=true'), [])
  assert.deepEqual(await registry.get('/schemas?deleted=true'), [])
  assert.deepEqual(await registry.get('/contexts'), ['.'])
  assert.deepEqual(await registry.get('/schemas/types'), ['JSON', 'PROTOBUF', 'AVRO'])
  assert.deepEqual(await registry.get('/config'), { compatibilityLevel: 'BACKWARD' })
  assert.deepEqual(await registry.get('/mode'), { mode: 'READWRITE' })
  assert.deepEqual(await registry.get('/v1/metadata/version'), { version: '8.0.0', commitId: 'kafka-backup' })
  assert.equal((await registry.get<{ id: string }>('/v1/metadata/id')).id, '')
})

test('a registry of soft-deleted subjects alone is told as such (case 42)', async () => {
  const registry = new RegistryClient((await open()).url)
  await registry.register('a', avroRecord('A'))
  await registry.ok('DELETE', '/subjects/a')
  assert.deepEqual(await registry.get('/subjects'), [])
  assert.deepEqual(await registry.get('/subjects?deleted=true'), ['a'])
  assert.equal((await registry.get<unknown[]>('/schemas?deleted=true')).length, 1)
})

test('a config that is written is answered in the words of the request', async () => {
  const registry = new RegistryClient((await open()).url)
  const body = { compatibility: 'FULL', normalize: true }
  assert.deepEqual(await registry.ok('PUT', '/config/a', body), body)
})

test('the text of a schema is answered as it is', async () => {
  const registry = new RegistryClient((await open()).url)
  const schema = '{ "type":"string" }'
  const id = await registry.register('a', schema)
  assert.equal((await registry.send('GET', `/schemas/ids/${id}/schema`)).text, schema)
  assert.equal((await registry.send('GET', '/subjects/a/versions/latest/schema')).text, schema)
  assert.deepEqual(await registry.get(`/schemas/ids/${id}/subjects`), ['a'])
})

test('a Protobuf schema is refused in the serialized format, and never answered as text in its place', async () => {
  const registry = new RegistryClient((await open()).url)
  const schema = 'syntax = "proto3"; message Order { string id = 1; }'
  const id = await registry.register('proto', { schemaType: 'PROTOBUF', schema })
  await registry.register('avro', avroRecord('A'))
  const { guid } = await registry.get<{ guid: string }>(`/schemas/ids/${id}`)
  const paths = [
    `/schemas/ids/${id}`,
    `/schemas/ids/${id}/schema`,
    `/schemas/guids/${guid}`,
    '/subjects/proto/versions/1',
  ]
  for (const path of [...paths, '/subjects/proto/versions/latest/schema'])
    assert.match(await registry.refused(422, 'GET', `${path}?format=serialized`), /Protobuf schemas as text only/)
  assert.equal(
    (await registry.get<{ schema: string }>('/subjects/avro/versions/1?format=serialized')).schema,
    avroRecord('A'),
  )
})

test('a schema is found by its guid in every context', async () => {
  const registry = new RegistryClient((await open()).url)
  await registry.register(':.c:b', avroRecord('B'))
  for (const subject of ['a', ':.c:a']) await registry.register(subject, avroRecord('A'))
  const { guid } = await registry.get<{ guid: string }>('/schemas/ids/1')
  assert.equal((await registry.get<{ schema: string }>(`/schemas/guids/${guid}`)).schema, avroRecord('A'))
  assert.deepEqual(await registry.get(`/schemas/guids/${guid}/ids`), [
    { context: '.', id: 1 },
    { context: '.c', id: 2 },
  ])
  await registry.refused(40403, 'GET', '/schemas/guids/00000000-0000-0000-0000-000000000000')
})

test('the empty subject has a path (case 15)', async () => {
  const registry = new RegistryClient((await open()).url)
  await registry.ok('POST', '/subjects//versions', { schema: '"string"' })
  assert.deepEqual(await registry.get('/subjects/:.:/versions'), [1])
  assert.deepEqual(await registry.get('/subjects'), [''])
})

test('a path that is none, a method that is none, a body that is none: each has its status (case 36)', async () => {
  const registry = new RegistryClient((await open()).url)
  await registry.refused(404, 'GET', '/apis/ccompat/v7/subjects')
  await registry.refused(404, 'GET', '/schemas/ids/one')
  await registry.refused(405, 'PUT', '/subjects/a')
  await registry.refused(400, 'GET', '/subjects/%ff/versions')
  await registry.refused(400, 'PUT', '/config', 'BACKWARD')
  await registry.refused(400, 'POST', '/subjects/a/versions')
  for (const version of ['0', '-2', 'first', '2147483648'])
    await registry.refused(42202, 'GET', `/subjects/a/versions/${version}`)
  await registry.refused(42201, 'POST', '/subjects/a/versions', {})
  await registry.refused(42201, 'POST', '/subjects/a/versions', { schema: '"int"', schemaType: 'THRIFT' })
  await registry.refused(42201, 'POST', '/subjects/a/versions', { schema: '"int"', references: [{ name: 'x' }] })
  assert.deepEqual(await registry.get('/subjects/'), [])
})

test('a body without end is cut off', async () => {
  const { url } = await open()
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const sent = plainRequest(`${url}/subjects/a/versions`, { method: 'POST' }, response => {
      resolve(response.statusCode)
      sent.destroy()
    })
    sent.on('error', reject)
    sent.write(Buffer.alloc(33 * 1024 * 1024, 32))
  })
  assert.equal(status, 413)
})

test('a registry with a password answers nobody without it (case 36)', async () => {
  const { url } = await open({ basicAuth: { username: 'me', password: 'pass:word' } })
  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })
  await new RegistryClient(url).refused(401, 'GET', '/subjects')
  await new RegistryClient(url, basic('me:wrong')).refused(401, 'GET', '/subjects')
  await new RegistryClient(url, { authorization: 'Bearer x' }).refused(401, 'GET', '/subjects')
  assert.deepEqual(await new RegistryClient(url, basic('me:pass:word')).get('/subjects'), [])
})

test('a registry with TLS is reached with its authority, and asks for a certificate where it has one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'registry-tls-'))
  try {
    const authority = await makeIdentity(folder, 'authority')
    const server = await makeIdentity(folder, 'server', { signedBy: authority, names: 'IP:127.0.0.1' })
    const client = await makeIdentity(folder, 'client', { signedBy: authority, names: 'DNS:client' })
    const pem = async (path: string) => readFile(path, 'utf8')
    const [key, cert, ca] = await Promise.all([server.key, server.cert, authority.cert].map(pem))
    assert.ok(key && cert && ca)
    const plain = await open({ tls: { key, cert } })
    assert.match(plain.url, /^https:/)
    assert.equal(await statusOf(plain.url, { ca }), 200)
    await assert.rejects(statusOf(plain.url, {}))
    const mutual = await open({ tls: { key, cert, ca } })
    await assert.rejects(statusOf(mutual.url, { ca }))
    assert.equal(await statusOf(mutual.url, { ca, key: await pem(client.key), cert: await pem(client.cert) }), 200)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('whoever asks is told of every request', async () => {
  const seen: string[] = []
  const { url } = await open({ onRequest: ({ method, target }) => seen.push(`${method} ${target}`) })
  const registry = new RegistryClient(url)
  await registry.get('/subjects?deleted=true')
  await registry.ok('PUT', '/mode', { mode: 'READONLY' })
  assert.deepEqual(seen, ['GET /subjects?deleted=true', 'PUT /mode'])
})

test('an address that is taken is told as such', async () => {
  const { url } = await open()
  const port = Number(new URL(url).port)
  await assert.rejects(open({ port }), error => hasCode(error, 'USAGE') && error.message.includes(String(port)))
})

function statusOf(url: string, tls: { ca?: string; key?: string; cert?: string }): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/subjects`, { ...tls, agent: false }, response => {
      response.resume()
      resolve(response.statusCode)
    })
    sent.on('error', reject)
    sent.end()
  })
}
