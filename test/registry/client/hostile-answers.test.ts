import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isTooDeep, MAX_JSON_DEPTH } from '../../../src/lib/json.ts'
import { encodeSegment } from '../../../src/registry/client/address.ts'
import { listArtifacts } from '../../../src/registry/client/apicurio.ts'
import type { RegistryClient } from '../../../src/registry/client/client.ts'
import { listSubjects } from '../../../src/registry/client/list-subjects.ts'
import { parseVersion } from '../../../src/registry/client/parse-answers.ts'
import { parseBody } from '../../../src/registry/client/registry-error.ts'
import { SubjectWalk } from '../../../src/registry/client/walk-subjects.ts'

const never = new AbortController().signal
const protocol = { code: 'REGISTRY_PROTOCOL' }
/** `String()` and `Number()` fail for it. */
const unprintable = { toString: 1, valueOf: 1 }

function clientWith(answer: (path: string) => unknown): RegistryClient {
  const call = async ({ path }: { path: string }) => answer(path)
  return { name: 'r', concurrency: 1, call, find: call, probe: call } as unknown as RegistryClient
}

const other = { flavour: 'other', version: null, contexts: ['.'] } as const

test('a subject that is no text is refused', async () => {
  const client = clientWith(() => [unprintable])
  await assert.rejects(listSubjects(client, other, never), protocol)
})

test('a number of a version that is no number is refused', async () => {
  const client = clientWith(path => (path === '/subjects' ? ['a'] : [unprintable]))
  await assert.rejects(new SubjectWalk(client, other, () => true).pass(never), protocol)
})

test('a type of a schema that is no text is refused', () => {
  const row = { subject: 's', version: 1, id: 1, schema: '"int"', schemaType: unprintable }
  assert.throws(() => parseVersion(row, '.'), { code: 'REGISTRY_REFUSED' })
})

test('a latest version beyond all numbers is refused before a list of numbers is made', async () => {
  const numbers = Array.from({ length: 500 }, (_, at) => at + 1)
  const client = clientWith(path => {
    if (path === '/groups/default/artifacts') return undefined
    if (path === '/subjects') return ['a']
    return path.endsWith('/latest') ? { version: 4_000_000_000 } : numbers
  })
  const walk = new SubjectWalk(client, { ...other, flavour: 'apicurio' }, () => true)
  await assert.rejects(walk.pass(never), protocol)
})

test('a server that gives the same page for ever is asked twice', async () => {
  let asked = 0
  const page = { artifacts: [{ artifactId: 'a', artifactType: 'AVRO' }] }
  const client = clientWith(() => {
    asked++
    return page
  })
  assert.deepEqual(await listArtifacts(client, never), ['a'])
  assert.equal(asked, 2)
})

test('a name that is not valid Unicode is refused, since no address can hold it', () => {
  assert.throws(() => encodeSegment('\ud800'), protocol)
})

test('an answer of great depth is refused', () => {
  const body = '['.repeat(100_000) + ']'.repeat(100_000)
  assert.throws(() => parseBody(body, 'GET /', 200), protocol)
})

test('what a registry may nest can be read again from a backup, where it lies some levels deeper', () => {
  const nest = (levels: number): object => (levels === 0 ? {} : { a: nest(levels - 1) })
  for (let levels = 1; levels < MAX_JSON_DEPTH; levels++) {
    const metadata = nest(levels)
    try {
      parseBody(JSON.stringify({ metadata }), 'the registry', 200)
    } catch {
      assert.ok(levels > 50)
      return
    }
    assert.ok(!isTooDeep({ versions: [{ metadata }] }), `${levels} levels`)
  }
  assert.fail('nothing was refused')
})
