/** What a value is, for the parser, the help, the shells' completion and the documentation. */
export type ValueSpec =
  | { kind: 'file' | 'folder' | 'text'; label: string }
  | { kind: 'choice'; label: string; choices: readonly string[] }

export interface OptionSpec {
  /** Without its dashes. */
  name: string
  short?: string
  value?: ValueSpec
  description: string
  fallback?: string
  isRequired?: true
  /** Given several times, the values are collected; without a value the times are counted. */
  isRepeatable?: true
  /** Where the collected values are found, for an option that other commands take once. */
  plural?: 'paths' | 'configs' | 'backupIds' | 'namespaces'
}

/** The values of all options of all commands; what a command does not have keeps its rest value. */
export interface CommandOptions {
  config?: string | undefined
  set: string[]
  path?: string | undefined
  keyFile: string[]
  backupId?: string | undefined
  /** In place of the single ones, in commands that take several. */
  configs: string[]
  paths: string[]
  backupIds: string[]
  from?: string | undefined
  to?: string | undefined
  fromConfig?: string | undefined
  toConfig?: string | undefined
  all: boolean
  verifyExisting: boolean
  decrypt: boolean
  deep: boolean
  dryRun: boolean
  shard?: string | undefined
  newIncarnation: string[]
  commit: boolean
  report: boolean
  target?: string | undefined
  strimziCluster?: string | undefined
  strimziApi?: string | undefined
  namespace?: string | undefined
  topic?: string | undefined
  partition?: string | undefined
  offset?: string | undefined
  bootstrapServer?: string | undefined
  group: string[]
  strategy?: string | undefined
  timestamp?: string | undefined
  since?: string | undefined
  mapping?: string | undefined
  topicMapping: string[]
  fromSnapshot?: string | undefined
  snapshotId?: string | undefined
  file?: string | undefined
  strict: boolean
  acceptPlainSnapshot: boolean
  out?: string | undefined
  recipientFile: string[]
  kmsKey: string[]
  newDataKey: boolean
  listen?: string | undefined
  firstId?: string | undefined
  url?: string | undefined
  write: boolean
  generation?: string | undefined
  source?: 'backup' | 'registry' | undefined
  registry?: string | undefined
  against?: string | undefined
  againstPath?: string | undefined
  againstBackupId?: string | undefined
  againstGeneration?: string | undefined
  ids: boolean
  match: string[]
  keep: string[]
  keepLast?: string | undefined
  keepHourly?: string | undefined
  keepDaily?: string | undefined
  keepWeekly?: string | undefined
  keepMonthly?: string | undefined
  keepYearly?: string | undefined
  olderThan?: string | undefined
  grace?: string | undefined
  yes: boolean
  username?: string | undefined
  passwordEnv?: string | undefined
  tlsCert?: string | undefined
  tlsKey?: string | undefined
  tlsCa?: string | undefined
  namespaces: string[]
  allNamespaces: boolean
  apiGroup?: string | undefined
  jobImage?: string | undefined
  jobServiceAccount?: string | undefined
  jobImagePullSecret: string[]
  jobFsGroup?: string | undefined
  metricsAddress?: string | undefined
  metricsPath?: string | undefined
  metrics: boolean
  healthAddress?: string | undefined
  leaderElect: boolean
  leaseName?: string | undefined
  workers?: string | undefined
  progressInterval?: string | undefined
  metricsHold?: string | undefined
  kubeconfig?: string | undefined
  shell?: string | undefined
  action?: string | undefined
  format: 'text' | 'json'
  logFormat: 'text' | 'json'
  verbose: number
  quiet: boolean
  progress: boolean
}

export const config: OptionSpec = {
  name: 'config',
  short: 'c',
  value: { kind: 'file', label: 'file' },
  description: 'the job file (YAML)',
}

export const set: OptionSpec = {
  name: 'set',
  value: { kind: 'text', label: 'key=value' },
  description: 'overrides a field of the job file, such as `--set backup.compression=none`; may be repeated',
  isRepeatable: true,
}

export const path: OptionSpec = {
  name: 'path',
  short: 'p',
  value: { kind: 'folder', label: 'location' },
  description: 'where the backups are: a folder, a `file:///`, `s3://`, `az://` or `gs://` address',
}

