import type { Condition } from '../crd/status.ts'

/** A condition without its type and times. */
export type Verdict = Pick<Condition, 'status' | 'reason' | 'message'>

export function yes(reason: string, message: string): Verdict {
  return { status: 'True', reason, message }
}

export function no(reason: string, message: string): Verdict {
  return { status: 'False', reason, message }
}

export function unknown(reason: string, message: string): Verdict {
  return { status: 'Unknown', reason, message }
}
