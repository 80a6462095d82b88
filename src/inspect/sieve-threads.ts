import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { BatchHeader } from '../batch/header.ts'
import { type Needle, Sieve, type Verdict } from './sieve.ts'
import type { SiftAnswer, SiftTask } from './sieve-worker.ts'

/** Next to this file: as source, compiled, and in the bundle of the program. */
const workerFile = new URL(`./sieve-worker${extname(import.meta.filename)}`, import.meta.url)

/** Beyond four, the thread that reads and checks is what the others wait for. */
const MAX_THREADS = 4
/** A thread makes few objects that last; where there is room for more, they wait longer for the collector. */
const YOUNG_MB = 2
/** Starting threads takes longer than searching this much. */
const SMALL_BYTES = 16 << 20
/** Larger memory is not kept for the next task. */
const MAX_KEPT_BYTES = 8 << 20
const MEMORY_STEP_BYTES = 1 << 20

/** Says of batches whether records of them may be wanted: ahead, while the caller works with others. */
export interface Sifting {
  /** How many calls keep it busy. */
  readonly width: number
  /** A batch without a verdict has to be opened in the usual way. It never fails. */
  sift(bytes: Buffer, headers: readonly BatchHeader[]): Promise<readonly (Verdict | undefined)[]>
  /** Ends the threads. Calls under way end without verdicts. */
  close(): void
}

/** With threads if there are processors for them and the batches have enough bytes. `threads` counts the one of the caller. */
export function openSifting(
  needles: readonly Needle[],
  totalBytes: number,
  threads = Math.min(MAX_THREADS, availableParallelism()),
): Sifting {
  const sieve = new Sieve(needles)
  if (threads > 1 && totalBytes > SMALL_BYTES) return new SieveThreads(needles, sieve, threads - 1)
  return {
    width: 1,
    sift: async (bytes, headers) => headers.map(header => sieve.siftBatch(bytes, header)),
    close: () => undefined,
  }
}

interface Waiting {
  count: number
  memory: SharedArrayBuffer
  thread: Thread
  resolve(verdicts: readonly (Verdict | undefined)[]): void
}

interface Thread {
  worker: Worker
  load: number
  hasEnded: boolean
}

/** So many tasks wait for a thread while the caller has something else to do. */
const MAX_LOAD = 2

/** Threads that share the work with the one of the caller. Each has a decoder and memory for one batch. */
class SieveThreads implements Sifting {
  readonly width: number
  readonly #needles: readonly Needle[]
  readonly #own: Sieve
  readonly #count: number
  /** Started with the first task. */
  #threads: readonly Thread[] | undefined
  readonly #waiting = new Map<number, Waiting>()
  /** Not in use at the moment. It is shared, because the collectors of both threads would count what is sent to and fro. */
  readonly #memory: SharedArrayBuffer[] = []
  #tasks = 0
  #isClosed = false

  constructor(needles: readonly Needle[], own: Sieve, threads: number) {
    this.width = MAX_LOAD * threads + 1
    this.#needles = needles
    this.#own = own
    this.#count = threads
  }

  async sift(bytes: Buffer, headers: readonly BatchHeader[]): Promise<readonly (Verdict | undefined)[]> {
    this.#threads ??= Array.from({ length: this.#count }, () => this.#start())
    const [thread] = this.#threads.filter(({ hasEnded }) => !hasEnded).toSorted((a, b) => a.load - b.load)
    const [first, last] = [headers[0], headers.at(-1)]
    if (this.#isClosed || !first || !last) return headers.map(() => undefined)
    if (!thread || thread.load >= MAX_LOAD) return headers.map(header => this.#own.siftBatch(bytes, header))
    const length = last.position + last.sizeBytes - first.position
    const memory = this.#takeMemory(length)
    bytes.copy(new Uint8Array(memory), 0, first.position, first.position + length)
    const task: SiftTask = {
      task: this.#tasks++,
      memory,
      positions: headers.map(({ position }) => position - first.position),
    }
    const { promise, resolve } = Promise.withResolvers<readonly (Verdict | undefined)[]>()
    this.#waiting.set(task.task, { count: headers.length, memory, thread, resolve })
    if (thread.load++ === 0) thread.worker.ref()
    thread.worker.postMessage(task)
    return promise
  }

  close(): void {
    this.#isClosed = true
    for (const thread of this.#threads ?? []) {
      this.#end(thread)
      void thread.worker.terminate()
    }
  }

  #start(): Thread {
    const worker = new Worker(workerFile, {
      workerData: this.#needles,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    })
    const thread: Thread = { worker, load: 0, hasEnded: false }
    worker.unref()
    worker.on('message', (answer: SiftAnswer) => this.#settle(answer))
    worker.on('error', () => this.#end(thread))
    worker.on('exit', () => this.#end(thread))
    return thread
  }

  #settle({ task, verdicts }: SiftAnswer): void {
    const waiting = this.#waiting.get(task)
    this.#waiting.delete(task)
    if (!waiting) return
    if (waiting.memory.byteLength <= MAX_KEPT_BYTES) this.#memory.push(waiting.memory)
    if (--waiting.thread.load === 0) waiting.thread.worker.unref()
    waiting.resolve(verdicts)
  }

  /** What waits for the thread gets no verdicts: the caller then opens the batches, which is slower and finds the same. */
  #end(thread: Thread): void {
    thread.hasEnded = true
    for (const [task, { thread: own, count, resolve }] of this.#waiting) {
      if (own !== thread) continue
      this.#waiting.delete(task)
      resolve(Array.from({ length: count }, () => undefined))
    }
  }

  #takeMemory(bytes: number): SharedArrayBuffer {
    const known = this.#memory.pop()
    if (known && known.byteLength >= bytes) return known
    return new SharedArrayBuffer(Math.ceil(bytes / MEMORY_STEP_BYTES) * MEMORY_STEP_BYTES)
  }
}
