import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

export interface MachineLock {
  release(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * One holder at a time among the processes of this machine. A child process has the kernel's lock on the file and ends
 * when its standard input does, so the lock is free again however this process ends.
 */
export async function openMachineLock(path: string, onWait: () => void = () => {}): Promise<MachineLock> {
  await mkdir(dirname(path), { recursive: true })
  const free = await take(path, ['--nonblock'])
  if (free !== undefined) return free
  onWait()
  const lock = await take(path, [])
  if (lock === undefined) throw new Error(`the lock ${path} could not be taken`)
  return lock
}

async function take(path: string, flags: readonly string[]): Promise<MachineLock | undefined> {
  const args = [...flags, path, 'sh', '-c', 'echo locked; exec cat']
  const holder = spawn('flock', args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  const closed = once(holder, 'close')
  const first = once(holder.stdout, 'data').then(() => true)
  if (!(await Promise.race([first, closed.then(() => false)]))) return undefined
  const release = async () => {
    holder.stdin.end()
    await closed
  }
  return { release, [Symbol.asyncDispose]: release }
}
