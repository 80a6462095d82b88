import { zstdCompressSync } from 'node:zlib'
import { hashOf } from '../../src/archive/hash.ts'
import { encodeRun, withCrc } from '../fakes/batches.ts'
import type { HostileItem } from './corpus.ts'
import type { Forgery, Tree } from './forgery.ts'

const values = [2n ** 63n, -(2n ** 63n) - 1n, 2n ** 53n, 2 ** 31, -1, 0.5, 1e300, 'NaN', null, 10n ** 400n]

const partitionFields = [
  ...['partition', 'start_offset', 'end_offset', 'high_watermark', 'last_stable_offset', 'last_epoch', 'records'],
  ...[
    'aborted_records',
    'batches',
    'bytes',
    'stored_bytes',
    'segments',
    'first_timestamp',
    'last_timestamp',
    'read_to',
  ],
]
const segmentFields = [
  ...['size', 'plain_size', 'start_offset', 'end_offset', 'batches', 'records', 'aborted_records', 'first_timestamp'],
  'last_timestamp',
]

/** Facts that nothing in the archive contradicts, where the value is one at all. */
const unproven = new Set([
  'first_timestamp',
  'last_timestamp',
  'high_watermark',
  'last_stable_offset',
  'last_epoch',
  'read_to',
  'replication_factor',
])

function numbersOf(
  field: string,
  at: number,
  set: (archive: Forgery, value: unknown) => void,
  where: string,
): HostileItem[] {
  return [0, 5].map(step => {
    const value = values[(at + step) % values.length]
    return {
      name: `${where} ${field} is ${String(value).slice(0, 30)}`,
      change: archive => set(archive, value),
      ...(unproven.has(field) && { isAccepted: 'or refused' as const }),
    }
  })
}

const inSegment = (change: (segment: Tree) => void) => (archive: Forgery) =>
  archive.index(tree => void change(tree.segments[0]))

/** Puts these bytes in place of the first segment of `orders/0`, with an index that says what is wanted. */
function segmentOf(archive: Forgery, stored: Buffer, facts: object): void {
  archive.index(tree => {
    const [segment] = tree.segments
    archive.put(segment.key, stored)
    Object.assign(segment, { size: stored.length, blake3: hashOf(stored), ...facts })
  })
}

let packed: Buffer | undefined
/** It takes a while to make. */
const bomb = () => {
  packed ??= zstdCompressSync(Buffer.alloc(64 << 20))
  return packed
}

function longBatch(): Buffer {
  const batch = encodeRun(0n, 5)
  batch.writeInt32BE(0x7fffffff, 8)
  return batch
}

