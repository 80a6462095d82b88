import assert from 'node:assert/strict'
import { test } from 'node:test'
import { avroRecord, type Json, type RegistryClient } from './registry-client.ts'
import type { ClientOf } from './registry-suite.ts'

export function describeReadOnly(registry: ClientOf): void {
  test('a read-only subject takes no version, delete or config, and answers what it holds (case 20)', async () => {
    const schema = avroRecord('ModeRead')
    const id = await registry().register('mode-read', schema)
    assert.deepEqual(await registry().ok('PUT', '/mode/mode-read', { mode: 'READONLY' }), { mode: 'READONLY' })
    await registry().refused(42205, 'POST', '/subjects/mode-read/versions', { schema: avroRecord('ModeOther') })
    await registry().refused(42205, 'DELETE', '/subjects/mode-read')
    await registry().refused(42205, 'DELETE', '/subjects/mode-read/versions/1')
    await registry().refused(42205, 'PUT', '/config/mode-read', { compatibility: 'NONE' })
    assert.equal(await registry().register('mode-read', schema), id)
    assert.deepEqual(await registry().ok('DELETE', '/mode/mode-read'), { mode: 'READONLY' })
    await registry().refused(40409, 'GET', '/mode/mode-read')
    await registry().ok('PUT', '/config/mode-read', { compatibility: 'NONE' })
  })

  test('a read-only registry spares subjects with a mode of their own, unless it overrides them (case 21)', async () => {
    await registry().ok('PUT', '/mode/mode-own', { mode: 'READWRITE' })
    await withMode(registry(), 'READONLY', async () => {
      await registry().refused(42205, 'POST', '/subjects/mode-any/versions', { schema: avroRecord('ModeAny') })
      await registry().register('mode-own', avroRecord('ModeOwn'))
    })
    await withMode(registry(), 'READONLY_OVERRIDE', () =>
      registry().refused(42205, 'POST', '/subjects/mode-own/versions', { schema: avroRecord('ModeOwn2') }),
    )
    await registry().register('mode-any', avroRecord('ModeAny'))
  })

  test('a mode that is none is refused, and FORWARD is one of these', async () => {
    await registry().refused(42204, 'PUT', '/mode/mode-none', { mode: 'WRITEONLY' })
    for (const path of ['/mode/mode-none', '/mode']) await registry().refused(42204, 'PUT', path, { mode: 'FORWARD' })
    await registry().refused(40401, 'DELETE', '/mode/mode-none')
  })
}

/** Ids from here up are taken by nobody else. */
const FREE = 700_000

