import type { Versions } from './fake-broker.ts'
import { kafka21, kafka28, versionsOf, without } from './kafka-releases.ts'

/**
 * What services that speak Kafka's protocol answer to ApiVersions, as far as their documentation or source tells
 * (docs/clusters.md has the sources). Versions that neither names are those of Kafka 2.1 or 2.8.
 */

/** No request for settings, no sizes, no leader epochs; Kafka 1.0 and later are its protocol. */
export const eventHubs = without(kafka21, [
  'describeConfigs',
  'alterConfigs',
  'describeLogDirs',
  'offsetForLeaderEpoch',
  'describeAcls',
  'createAcls',
])

/** The ranges of its request handlers before it had topic IDs; Fetch is by name. */
export const redpanda: Versions = new Map([
  ...kafka21,
  ...versionsOf({
    produce: [0, 7],
    fetch: [4, 11],
    listOffsets: [0, 3],
    metadata: [0, 7],
    apiVersions: [0, 3],
    offsetForLeaderEpoch: [0, 3],
    describeConfigs: [0, 2],
    describeLogDirs: [0, 1],
  }),
])

/** The requests that its documentation lists: settings can be replaced, not changed one by one; no sizes, no leader epochs. */
export const warpStream = without(kafka28, [
  'incrementalAlterConfigs',
  'describeLogDirs',
  'offsetForLeaderEpoch',
  'describeClientQuotas',
  'alterClientQuotas',
  'describeUserScramCredentials',
])

/** Settings of a topic that MSK Serverless lets its users set; all others are refused. */
export const mskServerlessSettings: ReadonlySet<string> = new Set([
  'cleanup.policy',
  'compression.type',
  'max.message.bytes',
  'message.timestamp.difference.max.ms',
  'message.timestamp.type',
  'retention.bytes',
  'retention.ms',
])
