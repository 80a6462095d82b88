import { type Document, LineCounter, parseDocument } from 'yaml'
import { isTooDeep } from '../lib/json.ts'
import { type Connection, type SecretVariable, secretOf, unreadable } from './connection.ts'
import { recognizeJob } from './job-format.ts'
import { type Section, sectionOf, textOr, translateBackup, translateRestore } from './oso-options.ts'
import { translateStorage } from './oso-storage.ts'

/** A job file of OSO kafka-backup in the terms of this program. Secrets are references to variables. */
export interface OsoJob {
  mode: 'backup' | 'restore'
  backupId: string
  connection: Connection
  topics: { include: readonly string[]; exclude: readonly string[] }
  /** The section `storage`; empty where the backend is not known. */
  storage: Section
  /** Where the archives of the other program are, as `kafka-backup import` takes it. */
  archives: string | undefined
  /** The section `backup` or `restore`, without topics. */
  options: Section
  metrics?: Section
  /** Variables of everything but the connection. */
  secrets: readonly SecretVariable[]
  /** Fields that have no counterpart or another meaning, by their paths, with what to do. */
  notes: readonly string[]
}

// The other program replaces variables before it parses the file.
const YAML_HELP = `In a copy of the file, put quotes around texts with special characters, and around \${NAME} in lists and maps in brackets.`
const AMBIGUOUS =
  'read as a job file of OSO kafka-backup, because all of its fields exist in both programs; if it is one of this program, use it without a translation'
const HELP = 'docs/import.md explains which job files are translated.'

/** Whether the text is a job file, of OSO kafka-backup or of this program: `readOsoJob` tells them apart. */
export function isOsoJob(text: string): boolean {
  return /^mode:\s*["']?(backup|restore)["']?\s*(#.*)?$/m.test(text) && /^storage:/m.test(text)
}

/** Pure. A job file of OSO kafka-backup (0.25). Nothing is dropped without a note. */
export function readOsoJob(text: string, source: string): OsoJob {
  const job = parseJob(text, source)
  const notes = recognizeJob(job) === 'both' ? [AMBIGUOUS] : []
  const mode = job.mode === 'restore' ? 'restore' : 'backup'
  const side = mode === 'restore' ? 'target' : 'source'
  const cluster = sectionOf(job[side])
  const topics = readTopics(cluster.topics, `${side}.topics`, notes)
  const connection = readCluster(cluster, side, source, notes)
  const folder = mode === 'restore' ? 'imported' : 'kafka-backup'
  const { storage, archives, secrets } = translateStorage(sectionOf(job.storage), folder, source, notes)
  const options =
    mode === 'restore'
      ? translateRestore(sectionOf(job.restore), topics.include, notes)
      : translateBackup(sectionOf(job.backup), notes)
  const metrics = translateMetrics(job.metrics, notes)
  for (const [name, value] of Object.entries(job)) {
    if (value !== null && !KNOWN.has(name) && name !== side) notes.push(`${name}: not translated; ${whyNot(name)}`)
  }
  const all = { topics, storage, options, metrics }
  return {
    ...{ mode, backupId: textOr(job.backup_id, 'kafka'), connection, topics, storage, archives, options },
    ...(metrics && { metrics }),
    secrets: withReferences([...secrets], all, source),
    notes,
  }
}

const KNOWN = new Set(['mode', 'backup_id', 'storage', 'metrics'])

const REASONS: Record<string, string> = {
  source: 'a restore has no source',
  target: 'a backup has no target',
  backup: 'a restore has no options of backups',
  restore: 'a backup has no options of restores',
  offset_storage: 'progress is part of the backup, and of the target of a restore',
  logging: 'pass -v and --log-format',
  enterprise: 'docs/registries.md and docs/encryption.md have what this program offers instead',
}

function whyNot(name: string): string {
  return REASONS[name] ?? 'it has no counterpart'
}

function parseJob(text: string, source: string): Section {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { merge: true, prettyErrors: false, lineCounter, logLevel: 'error' })
  // A tag that is not known is a warning, and would cut off the start of a text.
  const [error] = [...document.errors, ...document.warnings]
  if (error) {
    const { line } = lineCounter.linePos(error.pos[0])
    // The message of the error quotes the file, which may hold secrets.
    throw unreadable(source, `line ${line}: it is not valid YAML (${error.code})`, YAML_HELP)
  }
  const tree = toPlain(document, source)
  if (isTooDeep(tree)) throw unreadable(source, 'it is nested too deep', HELP)
  const job = sectionOf(tree)
  if (recognizeJob(job) === 'own') {
    const help = 'Edit it, and run `kafka-backup check` with it.'
    throw unreadable(source, 'this is a job file of this program already', help)
  }
  return job
}

function toPlain(document: Document, source: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch {
    const wrong = 'an alias (*name) has no anchor (&name) before it, is not a map, or refers to too much data'
    throw unreadable(source, wrong, 'In a copy of the file, put quotes around texts that begin with *.')
  }
}

