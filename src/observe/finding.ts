/** Something that stands in the way, or should be known, before the first write. */
export interface Finding {
  severity: 'error' | 'warning'
  /** What it is about: `topic orders`, `group …`, `object …`. */
  subject: string
  problem: string
  /** Empty where the problem says it. */
  remedy: string
  /** Where it is more than a target that does not fit. */
  code?: 'ARCHIVE_DAMAGED' | 'KAFKA_DENIED'
}

export function topicError(topic: string, problem: string, remedy: string): Finding {
  return { severity: 'error', subject: `topic ${topic}`, problem, remedy }
}

export function topicWarning(topic: string, problem: string, remedy: string): Finding {
  return { severity: 'warning', subject: `topic ${topic}`, problem, remedy }
}

export function describeFinding({ subject, problem, remedy }: Finding): string {
  return remedy === '' ? `${subject}: ${problem}` : `${subject}: ${problem} (${remedy})`
}
