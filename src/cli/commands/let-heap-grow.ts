import { setFlagsFromString } from 'node:v8'
import type { Hooks } from '../../jobs/parts.ts'
import type { OnProgress } from '../../observe/progress.ts'

/** With many partitions, what each of them keeps would fill the space for new objects, which then grows. */
const FEW_PARTITIONS = 100

/** As V8 does it without the flags of bin/kafka-backup.js, for work that keeps little and would collect it all the time. */
export function letHeapGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
  setFlagsFromString('--heap-growing-percent=0')
}

/** Lets the heap grow when the plan has few partitions. */
export function letHeapGrowForFew(hooks: Hooks): Hooks {
  const onProgress: OnProgress = event => {
    if (event.type === 'planned' && event.partitions <= FEW_PARTITIONS) letHeapGrow()
    hooks.onProgress(event)
  }
  return { ...hooks, onProgress }
}
