import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { startRegistryProxy } from '../../fakes/registry-proxy.ts'
import { snapshotOf, versionOf } from '../../fakes/registry-snapshots.ts'
import { startVendor } from '../../fakes/vendors/start-vendor.ts'
import type { VendorName } from '../../fakes/vendors/vendor-script.ts'
import { brief, readServer } from '../restore/schema-stage.ts'

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
      const told = path === '/contexts' ? [/^contexts cannot be listed, so their levels and modes are left out: /] : []
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
