import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { KafkaBackupError } from '../../src/errors.ts'
import { mapErrno } from '../../src/storage/file/errno.ts'
import { systemError } from './recorded-files.ts'

test('the table of system errors in docs/storage.md is the one of the code', async () => {
  const docs = await readFile(new URL('../../docs/storage.md', import.meta.url), 'utf8')
  const source = await readFile(new URL('../../src/storage/file/errno.ts', import.meta.url), 'utf8')
  const documented = new Map<string, string>()
  for (const [, code, names, retried] of docs.matchAll(/^\| `([A-Z_]+)` \| ([^|]+) \| (yes|no) \|$/gm)) {
    for (const [name] of (names ?? '').matchAll(/\bE[A-Z]+\b/g)) documented.set(name, `${code} ${retried}`)
  }
  const coded = new Map<string, string>()
  for (const [, name = ''] of source.matchAll(/^ {2}(E[A-Z]+): \{/gm)) {
    const error = mapErrno(systemError(name), { action: 'read', key: 'a', location: '/x' })
    assert.ok(error instanceof KafkaBackupError)
    coded.set(name, `${error.code} ${error.retryable ? 'yes' : 'no'}`)
  }
  assert.ok(coded.size > 20)
  assert.deepEqual(new Map([...documented].sort()), new Map([...coded].sort()))
})
