import type { DrillOptions } from './drill-options.ts'

/** The kind of a value, for the parser, the help, the shell completion and the documentation. */
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
  /** The environment variable with the default, unless there is a `--config`. */
  variable?: string
  isRequired?: true
  /** Collects the values of all occurrences; without a value, counts the occurrences. */
  isRepeatable?: true
  /** The field with the collected values, for an option that other commands accept once. */
  plural?: 'paths' | 'configs' | 'backupIds' | 'namespaces' | 'topics'
}

/** The values of all options of all commands; options that a command does not have keep their defaults. */
export interface CommandOptions extends DrillOptions {
  config?: string | undefined
  set: string[]
  acls?: string | undefined
  storage: boolean
  path?: string | undefined
  keyFile: string[]
  backupId?: string | undefined
  /** Instead of the single values, in commands that accept several. */
  configs: string[]
  paths: string[]
  backupIds: string[]
  from?: string | undefined
  listener?: string | undefined
  protocol?: string | undefined
  mechanism?: string | undefined
  include: string[]
  exclude: string[]
  schedule?: string | undefined
  interval?: string | undefined
  every?: string | undefined
  notify: boolean
  nagios: boolean
  watch: boolean
  check: boolean
  to?: string | undefined
  fromConfig?: string | undefined
  toConfig?: string | undefined
  all: boolean
  verifyExisting: boolean
  decrypt: boolean
  deep: boolean
  record: boolean
  dryRun: boolean
  probe: boolean
  probeTarget: boolean
  shard?: string | undefined
  newIncarnation: string[]
  commit: boolean
  prepare: boolean
  shards?: string | undefined
  finish: boolean
  report: boolean
  target?: string | undefined
  strimziCluster?: string | undefined
  strimziApi?: string | undefined
  namespace?: string | undefined
  topic?: string | undefined
  partition?: string | undefined
  offset?: string | undefined
  fromOffset?: string | undefined
  toOffset?: string | undefined
  until?: string | undefined
  key?: string | undefined
  header: string[]
  keyPrefix?: string | undefined
  text?: string | undefined
  where: string[]
  count: boolean
  requireMatch: boolean
  newest?: string | undefined
  as?: string | undefined
  overwrite: boolean
  allIncarnations: boolean
  keepFormulas: boolean
  withAborted: boolean
  print?: string | undefined
  keyAs?: string | undefined
  valueAs?: string | undefined
  context?: string | undefined
  bootstrapServer?: string | undefined
  group: string[]
  strategy?: string | undefined
  timestamp?: string | undefined
  since?: string | undefined
  mapping?: string | undefined
  topicMapping: string[]
  fromSnapshot?: string | undefined
  snapshotId?: string | undefined
  snapshotAs?: string | undefined
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
  asOf?: string | undefined
  generations: boolean
  release: boolean
  reason?: string | undefined
  limit?: string | undefined
  source?: 'backup' | 'registry' | undefined
  registry?: string | undefined
  against?: string | undefined
  againstPath?: string | undefined
  againstBackupId?: string | undefined
  againstGeneration?: string | undefined
  ids: boolean
  match: string[]
  keep: string[]
  keepGenerations: string[]
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
  tokenEnv?: string | undefined
  allowedHost: string[]
  namespaces: string[]
  allNamespaces: boolean
  apiGroup?: string | undefined
  jobImage?: string | undefined
  jobServiceAccount?: string | undefined
  jobImagePullSecret: string[]
  jobFsGroup?: string | undefined
  jobResources?: string | undefined
  jobPodDefaults?: string | undefined
  metricsAddress?: string | undefined
  metricsPath?: string | undefined
  metrics: boolean
  healthAddress?: string | undefined
  leaderElect: boolean
  leaseName?: string | undefined
  workers?: string | undefined
  progressInterval?: string | undefined
  metricsHold?: string | undefined
  metricsTlsCert?: string | undefined
  metricsTlsKey?: string | undefined
  metricsAuth: boolean
  kubeconfig?: string | undefined
  resource: string[]
  follow: boolean
  tail?: string | undefined
  run?: string | undefined
  wait: boolean
  shell?: string | undefined
  /** Of the command line that is being completed. */
  word: string[]
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
  description: 'override a field of the job file, such as `--set backup.compression=none`; repeatable',
  isRepeatable: true,
}

export const path: OptionSpec = {
  name: 'path',
  short: 'p',
  value: { kind: 'folder', label: 'location' },
  description: 'location of the backups: a folder, or a `file:///`, `s3://`, `az://` or `gs://` URL',
}

/** For commands that remove nothing. */
export const usualPath: OptionSpec = { ...path, variable: 'KAFKA_BACKUP_LOCATION' }

export const keyFile: OptionSpec = {
  name: 'key-file',
  value: { kind: 'file', label: 'file' },
  description:
    'a key to decrypt the backup; repeatable. Alternatives: KAFKA_BACKUP_KEY, KAFKA_BACKUP_KEY_FILE, KAFKA_BACKUP_PASSPHRASE or KAFKA_BACKUP_PASSPHRASE_FILE',
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
  description: 'show what would be copied; write nothing',
}

export const jobInPlaceOfBackup: OptionSpec = {
  ...config,
  description: 'the job file (YAML), instead of `--path` and `--backup-id`',
}

export const report: OptionSpec = {
  name: 'report',
  description:
    'store the report of the run (the output of `--format json`) in the storage under `<backup_id>/reports/`',
}

export const deep: OptionSpec = {
  name: 'deep',
  description: 'read every byte, and check all hashes, batch checksums, offsets and counts',
}

export const target: OptionSpec = {
  name: 'target',
  value: { kind: 'text', label: 'host:port' },
  description: 'bootstrap servers of the restored cluster, without security; separate several with commas',
}

export const topic: OptionSpec = {
  name: 'topic',
  value: { kind: 'text', label: 'name' },
  description: 'only this topic, by its name in the backup',
}

export const partition: OptionSpec = {
  name: 'partition',
  value: { kind: 'text', label: 'number' },
  description: 'only this partition of each topic, by its number in the backup',
}

export const offset: OptionSpec = {
  name: 'offset',
  value: { kind: 'text', label: 'number' },
  description: 'only the record at this source offset',
}

export const generation: OptionSpec = {
  name: 'generation',
  value: { kind: 'text', label: 'number' },
  description: 'this generation of the backup instead of the latest',
}

export const asOf: OptionSpec = {
  name: 'as-of',
  value: { kind: 'text', label: 'time' },
  description:
    'the newest complete generation committed by this time, such as `2026-01-31T08:00:00Z`, instead of `--generation`',
}

export const listen: OptionSpec = {
  name: 'listen',
  value: { kind: 'text', label: 'host:port' },
  description: 'address to listen on; port 0 selects a free port',
  fallback: '127.0.0.1:8081',
}
