import { createHash } from 'node:crypto'
import type { ResourceSpec } from '../crd/resource.ts'

/** Fields about when, where and how often a run works, and about what happens around it. */
const otherFields: ReadonlySet<string> = new Set([
  ...[
    'schedule',
    'timeZone',
    'suspend',
    'concurrencyPolicy',
    'startingDeadlineSeconds',
    'deletionPolicy',
    'verify',
    'drill',
  ],
  ...['job', 'resources', 'podTemplate', 'parallelism'],
])

/** The same for two specs if a run would do the same with both. */
export function hashSpec(spec: ResourceSpec): string {
  const fields = Object.entries(spec).filter(([name]) => !otherFields.has(name))
  return createHash('sha256')
    .update(JSON.stringify(sorted(Object.fromEntries(fields))))
    .digest('hex')
    .slice(0, 16)
}

/** The API server may return the fields in another order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([name, field]) => [name, sorted(field)]))
}
