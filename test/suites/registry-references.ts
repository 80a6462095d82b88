import assert from 'node:assert/strict'
import { test } from 'node:test'
import { avroRecord, type Json } from './registry-client.ts'
import type { ClientOf, RegistryFeatures } from './registry-suite.ts'

const reference = (name: string, subject: string, version = 1) => ({ name, subject, version })

export function describeReferences(registry: ClientOf, { hasReferenceChecks }: RegistryFeatures): void {
  test('a chain of five and a diamond of references are registered and told (case 12)', async () => {
    await registry().register('ref-0', avroRecord('Ref0'))
    for (let at = 1; at <= 5; at++) {
      const schema = avroRecord(`Ref${at}`, { below: `Ref${at - 1}` })
      await registry().register(`ref-${at}`, { schema, references: [reference(`Ref${at - 1}`, `ref-${at - 1}`)] })
    }
    const left = { schema: avroRecord('RefLeft', { a: 'Ref0' }), references: [reference('Ref0', 'ref-0')] }
    const right = { schema: avroRecord('RefRight', { a: 'Ref0' }), references: [reference('Ref0', 'ref-0')] }
    await registry().register('ref-left', left)
    await registry().register('ref-right', right)
    const references = [reference('RefLeft', 'ref-left'), reference('RefRight', 'ref-right')]
    const id = await registry().register('ref-top', {
      schema: avroRecord('RefTop', { l: 'RefLeft', r: 'RefRight' }),
      references,
    })
    const found = await registry().get<{ references: Json }>('/subjects/ref-top/versions/1')
    assert.deepEqual(found.references, references)
    assert.deepEqual(await registry().get('/subjects/ref-left/versions/1/referencedby'), [id])
    assert.equal((await registry().get<number[]>('/subjects/ref-0/versions/1/referencedby')).length, 3)
  })

  test('A v2 may refer to B v1 that refers to A v1 (case 12)', async () => {
    await registry().register('ref-circle-a', avroRecord('CircleA'))
    await registry().register('ref-circle-b', {
      schema: avroRecord('CircleB', { a: 'CircleA' }),
      references: [reference('CircleA', 'ref-circle-a')],
    })
    await registry().ok('PUT', '/config/ref-circle-a', { compatibility: 'NONE' })
    const second = {
      schema: avroRecord('CircleA2', { b: 'CircleB' }),
      references: [reference('CircleB', 'ref-circle-b')],
    }
    await registry().register('ref-circle-a', second)
    assert.deepEqual(await registry().get('/subjects/ref-circle-a/versions'), [1, 2])
  })

  test('the name of a reference need not be its subject (case 14)', async () => {
    const subject = 'ref/common/address.proto'
    await registry().register(subject, { schemaType: 'PROTOBUF', schema: 'syntax = "proto3";\n\nmessage Address {}\n' })
    const schema = 'syntax = "proto3";\n\nimport "address.proto";\n\nmessage Order {\n  Address to = 1;\n}\n'
    const references = [reference('address.proto', subject)]
    await registry().register('ref-order', { schemaType: 'PROTOBUF', schema, references })
    const found = await registry().get<{ references: Json }>('/subjects/ref-order/versions/1')
    assert.deepEqual(found.references, references)
  })

  test('a reference that is not there is refused', async () => {
    const schema = avroRecord('RefMissing', { a: 'RefNowhere' })
    const references = [reference('RefNowhere', 'ref-nowhere')]
    await registry().refused(42201, 'POST', '/subjects/ref-missing/versions', { schema, references })
  })

  if (!hasReferenceChecks) return

  test('what others refer to is deleted after them, softly and for good (case 10)', async () => {
    await registry().register('ref-del-a', avroRecord('RefDelA'))
    await registry().register('ref-del-b', {
      schema: avroRecord('RefDelB', { a: 'RefDelA' }),
      references: [reference('RefDelA', 'ref-del-a')],
    })
    await registry().refused(42206, 'DELETE', '/subjects/ref-del-a/versions/1')
    await registry().refused(42206, 'DELETE', '/subjects/ref-del-a')
    await registry().ok('DELETE', '/subjects/ref-del-b/versions/1')
    await registry().ok('DELETE', '/subjects/ref-del-a/versions/1')
    await registry().refused(42206, 'DELETE', '/subjects/ref-del-a/versions/1?permanent=true')
    assert.equal((await registry().get<number[]>('/subjects/ref-del-a/versions/1/referencedby?deleted=true')).length, 1)
    await registry().ok('DELETE', '/subjects/ref-del-b?permanent=true')
    await registry().ok('DELETE', '/subjects/ref-del-a?permanent=true')
  })

  test('a new schema may refer to a soft-deleted version, and not to the newest of a subject without any', async () => {
    await registry().register('ref-soft', avroRecord('RefSoft'))
    await registry().ok('DELETE', '/subjects/ref-soft')
    const schema = avroRecord('RefToSoft', { a: 'RefSoft' })
    const latest = { schema, references: [reference('RefSoft', 'ref-soft', -1)] }
    await registry().refused(42201, 'POST', '/subjects/ref-to-soft/versions', latest)
    await registry().register('ref-to-soft', { schema, references: [reference('RefSoft', 'ref-soft')] })
  })
}
