import type { CommandSpec } from './command-spec.ts'
import { backupId, config, dryRun, generation, keyFile, listen, type OptionSpec, path, set } from './option-specs.ts'

const firstId: OptionSpec = {
  name: 'first-id',
  value: { kind: 'text', label: 'number' },
  description: 'the first schema ID of each context in an empty registry; default 1',
}

const job: OptionSpec = {
  ...config,
  description: 'the job file (YAML): a backup job, or a restore job for `plan` and `restore`',
}

const wouldRestore: OptionSpec = {
  ...dryRun,
  description: '`restore`: show what would be registered and every blocker; write nothing',
}

const source: OptionSpec = {
  name: 'source',
  value: { kind: 'choice', label: 'which', choices: ['backup', 'registry'] },
  description: '`list` and `diff`: use the backup or the registry of the job; default: its backup',
}

const registry: OptionSpec = {
  name: 'registry',
  value: { kind: 'text', label: 'url' },
  description: '`list` and `diff`: a registry without a login, instead of a backup; separate several URLs with commas',
}

const against: OptionSpec = {
  name: 'against',
  value: { kind: 'file', label: 'url|file' },
  description: '`diff`: compare with the registry at this URL, or with the registry of this job file',
}

const againstPath: OptionSpec = {
  name: 'against-path',
  value: { kind: 'folder', label: 'location' },
  description: '`diff`: compare with a backup at this location; default: the location of the first backup',
}

const againstBackupId: OptionSpec = {
  name: 'against-backup-id',
  value: { kind: 'text', label: 'id' },
  description: '`diff`: compare with the backup of this name; default: the same name',
}

const againstGeneration: OptionSpec = {
  name: 'against-generation',
  value: { kind: 'text', label: 'number' },
  description: '`diff`: compare with this generation of the backup',
}

const ids: OptionSpec = { name: 'ids', description: '`diff`: also report different IDs' }

export const schemasCommand: CommandSpec = {
  name: 'schemas',
  summary: 'back up, plan, restore, list or compare schemas only',
  description:
    'Back up, plan, restore, list or compare schemas without connecting to Kafka. `backup` reads the schema registry of a job and, if it has changed, commits it as a new generation of the backup with unchanged topics. `plan` shows what a restore would do, and what the target registry cannot store. `restore` registers the schemas of a backup in the registry of a job, and changes nothing else. `list` shows the subjects of a backup or of a registry. `diff` compares two backups or registries: versions, texts, references, settings and the number of subjects.',
  argument: { name: 'action', choices: ['backup', 'plan', 'restore', 'list', 'diff'], description: 'the action' },
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
    { command: 'kafka-backup schemas backup --config job.yaml', meaning: 'add the registry of the job to its backup' },
    { command: 'kafka-backup schemas plan --config restore.yaml', meaning: 'show what the registry cannot store' },
    {
      command: 'kafka-backup schemas restore --config restore.yaml --dry-run',
      meaning: 'show what would be registered',
    },
    { command: 'kafka-backup schemas restore --config restore.yaml', meaning: 'start or resume the restore' },
    {
      command: 'kafka-backup schemas list --path /backups --backup-id orders',
      meaning: 'list the subjects of a backup',
    },
    {
      command: 'kafka-backup schemas list --registry http://localhost:8081',
      meaning: 'list the subjects of a registry',
    },
    {
      command: 'kafka-backup schemas diff --config job.yaml',
      meaning: 'compare the backup of a job with its registry',
    },
    {
      command: 'kafka-backup schemas diff --config job.yaml --source registry --against restore.yaml',
      meaning: 'compare two registries with the logins of two jobs',
    },
    {
      command: 'kafka-backup schemas diff --registry http://a:8081 --against http://b:8081 --ids',
      meaning: 'compare two registries, including IDs',
    },
    {
      command: 'kafka-backup schemas diff --path /backups --backup-id orders --generation 3 --against-generation 5',
      meaning: 'show what changed between two generations',
    },
  ],
  exits:
    '1 if there is a blocker for `restore`, also with `plan` and `--dry-run`; 3 if `diff` finds a difference, or the backup is damaged; 4 if the target cannot store everything, and `restore.accept_loss` does not list that kind of loss, also with `plan` and `--dry-run`; 5 if another writer is active; 130 or 143 if interrupted',
  onInterrupt: 'What was committed or registered is kept; run the same command again to continue.',
  readOnlyActions: ['plan', 'list', 'diff'],
}