export function describeImport(registry: ClientOf): void {
  const toImport = (subject: string, force = '') => registry().ok('PUT', `/mode/${subject}${force}`, { mode: 'IMPORT' })
  const post = (subject: string, body: { [key: string]: Json }) => registry().register(subject, body)
  const refused = (code: number, subject: string, body: { [key: string]: Json }) =>
    registry().refused(code, 'POST', `/subjects/${subject}/versions`, body)
  const versions = (subject: string) => registry().get<number[]>(`/subjects/${subject}/versions?deleted=true`)

  test('an id wants IMPORT, and IMPORT wants an id', async () => {
    const schema = avroRecord('ImpId')
    await refused(42205, 'imp-id', { schema, id: FREE })
    await toImport('imp-id')
    await refused(42205, 'imp-id', { schema })
    assert.equal(await post('imp-id', { schema, id: FREE, version: 5 }), FREE)
    assert.deepEqual(await versions('imp-id'), [5])
    assert.equal(await post('imp-id', { schema: avroRecord('ImpId2'), id: FREE + 1 }), FREE + 1)
    assert.deepEqual(await versions('imp-id'), [5, 6])
  })

  test('sparse versions and a missing first one are imported by their numbers (cases 3 and 4)', async () => {
    await toImport('imp-sparse')
    for (const version of [7, 3, 1]) {
      await post('imp-sparse', { schema: avroRecord(`ImpSparse${version}`), id: FREE + 10 + version, version })
    }
    assert.deepEqual(await versions('imp-sparse'), [1, 3, 7])
  })

  test('a subject with live versions goes to IMPORT by force only, and other subjects stay as they are (case 23)', async () => {
    await registry().register('imp-live', avroRecord('ImpLive'))
    await registry().refused(42205, 'PUT', '/mode/imp-live', { mode: 'IMPORT' })
    await toImport('imp-live', '?force=true')
    await post('imp-live', { schema: avroRecord('ImpLive2'), id: FREE + 20, version: 2 })
    assert.deepEqual(await versions('imp-live'), [1, 2])
    await registry().register('imp-neighbour', avroRecord('ImpNeighbour'))
  })

  test('IMPORT without force clears soft-deleted versions for good, unless somebody refers to them', async () => {
    await registry().register('imp-clear', avroRecord('ImpClear'))
    await registry().ok('DELETE', '/subjects/imp-clear')
    await toImport('imp-clear', '?force=true')
    assert.deepEqual(await versions('imp-clear'), [1])
    await registry().ok('DELETE', '/mode/imp-clear')
    await toImport('imp-clear')
    await registry().refused(40401, 'GET', '/subjects/imp-clear/versions?deleted=true')

    await registry().register('imp-held', avroRecord('ImpHeld'))
    const references = [{ name: 'ImpHeld', subject: 'imp-held', version: 1 }]
    await registry().register('imp-holder', { schema: avroRecord('ImpHolder', { a: 'ImpHeld' }), references })
    await registry().ok('DELETE', '/subjects/imp-holder')
    await registry().ok('DELETE', '/subjects/imp-held')
    await registry().refused(42206, 'PUT', '/mode/imp-held', { mode: 'IMPORT' })
  })

  test('an id of other content is refused, and what it holds stays (cases 24 and 25)', async () => {
    const taken = await registry().register('imp-taken', avroRecord('ImpTaken'))
    await toImport('imp-taker')
    const message = await refused(42205, 'imp-taker', { schema: avroRecord('ImpTaker'), id: taken, version: 1 })
    assert.match(message, new RegExp(`id ${taken}`))
    assert.match((await registry().get<{ schema: string }>(`/schemas/ids/${taken}`)).schema, /ImpTaken/)
    assert.equal(await post('imp-taker', { schema: avroRecord('ImpTaken'), id: taken, version: 1 }), taken)
  })

  test('the same content may have two ids (case 7)', async () => {
    await toImport('imp-twice')
    const schema = avroRecord('ImpTwice')
    await post('imp-twice', { schema, id: FREE + 30, version: 1 })
    await post('imp-twice', { schema, id: FREE + 31, version: 2 })
    for (const [version, id] of [
      [1, FREE + 30],
      [2, FREE + 31],
    ]) {
      assert.equal((await registry().get<{ id: number }>(`/subjects/imp-twice/versions/${version}`)).id, id)
      assert.equal((await registry().get<{ schema: string }>(`/schemas/ids/${id}`)).schema, schema)
    }
  })

  test('the same request again changes nothing, and un-deletes what is soft-deleted (case 26)', async () => {
    await toImport('imp-again')
    const body = { schema: avroRecord('ImpAgain'), id: FREE + 40, version: 3 }
    await post('imp-again', body)
    await post('imp-again', body)
    assert.deepEqual(await versions('imp-again'), [3])
    await registry().ok('DELETE', '/subjects/imp-again/versions/3')
    await registry().refused(40401, 'GET', '/subjects/imp-again/versions')
    await toImport('imp-again', '?force=true')
    await post('imp-again', body)
    assert.deepEqual(await registry().get('/subjects/imp-again/versions'), [3])
  })

  test('a higher version takes away a soft-deleted one of its id, a lower one does not (case 6)', async () => {
    await toImport('imp-tomb')
    const schema = avroRecord('ImpTomb')
    await post('imp-tomb', { schema, id: FREE + 50, version: 1 })
    await registry().ok('DELETE', '/subjects/imp-tomb/versions/1')
    await toImport('imp-tomb', '?force=true')
    await post('imp-tomb', { schema, id: FREE + 50, version: 3 })
    assert.deepEqual(await versions('imp-tomb'), [3])
    await post('imp-tomb', { schema, id: FREE + 50, version: 1 })
    await registry().ok('DELETE', '/subjects/imp-tomb/versions/1')
    assert.deepEqual(await registry().get('/subjects/imp-tomb/versions?deletedAsNegative=true'), [-1, 3])
  })

  test('a soft-deleted version that others refer to is not taken away by a higher one of its id', async () => {
    await toImport('imp-spared')
    const schema = avroRecord('ImpSpared')
    await post('imp-spared', { schema, id: FREE + 55, version: 1 })
    await registry().ok('DELETE', '/subjects/imp-spared/versions/1')
    await toImport('imp-spared', '?force=true')
    await toImport('imp-sparer')
    const references = [{ name: 'ImpSpared', subject: 'imp-spared', version: 1 }]
    await post('imp-sparer', {
      schema: avroRecord('ImpSparer', { a: 'ImpSpared' }),
      references,
      id: FREE + 56,
      version: 1,
    })
    await post('imp-spared', { schema, id: FREE + 55, version: 2 })
    assert.deepEqual(await versions('imp-spared'), [1, 2])
  })

  test('an import may refer to soft-deleted versions, and not to what is missing (case 11)', async () => {
    await registry().register('imp-base', avroRecord('ImpBase'))
    await registry().ok('DELETE', '/subjects/imp-base')
    await toImport('imp-ref')
    const schema = avroRecord('ImpRef', { a: 'ImpBase' })
    const to = (version: number) => [{ name: 'ImpBase', subject: 'imp-base', version }]
    await refused(42201, 'imp-ref', { schema, references: to(2), id: FREE + 60, version: 1 })
    await post('imp-ref', { schema, references: to(1), id: FREE + 60, version: 1 })
  })

  test('an import asks for no compatibility, and the level holds again after it (case 28)', async () => {
    await registry().ok('PUT', '/config/imp-level', { compatibility: 'BACKWARD' })
    await toImport('imp-level')
    await post('imp-level', { schema: avroRecord('ImpLevel', { a: 'int' }), id: FREE + 70, version: 1 })
    await post('imp-level', { schema: avroRecord('ImpLevel', { b: 'int' }), id: FREE + 71, version: 2 })
    await registry().ok('PUT', '/mode/imp-level', { mode: 'READWRITE' })
    const { status } = await registry().send('POST', '/subjects/imp-level/versions', {
      schema: avroRecord('ImpLevel', { c: 'int' }),
    })
    assert.equal(status, 409)
  })

  test('an id that follows an import is higher than all that were imported (case 27)', async () => {
    await toImport('imp-next')
    await post('imp-next', { schema: avroRecord('ImpNext'), id: FREE + 99, version: 1 })
    assert.ok((await registry().register('imp-next-other', avroRecord('ImpNextOther'))) > FREE + 99)
  })
}

async function withMode(registry: RegistryClient, mode: string, work: () => Promise<unknown>): Promise<void> {
  const before = await registry.get('/mode')
  await registry.ok('PUT', '/mode', { mode })
  try {
    await work()
  } finally {
    await registry.ok('PUT', '/mode', before)
  }
}
