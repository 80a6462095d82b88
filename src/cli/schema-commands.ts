import type { CommandSpec } from './command-spec.ts'
import {
  backupId,
  config,
  dryRun,
  firstId,
  generation,
  keyFile,
  listen,
  type OptionSpec,
  path,
  set,
} from './option-specs.ts'

const job: OptionSpec = {
  ...config,
  description: 'the job file (YAML): of the backup or, for `plan` and `restore`, of the restore',
}

const wouldRestore: OptionSpec = {
  ...dryRun,
  description: '`restore`: shows what would be registered and every blocker, and writes nothing',
}

const source: OptionSpec = {
  name: 'source',
  value: { kind: 'choice', label: 'which', choices: ['backup', 'registry'] },
  description: '`list` and `diff`: which of the two of the job; without it, its backup',
}

const registry: OptionSpec = {
  name: 'registry',
  value: { kind: 'text', label: 'url' },
  description:
    '`list` and `diff`: a registry without a login, in place of a backup; several addresses of it with commas',
}

const against: OptionSpec = {
  name: 'against',
  value: { kind: 'file', label: 'url|file' },
  description: '`diff`: the other side is the registry at this address, or that of this job file',
}

const againstPath: OptionSpec = {
  name: 'against-path',
  value: { kind: 'folder', label: 'location' },
  description: '`diff`: the other side is a backup at this location; without it, where the first one is',
}

const againstBackupId: OptionSpec = {
  name: 'against-backup-id',
  value: { kind: 'text', label: 'id' },
  description: '`diff`: the other side is the backup of this name; without it, of the same name',
}

const againstGeneration: OptionSpec = {
  name: 'against-generation',
  value: { kind: 'text', label: 'number' },
  description: '`diff`: the other side is this generation of the backup',
}

const ids: OptionSpec = { name: 'ids', description: '`diff`: other IDs are differences, too' }

/** Two sides, each a backup or a registry, are all that `diff` knows. */
export const schemasCommand: CommandSpec = {
  name: 'schemas',
  summary: 'back up, plan, restore, list or compare schemas alone',
  description:
    '`backup` reads the schema registry of a job and commits it as a new generation of the backup, with the topics as they were; without a change of the registry it commits none. `plan` shows, before anything is written, what a restore would do and what the registry of the job will not keep. `restore` brings the schemas of a backup to the registry of a job, and changes nothing else. `list` shows the subjects of a backup or of a registry. `diff` compares two sides, each a backup or a registry: versions, texts, references, settings and the number of subjects. Kafka is not contacted.',
  argument: { name: 'action', choices: ['backup', 'plan', 'restore', 'list', 'diff'], description: 'what to do' },
  options: [
    job,
    set,
    wouldRestore,
    path,
    backupId,
    generation,
    keyFile,
    source,
    registry,
    against,
    againstPath,
    againstBackupId,
    againstGeneration,
    ids,
  ],
  examples: [
    { command: 'kafka-backup schemas backup --config job.yaml', meaning: 'the registry of the job, into its backup' },
    { command: 'kafka-backup schemas plan --config restore.yaml', meaning: 'what the registry will not keep' },
    { command: 'kafka-backup schemas restore --config restore.yaml --dry-run', meaning: 'what would be registered' },
    { command: 'kafka-backup schemas restore --config restore.yaml', meaning: 'registers it, or resumes it' },
    { command: 'kafka-backup schemas list --path /backups --backup-id orders', meaning: 'the subjects of a backup' },
    { command: 'kafka-backup schemas list --registry http://localhost:8081', meaning: 'those of a registry' },
    { command: 'kafka-backup schemas diff --config job.yaml', meaning: 'the backup of a job against its registry' },
    {
      command: 'kafka-backup schemas diff --config job.yaml --source registry --against restore.yaml',
      meaning: 'two registries, with the logins of two jobs',
    },
    {
      command: 'kafka-backup schemas diff --registry http://a:8081 --against http://b:8081 --ids',
      meaning: 'two registries, IDs included',
    },
    {
      command: 'kafka-backup schemas diff --path /backups --backup-id orders --generation 3 --against-generation 5',
      meaning: 'what has changed from one backup to another',
    },
  ],
  exits:
    '1 when there is a blocker for `restore`, also for `plan` and `--dry-run`; 3 when `diff` finds a difference, or the backup is damaged; 4 when the target cannot hold all that is restored, and `restore.accept_loss` does not list that kind of loss, also for `plan` and `--dry-run`; 5 when another writer is active; 130 or 143 when interrupted',
  onInterrupt: 'What is registered stays; run the same command again to continue.',
}

