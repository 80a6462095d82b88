export interface Row {
  name: string
  /** What is compared, as a person would say it. */
  measure: string
  value: number
  unit: 'ratio' | 'MB' | 's' | 'requests' | 'requests/partition' | 'writes' | 'objects' | 'bytes' | 'ms'
  /** At most; absent where the figure is only told. */
  limit?: number
  /** At least. */
  least?: number
  detail: Record<string, number>
}

export function isMissed({ value, limit, least }: Row): boolean {
  return value > (limit ?? Number.POSITIVE_INFINITY) || value < (least ?? Number.NEGATIVE_INFINITY)
}

export function formatGoal({ limit, least }: Row): string {
  if (limit !== undefined) return `≤ ${limit}`
  return least === undefined ? '' : `≥ ${least}`
}
