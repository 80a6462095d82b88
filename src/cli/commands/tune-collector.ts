import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Hooks } from '../../jobs/parts.ts'
import type { OnProgress } from '../../observe/progress.ts'

/** In percent of what is in use after a collection. */
const HEAP_GROWTH = 15
/** For objects that may be short-lived. The runtime starts with a megabyte, and bin/kafka-backup.js keeps it from growing. */
const NEW_SPACE_BYTES = 4 << 20
const MAX_ATTEMPTS = 500
/** What a round may leave behind: this part of what was in use, and no less than so many bytes. */
const ROUND_GROWTH = 0.25
const MIN_ROUND_BYTES = 12 << 20

/**
 * A run without end shares its machine with others, and its rounds allocate several times what it holds. Collected earlier, its heap stays
 * smaller. With more room for new objects, most of those of a round are gone before they are moved to the heap of the others.
 * `BENCH_PART=continuous make bench` measures what both cost. Returns the hooks for the run.
 */
export function tuneCollector(hooks: Hooks): Hooks {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH}`)
  // Each thread that helps would fill its own pages of the old heap.
  setFlagsFromString('--no-parallel-scavenge')
  setFlagsFromString('--semi-space-growth-factor=2')
  // It grows when objects survive a collection.
  const survivors: number[][] = []
  for (let attempt = 0; attempt < MAX_ATTEMPTS && newSpaceBytes() < 0.9 * NEW_SPACE_BYTES; attempt++) {
    for (let i = 0; i < 64; i++) survivors.push(new Array(128).fill(i))
  }
  setFlagsFromString('--semi-space-growth-factor=1')
  const collect = collectBetweenRounds()
  const onProgress: OnProgress = event => {
    hooks.onProgress(event)
    collect(event)
  }
  return { ...hooks, onProgress }
}

/**
 * The runtime collects while the program continues, and lets the heap grow by up to 32 MB more than it should meanwhile. A round of many partitions
 * allocates as much, and all of it is garbage at its end, so the heap is collected before the next one. Within a round little of it is.
 */
function collectBetweenRounds(): OnProgress {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  let leastBytes = Number.POSITIVE_INFINITY
  return ({ type }) => {
    if (type !== 'round') return
    const usedBytes = getHeapStatistics().used_heap_size
    leastBytes = Math.min(leastBytes, usedBytes)
    if (usedBytes - leastBytes < Math.max(MIN_ROUND_BYTES, ROUND_GROWTH * leastBytes)) return
    collect()
    leastBytes = getHeapStatistics().used_heap_size
  }
}

function newSpaceBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  return space ? space.space_used_size + space.space_available_size : Number.POSITIVE_INFINITY
}
