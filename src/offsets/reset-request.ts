import type { OffsetMapping } from './mapping.ts'
import type { Origin } from './origin.ts'
import type { PositionSelection } from './select-groups.ts'

/** What a reset is asked for, complete for its strategy. */
export type ResetRequest = { selection: PositionSelection } & (
  | { strategy: Extract<Strategy, 'earliest' | 'latest'> }
  | { strategy: 'timestamp'; timestampMs: bigint }
  | { strategy: 'offset'; offset: bigint }
  | { strategy: 'from_backup'; origin: Origin }
  /** The origin is needed where the mapping has runs. */
  | { strategy: 'from_mapping'; mapping: OffsetMapping; origin?: Origin | undefined }
  | HeaderRequest
)

export interface HeaderRequest {
  strategy: 'header_based'
  origin: Origin
  /** Topics of the source that have another name on this cluster. */
  topicMapping: ReadonlyMap<string, string>
  sinceMs?: bigint | undefined
}

export type PlainRequest = Extract<ResetRequest, { strategy: 'earliest' | 'latest' | 'timestamp' | 'offset' }>

/** Where the positions of a reset come from. */
export const strategies = [
  'earliest',
  'latest',
  'timestamp',
  'offset',
  'header_based',
  'from_backup',
  'from_mapping',
] as const

export type Strategy = (typeof strategies)[number]
