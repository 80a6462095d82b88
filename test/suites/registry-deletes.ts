import assert from 'node:assert/strict'
import { test } from 'node:test'
import { avroRecord, type RegistryClient } from './registry-client.ts'
import type { ClientOf, RegistryFeatures } from './registry-suite.ts'

export function describeDeletes(registry: ClientOf, { hasSoftDelete }: RegistryFeatures): void {
  test('a deleted version is gone from the list, and latest is the highest that lives (case 9)', async () => {
    await registerThree(registry(), 'del-latest')
    assert.equal(await registry().ok('DELETE', '/subjects/del-latest/versions/3'), 3)
    assert.deepEqual(await registry().get('/subjects/del-latest/versions'), [1, 2])
    assert.equal((await registry().get<{ version: number }>('/subjects/del-latest/versions/latest')).version, 2)
    await registry().refused(40402, 'GET', '/subjects/del-latest/versions/3')
  })

  test('what is not there cannot be deleted', async () => {
    await registry().refused(40401, 'DELETE', '/subjects/del-nobody')
    await registerThree(registry(), 'del-none')
    await registry().refused(40402, 'DELETE', '/subjects/del-none/versions/9')
  })

  if (!hasSoftDelete) return

  test('a soft-deleted subject is listed only when asked for, and its ids still decode (case 8)', async () => {
    const [id] = await registerThree(registry(), 'del-soft')
    assert.deepEqual(await registry().ok('DELETE', '/subjects/del-soft'), [1, 2, 3])
    assert.ok(!(await registry().get<string[]>('/subjects')).includes('del-soft'))
    assert.ok((await registry().get<string[]>('/subjects?deleted=true')).includes('del-soft'))
    await registry().refused(40401, 'GET', '/subjects/del-soft/versions')
    assert.deepEqual(await registry().get('/subjects/del-soft/versions?deleted=true'), [1, 2, 3])
    assert.equal((await registry().get<{ id: number }>('/subjects/del-soft/versions/1?deleted=true')).id, id)
    await registry().get(`/schemas/ids/${id}`)
    assert.deepEqual(await registry().get(`/schemas/ids/${id}/versions`), [])
    assert.deepEqual(await registry().get(`/schemas/ids/${id}/versions?deleted=true`), [
      { subject: 'del-soft', version: 1 },
    ])
  })

  test('each order of deletes has its code', async () => {
    await registerThree(registry(), 'del-codes')
    await registry().refused(40405, 'DELETE', '/subjects/del-codes?permanent=true')
    await registry().refused(40407, 'DELETE', '/subjects/del-codes/versions/1?permanent=true')
    await registry().ok('DELETE', '/subjects/del-codes/versions/1')
    await registry().refused(40406, 'DELETE', '/subjects/del-codes/versions/1')
    await registry().ok('DELETE', '/subjects/del-codes')
    await registry().refused(40404, 'DELETE', '/subjects/del-codes')
    assert.deepEqual(await registry().ok('DELETE', '/subjects/del-codes?permanent=true'), [1, 2, 3])
    await registry().refused(40401, 'DELETE', '/subjects/del-codes?permanent=true')
  })

  test('numbers stay as they are after a hard delete, also where the first is missing (cases 3 and 4)', async () => {
    const [first] = await registerThree(registry(), 'del-sparse')
    for (const version of [1, 2]) {
      await registry().ok('DELETE', `/subjects/del-sparse/versions/${version}`)
      await registry().ok('DELETE', `/subjects/del-sparse/versions/${version}?permanent=true`)
    }
    assert.deepEqual(await registry().get('/subjects/del-sparse/versions?deleted=true'), [3])
    await registry().refused(40403, 'GET', `/schemas/ids/${first}`)
    await registry().register('del-sparse', version('del_sparse', 4))
    assert.deepEqual(await registry().get('/subjects/del-sparse/versions'), [3, 4])
  })

  test('a soft-deleted number is not given again, and its content comes back as a new version of its id (case 6)', async () => {
    const ids = await registerThree(registry(), 'del-again')
    await registry().ok('DELETE', '/subjects/del-again/versions/3')
    assert.equal(await registry().register('del-again', version('del_again', 3)), ids[2])
    assert.deepEqual(await registry().get('/subjects/del-again/versions?deleted=true'), [1, 2, 4])
  })

  test('a look-up finds soft-deleted versions only when asked to', async () => {
    await registerThree(registry(), 'del-look-up')
    await registry().ok('DELETE', '/subjects/del-look-up/versions/2')
    const body = { schema: version('del_look_up', 2) }
    await registry().refused(40403, 'POST', '/subjects/del-look-up', body)
    const found = await registry().ok<{ version: number }>('POST', '/subjects/del-look-up?deleted=true', body)
    assert.equal(found.version, 2)
  })
}

async function registerThree(registry: RegistryClient, subject: string): Promise<number[]> {
  const ids: number[] = []
  for (const number of [1, 2, 3])
    ids.push(await registry.register(subject, version(subject.replaceAll('-', '_'), number)))
  return ids
}

/** Differ in their documentation alone, so that any level takes them. */
function version(name: string, number: number): string {
  return avroRecord(name).replace('"type":"record"', `"type":"record","doc":"version ${number}"`)
}
