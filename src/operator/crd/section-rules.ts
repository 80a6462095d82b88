import { azureLogins, azureRules } from '../../config/azure-schema.ts'
import { recipientKeys } from '../../config/encryption-schema.ts'
import type { FieldRule } from '../../config/field-rules.ts'
import { gcsRules } from '../../config/gcs-schema.ts'
import { registryRestoreRules, registryRules } from '../../config/registry-rules.ts'
import { creationRules } from '../../config/restore-rules.ts'
import { s3Rules } from '../../config/s3-schema.ts'
import { tlsRules } from '../../config/security-schema.ts'
import { formatRules } from './cel.ts'
import { type CelRule, forbidden, needed } from './field-schema.ts'
import { namesOf, type Section } from './field-tree.ts'

/**
 * The rules between the fields of a section that the API server checks, in CEL. Those of `shared` are the rules of job files;
 * those of `own` have another form in a resource. Rules that CEL cannot express (they compare all pairs of a map, or read units
 * or times) are checked by `planJobPod`, which validates the complete job file.
 */
export function sectionRules({ path, fields }: Section): CelRule[] {
  // The cluster of a backup and that of a restore have the same rules.
  const key = path.replace(/^(source|target)\b/, 'cluster')
  const specNames = (name: string) => fields.filter(field => field.key === name).flatMap(namesOf)
  return [...formatRules(shared[key] ?? [], specNames), ...(own[key] ?? (() => []))(specNames)]
}

/** The rules of a storage need no backend: `kindRules` forbids the fields of other backends. */
const shared: Readonly<Record<string, readonly FieldRule[]>> = {
  'cluster.security.tls': tlsRules,
  storage: [...s3Rules, ...azureRules, ...gcsRules],
  restore: creationRules,
  'enterprise.schema_registry': registryRules,
  'enterprise.schema_registry.restore': registryRestoreRules,
}

type OwnRules = (specNames: (key: string) => string[]) => CelRule[]

const tlsProtocols = "self.protocol in ['SSL', 'SASL_SSL']"
const saslProtocols = "self.protocol in ['SASL_PLAINTEXT', 'SASL_SSL']"

const own: Readonly<Record<string, OwnRules>> = {
  'cluster.security': () => [
    forbidden('tls', tlsProtocols, 'tls is for protocol SSL and SASL_SSL'),
    needed('sasl', `!(${saslProtocols})`, 'sasl is required with protocol SASL_PLAINTEXT and SASL_SSL'),
    forbidden(
      'sasl',
      saslProtocols,
      'sasl is for protocol SASL_PLAINTEXT and SASL_SSL; protocol SSL and PLAINTEXT have no login',
    ),
    {
      rule: "!(has(self.sasl) && self.sasl.mechanism == 'AWS_MSK_IAM' && self.protocol == 'SASL_PLAINTEXT')",
      message: 'AWS_MSK_IAM is offered over TLS only; set protocol to SASL_SSL',
      fieldPath: '.protocol',
    },
  ],
  'cluster.security.sasl': () => [
    needed(
      'passwordSecret',
      "self.mechanism in ['OAUTHBEARER', 'AWS_MSK_IAM']",
      'passwordSecret is required with mechanism PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512',
    ),
  ],
  'cluster.security.sasl.oauth': () => [needed('clientSecret', 'false', 'clientSecret is required')],
  storage: specNames => {
    const logins = azureLogins.flatMap(specNames)
    return [
      {
        // Other backends have fields with these names.
        rule: `self.backend != 'azure' || [${logins.map(isGiven).join(', ')}].filter(given, given).size() <= 1`,
        message: `one way to log in is enough: ${logins.join(', ')}`,
      },
    ]
  },
  'encryption.recipients': specNames => {
    const keys = recipientKeys.flatMap(specNames)
    return [
      {
        rule: `[${keys.map(isGiven).join(', ')}].exists_one(given, given)`,
        message: `a recipient has one key: ${keys.slice(0, -1).join(', ')} or ${keys.at(-1)}`,
      },
    ]
  },
  restore: () => [
    forbidden(
      'partitionMapping',
      "!has(self.repartition) || self.repartition != 'by_key' || size(self.partitionMapping) == 0",
      'partitionMapping contradicts repartition by_key, which places records by their keys; keep one of the two',
    ),
  ],
  'enterprise.schema_registry': () => [
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
  ],
}

const isMtls = "has(self.auth) && self.auth.type == 'mtls'"

function mtlsFile(...names: string[]): CelRule {
  return {
    rule: `!(${isMtls}) || (has(self.tls) && (${names.map(name => isGiven(`tls.${name}`)).join(' || ')}))`,
    message: `tls.${names.join(' or tls.')} is required with auth.type mtls`,
    fieldPath: '.tls',
    reason: 'FieldValueRequired',
  }
}

function isGiven(name: string): string {
  return `has(self.${name})`
}
