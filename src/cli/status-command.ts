import type { CommandSpec } from './command-spec.ts'
import { shownLocations } from './location-options.ts'
import { locationsOperand } from './operands.ts'

export const statusCommand: CommandSpec = {
  name: 'status',
  summary: 'show whether all backups are fresh, intact and proven',
  description:
    'Show one row for each backup at the locations: its age against the expected interval, the last verification and drill, gaps, size and growth, and what to do next. The expected interval is `--interval`, `monitoring.expected_interval` of the job, or else the usual time between its commits. A commit is late after 1.25 times and stale after twice this time. It reads only, except with `--notify`.',
  operands: [locationsOperand],
  options: [
    ...shownLocations,
    {
      name: 'interval',
      value: { kind: 'text', label: 'duration' },
      description: 'how often every backup is expected to commit, such as `24h`; default: that of its job',
    },
    { name: 'notify', description: 'post stale backups to the webhooks of the jobs of `--config`' },
    { name: 'nagios', description: 'print one line with performance data, with the exit codes of Nagios plugins' },
    { name: 'watch', description: 'refresh the status until it is stopped' },
    {
      name: 'every',
      value: { kind: 'text', label: 'duration' },
      description: 'the time between two readings of `--watch`',
      fallback: '60s',
    },
  ],
  examples: [
    { command: 'kafka-backup status /backups s3://backups/kafka', meaning: 'show all backups at two locations' },
    {
      command: 'kafka-backup status --config job.yaml --notify --quiet',
      meaning: 'run hourly: post to the webhooks of the job if its backup is stale',
    },
    {
      command: 'kafka-backup status /backups --interval 24h --nagios',
      meaning: 'use as a plugin of Nagios, Icinga or Zabbix',
    },
  ],
  exits:
    '1 also if a location or a backup cannot be read, because access is denied, the store does not answer or a newer version wrote it; 3 if a backup is damaged or its last drill failed; 4 if a backup is stale, late, incomplete, dated in the future or has new gaps, if the last run could not read a part, if the backup of a job is missing, if the result of a verification or drill cannot be read, or if a location has no backups; with `--nagios`: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN',
  onInterrupt: 'Nothing was changed; run the same command again.',
  stopsAtOnce: true,
}
