import { openRegistryServer } from '../../../src/registry/serve/open-registry-server.ts'
import { RegistryStore } from '../../../src/registry/serve/registry-store.ts'
import { type RegistryFeatures, registrySuite } from '../../suites/registry-suite.ts'

const everything: RegistryFeatures = {
  hasImport: true,
  hasModes: true,
  hasContexts: true,
  hasSchemaList: true,
  hasUnsetConfigs: true,
  hasSoftDelete: true,
  hasReferenceChecks: true,
  hasContracts: true,
  hasAliases: true,
}

registrySuite('the embedded registry', everything, () =>
  openRegistryServer({ store: new RegistryStore(), host: '127.0.0.1', port: 0 }),
)
