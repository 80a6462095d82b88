import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiVersions } from '../../../src/kafka/api/api-versions.ts'
import { describeLogDirs } from '../../../src/kafka/api/describe-log-dirs.ts'
import { type FetchRequest, fetchApi } from '../../../src/kafka/api/fetch.ts'
import { describeGroups } from '../../../src/kafka/api/list-groups.ts'
import { listOffsets } from '../../../src/kafka/api/list-offsets.ts'
import { metadata } from '../../../src/kafka/api/metadata.ts'
import { describeConfigs, describeConfigsWithSynonyms } from '../../../src/kafka/api/topic-configs.ts'
import { Reader } from '../../../src/kafka/wire/reader.ts'
import { describeCodec, hex, id, unknownTag } from './describe-codec.ts'

describeCodec('ApiVersions v3', {
  api: apiVersions,
  request: { name: 'kb', version: '1' },
  encoded: [hex('03', '6b62'), hex('02', '31'), '00'],
  answer: [
    '0000',
    '03',
    hex('0001', '0004', '0011', '00'),
    hex('0012', '0000', '0004', unknownTag),
    '00000000',
    unknownTag,
  ],
  decoded: {
    errorCode: 0,
    ranges: [
      { key: 1, min: 4, max: 17 },
      { key: 18, min: 0, max: 4 },
    ],
  },
})

describeCodec('DescribeGroups v5', {
  api: describeGroups,
  request: { groups: ['g'] },
  encoded: [hex('02', '02', '67'), '01', '00'],
  answer: [
    '00000000',
    '03',
    hex('0000', '02', '67', hex('05', '44656164'), '01', '01', '01', '00000108', unknownTag),
    hex('001e', '02', '68', '01', '01', '01'),
    hex('02', '02', '6d', '00', '02', '63', '02', '68', '03', 'abcd', '01', unknownTag),
    hex('80000000', unknownTag),
    unknownTag,
  ],
  decoded: [
    { errorCode: 0, group: 'g', state: 'Dead', members: 0, authorizedOperations: 0x108 },
    { errorCode: 30, group: 'h', state: '', members: 1, authorizedOperations: undefined },
  ],
})

describeCodec('Metadata v12', {
  api: metadata,
  request: { topics: ['ab'], withAuthorizedOperations: true },
  encoded: ['02', '00'.repeat(16), hex('03', '6162'), '00', '00', '01', '00'],
  answer: [
    '00000000',
    hex('02', '00000007', '02', '68', '00002384', '02', '72', unknownTag),
    hex('02', '63'),
    '00000007',
    hex('02', '0000', '03', '6162', id, '01'),
    hex('02', '0000', '00000003', '00000007', '00000009'),
    hex('03', '00000007', '00000008', '02', '00000007', '02', '00000008', unknownTag),
    hex('00000d08', unknownTag),
    unknownTag,
  ],
  decoded: {
    brokers: [{ id: 7, host: 'h', port: 9092, rack: 'r' }],
    clusterId: 'c',
    controllerId: 7,
    topics: [
      {
        errorCode: 0,
        name: 'ab',
        id,
        isInternal: true,
        partitions: [{ errorCode: 0, partition: 3, leader: 7, leaderEpoch: 9, replicas: [7, 8] }],
        authorizedOperations: 0xd08,
      },
    ],
  },
})

describeCodec('Metadata v12 of all topics, where permissions were not asked for and names are withheld', {
  api: metadata,
  request: { topics: null },
  encoded: ['00', '00', '00', '00'],
  answer: ['00000000', '01', '00', 'ffffffff', hex('02', '001d', '00', id, '00', '01', '80000000', '00'), '00'],
  decoded: {
    brokers: [],
    clusterId: null,
    controllerId: -1,
    topics: [{ errorCode: 29, name: '', id, isInternal: false, partitions: [], authorizedOperations: undefined }],
  },
})

describeCodec('ListOffsets v7', {
  api: listOffsets,
  request: {
    isolation: 'read_committed',
    topics: [{ name: 'ab', partitions: [{ partition: 3, leaderEpoch: -1, timestamp: -2n }] }],
  },
  encoded: [
    'ffffffff',
    '01',
    hex('02', '03', '6162'),
    hex('02', '00000003', 'ffffffff', 'fffffffffffffffe', '00'),
    '00',
    '00',
  ],
  answer: [
    '00000000',
    hex('02', '03', '6162'),
    hex('02', '00000003', '0006', 'ffffffffffffffff', '0000000100000000', '00000005', unknownTag),
    unknownTag,
    '00',
  ],
  decoded: {
    topics: [
      {
        name: 'ab',
        partitions: [{ partition: 3, errorCode: 6, timestamp: -1n, offset: 4294967296n, leaderEpoch: 5 }],
      },
    ],
  },
})

describeCodec('DescribeConfigs v4', {
  api: describeConfigs,
  request: { topics: ['ab'] },
  encoded: [hex('02', '02', '03', '6162', '00', '00'), '00', '00', '00'],
  answer: [
    '00000000',
    hex('02', '0000', '00', '02', '03', '6162'),
    hex('03', '02', '6b', '02', '76', '00', '01', '01'),
    hex('02', '02', '6b', '00', '05', '00', '02', '00', unknownTag),
    hex('02', '6c', '00', '01', '05', '00', '01', '02', '02', '64', '00'),
    unknownTag,
    '00',
  ],
  decoded: [
    {
      topic: 'ab',
      errorCode: 0,
      errorMessage: null,
      configs: [
        { name: 'k', value: 'v', source: 1, isSensitive: true, synonyms: [{ name: 'k', value: null, source: 5 }] },
        { name: 'l', value: null, source: 5, isSensitive: false },
      ],
    },
  ],
})

