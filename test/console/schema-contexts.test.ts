import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type ConsoleServer, openConsoleServer } from '../../src/console/open-console-server.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { openRegistryServer } from '../../src/registry/serve/open-registry-server.ts'
import { RegistryStore } from '../../src/registry/serve/registry-store.ts'
import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'
import { fakeTopic, startFakeCluster } from '../fakes/fake-cluster.ts'
import { snapshotOf, versionOf } from '../fakes/registry-snapshots.ts'
import { batchOf, frame, runBackup } from './sample-backups.ts'
import { get } from './use-console.ts'

const folder = await mkdtemp(join(tmpdir(), 'contexts-'))
let server: ConsoleServer | undefined

const avro = (field: string) => ({
  schema: JSON.stringify({ type: 'record', name: 'R', fields: [{ name: field, type: 'int' }] }),
})

/** The ID 7 is another schema in each context, and 8 is in one of them only. */
before(async () => {
  const versions = [
    versionOf('orders-value', 1, 7, avro('cents')),
    versionOf(':.eu:orders-value', 1, 7, avro('eurocents')),
    versionOf(':.eu:extras-value', 1, 8, avro('extras')),
  ]
  const store = new RegistryStore({}, snapshotOf(versions, { contexts: ['.', '.eu'] }))
  const registry = await openRegistryServer({ store, host: '127.0.0.1', port: 0 })
  const records = [7, 8].map(id => ({ value: frame(id, Buffer.from([10])) }))
  const cluster = await startFakeCluster([fakeTopic('orders', [[batchOf(0n, records)]])])
  const path = join(folder, 'store')
  await mkdir(path)
  try {
    await runBackup(join(folder, 'job.yaml'), {
      ...{ mode: 'backup', backup_id: 'shop', storage: { backend: 'filesystem', path } },
      source: { bootstrap_servers: cluster.brokers.map(one => one.address), topics: { include: ['orders'] } },
      enterprise: { schema_registry: { enabled: true, url: registry.url } },
    })
  } finally {
    await registry.close()
    await cluster.close()
  }
  const storage = openFilesystemStorage({ path })
  const locations = [{ name: storage.location, storage }]
  server = await openConsoleServer({ locations, host: '127.0.0.1', port: 0, allowedHosts: [], clock: systemClock })
})

after(async () => {
  await server?.close()
  await rm(folder, { recursive: true })
})

async function page(path: string): Promise<{ status: number; text: string }> {
  const { status, text } = await get(server?.url ?? '', `/at/0/shop/topics/orders/records${path}`)
  return { status, text: text.replaceAll('&quot;', '"').replaceAll('&amp;', '&') }
}

test('records are decoded with the schemas of the context that is chosen, and links keep it', async () => {
  const plain = await page('')
  assert.match(plain.text, /"cents":5/)
  assert.match(plain.text, /not decoded/)
  assert.match(
    plain.text,
    /<select id="context" name="context"><option value="">default<\/option><option value="\.eu">/,
  )
  const eu = await page('?context=.eu')
  assert.match(eu.text, /"eurocents":5/)
  assert.match(eu.text, /"extras":5/)
  assert.doesNotMatch(eu.text, /not decoded|"cents"/)
  assert.match(eu.text, /<option value="\.eu" selected>/)
  assert.match(eu.text, /records\/0\/1\?[^"]*context=\.eu"/)
  const [, id = ''] = /href="(\/at\/0\/shop\/topics\/[^"]+\/records)\/0\/1\?/.exec(eu.text) ?? []
  const one = await get(server?.url ?? '', `${id}/0/1?context=.eu`)
  assert.match(one.text, /extras-value version 1/)
  assert.match(one.text, /<strong>\.eu<\/strong>/)
  const other = await get(server?.url ?? '', `${id}/0/1`)
  assert.match(other.text, /Not decoded: the backup has no schema ID 8/)
  assert.match(other.text, /<a href="[^"]+\/records\/0\/1\?context=\.eu">\.eu<\/a>/)
})

test('a search finds what the schemas of the chosen context make of a value', async () => {
  assert.match((await page('?where=extras%3D5')).text, /Found 0 records[\s\S]*compared as they are stored/)
  const found = (await page('?where=extras%3D5&context=.eu')).text
  assert.match(found, /Found 1 record,/)
  assert.doesNotMatch(found, /compared as they are stored/)
})

test('a context that the backup does not have is refused by name', async () => {
  for (const path of ['?context=.us', '/0/0?context=.us']) {
    const { status, text } = await page(path)
    assert.ok(status === 400 || status === 404, String(status))
    assert.match(text, /no schemas in the context \.us; it has some in: \., \.eu/)
  }
})
