import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { errorTable } from '../../src/error-table.ts'
import { FORGED } from './corpus-names.ts'
import type { Objects } from './honest-archive.ts'
import { type CommandRun, errorIn } from './run-command.ts'

/** No archive of the corpus is larger than a few MiB, so that no reader has a reason for more. */
const MAX_BUFFER_BYTES = 80 << 20
const MAX_SUM_BYTES = 1 << 30
const MAX_FILE_CALLS = 60_000

/** Files of the machine that the program reads whatever the archive says, to tell one process from another. */
const ownFiles =
  /^\/(proc\/(self|\d+)\/|proc\/sys\/kernel\/random\/boot_id$|etc\/machine-id$|etc\/(hosts|resolv\.conf|nsswitch\.conf)$)/
const project = join(import.meta.dirname, '../..') + sep

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const steering = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

/** Pure. What is wrong with how a command took a hostile archive. */
export function judgeRun({ exitCode, output, watch, badAnswers }: CommandRun, root: string): string[] {
  const code = errorIn(output)
  const faults = badAnswers.map(answer => `the registry answered ${answer}`)
  const isOtherCluster = code === 'CONFIG_INVALID' && output.includes('Use another backup_id for another cluster')
  if (![0, 1, 3, 4, 5].includes(exitCode) && !isOtherCluster) faults.push(`exit code ${exitCode}`)
  if (code === 'INTERNAL') faults.push('an internal error')
  if (code !== undefined && errorTable[code].exitCode !== exitCode) faults.push(`exit code ${exitCode} for ${code}`)
  if (/\bat .*\.[jt]s:\d+|\b(Type|Range|Syntax|Reference)Error\b|\[object |is not a function/.test(output))
    faults.push('a stack trace')
  if (steering.test(output)) faults.push(`control characters: ${JSON.stringify(steering.exec(output)?.[0])}`)
  if (new RegExp(`^${FORGED}`, 'm').test(output)) faults.push('a name ended its line')
  for (const path of watch.paths) {
    if (!path.startsWith(root) && !path.startsWith(project) && !ownFiles.test(path)) faults.push(`touched ${path}`)
    if (path.startsWith(join(root, 'outside'))) faults.push(`touched ${path}`)
  }
  if (watch.largestBuffer > MAX_BUFFER_BYTES) faults.push(`asked for ${watch.largestBuffer} bytes at once`)
  if (watch.bufferBytes > MAX_SUM_BYTES) faults.push(`asked for ${watch.bufferBytes} bytes`)
  if (watch.calls > MAX_FILE_CALLS) faults.push(`made ${watch.calls} file calls`)
  return faults
}

/** What a folder lacks, or holds with other bytes, of what it held before; `mayChange` says what is replaced by design. */
export function lostFrom(folder: string, before: Objects, mayChange: RegExp): string[] {
  return [...before].flatMap(([key, bytes]) => {
    if (mayChange.test(key)) return []
    try {
      return readFileSync(join(folder, key)).equals(bytes) ? [] : [`${key} was changed`]
    } catch {
      return [`${key} is gone`]
    }
  })
}

/** What a reader has left behind: nothing but leases. */
export function addedTo(folder: string, before: Objects): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter(key => !before.has(key) && !key.includes('/leases/'))
    .map(key => `${key} was added`)
}
