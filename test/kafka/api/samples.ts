import { createAclsApi, describeAcls } from '../../../src/kafka/api/acls.ts'
import { apiVersions } from '../../../src/kafka/api/api-versions.ts'
import { alterClientQuotas, describeClientQuotas } from '../../../src/kafka/api/client-quotas.ts'
import { createTopicsApi } from '../../../src/kafka/api/create-topics.ts'
import { deleteTopicsApi } from '../../../src/kafka/api/delete-topics.ts'
import { describeCluster } from '../../../src/kafka/api/describe-cluster.ts'
import { describeLogDirs } from '../../../src/kafka/api/describe-log-dirs.ts'
import { consumerGroupDescribe } from '../../../src/kafka/api/describe-new-groups.ts'
import { describeUserScramCredentials } from '../../../src/kafka/api/describe-user-scram-credentials.ts'
import { fetchApi } from '../../../src/kafka/api/fetch.ts'
import { findCoordinator } from '../../../src/kafka/api/find-coordinator.ts'
import { offsetCommit, offsetDelete, offsetFetch } from '../../../src/kafka/api/group-offsets.ts'
import { initProducerId } from '../../../src/kafka/api/init-producer-id.ts'
import { describeGroups, listGroupsApi } from '../../../src/kafka/api/list-groups.ts'
import { listOffsets, offsetForLeaderEpoch } from '../../../src/kafka/api/list-offsets.ts'
import { metadata } from '../../../src/kafka/api/metadata.ts'
import { produceApi } from '../../../src/kafka/api/produce.ts'
import { saslAuthenticate, saslHandshake } from '../../../src/kafka/api/sasl.ts'
import { alterConfigs, describeConfigs, incrementalAlterConfigs } from '../../../src/kafka/api/topic-configs.ts'
import { newerSamples } from './newer-samples.ts'
import { hexId, id, none, type Sample, sample, throttleTimeMs } from './sample.ts'

const noId = Buffer.alloc(16).toString('base64url')
const base64 = (text: string) => Buffer.from(text).toString('base64')
const acl = { principal: 'User:a', host: '*', operation: 3 }
const entity = [
  { entityType: 'user', entityName: 'a' },
  { entityType: 'client-id', entityName: null },
]
const ourEntity = [
  { type: 'user', name: 'a' },
  { type: 'client-id', name: null },
]
const config = { name: 'k', value: 'v', readOnly: false, configSource: 1, isDefault: false, isSensitive: true }

