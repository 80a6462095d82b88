import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

/** In its own process, as the flags of the runtime hold for all of one. Prints the size of the space for new objects, and the events that were passed on. */
const script = `
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
// As bin/kafka-backup.js does.
setFlagsFromString('--semi-space-growth-factor=1')
const { letHeapGrowForFew } = await import(process.argv[1])
const events = []
const { onProgress } = letHeapGrowForFew({ onProgress: event => events.push(event.type) })
onProgress({ type: 'planned', topics: 1, partitions: Number(process.argv[2]), offsets: 1n })
let kept = []
for (let i = 0; i < 400_000; i++) {
  kept.push({ i, list: [i] })
  if (kept.length > 50_000) kept = []
}
const space = getHeapSpaceStatistics().find(one => one.space_name === 'new_space')
console.log(space.space_used_size + space.space_available_size, events.join())
`

function newSpaceWith(partitions: number): number {
  const module = new URL('../../src/cli/commands/let-heap-grow.ts', import.meta.url).href
  const args = ['--input-type=module', '-e', script, module, `${partitions}`]
  const [bytes, events] = execFileSync(process.execPath, args, { encoding: 'utf8' }).trim().split(' ')
  assert.equal(events, 'planned')
  return Number(bytes)
}

test('a restore of few partitions gets more room for new objects, and one of many does not', () => {
  const [few, many] = [newSpaceWith(4), newSpaceWith(5000)]
  assert.ok(few > 2 * many, `${few} and ${many} bytes`)
})
