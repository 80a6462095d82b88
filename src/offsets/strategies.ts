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
