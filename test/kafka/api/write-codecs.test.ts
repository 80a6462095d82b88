import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTopicsApi } from '../../../src/kafka/api/create-topics.ts'
import { deleteTopicsApi } from '../../../src/kafka/api/delete-topics.ts'
import { findCoordinator } from '../../../src/kafka/api/find-coordinator.ts'
import { offsetCommit, offsetFetch } from '../../../src/kafka/api/group-offsets.ts'
import { initProducerId } from '../../../src/kafka/api/init-producer-id.ts'
import { produceApi } from '../../../src/kafka/api/produce.ts'
import { describeBrokerConfigs, incrementalAlterConfigs } from '../../../src/kafka/api/topic-configs.ts'
import { Writer } from '../../../src/kafka/wire/writer.ts'
import { deleteGroupsApi } from '../../fakes/delete-requests.ts'
import { describeCodec, hex, id, unknownTag } from './describe-codec.ts'

describeCodec('Produce v9', {
  api: produceApi,
  request: {
    timeoutMs: 30000,
    topics: [
      {
        name: 'ab',
        partitions: [
          { partition: 3, batch: [Buffer.from('aa', 'hex'), Buffer.from('bbcc', 'hex')] },
          { partition: 4, batch: [Buffer.from('dd', 'hex')] },
        ],
      },
      { name: 'c', partitions: [{ partition: 0, batch: [Buffer.from('ee', 'hex')] }] },
    ],
  },
  encoded: [
    hex('00', 'ffff', '00007530'),
    hex('03', '03', '6162'),
    hex('03', '00000003', '04', 'aabbcc', '00', '00000004', '02', 'dd', '00', '00'),
    hex('02', '63', '02', '00000000', '02', 'ee', '00', '00'),
    '00',
  ],
  answer: [
    hex('02', '03', '6162', '03'),
    hex('00000003', '0000', '000000000000002a', 'ffffffffffffffff', '0000000000000007', '01', '00', unknownTag),
    hex('00000004', '0057', 'ffffffffffffffff', 'ffffffffffffffff', 'ffffffffffffffff'),
    hex('03', '00000001', '02', '78', '00', '00000002', '00', unknownTag, '02', '79', '00'),
    unknownTag,
    '00000064',
    '00',
  ],
  decoded: {
    topics: [
      {
        name: 'ab',
        partitions: [
          {
            partition: 3,
            errorCode: 0,
            baseOffset: 42n,
            logAppendTime: -1n,
            logStartOffset: 7n,
            recordErrors: [],
            errorMessage: null,
          },
          {
            partition: 4,
            errorCode: 87,
            baseOffset: -1n,
            logAppendTime: -1n,
            logStartOffset: -1n,
            recordErrors: [
              { index: 1, message: 'x' },
              { index: 2, message: null },
            ],
            errorMessage: 'y',
          },
        ],
      },
    ],
    throttleMs: 100,
  },
})

test('a Produce request holds the batches themselves, not copies of them', () => {
  const batches = [Buffer.alloc(1000, 1), Buffer.alloc(2000, 2), Buffer.alloc(3000, 3)]
  const name = 'a long name that makes the buffer of the writer grow, '.repeat(10)
  const partitions = batches.map((batch, partition) => ({ partition, batch: [batch] }))
  const writer = new Writer()
  produceApi.encode(writer, { timeoutMs: 1, topics: [{ name, partitions }] }, 9)
  const pieces = writer.pieces()
  for (const batch of batches) assert.ok(pieces.some(piece => piece === batch))
  assert.ok(Buffer.concat(pieces).equals(writer.finish()))
})

describeCodec('InitProducerId v4', {
  api: initProducerId,
  request: {},
  encoded: ['00', '7fffffff', 'ffffffffffffffff', 'ffff', '00'],
  answer: ['00000005', '0000', '00000000000003e8', '0002', unknownTag],
  decoded: { throttleMs: 5, errorCode: 0, producerId: 1000n, producerEpoch: 2 },
})

describeCodec('CreateTopics v7', {
  api: createTopicsApi,
  request: {
    timeoutMs: 1000,
    validateOnly: true,
    topics: [
      { name: 'ab', partitions: 6, replication: -1, configs: { k: 'v' } },
      { name: 'c', partitions: 2, replication: [[1, 2], [2]], configs: {} },
    ],
  },
  encoded: [
    hex('03', '03', '6162', '00000006', 'ffff', '01', '02', '02', '6b', '02', '76', '00', '00'),
    hex('02', '63', 'ffffffff', 'ffff'),
    hex('03', '00000000', '03', '00000001', '00000002', '00', '00000001', '02', '00000002', '00'),
    hex('01', '00'),
    '000003e8',
    '01',
    '00',
  ],
  answer: [
    '00000007',
    hex('03', '03', '6162', id, '0000', '00', '00000006', '0001'),
    hex('02', '02', '6b', '02', '76', '00', '01', '00', unknownTag, unknownTag),
    // Tag 0: why the settings are not shown.
    hex('02', '63', '0'.repeat(32), '0028', '03', '6e6f', 'ffffffff', 'ffff', '00', '01', '00', '02', '001d'),
    '00',
  ],
  decoded: {
    throttleMs: 7,
    topics: [
      {
        ...{ name: 'ab', id, errorCode: 0, errorMessage: null },
        configs: [{ name: 'k', value: 'v', source: 1, isSensitive: false }],
      },
      { name: 'c', id: '0'.repeat(32), errorCode: 40, errorMessage: 'no', configs: [] },
    ],
  },
})

