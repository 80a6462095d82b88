import { azureLogins, azureRules } from '../../config/azure-schema.ts'
import { recipientKeys } from '../../config/encryption-schema.ts'
import type { FieldRule } from '../../config/field-rules.ts'
import { gcsRules } from '../../config/gcs-schema.ts'
import { mtlsRules, registryRestoreRules, registryRules } from '../../config/registry-rules.ts'
import { restoreRules } from '../../config/restore-rules.ts'
import { s3Rules } from '../../config/s3-schema.ts'
import { oauthRules, saslRules, securityRules, tlsRules } from '../../config/security-schema.ts'
import { formatRules } from './cel.ts'
import type { CelRule } from './field-schema.ts'
import { namesOf, type Section } from './field-tree.ts'

/**
 * The rules between the fields of a section that the API server checks, in CEL. Those of `shared` are the rules of job files;
 * those of `own` have another form in a resource. Rules that CEL cannot express (they compare all pairs of a map, or read units
 * or times) are checked by `planJobPod`, which validates the complete job file.
 */
export function sectionRules(section: Section): CelRule[] {
  // The cluster of a backup and that of a restore have the same rules.
  const key = section.path.replace(/^(source|target)\b/, 'cluster')
  const specNames = (name: string) => namesAt(section, name.split('.'))
  return [...formatRules(shared[key] ?? [], specNames), ...(own[key] ?? (() => []))(specNames)]
}

function namesAt({ fields, chooser }: Section, [key = '', ...below]: readonly string[]): string[] {
  if (chooser?.key === key) return [chooser.name]
  return fields
    .filter(field => field.key === key)
    .flatMap(field => {
      if (below.length === 0) return namesOf(field)
      return field.type === 'section' ? namesAt(field.section, below).map(name => `${field.name}.${name}`) : []
    })
}

/** The rules of a storage need no backend: `kindRules` forbids the fields of other backends. */
const shared: Readonly<Record<string, readonly FieldRule[]>> = {
  'cluster.security': securityRules,
  'cluster.security.tls': tlsRules,
  'cluster.security.sasl': saslRules,
  'cluster.security.sasl.oauth': oauthRules,
  storage: [...s3Rules, ...azureRules, ...gcsRules],
  restore: restoreRules,
  'enterprise.schema_registry': [...registryRules, ...mtlsRules('tls')],
  'enterprise.schema_registry.restore': registryRestoreRules,
}

type OwnRules = (specNames: (key: string) => string[]) => CelRule[]

const own: Readonly<Record<string, OwnRules>> = {
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
  'enterprise.schema_registry': () => [
    {
      rule: '!has(self.credentialsSecret) || !has(self.auth)',
      message: 'credentialsSecret means auth.type basic; keep one of the two',
      fieldPath: '.credentialsSecret',
      reason: 'FieldValueForbidden',
    },
  ],
}

function isGiven(name: string): string {
  return `has(self.${name})`
}
