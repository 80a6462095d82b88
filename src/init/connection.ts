import { KafkaBackupError } from '../errors.ts'

/** A value that a job file takes from the environment. */
export interface SecretVariable {
  variable: string
  /** What to set it to, such as `sasl.password of client.properties`. */
  origin: string
  /** Known where the read file has it; used for the checks of this run only, and never written. */
  value?: string
}

/** How a cluster is reached: the fields of `source` in a job file, without secrets. */
export interface Connection {
  bootstrapServers: readonly string[]
  clientId?: string
  /** The section `security` of a job file; absent for plain text without a login. */
  security?: SecuritySection
  secrets: readonly SecretVariable[]
  /** Settings of the read file that have no counterpart. */
  notes: readonly string[]
}

export interface SecuritySection {
  protocol: string
  tls?: Record<string, string>
  sasl?: Record<string, unknown>
}

/** `${NAME}` or `${env:NAME}`, as Kafka's own configuration provider writes it: the name. */
export function variableIn(value: string): string | undefined {
  return /^\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}$/.exec(value.trim())?.[1]
}

/** A text that is not secret, as a job file writes it: a `${` that is meant literally is doubled. */
export function plainText(value: string): string {
  const variable = variableIn(value)
  return variable === undefined ? doubleReferences(value) : `\${${variable}}`
}

/** A `${` in a text of a job file is written as `$${`. */
export function doubleReferences(text: string): string {
  // A replacement text would read `$$` as one `$`.
  return text.replaceAll('${', () => '$${')
}

/** The secret under its own variable, or under the one that the file refers to. */
export function secretOf(value: string, variable: string, origin: string): SecretVariable {
  const referred = variableIn(value)
  return referred === undefined ? { variable, origin, value } : { variable: referred, origin }
}

export function unreadable(source: string, wrong: string, help: string): KafkaBackupError {
  return new KafkaBackupError('CONFIG_INVALID', `${source}: ${wrong}`, { help })
}

/** `tls` and `sasl` only where they have fields. */
export function sectionOf(
  protocol: string,
  tls: Record<string, string | undefined>,
  sasl: Record<string, unknown> | undefined,
): SecuritySection | undefined {
  const files = Object.fromEntries(Object.entries(tls).filter(([, file]) => file !== undefined)) as Record<
    string,
    string
  >
  if (protocol === 'PLAINTEXT') return undefined
  const hasFiles = Object.keys(files).length > 0 && protocol.endsWith('SSL')
  return { protocol, ...(hasFiles && { tls: files }), ...(sasl && { sasl }) }
}
