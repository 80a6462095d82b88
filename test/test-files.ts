import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const serverFolders = ['test/e2e/', 'test/faults/', 'test/servers/']

/** Seconds by file, measured on two cores and rounded; `RECORD=1 make e2e` writes it. */
export const durationsFile = join(import.meta.dirname, 'durations.json')
export type Durations = Record<string, number>

/** Every test file, relative to the project: those that need servers, and those that need none. */
export function findTestFiles(): { unit: string[]; e2e: string[] } {
  const files = globSync('test/**/*.test.ts', { cwd: root }).sort()
  const isServerTest = (file: string) => serverFolders.some(folder => file.startsWith(folder))
  return { unit: files.filter(file => !isServerTest(file)), e2e: files.filter(isServerTest) }
}

export function readDurations(): Durations {
  return JSON.parse(readFileSync(durationsFile, 'utf8'))
}

/** As many lists as shards, of about the same length; neighbors in a folder, which are alike, are spread over them. */
export function planShards(files: readonly string[], shards: number): string[][] {
  const lists = Array.from({ length: Math.min(shards, files.length) }, (): string[] => [])
  files.forEach((file, index) => {
    lists[index % lists.length]?.push(file)
  })
  return lists
}

/** The longest first, so that no core is idle while the last long one runs. A file without a duration counts as a minute. */
export function orderByDuration(files: readonly string[], durations: Durations): string[] {
  const seconds = (file: string) => durations[file] ?? 60
  return [...files].sort((a, b) => (seconds(a) === seconds(b) ? compareText(a, b) : seconds(b) - seconds(a)))
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
