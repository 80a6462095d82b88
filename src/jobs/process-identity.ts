import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import type { FoundLease, ProcessIdentity } from '../archive/lease.ts'

/** This process. Undefined where there is no `/proc`: then only the term of a lease tells that its holder is dead. */
export function processIdentity(): ProcessIdentity | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const table = readlinkSync('/proc/self/ns/pid')
    const machine = createHash('sha256').update(`${boot} ${table}`).digest('hex').slice(0, 16)
    const processStart = startOf(readFileSync('/proc/self/stat', 'utf8'))
    return processStart === undefined ? undefined : { machine, processStart }
  } catch {
    return undefined
  }
}

/** What is known of the processes of this machine. */
interface ProcessTable {
  /** `/proc/<pid>/stat`; undefined where it cannot be read. */
  readStat: (pid: number) => string | undefined
  exists: (pid: number) => boolean
}

const systemTable: ProcessTable = {
  readStat: pid => {
    try {
      return readFileSync(`/proc/${pid}/stat`, 'utf8')
    } catch {
      return undefined
    }
  },
  exists: pid => {
    try {
      return process.kill(pid, 0)
    } catch (error) {
      return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
    }
  },
}

/**
 * True only where both share a boot and a process table, and the number is free or belongs to another process by now. The
 * entry of another user's process may be hidden (`hidepid`): then it is enough that the process exists.
 */
export function hasProcessEnded(
  { identity, pid }: Pick<FoundLease, 'identity' | 'pid'>,
  table: ProcessTable = systemTable,
): boolean {
  if (identity === undefined || pid === undefined || identity.machine !== processIdentity()?.machine) return false
  const stat = table.readStat(pid)
  return stat === undefined ? !table.exists(pid) : startOf(stat) !== identity.processStart
}

/** In ticks after the boot: the 22nd field, counted after the name, which may hold spaces. A zombie has ended. */
function startOf(stat: string): number | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' ? undefined : Number(fields[19])
}
