import { accessSync, constants, readFileSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const MEMORY_FOLDER = '/dev/shm'
/** Many times what the tests hold at once. */
const MIN_FREE_BYTES = 6 * 2 ** 30

/**
 * With more room for young objects, of which tests create many, garbage is collected less often, which takes a tenth less
 * CPU time. The room does not grow, because tests measure memory.
 */
const heapFlags = ['--min-semi-space-size=32', '--max-semi-space-size=32']

/** Flags of Node for every process of tests. */
export const testFlags = [...heapFlags, '--import', join(import.meta.dirname, 'untracked-promises.ts')]

/** What `make unit` and `make e2e` set for all processes that they start. Variables that are set already win. */
export function prepareTestEnvironment(): void {
  // Compiled modules, and TypeScript without its types, are kept: a test with servers starts in a third of the CPU time.
  process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules/.cache/compiled')
  // Servers written in Go collect garbage less often, since they run for a minute and memory is not what is short.
  process.env.GOGC ??= '400'
  process.env.TEST_DISK_FOLDER ??= tmpdir()
  process.env.TMPDIR ??= memoryFolder()
}

/** The temporary folder, in memory where that is possible. */
export function memoryFolder(): string {
  return isInMemory(MEMORY_FOLDER) ? MEMORY_FOLDER : tmpdir()
}

/**
 * A folder for tests of what a disk does. Other tests create their files in the temporary folder, which is in memory where
 * that is possible: creating, syncing and deleting many small files takes much CPU time on a disk.
 */
export function diskFolder(): string {
  return process.env.TEST_DISK_FOLDER ?? tmpdir()
}

/** Containers often have a small one, or one without permission to run programs, which unpacked libraries need. */
function isInMemory(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    const mount = readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .map(line => line.split(' '))
      .find(([, path]) => path === folder)
    return mount?.[2] === 'tmpfs' && !mount[3]?.split(',').includes('noexec') && bavail * bsize >= MIN_FREE_BYTES
  } catch {
    return false
  }
}
