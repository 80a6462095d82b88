import assert from 'node:assert/strict'
import { test } from 'node:test'
import { avroRecord, type Json } from './registry-client.ts'
import type { ClientOf, RegistryFeatures } from './registry-suite.ts'

export function describeConfigs(registry: ClientOf, { hasUnsetConfigs, hasSoftDelete }: RegistryFeatures): void {
  test('a level is written as compatibility and read as compatibilityLevel', async () => {
    await registry().register('set-level', avroRecord('SetLevel'))
    await registry().ok('PUT', '/config/set-level', { compatibility: 'FULL' })
    assert.equal((await registry().get<{ compatibilityLevel: string }>('/config/set-level')).compatibilityLevel, 'FULL')
  })

  test('the registry has a level', async () => {
    assert.equal(typeof (await registry().get<{ compatibilityLevel: string }>('/config')).compatibilityLevel, 'string')
  })

  if (!hasUnsetConfigs) return

  test('a level that is none is refused', async () => {
    await registry().refused(42203, 'PUT', '/config/set-wrong', { compatibility: 'SOMEWHAT' })
    await registry().refused(40408, 'GET', '/config/set-wrong')
  })

  test('what is not set is told as not set, and is so again after a delete (case 18)', async () => {
    await registry().register('set-unset', avroRecord('SetUnset'))
    await registry().refused(40408, 'GET', '/config/set-unset')
    await registry().refused(40409, 'GET', '/mode/set-unset')
    const { compatibilityLevel } = await registry().get<{ compatibilityLevel: string }>('/config')
    const inherited = await registry().get<{ compatibilityLevel: string }>('/config/set-unset?defaultToGlobal=true')
    assert.equal(inherited.compatibilityLevel, compatibilityLevel)
    assert.deepEqual(await registry().get('/mode/set-unset?defaultToGlobal=true'), await registry().get('/mode'))
    await registry().ok('PUT', '/config/set-unset', { compatibility: 'NONE' })
    assert.deepEqual(await registry().ok('DELETE', '/config/set-unset'), { compatibilityLevel: 'NONE' })
    await registry().refused(40408, 'GET', '/config/set-unset')
    await registry().refused(40401, 'DELETE', '/config/set-unset')
  })

  test('a config is merged with what is there, and null takes a field away (case 19)', async () => {
    await registry().ok('PUT', '/config/set-merge', { compatibility: 'FULL', normalize: true })
    await registry().ok('PUT', '/config/set-merge', { compatibility: 'NONE' })
    assert.deepEqual(await registry().get('/config/set-merge'), { compatibilityLevel: 'NONE', normalize: true })
    await registry().ok('PUT', '/config/set-merge', { normalize: null })
    assert.deepEqual(await registry().get('/config/set-merge'), { compatibilityLevel: 'NONE' })
    await registry().ok('DELETE', '/config/set-merge')
    await registry().ok('PUT', '/config/set-merge', { validateFields: true })
    assert.equal((await registry().get<{ normalize?: Json }>('/config/set-merge')).normalize, undefined)
  })

  if (!hasSoftDelete) return

  test('a subject loses its config and its mode with its last live version, and may have others afterwards', async () => {
    const path = '/subjects/set-deleted/versions'
    for (const doc of ['1', '2']) {
      await registry().register('set-deleted', avroRecord('SetDeleted').replace('"type"', `"doc":"${doc}","type"`))
    }
    await registry().ok('PUT', '/config/set-deleted', { compatibility: 'NONE' })
    await registry().ok('PUT', '/mode/set-deleted', { mode: 'READWRITE' })
    await registry().ok('DELETE', `${path}/1`)
    await registry().get('/config/set-deleted')
    await registry().get('/mode/set-deleted')
    await registry().ok('DELETE', `${path}/2`)
    await registry().refused(40408, 'GET', '/config/set-deleted')
    await registry().refused(40409, 'GET', '/mode/set-deleted')
    await registry().ok('PUT', '/config/set-deleted', { compatibility: 'FULL' })
    await registry().ok('DELETE', '/subjects/set-deleted?permanent=true')
    await registry().refused(40408, 'GET', '/config/set-deleted')
  })
}

