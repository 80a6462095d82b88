import assert from 'node:assert/strict'
import { test } from 'node:test'
import { avroRecord, type Json } from './registry-client.ts'
import type { ClientOf, RegistryFeatures } from './registry-suite.ts'

interface Row {
  subject: string
  version: number
  id: number
  schema: string
}

export function describeContexts(registry: ClientOf, { hasUnsetConfigs }: RegistryFeatures): void {
  test('each context counts its own ids, and plain lists of schemas are of the default one (case 33)', async () => {
    const [here, there] = [avroRecord('CtxHere'), avroRecord('CtxThere')]
    const inContext = await registry().register(':.ids:ctx-s', there)
    const other = await registry().register(':.ids2:ctx-s', here)
    assert.equal(inContext, other)
    assert.match((await registry().get<Row>(`/schemas/ids/${other}?subject=:.ids2:`)).schema, /CtxHere/)
    assert.match((await registry().get<Row>(`/contexts/.ids/schemas/ids/${inContext}`)).schema, /CtxThere/)
    const contexts = await registry().get<string[]>('/contexts')
    assert.equal(contexts[0], '.')
    assert.ok(contexts.includes('.ids') && contexts.includes('.ids2'))
    assert.ok((await registry().get<string[]>('/subjects')).includes(':.ids:ctx-s'))
    const plain = await registry().get<Row[]>('/schemas?subjectPrefix=ctx-s')
    assert.deepEqual(plain, [])
    const below = await registry().get<Row[]>('/contexts/.ids/schemas')
    assert.deepEqual(
      below.map(({ subject }) => subject),
      [':.ids:ctx-s'],
    )
    const everywhere = await registry().get<Row[]>(`/schemas?subjectPrefix=${encodeURIComponent(':*:ctx-s')}`)
    assert.deepEqual(
      everywhere.map(({ subject }) => subject),
      [':.ids:ctx-s', ':.ids2:ctx-s'],
    )
  })

  test('the path of a context and the name of a subject lead to the same place', async () => {
    await registry().ok('POST', '/contexts/.path/subjects/ctx-path/versions', { schema: avroRecord('CtxPath') })
    assert.deepEqual(await registry().get(`/subjects/${encodeURIComponent(':.path:ctx-path')}/versions`), [1])
    assert.deepEqual(await registry().get('/contexts/.path/subjects'), [':.path:ctx-path'])
    await registry().register(':.:ctx-default', avroRecord('CtxDefault'))
    assert.deepEqual(await registry().get('/subjects/ctx-default/versions'), [1])
  })

  test('a plain subject that is not in the default context is found in another, and says so', async () => {
    await registry().register(':.fall:ctx-fall', avroRecord('CtxFall'))
    const found = await registry().get<Row>('/subjects/ctx-fall/versions/1')
    assert.equal(found.subject, ':.fall:ctx-fall')
    const body = { schema: avroRecord('CtxFall') }
    assert.equal((await registry().ok<Row>('POST', '/subjects/ctx-fall', body)).subject, ':.fall:ctx-fall')
    await registry().refused(40401, 'GET', '/subjects/ctx-fall/versions')
  })

  test('a plain reference is of the context of its referrer, a qualified one of its own (case 12)', async () => {
    await registry().register(':.refs:ctx-base', avroRecord('CtxBase'))
    const schema = avroRecord('CtxReferrer', { a: 'CtxBase' })
    const plain: Json = { schema, references: [{ name: 'CtxBase', subject: 'ctx-base', version: 1 }] }
    await registry().refused(42201, 'POST', '/subjects/ctx-referrer/versions', plain)
    await registry().register(':.refs:ctx-referrer', plain)
    const qualified = { schema, references: [{ name: 'CtxBase', subject: ':.refs:ctx-base', version: 1 }] }
    await registry().register('ctx-referrer', qualified)
    await registry().refused(42206, 'DELETE', `/subjects/${encodeURIComponent(':.refs:ctx-base')}`)
  })

  test('the highest id is told for each context, and is not forgotten with a hard delete (case 27)', async () => {
    const first = await registry().register(':.max:ctx-max', avroRecord('CtxMax1'))
    const path = `/subjects/${encodeURIComponent(':.max:ctx-gone')}`
    const gone = await registry().register(':.max:ctx-gone', avroRecord('CtxMax2'))
    await registry().ok('DELETE', path)
    await registry().ok('DELETE', `${path}?permanent=true`)
    const { maxId } = await registry().get<{ maxId: number }>(`/schemas/ids/${first}?fetchMaxId=true&subject=:.max:`)
    assert.equal(maxId, gone)
    assert.ok((await registry().register(':.max:ctx-max-next', avroRecord('CtxMax3'))) > gone)
  })

  if (!hasUnsetConfigs) return

  test('a context has a config of its own, which its subjects inherit', async () => {
    await registry().register(':.conf:ctx-conf', avroRecord('CtxConf'))
    await registry().refused(40408, 'GET', '/config/:.conf:')
    await registry().ok('PUT', '/config/:.conf:', { compatibility: 'NONE' })
    assert.deepEqual(await registry().get('/contexts/.conf/config'), { compatibilityLevel: 'NONE' })
    const inherited = await registry().get<{ compatibilityLevel: string }>(
      '/config/:.conf:ctx-conf?defaultToGlobal=true',
    )
    assert.equal(inherited.compatibilityLevel, 'NONE')
    await registry().refused(40408, 'GET', '/config/:.conf:ctx-conf')
  })
}
