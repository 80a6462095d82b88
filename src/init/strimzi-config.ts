import { parseAllDocuments } from 'yaml'
import { type Connection, type SecretVariable, sectionOf, unreadable } from './connection.ts'

type Tree = Record<string, unknown>

interface Listener {
  name: string
  port: number
  type: string
  tls: boolean
  authentication: string | undefined
  bootstrapServers: string | undefined
}

/** Whether the text has a `Kafka` resource of Strimzi. */
export function isStrimziConfig(text: string): boolean {
  return /^kind:\s*["']?Kafka["']?\s*$/m.test(text) && /^apiVersion:\s*["']?kafka\.strimzi\.io\//m.test(text)
}

/**
 * Reads a `Kafka` resource of Strimzi, as `kubectl get kafka -o yaml` prints it, and a `KafkaUser` if the file has one.
 * Pure. Without a name, the only listener, or the only one with TLS, is taken.
 */
export function readStrimziConfig(text: string, source: string, listenerName?: string): Connection {
  const trees = parseAllDocuments(text).map(one => asTree(one.toJS()))
  const kafka = trees.find(one => one.kind === 'Kafka') ?? {}
  const user = trees.find(one => one.kind === 'KafkaUser')
  const cluster = String(asTree(kafka.metadata).name ?? '')
  const listener = chooseListener(listenersOf(kafka), source, listenerName)
  const servers = listener.bootstrapServers ?? internalAddress(kafka, listener, source)
  const { sasl, clientTls, secrets } = loginOf(listener, user, source)
  const protocol = `${sasl ? 'SASL_' : ''}${listener.tls ? 'SSL' : 'PLAINTEXT'}`
  const security = sectionOf(protocol, { ...(listener.tls && { ca_cert: './ca.crt' }), ...clientTls }, sasl)
  const notes = [
    ...(listener.tls ? [fileNote('ca.crt', `${cluster}-cluster-ca-cert`, asTree(kafka.metadata).namespace)] : []),
    ...(clientTls.client_cert ? clientNotes(user) : []),
  ]
  return { bootstrapServers: servers.split(','), ...(security && { security }), secrets, notes }
}

function listenersOf(kafka: Tree): Listener[] {
  const known = asList(asTree(kafka.status).listeners).map(asTree)
  return asList(asTree(asTree(kafka.spec).kafka).listeners).map(one => {
    const { name, port, type, tls, authentication } = asTree(one)
    const status = known.find(({ name: other, type: old }) => (other ?? old) === name)
    const servers = status?.bootstrapServers
    const login = asTree(authentication).type
    return {
      name: String(name),
      port: Number(port),
      type: String(type),
      tls: tls === true,
      authentication: login === undefined ? undefined : String(login),
      bootstrapServers: typeof servers === 'string' ? servers : undefined,
    }
  })
}

function chooseListener(listeners: readonly Listener[], source: string, wanted: string | undefined): Listener {
  const names = listeners.map(({ name }) => name).join(', ')
  if (listeners.length === 0)
    throw unreadable(source, 'spec.kafka.listeners is empty', 'Use the resource of the cluster.')
  const secure = listeners.filter(({ tls }) => tls)
  const candidates =
    wanted === undefined ? (secure.length === 1 ? secure : listeners) : listeners.filter(({ name }) => name === wanted)
  const [first, second] = candidates
  if (first && !second) return first
  const wrong = first ? `it has several listeners: ${names}` : `it has no listener ${wanted}, but: ${names}`
  throw unreadable(source, wrong, 'Pass --listener with the name of one of them.')
}

/** Strimzi creates this service for every listener of type `internal`. */
function internalAddress(kafka: Tree, { name, type, port }: Listener, source: string): string {
  const { name: cluster, namespace } = asTree(kafka.metadata)
  if (type === 'internal') return `${cluster}-kafka-bootstrap.${namespace ?? 'default'}.svc:${port}`
  const help = 'Use the output of `kubectl get kafka <name> -o yaml`, which has the addresses in its status.'
  throw unreadable(source, `the address of the listener ${name} (type ${type}) is not in status.listeners`, help)
}

interface Login {
  sasl: Record<string, unknown> | undefined
  clientTls: { client_cert?: string; client_key?: string }
  secrets: SecretVariable[]
}

function loginOf({ name, authentication }: Listener, user: Tree | undefined, source: string): Login {
  const userName = user ? String(asTree(user.metadata).name) : undefined
  if (authentication === undefined) return { sasl: undefined, clientTls: {}, secrets: [] }
  if (authentication === 'tls') {
    return { sasl: undefined, clientTls: { client_cert: './user.crt', client_key: './user.key' }, secrets: [] }
  }
  if (authentication !== 'scram-sha-512') {
    const help = 'Pass --bootstrap-server, --protocol and --mechanism, or --from with a client.properties file.'
    throw unreadable(source, `the listener ${name} has authentication of type ${authentication}`, help)
  }
  const variable = 'KAFKA_PASSWORD'
  const origin = `the key password of the secret ${userName ?? 'of the KafkaUser'}`
  const username = userName ?? `\${${'KAFKA_USERNAME'}}`
  const secrets = [
    ...(userName === undefined ? [{ variable: 'KAFKA_USERNAME', origin: 'the name of the KafkaUser' }] : []),
    { variable, origin },
  ]
  const sasl = { mechanism: 'SCRAM-SHA-512', username, password: `\${${variable}}` }
  return { sasl, clientTls: {}, secrets }
}

function clientNotes(user: Tree | undefined): string[] {
  const { name = '<user>', namespace } = asTree(user?.metadata)
  return ['user.crt', 'user.key'].map(file => fileNote(file, String(name), namespace))
}

/** The command that writes a file which the job refers to; the key of the secret has the same name. */
function fileNote(file: string, secret: string, namespace: unknown): string {
  const path = file.replaceAll('.', '\\.')
  const place = typeof namespace === 'string' ? ` -n ${namespace}` : ''
  return `write ${file} first: kubectl get secret ${secret}${place} -o jsonpath='{.data.${path}}' | base64 -d > ${file}`
}

function asTree(value: unknown): Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Tree) : {}
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
