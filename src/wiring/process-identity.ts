import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import type { FoundLease, ProcessIdentity } from '../archive/lease.ts'

/** This process. Undefined where there is no `/proc`: then only the term of a lease tells that its holder is dead. */
export function processIdentity(): ProcessIdentity | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const table = readlinkSync('/proc/self/ns/pid')
    const machine = createHash('sha256').update(`${boot} ${table}`).digest('hex').slice(0, 16)
    const processStart = startOf(process.pid)
    return processStart === undefined ? undefined : { machine, processStart }
  } catch {
    return undefined
  }
}

/** True only where both share a boot and a process table, and the number is free or belongs to another process by now. */
export function hasProcessEnded({ identity, pid }: Pick<FoundLease, 'identity' | 'pid'>): boolean {
  if (identity === undefined || pid === undefined || identity.machine !== processIdentity()?.machine) return false
  return startOf(pid) !== identity.processStart
}

/** In ticks after the boot: the 22nd field, counted after the name, which may hold spaces. A zombie has ended. */
function startOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? undefined : Number(fields[19])
  } catch {
    return undefined
  }
}
