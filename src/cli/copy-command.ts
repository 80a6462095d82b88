import type { CommandSpec } from './command-spec.ts'
import { locationOption } from './location-options.ts'
import { backupId, dryRun, keyFile, type OptionSpec } from './option-specs.ts'

const from = locationOption('from', location => `source location: ${location}`)
const to = locationOption('to', location => `target location: ${location}`)

const fromConfig: OptionSpec = {
  name: 'from-config',
  value: { kind: 'file', label: 'file' },
  description: 'a job file (YAML) with the source as `storage`, instead of `--from`; its `backup_id` is the default',
}

const toConfig: OptionSpec = {
  name: 'to-config',
  value: { kind: 'file', label: 'file' },
  description:
    'a job file (YAML) with the target as `storage`, instead of `--to`; its `encryption` applies to the copy',
}

const backupIds: OptionSpec = {
  ...backupId,
  description: 'the name of the backup; repeatable',
  isRepeatable: true,
  plural: 'backupIds',
}

const all: OptionSpec = { name: 'all', description: 'copy all backups at the source' }

const generation: OptionSpec = {
  name: 'generation',
  value: { kind: 'text', label: 'number' },
  description: 'only this generation, or `newest`, instead of all that the target lacks',
}

const decrypt: OptionSpec = {
  name: 'decrypt',
  description: 'write an unencrypted copy of an encrypted backup',
}

const verifyExisting: OptionSpec = {
  name: 'verify-existing',
  description: 'also read existing objects at the target and compare their hashes',
}

export const copyCommand: CommandSpec = {
  name: 'copy',
  summary: 'copy backups from one location to another',
  description:
    'Copy backups between any two locations, and check every object against its hash in the backup. It does not connect to Kafka. A copy of an encrypted backup has the same keys, unless the target job has other ones or you pass `--decrypt`. Objects that the target already has are not copied again: run it again to resume an interrupted copy, or to copy what is new. A generation becomes visible at the target when all its objects are copied.',
  options: [from, fromConfig, to, toConfig, backupIds, all, generation, verifyExisting, keyFile, decrypt, dryRun],
  examples: [
    {
      command: 'kafka-backup copy --from /backups --to s3://offsite/kafka --backup-id orders',
      meaning: 'create or update a second copy',
    },
    {
      command: 'kafka-backup copy --from-config old.yaml --to-config new.yaml --all',
      meaning: 'copy all backups between stores that need settings',
    },
    {
      command: 'kafka-backup copy --from s3://backups --to ./drill --backup-id orders --generation newest',
      meaning: 'copy only the latest generation',
    },
  ],
  exits:
    '1 also if `--all` finds no backup; 3 if something is damaged, and the rest was copied; 5 if the target has another backup with that name; 130 or 143 if interrupted',
  onInterrupt: 'Copied objects are kept; run the same command to continue.',
  stopsAtOnce: true,
}