describeCodec('DescribeConfigs v4 with synonyms', {
  api: describeConfigsWithSynonyms,
  request: { topics: ['ab'] },
  encoded: [hex('02', '02', '03', '6162', '00', '00'), '01', '00', '00'],
  answer: [
    '00000000',
    hex('02', '0000', '00', '02', '03', '6162'),
    hex('03', '02', '6b', '02', '76', '00', '01', '01'),
    hex('02', '02', '6b', '00', '05', '00', '02', '00', unknownTag),
    hex('02', '6c', '00', '01', '05', '00', '01', '02', '02', '64', '00'),
    unknownTag,
    '00',
  ],
  decoded: [
    {
      topic: 'ab',
      errorCode: 0,
      errorMessage: null,
      configs: [
        { name: 'k', value: 'v', source: 1, isSensitive: true, synonyms: [{ name: 'k', value: null, source: 5 }] },
        { name: 'l', value: null, source: 5, isSensitive: false },
      ],
    },
  ],
})

describeCodec('DescribeLogDirs v2', {
  api: describeLogDirs,
  request: { topics: [{ name: 'ab', partitions: [0, 3] }] },
  encoded: [hex('02', '03', '6162'), hex('03', '00000000', '00000003'), '00', '00'],
  answer: [
    '00000000',
    hex('02', '0000', '02', '2f'),
    hex('02', '03', '6162', '02', '00000003', '0000000000001000', '0000000000000000', '01', unknownTag),
    unknownTag,
    '00',
    '00',
  ],
  decoded: {
    dirs: [
      { errorCode: 0, topics: [{ name: 'ab', partitions: [{ partition: 3, sizeBytes: 4096n, isFuture: true }] }] },
    ],
  },
})

describeCodec('Fetch v13', {
  api: fetchApi,
  request: {
    maxWaitMs: 500,
    maxBytes: 1024,
    partitionMaxBytes: 256,
    rack: 'r',
    isolation: 'read_committed',
    topics: [{ id, name: 'ab', partitions: [{ partition: 3, leaderEpoch: -1, offset: 42n, lastFetchedEpoch: 5 }] }],
  },
  encoded: [
    'ffffffff',
    '000001f4',
    '00000001',
    '00000400',
    '01',
    '00000000',
    'ffffffff',
    hex('02', id),
    hex('02', '00000003', 'ffffffff', '000000000000002a', '00000005', 'ffffffffffffffff', '00000100', '00'),
    '00',
    '01',
    hex('02', '72'),
    '00',
  ],
  answer: [
    '00000064',
    '0000',
    '00000000',
    hex('02', id, '03'),
    hex('00000003', '0000', '0000000000000064', '0000000000000063', '0000000000000001'),
    hex('02', '0000000000000009', '0000000000000032', '00', 'ffffffff', '04', 'aabbcc', unknownTag),
    hex('00000004', '0001', 'ffffffffffffffff', 'ffffffffffffffff', 'ffffffffffffffff', '00', 'ffffffff', '00'),
    // Tag 0: the history of the broker ends for us at epoch 2, offset 30.
    hex('01', '00', '0d', '00000002', '000000000000001e', '00'),
    unknownTag,
    unknownTag,
  ],
  decoded: {
    throttleMs: 100,
    errorCode: 0,
    topics: [
      {
        id,
        name: undefined,
        partitions: [
          {
            partition: 3,
            errorCode: 0,
            highWatermark: 100n,
            lastStableOffset: 99n,
            logStartOffset: 1n,
            abortedTransactions: [{ producerId: 9n, firstOffset: 50n }],
            preferredReplica: -1,
            start: 81,
            end: 84,
            divergesAt: undefined,
          },
          {
            partition: 4,
            errorCode: 1,
            highWatermark: -1n,
            lastStableOffset: -1n,
            logStartOffset: -1n,
            abortedTransactions: [],
            preferredReplica: -1,
            start: 125,
            end: 125,
            divergesAt: 30n,
          },
        ],
      },
    ],
  },
})

const noFetch: FetchRequest = {
  ...{ maxWaitMs: 0, maxBytes: 0, partitionMaxBytes: 0, rack: '' },
  ...{ isolation: 'read_committed', topics: [] },
}

test('a Fetch answer whose diverging epoch is unset says nothing of divergence', () => {
  const answer = [
    hex('00000000', '0000', '00000000', '02', id, '02'),
    hex('00000003', '0000', '0000000000000064', '0000000000000063', '0000000000000001', '00', 'ffffffff', '01'),
    hex('01', '00', '0d', 'ffffffff', 'ffffffffffffffff', '00'),
    hex('00', '00'),
  ]
  const { topics } = fetchApi.decode(new Reader(Buffer.from(answer.join(''), 'hex')), 13, noFetch)
  assert.equal(topics[0]?.partitions[0]?.divergesAt, undefined)
})

test('an ApiVersions answer in the old format of a broker that does not know ours has its error only', () => {
  const answer = Buffer.from(hex('0023', '00000001', '0012', '0000', '0002'), 'hex')
  assert.deepEqual(apiVersions.decode(new Reader(answer), 3, { name: '', version: '' }), { errorCode: 35, ranges: [] })
})
