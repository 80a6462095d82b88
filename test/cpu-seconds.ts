import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Linux counts CPU time in hundredths of a second for programs, whatever its own clock. */
const TICKS_PER_SECOND = 100

/** CPU seconds of a process and of all its children that have ended; 0 where there is no such process any more. */
export function cpuSecondsOf(pid: number | 'self'): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program, in parentheses, may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [user = 0, system = 0, ofChildren = 0, systemOfChildren = 0] = fields.slice(11, 15).map(Number)
    return (user + system + ofChildren + systemOfChildren) / TICKS_PER_SECOND
  } catch {
    return 0
  }
}

let ofOthers = 0

/** Counts for this process what others use for it from now on, until the returned function is called. */
export function countCpuOf(pids: readonly number[]): () => void {
  const sum = () => pids.reduce((seconds, pid) => seconds + cpuSecondsOf(pid), 0)
  const before = sum()
  return () => {
    ofOthers += Math.max(0, sum() - before)
  }
}

/** Where `make e2e` finds the CPU seconds of its test files. */
const folder = process.env.CPU_SECONDS_FOLDER

/** At the end of this process, for the file that it was started with. */
export function reportCpuSeconds(): void {
  const [, file] = process.argv
  if (folder === undefined || file === undefined) return
  process.on('exit', () => {
    const report: CpuReport = { file, seconds: cpuSecondsOf('self') + ofOthers }
    writeFileSync(join(folder, `${process.pid}`), JSON.stringify(report))
  })
}

export interface CpuReport {
  file: string
  seconds: number
}
