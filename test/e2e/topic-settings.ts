import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { openCluster } from './raw-produce.ts'

const { signal } = new AbortController()
const PATIENCE_MS = 30_000

type Server = Parameters<typeof openCluster>[0]

type Settings = Record<string, string>

/** Asserts the settings that a topic has of its own. The controller takes changes some time before the broker that answers knows of them. */
export async function assertConfigs(server: Server, topic: string, expected: Settings): Promise<void> {
  assert.deepEqual(await waitForConfigs(server, topic, found => isDeepStrictEqual(found, expected)), expected)
}

/** The same for one of them. */
export async function assertConfig(server: Server, topic: string, name: string, value: string): Promise<void> {
  const found = await waitForConfigs(server, topic, one => one[name] === value)
  assert.equal(found[name], value)
}

/** What is there in the end, if it is not what is waited for. */
async function waitForConfigs(server: Server, topic: string, isThere: (found: Settings) => boolean): Promise<Settings> {
  const cluster = await openCluster(server)
  const endAt = performance.now() + PATIENCE_MS
  try {
    for (;;) {
      const found = (await cluster.topicConfigs([topic], signal)).get(topic) ?? {}
      if (isThere(found) || performance.now() > endAt) return found
      await sleep(20)
    }
  } finally {
    cluster.close()
  }
}
