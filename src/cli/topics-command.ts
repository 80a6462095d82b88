import { type CommandSpec, NOTHING_CHANGED } from './command-spec.ts'
import { backupIdOperand } from './operands.ts'
import { backupId, config, keyFile, set, usualPath } from './option-specs.ts'

/** Versions of the KafkaTopic resource; Strimzi 1.0 and later support only the first one. */
const strimziVersions = ['kafka.strimzi.io/v1', 'kafka.strimzi.io/v1beta2'] as const

export const topicsCommand: CommandSpec = {
  name: 'topics',
  summary: 'print the topics of a restore as KafkaTopic resources for Strimzi',
  description:
    'Print one KafkaTopic for each topic that a restore creates, with its partitions, replicas and settings after the restore. Use it for clusters whose topics are managed by Strimzi or in a Git repository. It reads only the backup, and does not connect to a cluster.',
  operands: [backupIdOperand],
  options: [
    {
      ...config,
      description: 'the job file (YAML) of the restore, with its selection and mapping, instead of `--path`',
    },
    set,
    usualPath,
    backupId,
    keyFile,
    {
      name: 'strimzi-cluster',
      value: { kind: 'text', label: 'name' },
      description: 'name of the Kafka resource of the topics',
      isRequired: true,
    },
    {
      name: 'namespace',
      short: 'n',
      value: { kind: 'text', label: 'name' },
      description: 'namespace of the resources; default: the namespace of `kubectl`',
    },
    {
      name: 'strimzi-api',
      value: { kind: 'choice', label: 'version', choices: strimziVersions },
      description: 'version of the resources',
      fallback: strimziVersions[0],
    },
  ],
  examples: [
    {
      command: 'kafka-backup topics --config restore.yaml --strimzi-cluster prod > topics.yaml',
      meaning: 'apply the file after the restore',
    },
    {
      command: 'kafka-backup topics --path /backups --backup-id orders --strimzi-cluster prod -n kafka > topics.yaml',
      meaning: 'print all topics of a backup, for a Git repository',
    },
  ],
  exits: '3 if the backup is damaged',
  onInterrupt: NOTHING_CHANGED,
  stopsAtOnce: true,
}
