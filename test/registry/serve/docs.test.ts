import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { routes } from '../../../src/registry/serve/router.ts'
import { tableRows } from '../../markdown.ts'

test('docs/registry-server.md lists every path that the registry answers', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/registry-server.md'), 'utf8')
  const documented = tableRows(page, 'registry-routes').map(([method, path]) => `${method} ${path}`)
  assert.deepEqual(
    documented,
    routes.map(({ method, path }) => `${method} ${path}`),
  )
})
