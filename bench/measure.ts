import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { mustRun } from '../test/servers/run-command.ts'

const MAX_WARM_UP = 10

/** The program as users run it. */
export const cli = resolve(import.meta.dirname, '../bin/kafka-backup.js')

export interface Measured {
  wallMs: number
  /** The most memory the process had resident at any time. */
  peakBytes: number
  /** Of all its threads, without processes that it started. */
  cpuMs: number
  stdout: string
  stderr: string
}

/** Wall time and peak memory of a whole process, from its start to its end. It must succeed. One that does not end is asked to after `stop`. */
export async function measureProcess(
  command: string,
  args: readonly string[],
  stop?: Promise<unknown>,
): Promise<Measured> {
  const startedAt = performance.now()
  const running = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const kill = () => void running.kill('SIGTERM')
  stop?.then(kill, kill)
  const output = { stdout: '', stderr: '' }
  running.stdout.on('data', chunk => {
    // A consumer prints the whole topic: only what a report needs is kept.
    if (output.stdout.length < 1e6) output.stdout += chunk
  })
  running.stderr.on('data', chunk => {
    output.stderr += chunk
  })
  let peakBytes = 0
  let cpuMs = 0
  const watch = setInterval(() => {
    peakBytes = Math.max(peakBytes, peakOf(running.pid))
    cpuMs = Math.max(cpuMs, cpuOf(running.pid))
  }, 5)
  const [exitCode] = await once(running, 'close')
  clearInterval(watch)
  const isStopped = stop !== undefined && exitCode === 143
  if (exitCode !== 0 && !isStopped)
    throw new Error(`${command} ${args.join(' ')} ended with ${exitCode}: ${output.stderr}`)
  return { wallMs: performance.now() - startedAt, peakBytes, cpuMs, ...output }
}

/** The kernel's own high-water mark, so that no peak between two looks is missed. */
function peakOf(pid: number | undefined): number {
  try {
    const kilobytes = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return Number(kilobytes ?? 0) * 1024
  } catch {
    return 0
  }
}

/** User and system time; the kernel counts hundredths of a second. */
export function cpuOf(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return 10 * (Number(fields[11] ?? 0) + Number(fields[12] ?? 0))
  } catch {
    return 0
  }
}

/** A reader that prints to /dev/null, started by the shell so that no pipe slows it down. */
export function measureSilenced(command: string): Promise<Measured> {
  return measureProcess('sh', ['-c', `exec ${command} > /dev/null`])
}

/** Writes out what earlier runs left in memory, several gigabytes, because it could slow down the next run. */
export async function settleDisk(): Promise<void> {
  await mustRun('sync', [])
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low = 0, high = 0] =
    sorted.length % 2 === 1 ? [sorted[middle], sorted[middle]] : sorted.slice(middle - 1, middle + 1)
  return (low + high) / 2
}

/**
 * A broker needs several times its CPU time for the first rounds, until its code is compiled. Repeats them until two in a row
 * take no less than nine tenths of the least so far, and returns what each took.
 */
export async function repeatUntilSteady(round: () => Promise<number>): Promise<number[]> {
  const taken: number[] = []
  let steady = 0
  while (steady < 2 && taken.length < MAX_WARM_UP) {
    const least = Math.min(...taken)
    const now = await round()
    taken.push(now)
    steady = now < 0.9 * least ? 0 : steady + 1
  }
  return taken
}
