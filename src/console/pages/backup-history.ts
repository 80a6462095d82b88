import { listGenerations } from '../../archive/catalog.ts'
import type { Description } from '../../archive/describe.ts'
import { type GenerationListing, listGenerationsOf } from '../../archive/generations.ts'
import { type RecoveryWindow, readRecoveryWindows } from '../../archive/recovery-window.ts'
import { formatBytes } from '../../lib/units.ts'
import type { Storage } from '../../storage/storage.ts'
import { type Html, nothing } from '../html.ts'
import { type BackupPlace, backupLink } from '../links.ts'
import { showTimeline, spanOf, type TimeSpan } from './time-axis.ts'
import { plural } from './words.ts'

/** A drawing of more tells nothing more. */
const MAX_MARKS = 500

export interface History {
  place: BackupPlace
  description: Description
  listing: GenerationListing
}

/** The numbers of all generations, which takes a listing only. */
export function generationsOf(storage: Storage, backupId: string, signal: AbortSignal): Promise<number[]> {
  return listGenerations(storage, backupId, signal)
}

const GENERATIONS = 60

/** Reads several generations of a backup. */
export async function readHistory(
  storage: Storage,
  backupId: string,
  signal: AbortSignal,
): Promise<{ windows: Map<string, RecoveryWindow>; listing: GenerationListing }> {
  const windows = await readRecoveryWindows(storage, backupId, signal)
  return { windows, listing: await listGenerationsOf(storage, backupId, { limit: GENERATIONS }, signal) }
}

/** From the oldest state that can be restored to the newest, with all gaps. */
export function axisOf({ description, listing }: History): TimeSpan {
  const windows = description.topics.flatMap(({ recovery_window }) => recovery_window ?? [])
  return spanOf([
    ...windows.flatMap(({ oldest, newest }) => [Date.parse(oldest.created_at), Date.parse(newest.created_at)]),
    ...description.topics.flatMap(({ gaps }) => gaps.map(({ found_at }) => Date.parse(found_at))),
    ...listing.generations.flatMap(one => ('error' in one ? [] : [Date.parse(one.created_at)])),
  ])
}

/** Pure. Generations, what they hold, and gaps over time. */
export function showHistory({ place, description, listing }: History): Html {
  const points = listing.generations.flatMap(one =>
    'error' in one
      ? []
      : [
          {
            atMs: Date.parse(one.created_at),
            value: one.stored_bytes,
            kind: one.complete ? ('good' as const) : ('warn' as const),
            link: backupLink({ ...place, generation: one.generation }),
            label: `Generation ${one.generation}, ${one.created_at}, ${one.complete ? 'complete' : 'incomplete'}, ${formatBytes(one.stored_bytes)}`,
          },
        ],
  )
  const gaps = description.topics.flatMap(({ selector, gaps }) =>
    gaps.map(gap => ({
      atMs: Date.parse(gap.found_at),
      label: `Gap in ${selector}/${gap.partition} from offset ${gap.from} (${gap.reason})`,
    })),
  )
  const shown = gaps.slice(0, MAX_MARKS)
  if (points.length === 0) return nothing
  const growth = `${plural(points.length, 'generation')}; stored bytes grow to ${formatBytes(Math.max(...points.map(one => one.value)))}; ${plural(gaps.length, 'gap')}`
  return showTimeline(points, shown, growth)
}
