import { createHash } from 'node:crypto'
import type { GivenOffset } from '../offsets/given-offsets.ts'

/** In base64url: 36 bits, so that a group that got nothing passes for one of 400 others once in 170 million times. */
export const MARK_CHARS = 6
/** The metadata of an offset has 4096 bytes by default, which the other fields of a note need as well. */
export const MAX_MARKED = 400
const ALL_MARKS = new RegExp(`^([\\w-]{${MARK_CHARS}}){1,${MAX_MARKED}}$`)

/** In place of the last mark where brokers have room for fewer: it shows that groups were left out. */
export const LEFT_OUT = '-'.repeat(MARK_CHARS)

/** Pure. The marks with those of more groups, as far as there is room: what is not marked is reported, not taken for ours. */
export function addMarks(
  marks: string,
  groups: readonly Pick<GivenOffset, 'group' | 'source'>[],
  room = MAX_MARKED,
): string {
  const all = [...new Set([...splitMarks(marks), ...groups.map(markOf)])]
  const kept = all.slice(0, room)
  const isKnown = kept.length === all.length || room === MAX_MARKED || kept.includes(LEFT_OUT)
  return (isKnown ? kept : kept.with(-1, LEFT_OUT)).join('')
}

export function splitMarks(marks: string): string[] {
  return marks.match(new RegExp(`.{${MARK_CHARS}}`, 'g')) ?? []
}

/** By names, which stay the same whichever groups the next run selects. */
export function markOf({ group, source }: Pick<GivenOffset, 'group' | 'source'>): string {
  return createHash('sha256')
    .update(JSON.stringify([source, group]))
    .digest('base64url')
    .slice(0, MARK_CHARS)
}

export function isMarks(text: unknown): boolean {
  return typeof text === 'string' && ALL_MARKS.test(text)
}
