import type { StrimziKafka } from '../../src/operator/job/strimzi.ts'
import type { Kube } from './kube.ts'
import { applyAll } from './kube.ts'
import { type KubeObject, refOf, trueCondition } from './kube-object.ts'

/**
 * The parts of the definition of Strimzi's Kafka that the operator reads, written after
 * packaging/install/cluster-operator/040-Crd-kafka.yaml of Strimzi, API version v1beta2. The complete one has many more fields, and
 * Strimzi itself needs images that the tests cannot pull.
 */
const text = { type: 'string' }
const listener = {
  type: 'object',
  required: ['name', 'port', 'type', 'tls'],
  properties: {
    name: { type: 'string', pattern: '^[a-z0-9]{1,11}$' },
    port: { type: 'integer', minimum: 9092 },
    type: { type: 'string', enum: ['internal', 'route', 'loadbalancer', 'nodeport', 'ingress', 'cluster-ip'] },
    tls: { type: 'boolean' },
    authentication: {
      type: 'object',
      required: ['type'],
      properties: { type: { type: 'string', enum: ['tls', 'scram-sha-512', 'oauth', 'custom'] } },
    },
  },
}
const condition = {
  type: 'object',
  properties: { type: text, status: text, lastTransitionTime: text, reason: text, message: text },
}
const address = { type: 'object', properties: { host: text, port: { type: 'integer' } } }
const listenerStatus = {
  type: 'object',
  properties: {
    type: text,
    name: text,
    addresses: { type: 'array', items: address },
    bootstrapServers: text,
    certificates: { type: 'array', items: text },
  },
}
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['kafka'],
      properties: {
        kafka: {
          type: 'object',
          required: ['listeners'],
          properties: { listeners: { type: 'array', minItems: 1, items: listener } },
        },
      },
    },
    status: {
      type: 'object',
      properties: {
        conditions: { type: 'array', items: condition },
        observedGeneration: { type: 'integer' },
        listeners: { type: 'array', items: listenerStatus },
        clusterId: text,
      },
    },
  },
}

const definition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'kafkas.kafka.strimzi.io' },
  spec: {
    group: 'kafka.strimzi.io',
    scope: 'Namespaced',
    names: { kind: 'Kafka', listKind: 'KafkaList', singular: 'kafka', plural: 'kafkas' },
    versions: [
      {
        name: 'v1beta2',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: schema },
      },
    ],
  },
} as never

export async function installStrimziDefinition({ api }: Kube): Promise<void> {
  await applyAll(api, [definition])
  await api.wait(refOf(definition), made => trueCondition(made, 'Established') !== undefined)
}

/** A Kafka resource as Strimzi would have it, with its status. */
export async function applyStrimziKafka(
  { api }: Kube,
  namespace: string,
  name: string,
  { spec, status }: Pick<StrimziKafka, 'spec' | 'status'>,
): Promise<void> {
  const metadata = { name, namespace }
  const object = { apiVersion: 'kafka.strimzi.io/v1beta2', kind: 'Kafka', metadata, spec } as never
  await api.apply(object)
  await api.patch(refOf(object), { status }, { subresource: 'status' })
}
