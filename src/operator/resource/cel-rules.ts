import { forbidden, needed } from './cel-words.ts'
import type { CelRule } from './open-api.ts'
import { registryRules } from './registry-cel-rules.ts'
import { storageRules } from './storage-cel-rules.ts'

const securityRules: CelRule[] = [
  forbidden('tls', "self.protocol in ['SSL', 'SASL_SSL']", 'tls is for protocol SSL and SASL_SSL'),
  needed(
    'sasl',
    "!(self.protocol in ['SASL_PLAINTEXT', 'SASL_SSL'])",
    'sasl is required with protocol SASL_PLAINTEXT and SASL_SSL',
  ),
  forbidden(
    'sasl',
    "self.protocol in ['SASL_PLAINTEXT', 'SASL_SSL']",
    'sasl is for protocol SASL_PLAINTEXT and SASL_SSL; protocol SSL and PLAINTEXT have no login',
  ),
  {
    rule: "!(has(self.sasl) && self.sasl.mechanism == 'AWS_MSK_IAM' && self.protocol == 'SASL_PLAINTEXT')",
    message: 'AWS_MSK_IAM is offered over TLS only; set protocol to SASL_SSL',
    fieldPath: '.protocol',
  },
]

const tlsRules: CelRule[] = [
  needed('clientKeySecret', '!has(self.clientCertSecret)', 'clientKeySecret is required with clientCertSecret'),
  needed('clientCertSecret', '!has(self.clientKeySecret)', 'clientCertSecret is required with clientKeySecret'),
  needed(
    'clientKeySecret',
    '!has(self.clientKeyPasswordSecret)',
    'clientKeySecret is required with clientKeyPasswordSecret',
  ),
]

const saslRules: CelRule[] = [
  needed(
    'passwordSecret',
    "self.mechanism in ['OAUTHBEARER', 'AWS_MSK_IAM']",
    'passwordSecret is required with mechanism PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512',
  ),
]

const oauthRules: CelRule[] = [needed('clientSecret', 'false', 'clientSecret is required')]

const recipientRules: CelRule[] = [
  {
    rule: '[has(self.keySecret), has(self.passphraseSecret), has(self.awsKms)].exists_one(given, given)',
    message: 'a recipient has one key: keySecret, passphraseSecret or awsKms',
  },
]

const restoreRules: CelRule[] = [
  ...['replicationFactor', 'topicConfig'].map(name =>
    forbidden(name, '!has(self.createTopics) || self.createTopics', `${name} has no effect with createTopics: false`),
  ),
  forbidden(
    'partitionMapping',
    "!has(self.repartition) || self.repartition != 'by_key' || size(self.partitionMapping) == 0",
    'partitionMapping contradicts repartition by_key, which places records by their keys; keep one of the two',
  ),
]

/**
 * The rules of `*-rules.ts` in src/config that the API server can check, by the path of their section; `cluster` is `source`
 * and `target`. Those that it cannot (they compare all pairs of a map, read units or times) are left to `planJobPod`, which
 * checks them all.
 */
export const celRules: Readonly<Record<string, readonly CelRule[]>> = {
  'cluster.security': securityRules,
  'cluster.security.tls': tlsRules,
  'cluster.security.sasl': saslRules,
  'cluster.security.sasl.oauth': oauthRules,
  storage: storageRules,
  'encryption.recipients': recipientRules,
  restore: restoreRules,
  ...registryRules,
}
