import { type Connection, plainText, type SecretVariable, secretOf, sectionOf, unreadable } from './connection.ts'
import { parseJaas, parseProperties } from './properties.ts'

/** Settings of a connection that need no counterpart here, or that others decide. */
const ignorable = new Set([
  'sasl.client.callback.handler.class',
  'sasl.login.callback.handler.class',
  'sasl.login.class',
  'sasl.oauthbearer.method',
  'security.providers',
  'ssl.ca.certificate.stores',
  'ssl.enabled.protocols',
  'ssl.protocol',
  'ssl.truststore.type',
  'ssl.truststore.password',
  'ssl.keystore.type',
  'ssl.keystore.password',
])

/** Reads `client.properties` of the Java clients and configurations of librdkafka, such as those of kcat. Pure. */
export function readClientProperties(text: string, source: string): Connection {
  const settings = new Settings(parseProperties(text), source)
  const servers = settings.take('bootstrap.servers', 'metadata.broker.list')
  const clientId = settings.take('client.id')
  const protocol = (settings.take('security.protocol') ?? 'PLAINTEXT').toUpperCase()
  const tls = readTls(settings, protocol)
  const sasl = protocol.startsWith('SASL_') ? readSasl(settings) : undefined
  const security = sectionOf(protocol, tls, sasl)
  return {
    bootstrapServers: (servers ?? '').split(',').flatMap(one => (one.trim() === '' ? [] : [one.trim()])),
    ...(clientId !== undefined && { clientId }),
    ...(security && { security }),
    secrets: settings.secrets,
    notes: [...settings.notes, ...settings.unused()],
  }
}

function readTls(settings: Settings, protocol: string): Record<string, string | undefined> {
  if (!protocol.endsWith('SSL')) return {}
  const name = settings.take('ssl.endpoint.identification.algorithm')
  const checks = settings.take('enable.ssl.certificate.verification')
  if (name === '' || name === 'none' || checks === 'false') {
    settings.notes.push('certificates and host names of brokers are always verified, although this file turns it off')
  }
  const keyStore = settings.takePem('ssl.keystore.location', 'ssl.keystore.type', '--tls-cert and --tls-key')
  settings.refuse('ssl.truststore.certificates', '--tls-ca')
  settings.refuse('ssl.keystore.key', '--tls-key')
  settings.refuse('ssl.keystore.certificate.chain', '--tls-cert')
  return {
    ca_cert:
      settings.take('ssl.ca.location') ??
      settings.takePem('ssl.truststore.location', 'ssl.truststore.type', '--tls-ca'),
    client_cert: settings.take('ssl.certificate.location') ?? keyStore,
    client_key: settings.take('ssl.key.location') ?? keyStore,
    client_key_password: settings.takeSecret('KAFKA_KEY_PASSWORD', 'ssl.key.password'),
  }
}

function readSasl(settings: Settings): Record<string, unknown> {
  const mechanism = settings.take('sasl.mechanism', 'sasl.mechanisms')?.toUpperCase() ?? 'GSSAPI'
  const jaas = parseJaas(settings.takeAsIs('sasl.jaas.config') ?? '')
  settings.notes.push(...jaasNotes(jaas))
  const named = (name: string) => mapText(jaas.get(name))
  const fromJaas = (name: string, variable: string) => {
    const value = jaas.get(name)
    return value === undefined ? undefined : settings.addSecret(value, variable, `${name} of sasl.jaas.config`)
  }
  if (mechanism === 'OAUTHBEARER') return { mechanism, oauth: readOauth(settings, jaas, fromJaas) }
  if (mechanism === 'AWS_MSK_IAM') {
    const profile = named('awsProfileName')
    return { mechanism, ...(profile !== undefined && { aws: { profile } }) }
  }
  const username = settings.take('sasl.username') ?? named('username')
  const password = settings.takeSecret('KAFKA_PASSWORD', 'sasl.password') ?? fromJaas('password', 'KAFKA_PASSWORD')
  return { mechanism, ...(username !== undefined && { username }), ...(password !== undefined && { password }) }
}

