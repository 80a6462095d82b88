import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'

/** Next to this file: as source, compiled, and in the bundle of the program. */
const workerFile = new URL(`./sieve-worker${extname(import.meta.filename)}`, import.meta.url)

/** Beyond four, the thread of the caller, which reads and checks, is what the others wait for. */
const MAX_THREADS = 4
/** A thread makes few objects that last; where there is room for more, they wait longer for the collector. */
const YOUNG_MB = 2

/** A thread for each processor, if there are several. */
export const usualThreads = Math.min(MAX_THREADS, availableParallelism())

/** Threads that begin to start now, and learn later what they search for. Starting takes as long as opening a backup. */
export class SieveWorkers {
  #workers: readonly Worker[]

  constructor(count = usualThreads) {
    this.#workers = count > 1 ? startWorkers(count) : []
  }

  /** They belong to the caller then. */
  take(): readonly Worker[] {
    const taken = this.#workers
    this.#workers = []
    return taken
  }

  /** Ends those that no one has taken. */
  end(): void {
    for (const worker of this.take()) void worker.terminate()
  }
}

/** Fewer, or none, where the system permits no more threads. */
function startWorkers(count: number): Worker[] {
  const workers: Worker[] = []
  try {
    while (workers.length < count) workers.push(startWorker())
  } catch {
    return workers
  }
  return workers
}

function startWorker(): Worker {
  const worker = new Worker(workerFile, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } })
  // One that cannot start has ended when it is given its first task.
  worker.on('error', () => undefined)
  worker.unref()
  return worker
}
