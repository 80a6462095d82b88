import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RegistryCall, RegistryClient } from '../../../src/registry/client/client.ts'
import { readInventory } from '../../../src/registry/client/inventory.ts'
import { never } from './snapshots.ts'

const identity = { flavour: 'axonops', version: null, contexts: ['.'] } as const

/** A registry that is asked in memory: `answer` may wait for what it likes. */
function clientOf(concurrency: number, answer: (call: RegistryCall) => unknown): RegistryClient {
  const ask = async (call: RegistryCall) => answer(call)
  return { name: 'r', concurrency, call: ask, find: ask, probe: ask } as unknown as RegistryClient
}

test('a registry that hides versions is found out, in whatever order its answers come', async () => {
  const numbers = [1, 2, 3, 4]
  let passes = 0
  const client = clientOf(4, async ({ path, query }) => {
    if (path === '/subjects') return query?.offset === 0 ? ['a'] : []
    if (path === '/subjects/a/versions') return numbers
    const version = Number(path.split('/').at(-1))
    if (version === 1) passes++
    // Another one is the first to be answered in each pass.
    const turns = (version + passes) % 4
    for (let turn = 0; turn < turns * 5; turn++) await new Promise(resolve => setImmediate(resolve))
    return undefined
  })
  await assert.rejects(readInventory(client, identity, { isWanted: () => true }, never), {
    code: 'REGISTRY_PROTOCOL',
    message: /lists version 1 of subject "a" and 3 more/,
  })
})