/** Of Avro; other types are not asked about. */
export function describeLevels(registry: ClientOf): void {
  const withField = (name: string, more: string) =>
    `{"type":"record","name":"${name}","fields":[{"name":"a","type":"int"}${more}]}`
  const optional = ',{"name":"b","type":"int","default":0}'
  const mandatory = ',{"name":"c","type":"int"}'

  const table: [level: string, more: string, isCompatible: boolean][] = [
    ['BACKWARD', optional, true],
    ['BACKWARD', mandatory, false],
    ['FORWARD', mandatory, true],
    ['FULL', optional, true],
    ['FULL', mandatory, false],
    ['NONE', mandatory, true],
  ]
  table.forEach(([level, more, isCompatible], at) => {
    test(`${level} ${isCompatible ? 'takes' : 'refuses'} a new field ${more === optional ? 'with' : 'without'} a default`, async () => {
      const [name, subject] = [`Level${at}`, `level-${at}`]
      await registry().register(subject, withField(name, ''))
      await registry().ok('PUT', `/config/${subject}`, { compatibility: level })
      const body = { schema: withField(name, more) }
      const path = `/compatibility/subjects/${subject}/versions/latest`
      assert.equal((await registry().ok<{ is_compatible: boolean }>('POST', path, body)).is_compatible, isCompatible)
      const { status, text } = await registry().send('POST', `/subjects/${subject}/versions`, body)
      assert.equal(status, isCompatible ? 200 : 409, text)
      if (!isCompatible) assert.ok([409, 40901].includes((JSON.parse(text) as { error_code: number }).error_code))
    })
  })

  test('a transitive level asks every version', async () => {
    const body = { schema: withField('LevelAll', mandatory.replace('}', ',"default":0}').replace('"a"', '"a"')) }
    await registry().register(
      'level-all',
      '{"type":"record","name":"LevelAll","fields":[{"name":"c","type":"string"}]}',
    )
    await registry().ok('PUT', '/config/level-all', { compatibility: 'NONE' })
    await registry().register('level-all', withField('LevelAll', ''))
    await registry().ok('PUT', '/config/level-all', { compatibility: 'BACKWARD_TRANSITIVE' })
    const refused = await registry().send('POST', '/subjects/level-all/versions', body)
    assert.equal(refused.status, 409, refused.text)
    await registry().ok('PUT', '/config/level-all', { compatibility: 'BACKWARD' })
    await registry().register('level-all', body)
  })
}

export function describeAliases(registry: ClientOf): void {
  test('a subject with an alias hands reads, writes and deletes to its target (case 34)', async () => {
    const first = await registry().register('alias-target', avroRecord('AliasTarget'))
    await registry().ok('PUT', '/config/alias-name', { alias: 'alias-target' })
    assert.deepEqual(await registry().get('/config/alias-name'), {
      alias: 'alias-target',
      compatibilityLevel: 'BACKWARD',
    })
    assert.equal((await registry().get<{ id: number }>('/subjects/alias-name/versions/1')).id, first)
    const second = '{"type":"record","name":"AliasTarget","doc":"second","fields":[]}'
    await registry().register('alias-name', second)
    assert.deepEqual(await registry().get('/subjects/alias-target/versions'), [1, 2])
    const listed = await registry().get<{ aliases?: string[] }[]>('/schemas?subjectPrefix=alias-target&aliases=true')
    assert.deepEqual(
      listed.map(({ aliases }) => aliases),
      [['alias-name'], ['alias-name']],
    )
    assert.ok(!(await registry().get<string[]>('/subjects')).includes('alias-name'))
    await registry().ok('DELETE', '/subjects/alias-name/versions/2')
    assert.deepEqual(await registry().get('/subjects/alias-target/versions'), [1])
    await registry().ok('DELETE', '/config/alias-name')
    await registry().refused(40401, 'GET', '/subjects/alias-name/versions')
  })
}
