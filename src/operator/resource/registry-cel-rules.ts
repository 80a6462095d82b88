import { forbidden, needed } from './cel-words.ts'
import type { CelRule } from './open-api.ts'

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

const restoreRules: CelRule[] = [
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

export const registryRules: Readonly<Record<string, readonly CelRule[]>> = {
  'enterprise.schema_registry': connectionRules,
  'enterprise.schema_registry.restore': restoreRules,
}
