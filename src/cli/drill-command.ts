import type { CommandSpec } from './command-spec.ts'
import { chosenState, locationOption } from './location-options.ts'
import { backupId, config, type OptionSpec, target, topic, usualPath } from './option-specs.ts'

export const DEFAULT_SCRATCH_PREFIX = 'kafka-backup-drill.'

const job: OptionSpec = {
  ...config,
  description: 'the job file (YAML) of a restore, instead of `--path`, `--backup-id` and `--target`',
}

const evidence = locationOption(
  'evidence',
  location =>
    `location that the evidence is written to, other than that of the backup: ${location}; default: the folder of the backup; for \`verify\`, the folder of one drill; default: the newest one in the folder of the backup`,
)

const topics: OptionSpec = {
  ...topic,
  isRepeatable: true,
  plural: 'topics',
  description: 'only this topic, by its name in the backup, or a pattern; repeatable',
}

const sample: OptionSpec = {
  name: 'sample',
  value: { kind: 'text', label: 'percent' },
  description:
    'only this share of the offsets of every partition, in one stretch at a random place, such as `5`; not with `--newest`',
}

const newest: OptionSpec = {
  name: 'newest',
  value: { kind: 'text', label: 'duration' },
  description: 'only records of this time before the generation was committed, such as `6h`',
}

const scratchPrefix: OptionSpec = {
  name: 'scratch-prefix',
  value: { kind: 'text', label: 'text' },
  description: 'prefix of the names of all topics that the drill creates',
  fallback: DEFAULT_SCRATCH_PREFIX,
}

const signingKey: OptionSpec = {
  name: 'signing-key',
  value: { kind: 'file', label: 'file' },
  description: 'an ed25519 private key (PEM) to sign the evidence with',
}

const publicKey: OptionSpec = {
  name: 'public-key',
  value: { kind: 'file', label: 'file' },
  description: 'for `verify`: the ed25519 public key (PEM) that the evidence must be signed with',
}

const noSchemas: OptionSpec = {
  name: 'no-schemas',
  description: 'do not restore the schemas of the backup to an embedded registry',
}

const noRecord: OptionSpec = {
  name: 'no-record',
  description: 'do not store the result with the backup, where `list`, `describe` and the console show it',
}

export const drillCommand: CommandSpec = {
  name: 'drill',
  summary: 'prove that a backup can be restored',
  description:
    'Restore a part of a backup to new topics of a cluster, compare every record, measure the recovery time, delete these topics by their IDs, and write evidence: a JSON document, a text and an HTML report, and a signature. Topics that the drill did not create are never touched. Schemas go to a registry in memory. `drill verify` checks the signature and the reports of a drill.',
  argument: { name: 'action', choices: ['run', 'verify'], description: 'the action', fallback: 'run' },
  options: [
    ...[job, usualPath, backupId, target, ...chosenState],
    ...[evidence, topics, sample, newest, scratchPrefix, signingKey, publicKey, noSchemas, noRecord],
  ],
  examples: [
    {
      command: 'kafka-backup drill --config restore.yaml --evidence /drills --signing-key drill.key',
      meaning: 'restore everything, compare it, and sign the evidence',
    },
    {
      command:
        'kafka-backup drill --path /backups --backup-id orders --target kafka:9092 --evidence /drills --newest 24h',
      meaning: 'restore the records of the last day before the commit',
    },
    {
      command: 'kafka-backup drill verify --config restore.yaml --public-key drill.pub',
      meaning: 'check the newest evidence in the folder of the backup',
    },
    {
      command:
        'kafka-backup drill verify --evidence /drills/orders/drills/20260131t080000000z-0123456789abcdef --public-key drill.pub',
      meaning: 'check who signed the evidence, and that it was not changed',
    },
  ],
  exits:
    '1 if nothing was proven; 3 if the restored records differ, the backup is damaged, or `verify` finds a wrong signature or a changed report; 4 if everything is proven, but topics of the drill are left on the target; 5 if another drill of the backup uses the same evidence location; 130 or 143 if interrupted',
  onInterrupt:
    'The drill deletes the topics that it created. What it could not delete is listed above; the next drill of the backup with the same evidence location deletes it.',
  readOnlyActions: ['verify'],
}
