import { type StatusLevel, worst } from '../../archive/status-finding.ts'
import { oneLine } from '../../lib/one-line.ts'
import { plural } from '../text.ts'
import type { LocationStatus } from './location-status.ts'

/** Of the plugins of Nagios and its successors. */
export const nagiosCodes: Record<StatusLevel, number> = { ok: 0, warning: 1, critical: 2 }
export const NAGIOS_UNKNOWN = 3

/** Pure. Undefined for UNKNOWN: a location cannot be read. It must not hide what is critical at another one. */
export function nagiosStateOf(found: readonly LocationStatus[]): StatusLevel | undefined {
  const known = worst(found.flatMap(one => ('error' in one ? [] : [one.level])))
  return known === 'critical' || found.every(one => !('error' in one)) ? known : undefined
}

/** Pure. One line: `KAFKA_BACKUP WARNING - 2 backups: orders: … | orders_age=120s;…`. */
export function formatNagios(found: readonly LocationStatus[]): string {
  const all = found.flatMap(one =>
    'error' in one ? [] : one.backups.map(backup => ({ ...backup, location: one.location })),
  )
  const isAmbiguous = (id: string) => all.filter(({ backup_id }) => backup_id === id).length > 1
  const backups = all.map(backup => {
    const { backup_id, location } = backup
    return { ...backup, name: isAmbiguous(backup_id) ? `${backup_id}@${location}` : backup_id }
  })
  const unread = found.flatMap(one => ('error' in one ? [`${one.location}: ${one.error}`] : []))
  const empty = found.flatMap(one =>
    'backups' in one && one.backups.length === 0 ? [`no backups at ${one.location}`] : [],
  )
  const troubles = backups.flatMap(({ name, findings }) =>
    findings.filter(({ level }) => level !== 'notice').map(({ message }) => `${name}: ${message}`),
  )
  const state = (nagiosStateOf(found) ?? 'unknown').toUpperCase()
  const text = [plural(backups.length, 'backup'), ...unread, ...empty, ...troubles].map(inOneLine).join('; ')
  const data = backups.flatMap(({ name, age_seconds, stored_bytes, gaps }) => {
    const label = labelOf(name)
    const age = age_seconds === null ? [] : [`'${label}_age'=${age_seconds}s`]
    return stored_bytes === null ? [] : [...age, `'${label}_stored'=${stored_bytes}B`, `'${label}_gaps'=${gaps}`]
  })
  return `KAFKA_BACKUP ${state} - ${text}${data.length === 0 ? '' : ` | ${data.join(' ')}`}`
}

/** Plugins allow no equals sign in a label, and a quote only as two. */
function labelOf(name: string): string {
  return inOneLine(name).replaceAll('=', '_').replaceAll("'", "''")
}

/** Pure. Where nothing is known of any backup. */
export function formatUnknown({ message }: Error): string {
  return `KAFKA_BACKUP UNKNOWN - ${inOneLine(message)}`
}

/** What follows a bar is performance data. */
function inOneLine(text: string): string {
  return oneLine(text, Number.POSITIVE_INFINITY).replaceAll('|', ' ')
}
