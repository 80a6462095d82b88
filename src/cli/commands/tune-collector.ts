import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** In percent of what is in use after a collection. */
const HEAP_GROWTH = 15
/** For objects that may be short-lived. The runtime starts with a megabyte, and bin/kafka-backup.js keeps it from growing. */
const NEW_SPACE_BYTES = 4 << 20
const MAX_ATTEMPTS = 500

/**
 * A run without end shares its machine with others, and its rounds allocate several times what it holds. Collected earlier, its heap stays
 * smaller. With more room for new objects, most of those of a round are gone before they are moved to the heap of the others.
 * `BENCH_PART=continuous make bench` measures what both cost.
 */
export function tuneCollector(): void {
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
}

function newSpaceBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  return space ? space.space_used_size + space.space_available_size : Number.POSITIVE_INFINITY
}
