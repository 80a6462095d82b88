import type { Hooks } from '../../jobs/parts.ts'
import { formatCount } from '../../lib/units.ts'
import type { Session } from '../session.ts'

/** Runs a job with progress output, and logs its request counts at the end. */
export async function watchJob<T>(
  session: Session,
  { label, preparing }: { label: string; preparing: string },
  work: (hooks: Hooks) => Promise<T>,
): Promise<T> {
  const requests: Record<string, number> = {}
  const count = (name: string) => {
    requests[name] = (requests[name] ?? 0) + 1
  }
  const onRequest = session.log.has('info') ? { onRequest: count } : {}
  const onStorageCall: Hooks['onStorageCall'] = call => session.outcome.onStorageCall(call)
  try {
    return await session.withProgress(label, preparing, onProgress => work({ onProgress, onStorageCall, ...onRequest }))
  } finally {
    const counts = Object.entries(requests).map(([name, times]) => `${name} ${formatCount(times)}`)
    session.log.write('info', `requests to Kafka: ${counts.join(', ') || 'none'}`, { requests })
  }
}