export const sizes: readonly HostileItem[] = [
  ...partitionFields.flatMap((field, at) =>
    numbersOf(
      field,
      at,
      (archive, value) =>
        archive.manifest(tree => {
          tree.topics[1].partitions[0][field] = value
        }),
      'partition',
    ),
  ),
  ...segmentFields.flatMap((field, at) =>
    numbersOf(
      field,
      at,
      (archive, value) =>
        archive.index(tree => {
          tree.segments[0][field] = value
        }),
      'segment',
    ),
  ),
  ...['replication_factor', 'partition_count', 'incarnation'].flatMap((field, at) =>
    numbersOf(
      field,
      at,
      (archive, value) =>
        archive.manifest(tree => {
          tree.topics[0][field] = value
        }),
      'topic',
    ),
  ),
  ...['offset', 'leader_epoch', 'lag', 'partition']
    .flatMap((field, at) =>
      numbersOf(
        field,
        at,
        (archive, value) =>
          archive.named(/^plain\/kafka\/groups-2/, tree => {
            tree.groups[0].positions[0][field] = value
          }),
        'position',
      ),
    )
    .map(item => ({ ...item, isAccepted: 'or refused' as const })),
  ...['offset', 'leader_epoch', 'partition']
    .flatMap((field, at) =>
      numbersOf(
        field,
        at,
        (archive, value) =>
          archive.reseal(archive.find(/^offset-snap/), tree => {
            tree.groups[0].positions[0][field] = value
          }),
        'snapshot',
      ),
    )
    .map(item => ({ ...item, isAccepted: 'or refused' as const })),
  ...['version', 'id']
    .flatMap((field, at) =>
      numbersOf(
        field,
        at,
        (archive, value) => {
          archive.manifest(tree => {
            tree.schema_registry.subjects[2].versions[0][field] = value
          })
          archive.named(/generations\/.*\/orders-value\/metadata.json$/, tree => {
            tree.versions[0][field] = value
          })
        },
        'schema',
      ),
    )
    .map(item => ({ ...item, isAccepted: 'or refused' as const })),
  {
    name: 'a zstd bomb under its true size',
    change: archive => segmentOf(archive, bomb(), { plain_size: 64 << 20, frames: [[bomb().length, 64 << 20]] }),
  },
  {
    name: 'a zstd bomb that claims to be small',
    change: archive => segmentOf(archive, bomb(), { plain_size: 100, frames: [[bomb().length, 100]] }),
  },
  {
    name: 'a frame that claims a terabyte',
    change: inSegment(segment => Object.assign(segment, { plain_size: 2 ** 40, frames: [[segment.size, 2 ** 40]] })),
  },
  {
    name: 'a million frames of nothing',
    change: inSegment(segment => Object.assign(segment, { frames: Array(100_000).fill([0, 0]) })),
  },
  {
    name: 'frames where nothing is compressed',
    change: inSegment(segment => Object.assign(segment, { compression: 'none' })),
    isAccepted: 'or refused',
  },
  { name: 'no frames where all is compressed', change: inSegment(segment => delete segment.frames) },
  {
    name: 'a batch that claims two gigabytes',
    change: archive =>
      segmentOf(archive, longBatch(), { compression: 'none', frames: undefined, plain_size: longBatch().length }),
  },
  {
    name: 'a batch that claims two gigabytes in a segment of a terabyte',
    change: archive =>
      segmentOf(archive, longBatch(), { compression: 'none', frames: undefined, plain_size: 2 ** 40, size: 2 ** 40 }),
  },
  {
    name: 'a batch with two billion records',
    change: archive => {
      const batch = encodeRun(0n, 5)
      batch.writeInt32BE(0x7fffffff, 57)
      const stored = withCrc(batch)
      segmentOf(archive, stored, { compression: 'none', frames: undefined, plain_size: stored.length })
    },
  },
  {
    name: 'ten thousand partitions',
    change: archive =>
      archive.manifest(tree => {
        const [partition] = tree.topics[0].partitions
        tree.topics[0].partitions = Array.from({ length: 10_000 }, (_, at) => ({
          ...partition,
          partition: at,
          indexes: [],
        }))
      }),
  },
  {
    name: 'a partition number of two billion',
    change: archive =>
      archive.manifest(tree => {
        tree.topics[0].partition_count = 2_000_000_000
      }),
    isAccepted: true,
  },
  {
    name: 'the same partition twice',
    change: archive => archive.manifest(tree => void tree.topics[0].partitions.push(tree.topics[0].partitions[0])),
  },
  {
    name: 'ten thousand gaps',
    change: archive =>
      archive.manifest(tree => {
        tree.topics[0].partitions[0].gaps = Array(10_000).fill({
          from: 0,
          to: 1,
          reason: 'retention',
          found_at: '',
        })
      }),
  },
  {
    name: 'aborted transactions without an end',
    change: archive =>
      archive.manifest(tree => {
        const open = { producer_id: 2n ** 63n, first_offset: -(2n ** 63n), last_offset: 2n ** 63n }
        tree.topics[0].partitions[0].open_aborted = Array(10_000).fill(open)
      }),
    isAccepted: true,
  },
  {
    name: 'more groups than the section says',
    change: archive =>
      archive.manifest(tree => {
        tree.consumer_groups.groups = 2 ** 50
      }),
  },
]
