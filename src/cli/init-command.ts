import type { CommandSpec } from './command-spec.ts'
import { backupId, type OptionSpec, usualPath } from './option-specs.ts'

const file = { kind: 'file', label: 'file' } as const
const text = (label: string) => ({ kind: 'text', label }) as const

const connectionOptions: readonly OptionSpec[] = [
  {
    name: 'bootstrap-server',
    value: text('host:port'),
    description: 'brokers of the cluster; separate several with commas',
  },
  {
    name: 'from',
    value: file,
    description:
      'read the connection from `client.properties` of the Java clients, a configuration of kcat, or a `Kafka` resource of Strimzi (also with its `KafkaUser`), or translate a job file of OSO kafka-backup',
  },
  { name: 'listener', value: text('name'), description: 'the listener of the Strimzi resource' },
  {
    name: 'protocol',
    value: { kind: 'choice', label: 'protocol', choices: ['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'] },
    description:
      'security protocol of the listener; default: `SASL_SSL` with a login, `SSL` with a TLS file, otherwise `PLAINTEXT`',
  },
  {
    name: 'mechanism',
    value: {
      kind: 'choice',
      label: 'mechanism',
      choices: ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER', 'AWS_MSK_IAM'],
    },
    description: 'the SASL mechanism; OAUTHBEARER needs `--from`',
  },
  { name: 'username', value: text('name'), description: 'the user of PLAIN and SCRAM' },
  {
    name: 'password-env',
    value: text('variable'),
    description: 'environment variable with the password; the job file refers to it',
    fallback: 'KAFKA_PASSWORD',
  },
  { name: 'tls-ca', value: file, description: 'CA certificates to verify the brokers with (PEM)' },
  { name: 'tls-cert', value: file, description: 'client certificate (PEM)' },
  { name: 'tls-key', value: file, description: 'private key of the client certificate (PEM)' },
]

export const initCommand: CommandSpec = {
  name: 'init',
  summary: 'write a job file for a backup, step by step',
  description:
    'Connect to a cluster, show its topics with sizes and missing permissions, propose what to back up, where and how often, check the job, and write a commented job file. On a terminal it asks for what the options leave open, with a proposal for each answer. Without a terminal, or with `--yes`, it takes the proposals; `--bootstrap-server` or `--from`, and `--path`, are then required. A job file of OSO kafka-backup is translated to one of this program, and every field that has no counterpart is listed. The file never holds a secret: it refers to environment variables, and the command shows which to set. An existing file is not replaced without `--overwrite`.',
  options: [
    ...connectionOptions,
    {
      name: 'include',
      value: text('pattern'),
      description: 'topics to back up, by name or with `*` and `?`; repeatable. Default: all',
      isRepeatable: true,
    },
    {
      name: 'exclude',
      value: text('pattern'),
      description: 'topics to leave out; repeatable. Default: topics that are derived from others, if there are any',
      isRepeatable: true,
    },
    usualPath,
    { ...backupId, description: 'the name of the backup; default: `kafka`' },
    {
      name: 'schedule',
      value: text('schedule'),
      description:
        '`hourly`, `daily`, `continuous`, `once`, or five fields of cron; default: often enough for the shortest retention of the topics',
    },
    {
      name: 'out',
      value: file,
      description:
        'the job file to write; `-` prints it instead. Default: `backup.yaml`, or `restore.yaml` for a restore',
    },
    { name: 'overwrite', description: 'replace an existing file' },
    { name: 'no-check', description: 'write the file without connecting to the cluster and the storage' },
    { name: 'yes', short: 'y', description: 'take the proposals without asking' },
  ],
  examples: [
    { command: 'kafka-backup init', meaning: 'answer questions' },
    {
      command: 'kafka-backup init --from client.properties --path s3://backups/kafka --yes',
      meaning: 'take the connection from a client and every proposal',
    },
    {
      command: 'kafka-backup init --from oso-backup.yaml --no-check --out -',
      meaning: 'translate a job of OSO kafka-backup and print it',
    },
    {
      command:
        'kafka-backup init --bootstrap-server kafka:9093 --mechanism SCRAM-SHA-512 --username backup --tls-ca ca.pem --path /backups --include orders --out -',
      meaning: 'print a job file',
    },
  ],
  exits: '4 if the file was written and a check failed',
  onInterrupt: 'No file was written.',
  stopsAtOnce: true,
}