/** Only names that are known: in a text with a missing quote, a part of a secret could look like one. */
function jaasNotes(jaas: ReadonlyMap<string, string>): string[] {
  return [...jaas.keys()]
    .filter(name => /^(aws\w+|tokenauth|oauth\.[\w.]+)$/.test(name) && name !== 'awsProfileName')
    .map(name => `${name} of sasl.jaas.config has no counterpart and is not translated`)
}

function readOauth(
  settings: Settings,
  jaas: ReadonlyMap<string, string>,
  fromJaas: (name: string, variable: string) => string | undefined,
): Record<string, unknown> {
  const variable = 'KAFKA_CLIENT_SECRET'
  const extensions = Object.fromEntries(
    [...jaas].flatMap(([name, value]) => (name.startsWith('extension_') ? [[name.slice(10), plainText(value)]] : [])),
  )
  const fields = {
    token_url: settings.take('sasl.oauthbearer.token.endpoint.url'),
    client_id:
      settings.take('sasl.oauthbearer.client.id', 'sasl.oauthbearer.client.credentials.client.id') ??
      mapText(jaas.get('clientId')),
    client_secret:
      settings.takeSecret(
        variable,
        'sasl.oauthbearer.client.secret',
        'sasl.oauthbearer.client.credentials.client.secret',
      ) ?? fromJaas('clientSecret', variable),
    scope: settings.take('sasl.oauthbearer.scope') ?? mapText(jaas.get('scope')),
    extensions: Object.keys(extensions).length === 0 ? undefined : extensions,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function mapText(value: string | undefined): string | undefined {
  return value === undefined ? undefined : plainText(value)
}

/** Notes which settings were used. */
class Settings {
  readonly secrets: SecretVariable[] = []
  readonly notes: string[] = []
  readonly #values: ReadonlyMap<string, string>
  readonly #source: string
  readonly #used = new Set<string>()

  constructor(values: ReadonlyMap<string, string>, source: string) {
    this.#values = values
    this.#source = source
  }

  take(...names: string[]): string | undefined {
    const name = names.find(one => this.#values.has(one))
    if (name === undefined) return undefined
    this.#used.add(name)
    return plainText(this.#values.get(name) ?? '')
  }

  takeAsIs(name: string): string | undefined {
    this.#used.add(name)
    return this.#values.get(name)
  }

  /** `${VARIABLE}` in place of the secret. */
  takeSecret(variable: string, ...names: string[]): string | undefined {
    const name = names.find(one => this.#values.has(one))
    if (name === undefined) return undefined
    this.#used.add(name)
    return this.addSecret(this.#values.get(name) ?? '', variable, name)
  }

  addSecret(value: string, variable: string, origin: string): string {
    const secret = secretOf(value, variable, `${origin} in ${this.#source}`)
    this.secrets.push(secret)
    return `\${${secret.variable}}`
  }

  /** Key stores of Java cannot be read. */
  takePem(name: string, kind: string, option: string): string | undefined {
    const file = this.take(name)
    if (file === undefined) return undefined
    const type = this.take(kind)?.toUpperCase() ?? (/\.(pem|crt|cer|key)$/i.test(file) ? 'PEM' : 'JKS')
    if (type === 'PEM') return file
    const help = `Convert it as docs/security.md#tls shows, remove ${name} from a copy of the file, and pass ${option}.`
    throw unreadable(this.#source, `${name} is a key store of type ${type}; only PEM files are supported`, help)
  }

  refuse(name: string, option: string): void {
    if (this.take(name) === undefined) return
    const help = `Write it to a PEM file, remove ${name} from a copy of the file, and pass ${option}.`
    throw unreadable(this.#source, `${name} holds a certificate or key as text`, help)
  }

  unused(): string[] {
    return [...this.#values.keys()]
      .filter(name => /^(sasl|ssl|security)\./.test(name) && !this.#used.has(name) && !ignorable.has(name))
      .map(name => `${name} has no counterpart and is not translated`)
  }
}
