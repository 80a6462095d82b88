import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withMovedKeys } from '../../src/storage/moved-keys.ts'
import { openMemoryStorage } from '../fakes/memory-storage.ts'

const never = new AbortController().signal

async function all<T>(items: AsyncIterable<T>, nameOf: (item: T) => string): Promise<string[]> {
  const names: string[] = []
  for await (const item of items) names.push(nameOf(item))
  return names.sort()
}

test('keys that begin with one prefix are stored with another, and read, listed and removed by their own names', async () => {
  const storage = openMemoryStorage()
  const moved = withMovedKeys(storage, { from: 'b1/', to: 'b1/reports/evidence/' })
  await moved.create('b1/drills/x/evidence.json', Buffer.from('one'), never)
  await moved.replace('b1/leases/a.json', Buffer.from('two'), never)
  const writer = await moved.openWriter('b1/drills/y/report.txt', never)
  await writer.write([Buffer.from('three')], never)
  await writer.commit(never)
  await storage.create('b1/manifest.json', Buffer.from('of the backup'), never)
  assert.deepEqual(await all(moved.list('b1/', never), ({ key }) => key), [
    'b1/drills/x/evidence.json',
    'b1/drills/y/report.txt',
    'b1/leases/a.json',
  ])
  assert.deepEqual(await all(moved.listFolders('b1/drills/', never), name => name), ['x', 'y'])
  assert.equal(String(await moved.read('b1/drills/x/evidence.json', never)), 'one')
  assert.equal(String(await moved.readRange('b1/drills/y/report.txt', 1, 3, never)), 'hre')
  assert.equal((await moved.stat('b1/leases/a.json', never))?.key, 'b1/leases/a.json')
  assert.equal(String(await storage.read('b1/reports/evidence/leases/a.json', never)), 'two')
  await moved.remove('b1/leases/a.json', never)
  assert.equal(await moved.stat('b1/leases/a.json', never), undefined)
  await assert.rejects(moved.read('other/x', never), /does not begin with b1\//)
})
