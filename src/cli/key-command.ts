import type { CommandSpec } from './command-spec.ts'
import { backupId, config, keyFile, path, set } from './option-specs.ts'

export const keyCommand: CommandSpec = {
  name: 'key',
  summary: 'make keys for encrypted backups, show who opens one, and change that',
  description:
    '`new` makes a key, in a file that only its owner can read or on standard output. `list` shows the data keys of an encrypted backup and the keys that open it, and needs none. `rewrap` makes the recipients of the job, or those of `--recipient-file`, the only ones that open the backup; it needs a key that opens it today, and rewrites no data.',
  argument: { name: 'action', choices: ['new', 'list', 'rewrap'], description: 'what to do' },
  options: [
    {
      name: 'out',
      value: { kind: 'file', label: 'file' },
      description: '`new`: the file to make; it must not exist',
    },
    { ...config, description: 'the job file (YAML), in place of `--path` and `--backup-id`' },
    set,
    path,
    backupId,
    {
      ...keyFile,
      description:
        '`rewrap`: a key that opens the backup today; may be repeated. Otherwise the environment or the job gives one',
    },
    {
      name: 'kms-key',
      value: { kind: 'text', label: 'arn' },
      description: '`rewrap`: a key of AWS KMS that opens the backup today; may be repeated',
      isRepeatable: true,
    },
    {
      name: 'recipient-file',
      value: { kind: 'file', label: 'file' },
      description:
        '`rewrap`: a key that is to open the backup from now on, in place of those of the job; may be repeated',
      isRepeatable: true,
    },
    {
      name: 'new-data-key',
      description: '`rewrap`: encrypts what is written from now on with another data key',
    },
  ],
  examples: [
    { command: 'kafka-backup key new --out backup.key', meaning: 'a key for `encryption.recipients`' },
    { command: 'kafka-backup key list --path /backups --backup-id orders', meaning: 'who opens a backup' },
    {
      command: 'kafka-backup key rewrap --config job.yaml --key-file old.key',
      meaning: 'from the old key to the recipients of the job',
    },
    {
      command:
        'kafka-backup key rewrap --path /backups --backup-id orders --key-file old.key --recipient-file new.key --recipient-file spare.key',
      meaning: 'the same without a job',
    },
  ],
  exits: '5 when another process changed the keys meanwhile',
  onInterrupt: 'The keys of before still open the backup; run the same command again.',
}