const servedJob: OptionSpec = {
  ...config,
  description: 'the job file (YAML) with the backup to serve or, for `probe`, the registry to probe',
}

const url: OptionSpec = {
  name: 'url',
  value: { kind: 'text', label: 'url' },
  description: '`probe`: a registry without a login; separate several URLs with commas',
}

const write: OptionSpec = {
  name: 'write',
  description:
    '`probe`: also register test schemas in a separate context or under a prefix, and remove them afterwards',
}

const servedPath: OptionSpec = {
  ...path,
  description: 'location of the backup to serve: a folder, or a `file:///`, `s3://`, `az://` or `gs://` URL',
}

const username: OptionSpec = {
  name: 'username',
  value: { kind: 'text', label: 'name' },
  description: 'require basic authentication, with the password from the environment',
}

const passwordEnv: OptionSpec = {
  name: 'password-env',
  value: { kind: 'text', label: 'variable' },
  description: 'environment variable with the password of `--username`',
  fallback: 'REGISTRY_PASSWORD',
}

const tlsCert: OptionSpec = {
  name: 'tls-cert',
  value: { kind: 'file', label: 'file' },
  description: 'serve over TLS with this certificate (PEM)',
}

const tlsKey: OptionSpec = {
  name: 'tls-key',
  value: { kind: 'file', label: 'file' },
  description: 'private key of the certificate (PEM)',
}

const tlsCa: OptionSpec = {
  name: 'tls-ca',
  value: { kind: 'file', label: 'file' },
  description: 'require client certificates signed by this CA (PEM)',
}

export const registryCommand: CommandSpec = {
  name: 'registry',
  summary: 'serve the schemas of a backup, or probe the features of a registry',
  description:
    'Serve the schemas of a backup, or probe the features of a registry. `serve` runs a schema registry with the Confluent API until it is stopped. With a backup, it serves the schemas of the backup read-only from the archive, so consumers can decode records while the real registry is unavailable. Without a backup, it is an empty registry in memory for tests and drills, with subjects and versions, references, contexts, IMPORT and the other modes, soft and hard deletes, and compatibility checks of Avro schemas. `probe` shows which features a registry has, and therefore what a restore into it keeps. It only reads, unless you pass `--write`: it then registers test schemas in a separate context or, if the registry has no contexts, in subjects with a prefix. It removes these afterwards, but every schema may permanently use up an ID of the registry.',
  argument: { name: 'action', choices: ['serve', 'probe'], description: 'the action' },
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
      meaning: 'serve the schemas of a backup at http://127.0.0.1:8081',
    },
    {
      command: 'kafka-backup registry serve --config job.yaml --listen 0.0.0.0:8081 --username reader',
      meaning: 'serve other machines, with the password in REGISTRY_PASSWORD',
    },
    { command: 'kafka-backup registry serve', meaning: 'serve an empty registry in memory' },
    {
      command: 'kafka-backup registry serve --listen 127.0.0.1:8082 --first-id 1001',
      meaning: 'serve a second registry with other IDs',
    },
    { command: 'kafka-backup registry probe --url http://localhost:8081', meaning: 'probe without writing' },
    {
      command: 'kafka-backup registry probe --config restore.yaml --write',
      meaning: 'probe all features of the registry of a job; uses up schema IDs',
    },
  ],
  exits:
    '0 also if `serve` is stopped by a signal; 3 if the backup is damaged; 4 if `probe --write` could not remove all test schemas',
  onInterrupt:
    'Nothing is kept: schemas registered in a served registry are lost, and a probe removes its test schemas.',
  stopsAtOnce: true,
}
