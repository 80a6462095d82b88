import type { ClusterRef, KafkaUserRef, ResourceSpec } from '../crd/resource.ts'
import type { KubeObject, ResourceKind } from '../kube/object.ts'
import { cutText } from './pod-result.ts'
import type { ReferenceState } from './references.ts'

const MAX_FOREIGN_TEXT = 300

/** What is read of a Kafka resource of Strimzi: the same in its API versions v1beta2 and v1. */
export interface StrimziKafka extends KubeObject {
  spec?: { kafka?: { listeners?: StrimziListener[] } }
  status?: {
    conditions?: { type?: string; status?: string; reason?: string; message?: string }[]
    listeners?: StrimziListenerStatus[]
  }
}

interface StrimziListener {
  name?: string
  tls?: boolean
  authentication?: { type?: string }
}

interface StrimziListenerStatus {
  name?: string
  /** Older versions of Strimzi have the name here. */
  type?: string
  bootstrapServers?: string
}

export function strimziKafkaKind(version: string): ResourceKind<StrimziKafka> {
  return { apiVersion: `kafka.strimzi.io/${version}`, kind: 'Kafka', plural: 'kafkas' }
}

/**
 * The cluster of a `clusterRef` as the section `kafkaCluster` of a spec: the address of the listener, the secret with the CA, and
 * the secret of the user. Secrets are named, never read.
 */
export function resolveCluster(spec: ResourceSpec, kafka: StrimziKafka | undefined): ReferenceState | undefined {
  const { clusterRef } = spec
  if (clusterRef === undefined) return undefined
  const { name, listener } = clusterRef
  const refuse = (reason: string, message: string): ReferenceState => ({ name, status: 'False', reason, message })
  if (kafka === undefined) {
    const message = `Kafka ${name} of Strimzi does not exist in the namespace of the resource. Create it, or correct spec.clusterRef.`
    return refuse('ClusterMissing', message)
  }
  const listeners = kafka.spec?.kafka?.listeners ?? []
  const found = listeners.find(one => one.name === listener)
  if (found === undefined) {
    const known = listeners.map(one => one.name).join(', ') || 'none'
    return refuse('ListenerMissing', `Kafka ${name} has no listener ${listener}. Its listeners: ${known}.`)
  }
  const wrong = findLoginProblem(found, spec)
  if (wrong !== undefined) return refuse('ListenerUnsupported', `Listener ${listener} of Kafka ${name} ${wrong}`)
  const readiness = describeReadiness(kafka)
  const servers = addressOf(kafka, listener)
  if (servers.length === 0) {
    const message = `Kafka ${name} has no address for listener ${listener} yet. ${readiness ?? ''}`.trimEnd()
    return refuse('ClusterNotReady', message)
  }
  const value = { bootstrapServers: servers, ...securityOf(found, clusterRef, spec.kafkaUserRef) }
  return { name, ...judge(name, readiness), section: { value, at: ['spec', 'clusterRef'] } }
}

/** A cluster that is not ready may still serve: brokers restart one by one, or another part of it has a problem. */
function judge(name: string, readiness: string | undefined): Pick<ReferenceState, 'status' | 'reason' | 'message'> {
  if (readiness === undefined) return { status: 'True', reason: 'ClusterFound', message: `Kafka ${name} is ready.` }
  const message = `Kafka ${name} is not ready, and runs use its last known address. ${readiness}`
  return { status: 'True', reason: 'ClusterNotReady', message }
}

/** Undefined where the cluster is ready. */
function describeReadiness({ status }: StrimziKafka): string | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  if (ready?.status === 'True') return undefined
  const why = [
    ready?.reason,
    ready?.message,
    ...(status?.conditions ?? []).filter(({ type }) => type === 'NotReady').flatMap(one => [one.reason, one.message]),
  ].filter(text => text !== undefined && text !== '')
  return why.length === 0
    ? 'Strimzi has not reported it as ready.'
    : `Strimzi reports: ${cutText(why.join(': '), MAX_FOREIGN_TEXT)}`
}

function addressOf({ status }: StrimziKafka, listener: string): string[] {
  const found = status?.listeners?.find(({ name, type }) => (name ?? type) === listener)
  return (found?.bootstrapServers ?? '')
    .split(',')
    .map(server => server.trim())
    .filter(server => server !== '')
}

const other = 'Describe the cluster with spec.kafkaCluster instead.'

function findLoginProblem(
  { tls, authentication }: StrimziListener,
  { kafkaUserRef }: ResourceSpec,
): string | undefined {
  const type = authentication?.type
  if (type === undefined) {
    return kafkaUserRef ? 'has no authentication: remove spec.kafkaUserRef, or choose another listener.' : undefined
  }
  if (type !== 'tls' && type !== 'scram-sha-512') return `has authentication of type ${type}. ${other}`
  if (type === 'tls' && tls !== true) return `has authentication of type tls without TLS. ${other}`
  return kafkaUserRef ? undefined : `has authentication of type ${type}: set spec.kafkaUserRef.`
}

/** By the keys that Strimzi gives its secrets. */
function securityOf(
  { tls, authentication }: StrimziListener,
  { name, caCertSecret = { name: `${name}-cluster-ca-cert`, key: 'ca.crt' } }: ClusterRef,
  user: KafkaUserRef | undefined,
): Record<string, unknown> {
  const secret = user?.secretName ?? user?.name ?? ''
  const isMutual = authentication?.type === 'tls'
  const isScram = authentication?.type === 'scram-sha-512'
  if (!tls && !isScram) return {}
  const client = isMutual && {
    clientCertSecret: { name: secret, key: 'user.crt' },
    clientKeySecret: { name: secret, key: 'user.key' },
  }
  const sasl = {
    mechanism: 'SCRAM-SHA-512',
    username: user?.userName ?? user?.name,
    passwordSecret: { name: secret, key: 'password' },
  }
  return {
    security: {
      protocol: `${isScram ? 'SASL_' : ''}${tls ? 'SSL' : 'PLAINTEXT'}`,
      ...(tls && { tls: { caCertSecret, ...client } }),
      ...(isScram && { sasl }),
    },
  }
}
