import { createHash } from 'node:crypto'
import { compactMinute, compactTime } from './times.ts'

/** Keys are unique among the runs of a resource, and the same thing to do has the same key for ever. */
export const onceKey = 'once'

export const deleteKey = 'delete'

export function generationKey(generation: number): string {
  return `generation-${generation}`
}

/** Whether it is the key of a continuous run. */
export function isGenerationKey(run: string): boolean {
  return run.startsWith(generationKey(0).slice(0, -1))
}

export function scheduledKey(dueMs: number): string {
  return `scheduled-${compactMinute(dueMs)}`
}

export function triggerKey(value: string): string {
  return `trigger-${createHash('sha256').update(value).digest('hex').slice(0, 10)}`
}

export function verifyKey(of: string): string {
  return `verify-${of}`
}

export function drillKey(of: string): string {
  return `drill-${of}`
}

/** Of the first try `delete`, of one that was asked for after a failure the trigger is in it. */
export function deleteAgainKey(value: string): string {
  return `delete-${triggerKey(value)}`
}

/** What precedes the key of a scheduled run. */
export type KeyPrefix = '' | 'verify-' | 'drill-'

/** The time in the key of a scheduled run. */
export function dueOfKey(run: string, prefix: KeyPrefix): number | undefined {
  const match = /^scheduled-(\d{4})(\d\d)(\d\d)t(\d\d)(\d\d)z$/.exec(
    run.startsWith(prefix) ? run.slice(prefix.length) : '',
  )
  if (!match) return undefined
  const [, year, month, day, hour, minute] = match
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:00Z`)
  return Number.isNaN(ms) ? undefined : ms
}

/** Of a KafkaBackupStorage: the validation that follows the last one, or that a trigger asks for. */
export function validationKey(generation: number, lastMs: number | undefined, trigger: string | undefined): string {
  const why = trigger === undefined ? (lastMs === undefined ? 'first' : compactTime(lastMs)) : triggerKey(trigger)
  return `validation-${generation}-${why}`
}

/** The generation of the spec that a validation is about. */
export function validationGeneration(run: string): number | undefined {
  const match = /^validation-(\d+)-/.exec(run)
  return match ? Number(match[1]) : undefined
}
