import { shareApicurio } from '../servers/shared-apicurio.ts'
import { type RegistryFeatures, registrySuite } from '../suites/registry-suite.ts'

/** What is not in the Confluent API of Apicurio 3.0, as its answers show: docs/registries.md. */
const core: RegistryFeatures = {
  hasImport: false,
  hasModes: false,
  hasContexts: false,
  hasSchemaList: false,
  hasUnsetConfigs: false,
  hasSoftDelete: false,
  hasReferenceChecks: false,
  hasContracts: false,
  hasAliases: false,
}

registrySuite('a registry of Apicurio', core, async () => {
  const { url, stop } = await shareApicurio()
  return { url, close: stop }
})
