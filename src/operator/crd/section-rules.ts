import { type CelRule, forbidden, isAnyGiven, needed } from './field-schema.ts'

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

const accessKey = isAnyGiven('accessKeyId', 'accessKeyIdSecret')

const s3Rules: CelRule[] = [
  needed('secretAccessKeySecret', `!(${accessKey})`, 'secretAccessKeySecret is required with accessKeyId'),
  forbidden(
    'secretAccessKeySecret',
    accessKey,
    'secretAccessKeySecret has no effect without accessKeyId or accessKeyIdSecret',
  ),
  forbidden(
    'sessionTokenSecret',
    accessKey,
    'sessionTokenSecret has no effect without accessKeyId or accessKeyIdSecret',
  ),
  ...['sseKmsKeyId', 'sseBucketKey'].map(name =>
    forbidden(name, "has(self.sse) && self.sse.startsWith('aws:kms')", `${name} needs sse: aws:kms`),
  ),
]

const logins = ['accountKeySecret', 'sasTokenSecret', 'clientSecret', 'federatedTokenFile']
const principals = isAnyGiven('clientSecret', 'federatedTokenFile')

/** They ask for the backend first: other backends have fields of the same names. */
const azureRules: CelRule[] = [
  {
    rule: `self.backend != 'azure' || [${logins.map(name => `has(self.${name})`).join(', ')}].filter(given, given).size() <= 1`,
    message: `one way to log in is enough: ${logins.join(', ')}`,
  },
  ...['tenantId', 'clientId'].map(name =>
    needed(name, `!(${principals})`, `${name} is required with clientSecret and federatedTokenFile`),
  ),
  forbidden('tenantId', principals, 'tenantId has no effect without clientSecret or federatedTokenFile'),
  forbidden(
    'clientId',
    `!(${isAnyGiven('accountKeySecret', 'sasTokenSecret')})`,
    'clientId has no effect together with accountKeySecret or sasTokenSecret',
  ),
  forbidden('endpointSuffix', '!has(self.endpoint)', 'endpointSuffix has no effect together with endpoint'),
]

const gcsRules: CelRule[] = [
  forbidden('anonymous', '!self.anonymous || has(self.endpoint)', 'anonymous needs endpoint: only emulators take it'),
  forbidden('keySecret', '!has(self.anonymous) || !self.anonymous', 'keySecret has no effect with anonymous'),
]

const storageRules: readonly CelRule[] = [...s3Rules, ...azureRules, ...gcsRules]

const isMtls = "has(self.auth) && self.auth.type == 'mtls'"

function mtlsFile(...names: string[]): CelRule {
  const isGiven = names.map(name => `has(self.tls.${name})`).join(' || ')
  return {
    rule: `!(${isMtls}) || (has(self.tls) && (${isGiven}))`,
    message: `tls.${names.join(' or tls.')} is required with auth.type mtls`,
    fieldPath: '.tls',
    reason: 'FieldValueRequired',
  }
}

const connectionRules: CelRule[] = [
  needed('url', '!self.enabled', 'url is required where enabled is true'),
  needed('url', `!(${isMtls})`, 'url is required with auth.type mtls'),
  {
    rule: `!(${isMtls}) || !has(self.url) || self.url.matches('^(?i)[ ]*https://[^,]*(,[ ]*https://[^,]*)*$')`,
    message: 'url is not https, which auth.type mtls needs',
    fieldPath: '.url',
  },
  mtlsFile('caCertSecret', 'caCertConfigMap'),
  mtlsFile('clientCertSecret'),
  mtlsFile('clientKeySecret'),
  forbidden('credentialsSecret', '!has(self.auth)', 'credentialsSecret means auth.type basic; keep one of the two'),
]

const on = (name: string) => `(has(self.${name}) && self.${name})`
const off = (name: string) => `(has(self.${name}) && !self.${name})`
const mappingFiles = ['idMappingSecret', 'idMappingConfigMap']

const leftAlone = (name: string) =>
  `${name} contradicts idMapping: false, which leaves schema IDs to themselves; take one of the two out`
const idle = (name: string) =>
  `${name} has no effect with restore.enabled: false, which registers nothing; take one of the two out`

const registryRestoreRules: CelRule[] = [
  {
    rule: `!(${on('rewriteIds')} && ${on('forceIds')})`,
    message: 'forceIds contradicts rewriteIds; set one of the two to false',
    fieldPath: '.forceIds',
  },
  ...['rewriteIds', 'forceIds'].map(name => forbidden(name, `!self.${name} || !${off('idMapping')}`, leftAlone(name))),
  ...mappingFiles.map(name => forbidden(name, `!${off('idMapping')}`, leftAlone(name))),
  ...mappingFiles.map(name =>
    forbidden(
      name,
      `!${on('forceIds')} && !${off('rewriteIds')}`,
      `${name} has no effect without rewriteIds: it says which IDs are written into messages; take one of the two out`,
    ),
  ),
  ...['forceIds', 'forceRegister'].map(name => forbidden(name, `!self.${name} || !${off('enabled')}`, idle(name))),
  ...['setCompatibility', 'acceptLoss'].map(name => forbidden(name, `!${off('enabled')}`, idle(name))),
]

const registryRules: Readonly<Record<string, readonly CelRule[]>> = {
  'enterprise.schema_registry': connectionRules,
  'enterprise.schema_registry.restore': registryRestoreRules,
}

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
