import type { CommandSpec } from './command-spec.ts'
import { backupId, config, keyFile, path, set } from './option-specs.ts'

export const keyCommand: CommandSpec = {
  name: 'key',
  summary: 'create keys, and list and change the keys that can decrypt a backup',
  description:
    'Create keys, and list and change the keys that can decrypt a backup. `new` writes a key to a file that only its owner can read, or to standard output. `list` shows the data keys of an encrypted backup and the keys that can decrypt it, and needs no key. `rewrap` makes the recipients of the job, or those of `--recipient-file`, the only ones that can decrypt the backup; it needs a current key, and rewrites no data.',
  argument: { name: 'action', choices: ['new', 'list', 'rewrap'], description: 'the action' },
  options: [
    {
      name: 'out',
      value: { kind: 'file', label: 'file' },
      description: '`new`: the file to create; it must not exist',
    },
    { ...config, description: 'the job file (YAML), instead of `--path` and `--backup-id`' },
    set,
    path,
    backupId,
    {
      ...keyFile,
      description: '`rewrap`: a current key of the backup; repeatable. Alternatives: the environment or the job',
    },
    {
      name: 'kms-key',
      value: { kind: 'text', label: 'arn' },
      description: '`rewrap`: an AWS KMS key that is a current key of the backup; repeatable',
      isRepeatable: true,
    },
    {
      name: 'recipient-file',
      value: { kind: 'file', label: 'file' },
      description: '`rewrap`: a new key of the backup, instead of the recipients of the job; repeatable',
      isRepeatable: true,
    },
    {
      name: 'new-data-key',
      description: '`rewrap`: encrypt everything written from now on with a new data key',
    },
  ],
  examples: [
    { command: 'kafka-backup key new --out backup.key', meaning: 'create a key for `encryption.recipients`' },
    {
      command: 'kafka-backup key list --path /backups --backup-id orders',
      meaning: 'list the keys that can decrypt a backup',
    },
    {
      command: 'kafka-backup key rewrap --config job.yaml --key-file old.key',
      meaning: 'replace the old key with the recipients of the job',
    },
    {
      command:
        'kafka-backup key rewrap --path /backups --backup-id orders --key-file old.key --recipient-file new.key --recipient-file spare.key',
      meaning: 'replace it without a job file',
    },
  ],
  exits: '5 if another process changed the keys at the same time',
  onInterrupt:
    'Either the previous or the new keys can decrypt the backup (`key list` shows which); run the same command again.',
  readOnlyActions: ['list'],
}
