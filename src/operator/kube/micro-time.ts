import { formatUtc } from '../../lib/clock.ts'

/** The API server takes exactly six digits behind the second. */
export function formatMicroTime(ms: number): string {
  return formatUtc(ms).replace('Z', '000Z')
}