function readTopics(value: unknown, at: string, notes: string[]): OsoJob['topics'] {
  const { include, exclude, ...others } = sectionOf(value)
  for (const name of Object.keys(others)) notes.push(`${at}.${name}: not translated; it has no counterpart`)
  const listOf = (list: unknown) => (Array.isArray(list) ? list.map(String) : [])
  const included = listOf(include)
  return { include: included.length > 0 ? included : ['*'], exclude: listOf(exclude) }
}

const PASSWORDS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512']

const securityNames: Record<string, string> = {
  ssl_ca_location: 'ca_cert',
  ssl_certificate_location: 'client_cert',
  ssl_key_location: 'client_key',
}

function readCluster(cluster: Section, side: string, source: string, notes: string[]): Connection {
  const { bootstrap_servers: servers, security, topics: _, ...others } = cluster
  for (const name of Object.keys(others)) {
    const why = name === 'connection' ? 'connections are managed' : 'it has no counterpart'
    notes.push(`${side}.${name}: not translated; ${why}`)
  }
  const secrets: SecretVariable[] = []
  const own = readSecurity(sectionOf(security), `${side}.security`, source, secrets, notes)
  const bootstrapServers = (Array.isArray(servers) ? servers : [servers]).flatMap(one => (one ? [String(one)] : []))
  return {
    bootstrapServers,
    ...(own && { security: own }),
    secrets: withReferences(secrets, { bootstrapServers, own }, source),
    notes: [],
  }
}

function readSecurity(
  { security_protocol = 'PLAINTEXT', sasl_mechanism, sasl_username, sasl_password, ...others }: Section,
  at: string,
  source: string,
  secrets: SecretVariable[],
  notes: string[],
): Connection['security'] {
  const protocol = textOr(security_protocol, 'PLAINTEXT').toUpperCase()
  const tls: Record<string, string> = {}
  for (const [name, value] of Object.entries(others)) {
    const own = securityNames[name]
    if (value === null || value === undefined) continue
    if (own === undefined) notes.push(`${at}.${name}: not translated; it has no counterpart`)
    else if (protocol.endsWith('SSL')) tls[own] = String(value)
    else notes.push(`${at}.${name}: not translated; the protocol ${protocol} has no TLS`)
  }
  const hasLogin = protocol.startsWith('SASL_')
  if (!hasLogin && (sasl_mechanism ?? sasl_username ?? sasl_password) != null) {
    notes.push(`${at}.sasl_mechanism: not translated; the protocol ${protocol} has no login`)
  }
  if (protocol === 'PLAINTEXT') return undefined
  const sasl = hasLogin && loginOf({ sasl_mechanism, sasl_username, sasl_password }, at, source, secrets)
  return { protocol, ...(Object.keys(tls).length > 0 && { tls }), ...(sasl && { sasl }) }
}

/** A job without its login could not connect, or would connect as another user: such a file is refused. */
function loginOf(login: Section, at: string, source: string, secrets: SecretVariable[]): Section {
  // `SCRAM-SHA256` and `SCRAM-SHA-256` are the same there.
  const mechanism = textOr(login.sasl_mechanism, 'none').replace(/^SCRAM-SHA-?(256|512)$/, 'SCRAM-SHA-$1')
  if (!PASSWORDS.includes(mechanism)) {
    const help =
      'Replace the section in a copy of the file by one of PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512; docs/security.md has the other mechanisms.'
    throw unreadable(source, `${at}.sasl_mechanism: ${mechanism} cannot be translated`, help)
  }
  const password = secretOf(textOr(login.sasl_password, ''), 'KAFKA_PASSWORD', `${at}.sasl_password in ${source}`)
  secrets.push(password)
  return { mechanism, username: textOr(login.sasl_username, ''), password: `\${${password.variable}}` }
}

function translateMetrics(value: unknown, notes: string[]): Section | undefined {
  if (value === null || value === undefined) return undefined
  const { enabled = true, bind_address = '0.0.0.0', port = 8080, ...others } = sectionOf(value)
  for (const name of Object.keys(others)) notes.push(`metrics.${name}: not translated; it has no counterpart`)
  if (enabled === false) return undefined
  notes.push('metrics: the names of metrics differ; docs/metrics.md lists them')
  return { listen: `${textOr(bind_address, '0.0.0.0')}:${textOr(port, '8080')}` }
}

/** All variables that the sections refer to: the checks need their values. */
function withReferences(secrets: SecretVariable[], sections: unknown, source: string): SecretVariable[] {
  const known = new Map(secrets.map(secret => [secret.variable, secret]))
  for (const [, name = ''] of JSON.stringify(sections).matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g)) {
    if (!known.has(name)) known.set(name, { variable: name, origin: `what ${source} takes from it` })
  }
  return [...known.values()]
}
