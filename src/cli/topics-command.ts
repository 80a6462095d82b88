import type { CommandSpec } from './command-spec.ts'
import { backupId, config, keyFile, path, set } from './option-specs.ts'

/** Versions of the KafkaTopic resource; Strimzi 1.0 and later know the first one only. */
export const strimziVersions = ['kafka.strimzi.io/v1', 'kafka.strimzi.io/v1beta2'] as const

export const topicsCommand: CommandSpec = {
  name: 'topics',
  summary: 'print the topics of a restore as KafkaTopic resources for Strimzi',
  description:
    'Prints one KafkaTopic for each topic that a restore makes, with its partitions, replicas and settings as they are when it is done. For clusters whose topics an operator or a Git repository owns. Reads the backup alone, and no cluster.',
  options: [
    {
      ...config,
      description: 'the job file (YAML) of the restore, with its selection and mapping, in place of `--path`',
    },
    set,
    path,
    backupId,
    keyFile,
    {
      name: 'strimzi-cluster',
      value: { kind: 'text', label: 'name' },
      description: 'the name of the Kafka resource that the topics belong to',
      isRequired: true,
    },
    {
      name: 'namespace',
      short: 'n',
      value: { kind: 'text', label: 'name' },
      description: 'the namespace of the resources; without it `kubectl` decides',
    },
    {
      name: 'strimzi-api',
      value: { kind: 'choice', label: 'version', choices: strimziVersions },
      description: 'the version of the resources',
      fallback: strimziVersions[0],
    },
  ],
  examples: [
    {
      command: 'kafka-backup topics --config restore.yaml --strimzi-cluster prod > topics.yaml',
      meaning: 'to apply when the restore is done',
    },
    {
      command: 'kafka-backup topics --path /backups --backup-id orders --strimzi-cluster prod -n kafka > topics.yaml',
      meaning: 'all topics of a backup, for a Git repository',
    },
  ],
  exits: '3 when the backup is damaged',
  onInterrupt: 'Nothing was changed; run the same command again.',
  stopsAtOnce: true,
}