const servedJob: OptionSpec = {
  ...config,
  description: 'the job file (YAML) whose backup is served or, for `probe`, whose registry is probed',
}

const url: OptionSpec = {
  name: 'url',
  value: { kind: 'text', label: 'url' },
  description: '`probe`: a registry without a login; several addresses of it with commas',
}

const write: OptionSpec = {
  name: 'write',
  description:
    '`probe`: also registers test schemas in a separate context or under a prefix, and removes them afterwards',
}

const servedPath: OptionSpec = {
  ...path,
  description: 'serves a backup from here: a folder, a `file:///`, `s3://`, `az://` or `gs://` address',
}

const username: OptionSpec = {
  name: 'username',
  value: { kind: 'text', label: 'name' },
  description: 'asks for basic authentication, with the password from the environment',
}

const passwordEnv: OptionSpec = {
  name: 'password-env',
  value: { kind: 'text', label: 'variable' },
  description: 'the environment variable that holds the password of `--username`',
  fallback: 'REGISTRY_PASSWORD',
}

const tlsCert: OptionSpec = {
  name: 'tls-cert',
  value: { kind: 'file', label: 'file' },
  description: 'serves over TLS with this certificate (PEM)',
}

const tlsKey: OptionSpec = {
  name: 'tls-key',
  value: { kind: 'file', label: 'file' },
  description: 'the private key of the certificate (PEM)',
}

const tlsCa: OptionSpec = {
  name: 'tls-ca',
  value: { kind: 'file', label: 'file' },
  description: 'clients must show a certificate that this one (PEM) has signed',
}

export const registryCommand: CommandSpec = {
  name: 'registry',
  summary: 'serve the schemas of a backup, or find out what a registry can do',
  description:
    '`serve` serves a schema registry over the Confluent API until it is stopped. With a backup it serves the schemas of the backup, read-only and straight from the archive, so that consumers can decode while the real registry is gone. Without one it is a registry in memory for tests and drills, which keeps nothing when it ends: subjects and versions, references, contexts, IMPORT and the other modes, soft and hard deletes, and the compatibility of Avro schemas. `probe` shows which features a registry has, and so what a restore into it keeps. It only reads, unless `--write` lets it try the rest: in a context of its own or, where there are no contexts, in subjects with a prefix of their own. It removes these afterwards, but every schema may use up an ID of the registry for good.',
  argument: { name: 'action', choices: ['serve', 'probe'], description: 'what to do' },
  options: [
    url,
    write,
    servedPath,
    backupId,
    servedJob,
    set,
    generation,
    keyFile,
    listen,
    firstId,
    username,
    passwordEnv,
    tlsCert,
    tlsKey,
    tlsCa,
  ],
  examples: [
    {
      command: 'kafka-backup registry serve --path /backups --backup-id orders',
      meaning: 'the schemas of a backup, at http://127.0.0.1:8081',
    },
    {
      command: 'kafka-backup registry serve --config job.yaml --listen 0.0.0.0:8081 --username reader',
      meaning: 'for others, with the password in REGISTRY_PASSWORD',
    },
    { command: 'kafka-backup registry serve', meaning: 'an empty one in memory' },
    {
      command: 'kafka-backup registry serve --listen 127.0.0.1:8082 --first-id 1001',
      meaning: 'a second one, with other IDs',
    },
    { command: 'kafka-backup registry probe --url http://localhost:8081', meaning: 'what can be seen by reading' },
    {
      command: 'kafka-backup registry probe --config restore.yaml --write',
      meaning: 'all of it, on the registry of a job; uses up schema IDs',
    },
  ],
  exits:
    '0 also when `serve` is stopped by a signal; 3 when the backup is damaged; 4 when `probe --write` could not remove all that it wrote',
  onInterrupt: 'Nothing is kept: a served registry forgets what was registered, and a probe removes what it wrote.',
  stopsAtOnce: true,
}