/** Requests that Kafka 3.9 has: its classes write versions that those of Kafka 4 do not know any more. */
export const olderSamples: Sample[] = [
  sample(
    apiVersions,
    { name: 'kb', version: '1' },
    {
      request: { clientSoftwareName: 'kb', clientSoftwareVersion: '1' },
      response: { errorCode: 0, apiKeys: [{ apiKey: 1, minVersion: 4, maxVersion: 17 }], throttleTimeMs },
    },
  ),
  sample(
    metadata,
    { topics: ['ab'], withAuthorizedOperations: true },
    {
      request: {
        ...{ topics: [{ topicId: noId, name: 'ab' }], allowAutoTopicCreation: false },
        ...{ includeClusterAuthorizedOperations: false, includeTopicAuthorizedOperations: true },
      },
      response: {
        throttleTimeMs,
        brokers: [{ nodeId: 7, host: 'h', port: 9092, rack: 'r' }],
        clusterId: 'c',
        controllerId: 8,
        topics: [
          {
            ...{ errorCode: 5, name: 'ab', topicId: id, isInternal: true, topicAuthorizedOperations: 3336 },
            partitions: [
              {
                ...{ errorCode: 9, partitionIndex: 3, leaderId: 7, leaderEpoch: 11, replicaNodes: [7, 8] },
                ...{ isrNodes: [7], offlineReplicas: [8] },
              },
            ],
          },
        ],
        clusterAuthorizedOperations: 1,
      },
    },
  ),
  sample(
    fetchApi,
    {
      ...{ maxWaitMs: 500, maxBytes: 1024, partitionMaxBytes: 256, rack: 'r', isolation: 'read_committed' },
      topics: [
        { id: hexId, name: 'ab', partitions: [{ partition: 3, leaderEpoch: 4, offset: 42n, lastFetchedEpoch: 5 }] },
      ],
    },
    {
      request: {
        ...{ replicaId: -1, maxWaitMs: 500, minBytes: 1, maxBytes: 1024, isolationLevel: 1, sessionId: 0 },
        ...{ sessionEpoch: -1, forgottenTopicsData: [], rackId: 'r' },
        topics: [
          {
            ...{ topic: 'ab', topicId: id },
            partitions: [
              {
                ...{ partition: 3, currentLeaderEpoch: 4, fetchOffset: 42, lastFetchedEpoch: 5, logStartOffset: -1 },
                partitionMaxBytes: 256,
              },
            ],
          },
        ],
      },
      response: {
        ...{ throttleTimeMs, errorCode: 1, sessionId: 2 },
        responses: [
          {
            ...{ topic: 'ab', topicId: id },
            partitions: [
              {
                ...{ partitionIndex: 3, errorCode: 6, highWatermark: 100, lastStableOffset: 99, logStartOffset: 1 },
                ...{ abortedTransactions: [{ producerId: 9, firstOffset: 50 }], preferredReadReplica: 2 },
                records: base64('abc'),
              },
            ],
          },
        ],
      },
    },
  ),
  sample(
    listOffsets,
    {
      isolation: 'read_committed',
      topics: [{ name: 'ab', partitions: [{ partition: 3, leaderEpoch: 4, timestamp: -2n }] }],
    },
    {
      request: {
        ...{ replicaId: -1, isolationLevel: 1 },
        topics: [{ name: 'ab', partitions: [{ partitionIndex: 3, currentLeaderEpoch: 4, timestamp: -2 }] }],
      },
      response: {
        throttleTimeMs,
        topics: [
          {
            name: 'ab',
            partitions: [{ partitionIndex: 3, errorCode: 6, timestamp: 12, offset: 42, leaderEpoch: 5 }],
          },
        ],
      },
    },
  ),
  sample(
    offsetForLeaderEpoch,
    { topics: [{ name: 'ab', partitions: [{ partition: 3, epoch: 4 }] }] },
    {
      request: {
        replicaId: -1,
        topics: [{ topic: 'ab', partitions: [{ partition: 3, currentLeaderEpoch: -1, leaderEpoch: 4 }] }],
      },
      response: {
        throttleTimeMs,
        topics: [{ topic: 'ab', partitions: [{ errorCode: 6, partition: 3, leaderEpoch: 2, endOffset: 42 }] }],
      },
    },
  ),
  sample(
    describeConfigs,
    { topics: ['ab'] },
    {
      request: {
        resources: [{ resourceType: 2, resourceName: 'ab', configurationKeys: null }],
        ...{ includeSynonyms: false, includeDocumentation: false },
      },
      response: {
        throttleTimeMs,
        results: [
          {
            ...{ ...none, resourceType: 2, resourceName: 'ab' },
            configs: [
              {
                ...{ ...config, synonyms: [{ name: 'log.k', value: 'w', source: 5 }], configType: 2 },
                documentation: 'd',
              },
            ],
          },
        ],
      },
    },
  ),
  sample(
    describeLogDirs,
    { topics: [{ name: 'ab', partitions: [0, 3] }] },
    {
      request: { topics: [{ topic: 'ab', partitions: [0, 3] }] },
      response: {
        throttleTimeMs,
        results: [
          {
            ...{ errorCode: 0, logDir: '/d' },
            topics: [
              { name: 'ab', partitions: [{ partitionIndex: 3, partitionSize: 42, offsetLag: 5, isFutureKey: true }] },
            ],
          },
        ],
      },
    },
  ),
  sample(
    describeCluster,
    {},
    {
      request: { includeClusterAuthorizedOperations: true },
      response: {
        ...{ throttleTimeMs, ...none, clusterId: 'c', controllerId: 1, clusterAuthorizedOperations: 264 },
        brokers: [{ brokerId: 1, host: 'h', port: 9092, rack: null }],
      },
    },
  ),
  sample(
    produceApi,
    { timeoutMs: 30, topics: [{ name: 'ab', partitions: [{ partition: 3, batch: [Buffer.from('abc')] }] }] },
    {
      request: {
        ...{ transactionalId: null, acks: -1, timeoutMs: 30 },
        topicData: [{ name: 'ab', partitionData: [{ index: 3, records: base64('abc') }] }],
      },
      response: {
        throttleTimeMs,
        responses: [
          {
            name: 'ab',
            partitionResponses: [
              {
                ...{ index: 3, errorCode: 87, baseOffset: 42, logAppendTimeMs: 12, logStartOffset: 1 },
                'recordErrors@8': [{ batchIndex: 2, batchIndexErrorMessage: 'no' }],
                errorMessage: 'bad',
              },
            ],
          },
        ],
      },
    },
  ),
  sample(
    initProducerId,
    {},
    {
      request: { transactionalId: null, transactionTimeoutMs: 0x7fffffff, producerId: -1, producerEpoch: -1 },
      response: { throttleTimeMs, errorCode: 15, producerId: 42, producerEpoch: 3 },
    },
  ),
  sample(
    createTopicsApi,
    {
      ...{ timeoutMs: 30, validateOnly: true },
      topics: [
        { name: 'ab', replication: 2, partitions: 3, configs: { k: 'v' } },
        { name: 'c', replication: [[1, 2]], partitions: 1, configs: {} },
      ],
    },
    {
      request: {
        ...{ timeoutMs: 30, validateOnly: true },
        topics: [
          {
            ...{ name: 'ab', numPartitions: 3, replicationFactor: 2, assignments: [] },
            configs: [{ name: 'k', value: 'v' }],
          },
          {
            ...{ name: 'c', numPartitions: -1, replicationFactor: -1, configs: [] },
            assignments: [{ partitionIndex: 0, brokerIds: [1, 2] }],
          },
        ],
      },
      response: {
        throttleTimeMs,
        topics: [
          {
            ...{ name: 'ab', topicId: id, errorCode: 40, errorMessage: 'bad', numPartitions: 3, replicationFactor: 2 },
            'configs@5': [config],
          },
        ],
      },
    },
  ),
  sample(
    deleteTopicsApi,
    { topics: [{ name: 'ab' }], timeoutMs: 30 },
    {
      request: { 'topics@6': [{ name: 'ab', topicId: noId }], 'topicNames@0@5': ['ab'], timeoutMs: 30 },
      response: { throttleTimeMs, responses: [{ name: 'ab', topicId: id, errorCode: 3, errorMessage: 'gone' }] },
    },
  ),
  sample(
    incrementalAlterConfigs,
    {
      validateOnly: true,
      topics: [
        {
          name: 'ab',
          changes: [
            { name: 'k', value: 'v' },
            { name: 'l', value: null },
          ],
        },
      ],
    },
    {
      request: {
        validateOnly: true,
        resources: [
          {
            ...{ resourceType: 2, resourceName: 'ab' },
            configs: [
              { name: 'k', configOperation: 0, value: 'v' },
              { name: 'l', configOperation: 1, value: null },
            ],
          },
        ],
      },
      response: {
        throttleTimeMs,
        responses: [{ errorCode: 40, errorMessage: 'bad', resourceType: 2, resourceName: 'ab' }],
      },
    },
  ),
  sample(
    alterConfigs,
    { validateOnly: true, topics: [{ name: 'ab', configs: { k: 'v' } }] },
    {
      request: {
        validateOnly: true,
        resources: [{ resourceType: 2, resourceName: 'ab', configs: [{ name: 'k', value: 'v' }] }],
      },
      response: {
        throttleTimeMs,
        responses: [{ errorCode: 40, errorMessage: 'bad', resourceType: 2, resourceName: 'ab' }],
      },
    },
  ),
  sample(
    findCoordinator,
    { groups: ['g'] },
    {
      request: { 'key@0@3': 'g', keyType: 0, 'coordinatorKeys@4': ['g'] },
      response: {
        ...{ throttleTimeMs, 'errorCode@0@3': 15, 'errorMessage@1@3': 'bad' },
        ...{ 'nodeId@0@3': 7, 'host@0@3': 'h', 'port@0@3': 9092 },
        'coordinators@4': [{ key: 'g', nodeId: 7, host: 'h', port: 9092, errorCode: 15, errorMessage: 'bad' }],
      },
    },
  ),
  sample(
    listGroupsApi,
    {},
    {
      request: { statesFilter: [], typesFilter: [] },
      response: {
        ...{ throttleTimeMs, errorCode: 14 },
        groups: [{ groupId: 'g', protocolType: 'consumer', groupState: 'Stable', groupType: 'classic' }],
      },
    },
  ),
  sample(
    describeGroups,
    { groups: ['g'] },
    {
      request: { groups: ['g'], includeAuthorizedOperations: true },
      response: {
        throttleTimeMs,
        groups: [
          {
            ...{ errorCode: 0, groupId: 'g', groupState: 'Stable', protocolType: 'consumer', protocolData: 'range' },
            members: [
              {
                ...{ memberId: 'm', groupInstanceId: null, clientId: 'c', clientHost: '/h' },
                ...{ memberMetadata: base64('a'), memberAssignment: base64('b') },
              },
            ],
            authorizedOperations: 264,
          },
        ],
      },
    },
  ),
  sample(
    consumerGroupDescribe,
    { groups: ['g'] },
    {
      request: { groupIds: ['g'], includeAuthorizedOperations: false },
      response: {
        throttleTimeMs,
        groups: [
          {
            ...{
              ...none,
              groupId: 'g',
              groupState: 'Stable',
              groupEpoch: 1,
              assignmentEpoch: 1,
              assignorName: 'range',
            },
            ...{ members: [], authorizedOperations: 264 },
          },
        ],
      },
    },
  ),
  sample(
    offsetFetch,
    { requireStable: true, groups: [{ group: 'g', topics: [{ name: 'ab', partitions: [0, 3] }] }] },
    {
      request: {
        ...{ 'groupId@0@7': 'g', 'topics@0@7': [{ name: 'ab', partitionIndexes: [0, 3] }] },
        'groups@8': [{ groupId: 'g', topics: [{ name: 'ab', partitionIndexes: [0, 3] }] }],
        requireStable: true,
      },
      response: {
        ...{ throttleTimeMs, 'topics@0@7': [fetchedTopic()], 'errorCode@0@7': 16 },
        'groups@8': [{ groupId: 'g', topics: [fetchedTopic()], errorCode: 16 }],
      },
    },
  ),
  sample(
    offsetCommit,
    {
      group: 'g',
      topics: [{ name: 'ab', partitions: [{ partition: 3, offset: 42n, leaderEpoch: 5, metadata: 'm' }] }],
    },
    {
      request: {
        ...{ groupId: 'g', generationIdOrMemberEpoch: -1, memberId: '', groupInstanceId: null, retentionTimeMs: -1 },
        topics: [
          {
            name: 'ab',
            partitions: [{ partitionIndex: 3, committedOffset: 42, committedLeaderEpoch: 5, committedMetadata: 'm' }],
          },
        ],
      },
      response: { throttleTimeMs, topics: [{ name: 'ab', partitions: [{ partitionIndex: 3, errorCode: 16 }] }] },
    },
  ),
  sample(
    offsetDelete,
    { group: 'g', topics: [{ name: 'ab', partitions: [0, 3] }] },
    {
      request: { groupId: 'g', topics: [{ name: 'ab', partitions: [{ partitionIndex: 0 }, { partitionIndex: 3 }] }] },
      response: {
        ...{ throttleTimeMs, errorCode: 69 },
        topics: [{ name: 'ab', partitions: [{ partitionIndex: 3, errorCode: 16 }] }],
      },
    },
  ),
  sample(
    describeAcls,
    {},
    {
      request: {
        ...{ resourceTypeFilter: 1, resourceNameFilter: null, patternTypeFilter: 1, principalFilter: null },
        ...{ hostFilter: null, operation: 1, permissionType: 1 },
      },
      response: {
        ...{ throttleTimeMs, ...none },
        resources: [{ resourceType: 2, resourceName: 'ab', patternType: 3, acls: [{ ...acl, permissionType: 3 }] }],
      },
    },
  ),
  sample(
    createAclsApi,
    { acls: [{ ...acl, resourceType: 2, resourceName: 'ab', patternType: 3, permission: 3 }] },
    {
      request: {
        creations: [{ ...acl, resourceType: 2, resourceName: 'ab', resourcePatternType: 3, permissionType: 3 }],
      },
      response: { throttleTimeMs, results: [{ errorCode: 42, errorMessage: 'bad' }] },
    },
  ),
  sample(
    describeClientQuotas,
    {},
    {
      request: { components: [], strict: false },
      response: { ...{ throttleTimeMs, ...none }, entries: [{ entity, values: [{ key: 'k', value: 1.5 }] }] },
    },
  ),
  sample(
    alterClientQuotas,
    { entries: [{ entity: ourEntity, values: [{ key: 'k', value: 1.5 }] }], validateOnly: true },
    {
      request: { entries: [{ entity, ops: [{ key: 'k', value: 1.5, remove: false }] }], validateOnly: true },
      response: { throttleTimeMs, entries: [{ errorCode: 42, errorMessage: 'bad', entity }] },
    },
  ),
  sample(
    describeUserScramCredentials,
    {},
    {
      request: { users: [] },
      response: {
        ...{ throttleTimeMs, ...none },
        results: [{ user: 'a', ...none, credentialInfos: [{ mechanism: 1, iterations: 4096 }] }],
      },
    },
  ),
  sample(
    saslHandshake,
    { mechanism: 'PLAIN' },
    {
      request: { mechanism: 'PLAIN' },
      response: { errorCode: 33, mechanisms: ['SCRAM-SHA-256', 'GSSAPI'] },
    },
  ),
  sample(
    saslAuthenticate,
    { bytes: Buffer.from('abc') },
    {
      request: { authBytes: base64('abc') },
      response: { errorCode: 58, errorMessage: 'bad', authBytes: base64('xy'), sessionLifetimeMs: 3000 },
    },
  ),
]

/** One sample a request; the fields that a version does not have are left out of it. */
export const samples: Sample[] = [...olderSamples, ...newerSamples]

function fetchedTopic() {
  return {
    name: 'ab',
    partitions: [{ partitionIndex: 3, committedOffset: 42, committedLeaderEpoch: 5, metadata: 'm', errorCode: 88 }],
  }
}
