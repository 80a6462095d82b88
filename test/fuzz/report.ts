import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MAX_GROWTH_BYTES, MAX_INPUT_MS } from './fuzz.ts'

export interface FuzzResults {
  date: string
  seed: number
  /** For a reader of full weight. */
  inputs: number
  readers: { name: string; inputs: number; faults: number }[]
}

/** Of the last long run. */
export const resultsFile = join(import.meta.dirname, 'results.json')

export function readResults(): FuzzResults {
  return JSON.parse(readFileSync(resultsFile, 'utf8'))
}

/** Pure. The figures of docs/reliability.md. */
export function formatResults({ date, seed, inputs, readers }: FuzzResults): string {
  const sum = (pick: (reader: FuzzResults['readers'][number]) => number) =>
    readers.reduce((total, reader) => total + pick(reader), 0).toLocaleString('en-US')
  const bounds = `${MAX_INPUT_MS / 1000} s, and after all inputs of a reader the process had grown by less than ${MAX_GROWTH_BYTES >> 20} MiB`
  return [
    `${date}, \`FUZZ_SEED=${seed} FUZZ_INPUTS=${inputs} make soak\`: ${sum(one => one.inputs)} inputs to ${readers.length} ` +
      `readers, ${sum(one => one.faults)} faults. No input took more than ${bounds}.`,
    '',
    '| Reader | Inputs | Faults |',
    '|---|---:|---:|',
    ...readers.map(one => `| ${one.name} | ${one.inputs.toLocaleString('en-US')} | ${one.faults} |`),
  ].join('\n')
}