export const keyFile: OptionSpec = {
  name: 'key-file',
  value: { kind: 'file', label: 'file' },
  description:
    'a key of an encrypted backup; may be repeated. Otherwise KAFKA_BACKUP_KEY, KAFKA_BACKUP_KEY_FILE, KAFKA_BACKUP_PASSPHRASE or KAFKA_BACKUP_PASSPHRASE_FILE gives one',
  isRepeatable: true,
}

export const backupId: OptionSpec = {
  name: 'backup-id',
  short: 'b',
  value: { kind: 'text', label: 'id' },
  description: 'the name of the backup',
}

export const dryRun: OptionSpec = {
  name: 'dry-run',
  description: 'shows what would be copied and writes nothing',
}

export const shard: OptionSpec = {
  name: 'shard',
  value: { kind: 'text', label: 'i/n' },
  description: 'copies one of n parts of the partitions, counted from 0; `--commit` makes them a backup',
}

export const newIncarnation: OptionSpec = {
  name: 'new-incarnation',
  value: { kind: 'text', label: 'topic' },
  isRepeatable: true,
  description:
    'keeps what is stored of the topic as an older incarnation and copies the topic again from its log start; may be repeated',
}

export const commit: OptionSpec = {
  name: 'commit',
  description: 'commits what all shards have copied',
}

export const report: OptionSpec = {
  name: 'report',
  description: 'keeps the report of the run, as `--format json` prints it, in the storage under `<backup_id>/reports/`',
}

export const deep: OptionSpec = {
  name: 'deep',
  description: 'reads every byte: all hashes, batch checksums, offsets and counts',
}

export const target: OptionSpec = {
  name: 'target',
  value: { kind: 'text', label: 'host:port' },
  description: 'the cluster that was restored to, without security; several brokers with commas between them',
}

export const topic: OptionSpec = {
  name: 'topic',
  value: { kind: 'text', label: 'name' },
  description: 'only this topic, by its name in the backup',
}

export const partition: OptionSpec = {
  name: 'partition',
  value: { kind: 'text', label: 'number' },
  description: 'only this partition of the topic, by its number in the backup',
}

export const offset: OptionSpec = {
  name: 'offset',
  value: { kind: 'text', label: 'number' },
  description: 'where the record at this offset of the partition went',
}

export const generation: OptionSpec = {
  name: 'generation',
  value: { kind: 'text', label: 'number' },
  description: 'this generation of the backup in place of the newest',
}

export const listen: OptionSpec = {
  name: 'listen',
  value: { kind: 'text', label: 'host:port' },
  description: 'where it is reached; port 0 takes any that is free',
  fallback: '127.0.0.1:8081',
}

export const firstId: OptionSpec = {
  name: 'first-id',
  value: { kind: 'text', label: 'number' },
  description: 'the id of the first schema of each context, of a registry that begins empty; 1 where it is not given',
}

const format: OptionSpec = {
  name: 'format',
  short: 'f',
  value: { kind: 'choice', label: 'format', choices: ['text', 'json'] },
  description: 'how the result is printed; `json` is one document on standard output',
  fallback: 'text',
}

const verbose: OptionSpec = {
  name: 'verbose',
  short: 'v',
  description: 'logs more: `-v` what happens and the causes of errors, `-vv` every step',
  isRepeatable: true,
}

const quiet: OptionSpec = {
  name: 'quiet',
  short: 'q',
  description: 'shows only the result and errors: no progress, no warnings while it runs',
}

const noProgress: OptionSpec = { name: 'no-progress', description: 'shows no progress' }

const logFormat: OptionSpec = {
  name: 'log-format',
  value: { kind: 'choice', label: 'format', choices: ['text', 'json'] },
  description: 'how log lines are written to standard error; `json` is one object a line and includes errors',
  fallback: 'text',
}

export const help: OptionSpec = { name: 'help', short: 'h', description: 'shows this help' }

export const version: OptionSpec = { name: 'version', short: 'V', description: 'shows the version' }

/** Every command has these. */
export const commonOptions: readonly OptionSpec[] = [format, verbose, quiet, noProgress, logFormat, help]

/** `-c, --config <file>`, as help and documentation show it. */
export function formatFlags({ name, short, value }: OptionSpec): string {
  const long = value === undefined ? `--${name}` : `--${name} <${value.label}>`
  return short === undefined ? long : `-${short}, ${long}`
}
