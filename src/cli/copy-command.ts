import type { CommandSpec } from './command-spec.ts'
import { backupId, dryRun, keyFile, type OptionSpec } from './option-specs.ts'

const from: OptionSpec = {
  name: 'from',
  value: { kind: 'folder', label: 'location' },
  description: 'where the backup is: a folder, a `file:///`, `s3://`, `az://` or `gs://` address',
}

const to: OptionSpec = {
  name: 'to',
  value: { kind: 'folder', label: 'location' },
  description: 'where it goes: a folder, a `file:///`, `s3://`, `az://` or `gs://` address',
}

const fromConfig: OptionSpec = {
  name: 'from-config',
  value: { kind: 'file', label: 'file' },
  description: 'a job file (YAML) whose `storage` is the source, in place of `--from`; its `backup_id` is the default',
}

const toConfig: OptionSpec = {
  name: 'to-config',
  value: { kind: 'file', label: 'file' },
  description:
    'a job file (YAML) whose `storage` is the target, in place of `--to`; with `encryption` in it the copy is encrypted so',
}

const backupIds: OptionSpec = {
  ...backupId,
  description: 'the name of the backup; may be repeated',
  isRepeatable: true,
  plural: 'backupIds',
}

const all: OptionSpec = { name: 'all', description: 'all backups at the source' }

const generation: OptionSpec = {
  name: 'generation',
  value: { kind: 'text', label: 'number' },
  description: 'only this generation, or `newest`, in place of all that the target lacks',
}

const decrypt: OptionSpec = {
  name: 'decrypt',
  description: 'makes a copy of an encrypted backup that is not encrypted',
}

const verifyExisting: OptionSpec = {
  name: 'verify-existing',
  description: 'reads what is at the target already, too, and compares its hashes',
}

export const copyCommand: CommandSpec = {
  name: 'copy',
  summary: 'copy backups from one location to another',
  description:
    'Copies backups between any two locations and compares every object with the hash that the backup has of it. Kafka is not contacted. The copy of an encrypted backup has the same keys, unless the job of the target or `--decrypt` says otherwise. What the target holds is not copied again: run it again to resume an interrupted copy, or to copy what is new. A generation appears at the target when all that it names is there.',
  options: [from, fromConfig, to, toConfig, backupIds, all, generation, verifyExisting, keyFile, decrypt, dryRun],
  examples: [
    {
      command: 'kafka-backup copy --from /backups --to s3://offsite/kafka --backup-id orders',
      meaning: 'a second copy elsewhere, or what is new of it',
    },
    {
      command: 'kafka-backup copy --from-config old.yaml --to-config new.yaml --all',
      meaning: 'all backups, between stores that need more than an address',
    },
    {
      command: 'kafka-backup copy --from s3://backups --to ./drill --backup-id orders --generation newest',
      meaning: 'the newest state alone',
    },
  ],
  exits:
    '3 when something is damaged, and the rest was copied; 5 when the target holds another backup of that name; 130 or 143 when interrupted',
  onInterrupt: 'What was copied stays; run the same command to continue.',
  stopsAtOnce: true,
}
