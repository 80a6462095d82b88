import { systemClock } from '../../src/lib/clock.ts'
import type { RestoreOptions } from '../../src/restore/options.ts'
import type { RestoreReport } from '../../src/restore/report.ts'
import { runRestore } from '../../src/restore/run-restore.ts'
import { openLocation } from '../../src/wiring.ts'
import { plainOptions } from '../restore/plain-options.ts'
import { openCluster } from './raw-produce.ts'

export interface RestoreSpec {
  servers: string[]
  path: string
  /** Source topic and target topic. */
  mapping: [string, string][]
  options?: Partial<RestoreOptions>
}

/** Restores these topics of the backup `b1` under other names. */
export async function restore(spec: RestoreSpec, signal = new AbortController().signal): Promise<RestoreReport> {
  const { servers, path, mapping, options } = spec
  const cluster = await openCluster({ bootstrapServers: servers })
  const storage = openLocation(path)
  try {
    const topics = { include: mapping.map(([source]) => source), exclude: [] }
    const wish = plainOptions({ topics, topicMapping: new Map(mapping), retention: 'hold', ...options })
    const parts = { cluster, storage, clock: systemClock, requestTimeoutMs: 20_000, onProgress: () => undefined }
    return await runRestore(wish, parts, signal)
  } finally {
    cluster.close()
    await storage.close()
  }
}
