import type { CommandSpec } from './command-spec.ts'
import { backupId, type OptionSpec } from './option-specs.ts'

const from: OptionSpec = {
  name: 'from',
  value: { kind: 'folder', label: 'location' },
  isRequired: true,
  description:
    'location of the archives of OSO kafka-backup: a folder, or a `file:///`, `s3://`, `az://` or `gs://` URL',
}

const to: OptionSpec = {
  name: 'to',
  value: { kind: 'folder', label: 'location' },
  isRequired: true,
  description: 'location of the new backup',
}

export const importCommand: CommandSpec = {
  name: 'import',
  summary: 'import an archive of OSO kafka-backup',
  description:
    'Read an archive of OSO kafka-backup, check every segment, and write its records with their offsets to a new backup. The report lists what the archive had already lost, such as transactions and topic IDs; `describe` shows it again. The archive is only read.',
  options: [from, { ...backupId, isRequired: true }, to],
  examples: [
    {
      command: 'kafka-backup import --from s3://old-backups/prod --backup-id orders --to s3://backups/prod',
      meaning: 'import one archive',
    },
  ],
  exits:
    '1 also if there is no such archive; 3 if its manifest cannot be read; 4 if segments were missing or damaged, and the rest is imported',
  onInterrupt: 'No backup was committed. `kafka-backup delete` removes what was written.',
}
