import { forbidden, isAnyGiven, needed } from './cel-words.ts'
import type { CelRule } from './open-api.ts'

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

export const storageRules: readonly CelRule[] = [...s3Rules, ...azureRules, ...gcsRules]
