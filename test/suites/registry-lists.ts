import assert from 'node:assert/strict'
import { test } from 'node:test'
import { avroRecord } from './registry-client.ts'
import type { ClientOf } from './registry-suite.ts'

interface Row {
  subject: string
  version: number
  id: number
  deleted?: boolean
}

export function describeLists(registry: ClientOf): void {
  const list = (query: string) => registry().get<Row[]>(`/schemas?${query}`)
  const names = (rows: readonly Row[]) => rows.map(({ subject, version }) => `${subject} ${version}`)

  test('schemas are listed by subject and version, with or without the soft-deleted and the older ones', async () => {
    for (const subject of ['list-b', 'list-a']) {
      for (const doc of ['1', '2']) {
        await registry().register(subject, avroRecord('Listed').replace('"type"', `"doc":"${subject}${doc}","type"`))
      }
    }
    await registry().ok('DELETE', '/subjects/list-b/versions/2')
    const all = ['list-a 1', 'list-a 2', 'list-b 1', 'list-b 2']
    assert.deepEqual(names(await list('subjectPrefix=list-&deleted=true')), all)
    assert.deepEqual(names(await list('subjectPrefix=list-')), all.slice(0, 3))
    assert.deepEqual(names(await list('subjectPrefix=list-&latestOnly=true')), ['list-a 2', 'list-b 1'])
    assert.deepEqual(names(await list('subjectPrefix=list-&deleted=true&offset=1&limit=2')), all.slice(1, 3))
    assert.deepEqual(names(await list('subjectPrefix=list-&offset=9')), [])
    const deleted = (await list('subjectPrefix=list-b&deleted=true')).map(row => row.deleted)
    assert.deepEqual(deleted, [false, true])
    assert.deepEqual(await registry().get('/subjects?subjectPrefix=list-'), ['list-a', 'list-b'])
    assert.deepEqual(await registry().get('/subjects?subjectPrefix=list-&offset=1&limit=1'), ['list-b'])
    assert.deepEqual(await registry().get('/subjects?subjectPrefix=list-&deletedOnly=true'), [])
    assert.deepEqual(await registry().get('/subjects/list-b/versions?deletedAsNegative=true'), [1, -2])
    await registry().ok('DELETE', '/subjects/list-b')
    assert.deepEqual(await registry().get('/subjects?subjectPrefix=list-&deletedOnly=true'), ['list-b'])
  })

  test('an answer holds at most a thousand rows, and a larger limit is not taken (case 1)', async () => {
    const work = Array.from({ length: 1003 }, (_, at) => at)
    const worker = async () => {
      for (let at = work.pop(); at !== undefined; at = work.pop()) {
        await registry().register(`many-${String(at).padStart(4, '0')}`, avroRecord('Many'))
      }
    }
    await Promise.all(Array.from({ length: 8 }, worker))
    assert.equal((await list('subjectPrefix=many-')).length, 1000)
    assert.equal((await list('subjectPrefix=many-&limit=5000')).length, 1000)
    const rest = await list('subjectPrefix=many-&offset=1000&limit=1000')
    assert.deepEqual(names(rest), ['many-1000 1', 'many-1001 1', 'many-1002 1'])
    assert.equal((await registry().get<string[]>('/subjects?subjectPrefix=many-')).length, 1003)
  })
}
