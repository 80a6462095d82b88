import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { HEADER_BYTES } from '../src/batch/header.ts'
import { ZstdReader } from '../src/batch/zstd-reader.ts'

/**
 * The least that a program must do that opens every zstd batch of a backup, as a separate process: a thread for each processor reads batches and
 * unpacks them.
 */
interface Range {
  path: string
  start: number
  bytes: number
}

interface Work {
  ranges: readonly Range[]
  /** How many ranges were taken. */
  taken: Int32Array
}

const RANGE_BYTES = 4 << 20
/** Before the length of a batch, and with it. */
const [OFFSET_BYTES, LENGTH_END] = [8, 12]

if (isMainThread) start(process.argv[2] ?? '.')
else work(workerData)

function start(folder: string): void {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const ranges = names.filter(name => name.endsWith('.log')).flatMap(name => listRanges(join(folder, name)))
  const taken = new Int32Array(new SharedArrayBuffer(4))
  const threads = Math.min(availableParallelism(), 4)
  for (let count = 0; count < threads; count++) {
    new Worker(import.meta.filename, { workerData: { ranges, taken } satisfies Work })
  }
}

/** Of whole batches each. */
function listRanges(path: string): Range[] {
  const file = openSync(path, 'r')
  const head = Buffer.alloc(LENGTH_END)
  const ranges: Range[] = []
  let [start, end] = [0, 0]
  while (readSync(file, head, 0, LENGTH_END, end) === LENGTH_END) {
    end += LENGTH_END + head.readInt32BE(OFFSET_BYTES)
    if (end - start < RANGE_BYTES) continue
    ranges.push({ path, start, bytes: end - start })
    start = end
  }
  closeSync(file)
  return end > start ? [...ranges, { path, start, bytes: end - start }] : ranges
}

function work({ ranges, taken }: Work): void {
  const reader = new ZstdReader()
  let room = Buffer.alloc(2 * RANGE_BYTES)
  for (;;) {
    const range = ranges[Atomics.add(taken, 0, 1)]
    if (!range) return
    if (room.length < range.bytes) room = Buffer.alloc(range.bytes)
    const file = openSync(range.path, 'r')
    readSync(file, room, 0, range.bytes, range.start)
    closeSync(file)
    for (let at = 0; at < range.bytes; ) {
      const end = at + LENGTH_END + room.readInt32BE(at + OFFSET_BYTES)
      if (!reader.read(room.subarray(at + HEADER_BYTES, end)))
        throw new Error(`${range.path} has a batch that is not zstd`)
      at = end
    }
  }
}
