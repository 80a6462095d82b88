import { shareGroupDescribe, streamsGroupDescribe } from '../../../src/kafka/api/describe-new-groups.ts'
import { alterShareGroupOffsets, describeShareGroupOffsets } from '../../../src/kafka/api/share-offsets.ts'
import { id, none, type Sample, sample, throttleTimeMs } from './sample.ts'

const described = { ...none, groupId: 'g', groupState: 'Stable', groupEpoch: 4, assignmentEpoch: 5 }
const topicPartitions = [{ topicId: id, topicName: 'ab', partitions: [0, 3] }]
const pair = { key: 'k', value: 'v' }
const topicInfo = { name: 'ab', partitions: 3, replicationFactor: 1, topicConfigs: [pair] }
const taskOffset = { subtopologyId: 's', partition: 3, offset: 42 }
const task = { subtopologyId: 's', partitions: [0, 3] }
const tasks = { activeTasks: [task], standbyTasks: [task], warmupTasks: [] }

/** Requests about groups of the newer protocols, which came with Kafka 4. */
export const newerSamples: Sample[] = [
  sample(
    shareGroupDescribe,
    { groups: ['g'] },
    {
      request: { groupIds: ['g'], includeAuthorizedOperations: false },
      response: {
        throttleTimeMs,
        groups: [
          {
            ...{ ...described, assignorName: 'simple', authorizedOperations: 8 },
            members: [
              {
                ...{ memberId: 'm', rackId: 'r', memberEpoch: 4, clientId: 'c', clientHost: 'h' },
                ...{ subscribedTopicNames: ['ab'], assignment: { topicPartitions } },
              },
            ],
          },
        ],
      },
    },
  ),
  sample(
    streamsGroupDescribe,
    { groups: ['g'] },
    {
      request: { groupIds: ['g'], includeAuthorizedOperations: false },
      response: { throttleTimeMs, groups: [streamsGroup(), { ...streamsGroup(), topology: null, members: [] }] },
    },
  ),
  sample(
    describeShareGroupOffsets,
    { groups: ['g'] },
    {
      request: { groups: [{ groupId: 'g', topics: null }] },
      response: {
        throttleTimeMs,
        groups: [
          {
            ...{ groupId: 'g', errorCode: 0, errorMessage: null },
            topics: [
              {
                ...{ topicName: 'ab', topicId: id },
                partitions: [
                  { partitionIndex: 3, startOffset: 42, leaderEpoch: 5, errorCode: 3, errorMessage: 'bad' },
                  { partitionIndex: 4, startOffset: -1, leaderEpoch: 0, ...none },
                ],
              },
            ],
          },
        ],
      },
    },
  ),
  sample(
    alterShareGroupOffsets,
    { group: 'g', topics: [{ name: 'ab', partitions: [{ partition: 3, offset: 42n }] }] },
    {
      request: {
        groupId: 'g',
        topics: [{ topicName: 'ab', partitions: [{ partitionIndex: 3, startOffset: 42 }] }],
      },
      response: {
        ...{ throttleTimeMs, ...none },
        responses: [
          {
            ...{ topicName: 'ab', topicId: id },
            partitions: [{ partitionIndex: 3, errorCode: 68, errorMessage: 'members' }],
          },
        ],
      },
    },
  ),
]

function streamsGroup(): Record<string, unknown> {
  return {
    ...{ ...described, authorizedOperations: 8 },
    topology: {
      epoch: 6,
      subtopologies: [
        {
          ...{ subtopologyId: 's', sourceTopics: ['ab'], repartitionSinkTopics: ['cd'] },
          ...{ stateChangelogTopics: [topicInfo], repartitionSourceTopics: [topicInfo] },
        },
      ],
    },
    members: [
      {
        ...{ memberId: 'm', memberEpoch: 4, instanceId: 'i', rackId: null, clientId: 'c', clientHost: 'h' },
        ...{ topologyEpoch: 6, processId: 'p', userEndpoint: { host: 'h', port: 80 }, clientTags: [pair] },
        ...{ taskOffsets: [taskOffset], taskEndOffsets: [taskOffset], assignment: tasks, targetAssignment: tasks },
        isClassic: false,
      },
      {
        ...{ memberId: 'n', memberEpoch: 4, instanceId: null, rackId: 'r', clientId: 'c', clientHost: 'h' },
        ...{ topologyEpoch: 6, processId: 'p', userEndpoint: null, clientTags: [] },
        ...{ taskOffsets: [], taskEndOffsets: [], assignment: tasks, targetAssignment: tasks, isClassic: true },
      },
    ],
  }
}
