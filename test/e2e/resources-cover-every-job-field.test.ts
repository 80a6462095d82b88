import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Controller, controllers, type Resource, resourceKinds } from '../../src/operator/crd/resource.ts'
import { jobFieldSchema } from '../../src/operator/crd/section-schema.ts'
import { planJobPod } from '../../src/operator/job/plan-job-pod.ts'
import { makeResource, minimal, step } from '../operator/crd/resources.ts'
import {
  auths,
  encryption,
  fullBackup,
  fullRestore,
  mechanisms,
  registryRestore,
  storages,
  tls,
} from '../operator/crd/rich-resources.ts'
import { applyAll, type Kube } from '../servers/kube.ts'
import { shareKube } from '../servers/shared-kube.ts'

/** Of a group of their own, with the fields of the job file alone. */
const apiGroup = 'fields.kafka-backup.dev'
const kinds = resourceKinds(apiGroup)

const definitions = controllers.map(controller => {
  const { kind, plural } = kinds[controller]
  const { properties, required, rules } = jobFieldSchema(controller)
  const spec = { type: 'object', properties, required, 'x-kubernetes-validations': rules }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${apiGroup}` },
    spec: {
      group: apiGroup,
      scope: 'Namespaced',
      names: { kind, plural },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', required: ['spec'], properties: { spec } } },
        },
      ],
    },
  }
})

let kube: Kube
let namespace: string
before(async () => {
  kube = await shareKube()
  await applyAll(kube.api, definitions)
  namespace = await kube.makeNamespace('fields')
})
after(() => kube?.stop())

const registry = (more: object) => ({
  enterprise: { licenseSecret: { name: 'license' }, schemaRegistry: { enabled: true, url: 'https://r:8081', ...more } },
})

interface Said {
  name: string
  controller: Controller
  more: Record<string, unknown>
}

const resources: Said[] = [
  ...controllers.map(controller => ({ name: `the least that a ${controller} says`, controller, more: {} })),
  { name: 'a backup that says all', controller: 'backup', more: fullBackup },
  { name: 'a restore that says all', controller: 'restore', more: fullRestore },
  { name: 'a restore of schemas', controller: 'restore', more: registry({ restore: registryRestore }) },
  { name: 'an encryption', controller: 'offset_rollback', more: { encryption } },
  ...Object.entries(storages).map(
    ([name, { spec }]): Said => ({ name: `a storage of ${name}`, controller: 'backup', more: { storage: spec } }),
  ),
  ...Object.entries(auths).map(
    ([name, { spec }]): Said => ({ name: `a registry with ${name}`, controller: 'backup', more: registry(spec) }),
  ),
  ...Object.entries(mechanisms).map(([name, { sasl }]): Said => {
    const kafkaCluster = { bootstrapServers: ['k:9092'], security: { protocol: 'SASL_SSL', tls, sasl } }
    return { name: `a login with ${name}`, controller: 'restore', more: { kafkaCluster } }
  }),
]

for (const [index, { name, controller, more }] of resources.entries()) {
  test(`${name} is stored unchanged, and a pod can be planned for it`, async () => {
    const { kind, apiVersion } = kinds[controller]
    const spec = { ...minimal[controller], ...more }
    const metadata = { name: `resource-${index}`, namespace }
    const stored = (await kube.api.create({ apiVersion, kind, metadata, spec } as never)) as Resource
    // Nothing is dropped as unknown; defaults come on top.
    assert.deepEqual(overlay(stored.spec, spec), stored.spec)
    const pod = planJobPod(controller, stored, step)
    assert.equal(pod.secrets.length, planJobPod(controller, makeResource(controller, more), step).secrets.length)
  })
}

function overlay(below: unknown, above: unknown): unknown {
  if (Array.isArray(above) && Array.isArray(below)) return above.map((item, index) => overlay(below[index], item))
  if (typeof above !== 'object' || above === null || Array.isArray(above)) return above
  const entries = Object.entries(above).map(([key, value]) => [
    key,
    overlay((below as Record<string, unknown>)?.[key], value),
  ])
  return { ...(below as object), ...Object.fromEntries(entries) }
}
