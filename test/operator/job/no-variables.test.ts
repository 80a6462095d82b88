import assert from 'node:assert/strict'
import { test } from 'node:test'
import { interpolate } from '../../../src/config/interpolate.ts'
import { parseJob } from '../../../src/config/load-job.ts'
import { isMap } from '../../../src/config/problem.ts'
import type { FieldSchema } from '../../../src/operator/crd/field-schema.ts'
import { controllers } from '../../../src/operator/crd/resource.ts'
import { jobFieldSchema } from '../../../src/operator/crd/section-schema.ts'
import { writeDocument } from '../../../src/operator/job/job-document.ts'
import { JobNeeds } from '../../../src/operator/job/job-needs.ts'
import { makeResource, planPod, secret, step } from '../crd/resources.ts'

const texts = [
  `\${HOME}`,
  `$\${HOME}`,
  `\${HOME:-x}`,
  '${',
  `$$$\${HOME}`,
  `\${SECRET_STORAGE_PROXY}`,
  'a $HOME %{b} $(HOME)',
]

for (const controller of controllers) {
  for (const text of texts) {
    test(`${controller}: ${text} is not expanded in any field of a resource`, () => {
      const resource = makeResource(controller, fill({ type: 'object', ...jobFieldSchema(controller) }, text))
      const written = writeDocument(controller, resource, step, new JobNeeds())
      const { tree, problems } = interpolate(written, { POD_IP: '10.0.0.7', HOME: 'leaked', ...everySecret(written) })
      assert.deepEqual(problems, [])
      assert.ok(textsIn(tree).every(each => !each.includes('leaked')))
      const kept = textsIn(tree).filter(each => each === text).length
      assert.ok(kept > 10, `${kept} texts are kept`)
    })
  }
}

test('a loaded job contains the unchanged strings of the resource', () => {
  const text = `\${HOME} and $\${HOME}`
  const sasl = { mechanism: 'PLAIN', username: text, passwordSecret: secret('p') }
  const { jobFile } = planPod('backup', {
    kafkaCluster: { bootstrapServers: ['k:9092'], clientRack: text, security: { protocol: 'SASL_SSL', sasl } },
    backup: { consumerGroups: { include: [text] } },
  })
  const job = parseJob(jobFile, { source: 'job.yaml', env: { HOME: 'leaked', POD_IP: '10.0.0.7' }, mode: 'backup' })
  assert.equal(job.source.clientRack, text)
  assert.deepEqual(job.backup.consumerGroups.include, [text])
  assert.deepEqual({ ...job.source.security?.sasl, username: text }, job.source.security?.sasl)
})

/** A value for every field, with the text wherever one can be. */
function fill({ properties = {} }: FieldSchema, text: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, sampleOf(field, text, name)]))
}

function sampleOf(schema: FieldSchema, text: string, name = ''): unknown {
  if (/(Secret|ConfigMap)$/.test(name)) return { name: 'n', key: 'k', usernameKey: 'u', passwordKey: 'p' }
  if (schema.enum) return schema.enum[0]
  if (schema.items) return [sampleOf(schema.items, text)]
  if (schema.additionalProperties) return { [text]: sampleOf(schema.additionalProperties, text) }
  if (schema.type === 'object') return fill(schema, text)
  if (schema.type === 'boolean') return true
  return schema.type === 'integer' ? 1 : text
}

/** Their variables hold what would show itself if it were looked at again. */
function everySecret(document: unknown): Record<string, string> {
  const names = textsIn(document).flatMap(each => /^\$\{(SECRET_\w+)\}$/.exec(each)?.slice(1) ?? [])
  return Object.fromEntries(names.map(name => [name, `\${HOME}!`]))
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  return isMap(value) ? Object.values(value).flatMap(textsIn) : []
}
