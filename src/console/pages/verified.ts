import { describeDrills, failedDrillOf, type LastDrills } from '../../archive/drill-record.ts'
import { damageOf, describeVerifications, type LastVerifications } from '../../archive/verification.ts'
import { type Html, html } from '../html.ts'
import { badge } from './words.ts'

/** Pure. When a backup was last verified, and with which result. */
export function showVerified(verified: LastVerifications, nowMs: number): Html {
  const { last_verification: last } = verified
  if (!last) return html`<span class="none">never</span>`
  const text = describeVerifications(verified, nowMs)
  if (damageOf(verified)) return html`${badge('bad', 'damaged')} ${text}`
  return 'error' in last ? badge('warn', text) : html`${text}`
}

/** Pure. When a drill last restored the backup, and with which result. */
export function showDrilled(drilled: LastDrills, nowMs: number): Html {
  const { last_drill: last } = drilled
  if (!last) return html`<span class="none">never</span>`
  const text = describeDrills(drilled, nowMs)
  if (failedDrillOf(drilled)) return html`${badge('bad', 'failed')} ${text}`
  return 'error' in last ? badge('warn', text) : html`${text}`
}

/** Pure. What was never verified comes before everything else. */
export function verifiedOrder({ verified: { last_verification: last } }: { verified: LastVerifications }): string {
  return last && 'finished_at' in last ? last.finished_at : ''
}
