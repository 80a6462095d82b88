import { createIdMap } from '../../src/registry/ids/id-map.ts'
import { indexSchemas } from '../../src/registry/ids/known-schemas.ts'
import type { RewriteOptions } from '../../src/restore/restore-options.ts'
import { schemaVersion } from '../registry/ids/sample-schemas.ts'

/** `orders` has the ids 5 and 6 in its values and 6 in its keys; on the target they are 500 and 600. */
export function rewriteOptions(changes: Partial<RewriteOptions> = {}): RewriteOptions {
  return {
    writes: true,
    checkIds: 'sample',
    reasons: new Map(),
    idMap: createIdMap([
      { context: '.', source: 5, target: 500 },
      { context: '.', source: 6, target: 600 },
      { context: '.', source: 101_327, target: 9 },
      { context: '.eu', source: 5, target: 50 },
      { context: '.same', source: 5, target: 5 },
    ]),
    schemas: indexSchemas([
      schemaVersion('orders-value', 5),
      schemaVersion('orders-value', 6),
      schemaVersion('orders-key', 6),
      schemaVersion('payments-value', 101_327),
      schemaVersion(':.eu:orders-value', 5),
      schemaVersion(':.same:orders-value', 5),
    ]),
    unknownIds: 'fail',
    topics: { include: ['*'], exclude: [] },
    parts: ['key', 'value'],
    topicParts: new Map(),
    topicContexts: new Map(),
    ...changes,
  }
}