describeCodec('DeleteTopics v6', {
  api: deleteTopicsApi,
  request: { topics: [{ name: 'cd', id }, { name: 'ab' }], timeoutMs: 1000 },
  encoded: [hex('03', '00', id, '00'), hex('03', '6162', '0'.repeat(32), '00'), '000003e8', '00'],
  answer: [
    '00000000',
    hex('03', '00', id, '0064', '02', '78', unknownTag),
    hex('03', '6162', id, '0000', '00', '00'),
    '00',
  ],
  decoded: {
    throttleMs: 0,
    topics: [
      { name: null, errorCode: 100, errorMessage: 'x' },
      { name: 'ab', errorCode: 0, errorMessage: null },
    ],
  },
})

describeCodec('IncrementalAlterConfigs v1', {
  api: incrementalAlterConfigs,
  request: {
    topics: [
      {
        name: 'ab',
        changes: [
          { name: 'k', value: 'v' },
          { name: 'l', value: null },
        ],
      },
    ],
    validateOnly: false,
  },
  encoded: [
    hex('02', '02', '03', '6162'),
    hex('03', '02', '6b', '00', '02', '76', '00', '02', '6c', '01', '00', '00'),
    '00',
    '00',
    '00',
  ],
  answer: ['00000003', hex('02', '0028', '02', '78', '02', '03', '6162', unknownTag), '00'],
  decoded: { throttleMs: 3, topics: [{ name: 'ab', errorCode: 40, errorMessage: 'x' }] },
})

describeCodec('DescribeConfigs v4 of a broker', {
  api: describeBrokerConfigs,
  request: { brokerId: 12 },
  encoded: [hex('02', '04', '03', '3132', '00', '00'), '00', '00', '00'],
  answer: [
    '00000000',
    hex('02', '0000', '00', '04', '03', '3132'),
    hex('02', '02', '6b', '02', '76', '01', '04', '00', '01', '02', '00', '00'),
    hex('00', '00'),
  ],
  decoded: [{ errorCode: 0, errorMessage: null, configs: [{ name: 'k', value: 'v', source: 4, isSensitive: false }] }],
})

describeCodec('FindCoordinator v4', {
  api: findCoordinator,
  request: { groups: ['ab', 'c'] },
  encoded: ['00', hex('03', '03', '6162', '02', '63'), '00'],
  answer: [
    '00000000',
    hex('03', '03', '6162', '00000007', '02', '68', '00002384', '0000', '00', unknownTag),
    hex('02', '63', 'ffffffff', '01', 'ffffffff', '000f', '02', '78', '00'),
    '00',
  ],
  decoded: [
    { group: 'ab', brokerId: 7, errorCode: 0, errorMessage: null },
    { group: 'c', brokerId: -1, errorCode: 15, errorMessage: 'x' },
  ],
})

describeCodec('OffsetCommit v8', {
  api: offsetCommit,
  request: {
    group: 'g',
    topics: [{ name: 'ab', partitions: [{ partition: 3, offset: 42n, leaderEpoch: -1, metadata: 'm' }] }],
  },
  encoded: [
    hex('02', '67', 'ffffffff', '01', '00'),
    hex('02', '03', '6162', '02', '00000003', '000000000000002a', 'ffffffff', '02', '6d', '00', '00'),
    '00',
  ],
  answer: ['00000000', hex('02', '03', '6162', '02', '00000003', '0019', unknownTag, unknownTag), '00'],
  decoded: { topics: [{ name: 'ab', partitions: [{ partition: 3, errorCode: 25 }] }] },
})

describeCodec('OffsetFetch v8', {
  api: offsetFetch,
  request: {
    requireStable: true,
    groups: [
      { group: 'g', topics: [{ name: 'ab', partitions: [0, 3] }] },
      { group: 'h', topics: null },
    ],
  },
  encoded: [
    hex('03', '02', '67', '02', '03', '6162', '03', '00000000', '00000003', '00', '00'),
    hex('02', '68', '00', '00'),
    '01',
    '00',
  ],
  answer: [
    '00000000',
    hex('03', '02', '67', '02', '03', '6162', '03'),
    hex('00000000', '000000000000002a', '00000005', '02', '6d', '0000', unknownTag),
    hex('00000003', 'ffffffffffffffff', 'ffffffff', '00', '0058', '00'),
    hex(unknownTag, '0000', unknownTag),
    hex('02', '68', '01', '001e', '00'),
    '00',
  ],
  decoded: {
    groups: [
      {
        group: 'g',
        errorCode: 0,
        topics: [
          {
            name: 'ab',
            partitions: [
              { partition: 0, offset: 42n, leaderEpoch: 5, metadata: 'm', errorCode: 0 },
              { partition: 3, offset: -1n, leaderEpoch: -1, metadata: null, errorCode: 88 },
            ],
          },
        ],
      },
      { group: 'h', errorCode: 30, topics: [] },
    ],
  },
})

describeCodec('DeleteGroups v2', {
  api: deleteGroupsApi,
  request: { groups: ['g'] },
  encoded: [hex('02', '02', '67'), '00'],
  answer: ['00000000', hex('02', '02', '67', '0044', unknownTag), '00'],
  decoded: [{ group: 'g', errorCode: 68 }],
})
