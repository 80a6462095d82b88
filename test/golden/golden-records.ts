import type { SeedRecord } from '../servers/driver.ts'

/** Three records of two partitions that the golden archives hold under each tag: one without a key and one without a value. */
export function goldenRecords(tag: string): SeedRecord[] {
  return [0, 1, 0].map((partition, i) => ({
    partition,
    key: i === 1 ? null : Buffer.from(`${tag} ${i}`),
    value: i === 2 ? null : Buffer.from(`value of ${tag} `.repeat(5)),
    headers: [
      ['h', null],
      ['h', Buffer.from(tag)],
    ],
    timestamp: 1_700_000_000_000 + i,
  }))
}
