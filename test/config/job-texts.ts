import { type Job, parseJob } from '../../src/config/load-job.ts'
import { KafkaBackupError } from '../../src/errors.ts'

export const minimalJob = `mode: backup
backup_id: nightly
source:
  bootstrap_servers: [kafka-1:9092]
  topics:
    include: ['*']
storage:
  backend: filesystem
  path: /backups
`

export interface Given {
  env?: Record<string, string | undefined>
  set?: readonly string[]
}

export function parse(text: string, given: Given = {}): Job {
  return parseJob(text, { source: 'job.yaml', env: given.env ?? {}, set: given.set })
}

/** The lines of the error after its first, free of indentation; fails where the job is accepted. */
export function errorsOf(text: string, given: Given = {}): string[] {
  return errorOf(text, given)
    .message.split('\n')
    .slice(1)
    .map(line => line.trim())
}

export function errorOf(text: string, given: Given = {}): KafkaBackupError {
  try {
    parse(text, given)
  } catch (error) {
    if (error instanceof KafkaBackupError && error.code === 'CONFIG_INVALID') return error
    throw error
  }
  throw new Error('the job was accepted')
}
