import type { CelRule, FieldGroup, FieldSchema } from './field-schema.ts'

const cronNames = ['@hourly', '@daily', '@weekly', '@monthly', '@yearly']

/** The list of one field of a cron expression: values, and ranges that may have a step. */
function cronField(value: string, step: string): string {
  const range = `(?:(?:[*]|${value}-${value})(?:/(?:${step}))?|${value})`
  return `${range}(?:,${range})*`
}

const minute = cronField('[0-5]?[0-9]', '[1-5]?[1-9]|[1-5]0')
const hour = cronField('(?:[01]?[0-9]|2[0-3])', '[1-9]|1[0-9]|2[0-3]')
const dayOfMonth = cronField('(?:0?[1-9]|[12][0-9]|3[01])', '[1-9]|[12][0-9]|3[01]')
const month = cronField('(?:0?[1-9]|1[0-2]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)', '[1-9]|1[0-2]')
const dayOfWeek = cronField('(?:[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)', '[1-7]')

/** Five fields, or one of the names. Case does not matter. */
export const schedulePattern = `^(?i:${cronNames.join('|')}|${[minute, hour, dayOfMonth, month, dayOfWeek].join(' +')})$`

export function scheduleField(description: string): FieldSchema {
  return {
    description: `${description} Cron of five fields (minute, hour, day of month, month, day of week) or ${cronNames.join(', ')}.`,
    type: 'string',
    maxLength: 100,
    'x-kubernetes-validations': [
      {
        rule: `self.matches('${schedulePattern}')`,
        message: `not a valid schedule: use five cron fields (minute hour day-of-month month day-of-week), such as "0 2 * * *" for every night at two, or one of ${cronNames.join(', ')}; a schedule has no seconds, years or time zones`,
      },
    ],
  }
}

export function parallelismField(description: string): FieldSchema {
  return { description, type: 'integer', format: 'int32', minimum: 1, maximum: 128, default: 1 }
}

const isContinuous = 'has(self.backup) && has(self.backup.continuous) && self.backup.continuous'

/** A continuous backup has one run that never ends. */
const whileContinuous: CelRule[] = [
  {
    rule: `!(has(self.schedule) && ${isContinuous})`,
    message: 'a continuous backup needs no schedule: remove schedule, or set backup.continuous to false',
    fieldPath: '.schedule',
  },
  {
    rule: `!(self.mode == 'full' && ${isContinuous})`,
    message: 'a continuous backup is incremental: set mode to incremental, or backup.continuous to false',
    fieldPath: '.mode',
  },
  {
    rule: `!(self.parallelism > 1 && ${isContinuous})`,
    message: 'a continuous backup runs in one pod: set parallelism to 1, or backup.continuous to false',
    fieldPath: '.parallelism',
  },
  {
    rule: `!(has(self.verify) && ${isContinuous})`,
    message:
      'a continuous backup cannot be verified between runs: remove verify, or set backup.continuous to false and add a schedule',
    fieldPath: '.verify',
  },
  {
    rule: `!(has(self.job.activeDeadlineSeconds) && ${isContinuous})`,
    message: 'a deadline would end a continuous backup: remove job.activeDeadlineSeconds',
    fieldPath: '.job.activeDeadlineSeconds',
  },
]

/** When a backup runs, and what a run is. */
export const scheduleFields: FieldGroup = {
  properties: {
    schedule: scheduleField(
      'When the backup runs. Without it the backup runs once, or continuously if `backup.continuous` is true.',
    ),
    timeZone: {
      description: 'Time zone of the schedules: a name of the IANA database such as Europe/Vienna. Default: UTC.',
      type: 'string',
      maxLength: 64,
      'x-kubernetes-validations': [
        {
          rule: "self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$') && self != 'Local' && timestamp('2026-01-01T00:00:00Z').getFullYear(self) > 0",
          message: 'not a valid time zone: use a name of the IANA database, such as Europe/Vienna or UTC',
        },
      ],
    },
    mode: {
      description:
        '`incremental`: every run continues the same backup. `full`: every run creates a separate backup, named after its scheduled time.',
      type: 'string',
      enum: ['incremental', 'full'],
      default: 'incremental',
    },
    concurrencyPolicy: {
      description:
        'What happens when a run is due and the previous one is still active: `Forbid` skips the new run, `Replace` stops the old one, `Allow` runs both, which requires `mode: full`.',
      type: 'string',
      enum: ['Forbid', 'Replace', 'Allow'],
      default: 'Forbid',
    },
    startingDeadlineSeconds: {
      description:
        'How late a scheduled run may start, for example after downtime of the operator. Without it the latest missed run starts, however late.',
      type: 'integer',
      format: 'int64',
      minimum: 10,
      maximum: 31_536_000,
    },
    parallelism: parallelismField(
      'Number of pods that share the work of a run. With more than one, a last pod commits their parts as one backup.',
    ),
    verify: {
      description: 'Verifies backups after every successful run, or on a separate schedule. Never while a backup runs.',
      type: 'object',
      properties: {
        schedule: scheduleField('When to verify. Default: after every successful run.'),
        deep: {
          description:
            'Reads and checks every byte. Otherwise checks objects, their sizes and the continuity of offsets.',
          type: 'boolean',
          default: false,
        },
      },
    },
    deletionPolicy: {
      description:
        'What happens to the backups in the store when this resource is deleted: `Retain` keeps them, `Delete` deletes them first: the one of `mode: incremental`, or all of `mode: full`.',
      type: 'string',
      enum: ['Retain', 'Delete'],
      default: 'Retain',
    },
  },
  required: [],
  rules: [
    {
      rule: '!has(self.timeZone) || has(self.schedule) || (has(self.verify) && has(self.verify.schedule)) || has(self.drill)',
      message: 'timeZone has no effect without a schedule: add schedule, verify.schedule or drill, or remove timeZone',
      fieldPath: '.timeZone',
    },
    {
      rule: '!has(self.startingDeadlineSeconds) || has(self.schedule)',
      message:
        'startingDeadlineSeconds has no effect without a schedule: add schedule, or remove startingDeadlineSeconds',
      fieldPath: '.startingDeadlineSeconds',
    },
    {
      rule: "self.concurrencyPolicy != 'Allow' || self.mode == 'full'",
      message:
        'Allow requires mode full, because two runs cannot write to one incremental backup: use Forbid or Replace, or set mode to full',
      fieldPath: '.concurrencyPolicy',
    },
    ...whileContinuous,
  ],
}
